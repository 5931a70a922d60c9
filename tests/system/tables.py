#!/usr/bin/env python3
"""tables.py - documents to dataset items to typed tables: what is converted, once, whatever happens meanwhile; what a
type makes of it, and what it refuses. Avro is read with python3-avro, Parquet with DuckDB and hyparquet (readers.mjs,
where npm can be reached), and both are compared with the documents, which are read here by hand."""
import base64
import collections
import datetime
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from lib import Site, World, eq, main, none, note, ok, part, same, until  # noqa: E402

try:
    import avro.datafile
    import avro.io
except ImportError:  # the package is in Debian's Python, which need not be the first in PATH
    if os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3") and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
    print("1..0 # SKIP python3-avro is not installed")
    sys.exit(0)

HERE = Path(__file__).resolve().parent
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def node(*args, stdin=None):
    return subprocess.run(["node", HERE / "readers.mjs", *map(str, args)], input=stdin, capture_output=True, text=True, timeout=300)


def readers():
    """Is there a reader of Parquet? Said once."""
    if not hasattr(readers, "there"):
        try:
            got = node("install")
        except FileNotFoundError:
            got = subprocess.CompletedProcess([], 77, "", "there is no node: apt-get install nodejs npm")
        readers.there = got.returncode == 0
        if not readers.there:
            note("Parquet is not read: " + got.stderr.strip())
            ok("readers of Parquet", os.environ.get("TROTLINE_TEST_READERS") != "required", got.stderr)
    return readers.there


def parquet(files, reader="hyparquet"):
    got = node("rows", reader, *files)
    if got.returncode:
        raise RuntimeError(got.stderr)
    return [json.loads(line) for line in got.stdout.splitlines()]


def avro_rows(files):
    rows = []
    for f in files:
        with open(f, "rb") as stream, avro.datafile.DataFileReader(stream, avro.io.DatumReader()) as reader:
            rows += list(reader)
    for row in rows:
        for key, value in row.items():
            if isinstance(value, datetime.datetime):
                row[key] = (value - EPOCH) // datetime.timedelta(microseconds=1)
    return rows


def item_files(w, kind="avro"):
    return [w.lake / p for p in w.files("items") if p.endswith("." + kind)]


def items(w):
    return avro_rows(item_files(w))


def fingerprint(rows):
    """What rows say, but for the time of conversion."""
    return sorted(json.dumps({k: v for k, v in r.items() if k != "converted_at"}, sort_keys=True) for r in rows)


def elements(document):
    """(dataset, kind, id, number, key, element) of a document, in order."""
    for d in document.d["datasets"]:
        if d["type"] == "SIMPLE":
            yield d, "simple", None, None, None, d
        for p in d.get("pages", {}).values():
            yield d, "page", p["id"], p["page_number"], None, p
        for p in d.get("key_values", {}).values():
            yield d, "key_value", p["id"], None, p["key"], p


def expected(w):
    """{(result, dataset, element): data's checksum, length} of every document in the lake."""
    return {(d.d["result_id"], s["id"], e): (x["sha256"], x["bytes"]) for d in w.documents() for s, _, e, _, _, x in elements(d)}


def whole(w, name, rows=None):
    """Every element of every document has one row, and nothing else has."""
    rows = items(w) if rows is None else rows
    got = collections.Counter((r["result_id"], r["dataset_id"], r["element_id"]) for r in rows)
    none(f"{name}: no row twice", [k for k, n in got.items() if n > 1])
    same(f"{name}: a row for each element", got, expected(w))
    none(f"{name}: bytes and checksums are the documents'",
         [r["data_url"] for r in rows if expected_of(w, r) != (r["data_sha256"], r["data_bytes"])])


def expected_of(w, row, cache={}):
    if row["document_path"] not in cache:
        cache[row["document_path"]] = json.loads((w.lake / row["document_path"]).read_bytes())
    for d in cache[row["document_path"]]["datasets"]:
        if d["id"] == row["dataset_id"]:
            e = d if row["element_kind"] == "simple" else d.get("pages", d.get("key_values"))[row["element_id"]]
            return e["sha256"], e["bytes"]


def catalog_says(w, name):
    """Files, rows and checksums of the catalog are those of the files."""
    wrong, listed = [], set()
    for t in w.sql("SELECT * FROM tables WHERE replaced_at IS NULL"):
        f = w.lake / t["path"]
        listed.add(t["path"])
        if not f.exists():
            wrong.append("gone: " + t["path"])
        elif hashlib.sha256(f.read_bytes()).hexdigest() != t["sha256"] or f.stat().st_size != t["bytes"]:
            wrong.append("not what it says: " + t["path"])
        elif f.stat().st_mode & 0o222:
            wrong.append("can be written: " + t["path"])
        elif t["format"] == "avro" and len(avro_rows([f])) != t["rows"]:
            wrong.append("rows: " + t["path"])
    there = {p for top in ("items", "l2ts", "rejects") for p in w.files(top)}
    wrong += [f"not in the catalog: {p}" for p in there - listed] + [f"in .staging: {p}" for p in w.files(".staging")]
    none(f"{name}: the catalog knows each file, and it is as it says", wrong)


