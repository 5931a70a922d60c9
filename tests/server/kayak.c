/* kayak.c - the linked site: a believable web site about kayak trails, for the demo.
 *
 * Invariant: exactly `pages` HTML pages answer 200 and can be reached from / without touching /private/; everything is
 * made from the seed, so the same options give the same bytes. README.md lists what else is there, and what is wrong
 * with it on purpose. */
#include "fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kayak_words.h"

#define HTML "text/html; charset=utf-8"
enum kind { HOME, ABOUT, SPANISH, FLAKY, INDEX, TRAIL, GEAR, PERSON, REPORT };
struct page {
    enum kind kind;
    int section; /* of sections[] */
    char *path, *title;
    const char *subject; /* what its text is about */
};
static const struct {
    const char *path, *name;
    enum kind kind;
    unsigned share; /* percent of the pages */
} sections[] = {{"/trails/", "Rivers and trails", TRAIL, 40},
                {"/gear/", "Gear", GEAR, 15},
                {"/people/", "People", PERSON, 15},
                {"/reports/", "Trip reports", REPORT, 30}};
#define SECTIONS 4
#define FIRST    8 /* pages before those of the sections */
static struct page *pages;
static size_t page_count, *by_path; /* indexes, sorted by path */
static size_t begin[SECTIONS], count[SECTIONS];
static uint64_t seed, edition, delay_us;

/* ---- names */

static uint64_t draw(uint64_t *state) {
    *state = site_mix(*state);
    return *state;
}
#define PICK(state, list) ((list)[draw(state) % COUNT_OF(list)])

static char *slug(const char *section, uint64_t number, const char *title) {
    struct buf b = BUF_INIT;
    buf_text(&b, section);
    if (number)
        buf_printf(&b, "%04" PRIu64 "-", number);
    for (const char *p = title; *p; p++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
        bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (word)
            buf_char(&b, c);
        else if (b.data[b.len - 1] != '-' && b.data[b.len - 1] != '/')
            buf_char(&b, '-');
    }
    buf_text(&b, ".html");
    return buf_steal(&b);
}

/* The nth of all pairs of a and b; a number is put behind when they are used up. */
static char *pair(const char *const *a, size_t na, const char *const *b, size_t nb, const char *between, uint64_t nth) {
    struct buf out = BUF_INIT;
    buf_printf(&out, "%s%s%s", a[nth % na], between, b[nth / na % nb]);
    if (nth / na / nb)
        buf_printf(&out, " %" PRIu64, nth / na / nb + 1);
    return buf_steal(&out);
}

static char *title_of(enum kind kind, uint64_t nth, const char **subject) {
    if (kind == TRAIL) {
        *subject = rivers[nth % COUNT_OF(rivers)];
        return pair(rivers, COUNT_OF(rivers), stretches, COUNT_OF(stretches), ", ", nth);
    }
    if (kind == GEAR) {
        nth = nth * 5 + nth / COUNT_OF(makes);
        *subject = things[nth / COUNT_OF(makes) % COUNT_OF(things)];
        return pair(makes, COUNT_OF(makes), things, COUNT_OF(things), " ", nth);
    }
    if (kind == PERSON) {
        size_t names = COUNT_OF(first_names) * COUNT_OF(last_names);
        nth = nth * 25 % names + nth / names * names; /* 25 has no divisor in common with it: each name once */
        *subject = first_names[nth % COUNT_OF(first_names)];
        return pair(first_names, COUNT_OF(first_names), last_names, COUNT_OF(last_names), " ", nth);
    }
    struct buf b = BUF_INIT;
    uint64_t h = site_mix(seed ^ nth);
    *subject = rivers[nth * 7 % COUNT_OF(rivers)];
    buf_printf(&b, "%s, %s %u", *subject, months[h % 12], 2019 + (unsigned)(h / 12 % 6));
    return buf_steal(&b);
}

static void add_page(enum kind kind, int section, const char *path, const char *title, const char *subject) {
    pages[page_count++] = (struct page){kind, section, mem_text(path), mem_text(title), subject};
}

