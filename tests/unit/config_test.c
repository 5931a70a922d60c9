/* config_test.c - trotline.yml: what is read, where exactly what is refused is, and whose word counts. */
#include "config_help.h"

static void load(const char *text, struct config *c) {
    struct fail why = FAIL_INIT;
    int rc = config_text("/srv/t/trotline.yml", "/srv/t", span_of(text), NULL, 0, c, &why);
    assert_string_equal(why.text, "");
    assert_int_equal(rc, TL_OK);
}

static char *in_folder(const char *name) {
    struct buf out = BUF_INIT;
    buf_printf(&out, "%s/%s", folder, name);
    return buf_steal(&out);
}

static void is_in_folder(const char *path, const char *name) {
    AUTO_FREE char *want = in_folder(name);
    assert_string_equal(path, want);
}

/* ---- trotline.yml ---- */

static void everything_has_a_default(void **state) {
    (void)state;
    struct config c;
    load("", &c);
    assert_string_equal(c.lake, "/srv/t/lake");
    assert_string_equal(c.catalog, "/srv/t/catalog.db");
    assert_string_equal(c.environment, "dev");
    assert_int_equal(strncmp(c.user_agent, "trotline/", 9), 0);
    assert_non_null(strstr(c.user_agent, " (+https://")); /* where to complain */
    assert_null(strstr(c.user_agent, "mailto"));
    assert_int_equal(c.workers.max, 0);
    assert_int_equal(c.workers.inflight, 64);
    assert_int_equal(c.workers.stall_us, 10000000);
    assert_int_equal(c.workers.run_us, 10 * MINUTE_US);
    assert_int_equal(c.workers.memory, 1 << 30);
    assert_int_equal(c.fetch.timeout_us, 30000000);
    assert_int_equal(c.fetch.max_body, 32 << 20);
    assert_int_equal(c.fetch.max_redirects, 10);
    assert_int_equal(c.fetch.retries, 3);
    assert_int_equal(c.fetch.per_host, 4);
    assert_int_equal(c.fetch.delay_us, -1);
    assert_true(c.fetch.robots && c.fetch.http2 && !c.fetch.private_allowed);
    assert_null(c.fetch.proxy);
    assert_null(c.from);
    assert_string_equal(c.tracked_backend, "catalog");
    assert_int_equal(c.leash.depth, LEASH_DEPTH_MAX);
    assert_int_equal(c.leash.runs, INT64_MAX);
    assert_false(c.leash.hosts_set);
    assert_int_equal(c.shard_count, 3);
    assert_string_equal(c.shard[1].name, "europe-west-1"); /* octocat's digest begins with a6 */
    assert_true(c.shard[1].min <= 0xA6 && 0xA6 <= c.shard[1].max);
    is_in_folder(c.plugins[0], ".local/lib/trotline/collectors"); /* HOME is the test's folder */
    assert_non_null(c.plugins[1]);
    assert_null(c.plugins[2]);
    config_free(&c);
}

