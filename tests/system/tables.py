#!/usr/bin/env python3
"""tables.py - documents to dataset items to typed tables: what is converted, once, whatever happens meanwhile; what a type makes
of it, and what it refuses."""
import shutil
import sys

sys.dont_write_bytecode = True
from lib_tables import *  # noqa: E402, F403


def test_items():
    site = Site(script="""
on /
  page Front
  links /big /json /none
on /big
  type text/plain
  body-fill abcdefghij 9M
on /json
  type application/json
  body \\s{"big": 9007199254740993, "e": 1e2, "esc": "\\\\u00e9\\\\/"}\\s
on /none
  status 404
  page Nothing
""")
    w = World(("http", "shapes"))
    first = w.tl("run", w.crawl("shapes", *SHAPES)).root
    got = w.tl("convert", first)
    eq("convert a crawl", got.code, 0)
    ok("its last line counts", "documents became" in got.last_line(), got)
    second = w.tl("run", w.crawl("site", site.base + "/", leash="{depth: 2}")).root
    eq("rows of the first crawl only", {r["root_id"] for r in items(w)}, {first})
    eq("convert what is missing", w.tl("convert").code, 0)
    whole(w, "items")
    catalog_says(w, "items")
    rows = items(w)
    by_kind = collections.Counter(r["element_kind"] for r in rows if r["collector_name"] == "shapes")
    eq("rows by kind", by_kind, collections.Counter(simple=1 + 2 + 2 + 1, page=10 + 3, key_value=2 + 4))
    page = [r for r in rows if r["page_number"] == 7]
    eq("one page 7", [(p["page_count"], p["element_id"]) for p in page], [(10, page[0]["element_id"])])
    keys = [r["key_name"] for r in rows if r["root_id"] == first and r["element_kind"] == "key_value"]
    ok("keys repeat where the document's do", len(set(keys)) < len(keys), keys)
    alone = next(r for r in rows if r["data_url"] == site.base + "/json")
    doc = json.loads((w.lake / alone["document_path"]).read_bytes())
    eq("a row stands alone", {k: alone[k] for k in ("root_id", "parent_id", "depth", "lineage_path", "org", "project", "target")},
       {"root_id": second, "parent_id": doc["lineage"]["parent_id"], "depth": 2, "lineage_path": doc["lineage"]["path"],
        "org": "acme", "project": "water", "target": "kayaking"})
    eq("JSON is carried as it came", alone["data"], ' {"big": 9007199254740993, "e": 1e2, "esc": "\\u00e9\\/"} ')
    eq("metadata is the document's JSON", json.loads(alone["dataset_metadata"])["http"]["status"], 200)
    big = next(r for r in rows if r["data_url"] == site.base + "/big" and r["dataset_name"] == "page")
    eq("a body that lies beside its document is in its row", (big["encoding"], len(big["data"]), big["data_bytes"]),
       ("text", 9 << 20, 9 << 20))
    eq("its document has it beside", json.loads((w.lake / big["document_path"]).read_bytes())["datasets"][0]["encoding"], "attachment")
    binary = [r for r in rows if r["encoding"] == "base64"]
    none("base64 gives the bytes back", [r for r in binary
         if hashlib.sha256(base64.b64decode(r["data"])).hexdigest() != r["data_sha256"]])
    ok("there are such", len(binary) == 2, len(binary))
    eq("a failed run's document has its row", [r["dataset_name"] for r in rows if r["data_url"] == site.base + "/none"], ["page"])
    hours = {(p.parent.name, p.parts[-6]) for p in item_files(w)}
    ok("one pair of files for a collector, hour and conversion", len(item_files(w)) <= 2 * len(hours) + 1, hours)
    if readers():
        fine = {r["item_id"]: r for r in parquet(item_files(w, "parquet"))}
        same("Parquet and Avro hold the same rows", fine, [r["item_id"] for r in rows])
        none("and the same values", [r["item_id"] for r in rows if fine.get(r["item_id"]) != r])


