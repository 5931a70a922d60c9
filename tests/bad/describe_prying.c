/* describe_prying - its constructor, which runs when it is only asked what it is, tries what it has no business with;
 * its summary tells what came of it. */
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <trotline.h>
#include <unistd.h>

static char report[200] = "nothing was tried";

static bool can_open(const char *path, int flags) {
    int fd = open(path, flags, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Whether somebody answers does not matter. */
static bool can_connect(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    (void)!connect(fd, (const struct sockaddr *)&to, sizeof to);
    close(fd);
    return true;
}

static bool can_spawn(void) {
    char *argv[] = {(char *)"true", NULL}, *envp[] = {NULL};
    pid_t pid;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, envp))
        return false;
    waitpid(pid, NULL, 0);
    return true;
}

__attribute__((constructor)) static void start(void) {
    static const char *const word[] = {"refused", "allowed"};
    bool written = can_open("/tmp/trotline-describe-prying", O_WRONLY | O_CREAT);
    if (written)
        unlink("/tmp/trotline-describe-prying");
    snprintf(report, sizeof report, "shadow %s, write %s, connect %s, start %s",
             word[can_open("/etc/shadow", O_RDONLY)], word[written], word[can_connect()], word[can_spawn()]);
}

static const struct tl_dataset datasets[] = {{"report", TL_SIMPLE, NULL, "what came of it"}, {0}};

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)given;
    return tl_put(run, "report", TL_ELEMENT(.data = {report, strlen(report)}, .media_type = "text/plain"));
}

TL_COLLECTOR(.name = "describe_prying", .version = "1.0.0", .summary = report, .datasets = datasets,
             .collect = collect);
