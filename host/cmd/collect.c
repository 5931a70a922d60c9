/* collect.c - trotline collect: one collector once, its document on stdout; lake and catalog stay as they are. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"
#include "engine/args.h"
#include "engine/plain.h"
#include "engine/program.h"

enum { OPT_PAYLOAD = 256, OPT_PLAIN, OPT_FIXTURES, OPT_ATTACH, OPT_CHILDREN, PAYLOAD_MAX = 1 << 20 };
struct collect {
    const char *name, *payload_file, *fixtures, *attach;
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

/* NAME is a collector of the plugin folders, or the path of a .so. */
static int find_file(struct cmd_open *open, const char *name, const char **file) {
    struct fail why = FAIL_INIT;
    size_t n = 0;
    *file = name;
    if (strchr(name, '/'))
        return 0;
    const struct plugin *p = plugin_find(&open->plugins, name);
    while (open->config.plugins[n])
        n++;
    if (p && p->file) {
        *file = p->file;
        return 0;
    }
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

static int run_plain(const struct collect *c, const struct cmd_globals *g) {
    struct cmd_open open = {0};
    struct fail why = FAIL_INIT;
    struct plain_fixtures fixtures = {0};
    struct plain_result result = {0};
    AUTO_BUF struct buf payload = BUF_INIT;
    struct plain_options o = {.config = &open.config, .react = c->children, .attach_folder = c->attach, .log = say};
    int code = cmd_open(&open, g, CMD_PLUGINS, NULL, 0);
    if (!code)
        code = find_file(&open, c->name, &o.file);
    if (!code && c->payload_file && read_payload(c->payload_file, &payload, &why))
        code = cmd_fail(&why, EXIT_USAGE);
    o.payload = payload.len ? buf_span(&payload) : span_of("{}");
    if (!code && c->fixtures) {
        o.fixtures = &fixtures;
        o.fixed = true;
        if (plain_fixtures_read(c->fixtures, &fixtures, &why))
            code = cmd_fail(&why, EXIT_USAGE);
    }
    const struct config_collector *own = code ? NULL : config_collector(&open.config, c->name);
    if (own)
        o.options = own->options;
    if (!code && plain_run(&o, &result, &why))
        code = cmd_fail(&why, EXIT_PLUGIN);
    else if (!code) {
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
    plain_fixtures_free(&fixtures);
    cmd_close(&open);
    return code;
}

/* The same in a child, so that a collector that crashes does not take this command's last words along. */
static int run_apart(int argc, char **argv, const struct cmd_globals *g, const char *name) {
    char **child = mem_alloc((size_t)(argc + 8) * sizeof *child);
    int n = 0, status = 0;
    pid_t pid;
    child[n++] = (char *)(uintptr_t) "trotline";
    if (g->config_path) {
        child[n++] = (char *)(uintptr_t) "--config";
        child[n++] = (char *)(uintptr_t)g->config_path;
    }
    if (g->quiet)
        child[n++] = (char *)(uintptr_t) "-q";
    for (int i = 0; i < argc; i++)
        child[n++] = argv[i];
    child[n++] = (char *)(uintptr_t) "--plain";
    int rc = posix_spawn(&pid, program_path(), NULL, NULL, child, environ);
    free(child);
    if (rc || waitpid(pid, &status, 0) < 0) {
        log_ending(EXIT_INTERNAL, "cannot start a process: %s", strerrordesc_np(rc ? rc : errno));
        return EXIT_INTERNAL;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    const char *abbrev = sigabbrev_np(WTERMSIG(status));
    log_ending(EXIT_ROOT,
               "collector %s died of signal %d (SIG%s); to see where: gdb --args trotline collect %s ... --plain", name,
               WTERMSIG(status), abbrev ? abbrev : "?", name);
    return EXIT_ROOT;
}

static int collect_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {
        {"payload", required_argument, NULL, OPT_PAYLOAD},   {"plain", no_argument, NULL, OPT_PLAIN},
        {"fixtures", required_argument, NULL, OPT_FIXTURES}, {"attach", required_argument, NULL, OPT_ATTACH},
        {"children", no_argument, NULL, OPT_CHILDREN},       {0}};
    struct collect c = {0};
    int opt;
    while ((opt = cmd_option(argc, argv, "h", longs)) != 0) {
        switch (opt) {
        case CMD_HELP:
            return EXIT_DONE;
        case OPT_PAYLOAD:
            c.payload_file = optarg;
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
    return c.plain ? run_plain(&c, g) : run_apart(argc, argv, g, c.name);
}

const struct command cmd_collect = {
    "collect", "run one collector once, its document on stdout", collect_main, "[OPTION]... NAME",
    "NAME is an installed collector, or the path of a .so (with a slash in it). Lake and catalog are not\n"
    "touched; no leash holds it, and only what its payload names may have a private address.\n"
    "\n"
    "      --payload FILE     its arguments, a JSON object; - is stdin\n"
    "      --plain            in this very process: for gdb, valgrind, fuzzers\n"
    "      --fixtures FOLDER  answer its requests from recorded *.http files, with fixed ids and times\n"
    "      --attach FOLDER    where its attachments go (else they are refused)\n"
    "      --children         then print what its reaction asks for, a JSON object a line\n"
    "\n"
    "Exit codes: 0 success, 5 partial, 6 failed, refused or crashed.\n"
    "\n"
    "Examples:\n"
    "  echo '{\"url\":\"https://kayaks.test/\"}' | trotline collect http --payload -\n"
    "  gdb --args trotline collect ./mine.so --payload payload.json --fixtures fixtures --plain\n"};
