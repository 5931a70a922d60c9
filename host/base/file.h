/* file.h - a whole file in memory, of bounded size. */
#ifndef TROTLINE_BASE_FILE_H
#define TROTLINE_BASE_FILE_H
#include "base/buf.h"
#include "base/fail.h"

/* Replaces out. Also from a pipe. TL_FAILED: why says on which file and what to do; its exit code is left to the
 * caller. */
int file_read(const char *path, size_t most, struct buf *out, struct fail *why);
#endif