SHAPES = [{"collector": "shapes", "args": a} for a in (
    {"simple": 1}, {"simple": 0, "pages": 10}, {"simple": 0, "pairs": 2}, {"simple": 2, "pages": 3, "pairs": 4, "repeat_keys": True},
    {"simple": 2, "binary": True}, {"simple": 1, "json": True, "simple_bytes": 300})]


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
    ok("types that cannot be read leave the crawl as it is, and are said", got.code == 0 and got.root and "nowhere" in got.err, got)


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
    eq("no lake that can be written", World(lake="/proc/nowhere").tl("convert").code, 9)


VIEWS = ("SELECT * FROM items ORDER BY path, root_id", "SELECT * FROM tables ORDER BY path", "SELECT * FROM types ORDER BY name, version")
BASE = ("SELECT r.run_id, d.result_id, p.path, a.path, v.items, v.at_us FROM converted v JOIN run r ON r.key = v.run JOIN document d ON d.run = v.run "
        "LEFT JOIN table_file p ON p.key = v.parquet LEFT JOIN table_file a ON a.key = v.avro ORDER BY 1",
        "SELECT r.run_id, t.name, t.version, f.rows, f.rejected, a.path, b.path FROM refined f JOIN run r ON r.key = f.run JOIN typed t ON t.key = f.type "
        "LEFT JOIN table_file a ON a.key = f.file LEFT JOIN table_file b ON b.key = f.rejects ORDER BY 1, 2, 3",
        "SELECT path, id, kind, format, name, rows, bytes, hex(sha256), written_us > 0 FROM table_file WHERE kind = 3 ORDER BY path")
LATER = "2099-01-01T00:00:00Z"


def known(w, queries=VIEWS + BASE):
    return [[tuple(r.values()) for r in w.sql(q)] for q in queries]


def rebuild(w):
    for end in ("", "-wal", "-shm", ".turn"):
        w.catalog.with_name(w.catalog.name + end).unlink(missing_ok=True)
    return w.tl("rebuild")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def is_whole(path):
    """Read by hand: the last line says how many came before it, and their SHA-256."""
    raw = path.read_bytes()
    head, last = raw[: raw.rindex(b"\n", 0, -1) + 1], json.loads(raw.splitlines()[-1])
    first = json.loads(raw.splitlines()[0])
    return (first["kind"], first["id"], last) == ("tables_v1", path.stem, {"kind": "end", "lines": head.count(b"\n"), "sha256": hashlib.sha256(head).hexdigest()}) \
        and path.stat().st_mode & 0o777 == 0o444


def nothing_to_do(w, name, roots):
    rows, files = fingerprint(items(w)), w.files()
    got = w.tl("convert")
    eq(f"{name}: convert has nothing to do", (got.code, "nothing to do" in got.last_line()), (0, True))
    for root in roots:
        eq(f"{name}: nor has refine", w.tl("refine", root).code, 0)
    eq(f"{name}: nor has refine of all", w.tl("refine").code, 0)
    same(f"{name}: no file came or went", w.files(), files)
    eq(f"{name}: the same rows", fingerprint(items(w)), rows)
    got = w.tl("verify")
    eq(f"{name}: verify finds nothing wrong", (got.code, got.out), (0, ""))


