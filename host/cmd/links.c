/* links.c - trotline links: from an entity to others, by its links.
 *
 * How a link is followed is its type: a resource is the entity of that URN; a collection, those that say they are
 * siblings there; a relation, those whose pages of that set name them. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/commands.h"
#include "cmd/entity.h"
#include "cmd/print.h"

struct links {
    struct cmd_open open;
    const char *urn, *name;
    char root[UUID_TEXT];
    bool rows, deleted;
    enum cmd_format format;
    /* where the link leads */
    size_t links, printed, missing;
    struct fail why;
};

/* What is asked for, once, in the order of the parameters; and whether a row l counts: of the newest documents, or of
 * those that are members of a crawl. */
#define GIVEN "WITH given(root, href, name, urn, deleted) AS (SELECT $1, $2, $3, $4, $5)"
#define COUNTS                                                                                                         \
    "(CASE WHEN (SELECT root FROM given) IS NULL THEN l.is_latest ELSE l.root_id = (SELECT root FROM given) OR "       \
    "l.result_id IN (SELECT result_ref FROM runs WHERE root_id = (SELECT root FROM given)) END)"
#define HREF "(SELECT href FROM given)"
#define TARGETS                                                                                                        \
    " SELECT DISTINCT l.urn, d.path, l.result_id, l.collected_at, l.deleted_at FROM targets t CROSS JOIN links l "     \
    "ON l.urn = t.urn AND l.name = 'self' JOIN documents d ON d.result_id = l.result_id WHERE " COUNTS                 \
    " AND (l.deleted_at IS NULL OR (SELECT deleted FROM given)) ORDER BY t.place, l.urn"

static const char *question(const char *type) {
    if (strcmp(type, "collection") == 0)
        return GIVEN ", targets(urn, place) AS (SELECT l.urn, 0 FROM links l WHERE l.href = " HREF " AND " COUNTS
                     " AND (l.name = 'siblings' OR (l.name = (SELECT name FROM given) AND NOT EXISTS (SELECT 1 FROM "
                     "links s WHERE "
                     "s.href = " HREF " AND s.name = 'siblings'))) AND l.urn <> (SELECT urn FROM given))" TARGETS;
    if (strcmp(type, "relation") == 0)
        return GIVEN ", targets(urn, place) AS (SELECT r.href, 0 FROM links l JOIN links r ON r.urn = l.urn AND "
                     "r.result_id = l.result_id AND r.name = 'resources' WHERE l.href = " HREF
                     " AND l.name = 'unique' AND " COUNTS ")" TARGETS;
    return GIVEN ", targets(urn, place) AS (SELECT href, 0 FROM given)" TARGETS;
}

static int each_target(void *ctx, const struct store_row *row) {
    struct links *l = ctx;
    AUTO_BUF struct buf urn = BUF_INIT, path = BUF_INIT;
    print_value(&urn, &row->value[0]);
    print_value(&path, &row->value[1]);
    l->printed++;
    return entity_print(l->open.lake, path.data, urn.data, stdout, &l->why) ? TL_FAILED : 0;
}

enum { GIVEN_COUNT = 5 };

static void give(const struct links *l, const char *href, struct store_value args[GIVEN_COUNT]) {
    args[0] = store_text(l->root[0] ? l->root : NULL);
    args[1] = store_text(href);
    args[2] = store_text(l->name);
    args[3] = store_text(l->urn);
    args[4] = store_int(l->deleted);
}

static int follow(struct links *l, const char *href, const char *type) {
    struct store_value args[GIVEN_COUNT];
    give(l, href, args);
    size_t before = l->printed;
    int rc = l->rows ? cmd_rows(l->open.store, l->format, stdout, question(type), args, GIVEN_COUNT, &l->why)
                     : store_query(l->open.store, question(type), args, GIVEN_COUNT, each_target, l, &l->why);
    l->missing += !rc && !l->rows && l->printed == before;
    return rc;
}

struct found {
    char *href, *type;
};
struct finding {
    struct found *item;
    size_t count, room;
};

static int each_link(void *ctx, const struct store_row *row) {
    struct finding *f = ctx;
    AUTO_BUF struct buf href = BUF_INIT, type = BUF_INIT;
    print_value(&href, &row->value[0]);
    print_value(&type, &row->value[1]);
    MEM_GROW(f->item, f->count, f->room);
    f->item[f->count++] = (struct found){buf_steal(&href), buf_steal(&type)};
    return 0;
}

static int unknown(struct links *l, struct fail *why) {
    const char *catalog = l->open.config.catalog;
    if (!l->name)
        return fail_exit(why, TL_NOTFOUND, EXIT_USAGE,
                         "the catalog knows no entity %s; those that it knows: sqlite3 %s \"select distinct urn from "
                         "links\"",
                         l->urn, catalog);
    return fail_exit(why, TL_NOTFOUND, EXIT_USAGE,
                     "the catalog knows no link %s of %s: `trotline links %s` lists what it knows", l->name, l->urn,
                     l->urn);
}

