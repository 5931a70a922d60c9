/* config_keys.c - the keys of trotline.yml: types, bounds, defaults and what each is for. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "engine/config_schema.h"
#include "lake/lake.h"
#include "net/url.h"

enum { NAMES_MAX = 1000, TEXT_LONG = 4096 };
#define DAY_US ((int64_t)24 * 3600 * 1000000)

/* ---- texts with a form ---- */

static bool starts_with_one_of(const char *text, const char *const *starts) {
    for (; *starts; starts++)
        if (strncmp(text, *starts, strlen(*starts)) == 0 && text[strlen(*starts)])
            return true;
    return false;
}

static int check_place(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return n->text[0] == '~' && (n->text[1] == '/' || !n->text[1])
               ? yaml_fail(r->err, n, "'~' is not understood here: write the folder out")
               : TL_OK;
}

static int check_places(struct schema_reader *r, const struct yaml_node *n, void *at) {
    YAML_EACH(item, n) {
        int rc = check_place(r, item, at);
        if (rc)
            return rc;
    }
    return TL_OK;
}

static int check_catalog(struct schema_reader *r, const struct yaml_node *n, void *at) {
    static const char *const starts[] = {"postgresql://", "postgres://", NULL};
    if (strstr(n->text, "://") && !starts_with_one_of(n->text, starts))
        return yaml_fail(r->err, n, "'catalog' wants a file, or postgresql://...");
    return check_place(r, n, at);
}

static int check_environment(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return schema_is_name(n->text)
               ? TL_OK
               : yaml_fail(r->err, n, "'environment' wants a word of letters, digits, '.', '_' and '-', such as dev");
}

/* Both go into a request's header. */
static int check_header(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    for (const char *c = n->text; *c; c++)
        if (*c < ' ' || *c > '~')
            return yaml_fail(r->err, n, "'%s' goes into a header: only ASCII can stand there", n->key->text);
    return TL_OK;
}

static int check_from(struct schema_reader *r, const struct yaml_node *n, void *at) {
    const char *sign = strchr(n->text, '@');
    if (!sign || sign == n->text || !sign[1] || strpbrk(n->text, " <>(),;:\"\\"))
        return yaml_fail(r->err, n, "'from' wants a mail address such as crawler@example.org");
    return check_header(r, n, at);
}

static int check_proxy(struct schema_reader *r, const struct yaml_node *n, void *at) {
    static const char *const starts[] = {"http://",   "https://",   "socks4://", "socks4a://",
                                         "socks5://", "socks5h://", NULL};
    if (!starts_with_one_of(n->text, starts))
        return yaml_fail(r->err, n, "'proxy' wants http://HOST:PORT, https:// or socks5h://");
    return check_header(r, n, at);
}

/* The place of a file, also left in *path. */
static int check_file(struct schema_reader *r, const struct yaml_node *n, void *at, const char **path) {
    int rc = check_place(r, n, at);
    if (rc)
        return rc;
    *path = config_path(r, n, n->text);
    if (!*path)
        return schema_no_memory(r, n);
    memcpy(at, path, sizeof *path);
    return TL_OK;
}

static bool holds(const char *text, size_t len, const char *mark) {
    return memmem(text, len, mark, strlen(mark)) != NULL;
}

/* Certificates. Like a secret's file it need not be there yet; what is there must be what it is to be. */
static int check_pem(struct schema_reader *r, const struct yaml_node *n, void *at) {
    char head[65536];
    const char *path = NULL;
    int rc = check_file(r, n, at, &path);
    if (rc)
        return rc;
    AUTO_FCLOSE FILE *f = fopen(path, "re");
    size_t len = f ? fread(head, 1, sizeof head, f) : 0;
    return !f || holds(head, len, "-----BEGIN ")
               ? TL_OK
               : yaml_fail(r->err, n, "'%s' wants certificates in PEM form, which '%.120s' does not hold", n->key->text,
                           n->text);
}

static int check_secret_file(struct schema_reader *r, const struct yaml_node *n, void *at);

