/* template.c - texts with places, {NAME} and {/POINTER}: each value is encoded for where it stands, so that none can
 * become more than a value there. */
#include <stdio.h>
#include <string.h>

#include "api.h"

void api_add(struct api_text *t, const char *bytes, size_t len) {
    if (t->full || len > API_TEXT_MAX - t->len - 1) {
        t->full = true;
        return;
    }
    if (t->len + len + 1 > t->room) {
        size_t room = (t->len + len + 1) * 2;
        char *more = tl_alloc(t->run, room);
        if (!more) {
            t->full = true;
            return;
        }
        if (t->len)
            memcpy(more, t->ptr, t->len);
        t->ptr = more;
        t->room = room;
    }
    memcpy(t->ptr + t->len, bytes, len);
    t->len += len;
}

const char *api_end(struct api_text *t) {
    api_add(t, "", 1);
    if (t->full)
        tl_fail(t->run, TL_FAILED, "a request with its arguments is over %d KiB", API_TEXT_MAX / 1024);
    return t->full ? NULL : t->ptr;
}

const char *api_says(struct api *a, const char *pointer) {
    return tl_json_get(a->run, a->description, pointer);
}

static void add_text(struct api_text *t, const char *text) {
    api_add(t, text, strlen(text));
}

static void add_encoded(struct api_text *t, const char *text) {
    static const char hex[] = "0123456789ABCDEF";
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        char out[3] = {'%', hex[c >> 4], hex[c & 15]};
        bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || strchr("-._~", c);
        api_add(t, plain ? text : out, plain ? 1 : 3);
    }
}

/* Between quotes the inside of a string; elsewhere a value: a number as it is, anything else as a string. */
static int add_json(struct api *a, struct api_text *t, const char *value) {
    struct tl_span text = {value, strlen(value)};
    const char *quoted = tl_json_quote(a->run, text);
    struct tl_json v;
    bool inside = false;
    if (!quoted)
        return TL_FAILED;
    for (size_t i = 0; i < t->len; i++) {
        inside = inside != (t->ptr[i] == '"');
        i += t->ptr[i] == '\\';
    }
    if (inside)
        api_add(t, quoted + 1, strlen(quoted) - 2);
    else if (a->run->host->json(a->run, text, "", &v) == TL_OK && v.raw.len == text.len &&
             (v.type == TL_JSON_NUMBER || v.type == TL_JSON_BOOL))
        api_add(t, v.raw.ptr, v.raw.len);
    else
        add_text(t, quoted);
    return TL_OK;
}

static int add_value(struct api *a, struct api_text *t, const char *value, enum api_place place) {
    if (place == API_IN_URL) {
        add_encoded(t, value);
    } else if (place == API_IN_JSON) {
        return add_json(a, t, value);
    } else if (strpbrk(value, "\r\n")) {
        return tl_fail(a->run, TL_FAILED, "a value with a line break cannot stand in a header");
    } else {
        add_text(t, value);
    }
    return TL_OK;
}

static const char *decimal(struct api *a, int64_t n) {
    char *text = tl_alloc(a->run, 24);
    if (text)
        snprintf(text, 24, "%lld", (long long)n);
    return text;
}

/* What every line knows. */
static const char *of_line(struct api *a, const char *name) {
    const struct tl_lineage *l = a->run->host->lineage(a->run);
    return strcmp(name, "target.name") == 0      ? l->target
           : strcmp(name, "target.org") == 0     ? l->org
           : strcmp(name, "target.project") == 0 ? l->project
           : strcmp(name, "crawl") == 0          ? l->crawl
                                                 : NULL;
}

static const char *of_page(struct api *a, const char *name) {
    return strcmp(name, "page") == 0     ? decimal(a, a->page)
           : strcmp(name, "offset") == 0 ? decimal(a, a->offset)
           : strcmp(name, "size") == 0   ? (a->size ? decimal(a, a->size) : NULL)
           : strcmp(name, "cursor") == 0 ? a->cursor
                                         : NULL;
}

/* A default names only what the line knows, and is filled in once: that is as deep as it goes. */
static int of_default(struct api *a, const char *text, const char **value) {
    struct api_text t = {.run = a->run};
    char name[64];
    for (const char *open; (open = strchr(text, '{')) != NULL;) {
        size_t len = strcspn(open + 1, "}");
        const char *known = NULL;
        if (len < sizeof name && open[1 + len]) {
            memcpy(name, open + 1, len);
            name[len] = '\0';
            known = of_line(a, name);
            if (!known && strncmp(name, "target.", 7) == 0)
                return TL_NOTFOUND;
        }
        api_add(&t, text, (size_t)(open - text));
        add_text(&t, known ? known : "{");
        text = known ? open + len + 2 : open + 1;
    }
    add_text(&t, text);
    *value = api_end(&t);
    return *value ? TL_OK : TL_FAILED;
}

