/* refine.c - trotline refine: dataset items become typed tables. */
#include <stdlib.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "cmd/print.h"
#include "cmd/tables.h"
#include "engine/recover.h"

/* ---- what came of it */

static void write_sums(struct buf *out, const struct config_types *types, const struct refine_sums *sums) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_int(&w, "items", sums->items);
    json_member_int(&w, "typed", sums->typed);
    json_member_int(&w, "rejected", sums->rejected);
    json_member_int(&w, "skipped", sums->skipped);
    json_put_key(&w, "types");
    json_object_begin(&w);
    for (size_t i = 0; i < types->count; i++) {
        json_put_key(&w, types->type[i].name);
        json_object_begin(&w);
        json_member_int(&w, "rows", sums->type[i].rows);
        json_member_int(&w, "rejected", sums->type[i].rejected);
        json_object_end(&w);
    }
    json_object_end(&w);
    json_member_int(&w, "documents", sums->documents);
    json_member_int(&w, "files_written", sums->files);
    json_member_int(&w, "rows_written", sums->written);
    json_object_end(&w);
    buf_char(out, '\n');
}

static void print_sums(const struct config_types *types, const struct refine_sums *sums,
                       const struct tables_choice *c) {
    AUTO_BUF struct buf out = BUF_INIT;
    if (c->format == CMD_JSON || c->format == CMD_JSONL)
        write_sums(&out, types, sums);
    else {
        if (c->format == CMD_CSV)
            buf_text(&out, "type,version,rows,rejected\r\n");
        else if (sums->items) /* a heading over nothing would be noise */
            buf_text(&out, "type                 version      rows  rejected\n");
        for (size_t i = 0; i < types->count; i++)
            if (c->format == CMD_CSV)
                buf_printf(&out, "%s,%s,%lld,%lld\r\n", types->type[i].name, types->type[i].version,
                           (long long)sums->type[i].rows, (long long)sums->type[i].rejected);
            else if (sums->type[i].rows || sums->type[i].rejected)
                buf_printf(&out, "%-20s %-7s %9lld %9lld\n", types->type[i].name, types->type[i].version,
                           (long long)sums->type[i].rows, (long long)sums->type[i].rejected);
    }
    if (out.len)
        fwrite(out.data, 1, out.len, stdout);
}

static int refine(struct cmd_open *o, const struct cmd_globals *g, const struct tables_choice *choice,
                  const struct config_types *types, struct refine_sums *sums) {
    struct fail why = FAIL_INIT;
    struct store_selection which;
    struct convert_sums converted;
    int code = tables_select(o, choice, &which);
    if (code)
        return code;
    if (recover_all(o->store, o->lake, &why) || tables_convert(o, g, &which, &converted, &why) ||
        tables_refine(o, g, types, &which, sums, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    if (!g->quiet || choice->format_given)
        print_sums(types, sums, choice);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    code = converted.failed ? EXIT_LINE : EXIT_DONE;
    log_ending(code,
               "refine: %lld item%s: %lld typed, %lld rejected, %lld skipped; %lld row%s written in %lld file%s%s",
               (long long)sums->items, print_s(sums->items), (long long)sums->typed, (long long)sums->rejected,
               (long long)sums->skipped, (long long)sums->written, print_s(sums->written), (long long)sums->files,
               print_s(sums->files), converted.failed ? "; some documents could not be converted (see above)" : "");
    return code;
}

static int refine_main(int argc, char **argv, const struct cmd_globals *g) {
    struct tables_choice choice = {0};
    struct config_types types = {0};
    struct refine_sums sums = {0};
    struct fail why = FAIL_INIT;
    int code = tables_options("refine", argc, argv, &choice);
    if (code >= 0)
        return code;
    struct cmd_open o = {0};
    code = cmd_open(&o, g, CMD_STORE_READ | CMD_STORE_WRITE | CMD_LAKE_WRITE | CMD_PLUGINS, NULL, 0);
    if (!code && config_types(&o.config, &types, &why))
        code = cmd_fail(&why, EXIT_CONFIG);
    sums.type = mem_alloc((types.count + 1) * sizeof *sums.type);
    if (!code)
        code = refine(&o, g, &choice, &types, &sums);
    free(sums.type);
    config_types_free(&types);
    cmd_close(&o);
    return code;
}

const struct command cmd_refine = {
    "refine", "make typed tables of dataset items", refine_main, "[--since TIME] [--until TIME] [-o FORMAT] [ROOT]",
    "Makes rows of typed tables (http_page, http_link and others; trotline-types(5)) of dataset items, below\n"
    "LAKE/l2ts, and of what a type refused rows below LAKE/rejects. Documents that have not been converted yet are\n"
    "converted first. Each item is looked at once for each version of a type, however often this is called.\n"
    "\n"
    "      ROOT           the documents of this crawl, and those of earlier ones that it stands for: what they give "
    "is\n"
    "                     counted again each time; without it, only what has not been looked at yet\n"
    "      --since TIME   only what was collected then or later: 2026-11-30, 2026-11-30T06:00:00Z, or 7d ago\n"
    "      --until TIME   only what was collected before\n"
    "  -o, --output FORMAT   table, json, jsonl or csv\n"
    "\n"
    "Every item counts once: typed, when some type made a row of it, else rejected, else skipped.\n"
    "Read them as they are: duckdb -c \"select title, url from 'lake/l2ts/type=http_page/**/*.parquet'\"\n"
    "\n"
    "Examples:\n"
    "  trotline refine\n"
    "  trotline refine 0193a5c4-7e10-7cc3-98c4-dc0c0c07398f -o json\n"};