/* Nobody is there to type the password of one. */
static int check_client_key(struct schema_reader *r, const struct yaml_node *n, void *at) {
    char head[65536];
    int rc = check_secret_file(r, n, at);
    if (rc)
        return rc;
    AUTO_FCLOSE FILE *f = fopen(*(const char **)at, "re");
    size_t len = f ? fread(head, 1, sizeof head, f) : 0;
    if (f && !holds(head, len, "PRIVATE KEY-----"))
        rc = yaml_fail(r->err, n, "'key' wants a private key in PEM form, which '%.120s' does not hold", n->text);
    else if (holds(head, len, "ENCRYPTED"))
        rc = yaml_fail(r->err, n,
                       "the key in '%.120s' is encrypted, and nobody is there to give its password: take it "
                       "off (openssl pkey) and protect the file (chmod 600)",
                       n->text);
    explicit_bzero(head, sizeof head);
    return rc;
}

static int check_host_proxy(struct schema_reader *r, const struct yaml_node *n, void *at) {
    if (strcmp(n->text, "none") != 0)
        return check_proxy(r, n, at);
    memcpy(at, &(const char *){NULL}, sizeof(const char *));
    return TL_OK;
}

static int check_tls(struct schema_reader *r, const struct yaml_node *n, void *element) {
    const struct host_rule *h = element;
    if (!h->verify && h->ca)
        return yaml_fail(r->err, n, "'ca' says whom to believe, and 'verify: false' that everybody is: one of them");
    return !h->cert == !h->key ? TL_OK : yaml_fail(r->err, n, "a client's certificate needs both 'cert' and 'key'");
}

static int check_backend(struct schema_reader *r, const struct yaml_node *n, void *at) {
    static const char *const starts[] = {"redis://", "rediss://", NULL};
    (void)at;
    return strcmp(n->text, "catalog") == 0 || starts_with_one_of(n->text, starts)
               ? TL_OK
               : yaml_fail(r->err, n, "'backend' wants catalog or redis://HOST:PORT");
}

/* Folders; left as absolute paths. */
static int check_folders(struct schema_reader *r, const struct yaml_node *n, void *at) {
    const char **list = arena_alloc(r->arena, (n->count + 1) * sizeof *list);
    size_t i = 0;
    if (!list)
        return schema_no_memory(r, n);
    YAML_EACH(item, n) {
        int rc = check_place(r, item, NULL);
        if (rc)
            return rc;
        list[i] = config_path(r, item, item->text);
        if (!list[i++])
            return schema_no_memory(r, n);
    }
    list[i] = NULL;
    memcpy(at, &(const char *const *){list}, sizeof(const char *const *));
    return TL_OK;
}

/* ---- workers, fetch, convert, tracked ---- */

#define FIELD(part) .offset = offsetof(struct config, part)
static const struct schema_key worker_keys[] = {
    {"max", SCHEMA_INT, SCHEMA_AUTO, FIELD(workers.max), .min = 1, .max = 1000, .dflt = "auto",
     .help = "worker processes; auto: as many as the machine has processors"},
    {"inflight", SCHEMA_INT, 0, FIELD(workers.inflight), .min = 1, .max = 1000, .dflt = "64",
     .help = "runs under way in one worker"},
    {"stall", SCHEMA_TIME, 0, FIELD(workers.stall_us), .min = 1, .max = DAY_US, .dflt = "10s",
     .help = "the longest a collector may keep the processor or block without coming back"},
    {"run", SCHEMA_TIME, 0, FIELD(workers.run_us), .min = 1, .max = 366 * DAY_US, .dflt = "10m",
     .help = "the longest a run may take"},
    {"memory", SCHEMA_SIZE, 0, FIELD(workers.memory), .min = 1 << 20, .max = (int64_t)1 << 44, .dflt = "1GiB",
     .help = "memory of one worker"},
    {0},
};
static const struct schema workers = {.what = "'workers'", .key = worker_keys};

#define ENTRY(part) .offset = offsetof(struct host_rule, part)
static const struct schema_key tls_keys[] = {
    {"verify", SCHEMA_BOOL, 0, ENTRY(verify), .help = "false: whoever answers is believed; documents say so"},
    {"ca", SCHEMA_TEXT, 0, ENTRY(ca), .min = 1, .max = TEXT_LONG, .check = check_pem,
     .help = "certificates in PEM form that are trusted beside the system's"},
    {"cert", SCHEMA_TEXT, 0, ENTRY(cert), .min = 1, .max = TEXT_LONG, .check = check_pem,
     .help = "the certificate by which we prove who we are, in PEM form, its chain behind it"},
    {"key", SCHEMA_TEXT, 0, ENTRY(key), .min = 1, .max = TEXT_LONG, .check = check_client_key,
     .help = "its private key, not encrypted; others must not be able to read the file"},
    {0},
};
static const struct schema host_tls = {.what = "'tls'", .key = tls_keys, .check = check_tls};

