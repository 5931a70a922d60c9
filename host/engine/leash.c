/* leash.c - see leash.h. Hosts are kept sorted, so that a list of many thousands costs a page a few binary searches. */
#include "engine/leash.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/yaml.h"
#include "net/url.h"

enum { CHILD_HOSTS_MAX = 1000, HOST_TEXT = 256, FEW = 8 };

enum unit { COUNT, SIZE, SECONDS };
static const struct limit {
    const char *name;
    size_t offset;
    enum unit unit;
    unsigned given;
} limits[] = {
    {"depth", offsetof(struct leash, depth), COUNT, LEASH_DEPTH},
    {"fanout", offsetof(struct leash, fanout), COUNT, LEASH_FANOUT},
    {"runs", offsetof(struct leash, runs), COUNT, LEASH_RUNS},
    {"bytes", offsetof(struct leash, bytes), SIZE, LEASH_BYTES},
    {"time", offsetof(struct leash, time_us), SECONDS, LEASH_TIME},
};

static int64_t *field(struct leash *l, const struct limit *limit) {
    return (int64_t *)((char *)l + limit->offset);
}

static int64_t value(const struct leash *l, const struct limit *limit) {
    return *(const int64_t *)((const char *)l + limit->offset);
}

void leash_init(struct leash *l) {
    *l = (struct leash){
        .depth = LEASH_DEPTH_MAX, .fanout = INT64_MAX, .runs = INT64_MAX, .bytes = INT64_MAX, .time_us = INT64_MAX};
}

void leash_defaults(struct leash *l) {
    *l = (struct leash){
        .depth = 3, .fanout = 1000, .runs = 10000, .bytes = (int64_t)10 << 30, .time_us = time_seconds_us(24 * 3600)};
}

static void drop_hosts(struct leash *l) {
    for (size_t i = 0; i < l->host_count; i++)
        free(l->host[i]);
    free(l->host);
    l->host = NULL;
    l->host_count = 0;
}

void leash_free(struct leash *l) {
    drop_hosts(l);
    l->hosts_set = false;
}

/* The array's room follows from its count: 8, 16, 32... */
static size_t room_for(size_t count) {
    size_t room = FEW;
    while (room < count)
        room *= 2;
    return room;
}

void leash_copy(struct leash *to, const struct leash *from) {
    *to = *from;
    to->host = NULL;
    if (!from->host_count)
        return;
    to->host = mem_array(NULL, room_for(from->host_count), sizeof *to->host);
    for (size_t i = 0; i < from->host_count; i++)
        to->host[i] = mem_text(from->host[i]);
}

void leash_tighten(struct leash *child, const struct leash *parent) {
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        if (value(parent, &limits[i]) < value(child, &limits[i]))
            *field(child, &limits[i]) = value(parent, &limits[i]);
}

/* ---- hosts ---- */

