#!/usr/bin/env python3
"""bad.py - a collector that misbehaves costs its own run and nothing else; what others hand over is kept as it is."""
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

BAD = ["crash", "abort", "spin", "hang", "leak", "greedy", "deep", "late", "retry"]
# What becomes of each: status, reason, a piece of the sentence that says why.
FATES = {"crash": ("crashed", "crashed", "SIGSEGV"), "abort": ("crashed", "crashed", "SIGABRT"),
    "deep": ("crashed", "crashed", "stack overflowed"),
         "spin": ("crashed", "crashed", "no sign of life"), "hang": ("crashed", "crashed", "no sign of life"),
         "late": ("failed", "deadline", "time was up"), "leak": ("crashed", "deadline", "deadline"),
         "retry": ("failed", "collector", "not now"),
         "greedy": ("success", None, "")}


def all_at_once():
    """All of them beside a crawl of 40 pages, which goes on as if they were not there."""
    site = Site("--site", "tree", "--arity", 3, "--depth", 3, "--delay", 20)
    w = World(plugins=["http"] + BAD, config="workers: {stall: 2s, run: 8s, memory: 400MiB}\n")
    lines = [{"collector": b} | ({"leash": "{time: 1s}"} if b == "late" else {}) for b in BAD]
    r = w.tl("run", w.crawl("zoo", *lines[:4], site.base + "/", *lines[4:], leash="{depth: 9}"))
    ok("lines failed: exit 5, and the crawl came to its end",
       r.code == 5 and r.root and w.one("SELECT status FROM crawls") == "done", r)
    rows = {x["collector"]: x for x in w.runs(r.root) if x["collector"] in BAD}
    docs = {d.collector: d for d in w.documents(r.root)}
    for b in BAD:
        status, reason, why = FATES[b]
        row = rows[b]
        ok(f"{b}: its run is {status}{', ' + reason if reason else ''}, and says why", (row["status"],
           row["reason"]) == (status, reason)
           and why in (row["error"] or ""), row)
        error = docs[b].d["error"] if b in docs else "no document"
        if status == "success":
            eq(f"{b}: its document is a success", (docs[b].status, error), ("success", None))
        else:
            eq(f"{b}: its document has the error and no dataset", (docs[b].status, error["kind"],
               docs[b].d["datasets"]), ("failed", reason, []))
    ok("a crash has its backtrace on record", "backtrace" in rows["crash"]["error"], rows["crash"]["error"])
    eq("what asks for another attempt gets three: two that ended in a retry, and one that failed",
       rows["retry"]["attempts"], 2)
    eq("the crawl beside them: every page, each once",
       (w.one("SELECT count(*) FROM runs WHERE collector = 'http' AND status = 'success'"),
       set(site.asked().values()), len(site.asked())), (40, {1}, 40))
    eq("greedy's 500 children are refusals, not runs", len([x for x in w.leashed(r.root) if "foreign" in x["url"]]),
       500)
    none("lake, catalog and closing record agree", w.faults(r.root))
    same("failures: exactly those", {x["collector"] for x in w.sql("SELECT * FROM failures")}, set(BAD) - {"greedy"})
    site.close()


def reaction():
    """react_crash collects well and dies when it is told about its own document."""
    w = World(plugins=["react_crash", "http"])
    file = w.crawl("reaction", {"collector": "react_crash"})
    r = w.tl("run", file, "--fail-on", "any")
    row = w.runs(r.root, "collector = 'react_crash'")[0]
    docs = [d for d in w.documents(r.root) if d.collector == "react_crash"]
    eq("its document stands", (row["status"], [(d.status, d.original("text")) for d in docs]),
       ("success", [("success", b"all is well")]))
    events = w.sql("SELECT reactor, kind, status, attempts, error FROM events")
    ok("the event was delivered again three times, then failed; it says why",
       [(e["reactor"], e["kind"], e["status"], e["attempts"]) for e in events] ==
       [("react_crash", "react", "failed", 4)] and "SIGSEGV" in events[0]["error"], events)
    eq("it counts as a failed run under --fail-on any", r.code, 5)
    ok("a collector whose worker dies again and again is put in quarantine", "react_crash is in quarantine" in r.err,
       r.err)
    none("lake, catalog and closing record agree", w.faults(r.root))
    r = w.tl("run", file)
    eq("but not as a failed line", r.code, 0)


# ---- the shapes of documents

def pattern(n, size, binary=False):
    return bytes(((i + n) % 251 ^ 0x80) if binary else 10 if i % 64 == 63 else ord("a") + (i + n) % 26
        for i in range(size))


def check_element(name, e, want, kind):
    eq(f"{name}: {kind}, length, checksum and bytes", (e["encoding"], e["bytes"], e["sha256"], original(e)),
       (kind, len(want), hashlib.sha256(want).hexdigest(), want))


