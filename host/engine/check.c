/* check.c - see check.h.
 *
 * Whatever runs the collector's code runs in a confined child with a deadline: a collector that crashes fails a check,
 * not the test, and what is checked need not be trusted. */
#include "engine/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/args.h"
#include "engine/check_convert.h"
#include "engine/confine.h"
#include "engine/elf.h"
#include "engine/plain.h"
#include "engine/plain_programs.h"
#include "engine/plugin_child.h"
#include "engine/plugin_json.h"
#include "engine/program.h"
#include "fanin/context.h"

enum {
    DEADLINE_S = 10,
    PAYLOAD_MAX = 1 << 20,
    MEMORY_STEPS = 60,
    CHILDREN_MAX = 1000 /* the leash's default fan-out */
};

#define DOCUMENT "document.json" /* in the folder beside */
struct check {
    FILE *out;
    const char *file, *folder;
    char beside[40]; /* where attachments go, for as long as the test lasts */
    int number, failed;
    char cache[60]; /* in it: the collector's cache folder */
    struct buf payload, options;
    struct context context; /* of context.json beside it, or empty */
    struct plain_fixtures fixtures;
    bool has_fixtures;
    struct buf described; /* what it said about itself */
    struct plugin plugin;
};
struct verdict { /* what a child leaves in shared memory */
    bool came;   /* to its end */
    int status, react_status, rc;
    size_t children, loosening, fetches, document_bytes, descriptors_before, descriptors_after;
    struct sha256 document;
    char text[400];
};

static void ok(struct check *c, bool good, const char *name, const char *what_to_do) {
    fprintf(c->out, "%sok %d - %s\n", good ? "" : "not ", ++c->number, name);
    if (!good) {
        c->failed++;
        fprintf(c->out, "# %s\n", what_to_do);
    }
}

/* ---- in a child */

static size_t open_descriptors(void) {
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* For the checks of convert, which do not run here. */
static void leave_document(const struct check *c, const struct buf *document) {
    AUTO_BUF struct buf path = BUF_INIT;
    buf_printf(&path, "%s/" DOCUMENT, c->beside);
    AUTO_CLOSE int fd = open(path.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, buf_span(document).ptr, document->len) != (ssize_t)document->len)
        unlink(path.data);
}

static void run_here(const struct check *c, enum plain_fault fault, size_t memory, struct plain_programs *programs,
                     const struct confine *confine, struct verdict *v) {
    struct plain_options o = {.file = c->file,
                              .payload = buf_span(&c->payload),
                              .options = buf_span(&c->options),
                              .run_context = c->context.json,
                              .cache_folder = c->cache,
                              .programs = programs->pid ? programs : NULL,
                              .confine = confine,
                              .fixtures = &c->fixtures,
                              .fault = fault,
                              .memory = memory,
                              .fixed = true,
                              .react = true,
                              .attach_folder = c->beside};
    struct plain_result r = {0};
    struct fail why = FAIL_INIT;
    v->descriptors_before = open_descriptors();
    v->rc = plain_run(&o, &r, &why);
    v->descriptors_after = open_descriptors();
    v->status = r.status;
    v->react_status = r.react_status;
    v->children = r.child_count;
    v->loosening = r.loosening;
    v->fetches = r.fetches;
    v->document_bytes = r.document.len;
    v->document = hash_sha256(r.document.data ? r.document.data : "", r.document.len);
    if (fault == PLAIN_SOUND && !memory)
        leave_document(c, &r.document);
    snprintf(v->text, sizeof v->text, "%.399s", v->rc ? why.text : r.error);
    plain_result_free(&r);
}