/* Where the pattern stands, or would. */
static bool find_host(const struct leash *l, const char *pattern, size_t *at) {
    size_t low = 0, high = l->host_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(l->host[middle], pattern);
        if (order == 0) {
            *at = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return false;
}

int leash_add_host(struct leash *l, const char *pattern, struct fail *why) {
    AUTO_BUF struct buf canonical = BUF_INIT;
    size_t at;
    if (url_host_pattern(&canonical, pattern) < 0 || !canonical.len)
        return fail_set(
            why, TL_INVALID,
            "hosts: a pattern such as example.org, *.example.org, example.org:8080 or * is wanted, not '%.200s'",
            pattern);
    l->hosts_set = true;
    if (find_host(l, canonical.data, &at))
        return TL_OK;
    if (l->host_count >= LEASH_HOSTS_MAX)
        return fail_set(why, TL_INVALID, "hosts: more than %d patterns", LEASH_HOSTS_MAX);
    if (!l->host || l->host_count == room_for(l->host_count))
        l->host = mem_array(l->host, room_for(l->host_count + 1), sizeof *l->host);
    memmove(l->host + at + 1, l->host + at, (l->host_count - at) * sizeof *l->host);
    l->host[at] = buf_steal(&canonical);
    l->host_count++;
    return TL_OK;
}

/* A listed pattern of this text, with and without the port, has the last word: url_host_matches. */
static bool listed(const struct leash *l, const char *before, const char *name, struct tl_span host, int port) {
    char text[HOST_TEXT + 16];
    size_t at;
    snprintf(text, sizeof text, "%s%s", before, name);
    if (find_host(l, text, &at) && url_host_matches(l->host[at], host, port))
        return true;
    snprintf(text, sizeof text, "%s%s:%d", before, name, port);
    return find_host(l, text, &at) && url_host_matches(l->host[at], host, port);
}

static bool matches_one_by_one(const struct leash *l, struct tl_span host, int port) {
    for (size_t i = 0; i < l->host_count; i++)
        if (url_host_matches(l->host[i], host, port))
            return true;
    return false;
}

bool leash_has_host(const struct leash *l, struct tl_span host, int port) {
    if (!l->hosts_set)
        return true;
    if (l->host_count <= FEW || host.len >= HOST_TEXT)
        return matches_one_by_one(l, host, port);

    char name[HOST_TEXT];
    for (size_t i = 0; i < host.len; i++)
        name[i] = (char)(host.ptr[i] >= 'A' && host.ptr[i] <= 'Z' ? host.ptr[i] | 32 : host.ptr[i]);
    name[host.len] = '\0';
    if (host.len && name[host.len - 1] == '.')
        name[host.len - 1] = '\0';
    if (listed(l, "", "*", host, port) || listed(l, "", name, host, port))
        return true;
    for (const char *tail = name; tail; tail = strchr(tail, '.') ? strchr(tail, '.') + 1 : NULL)
        if (listed(l, "*.", tail, host, port))
            return true;
    return false;
}

/* ---- JSON ---- */

/* Microseconds as seconds, without needless digits: 3600, 0.5. */
static void put_seconds(struct json_writer *w, int64_t us) {
    char text[40];
    int n = snprintf(text, sizeof text, "%lld.%06lld", (long long)(us / 1000000), (long long)(us % 1000000));
    while (text[n - 1] == '0')
        n--;
    if (text[n - 1] == '.')
        n--;
    json_put_raw(w, (struct tl_span){text, (size_t)n});
}

void leash_json_given(struct buf *out, const struct leash *l, unsigned given) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        if (!(given & limits[i].given))
            continue;
        json_put_key(&w, limits[i].name);
        int64_t n = value(l, &limits[i]);
        if (n == INT64_MAX)
            json_put_null(&w);
        else if (limits[i].unit == SECONDS)
            put_seconds(&w, n);
        else
            json_put_int(&w, n);
    }
    if (given & LEASH_HOSTS && l->hosts_set) {
        json_put_key(&w, "hosts");
        json_array_begin(&w);
        for (size_t i = 0; i < l->host_count; i++)
            json_put_text(&w, l->host[i]);
        json_array_end(&w);
    } else if (given & LEASH_HOSTS) {
        json_member_null(&w, "hosts");
    }
    json_object_end(&w);
}

void leash_json(struct buf *out, const struct leash *l) {
    leash_json_given(out, l, LEASH_ALL);
}

void leash_words(struct buf *out, const struct leash *l) {
    enum { HOSTS_NAMED = 5 };
    char text[TIME_TEXT];
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        int64_t n = value(l, &limits[i]);
        snprintf(text, sizeof text, "%lld", (long long)n);
        if (n == INT64_MAX)
            snprintf(text, sizeof text, "none");
        else if (limits[i].unit == SIZE)
            time_size_text(n, text);
        else if (limits[i].unit == SECONDS)
            time_duration_text(n, text);
        buf_printf(out, "%s%s %s", i ? ", " : "", limits[i].name, text);
    }
    for (size_t i = 0; l->hosts_set && i < l->host_count && i < HOSTS_NAMED; i++)
        buf_printf(out, "%s%s", i ? " " : ", hosts ", l->host[i]);
    if (l->hosts_set && l->host_count > HOSTS_NAMED)
        buf_printf(out, " and %zu more", l->host_count - HOSTS_NAMED);
    else if (l->hosts_set && !l->host_count)
        buf_text(out, ", hosts none");
}

/* Seconds with up to six decimals, written without an exponent. */
static int parse_seconds(struct tl_span text, int64_t *us) {
    int64_t whole = 0, fraction = 0, scale = 1000000;
    size_t i = 0;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++) {
        if (whole > INT64_MAX / 10000000)
            return TL_INVALID;
        whole = whole * 10 + (text.ptr[i] - '0');
    }
    if (i == 0 || whole > INT64_MAX / 4 / 1000000)
        return TL_INVALID;
    if (i < text.len && text.ptr[i] == '.')
        for (i++; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
            if (scale > 1) {
                scale /= 10;
                fraction += (text.ptr[i] - '0') * scale;
            }
    *us = whole * 1000000 + fraction;
    return i == text.len ? TL_OK : TL_INVALID;
}

static int parse_text(enum unit unit, struct tl_span text, int64_t *out) {
    if (unit == SIZE)
        return time_parse_size(text, out);
    return unit == SECONDS ? time_parse_duration(text, out) : TL_INVALID;
}

