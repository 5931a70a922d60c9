/* pacing.c - see pacing.h. */
#include "net/pacing.h"

#include "base/hash.h"
#include "base/times.h"

enum { SHORTEST_AUTO = 250000, LONGEST_AUTO = 5000000, SLOT_POLL = 2000 };
enum { PENALTY_FIRST = 500000, PENALTY_MOST = 60000000, PENALTY_LEAST = 50000, PENALTY_PART = 8 };
enum { SLOW_TIMES = 4, SLOW_LEAST = 1000000, SLOW_SAMPLES = 8, MEAN_PART = 16 };

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

static void public_bits(struct tl_span host, uint64_t bit[2]) {
    static const struct hash_key key = {0x7075626c6963, 0x686f737473};
    uint64_t hash = hash_sip(&key, host.ptr, host.len);
    bit[0] = hash % (PACING_PUBLIC_WORDS * 64);
    bit[1] = (hash >> 32) % (PACING_PUBLIC_WORDS * 64);
}

void pacing_saw_public(struct pacing *p, struct tl_span host) {
    uint64_t bit[2];
    public_bits(host, bit);
    for (int i = 0; i < 2; i++)
        atomic_fetch_or(&p->was_public[bit[i] / 64], UINT64_C(1) << bit[i] % 64);
}

bool pacing_was_public(const struct pacing *p, struct tl_span host) {
    uint64_t bit[2];
    public_bits(host, bit);
    return atomic_load(&p->was_public[bit[0] / 64]) >> bit[0] % 64 & 1 &&
           atomic_load(&p->was_public[bit[1] / 64]) >> bit[1] % 64 & 1;
}

static int64_t read_us(const _Atomic int64_t *at) {
    return atomic_load_explicit(at, memory_order_relaxed);
}

int64_t pacing_delay(const struct pacing_host *h, const struct pacing_rule *rule) {
    int64_t delay = rule->delay_us;
    if (delay < 0) {
        delay = read_us(&h->latency_us);
        if (atomic_load_explicit(&h->kind, memory_order_relaxed) == PACING_PUBLIC && delay < SHORTEST_AUTO)
            delay = SHORTEST_AUTO;
        if (delay > LONGEST_AUTO)
            delay = LONGEST_AUTO;
    }
    int64_t asked = read_us(&h->crawl_delay_us), earned = read_us(&h->penalty_us);
    delay = asked > delay ? asked : delay;
    return earned > delay ? earned : delay;
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
    int64_t delay = pacing_delay(h, rule), next = atomic_load(&h->next_us);
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

/* Doubles the delay, up to `most`; once for all answers to what was under way together. */
static void slow_down(struct pacing_host *h, const struct pacing_rule *rule, int64_t started_us, int64_t now_us,
                      int64_t most) {
    int64_t pushed = atomic_load(&h->pushed_us), delay = 2 * pacing_delay(h, rule), now = atomic_load(&h->penalty_us);
    if (started_us < pushed || !atomic_compare_exchange_strong(&h->pushed_us, &pushed, now_us))
        return;
    delay = delay < PENALTY_FIRST ? PENALTY_FIRST : delay > most ? most : delay;
    if (delay > now)
        atomic_store(&h->penalty_us, delay);
    hold_next(h, now_us + pacing_delay(h, rule));
}

static void recover(struct pacing_host *h) {
    int64_t now = atomic_load(&h->penalty_us), next = now - now / PENALTY_PART;
    if (now > 0)
        atomic_compare_exchange_strong(&h->penalty_us, &now, next < PENALTY_LEAST ? 0 : next);
}

/* Does this answer take several times as long as they do? Counts it in. */
static bool is_slow(struct pacing_host *h, int64_t first_byte_us) {
    int64_t mean = read_us(&h->mean_us);
    int n = atomic_fetch_add_explicit(&h->samples, 1, memory_order_relaxed);
    int part = n < MEAN_PART ? n + 1 : MEAN_PART;
    atomic_store_explicit(&h->mean_us, mean + (first_byte_us - mean) / part, memory_order_relaxed);
    if (n >= 1 << 30)
        atomic_store_explicit(&h->samples, MEAN_PART, memory_order_relaxed);
    return n >= SLOW_SAMPLES && first_byte_us > SLOW_LEAST && first_byte_us > SLOW_TIMES * mean;
}

void pacing_end(struct pacing_host *h, int worker, const struct pacing_rule *rule, const struct pacing_seen *seen,
                int64_t now_us) {
    int64_t total = seen->total_us;
    atomic_fetch_sub(&h->in_flight[worker], 1);
    if (total < 0)
        return;
    atomic_store_explicit(&h->latency_us, total, memory_order_relaxed);
    if (atomic_exchange(&h->kind, seen->private_address ? PACING_PRIVATE : PACING_PUBLIC) == PACING_UNKNOWN &&
        !seen->private_address)
        hold_next(h, now_us - total +
                         (total > SHORTEST_AUTO ? total
                                                : SHORTEST_AUTO)); /* where delay is fixed, next_us only matters once */
    if (seen->verdict == PACING_PUSHED_BACK)
        slow_down(h, rule, now_us - total, now_us, PENALTY_MOST);
    else if (is_slow(h, seen->first_byte_us))
        slow_down(h, rule, now_us - total, now_us, LONGEST_AUTO);
    else if (seen->verdict == PACING_GOOD)
        recover(h);
}

void pacing_hold(struct pacing_host *h, int64_t until_us) {
    int64_t now = atomic_load(&h->until_us);
    while (now < until_us && !atomic_compare_exchange_weak(&h->until_us, &now, until_us)) {
    }
}

void pacing_crawl_delay(struct pacing_host *h, int64_t delay_us) {
    atomic_store_explicit(&h->crawl_delay_us, delay_us < PACING_CRAWL_DELAY_MAX ? delay_us : PACING_CRAWL_DELAY_MAX,
                          memory_order_relaxed);
}

int64_t pacing_held(const struct pacing_host *h, int64_t now_us) {
    int64_t until = read_us(&h->until_us);
    return until > now_us ? until - now_us : 0;
}

void pacing_forget_worker(struct pacing *p, int worker) {
    for (size_t i = 0; i < PACING_HOSTS; i++)
        atomic_store(&p->host[i].in_flight[worker], 0);
}

int64_t pacing_pause(const struct pacing_host *h, int64_t now_us) {
    int64_t next = read_us(&h->next_us), held = pacing_held(h, now_us);
    return next - now_us > held ? next - now_us : held;
}

int64_t pacing_capacity(const struct pacing_host *h, const struct pacing_rule *rule, int64_t now_us, int64_t span_us,
                        int64_t *until_us) {
    int64_t until = read_us(&h->until_us), next = read_us(&h->next_us);
    until = next > until ? next : until;
    *until_us = until > now_us ? until : 0;
    if (until > now_us + span_us)
        return 0;
    int64_t delay = pacing_delay(h, rule), latency = read_us(&h->latency_us);
    int64_t by_delay = delay > 0 ? span_us / delay + 1 : INT64_MAX;
    int64_t by_slots = latency > 1000 ? rule->per_host * (span_us / latency + 1) : (int64_t)rule->per_host * 2000;
    return by_delay < by_slots ? by_delay : by_slots;
}
