/* cat.c - trotline cat: a document as it lies in the lake, or the bytes that it was made of.
 *
 * Invariant: what is printed is what was stored, byte for byte, or the exit code says that it is not. */
#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"
#include "cmd/entity.h"
#include "cmd/print.h"
#include "cmd/url.h"

struct cat {
    struct cmd_open open;
    const char *dataset;
    int64_t element; /* from 1; 0: not given */
    bool path_only, entity;
    const char *urn; /* ID was one: the entity that is to be printed */
    /* what the catalog says */
    char run[UUID_TEXT];
    struct buf path, reference, why_none;
    /* the search in the document */
    int64_t elements;
    bool found;
    struct document_part part;
    struct buf names;
};

/* ---- which document */

static int each_path(void *ctx, const struct store_row *row) {
    print_value(&((struct cat *)ctx)->path, &row->value[0]);
    return 1;
}

static int each_run(void *ctx, const struct store_row *row) {
    struct cat *c = ctx;
    AUTO_BUF struct buf text = BUF_INIT;
    print_value(&c->reference, &row->value[0]);
    for (size_t i = 1; i < row->count; i++) {
        buf_reset(&text);
        print_value(&text, &row->value[i]);
        if (text.len)
            buf_text(&c->why_none, i > 1 ? ": " : "");
        print_plain(&c->why_none, buf_span(&text), 300);
    }
    return 1;
}

/* The run's own document, else the earlier one that its result refers to. */
static int find_document(struct cat *c, struct fail *why) {
    struct store_value key = store_text(c->run);
    int rc = store_query(c->open.store, "SELECT path FROM documents WHERE run_id = $1", &key, 1, each_path, c, why);
    if (rc || c->path.len)
        return rc;
    rc = store_query(c->open.store, "SELECT result_ref, status, reason, error FROM runs WHERE run_id = $1", &key, 1,
                     each_run, c, why);
    if (rc)
        return rc;
    if (!c->reference.len)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "run %s has no document: it is %s", c->run, c->why_none.data);
    key = store_text(c->reference.data);
    rc = store_query(c->open.store, "SELECT path FROM documents WHERE result_id = $1", &key, 1, each_path, c, why);
    if (rc == TL_OK && !c->path.len)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE,
                         "run %s changed nothing; it stands for the earlier result %s, which is not in this catalog",
                         c->run, c->reference.data);
    return rc;
}

static int find_entity(struct cat *c, struct fail *why) {
    const struct store_value key = store_text(c->urn);
    int rc =
        store_query(c->open.store,
                    "SELECT d.path FROM links l JOIN documents d ON d.result_id = l.result_id WHERE l.urn = $1 AND "
                    "l.name = 'self' ORDER BY l.is_latest DESC, l.collected_at DESC LIMIT 1",
                    &key, 1, each_path, c, why);
    return rc || c->path.len ? rc
                             : fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "the catalog knows no entity %.300s", c->urn);
}

/* ---- bytes */

static int copy_file(struct cat *c, const char *path, struct fail *why) {
    AUTO_CLOSE int fd = -1;
    int rc = lake_open_file(c->open.lake, path, &fd, why);
    if (rc)
        return rc;
    char chunk[65536];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(why, TL_FAILED, "cannot read %.500s", path);
        if (n == 0 || fwrite(chunk, 1, (size_t)n, stdout) != (size_t)n)
            return TL_OK; /* what could not be written is said by cmd_flush */
    }
}

static bool text_member(const struct tl_json *object, const char *key, struct buf *out) {
    struct tl_json value;
    buf_reset(out);
    return json_get(object, key, &value) == TL_OK && json_text(&value, out) == TL_OK && out->data;
}

static int each_part(void *ctx, const struct document_part *part) {
    struct cat *c = ctx;
    AUTO_BUF struct buf name = BUF_INIT;
    text_member(&part->dataset, "name", &name);
    if (part->number == 0) {
        buf_text(&c->names, c->names.len ? ", " : "");
        print_plain(&c->names, buf_span(&name), 60);
    }
    if (!span_eq(buf_span(&name), c->dataset))
        return 0;
    if (++c->elements == (c->element ? c->element : 1)) {
        c->part = *part;
        c->found = true;
    }
    return 0;
}

