/* parquet_inside.h - what the parquet_*.c files share; for them and their tests only.
 *
 *   parquet.c         rows, row groups, the file
 *   parquet_column.c  cells to pages: levels, PLAIN, dictionary indices
 *   parquet_dictionary.c  the values of a chunk, each once
 *   parquet_levels.c  the hybrid of runs and bits by which levels and indices are stored
 *   parquet_pages.c   pages compressed, on the caller's thread or others, and piled up until their row group is written
 *   parquet_footer.c  what is said of the chunks: schema, statistics, page index
 *   parquet_bounds.c  least and greatest
 */
#ifndef TROTLINE_CONVERT_PARQUET_INSIDE_H
#define TROTLINE_CONVERT_PARQUET_INSIDE_H
#include <pthread.h>

#include "base/buf.h"
#include "base/mem.h"
#include "convert/codec.h"
#include "convert/parquet.h"
#include "convert/parquet_bounds.h"

/* parquet.thrift of the format's specification. */
enum { TYPE_BOOLEAN = 0, TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

/* Bytes that wait, in blocks that go round between the piles. Invariant: blocks in use plus spare ones are what was
 * allocated; only the last block of a pile has room. */
struct block {
    struct block *next;
    size_t len;
    char data[(64 << 10) - 2 * sizeof(void *)];
};
struct blocks {
    struct block *spare;
    size_t spare_count;
};
struct pile {
    struct block *first, *last;
    uint64_t bytes;
};
void pile_add(struct pile *p, struct blocks *from, const void *ptr, size_t len);
void pile_join(struct pile *p, struct pile *more); /* more is empty afterwards */
void pile_clear(struct pile *p, struct blocks *to);
void blocks_trim(struct blocks *b, size_t keep); /* gives spare blocks beyond so many bytes back */

/* parquet_dictionary.c. Bytes are those of the dictionary page: the values PLAIN, in the order they were first seen. */
struct dictionary {
    struct buf bytes;
    uint32_t *offset; /* of each value in bytes */
    uint32_t *slot;   /* open addressing: number of the value + 1 */
    size_t count, room, slots;
};
#define DICTIONARY_FULL UINT32_MAX
/* The value's number, DICTIONARY_FULL when it is new and would go beyond `most` bytes (or the table is too crowded
 * around it). `text`: values carry their length. */
uint32_t dictionary_find(struct dictionary *d, const void *ptr, size_t len, bool text, size_t most);
struct tl_span dictionary_value(const struct dictionary *d, uint32_t number); /* PLAIN, with its length if text */
void dictionary_clear(struct dictionary *d);                                  /* keeps the memory */
void dictionary_free(struct dictionary *d);
static inline size_t dictionary_memory(const struct dictionary *d) {
    return d->bytes.len + (d->count ? d->slots * sizeof *d->slot + d->count * sizeof *d->offset : 0);
}

/* parquet_levels.c. `wide`: values are uint32_t, else bytes. Width 1 to 32. */
void levels_write(struct buf *out, const void *values, size_t count, bool wide, unsigned width);

struct page {
    uint64_t at; /* offset in the chunk */
    uint64_t first_row;
    uint64_t nulls;
    uint32_t values; /* with nulls, and what stands for empty lists */
    uint32_t bytes;  /* compressed, with header */
    bool coded;      /* indices into the dictionary */
    struct bounds bounds;
};

struct parquet_column {
    const struct column *about;
    int type; /* TYPE_* */
    bool list, bounded, coding;
    bool wasteful; /* the dictionary of the chunk before did not pay: ask earlier */
    /* the open page */
    struct buf values; /* from PAGE_HEAD on, so that levels fit in front */
    struct buf indices, define, repeat;
    size_t rows, plain;   /* of them; bytes they take or would take PLAIN */
    unsigned bit;         /* the next bit of the last byte, of bools */
    struct tl_span large; /* the page's only value, not copied */
    struct page page;
    /* the open chunk */
    struct dictionary dictionary;
    struct page *pages;
    size_t page_count, page_room;
    uint64_t first_row;      /* of the next page */
    uint64_t count, nulls;   /* values, as page.values */
    uint64_t dictionary_raw; /* with header */
    uint64_t raw;            /* uncompressed bytes of the pages, headers included */
    size_t pages_coded;
    struct bounds bounds;
    struct pile pile, dictionary_pile;
};
enum { PAGE_HEAD = 4096 };

/* parquet_pages.c */
struct job {
    struct parquet_column *column;
    size_t page;    /* its number, or JOB_DICTIONARY */
    struct buf raw; /* the page's body from `start` on */
    size_t start;
    struct tl_span cell; /* and behind it, this: a cell too large to be copied */
    struct buf packed;   /* what is stored; unused when nothing is compressed */
    struct pile stored;  /* the same of a page with a cell */
    size_t size;         /* of what is stored */
    uint32_t crc;
    size_t uncompressed;
    bool done, landed, failed;
};
#define JOB_DICTIONARY SIZE_MAX
#define PAGES_WINDOW   PARQUET_THREADS_MAX

struct pages {
    bool packing;     /* there is a codec other than none */
    unsigned threads; /* helpers that run */
    struct blocks blocks;
    struct job ring[PAGES_WINDOW];
    uint64_t first, next;                     /* jobs under way: ring[first % PAGES_WINDOW] to before next */
    uint64_t taken;                           /* the next to be compressed */
    struct codec *codec[PARQUET_THREADS_MAX]; /* one a thread, the caller's first */
    struct buf header;
    uint64_t held; /* bytes of piles, of jobs under way as they are uncompressed: the same with any number of threads */
    bool failed, ending;
    pthread_t helper[PARQUET_THREADS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t work, done;
};
int pages_open(struct pages *p, enum parquet_codec codec, int level, unsigned threads, struct fail *why);
/* Takes the body in `raw` from `start` on (another buffer is in its place afterwards) and the cell, which is read
 * before it returns. */
void pages_put(struct pages *p, struct parquet_column *c, size_t page, struct buf *raw, size_t start,
               struct tl_span cell);
void pages_drain(struct pages *p); /* all are in their piles */
void pages_close(struct pages *p);

struct chunk {                                 /* of a row group that is written */
    uint32_t meta, column_index, offset_index; /* bytes of each in the footer's buffers */
};
struct group {
    uint64_t rows, raw, stored, at;
};

struct parquet {
    int fd;
    const struct table *table;
    struct parquet_options limits;
    struct parquet_pair *pairs;
    struct parquet_column *columns;
    struct pages pages;
    uint64_t rows, bytes;           /* of the file */
    uint64_t group_rows, group_raw; /* of the open group */
    size_t open;                    /* bytes in open pages and dictionaries */
    bool broken;
    struct group *groups;
    size_t group_count, group_room;
    struct chunk *chunks; /* group_count * table->count */
    size_t chunk_count, chunk_room;
    struct buf metas, column_indexes, offset_indexes;
    struct buf levels; /* of the page that ends */
};

/* parquet_column.c. Returns nothing that can fail: what goes wrong with a page shows in pages.failed. */
void column_open(struct parquet_column *c, const struct column *about);
size_t column_cost(const struct parquet_column *c, const struct cell *cell); /* bytes of a cell as PLAIN */
void column_put(struct parquet *w, struct parquet_column *c, const struct cell *cell);
void column_end_page(struct parquet *w, struct parquet_column *c);
void column_end_chunk(struct parquet *w, struct parquet_column *c); /* the last page and the dictionary */
void column_next_chunk(struct parquet *w, struct parquet_column *c);
void column_free(struct parquet_column *c, struct blocks *blocks);

/* parquet_footer.c */
void footer_page(const struct parquet_column *c, const struct job *job, size_t raw, struct buf *out);
void footer_chunk(struct parquet *w, struct parquet_column *c, uint64_t at);
void footer_file(struct parquet *w, uint64_t column_index_at, uint64_t offset_index_at, struct buf *out);
#endif
