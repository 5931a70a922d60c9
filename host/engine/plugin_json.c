/* plugin_json.c - see plugin_json.h. */
#include "engine/plugin_json.h"

#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "engine/args_value.h"
#include "engine/loader_check.h"

static const char *const kinds[] = {[TL_SIMPLE] = "SIMPLE", [TL_PAGED] = "PAGED", [TL_KEY_VALUE] = "KEY_VALUE"};
enum { NAMES_MAX = 64 };

static void free_names(char **name) {
    for (size_t i = 0; name && name[i]; i++)
        free(name[i]);
    free(name);
}

static void free_options(struct plugin_option *o, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(o[i].name);
        free(o[i].dflt);
        free(o[i].choices);
        free(o[i].help);
    }
    free(o);
}

void plugin_free(struct plugin *p) {
    free(p->file);
    free(p->name);
    free(p->version);
    free(p->summary);
    free(p->shadowed_by);
    free_options(p->option, p->option_count);
    free_options(p->argument, p->argument_count);
    for (size_t i = 0; i < p->dataset_count; i++) {
        free(p->dataset[i].name);
        free(p->dataset[i].tags);
        free(p->dataset[i].help);
    }
    free(p->dataset);
    free_names(p->program);
    free_names(p->host);
    *p = (struct plugin){0};
}

/* ---- from a loaded collector */

static struct plugin_option *copy_options(const struct tl_option *from, size_t *count) {
    struct plugin_option *to = NULL;
    size_t n = 0, room = 0;
    for (; from && from[n].name; n++) {
        MEM_GROW(to, n, room);
        to[n] = (struct plugin_option){.name = mem_text(from[n].name),
                                       .dflt = mem_text(from[n].dflt),
                                       .choices = mem_text(from[n].choices),
                                       .help = mem_text(from[n].help),
                                       .type = from[n].type,
                                       .flags = from[n].flags};
    }
    *count = n;
    return to;
}

static char **copy_names(const char *const *from) {
    size_t n = 0;
    while (from && from[n])
        n++;
    if (!n)
        return NULL;
    char **to = mem_array(NULL, n + 1, sizeof *to);
    for (size_t i = 0; i < n; i++)
        to[i] = mem_text(from[i]);
    to[n] = NULL;
    return to;
}

void plugin_of_collector(const struct tl_collector *c, struct plugin *out) {
    size_t room = 0;
    *out = (struct plugin){.name = mem_text(c->name),
                           .version = mem_text(c->version),
                           .summary = mem_text(c->summary),
                           .abi_major = c->abi_major,
                           .abi_minor = c->abi_minor,
                           .can_collect = c->collect,
                           .can_react = c->react,
                           .can_convert = c->convert};
    out->option = copy_options(c->options, &out->option_count);
    out->argument = copy_options(c->arguments, &out->argument_count);
    for (const struct tl_dataset *d = c->datasets; d && d->name; d++) {
        MEM_GROW(out->dataset, out->dataset_count, room);
        out->dataset[out->dataset_count++] = (struct plugin_dataset){
            .name = mem_text(d->name), .tags = mem_text(d->tags), .help = mem_text(d->help), .kind = d->kind};
    }
    out->program = copy_names(c->programs);
    out->host = copy_names(c->hosts);
}

/* ---- writing */

static void write_choices(struct json_writer *w, const char *choices) {
    json_put_key(w, "choices");
    json_array_begin(w);
    for (const char *at = choices; at && *at; at += *at == '|') {
        size_t n = strcspn(at, "|");
        json_put_string(w, (struct tl_span){at, n});
        at += n;
    }
    json_array_end(w);
}

static void write_options(struct json_writer *w, const char *key, const struct plugin_option *o, size_t n) {
    json_put_key(w, key);
    json_array_begin(w);
    for (size_t i = 0; i < n; i++) {
        json_object_begin(w);
        json_member_string(w, "name", o[i].name);
        json_member_string(w, "type", args_type_name(o[i].type));
        json_member_bool(w, "list", o[i].flags & TL_LIST);
        json_member_bool(w, "required", o[i].flags & TL_REQUIRED);
        if (o[i].flags & TL_HINT)
            json_member_bool(w, "hint", true);
        if (o[i].flags & TL_NAMES_HOST)
            json_member_bool(w, "names_host", true);
        json_member_string(w, "default", o[i].dflt);
        write_choices(w, o[i].choices);
        json_member_string(w, "help", o[i].help);
        json_object_end(w);
    }
    json_array_end(w);
}

static void write_names(struct json_writer *w, const char *key, char *const *name) {
    json_put_key(w, key);
    json_array_begin(w);
    for (size_t i = 0; name && name[i]; i++)
        json_put_text(w, name[i]);
    json_array_end(w);
}