static void all_keys_are_read(void **state) {
    (void)state;
    struct config c;
    load("lake: ./data/lake/\ncatalog: postgresql://db/t\nplugins: [one, /opt/two]\nenvironment: prod\nuser_agent: no\n"
         "leash: {depth: 10, fanout: none, runs: 7, bytes: 64KiB, time: 1h30m, hosts: [B.example, \"*.a.example\"]}\n"
         "workers: {max: 3, inflight: 1000, stall: 500ms, run: 2h, memory: 256MiB}\n"
         "fetch: {timeout: 5s, max_body: 1000, max_redirects: 0, retries: 20, per_host: 1, delay: 0s, robots: false,\n"
         "  private: allow, proxy: \"http://p.example:3128\", http2: false, from: bot@example.org}\n"
         "collectors: {http: {path: [result_name, org, project, clct_version, result_context_name],\n"
         "    options: {a: 1.10, b: \"1\"}}, other: {}}\n"
         "secrets:\n  TOKEN: {file: token, origins: [\"https://API.example.org:443/\"]}\n  KEY: {env: K, origins: "
         "[\"http://h:81\"]}\n"
         "on_finish:\n  - |\n    one\n    two\ntracked: {backend: \"redis://localhost\"}\n"
         "shards: [{name: b, min: 80, max: FF}, {name: a, min: 00, max: 7f}]\n",
         &c);
    assert_string_equal(c.lake, "/srv/t/data/lake");
    assert_string_equal(c.catalog, "postgresql://db/t");
    assert_string_equal(c.plugins[0], "/srv/t/one");
    assert_string_equal(c.plugins[1], "/opt/two");
    assert_string_equal(c.environment, "prod");
    assert_string_equal(c.user_agent, "no"); /* a text, not false */
    AUTO_BUF struct buf leash = BUF_INIT;
    leash_json(&leash, &c.leash);
    assert_string_equal(leash.data, "{\"depth\":10,\"fanout\":null,\"runs\":7,\"bytes\":65536,\"time\":5400,"
                                    "\"hosts\":[\"*.a.example\",\"b.example\"]}");
    assert_int_equal(c.workers.max, 3);
    assert_int_equal(c.workers.inflight, 1000);
    assert_int_equal(c.workers.stall_us, 500000);
    assert_int_equal(c.workers.run_us, 120 * MINUTE_US);
    assert_int_equal(c.workers.memory, 256 << 20);
    assert_int_equal(c.fetch.timeout_us, 5000000);
    assert_int_equal(c.fetch.max_body, 1000);
    assert_int_equal(c.fetch.max_redirects, 0);
    assert_int_equal(c.fetch.retries, 20);
    assert_int_equal(c.fetch.per_host, 1);
    assert_int_equal(c.fetch.delay_us, 0);
    assert_true(!c.fetch.robots && !c.fetch.http2 && c.fetch.private_allowed);
    assert_string_equal(c.fetch.proxy, "http://p.example:3128");
    assert_string_equal(c.from, "bot@example.org");
    assert_int_equal(c.collector_count, 2);
    const struct config_collector *http = config_collector(&c, "http");
    assert_string_equal(http->path[0], "result_name");
    assert_null(http->path[5]);
    assert_true(span_eq(http->options, "{\"a\":1.10,\"b\":\"1\"}"));
    assert_int_equal(http->line, 10);
    assert_int_equal(http->column, 20);
    assert_null(config_collector(&c, "other")->path);
    assert_null(config_collector(&c, "third"));
    assert_int_equal(c.secret_count, 2);
    assert_string_equal(c.secret[0].name, "TOKEN");
    assert_string_equal(c.secret[0].file, "/srv/t/token");
    assert_string_equal(c.secret[0].origins[0], "https://api.example.org");
    assert_string_equal(c.secret[1].env, "K");
    assert_string_equal(c.secret[1].origins[0], "http://h:81");
    assert_int_equal(c.on_finish_count, 1);
    assert_string_equal(c.on_finish[0], "one\ntwo\n");
    assert_string_equal(c.tracked_backend, "redis://localhost");
    assert_int_equal(c.shard[0].min, 0x80);
    assert_int_equal(c.shard[0].max, 0xFF);
    config_free(&c);
    load("fetch: {from: bot@example.org}", &c);
    assert_non_null(strstr(c.user_agent, "; mailto:bot@example.org)"));
    config_free(&c);
}