def test_once():
    site = Site("--site", "tree", "--arity", 3, "--depth", 3)
    w = World()
    root = w.tl("run", w.crawl("tree", site.base + "/", leash="{depth: 5}")).root
    a, b = w.start("convert"), w.start("convert", root)
    eq("two at once", (a.wait().code, b.wait().code), (0, 0))
    whole(w, "two at once")
    before = fingerprint(items(w))
    got = w.tl("convert")
    eq("again: nothing to do", (got.code, "nothing to do" in got.last_line()), (0, True))
    eq("the same rows", fingerprint(items(w)), before)
    same_again = w.tl("convert", root)
    eq("of this crawl neither", (same_again.code, len(items(w))), (0, len(before)))
    for view in ("items", "tables"):
        eq(f"view {view}: rows", w.one(f"SELECT sum(rows) FROM {view} WHERE format = 'avro'"
                                       if view == "items" else "SELECT sum(rows) FROM tables WHERE format = 'avro' AND kind = 'items'"), len(before))
    eq("health has nothing that waits", w.one("SELECT value FROM health WHERE key = 'documents not converted'"), 0)
    # the lake's documents are enough to make the same rows again
    other = World()
    for p in w.files("documents") + w.files("crawls"):
        (other.lake / p).parent.mkdir(parents=True, exist_ok=True)
        (other.lake / p).write_bytes((w.lake / p).read_bytes())
        os.chmod(other.lake / p, 0o444)
    eq("a catalog made anew", other.tl("rebuild").code, 0)
    eq("converts", other.tl("convert").code, 0)
    eq("into the same rows, ids too", fingerprint(items(other)), before)


def test_killed():
    site = Site("--site", "tree", "--arity", 3, "--depth", 2)
    for point in ("convert-staged", "convert-committed", "convert-published-one"):
        w = World(("http", "shapes"))
        w.tl("run", w.crawl("tree", site.base + "/", *SHAPES, leash="{depth: 4}"))
        killed = w.tl("convert", env={"TROTLINE_FAULT": point})
        eq(f"{point}: killed there", killed.code, -signal.SIGKILL)
        eq(f"{point}: the next one ends well", w.tl("convert").code, 0)
        whole(w, point)
        catalog_says(w, point)
    for point in ("compact-staged", "compact-committed", "compact-published", "compact-removed"):
        w = World(("http", "shapes"))
        for i in range(3):
            w.tl("run", w.crawl(f"shapes{i}", *SHAPES))
            w.tl("convert")
        before = fingerprint(items(w))
        ids = sorted((r["item_id"], r["converted_at"]) for r in items(w))
        later = "2099-01-01T00:00:00Z"
        eq(f"{point}: killed there", w.tl("compact", "--now", later, env={"TROTLINE_FAULT": point}).code, -signal.SIGKILL)
        eq(f"{point}: the next one ends well", w.tl("compact", "--now", later).code, 0)
        whole(w, point)
        catalog_says(w, point)
        eq(f"{point}: the same rows, ids and times too", (fingerprint(items(w)), sorted((r["item_id"], r["converted_at"]) for r in items(w))), (before, ids))
        eq(f"{point}: nothing is converted again", ("nothing to do" in w.tl("convert").last_line(), len(items(w))), (True, len(before)))
        per_folder = collections.Counter(f.parent for f in item_files(w))
        eq(f"{point}: one file an hour and collector", max(per_folder.values()), 1)
    for point in ("refine-staged", "refine-committed", "refine-published-one"):
        w = World()
        root = w.tl("run", w.crawl("tree", site.base + "/", leash="{depth: 4}")).root
        eq(f"{point}: killed there", w.tl("refine", env={"TROTLINE_FAULT": point}).code, -signal.SIGKILL)
        got = w.tl("refine", root, "-o", "json")
        eq(f"{point}: the next one ends well", got.code, 0)
        catalog_says(w, point)
        said = json.loads(got.out)["types"]
        rows = {t["name"]: t["rows"] for t in w.sql("SELECT name, sum(rows) rows FROM tables WHERE kind = 'typed' GROUP BY 1")}
        eq(f"{point}: each row once", rows, {k: v["rows"] for k, v in said.items() if v["rows"]})