def test_rebuilt():
    site = Site("--site", "tree", "--arity", 3, "--depth", 2)
    w = World(("http", "shapes"))
    roots = [w.tl("run", w.crawl("tree", site.base + "/", *SHAPES, leash="{depth: 4}")).root]
    eq("convert and refine", [w.tl(c).code for c in ("convert", "refine")], [0, 0])
    roots.append(w.tl("run", w.crawl("again", site.base + "/", *SHAPES[:2], leash="{depth: 4}")).root)
    eq("again", [w.tl(c).code for c in ("convert", "refine")], [0, 0])
    pair = collections.defaultdict(set)
    for p in w.files("items"):
        pair[p[p.rindex("_") + 1 :].split(".")[0]].add(p.rsplit(".", 1)[1])
    eq("both files of a pair have one id", set(map(frozenset, pair.values())), {frozenset(("parquet", "avro"))})
    records = [w.lake / p for p in w.files("tables")]
    none("records are whole, in the folder of their day", [r for r in records if not is_whole(r)
         or [int(x.split("=")[1]) for x in r.parts[-4:-1]] != list(time.gmtime(int(r.stem.replace("-", "")[:12], 16) / 1000)[:3])])
    said = [x for r in records for x in lines(r)]
    same("records name every table file", [x["path"] for x in said if x["kind"] == "file"],
         [p for top in ("items", "l2ts", "rejects") for p in w.files(top)])
    none("with its bytes and SHA-256", [x["path"] for x in said if x["kind"] == "file" and
         ((w.lake / x["path"]).stat().st_size, hashlib.sha256((w.lake / x["path"]).read_bytes()).hexdigest()) != (x["bytes"], x["sha256"])])
    per = collections.Counter(r["result_id"] for r in items(w))
    eq("and how many items each document has", {x["result_id"]: x.get("items", 0) for x in said if x["kind"] == "converted"},
       {d.d["result_id"]: per[d.d["result_id"]] for d in w.documents()})
    before = known(w)
    eq("rebuild", rebuild(w).code, 0)
    for query, b, n in zip(VIEWS + BASE, before, known(w)):
        eq("rebuilt: the same rows: " + query[:60], n, b)
    nothing_to_do(w, "rebuilt", roots)
    whole(w, "rebuilt")
    catalog_says(w, "rebuilt")
    eq("compact joins what a rebuilt catalog knows", w.tl("compact", "--now", LATER).code, 0)
    whole(w, "compacted")
    before = known(w)
    eq("rebuild after compact", rebuild(w).code, 0)
    for query, b, n in zip(VIEWS + BASE, before, known(w)):
        eq("compacted: the same rows: " + query[:60], n, b)
    nothing_to_do(w, "compacted", roots)
    catalog_says(w, "compacted")
    # what was written by a catalog that is gone counts as what this one writes
    roots.append(w.tl("run", w.crawl("third", site.base + "/", leash="{depth: 2}")).root)
    eq("more is converted", [w.tl(*c).code for c in (("convert",), ("refine",), ("compact", "--now", LATER))], [0, 0, 0])
    before = known(w)
    eq("rebuild a third time", (rebuild(w).code, known(w) == before), (0, True))
    whole(w, "third")
    nothing_to_do(w, "third", roots)


def test_rebuilt_killed():
    """Killed anywhere, then without catalog: no row is lost or there twice."""
    site = Site("--site", "tree", "--arity", 2, "--depth", 2)
    points = ("convert-staged", "record-staged", "convert-committed", "record-published", "convert-published-one")
    for point in points:
        w = World()
        w.tl("run", w.crawl("tree", site.base + "/", leash="{depth: 4}"))
        eq(f"convert at {point}: killed there", w.tl("convert", env={"TROTLINE_FAULT": point}).code, -signal.SIGKILL)
        eq(f"convert at {point}: rebuild", rebuild(w).code, 0)
        eq(f"convert at {point}: the next one ends well", w.tl("convert").code, 0)
        whole(w, f"convert at {point}")
        catalog_says(w, f"convert at {point}")
        eq(f"convert at {point}: verify", w.tl("verify").code, 0)
    for point in ("refine-types-committed", "refine-staged", "record-staged:2", "refine-committed", "record-published:2", "refine-published-one"):
        w = World()
        root = w.tl("run", w.crawl("tree", site.base + "/", leash="{depth: 4}")).root
        eq("convert", w.tl("convert").code, 0)
        eq(f"refine at {point}: killed there", w.tl("refine", env={"TROTLINE_FAULT": point}).code, -signal.SIGKILL)
        eq(f"refine at {point}: rebuild", rebuild(w).code, 0)
        got = w.tl("refine", root, "-o", "json")
        eq(f"refine at {point}: the next one ends well", got.code, 0)
        catalog_says(w, f"refine at {point}")
        rows = {t["name"]: t["rows"] for t in w.sql("SELECT name, sum(rows) rows FROM tables WHERE kind = 'typed' GROUP BY 1")}
        eq(f"refine at {point}: each row once", rows, {k: v["rows"] for k, v in json.loads(got.out)["types"].items() if v["rows"]})
    for point in ("compact-staged", "record-staged", "compact-committed", "record-published", "compact-published", "compact-removed"):
        w = World(("shapes",))
        for i in range(2):
            w.tl("run", w.crawl(f"shapes{i}", *SHAPES[:3]))
            w.tl("convert")
        before = fingerprint(items(w))
        eq(f"compact at {point}: killed there", w.tl("compact", "--now", LATER, env={"TROTLINE_FAULT": point}).code, -signal.SIGKILL)
        eq(f"compact at {point}: rebuild", rebuild(w).code, 0)
        got = w.tl("convert")
        eq(f"compact at {point}: nothing is converted again", (got.code, "nothing to do" in got.last_line()), (0, True))
        eq(f"compact at {point}: the next one ends well", w.tl("compact", "--now", LATER).code, 0)
        eq(f"compact at {point}: the same rows", fingerprint(items(w)), before)
        whole(w, f"compact at {point}")
        catalog_says(w, f"compact at {point}")