static void faults_have_a_place(void **state) {
    (void)state;
    static const struct refusal bad[] = {
        {"lkae: x\n", "1:1", "unknown key 'lkae'; did you mean 'lake'?"},
        {"lake: x\nzzzzzz: 1\n", "2:1", "unknown key 'zzzzzz'; known here: lake, catalog, plugins"},
        {"fetch: {timeuot: 5s}\n", "1:9", "did you mean 'timeout'?"},
        {"lake: x\nlake: y\n", "2:1", "'lake' stands twice"},
        {"lake: [x]\n", "1:7", "'lake' wants a text, not a list"},
        {"lake:\n", "1:6", "'lake' has no value"},
        {"lake: ~\n", "1:7", "put it in quotes"},
        {"lake: ~/lake\n", "1:7", "'~' is not understood"},
        {"lake: &a x\n", "1:7", "anchors"},
        {"- lake\n", "1:1", "map of keys and values"},
        {"lake: x\n---\nlake: y\n", "2:1", "second document"},
        {"catalog: \"mysql://x\"\n", "1:10", "postgresql://"},
        {"plugins: here\n", "1:10", "'plugins' wants a list, not 'here'"},
        {"plugins: [{a: b}]\n", "1:11", "'plugins' wants a text, not a map"},
        {"environment: a/b\n", "1:14", "'environment'"},
        {"user_agent: \"a\\nb\"\n", "1:13", "control character"},
        {"user_agent: \"b\xC3\xB6t\"\n", "1:13", "only ASCII"},
        {"workers: 4\n", "1:10", "'workers' wants a map of keys and values, not '4'"},
        {"workers: {max: 0}\n", "1:16", "a whole number from 1 to 1000 or auto, not '0'"},
        {"workers: {inflight: 010}\n", "1:21", "not '010'"},
        {"workers: {inflight: \"10\"}\n", "1:21", "not the text '10'"},
        {"workers: {inflight: 1e1}\n", "1:21", "from 1 to 1000, not '1e1'"},
        {"workers: {inflight: 0x10}\n", "1:21", "not '0x10'"},
        {"workers: {inflight: 99999999999999999999}\n", "1:21", "from 1 to 1000"},
        {"workers: {inflight: none}\n", "1:21", "not 'none'"},
        {"workers: {stall: 10}\n", "1:18", "a duration such as 90s or 1h, not '10'"},
        {"workers: {stall: 0s}\n", "1:18", "above 0, not '0s'"},
        {"workers: {memory: 1KiB}\n", "1:19", "of at least 1.0 MiB, not '1KiB'"},
        {"fetch: {max_body: 2GiB}\n", "1:19", "of at most 1.0 GiB"},
        {"fetch: {max_body: -1}\n", "1:19", "a size such as 64KiB"},
        {"fetch: {retries: 21}\n", "1:18", "from 0 to 20"},
        {"fetch: {max_redirects: 51}\n", "1:24", "from 0 to 50"},
        {"fetch: {per_host: 1001}\n", "1:19", "from 1 to 1000"},
        {"fetch: {robots: no}\n", "1:17", "'robots' wants true or false, not 'no'"},
        {"fetch: {robots: True}\n", "1:17", "not 'True'"},
        {"fetch: {robots: \"true\"}\n", "1:17", "not the text 'true'"},
        {"fetch: {private: yes}\n", "1:18", "refuse or allow, not 'yes'"},
        {"fetch: {proxy: p.example}\n", "1:16", "http://HOST:PORT"},
        {"fetch: {from: nobody}\n", "1:15", "mail address"},
        {"leash: {depth: none}\n", "1:16", "from 0 to 999, not 'none'"},
        {"leash: {depth: 1000}\n", "1:16", "from 0 to 999"},
        {"leash: {hosts: [\"*\", \"http://a.example/\"]}\n", "1:22", "example.org, *.example.org"},
        {"leash: {time: 3600}\n", "1:15", "duration"},
        {"collectors: {http: {path: [org, project]}}\n", "1:27", "is missing"},
        {"collectors: {http: {option: {}}}\n", "1:21", "did you mean 'options'?"},
        {"collectors: {\"a/b\": {}}\n", "1:14", "'a/b' is no name"},
        {"collectors: {http: {options: {headers: {cookie: a=b}}}}\n", "1:49", "secret:NAME"},
        {"secrets: {A: {origins: [\"https://a.example\"]}}\n", "1:14", "one of 'file' and 'env'"},
        {"secrets: {A: {env: a, file: b, origins: [\"https://a.example\"]}}\n", "1:14", "one of 'file' and 'env'"},
        {"secrets: {A: {env: a}}\n", "1:14", "a secret needs the key 'origins'"},
        {"secrets: {A: {env: a, origins: []}}\n", "1:32", "1 to 100 entries"},
        {"secrets: {A: {env: a, origins: [\"https://a.example/x\"]}}\n", "1:33", "https://HOST"},
        {"secrets: {A: {env: a, origins: [\"https://u@a.example\"]}}\n", "1:33", "https://HOST"},
        {"secrets: {A: {env: a, origins: [\"ftp://a.example\"]}}\n", "1:33", "https://HOST"},
        {"secrets: {A: {env: a, origins: [\"*\"]}}\n", "1:33", "https://HOST"},
        {"tracked: {backend: mysql}\n", "1:20", "redis://"},
        {"shards: []\n", "1:9", "1 to 256 entries"},
        {"shards: [{name: a, min: \"00\", max: \"7e\"}, {name: b, min: \"80\", max: \"ff\"}]\n", "1:9",
         "7f belongs to no shard"},
        {"shards: [{name: a, min: \"00\", max: \"80\"}, {name: b, min: \"80\", max: \"ff\"}]\n", "1:43",
         "80 belongs to two"},
        {"shards: [{name: a, min: \"00\", max: \"7f\"}, {name: a, min: \"80\", max: \"ff\"}]\n", "1:43", "two shards"},
        {"shards: [{name: \"../a\", min: \"00\", max: \"ff\"}]\n", "1:17", "small letters"},
        {"shards: [{name: a, min: \"0\", max: \"ff\"}]\n", "1:25", "two hex digits"},
        {"shards: [{name: a, min: \"ff\", max: \"00\"}]\n", "1:10", "lies above"},
    };
    check_refusals(bad, COUNT_OF(bad), false);
}

