/* lake_path.c - how what is known about a crawl becomes a path in the lake.
 *
 * Invariant: a partition value is never empty, never "." or "..", holds only [A-Za-z0-9._-] and %XX with upper-case
 * hex, and is at most LAKE_VALUE_MAX bytes long. So whatever a crawl file or a collector calls itself, a path stays
 * below the lake, and reading "NAME=VALUE" at the first '=' is exact. Different values give different paths (cut ones:
 * as far as their hash tells them apart). */
#include <string.h>

#include "base/mem.h"
#include "base/times.h"
#include "lake/lake_backup.h"
#include "lake/lake_inside.h"

enum { FREE_LEVELS = 5, CUT_HEX = 16 };

static bool is_plain(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

static void put_byte(struct buf *out, unsigned char c, bool escape) {
    static const char hex[] = "0123456789ABCDEF";
    if (!escape)
        buf_char(out, (char)c);
    else
        buf_add(out, (char[]){'%', hex[c >> 4], hex[c & 15]}, 3);
}

/* How many bytes of a too long value are kept: what fits when escaped, and no half of a UTF-8 character. */
static size_t kept_bytes(struct tl_span value) {
    size_t room = LAKE_VALUE_MAX - 1 - CUT_HEX, n = 0;
    for (; n < value.len; n++) {
        size_t need = is_plain((unsigned char)value.ptr[n]) ? 1 : 3;
        if (need > room)
            break;
        room -= need;
    }
    size_t whole = n;
    while (whole && n - whole < 3 && ((unsigned char)value.ptr[whole] & 0xC0) == 0x80)
        whole--;
    return ((unsigned char)value.ptr[whole] & 0xC0) == 0x80 ? n : whole; /* four such bytes in a row are no UTF-8 */
}

#define NO_VALUE "__HIVE_DEFAULT_PARTITION__" /* readers of partitioned tables take it for NULL */

void lake_value(struct buf *out, struct tl_span value) {
    if (!value.ptr || !value.len) {
        buf_lit(out, NO_VALUE);
        return;
    }
    bool dots =
        (value.len == 1 && value.ptr[0] == '.') || (value.len == 2 && value.ptr[0] == '.' && value.ptr[1] == '.');
    size_t length = 0;
    for (size_t i = 0; i < value.len && length <= LAKE_VALUE_MAX; i++)
        length += is_plain((unsigned char)value.ptr[i]) ? 1 : 3;
    bool cut = length > LAKE_VALUE_MAX;
    size_t kept = cut ? kept_bytes(value) : value.len;
    bool posing = span_eq(value, NO_VALUE);
    for (size_t i = 0; i < kept; i++)
        put_byte(out, (unsigned char)value.ptr[i],
                 dots || (posing && i == 0) || !is_plain((unsigned char)value.ptr[i]));
    if (cut) {
        struct sha256 whole = hash_sha256(value.ptr, value.len);
        char hex[CUT_HEX + 1];
        buf_char(out, '-');
        buf_text(out, hash_hex(whole.byte, CUT_HEX / 2, hex));
    }
}

static const char *const free_level[FREE_LEVELS + 1] = {"clct_version",        "org",         "project",
                                                        "result_context_name", "result_name", NULL};

static const char *level_value(const struct lake_place *place, const char *level) {
    const char *const values[FREE_LEVELS] = {place->version, place->org, place->project, place->context, place->result};
    for (int i = 0; i < FREE_LEVELS; i++)
        if (strcmp(level, free_level[i]) == 0)
            return values[i];
    return NULL;
}

static void put_day(struct buf *out, const char *table, const struct civil *c) {
    buf_printf(out, "%s/year=%04d/month=%02d/day=%02d/", table, c->year, c->month, c->day);
}

void lake_folder(struct buf *out, const struct lake_place *place, bool attachments) {
    struct civil c = time_civil(place->root_started_us);
    char id[UUID_TEXT];
    put_day(out, attachments ? "attachments" : "documents", &c);
    buf_printf(out, "hour=%02d/clct_uuid=%s", c.hour, uuid_text(&place->root_id, id));
    for (const char *const *level = place->order ? place->order : free_level; *level; level++) {
        buf_char(out, '/');
        buf_text(out, *level);
        buf_char(out, '=');
        lake_value(out, span_of(level_value(place, *level)));
    }
}

int lake_order_check(const char *const *order, struct fail *why) {
    unsigned seen = 0;
    int count = 0;
    for (; order && order[count]; count++) {
        int at = 0;
        while (free_level[at] && strcmp(free_level[at], order[count]) != 0)
            at++;
        if (!free_level[at])
            return fail_exit(why, TL_INVALID, EXIT_CONFIG,
                             "path: there is no level \"%.80s\"; the levels are clct_version, org, project, "
                             "result_context_name, result_name",
                             order[count]);
        if (seen & 1u << at)
            return fail_exit(why, TL_INVALID, EXIT_CONFIG, "path: the level %s is named twice", free_level[at]);
        seen |= 1u << at;
    }
    for (int i = 0; order && i < FREE_LEVELS; i++)
        if (!(seen & 1u << i))
            return fail_exit(why, TL_INVALID, EXIT_CONFIG,
                             "path: the level %s is missing; every level must be there once", free_level[i]);
    return TL_OK;
}

void lake_crawl_file(struct buf *out, int64_t root_started_us, const struct uuid *root_id, const char *extension) {
    struct civil c = time_civil(root_started_us);
    char id[UUID_TEXT];
    put_day(out, "crawls", &c);
    buf_printf(out, "%s.%s", uuid_text(root_id, id), extension);
}

void lake_tables_file(struct buf *out, const struct uuid *id) {
    struct civil c = time_civil(uuid_time_us(id));
    char text[UUID_TEXT];
    put_day(out, LAKE_TABLES, &c);
    buf_printf(out, "%s.jsonl", uuid_text(id, text));
}

static bool is_table(const char *path) {
    static const char *const root[] = {LAKE_ITEMS "/", LAKE_TYPED "/", LAKE_REJECTS "/", LAKE_TABLES "/"};
    for (size_t i = 0; i < COUNT_OF(root); i++)
        if (strncmp(path, root[i], strlen(root[i])) == 0)
            return true;
    return false;
}

void lake_staged_name(struct buf *out, const char *path) {
    const char *name = strrchr(path, '/');
    if (name && strncmp(path, "attachments/", 12) == 0) {
        const char *id = name;
        while (id > path && id[-1] != '/')
            id--;
        buf_add(out, id, (size_t)(name - id)); /* attachments of different results may have the same name */
        buf_char(out, '=');
    }
    name = name ? name + 1 : path;
    size_t len = strlen(name);
    const char *dot = is_table(path) ? strrchr(name, '.') : NULL;
    if (dot && dot - name >= UUID_TEXT - 1) { /* a table's file ends in its id */
        len -= (size_t)(dot - name) - (UUID_TEXT - 1);
        name = dot - (UUID_TEXT - 1);
    }
    bool document = strncmp(path, "documents/", 10) == 0 && len > 5 && strcmp(name + len - 5, ".json") == 0;
    buf_add(out, name, document ? len - 5 : len);
    buf_lit(out, ".part");
}

void lake_staged_attachment(struct buf *out, const char *result_id, struct tl_span name) {
    buf_printf(out, "%s=", result_id);
    lake_value(out, name);
    buf_lit(out, ".part");
}

bool lake_attachment_ok(const char *path) {
    return strncmp(path, LAKE_BACKUPS "/", sizeof LAKE_BACKUPS) == 0
               ? lake_backup_is_copy(path, NULL) || lake_backup_is_object(path)
               : strncmp(path, "attachments/", 12) == 0 && lake_path_ok(path);
}
