/* doctor.c - trotline doctor: is this installation sound? Looks, and changes nothing: no lake and no catalog is made.
 */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "engine/args_value.h"
#include "engine/config_types.h"
#include "engine/confine.h"
#include "engine/crawl_check.h"
#include "engine/plugin_cache.h"
#include "engine/targets.h"
#include "engine/version.h"

enum { FREE_LOW = 256 << 20 }; /* bytes below which a lake's disk is worth a note */
enum state { SOUND, NOTE, UNSOUND };
static const char *const state_name[] = {"ok", "note", "bad"};

struct doctor {
    struct cmd_open open;
    bool json;
    struct buf out;
    struct json_writer writer;
    int notes, bad, exit_code;
};

/* The first in this order that holds is the exit code; the rest are as bad as nothing to it. */
static void worst(struct doctor *d, int exit_code) {
    static const int order[] = {EXIT_DAMAGED, EXIT_DISK, EXIT_CONFIG, EXIT_PLUGIN, EXIT_INTERNAL};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (d->exit_code == order[i])
            return;
        if (exit_code == order[i])
            break;
    }
    d->exit_code = exit_code;
}

TL_PRINTF(5, 6)
static void tell(struct doctor *d, const char *what, enum state state, int exit_code, const char *fmt, ...) {
    AUTO_BUF struct buf text = {.max = 8192};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    d->notes += state == NOTE;
    if (state == UNSOUND) {
        d->bad++;
        worst(d, exit_code);
    }
    if (d->json) {
        json_object_begin(&d->writer);
        json_member_string(&d->writer, "what", what);
        json_member_string(&d->writer, "state", state_name[state]);
        json_member_span(&d->writer, "text", buf_span(&text));
        json_object_end(&d->writer);
        return;
    }
    buf_printf(&d->out, "%-14s %-5s ", what, state_name[state]);
    print_plain(&d->out, buf_span(&text), 0);
    buf_char(&d->out, '\n');
}

static bool writable(const char *path) {
    return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0;
}

/* What binds collectors, see confine.h. */
static void check_confinement(struct doctor *d) {
    int landlock = confine_landlock_abi();
    bool filter = confine_seccomp();
    AUTO_BUF struct buf files = BUF_INIT;
    if (landlock)
        buf_printf(&files, "files by Landlock (ABI %d)", landlock);
    else
        buf_text(&files, "files not, this kernel has no Landlock");
    tell(d, "confinement", landlock && filter ? SOUND : NOTE, EXIT_DONE,
         "workers: no new privileges, memory and descriptors limited, %s, system calls %s", files.data,
         filter ? "by seccomp"
                : "not, this kernel has no seccomp filters: collectors in other languages (exec) are refused");
}

static const char *reason_of(int error, char text[128]) {
    return strerror_r(error, text, 128);
}

/* The nearest folder above `path` that is there. */
static void folder_above(const char *path, char out[PATH_MAX]) {
    struct stat st;
    snprintf(out, PATH_MAX, "%s", path);
    do {
        char *slash = strrchr(out, '/');
        if (!slash || slash == out) {
            snprintf(out, PATH_MAX, "%s", slash ? "/" : ".");
            return;
        }
        *slash = '\0';
    } while (stat(out, &st) < 0);
}

static void check_versions(struct doctor *d) {
    tell(d, "trotline", SOUND, 0, "%s (collector ABI %u.%u)", TROTLINE_VERSION, TL_ABI_MAJOR, TL_ABI_MINOR);
    tell(d, "libraries", SOUND, 0, "%s, %s, %s", store_library(), curl_version(), OpenSSL_version(OPENSSL_VERSION));
}

static bool check_configuration(struct doctor *d, const struct cmd_globals *g) {
    struct fail why = FAIL_INIT;
    if (config_load(g->config_path, NULL, 0, &d->open.config, &why)) {
        tell(d, "configuration", UNSOUND, why.exit_code ? why.exit_code : EXIT_CONFIG, "%s", why.text);
        return false;
    }
    d->open.has_config = true;
    const struct config *c = &d->open.config;
    if (c->file)
        tell(d, "configuration", SOUND, 0, "%s", c->file);
    else
        tell(d, "configuration", SOUND, 0, "no file was found: everything is as by default, from %s", c->folder);
    for (size_t i = 0; i < c->secret_count; i++) {
        const struct config_secret *s = &c->secret[i];
        if (s->env && !getenv(s->env))
            tell(d, "secret", NOTE, 0, "%s: the environment has no %s", s->name, s->env);
        if (s->file && faccessat(AT_FDCWD, s->file, R_OK, AT_EACCESS) < 0) {
            char text[128];
            tell(d, "secret", NOTE, 0, "%s: cannot read %s: %s", s->name, s->file, reason_of(errno, text));
        }
    }
    return true;
}

