#!/usr/bin/env python3
"""delta.py - what keeps up with tables: Delta logs, replayed here from their JSON alone, while tables grow, are joined, and whoever
writes them is killed; verify, when table files are changed behind its back; diff, between the rows of two crawls."""
import sys
from urllib.parse import unquote

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

SHAPES = {"collector": "shapes", "args": {"simple": 2, "pages": 3, "pairs": 4, "json": True}}
HAVE_FAULTS = b"compact-logged" in Path(TROTLINE).read_bytes()


class Log:
    """A Delta table as the protocol has it: version by version, the last action of a path counts."""

    def __init__(self, root):
        self.root, self.files, self.commits = root, {}, []
        for n, path in enumerate(sorted((root / "_delta_log").glob("*.json"))):
            if path.name != f"{n:020d}.json":
                raise AssertionError(f"{path.name} is not version {n}")
            actions = [json.loads(line) for line in path.read_text().splitlines()]
            if any(len(a) != 1 for a in actions):
                raise AssertionError(f"{path}: a line is not one action")
            self.commits.append(actions)
            for a in actions:
                if "metaData" in a:
                    self.meta = a["metaData"]
                elif "protocol" in a:
                    self.protocol = a["protocol"]
                elif "add" in a:
                    self.files[unquote(a["add"]["path"])] = a["add"]
                elif "remove" in a:
                    del self.files[unquote(a["remove"]["path"])]

    def wrong(self, w, kind, name=None):
        """Against the files, and what the catalog says of them."""
        rows = w.sql("SELECT path, rows, bytes FROM tables WHERE kind = ? AND format = 'parquet' AND replaced_at IS NULL AND (?2 IS NULL OR name = ?2)",
                     kind, name)
        known = {os.path.relpath(w.lake / r["path"], self.root): r for r in rows}
        wrong = [f"differs: {p}" for p in set(known) ^ set(self.files)]
        for p, a in self.files.items():
            levels = dict(x.split("=", 1) for x in f"{self.root}/{p}".split("/") if "=" in x)
            levels = {k: v for k, v in levels.items() if k in self.meta["partitionColumns"]}
            file = self.root / p
            if not file.exists() or file.stat().st_size != a["size"]:
                wrong.append(f"no such file, or of another size: {p}")
            elif p in known and json.loads(a["stats"])["numRecords"] != known[p]["rows"]:
                wrong.append(f"rows: {p}")
            if a["partitionValues"] != {k: unquote(v) for k, v in levels.items()}:
                wrong.append(f"partitions: {a['partitionValues']} of {p}")
        return wrong


def world(config=""):
    site, w = Site(script=pages({"/": ["/a", "/b"], "/a": ["/"], "/b": ["/a"]})), World(plugins=("http", "shapes"), config=config)
    w.site, w.file = site, w.crawl("c", site.base + "/", SHAPES, leash='{depth: 3, hosts: ["127.0.0.1"]}')
    w.root = w.tl("run", w.file).root
    return w


def items(w):
    return Log(w.lake / "items/parquet")


def log():
    w = world("environment: prod-1.x\n")
    r = w.tl("export", "delta")
    ok("a log of a table without files", r.code == 0 and r.out.strip() == str(w.lake / "items/parquet"), r)
    first = items(w)
    eq("it begins with protocol and metadata", (first.protocol, first.files, first.meta["format"]["provider"]),
       ({"minReaderVersion": 1, "minWriterVersion": 2}, {}, "parquet"))
    schema = json.loads(first.meta["schemaString"])
    eq("its schema: the columns in order, then the partitions", ([f["name"] for f in schema["fields"]][:2], [f["name"] for f in schema["fields"]][-7:],
       {f["name"]: f["type"] for f in schema["fields"]}["collected_at"]), (["item_id", "result_id"], first.meta["partitionColumns"], "timestamp"))
    w.tl("convert")
    eq("convert keeps it up: one commit", (len(items(w).commits), items(w).wrong(w, "items")), (2, []))
    w.tl("convert")
    eq("nothing to do: no commit", len(items(w).commits), 2)
    w.tl("refine")
    w.tl("export", "delta", "http_page", "rejects")
    typed = lambda: Log(w.lake / "l2ts/type=http_page/p_type_version=1")
    eq("a log of a typed table", (len(typed().files), typed().wrong(w, "typed", "http_page")), (1, []))
    eq("a log of rejects, which has none", Log(w.lake / "rejects").files, {})
    ok("no log where none was asked for", not (w.lake / "l2ts/type=http_link/p_type_version=1/_delta_log").exists())
    w.tl("run", w.file)
    w.tl("refine")
    eq("refine keeps both up", (items(w).wrong(w, "items"), typed().wrong(w, "typed", "http_page"), len(typed().files)), ([], [], 2))
    before = items(w)
    w.tl("compact", "--now", "2099-01-01T00:00:00Z")
    after = items(w)
    eq("compact keeps it up", (after.wrong(w, "items"), len(after.files) < len(before.files)), ([], True))
    joined = after.commits[-1]
    eq("a join changes no data", ({a[k]["dataChange"] for a in joined for k in a if k in ("add", "remove")}, joined[0]["commitInfo"]["operation"]),
       ({False}, "OPTIMIZE"))
    eq("log files are read-only", {f.stat().st_mode & 0o777 for f in (w.lake / "items/parquet/_delta_log").iterdir()}, {0o444})
    eq("asked again: the same", (w.tl("export", "delta").code, len(items(w).commits)), (0, len(after.commits)))
    eq("verify has nothing to say of logs", w.tl("verify").code, 0)

    path = w.lake / "items/parquet/_delta_log" / f"{len(after.commits):020d}.json"
    path.write_text('{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"]}}\n')
    r = w.tl("export", "delta")
    ok("a log that others have raised is not gone on with", r.code == 14 and "protocol" in r.last_line() and str(path.name) in r.last_line(), r)
    r = w.tl("run", w.file)
    ok("and keeps nobody from crawling", r.code == 0 and "protocol" in r.err, r)
    os.unlink(path)
    os.unlink(w.lake / "items/parquet/_delta_log" / f"{1:020d}.json")
    r = w.tl("export", "delta")
    ok("nor is one with a version missing", r.code == 14 and "missing" in r.last_line(), r)