/* As in a worker: what eats memory or tries what it has no business with is told no. */
static _Noreturn void child(const struct check *c, enum plain_fault fault, size_t memory,
                            struct plain_programs *programs, struct verdict *v) {
    AUTO_FREE char *copy = mem_text(c->file);
    const char *const read[] = {dirname(copy), NULL}, *const write[] = {c->beside, NULL};
    const struct confine confine = {.read = read, .write = write, .memory = (size_t)1 << 30};
    alarm(DEADLINE_S);
    run_here(c, fault, memory, programs, &confine, v);
    v->came = true;
    _exit(0);
}

/* true: it came back by itself; else text says how it ended. */
static bool apart(const struct check *c, enum plain_fault fault, size_t memory, struct verdict *out) {
    struct verdict *v = mmap(NULL, sizeof *v, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct plain_programs programs = {.port = {.fd = -1}};
    struct fail why = FAIL_INIT;
    int status = 0;
    pid_t pid = -1;
    fflush(c->out);
    memset(out, 0, sizeof *out);
    if (v == MAP_FAILED || (c->plugin.program && plain_programs_start(&c->plugin, buf_span(&c->options), c->cache,
                                                                      DEADLINE_S * 1000000, &programs, &why)))
        return snprintf(out->text, sizeof out->text, "no process could be started"), false;
    pid = fork();
    if (pid == 0)
        child(c, fault, memory, &programs, v);
    bool ended = pid > 0 && waitpid(pid, &status, 0) > 0;
    plain_programs_end(&programs);
    *out = *v;
    munmap(v, sizeof *v);
    if (!ended)
        return snprintf(out->text, sizeof out->text, "no process could be started"), false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && out->came)
        return true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(out->text, sizeof out->text, "it did not come back within %d s", DEADLINE_S);
    else if (WIFSIGNALED(status))
        snprintf(out->text, sizeof out->text, "it died of signal %d (SIG%s)", WTERMSIG(status),
                 sigabbrev_np(WTERMSIG(status)));
    else
        snprintf(out->text, sizeof out->text, "it ended the process with code %d", WEXITSTATUS(status));
    return false;
}

/* ---- the groups */

static bool check_load(struct check *c) {
    struct fail why = FAIL_INIT;
    struct buf symbols = BUF_INIT;
    size_t count = 0;
    struct plugin_child child = {.file = c->file};
    if (access(c->file, R_OK)) {
        ok(c, false, "load: it is there", strerrordesc_np(errno));
        return false;
    }
    plugin_child_run(&child, 1, DEADLINE_S * 1000);
    ok(c, child.why.status == TL_OK, "load: it describes itself", child.why.text);
    if (child.why.status)
        return buf_free(&child.out), false;
    int rc = plugin_child_answer(&child, &c->plugin, &why);
    ok(c, rc == TL_OK, "load: trotline takes it", why.text);
    c->described = child.out;
    if (rc)
        return false;
    rc = elf_exported(c->file, &symbols, &count);
    AUTO_BUF struct buf advice = BUF_INIT;
    buf_printf(&advice,
               "it exports %zu symbols (%s); build with -fvisibility=hidden: only TL_COLLECTOR's entry is for others",
               count, symbols.data ? symbols.data : "");
    ok(c, rc == TL_OK && count == 1, "load: exports one symbol, its entry", advice.data);
    buf_free(&symbols);
    return true;
}

static bool all_told(const struct plugin *p) {
    for (size_t i = 0; i < p->argument_count; i++)
        if (!p->argument[i].help || !*p->argument[i].help)
            return false;
    for (size_t i = 0; i < p->option_count; i++)
        if (!p->option[i].help || !*p->option[i].help)
            return false;
    for (size_t i = 0; i < p->dataset_count; i++)
        if (!p->dataset[i].help || !*p->dataset[i].help)
            return false;
    return true;
}

static void check_describe(struct check *c) {
    ok(c, json_valid(buf_span(&c->described), NULL) == TL_OK, "describe: its description is sound",
       "a name or help text is no UTF-8");
    ok(c, c->plugin.summary && *c->plugin.summary && all_told(&c->plugin),
       "describe: summary, arguments, options and datasets say what they are",
       "give .summary and every help text: `trotline plugins show` and people live on them");
    ok(c, !c->plugin.can_collect || c->plugin.dataset_count > 0, "describe: what collects declares a dataset",
       "add a row to .datasets");
}

