/* track.c - trotline track: which logins are backed up again and again, whose turn it is, and who has it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"
#include "cmd/commands.h"
#include "engine/tracker.h"

struct track {
    struct cmd_open open;
    struct tracker *tracker;
    const char *owner, *error;
    int64_t ttl_us, token;
    bool format_given;
    enum cmd_format format;
};

static int bad_name(const char *name) {
    return cmd_usage("track", "'%.100s' is no name: [github.com/]LOGIN or [github.com/]LOGIN/REPO", name);
}

/* add, or else remove. */
static int change(struct track *t, bool add, int count, char **names) {
    struct fail why = FAIL_INIT;
    int changed = 0;
    for (int i = 0; i < count; i++) {
        AUTO_BUF struct buf name = BUF_INIT;
        if (tracker_name(names[i], &name))
            return bad_name(names[i]);
    }
    for (int i = 0; i < count; i++) {
        AUTO_BUF struct buf name = BUF_INIT;
        bool one = false;
        tracker_name(names[i], &name);
        if ((add ? tracker_add : tracker_remove)(t->tracker, name.data, &one, &why))
            return cmd_fail(&why, EXIT_INTERNAL);
        changed += one;
    }
    if (add)
        log_ending(EXIT_DONE, "%d of %d added; the next one is given out by: trotline track next", changed, count);
    else
        log_ending(EXIT_DONE, "%d of %d removed; what was backed up of them stays", changed, count);
    return EXIT_DONE;
}