void plugin_json(struct buf *out, const struct plugin *p) {
    struct json_writer w = JSON_WRITER(out);
    json_object_begin(&w);
    json_member_string(&w, "name", p->name);
    json_member_string(&w, "version", p->version);
    json_member_string(&w, "summary", p->summary);
    json_member_string(&w, "file", p->file);
    json_member_string(&w, "sha256", p->sha256[0] ? p->sha256 : NULL);
    json_member_string(&w, "shadowed_by", p->shadowed_by);
    json_member_uint(&w, "abi_major", p->abi_major);
    json_member_uint(&w, "abi_minor", p->abi_minor);
    json_member_bool(&w, "collect", p->can_collect);
    json_member_bool(&w, "react", p->can_react);
    json_member_bool(&w, "convert", p->can_convert);
    write_options(&w, "options", p->option, p->option_count);
    write_options(&w, "arguments", p->argument, p->argument_count);
    json_put_key(&w, "datasets");
    json_array_begin(&w);
    for (size_t i = 0; i < p->dataset_count; i++) {
        json_object_begin(&w);
        json_member_string(&w, "name", p->dataset[i].name);
        json_member_string(&w, "kind", kinds[p->dataset[i].kind]);
        json_member_string(&w, "tags", p->dataset[i].tags);
        json_member_string(&w, "help", p->dataset[i].help);
        json_object_end(&w);
    }
    json_array_end(&w);
    write_names(&w, "programs", p->program);
    write_names(&w, "hosts", p->host);
    json_object_end(&w);
}

/* ---- reading. Each reader returns false for what plugin_json would not have written. */

/* A text or null, one line of UTF-8. */
static bool read_text(const struct tl_json *v, char **out) {
    AUTO_BUF struct buf text = BUF_INIT;
    if (v->type == TL_JSON_NULL)
        return !*out;
    if (*out || v->type != TL_JSON_STRING || json_text(v, &text) || (text.len && memchr(text.data, '\0', text.len)) ||
        !loader_text_ok(text.data ? text.data : ""))
        return false;
    *out = buf_steal(&text);
    return true;
}

static bool read_choices(const struct tl_json *list, char **out) {
    AUTO_BUF struct buf all = BUF_INIT;
    struct tl_json item = {0};
    if (list->type != TL_JSON_ARRAY || *out)
        return false;
    for (bool first = true; json_next(list, &item) == TL_OK; first = false) {
        if (!first)
            buf_char(&all, '|');
        if (item.type != TL_JSON_STRING || json_text(&item, &all))
            return false;
    }
    if (all.len && (memchr(all.data, '\0', all.len) || !loader_text_ok(all.data)))
        return false;
    *out = all.len ? buf_steal(&all) : NULL;
    return true;
}

static bool read_flag(const struct tl_json *v, unsigned flag, unsigned *flags) {
    bool b;
    if (json_bool(v, &b))
        return false;
    *flags |= b ? flag : 0;
    return true;
}

static bool read_option(const struct tl_json *object, struct plugin_option *o) {
    struct tl_json v = {0};
    AUTO_FREE char *type = NULL;
    bool ok = object->type == TL_JSON_OBJECT;
    while (ok && json_next(object, &v) == TL_OK) {
        if (json_key_is(&v, "name"))
            ok = read_text(&v, &o->name);
        else if (json_key_is(&v, "type"))
            ok = read_text(&v, &type);
        else if (json_key_is(&v, "list"))
            ok = read_flag(&v, TL_LIST, &o->flags);
        else if (json_key_is(&v, "required"))
            ok = read_flag(&v, TL_REQUIRED, &o->flags);
        else if (json_key_is(&v, "hint"))
            ok = read_flag(&v, TL_HINT, &o->flags);
        else if (json_key_is(&v, "names_host"))
            ok = read_flag(&v, TL_NAMES_HOST, &o->flags);
        else if (json_key_is(&v, "default"))
            ok = read_text(&v, &o->dflt);
        else if (json_key_is(&v, "choices"))
            ok = read_choices(&v, &o->choices);
        else if (json_key_is(&v, "help"))
            ok = read_text(&v, &o->help);
    }
    return ok && loader_name_ok(o->name) && type && args_type_find(type, &o->type) == TL_OK;
}