/* Text that was stored as UTF-8, in the charset that it came in; *out only if that gives the recorded checksum. */
static bool back_to_charset(const struct document_part *part, struct tl_span utf8, struct buf *out) {
    AUTO_BUF struct buf charset = BUF_INIT, hex = BUF_INIT;
    struct tl_json metadata;
    struct sha256 want;
    if (json_get(&part->element, "metadata", &metadata) || !text_member(&metadata, "charset", &charset) ||
        !text_member(&part->element, "sha256", &hex) || hash_unhex(buf_span(&hex), want.byte, SHA256_BYTES))
        return false;
    iconv_t cd = iconv_open(charset.data, "UTF-8");
    if (cd == (iconv_t)-1 || !buf_reserve(out, utf8.len * 2 + 64)) {
        if (cd != (iconv_t)-1)
            iconv_close(cd);
        return false;
    }
    char *from = (char *)(uintptr_t)utf8.ptr, *to = out->data + out->len;
    size_t left = utf8.len, room = out->room - out->len - 1;
    bool good = iconv(cd, &from, &left, &to, &room) != (size_t)-1 && iconv(cd, NULL, NULL, &to, &room) != (size_t)-1;
    iconv_close(cd);
    out->len = (size_t)(to - out->data);
    struct sha256 got = hash_sha256(out->data, out->len);
    return good && memcmp(got.byte, want.byte, SHA256_BYTES) == 0;
}

static int each_attachment(void *ctx, const struct store_row *row) {
    print_value(ctx, &row->value[0]);
    return 1;
}

/* The path of an attachment, from the catalog's list of those of a document. */
static int copy_attachment(struct cat *c, struct fail *why) {
    AUTO_BUF struct buf name = BUF_INIT, list = BUF_INIT, other = BUF_INIT, path = BUF_INIT;
    struct tl_json all, at = {0};
    const char *slash = strrchr(c->path.data, '/');
    char id[UUID_TEXT];
    snprintf(id, sizeof id, "%s", slash ? slash + 1 : c->path.data);
    const struct store_value result = store_text(id);
    int rc = store_query(c->open.store, "SELECT attachments FROM documents WHERE result_id = $1", &result, 1,
                         each_attachment, &list, why);
    if (rc)
        return rc;
    if (text_member(&c->part.element, "attachment", &name) && json_parse(buf_span(&list), &all) == TL_OK)
        while (json_next(&all, &at) == TL_OK)
            if (text_member(&at, "name", &other) && strcmp(other.data, name.data) == 0 &&
                text_member(&at, "path", &path))
                return copy_file(c, path.data, why);
    return fail_exit(why, TL_NOTFOUND, EXIT_DAMAGED, "the catalog knows no attachment %s of %s",
                     name.data ? name.data : "", id);
}

/* On a terminal the prompt gets a line of its own; elsewhere not a byte is added. */
static void print_bytes(struct tl_span bytes) {
    fwrite(bytes.ptr, 1, bytes.len, stdout);
    if (bytes.len && bytes.ptr[bytes.len - 1] != '\n' && isatty(STDOUT_FILENO))
        putchar('\n');
}

static int print_element(struct cat *c, struct fail *why) {
    AUTO_BUF struct buf bytes = BUF_INIT, original = BUF_INIT;
    int rc = document_bytes(&c->part, &bytes);
    if (rc == TL_NOTFOUND)
        return copy_attachment(c, why);
    if (rc == TL_UNSUPPORTED) {
        bool back = back_to_charset(&c->part, buf_span(&bytes), &original);
        if (!back)
            log_warn("this was text in another charset, which cannot be restored here: it is printed as UTF-8");
        print_bytes(buf_span(back ? &original : &bytes));
        return TL_OK;
    }
    if (rc)
        return fail_exit(why, rc, EXIT_DAMAGED, "the data of %s in %s cannot be read", c->dataset, c->path.data);
    print_bytes(buf_span(&bytes));
    return TL_OK;
}

static int print_dataset(struct cat *c, struct fail *why) {
    AUTO_BUF struct buf file = BUF_INIT;
    int rc = lake_read(c->open.lake, c->path.data, &file, why);
    if (rc)
        return rc;
    if (document_each(buf_span(&file), each_part, c))
        return fail_exit(why, TL_INVALID, EXIT_DAMAGED, "%s is no document of ours", c->path.data);
    if (!c->elements)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "run %s has no dataset %.100s with data in it; it has: %s",
                         c->run, c->dataset, c->names.len ? c->names.data : "none");
    if (c->elements > 1 && !c->element)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "dataset %.100s has %lld elements: say --element 1 to %lld",
                         c->dataset, (long long)c->elements, (long long)c->elements);
    if (!c->found)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "dataset %.100s ends with element %lld: there is no %lld",
                         c->dataset, (long long)c->elements, (long long)c->element);
    return print_element(c, why);
}

