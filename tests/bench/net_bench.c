/* net_bench.c - what reading costs: bytes of HTML, references, URLs and verdicts of robots.txt a second of one core.
 *
 *   net_bench [FILE...]
 *
 * FILEs: HTML to scan, real pages preferably; without them, one that is made here. Prints a line for each: the best of
 * some rounds by the process's clock. robots.txt: those of tests/data/robots/real (TROTLINE_TEST_DATA), each asked for
 * as many paths. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/mem.h"
#include "net/html.h"
#include "net/robots.h"
#include "net/url.h"

enum { ROUNDS = 7, PAGES_MOST = 20000, FILES_MOST = 200 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The most a second of several rounds: what disturbs only ever slows down. */
static double best(double (*round)(void *ctx), void *ctx) {
    double most = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double begun = seconds(), work = round(ctx), rate = work / (seconds() - begun);
        most = rate > most ? rate : most;
    }
    return most;
}

static void say(const char *what, double rate, const char *unit, const char *about) {
    printf("%-34s %10.1f %s%s\n", what, rate, unit, about);
}

static void read_file(const char *path, struct buf *out) {
    char block[65536];
    size_t n;
    AUTO_FCLOSE FILE *f = fopen(path, "re");
    while (f && (n = fread(block, 1, sizeof block, f)) > 0)
        buf_add(out, block, n);
}

/* ---- pages */

struct pages {
    struct buf *page;
    size_t count;
    bool text;
};

static void make_page(struct buf *out) {
    buf_lit(out, "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Made to be read</title>"
                 "<link rel=\"stylesheet\" href=\"/style.css\"></head><body>\n");
    for (int i = 0; i < 100; i++)
        buf_printf(out,
                   "<h2 id=\"part-%d\">Part %d &amp; what it says</h2>\n<p class=\"body\">Of kayaks and rivers: the "
                   "water is high in spring, and <em>low</em> from July to October. Whoever sets out then should know "
                   "where the next landing is; see <a class=\"reference internal\" href=\"part-%d.html#landing\" "
                   "title=\"Landing\">the list of landings</a>. </p>\n<pre>high = level(%d) &lt; 12</pre>\n",
                   i, i, i, i);
    buf_lit(out, "</body></html>\n");
}

static double scan_round(void *ctx) {
    static struct html_page page;
    const struct pages *p = ctx;
    const struct html_options options = {.no_text = !p->text};
    double bytes = 0;
    while (bytes < 6e7)
        for (size_t i = 0; i < p->count; i++) {
            struct arena arena = ARENA_INIT;
            html_scan(&arena, buf_span(&p->page[i]), &options, &page);
            arena_free(&arena);
            bytes += (double)p->page[i].len;
        }
    return bytes / 1e6;
}

static void bench_pages(int argc, char **argv) {
    struct pages p = {.page = mem_array(NULL, PAGES_MOST, sizeof(struct buf))};
    size_t bytes = 0;
    char about[100];
    memset(p.page, 0, PAGES_MOST * sizeof *p.page);
    for (int i = 1; i < argc && p.count < PAGES_MOST; i++) {
        read_file(argv[i], &p.page[p.count]);
        p.count += p.page[p.count].len > 0;
    }
    if (!p.count)
        make_page(&p.page[p.count++]);
    for (size_t i = 0; i < p.count; i++)
        bytes += p.page[i].len;
    snprintf(about, sizeof about, "  (%zu %s, %.1f MB)", p.count, argc > 1 ? "pages" : "page made here",
             (double)bytes / 1e6);
    say("HTML, links", best(scan_round, &p), "MB/s", about);
    p.text = true;
    say("HTML, links and readable text", best(scan_round, &p), "MB/s", about);
}

/* ---- URLs */

static const char *const references[] = {"index.html", "../guide/start.html", "/a/b/c.html", "page-17.html#part",
                                         "?page=2",    "images/launch.png",   "#top",        "../../index.html"};
static const char *const urls[] = {
    "https://www.example.org/",
    "https://docs.example.org/3/library/asyncio-task.html#coroutines",
    "http://example.com:8080/a/b/../c?q=one+two&r=3",
    "https://en.example.net/wiki/Kayak_(disambiguation)?action=edit&section=2",
    "HTTPS://WWW.EXAMPLE.ORG/Path/%7Euser/index.php?id=12345&lang=en",
    "https://cdn.example.org/assets/v2.13.0/js/main.min.js?v=20260101",
};

static double resolve_round(void *ctx) {
    static struct buf own, href;
    struct url base, u;
    double n = 0;
    (void)ctx;
    url_parse(&own, span_of("https://docs.example.org/3/library/reference/index.html"), NULL, &base);
    for (int i = 0; i < 200000; i++)
        for (size_t k = 0; k < COUNT_OF(references); k++, n++)
            url_resolve(&href, &base, span_of(references[k]), true, &u);
    return n / 1e6;
}

static double parse_round(void *ctx) {
    static struct buf href;
    struct url u;
    double n = 0;
    (void)ctx;
    for (int i = 0; i < 100000; i++)
        for (size_t k = 0; k < COUNT_OF(urls); k++, n++)
            url_parse(&href, span_of(urls[k]), NULL, &u);
    return n / 1e6;
}

/* ---- robots.txt */

struct rules {
    struct robots *file[FILES_MOST];
    size_t count;
};

static double verdict_round(void *ctx) {
    static const char *const paths[] = {"/",
                                        "/index.html",
                                        "/products/kayaks/sea-kayak-17.html",
                                        "/search?q=paddle&page=2",
                                        "/wp-content/uploads/2026/01/launch.jpg",
                                        "/en/news/2026/november/thirty"};
    const struct rules *r = ctx;
    double n = 0, allowed = 0;
    while (n < 300000)
        for (size_t i = 0; i < r->count; i++)
            for (size_t k = 0; k < COUNT_OF(paths); k++, n++)
                allowed += robots_allowed(r->file[i], span_of(paths[k]));
    if (allowed == 0)
        printf("no path is allowed anywhere\n");
    return n / 1e6;
}

static void bench_robots(void) {
    const char *data = getenv("TROTLINE_TEST_DATA");
    AUTO_BUF struct buf folder = BUF_INIT;
    struct rules r = {.count = 0};
    char about[60];
    buf_printf(&folder, "%s/robots/real", data ? data : "tests/data");
    DIR *d = opendir(folder.data);
    for (struct dirent *e; d && r.count < FILES_MOST && (e = readdir(d));) {
        AUTO_BUF struct buf path = BUF_INIT, text = BUF_INIT;
        buf_printf(&path, "%s/%s", folder.data, e->d_name);
        if (e->d_name[0] != '.')
            read_file(path.data, &text);
        if (text.len && robots_parse(buf_span(&text), "trotline", &r.file[r.count]) == TL_OK)
            r.count++;
    }
    if (d)
        closedir(d);
    if (!r.count)
        return;
    snprintf(about, sizeof about, "  (%zu files)", r.count);
    say("robots.txt, verdicts", best(verdict_round, &r), "M/s", about);
}

int main(int argc, char **argv) {
    bench_pages(argc, argv);
    say("URLs, plain references resolved", best(resolve_round, NULL), "M/s", "");
    say("URLs, parsed in full", best(parse_round, NULL), "M/s", "");
    bench_robots();
    return 0;
}
