/* pacing_test.c - slots and start times of a host: how many at once, how far apart, what a dead worker leaves behind,
 * and how the delay follows what the host says. */
#include "net/pacing.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

enum { MS = 1000, S = 1000000 };
static const int64_t T = 1000 * (int64_t)S; /* now */

static struct pacing *table(void) {
    struct pacing *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static void done(struct pacing *p) {
    munmap(p, sizeof *p);
}

/* An answer after `ms` that came at `now`. */
static void end(struct pacing_host *h, int worker, const struct pacing_rule *rule, int64_t ms, bool private,
                enum pacing_verdict v, int64_t now) {
    const struct pacing_seen seen = {ms < 0 ? -1 : ms * MS, ms * MS, private, v};
    pacing_end(h, worker, rule, &seen, now);
}

static void hosts_have_rows(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *a = pacing_find(p, span_of("a.example:80"));
    assert_ptr_equal(pacing_find(p, span_of("a.example:80")), a);
    assert_ptr_not_equal(pacing_find(p, span_of("a.example:443")), a);
    char name[40];
    for (int i = 0; i < 3 * PACING_HOSTS; i++) { /* more than there are rows: they share, nobody is turned away */
        snprintf(name, sizeof name, "h%d.example:80", i);
        struct pacing_host *h = pacing_find(p, span_of(name));
        assert_non_null(h);
        assert_true(h >= p->host && h < p->host + PACING_HOSTS);
    }
    assert_ptr_equal(pacing_find(p, span_of("a.example:80")), a);
    done(p);
}

static void slots(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule rule = {3, 0};
    assert_int_equal(pacing_start(h, 0, &rule, T), 0);
    assert_int_equal(pacing_start(h, 1, &rule, T), 0);
    assert_int_equal(pacing_start(h, 0, &rule, T), 0);
    assert_true(pacing_start(h, 2, &rule, T) > 0); /* three under way, whichever worker has them */
    end(h, 1, &rule, 5, true, PACING_GOOD, T);
    assert_int_equal(pacing_start(h, 2, &rule, T), 0);
    assert_true(pacing_start(h, 1, &rule, T) > 0);
    pacing_forget_worker(p, 0); /* it died with two of them */
    assert_int_equal(pacing_start(h, 1, &rule, T), 0);
    assert_int_equal(pacing_start(h, 1, &rule, T), 0);
    assert_true(pacing_start(h, 1, &rule, T) > 0);
    done(p);
}

static void a_dead_process_gives_its_slot_back(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule rule = {1, 0};
    pid_t child = fork();
    if (child == 0) {
        pacing_start(h, 7, &rule, T);
        _exit(9); /* without a word */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(pacing_start(h, 0, &rule, T) > 0);
    pacing_forget_worker(p, 7);
    assert_int_equal(pacing_start(h, 0, &rule, T), 0);
    done(p);
}

static void starts_are_apart(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule rule = {100, 200 * MS};
    assert_int_equal(pacing_start(h, 0, &rule, T), 0);
    assert_int_equal(pacing_start(h, 1, &rule, T), 200 * MS);
    assert_int_equal(pacing_start(h, 1, &rule, T + 150 * MS), 50 * MS);
    assert_int_equal(pacing_start(h, 1, &rule, T + 200 * MS), 0);
    assert_int_equal(pacing_start(h, 0, &rule, T + 201 * MS), 199 * MS);
    assert_int_equal(pacing_start(h, 0, &rule, T + 10 * S), 0); /* what was not used is not saved up */
    assert_int_equal(pacing_start(h, 0, &rule, T + 10 * S), 200 * MS);
    done(p);
}

/* Two processes that start as often as they may, within one second of the table's time. */
static void never_more_often_together(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule rule = {1000, 10 * MS};
    int counts[2][2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(counts[i]), 0);
        if (fork() == 0) {
            int n = 0;
            for (int64_t t = T; t < T + S; t += 500)
                n += pacing_start(h, i, &rule, t) == 0;
            _exit(write(counts[i][1], &n, sizeof n) == sizeof n ? 0 : 1);
        }
    }
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        int n = 0;
        assert_int_equal(read(counts[i][0], &n, sizeof n), sizeof n);
        sum += n;
        wait(NULL);
    }
    assert_in_range(sum, 1, 100); /* 1 s at 10 ms */
    done(p);
}

