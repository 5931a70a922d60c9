/* pacing.c - see pacing.h. */
#include "net/pacing.h"

#include "base/hash.h"
#include "base/times.h"

enum { SHORTEST_AUTO = 250000, LONGEST_AUTO = 5000000, SLOT_POLL = 2000 };

struct pacing_host *pacing_find(struct pacing *p, struct tl_span host_port) {
    static const struct hash_key key = {0x74726f746c696e65, 0x706163696e67};
    uint64_t hash = hash_sip(&key, host_port.ptr, host_port.len);
    hash += hash == 0;
    size_t first = hash % PACING_HOSTS;
    for (size_t i = 0; i < 32; i++) {
        struct pacing_host *h = &p->host[(first + i) % PACING_HOSTS];
        uint64_t found = atomic_load_explicit(&h->hash, memory_order_acquire);
        if (found == 0 && atomic_compare_exchange_strong(&h->hash, &found, hash))
            return h;
        if (found == hash)
            return h;
    }
    return &p->host[first]; /* the table is crowded here: share */
}

static int64_t delay_of(const struct pacing_host *h, const struct pacing_rule *rule) {
    int64_t delay = rule->delay_us;
    if (delay < 0) {
        delay = atomic_load_explicit(&h->latency_us, memory_order_relaxed);
        if (atomic_load_explicit(&h->kind, memory_order_relaxed) == PACING_PUBLIC && delay < SHORTEST_AUTO)
            delay = SHORTEST_AUTO;
        if (delay > LONGEST_AUTO)
            delay = LONGEST_AUTO;
    }
    int64_t asked = atomic_load_explicit(&h->crawl_delay_us, memory_order_relaxed);
    return asked > delay ? asked : delay;
}

static int64_t in_flight(const struct pacing_host *h) {
    int64_t sum = 0;
    for (int i = 0; i < PACING_WORKERS; i++)
        sum += atomic_load_explicit(&h->in_flight[i], memory_order_relaxed);
    return sum;
}

int64_t pacing_start(struct pacing_host *h, int worker, const struct pacing_rule *rule, int64_t now_us) {
    int64_t until = atomic_load_explicit(&h->until_us, memory_order_relaxed);
    if (until > now_us)
        return until - now_us;
    atomic_fetch_add(&h->in_flight[worker], 1);
    bool first = rule->delay_us < 0 && atomic_load_explicit(&h->kind, memory_order_relaxed) == PACING_UNKNOWN;
    if (in_flight(h) > (first ? 1 : rule->per_host)) { /* what pace the host wants is known after one answer */
        atomic_fetch_sub(&h->in_flight[worker], 1);
        return SLOT_POLL;
    }
    int64_t delay = delay_of(h, rule), next = atomic_load(&h->next_us);
    for (;;) {
        if (next > now_us) {
            atomic_fetch_sub(&h->in_flight[worker], 1);
            return next - now_us;
        }
        if (delay == 0 || atomic_compare_exchange_weak(&h->next_us, &next, now_us + delay))
            return 0;
    }
}

static void hold_next(struct pacing_host *h, int64_t next_us) {
    int64_t now = atomic_load(&h->next_us);
    while (now < next_us && !atomic_compare_exchange_weak(&h->next_us, &now, next_us)) {
    }
}

void pacing_end(struct pacing_host *h, int worker, int64_t latency_us, bool private_address) {
    atomic_fetch_sub(&h->in_flight[worker], 1);
    if (latency_us < 0)
        return;
    atomic_store_explicit(&h->latency_us, latency_us, memory_order_relaxed);
    if (atomic_exchange(&h->kind, private_address ? PACING_PRIVATE : PACING_PUBLIC) == PACING_UNKNOWN && !private_address)
        hold_next(h, time_mono_us() - latency_us + (latency_us > SHORTEST_AUTO ? latency_us : SHORTEST_AUTO)); /* where delay is fixed, next_us only matters once */
}

void pacing_hold(struct pacing_host *h, int64_t until_us) {
    int64_t now = atomic_load(&h->until_us);
    while (now < until_us && !atomic_compare_exchange_weak(&h->until_us, &now, until_us)) {
    }
}

void pacing_crawl_delay(struct pacing_host *h, int64_t delay_us) {
    atomic_store_explicit(&h->crawl_delay_us, delay_us, memory_order_relaxed);
}

void pacing_forget_worker(struct pacing *p, int worker) {
    for (size_t i = 0; i < PACING_HOSTS; i++)
        atomic_store(&p->host[i].in_flight[worker], 0);
}

int64_t pacing_capacity(const struct pacing_host *h, const struct pacing_rule *rule, int64_t now_us, int64_t span_us, int64_t *until_us) {
    int64_t until = atomic_load_explicit(&h->until_us, memory_order_relaxed);
    *until_us = until > now_us ? until : 0;
    if (until > now_us + span_us)
        return 0;
    int64_t delay = delay_of(h, rule), latency = atomic_load_explicit(&h->latency_us, memory_order_relaxed);
    int64_t by_delay = delay > 0 ? span_us / delay + 1 : INT64_MAX;
    int64_t by_slots = latency > 1000 ? rule->per_host * (span_us / latency + 1) : (int64_t)rule->per_host * 2000;
    return by_delay < by_slots ? by_delay : by_slots;
}