/* conf/trotline.yml without the #s in front of keys names every key that there is. */
static size_t check_named(const struct schema *s, const struct yaml_node *map) {
    size_t n = 0;
    for (const struct schema_key *k = s->key; k->name; k++, n++) {
        const struct yaml_node *value = yaml_get(map, k->name);
        bool either = strcmp(k->name, "file") == 0 || strcmp(k->name, "env") == 0; /* of a secret */
        if (!value && !either)
            fail_msg("the example has no key '%s'", k->name);
        assert_non_null(k->help);
        if (k->of)
            n += check_named(k->of, k->type == SCHEMA_MAP ? value : value->first);
    }
    return n;
}

static char *conf(const char *name) {
    const char *data = getenv("TROTLINE_TEST_DATA");
    struct buf out = BUF_INIT;
    buf_printf(&out, "%s/../../conf/%s", data ? data : "tests/data", name);
    return buf_steal(&out);
}

static void examples_are_good(void **state) {
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_BUF struct buf bare = BUF_INIT;
    AUTO_FREE char *file = conf("trotline.yml");
    assert_int_equal(chdir(source_folder), 0);
    assert_int_equal(config_read(file, &text, NULL), TL_OK);
    struct config c;
    load(text.data, &c);
    config_free(&c);
    for (const char *line = text.data; *line;) {
        size_t len = strcspn(line, "\n") + 1;
        bool key = line[0] == '#' && line[1] != ' ' && line[1] != '\n';
        buf_add(&bare, line + key, len - key);
        if (line[0] == '#' && line[1] == ' ' && line[2] == ' ') /* a nested key */
            bare.data[bare.len - len] = ' ';
        line += len;
    }
    load(bare.data, &c);
    assert_int_equal(c.secret_count, 2);
    config_free(&c);
    struct arena arena = ARENA_INIT;
    struct yaml_node *root;
    struct yaml_error err;
    assert_int_equal(yaml_parse(&arena, "x", buf_span(&bare), &root, &err), TL_OK);
    assert_true(check_named(&schema_config, root) > 50); /* it fails at the first key that the example lacks */
    arena_free(&arena);

    static const char *const crawls[] = {"crawls/kayaking.yml", "crawls/site.yml", "crawls/search.yml"};
    for (size_t i = 0; i < COUNT_OF(crawls); i++) {
        AUTO_FREE char *path = conf(crawls[i]);
        struct fail why = FAIL_INIT;
        struct crawl w;
        assert_int_equal(config_crawl(path, NULL, 0, &w, &why), TL_OK);
        if (i == 2)
            assert_true(
                span_eq(w.line[0].args, "{\"url\":\"https://search.example.org/?q=kayaking\",\"keep\":[\"links\"]}"));
        config_crawl_free(&w);
    }
    assert_int_equal(chdir(folder), 0);
}

/* ---- the search, the environment, --set ---- */

