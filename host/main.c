/* main.c - trotline(1): options that stand before the command, and which command it is.
 *
 * The same program is its own worker (--worker), describes plugins (--describe) and lets them convert (--convert): all
 * for itself, not for people. The locale stays "C", whatever the environment says: what is read and written is UTF-8,
 * and times are UTC. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/yaml.h"
#include "cmd/commands.h"
#include "cmd/help.h"
#include "engine/convert_own.h"
#include "engine/plugin_child.h"
#include "engine/program.h"
#include "engine/shim.h"
#include "engine/worker.h"

/* Without these, the catalog might be opened as descriptor 1 and then printed into. What is closed stays closed: a
 * write to it fails, so that who throws data away is told. */
static void have_standard_files(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            exit(EXIT_INTERNAL);
}

/* Text that is on its way to nowhere is a failure, too. */
static int ended(int code) {
    return cmd_flush(stdout) || code ? code : EXIT_DISK;
}

static int refuse_global(int c, int argc, char **argv) {
    const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
    bool is_long = strncmp(word, "--", 2) == 0;
    const char *names[16], *near = NULL;
    size_t n = 0;
    for (; is_long && help_globals[n].name; n++)
        names[n] = help_globals[n].name;
    if (is_long && c == '?' && !optopt)
        near = yaml_nearest(word + 2, names, n);
    if (c == ':')
        log_error("%s wants a value (trotline --help tells more)", word);
    else if (is_long && optopt)
        log_error("%s takes no value (trotline --help tells more)", word);
    else if (near)
        log_error("there is no option %s; did you mean --%s? (options of a command stand behind it)", word, near);
    else if (is_long)
        log_error("there is no option %s (options of a command stand behind it; trotline --help tells more)", word);
    else
        log_error("there is no option -%c (options of a command stand behind it; trotline --help tells more)", optopt);
    return EXIT_USAGE;
}

/* -1: go on with argv[optind]; else the exit code. */
static int read_globals(int argc, char **argv, struct cmd_globals *g) {
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:qvhV", help_globals, NULL)) != -1)
        switch (c) {
        case 'c':
            g->config_path = optarg;
            break;
        case 'q':
            g->quiet = true;
            break;
        case 'v':
            g->verbose++;
            break;
        case 'l':
            g->json_log = strcmp(optarg, "json") == 0;
            if (!g->json_log && strcmp(optarg, "text") != 0) {
                log_error("--log-format takes text or json, not %s", optarg);
                return EXIT_USAGE;
            }
            break;
        case 'h':
            help_program(stdout);
            return EXIT_DONE;
        case 'V':
            help_version(stdout);
            return EXIT_DONE;
        default:
            return refuse_global(c, argc, argv);
        }
    return -1;
}

static int help_command(int argc, char **argv) {
    if (argc < 2 || argv[1][0] == '-') {
        help_program(stdout);
        return EXIT_DONE;
    }
    const struct command *c = cmd_find(argv[1]);
    if (!c)
        return help_unknown(argv[1]);
    cmd_help(c, stdout);
    return EXIT_DONE;
}

static int run_command(int argc, char **argv, const struct cmd_globals *g) {
    const struct command *c = cmd_find(argv[0]);
    if (strcmp(argv[0], "help") == 0)
        return help_command(argc, argv);
    if (!c)
        return help_unknown(argv[0]);
    optind = 0; /* glibc: getopt begins anew, with the command's own arguments */
    return c->run(argc, argv, g);
}

int main(int argc, char **argv) {
    struct cmd_globals g = {0};
    if (argc == 2 && strcmp(argv[1], SHIM_GUARD_ARGUMENT) == 0)
        return shim_guard_main();
    have_standard_files();
    program_setup();
    plugin_self(program_path());
    if (argc == 3 && strcmp(argv[1], "--worker") == 0)
        worker_main(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--describe") == 0)
        return plugin_describe_main(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--convert") == 0)
        return convert_own_main(argv[2]);
    if (argc >= 2 && strcmp(argv[1], "--complete") == 0) {
        help_complete(argc - 2, argv + 2, stdout);
        return ended(EXIT_DONE);
    }
    int code = read_globals(argc, argv, &g);
    if (code >= 0)
        return ended(code);
    log_setup(g.json_log ? LOG_JSON : LOG_TEXT, g.quiet         ? TL_ERROR
                                                : !g.verbose    ? TL_WARN
                                                : g.verbose < 2 ? TL_INFO
                                                                : TL_DEBUG);
    if (optind >= argc) {
        help_program(stderr);
        return EXIT_USAGE;
    }
    return ended(run_command(argc - optind, argv + optind, &g));
}