static void add_section(int i, size_t n) {
    begin[i] = page_count;
    count[i] = n;
    for (size_t nth = 0; nth < n; nth++) {
        const char *subject;
        AUTO_FREE char *title = title_of(sections[i].kind, nth, &subject);
        AUTO_FREE char *path = slug(sections[i].path, sections[i].kind == REPORT ? nth + 1 : 0, title);
        add_page(sections[i].kind, i, path, title, subject);
    }
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(pages[*(const size_t *)a].path, pages[*(const size_t *)b].path);
}

void kayak_prepare(const struct site *s) {
    seed = s->seed, edition = s->edition, delay_us = s->delay_us;
    pages = mem_alloc(s->pages * sizeof *pages);
    by_path = mem_alloc(s->pages * sizeof *by_path);
    add_page(HOME, -1, "/", "Kayak trails of Florida", NULL);
    for (int i = 0; i < SECTIONS; i++)
        add_page(INDEX, i, sections[i].path, sections[i].name, NULL);
    add_page(ABOUT, -1, "/about.html", "About these pages", NULL);
    add_page(SPANISH, -1, "/guides/espanol.html", "Guía de ríos", NULL);
    add_page(FLAKY, 1, "/gear/tide-tables.html", "Tide tables", NULL);
    for (int i = 0; i < SECTIONS - 1; i++)
        add_section(i, (s->pages - FIRST) * sections[i].share / 100);
    add_section(SECTIONS - 1, s->pages - page_count);
    for (size_t i = 0; i < page_count; i++)
        by_path[i] = i;
    qsort(by_path, page_count, sizeof *by_path, compare_paths);
}