static void check_config(struct check *c) {
    struct args a = {0};
    bool required = false;
    for (size_t i = 0; i < c->plugin.argument_count; i++)
        required = required || c->plugin.argument[i].flags & TL_REQUIRED;
    ok(c, args_check(&c->plugin, span_of("{\"no_such_argument_\":1}"), false, &a, NULL) != TL_OK,
       "arguments: an unknown one is refused", "");
    if (required)
        ok(c, args_check(&c->plugin, span_of("{}"), false, &a, NULL) != TL_OK,
           "arguments: a required one that is missing is refused", "");
    struct fail why = FAIL_INIT;
    int rc = args_check(&c->plugin, buf_span(&c->payload), false, &a, &why);
    AUTO_BUF struct buf advice = BUF_INIT;
    buf_printf(&advice, "%s; mend payload.json beside the .so", why.text);
    ok(c, rc == TL_OK, "arguments: payload.json fits", advice.data);
    args_free(&a);
}

static void check_children(struct check *c, const struct verdict *v) {
    AUTO_BUF struct buf advice = BUF_INIT;
    ok(c, v->loosening == 0, "children: no leash of theirs is wider than their parent's",
       "leash_json can only tighten: leave it out, or name less than the defaults of trotline-crawl(5)");
    buf_printf(&advice,
               "it asks for %zu; the leash lets %d through by default, the rest is lost: loop over pages in collect, "
               "or ask with TL_PAGE",
               v->children, CHILDREN_MAX);
    ok(c, v->children <= CHILDREN_MAX, "children: no more than a fan-out", advice.data);
}

/* Did it come back? */
static bool check_collect(struct check *c) {
    struct verdict first, second;
    bool came = apart(c, PLAIN_SOUND, 0, &first);
    AUTO_BUF struct buf advice = BUF_INIT;
    buf_printf(&advice, "it gave status %d: %s; record the answers it needs in fixtures/*.http",
               came ? first.status : -1, first.text);
    ok(c, came && first.rc == TL_OK && (first.status == TL_OK || first.status == TL_PARTIAL),
       "collect: succeeds on the recorded answers", advice.data);
    bool again = came && apart(c, PLAIN_SOUND, 0, &second);
    ok(c, came && again && memcmp(&first.document, &second.document, sizeof first.document) == 0,
       "collect: twice the same, byte for byte",
       "something in its output depends on time, chance or memory: use now_us and ids of the host, or leave it out");
    ok(c, came && first.descriptors_after == first.descriptors_before, "collect: leaves no file open",
       "close what you open: tl_defer does it also when the run is cancelled");
    if (c->plugin.can_react) {
        buf_reset(&advice);
        buf_printf(&advice, "react gave %d: %s", first.react_status, first.text);
        ok(c, came && first.react_status == TL_OK, "react: succeeds on its own document", advice.data);
    }
    if (came)
        check_children(c, &first);
    return came;
}

