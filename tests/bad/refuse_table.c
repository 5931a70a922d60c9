/* refuse_table - a table of arguments without an end. */
#include <stddef.h>
#include <stdio.h>
#include <trotline.h>

enum { ENTRIES = 400 };
static char names[ENTRIES][8];
static struct tl_option arguments[ENTRIES];

__attribute__((constructor)) static void start(void) {
    for (size_t i = 0; i < ENTRIES; i++) {
        snprintf(names[i], sizeof names[i], "a%zu", i);
        arguments[i] = (struct tl_option){names[i], TL_INT, 0, i * sizeof(int64_t), NULL, NULL, NULL};
    }
}

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}
TL_COLLECTOR(.name = "refuse_table", .version = "1.0.0", .arguments = arguments,
             .arguments_size = ENTRIES * sizeof(int64_t), .collect = collect);