def test_reused():
    site = Site(script="""
on /
  page Front
  links /same /new
on /same
  header ETag: "one"
  validate
  page Same
on /new
  page First
next
  page Second
""")
    w = World()
    first = w.tl("run", w.crawl("site", site.base + "/", leash="{depth: 2}")).root
    second = w.tl("run", w.crawl("site", site.base + "/", leash="{depth: 2}")).root
    eq("a page is not modified", w.statuses(second).get("not_modified"), 1)
    eq("convert the second", w.tl("convert", second).code, 0)
    got = collections.Counter((r["root_id"] == second, r["data_url"].replace(site.base, "")) for r in items(w) if r["dataset_name"] == "page")
    eq("what it stands for counts as its member", got, {(True, "/"): 1, (True, "/new"): 1, (False, "/same"): 1})
    eq("convert the first", w.tl("convert", first).code, 0)
    whole(w, "both")
    counted = [json.loads(w.tl("refine", r, "-o", "json").out) for r in (first, second, first)]
    eq("both crawls have three pages", [c["types"]["http_page"]["rows"] for c in counted], [3, 3, 3])
    eq("each row is written once", w.one("SELECT sum(rows) FROM tables WHERE kind = 'typed' AND name = 'http_page'"), 5)
    eq("the same question has the same answer", {k: counted[0][k] for k in ("items", "typed", "rejected", "skipped")},
       {k: counted[2][k] for k in ("items", "typed", "rejected", "skipped")})


def test_span():
    w = World(("shapes",))
    w.tl("run", w.crawl("one", *SHAPES[:1]))
    between = datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    time.sleep(0.01)
    root = w.tl("run", w.crawl("two", *SHAPES[:1])).root
    eq("since", w.tl("convert", "--since", between).code, 0)
    eq("only what was collected then", {r["root_id"] for r in items(w)}, {root})
    eq("until", w.tl("convert", "--until", between).code, 0)
    whole(w, "both spans")
    for args in (("--since", "yesterday"), ("--since", "2026-13-01"), ("--since", "2026-01-02", "--until", "2026-01-01"), ("nothing-here",), (root, root)):
        got = w.tl("convert", *args)
        eq(f"convert {' '.join(args)}", got.code, 2)
    inner = w.one("SELECT run_id FROM runs WHERE root_id = ? AND parent_id IS NOT NULL", root)
    got = w.tl("convert", inner)
    eq("a run that is no root", (got.code, "not the root" in got.err), (2, True))


def test_own():
    """Collectors that convert themselves, and what becomes of those that do it badly."""
    w = World(("splits",), config="workers: {run: 3s, memory: 512MiB}\n")
    text = "first\nsecond é\n\nfourth"
    lines = [{"collector": "splits", "args": {"text": text + f"\n{how}", "how": how}} for how in ("lines", "pages", "pairs")]
    w.tl("run", w.crawl("own", *lines))
    eq("convert", w.tl("convert").code, 0)
    rows = [r for r in items(w) if r["collector_name"] == "splits"]
    by = collections.defaultdict(list)
    for r in rows:
        by[r["element_kind"]].append(r)
    eq("a row for each line", {k: [r["data"] for r in v] for k, v in by.items()},
       {"simple": text.split("\n") + ["lines"], "page": text.split("\n") + ["pages"], "key_value": text.split("\n") + ["pairs"]})
    eq("numbers and keys", ([r["page_number"] for r in by["page"]], [r["key_name"] for r in by["key_value"]]),
       ([1, 2, 3, 4, 5], [f"line {i}" for i in range(1, 6)]))
    none("dataset, checksum and metadata of each", [r["data"] for r in rows if r["dataset_name"] != "lines"
         or r["data_sha256"] != hashlib.sha256(r["data"].encode()).hexdigest() or r["data_bytes"] != len(r["data"].encode())
         or '"big":9007199254740993' not in r["element_metadata"]])
    eq("ids are unique", len({r["item_id"] for r in rows}), len(rows))
    before = fingerprint(items(w))
    bad = {"fail": "cannot read its own lines", "crash": "died of signal 11", "spin": "took too long", "exit": "died of signal 9",
           "invalid": "metadata must be a JSON object", "babble": "items"}
    good = w.tl("run", w.crawl("bad", *[{"collector": "splits", "args": {"text": "x", "how": how}} for how in ("lines", *bad)])).root
    got = w.tl("convert")
    eq("bad ones: exit 5", got.code, 5)
    for how, says in bad.items():
        ok(f"{how}: said", says in got.err, got.err)
    now = fingerprint(items(w))
    eq("the good document is converted, and the root's", len(now), len(before) + 1 + 1)
    eq("they stay due", w.one("SELECT value FROM health WHERE key = 'documents not converted'"), len(bad))
    catalog_says(w, "own")
    eq("of this crawl too", w.tl("convert", good).code, 5)
    eq("and nothing is there twice", fingerprint(items(w)), now)


