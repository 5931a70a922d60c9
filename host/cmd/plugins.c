/* plugins.c - see plugins.h. */
#include "cmd/plugins.h"

#include <string.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/args_value.h"
#include "engine/config_apis.h"

/* ---- small tables of text */

enum { COLUMNS = 5 };
struct row {
    char *cell[COLUMNS];
};
struct grid {
    struct row *row;
    size_t count, room;
    int columns;
};

static void add_row(struct grid *g, const char *const cell[]) {
    MEM_GROW(g->row, g->count, g->room);
    struct row *r = &g->row[g->count++];
    *r = (struct row){0};
    for (int i = 0; i < g->columns; i++)
        r->cell[i] = mem_text(cell[i] ? cell[i] : "");
}

/* Columns on the screen, near enough: one a code point. */
static size_t width(const char *text) {
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* File names may hold what moves a terminal's cursor. */
static void print_plain(const char *text, FILE *out) {
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' || *text == 0x7F ? '?' : *text, out);
}

static void print_grid(struct grid *g, FILE *out) {
    size_t widest[COLUMNS] = {0};
    for (size_t i = 0; i < g->count; i++)
        for (int k = 0; k < g->columns; k++)
            widest[k] = width(g->row[i].cell[k]) > widest[k] ? width(g->row[i].cell[k]) : widest[k];
    for (size_t i = 0; i < g->count; i++) {
        size_t owed = 0; /* spaces are written only before something */
        for (int k = 0; k < g->columns; k++) {
            const char *text = g->row[i].cell[k];
            if (*text) {
                fprintf(out, "%*s", (int)owed, "");
                print_plain(text, out);
                owed = 0;
            }
            owed += widest[k] - width(text) + (widest[k] ? 2 : 0);
            free(g->row[i].cell[k]);
        }
        fputc('\n', out);
    }
    free(g->row);
}

/* ---- the list */

static void list_abilities(const struct plugin *p, char out[40]) {
    snprintf(out, 40, "%s%s%s", p->can_collect ? "collect " : "", p->can_react ? "react " : "",
             p->can_convert ? "convert " : "");
    if (*out)
        out[strlen(out) - 1] = '\0';
}

static void print_table(const struct plugin_set *set, FILE *out) {
    struct grid g = {.columns = 5};
    char does[40];
    add_row(&g, (const char *[]){"NAME", "VERSION", "DOES", "FILE", "SUMMARY"});
    for (size_t i = 0; i < set->count; i++) {
        const struct plugin *p = &set->plugin[i];
        if (p->shadowed_by)
            continue;
        list_abilities(p, does);
        add_row(&g, (const char *[]){p->name, p->version, does, p->file ? p->file : "(built in)", p->summary});
    }
    print_grid(&g, out);
    for (size_t i = 0; i < set->count; i++)
        if (set->plugin[i].shadowed_by) {
            fputs("shadowed: ", out);
            print_plain(set->plugin[i].file, out);
            fprintf(out, ": %s %s is taken from an earlier folder\n", set->plugin[i].name, set->plugin[i].version);
        }
    for (size_t i = 0; i < set->refused_count; i++) {
        fputs("refused: ", out);
        print_plain(set->refused[i].file, out);
        fputs(": ", out);
        print_plain(set->refused[i].reason, out);
        fputc('\n', out);
    }
}

static void json_refusal(struct buf *out, const struct plugin_refusal *r) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "file", r->file);
    json_member_string(&w, "refused", r->reason);
    json_object_end(&w);
}

/* One object a plugin or refused file; a refused one has the member "refused" and no name. */
static void print_json(const struct plugin_set *set, bool lines, FILE *out) {
    AUTO_BUF struct buf text = BUF_INIT;
    size_t all = set->count + set->refused_count;
    for (size_t i = 0; i < all; i++) {
        buf_text(&text, lines ? "" : i ? ",\n " : "[");
        if (i < set->count)
            plugin_json(&text, &set->plugin[i]);
        else
            json_refusal(&text, &set->refused[i - set->count]);
        buf_text(&text, lines ? "\n" : "");
    }
    buf_text(&text, lines ? "" : "]\n");
    fwrite(text.data, 1, text.len, out);
}