/* Its document as rows of a table: by its own convert, or one for each data element. */
static void check_items(struct check *c) {
    AUTO_BUF struct buf path = BUF_INIT, document = BUF_INIT, name = BUF_INIT, advice = BUF_INIT;
    struct check_rows one, two;
    struct fail why = FAIL_INIT;
    const char *own = c->plugin.can_convert ? c->file : NULL;
    const int64_t deadline_us = (int64_t)DEADLINE_S * 1000000;
    buf_printf(&path, "%s/" DOCUMENT, c->beside);
    AUTO_FCLOSE FILE *file = fopen(path.data, "re");
    for (size_t n = 1; file && n && buf_reserve(&document, 65536); document.len += n)
        n = fread(document.data + document.len, 1, 65536, file);
    if (!document.len)
        return; /* it made none */
    int rc = check_convert(own, buf_span(&c->options), deadline_us, buf_span(&document), &one, &why);
    bool again = !rc && !check_convert(own, buf_span(&c->options), deadline_us, buf_span(&document), &two, &why);
    buf_printf(&name, "convert: %s gives %lld items of its document", own ? "its own" : "the host's",
               (long long)(rc ? 0 : one.count));
    buf_printf(&advice, "%s", why.text);
    ok(c, !rc, rc ? "convert: gives items of its document" : name.data, advice.data);
    ok(c, again && one.count == two.count && memcmp(&one.sum, &two.sum, sizeof one.sum) == 0,
       "convert: twice the same, row for row",
       "an item may depend on the document alone: not on time, chance or memory");
}

static void check_hostile(struct check *c) {
    for (int fault = PLAIN_CUT; fault < PLAIN_FAULTS; fault++) {
        struct verdict v;
        AUTO_BUF struct buf name = BUF_INIT, advice = BUF_INIT;
        bool came = apart(c, (enum plain_fault)fault, 0, &v);
        buf_printf(&name, "hostile: %s", plain_fault_name[fault]);
        buf_printf(&advice, "%s; see where: trotline collect %s --payload payload.json --fixtures fixtures --plain",
                   v.text, c->file);
        ok(c, came && v.descriptors_after == v.descriptors_before, name.data,
           came ? "it leaves a file open then" : advice.data);
        if (fault == PLAIN_CANCEL && came && v.fetches)
            ok(c, v.status == TL_CANCEL, "hostile: a cancelled run says so",
               "return the rc of tl_fetch when it is not TL_OK");
    }
}

static void check_memory(struct check *c) {
    struct verdict v;
    AUTO_BUF struct buf advice = BUF_INIT;
    size_t memory = 16;
    bool came = true;
    for (int i = 0; i < MEMORY_STEPS && came; i++, memory += memory / 4 + 16)
        came = apart(c, PLAIN_SOUND, memory, &v);
    buf_printf(&advice, "with %zu bytes left: %s; tl_alloc and all that gives text may return NULL", memory, v.text);
    ok(c, came, "hostile: memory runs out at every point", advice.data);
}

/* A configuration with the collector's options alone; nothing of it when that cannot be written. */
static void write_config(const struct check *c, const char *path) {
    AUTO_BUF struct buf text = BUF_INIT;
    buf_printf(&text, "collectors: {%s: {options: ", c->plugin.name);
    buf_add(&text, c->options.len ? c->options.data : "{}", c->options.len ? c->options.len : 2);
    buf_text(&text, "}}\n");
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, text.data, text.len) != (ssize_t)text.len)
        unlink(path);
}

