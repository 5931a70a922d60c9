/* sources.c - see sources.h. */
#include "engine/sources.h"

#include "engine/config_schema.h"

enum { MEMBERS_MAX = 1000, ARENA_MAX = 8 << 20 };

static int check_id(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return schema_is_name(n->text)
               ? TL_OK
               : yaml_fail(r->err, n, "'%.60s' is no id: letters, digits, '.', '_' and '-' make one", n->text);
}

#define OF_MEMBER(part) offsetof(struct fanin_member, part)
static const struct schema_key source_keys[] = {
    {"id", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_MEMBER(id), .min = 1, .max = 64, .check = check_id,
     .help = "the source_id of its artifact"},
    {"required", SCHEMA_BOOL, 0, OF_MEMBER(required), .dflt = "false", .help = "without it there is no result at all"},
    {0},
};
static const struct schema a_source = {.what = "a source", .key = source_keys, .size = sizeof(struct fanin_member)};

static const struct schema_key shard_keys[] = {
    {"id", SCHEMA_TEXT, SCHEMA_REQUIRED, OF_MEMBER(id), .min = 1, .max = 64, .check = check_id,
     .help = "the shard_id of its artifact"},
    {"required", SCHEMA_BOOL, 0, OF_MEMBER(required), .dflt = "true", .help = "without it there is no result at all"},
    {0},
};
static const struct schema a_shard = {.what = "a shard", .key = shard_keys, .size = sizeof(struct fanin_member)};

#define OF(part) offsetof(struct sources, part)
static const struct schema_key keys[] = {
    {"sources", SCHEMA_LIST, SCHEMA_REQUIRED, OF(source), .count_offset = OF(source_count), .min = 1,
     .max = MEMBERS_MAX, .of = &a_source, .help = "the feeds, the most trusted first"},
    {"shards", SCHEMA_LIST, 0, OF(shard), .count_offset = OF(shard_count), .max = MEMBERS_MAX, .of = &a_shard,
     .help = "the shards of GitHub's search"},
    {0},
};
static const struct schema schema_sources = {.what = "a file of sources", .key = keys, .size = sizeof(struct sources)};

static int once(struct yaml_error *err, const struct yaml_node *list) {
    for (const struct yaml_node *a = list ? list->first : NULL; a; a = a->next)
        for (const struct yaml_node *b = list->first; b != a; b = b->next)
            if (strcmp(yaml_get(a, "id")->text, yaml_get(b, "id")->text) == 0)
                return yaml_fail(err, a, "the id '%s' stands twice", yaml_get(a, "id")->text);
    return TL_OK;
}

int sources_text(const char *file, struct tl_span text, struct sources *out, struct fail *why) {
    struct yaml_error err = {0};
    struct yaml_node *root;
    *out = (struct sources){.arena.max = ARENA_MAX};
    struct schema_reader r = {.arena = &out->arena, .err = &err, .folder = "/", .working = "/"};
    int rc = yaml_parse(r.arena, file, text, &root, r.err);
    if (!rc && (!root || root->kind != YAML_MAP))
        rc = yaml_fail(r.err, root, "a file of sources is a map with the key 'sources', and perhaps 'shards'");
    if (!rc)
        rc = schema_read(&r, &schema_sources, root, out);
    if (!rc)
        rc = once(&err, yaml_get(root, "sources"));
    if (!rc)
        rc = once(&err, yaml_get(root, "shards"));
    if (rc) {
        err.file = file;
        config_refuse(&err, NULL, 0, rc, why);
        sources_free(out);
    }
    return rc;
}

int sources_read(const char *path, struct sources *out, struct fail *why) {
    AUTO_BUF struct buf text = BUF_INIT;
    *out = (struct sources){0};
    int rc = config_read(path, &text, why);
    return rc ? rc : sources_text(path, buf_span(&text), out, why);
}

void sources_free(struct sources *s) {
    arena_free(&s->arena);
    *s = (struct sources){0};
}

struct fanin_plan sources_plan(const struct sources *s) {
    return (struct fanin_plan){s->source, s->shard, s->source_count, s->shard_count};
}