static void init_host(void *element) {
    ((struct host_rule *)element)->verify = true;
}

/* Bounds and meanings as under fetch, from where comes what is not given: config_hosts.c. */
static const struct schema_key host_keys[] = {
    {"timeout", SCHEMA_TIME, 0, ENTRY(timeout_us), .min = 1, .max = DAY_US, .help = "as fetch.timeout"},
    {"max_body", SCHEMA_SIZE, 0, ENTRY(max_body), .min = 1, .max = 1 << 30, .help = "as fetch.max_body"},
    {"retries", SCHEMA_INT, 0, ENTRY(retries), .min = 0, .max = 20, .help = "as fetch.retries"},
    {"per_host", SCHEMA_INT, 0, ENTRY(per_host), .min = 1, .max = 1000, .help = "as fetch.per_host"},
    {"delay", SCHEMA_TIME, SCHEMA_AUTO, ENTRY(delay_us), .min = 0, .max = DAY_US, .help = "as fetch.delay"},
    {"robots", SCHEMA_BOOL, 0, ENTRY(robots), .help = "as fetch.robots"},
    {"http2", SCHEMA_BOOL, 0, ENTRY(http2), .help = "as fetch.http2"},
    {"proxy", SCHEMA_TEXT, 0, ENTRY(proxy), .min = 1, .max = TEXT_LONG, .check = check_host_proxy,
     .help = "as fetch.proxy; none: it is asked directly"},
    {"tls", SCHEMA_MAP, 0, 0, .of = &host_tls, .help = "whose certificates are believed, and ours"},
    {0},
};
static const struct schema hosts = {.what = "a host",
                                    .key = host_keys,
                                    .size = sizeof(struct host_rule),
                                    .init = init_host,
                                    .name = config_host_pattern};

static const struct schema_key fetch_keys[] = {
    {"timeout", SCHEMA_TIME, 0, FIELD(fetch.timeout_us), .min = 1, .max = DAY_US, .dflt = "30s",
     .help = "the longest one request may take"},
    {"max_body", SCHEMA_SIZE, 0, FIELD(fetch.max_body), .min = 1, .max = 1 << 30, .dflt = "32MiB",
     .help = "bytes of an answer, decoded; what is longer is cut"},
    {"max_redirects", SCHEMA_INT, 0, FIELD(fetch.max_redirects), .min = 0, .max = 50, .dflt = "10",
     .help = "redirects followed in a row"},
    {"retries", SCHEMA_INT, 0, FIELD(fetch.retries), .min = 0, .max = 20, .dflt = "3",
     .help = "further attempts after connection errors and answers of 500 and more"},
    {"per_host", SCHEMA_INT, 0, FIELD(fetch.per_host), .min = 1, .max = 1000, .dflt = "4",
     .help = "requests under way at one host"},
    {"delay", SCHEMA_TIME, SCHEMA_AUTO, FIELD(fetch.delay_us), .min = 0, .max = DAY_US, .dflt = "auto",
     .help = "between two requests to a host; auto: as long as its last answer took"},
    {"robots", SCHEMA_BOOL, 0, FIELD(fetch.robots), .dflt = "true", .help = "obey robots.txt"},
    {"private", SCHEMA_SWITCH, 0, FIELD(fetch.private_allowed), .words = "refuse|allow", .dflt = "refuse",
     .help = "private and local addresses that only a page, a feed or a redirect leads to"},
    {"proxy", SCHEMA_TEXT, 0, FIELD(fetch.proxy), .min = 1, .max = TEXT_LONG, .check = check_proxy,
     .help = "where all requests go through"},
    {"ca", SCHEMA_TEXT, 0, FIELD(fetch.ca), .min = 1, .max = TEXT_LONG, .check = check_pem,
     .help = "certificates in PEM form that are trusted beside the system's"},
    {"full_every", SCHEMA_INT, 0, FIELD(fetch.full_every), .min = 0, .max = 100000, .dflt = "10",
     .help = "a page that its server calls unchanged is fetched in full each so many times; 0: never"},
    {"http2", SCHEMA_BOOL, 0, FIELD(fetch.http2), .dflt = "true", .help = "HTTP/2 where the host offers it"},
    {"from", SCHEMA_TEXT, 0, FIELD(from), .min = 3, .max = 254, .check = check_from,
     .help = "a mail address, told to every host"},
    {"hosts", SCHEMA_NAMED, 0, FIELD(fetch.host), .count_offset = offsetof(struct config, fetch.host_count), .max = 200,
     .of = &hosts, .help = "what is different for some hosts, by host pattern; the most specific one holds"},
    {0},
};
static const struct schema fetching = {.what = "'fetch'", .key = fetch_keys};