/* ---- the command */

static int cat(struct cat *c, const char *prefix) {
    struct fail why = FAIL_INIT;
    struct uuid id;
    int rc = c->urn ? TL_OK : store_find_run(c->open.store, prefix, &id, &why);
    if (rc)
        return cmd_fail(&why, EXIT_USAGE);
    if (!c->urn)
        uuid_text(&id, c->run);
    rc = c->urn ? find_entity(c, &why) : find_document(c, &why);
    if (rc == TL_OK && c->path_only)
        printf("%s/%s\n", lake_path(c->open.lake), c->path.data);
    else if (rc == TL_OK && c->entity)
        rc = entity_print(c->open.lake, c->path.data, c->urn, stdout, &why);
    else if (rc == TL_OK)
        rc = c->dataset ? print_dataset(c, &why) : copy_file(c, c->path.data, &why);
    if (rc)
        return cmd_fail(&why, rc == TL_FAILED ? EXIT_INTERNAL : EXIT_DAMAGED);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

int cat_dataset(const struct cmd_open *o, const char *run_id, const char *dataset) {
    struct cat c = {.open = *o, .dataset = dataset};
    int code = cat(&c, run_id);
    buf_free(&c.path);
    buf_free(&c.reference);
    buf_free(&c.why_none);
    buf_free(&c.names);
    return code;
}

static int cat_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"dataset", required_argument, NULL, 'd'},
                                          {"element", required_argument, NULL, 'e'},
                                          {"path", no_argument, NULL, 'p'},
                                          {"entity", no_argument, NULL, 'E'},
                                          {0}};
    struct cat c = {0};
    for (int k; (k = cmd_option(argc, argv, "", longs)) != 0;) {
        if (k < 0)
            return k == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (k == 'd')
            c.dataset = optarg;
        else if (k == 'p')
            c.path_only = true;
        else if (k == 'E')
            c.entity = true;
        else if (k == 'e' && (c.element = cmd_number(optarg, 1, INT64_MAX)) < 0)
            return cmd_usage("cat", "--element takes a number from 1 on, not '%s'", optarg);
    }
    if (argc - optind != 1)
        return cmd_usage("cat",
                         optind < argc ? "one document at a time" : "which document? Give a run's or result's id");
    if (c.element && !c.dataset)
        return cmd_usage("cat", "--element goes with --dataset");
    if (c.entity && (c.dataset || c.path_only))
        return cmd_usage("cat", "--entity goes with neither --dataset nor --path");
    c.urn = c.entity && strncmp(argv[optind], "urn:", 4) == 0 ? argv[optind] : NULL;
    int code = cmd_open(&c.open, g, CMD_STORE_READ | CMD_LAKE_READ, NULL, 0);
    if (!code)
        code = cat(&c, argv[optind]);
    buf_free(&c.path);
    buf_free(&c.reference);
    buf_free(&c.why_none);
    buf_free(&c.names);
    cmd_close(&c.open);
    return code;
}

const struct command cmd_cat = {
    "cat", "print a document, or the bytes it was made of", cat_main,
    "[--dataset NAME [--element N]] [--entity] [--path] ID",
    "Prints the document of a run as it lies in the lake, byte for byte. A run that changed nothing has that of\n"
    "the earlier result it stands for. ID is a run's or a result's, whole or as far as it is unique.\n"
    "\n"
    "      --dataset NAME     the original bytes of this dataset instead, as they were fetched\n"
    "      --element N        of its Nth page or value, from 1\n"
    "      --entity           the entities of the document as their server sent them, with what is known of them\n"
    "                         (`_metadata`) inside; ID may also be an entity's URN\n"
    "      --path             where the document lies\n"
    "\n"
    "Examples:\n"
    "  trotline cat 0193a5c4-7b2e-7d1f | jq .lineage\n"
    "  trotline cat --dataset page 0193a5c4-7b2e-7d1f > page.html\n"
    "  trotline cat --entity urn:repo:1296269 | jq .full_name\n"
    "  trotline cat --path 0193a5c4-7b2e-7d1f | xargs sha256sum\n"};