static void check_lake(struct doctor *d) {
    const char *path = d->open.config.lake;
    char above[PATH_MAX], text[128], size[TIME_TEXT];
    struct stat st;
    struct statvfs fs;
    bool there = stat(path, &st) == 0;
    if (!there)
        folder_above(path, above);
    const char *folder = there ? path : above;
    if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode)) {
        tell(d, "lake", UNSOUND, EXIT_DISK, "%s cannot be made: %s is no folder", path, folder);
        return;
    }
    if (!writable(folder)) {
        tell(d, "lake", UNSOUND, EXIT_DISK, "%s cannot be %s: %s: %s", path, there ? "written" : "made", folder,
             reason_of(errno, text));
        return;
    }
    int64_t left = statvfs(folder, &fs) == 0 ? (int64_t)fs.f_bavail * (int64_t)fs.f_frsize : 0;
    time_size_text(left, size);
    tell(d, "lake", left < FREE_LOW ? NOTE : SOUND, 0, "%s%s, %s free", path,
         there ? "" : " (not there yet: a first crawl makes it)", size);
}

static int read_row(void *ctx, const struct store_row *row) {
    struct buf *out = ctx;
    if (out->len)
        buf_lit(out, ", ");
    for (size_t i = 0; i < row->count; i++) {
        if (i)
            buf_char(out, ' ');
        print_value(out, &row->value[i]);
    }
    return 0;
}

static void check_catalog_inside(struct doctor *d, const char *path) {
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf text = BUF_INIT, wrong = BUF_INIT;
    if (store_open(path, STORE_READ, &d->open.store, &why)) {
        tell(d, "catalog", UNSOUND, why.exit_code ? why.exit_code : EXIT_DAMAGED, "%s", why.text);
        return;
    }
    int rc = store_query(d->open.store, "SELECT quick_check FROM pragma_quick_check(3) WHERE quick_check <> 'ok'", NULL,
                         0, read_row, &wrong, &why);
    if (!rc)
        rc = store_query(
            d->open.store,
            "SELECT key, value FROM health WHERE key IN ('schema version', 'crawls open', 'crawls closed', 'runs')",
            NULL, 0, read_row, &text, &why);
    if (rc || wrong.len)
        tell(d, "catalog", UNSOUND, EXIT_DAMAGED, "%s is damaged: %s; move it away, then: trotline rebuild", path,
             rc ? why.text : wrong.data);
    else
        tell(d, "catalog", SOUND, 0, "%s: %s", path, text.data ? text.data : "");
}

static void check_catalog(struct doctor *d) {
    const char *path = d->open.config.catalog;
    char above[PATH_MAX], text[128];
    struct stat st;
    if (strstr(path, "://")) {
        struct fail why = FAIL_INIT;
        if (store_open(path, STORE_READ, &d->open.store, &why))
            tell(d, "catalog", UNSOUND, why.exit_code ? why.exit_code : EXIT_CONFIG, "%s", why.text);
        return;
    }
    if (stat(path, &st) == 0)
        check_catalog_inside(d, path);
    folder_above(path, above);
    if (!writable(above))
        tell(d, "catalog", UNSOUND, EXIT_DISK, "%s: its folder %s cannot be written: %s", path, above,
             reason_of(errno, text));
    else if (!d->open.store && stat(path, &st) < 0)
        tell(d, "catalog", SOUND, 0, "%s (not there yet: a first crawl makes it)", path);
}

static bool in_path(const char *program) {
    const char *path = getenv("PATH");
    char file[PATH_MAX];
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at; at = *at ? at + 1 : NULL) {
        size_t len = strcspn(at, ":");
        int n = snprintf(file, sizeof file, "%.*s/%s", (int)len, at, program);
        if (n > 0 && (size_t)n < sizeof file && access(file, X_OK) == 0)
            return true;
        at += len;
        if (!*at)
            break;
    }
    return false;
}

