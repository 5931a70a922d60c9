/* diff.c - trotline diff: what two crawls have in common, what came, went or changed.
 *
 * Documents are the same one when they have the same key: the URL that was asked for, else collector and canonical
 * arguments. A document has changed when the bytes it was made of have (the document itself always does: it holds
 * times), or how its run ended. A page that its server says is not there (404, 410) is not there: it was removed, or
 * has not come yet. One that stands for an unchanged earlier result is compared by that result. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"
#include "base/times.h"
#include "cmd/diff_crawls.h"
#include "cmd/diff_out.h"
#include "cmd/print.h"

struct entry {
    struct tl_span key;
    const char *digest;      /* of collector and arguments, hex: tells apart what has the same URL */
    struct uuid run, result; /* result: of the document that counts */
    struct sha256 sum;       /* over names and checksums of its datasets, in order of names */
    bool many;               /* some dataset has several elements, whose checksums stand in the document only */
    bool reused;
    const char *status; /* of the run whose document it is */
};
struct side {
    struct store *store;
    char root[UUID_TEXT];
    struct arena arena;
    struct entry *entry;
    size_t count, room;
    struct hash *hash;
    struct entry *summed; /* whose datasets are being read */
};
struct diff {
    struct cmd_open open;
    struct side side[2];
    struct diff_out out;
    struct fail why;
};

/* ---- reading one side */

static struct tl_span keep(struct side *s, struct tl_span text) {
    char *copy = arena_span(&s->arena, text);
    return (struct tl_span){copy ? copy : "", copy ? text.len : 0};
}

static struct tl_span text_of(const struct store_value *v) {
    return v->type == STORE_TEXT ? v->text : (struct tl_span){"", 0};
}

/* run_id, collector, url, payload, digest, status, result, reused, gone */
static int each_run(void *ctx, const struct store_row *row) {
    struct side *s = ctx;
    const struct store_value *v = row->value;
    struct entry e = {.reused = v[7].number != 0};
    AUTO_BUF struct buf key = BUF_INIT;
    if (v[8].number || uuid_parse(text_of(&v[0]), &e.run) || uuid_parse(text_of(&v[6]), &e.result))
        return 0;
    if (v[2].type == STORE_TEXT)
        e.key = keep(s, v[2].text);
    else {
        buf_add(&key, text_of(&v[1]).ptr, text_of(&v[1]).len);
        buf_char(&key, ' ');
        if (json_canonical(text_of(&v[3]), &key))
            buf_add(&key, text_of(&v[3]).ptr, text_of(&v[3]).len);
        e.key = keep(s, buf_span(&key));
    }
    e.digest = keep(s, text_of(&v[4])).ptr;
    e.status = keep(s, text_of(&v[5])).ptr;
    MEM_GROW(s->entry, s->count, s->room);
    s->entry[s->count++] = e;
    return 0;
}

static int by_result(const void *a, const void *b) {
    return memcmp(&((const struct entry *)a)->result, &((const struct entry *)b)->result, sizeof(struct uuid));
}

static int compare_keys(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    size_t shorter = a->key.len < b->key.len ? a->key.len : b->key.len;
    int order = memcmp(a->key.ptr, b->key.ptr, shorter);
    return order ? order : (a->key.len > b->key.len) - (a->key.len < b->key.len);
}

static int by_key(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = compare_keys(x, y);
    if (!order)
        order = strcmp(x->digest, y->digest);
    return order ? order : memcmp(&x->run, &y->run, sizeof x->run);
}

static void end_sum(struct side *s) {
    if (!s->summed)
        return;
    struct sha256 sum = hash_end(s->hash);
    for (struct entry *e = s->summed; e < s->entry + s->count && by_result(e, s->summed) == 0; e++)
        e->sum = sum; /* several runs may stand for one result */
    s->summed = NULL;
}

