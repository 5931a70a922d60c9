/* mem.h - allocation that does not fail quietly, and cleanup attributes for host code.
 *
 * Host processes treat exhausted memory as fatal: the supervisor's next start finishes what was committed, and a
 * worker's death costs only its runs. So mem_alloc and its kin never return NULL. Collectors use the run's arena, which
 * is bounded (arena.h). */
#ifndef TROTLINE_BASE_MEM_H
#define TROTLINE_BASE_MEM_H
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *mem_alloc(size_t size);                               /* zeroed; never NULL; release with free() */
void *mem_array(void *old, size_t count, size_t item_size); /* realloc with an overflow check; never NULL */
char *mem_text(const char *text);                           /* a copy of a NUL-ended text; NULL gives NULL */
char *mem_text_n(const char *ptr, size_t len);              /* a NUL-ended copy of len bytes */

static inline void mem_free_ptr(void *at) {
    free(*(void **)at);
}
static inline void mem_close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
}
static inline void mem_close_file(FILE **f) {
    if (*f)
        fclose(*f);
}
#define AUTO_FREE   __attribute__((cleanup(mem_free_ptr)))
#define AUTO_CLOSE  __attribute__((cleanup(mem_close_fd)))
#define AUTO_FCLOSE __attribute__((cleanup(mem_close_file)))

/* Room for one more item in a growing array; doubles, so that appending n items costs O(n). */
#define MEM_GROW(array, count, room)                                                                                   \
    do {                                                                                                               \
        if ((count) == (room)) {                                                                                       \
            (room) = (room) ? (room)*2 : 8;                                                                            \
            (array) = mem_array((array), (room), sizeof *(array));                                                     \
        }                                                                                                              \
    } while (0)
#define COUNT_OF(a) (sizeof(a) / sizeof *(a))
#endif