static int next(struct track *t) {
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf name = BUF_INIT, line = BUF_INIT;
    int64_t token = 0;
    int rc = tracker_next(t->tracker, t->owner, t->ttl_us, &name, &token, &why);
    if (rc == TL_NOTFOUND)
        return EXIT_DONE;
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    if (t->format_given && (t->format == CMD_JSON || t->format == CMD_JSONL)) {
        struct json_writer w = JSON_WRITER(&line);
        json_object_begin(&w);
        json_member_string(&w, "name", name.data);
        json_member_int(&w, "token", token);
        json_object_end(&w);
        printf("%s\n", line.data);
    } else if (t->format_given && t->format == CMD_CSV) {
        printf("name,token\n%s,%lld\n", name.data, (long long)token);
    } else {
        printf("%s %lld\n", name.data, (long long)token);
    }
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

static int settle(struct track *t, const char *verb, const char *given) {
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf name = BUF_INIT;
    if (tracker_name(given, &name))
        return bad_name(given);
    if (t->token < 0)
        return cmd_usage("track", "%s wants the --token that `track next` gave", verb);
    int rc = strcmp(verb, "renew") == 0 ? tracker_renew(t->tracker, name.data, t->token, t->ttl_us, &why)
                                        : tracker_complete(t->tracker, name.data, t->token, t->error, &why);
    if (rc == TL_NOTFOUND) {
        log_ending(EXIT_NEGATIVE, "the lock of %s was lost: token %lld is not the one that holds it now", name.data,
                   (long long)t->token);
        return EXIT_NEGATIVE;
    }
    return rc ? cmd_fail(&why, EXIT_INTERNAL) : EXIT_DONE;
}

/* ---- status */

struct holders {
    struct track *t;
    struct json_writer w;
    struct fail *why;
};

static int each_name(void *ctx, const struct store_row *row) {
    struct holders *h = ctx;
    AUTO_FREE char *name = mem_text_n(row->value[0].text.ptr, row->value[0].text.len);
    AUTO_BUF struct buf owner = BUF_INIT;
    char until[TIME_TEXT];
    int64_t left = 0;
    int rc = tracker_holder(h->t->tracker, name, &owner, &left, h->why);
    if (rc)
        return rc == TL_NOTFOUND ? 0 : rc;
    json_object_begin(&h->w);
    json_member_string(&h->w, "name", name);
    json_member_string(&h->w, "owner", owner.data);
    json_member_string(&h->w, "until_at", time_text(time_now_us() + left, until));
    json_object_end(&h->w);
    return 0;
}

/* Locks that the catalog does not know, as a JSON array. */
static int remote_holders(struct track *t, struct buf *out, struct fail *why) {
    struct holders h = {t, JSON_WRITER(out), why};
    json_array_begin(&h.w);
    int rc = tracker_is_remote(t->tracker)
                 ? store_query(t->open.store, "SELECT name FROM tracked", NULL, 0, each_name, &h, why)
                 : TL_OK;
    json_array_end(&h.w);
    return rc;
}

#define ALL                                                                                                            \
    "WITH held(name, owner, until_at) AS (SELECT name, owner, until_at FROM locks WHERE until_at > $2 UNION ALL "      \
    "SELECT value ->> 'name', value ->> 'owner', value ->> 'until_at' FROM json_each($1)), "                           \
    "kept(name, repositories, updated_at) AS (SELECT lower(server || '/' || owner), "                                  \
    "count(DISTINCT CASE WHEN kind = 'bundle' THEN name END), max(at) FROM backups GROUP BY 1), "                      \
    "every(name) AS (SELECT name FROM tracked UNION SELECT name FROM kept) "                                           \
    "SELECT e.name, t.completed_at, k.repositories, k.updated_at, h.owner, h.until_at, t.error FROM every e "          \
    "LEFT JOIN tracked t ON t.name = e.name LEFT JOIN kept k ON k.name = e.name LEFT JOIN held h ON h.name = e.name "  \
    "ORDER BY 1"
#define ONE                                                                                                            \
    "SELECT server || '/' || owner || '/' || name AS repository, max(CASE WHEN kind = 'bundle' THEN at END) AS "       \
    "updated_at, count(CASE WHEN kind = 'bundle' THEN 1 END) AS copies, sum(bytes) AS bytes, "                         \
    "max(CASE WHEN kind = 'error' AND bytes > 0 THEN at END) AS failed_at, (SELECT r.error FROM backups l JOIN runs "  \
    "r ON r.run_id = l.run_id WHERE l.server = b.server AND l.owner = b.owner AND l.name = b.name AND l.kind = "       \
    "'error' AND l.bytes > 0 ORDER BY l.at DESC LIMIT 1) AS error FROM backups b WHERE kind <> 'json' AND "            \
    "(lower(server || '/' || owner) IN ($1, $2) OR lower(server || '/' || owner || '/' || name) IN ($1, $2) OR "       \
    "lower(owner) = $2) GROUP BY server, owner, name ORDER BY 1"

static int each_given(void *ctx, const struct store_row *row) {
    (void)row;
    ++*(int64_t *)ctx;
    return 1;
}

/* Of a name that has no rows: is it unknown, or just without copies yet? */
static void say_none(struct track *t, const char *given, const char *name) {
    struct fail why = FAIL_INIT;
    const struct store_value one = store_text(name);
    int64_t tracked = 0;
    if (t->format != CMD_TABLE ||
        store_query(t->open.store, "SELECT 1 FROM tracked WHERE name = $1", &one, 1, each_given, &tracked, &why))
        return;
    log_ending(EXIT_DONE,
               tracked ? "'%.200s' is tracked, and nothing of it has been backed up yet"
                       : "nothing is tracked or backed up as '%.200s'; trotline track status lists what is",
               given);
}

/* What has backups may be of any server, and is not only what one may track. */
static int status(struct track *t, const char *given) {
    struct fail why = FAIL_INIT;
    AUTO_BUF struct buf name = BUF_INIT, small = BUF_INIT, held = BUF_INIT;
    char now[TIME_TEXT];
    if (given && !*given)
        return bad_name(given);
    for (const char *c = given; c && *c; c++)
        buf_char(&small, *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c);
    if (given && tracker_name(given, &name))
        buf_text(&name, small.data);
    int rc = given ? TL_OK : remote_holders(t, &held, &why);
    const struct store_value one[] = {store_text(name.data), store_text(small.data)};
    const struct store_value all[] = {store_text(held.data), store_text(time_text(time_now_us(), now))};
    int64_t rows = 0;
    if (!rc)
        rc = given ? cmd_rows(t->open.store, t->format, stdout, ONE, one, 2, &why)
                   : cmd_rows(t->open.store, t->format, stdout, ALL, all, 2, &why);
    if (!rc && given)
        rc = store_query(t->open.store, ONE " LIMIT 1", one, 2, each_given, &rows, &why);
    if (rc)
        return cmd_fail(&why, EXIT_INTERNAL);
    if (given && !rows)
        say_none(t, given, name.data);
    return cmd_flush(stdout) ? EXIT_DONE : EXIT_DISK;
}

static int carry_out(struct track *t, const struct cmd_globals *g, int argc, char **argv) {
    static const struct {
        const char *verb;
        int least, most;
    } verbs[] = {{"add", 1, 100000}, {"next", 0, 0},   {"renew", 1, 1},
                 {"complete", 1, 1}, {"status", 0, 1}, {"remove", 1, 100000}};
    struct fail why = FAIL_INIT;
    size_t v = 0;
    if (argc < 1)
        return cmd_usage("track", "do what? add, next, renew, complete, status or remove");
    while (v < COUNT_OF(verbs) && strcmp(argv[0], verbs[v].verb) != 0)
        v++;
    if (v == COUNT_OF(verbs))
        return cmd_usage("track", "it does add, next, renew, complete, status and remove, not '%.60s'", argv[0]);
    if (argc - 1 < verbs[v].least || argc - 1 > verbs[v].most)
        return cmd_usage("track", "%s takes %s", argv[0],
                         verbs[v].most == 0   ? "no name"
                         : verbs[v].most == 1 ? "one name"
                                              : "names");
    bool records = v == 0 || v == 3 || v == 5;
    int code = cmd_open(&t->open, g, 0, NULL, 0);
    bool looks = v == 4 && !code && strcmp(t->open.config.tracked_backend, "catalog") == 0; /* and makes nothing */
    if (!code)
        code =
            cmd_open(&t->open, g, (looks ? CMD_STORE_READ : CMD_STORE_WRITE) | (records ? CMD_LAKE_WRITE : 0), NULL, 0);
    if (code)
        return code;
    if (tracker_open(&t->open.config, t->open.store, t->open.lake, &t->tracker, &why))
        return cmd_fail(&why, EXIT_INTERNAL);
    switch (v) {
    case 0:
    case 5:
        return change(t, v == 0, argc - 1, argv + 1);
    case 1:
        return next(t);
    case 4:
        return status(t, argv[1]);
    default:
        return settle(t, argv[0], argv[1]);
    }
}

static int track_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {
        {"owner", required_argument, NULL, 'w'},  {"ttl", required_argument, NULL, 't'},
        {"token", required_argument, NULL, 'k'},  {"error", required_argument, NULL, 'e'},
        {"output", required_argument, NULL, 'o'}, {0}};
    struct track t = {.ttl_us = time_seconds_us(10), .token = -1, .format = CMD_TABLE};
    char self[320], host[256] = "";
    gethostname(host, sizeof host - 1);
    snprintf(self, sizeof self, "%s:%d", host, (int)getppid());
    t.owner = self;
    for (int k; (k = cmd_option(argc, argv, "o:", longs)) != 0;) {
        if (k < 0)
            return k == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (k == 'w')
            t.owner = optarg;
        else if (k == 'e')
            t.error = optarg;
        else if (k == 't' && (time_parse_duration(span_of(optarg), &t.ttl_us) || t.ttl_us < 1000))
            return cmd_usage("track", "--ttl takes a duration such as 10s, not '%.40s'", optarg);
        else if (k == 'k' && (t.token = cmd_number(optarg, 0, INT64_MAX)) < 0)
            return cmd_usage("track", "--token takes a number, not '%.40s'", optarg);
        else if (k == 'o' && cmd_format(optarg, &t.format))
            return cmd_usage("track", "-o takes table, json, jsonl or csv, not '%s'", optarg);
        t.format_given = t.format_given || k == 'o';
    }
    if (!*t.owner || strlen(t.owner) > 250 || (t.error && strlen(t.error) > 4000))
        return cmd_usage("track", "an --owner has 1 to 250 bytes, an --error at most 4000");
    int code = carry_out(&t, g, argc - optind, argv + optind);
    tracker_close(t.tracker);
    cmd_close(&t.open);
    return code;
}

