/* convert_bench.c - how fast JSON Lines of gen_items become a table file.
 *
 *   convert_bench parquet zstd|snappy|none LEVEL THREADS FILE < items.ndjson
 *   convert_bench avro deflate|snappy|zstandard|null LEVEL 1 FILE < items.ndjson
 *
 * Prints one line: rows, bytes of input and output, seconds of processor and wall time, peak memory. The reading of the
 * JSON is checked as in the program: grammar and UTF-8; JSON bodies stay as they were written. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/times.h"
#include "convert/avro.h"
#include "convert/parquet.h"

static const struct column columns[] = {
    {.name = "item_id", .type = COLUMN_INT},
    {.name = "run_id", .type = COLUMN_TEXT},
    {.name = "collector", .type = COLUMN_TEXT},
    {.name = "target", .type = COLUMN_TEXT},
    {.name = "urn", .type = COLUMN_TEXT},
    {.name = "root", .type = COLUMN_TEXT},
    {.name = "parent", .type = COLUMN_TEXT},
    {.name = "depth", .type = COLUMN_INT},
    {.name = "branch", .type = COLUMN_INT},
    {.name = "url", .type = COLUMN_TEXT},
    {.name = "status", .type = COLUMN_INT},
    {.name = "content_type", .type = COLUMN_TEXT},
    {.name = "fetched_at", .type = COLUMN_TIME},
    {.name = "etag", .type = COLUMN_TEXT},
    {.name = "sha256", .type = COLUMN_TEXT},
    {.name = "links", .type = COLUMN_LIST},
    {.name = "body", .type = COLUMN_TEXT, .payload = true},
};
static const struct table table = {"items", columns, COUNT_OF(columns)};

enum { INPUT = 1 << 20, LINKS_MAX = 64 };

struct item {
    struct cell cells[COUNT_OF(columns)];
    struct tl_span links[LINKS_MAX];
    struct buf text; /* what had to be unescaped; never moves while a row is read */
};

_Noreturn static void give_up(const char *what) {
    fprintf(stderr, "convert_bench: %s\n", what);
    exit(1);
}

static struct tl_span text_of(struct item *item, const struct tl_json *value) {
    struct tl_span inside = {value->raw.ptr + 1, value->raw.len - 2};
    if (value->type != TL_JSON_STRING)
        return value->raw;
    if (!memchr(inside.ptr, '\\', inside.len))
        return inside;
    size_t from = item->text.len;
    json_text(value, &item->text);
    return (struct tl_span){item->text.data + from, item->text.len - from};
}

static void read_cell(struct item *item, size_t i, const struct tl_json *value) {
    struct cell *cell = &item->cells[i];
    cell->null = value->type == TL_JSON_NULL;
    if (cell->null)
        return;
    int rc = TL_OK;
    struct tl_json link = {0};
    switch (columns[i].type) {
    case COLUMN_INT:
        rc = json_int(value, &cell->number);
        break;
    case COLUMN_TIME:
        rc = time_parse((struct tl_span){value->raw.ptr + 1, value->raw.len - 2}, &cell->number);
        break;
    case COLUMN_LIST:
        cell->list.items = item->links;
        for (cell->list.count = 0; cell->list.count < LINKS_MAX && json_next(value, &link) == TL_OK; cell->list.count++)
            item->links[cell->list.count] = text_of(item, &link);
        break;
    default:
        cell->text = text_of(item, value);
    }
    if (rc)
        give_up("a value is of another type");
}

static void read_item(struct item *item, struct tl_span line) {
    struct tl_json all = {.type = TL_JSON_OBJECT, .raw = line}, at = {0};
    buf_reset(&item->text);
    if (!buf_reserve(&item->text, line.len))
        give_up("a line is too long");
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        if (json_next(&all, &at) != TL_OK || !json_key_is(&at, columns[i].name))
            give_up("a line is no item");
        read_cell(item, i, &at);
    }
}

/* Lines without their end, from a buffer that moves what is left to its beginning. */
static bool next_line(struct buf *in, size_t *from, struct tl_span *line) {
    for (;;) {
        char *start = in->data + *from, *end = memchr(start, '\n', in->len - *from);
        if (end) {
            *line = (struct tl_span){start, (size_t)(end - start)};
            *from += line->len + 1;
            return true;
        }
        memmove(in->data, start, in->len -= *from);
        *from = 0;
        if (!buf_reserve(in, INPUT))
            give_up("a line is too long");
        ssize_t n = read(STDIN_FILENO, in->data + in->len, INPUT);
        if (n <= 0)
            return false;
        in->len += (size_t)n;
    }
}

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* ---- either format */

struct writer {
    struct parquet *parquet;
    struct avro_writer *avro;
};

static int choice(const char *text, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return (int)i;
    give_up("no such format or codec");
}

static int writer_open(struct writer *w, int fd, char **argv, struct fail *why) {
    static const char *const formats[] = {"parquet", "avro"}, *const parquets[] = {"zstd", "snappy", "none"},
                             *const avros[] = {"deflate", "snappy", "zstandard", "null"};
    int level = (int)strtol(argv[3], NULL, 10);
    if (choice(argv[1], formats, 2) == 1) {
        struct avro_options options = {.codec = (enum avro_codec)choice(argv[2], avros, 4), .level = level};
        return avro_create(fd, &table, &options, &w->avro, why);
    }
    struct parquet_options options = {.codec = (enum parquet_codec)choice(argv[2], parquets, 3),
                                      .level = level,
                                      .threads = (unsigned)strtoul(argv[4], NULL, 10)};
    return parquet_open(fd, &table, &options, why, &w->parquet);
}

static int writer_row(struct writer *w, const struct cell *cells, struct fail *why) {
    return w->parquet ? parquet_row(w->parquet, cells, why) : avro_row(w->avro, cells, why);
}

static int writer_close(struct writer *w, struct table_facts *facts, struct fail *why) {
    return w->parquet ? parquet_close(w->parquet, why, facts) : avro_close(w->avro, facts, why);
}

int main(int argc, char **argv) {
    struct fail why = FAIL_INIT;
    if (argc != 6)
        give_up("usage: convert_bench FORMAT CODEC LEVEL THREADS FILE < items.ndjson");
    int64_t began = time_mono_us();
    AUTO_CLOSE int fd = open(argv[5], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    struct writer w = {0};
    if (fd < 0 || writer_open(&w, fd, argv, &why) != TL_OK)
        give_up(fd < 0 ? "cannot make the file" : why.text);
    static struct item item;
    struct buf in = BUF_INIT;
    size_t from = 0;
    uint64_t input = 0;
    buf_reserve(&in, INPUT);
    for (struct tl_span line; next_line(&in, &from, &line); input += line.len + 1) {
        read_item(&item, line);
        if (writer_row(&w, item.cells, &why) != TL_OK)
            give_up(why.text);
    }
    struct table_facts facts;
    if (writer_close(&w, &facts, &why) != TL_OK)
        give_up(why.text);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime), wall = (double)(time_mono_us() - began) / 1e6;
    printf("rows %" PRIu64 " in %" PRIu64 " out %" PRIu64 " cpu %.2f wall %.2f rows_per_cpu_s %.0f peak_mib %ld\n",
           facts.rows, input, facts.bytes, cpu, wall, (double)facts.rows / cpu, usage.ru_maxrss / 1024);
    buf_free(&in);
    buf_free(&item.text);
    return 0;
}