TYPE = """type: prices
version: {version}
about: prices of a list
from: {{collector: http, dataset: [page], media_type: [application/json]}}
explode: /prices
key: [name]
columns:
  - {{name: name, item: /name, required: true}}
  - {{name: price, type: {price}, item: /price}}
  - {{name: amount, type: int, item: /amount}}
  - {{name: sold, type: bool, item: /sold}}
  - {{name: since, type: time, item: /since}}
  - {{name: age, type: time, unit: ms, item: /age}}
  - {{name: tags, type: list, item: /tags}}
  - {{name: makers, type: list, item: /makers, each: /name}}
  - {{name: raw, take: json, item: /raw}}
  - {{name: parts, type: int, take: count, item: /raw}}
  - {{name: shop, pointer: /shop/name}}
  - {{name: url, field: data_url}}
{more}"""
BODY = """{"shop": {"name": "caf\\u00e9"}, "prices": [
 {"name": "a", "price": 1.5, "amount": 9007199254740993, "sold": true, "since": "2026-01-02T03:04:05.5+01:00", "age": 1500,
  "tags": ["x", 1, true], "makers": [{"name": "m"}, {"id": 2}, {"name": "n"}], "raw": {"k": [1 ,2]}},
 {"name": "b", "price": "2.25", "amount": "-7", "sold": "false", "tags": "one", "since": null},
 {"name": "c", "amount": 1.5},
 {"price": 3},
 {"name": "d", "since": "soon"},
 {"name": {"en": "e"}},
 {"name": 12, "price": 1e400}
]}"""