/* Of those that the installation chooses itself, whether each may be run. */
static void check_programs(struct doctor *d, const struct plugin *p) {
    const struct config_collector *own = config_collector(&d->open.config, p->name);
    struct tl_json list, item = {0};
    for (size_t k = 0; p->program && p->program[k]; k++) {
        if (strcmp(p->program[k], "*") != 0) {
            if (!in_path(p->program[k]))
                tell(d, "program", NOTE, 0, "%s needs %s, which is not installed", p->name, p->program[k]);
            continue;
        }
        if (!own || !own->options.len || json_find(own->options, "/programs", &list))
            continue;
        while (json_next(&list, &item) == TL_OK) {
            AUTO_BUF struct buf path = BUF_INIT;
            struct fail why = FAIL_INIT;
            if (json_text(&item, &path) == TL_OK && path.len && loader_program(path.data, &why))
                tell(d, "program", NOTE, 0, "%s cannot run %.300s: %s", p->name, path.data, why.text);
        }
    }
}

static void check_plugins(struct doctor *d) {
    struct plugin_set *set = &d->open.plugins;
    const char *const *folders = d->open.config.plugins;
    size_t n = 0, missing = 0;
    struct stat st;
    for (; folders && folders[n]; n++)
        missing += stat(folders[n], &st) < 0;
    plugin_scan(set, folders, n);
    d->open.has_plugins = true;
    for (size_t i = 0; i < set->count; i++) {
        const struct plugin *p = &set->plugin[i];
        tell(d, "collector", SOUND, 0, "%s %s (%s%s%s)", p->name, p->version, p->file ? p->file : "built in",
             p->shadowed_by ? "; not used: shadowed by " : "", p->shadowed_by ? p->shadowed_by : "");
        check_programs(d, p);
    }
    for (size_t i = 0; i < set->refused_count; i++)
        tell(d, "collector", UNSOUND, EXIT_PLUGIN, "%s: %s", set->refused[i].file, set->refused[i].reason);
    if (set->count <= 1 && !set->refused_count)
        tell(d, "collector", UNSOUND, EXIT_PLUGIN,
             "no collector is installed: %zu folders were searched, %zu of them are not there; set `plugins` in "
             "trotline.yml or TROTLINE_PLUGINS to the folder that has http.so",
             n, missing);
}

/* ---- what the configuration names: each fault with its place */

/* What a collector of the configuration is told for good. */
static void check_options(struct doctor *d) {
    const struct config *c = &d->open.config;
    for (size_t i = 0; i < c->collector_count; i++) {
        const struct config_collector *own = &c->collector[i];
        const struct plugin *p = plugin_find(&d->open.plugins, own->name);
        AUTO_BUF struct buf payload = BUF_INIT;
        struct fail why = FAIL_INIT;
        if (!p || !p->file)
            tell(d, "options", NOTE, 0, "%s:%d:%d: there is no collector %s", c->file, own->line, own->column,
                 own->name);
        else if (own->options.len && args_check_options(p, own->options, true, &payload, &why))
            tell(d, "options", UNSOUND, EXIT_CONFIG, "%s:%d:%d: %s", c->file, own->line, own->column, why.text);
    }
}

static bool has_secret(const struct config *c, const char *name) {
    for (size_t i = 0; i < c->secret_count; i++)
        if (strcmp(c->secret[i].name, name) == 0)
            return true;
    return false;
}

/* Those of the installation's own folders; what is built in is sound. */
static void check_apis(struct doctor *d) {
    const char *const *folder = d->open.config.apis;
    struct config_apis *apis = &d->open.apis;
    AUTO_BUF struct buf names = BUF_INIT;
    config_apis_give(&d->open.config, &d->open.plugins, apis);
    if (!folder || !*folder)
        return;
    if (!apis->count)
        config_apis(&d->open.config, apis); /* no collector wants them; they may be wrong all the same */
    for (size_t i = 0; i < apis->broken_count; i++)
        tell(d, "api", UNSOUND, EXIT_CONFIG, "%s", apis->broken[i].text);
    for (size_t i = 0; i < apis->count; i++) {
        const struct config_api *api = &apis->api[i];
        buf_printf(&names, "%s%s", i ? ", " : "", api->name);
        if (api->secret && !has_secret(&d->open.config, api->secret))
            tell(d, "api", NOTE, 0, "%s: trotline.yml has no secret %s: put it there, or name another in each line",
                 api->name, api->secret);
    }
    tell(d, "apis", SOUND, 0, "%s", names.data);
}