static void automatic_delay(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("public:80")), *own = pacing_find(p, span_of("private:80"));
    const struct pacing_rule rule = {4, -1};
    assert_int_equal(pacing_start(h, 0, &rule, T), 0);
    assert_true(pacing_start(h, 0, &rule, T) > 0); /* what it is like is known after one answer */
    end(h, 0, &rule, 40, false, PACING_GOOD, T + 40 * MS);
    assert_int_equal(pacing_delay(h, &rule), 250 * MS);
    assert_int_equal(pacing_start(h, 0, &rule, T + 40 * MS), 210 * MS); /* from start to start */
    assert_int_equal(pacing_start(h, 0, &rule, T + 250 * MS), 0);
    end(h, 0, &rule, 900, false, PACING_GOOD, T + 1150 * MS);
    assert_int_equal(pacing_delay(h, &rule), 900 * MS);
    assert_int_equal(pacing_start(h, 0, &rule, T + 5 * S), 0);
    end(h, 0, &rule, 20000, false, PACING_GOOD, T + 25 * S);
    assert_int_equal(pacing_delay(h, &rule), 5 * S);
    assert_int_equal(pacing_start(own, 0, &rule, T), 0);
    end(own, 0, &rule, 3, true, PACING_GOOD, T + 3 * MS);
    assert_int_equal(pacing_delay(own, &rule), 3 * MS);
    done(p);
}

static void crawl_delay_and_holds_only_lengthen(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule fast = {10, 0}, slow = {10, 9 * S};
    int64_t until;
    pacing_crawl_delay(h, 4 * S);
    assert_int_equal(pacing_delay(h, &fast), 4 * S);
    assert_int_equal(pacing_delay(h, &slow), 9 * S);
    pacing_crawl_delay(h, 86400 * (int64_t)S);
    assert_int_equal(pacing_delay(h, &fast), PACING_CRAWL_DELAY_MAX);
    pacing_crawl_delay(h, 0);
    pacing_hold(h, T + 60 * S);
    pacing_hold(h, T + 10 * S); /* the longer one stands */
    assert_int_equal(pacing_held(h, T), 60 * S);
    assert_int_equal(pacing_start(h, 0, &fast, T + 20 * S), 40 * S);
    assert_int_equal(pacing_capacity(h, &fast, T + 20 * S, 2 * S, &until), 0);
    assert_int_equal(until, T + 60 * S);
    assert_true(pacing_capacity(h, &fast, T + 59 * S, 2 * S, &until) > 0);
    assert_int_equal(pacing_start(h, 0, &fast, T + 60 * S), 0);
    assert_int_equal(pacing_held(h, T + 60 * S), 0);
    done(p);
}

static void nothing_is_claimed_for_a_start_far_ahead(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule rule = {10, 20 * S};
    int64_t until;
    assert_int_equal(pacing_start(h, 0, &rule, T), 0);
    assert_int_equal(pacing_capacity(h, &rule, T, 2 * S, &until), 0);
    assert_int_equal(until, T + 20 * S);
    assert_int_equal(pacing_capacity(h, &rule, T + 19 * S, 2 * S, &until), 1);
    done(p);
}

/* Starts and ends a request of 10 ms; the time after it. */
static int64_t once(struct pacing_host *h, const struct pacing_rule *rule, enum pacing_verdict v, int64_t now) {
    now += pacing_pause(h, now);
    assert_int_equal(pacing_start(h, 0, rule, now), 0);
    now += 10 * MS;
    end(h, 0, rule, 10, true, v, now);
    return now;
}

static void a_push_back_doubles_the_delay(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule rule = {4, 0};
    static const int64_t want[] = {500 * MS, S, 2 * S, 4 * S, 8 * S, 16 * S, 32 * S, 60 * S, 60 * S};
    int64_t now = once(h, &rule, PACING_GOOD, T);
    assert_int_equal(pacing_delay(h, &rule), 0);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        now = once(h, &rule, PACING_PUSHED_BACK, now);
        assert_int_equal(pacing_delay(h, &rule), want[i]);
        assert_int_equal(pacing_pause(h, now), want[i]); /* and the next one waits for it */
    }
    now = once(h, &rule, PACING_NEUTRAL, now);
    assert_int_equal(pacing_delay(h, &rule), 60 * S); /* an answer of 500 says nothing */
    now = once(h, &rule, PACING_GOOD, now);
    assert_int_equal(pacing_delay(h, &rule), 52500 * MS);
    now = once(h, &rule, PACING_GOOD, now);
    assert_int_equal(pacing_delay(h, &rule), 45937500);
    int good = 2;
    for (; pacing_delay(h, &rule) > 0; good++)
        now = once(h, &rule, PACING_GOOD, now);
    assert_in_range(good, 40, 70); /* slowly, and to the end */
    done(p);
}

