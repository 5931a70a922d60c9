/* fixture.c - an HTTP/1.1 server for tests, the demo and benchmarks that misbehaves on cue: its command line.
 *
 * Invariant: the port is announced (stdout, --port-file) only when connections are taken; it listens on loopback
 * addresses only. */
#include "fixture.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"

static const char *const usage =
    "usage: fixture [--port N] [--port-file FILE] [--log FILE] [--address A]... [--any-local] [--stdin-bound]\n"
    "               [--script FILE] [--site tree|linked|graph SITE-OPTIONS]\n"
    "  tree:   --arity 4 --depth 3 --filler 0\n"
    "  linked: --pages 240 --seed 1 --edition 0\n"
    "  graph:  --nodes 20000 (0: endless) --kids 8 --cross 4 --bytes 4096\n"
    "  all:    --delay MS\n"
    "Prints its port; /__stats, /__stats?brief, /__reset and /__open/GATE control it. README.md has the language of "
    "scripts.\n";

struct options {
    unsigned port;
    const char *port_file, *log, *script;
    const char *addresses[LISTENERS_MAX];
    size_t address_count;
    bool stdin_bound;
    int listeners[LISTENERS_MAX];
    struct site site;
};

static int bad(const char *what, const char *about) {
    fprintf(stderr, "fixture: %s: %s\n%s", what, about, usage);
    return TL_INVALID;
}

static int add_address(struct options *o, const char *address) {
    if (o->address_count == LISTENERS_MAX)
        return bad("too many addresses", address);
    o->addresses[o->address_count++] = address;
    return TL_OK;
}

static int add_local(struct options *o) {
    static const char *const more[] = {"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5",
                                       "127.0.0.6", "127.0.0.7", "127.0.0.8"};
    int rc = TL_OK;
    for (size_t i = 0; rc == TL_OK && i < COUNT_OF(more); i++)
        rc = add_address(o, more[i]);
    return rc;
}

static int choose_site(struct site *s, const char *name) {
    static const char *const names[] = {[SITE_TREE] = "tree", [SITE_LINKED] = "linked", [SITE_GRAPH] = "graph"};
    for (size_t i = 1; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0) {
            s->kind = (int)i;
            return TL_OK;
        }
    return bad("no such site", name);
}

enum { PORT = 1, PORT_FILE, LOG, ADDRESS, ANY_LOCAL, STDIN_BOUND, SCRIPT, SITE, DELAY, HELP, NUMBERS };
static const struct option long_options[] = {
    {"port", 1, NULL, PORT},           {"port-file", 1, NULL, PORT_FILE}, {"log", 1, NULL, LOG},
    {"address", 1, NULL, ADDRESS},     {"any-local", 0, NULL, ANY_LOCAL}, {"stdin-bound", 0, NULL, STDIN_BOUND},
    {"script", 1, NULL, SCRIPT},       {"site", 1, NULL, SITE},           {"delay", 1, NULL, DELAY},
    {"help", 0, NULL, HELP},           {"arity", 1, NULL, NUMBERS},       {"depth", 1, NULL, NUMBERS + 1},
    {"filler", 1, NULL, NUMBERS + 2},  {"pages", 1, NULL, NUMBERS + 3},   {"seed", 1, NULL, NUMBERS + 4},
    {"edition", 1, NULL, NUMBERS + 5}, {"nodes", 1, NULL, NUMBERS + 6},   {"kids", 1, NULL, NUMBERS + 7},
    {"cross", 1, NULL, NUMBERS + 8},   {"bytes", 1, NULL, NUMBERS + 9},   {NULL, 0, NULL, 0},
};

static int take_option(struct options *o, int option, const char *value) {
    struct site *s = &o->site;
    uint64_t *const numbers[] = {&s->arity,   &s->depth, &s->filler, &s->pages, &s->seed,
                                 &s->edition, &s->nodes, &s->kids,   &s->cross, &s->bytes};
    uint64_t n = 0;
    bool numeric = option == PORT || option == DELAY || option >= NUMBERS;
    if (numeric && script_number(value, option == PORT ? 65535 : (uint64_t)1 << 48, &n) < 0)
        return bad("not a number, or too large", value);
    switch (option) {
    case PORT:
        o->port = (unsigned)n;
        return TL_OK;
    case PORT_FILE:
        o->port_file = value;
        return TL_OK;
    case LOG:
        o->log = value;
        return TL_OK;
    case ADDRESS:
        return add_address(o, value);
    case ANY_LOCAL:
        return add_local(o);
    case STDIN_BOUND:
        o->stdin_bound = true;
        return TL_OK;
    case SCRIPT:
        o->script = value;
        return TL_OK;
    case SITE:
        return choose_site(s, value);
    case DELAY:
        s->delay_us = n * 1000;
        return TL_OK;
    default:
        *numbers[option - NUMBERS] = n;
        return TL_OK;
    }
}

/* Under another name first, so that whoever waits for the file never reads half a number. */
static int write_port(const char *file, unsigned port) {
    AUTO_BUF struct buf draft = BUF_INIT;
    buf_printf(&draft, "%s.%ld", file, (long)getpid());
    FILE *f = fopen(draft.data, "wxe");
    if (!f)
        return TL_FAILED;
    bool ok = fprintf(f, "%u\n", port) > 0;
    ok = fclose(f) == 0 && ok;
    if (ok && rename(draft.data, file) == 0)
        return TL_OK;
    unlink(draft.data);
    return TL_FAILED;
}

static void more_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int start(struct options *o) {
    const char *why;
    unsigned port;
    if (site_prepare(&o->site, &why) < 0)
        return bad(why, "the site cannot be made");
    if (!o->script && o->site.kind == SITE_NONE)
        return bad("nothing to serve", "give --site or --script");
    if (o->script && script_load(o->script) < 0)
        return TL_INVALID;
    if (o->log && stats_log_open(o->log) < 0) {
        fprintf(stderr, "fixture: cannot append to %s: %m\n", o->log);
        return TL_FAILED;
    }
    if (listen_all(o->addresses, o->address_count, o->port, o->listeners, &port) < 0) {
        fprintf(stderr, "fixture: cannot listen on port %u of loopback addresses only: %m\n", o->port);
        return TL_FAILED;
    }
    if (o->port_file && write_port(o->port_file, port) < 0) {
        fprintf(stderr, "fixture: cannot write %s: %m\n", o->port_file);
        return TL_FAILED;
    }
    printf("%u\n", port);
    fflush(stdout);
    return TL_OK;
}

int main(int argc, char **argv) {
    struct options o = {.addresses = {"127.0.0.1"}, .address_count = 1};
    o.site = (struct site){.arity = 4, .depth = 3, .pages = 240, .seed = 1};
    o.site.nodes = 20000, o.site.kids = 8, o.site.cross = 4, o.site.bytes = 4096;
    int option;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == HELP) {
            fputs(usage, stdout);
            return 0;
        }
        if (option == '?' || take_option(&o, option, optarg) < 0)
            return 2;
    }
    if (optind < argc) {
        bad("unexpected", argv[optind]);
        return 2;
    }
    more_files();
    int rc = start(&o);
    if (rc < 0)
        return rc == TL_INVALID ? 2 : 1;
    if (o.stdin_bound)
        conn_watch_stdin();
    conn_serve(&o.site, o.listeners, o.address_count);
    return 0;
}