static const struct schema_key tracked_keys[] = {
    {"backend", SCHEMA_TEXT, 0, FIELD(tracked_backend), .min = 1, .max = TEXT_LONG, .dflt = "catalog",
     .check = check_backend, .help = "where the tracked set and its locks are kept: catalog, or redis://HOST:PORT"},
    {0},
};
static const struct schema tracked = {.what = "'tracked'", .key = tracked_keys};

static const struct schema_key convert_keys[] = {
    {"after", SCHEMA_CHOICE, 0, FIELD(convert.after), .words = "none|items|tables", .dflt = "none",
     .help = "what a crawl does when it has closed: nothing, convert, or convert and refine"},
    {"parquet", SCHEMA_CHOICE, 0, FIELD(convert.parquet), .words = "zstd|snappy|none", .dflt = "zstd",
     .help = "codec of Parquet files"},
    {"parquet_level", SCHEMA_INT, 0, FIELD(convert.parquet_level), .min = 1, .max = 19, .dflt = "3", .help = "of zstd"},
    {"avro", SCHEMA_CHOICE, 0, FIELD(convert.avro), .words = "deflate|snappy|zstandard|null", .dflt = "deflate",
     .help = "codec of Avro files"},
    {"avro_level", SCHEMA_INT, 0, FIELD(convert.avro_level), .min = 1, .max = 12, .dflt = "3",
     .help = "of deflate and zstandard"},
    {"threads", SCHEMA_INT, 0, FIELD(convert.threads), .min = 1, .max = 4, .dflt = "1",
     .help = "that compress Parquet pages"},
    {"types", SCHEMA_TEXTS, 0, FIELD(convert.types), .max = 100, .check = check_folders,
     .help = "folders with types of typed tables, before those that are built in"},
    {0},
};
static const struct schema converting = {.what = "'convert'", .key = convert_keys};

static int check_path_of(struct schema_reader *r, const struct yaml_node *n, void *at) {
    const char *path = NULL;
    return check_file(r, n, at, &path);
}

static const struct schema_key targets_keys[] = {
    {"folder", SCHEMA_TEXT, 0, FIELD(targets.folder), .min = 1, .max = TEXT_LONG, .check = check_path_of,
     .help = "where the files of targets are, ID.yml; the folder targets beside this file when not given"},
    {"rules", SCHEMA_TEXT, 0, FIELD(targets.rules), .min = 1, .max = TEXT_LONG, .check = check_path_of,
     .help = "the file that says what counts as a candidate, and what is promoted by itself"},
    {"promotions", SCHEMA_INT, 0, FIELD(targets.promotions), .min = 0, .max = 100000, .dflt = "10",
     .help = "the most that reactions may promote in 24 hours, over all targets"},
    {0},
};
static const struct schema targeting = {.what = "'targets'", .key = targets_keys};

/* ---- collectors ---- */

static int check_path(struct schema_reader *r, const struct yaml_node *n, void *at) {
    struct fail why = FAIL_INIT;
    return lake_order_check(*(const char *const **)at, &why) ? yaml_fail(r->err, n, "%s", why.text) : TL_OK;
}

static int check_options(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return config_check_headers(r, n);
}

static int check_collector(struct schema_reader *r, const struct yaml_node *n, void *element) {
    struct config_collector *c = element;
    (void)r;
    c->line = n->line ? (int)n->line : 1;
    c->column = n->line ? (int)n->column : 1;
    return TL_OK;
}

static const struct schema_key collector_keys[] = {
    {"path", SCHEMA_TEXTS, 0, offsetof(struct config_collector, path), .min = 1, .max = 16, .check = check_path,
     .help = "the free levels of its documents' path in another order"},
    {"options", SCHEMA_OBJECT, 0, offsetof(struct config_collector, options), .check = check_options,
     .help = "as `trotline plugins show NAME` shows them"},
    {0},
};
static const struct schema collectors = {
    .what = "a collector", .key = collector_keys, .size = sizeof(struct config_collector), .check = check_collector};

