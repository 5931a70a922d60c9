/* collect.c - trotline collect: one collector once, its document on stdout; lake and catalog stay as they are. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "engine/args.h"
#include "engine/cache_folder.h"
#include "engine/confine.h"
#include "engine/plain.h"
#include "engine/plugin_child.h"
#include "engine/plugin_json.h"
#include "fanin/context.h"

enum { OPT_PAYLOAD = 256, OPT_PLAIN, OPT_FIXTURES, OPT_ATTACH, OPT_CHILDREN, OPT_CONTEXT, PAYLOAD_MAX = 1 << 20 };
struct collect {
    const char *name, *payload_file, *context_file, *fixtures, *attach;
    bool plain, children;
};

static int read_payload(const char *path, struct buf *out, struct fail *why) {
    char block[65536];
    ssize_t n = 0;
    AUTO_CLOSE int fd = path && strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    out->max = PAYLOAD_MAX;
    while (fd >= 0 && (n = read(fd, block, sizeof block)) > 0)
        buf_add(out, block, (size_t)n);
    if (fd < 0 || n < 0)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "cannot read the payload %s: %s", path, strerrordesc_np(errno));
    return out->full ? fail_exit(why, TL_INVALID, EXIT_USAGE, "the payload is over %d KiB", PAYLOAD_MAX / 1024) : TL_OK;
}

static void say(enum tl_level level, const char *text) {
    log_say(level, "%s", text);
}

/* NAME is a collector of the plugin folders, or the path of a .so, which is described in a process of its own first:
 * what cannot be loaded is found out there. */
static int find_collector(struct cmd_open *open, const char *name, struct plugin *own, const struct plugin **out) {
    struct fail why = FAIL_INIT;
    size_t n = 0;
    *out = NULL;
    if (strchr(name, '/')) {
        if (plugin_describe(name, own, &why)) {
            log_ending(EXIT_PLUGIN, "%s: %s", name, why.text);
            return EXIT_PLUGIN;
        }
        *out = own;
        return 0;
    }
    while (open->config.plugins[n])
        n++;
    *out = plugin_find(&open->plugins, name);
    if (*out && (*out)->file)
        return 0;
    plugin_missing(&open->plugins, name, open->config.plugins, n, &why);
    return cmd_fail(&why, EXIT_PLUGIN);
}

static int exit_of(const struct plain_result *r) {
    switch (r->status) {
    case TL_OK:
    case TL_UNCHANGED:
        return EXIT_DONE;
    case TL_PARTIAL:
        return EXIT_LINE;
    default:
        return EXIT_ROOT;
    }
}

/* Runs it here and prints what came of it. */
static int run_here(const struct collect *c, const struct plain_options *o) {
    struct fail why = FAIL_INIT;
    struct plain_result result = {0};
    int code;
    if (plain_run(o, &result, &why)) {
        code = cmd_fail(&why, EXIT_PLUGIN);
    } else {
        fwrite(result.document.data ? result.document.data : "", 1, result.document.len, stdout);
        if (result.document.len)
            putchar('\n');
        if (c->children)
            fwrite(result.children.data ? result.children.data : "", 1, result.children.len, stdout);
        code = cmd_flush(stdout) ? exit_of(&result) : EXIT_DISK;
        if (result.error[0])
            log_ending(code, "%s: %s", c->name, result.error);
    }
    plain_result_free(&result);
    return code;
}

static int judge(const struct collect *c, int status, bool came, int64_t time_us) {
    char text[TIME_TEXT];
    time_duration_text(time_us, text);
    if (WIFEXITED(status) && came)
        return WEXITSTATUS(status);
    if (WIFEXITED(status))
        log_ending(EXIT_ROOT, "collector %s ended the process (exit code %d) instead of coming back", c->name,
                   WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGALRM)
        log_ending(EXIT_ROOT, "collector %s did not come back within %s (workers.run in trotline.yml)", c->name, text);
    else
        log_ending(EXIT_ROOT,
                   "collector %s died of signal %d (SIG%s); to see where: gdb --args trotline collect %s ... --plain",
                   c->name, WTERMSIG(status), sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?",
                   c->name);
    return EXIT_ROOT;
}

/* The same in a child, confined as a worker and with its deadline, so that a collector that crashes or hangs does not
 * take this command's last words along. */
static int run_apart(const struct collect *c, const struct plain_options *o) {
    int64_t time_us = o->config->workers.run_us;
    AUTO_FREE char *copy = mem_text(o->file);
    const char *const read[] = {dirname(copy), o->config->fetch.ca, NULL}, *const write[] = {o->cache_folder,
                                                                                             o->attach_folder, NULL};
    const struct confine confine = {.read = read, .write = write, .memory = (size_t)o->config->workers.memory};
    bool *came = mmap(NULL, sizeof *came, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    fflush(NULL);
    pid_t pid = came == MAP_FAILED ? -1 : fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm((unsigned)((time_us + 999999) / 1000000));
        struct plain_options confined = *o;
        confined.confine = &confine;
        int code = run_here(c, &confined);
        *came = true;
        _exit(code);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        log_ending(EXIT_INTERNAL, "cannot start a process: %s", strerrordesc_np(errno));
        return EXIT_INTERNAL;
    }
    int code = judge(c, status, *came, time_us);
    munmap(came, sizeof *came);
    return code;
}

