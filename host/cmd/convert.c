/* convert.c - trotline convert: documents become dataset items. */
#include "base/log.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "cmd/tables.h"
#include "engine/convert.h"
#include "engine/recover.h"

static int convert(struct cmd_open *o, const struct cmd_globals *g, const struct tables_choice *choice) {
    struct fail why = FAIL_INIT;
    struct store_selection which;
    struct convert_sums sums;
    int64_t start = time_mono_us();
    char size[TIME_TEXT], elapsed[TIME_TEXT];
    int code = tables_select(o, choice, &which);
    if (code)
        return code;
    if (recover_all(o->store, o->lake, &why) || tables_convert(o, g, &which, &sums, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    time_size_text(sums.bytes, size);
    time_duration_text(time_mono_us() - start, elapsed);
    code = sums.failed ? EXIT_LINE : EXIT_DONE;
    if (sums.failed)
        log_ending(code, "convert: %lld of %lld document%s could not be converted (see above); %lld became %lld item%s",
                   (long long)sums.failed, (long long)sums.of, print_s(sums.of), (long long)sums.documents,
                   (long long)sums.items, print_s(sums.items));
    else if (!sums.of)
        log_ending(code, "convert: nothing to do, all documents%s have been converted",
                   choice->id ? " of this crawl" : "");
    else
        log_ending(code, "convert: %lld document%s became %lld item%s in %lld file%s (%s in %s) below %s/" LAKE_ITEMS,
                   (long long)sums.documents, print_s(sums.documents), (long long)sums.items, print_s(sums.items),
                   (long long)sums.files, print_s(sums.files), size, elapsed, lake_path(o->lake));
    return code;
}

static int convert_main(int argc, char **argv, const struct cmd_globals *g) {
    struct tables_choice choice = {0};
    int code = tables_options("convert", argc, argv, &choice);
    if (code >= 0)
        return code;
    struct cmd_open o = {0};
    code = cmd_open(&o, g, CMD_STORE_READ | CMD_STORE_WRITE | CMD_LAKE_WRITE | CMD_PLUGINS, NULL, 0);
    if (!code)
        code = convert(&o, g, &choice);
    cmd_close(&o);
    return code;
}

const struct command cmd_convert = {
    "convert", "make dataset items of documents", convert_main, "[--since TIME] [--until TIME] [ROOT]",
    "Makes one row of each data element of each document that has not been converted yet: in Parquet, for analytical\n"
    "engines, and in Avro, for row by row readers, with the same rows, below LAKE/items. Every document is converted\n"
    "once, whenever and however often this is called; documents are only read. trotline-items(5) names the columns.\n"
    "Read them as they are: duckdb -c \"select * from read_parquet('lake/items/parquet/**/*.parquet') limit 9\"\n"
    "\n"
    "      ROOT           only the documents of this crawl, and those of earlier ones that it stands for\n"
    "      --since TIME   only what was collected then or later: 2026-11-30, 2026-11-30T06:00:00Z, or 7d ago\n"
    "      --until TIME   only what was collected before\n"
    "\n"
    "Ends with 0 when all is converted, 5 when some documents could not be (they stay due), 9 when the disk is full.\n"
    "\n"
    "Examples:\n"
    "  trotline convert\n"
    "  trotline convert 0193a5c4-7e10-7cc3-98c4-dc0c0c07398f\n"
    "  trotline convert --since 7d\n"};
