/* wire.c - see wire.h. */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

void text_free(struct text *t) {
    free(t->ptr);
    *t = (struct text){0};
}

void text_add(struct text *t, const char *ptr, size_t len) {
    if (t->lost)
        return;
    if (t->room - t->len <= len) {
        size_t room = (t->len + len) * 2 + 256;
        char *wider = realloc(t->ptr, room);
        if (!wider) {
            t->lost = true;
            return;
        }
        t->ptr = wider;
        t->room = room;
    }
    if (len)
        memcpy(t->ptr + t->len, ptr, len);
    t->len += len;
    t->ptr[t->len] = '\0';
}

void text_word(struct text *t, const char *word) {
    text_add(t, word, strlen(word));
}

/* The length of the character there, 0 when it is none. */
static size_t utf8_length(const unsigned char *s, size_t left) {
    static const struct {
        unsigned char from, to, low, high, length;
    } leads[] = {{0x00, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
                 {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
                 {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    size_t i = 0;
    while (i < sizeof leads / sizeof *leads && (*s < leads[i].from || *s > leads[i].to))
        i++;
    if (i == sizeof leads / sizeof *leads || leads[i].length > left)
        return 0;
    for (size_t k = 1; k < leads[i].length; k++)
        if (k == 1 ? s[k] < leads[i].low || s[k] > leads[i].high : (s[k] & 0xC0) != 0x80)
            return 0;
    return leads[i].length;
}

bool wire_is_utf8(struct tl_span s) {
    const unsigned char *at = (const unsigned char *)s.ptr, *end = at + s.len;
    while (at < end) {
        size_t n = *at < 0x80 ? 1 : utf8_length(at, (size_t)(end - at));
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

/* What moves the cursor, or turns the text around it: C0, DEL and C1, separators of lines and paragraphs, and the marks
 * of direction (UAX #9). */
static bool is_control(const char *at, size_t length) {
    const unsigned char *s = (const unsigned char *)at;
    if (length == 1)
        return *s < ' ' || *s == 0x7F;
    unsigned code =
        length == 2 ? (s[0] & 31u) << 6 | (s[1] & 63u) : (s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[length - 1] & 63u);
    if (length == 2)
        return code < 0xA0 || code == 0x61C;
    return length == 3 && (code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
                           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF);
}

void wire_mend(char *text) {
    char *to = text;
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        size_t length = utf8_length((const unsigned char *)text, left);
        n = length ? length : 1;
        if (length == 0 || is_control(text, length))
            *to++ = length ? ' ' : '?';
        else
            for (size_t i = 0; i < n; i++)
                *to++ = text[i];
    }
    *to = '\0';
}

static void escape(struct text *t, unsigned char c) {
    static const char hex[] = "0123456789abcdef";
    const char code[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    if (c == '"' || c == '\\')
        text_add(t, (const char[]){'\\', (char)c}, 2);
    else if (c == '\n')
        text_add(t, "\\n", 2);
    else
        text_add(t, code, sizeof code);
}

void wire_escape(struct text *t, struct tl_span s) {
    for (const char *from = s.ptr, *end = s.ptr + s.len; from < end;) {
        const char *at = from;
        while (at < end && (unsigned char)*at >= ' ' && *at != '"' && *at != '\\')
            at++;
        text_add(t, from, (size_t)(at - from));
        if (at < end)
            escape(t, (unsigned char)*at++);
        from = at;
    }
}

void wire_string(struct text *t, const char *s) {
    if (!s) {
        text_add(t, "null", 4);
        return;
    }
    text_add(t, "\"", 1);
    for (size_t left = strlen(s); left;) {
        size_t n = utf8_length((const unsigned char *)s, left);
        if (n)
            wire_escape(t, (struct tl_span){s, n});
        else
            text_word(t, "\xEF\xBF\xBD");
        n = n ? n : 1;
        s += n;
        left -= n;
    }
    text_add(t, "\"", 1);
}

/* ---- base64 */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void wire_base64(struct text *t, struct tl_span bytes) {
    const unsigned char *s = (const unsigned char *)bytes.ptr;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        unsigned v = (unsigned)s[i] << 16 | (n > 1 ? (unsigned)s[i + 1] << 8 : 0) | (n > 2 ? s[i + 2] : 0);
        const char group[4] = {digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=',
                               n > 2 ? digits[v & 63] : '='};
        text_add(t, group, 4);
    }
}

bool wire_unbase64(struct text *t) {
    size_t to = 0, len = t->len;
    if (len % 4)
        return false;
    for (size_t at = 0; at < len; at += 4) {
        size_t pad =
            at + 4 < len ? 0 : (size_t)(t->ptr[at + 3] == '=') + (t->ptr[at + 3] == '=' && t->ptr[at + 2] == '=');
        unsigned v = 0;
        for (size_t k = 0; k < 4; k++) {
            char c = t->ptr[at + k];
            const char *d = c ? strchr(digits, c) : NULL;
            if (k + pad < 4 && !d)
                return false;
            v = v << 6 | (k + pad < 4 ? (unsigned)(d - digits) : 0);
        }
        for (size_t k = 0; k + pad < 3; k++)
            t->ptr[to++] = (char)(v >> (16 - 8 * k));
    }
    t->len = to;
    return true;
}

/* ---- strings of JSON */

static unsigned hex4(const char *s) {
    unsigned v = 0;
    for (int i = 0; i < 4; i++)
        v = v << 4 | (unsigned)(s[i] <= '9' ? s[i] - '0' : (s[i] | 32) - 'a' + 10);
    return v;
}

static void add_code(struct text *t, unsigned c) {
    char s[4];
    size_t n = 0;
    if (c < 0x80) {
        s[n++] = (char)c;
    } else if (c < 0x800) {
        s[n++] = (char)(0xC0 | c >> 6);
    } else if (c < 0x10000) {
        s[n++] = (char)(0xE0 | c >> 12);
        s[n++] = (char)(0x80 | (c >> 6 & 63));
    } else {
        s[n++] = (char)(0xF0 | c >> 18);
        s[n++] = (char)(0x80 | (c >> 12 & 63));
        s[n++] = (char)(0x80 | (c >> 6 & 63));
    }
    if (c >= 0x80)
        s[n++] = (char)(0x80 | (c & 63));
    text_add(t, s, n);
}

/* Behind "\u": a pair of surrogates is one character, a lone one is U+FFFD. */
static const char *unescape_code(struct text *t, const char *at, const char *end) {
    unsigned c = hex4(at);
    at += 4;
    if (c >= 0xD800 && c < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        unsigned low = hex4(at + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            add_code(t, 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00));
            return at + 6;
        }
    }
    add_code(t, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
    return at;
}

void wire_unescape(struct text *t, struct tl_span json) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *at = json.ptr + 1, *end = json.ptr + json.len - 1;
    text_add(t, "", 0);
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at)), *stop = slash ? slash : end;
        text_add(t, at, (size_t)(stop - at));
        at = stop;
        if (!slash)
            break;
        const char *named = strchr(from, at[1]);
        if (at[1] == 'u') {
            at = unescape_code(t, at + 2, end);
            continue;
        }
        text_add(t, named ? &to[named - from] : at + 1, 1);
        at += 2;
    }
}
