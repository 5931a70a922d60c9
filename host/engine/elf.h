/* elf.h - which symbols a shared object offers to others, read from the file without loading it. */
#ifndef TROTLINE_ENGINE_ELF_H
#define TROTLINE_ENGINE_ELF_H
#include "base/buf.h"

/* Names of the defined, visible dynamic symbols, separated by blanks, and how many. Every offset is checked.
 * TL_INVALID. */
int elf_exported(const char *file, struct buf *names, size_t *count);
#endif