/* result_id, name, type, elements, bytes, sha256: those of one result follow one another */
static int each_dataset(void *ctx, const struct store_row *row) {
    struct side *s = ctx;
    struct entry key = {0};
    AUTO_BUF struct buf text = BUF_INIT;
    if (uuid_parse(text_of(&row->value[0]), &key.result))
        return 0;
    if (!s->summed || by_result(s->summed, &key) != 0) {
        end_sum(s);
        struct entry *e = s->count ? bsearch(&key, s->entry, s->count, sizeof key, by_result) : NULL;
        if (!e)
            return 0;
        while (e > s->entry && by_result(e - 1, &key) == 0)
            e--;
        s->summed = e;
        hash_start(s->hash);
    }
    if (row->value[5].type == STORE_NULL && row->value[3].number > 0)
        for (struct entry *e = s->summed; e < s->entry + s->count && by_result(e, &key) == 0; e++)
            e->many = true;
    for (size_t i = 1; i < row->count; i++) {
        print_value(&text, &row->value[i]);
        buf_char(&text, '\0');
    }
    hash_add(s->hash, text.data, text.len);
    return 0;
}

static int read_side(struct side *s, struct fail *why) {
    const struct store_value root = store_text(s->root);
    /* own documents, then references to earlier ones */
    static const char *const runs[] = {
        "SELECT r.run_id, r.collector, r.url, r.payload, r.payload_digest, r.status, d.result_id, 0, "
        "r.status = 'failed' AND r.http_status IN (404, 410) "
        "FROM documents d JOIN runs r ON r.run_id = d.run_id WHERE d.root_id = $1 AND r.parent_id IS NOT NULL",
        "SELECT r.run_id, r.collector, r.url, r.payload, r.payload_digest, coalesce((SELECT o.status FROM documents d "
        "JOIN runs o ON o.run_id = d.run_id WHERE d.result_id = r.result_ref), 'success'), r.result_ref, 1, 0 "
        "FROM runs r WHERE r.root_id = $1 AND r.result_ref IS NOT NULL AND r.parent_id IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM documents d WHERE d.run_id = r.run_id)"};
    static const char *const datasets[] = {
        "SELECT s.result_id, s.name, s.type, s.elements, s.bytes, s.sha256 FROM datasets s WHERE s.root_id = $1 "
        "ORDER BY 1, 2, 6, 5",
        "SELECT s.result_id, s.name, s.type, s.elements, s.bytes, s.sha256 FROM (SELECT DISTINCT result_ref FROM runs "
        "WHERE root_id = $1 AND result_ref IS NOT NULL) r JOIN datasets s ON s.result_id = r.result_ref "
        "ORDER BY 1, 2, 6, 5"};
    s->hash = hash_new();
    int rc = TL_OK;
    for (size_t i = 0; !rc && i < COUNT_OF(runs); i++)
        rc = store_query(s->store, runs[i], &root, 1, each_run, s, why);
    if (s->count)
        qsort(s->entry, s->count, sizeof *s->entry, by_result);
    for (size_t i = 0; !rc && i < COUNT_OF(datasets); i++) {
        rc = store_query(s->store, datasets[i], &root, 1, each_dataset, s, why);
        end_sum(s);
    }
    if (s->count)
        qsort(s->entry, s->count, sizeof *s->entry, by_key);
    return rc;
}

/* ---- comparing two documents */

struct elements {
    struct hash *hash;
};

static int each_element(void *ctx, const struct document_part *part) {
    struct elements *e = ctx;
    struct tl_json name, sum;
    if (json_get(&part->dataset, "name", &name) || json_get(&part->element, "sha256", &sum))
        return TL_INVALID;
    hash_add(e->hash, name.raw.ptr, name.raw.len);
    hash_add(e->hash, sum.raw.ptr, sum.raw.len);
    return 0;
}

static int each_text(void *ctx, const struct store_row *row) {
    print_value(ctx, &row->value[0]);
    return 1;
}

