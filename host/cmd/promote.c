/* promote.c - trotline promote: a candidate, a URL or an entity becomes a target of its own. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/candidates.h"
#include "cmd/commands.h"
#include "net/url.h"
#include "store/tables.h"

struct promoting {
    struct targets_promotion p;
    struct buf text, url;
};

static void take(struct promoting *x, enum store_kind kind, const char *text, const char *url, int64_t run) {
    buf_reset(&x->text);
    buf_text(&x->text, text);
    buf_reset(&x->url);
    buf_text(&x->url, url);
    x->p.kind = kind;
    x->p.text = x->text.data;
    x->p.url = url ? x->url.data : NULL;
    x->p.run = run;
}

/* c12, or the text of a candidate. TL_NOTFOUND: there is none. */
static int find_candidate(struct promoting *x, struct store *s, const char *word, struct fail *why) {
    struct store_candidate c;
    int64_t key = word[0] == 'c' ? cmd_number(word + 1, 1, INT64_MAX) : -1;
    int rc = key > 0 ? store_candidate_get(s, key, NULL, &c, why) : TL_NOTFOUND;
    if (rc == TL_NOTFOUND)
        rc = store_candidate_get(s, 0, word, &c, why);
    if (!rc)
        take(x, c.kind, c.text, c.url, c.run);
    return rc;
}

/* A URL that nothing counted: it comes from the newest document of it, if there is one. */
static int find_url(struct promoting *x, struct store *s, const char *word, struct fail *why) {
    AUTO_BUF struct buf canonical = BUF_INIT;
    struct store_earlier known;
    struct uuid id;
    int64_t run = 0, root;
    if (url_canonical(&canonical, span_of(word)))
        return fail_exit(why, TL_INVALID, EXIT_USAGE, "'%.300s' is no http or https URL", word);
    int rc = find_candidate(x, s, canonical.data, why);
    if (rc != TL_NOTFOUND)
        return rc;
    const struct store_url url = {buf_span(&canonical), url_key(buf_span(&canonical))};
    struct uuid result;
    if (store_url_document(s, word, url, &known) == TL_OK && uuid_parse(span_of(known.run_id), &id) == TL_OK)
        store_source_find(s, &id, &run, &root, &result);
    take(x, STORE_A_URL, canonical.data, canonical.data, run);
    return TL_OK;
}

static int find_urn(struct promoting *x, struct store *s, const char *word) {
    struct store_earlier known;
    struct uuid id, result;
    int64_t run = 0, root;
    int rc = store_entity_document(s, word, &known);
    if (rc == TL_OK && uuid_parse(span_of(known.run_id), &id) == TL_OK)
        store_source_find(s, &id, &run, &root, &result);
    take(x, STORE_AN_URN, word, rc == TL_OK && known.url && *known.url ? known.url : NULL, run);
    return TL_OK;
}

/* The URL that a run fetched. */
static int take_url(void *ctx, const struct store_row *row) {
    if (row->value[0].type == STORE_TEXT)
        buf_add(ctx, row->value[0].text.ptr, row->value[0].text.len);
    return 1;
}

static int find_run(struct promoting *x, struct store *s, const char *word, struct fail *why) {
    AUTO_BUF struct buf url = BUF_INIT, canonical = BUF_INIT;
    struct uuid id, result;
    int64_t run = 0, root;
    char text[UUID_TEXT];
    struct fail other = FAIL_INIT;
    if (store_find_run(s, word, &id, &other))
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE,
                         "there is no candidate '%.200s', and it is no URL, URN or id of a run (trotline targets "
                         "--candidates lists candidates)",
                         word);
    const struct store_value arg = store_text(uuid_text(&id, text));
    int rc = store_query(s, "SELECT url FROM runs WHERE run_id = $1", &arg, 1, take_url, &url, why);
    if (rc)
        return rc;
    if (!url.len || url_canonical(&canonical, buf_span(&url)))
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE, "the run %s fetched no URL that could become a target", text);
    store_source_find(s, &id, &run, &root, &result);
    take(x, STORE_A_URL, canonical.data, canonical.data, run);
    return TL_OK;
}

static int find(struct promoting *x, struct store *s, const char *word, struct fail *why) {
    int rc = find_candidate(x, s, word, why);
    if (rc != TL_NOTFOUND)
        return rc;
    if (strncmp(word, "http://", 7) == 0 || strncmp(word, "https://", 8) == 0)
        return find_url(x, s, word, why);
    return strncmp(word, "urn:", 4) == 0 ? find_urn(x, s, word) : find_run(x, s, word, why);
}

