/* config_types.h - the declarations of types (trotline-types(5)): those of the installation, then those built in. */
#ifndef TROTLINE_ENGINE_CONFIG_TYPES_H
#define TROTLINE_ENGINE_CONFIG_TYPES_H
#include "convert/types.h"
#include "engine/config.h"

enum { CONFIG_TYPES_MAX = 1000 };
struct config_types {
    struct arena arena;      /* owns them */
    struct types_type *type; /* in the order of their names */
    size_t count;
    size_t folder_first; /* where the types of the folder that is being read begin */
};
/* All types that are in force: files NAME.yml of the folders of convert.types, the first of a name wins, and then those
 * that are built in. A file that cannot be read as a type is refused with its place. */
int config_types(const struct config *c, struct config_types *out, struct fail *why);
/* One declaration from memory; added to out. */
int config_types_text(struct config_types *out, const char *file, struct tl_span text, struct fail *why);
void config_types_free(struct config_types *t);
extern const struct schema schema_types; /* struct types_declared: for the manual's table */
#endif
