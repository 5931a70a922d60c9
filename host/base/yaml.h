/* yaml.h - configuration text as a tree that knows where everything stood. Strict YAML by way of libyaml.
 *
 * Invariant: a tree that was handed out holds text without NUL bytes, in valid UTF-8, every key once in its map, at
 * most YAML_NODES nodes and YAML_DEPTH levels. Scalars are text: what type they have is for the reader's schema to say,
 * never guessed from their looks (yaml_to_json alone looks, at plain ones only).
 *
 * Refused: anchors, aliases, tags, several documents, keys that are no scalars, keys that stand twice, the merge key
 * <<. */
#ifndef TROTLINE_BASE_YAML_H
#define TROTLINE_BASE_YAML_H
#include "base/arena.h"
#include "base/buf.h"

enum { YAML_TEXT_MAX = 1 << 20, YAML_DEPTH = 64, YAML_NODES = 100000 };
enum yaml_kind { YAML_SCALAR, YAML_MAP, YAML_LIST };

struct yaml_node {
    enum yaml_kind kind;
    bool quoted;           /* a scalar in quotes, or a | or > block: surely text */
    unsigned line, column; /* from 1, in characters; where the node itself begins, an empty one where it would */
    const char *text;      /* of a scalar; NUL-ended */
    size_t len;
    const struct yaml_node *key;    /* when this is a value in a map; the key's own line and column */
    struct yaml_node *first, *next; /* values of a map or items of a list, in the order of the text */
    size_t count;
};

struct yaml_error {
    const char *file; /* as given to yaml_parse */
    unsigned line, column;
    char text[256]; /* one sentence without a full stop; no control characters */
};

/* The tree lives in the arena. *root is NULL when there is no content. TL_INVALID: err says where and what; TL_FAILED:
 * the arena is full, err says so. */
int yaml_parse(struct arena *a, const char *file_name, struct tl_span text, struct yaml_node **root,
               struct yaml_error *err);

/* For what the schema refuses: fills in err at the node's place (line 1, column 1 for NULL) and returns TL_INVALID. */
TL_PRINTF(3, 4) int yaml_fail(struct yaml_error *err, const struct yaml_node *at, const char *fmt, ...);

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key); /* its value; NULL: none, or no map */
bool yaml_is_null(const struct yaml_node *node); /* NULL, or plain and empty, null or ~ */
#define YAML_EACH(item, node) for (const struct yaml_node *item = (node)->first; item; item = item->next)

/* Which of the words was meant? NULL when none is near: more than 1 + strlen(word) / 3 letters inserted, left out,
 * changed or swapped with their neighbour. The first of equally near ones. */
const char *yaml_nearest(const char *word, const char *const *words, size_t count);

/* Appends the tree (NULL: null) as JSON. Plain scalars: nothing, null and ~ are null; true and false; what is a number
 * in JSON is that number, verbatim; everything else, and whatever is quoted, is a string. TL_FAILED: out is full. */
int yaml_to_json(const struct yaml_node *node, struct buf *out);
#endif
