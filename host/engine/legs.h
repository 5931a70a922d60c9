/* legs.h - where the artifacts of a fan-in come from: files of their own, or documents of a lake.
 *
 * Invariant: an artifact has the same bytes wherever it is taken from. */
#ifndef TROTLINE_ENGINE_LEGS_H
#define TROTLINE_ENGINE_LEGS_H
#include "base/fail.h"
#include "fanin/fanin.h"

#define LEGS_DATASET "artifact" /* the dataset of a document that holds one */
enum { LEGS_FILE_MAX = 256 << 20 };

/* An artifact, or a document with one. */
void legs_add_text(struct fanin *f, const char *file, struct tl_span text);
int legs_add_file(struct fanin *f, const char *path, struct fail *why);
#endif
