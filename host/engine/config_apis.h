/* config_apis.h - the descriptions of HTTP APIs (trotline-api(7)): those of the installation, then those built in; and
 * how the arguments of a collector that goes by them are made whole. */
#ifndef TROTLINE_ENGINE_CONFIG_APIS_H
#define TROTLINE_ENGINE_CONFIG_APIS_H
#include "engine/config.h"
#include "engine/plugin.h"

enum { CONFIG_APIS_MAX = 500, CONFIG_API_ARGUMENTS = 32, CONFIG_API_JSON_MAX = 8 * 1024 };

struct config_api_argument {
    const char *name, *dflt, *about; /* dflt: NULL or a template */
    bool required;
};
struct config_api {
    const char *name, *about, *base; /* base NULL: who asks gives it */
    const char *secret,
        *token_url; /* names of a secret and an endpoint that are used unless others are given; or NULL */
    bool secret_required;
    const struct config_api_argument *argument;
    size_t argument_count;
    struct tl_span json; /* the whole description, as the collector gets it; at most CONFIG_API_JSON_MAX */
};
struct config_api_broken {
    char *name; /* NULL: a whole folder, so that nobody knows which names it has */
    char *text; /* why, with its place */
};
struct config_apis {
    struct arena arena; /* owns them */
    struct config_api *api;
    size_t count;
    struct config_api_broken *broken; /* what is no description; a line that asks for one of these is refused */
    size_t broken_count;
};
/* All descriptions that are in force: files NAME.yml of the folders of `apis`, the first of a name wins, and then those
 * that are built in. A file that cannot be read as one hurts nobody but who asks for its API. */
void config_apis(const struct config *c, struct config_apis *out);
/* One description from memory; added to out. */
int config_apis_text(struct config_apis *out, const char *file, struct tl_span text, struct fail *why);
void config_apis_free(struct config_apis *a);
/* Reads them if a plugin of the set takes descriptions (arguments `api` and `description`), and gives them to it. */
void config_apis_give(const struct config *c, struct plugin_set *set, struct config_apis *out);
/* What was given, made whole: the arguments of the API go into `with`, the address and the description are put beside
 * them. What has its description already stays as it is. */
int config_apis_apply(const struct config_apis *a, const struct plugin *p, struct tl_span given, struct buf *out,
                      struct fail *why);
extern const struct schema schema_apis; /* for the manual's table */

/* ---- config_apis_json.c, for config_apis.c */
struct schema_reader;
struct yaml_node;
struct config_api_read { /* a description as it is read */
    const char *name, *about, *base, *url, *body, *items, *error;
    int method, body_type, answer;
    struct tl_span query, headers, explain;
    struct config_api_argument *argument;
    size_t argument_count;
    struct {
        int as;
        const char *name, *user, *from, *token_url, *client_id, *scope;
        bool required;
    } secret;
    struct {
        int by;
        const char *at, *total, *count;
        int64_t first, size, most;
        const char *cursor;
        bool go_on;
    } pages;
    struct {
        int reset_is;
        const char *remaining, *reset, *limit, *interval;
    } limits;
    struct {
        const char *collector;
        struct tl_span args, leash;
    } children;
};
/* As the collector reads it. */
int config_api_json(struct schema_reader *r, const struct yaml_node *root, const struct config_api_read *d,
                    struct tl_span *out);
/* Every {NAME} of its templates must be known. */
int config_api_names(struct schema_reader *r, const struct yaml_node *root, const struct config_api_read *d);
#endif