def test_types():
    site = Site(script=f"""
on /
  page Front
  links /good /none /broken /odd
on /good
  type application/json
  body <<END
{BODY}
END
on /none
  type application/json
  body {{"shop": {{"name": "empty"}}}}
on /broken
  type application/json
  body {{"prices": [
on /odd
  type application/json
  body {{"prices": 7}}
""")
    w = World(config="convert: {types: [types]}\n")
    (w.dir / "types").mkdir()
    declaration = w.dir / "types/prices.yml"
    declaration.write_text(TYPE.format(version=1, price="real", more=""))
    root = w.tl("run", w.crawl("site", site.base + "/", leash="{depth: 2}")).root
    got = w.tl("refine", root, "-o", "json")
    eq("refine", got.code, 0)
    s = json.loads(got.out)
    eq("items = typed + rejected + skipped", s["items"], s["typed"] + s["rejected"] + s["skipped"])
    eq("items are the crawl's", s["items"], len(items(w)))
    eq("rows and rejects of the type", s["types"]["prices"], {"rows": 2 + 1, "rejected": 4 + 2})
    by_url = {r["data_url"]: r for r in items(w) if r["dataset_name"] == "page"}
    if readers():
        rows = parquet([w.lake / p for p in w.files("l2ts/type=prices")])
        keyed = {r["name"]: r for r in rows}
        eq("names", sorted(keyed), ["12", "a", "b"])
        a = keyed["a"]
        eq("values are what they are", {k: a[k] for k in ("price", "amount", "sold", "since", "age", "tags", "makers", "raw", "parts", "shop", "url")},
           {"price": 1.5, "amount": 9007199254740993, "sold": True, "since": 1767319445500000, "age": 1500000, "tags": ["x", "1", "true"],
            "makers": ["m", "n"], "raw": '{"k": [1 ,2]}', "parts": 1, "shop": "café", "url": site.base + "/good"})
        b = keyed["b"]
        eq("a string that is a number is one", {k: b[k] for k in ("price", "amount", "sold", "tags", "since", "raw", "parts")},
           {"price": 2.25, "amount": -7, "sold": False, "tags": ["one"], "since": None, "raw": None, "parts": None})
        eq("where it came from", (a["item_id"], a["ordinal"], a["root_id"], a["document_path"], a["row_key"]),
           (by_url[site.base + "/good"]["item_id"], 0, root, by_url[site.base + "/good"]["document_path"], "a"))
        ok("a hash of what it says", len({r["row_sha256"] for r in rows}) == 3 and all(len(r["row_sha256"]) == 64 for r in rows), rows)
        refused = parquet([w.lake / p for p in w.files("rejects")])
        eq("why rows were refused", sorted((r["place"] if r["place"] is not None else -1, r["rule"], r["reason"], r["value_head"]) for r in refused
                                           if r["type"] == "prices"),
           sorted([(2, "amount", "is no whole number of 64 bits", "1.5"), (3, "name", "is missing and required", None),
                   (4, "since", "is no time as 2026-01-02T03:04:05Z", '"soon"'), (5, "name", "is an object or array where text is wanted", '{"en": "e"}'),
                   (-1, "explode", "is no JSON", '{"prices": ['), (-1, "explode", "is neither an array nor an object", "7")]))
        pages = parquet([w.lake / p for p in w.files("l2ts/type=http_page")])
        front = next(r for r in pages if r["url"] == site.base + "/")
        eq("http_page", (front["title"], front["status"], front["links"], front["charset"]), ("Front", 200, 4, "utf-8"))
        links = parquet([w.lake / p for p in w.files("l2ts/type=http_link")])
        eq("http_link", [(x["to_url"], x["position"], x["source"], x["same_site"]) for x in sorted(links, key=lambda x: x["ordinal"])],
           [(site.base + p, i, "a", True) for i, p in enumerate(("/good", "/none", "/broken", "/odd"))])
        eq("its key", links[0]["row_key"], json.dumps([links[0]["from_url"], links[0]["position"]], separators=(",", ":")))
        found = node("sql", stdin=json.dumps({"sql": f"SELECT p_type_version v, count(*) n FROM read_parquet('{w.lake}/l2ts/type=prices/**/*.parquet', "
                                                      "hive_partitioning=true) GROUP BY 1"}) + "\n")
        eq("DuckDB reads the table as it is", json.loads(found.stdout), [{"v": 1, "n": 3}])
    # one version has one declaration
    declaration.write_text(TYPE.format(version=1, price="text", more=""))
    got = w.tl("refine", root)
    eq("a changed declaration wants a new version", (got.code, "new version" in got.last_line()), (3, True))
    declaration.write_text(TYPE.format(version=2, price="text", more=""))
    got = w.tl("refine", root, "-o", "json")
    eq("which makes its rows anew", (got.code, json.loads(got.out)["types"]["prices"]), (0, {"rows": 3, "rejected": 6}))
    same("and mixes with no other", {p.split("/")[2] for p in w.files("l2ts/type=prices")}, {"p_type_version=1", "p_type_version=2"})
    eq("the others are written once", w.one("SELECT count(*) FROM tables WHERE kind = 'typed' AND name = 'http_page'"), 1)
    catalog_says(w, "types")
    for text, says in (("type: Prices\nversion: 1\n", "1:7: a type's name"), ("type: p\nversion: 1\ncolumns: []\n", "'columns' wants"),
                       (TYPE.format(version=3, price="money", more=""), "text, int, real"), (TYPE.format(version=3, price="real", more="  - {name: name}\n"), "twice"),
                       (TYPE.format(version=3, price="real", more="  - {name: p_x}\n"), "p_"), (TYPE.format(version=3, price="real", more="  - {name: item_id}\n"), "every typed table"),
                       (TYPE.format(version=3, price="real", more="  - {name: x, item: name}\n"), "JSON pointer"), (TYPE.format(version=3, price="real", more="  - {name: x, field: dat_url}\n"), "data_url"),
                       (TYPE.format(version=3, price="real", more="").replace("key: [name]", "key: [nam]"), "nam"), ("- 1\n", "map")):
        declaration.write_text(text)
        got = w.tl("refine", root)
        ok(f"refused, with its place: {says}", got.code == 3 and says in got.err and "prices.yml" in got.err, got)