def killed():
    if not HAVE_FAULTS:
        return note("left out: the program has no fault points")
    w = world()
    w.tl("export", "delta")
    for n, fault in enumerate(("convert-committed:1", "convert-published-one:1", "compact-committed:1", "compact-published:1", "compact-logged:1", "compact-removed:1")):
        w.tl("run", w.file)
        command = ["compact", "--now", "2099-01-01T00:00:00Z"] if fault.startswith("compact") else ["convert"]
        if command[0] == "compact":
            w.tl("convert")
        r = w.tl(*command, env={"TROTLINE_FAULT": fault})
        ok(f"{fault}: killed", r.code == -9, r)
        none(f"{fault}: a log names no file that is gone", [p for p in items(w).files if not (w.lake / "items/parquet" / p).exists()])
        w.tl("convert")
        eq(f"{fault}: the next writer mends the log", items(w).wrong(w, "items"), [])
    two = [w.start("run", w.file), w.start("export", "delta"), w.start("compact", "--now", "2099-01-01T00:00:00Z"), w.start("refine")]
    ok("four writers at once", all(c.wait().code == 0 for c in two))
    w.tl("refine")
    eq("and the log is whole", items(w).wrong(w, "items"), [])


def problems(w, *args):
    r = w.tl("verify", *args)
    return r, sorted(r.out.splitlines())


def cared():
    w = world()
    other = w.tl("run", w.crawl("other", SHAPES)).root
    w.tl("refine")
    r, lines = problems(w)
    count = len(w.files("items")) + len(w.files("l2ts"))
    ok("verify: sound, and it counts table files", r.code == 0 and not lines and f", {count} table files" in r.err, r, count)
    eq("verify ROOT: those of the crawl", re.search(r"(\d+) table files", w.tl("verify", other).err)[1], str(
        w.one("SELECT count(DISTINCT path) FROM items WHERE root_id = ?", other)))

    def at(suffix):
        return w.lake / next(f for f in w.files() if re.search(suffix, f))

    def spoil(name, file, data, word, quick=True):
        was = file.read_bytes()
        os.chmod(file, 0o644)
        file.write_bytes(data(was))
        os.chmod(file, 0o444)
        r, lines = problems(w)
        ok(f"verify: {name}", r.code == 14 and len(lines) == 1 and lines[0].startswith(f"{file}: ") and word in lines[0], r)
        eq(f"verify --quick: {name}", problems(w, "--quick")[0].code, 14 if quick else 0)
        os.chmod(file, 0o644)
        file.write_bytes(was)
        os.chmod(file, 0o444)

    spoil("a Parquet file that is cut", at(r"items/parquet.*http/.*parquet$"), lambda b: b[:-9], "cut")
    spoil("an Avro file that is cut", at(r"items/avro.*http/.*avro$"), lambda b: b[:100], "cut")
    spoil("a typed table with another byte", at(r"l2ts/.*http_page.*parquet$"), lambda b: b[:500] + bytes([b[500] ^ 1]) + b[501:], "damaged", quick=False)
    spoil("an Avro file that has grown", at(r"items/avro.*shapes/.*avro$"), lambda b: b + b"x", "too long")
    file = at(r"items/parquet.*shapes/.*parquet$")
    os.rename(file, w.dir / "aside")
    for args in ([], ["--quick"], [other]):
        r, lines = problems(w, *args)
        ok(f"verify {' '.join(args)}: a file that is gone".replace(other, "ROOT"), r.code == 14 and len(lines) == 1 and "gone" in lines[0] and str(file) in lines[0], r)
    os.rename(w.dir / "aside", file)
    more = file.with_name(file.name[:-45] + "0193a5c4-7e10-7cc3-98c4-dc0c0c07398f.parquet")
    shutil.copyfile(file, more)
    (w.lake / "rejects").mkdir()
    (w.lake / "rejects/README").write_text("x")
    r, lines = problems(w)
    ok("verify: files that the catalog does not know", r.code == 14 and [x.split(": ")[0] for x in lines] == [str(more), str(w.lake / "rejects/README")], r)
    os.unlink(more)
    shutil.rmtree(w.lake / "rejects")
    os.chmod(file, 0o644)
    r, lines = problems(w)
    ok("verify: one that can be written is worth a warning", r.code == 0 and str(file) in r.err and "0644" in r.err, r)
    os.chmod(file, 0o444)
    w.tl("compact", "--now", "2099-01-01T00:00:00Z")
    eq("verify: sound after compact", problems(w)[0].code, 0)