static void csv_cell(const char *text, bool last, FILE *out) {
    if (text && strpbrk(text, ",\"\r\n")) {
        fputc('"', out);
        for (; *text; text++)
            fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, out);
        fputc('"', out);
    } else
        fputs(text ? text : "", out);
    fputs(last ? "\r\n" : ",", out);
}

static void csv_row(const char *const cell[], size_t n, FILE *out) {
    for (size_t i = 0; i < n; i++)
        csv_cell(cell[i], i + 1 == n, out);
}

static void print_csv(const struct plugin_set *set, FILE *out) {
    csv_row((const char *[]){"name", "version", "status", "does", "file", "sha256", "summary", "reason"}, 8, out);
    for (size_t i = 0; i < set->count; i++) {
        const struct plugin *p = &set->plugin[i];
        char does[40];
        list_abilities(p, does);
        csv_row((const char *[]){p->name, p->version,
                                 p->shadowed_by ? "shadowed"
                                 : p->file      ? "ok"
                                                : "built in",
                                 does, p->file, p->sha256, p->summary, p->shadowed_by},
                8, out);
    }
    for (size_t i = 0; i < set->refused_count; i++)
        csv_row((const char *[]){"", "", "refused", "", set->refused[i].file, "", "", set->refused[i].reason}, 8, out);
}

/* ---- one of them */

static void option_rows(struct grid *g, const char *title, const struct plugin_option *o, size_t n) {
    if (!n)
        return;
    add_row(g, (const char *[]){"", NULL, NULL, NULL});
    add_row(g, (const char *[]){title, "TYPE", "DEFAULT", "HELP"});
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF struct buf type = BUF_INIT, help = BUF_INIT;
        buf_printf(&type, "%s%s", args_type_name(o[i].type), o[i].flags & TL_LIST ? " list" : "");
        buf_text(&help, o[i].help);
        if (o[i].choices) {
            buf_text(&help, help.len ? " (one of " : "(one of ");
            for (const char *at = o[i].choices; *at; at++)
                buf_text(&help, *at == '|' ? ", " : (char[]){*at, '\0'});
            buf_char(&help, ')');
        }
        add_row(g,
                (const char *[]){o[i].name, type.data, o[i].flags & TL_REQUIRED ? "(required)" : o[i].dflt, help.data});
    }
}

