/* parquet_dictionary.c - the values of a chunk, each once.
 *
 * Invariant: numbers depend on the values and their order alone. The hash has no secret, so that files are the same
 * everywhere; who makes values collide gets a table that calls itself full, not a slow one. */
#include <string.h>

#include "convert/parquet_inside.h"

enum { FIRST_SLOTS = 1024, PROBES_MAX = 128 };

static uint64_t mix(uint64_t a, uint64_t b) {
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const void *ptr, size_t len) {
    static const uint64_t odd = 0x9E3779B97F4A7C15u, other = 0xD6E8FEB86659FD93u;
    const char *at = ptr;
    uint64_t hash = mix(len ^ odd, other), part;
    for (; len > 8; at += 8, len -= 8) {
        memcpy(&part, at, 8);
        hash = mix(hash ^ part, odd);
    }
    part = 0;
    if (len)
        memcpy(&part, at, len);
    return mix(hash ^ part ^ other, odd);
}

struct tl_span dictionary_value(const struct dictionary *d, uint32_t number) {
    size_t at = d->offset[number], end = number + 1 < d->count ? d->offset[number + 1] : d->bytes.len;
    return (struct tl_span){d->bytes.data + at, end - at};
}

static void widen(struct dictionary *d, bool text) {
    d->slots = d->slots ? d->slots * 2 : FIRST_SLOTS;
    d->slot = mem_array(d->slot, d->slots, sizeof *d->slot);
    memset(d->slot, 0, d->slots * sizeof *d->slot);
    for (size_t i = 0; i < d->count; i++) {
        struct tl_span value = dictionary_value(d, (uint32_t)i);
        size_t skip = text ? 4 : 0, at = hash_of(value.ptr + skip, value.len - skip) & (d->slots - 1);
        while (d->slot[at])
            at = (at + 1) & (d->slots - 1);
        d->slot[at] = (uint32_t)i + 1;
    }
}

uint32_t dictionary_find(struct dictionary *d, const void *ptr, size_t len, bool text, size_t most) {
    if (d->count * 2 >= d->slots)
        widen(d, text);
    size_t skip = text ? 4 : 0, at = hash_of(ptr, len) & (d->slots - 1);
    for (int probes = 0; d->slot[at]; at = (at + 1) & (d->slots - 1)) {
        struct tl_span value = dictionary_value(d, d->slot[at] - 1);
        if (value.len - skip == len && (!len || memcmp(value.ptr + skip, ptr, len) == 0))
            return d->slot[at] - 1;
        if (++probes == PROBES_MAX)
            return DICTIONARY_FULL;
    }
    if (len + skip > most || d->bytes.len > most - len - skip)
        return DICTIONARY_FULL;
    MEM_GROW(d->offset, d->count, d->room);
    d->offset[d->count] = (uint32_t)d->bytes.len;
    if (text) {
        uint32_t size = (uint32_t)len;
        buf_add(&d->bytes, &size, sizeof size);
    }
    buf_add(&d->bytes, ptr, len);
    d->slot[at] = (uint32_t)++d->count;
    return (uint32_t)d->count - 1;
}

void dictionary_clear(struct dictionary *d) {
    if (d->count)
        memset(d->slot, 0, d->slots * sizeof *d->slot);
    buf_reset(&d->bytes);
    d->count = 0;
}

void dictionary_free(struct dictionary *d) {
    buf_free(&d->bytes);
    free(d->offset);
    free(d->slot);
    *d = (struct dictionary){0};
}