static int run_with(const struct collect *c, struct cmd_open *open, const struct plugin *p, struct tl_span payload,
                    struct tl_span context, const struct plain_fixtures *fixtures) {
    struct plain_programs programs = {.port = {.fd = -1}};
    struct fail why = FAIL_INIT;
    const struct config_collector *own = config_collector(&open->config, p->name);
    AUTO_FREE char *cache = cache_folder(open->config.folder, p->name);
    struct plain_options o = {.file = p->file,
                              .config = &open->config,
                              .options = own ? own->options : (struct tl_span){0},
                              .payload = payload,
                              .apis = p->apis,
                              .run_context = context,
                              .fixtures = fixtures,
                              .fixed = fixtures != NULL,
                              .react = c->children,
                              .attach_folder = c->attach,
                              .cache_folder = cache,
                              .log = say};
    if (p->program) {
        if (plain_programs_start(p, o.options, cache, open->config.workers.run_us, &programs, &why))
            return cmd_fail(&why, EXIT_INTERNAL);
        o.programs = &programs;
    }
    int code = c->plain ? run_here(c, &o) : run_apart(c, &o);
    plain_programs_end(&programs);
    return code;
}

static int run(const struct collect *c, const struct cmd_globals *g) {
    struct cmd_open open = {0};
    struct fail why = FAIL_INIT;
    struct plain_fixtures fixtures = {0};
    struct plugin own = {0};
    const struct plugin *p = NULL;
    struct context context = {0};
    AUTO_BUF struct buf payload = BUF_INIT;
    int code = cmd_open(&open, g, strchr(c->name, '/') ? 0 : CMD_PLUGINS, NULL, 0);
    if (!code)
        code = find_collector(&open, c->name, &own, &p);
    if (!code && c->payload_file && read_payload(c->payload_file, &payload, &why))
        code = cmd_fail(&why, EXIT_USAGE);
    if (!code && c->context_file && context_read_file(c->context_file, &context, &why))
        code = cmd_fail(&why, EXIT_CONFIG);
    if (!code && c->fixtures && plain_fixtures_read(c->fixtures, &fixtures, &why))
        code = cmd_fail(&why, EXIT_USAGE);
    if (!code)
        code = run_with(c, &open, p, payload.len ? buf_span(&payload) : span_of("{}"), context.json,
                        c->fixtures ? &fixtures : NULL);
    context_free(&context);
    plain_fixtures_free(&fixtures);
    plugin_free(&own);
    cmd_close(&open);
    return code;
}

static int collect_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"payload", required_argument, NULL, OPT_PAYLOAD},
                                          {"plain", no_argument, NULL, OPT_PLAIN},
                                          {"fixtures", required_argument, NULL, OPT_FIXTURES},
                                          {"attach", required_argument, NULL, OPT_ATTACH},
                                          {"children", no_argument, NULL, OPT_CHILDREN},
                                          {"context", required_argument, NULL, OPT_CONTEXT},
                                          {0}};
    struct collect c = {0};
    int opt;
    while ((opt = cmd_option(argc, argv, "h", longs)) != 0) {
        switch (opt) {
        case CMD_HELP:
            return EXIT_DONE;
        case OPT_PAYLOAD:
            c.payload_file = optarg;
            break;
        case OPT_CONTEXT:
            c.context_file = optarg;
            break;
        case OPT_PLAIN:
            c.plain = true;
            break;
        case OPT_FIXTURES:
            c.fixtures = optarg;
            break;
        case OPT_ATTACH:
            c.attach = optarg;
            break;
        case OPT_CHILDREN:
            c.children = true;
            break;
        default:
            return EXIT_USAGE;
        }
    }
    if (argc - optind != 1)
        return cmd_usage("collect", "one collector's name, or the path of its .so");
    c.name = argv[optind];
    return run(&c, g);
}

const struct command cmd_collect = {
    "collect", "run one collector once, its document on stdout", collect_main, "[OPTION]... NAME",
    "NAME is an installed collector, or the path of a .so (with a slash in it). Lake and catalog are not\n"
    "touched; no leash holds it, and only what its payload names may have a private address. It is confined as\n"
    "in a crawl and has the time workers.run; programs that it asks for run as in a crawl.\n"
    "\n"
    "      --payload FILE     its arguments, a JSON object; - is stdin\n"
    "      --context FILE     a run context for it, of `trotline context`\n"
    "      --plain            in this very process, not confined, without end: for gdb, valgrind, fuzzers\n"
    "      --fixtures FOLDER  answer its requests from recorded *.http files, with fixed ids and times\n"
    "      --attach FOLDER    where its attachments go (else they are refused)\n"
    "      --children         then print what its reaction asks for, a JSON object a line\n"
    "\n"
    "Exit codes: 0 success, 2 arguments that it does not take, 4 it cannot be loaded, 5 partial, 6 failed, refused or "
    "crashed.\n"
    "\n"
    "Examples:\n"
    "  echo '{\"url\":\"https://kayaks.test/\"}' | trotline collect http --payload -\n"
    "  gdb --args trotline collect ./mine.so --payload payload.json --fixtures fixtures --plain\n"};