static bool read_options(const struct tl_json *list, struct plugin_option **out, size_t *count) {
    struct tl_json item = {0};
    size_t room = 0;
    if (list->type != TL_JSON_ARRAY || *count)
        return false;
    while (json_next(list, &item) == TL_OK) {
        if (*count == ARGS_SLOTS)
            return false;
        MEM_GROW(*out, *count, room);
        (*out)[*count] = (struct plugin_option){0};
        if (!read_option(&item, &(*out)[(*count)++]))
            return false;
        for (size_t i = 0; i + 1 < *count; i++)
            if (strcmp((*out)[i].name, (*out)[*count - 1].name) == 0)
                return false;
    }
    return true;
}

static bool read_dataset(const struct tl_json *object, struct plugin_dataset *d) {
    struct tl_json v = {0};
    AUTO_FREE char *kind = NULL;
    bool ok = object->type == TL_JSON_OBJECT;
    while (ok && json_next(object, &v) == TL_OK) {
        if (json_key_is(&v, "name"))
            ok = read_text(&v, &d->name);
        else if (json_key_is(&v, "kind"))
            ok = read_text(&v, &kind);
        else if (json_key_is(&v, "tags"))
            ok = read_text(&v, &d->tags);
        else if (json_key_is(&v, "help"))
            ok = read_text(&v, &d->help);
    }
    for (size_t i = 0; ok && kind && i < COUNT_OF(kinds); i++)
        if (strcmp(kind, kinds[i]) == 0) {
            d->kind = (enum tl_kind)i;
            return loader_name_ok(d->name);
        }
    return false;
}

static bool read_datasets(const struct tl_json *list, struct plugin *p) {
    struct tl_json item = {0};
    size_t room = 0;
    if (list->type != TL_JSON_ARRAY || p->dataset_count)
        return false;
    while (json_next(list, &item) == TL_OK) {
        if (p->dataset_count == ARGS_SLOTS)
            return false;
        MEM_GROW(p->dataset, p->dataset_count, room);
        p->dataset[p->dataset_count] = (struct plugin_dataset){0};
        if (!read_dataset(&item, &p->dataset[p->dataset_count++]))
            return false;
    }
    return true;
}

static bool read_names(const struct tl_json *list, char ***out) {
    struct tl_json item = {0};
    size_t n = 0;
    if (list->type != TL_JSON_ARRAY || *out)
        return false;
    while (json_next(list, &item) == TL_OK) {
        if (n == NAMES_MAX)
            return false;
        *out = mem_array(*out, n + 2, sizeof **out);
        (*out)[n] = (*out)[n + 1] = NULL;
        if (!read_text(&item, &(*out)[n]) || !(*out)[n] || !*(*out)[n])
            return false;
        n++;
    }
    return true;
}

static bool read_number(const struct tl_json *v, unsigned *out) {
    int64_t n;
    if (json_int(v, &n) || n < 0 || n > 1 << 20)
        return false;
    *out = (unsigned)n;
    return true;
}

static bool read_member(const struct tl_json *v, struct plugin *p) {
    if (json_key_is(v, "name"))
        return read_text(v, &p->name);
    if (json_key_is(v, "version"))
        return read_text(v, &p->version);
    if (json_key_is(v, "summary"))
        return read_text(v, &p->summary);
    if (json_key_is(v, "abi_major"))
        return read_number(v, &p->abi_major);
    if (json_key_is(v, "abi_minor"))
        return read_number(v, &p->abi_minor);
    if (json_key_is(v, "collect"))
        return json_bool(v, &p->can_collect) == TL_OK;
    if (json_key_is(v, "react"))
        return json_bool(v, &p->can_react) == TL_OK;
    if (json_key_is(v, "convert"))
        return json_bool(v, &p->can_convert) == TL_OK;
    if (json_key_is(v, "options"))
        return read_options(v, &p->option, &p->option_count);
    if (json_key_is(v, "arguments"))
        return read_options(v, &p->argument, &p->argument_count);
    if (json_key_is(v, "datasets"))
        return read_datasets(v, p);
    if (json_key_is(v, "programs"))
        return read_names(v, &p->program);
    if (json_key_is(v, "hosts"))
        return read_names(v, &p->host);
    return true;
}

int plugin_read(struct tl_span json, struct plugin *out) {
    struct tl_json root, v = {0};
    *out = (struct plugin){0};
    if (json.len > PLUGIN_JSON_MAX || json_parse(json, &root) || root.type != TL_JSON_OBJECT)
        return TL_INVALID;
    bool ok = true;
    while (ok && json_next(&root, &v) == TL_OK)
        ok = read_member(&v, out);
    if (ok && loader_name_ok(out->name) && strcmp(out->name, "orchestrator") != 0 && out->version &&
        loader_version_ok(out->version) && out->abi_major == TL_ABI_MAJOR)
        return TL_OK;
    plugin_free(out);
    return TL_INVALID;
}