/* The checksums of all elements, from the document. */
static int sum_document(struct diff *d, const struct entry *e, struct sha256 *sum) {
    AUTO_BUF struct buf path = BUF_INIT, file = BUF_INIT;
    char id[UUID_TEXT];
    const struct store_value key = store_text(uuid_text(&e->result, id));
    struct elements elements = {d->side[0].hash};
    int rc = store_query(d->open.store, "SELECT path FROM documents WHERE result_id = $1", &key, 1, each_text, &path,
                         &d->why);
    if (!rc && path.len)
        rc = lake_read(d->open.lake, path.data, &file, &d->why);
    if (rc || !path.len)
        return rc;
    hash_start(elements.hash);
    rc = document_each(buf_span(&file), each_element, &elements);
    *sum = hash_end(elements.hash);
    return rc ? fail_exit(&d->why, rc, EXIT_DAMAGED, "%s is no document of ours", path.data) : TL_OK;
}

static int differ(struct diff *d, const struct entry *a, const struct entry *b, bool *changed) {
    struct sha256 left = a->sum, right = b->sum;
    *changed = strcmp(a->status, b->status) != 0 || memcmp(&left, &right, sizeof left) != 0;
    if (*changed || !a->many || memcmp(&a->result, &b->result, sizeof a->result) == 0)
        return TL_OK;
    int rc = sum_document(d, a, &left);
    if (!rc)
        rc = sum_document(d, b, &right);
    *changed = memcmp(&left, &right, sizeof left) != 0;
    return rc;
}

/* ---- output */

static int each_object(void *ctx, const struct store_row *row) {
    print_object(ctx, row);
    return 1;
}

static int put_version(void *ctx, struct json_writer *w, const void *entry) {
    struct diff *d = ctx;
    const struct entry *e = entry;
    char run[UUID_TEXT], result[UUID_TEXT];
    const struct store_value args[] = {store_text(uuid_text(&e->run, run)), store_text(uuid_text(&e->result, result))};
    size_t before = w->out->len;
    int rc = store_query(d->open.store,
                         "SELECT r.run_id, d.path, d.sha256, d.bytes, r.status FROM runs r JOIN documents d ON "
                         "d.result_id = $2 WHERE r.run_id = $1",
                         args, 2, each_object, w, &d->why);
    if (w->out->len == before)
        json_put_null(w); /* stands for a result that is not in this catalog */
    return rc;
}

/* ---- merging the two sorted sides */

/* Entries of one key on both sides: those of the same arguments are one document, the rest pair up as they come. */
static int compare_group(void *ctx, void *left_side, size_t n, void *right_side, size_t m, unsigned wanted) {
    struct diff *d = ctx;
    struct entry *a = left_side, *b = right_side;
    size_t i = 0, k = 0;
    int rc = TL_OK;
    while (!rc && (i < n || k < m)) {
        int order = i == n ? 1 : k == m ? -1 : n == 1 && m == 1 ? 0 : strcmp(a[i].digest, b[k].digest);
        bool changed = false;
        if (order < 0) {
            d->out.change[DIFF_REMOVED]++;
            rc = diff_out_report(&d->out, wanted, DIFF_REMOVED, a[i].key, &a[i], NULL);
        } else if (order > 0) {
            d->out.change[DIFF_ADDED]++;
            rc = diff_out_report(&d->out, wanted, DIFF_ADDED, b[k].key, NULL, &b[k]);
        } else {
            rc = differ(d, &a[i], &b[k], &changed);
            d->out.change[DIFF_CHANGED] += changed;
            d->out.same += !changed;
            if (!rc && changed)
                rc = diff_out_report(&d->out, wanted, DIFF_CHANGED, a[i].key, &a[i], &b[k]);
        }
        i += order <= 0;
        k += order >= 0;
    }
    return rc;
}