/* ---- secrets ---- */

/* scheme://host[:port] and nothing else, in the form that url_origin gives. */
static int read_origin(struct schema_reader *r, const struct yaml_node *n, const char **out) {
    AUTO_BUF struct buf href = BUF_INIT;
    AUTO_BUF struct buf origin = BUF_INIT;
    struct url u;
    bool good = url_parse(&href, (struct tl_span){n->text, n->len}, NULL, &u) == TL_OK && u.has_host && u.host.len &&
                (span_eq(u.scheme, "https") || span_eq(u.scheme, "http")) && !u.username.len && !u.password.len &&
                span_eq(u.path, "/") && !u.has_query && !u.has_fragment;
    if (!good)
        return yaml_fail(r->err, n, "'origins' wants https://HOST or https://HOST:PORT, not '%.80s'", n->text);
    url_origin(&origin, &u);
    *out = arena_text(r->arena, origin.data, origin.len);
    return *out ? TL_OK : schema_no_memory(r, n);
}

static int check_origins(struct schema_reader *r, const struct yaml_node *n, void *at) {
    const char **list = arena_alloc(r->arena, (n->count + 1) * sizeof *list);
    size_t i = 0;
    if (!list)
        return schema_no_memory(r, n);
    YAML_EACH(item, n) {
        int rc = read_origin(r, item, &list[i++]);
        if (rc)
            return rc;
    }
    list[i] = NULL;
    memcpy(at, &(const char *const *){list}, sizeof(const char *const *));
    return TL_OK;
}

static int check_secret_file(struct schema_reader *r, const struct yaml_node *n, void *at) {
    struct stat info;
    const char *path = NULL;
    int rc = check_file(r, n, at, &path);
    if (rc)
        return rc;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_mode & 0007)
        return yaml_fail(r->err, n, "others can read or change this secret: chmod 600 '%.120s'", n->text);
    return TL_OK;
}

static int check_variable(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return strchr(n->text, '=') ? yaml_fail(r->err, n, "'env' wants the name of an environment variable") : TL_OK;
}

static int check_secret(struct schema_reader *r, const struct yaml_node *n, void *element) {
    const struct config_secret *s = element;
    return !s->file == !s->env ? yaml_fail(r->err, n, "a secret needs one of 'file' and 'env'") : TL_OK;
}

static const struct schema_key secret_keys[] = {
    {"file", SCHEMA_TEXT, 0, offsetof(struct config_secret, file), .min = 1, .max = TEXT_LONG,
     .check = check_secret_file, .help = "the file that holds it; others must not be able to read it"},
    {"env", SCHEMA_TEXT, 0, offsetof(struct config_secret, env), .min = 1, .max = 256, .check = check_variable,
     .help = "the environment variable that holds it"},
    {"origins", SCHEMA_TEXTS, SCHEMA_REQUIRED, offsetof(struct config_secret, origins), .min = 1, .max = 100,
     .check = check_origins, .help = "the only places it is sent to, such as https://api.example.org"},
    {0},
};
static const struct schema secrets = {
    .what = "a secret", .key = secret_keys, .size = sizeof(struct config_secret), .check = check_secret};

/* ---- shards ---- */

static int check_shard_name(struct schema_reader *r, const struct yaml_node *n, void *at) {
    (void)at;
    return strspn(n->text, "abcdefghijklmnopqrstuvwxyz0123456789-") == n->len
               ? TL_OK
               : yaml_fail(r->err, n, "a shard's name wants small letters, digits and '-'");
}

static int check_shard(struct schema_reader *r, const struct yaml_node *n, void *element) {
    const struct config_shard *s = element;
    return s->min > s->max ? yaml_fail(r->err, n, "the shard's min %02x lies above its max %02x", (unsigned)s->min,
                                       (unsigned)s->max)
                           : TL_OK;
}