static void names_row(struct grid *g, const char *title, char *const *name) {
    AUTO_BUF struct buf list = BUF_INIT;
    for (size_t i = 0; name && name[i]; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", name[i]);
    if (list.len)
        add_row(g, (const char *[]){title, list.data});
}

/* Descriptions that it goes by: what each asks, and the arguments that it has beside those of the collector. */
static void api_rows(struct grid *g, const struct config_apis *apis) {
    if (!apis)
        return;
    add_row(g, (const char *[]){"", NULL, NULL, NULL});
    add_row(g, (const char *[]){"API", "ARGUMENT", "DEFAULT", "HELP"});
    for (size_t i = 0; i < apis->broken_count; i++)
        add_row(g, (const char *[]){apis->broken[i].name ? apis->broken[i].name : "(a folder)", NULL, "wrong",
                                    apis->broken[i].text});
    for (size_t i = 0; i < apis->count; i++) {
        const struct config_api *api = &apis->api[i];
        add_row(g, (const char *[]){api->name, NULL, NULL, api->about});
        add_row(g, (const char *[]){NULL, "base", api->base ? api->base : "required", NULL});
        for (size_t k = 0; k < api->argument_count; k++)
            add_row(g, (const char *[]){NULL, api->argument[k].name,
                                        api->argument[k].required ? "required" : api->argument[k].dflt,
                                        api->argument[k].about});
    }
}

static void show_table(const struct plugin *p, FILE *out) {
    static const char *const kinds[] = {[TL_SIMPLE] = "simple", [TL_PAGED] = "paged", [TL_KEY_VALUE] = "key_value"};
    struct grid head = {.columns = 2}, body = {.columns = 4};
    char abi[32], does[40];
    snprintf(abi, sizeof abi, "%u.%u", p->abi_major, p->abi_minor);
    list_abilities(p, does);
    add_row(&head, (const char *[]){"name", p->name});
    add_row(&head, (const char *[]){"version", p->version});
    add_row(&head, (const char *[]){"summary", p->summary});
    add_row(&head, (const char *[]){"does", does});
    add_row(&head, (const char *[]){"file", p->file ? p->file : "(built in)"});
    if (p->file)
        add_row(&head, (const char *[]){"sha256", p->sha256});
    add_row(&head, (const char *[]){"interface", abi});
    names_row(&head, "programs", p->program);
    names_row(&head, "hosts", p->host);
    print_grid(&head, out);
    option_rows(&body, "ARGUMENT", p->argument, p->argument_count);
    option_rows(&body, "OPTION", p->option, p->option_count);
    if (p->dataset_count) {
        add_row(&body, (const char *[]){"", NULL, NULL, NULL});
        add_row(&body, (const char *[]){"DATASET", "KIND", "TAGS", "HELP"});
    }
    for (size_t i = 0; i < p->dataset_count; i++)
        add_row(&body, (const char *[]){p->dataset[i].name, kinds[p->dataset[i].kind], p->dataset[i].tags,
                                        p->dataset[i].help});
    api_rows(&body, p->apis);
    print_grid(&body, out);
}

/* csv: its options, arguments and datasets, one a row. */
static void show_csv(const struct plugin *p, FILE *out) {
    static const char *const kinds[] = {[TL_SIMPLE] = "simple", [TL_PAGED] = "paged", [TL_KEY_VALUE] = "key_value"};
    csv_row((const char *[]){"what", "name", "type", "list", "required", "default", "choices", "help"}, 8, out);
    for (int side = 0; side < 2; side++) {
        const struct plugin_option *o = side ? p->option : p->argument;
        for (size_t i = 0; i < (side ? p->option_count : p->argument_count); i++)
            csv_row((const char *[]){side ? "option" : "argument", o[i].name, args_type_name(o[i].type),
                                     o[i].flags & TL_LIST ? "true" : "false",
                                     o[i].flags & TL_REQUIRED ? "true" : "false", o[i].dflt, o[i].choices, o[i].help},
                    8, out);
    }
    for (size_t i = 0; i < p->dataset_count; i++)
        csv_row((const char *[]){"dataset", p->dataset[i].name, kinds[p->dataset[i].kind], "", "", "", "",
                                 p->dataset[i].help},
                8, out);
}

static int show(const struct plugin_set *set, const char *format, const char *name, FILE *out) {
    const struct plugin *p = plugin_find(set, name);
    if (!p) {
        struct fail why = FAIL_INIT;
        plugin_missing(set, name, NULL, 0, &why);
        log_error("%s", why.text);
        return why.exit_code;
    }
    if (strcmp(format, "table") == 0)
        show_table(p, out);
    else if (strcmp(format, "csv") == 0)
        show_csv(p, out);
    else {
        AUTO_BUF struct buf text = BUF_INIT;
        plugin_json(&text, p);
        fprintf(out, "%s\n", text.data);
    }
    return EXIT_DONE;
}

int plugins_print(const struct plugin_set *set, const char *format, const char *name, FILE *out) {
    bool json = strcmp(format, "json") == 0, lines = strcmp(format, "jsonl") == 0, csv = strcmp(format, "csv") == 0;
    if (!json && !lines && !csv && strcmp(format, "table") != 0) {
        log_error("plugins: there is no format %s: table, json, jsonl or csv", format);
        return EXIT_USAGE;
    }
    if (name)
        return show(set, format, name, out);
    if (json || lines)
        print_json(set, lines, out);
    else if (csv)
        print_csv(set, out);
    else
        print_table(set, out);
    return EXIT_DONE;
}
