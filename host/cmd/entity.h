/* entity.h - the combined form of an entity: what the server sent, with `_metadata` inside of it. */
#ifndef TROTLINE_CMD_ENTITY_H
#define TROTLINE_CMD_ENTITY_H
#include "cmd/cmd.h"

/* Prints the entity of this URN in a document; urn NULL: every element of the document that says what it is (a page of
 * a list counts once, not its elements). An array stands as `elements`. TL_NOTFOUND: there is none. */
int entity_print(struct lake *l, const char *path, const char *urn, FILE *out, struct fail *why);
#endif
