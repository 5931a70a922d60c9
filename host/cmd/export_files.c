/* export_files.c - trotline export manifest, trotline export delta: which files count now, as a list to read from, and
 * as a Delta Lake log beside the files. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/export.h"
#include "cmd/print.h"
#include "engine/delta.h"
#include "engine/lock.h"
#include "engine/recover.h"

int export_tables(struct cmd_open *o, struct config_types *types, struct table_list *list) {
    struct fail why = FAIL_INIT;
    if (config_types(&o->config, types, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    return table_list_read(o->store, types, list, &why) ? cmd_fail(&why, EXIT_INTERNAL) : 0;
}

/* Every word must mean some table. */
static int check_words(const struct table_list *list, const struct export_options *x) {
    for (int i = 0; i < x->count; i++) {
        size_t k = 0;
        while (k < list->count && !table_list_means(&list->entry[k], x->word[i]))
            k++;
        if (k == list->count)
            return cmd_usage("export", "there is no table '%s': items, rejects, a type, or a version of one such as %s",
                             x->word[i], list->count > 2 ? list->entry[1].name : "http_page_v1");
    }
    return 0;
}

static bool is_meant(const struct table_entry *e, const struct export_options *x) {
    if (!x->count)
        return e->kind == STORE_ITEMS;
    for (int i = 0; i < x->count; i++)
        if (table_list_means(e, x->word[i]))
            return true;
    return false;
}

void export_location(struct buf *out, const struct cmd_open *o, const struct export_options *x) {
    buf_text(out, x->location ? x->location : lake_path(o->lake));
    while (out->len > 1 && out->data[out->len - 1] == '/')
        out->data[--out->len] = '\0';
}

/* ---- manifest */

struct manifest {
    const struct table_entry *entry;
    const char *location;
    enum cmd_format format;
    int64_t count;
};

static int put_file(void *ctx, const struct store_table *f) {
    struct manifest *m = ctx;
    AUTO_BUF struct buf line = BUF_INIT, path = BUF_INIT;
    char hex[SHA256_HEX];
    struct json_writer w = JSON_WRITER(&line);
    buf_printf(&path, "%s/%s", m->location, f->path);
    if (m->format == CMD_TABLE) {
        buf_printf(&line, "%s\n", path.data);
    } else {
        buf_text(&line, m->format == CMD_JSONL ? "" : m->count ? ",\n " : "[");
        json_object_begin(&w);
        json_member_string(&w, "path", path.data);
        json_member_string(&w, "table", m->entry->name);
        json_member_int(&w, "rows", f->rows);
        json_member_int(&w, "bytes", f->bytes);
        json_member_string(&w, "sha256", hash_hex(f->sha256.byte, SHA256_BYTES, hex));
        json_object_end(&w);
        buf_text(&line, m->format == CMD_JSONL ? "\n" : "");
    }
    m->count++;
    fwrite(line.data, 1, line.len, stdout);
    return 0;
}

static int manifest(struct cmd_open *o, const struct table_list *list, const struct export_options *x,
                    const char *format, struct manifest *m) {
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf location = BUF_INIT;
    export_location(&location, o, x);
    m->location = location.data;
    int rc = TL_OK;
    for (size_t i = 0; !rc && i < list->count; i++) {
        m->entry = &list->entry[i];
        if (is_meant(m->entry, x))
            rc = table_list_files(o->store, m->entry, format, put_file, m, &why);
    }
    if (!rc && m->format == CMD_JSON)
        fputs(m->count ? "]\n" : "[]\n", stdout);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

int export_manifest(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x) {
    struct config_types types = {0};
    struct table_list list = {0};
    struct manifest m = {.format = CMD_TABLE};
    const char *format = x->format ? x->format : "parquet";
    if (strcmp(format, "parquet") != 0 && strcmp(format, "avro") != 0)
        return cmd_usage("export", "--format of a manifest is parquet or avro, not '%s'", format);
    if (x->output && (cmd_format(x->output, &m.format) || m.format == CMD_CSV))
        return cmd_usage("export", "-o of a manifest takes table (a path a line), json or jsonl, not '%s'", x->output);
    int code = cmd_open(o, g, CMD_STORE_READ | CMD_LAKE_READ, NULL, 0);
    if (!code)
        code = export_tables(o, &types, &list);
    if (!code)
        code = check_words(&list, x);
    if (!code)
        code = manifest(o, &list, x, format, &m);
    table_list_free(&list);
    config_types_free(&types);
    return code;
}

/* ---- Delta */

static int make_log(struct cmd_open *o, const struct table_entry *e) {
    struct fail why = FAIL_INIT;
    struct delta_state state;
    if (delta_make(o->store, o->lake, e, &state, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    printf("%s/%s\n", lake_path(o->lake), e->root);
    log_info("export: %s: version %lld of its Delta log, %lld file%s added, %lld removed", e->name,
             (long long)state.version, (long long)state.added, print_s(state.added), (long long)state.removed);
    return 0;
}

static int make_logs(struct cmd_open *o, const struct table_list *list, const struct export_options *x) {
    struct fail why = FAIL_INIT;
    int64_t made = 0;
    AUTO_CLOSE int lock = -1;
    if (lock_tables(o->config.catalog, &lock, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    for (size_t i = 0; i < list->count; i++) {
        int code = is_meant(&list->entry[i], x) ? make_log(o, &list->entry[i]) : 0;
        if (code)
            return code;
        made += is_meant(&list->entry[i], x);
    }
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    log_ending(EXIT_DONE, "export: %lld Delta log%s; convert, refine and compact keep %s up", (long long)made,
               print_s(made), made == 1 ? "it" : "them");
    return EXIT_DONE;
}

int export_delta(struct cmd_open *o, const struct cmd_globals *g, const struct export_options *x) {
    struct config_types types = {0};
    struct table_list list = {0};
    struct fail why = FAIL_INIT;
    int code = cmd_open(o, g, CMD_STORE_READ | CMD_STORE_WRITE | CMD_LAKE_WRITE, NULL, 0);
    if (!code && recover_all(o->store, o->lake, &why))
        code = cmd_fail(&why, EXIT_INTERNAL);
    if (!code)
        code = export_tables(o, &types, &list);
    if (!code)
        code = check_words(&list, x);
    if (!code)
        code = make_logs(o, &list, x);
    table_list_free(&list);
    config_types_free(&types);
    return code;
}
