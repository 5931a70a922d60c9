/* mem.c - see mem.h. */
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

static void *or_die(void *ptr) {
    if (!ptr) {
        static const char text[] = "trotline: out of memory\n";
        if (write(STDERR_FILENO, text, sizeof text - 1) < 0) { /* nothing more can be done */
        }
        abort();
    }
    return ptr;
}

void *mem_alloc(size_t size) {
    return or_die(calloc(1, size ? size : 1));
}

void *mem_array(void *old, size_t count, size_t item_size) {
    if (item_size && count > SIZE_MAX / 2 / item_size)
        return or_die(NULL);
    return or_die(realloc(old, count && item_size ? count * item_size : 1));
}

char *mem_text_n(const char *ptr, size_t len) {
    char *copy = or_die(malloc(len + 1));
    if (len)
        memcpy(copy, ptr, len);
    copy[len] = '\0';
    return copy;
}

char *mem_text(const char *text) {
    return text ? mem_text_n(text, strlen(text)) : NULL;
}
