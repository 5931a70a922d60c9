/* host_rule.h - how one host is to be asked: its pace, its bounds, who it must prove to be, and who we are to it.
 *
 * Invariant: of the rules whose pattern matches, the most specific alone holds, whole: rules do not add up. The last
 * rule of a set has no pattern and is for all hosts that no other names, so that there always is one. */
#ifndef TROTLINE_NET_HOST_RULE_H
#define TROTLINE_NET_HOST_RULE_H
#include <stdbool.h>
#include <stdint.h>

#include "net/pacing.h"

struct host_rule {
    const char *pattern; /* as url_host_pattern has it; NULL: all other hosts */
    int64_t timeout_us, max_body, retries, per_host;
    int64_t delay_us; /* -1: auto */
    bool robots, http2;
    bool verify;                         /* certificates */
    const char *proxy, *ca, *cert, *key; /* NULL: none; the last three are files in PEM form */
};
struct host_rules {
    const struct host_rule *item; /* in the order of host_rules_sort */
    size_t count;
};

/* The most specific pattern first: a name before "*.name", a longer name before a shorter one, one with a port before
 * the same without. */
void host_rules_sort(struct host_rule *item, size_t count);
const struct host_rule *host_rule_find(const struct host_rules *rules, struct tl_span host, int port);
const struct host_rule *host_rule_named(const struct host_rules *rules, struct tl_span host_port); /* "host:port" */
int host_rules_most_at_once(const struct host_rules *rules); /* the largest per_host */
static inline struct pacing_rule host_rule_pacing(const struct host_rule *rule) {
    return (struct pacing_rule){(int)rule->per_host, rule->delay_us};
}
#endif
