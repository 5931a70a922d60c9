/* runs - has a program run, any that it is told; and attaches files made in both ways. What it is told may be refused:
 * that is what it is for. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <trotline.h>
#include <unistd.h>

struct args {
    const char *program, *input, *cwd;
    struct tl_list args, env;
    int64_t timeout, max_output, attach_bytes;
};
#define AT(f) offsetof(struct args, f)
static const struct tl_option arguments[] = {
    {"program", TL_TEXT, 0, AT(program), NULL, NULL, "its name"},
    {"args", TL_TEXT, TL_LIST, AT(args), NULL, NULL, "its arguments"},
    {"input", TL_TEXT, 0, AT(input), NULL, NULL, "what it reads"},
    {"cwd", TL_TEXT, 0, AT(cwd), NULL, NULL, "where, below the cache folder"},
    {"env", TL_TEXT, TL_LIST, AT(env), NULL, NULL, "NAME=VALUE"},
    {"timeout_ms", TL_MILLIS, 0, AT(timeout), NULL, NULL, "how long it may run"},
    {"max_output", TL_BYTES, 0, AT(max_output), NULL, NULL, "how much it may say"},
    {"attach_bytes", TL_BYTES, 0, AT(attach_bytes), NULL, NULL, "size of two files to attach"},
    {0}};
static const struct tl_dataset datasets[] = {{"out", TL_SIMPLE, NULL, "its output"},
                                             {"err", TL_SIMPLE, NULL, "its error output, if any"},
                                             {"status", TL_SIMPLE, NULL, "what it ended with"},
                                             {0}};
static const char *const programs[] = {"cat", "dd", "echo", "sh", "sleep", NULL};
enum { LIST_MAX = 100 };

/* The first `size` bytes of endless lines "trotline", through a descriptor. */
static int attach_made(struct tl_run *run, int64_t size) {
    static const char line[] = "trotline\n";
    int fd, rc = tl_attach(run, "made.txt", "text/plain", &fd);
    for (int64_t at = 0; !rc && at < size;) {
        int64_t from = at % 9, len = 9 - from < size - at ? 9 - from : size - at;
        ssize_t n = write(fd, line + from, (size_t)len);
        if (n < 0 && errno != EINTR)
            return tl_fail(run, TL_FAILED, "made.txt cannot be written");
        at += n > 0 ? n : 0;
    }
    return rc;
}

/* As many zeros, written by a program into the cache folder, under a name that no other run uses. */
static int attach_zeros(struct tl_run *run, int64_t size) {
    char name[80], of[90], bs[40], path[4200];
    snprintf(name, sizeof name, "zeros-%s", run->host->lineage(run)->run_id);
    snprintf(of, sizeof of, "of=%s", name);
    snprintf(bs, sizeof bs, "bs=%lld", (long long)size);
    snprintf(path, sizeof path, "%s/%s", tl_cache_dir(run), name);
    const char *const argv[] = {"dd", "if=/dev/zero", of, bs, "count=1", "iflag=fullblock", NULL};
    struct tl_program p = {.struct_size = sizeof p, .argv = argv};
    int rc = tl_exec(run, &p);
    if (!rc && p.status)
        return tl_fail(run, TL_FAILED, "dd ended with %d: %.*s", p.status, (int)p.err.len, p.err.ptr);
    if (!rc)
        rc = run->host->attach_file(run, "zeros.bin", "application/octet-stream", name);
    unlink(path);
    return rc;
}

static int run_program(struct tl_run *run, const struct args *a) {
    const char *argv[LIST_MAX + 2] = {a->program}, *env[LIST_MAX + 1] = {NULL};
    char status[16];
    if (a->args.count > LIST_MAX || a->env.count > LIST_MAX)
        return tl_fail(run, TL_INVALID, "more than %d arguments", LIST_MAX);
    for (size_t i = 0; i < a->args.count; i++)
        argv[i + 1] = a->args.item[i];
    for (size_t i = 0; i < a->env.count; i++)
        env[i] = a->env.item[i];
    struct tl_program p = {.struct_size = sizeof p,
                           .argv = argv,
                           .env = env,
                           .cwd = a->cwd,
                           .input = {a->input ? a->input : "", a->input ? strlen(a->input) : 0},
                           .timeout_ms = a->timeout,
                           .max_output = (size_t)a->max_output};
    int rc = tl_exec(run, &p);
    if (!rc)
        rc = tl_put(run, "out", TL_ELEMENT(.data = p.out, .media_type = "text/plain"));
    if (!rc && p.err.len)
        rc = tl_put(run, "err", TL_ELEMENT(.data = p.err, .media_type = "text/plain"));
    struct tl_span text = {status, (size_t)snprintf(status, sizeof status, "%d", p.status)};
    return rc ? rc : tl_put(run, "status", TL_ELEMENT(.data = text, .media_type = "application/json"));
}

static int collect(void *self, struct tl_run *run, const void *given) {
    const struct args *a = given;
    int rc = TL_OK;
    (void)self;
    if (a->attach_bytes > 0 && !(rc = attach_made(run, a->attach_bytes)))
        rc = attach_zeros(run, a->attach_bytes);
    return !rc && a->program ? run_program(run, a) : rc;
}
TL_COLLECTOR(.name = "runs", .version = "1.0.0", .summary = "has programs run", .arguments = arguments,
             .arguments_size = sizeof(struct args), .datasets = datasets, .programs = programs, .collect = collect);
