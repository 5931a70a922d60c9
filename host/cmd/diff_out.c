/* diff_out.c - see diff_out.h. */
#include "cmd/diff_out.h"

#include "base/log.h"
#include "base/mem.h"
#include "cmd/print.h"

static const char *const word[DIFF_CHANGES] = {"added", "removed", "changed"};

static void flush(struct diff_out *d) {
    fwrite(buf_span(&d->text).ptr, 1, d->text.len, stdout);
    buf_reset(&d->text);
}

static void begin_section(struct diff_out *d, const char *name) {
    buf_printf(&d->text, "%s\"%s\":[", d->section ? "],\n" : "{", name);
    d->section = name;
    d->first = true;
}

static int put_version(struct diff_out *d, struct json_writer *w, const char *side, const void *entry) {
    if (!entry)
        return TL_OK;
    json_put_key(w, side);
    return d->version(d->ctx, w, entry);
}

static int put_object(struct diff_out *d, enum diff_change change, struct tl_span key, const void *before,
                      const void *after) {
    struct json_writer w = JSON_WRITER(&d->text);
    if (d->format == CMD_JSON)
        buf_text(&d->text, d->first ? "\n" : ",\n");
    d->first = false;
    json_object_begin(&w);
    if (d->format == CMD_JSONL)
        json_member_string(&w, "change", word[change]);
    json_member_span(&w, "key", key);
    int rc = put_version(d, &w, "before", before);
    if (!rc)
        rc = put_version(d, &w, "after", after);
    json_object_end(&w);
    if (d->format == CMD_JSONL)
        buf_char(&d->text, '\n');
    return rc;
}

int diff_out_report(struct diff_out *d, unsigned wanted, enum diff_change change, struct tl_span key,
                    const void *before, const void *after) {
    int rc = TL_OK;
    if (!(wanted & 1u << change))
        return TL_OK;
    if (d->format == CMD_TABLE) {
        buf_printf(&d->text, "%-8s ", word[change]);
        print_plain(&d->text, key, 0);
        buf_char(&d->text, '\n');
    } else if (d->format == CMD_CSV) {
        buf_printf(&d->text, "%s,", word[change]);
        print_csv(&d->text, key);
        buf_lit(&d->text, "\r\n");
    } else
        rc = put_object(d, change, key, before, after);
    flush(d);
    return rc;
}

static int compare_anew(struct diff_out *d, int (*compare)(void *ctx, unsigned wanted), void *ctx, unsigned wanted) {
    for (size_t i = 0; i < DIFF_CHANGES; i++)
        d->change[i] = 0;
    d->same = 0;
    return compare(ctx, wanted);
}

int diff_out_all(struct diff_out *d, int (*compare)(void *ctx, unsigned wanted), void *ctx) {
    int rc = TL_OK;
    if (d->format == CMD_CSV)
        buf_lit(&d->text, "change,key\r\n");
    if (d->format != CMD_JSON)
        rc = compare_anew(d, compare, ctx, 1u << DIFF_ADDED | 1u << DIFF_REMOVED | 1u << DIFF_CHANGED);
    for (unsigned c = 0; d->format == CMD_JSON && !rc && c < DIFF_CHANGES; c++) {
        begin_section(d, word[c]);
        rc = compare_anew(d, compare, ctx, 1u << c);
    }
    if (d->format == CMD_JSON)
        buf_lit(&d->text, "]}\n");
    flush(d);
    return rc;
}

static char *entry_at(const struct diff_side *s, size_t at) {
    return s->entry ? (char *)s->entry + at * s->size : NULL;
}

static size_t same_key(const struct diff_side *s, size_t at, int (*compare)(const void *a, const void *b)) {
    size_t n = 1;
    while (at + n < s->count && compare(entry_at(s, at), entry_at(s, at + n)) == 0)
        n++;
    return n;
}

int diff_out_merge(const struct diff_side side[2], int (*compare)(const void *a, const void *b),
                   int (*group)(void *ctx, void *a, size_t n, void *b, size_t m, unsigned wanted), void *ctx,
                   unsigned wanted) {
    const struct diff_side *a = &side[0], *b = &side[1];
    size_t i = 0, k = 0;
    int rc = TL_OK;
    while (!rc && (i < a->count || k < b->count)) {
        int order = i == a->count ? 1 : k == b->count ? -1 : compare(entry_at(a, i), entry_at(b, k));
        size_t n = order <= 0 ? same_key(a, i, compare) : 0, m = order >= 0 ? same_key(b, k, compare) : 0;
        rc = group(ctx, entry_at(a, i), n, entry_at(b, k), m, wanted);
        i += n;
        k += m;
    }
    return rc;
}

int diff_out_end(struct diff_out *d, bool exit_code) {
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    int64_t differences = d->change[DIFF_ADDED] + d->change[DIFF_REMOVED] + d->change[DIFF_CHANGED];
    int code = exit_code && differences ? EXIT_NEGATIVE : EXIT_DONE;
    log_ending(code, "%lld added, %lld removed, %lld changed, %lld unchanged", (long long)d->change[DIFF_ADDED],
               (long long)d->change[DIFF_REMOVED], (long long)d->change[DIFF_CHANGED], (long long)d->same);
    return code;
}