/* false: they are wrong, so that nothing can be said of what speaks of them. */
static bool check_types(struct doctor *d) {
    const char *const *folder = d->open.config.convert.types;
    struct config_types types = {0};
    struct fail why = FAIL_INIT;
    if (!folder || !*folder)
        return true;
    int rc = config_types(&d->open.config, &types, &why);
    if (rc)
        tell(d, "types", UNSOUND, EXIT_CONFIG, "%s", why.text);
    else {
        AUTO_BUF struct buf names = BUF_INIT;
        for (size_t i = 0; i < types.count; i++)
            buf_printf(&names, "%s%s", i ? ", " : "", types.type[i].name);
        tell(d, "types", SOUND, 0, "%s", names.data);
    }
    config_types_free(&types);
    return rc == TL_OK;
}

static struct doctor *listening; /* targets_load tells problems without saying to whom */
static void target_problem(const char *text) {
    tell(listening, "target", UNSOUND, EXIT_CONFIG, "%s", text);
}

static void stray_target(const char *path) {
    tell(listening, "target", NOTE, 0, "%s is left alone: files of targets end in .yml", path);
}

/* Files and those that were promoted; that their lines fit the collectors, too. */
static void check_targets(struct doctor *d) {
    struct targets t = {0};
    struct fail why = FAIL_INIT;
    listening = d;
    int rc = targets_load(&d->open.config, d->open.store, target_problem, &t, &why);
    if (rc)
        tell(d, "targets", UNSOUND, EXIT_CONFIG, "%s", why.text);
    for (size_t i = 0; i < t.count && !rc; i++)
        if (crawl_check(&t.entry[i].t.crawl, &d->open.config, &d->open.plugins, &why) ||
            crawl_check_secrets(&t.entry[i].t.crawl, &d->open.config, &d->open.plugins, &why))
            tell(d, "target", UNSOUND, why.exit_code ? why.exit_code : EXIT_CONFIG, "%s", why.text);
    targets_strays(&d->open.config, stray_target);
    if (!rc && t.count)
        tell(d, "targets", SOUND, 0, "%zu of them", t.count);
    targets_free(&t);
}

/* What a reaction makes of its template, as it would make it of a host. */
static void check_template(struct doctor *d, const struct discovery_reaction *by) {
    AUTO_BUF struct buf made = BUF_INIT;
    struct fail why = FAIL_INIT;
    struct target target;
    const struct target_wish wish = {.id = "doctor",
                                     .name = "www.example.org",
                                     .url = "https://www.example.org/",
                                     .every = by->every,
                                     .template_file = by->template_file};
    int rc = config_target_make(&wish, &made, &why);
    if (!rc && (rc = config_target_text(by->template_file ? by->template_file : "the usual template", buf_span(&made),
                                        &target, &why)) == TL_OK) {
        rc = crawl_check(&target.crawl, &d->open.config, &d->open.plugins, &why);
        config_target_free(&target);
    }
    if (rc)
        tell(d, "template", UNSOUND, why.exit_code == EXIT_PLUGIN ? EXIT_PLUGIN : EXIT_CONFIG, "of the reaction %s: %s",
             by->name, why.text);
}

static void check_discovery(struct doctor *d) {
    const struct config *c = &d->open.config;
    struct discovery rules = {0};
    struct fail why = FAIL_INIT;
    if (!c->targets.rules)
        return;
    int rc = discovery_read(c, &rules, &why);
    if (rc)
        tell(d, "discovery", UNSOUND, EXIT_CONFIG, "%s", why.text);
    for (size_t i = 0; !rc && i < rules.react_count; i++)
        check_template(d, &rules.react[i]);
    if (!rc) {
        tell(d, "discovery", SOUND, 0, "%s: %zu rules, %zu reactions", c->targets.rules, rules.count_count,
             rules.react_count);
        discovery_free(&rules);
    }
}

