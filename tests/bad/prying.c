/* prying - tries what a collector has no business with, and tells what came of each: "refused" or "allowed". */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <trotline.h>
#include <unistd.h>

static const struct tl_dataset datasets[] = {{"tried", TL_KEY_VALUE, NULL, "what was tried, and what came of it"}, {0}};

static int tell(struct tl_run *run, const char *what, bool allowed) {
    const char *word = allowed ? "allowed" : "refused";
    return tl_put(run, "tried", TL_ELEMENT(.key = what, .data = {word, strlen(word)}, .media_type = "text/plain"));
}

static bool can_open(const char *path, int flags) {
    int fd = open(path, flags, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool can_spawn(void) {
    char *argv[] = {(char *)"true", NULL}, *envp[] = {NULL};
    pid_t pid;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, envp))
        return false;
    waitpid(pid, NULL, 0);
    return true;
}

static bool can_fork(void) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return pid > 0;
}

static int collect(void *self, struct tl_run *run, const void *arg) {
    int rc = TL_OK;
    (void)self, (void)arg;
    if (!rc)
        rc = tell(run, "read /etc/shadow", can_open("/etc/shadow", O_RDONLY));
    if (!rc)
        rc = tell(run, "read /etc/passwd", can_open("/etc/passwd", O_RDONLY));
    if (!rc)
        rc = tell(run, "list /", can_open("/", O_RDONLY | O_DIRECTORY));
    if (!rc)
        rc = tell(run, "write /tmp", can_open("/tmp/trotline-prying", O_WRONLY | O_CREAT));
    if (!rc)
        rc = tell(run, "make a folder", mkdir("/tmp/trotline-prying-folder", 0700) == 0);
    if (!rc)
        rc = tell(run, "start a program", can_spawn());
    if (!rc)
        rc = tell(run, "fork", can_fork());
    if (!rc)
        rc = tell(run, "trace its parent", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0);
    if (!rc)
        rc = tell(run, "signal its parent", kill(getppid(), 0) == 0);
    if (!rc)
        rc = tell(run, "become another", setuid(65534) == 0);
    if (!rc)
        rc = tell(run, "write its cache",
                  tl_cache_dir(run) && chdir(tl_cache_dir(run)) == 0 && can_open("own", O_WRONLY | O_CREAT));
    return rc;
}

TL_COLLECTOR(.name = "prying", .version = "1.0.0", .summary = "tries what it has no business with",
             .datasets = datasets, .collect = collect);