def shapes():
    w = World(plugins=["shapes"])
    lines = [{"collector": "shapes", "name": name, "args": dict(args)} for name, args in (
        ("text", {"simple": 3, "simple_bytes": 1000, "pages": 250, "page_bytes": 100, "pairs": 11, "pair_bytes": 70,
        "repeat_keys": True}),
        ("binary", {"simple": 1, "simple_bytes": 257, "pages": 3, "pairs": 2, "binary": True}),
        ("json", {"simple": 2, "simple_bytes": 200, "json": True}),
        ("large", {"simple": 2, "simple_bytes": 8388608, "pages": 2, "page_bytes": 8388609}),
        ("nothing", {"simple": 0}),
        ("too-many", {"simple": 65}))]
    r = w.tl("run", w.crawl("shapes", *lines))
    eq("all shapes are taken, but for none at all and one that its own collector refuses", (r.code,
       w.statuses(r.root)), (5, {"success": 4, "failed": 2}))
    docs = {d.d["result_context_name"]: d for d in w.documents(r.root) if d.depth}
    t = docs["text"]
    eq("datasets stand in the order in which they were put", [(s["name"], s["type"]) for s in t.d["datasets"]],
       [("simple_0", "SIMPLE"), ("simple_1", "SIMPLE"), ("simple_2", "SIMPLE"), ("pages", "PAGED"), ("pairs",
       "KEY_VALUE")])
    check_element("SIMPLE", t.dataset("simple_2"), pattern(2, 1000), "text")
    paged = t.dataset("pages")
    listed = list(paged["pages"].values())
    eq("PAGED: numbers dense from 1, pages in their order, each by its id",
       ([p["page_number"] for p in listed], [p["id"] for p in listed],
       paged["metadata"]["pages_by_number"]), (list(range(1, 251)),
       list(paged["pages"]), {str(p["page_number"]): p["id"] for p in listed}))
    none("PAGED: the bytes of every page", [p["page_number"] for i,
         p in enumerate(listed) if original(p) != pattern(i, 100) or p["bytes"] != 100])
    pairs = list(t.dataset("pairs")["key_values"].items())
    eq("KEY_VALUE: keys in their order, repeated where they repeat; an id is not", ([p["key"] for _, p in pairs],
       len({i for i, _ in pairs}),
       [p["id"] for _, p in pairs]), ([f"key-{i // 2}" for i in range(11)], 11, [i for i, _ in pairs]))
    none("KEY_VALUE: the bytes of every pair",
         [p["key"] for i, (_, p) in enumerate(pairs) if original(p) != pattern(i, 70)])
    check_element("bytes that are no text", docs["binary"].dataset("simple_0"), pattern(0, 257, True), "base64")
    j = docs["json"].dataset("simple_1")
    eq("JSON", (j["encoding"], j["bytes"], j["data"]["n"], j["data"]["big"],
       hashlib.sha256(docs["json"].original("simple_1")).hexdigest()),
       ("json", 200, 1, 9007199254740993, j["sha256"]))
    large = docs["large"]
    eq("8 MiB stand in the document, one byte more beside it",
       ([(s["encoding"], s["bytes"]) for s in large.d["datasets"][:2]],
       [(p["encoding"], p["data"], p["bytes"]) for p in large.dataset("pages")["pages"].values()]),
       ([("text", 8388608)] * 2, [("attachment", None, 8388609)] * 2))
    kept = [(w.lake / a["path"], a) for a in large.d["attachments"]]
    eq("attachments: size, checksum, read-only",
       [(p.stat().st_size, hashlib.sha256(p.read_bytes()).hexdigest(), p.stat().st_mode & 0o777) for p, _ in kept],
       [(a["bytes"], a["sha256"], 0o444) for _, a in kept])
    eq("who puts nothing has failed", (docs["nothing"].status, docs["nothing"].d["error"]["kind"],
       docs["nothing"].d["datasets"]), ("failed", "empty", []))
    eq("what a collector says of its failure stands in its document", docs["too-many"].d["error"]["message"],
       "at most 64 SIMPLE datasets")
    eq("the datasets view counts the elements", {(x["name"], x["type"], x["elements"]) for x in w.sql(
        "SELECT d.* FROM datasets d JOIN runs r USING (run_id) WHERE r.result_context_name = 'text'")},
       {("simple_0", "SIMPLE", 1), ("simple_1", "SIMPLE", 1), ("simple_2", "SIMPLE", 1), ("pages", "PAGED", 250),
       ("pairs", "KEY_VALUE", 11)})
    none("lake, catalog and closing record agree", w.faults(r.root))
    eq("verify agrees", w.tl("verify").code, 0)


def state():
    """A cursor moves only when its run succeeds."""
    w = World(plugins=["state"])

    def count(name, **args):
        r = w.tl("run", w.crawl(name, {"collector": "state", "args": args}, file="state"))
        docs = [d for d in w.documents(r.root) if d.depth]
        return r.code, [d.original("count") for d in docs if d.d["datasets"]]
    eq("state is kept from crawl to crawl, by the crawl's name, and not moved by a run that fails",
       [count("a"), count("a"), count("a", fail=True), count("a"), count("b")],
       [(0, [b"1"]), (0, [b"2"]), (6, []), (0, [b"3"]), (0, [b"1"])])


main(all_at_once, reaction, shapes, state)