static int merge(void *ctx, unsigned wanted) {
    struct diff *d = ctx;
    const struct diff_side side[2] = {{d->side[0].entry, d->side[0].count, sizeof(struct entry)},
                                      {d->side[1].entry, d->side[1].count, sizeof(struct entry)}};
    return diff_out_merge(side, compare_keys, compare_group, d, wanted);
}

/* ---- the command */

static int find_root(struct diff *d, struct side *s, const char *prefix) {
    struct uuid id;
    struct store_crawl crawl;
    s->store = d->open.store;
    if (store_find_run(s->store, prefix, &id, &d->why))
        return cmd_fail(&d->why, EXIT_USAGE);
    uuid_text(&id, s->root);
    if (store_crawl_by_id(s->store, &id, &crawl) == TL_OK) {
        if (!crawl.closed)
            log_warn("crawl %s is not over: what it has by now is compared", s->root);
        return 0;
    }
    return cmd_usage("diff", "%s is a run, but not the root of a crawl (trotline show %s names its root)", s->root,
                     s->root);
}

static int diff(struct diff *d, char **root, bool exit_code) {
    for (size_t i = 0; i < 2; i++) {
        int code = find_root(d, &d->side[i], root[i]);
        if (code)
            return code;
    }
    int rc = read_side(&d->side[0], &d->why);
    if (!rc)
        rc = read_side(&d->side[1], &d->why);
    if (!rc)
        rc = diff_out_all(&d->out, merge, d);
    if (rc)
        return cmd_fail(&d->why, rc == TL_NOTFOUND ? EXIT_DAMAGED : EXIT_INTERNAL);
    return diff_out_end(&d->out, exit_code);
}

static void release(struct diff *d) {
    for (size_t i = 0; i < 2; i++) {
        arena_free(&d->side[i].arena);
        free(d->side[i].entry);
        hash_free(d->side[i].hash);
    }
    buf_free(&d->out.text);
}

int diff_count(struct store *s, struct lake *lake, const char *before, const char *after, int64_t change[DIFF_CHANGES],
               struct fail *why) {
    const char *const root[] = {before, after};
    struct diff d = {.open = {.store = s, .lake = lake}};
    int rc = TL_OK;
    for (size_t i = 0; i < 2 && !rc; i++) {
        d.side[i].store = s;
        snprintf(d.side[i].root, sizeof d.side[i].root, "%s", root[i]);
        rc = read_side(&d.side[i], &d.why);
    }
    if (!rc)
        rc = merge(&d, 0);
    for (size_t i = 0; i < DIFF_CHANGES; i++)
        change[i] = d.out.change[i];
    release(&d);
    if (rc && why)
        *why = d.why;
    return rc;
}

static int each_count(void *ctx, const struct store_row *row) {
    *(int64_t *)ctx = row->value[0].number;
    return 1;
}

/* What could not be asked is not known to be gone. A page that is, 404 or 410, is no such failure. */
static void warn_of_failures(struct store *s, const char *later) {
    struct uuid id;
    struct fail why = FAIL_INIT;
    char root[UUID_TEXT];
    int64_t failed = 0;
    if (store_find_run(s, later, &id, &why))
        return; /* which is told later */
    uuid_text(&id, root);
    const struct store_value key = store_text(root);
    if (store_query(s,
                    "SELECT count(*) FROM runs WHERE root_id = $1 AND status IN ('failed', 'crashed') AND "
                    "coalesce(http_status, 0) NOT IN (404, 410)",
                    &key, 1, each_count, &failed, &why) == TL_OK &&
        failed)
        log_warn("%lld run%s of the later crawl failed, so what is lacking may still be there: trotline show %s",
                 (long long)failed, print_s(failed), root);
}

