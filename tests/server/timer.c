/* timer.c - moments to come, earliest first.
 *
 * Invariant: a timer is never withdrawn; whoever set it knows the id of the one that still counts, and ignores the
 * others. Ids are never used twice, so a timer of a connection that is gone does not hit the next one on the same
 * descriptor. */
#include "fixture.h"

#include <time.h>

#include "base/mem.h"

static struct timer *timers; /* a heap */
static size_t timer_count, timer_room;
static uint64_t timer_last;

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t timer_add(int fd, uint64_t in_us) {
    MEM_GROW(timers, timer_count, timer_room);
    struct timer t = {now_us() + in_us, ++timer_last, fd};
    size_t i = timer_count++;
    for (; i && timers[(i - 1) / 2].at_us > t.at_us; i = (i - 1) / 2)
        timers[i] = timers[(i - 1) / 2];
    timers[i] = t;
    return t.id;
}

bool timer_due(struct timer *out) {
    if (!timer_count || timers[0].at_us > now_us())
        return false;
    *out = timers[0];
    struct timer t = timers[--timer_count];
    size_t i = 0;
    for (size_t kid; (kid = 2 * i + 1) < timer_count; i = kid) {
        if (kid + 1 < timer_count && timers[kid + 1].at_us < timers[kid].at_us)
            kid++;
        if (timers[kid].at_us >= t.at_us)
            break;
        timers[i] = timers[kid];
    }
    timers[i] = t;
    return true;
}

int timer_wait_ms(void) {
    if (!timer_count)
        return -1;
    uint64_t now = now_us(), at = timers[0].at_us;
    return at <= now ? 0 : at - now > 60000000 ? 60000 : (int)((at - now + 999) / 1000);
}