def test_rebuilt_open():
    """A crawl that was not closed is not restored; its rows stay in the files, the records say so, nothing breaks."""
    w = World(("shapes",))
    first = w.tl("run", w.crawl("shapes", *SHAPES)).root
    eq("convert the first", w.tl("convert").code, 0)
    second = w.tl("run", w.crawl("lost", *SHAPES[:2])).root
    eq("convert and refine both", [w.tl(c).code for c in ("convert", "refine")], [0, 0])
    for p in w.files("crawls"):
        if second in p:
            (w.lake / p).unlink()
    before = fingerprint(items(w))
    eq("rebuild", rebuild(w).code, 0)
    eq("only the closed crawl is known", [r["root_id"] for r in w.sql("SELECT root_id FROM crawls")], [first])
    eq("and has its files; those of the other are known, too", {r["root_id"] for r in w.sql("SELECT root_id FROM items")}, {first, None})
    got = w.tl("convert")
    eq("convert has nothing to do", (got.code, "nothing to do" in got.last_line()), (0, True))
    eq("refine and compact go well", [w.tl(*c).code for c in (("refine",), ("refine", first), ("compact", "--now", LATER))], [0, 0, 0])
    eq("the rows of the other stay", fingerprint(items(w)), before)
    catalog_says(w, "lost")
    eq("its documents are in the records", sum(x["kind"] == "converted" for p in w.files("tables") for x in lines(w.lake / p)),
       len(w.documents()))
    eq("rebuild once more", rebuild(w).code, 0)
    catalog_says(w, "lost, once more")
    # a file that nothing names, and a record that is damaged
    record = next(w.lake / p for p in w.files("tables") if lines(w.lake / p)[0]["did"] == "compact")
    good = record.read_bytes()
    for kind, bad in (("cut", good[:-9]), ("changed", good.replace(b'"rows":', b'"rows":1', 1)), ("without its end", good[: good.rindex(b"\n", 0, -1) + 1]),
                      ("leading out of the lake", good.replace(b'"path":"items/', b'"path":"items/../../', 1)), ("of another name", good.replace(record.stem.encode(), first.encode(), 1))):
        os.chmod(record, 0o644)
        record.write_bytes(bad)
        got = rebuild(w)
        ok(f"a record that is {kind} is damage, and named", got.code == 14 and record.name in got.out and "1 crawl with" in got.last_line(), got)
        none(f"{kind}: nothing of it is kept", [t["path"] for t in w.sql("SELECT path FROM tables") if t["path"].encode() in good])
    record.write_bytes(good)
    os.chmod(record, 0o444)
    eq("when it is whole again", (rebuild(w).code, fingerprint(items(w))), (0, before))
    catalog_says(w, "mended")
    eq("verify finds nothing wrong with tables", [line for line in w.tl("verify").out.splitlines() if second not in line], [])
    whole_file = next(p for p in w.files("items") if p.endswith(".avro"))
    stray = w.lake / (whole_file[: whole_file.rindex("_") + 1] + first + ".avro")
    stray.write_bytes((w.lake / whole_file).read_bytes())
    os.chmod(record, 0o644)
    record.write_bytes(good[:-1])
    got = w.tl("verify")
    ok("verify names a table file that no record does, and a record that was cut", got.code == 14 and str(stray.name) in got.out
       and f"{record.name}: it is cut" in got.out, got)


def test_tried_again():
    """A run that is tried again has another document, which is converted and refined as well."""
    site = Site(script="""
on /
  page Front
  links /late
on /late
  status 500
next
  status 500
next
  status 500
next
  status 500
next
  status 500
next
  page Late
""")
    w = World(config="fetch: {retries: 0}\n")
    root = w.tl("run", w.crawl("site", site.base + "/", leash="{depth: 2}")).root
    eq("convert and refine", [w.tl(c).code for c in ("convert", "refine")], [0, 0])
    for _ in range(6):
        if not w.statuses(root).get("failed"):
            break
        w.tl("retry", root)
        w.tl("run", "--resume", root, w.dir / "site.yml")
    eq("it went well in the end", w.statuses(root).get("failed"), None)
    eq("once more", [w.tl(c).code for c in ("convert", "refine")], [0, 0])
    whole(w, "tried again")
    before = known(w)
    eq("rebuild", rebuild(w).code, 0)
    for query, b, n in zip(VIEWS + BASE, before, known(w)):
        eq("tried again: the same rows: " + query[:60], n, b)
    nothing_to_do(w, "tried again", [root])


if __name__ == "__main__":
    main(test_items, test_once, test_killed, test_reused, test_span, test_own, test_types, test_shipped, test_after, test_codecs, test_damaged,
         test_rebuilt, test_rebuilt_killed, test_rebuilt_open, test_tried_again)