static int diff_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {
        {"exit-code", no_argument, NULL, 'x'},    {"items", no_argument, NULL, 'i'},
        {"type", required_argument, NULL, 'y'},   {"now", required_argument, NULL, 'w'},
        {"output", required_argument, NULL, 'o'}, {0}};
    struct diff d = {.out = {.format = CMD_TABLE, .version = put_version, .ctx = &d}};
    bool exit_code = false, items = false;
    const char *type = NULL;
    int64_t now_us = time_now_us();
    struct diff_crawls asked;
    for (int c; (c = cmd_option(argc, argv, "o:", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (c == 'x')
            exit_code = true;
        else if (c == 'i')
            items = true;
        else if (c == 'y')
            type = optarg;
        else if (c == 'w' && (time_parse(span_of(optarg), &now_us) || now_us <= 0))
            return cmd_usage("diff", "--now takes a time such as 2026-11-30T06:00:00Z, not '%s'", optarg);
        else if (c == 'w')
            continue;
        else if (cmd_format(optarg, &d.out.format))
            return cmd_usage("diff", "-o takes table, json, jsonl or csv, not '%s'", optarg);
    }
    if (argc - optind != 1 && argc - optind != 2)
        return cmd_usage("diff", "it compares two crawls: say the name of one, or two roots (trotline ls lists them)");
    if (items && type)
        return cmd_usage("diff", "either --items or --type %s", type);
    int code = cmd_open(&d.open, g, CMD_STORE_READ | CMD_LAKE_READ, NULL, 0);
    if (!code)
        code = diff_crawls(d.open.store, argv + optind, argc - optind, now_us, &asked);
    char *root[2] = {asked.text[0], asked.text[1]};
    if (!code)
        warn_of_failures(d.open.store, root[1]);
    if (!code && (items || type))
        code = diff_rows(&d.open, g, root, type, d.out.format, exit_code);
    else if (!code)
        code = diff(&d, root, exit_code);
    release(&d);
    cmd_close(&d.open);
    return code;
}

const struct command cmd_diff = {
    "diff", "what changed between two crawls", diff_main,
    "[--items | --type NAME] [--exit-code] [-o FORMAT] NAME[@TIME] | ROOT ROOT",
    "Compares the documents of two crawls, the earlier one first, by what was fetched. NAME: its last two, such as "
    "those\n"
    "of a target; NAME@TIME: the last until then, and the last; or any two, by their roots or in the same words. TIME "
    "is\n"
    "as in 2026-11-30T06:00:00Z, or how long ago: 7d. Of a name, crawls that are over count.\n"
    "\n"
    "A document is known by its URL, or by collector and arguments when it has none; one that stands for an unchanged\n"
    "earlier result counts as that. What answers 404 or 410 is not there: it was removed, or added when it comes "
    "back;\n"
    "other failures are changes. The roots' own documents are not compared.\n"
    "\n"
    "      --items            compare dataset items instead: known by collector, dataset, URL, and key or id of a "
    "pair\n"
    "                         or page; changed when their bytes have. Documents are converted first where needed\n"
    "      --type NAME        compare rows of this type, by their natural key (trotline-types(5))\n"
    "      --now TIME         take this for the time\n"
    "      --exit-code        end with 1 when there is a difference\n"
    "  -o, --output FORMAT    table (default: a line a difference), json, jsonl, csv\n"
    "\n"
    "Examples:\n"
    "  trotline diff kayaking\n"
    "  trotline diff kayaking@7d\n"
    "  trotline diff kayaking@2026-11-01T00:00:00Z kayaking@2026-11-30T00:00:00Z\n"
    "  trotline diff 0193a5c4-7b2e-7d1f 0193b01e-04aa-7c60\n"
    "  trotline diff --exit-code -o json 0193a5c4-7b2e-7d1f 0193b01e-04aa-7c60 | jq '.changed[].key'\n"
    "  trotline diff --items 0193a5c4-7b2e-7d1f 0193b01e-04aa-7c60\n"
    "  trotline diff --type http_page -o jsonl 0193a5c4-7b2e-7d1f 0193b01e-04aa-7c60\n"};
