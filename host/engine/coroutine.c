/* coroutine.c - see coroutine.h. ucontext: a round trip costs 2 µs (two sigprocmask calls) against some 200 µs of work
 * a page. */
#include "engine/coroutine.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#define FIBERS 1
#else
#define FIBERS 0
#endif

struct coroutine {
    ucontext_t self, loop;
    void (*body)(void *);
    void *arg;
    char *stack; /* lowest usable byte; a guard page lies below */
    bool ended;
    struct coroutine *next_free;
#if FIBERS
    void *fake_stack, *loop_fake;
    const void *loop_bottom;
    size_t loop_size;
#endif
};

static struct coroutine *running, *pool;
static size_t pooled;
enum { POOL_MOST = 256 };

/* The sanitizer's own swapcontext warns on stderr that it cannot follow; it is told by hand, so libc's is the right
 * one. */
static int swap(ucontext_t *from, const ucontext_t *to) {
#if FIBERS
    static int (*libc)(ucontext_t *, const ucontext_t *);
    if (!libc) {
        void *symbol = dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "swapcontext");
        if (!symbol)
            abort();
        memcpy(&libc, &symbol, sizeof libc);
    }
    return libc(from, to);
#else
    return swapcontext(from, to);
#endif
}

static size_t page_size(void) {
    static size_t size;
    if (!size)
        size = (size_t)sysconf(_SC_PAGESIZE);
    return size;
}

static void stack_map(struct coroutine *c) {
    size_t guard = page_size();
    char *map = mmap(NULL, COROUTINE_STACK + guard, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED || mprotect(map, guard, PROT_NONE))
        abort();
    c->stack = map + guard;
#if FIBERS
    __lsan_register_root_region(c->stack, COROUTINE_STACK);
    __asan_unpoison_memory_region(c->stack, COROUTINE_STACK);
#endif
}

static void stack_unmap(struct coroutine *c) {
#if FIBERS
    __lsan_unregister_root_region(c->stack, COROUTINE_STACK);
#endif
    munmap(c->stack - page_size(), COROUTINE_STACK + page_size());
}

static void enter(void) {
    struct coroutine *c = running;
#if FIBERS
    __sanitizer_finish_switch_fiber(NULL, &c->loop_bottom, &c->loop_size);
#endif
    c->body(c->arg);
    c->ended = true;
#if FIBERS
    __sanitizer_start_switch_fiber(NULL, c->loop_bottom, c->loop_size); /* NULL: this stack is done with */
#endif
    setcontext(&c->loop);
    abort();
}

static void prepare(struct coroutine *c) {
    c->ended = false;
    if (getcontext(&c->self))
        abort();
    c->self.uc_stack.ss_sp = c->stack;
    c->self.uc_stack.ss_size = COROUTINE_STACK;
    c->self.uc_link = NULL;
    makecontext(&c->self, enter, 0);
}

struct coroutine *coroutine_new(void (*body)(void *arg), void *arg) {
    struct coroutine *c = pool;
    if (c) {
        pool = c->next_free;
        pooled--;
    } else {
        c = mem_alloc(sizeof *c);
        stack_map(c);
    }
    c->body = body;
    c->arg = arg;
    prepare(c);
    return c;
}

static void release(struct coroutine *c) {
    if (pooled < POOL_MOST) {
        c->next_free = pool;
        pool = c;
        pooled++;
        return;
    }
    stack_unmap(c);
    free(c);
}

bool coroutine_resume(struct coroutine *c) {
    int error = errno;
    if (running)
        abort(); /* only the loop resumes */
    running = c;
#if FIBERS
    __sanitizer_start_switch_fiber(&c->loop_fake, c->stack, COROUTINE_STACK);
#endif
    if (swap(&c->loop, &c->self))
        abort();
#if FIBERS
    __sanitizer_finish_switch_fiber(c->loop_fake, NULL, NULL);
#endif
    running = NULL;
    errno = error;
    if (!c->ended)
        return false;
    release(c);
    return true;
}

void coroutine_wait(void) {
    struct coroutine *c = running;
    int error = errno;
    if (!c)
        abort();
#if FIBERS
    __sanitizer_start_switch_fiber(&c->fake_stack, c->loop_bottom, c->loop_size);
#endif
    if (swap(&c->self, &c->loop))
        abort();
#if FIBERS
    __sanitizer_finish_switch_fiber(c->fake_stack, &c->loop_bottom, &c->loop_size);
#endif
    errno = error;
}

struct coroutine *coroutine_current(void) {
    return running;
}

bool coroutine_overflowed(const void *address) {
    const char *at = address;
    return running && at < running->stack && at >= running->stack - page_size();
}

void coroutine_trim(void) {
    while (pool) {
        struct coroutine *c = pool;
        pool = c->next_free;
        stack_unmap(c);
        free(c);
    }
    pooled = 0;
}
