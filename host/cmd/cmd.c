/* cmd.c - see cmd.h: options, what went wrong, and what is open for a command.
 *
 * Invariant: --help is answered, and a wrong option refused, before any file is read. */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"

const struct command *cmd_find(const char *name) {
    for (size_t i = 0; cmd_table[i]; i++)
        if (strcmp(cmd_table[i]->name, name) == 0)
            return cmd_table[i];
    return NULL;
}

/* ---- what went wrong */

int cmd_usage(const char *command, const char *fmt, ...) {
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    log_error("%s: %s (trotline %s --help tells more)", command, text, command);
    return EXIT_USAGE;
}

int cmd_fail(const struct fail *why, int otherwise) {
    log_progress(NULL);
    log_error("%s", why->text[0] ? why->text : "it failed, and nobody said why");
    return why->exit_code ? why->exit_code : otherwise;
}

int64_t cmd_number(const char *text, int64_t least, int64_t most) {
    size_t len = strlen(text);
    if (!len || len > 19 || strspn(text, "0123456789") != len)
        return -1;
    errno = 0;
    long long n = strtoll(text, NULL, 10);
    return errno || n < least || n > most ? -1 : n;
}

bool cmd_flush(FILE *out) {
    errno = 0;
    if (fflush(out) == 0 && !ferror(out))
        return true;
    char text[128];
    clearerr(out); /* it has been said */
    log_error("cannot write the output: %s", errno ? strerror_r(errno, text, sizeof text) : "an earlier write failed");
    return false;
}

/* ---- options */

enum { OPTIONS_MAX = 48, BROKEN_TOLD = 5 };

/* The word that getopt has just refused, as it was written. */
static const char *refused_word(int argc, char **argv) {
    return optind > 0 && optind <= argc ? argv[optind - 1] : "";
}

static int unknown_long(const char *command, const char *word, const struct option *longs, size_t n) {
    const char *names[OPTIONS_MAX];
    char bare[64];
    size_t matches = 0;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (size_t i = 0; i < n; i++) {
        names[i] = longs[i].name;
        matches += strncmp(longs[i].name, bare, strlen(bare)) == 0;
    }
    if (matches > 1)
        return cmd_usage(command, "--%s may mean several options", bare);
    const char *near = yaml_nearest(bare, names, n);
    if (near)
        return cmd_usage(command, "there is no option --%s; did you mean --%s?", bare, near);
    return cmd_usage(command, "there is no option --%s", bare);
}

static int refuse_option(int c, int argc, char **argv, const struct option *longs, size_t n) {
    const char *word = refused_word(argc, argv);
    bool is_long = strncmp(word, "--", 2) == 0;
    if (c == ':' && is_long)
        return cmd_usage(argv[0], "%s wants a value", word);
    if (c == ':')
        return cmd_usage(argv[0], "-%c wants a value", optopt);
    if (!is_long)
        return cmd_usage(argv[0], "there is no option -%c", optopt);
    if (optopt)
        return cmd_usage(argv[0], "%s takes no value", word);
    return unknown_long(argv[0], word, longs, n);
}

int cmd_option(int argc, char **argv, const char *short_options, const struct option *long_options) {
    struct option longs[OPTIONS_MAX] = {0};
    char shorts[OPTIONS_MAX + 4];
    size_t n = 0;
    bool help = false;
    for (; long_options && long_options[n].name && n < OPTIONS_MAX - 2; n++) {
        longs[n] = long_options[n];
        help |= strcmp(longs[n].name, "help") == 0;
    }
    if (!help)
        longs[n++] = (struct option){"help", no_argument, NULL, 'h'};
    snprintf(shorts, sizeof shorts, ":%s%s", short_options, strchr(short_options, 'h') ? "" : "h");
    opterr = 0;
    int c = getopt_long(argc, argv, shorts, longs, NULL);
    if (c == -1)
        return 0;
    if (c == 'h') {
        const struct command *self = cmd_find(argv[0]);
        if (self)
            cmd_help(self, stdout);
        return CMD_HELP;
    }
    if (c != '?' && c != ':')
        return c;
    refuse_option(c, argc, argv, longs, n);
    return CMD_USAGE;
}

int cmd_format(const char *text, enum cmd_format *out) {
    static const char *const words[] = {"table", "json", "jsonl", "csv"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *out = (enum cmd_format)i;
            return TL_OK;
        }
    return TL_INVALID;
}