static int of_argument(struct api *a, const char *name, const char **value) {
    char pointer[100];
    snprintf(pointer, sizeof pointer, "/%.60s", name);
    *value = tl_json_get(a->run, a->with, pointer);
    if (*value)
        return TL_OK;
    snprintf(pointer, sizeof pointer, "/arguments/%.60s/default", name);
    const char *usual = api_says(a, pointer);
    return usual ? of_default(a, usual, value) : TL_NOTFOUND;
}

static int lookup(struct api *a, const char *name, const struct tl_span *item, const char **value) {
    struct tl_json found;
    if (name[0] == '/') {
        bool there = item && a->run->host->json(a->run, *item, name, &found) == TL_OK && found.type != TL_JSON_NULL;
        *value = there ? a->run->host->json_text(a->run, &found) : NULL;
        return *value ? TL_OK : TL_NOTFOUND;
    }
    if ((*value = of_line(a, name)) != NULL || (*value = of_page(a, name)) != NULL)
        return TL_OK;
    return of_argument(a, name, value);
}

int api_fill(struct api *a, const char *text, enum api_place place, const struct tl_span *item, const char **out) {
    struct api_text t = {.run = a->run};
    char name[320];
    for (const char *open; (open = strchr(text, '{')) != NULL;) {
        size_t len = open[1] == '/' && item ? strcspn(open + 1, "}")
                                            : strspn(open + 1, "abcdefghijklmnopqrstuvwxyz0123456789_.");
        const char *value;
        api_add(&t, text, (size_t)(open - text));
        text = open + 1;
        if (!len || len >= sizeof name || open[1 + len] != '}') { /* a brace is itself */
            api_add(&t, "{", 1);
            continue;
        }
        memcpy(name, open + 1, len);
        name[len] = '\0';
        int rc = lookup(a, name, item, &value);
        if (!rc)
            rc = add_value(a, &t, value, place);
        if (rc)
            return rc;
        text += len + 1;
    }
    add_text(&t, text);
    *out = api_end(&t);
    return *out ? TL_OK : TL_FAILED;
}

static int add_parameters(struct api *a, struct api_text *t) {
    struct tl_json query, at = {0};
    if (a->run->host->json(a->run, a->description, "/query", &query) || query.type != TL_JSON_OBJECT)
        return TL_OK;
    for (char mark = '?'; a->run->host->json_next(a->run, &query, &at) == TL_OK;) {
        struct tl_json key = {.type = TL_JSON_STRING, .raw = at.key};
        const char *name = a->run->host->json_text(a->run, &key), *text = a->run->host->json_text(a->run, &at), *value;
        int rc = name && text ? api_fill(a, text, API_IN_URL, NULL, &value) : TL_NOTFOUND;
        if (rc == TL_NOTFOUND)
            continue; /* what is not given is left out */
        if (rc)
            return rc;
        api_add(t, &mark, 1);
        add_encoded(t, name);
        api_add(t, "=", 1);
        add_text(t, value);
        mark = '&';
    }
    return TL_OK;
}

int api_url(struct api *a, const char **url) {
    struct api_text t = {.run = a->run};
    const char *base = a->args->base, *path = api_says(a, "/url"), *filled = "";
    if (strpbrk(base, "?#"))
        return tl_fail(a->run, TL_FAILED, "the argument `base` wants a URL without parameters, not %.200s", base);
    int rc = path && *path ? api_fill(a, path, API_IN_URL, NULL, &filled) : TL_OK;
    if (rc)
        return rc == TL_NOTFOUND
                   ? tl_fail(a->run, TL_FAILED, "the path %.200s of API %s names what is not given", path, a->name)
                   : rc;
    add_text(&t, base);
    if (*filled && base[strlen(base) - 1] != '/')
        api_add(&t, "/", 1);
    add_text(&t, filled);
    rc = add_parameters(a, &t);
    if (rc)
        return rc;
    *url = api_end(&t);
    return *url ? tl_url(a->run, base, *url, url) : TL_FAILED;
}
