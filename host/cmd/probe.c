/* probe.c - trotline probe: JSON Lines through one of the parsers, for bug reports and tests.
 *
 * Invariant: one line out for each line in, in their order, each flushed before the next is looked at; nothing that
 * stands in a line ends the program. */
#include "cmd/probe.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cmd/commands.h"

/* ---- members of a line */

static int member(struct probe *p, const char *key, bool wanted, struct buf **out) {
    struct tl_json value;
    *out = NULL;
    if (json_get(&p->in, key, &value) || value.type == TL_JSON_NULL)
        return wanted ? fail_set(&p->why, TL_INVALID, "\"%s\" is missing", key) : TL_OK;
    if (value.type != TL_JSON_STRING || p->members == PROBE_MEMBERS)
        return fail_set(&p->why, TL_INVALID, "\"%s\" must be a text", key);
    struct buf *text = &p->member[p->members++];
    buf_reset(text);
    if (json_text(&value, text))
        return fail_set(&p->why, TL_INVALID, "\"%s\" cannot be read", key);
    *out = text;
    return TL_OK;
}

int probe_text(struct probe *p, const char *key, struct tl_span *out) {
    struct buf *text;
    int rc = member(p, key, true, &text);
    if (!rc)
        *out = buf_span(text);
    return rc;
}

int probe_text_optional(struct probe *p, const char *key, struct tl_span *out) {
    struct buf *text;
    int rc = member(p, key, false, &text);
    if (!rc)
        *out = text ? buf_span(text) : (struct tl_span){NULL, 0};
    return rc;
}

int probe_name_optional(struct probe *p, const char *key, const char **out) {
    struct tl_span text;
    int rc = probe_text_optional(p, key, &text);
    if (rc)
        return rc;
    if (text.len && memchr(text.ptr, '\0', text.len))
        return fail_set(&p->why, TL_INVALID, "\"%s\" holds U+0000", key);
    *out = text.ptr; /* a buffer's text has a NUL behind it */
    return TL_OK;
}

int probe_bytes(struct probe *p, const char *key, struct tl_span *out) {
    struct buf *text;
    int rc = member(p, key, true, &text);
    if (rc)
        return rc;
    if (p->members == PROBE_MEMBERS)
        return fail_set(&p->why, TL_INVALID, "\"%s\" is one member too many", key);
    struct buf *bytes = &p->member[p->members++];
    buf_reset(bytes);
    if (hash_unbase64(bytes, buf_span(text)))
        return fail_set(&p->why, TL_INVALID, "\"%s\" is no base64", key);
    *out = buf_span(bytes);
    return TL_OK;
}

/* ---- a line */

struct session {
    const struct probe_parser *parser;
    struct probe probe;
    struct buf answer;
};
enum { KEPT = 1 << 20 }; /* bytes of a buffer that are kept for the next line */

static int parse_line(struct session *s, struct tl_span line) {
    struct probe *p = &s->probe;
    struct json_writer w = JSON_WRITER(&s->answer);
    size_t where;
    if (json_valid(line, &where))
        return fail_set(&p->why, TL_INVALID, "the line is no JSON: byte %zu", where + 1);
    if (json_parse(line, &p->in) || p->in.type != TL_JSON_OBJECT)
        return fail_set(&p->why, TL_INVALID, "the line is no JSON object");
    json_object_begin(&w);
    int rc = s->parser->run(p, &w);
    json_object_end(&w);
    if (!rc && s->answer.full)
        return fail_set(&p->why, TL_FAILED, "the answer is longer than %d MiB", PROBE_ANSWER_MAX >> 20);
    return rc;
}

static void write_error(struct buf *answer, const char *text) {
    struct json_writer w = JSON_WRITER(answer);
    buf_reset(answer);
    json_object_begin(&w);
    json_member_string(&w, "error", text);
    json_object_end(&w);
}

/* NULL error: the line is answered. False: the answer could not be written. */
static bool answer_line(struct session *s, struct tl_span line, const char *error) {
    struct probe *p = &s->probe;
    p->why = (struct fail)FAIL_INIT;
    p->members = 0;
    buf_reset(&s->answer);
    if (error)
        write_error(&s->answer, error);
    else if (parse_line(s, line))
        write_error(&s->answer, p->why.text[0] ? p->why.text : "refused");
    buf_char(&s->answer, '\n');
    fwrite(s->answer.data, 1, s->answer.len, stdout);
    for (size_t i = 0; i < PROBE_MEMBERS; i++)
        buf_shrink(&p->member[i], KEPT);
    buf_shrink(&s->answer, KEPT);
    arena_free(&p->arena);
    return cmd_flush(stdout);
}

/* ---- lines */

