/* parquet_pages.c - pages are compressed and piled up until their row group is written.
 *
 * Invariant: pages reach their piles in the order they were put, and what counts as held is decided at the same puts
 * whether one thread compresses or four, so that row groups end at the same rows: a page counts as it is until
 * PAGES_WINDOW more were put, then as it is stored. A helper touches only the job it took, until that is done. */
#include <string.h>

#include "convert/parquet_inside.h"

enum { KEEP = 4 << 20 }; /* buffers that one long row made larger are given back */

/* ---- piles */

void pile_add(struct pile *p, struct blocks *from, const void *ptr, size_t len) {
    const char *at = ptr;
    p->bytes += len;
    while (len) {
        struct block *last = p->last;
        if (!last || last->len == sizeof last->data) {
            struct block *more = from->spare;
            if (more) {
                from->spare = more->next;
                from->spare_count--;
            } else
                more = mem_array(NULL, 1, sizeof *more);
            more->next = NULL;
            more->len = 0;
            *(last ? &last->next : &p->first) = more;
            p->last = last = more;
        }
        size_t room = sizeof last->data - last->len, part = len < room ? len : room;
        memcpy(last->data + last->len, at, part);
        last->len += part;
        at += part;
        len -= part;
    }
}

void pile_join(struct pile *p, struct pile *more) {
    if (!more->first)
        return;
    *(p->last ? &p->last->next : &p->first) = more->first;
    p->last = more->last;
    p->bytes += more->bytes;
    *more = (struct pile){0};
}

void pile_clear(struct pile *p, struct blocks *to) {
    while (p->first) {
        struct block *next = p->first->next;
        p->first->next = to->spare;
        to->spare = p->first;
        to->spare_count++;
        p->first = next;
    }
    *p = (struct pile){0};
}

void blocks_trim(struct blocks *b, size_t keep) {
    while (b->spare && b->spare_count * sizeof *b->spare > keep) {
        struct block *next = b->spare->next;
        free(b->spare);
        b->spare = next;
        b->spare_count--;
    }
}

/* ---- compressing */

struct storing {
    struct pages *pages;
    struct job *job;
};

static void store(void *to, struct tl_span packed) {
    struct storing *s = to;
    pile_add(&s->job->stored, &s->pages->blocks, packed.ptr, packed.len);
    s->job->crc = codec_crc32_more(s->job->crc, packed);
}

/* A page whose value stays where it is goes to a pile at once: only on the caller's thread. */
static void carry_out(struct pages *p, struct codec *codec, struct job *job) {
    struct tl_span body = {job->raw.data + job->start, job->raw.len - job->start}, packed = body;
    if (job->cell.len) {
        job->crc = 0;
        job->failed = codec_pack_parts(codec, (struct tl_span[]){body, job->cell}, 2, store, &(struct storing){p, job},
                                       NULL) != TL_OK;
        job->size = job->stored.bytes;
        return;
    }
    if (p->packing) {
        buf_reset(&job->packed);
        job->failed = codec_pack(codec, body, &job->packed, NULL) != TL_OK;
        packed = buf_span(&job->packed);
    }
    job->size = packed.len;
    job->crc = codec_crc32(packed);
}

/* A page that is compressed goes to the end of its pile. */
static void land(struct pages *p, struct job *job) {
    struct parquet_column *c = job->column;
    struct pile *to = job->page == JOB_DICTIONARY ? &c->dictionary_pile : &c->pile;
    p->failed = p->failed || job->failed;
    buf_reset(&p->header);
    footer_page(c, job, job->uncompressed, &p->header);
    uint64_t at = to->bytes;
    pile_add(to, &p->blocks, p->header.data, p->header.len);
    if (job->cell.len)
        pile_join(to, &job->stored);
    else
        pile_add(to, &p->blocks, p->packing ? job->packed.data : job->raw.data + job->start, job->size);
    c->raw += p->header.len + job->uncompressed;
    if (job->page != JOB_DICTIONARY) {
        c->pages[job->page].at = at;
        c->pages[job->page].bytes = (uint32_t)(to->bytes - at);
    }
    buf_shrink(&job->raw, KEEP);
    buf_shrink(&job->packed, KEEP);
}

/* ---- threads */

