/* fuzz_avro.c - any bytes as an Avro file: what is read lies within the row's bounds, and written again it reads the
 * same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "convert/avro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what) {
    if (!what)
        abort();
}

static int new_file(void) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    must(fd >= 0);
    return fd;
}

/* Appends what a cell is, and touches every byte of it. */
static void show(struct buf *out, enum column_type type, const struct cell *c) {
    buf_char(out, c->null ? 'n' : 'v');
    if (c->null)
        return;
    const struct tl_span *text = type == COLUMN_LIST ? c->list.items : &c->text;
    size_t count = type == COLUMN_LIST ? c->list.count : type == COLUMN_TEXT ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        must(utf8_valid(text[i].ptr, text[i].len));
        buf_int(out, (int64_t)text[i].len);
        buf_add(out, text[i].ptr, text[i].len);
    }
    if (!count && type != COLUMN_LIST)
        buf_add(out, &c->number, sizeof c->number);
}

/* All rows of the file into *shown, and into the writer if there is one. */
static int read_rows(int fd, struct avro_writer *w, uint64_t *rows, struct buf *shown) {
    struct fail why = FAIL_INIT;
    struct avro_reader *r;
    struct cell cells[ROW_COLUMNS_MAX];
    *rows = 0;
    int rc = avro_open(fd, "fuzz.avro", NULL, &r, &why);
    if (rc != TL_OK) {
        must(why.text[0] && why.exit_code == EXIT_DAMAGED);
        return rc;
    }
    const struct table *table = avro_table(r);
    must(table->count > 0 && table->count <= ROW_COLUMNS_MAX);
    while ((rc = avro_next(r, cells, &why)) == 1) {
        ++*rows;
        for (size_t i = 0; i < table->count; i++)
            show(shown, table->columns[i].type, &cells[i]);
        must(!w || avro_row(w, cells, &why) == TL_OK);
    }
    must(rc == 0 || (rc == TL_INVALID && strstr(why.text, "fuzz.avro")));
    must(avro_next(r, cells, NULL) == rc);
    avro_end(r);
    return rc;
}

/* The rows up to the damage, if there is one, go into a file of our own and come back. */
static void write_again(int fd, const struct table *table, uint64_t count, const struct buf *shown) {
    AUTO_BUF struct buf again = BUF_INIT;
    struct avro_writer *w;
    struct table_facts facts;
    uint64_t rows;
    int copy = new_file();
    const struct avro_options options = {.codec = (enum avro_codec)(count % 4), .block_bytes = 64};
    must(avro_create(copy, table, &options, &w, NULL) == TL_OK);
    buf_reset(&again);
    read_rows(fd, w, &rows, &again);
    must(avro_close(w, &facts, NULL) == TL_OK && facts.rows == count);
    buf_reset(&again);
    if (count) {
        must(read_rows(copy, NULL, &rows, &again) == 0);
        must(rows == count && again.len == shown->len && memcmp(again.data, shown->data, shown->len) == 0);
    }
    close(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO_BUF struct buf shown = BUF_INIT;
    struct avro_reader *r;
    struct table_facts facts;
    uint64_t rows;
    int fd = new_file();
    must(write(fd, data, size) == (ssize_t)size);
    int rc = read_rows(fd, NULL, &rows, &shown);
    must((avro_check(fd, "fuzz.avro", &facts, NULL) == TL_OK) == (rc == 0));
    if (!shown.full && avro_open(fd, "fuzz.avro", NULL, &r, NULL) == TL_OK) {
        write_again(fd, avro_table(r), rows, &shown);
        avro_end(r);
    }
    close(fd);
    return 0;
}
