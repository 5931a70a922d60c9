/* uuid.c - see uuid.h. */
#include "base/uuid.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/times.h"

/* 48 bits of milliseconds, then a 42-bit counter that starts at a random number below 2^41 each millisecond, then 32
 * random bits. */
static struct {
    pid_t pid;
    int64_t ms;
    uint64_t counter;
    uint64_t pool[32];
    unsigned left;
} state;

static uint64_t random_bits(void) {
    if (state.left == 0) {
        size_t got = 0;
        while (got < sizeof state.pool) {
            ssize_t n = getrandom((char *)state.pool + got, sizeof state.pool - got, 0);
            if (n > 0)
                got += (size_t)n;
        }
        state.left = sizeof state.pool / sizeof *state.pool;
    }
    return state.pool[--state.left];
}

struct uuid uuid_new(void) {
    if (state.pid != getpid()) {
        state.pid = getpid();
        state.left = 0;
    }
    int64_t now = time_now_us() / 1000;
    if (now > state.ms) {
        state.ms = now;
        state.counter = random_bits() >> 23; /* 41 bits: room for 2^41 more in this millisecond */
    } else if (++state.counter >> 42) {
        state.ms++;
        state.counter = random_bits() >> 23;
    }
    uint64_t tail = random_bits();
    struct uuid u;
    for (int i = 0; i < 6; i++)
        u.byte[i] = (uint8_t)((uint64_t)state.ms >> (40 - 8 * i));
    u.byte[6] = (uint8_t)(0x70 | (state.counter >> 38 & 0x0f));
    u.byte[7] = (uint8_t)(state.counter >> 30);
    u.byte[8] = (uint8_t)(0x80 | (state.counter >> 24 & 0x3f));
    u.byte[9] = (uint8_t)(state.counter >> 16);
    u.byte[10] = (uint8_t)(state.counter >> 8);
    u.byte[11] = (uint8_t)state.counter;
    for (int i = 0; i < 4; i++)
        u.byte[12 + i] = (uint8_t)(tail >> (8 * i));
    return u;
}

char *uuid_text(const struct uuid *u, char out[UUID_TEXT]) {
    static const char hex[] = "0123456789abcdef";
    char *at = out;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = hex[u->byte[i] >> 4];
        *at++ = hex[u->byte[i] & 15];
    }
    *at = '\0';
    return out;
}

static int nibble(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

int uuid_parse(struct tl_span text, struct uuid *out) {
    if (text.len != UUID_TEXT - 1)
        return TL_INVALID;
    size_t at = 0;
    for (int i = 0; i < 16; i++) {
        if ((i == 4 || i == 6 || i == 8 || i == 10) && text.ptr[at++] != '-')
            return TL_INVALID;
        int high = nibble(text.ptr[at]), low = nibble(text.ptr[at + 1]);
        if (high < 0 || low < 0)
            return TL_INVALID;
        out->byte[i] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    return TL_OK;
}

int64_t uuid_time_us(const struct uuid *u) {
    uint64_t ms = 0;
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | u->byte[i];
    return (int64_t)ms * 1000;
}