static bool take(struct pages *p, struct codec *codec) { /* with the lock */
    if (p->taken == p->next)
        return false;
    struct job *job = &p->ring[p->taken++ % PAGES_WINDOW];
    pthread_mutex_unlock(&p->lock);
    carry_out(p, codec, job);
    pthread_mutex_lock(&p->lock);
    job->done = true;
    pthread_cond_broadcast(&p->done);
    return true;
}

struct helper {
    struct pages *pages;
    unsigned number;
};

static void *help(void *argument) {
    struct helper self = *(struct helper *)argument;
    free(argument);
    struct pages *p = self.pages;
    pthread_mutex_lock(&p->lock);
    while (!p->ending)
        if (!take(p, p->codec[self.number]))
            pthread_cond_wait(&p->work, &p->lock);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* The oldest job is compressed, by us if nobody is at it, and counts from now on as what it became. */
static void retire(struct pages *p) {
    struct job *job = &p->ring[p->first % PAGES_WINDOW];
    if (p->threads) {
        pthread_mutex_lock(&p->lock);
        while (!job->done)
            if (!take(p, p->codec[0]))
                pthread_cond_wait(&p->done, &p->lock);
        pthread_mutex_unlock(&p->lock);
        if (!job->landed)
            land(p, job);
    }
    p->held -= job->uncompressed;
    p->held += job->size;
    p->first++;
}

void pages_drain(struct pages *p) {
    while (p->first < p->next)
        retire(p);
}

static void swap(struct buf *a, struct buf *b) {
    struct buf c = *a;
    *a = *b;
    *b = c;
}

void pages_put(struct pages *p, struct parquet_column *c, size_t page, struct buf *raw, size_t start,
               struct tl_span cell) {
    if (cell.len) /* it must not be overtaken, and is read before we return */
        pages_drain(p);
    else if (p->next - p->first == PAGES_WINDOW)
        retire(p);
    struct job *job = &p->ring[p->next % PAGES_WINDOW];
    swap(&job->raw, raw);
    job->column = c;
    job->page = page;
    job->start = start;
    job->cell = cell;
    job->uncompressed = job->raw.len - start + cell.len;
    job->done = job->landed = job->failed = false;
    p->held += job->uncompressed;
    if (p->threads && !cell.len) {
        pthread_mutex_lock(&p->lock);
        p->next++;
        pthread_cond_signal(&p->work);
        pthread_mutex_unlock(&p->lock);
        return;
    }
    carry_out(p, p->codec[0], job);
    land(p, job);
    job->done = job->landed = true;
    swap(&job->raw, raw);
    swap(&job->packed, &p->ring[(p->next + 1) % PAGES_WINDOW].packed); /* memory that was touched is used again */
    if (p->threads) {
        pthread_mutex_lock(&p->lock);
        p->taken = ++p->next;
        pthread_mutex_unlock(&p->lock);
    } else
        p->taken = ++p->next;
}

int pages_open(struct pages *p, enum parquet_codec codec, int level, unsigned threads, struct fail *why) {
    static const enum codec_kind kinds[] = {
        [PARQUET_ZSTD] = CODEC_ZSTD, [PARQUET_SNAPPY] = CODEC_SNAPPY, [PARQUET_NONE] = CODEC_NONE};
    struct codec_options options = {.kind = kinds[codec], .level = codec == PARQUET_ZSTD ? level : 0};
    p->packing = codec != PARQUET_NONE;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    for (unsigned i = 0; i < threads; i++) {
        int rc = codec_new(&options, &p->codec[i], why);
        if (rc)
            return rc;
    }
    for (unsigned i = 1; i < threads; i++) {
        struct helper *self = mem_alloc(sizeof *self);
        *self = (struct helper){p, i};
        if (pthread_create(&p->helper[p->threads], NULL, help, self) != 0) {
            free(self); /* those that run do it too */
            break;
        }
        p->threads++;
    }
    return TL_OK;
}

void pages_close(struct pages *p) {
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->threads; i++)
        pthread_join(p->helper[i], NULL);
    for (unsigned i = 0; i < PAGES_WINDOW; i++) {
        buf_free(&p->ring[i].raw);
        buf_free(&p->ring[i].packed);
        pile_clear(&p->ring[i].stored, &p->blocks);
    }
    for (unsigned i = 0; i < PARQUET_THREADS_MAX; i++)
        codec_free(p->codec[i]);
    buf_free(&p->header);
    blocks_trim(&p->blocks, 0);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
}
