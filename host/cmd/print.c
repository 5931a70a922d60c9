/* print.c - see print.h. */
#include "cmd/print.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"

/* ---- for people */

void print_plain(struct buf *out, struct tl_span text, size_t most) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    uint32_t cp;
    char bytes[4];
    for (size_t n = 0; utf8_next(&at, end, &cp) != TL_NOTFOUND; n++) {
        if (most && n + 1 == most && at < end) {
            buf_lit(out, "…");
            return;
        }
        if (cp == '\t' || cp == '\n' || cp == '\r')
            buf_char(out, ' ');
        else if (utf8_is_hostile(cp))
            buf_char(out, '?');
        else
            buf_add(out, bytes, utf8_put(bytes, cp));
    }
}

static bool is_wide(uint32_t cp) {
    return (cp >= 0x1100 && cp <= 0x115F) || (cp >= 0x2E80 && cp <= 0x303E) || (cp >= 0x3041 && cp <= 0xA4CF) ||
           (cp >= 0xAC00 && cp <= 0xD7A3) || (cp >= 0xF900 && cp <= 0xFAFF) || (cp >= 0xFE30 && cp <= 0xFE6F) ||
           (cp >= 0xFF00 && cp <= 0xFF60) || (cp >= 0xFFE0 && cp <= 0xFFE6) || (cp >= 0x1F300 && cp <= 0x1F64F) ||
           (cp >= 0x1F900 && cp <= 0x1F9FF) || (cp >= 0x20000 && cp <= 0x3FFFD);
}

static bool is_combining(uint32_t cp) {
    return (cp >= 0x300 && cp <= 0x36F) || (cp >= 0x483 && cp <= 0x489) || (cp >= 0x591 && cp <= 0x5BD) ||
           (cp >= 0x64B && cp <= 0x65F) || (cp >= 0x200B && cp <= 0x200D) || (cp >= 0x20D0 && cp <= 0x20FF) ||
           (cp >= 0xFE00 && cp <= 0xFE0F) || (cp >= 0xFE20 && cp <= 0xFE2F);
}

size_t print_width(struct tl_span text) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    uint32_t cp;
    size_t n = 0;
    while (utf8_next(&at, end, &cp) != TL_NOTFOUND)
        n += is_wide(cp) ? 2 : !is_combining(cp);
    return n;
}

/* ---- for programs */

void print_csv(struct buf *out, struct tl_span text) {
    bool quote = false;
    for (size_t i = 0; i < text.len && !quote; i++)
        quote = strchr(",\"\r\n", text.ptr[i]) != NULL; /* a NUL counts too */
    if (!quote) {
        buf_add(out, text.ptr, text.len);
        return;
    }
    buf_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            buf_char(out, '"');
        if (text.ptr[i])
            buf_char(out, text.ptr[i]);
        else
            buf_lit(out, UTF8_REPLACEMENT_TEXT);
    }
    buf_char(out, '"');
}

void print_xml(struct buf *out, struct tl_span text) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    uint32_t cp;
    char bytes[4];
    while (utf8_next(&at, end, &cp) != TL_NOTFOUND)
        if (cp == '<')
            buf_lit(out, "&lt;");
        else if (cp == '>')
            buf_lit(out, "&gt;");
        else if (cp == '&')
            buf_lit(out, "&amp;");
        else if (cp == '"')
            buf_lit(out, "&quot;");
        else if (cp == '\t' || cp == '\n' || cp == '\r')
            buf_printf(out, "&#%u;", cp);
        else if (cp < 0x20 || cp == 0xFFFE || cp == 0xFFFF)
            buf_lit(out, UTF8_REPLACEMENT_TEXT);
        else
            buf_add(out, bytes, utf8_put(bytes, cp));
}

/* ---- values of the catalog */

static void add_hex(struct buf *out, struct tl_span bytes) {
    for (size_t i = 0; i < bytes.len; i++)
        buf_printf(out, "%02x", (unsigned)(unsigned char)bytes.ptr[i]);
}

void print_value(struct buf *out, const struct store_value *v) {
    if (v->type == STORE_TEXT)
        buf_add(out, v->text.ptr, v->text.len);
    else if (v->type == STORE_BLOB)
        add_hex(out, v->text);
    else if (v->type != STORE_NULL) {
        struct json_writer w = JSON_WRITER(out);
        print_json(&w, v);
    }
}

void print_json(struct json_writer *w, const struct store_value *v) {
    AUTO_BUF struct buf hex = BUF_INIT;
    switch (v->type) {
    case STORE_INT:
        json_put_int(w, v->number);
        return;
    case STORE_REAL:
        json_put_real(w, v->real);
        return;
    case STORE_TEXT:
        json_put_string(w, v->text);
        return;
    case STORE_BLOB:
        add_hex(&hex, v->text);
        json_put_string(w, buf_span(&hex));
        return;
    default:
        json_put_null(w);
    }
}

/* Columns that hold JSON are JSON in JSON. */
static bool holds_json(const char *name, const struct store_value *v) {
    static const char *const names[] = {"payload", "leash", "run_context", "attachments", "args"};
    bool known = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known |= strcmp(names[i], name) == 0;
    return known && v->type == STORE_TEXT && json_valid(v->text, NULL) == TL_OK;
}

void print_object(struct json_writer *w, const struct store_row *row) {
    json_object_begin(w);
    for (size_t i = 0; i < row->count; i++) {
        json_put_key(w, row->name[i]);
        if (holds_json(row->name[i], &row->value[i]))
            json_put_raw(w, row->value[i].text);
        else
            print_json(w, &row->value[i]);
    }
    json_object_end(w);
}

const struct store_value *print_column(const struct store_row *row, const char *name) {
    for (size_t i = 0; i < row->count; i++)
        if (strcmp(row->name[i], name) == 0)
            return &row->value[i];
    return NULL;
}
