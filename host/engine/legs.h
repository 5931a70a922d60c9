/* legs.h - where the artifacts of a fan-in come from: files of their own, or documents of a lake.
 *
 * Invariant: an artifact has the same bytes wherever it is taken from. */
#ifndef TROTLINE_ENGINE_LEGS_H
#define TROTLINE_ENGINE_LEGS_H
#include "base/fail.h"
#include "fanin/fanin.h"
#include "lake/lake.h"

#define LEGS_DATASET "artifact" /* the dataset of a document that holds one */
enum { LEGS_FILE_MAX = 256 << 20 };

/* An artifact, or a document with one. file: its path below the lake, or with lake NULL that of the file. */
void legs_add_text(struct fanin *f, const char *file, struct tl_span text, struct lake *lake);
int legs_add_file(struct fanin *f, const char *path, struct fail *why);
#endif