static int walk(struct links *l, struct fail *why) {
    struct finding f = {0};
    struct store_value args[GIVEN_COUNT];
    give(l, NULL, args);
    int rc = store_query(l->open.store,
                         GIVEN " SELECT l.href, l.type FROM links l WHERE l.urn = (SELECT urn FROM given) AND "
                               "l.name = (SELECT name FROM given) AND " COUNTS,
                         args, GIVEN_COUNT, each_link, &f, why);
    if (!rc && !f.count)
        rc = unknown(l, why);
    for (size_t i = 0; i < f.count && !rc; i++)
        rc = follow(l, f.item[i].href, f.item[i].type);
    for (size_t i = 0; i < f.count; i++) {
        free(f.item[i].href);
        free(f.item[i].type);
    }
    free(f.item);
    l->links = f.count;
    return rc;
}

static int each_count(void *ctx, const struct store_row *row) {
    *(int64_t *)ctx = row->value[0].number;
    return 1;
}

static int list(struct links *l, struct fail *why) {
    struct store_value args[GIVEN_COUNT];
    int64_t count = 0;
    give(l, NULL, args);
#define OWN " FROM links l WHERE l.urn = (SELECT urn FROM given) AND " COUNTS
    int rc = store_query(l->open.store, GIVEN " SELECT count(*)" OWN, args, GIVEN_COUNT, each_count, &count, why);
    if (!rc && !count)
        return unknown(l, why);
    return rc ? rc
              : cmd_rows(l->open.store, l->format, stdout,
                         GIVEN " SELECT l.name, l.type, l.href, l.collected_at, l.deleted_at" OWN, args, GIVEN_COUNT,
                         why);
}

static int links(struct links *l, const char *root) {
    struct uuid id;
    l->why = (struct fail)FAIL_INIT;
    int rc = root ? store_find_run(l->open.store, root, &id, &l->why) : TL_OK;
    if (rc)
        return cmd_fail(&l->why, EXIT_USAGE);
    if (root)
        uuid_text(&id, l->root);
    rc = l->name ? walk(l, &l->why) : list(l, &l->why);
    if (rc)
        return cmd_fail(&l->why, rc == TL_FAILED ? EXIT_INTERNAL : EXIT_USAGE);
    if (!cmd_flush(stdout))
        return EXIT_DISK;
    if (l->missing)
        log_info("%zu of %zu links %s lead to nothing that was fetched", l->missing, l->links, l->name);
    return l->name && !l->rows && !l->printed ? EXIT_NEGATIVE : EXIT_DONE;
}

static int links_main(int argc, char **argv, const struct cmd_globals *g) {
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"root", required_argument, NULL, 'r'},
                                          {"deleted", no_argument, NULL, 'd'},
                                          {0}};
    struct links l = {.format = CMD_TABLE};
    const char *root = NULL;
    for (int k; (k = cmd_option(argc, argv, "o:", longs)) != 0;) {
        if (k < 0)
            return k == CMD_HELP ? EXIT_DONE : EXIT_USAGE;
        if (k == 'r')
            root = optarg;
        else if (k == 'd')
            l.deleted = true;
        else if (cmd_format(optarg, &l.format))
            return cmd_usage("links", "-o takes table, json, jsonl or csv, not '%s'", optarg);
        else
            l.rows = true;
    }
    if (argc - optind < 1 || argc - optind > 2)
        return cmd_usage("links", optind < argc ? "it takes a URN, and the name of one of its links"
                                                : "of which entity? Give its URN");
    l.urn = argv[optind];
    l.name = argv[optind + 1];
    int code = cmd_open(&l.open, g, CMD_STORE_READ | CMD_LAKE_READ, NULL, 0);
    if (!code)
        code = links(&l, root);
    cmd_close(&l.open);
    return code;
}

const struct command cmd_links = {
    "links", "follow the links of an entity to others", links_main, "[--root ROOT] [--deleted] [-o FORMAT] URN [NAME]",
    "Lists the links of an entity, such as a repository that the github collector fetched. With the NAME of one,\n"
    "follows it to the entities that it leads to, and prints each as it came from its server, with what is known\n"
    "of it (`_metadata`) inside: one JSON text after the other. Ends with 1 when none of them was fetched.\n"
    "\n"
    "      --root ROOT        as they were in this crawl, not as they are now\n"
    "      --deleted          those that are gone, too\n"
    "  -o, --output FORMAT    with NAME: URNs, paths and times instead, as table, json, jsonl or csv\n"
    "\n"
    "Examples:\n"
    "  trotline links urn:repo:1296269\n"
    "  trotline links urn:repo:1296269 issues | jq -r .title\n"
    "  trotline links urn:team:9 members -o csv\n"};