static int read_limit(struct leash *l, const struct limit *limit, const struct tl_json *member, struct fail *why) {
    static const char *const wanted[] = {"a whole number", "a size such as \"64KiB\"", "a duration such as \"90s\""};
    bool depth = limit->given == LEASH_DEPTH;
    int64_t n = 0;
    int rc = TL_INVALID;
    if (member->type == TL_JSON_NULL && !depth) {
        n = INT64_MAX;
        rc = TL_OK;
    } else if (member->type == TL_JSON_NUMBER) {
        rc = limit->unit == SECONDS ? parse_seconds(member->raw, &n) : json_int(member, &n);
    } else if (member->type == TL_JSON_STRING) {
        AUTO_BUF struct buf text = BUF_INIT;
        rc = json_text(member, &text);
        bool none = !rc && span_eq(buf_span(&text), "none") && !depth;
        if (none)
            n = INT64_MAX;
        else if (!rc)
            rc = parse_text(limit->unit, buf_span(&text), &n);
    }
    if (rc || n < 0 || (depth && n > LEASH_DEPTH_MAX) || (limit->unit == SECONDS && n == 0))
        return fail_set(why, TL_INVALID, "leash: '%s' wants %s%s", limit->name, wanted[limit->unit],
                        depth                    ? " from 0 to 999"
                        : limit->unit == SECONDS ? " above 0, or \"none\""
                                                 : ", or \"none\"");
    *field(l, limit) = n;
    return TL_OK;
}

static int read_hosts(struct leash *l, const struct tl_json *member, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct tl_json item = {0};
    size_t count = 0;
    int rc = TL_OK;
    leash_free(l);
    if (member->type == TL_JSON_NULL)
        return TL_OK;
    l->hosts_set = true;
    if (member->type != TL_JSON_ARRAY)
        return fail_set(why, TL_INVALID, "leash: 'hosts' wants a list of host patterns");
    while ((rc = json_next(member, &item)) == TL_OK) {
        buf_reset(&text);
        if (item.type != TL_JSON_STRING || json_text(&item, &text) || !text.len || strlen(text.data) != text.len)
            return fail_set(why, TL_INVALID, "leash: 'hosts' wants a list of host patterns");
        if (++count > CHILD_HOSTS_MAX)
            return fail_set(why, TL_INVALID, "leash: 'hosts' has more than %d entries", CHILD_HOSTS_MAX);
        rc = leash_add_host(l, text.data, why);
        if (rc)
            return rc;
    }
    return TL_OK;
}

static int unknown_key(const struct tl_json *member, struct fail *why) {
    static const char *const words[] = {"depth", "fanout", "runs", "bytes", "time", "hosts"};
    AUTO_BUF struct buf key = BUF_INIT;
    json_key(member, &key);
    const char *near = key.len ? yaml_nearest(key.data, words, COUNT_OF(words)) : NULL;
    return fail_set(why, TL_INVALID, "leash: unknown key '%.80s'; %s%s%s", key.len ? key.data : "",
                    near ? "did you mean '" : "known are depth, fanout, runs, bytes, time, hosts", near ? near : "",
                    near ? "'?" : "");
}

static int read_member(struct leash *l, const struct tl_json *member, unsigned *seen, struct fail *why) {
    const struct limit *limit = NULL;
    for (size_t i = 0; i < COUNT_OF(limits) && !limit; i++)
        if (json_key_is(member, limits[i].name))
            limit = &limits[i];
    if (!limit && !json_key_is(member, "hosts"))
        return unknown_key(member, why);
    unsigned given = limit ? limit->given : LEASH_HOSTS;
    if (*seen & given)
        return fail_set(why, TL_INVALID, "leash: the key '%s' stands twice", limit ? limit->name : "hosts");
    *seen |= given;
    return limit ? read_limit(l, limit, member, why) : read_hosts(l, member, why);
}

int leash_from_json(struct leash *l, struct tl_span json, struct fail *why) {
    struct tl_json root, member = {0};
    struct leash made;
    unsigned seen = 0;
    if (json_parse(json, &root) || root.type != TL_JSON_OBJECT)
        return fail_set(why, TL_INVALID, "leash: a JSON object is wanted");
    leash_copy(&made, l);
    int rc = TL_OK;
    while (!rc && json_next(&root, &member) == TL_OK)
        rc = read_member(&made, &member, &seen, why);
    if (rc) {
        leash_free(&made);
        return rc;
    }
    leash_free(l);
    *l = made;
    return TL_OK;
}