static void clear_environment(void) {
    static const char *const names[] = {"TROTLINE_CONFIG", "TROTLINE_LAKE", "TROTLINE_CATALOG", "TROTLINE_PLUGINS"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    setenv("HOME", folder, 1);
}

static void loads(const char *path, const char *file, const char *lake) {
    struct config c;
    struct fail why = FAIL_INIT;
    config_load(path, NULL, 0, &c, &why);
    assert_string_equal(why.text, "");
    if (file)
        assert_string_equal(c.file, file);
    else
        assert_null(c.file);
    is_in_folder(c.lake, lake);
    config_free(&c);
}

static void the_first_file_counts(void **state) {
    (void)state;
    struct config c;
    struct fail why = FAIL_INIT;
    if (access("/etc/trotline/trotline.yml", F_OK) != 0)
        loads(NULL, NULL, "lake");
    mkdir(".config", 0700);
    mkdir(".config/trotline", 0700);
    write_file(".config/trotline/trotline.yml", "lake: of-user\n", 0644);
    AUTO_FREE char *of_user = in_folder(".config/trotline/trotline.yml");
    loads(NULL, of_user, ".config/trotline/of-user");
    write_file("trotline.yml", "lake: here\n", 0644);
    loads(NULL, "trotline.yml", "here");
    mkdir("sub", 0700);
    write_file("sub/other.yml", "lake: there\n", 0644);
    setenv("TROTLINE_CONFIG", "sub/other.yml", 1);
    loads(NULL, "sub/other.yml", "sub/there");
    loads("./trotline.yml", "./trotline.yml", "here");
    setenv("TROTLINE_CONFIG", "nowhere.yml", 1);
    assert_int_equal(config_load(NULL, NULL, 0, &c, &why), TL_FAILED);
    assert_int_equal(why.exit_code, EXIT_CONFIG);
    assert_non_null(strstr(why.text, "nowhere.yml: No such file"));
    setenv("TROTLINE_CONFIG", "", 1); /* as if it were not there */
    loads(NULL, "trotline.yml", "here");
    if (geteuid() == 0) { /* only root can give files away */
        assert_int_equal(chown("trotline.yml", 12345, 12345), 0);
        assert_int_equal(config_load(NULL, NULL, 0, &c, &why), TL_REFUSED);
        assert_int_equal(why.exit_code, EXIT_CONFIG);
        assert_non_null(strstr(why.text, "another user (12345)"));
        loads("trotline.yml", "trotline.yml", "here"); /* named, so trusted */
    }
    unlink("trotline.yml");
    mkdir("trotline.yml", 0700);
    assert_int_equal(config_load(NULL, NULL, 0, &c, &why), TL_INVALID);
    assert_non_null(strstr(why.text, "trotline.yml: it is no file"));
    rmdir("trotline.yml");
    unlink(".config/trotline/trotline.yml");
    clear_environment();
}

static void flags_beat_environment_beats_file(void **state) {
    (void)state;
    static const char *const set[] = {"lake=flag",           "catalog=postgresql://flag/db",
                                      "fetch.timeout=1s",    "leash.depth=2",
                                      "fetch.retries=0",     "fetch.retries=1",
                                      "plugins=[flag, /f]",  "secrets.A={env: a, origins: ['https://a.example']}",
                                      "user_agent=a: b # c", "lines.0.collector=other"};
    const char *text = "lake: file\ncatalog: file.db\nplugins: [file]\nfetch: {timeout: 9s}\n";
    struct config c;
    struct fail why = FAIL_INIT;
    setenv("TROTLINE_LAKE", "env", 1);
    setenv("TROTLINE_CATALOG", "/env/c.db", 1);
    setenv("TROTLINE_PLUGINS", "first::/second/:first", 1);
    load(text, &c);
    is_in_folder(c.lake, "env");
    assert_string_equal(c.catalog, "/env/c.db");
    is_in_folder(c.plugins[0], "first");
    assert_string_equal(c.plugins[1], "/second");
    assert_string_equal(c.plugins[2], "/srv/t/file");
    config_free(&c);
    assert_int_equal(config_text("t.yml", "/srv/t", span_of(text), set, COUNT_OF(set), &c, &why), TL_OK);
    is_in_folder(c.lake, "flag");
    assert_string_equal(c.catalog, "postgresql://flag/db");
    is_in_folder(c.plugins[2], "flag");
    assert_string_equal(c.plugins[3], "/f");
    assert_int_equal(c.fetch.timeout_us, 1000000);
    assert_int_equal(c.fetch.retries, 1);
    assert_int_equal(c.leash.depth, LEASH_DEPTH_MAX); /* of the crawl */
    assert_string_equal(c.secret[0].origins[0], "https://a.example");
    assert_string_equal(c.user_agent, "a: b # c"); /* as it stands */
    config_free(&c);
    clear_environment();
    assert_int_equal(config_text(NULL, "/srv/t", span_of(""), set, 3, &c, &why), TL_OK); /* without any file */
    assert_int_equal(c.fetch.timeout_us, 1000000);
    config_free(&c);
}

static void settings_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *set, *says;
        int code;
    } bad[] = {
        {"fetch.timeuot=1s", "--set fetch.timeuot: unknown key 'timeuot'; did you mean 'timeout'?", EXIT_CONFIG},
        {"laek=x", "--set laek: unknown key 'laek'; did you mean 'lake'?", EXIT_CONFIG},
        {"lnies.0=x", "did you mean 'lines'?", EXIT_CONFIG},
        {"fetch.retries=many", "--set fetch.retries: 'retries' wants a whole number from 0 to 20, not 'many'",
         EXIT_CONFIG},
        {"fetch.retries=", "has no value", EXIT_CONFIG},
        {"fetch=3", "'fetch' wants a map", EXIT_CONFIG},
        {"lake.sub=3", "there is a text where 'sub' should be a key", EXIT_CONFIG},
        {"plugins.3=a", "there is no entry 3: the list has 1", EXIT_CONFIG},
        {"plugins.x=a", "number it from 0", EXIT_CONFIG},
        {"plugins=[a", "--set plugins: ", EXIT_CONFIG},
        {"plugins=[&a b]", "anchors", EXIT_CONFIG},
        {"lake=\x1B[2J", "control character", EXIT_CONFIG},
        {"lake=\xFF", "not UTF-8", EXIT_CONFIG},
        {"=x", "a key such as", EXIT_CONFIG},
        {"fetch..retries=1", "a key such as", EXIT_CONFIG},
        {"fetch.retries", "KEY=VALUE", EXIT_USAGE},
        {"fetch.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1", "steps", EXIT_CONFIG},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct config c;
        struct fail why = FAIL_INIT;
        const char *const set[] = {"environment=good", bad[i].set};
        assert_int_not_equal(config_text("t.yml", "/", span_of("lake: x\nplugins: [a]\n"), set, 2, &c, &why), TL_OK);
        if (strncmp(why.text, "--set ", 6) != 0 || !strstr(why.text, bad[i].says))
            fail_msg("\"%s\" does not say: %s", why.text, bad[i].says);
        assert_int_equal(why.exit_code, bad[i].code);
    }
}