static const struct page *find(struct tl_span path) {
    size_t low = 0, high = page_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        const char *at = pages[by_path[mid]].path;
        size_t n = strlen(at), shorter = n < path.len ? n : path.len;
        int order = memcmp(path.ptr, at, shorter);
        if (order == 0 && n == path.len)
            return &pages[by_path[mid]];
        if (order < 0 || (order == 0 && path.len < n))
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

/* ---- text */

/* A sentence of a list; @ stands for the subject. */
static void sentence(struct buf *b, const char *text, const char *subject) {
    for (; *text; text++)
        if (*text == '@')
            buf_text(b, subject);
        else
            buf_char(b, *text);
    buf_char(b, ' ');
}

static void paragraphs(struct buf *b, uint64_t *state, const char *const *list, size_t n, const char *subject) {
    size_t rounds = 2 + draw(state) % 3, at = draw(state) % n;
    for (size_t i = 0; i < rounds; i++) {
        buf_lit(b, "<p>");
        for (size_t k = 3 + draw(state) % 3; k--; at++)
            sentence(b, list[at % n], subject);
        buf_lit(b, "</p>\n");
    }
}

static void anchor(struct buf *b, const char *href, const char *text) {
    buf_printf(b, "<a href=\"%s\">%s</a>", href, text);
}

static void item(struct buf *b, const struct page *p) {
    buf_lit(b, "<li>");
    anchor(b, p->path, p->title);
    buf_lit(b, "</li>\n");
}

/* Links to `n` pages of a section, chosen anywhere. */
static void some_of(struct buf *b, uint64_t *state, int section, size_t n, const char *heading) {
    if (!count[section])
        return;
    buf_printf(b, "<h2>%s</h2>\n<ul>\n", heading);
    size_t at = draw(state) % count[section], step = 1 + draw(state) % 7;
    for (size_t i = 0; i < n && i < count[section]; i++, at += step)
        item(b, &pages[begin[section] + at % count[section]]);
    buf_lit(b, "</ul>\n");
}

static void top(struct buf *b, const struct page *p) {
    buf_printf(b,
               "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"%s\">\n<title>%s - Kayak trails of "
               "Florida</title>\n"
               "<link rel=\"canonical\" href=\"%s\">\n",
               p->kind == SPANISH ? "es" : "en", p->kind == SPANISH ? "windows-1252" : "utf-8", p->title, p->path);
    buf_printf(b,
               "<meta name=\"description\" content=\"%s: what a paddler wants to know before putting "
               "in.\">\n</head>\n<body>\n",
               p->title);
    buf_lit(
        b,
        "<header><img src=\"/images/logo.png\" alt=\"a kayak\" width=\"8\" height=\"8\">\n<nav><a href=\"/\">Home</a>");
    for (int i = 0; i < SECTIONS; i++) {
        buf_lit(b, " | ");
        anchor(b, sections[i].path, sections[i].name);
    }
    buf_lit(b, " | <a href=\"/about.html\">About</a></nav></header>\n");
    if (p->kind != HOME) {
        buf_lit(b, "<p class=\"crumbs\"><a href=\"/\">Home</a>");
        if (p->section >= 0 && p->kind != INDEX) {
            buf_lit(b, " &gt; ");
            anchor(b, sections[p->section].path, sections[p->section].name);
        }
        buf_printf(b, " &gt; %s</p>\n", p->title);
    }
    buf_printf(b, "<main>\n<h1>%s</h1>\n", p->title);
}

static void bottom(struct buf *b, uint64_t *state) {
    buf_printf(b, "</main>\n<footer><p>Elsewhere: <a href=\"https://%s.example.org/florida/%" PRIu64 "\">%s</a>. ",
               PICK(state, friends), draw(state) % 900, "friends of ours");
    buf_lit(b, "Paddle with care, carry your rubbish out.</p></footer>\n</body>\n</html>\n");
}

/* Previous and next within the section, as relative links. */
static void neighbours(struct buf *b, const struct page *p) {
    size_t at = (size_t)(p - pages), first = begin[p->section], n = count[p->section],
           dir = strlen(sections[p->section].path);
    buf_lit(b, "<p class=\"turn\">");
    if (at > first) {
        buf_lit(b, "Previous: ");
        anchor(b, pages[at - 1].path + dir, pages[at - 1].title);
        buf_lit(b, ". ");
    }
    if (at + 1 < first + n) {
        buf_lit(b, "Next: ");
        anchor(b, pages[at + 1].path + dir, pages[at + 1].title);
        buf_char(b, '.');
    }
    buf_lit(b, "</p>\n");
}

static void home(struct buf *b) {
    buf_lit(b, "<p>Springs at 72 degrees all year, blackwater under cypresses, mangrove tunnels and open bays: these "
               "pages collect "
               "what paddlers found out about them.</p>\n<ul>\n");
    for (size_t i = 1; i < FIRST; i++)
        item(b, &pages[i]);
    buf_lit(b, "</ul>\n<p>The <a href=\"/old/trails.html\">old list of trails</a> has moved. For machines: "
               "<a href=\"/api/water-levels.json\">water levels</a>. To print: "
               "<a href=\"/files/florida-paddling-map.pdf\">the map</a>. For members: "
               "<a href=\"/private/members.html\">who has the keys</a>.</p>\n"
               "<p><img src=\"/images/heron.gif\" alt=\"a heron\"> Write to <a href=\"mailto:trails@example.org\">the "
               "editors</a>."
               "</p>\n");
}

static void about(struct buf *b) {
    buf_lit(b, "<p>Nobody here is real, and no river should be run by what stands here: the text is made by a program, "
               "for a crawler "
               "to read.</p>\n<p>A page of ours was lost: <a href=\"/trails/lost-river.html\">Lost River</a>. So was "
               "the notice about "
               "<a href=\"/gear/recall-2019.html\">a recall</a>. The <a href=\"/images/launch.png\">picture of the "
               "launch</a> was "
               "not.</p>\n<p><a href=\"private/put-in-keys.html\">Keys of the put-ins</a> are for members.</p>\n");
}

static void spanish(struct buf *b) {
    buf_lit(b, "<p>“El río Suwannee nace en el pantano Okefenokee” - así empieza casi toda guía. Mañana, con buen "
               "tiempo, el alquiler de "
               "una piragua cuesta 45 €; el niño pequeño no paga.</p>\n<p>¿Qué llevar? Agua, sombrero, protección "
               "solar… y paciencia. "
               "<a href=\"/trails/\">Todos los ríos</a> · <a href=\"/people/\">Guías</a></p>\n");
}

static void index_page(struct buf *b, const struct page *p) {
    buf_printf(b, "<p>%zu pages, in no order that anybody remembers.</p>\n<ul>\n", count[p->section]);
    for (size_t i = 0; i < count[p->section]; i++)
        item(b, &pages[begin[p->section] + i]);
    buf_lit(b, "</ul>\n");
}

static void trail(struct buf *b, const struct page *p, uint64_t *state) {
    buf_printf(b, "<table>\n<tr><th>Length</th><td>%u.%u miles</td></tr>\n<tr><th>Difficulty</th><td>%s</td></tr>\n",
               2 + (unsigned)(draw(state) % 17), (unsigned)(draw(state) % 10), PICK(state, grades));
    buf_printf(b, "<tr><th>Water</th><td>%s</td></tr>\n<tr><th>Launch</th><td>%s</td></tr>\n</table>\n",
               PICK(state, waters), PICK(state, launches));
    paragraphs(b, state, about_trails, COUNT_OF(about_trails), p->subject);
    some_of(b, state, 0, 4, "Nearby runs");
    some_of(b, state, 3, 2, "Trip reports");
    some_of(b, state, 2, 1, "Who knows it");
}

static void report(struct buf *b, const struct page *p, uint64_t *state) {
    buf_printf(b, "<p class=\"facts\">%u paddlers, %u hours on the water, %s.</p>\n", 1 + (unsigned)(draw(state) % 9),
               2 + (unsigned)(draw(state) % 7), PICK(state, skies));
    paragraphs(b, state, about_trips, COUNT_OF(about_trips), p->subject);
    some_of(b, state, 2, 2, "Who was there");
    some_of(b, state, 0, 2, "Where");
    some_of(b, state, 1, 2, "What we carried");
}

static void section_page(struct buf *b, const struct page *p, uint64_t *state) {
    if (p->kind == TRAIL)
        trail(b, p, state);
    else if (p->kind == REPORT)
        report(b, p, state);
    else if (p->kind == GEAR) {
        buf_printf(b, "<p class=\"facts\">%u dollars, %u.%u pounds.</p>\n", 12 + (unsigned)(draw(state) % 900),
                   (unsigned)(draw(state) % 50), (unsigned)(draw(state) % 10));
        paragraphs(b, state, about_gear, COUNT_OF(about_gear), p->subject);
        some_of(b, state, 1, 3, "Compare");
        some_of(b, state, 3, 2, "Seen in use");
    } else {
        paragraphs(b, state, about_people, COUNT_OF(about_people), p->subject);
        some_of(b, state, 0, 3, "Favourite water");
        some_of(b, state, 3, 2, "Reports");
    }
    neighbours(b, p);
}

/* UTF-8 to windows-1252, for the few characters that the Spanish page uses. */
static void to_1252(struct buf *b) {
    static const struct {
        const char *from;
        char to;
    } marks[] = {{"“", '\x93'}, {"”", '\x94'}, {"€", '\x80'}, {"…", '\x85'}};
    size_t out = 0;
    for (size_t i = 0; i < b->len;) {
        unsigned char c = (unsigned char)b->data[i];
        if (c < 0x80) {
            b->data[out++] = b->data[i++];
        } else if (c < 0xe0) {
            b->data[out++] = (char)((c & 3) << 6 | (b->data[i + 1] & 63));
            i += 2;
        } else {
            char to = '?';
            for (size_t k = 0; k < COUNT_OF(marks); k++)
                if (memcmp(marks[k].from, b->data + i, 3) == 0)
                    to = marks[k].to;
            b->data[out++] = to;
            i += 3;
        }
    }
    b->len = out;
}

static void page_body(const struct page *p, struct buf *b) {
    uint64_t id = (uint64_t)(p - pages), state = site_mix(seed * 1000003 + id);
    top(b, p);
    if (p->kind == HOME)
        home(b);
    else if (p->kind == ABOUT)
        about(b);
    else if (p->kind == SPANISH)
        spanish(b);
    else if (p->kind == INDEX)
        index_page(b, p);
    else if (p->kind == FLAKY)
        buf_lit(b, "<p>High water at the sea buoy is an hour before that at the bridge.</p>\n");
    else
        section_page(b, p, &state);
    if (edition && id % 24 == 9)
        buf_printf(b, "<p class=\"news\">Looked through for edition %" PRIu64 ".</p>\n", edition);
    bottom(b, &state);
    if (p->kind == SPANISH)
        to_1252(b);
}

/* ---- what is no page */

static void robots(const struct request *q, struct buf *b) {
    buf_lit(b, "User-agent: *\nDisallow: /private/\n\nSitemap: http://");
    buf_add(b, q->host.ptr, q->host.len);
    buf_lit(b, "/sitemap.xml\n");
}

static void sitemap(const struct request *q, struct buf *b) {
    buf_lit(
        b,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
    for (size_t i = 0; i < page_count; i++) {
        buf_lit(b, "<url><loc>http://");
        buf_add(b, q->host.ptr, q->host.len);
        buf_printf(b, "%s</loc><lastmod>2024-04-02</lastmod></url>\n", pages[i].path);
    }
    buf_lit(b, "</urlset>\n");
}

static void pdf(struct buf *b) {
    buf_lit(b, "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 "
               "obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
               "trailer<</Root 1 0 R>>\n%%EOF\n");
}

static void json(struct buf *b) {
    buf_lit(b, "{\"station\":9007199254740993,\"river\":\"Suwannee\",\"levels\":[{\"at\":\"2024-04-02T08:00:00Z\","
               "\"feet\":11.40},"
               "{\"at\":\"2024-04-02T09:00:00Z\",\"feet\":11.42}],\"note\":\"a number that no double can hold\"}\n");
}

static bool extra(const struct request *q, struct reply *r) {
    struct tl_span path = q->target;
    struct buf *b = &r->own;
    const char *type = "text/plain; charset=utf-8", *fields = "Cache-Control: max-age=60\r\n";
    if (span_eq(path, "/robots.txt"))
        robots(q, b);
    else if (span_eq(path, "/sitemap.xml")) {
        sitemap(q, b);
        type = "application/xml";
    } else if (span_eq(path, "/api/water-levels.json")) {
        json(b);
        type = "application/json";
    } else if (span_eq(path, "/files/florida-paddling-map.pdf")) {
        pdf(b);
        type = "application/pdf";
    } else if (span_eq(path, "/images/logo.png") || span_eq(path, "/images/launch.png")) {
        buf_add(b, png, sizeof png - 1);
        type = "image/png";
    } else if (span_eq(path, "/images/heron.gif")) {
        buf_add(b, gif, sizeof gif - 1);
        type = "image/gif";
    } else if (span_eq(path, "/private/members.html") || span_eq(path, "/private/put-in-keys.html")) {
        buf_lit(b,
                "<!DOCTYPE html>\n<title>Members</title>\n<p>A crawler that reads this has not read robots.txt.</p>\n");
        type = HTML;
    } else
        return false;
    reply_simple(r, q, 200, type, fields);
    return true;
}

void kayak_answer(const struct site *s, const struct request *q, uint64_t nth, struct reply *r) {
    (void)s;
    const struct page *p = find(q->target);
    r->delay_us = delay_us;
    if (!p && extra(q, r))
        return;
    if (span_eq(q->target, "/old/trails.html")) {
        buf_lit(&r->own, "<p>Moved: <a href=\"/trails/\">trails</a></p>\n");
        reply_simple(r, q, 301, HTML, "Location: /trails/\r\n");
        return;
    }
    if (!p) {
        site_missing(q, r);
        return;
    }
    if (p->kind == FLAKY && nth == 1) {
        buf_lit(&r->own, "The tide is out.\n");
        reply_simple(r, q, 500, "text/plain", "");
        return;
    }
    page_body(p, &r->own);
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < r->own.len; i++)
        hash = (hash ^ (unsigned char)r->own.data[i]) * 0x100000001b3u;
    char etag[24], fields[128];
    snprintf(etag, sizeof etag, "\"%016" PRIx64 "\"", hash);
    snprintf(fields, sizeof fields, "ETag: %s\r\nLast-Modified: Tue, 02 Apr 2024 08:00:00 GMT\r\n", etag);
    if (span_eq(q->none_match, etag))
        buf_reset(&r->own);
    reply_simple(r, q, span_eq(q->none_match, etag) ? 304 : 200,
                 p->kind == SPANISH ? "text/html; charset=windows-1252" : HTML, fields);
}