def test_shipped():
    """What is declared for GitHub and feeds, on documents that those collectors made."""
    sys.path.insert(0, str(HERE.parent / "server"))
    import github_hub as hub
    when = "2026-01-02T03:04:05Z"
    at = (datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc) - EPOCH) // datetime.timedelta(microseconds=1)
    seven = hub.issue(9007199254740993, 7, labels=[{"id": 11, "name": "bug"}, {"id": 12, "name": "Größe"}], created_at=when, closed_at=None,
                      title="It leaks", state="open", assignees=[hub.user(502), hub.user(503)])
    eight = hub.issue(3002, 8, pull_request={"url": "{api}/repos/acme/rocket/pulls/8"})
    pull = {"id": 88, "number": 8, "url": "{api}/repos/acme/rocket/pulls/8", "user": hub.user(501), "merged": True, "merged_at": when, "additions": 5,
            "head": {"sha": "a1b2", "repo": None, "label": "u501:fix"}, "base": {"repo": hub.repo(), "ref": "main"}, "merged_by": None, "assignee": None}
    commit = {"sha": "c0ffee", "commit": {"message": "Fix", "author": {"name": "A", "date": when}, "comment_count": 0}, "parents": [{"sha": "beef"}]}
    w = hub.Hub({"/repos/acme/rocket": hub.repo(topics=["a", "b"], created_at=when), "/repos/acme/rocket/issues?state=all": [seven, eight],
                 "/repos/acme/rocket/pulls/8": pull, "/users/u501": hub.user(501), "/repos/acme/rocket/commits": [commit]})
    r = w.go(w.line(start="acme/rocket", api=w.api.base, follow={"repo": {"issues": {}, "commits": {}}, "issue": {"pull_request": {}}}))
    got = w.tl("refine", r.root, "-o", "json")
    said = json.loads(got.out)["types"]
    eq("rows of what GitHub serves", {k: v for k, v in said.items() if k.startswith("github") and v["rows"] + v["rejected"]},
       {"github_repo": {"rows": 1, "rejected": 0}, "github_issue": {"rows": 2, "rejected": 0}, "github_pull_request": {"rows": 1, "rejected": 0},
        "github_commit": {"rows": 1, "rejected": 0}})
    catalog_says(w, "shipped")
    if readers():
        def of(name):
            return parquet([w.lake / p for p in w.files(f"l2ts/type={name}")])
        first = next(x for x in of("github_issue") if x["number"] == 7)
        eq("an issue", {k: first[k] for k in ("id", "labels", "assignees", "created_at", "closed_at", "pull_request_url", "row_key")},
           {"id": 9007199254740993, "labels": ["bug", "Größe"], "assignees": ["u502", "u503"], "created_at": at, "closed_at": None, "pull_request_url": None,
            "row_key": "9007199254740993"})
        eq("one of them is a pull request", [x["number"] for x in of("github_issue") if x["pull_request_url"]], [8])
        eq("a pull request", {k: of("github_pull_request")[0][k] for k in ("id", "merged", "merged_at", "additions", "head_label", "base_ref")},
           {"id": 88, "merged": True, "merged_at": at, "additions": 5, "head_label": "u501:fix", "base_ref": "main"})
        eq("a commit of a list", {k: of("github_commit")[0][k] for k in ("sha", "message", "authored_at", "parents", "files")},
           {"sha": "c0ffee", "message": "Fix", "authored_at": at, "parents": ["beef"], "files": None})
        repo = of("github_repo")[0]
        eq("a repository", (repo["id"], repo["topics"], repo["created_at"]), (4242, ["a", "b"], at))
        eq("and GitHub's own JSON", json.loads(repo["entity"])["topics"], ["a", "b"])
    w.api.close()
    site = Site(script="""
on /feed
  type application/rss+xml
  body <<END
<rss version="2.0"><channel><title>News</title><item><guid>one</guid><title>First</title><link>/1</link><category>c</category>
<pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate></item><item><title>Second</title><link>/2</link></item></channel></rss>
END
""")
    w = World(("feed",))
    root = w.tl("run", w.crawl("feed", {"collector": "feed", "args": {"url": site.base + "/feed"}})).root
    eq("entries of a feed", json.loads(w.tl("refine", root, "-o", "json").out)["types"]["feed_entry"], {"rows": 2, "rejected": 0})
    if readers():
        rows = sorted(parquet([w.lake / p for p in w.files("l2ts/type=feed_entry")]), key=lambda x: x["title"])
        eq("their values", [{k: x[k] for k in ("identity_rung", "title", "link", "categories", "feed_title", "feed_format", "source_feed_url")} for x in rows],
           [{"identity_rung": rung, "title": title, "link": site.base + link, "categories": cats, "feed_title": "News", "feed_format": "rss2.0",
             "source_feed_url": site.base + "/feed"} for rung, title, link, cats in (("guid", "First", "/1", ["c"]), ("link", "Second", "/2", []))])


