/* github.h - what the files of the GitHub collector share: arguments, types, entities under construction.
 *
 * Everything lives in the run's memory; a NULL from there means that it is used up, and ends the run. */
#ifndef GITHUB_GITHUB_H
#define GITHUB_GITHUB_H
#include <trotline.h>

#include "text.h"

#ifndef GITHUB_VERSION /* of what is derived from answers; a test builds another one */
#define GITHUB_VERSION 1
#endif

struct args {
    const char *type, *url, *start, *files, *file, *api, *policy, *follow, *reach;
    const char *of, *urn, *issue, *set, *trail, *within; /* how it was reached */
    struct tl_list token;
    const struct tl_secret *secret;
    bool detail;
    int64_t per_page, low_water, page;
};

/* ---- types.c */
struct type {
    const char *name, *plural; /* plural: last part of its collection's URN */
    const char *element;       /* of a list: the type of its elements; NULL: this is an entity */
    enum { TYPE_ROOT = 1, TYPE_WHOLE = 2, TYPE_FIXED = 4, TYPE_RELATION = 8, TYPE_DATED = 16, TYPE_OTHER = 32 } flags;
};
extern const struct type types[];
const struct type *type_find(const char *name); /* NULL: none */
const char *type_of_url(const char *url);       /* "other": nothing known */
/* The URL and the type of what the thing at this URL belongs to; false: nothing. */
bool type_parent(struct tl_run *run, const char *type, const char *url, const char **parent_type, const char **parent);

/* ---- entity.c: from an answer to URN, links and what could be visited next; pure */
struct link {
    const char *name, *type, *href;
    const char **hrefs; /* NULL: one href */
    size_t count;
};
struct child {
    const char *name, *type, *url, *of, *urn, *issue, *set;
    const char *trail; /* of a next page */
    int64_t page;
};
enum { ENTITY_LINKS = 32, ENTITY_CHILDREN = 32 };
struct entity {
    struct tl_run *run;
    const char *type, *urn, *set, *url;
    struct link link[ENTITY_LINKS];
    size_t links;
    struct child child[ENTITY_CHILDREN];
    size_t children;
};
struct context {                       /* what an answer does not say itself */
    const char *of;                    /* URN of what it belongs to */
    const char *set;                   /* id of the page sets of its relations */
    const char *issue;                 /* of a pull request: URN of its issue */
    const char *url;                   /* that it was asked by */
    const char *event_type, *event_id; /* of an event that came by itself, where they stand beside it */
    int64_t now_us;
};
int entity_read(struct tl_run *run, const struct type *t, const struct tl_json *v, const struct context *c,
                struct entity *out); /* TL_NOTFOUND: it has no id, or nobody knows what it belongs to */
int entity_event(struct tl_run *run, const struct tl_json *v, const struct context *c,
                 struct entity *out); /* event.c */
void entity_link(struct entity *e, const char *name, const char *type, const char *href);
void entity_child(struct entity *e, const char *name, const char *type, const char *url, const char *of,
                  const char *urn);
void entity_user(struct entity *e, const struct tl_json *v, const char *name, const char *pointer);
const char *entity_repo(struct tl_run *run, const char *urn);                 /* urn:repo:ID at its head, or NULL */
const char *url_below(struct tl_run *run, const char *url, const char *tail); /* without query and {template} */

/* ---- metadata.c */
struct metadata {
    const char *type, *url, *requested, *fetched_at, *etag, *link_header, *deleted_at, *reason, *paging, *pointer;
    const char *dataset; /* NULL: that of the type */
    const char *more;    /* members, each with a comma before it, or NULL */
    int64_t page;
    bool last;
};
void metadata_write(struct text *t, const struct metadata *m, const struct entity *e);
const char *metadata_text(struct tl_run *run, const char *entity, const char *pointer); /* of a stored one, or NULL */

/* ---- ask.c: requests, tokens and their limits */
struct pool;
struct pool *ask_pool(void);
int ask(struct pool *p, struct tl_run *run, const struct args *a, const char *url, bool conditional,
        struct tl_response *out);
const char *ask_header(const struct tl_response *r, const char *name);

/* ---- list.c: a page of a list */
int list_put(struct tl_run *run, const struct args *a, const struct type *t, const struct context *c,
             const struct tl_element *from, struct metadata *m);
int list_visit(struct tl_run *run, const struct args *a, const struct type *t, const struct tl_element *e);

/* ---- visit.c: which children are asked for */
enum visit { VISIT_NO, VISIT_SELF, VISIT_PAGES, VISIT_FULL };
enum visit visit_rule(struct tl_run *run, const struct args *a, const char *type, const char *name,
                      const char **subtree);
int visit_entity(struct tl_run *run, const struct args *a, const struct entity *e);
int visit_child(struct tl_run *run, const struct args *a, const struct child *c, enum visit how, const char *subtree,
                const char *within);

/* ---- gone.c: answers that are none; what was known before */
struct known {
    struct tl_document doc;
    struct tl_span data;
    const char *entity, *media_type, *url; /* entity: its `_metadata` */
    bool inside;                           /* on a page: the document is that of the list */
};
int known_find(struct tl_run *run, const char *key, const struct type *t, struct known *out); /* TL_NOTFOUND */
const char *known_set(const char *entity, struct tl_run *run); /* id of its page sets, or NULL */
int gone(struct tl_run *run, const struct args *a, const struct type *t, const struct tl_response *res);
/* Another version of what was known, with its last content; an issue that was moved elsewhere (301) is gone, too. */
int gone_missed(struct tl_run *run, const struct args *a, const struct type *t, const struct known *k, int status);
int gone_put(struct tl_run *run, const char *dataset, const struct type *t, const struct tl_response *res,
             const char *more);

/* ---- github.c */
int github_put(struct tl_run *run, const struct args *a, const struct type *t, const struct context *c,
               const struct tl_element *from, struct metadata *m);

/* ---- hook.c: events in files */
int hook_list(struct tl_run *run, const struct args *a);
int hook_file(struct tl_run *run, const struct args *a);
#endif
