#!/usr/bin/env python3
"""tables_rebuilt.py - a catalog that was made anew from the lake knows which documents are in which table files: nothing is
converted or refined twice, whoever was killed in between."""
import sys

sys.dont_write_bytecode = True
from lib_tables import *  # noqa: E402, F403


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


def sealed(text):
    """The lines of a record, with a last line that is right."""
    head = text[: text.rindex(b"\n", 0, -1) + 1]
    end = {"kind": "end", "lines": head.count(b"\n"), "sha256": hashlib.sha256(head).hexdigest()}
    return head + json.dumps(end, separators=(",", ":")).encode() + b"\n"


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
    # a clock that was set back: what joined files has a lesser id than what made them
    record = next(w.lake / p for p in w.files("tables") if lines(w.lake / p)[0]["did"] == "compact")
    day = min(int(r.stem.replace("-", "")[:12], 16) for r in record.parent.iterdir()) - 1
    early = record.with_name(f"{day >> 16:08x}-{day & 0xffff:04x}{record.stem[13:]}.jsonl")
    early.write_bytes(sealed(record.read_bytes().replace(record.stem.encode(), early.stem.encode(), 1)))
    os.chmod(early, 0o444)
    record.unlink()
    before = known(w, VIEWS)
    eq("records are taken in the order that they need", (rebuild(w).code, known(w, VIEWS) == before), (0, True))
    whole(w, "set back")
    good = early.read_bytes()
    os.chmod(early, 0o644)
    early.write_bytes(sealed(re.sub(rb'"rows":\d+', b'"rows":4611686018427387904', good, count=1)))
    got = rebuild(w)
    ok("a number of rows that cannot be is damage", got.code == 14 and early.name in got.out and "rows" in got.out, got)


def test_rebuilt_backwards():
    """Each record builds on the one behind it, as if the clock had run backwards: none is read again and again."""
    n = 60
    w = World(("shapes",))
    w.tl("run", w.crawl("shapes", *SHAPES[:1]))
    w.tl("convert")
    record = next(w.lake / p for p in w.files("tables"))
    head, *rest = lines(record)
    pair = [x for x in rest if x["kind"] == "file"][:2]
    day = int(record.stem.replace("-", "")[:12], 16)

    def name(i):
        return f"{day >> 16:08x}-{day & 0xffff:04x}-7fff-8000-{i:012x}"

    for i in range(n):
        text = [{**head, "id": name(i), "did": "compact"}]
        text += [{**x, "id": name(n + i), "path": x["path"].replace(x["id"], name(n + i))} for x in pair]
        text += [{"kind": "replaced", "id": name(n + i), "by": name(n + i + 1)}] * (i + 1 < n)
        path = record.with_name(name(i) + ".jsonl")
        path.write_bytes(sealed("".join(json.dumps(x, separators=(",", ":")) + "\n" for x in [*text, {}]).encode()))
        os.chmod(path, 0o444)
    for end in ("", "-wal", "-shm", ".turn"):
        w.catalog.with_name(w.catalog.name + end).unlink(missing_ok=True)
    got = w.tl("rebuild", env={"TROTLINE_FAULT": f"record-tried:{2 * n + 9}"})
    eq("all are taken, each is tried twice at most", (got.code, w.one("SELECT count(*) FROM table_file WHERE kind = 3")), (0, len(w.files("tables"))))


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
    main(test_rebuilt, test_rebuilt_backwards, test_rebuilt_killed, test_rebuilt_open, test_tried_again)