static int check_shards(struct schema_reader *r, const struct yaml_node *n, void *at) {
    const struct config_shard *shard = *(const struct config_shard **)at;
    const struct config_shard *owner[256] = {NULL};
    size_t i = 0;
    YAML_EACH(item, n) {
        for (size_t j = 0; j < i; j++)
            if (strcmp(shard[j].name, shard[i].name) == 0)
                return yaml_fail(r->err, item, "two shards have the name '%s'", shard[i].name);
        for (int b = shard[i].min; b <= shard[i].max; b++) {
            if (owner[b])
                return yaml_fail(r->err, item, "the byte %02x belongs to two shards, '%s' and '%s'", (unsigned)b,
                                 owner[b]->name, shard[i].name);
            owner[b] = &shard[i];
        }
        i++;
    }
    for (int b = 0; b < 256; b++)
        if (!owner[b])
            return yaml_fail(r->err, n, "the byte %02x belongs to no shard: 00 to ff must be covered", (unsigned)b);
    return TL_OK;
}

static const struct schema_key shard_keys[] = {
    {"name", SCHEMA_TEXT, SCHEMA_REQUIRED, offsetof(struct config_shard, name), .min = 1, .max = 64,
     .check = check_shard_name, .help = "such as europe-west-1"},
    {"min", SCHEMA_BYTE, SCHEMA_REQUIRED, offsetof(struct config_shard, min), .help = "its first byte, such as \"00\""},
    {"max", SCHEMA_BYTE, SCHEMA_REQUIRED, offsetof(struct config_shard, max), .help = "its last byte, such as \"55\""},
    {0},
};
static const struct schema shards = {
    .what = "a shard", .key = shard_keys, .size = sizeof(struct config_shard), .check = check_shard};

/* ---- the file ---- */

#define COUNTED(array, counter) FIELD(array), .count_offset = offsetof(struct config, counter)
static const struct schema_key config_keys[] = {
    {"lake", SCHEMA_TEXT, 0, FIELD(lake), .min = 1, .max = TEXT_LONG, .dflt = "lake", .check = check_place,
     .help = "the folder of documents and tables"},
    {"catalog", SCHEMA_TEXT, 0, FIELD(catalog), .min = 1, .max = TEXT_LONG, .dflt = "catalog.db",
     .check = check_catalog, .help = "the database file, or postgresql://..."},
    {"plugins", SCHEMA_TEXTS, 0, FIELD(plugins), .max = 100, .check = check_places,
     .help = "folders with collectors, before the user's and the system's"},
    {"environment", SCHEMA_TEXT, 0, FIELD(environment), .min = 1, .max = 64, .dflt = "dev", .check = check_environment,
     .help = "stands in the paths and names of tables"},
    {"user_agent", SCHEMA_TEXT, 0, FIELD(user_agent), .min = 1, .max = 256, .check = check_header,
     .help = "what hosts are told; trotline/VERSION, with fetch.from, when not given"},
    {"leash", SCHEMA_MAP, 0, FIELD(leash), .of = &schema_leash,
     .help = "holds for every crawl; a crawl can only tighten it"},
    {"workers", SCHEMA_MAP, 0, 0, .of = &workers, .help = "the processes in which collectors run"},
    {"fetch", SCHEMA_MAP, 0, 0, .of = &fetching, .help = "how hosts are asked"},
    {"collectors", SCHEMA_NAMED, 0, COUNTED(collector, collector_count), .max = NAMES_MAX, .of = &collectors,
     .help = "options and document paths, by collector"},
    {"secrets", SCHEMA_NAMED, 0, COUNTED(secret, secret_count), .max = NAMES_MAX, .of = &secrets,
     .help = "credentials, by name, and where they may go"},
    {"on_finish", SCHEMA_TEXTS, SCHEMA_LINES, COUNTED(on_finish, on_finish_count), .max = 100,
     .help = "shell commands that get a finished crawl's summary as JSON on stdin"},
    {"convert", SCHEMA_MAP, 0, 0, .of = &converting, .help = "how documents become tables"},
    {"apis", SCHEMA_TEXTS, 0, FIELD(apis), .max = 100, .check = check_folders,
     .help = "folders with descriptions of APIs, before those that are built in"},
    {"targets", SCHEMA_MAP, 0, 0, .of = &targeting,
     .help = "what is watched, and how what turns up comes to be watched"},
    {"tracked", SCHEMA_MAP, 0, 0, .of = &tracked, .help = "the tracked set"},
    {"shards", SCHEMA_LIST, 0, COUNTED(shard, shard_count), .min = 1, .max = 256, .of = &shards, .check = check_shards,
     .help = "where backups are kept, by the first byte of the owner's digest"},
    {0},
};
const struct schema schema_config = {.what = "the file", .key = config_keys, .size = sizeof(struct config)};