/* Promoted already, by this or another id? */
static int refuse_again(const struct promoting *x, const struct targets *known) {
    for (size_t i = 0; i < known->count; i++)
        if (known->entry[i].what && strcmp(known->entry[i].what, x->p.text) == 0)
            return cmd_usage("promote", "'%s' is the target '%s' already", x->p.text, known->entry[i].t.crawl.name);
    const char *id = targets_watching(known, x->p.kind, x->p.text);
    if (id)
        log_info("'%s' is also where the target '%s' begins", x->p.text, id);
    return 0;
}

static int promote(struct cmd_open *o, struct promoting *x, const char *word) {
    struct targets known = {0};
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf id = BUF_INIT;
    int code = 0;
    if (find(x, o->store, word, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    if (targets_load(&o->config, o->store, candidates_problem, &known, &why))
        return cmd_fail(&why, EXIT_CONFIG);
    code = refuse_again(x, &known);
    if (!code && targets_promote(o->store, o->lake, &known, &x->p, &id, &why))
        code = cmd_fail(&why, EXIT_INTERNAL);
    targets_free(&known);
    if (code)
        return code;
    printf("%s\n", id.data);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    log_ending(EXIT_DONE,
               "%s '%s' is now the target '%s', which is due at once: trotline run --due; undo: trotline targets rm %s",
               store_kind_name[x->p.kind], x->p.text, id.data, id.data);
    return EXIT_DONE;
}

static int promote_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"as", required_argument, NULL, 'a'},
                                          {"every", required_argument, NULL, 'e'},
                                          {"template", required_argument, NULL, 't'},
                                          {"now", required_argument, NULL, 'n'},
                                          {0}};
    struct promoting x = {.p.now_us = time_now_us()};
    struct cmd_open o = {0};
    int64_t every;
    for (int c; (c = cmd_option(argc, argv, "", longs)) != 0;) {
        if (c < 0)
            return c == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (c == 'a' && !targets_is_id(optarg))
            return cmd_usage("promote", "--as takes letters, digits, '.', '_' and '-', not '%.100s'", optarg);
        if (c == 'e' && strcmp(optarg, "none") != 0 && time_parse_duration(span_of(optarg), &every))
            return cmd_usage("promote", "--every takes a duration such as 6h or 1d, or none, not '%s'", optarg);
        if (c == 'n' && (time_parse(span_of(optarg), &x.p.now_us) || x.p.now_us <= 0))
            return cmd_usage("promote", "--now takes a time such as 2026-11-30T06:00:00Z, not '%s'", optarg);
        if (c == 'a')
            x.p.id = optarg;
        else if (c == 'e')
            x.p.every = optarg;
        else if (c == 't')
            x.p.template_file = optarg;
    }
    if (argc - optind != 1)
        return cmd_usage("promote",
                         optind < argc ? "one at a time" : "what? Name a candidate, a URL, an URN, or the id of a run");
    int code = cmd_open(&o, g, CMD_STORE_WRITE | CMD_LAKE_WRITE, NULL, 0);
    if (!code)
        code = promote(&o, &x, argv[optind]);
    cmd_close(&o);
    buf_free(&x.text);
    buf_free(&x.url);
    return code;
}

const struct command cmd_promote = {
    "promote", "make a target of what was found", promote_main,
    "[--as NAME] [--every TIME] [--template FILE] ID|URL|URN",
    "What turned up becomes a target of its own, which `trotline run --due` watches from now on. The catalog keeps\n"
    "where it comes from, and the crawls of the target hang on that by an edge `promoted`.\n"
    "\n"
    "      ID                a candidate as `trotline targets --candidates` lists it (c12, or its text: a host, a "
    "name),\n"
    "                        or the id of a run, whose URL is meant\n"
    "      --as NAME         the id of the target; made of its text when not given\n"
    "      --every TIME      how often it is due: 6h, 1d (default), none\n"
    "      --template FILE   a file of a target without its id (trotline-targets(5)); without it, one line of http "
    "that\n"
    "                        begins at its URL. {target.name} and {target.url} are filled in\n"
    "      --now TIME        take this for the time\n"
    "\n"
    "Its id is printed. Undo: trotline targets rm ID.\n"
    "\n"
    "Examples:\n"
    "  trotline promote c12 --every 7d\n"
    "  trotline promote paddlers.test --as paddlers\n"
    "  trotline promote https://paddlers.test/races/ --every 6h\n"
    "  trotline promote urn:user:583231 --template templates/person.yml\n"};
