/* convert_own.h - a collector that converts its documents itself: its code runs in a process of its own, confined like
 * a worker, which is given documents and gives back items.
 *
 * Frames over a socket pair: the options, then documents one by one, each answered by its items and a last word. What
 * comes back is bounded and checked like everything from outside; a process that crashes, spins or babbles costs the
 * document at hand. */
#ifndef TROTLINE_ENGINE_CONVERT_OWN_H
#define TROTLINE_ENGINE_CONVERT_OWN_H
#include "convert/items.h"

enum { CONVERT_OWN_ITEMS = 1000000, CONVERT_OWN_BYTES = 256 << 20 }; /* of one document */

struct convert_own;
struct convert_own_options {
    const char *file;       /* the .so */
    struct tl_span options; /* JSON object, or empty */
    int64_t memory;         /* bytes of address space; 0: no limit */
    int64_t deadline_us;    /* for one document */
};
int convert_own_start(const struct convert_own_options *o, struct convert_own **out, struct fail *why);
/* The rows of a document that items_open has read; all of them, or on failure none. */
int convert_own_rows(struct convert_own *own, struct items *items, const struct items_document *doc,
                     int (*row)(void *ctx, const struct cell *cells), void *ctx, struct fail *why);
void convert_own_stop(struct convert_own *own); /* NULL is nothing */

int convert_own_main(const char *file); /* trotline --convert FILE: the process; does not return to commands */
#endif
