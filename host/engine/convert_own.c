/* convert_own.c - see convert_own.h: the side that asks. */
#include "engine/convert_own.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "base/utf8.h"
#include "engine/convert_own_inside.h"
#include "engine/program.h"

struct convert_own {
    pid_t pid;
    int fd;
    int64_t deadline_us;
    struct buf items; /* of the document at hand: headers and data, one after the other */
    struct buf word;
};

/* ---- the process */

static int spawn(const struct convert_own_options *o, int theirs, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t all, none;
    AUTO_FREE char *file = mem_text(o->file);
    AUTO_BUF struct buf memory = BUF_INIT, sanitizer = BUF_INIT;
    char name[] = "trotline", flag[] = "--convert", locale[] = "LC_ALL=C.UTF-8", zone[] = "TZ=UTC";
    buf_printf(&memory, CONVERT_OWN_MEMORY "=%lld", (long long)o->memory);
    const char *asan = getenv("ASAN_OPTIONS");
    buf_printf(&sanitizer, "ASAN_OPTIONS=%s", asan ? asan : "");
    char *argv[] = {name, flag, file, NULL}, *env[] = {locale, zone, memory.data, sanitizer.data, NULL};
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, theirs, 0);
    posix_spawn_file_actions_adddup2(&files, 2, 1); /* what it prints is talk */
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setsigmask(&attr, &none);
    int rc = posix_spawn(pid, program_path(), &files, &attr, argv, env);
    if (rc)
        rc = posix_spawn(pid, "/proc/self/exe", &files, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

void convert_own_stop(struct convert_own *own) {
    if (!own)
        return;
    close(own->fd);
    kill(-own->pid, SIGKILL);
    while (waitpid(own->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    buf_free(&own->items);
    buf_free(&own->word);
    free(own);
}

/* Waits until the socket is ready, no longer than the deadline. */
static int ready(const struct convert_own *own, short events, int64_t until_us, struct fail *why) {
    for (;;) {
        struct pollfd p = {.fd = own->fd, .events = events};
        int64_t left_us = until_us - time_mono_us();
        if (left_us <= 0)
            return fail_set(why, TL_FAILED, "its collector's convert took too long and was killed");
        int n = poll(&p, 1, left_us > 1000000 ? 1000 : (int)(left_us / 1000) + 1);
        if (n > 0)
            return TL_OK;
        if (n < 0 && errno != EINTR)
            return fail_errno(why, TL_FAILED, "cannot wait for the collector's convert");
    }
}

static int gone(struct convert_own *own, struct fail *why) {
    siginfo_t end = {0};
    int64_t until_us = time_mono_us() + 2000000;
    while (waitid(P_PID, (id_t)own->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && !end.si_pid &&
           time_mono_us() < until_us)
        poll(NULL, 0, 5);
    if (end.si_pid && end.si_code != CLD_EXITED) {
        const char *name = sigabbrev_np(end.si_status);
        return fail_set(why, TL_FAILED, "its collector's convert died of signal %d (SIG%s)", end.si_status,
                        name ? name : "?");
    }
    return fail_set(why, TL_FAILED, "its collector's convert ended the process instead of answering");
}

static int send_all(struct convert_own *own, const void *ptr, size_t len, int64_t until_us, struct fail *why) {
    for (const char *at = ptr; len;) {
        ssize_t n = send(own->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            int rc = ready(own, POLLOUT, until_us, why);
            if (rc)
                return rc;
        } else if (n == 0 || errno != EINTR)
            return gone(own, why);
    }
    return TL_OK;
}

static int take_all(struct convert_own *own, void *ptr, size_t len, int64_t until_us, struct fail *why) {
    for (char *at = ptr; len;) {
        ssize_t n = recv(own->fd, at, len, MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            int rc = ready(own, POLLIN, until_us, why);
            if (rc)
                return rc;
        } else if (n == 0 || errno != EINTR)
            return gone(own, why);
    }
    return TL_OK;
}

static int send_frame(struct convert_own *own, uint64_t type, struct tl_span bytes, int64_t until_us,
                      struct fail *why) {
    const uint64_t head[CONVERT_OWN_HEAD] = {type, bytes.len, 0};
    int rc = send_all(own, head, sizeof head, until_us, why);
    return rc ? rc : send_all(own, bytes.ptr, bytes.len, until_us, why);
}

int convert_own_start(const struct convert_own_options *o, struct convert_own **out, struct fail *why) {
    int ends[2];
    pid_t pid = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return fail_errno(why, TL_FAILED, "no process could be started to convert");
    AUTO_CLOSE int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    close(ends[1]);
    int error = theirs < 0 ? errno : spawn(o, theirs, &pid);
    if (error) {
        close(ends[0]);
        errno = error;
        return fail_errno(why, TL_FAILED, "no process could be started to convert");
    }
    struct convert_own *own = mem_alloc(sizeof *own);
    *own = (struct convert_own){.pid = pid, .fd = ends[0], .deadline_us = o->deadline_us};
    own->items.max = CONVERT_OWN_BYTES;
    own->word.max = 4096;
    int rc = send_frame(own, CONVERT_OWN_OPTIONS, o->options.len ? o->options : span_of("{}"),
                        time_mono_us() + o->deadline_us, why);
    if (rc) {
        convert_own_stop(own);
        return rc;
    }
    *out = own;
    return TL_OK;
}

/* ---- what it says */

struct own_texts {
    struct buf text[6];
    struct items_own item;
};

static int text_member(const struct tl_json *head, const char *key, struct buf *out, const char **text) {
    struct tl_json v;
    *text = NULL;
    if (json_get(head, key, &v) || v.type == TL_JSON_NULL)
        return TL_OK;
    buf_reset(out);
    buf_text(out, "");
    int rc = json_text(&v, out);
    *text = rc ? NULL : buf_span(out).ptr;
    return rc;
}

static int read_head(struct tl_span text, struct own_texts *t) {
    struct tl_json head, number;
    static const char *const key[] = {"id", "key", "media_type", "data_url", "dataset", "metadata"};
    const char **const field[] = {&t->item.id,       &t->item.key,     &t->item.media_type,
                                  &t->item.data_url, &t->item.dataset, &t->item.metadata};
    int rc = json_parse(text, &head);
    for (size_t i = 0; !rc && i < COUNT_OF(key); i++)
        rc = text_member(&head, key[i], &t->text[i], field[i]);
    t->item.page_number = 0;
    if (!rc && json_get(&head, "page_number", &number) == TL_OK)
        rc = json_int(&number, &t->item.page_number);
    struct tl_json metadata;
    if (!rc && t->item.metadata &&
        (json_parse(span_of(t->item.metadata), &metadata) || metadata.type != TL_JSON_OBJECT))
        rc = TL_INVALID;
    return rc;
}

/* Items as they wait in the buffer: two lengths, head, data. */
static int hand_out(struct convert_own *own, struct items *items, int (*row)(void *ctx, const struct cell *cells),
                    void *ctx, struct fail *why) {
    struct own_texts t = {0};
    struct tl_span rest = buf_span(&own->items);
    int rc = TL_OK;
    for (uint64_t n = 0; !rc && rest.len; n++) {
        uint64_t len[2];
        memcpy(len, rest.ptr, sizeof len);
        const char *head = rest.ptr + sizeof len;
        if (read_head((struct tl_span){head, len[0]}, &t)) {
            rc = fail_set(why, TL_INVALID,
                          "its collector's convert made an item that is none: its metadata must be a "
                          "JSON object, its texts UTF-8");
            break;
        }
        t.item.data = (struct tl_span){head + len[0], len[1]};
        rc = items_own(items, n, &t.item, row, ctx, why);
        size_t size = sizeof len + len[0] + len[1];
        rest.ptr += size;
        rest.len -= size;
    }
    for (size_t i = 0; i < COUNT_OF(t.text); i++)
        buf_free(&t.text[i]);
    return rc;
}

static int take_item(struct convert_own *own, const uint64_t head[CONVERT_OWN_HEAD], int64_t until_us,
                     struct fail *why) {
    const uint64_t len[2] = {head[1], head[2]};
    if (len[0] > CONVERT_OWN_HEAD_MAX || len[1] > CONVERT_OWN_BYTES ||
        !buf_reserve(&own->items, sizeof len + len[0] + len[1]))
        return fail_set(why, TL_FAILED, "its collector's convert made items of over %d MiB", CONVERT_OWN_BYTES >> 20);
    buf_add(&own->items, len, sizeof len);
    int rc = take_all(own, own->items.data + own->items.len, len[0] + len[1], until_us, why);
    own->items.len += rc ? 0 : len[0] + len[1];
    return rc;
}

int convert_own_rows(struct convert_own *own, struct items *items, const struct items_document *doc,
                     int (*row)(void *ctx, const struct cell *cells), void *ctx, struct fail *why) {
    int64_t until_us = time_mono_us() + own->deadline_us;
    uint64_t head[CONVERT_OWN_HEAD], count = 0;
    buf_shrink(&own->items, 4 << 20);
    int rc = send_frame(own, CONVERT_OWN_DOCUMENT, doc->file, until_us, why);
    while (!rc && (rc = take_all(own, head, sizeof head, until_us, why)) == TL_OK && head[0] == CONVERT_OWN_ITEM)
        rc = ++count > CONVERT_OWN_ITEMS
                 ? fail_set(why, TL_FAILED, "its collector's convert made over %d items", CONVERT_OWN_ITEMS)
                 : take_item(own, head, until_us, why);
    if (rc)
        return rc;
    if ((head[0] != CONVERT_OWN_DONE && head[0] != CONVERT_OWN_FAILED) || head[1] >= own->word.max)
        return fail_set(why, TL_FAILED, "its collector's convert answers in a way that cannot be read");
    buf_reset(&own->word);
    buf_reserve(&own->word, head[1]);
    rc = take_all(own, own->word.data, head[1], until_us, why);
    own->word.len = rc ? 0 : head[1];
    if (rc)
        return rc;
    if (head[0] == CONVERT_OWN_FAILED) {
        own->word.data[own->word.len] = '\0';
        utf8_repair(own->word.data);
        return fail_set(why, TL_FAILED, "its collector's convert failed: %s", own->word.data);
    }
    return hand_out(own, items, row, ctx, why);
}
