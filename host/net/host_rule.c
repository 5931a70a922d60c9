/* host_rule.c - see host_rule.h. */
#include "net/host_rule.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "net/url.h"

struct specificity {
    bool exact, port;
    size_t len;
};

static struct specificity measure(const char *pattern) {
    const char *colon = strrchr(pattern, ':'), *bracket = strrchr(pattern, ']');
    bool port = colon && (!bracket || colon > bracket);
    return (struct specificity){strncmp(pattern, "*.", 2) != 0, port,
                                port ? (size_t)(colon - pattern) : strlen(pattern)};
}

static int compare(const void *a, const void *b) {
    const struct host_rule *one = a, *two = b;
    if (!one->pattern || !two->pattern)
        return !one->pattern - !two->pattern;
    const struct specificity x = measure(one->pattern), y = measure(two->pattern);
    if (x.exact != y.exact)
        return y.exact - x.exact;
    if (x.len != y.len)
        return x.len < y.len ? 1 : -1;
    return x.port != y.port ? y.port - x.port : strcmp(one->pattern, two->pattern);
}

void host_rules_sort(struct host_rule *item, size_t count) {
    qsort(item, count, sizeof *item, compare);
}

const struct host_rule *host_rule_find(const struct host_rules *rules, struct tl_span host, int port) {
    size_t i = 0;
    while (i + 1 < rules->count && !url_host_matches(rules->item[i].pattern, host, port))
        i++;
    return &rules->item[i];
}

const struct host_rule *host_rule_named(const struct host_rules *rules, struct tl_span host_port) {
    const char *colon = memrchr(host_port.ptr, ':', host_port.len);
    size_t len = colon ? (size_t)(colon - host_port.ptr) : host_port.len;
    int port = 0;
    for (size_t i = len + 1; i < host_port.len && i < len + 6; i++)
        port = port * 10 + (host_port.ptr[i] - '0');
    return host_rule_find(rules, (struct tl_span){host_port.ptr, len}, port);
}

int host_rules_most_at_once(const struct host_rules *rules) {
    int64_t most = 1;
    for (size_t i = 0; i < rules->count; i++)
        most = rules->item[i].per_host > most ? rules->item[i].per_host : most;
    return (int)most;
}
