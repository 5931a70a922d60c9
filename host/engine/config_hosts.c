/* config_hosts.c - fetch.hosts: from what stands under a pattern, and under fetch, to the rule that holds for a host.
 *
 * Invariant: a rule is complete. What an entry does not say is as under `fetch`, wherever in the file that stands. */
#include <stdlib.h>

#include "base/mem.h"
#include "engine/config_schema.h"
#include "net/url.h"

int config_host_pattern(struct schema_reader *r, const struct yaml_node *key, const char **pattern) {
    AUTO_BUF struct buf text = BUF_INIT;
    if (url_host_pattern(&text, key->text) < 0 || !text.len)
        return yaml_fail(
            r->err, key,
            "'hosts' wants patterns such as example.org, \"*.example.org\" or example.org:8080, not '%.80s'",
            key->text);
    if (strcmp(text.data, "*") == 0 || strncmp(text.data, "*:", 2) == 0)
        return yaml_fail(r->err, key, "what holds for all hosts stands under 'fetch' itself, not under '%.80s'",
                         key->text);
    *pattern = arena_text(r->arena, text.data, text.len);
    return *pattern ? TL_OK : schema_no_memory(r, key);
}

/* What the entry leaves open. */
static void inherit(struct host_rule *rule, const struct host_rule *usual, const struct yaml_node *entry) {
    const struct yaml_node *tls = yaml_get(entry, "tls");
#define INHERIT(name, field)                                                                                           \
    if (!yaml_get(entry, name))                                                                                        \
    rule->field = usual->field
    INHERIT("timeout", timeout_us);
    INHERIT("max_body", max_body);
    INHERIT("retries", retries);
    INHERIT("per_host", per_host);
    INHERIT("delay", delay_us);
    INHERIT("robots", robots);
    INHERIT("http2", http2);
    INHERIT("proxy", proxy);
#undef INHERIT
    if (!tls || !yaml_get(tls, "ca"))
        rule->ca = usual->ca;
}

static int check_once(struct schema_reader *r, const struct host_rule *rule, size_t at, const struct yaml_node *entry) {
    for (size_t i = 0; i < at; i++)
        if (strcmp(rule[i].pattern, rule[at].pattern) == 0)
            return yaml_fail(r->err, entry->key, "'%.80s' is the same host as another entry of 'hosts'",
                             entry->key->text);
    return TL_OK;
}

int config_hosts(struct schema_reader *r, const struct yaml_node *root, struct config *out) {
    const struct yaml_node *fetch = yaml_get(root, "fetch"), *hosts = fetch ? yaml_get(fetch, "hosts") : NULL;
    const struct host_rule usual = {.timeout_us = out->fetch.timeout_us,
                                    .max_body = out->fetch.max_body,
                                    .retries = out->fetch.retries,
                                    .per_host = out->fetch.per_host,
                                    .delay_us = out->fetch.delay_us,
                                    .robots = out->fetch.robots,
                                    .http2 = out->fetch.http2,
                                    .verify = true,
                                    .proxy = out->fetch.proxy,
                                    .ca = out->fetch.ca};
    struct host_rule *rule = arena_alloc(r->arena, (out->fetch.host_count + 1) * sizeof *rule);
    size_t count = 0;
    if (!rule)
        return schema_no_memory(r, hosts);
    if (hosts)
        YAML_EACH(entry, hosts) {
            rule[count] = out->fetch.host[count];
            inherit(&rule[count], &usual, entry);
            int rc = check_once(r, rule, count, entry);
            if (rc)
                return rc;
            count++;
        }
    rule[count++] = usual;
    host_rules_sort(rule, count);
    out->fetch.rules = (struct host_rules){rule, count};
    return TL_OK;
}