def test_after():
    site = Site("--site", "tree", "--arity", 2, "--depth", 1)
    for after, want in (("none", (0, 0)), ("items", (1, 0)), ("tables", (1, 2))):
        w = World(config=f"convert: {{after: {after}}}\n")
        got = w.tl("run", w.crawl("tree", site.base + "/"))
        eq(f"after: {after}: exit code and root id", (got.code, got.root), (0, w.newest_root()))
        eq(f"after: {after}: tables", (w.one("SELECT count(DISTINCT name) FROM tables WHERE name = 'http' AND kind = 'items'"),
                                       w.one("SELECT count(*) FROM tables WHERE kind = 'typed'")), want)
        if after != "none":
            whole(w, f"after: {after}")
    w = World(config="convert: {after: tables, types: [nowhere]}\n")
    got = w.tl("run", w.crawl("tree", site.base + "/"))
    ok("types that cannot be read leave the crawl as it is, and its exit code says so", got.code == 3 and got.root and "nowhere" in got.err and
       w.statuses(got.root) == {"success": 3}, got)


def test_codecs():
    w = World(("shapes",))
    root = w.tl("run", w.crawl("shapes", *SHAPES)).root
    first = None
    for pq, av in (("snappy", "null"), ("none", "deflate"), ("zstd", "deflate")):
        other = World(("shapes",), config=f"environment: x y\nconvert: {{parquet: {pq}, avro: {av}}}\n".replace("x y", "x-y"), lake="lake")
        os.rmdir(other.lake) if other.lake.exists() else None
        subprocess.run(["cp", "-r", w.lake, other.lake], check=True)
        subprocess.run(["cp", w.catalog, other.catalog], check=True)
        eq(f"{pq} and {av}", other.tl("convert", root).code, 0)
        rows = fingerprint(items(other))
        first = first or rows
        eq(f"{pq} and {av}: the same rows", rows, first)
        same(f"{pq} and {av}: in the path", {p.parts[p.parts.index("items") + 2] for p in item_files(other) + item_files(other, "parquet")},
             {f"compression={pq}", f"compression={av}"})
        same(f"{pq} and {av}: environment in the path and name", {(p.parts[p.parts.index("dataset_items") + 2], p.name.split("_")[1]) for p in item_files(other)},
             {("p_environment=x-y", "x-y")})
        if readers():
            eq(f"{pq}: rows of Parquet", len(parquet(item_files(other, "parquet"), "duckdb")), len(rows))


def test_damaged():
    w = World(("shapes",))
    w.tl("run", w.crawl("shapes", *SHAPES))
    victim = next(d for d in w.documents() if d.collector == "shapes")
    os.chmod(victim.file, 0o644)
    victim.file.write_bytes(victim.raw[:-1])
    got = w.tl("convert")
    ok("a damaged document is named and left out", got.code == 5 and victim.path in got.err and "SHA-256" in got.err, got)
    eq("the others are converted", w.one("SELECT value FROM health WHERE key = 'documents not converted'"), 1)
    victim.file.write_bytes(victim.raw)
    eq("when it is whole again", w.tl("convert").code, 0)
    whole(w, "mended")
    nowhere = World(lake="/proc/nowhere")
    got = nowhere.tl("convert")
    ok("where nothing was crawled yet, nothing is made", got.code == 2 and "a first crawl makes it" in got.err and not nowhere.catalog.exists(), got)
    shutil.copy(w.catalog, nowhere.catalog)
    eq("no lake that can be written", nowhere.tl("convert").code, 9)


def test_cut():
    """An Avro file that ends between two blocks is one, but for the catalog."""
    site = Site("--site", "tree", "--arity", 2, "--depth", 1)
    w = World()
    root = w.tl("run", w.crawl("site", site.base + "/", leash="{depth: 3}")).root
    w.tl("convert")
    victim = w.lake / w.one("SELECT path FROM tables WHERE kind = 'items' AND format = 'avro' AND rows > 2")
    whole = victim.read_bytes()
    os.chmod(victim, 0o644)
    victim.write_bytes(whole[:whole.index(whole[-16:]) + 16])
    for command in (["refine"], ["export", root, "--format", "jsonl"], ["diff", "--items", root, root]):
        got = w.tl(*command)
        ok(f"{command[0]}: rows that are missing are noticed", got.code == 14 and victim.name in got.err, got)
    eq("nothing of it was refined", w.one("SELECT count(*) FROM refined"), 0)
    victim.write_bytes(whole)
    eq("when it is whole again", (w.tl("refine").code, w.one("SELECT count(*) > 0 FROM refined")), (0, 1))


if __name__ == "__main__":
    main(test_items, test_once, test_killed, test_reused, test_span, test_own, test_types, test_shipped, test_after, test_codecs, test_damaged, test_cut)
