/* stars.c - see stars.h. */
#include "stars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE = 260, KEY = 80 };

void stars_time(int64_t seconds, char *out, size_t room) {
    time_t t = (time_t)seconds;
    struct tm utc;
    out[0] = '\0';
    if (gmtime_r(&t, &utc))
        strftime(out, room, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static unsigned chunk_of(const char *name) {
    unsigned h = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h % STARS_CHUNKS;
}

static void key_of(const struct stars *s, int slot, int chunk, char key[KEY]) {
    snprintf(key, KEY, "stars:%s:%d:%d", s->shard, slot, chunk);
}

/* "2026-W24 2026-W23": the weeks of slot 0 and 1. Labels of weeks sort as they follow each other. */
static int choose_slots(struct stars *s, const char *week, int *before) {
    int older = strcmp(s->slot[0], s->slot[1]) <= 0 ? 0 : 1;
    *before = -1;
    s->own = -1;
    for (int i = 0; i < 2; i++)
        if (strcmp(s->slot[i], week) == 0)
            s->own = i;
    if (s->own < 0 && strcmp(week, s->slot[older]) > 0)
        s->own = older;
    for (int i = 0; i < 2; i++)
        if (i != s->own && s->slot[i][0] && strcmp(s->slot[i], week) < 0)
            *before = i;
    if (s->own >= 0)
        snprintf(s->slot[s->own], sizeof s->slot[0], "%s", week);
    return *before;
}

int stars_load(struct tl_run *run, const char *shard, const char *week, struct stars *out) {
    char key[KEY];
    struct tl_span weeks;
    int before;
    memset(out, 0, sizeof *out);
    out->run = run;
    out->shard = shard;
    snprintf(key, sizeof key, "weeks:%s", shard);
    int rc = tl_state_get(run, key, &weeks);
    if (rc && rc != TL_NOTFOUND)
        return rc;
    if (!rc && weeks.len == 17) {
        memcpy(out->slot[0], weeks.ptr, 8);
        memcpy(out->slot[1], weeks.ptr + 9, 8);
        for (int i = 0; i < 2; i++)
            if (out->slot[i][0] == '-')
                out->slot[i][0] = '\0';
    }
    if (choose_slots(out, week, &before) < 0)
        return TL_OK;
    for (int i = 0; i < STARS_CHUNKS; i++) {
        key_of(out, before, i, key);
        rc = tl_state_get(run, key, &out->before[i]);
        if (rc && rc != TL_NOTFOUND)
            return rc;
        if (rc)
            out->before[i].len = 0;
    }
    return TL_OK;
}

int64_t stars_of(const struct stars *s, const char *full_name) {
    const struct tl_span *chunk = &s->before[chunk_of(full_name)];
    size_t n = strlen(full_name);
    for (const char *at = chunk->ptr, *end = at ? at + chunk->len : NULL; at && at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line)
            break;
        if ((size_t)(line - at) > n + 1 && at[n] == ' ' && memcmp(at, full_name, n) == 0)
            return strtoll(at + n + 1, NULL, 10);
        at = line + 1;
    }
    return -1;
}

void stars_add(struct stars *s, const char *full_name, int64_t stars) {
    char line[LINE];
    unsigned chunk = chunk_of(full_name);
    int n = snprintf(line, sizeof line, "%s %lld\n", full_name, (long long)stars);
    if (s->own < 0 || n < 0 || n >= LINE || strpbrk(full_name, " \n") || s->now[chunk].len + (size_t)n > STARS_CHUNK)
        return;
    if (!s->now[chunk].text)
        s->now[chunk].text = tl_alloc(s->run, STARS_CHUNK);
    if (!s->now[chunk].text)
        return;
    memcpy(s->now[chunk].text + s->now[chunk].len, line, (size_t)n);
    s->now[chunk].len += (size_t)n;
}

int stars_save(struct stars *s) {
    char key[KEY], weeks[32];
    int rc = TL_OK;
    if (s->own < 0)
        return TL_OK;
    for (int i = 0; !rc && i < STARS_CHUNKS; i++) {
        key_of(s, s->own, i, key);
        rc = tl_state_put(s->run, key, (struct tl_span){s->now[i].text ? s->now[i].text : "", s->now[i].len});
    }
    snprintf(weeks, sizeof weeks, "%s %s", s->slot[0][0] ? s->slot[0] : "--------",
             s->slot[1][0] ? s->slot[1] : "--------");
    snprintf(key, sizeof key, "weeks:%s", s->shard);
    return rc ? rc : tl_state_put(s->run, key, (struct tl_span){weeks, strlen(weeks)});
}