const struct command cmd_track = {
    "track", "share what is backed up again and again among workers", track_main,
    "add NAME... | next | renew NAME | complete NAME | status [NAME] | remove NAME...",
    "Keeps the names that are to be backed up again and again, and gives out the one whose turn it is, locked, so\n"
    "that several workers never have the same. NAME is [github.com/]LOGIN or [github.com/]LOGIN/REPO.\n"
    "\n"
    "  add NAME...            tracks names; those that are there already stay as they are\n"
    "  next                   prints the next name that is not locked and the token of its lock, or nothing when\n"
    "                         all are; never completed first, then the one whose turn was longest ago\n"
    "  renew NAME             makes its lock last for another --ttl; to be done before half of it is over\n"
    "  complete NAME          it is done, or with --error it failed; its lock is free again\n"
    "  status [NAME]          what is tracked, when it was completed, who has it; of a login, its repositories\n"
    "                         (SERVER/OWNER for those of another server)\n"
    "  remove NAME...         they are tracked no more, and locks of them are lost; backups stay\n"
    "\n"
    "A lock ends by itself when its holder dies. renew and complete end with 1 when --token is no longer its own.\n"
    "\n"
    "      --owner WHO        who takes it (default: this host and the calling process)\n"
    "      --ttl TIME         how long the lock lasts (default: 10s)\n"
    "      --token N          which next has printed\n"
    "      --error TEXT       why it failed\n"
    "  -o, --output FORMAT    table, json, jsonl or csv\n"
    "\n"
    "Examples:\n"
    "  trotline track add github.com/octocat torvalds\n"
    "  trotline track next --ttl 10m -o json\n"
    "  trotline track complete github.com/octocat --token 7\n"
    "  trotline track status octocat\n"};