static void one_burst_is_one_push_back(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule rule = {8, 0};
    for (int i = 0; i < 8; i++)
        assert_int_equal(pacing_start(h, 0, &rule, T), 0);
    for (int i = 0; i < 8; i++)
        end(h, 0, &rule, 10, true, PACING_PUSHED_BACK, T + (10 + i) * MS - (i ? MS / 2 : 0));
    assert_int_equal(pacing_delay(h, &rule), 500 * MS);
    done(p);
}

static void a_fixed_delay_is_what_is_doubled(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule rule = {4, 3 * S};
    int64_t now = once(h, &rule, PACING_PUSHED_BACK, T);
    assert_int_equal(pacing_delay(h, &rule), 6 * S);
    for (int i = 0; i < 100; i++)
        now = once(h, &rule, PACING_GOOD, now);
    assert_int_equal(pacing_delay(h, &rule), 3 * S); /* never faster than configured */
    done(p);
}

static void a_host_that_grows_slow_is_asked_less(void **state) {
    (void)state;
    struct pacing *p = table();
    struct pacing_host *h = pacing_find(p, span_of("a:80"));
    const struct pacing_rule rule = {4, 0};
    int64_t now = T;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(pacing_start(h, 0, &rule, now), 0);
        end(h, 0, &rule, 200, true, PACING_GOOD, now += 200 * MS);
    }
    assert_int_equal(pacing_start(h, 0, &rule, now), 0);
    end(h, 0, &rule, 700, true, PACING_GOOD, now += 700 * MS);
    assert_int_equal(pacing_delay(h, &rule), 0); /* more than usual, but not much */
    assert_int_equal(pacing_start(h, 0, &rule, now), 0);
    end(h, 0, &rule, 3000, true, PACING_GOOD, now += 3 * S);
    assert_int_equal(pacing_delay(h, &rule), 500 * MS);
    for (int i = 0; i < 10; i++) {
        now += pacing_pause(h, now);
        assert_int_equal(pacing_start(h, 0, &rule, now), 0);
        end(h, 0, &rule, 30000, true, PACING_GOOD, now += 30 * S);
        assert_true(pacing_delay(h, &rule) <= 5 * S); /* slow is not the same as unwilling */
    }
    done(p);
}

static void who_was_public_stays_known(void **state) {
    (void)state;
    struct pacing *p = table();
    char name[32];
    int taken_for_another = 0;
    assert_false(pacing_was_public(p, span_of("a.example")));
    pacing_saw_public(p, span_of("a.example"));
    assert_true(pacing_was_public(p, span_of("a.example")));
    assert_false(pacing_was_public(p, span_of("b.example")));
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "h%d.example", i);
        pacing_saw_public(p, span_of(name));
    }
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "h%d.example", i);
        assert_true(pacing_was_public(p, span_of(name)));
        snprintf(name, sizeof name, "other%d.example", i);
        taken_for_another += pacing_was_public(p, span_of(name));
    }
    assert_in_range(taken_for_another, 0, 30);
    done(p);
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_have_rows),
        cmocka_unit_test(slots),
        cmocka_unit_test(a_dead_process_gives_its_slot_back),
        cmocka_unit_test(starts_are_apart),
        cmocka_unit_test(never_more_often_together),
        cmocka_unit_test(automatic_delay),
        cmocka_unit_test(crawl_delay_and_holds_only_lengthen),
        cmocka_unit_test(nothing_is_claimed_for_a_start_far_ahead),
        cmocka_unit_test(a_push_back_doubles_the_delay),
        cmocka_unit_test(one_burst_is_one_push_back),
        cmocka_unit_test(a_fixed_delay_is_what_is_doubled),
        cmocka_unit_test(a_host_that_grows_slow_is_asked_less),
        cmocka_unit_test(who_was_public_stays_known),
    };
    return cmocka_run_group_tests_name("pacing", tests, NULL, NULL);
}