static void check_clock(struct doctor *d) {
    static const int64_t earliest = 1704067200000000, latest = 4102444800000000; /* 2024, 2100 */
    char text[TIME_TEXT];
    struct stat st;
    int64_t now = time_now_us();
    time_text(now, text);
    if (now < earliest || now >= latest)
        tell(d, "clock", UNSOUND, EXIT_CONFIG, "it says %s, which cannot be: set the system's clock", text);
    else if (d->open.has_config && stat(d->open.config.catalog, &st) == 0 &&
             (int64_t)st.st_mtime * 1000000 > now + 3600000000)
        tell(d, "clock", NOTE, 0, "it says %s, but the catalog was written later than that: was it set back?", text);
    else
        tell(d, "clock", SOUND, 0, "%s", text);
}

static void check_cache(struct doctor *d) {
    struct plugin_cache cache;
    char link[40], path[PATH_MAX];
    plugin_cache_open(&cache);
    ssize_t n = -1;
    if (cache.folder >= 0 && faccessat(cache.folder, ".", W_OK | X_OK, AT_EACCESS) == 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", cache.folder);
        n = readlink(link, path, sizeof path - 1);
    }
    plugin_cache_close(&cache);
    if (n > 0)
        tell(d, "cache", SOUND, 0, "%.*s", (int)n, path);
    else
        tell(d, "cache", NOTE, 0,
             "there is no folder of ours that can be written in $XDG_CACHE_HOME or ~/.cache: collectors are described "
             "anew each time");
}

static int doctor(struct doctor *d, const struct cmd_globals *g) {
    d->writer = (struct json_writer)JSON_WRITER(&d->out);
    if (d->json) {
        json_object_begin(&d->writer);
        json_put_key(&d->writer, "checks");
        json_array_begin(&d->writer);
    }
    check_versions(d);
    if (check_configuration(d, g)) {
        check_lake(d);
        check_catalog(d);
        check_plugins(d);
        check_options(d);
        check_apis(d);
        bool types = check_types(d);
        check_targets(d);
        if (types)
            check_discovery(d);
    }
    check_confinement(d);
    check_clock(d);
    check_cache(d);
    if (d->json) {
        json_array_end(&d->writer);
        json_member_bool(&d->writer, "sound", d->bad == 0);
        json_object_end(&d->writer);
        buf_char(&d->out, '\n');
    }
    fwrite(d->out.data, 1, d->out.len, stdout);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    if (d->bad)
        log_closing("doctor: %d thing%s bad, see the lines that say so", d->bad, d->bad == 1 ? " is" : "s are");
    else if (!g->quiet)
        log_closing("doctor: the installation is sound%s", d->notes ? ", see the notes" : "");
    return d->exit_code;
}

static int doctor_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'}, {0}};
    struct doctor d = {.exit_code = EXIT_DONE};
    enum cmd_format format = CMD_TABLE;
    for (int c; (c = cmd_option(argc, argv, "o:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (cmd_format(optarg, &format) || format == CMD_CSV || format == CMD_JSONL)
            return cmd_usage("doctor", "-o takes table or json, not '%s'", optarg);
    }
    if (optind < argc)
        return cmd_usage("doctor",
                         "it takes no argument such as '%s'; a crawl file is checked by: trotline run --plan FILE",
                         argv[optind]);
    d.json = format == CMD_JSON;
    int code = doctor(&d, g);
    buf_free(&d.out);
    cmd_close(&d.open);
    return code;
}

const struct command cmd_doctor = {
    "doctor", "check this installation", doctor_main, "[-o FORMAT]",
    "Says what is installed and configured, and whether it is sound: versions, configuration, lake, catalog,\n"
    "collectors (with the reason of each that is refused) and their options, descriptions of APIs, types, targets "
    "with\n"
    "their lines, rules and templates of discovery, clock, cache. Nothing is made or changed. Ends with 0 when\n"
    "all is sound, else with the code that a crawl would end with: 3 configuration, 4 a collector is refused or\n"
    "there is none, 9 lake or catalog cannot be written, 14 the catalog is damaged.\n"
    "\n"
    "  -o, --output FORMAT    table (default), json: {checks: [{what, state, text}], sound}\n"
    "\n"
    "Examples:\n"
    "  trotline doctor\n"
    "  trotline --config /etc/trotline/trotline.yml doctor -o json\n"};