static void check_valgrind(struct check *c) {
    int status = 0;
    pid_t pid;
    AUTO_BUF struct buf payload = BUF_INIT, context = BUF_INIT, fixtures = BUF_INIT, config = BUF_INIT;
    buf_printf(&config, "%s/trotline.yml", c->beside);
    write_config(c, config.data);
    setenv("XDG_CACHE_HOME", c->beside, 1); /* the collector's own stays as it is */
    buf_printf(&payload, "%s/payload.json", c->folder);
    buf_printf(&context, "%s/context.json", c->folder);
    buf_printf(&fixtures, "%s/fixtures", c->folder);
    const char *argv[] = {"valgrind",
                          "-q",
                          "--error-exitcode=99",
                          "--leak-check=full",
                          "--errors-for-leak-kinds=definite",
                          program_path(),
                          "-q",
                          "--config",
                          config.data,
                          "collect",
                          c->file,
                          "--payload",
                          payload.data,
                          "--fixtures",
                          fixtures.data,
                          "--plain",
                          c->context.json.len ? "--context" : NULL,
                          context.data,
                          NULL};
    posix_spawn_file_actions_t files;
    if (access("/usr/bin/valgrind", X_OK)) {
        fprintf(c->out, "# leaks: not looked for, valgrind is not installed\n");
        return;
    }
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    fflush(c->out);
    int rc = posix_spawn(&pid, "/usr/bin/valgrind", &files, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (rc || waitpid(pid, &status, 0) < 0)
        return;
    ok(c, !(WIFEXITED(status) && WEXITSTATUS(status) == 99) && !WIFSIGNALED(status),
       "leaks: valgrind finds no fault and no leak",
       "see them: valgrind --leak-check=full trotline collect ... --plain");
}

/* TL_NOTFOUND: there is none. */
static int read_beside(const struct check *c, const char *name, struct buf *out) {
    AUTO_BUF struct buf path = BUF_INIT;
    char block[65536];
    ssize_t n = 0;
    buf_printf(&path, "%s/%s", c->folder, name);
    AUTO_CLOSE int fd = open(path.data, O_RDONLY | O_CLOEXEC);
    out->max = PAYLOAD_MAX;
    while (fd >= 0 && (n = read(fd, block, sizeof block)) > 0)
        buf_add(out, block, (size_t)n);
    return fd < 0 || n < 0 ? TL_NOTFOUND : TL_OK;
}

/* For collectors that make legs of a fan-in. */
static void read_context(struct check *c) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct fail why = FAIL_INIT;
    if (read_beside(c, "context.json", &text) == TL_OK)
        ok(c, context_read("context.json", buf_span(&text), &c->context, &why) == TL_OK, "arguments: context.json fits",
           why.text);
}

/* TL_NOTFOUND: there is no payload, and without one the collector cannot be run. */
static int read_payload(struct check *c) {
    bool given = read_beside(c, "payload.json", &c->payload) == TL_OK;
    read_beside(c, "options.json", &c->options);
    read_context(c);
    for (size_t i = 0; !given && i < c->plugin.argument_count; i++)
        if (c->plugin.argument[i].flags & TL_REQUIRED)
            return TL_NOTFOUND;
    if (!given)
        buf_text(&c->payload, "{}");
    return TL_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    remove(path); /* or it stays */
    return 0;
}

int check_collector(const char *file, const char *folder, FILE *out) {
    struct check c = {.out = out, .file = file, .folder = folder, .beside = "/tmp/trotline-check-XXXXXX"};
    AUTO_BUF struct buf fixtures = BUF_INIT;
    if (!check_load(&c)) {
        fprintf(out, "1..%d\n", c.number);
        buf_free(&c.described);
        return EXIT_PLUGIN;
    }
    if (!mkdtemp(c.beside)) {
        fprintf(out, "Bail out! no folder for attachments in /tmp\n");
        return EXIT_DISK;
    }
    snprintf(c.cache, sizeof c.cache, "%s/cache", c.beside);
    mkdir(c.cache, 0700);
    check_describe(&c);
    buf_printf(&fixtures, "%s/fixtures", folder);
    c.has_fixtures = plain_fixtures_read(fixtures.data, &c.fixtures, NULL) == TL_OK;
    if (read_payload(&c) == TL_OK) {
        check_config(&c);
        if (c.plugin.can_collect && check_collect(&c)) {
            check_items(&c);
            check_hostile(&c);
            check_memory(&c);
            check_valgrind(&c);
        }
    } else {
        fprintf(out,
                "# collect: not tried, there is no payload.json in %s (trotline new collector NAME shows the form)\n",
                folder);
    }
    fprintf(out, "1..%d\n", c.number);
    nftw(c.beside, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    plain_fixtures_free(&c.fixtures);
    plugin_free(&c.plugin);
    buf_free(&c.payload);
    buf_free(&c.options);
    context_free(&c.context);
    buf_free(&c.described);
    return c.failed ? EXIT_NEGATIVE : EXIT_DONE;
}