/* ---- what is open */

static int open_store(struct cmd_open *o, unsigned what) {
    struct fail why = FAIL_INIT;
    int rc = TL_OK;
    if (o->store || !(what & (CMD_STORE_READ | CMD_STORE_WRITE)))
        return 0;
    if (what & CMD_STORE_READ)
        rc = store_open(o->config.catalog, STORE_READ, &o->store, &why);
    if (rc == TL_OK && what & CMD_STORE_WRITE) { /* with both: only if it is there */
        store_close(o->store);
        o->store = NULL;
        rc = store_open(o->config.catalog, STORE_WRITE, &o->store, &why);
    }
    return rc ? cmd_fail(&why, EXIT_INTERNAL) : 0;
}

static int found(void *ctx, const struct store_row *row) {
    (void)row;
    *(bool *)ctx = true;
    return 1;
}

/* A disk that is not mounted: a new lake in its place would hide the one that the catalog knows. */
static int must_not_be_gone(const struct config *c) {
    struct fail why = FAIL_INIT;
    struct store *store;
    bool documents = false;
    if (access(c->lake, F_OK) == 0 || errno != ENOENT || access(c->catalog, F_OK) ||
        store_open(c->catalog, STORE_READ, &store, &why)) /* whoever needs the catalog says what is wrong with it */
        return 0;
    store_query(store, "SELECT 1 FROM documents LIMIT 1", NULL, 0, found, &documents, &why);
    store_close(store);
    if (!documents)
        return 0;
    fail_exit(&why, TL_NOTFOUND, EXIT_DISK,
              "there is no lake %s, but the catalog %s knows documents in it: is its disk mounted? To begin with an "
              "empty one all the same: mkdir -p %s",
              c->lake, c->catalog, c->lake);
    return cmd_fail(&why, EXIT_DISK);
}

static int open_lake(struct cmd_open *o, unsigned what) {
    struct fail why = FAIL_INIT;
    if (o->lake || !(what & (CMD_LAKE_READ | CMD_LAKE_WRITE)))
        return 0;
    if (what & CMD_LAKE_WRITE && must_not_be_gone(&o->config))
        return EXIT_DISK;
    return lake_open(o->config.lake, what & CMD_LAKE_WRITE, &o->lake, &why) ? cmd_fail(&why, EXIT_DAMAGED) : 0;
}

/* Once a process, however often it opens them. */
static void tell_broken(const struct config_apis *apis) {
    static bool told;
    for (size_t i = 0; i < apis->broken_count && !told; i++)
        if (i == BROKEN_TOLD) {
            log_warn("and %zu more descriptions of APIs are wrong: trotline doctor tells all", apis->broken_count - i);
            break;
        } else if (apis->broken[i].name)
            log_warn("%s (lines that ask for the API %s are refused until that is right)", apis->broken[i].text,
                     apis->broken[i].name);
        else
            log_warn("%s (lines that ask for an API are refused until that is right)", apis->broken[i].text);
    told = told || apis->broken_count;
}

int cmd_open(struct cmd_open *o, const struct cmd_globals *g, unsigned what, const char *const *set, size_t set_count) {
    struct fail why = FAIL_INIT;
    if (!o->has_config) {
        if (config_load(g->config_path, set, set_count, &o->config, &why))
            return cmd_fail(&why, EXIT_CONFIG);
        o->has_config = true;
    }
    if (what & CMD_PLUGINS && !o->has_plugins) {
        size_t n = 0;
        while (o->config.plugins && o->config.plugins[n])
            n++;
        plugin_scan(&o->plugins, o->config.plugins, n);
        o->has_plugins = true;
        config_apis_give(&o->config, &o->plugins, &o->apis);
        tell_broken(&o->apis);
    }
    /* A lake that cannot be written leaves no catalog behind; a catalog that is not there says more than a lake that is
     * not, and where there must be one, no lake is made. */
    int code = what & CMD_LAKE_WRITE && !(what & CMD_STORE_READ) ? open_lake(o, what) : 0;
    if (!code)
        code = open_store(o, what);
    return code ? code : open_lake(o, what);
}

void cmd_close(struct cmd_open *o) {
    store_close(o->store);
    lake_close(o->lake);
    if (o->has_plugins)
        plugin_set_free(&o->plugins);
    config_apis_free(&o->apis);
    if (o->has_config)
        config_free(&o->config);
    *o = (struct cmd_open){0};
}