def differ():
    one = pages({"/": ["/a", "/b", "/old"], "/a": [], "/b": [], "/old": []}, **{"/a": ["header ETag: \"1\"", "validate"]})
    two = one.replace("page /b", "page another").replace("/old", "/new")
    site, w = Site(script=one), World(plugins=("http", "shapes"))
    port = site.port
    lines = [f"http://127.0.0.1:{port}/", SHAPES]
    c = w.crawl("c", *lines, leash='{depth: 3, hosts: ["127.0.0.1"]}')
    a = w.tl("run", c).root
    site.close()
    site = Site("--port", port, script=two)
    lines[1] = {"collector": "shapes", "args": {"simple": 2, "pages": 2, "pairs": 5, "json": True}}
    w.crawl("c", *lines, leash='{depth: 3, hosts: ["127.0.0.1"]}')
    b = w.tl("run", c).root
    eq("one page is not modified", len(w.runs(b, "status = 'not_modified'")), 1)

    r = w.tl("diff", "--items", a, b, "-o", "json")
    got = json.loads(r.out)
    keys = {k: [json.loads(x["key"]) for x in v] for k, v in got.items()}
    base = f"http://127.0.0.1:{port}"

    def contents(root):
        """{key: digests}, from the documents."""
        found = {}
        ids = {x["run_id"]: x["result_ref"] for x in w.runs(root, "parent_id IS NOT NULL")}
        for d in w.documents():
            if d.run_id not in ids and d.d["result_id"] not in ids.values():
                continue
            for s in d.d["datasets"]:
                for e in [s] if s["type"] == "SIMPLE" else (s.get("pages") or s.get("key_values")).values():
                    key = (d.collector, s["name"], e["data_url"] or d.d["result_context_name"]) + ((e.get("key") or e["id"],) if e is not s else ())
                    found[key] = e["sha256"]
        return found

    x, y = contents(a), contents(b)
    same("diff --items: added", map(tuple, keys["added"]), set(y) - set(x))
    same("diff --items: removed", map(tuple, keys["removed"]), set(x) - set(y))
    same("diff --items: changed", map(tuple, keys["changed"]), {k for k in x if k in y and x[k] != y[k]})
    ok("diff --items: there is some of each", all(keys.values()) and ["http", "page", base + "/b"] in keys["changed"], keys)
    none("diff --items: digests before and after", [c for c in got["changed"] if (c["before"]["data_sha256"], c["after"]["data_sha256"]) != (
        x[tuple(json.loads(c["key"]))], y[tuple(json.loads(c["key"]))])])
    eq("diff --items: what it came to", r.last_line(), f"{len(keys['added'])} added, {len(keys['removed'])} removed, {len(keys['changed'])} changed, "
       f"{sum(x[k] == y[k] for k in x if k in y)} unchanged")
    lines = w.tl("diff", "--items", a, b).out.splitlines()
    eq("diff --items: a line each", len(lines), sum(map(len, keys.values())))
    csv = w.tl("diff", "--items", "-o", "csv", a, b).out.splitlines()
    eq("diff --items -o csv", (csv[0], len(csv)), ("change,key", len(lines) + 1))
    eq("diff --items: with itself", w.tl("diff", "--items", "--exit-code", a, a).code, 0)
    eq("diff --items --exit-code", w.tl("diff", "--items", "--exit-code", a, b).code, 1)

    rows = [json.loads(line) for line in w.tl("diff", "--type", "http_page", "-o", "jsonl", a, b).out.splitlines()]
    eq("diff --type http_page: by natural key", {(r["change"], r["key"]) for r in rows},
       {("changed", base + "/"), ("changed", base + "/b"), ("added", base + "/new"), ("removed", base + "/old")})
    eq("diff of documents is as it was", {line.split()[0] for line in w.tl("diff", a, b).out.splitlines()}, {"added", "removed", "changed"})
    r = w.tl("diff", "--type", "http_pag", a, b)
    ok("diff --type of none: the nearest", r.code == 2 and "http_page" in r.last_line(), r)


main(log, killed, cared, differ)
