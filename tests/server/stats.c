/* stats.c - what was asked and answered: counters, requests by path, and the log.
 *
 * Invariant: a request is counted and logged before the first byte of its answer (and before its delay), once. Control
 * requests (/__...) never come here. At most PATHS_MAX paths are told apart, so an endless site cannot exhaust memory.
 */
#include "fixture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#define PATHS_MAX ((size_t)1 << 20)
struct path {
    char *text;
    size_t len;
    uint64_t hash, requests;
    bool page; /* was answered as a page */
};
struct stats stats;
static struct path *paths;
static size_t path_count, path_room, last;
static uint32_t *slots; /* index + 1 into paths; 0: free */
static size_t slot_count;
static int log_fd = -1;

static uint64_t hash_of(struct tl_span s) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
    return site_mix(h);
}

static void rehash(void) {
    slot_count = slot_count ? slot_count * 2 : 1024;
    free(slots);
    slots = mem_alloc(slot_count * sizeof *slots);
    for (size_t i = 0; i < path_count; i++) {
        size_t at = paths[i].hash & (slot_count - 1);
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = (uint32_t)i + 1;
    }
}

uint64_t stats_path(struct tl_span path) {
    uint64_t hash = hash_of(path);
    if (path_count * 2 >= slot_count)
        rehash();
    size_t at = hash & (slot_count - 1);
    for (; slots[at]; at = (at + 1) & (slot_count - 1)) {
        struct path *p = &paths[slots[at] - 1];
        if (p->hash == hash && p->len == path.len && memcmp(p->text, path.ptr, path.len) == 0) {
            last = slots[at] - 1;
            return ++p->requests;
        }
    }
    last = SIZE_MAX;
    if (path_count == PATHS_MAX)
        return 0;
    MEM_GROW(paths, path_count, path_room);
    paths[path_count] = (struct path){mem_text_n(path.ptr, path.len), path.len, hash, 1, false};
    last = path_count++;
    slots[at] = (uint32_t)path_count;
    return 1;
}

/* A field of a log line: never empty, no blanks, no control bytes. */
static void log_field(struct buf *line, struct tl_span s) {
    if (!s.len)
        buf_char(line, '-');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= 32 || c == 127)
            buf_printf(line, "%%%02X", (unsigned)c);
        else
            buf_char(line, (char)c);
    }
    buf_char(line, ' ');
}

static void log_request(const struct request *q, int status) {
    static struct buf line;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    buf_reset(&line);
    log_field(&line, q->method);
    log_field(&line, q->target);
    log_field(&line, q->host);
    buf_int(&line, status);
    buf_char(&line, ' ');
    buf_int(&line, (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000);
    buf_char(&line, '\n');
    if (write(log_fd, line.data, line.len) < 0) { /* a full disk spoils the log, not the service */
    }
}

/* To be called right behind stats_path for the same request. */
void stats_answer(const struct request *q, const struct reply *r) {
    uint64_t total = reply_total(r);
    stats.requests++;
    stats.bytes += total == ENDLESS ? 0 : total;
    if (r->status == 200 && r->page) {
        stats.pages++;
        if (last != SIZE_MAX && !paths[last].page) {
            paths[last].page = true;
            stats.distinct++;
        }
    } else if (r->status == 304)
        stats.not_modified++;
    else
        stats.other++;
    if (log_fd >= 0)
        log_request(q, r->status);
}

void stats_json(struct buf *out, bool brief) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    int64_t cpu = ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
    buf_printf(out,
               "{\"requests\":%" PRIu64 ",\"pages\":%" PRIu64 ",\"distinct\":%" PRIu64 ",\"not_modified\":%" PRIu64
               ",\"other\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"cpu_us\":%" PRId64 ",\"connections\":%" PRIu64
               ",\"in_flight\":%" PRIu64 ",\"peak_in_flight\":%" PRIu64,
               stats.requests, stats.pages, stats.distinct, stats.not_modified, stats.other, stats.bytes, cpu,
               stats.connections, stats.in_flight, stats.peak_in_flight);
    if (!brief) {
        buf_lit(out, ",\"by_path\":{");
        for (size_t i = 0; i < path_count; i++) {
            if (i)
                buf_char(out, ',');
            reply_json_text(out, (struct tl_span){paths[i].text, paths[i].len});
            buf_printf(out, ":%" PRIu64, paths[i].requests);
        }
        buf_char(out, '}');
    }
    buf_lit(out, "}\n");
}

void stats_reset(void) {
    for (size_t i = 0; i < path_count; i++)
        free(paths[i].text);
    path_count = 0;
    if (slot_count)
        memset(slots, 0, slot_count * sizeof *slots);
    stats = (struct stats){.connections = stats.connections, .in_flight = stats.in_flight};
    stats.peak_in_flight = stats.in_flight;
}

int stats_log_open(const char *file) {
    log_fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return log_fd < 0 ? TL_FAILED : TL_OK;
}