static void secrets_are_not_for_others(void **state) {
    (void)state;
    static const struct {
        unsigned mode;
        int rc;
    } cases[] = {{0600, TL_OK}, {0640, TL_OK}, {0644, TL_INVALID}, {0602, TL_INVALID}};
    const char *text = "secrets: {A: {file: token, origins: [\"https://a.example\"]}}\n";
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config c;
        struct fail why = FAIL_INIT;
        write_file("token", "s3cret", cases[i].mode);
        assert_int_equal(config_text("x.yml", folder, span_of(text), NULL, 0, &c, &why), cases[i].rc);
        if (cases[i].rc)
            begins_and_says(&why, "x.yml:1:21: ", "chmod 600 'token'", text);
        else
            config_free(&c);
    }
    unlink("token");
}

static int set_up_home(void **state) {
    int rc = set_up(state);
    if (!rc)
        clear_environment();
    return rc;
}

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_has_a_default), cmocka_unit_test(all_keys_are_read),
        cmocka_unit_test(faults_have_a_place),      cmocka_unit_test(examples_are_good),
        cmocka_unit_test(the_first_file_counts),    cmocka_unit_test(flags_beat_environment_beats_file),
        cmocka_unit_test(settings_are_checked),     cmocka_unit_test(secrets_are_not_for_others),
    };
    return cmocka_run_group_tests_name("config", tests, set_up_home, tear_down);
}