static int answer_all(struct session *s) {
    AUTO_BUF struct buf text = {.max = PROBE_LINE_MAX + 65536};
    size_t begin = 0, seen = 0; /* of the line under way: where it begins, and how far no line's end was found */
    bool too_long = false;
    for (;;) {
        char *end = seen < text.len ? memchr(text.data + seen, '\n', text.len - seen) : NULL;
        size_t len = (end ? (size_t)(end - text.data) : text.len) - begin;
        if (len > PROBE_LINE_MAX) {
            too_long = true;
            len = 0;
        }
        if (end) {
            struct tl_span line = {text.data + begin, len};
            if (!answer_line(s, line, too_long ? "the line is longer than 64 MiB" : NULL))
                return EXIT_DISK;
            begin = seen = (size_t)(end + 1 - text.data);
            too_long = false;
            continue;
        }
        if (begin) {
            memmove(text.data, text.data + begin, text.len - begin);
            text.len -= begin;
            begin = 0;
        }
        if (too_long)
            buf_reset(&text);
        else if (!text.len)
            buf_shrink(&text, KEPT);
        seen = text.len;
        if (!buf_reserve(&text, 65536))
            return EXIT_INTERNAL; /* cannot be: a line that long was dropped */
        ssize_t n = read(STDIN_FILENO, text.data + text.len, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            struct fail why = FAIL_INIT;
            fail_errno(&why, TL_FAILED, "cannot read the standard input");
            return cmd_fail(&why, EXIT_USAGE);
        }
        if (n == 0)
            break;
        text.len += (size_t)n;
        text.data[text.len] = '\0';
    }
    if (!text.len && !too_long)
        return EXIT_DONE;
    return answer_line(s, buf_span(&text), too_long ? "the line is longer than 64 MiB" : NULL) ? EXIT_DONE : EXIT_DISK;
}

static const struct probe_parser *find_parser(const char *name) {
    const char *names[32];
    size_t n = 0;
    for (; probe_parsers[n].name && n < COUNT_OF(names); n++) {
        if (strcmp(probe_parsers[n].name, name) == 0)
            return &probe_parsers[n];
        names[n] = probe_parsers[n].name;
    }
    const char *near = yaml_nearest(name, names, n);
    if (near)
        cmd_usage("probe", "there is no parser '%s'; did you mean %s?", name, near);
    else
        cmd_usage("probe", "there is no parser '%s'", name);
    return NULL;
}

static int probe_main(int argc, char **argv, const struct cmd_globals *g) {
    (void)g;
    for (int c; (c = cmd_option(argc, argv, "", NULL)) != 0;)
        return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
    if (argc - optind != 1)
        return cmd_usage("probe", "one parser is wanted");
    struct session s = {.parser = find_parser(argv[optind]), .answer = {.max = PROBE_ANSWER_MAX}};
    if (!s.parser)
        return EXIT_USAGE;
    int code = answer_all(&s);
    for (size_t i = 0; i < PROBE_MEMBERS; i++)
        buf_free(&s.probe.member[i]);
    buf_free(&s.answer);
    return code;
}

const struct command cmd_probe = {
    "probe", "what a parser makes of an input, for bug reports and tests", probe_main, "PARSER",
    "Reads JSON Lines from the standard input and prints one line for each; what is refused gives "
    "{\"error\":\"...\"}.\n"
    "Members whose names end in _b64 are base64. Ends with 0 when every line was answered.\n"
    "\n"
    "  url          {\"input\",\"base\"?}                     a URL as the WHATWG standard writes it\n"
    "  canon        {\"url\"}                               its canonical text and key\n"
    "  robots       {\"robots_b64\",\"agent\",\"url\"}          may this agent fetch this URL?\n"
    "  links        {\"url\",\"html_b64\",\"content_type\"?}    title, base, canonical and links of a page\n"
    "  charset      {\"body_b64\",\"content_type\"?}          which encoding, and how that is known\n"
    "  feed         {\"body_b64\",\"url\",\"content_type\"?}    RSS, Atom or JSON Feed\n"
    "  sitemap      {\"body_b64\",\"url\"}                    pages and further sitemaps\n"
    "  date         {\"text\"}                              a date as feeds and servers write it\n"
    "  link-header  {\"value\",\"base\"?}                     a Link header\n"
    "  retry-after  {\"value\",\"now\"}                       seconds to wait\n"
    "  json         {\"text_b64\"}                          is it valid JSON?\n"
    "  yaml         {\"text_b64\"}                          as the configuration reader sees it\n"
    "\n"
    "Examples:\n"
    "  echo '{\"input\":\"../b?c#d\",\"base\":\"https://example.org/a/\"}' | trotline probe url\n"
    "  jq -nc --arg b \"$(base64 -w0 page.html)\" '{url:\"https://example.org/\",html_b64:$b}' | trotline probe "
    "links\n"};
