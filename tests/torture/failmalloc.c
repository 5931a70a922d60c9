/* failmalloc.c - preloaded into trotline, lets one allocation of a worker fail (make check-torture).
 *
 * Its place says which: .../failmalloc.N.once.so or .../failmalloc.N.always.so, for a worker is passed LD_PRELOAD but
 * no variable of ours. `always` fails the Nth allocation of every worker; `once` that of the first worker that gets so
 * far, which makes the file .../failmalloc.N.once.so.done. Processes that are no workers allocate as ever. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc's own names, so that dlsym, which allocates, is not needed before the first allocation. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static atomic_long left; /* 0: none of ours */
static char done[4096];

static bool is_worker(void) {
    char line[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 && memmem(line, (size_t)n, "\0--worker", 10);
}

__attribute__((constructor)) static void setup(void) {
    Dl_info self;
    if (!is_worker() || !dladdr(done, &self) || !self.dli_fname)
        return;
    const char *name = strstr(self.dli_fname, "failmalloc.");
    if (!name || strlen(self.dli_fname) + sizeof ".done" > sizeof done)
        return;
    if (strstr(name, ".once.")) {
        snprintf(done, sizeof done, "%s.done", self.dli_fname);
        if (access(done, F_OK) == 0)
            return;
    }
    atomic_store(&left, strtol(name + strlen("failmalloc."), NULL, 10));
}

static bool now(void) {
    if (atomic_load_explicit(&left, memory_order_relaxed) <= 0 || atomic_fetch_sub(&left, 1) != 1)
        return false;
    int fd = *done ? open(done, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644) : -1;
    if (fd >= 0)
        close(fd);
    if (*done && fd < 0)
        return false; /* another worker was the first */
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) {
    return now() ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return now() ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    return now() ? NULL : __libc_realloc(old, size);
}
