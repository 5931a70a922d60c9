/* text.c - text that grows in the run's memory, and values of JSON as they stand in it; see text.h. */
#include <stdio.h>
#include <string.h>

#include "text.h"

void text_add(struct text *t, const char *ptr, size_t len) {
    if (t->lost || len == 0)
        return;
    if (t->room - t->len <= len) {
        size_t room = (t->len + len) * 2 + 256;
        char *wider = tl_alloc(t->run, room);
        if (!wider) {
            t->lost = true;
            return;
        }
        if (t->len)
            memcpy(wider, t->ptr, t->len);
        t->ptr = wider;
        t->room = room;
    }
    memcpy(t->ptr + t->len, ptr, len);
    t->len += len;
    t->ptr[t->len] = '\0';
}

void text_word(struct text *t, const char *word) {
    if (!word)
        t->lost = true;
    else
        text_add(t, word, strlen(word));
}

void text_string(struct text *t, const char *value) {
    if (!value) {
        text_word(t, "null");
        return;
    }
    text_word(t, "\"");
    for (const char *at = value; *at;) {
        size_t plain =
            strcspn(at, "\"\\\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15"
                        "\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f");
        text_add(t, at, plain);
        at += plain;
        if (*at) {
            char escape[8];
            snprintf(escape, sizeof escape, *at == '"' || *at == '\\' ? "\\%c" : "\\u%04x", (unsigned char)*at);
            text_word(t, escape);
            at++;
        }
    }
    text_word(t, "\"");
}

const char *text_format(struct tl_run *run, const char *fmt, ...) {
    char room[4001];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(room, sizeof room, fmt, ap);
    va_end(ap);
    return n < 0 || (size_t)n >= sizeof room ? NULL : text_copy(run, (struct tl_span){room, (size_t)n});
}

const char *text_copy(struct tl_run *run, struct tl_span s) {
    char *copy = tl_alloc(run, s.len + 1); /* zeroed */
    if (copy && s.len)
        memcpy(copy, s.ptr, s.len);
    return copy;
}

/* The day as the Gregorian calendar has it, by whole eras of 400 years. */
const char *text_time(struct tl_run *run, int64_t us) {
    int64_t ms = us / 1000, day = ms / 86400000, rest = ms % 86400000, z = day + 719468;
    int64_t era = z / 146097, doe = z % 146097, yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t month = mp < 10 ? mp + 3 : mp - 9, year = yoe + era * 400 + (month <= 2);
    return text_format(run, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)year, (int)month,
                       (int)(doy - (153 * mp + 2) / 5 + 1), (int)(rest / 3600000), (int)(rest / 60000 % 60),
                       (int)(rest / 1000 % 60), (int)(rest % 1000));
}

/* ---- JSON */

bool value_at(struct tl_run *run, const struct tl_json *v, const char *pointer, struct tl_json *out) {
    return run->host->json(run, v->raw, pointer, out) == TL_OK;
}

const char *value_text(struct tl_run *run, const struct tl_json *v, const char *pointer) {
    struct tl_json found;
    return value_at(run, v, pointer, &found) && found.type == TL_JSON_STRING ? run->host->json_text(run, &found) : NULL;
}

const char *value_id(struct tl_run *run, const struct tl_json *v, const char *pointer) {
    enum { MOST = 100 };
    static const char digits[] = "0123456789";
    struct tl_json found;
    const char *text = NULL;
    if (!value_at(run, v, pointer, &found))
        return NULL;
    if (found.type == TL_JSON_NUMBER) {
        text = text_copy(run, found.raw);
        return text && strspn(text, digits) == found.raw.len && found.raw.len <= MOST ? text : NULL;
    }
    if (found.type != TL_JSON_STRING || !(text = run->host->json_text(run, &found)))
        return NULL;
    size_t n = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-.");
    return n > 0 && n <= MOST && text[n] == '\0' ? text : NULL;
}

int64_t value_count(struct tl_run *run, const struct tl_json *v, const char *pointer) {
    struct tl_json found;
    int64_t n = 0;
    if (!value_at(run, v, pointer, &found) || found.type != TL_JSON_NUMBER || found.raw.len > 18)
        return -1;
    for (size_t i = 0; i < found.raw.len; i++) {
        if (found.raw.ptr[i] < '0' || found.raw.ptr[i] > '9')
            return -1;
        n = n * 10 + found.raw.ptr[i] - '0';
    }
    return n;
}
