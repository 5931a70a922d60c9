#!/usr/bin/env python3
"""leash.py - the leash holds exactly, whatever a line, a child or the network does; what it refuses is on record."""
import collections
import random
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402


def tree():
    """40 pages; page /n-i-j has distance 2 and lineage depth 3."""
    return Site("--site", "tree", "--arity", 3, "--depth", 3), {
        p: p.count("-") for p in ["/"] + ["/n-" + "-".join(x) for x in
                                          [(a,) for a in "012"] + [(a, b) for a in "012" for b in "012"] +
                                          [(a, b, c) for a in "012" for b in "012" for c in "012"]]}


def crawl(w, site, name, leash, line=None, args=()):
    """A crawl from /; what it ended with, and the pages that the server was asked for."""
    site.reset()
    url = {"collector": "http", "args": {"url": site.base + "/"}}
    r = w.tl("run", w.crawl(name, dict(url, leash=line) if line else url, leash=leash), *args)
    return r, site.asked()


def refused(w, site, root, reason):
    return {x["url"][len(site.base):]: x for x in w.leashed(root, reason)}


def depth():
    site, distance = tree()
    w = World()
    full, _ = crawl(w, site, "all", "{depth: 9}")
    digest = {x["url"][len(site.base):]: x["payload_digest"] for x in w.runs(full.root) if x["parent_id"]}
    for d in range(4):
        r, asked = crawl(w, site, f"depth-{d}", f"{{depth: {d}}}")
        eq(f"depth {d}: exit {0 if d else 6}, exactly the pages within it, each once", (r.code, asked),
           (0 if d else 6, {p: 1 for p, n in distance.items() if n < d}))
        beyond = {p: (digest[p], d, 1) for p, n in distance.items() if n == d}
        depths = {x["run_id"]: x["depth"] for x in w.runs(r.root)}
        rows = refused(w, site, r.root, "depth")
        eq(f"depth {d}: each page one step beyond is on record: identity, a parent at the end of the leash, how often",
           {p: (x["payload_digest"], depths[x["parent_id"]], x["times"]) for p, x in rows.items()}, beyond)
        none(f"depth {d}: the crawl's books balance", w.faults(r.root))
    r, asked = crawl(w, site, "line-wider", "{depth: 2}", "{depth: 99, fanout: 99, runs: 9999, hosts: ['*']}")
    same("a line cannot loosen the crawl's leash", asked, [p for p, n in distance.items() if n < 2])
    r, asked = crawl(w, site, "line-tighter", "{depth: 4}", "{depth: 2}")
    same("a line can tighten it", asked, [p for p, n in distance.items() if n < 2])
    w.configure("leash: {depth: 2}\n")
    r, asked = crawl(w, site, "global", "{depth: 4}", "{depth: 4}")
    same("the global leash holds for every crawl", asked, [p for p, n in distance.items() if n < 2])
    w.configure("leash: {runs: 6}\n")
    r, asked = crawl(w, site, "global-runs", "{runs: none}")
    eq("so does its number of runs, though a crawl asks for none", len(asked), 5)
    site.close()


def fanout_and_runs():
    site, distance = tree()
    w = World()
    r, asked = crawl(w, site, "fanout", "{depth: 9, fanout: 2}")
    same("fanout 2: the first two links of each page", asked, [p for p in distance if "2" not in p])
    same("fanout 2: the third of each is on record", refused(w, site, r.root, "fanout"),
         [p for p, n in distance.items() if p.endswith("-2") and "2" not in p[:-2]])
    r, asked = crawl(w, site, "runs", "{depth: 9, runs: 12}")
    eq("runs 12: the root and eleven pages, exit 0", (r.code, len(asked),
       w.one("SELECT runs FROM crawls WHERE root_id = ?", r.root)), (0, 11, 12))
    ok("runs 12: named as the reason of each refusal", {x["reason"] for x in w.leashed(r.root)} == {"runs"}
       and not w.faults(r.root),
       w.leashed(r.root)[:2], w.faults(r.root))
    r, asked = crawl(w, site, "line-runs", "{depth: 9, runs: 12}", "{runs: 5}")
    eq("a line's runs are its own five", len(asked), 5)
    site.close()
    site = Site(script=pages({"/": ["/", "/a", "/b", "/a", "/b#x", "/c", "/d"], "/a": ["/z"], "/b": ["/z"],
        "/c": ["/z"], "/d": [], "/z": []}))
    r, asked = crawl(w, site, "known", "{depth: 2, fanout: 3}")
    same("what is known already costs no fan-out", asked, ["/", "/a", "/b", "/c"])
    z = refused(w, site, r.root, "depth")["/z"]
    eq("one page refused to three parents is one row, counted three times", (z["times"], len(w.leashed(r.root))), (3,
       2))
    ok("its parent is one of them", w.one("SELECT url FROM runs WHERE run_id = ?", z["parent_id"])[-2:] in ("/a", "/b",
       "/c"), z)
    site.close()


def bytes_and_time():
    site = Site("--site", "tree", "--arity", 3, "--depth", 3, "--filler", 10000)
    w = World(config="workers: {max: 1, inflight: 4}\n")
    size = len(site.get("/n-0"))
    r, asked = crawl(w, site, "bytes", "{depth: 9, bytes: 120000}")
    spent = w.one("SELECT bytes FROM crawls WHERE root_id = ?", r.root)
    ok("bytes: stops when they are spent, overshot by at most what was in flight, exit 0",
       r.code == 0 and 120000 <= spent <= 120000 + 2 * 4 * size
       and len(asked) < 40, r, spent)
    ok("bytes: what was left undone is on record",
       set(x["reason"] for x in w.leashed(r.root)) == {"bytes"} and not w.faults(r.root),
       w.leashed(r.root)[:2], w.faults(r.root))
    site.close()

    site = Site("--site", "tree", "--arity", 3, "--depth", 3, "--delay", 900)
    w = World(config="fetch: {per_host: 4, delay: 0s}\n")
    r, asked = crawl(w, site, "time", "{depth: 9, time: 3s}", args=("-o", "jsonl"))
    ok("time: the crawl ends, and that is no error",
       r.code == 0 and 0 < len(asked) < 40 and r.lines()[-1]["end"] == "time", r, asked)
    ok("time: what was left undone is on record, and the crawl is closed",
       {x["reason"] for x in w.leashed(r.root)} == {"time"} and not w.faults(r.root),
       w.leashed(r.root)[:2], w.faults(r.root))
    r, asked = crawl(w, site, "line-time", "{depth: 1}", "{time: 400ms}")
    row = w.runs(r.root, "parent_id IS NOT NULL")[0]
    doc = [d for d in w.documents(r.root) if d.depth == 1]
    eq("a line's time is the deadline of its runs: failed, with a document that says why; every line failed: exit 6",
       (r.code, row["status"], row["reason"], [(d.status, d.d["error"]["kind"]) for d in doc]), (6, "failed",
       "deadline", [("failed", "deadline")]))
    site.close()


def hosts():
    there = Site("--any-local", script="on /robots.txt\n  status 404\n  body no\non /*\n  page any\n")
    site = Site(script=pages({"/": [f"http://127.0.0.2:{there.port}/b", f"http://127.0.0.3:{there.port}/c", "/a"],
        "/a": []}))
    w = World()
    both = {"127.0.0.2", "127.0.0.3"}

    def crawled(name, leash):
        before = len(there.log())
        r = w.tl("run", w.crawl("hosts-" + name, site.base + "/", leash=leash))
        return ({x[2].split(":")[0] for x in there.log()[before:]},
                {x["url"].split("/")[2].split(":")[0]: x["reason"] for x in w.leashed(r.root)})
    for name, leash, asked, refusals in (
            ("unset", "{depth: 3}", set(), {"127.0.0.2": "hosts", "127.0.0.3": "hosts"}),
            ("named", '{depth: 3, hosts: ["127.0.0.2"]}', {"127.0.0.2"}, {"127.0.0.3": "hosts"}),
            ("with a port", f'{{depth: 3, hosts: ["127.0.0.2:1", "127.0.0.3:{there.port}"]}}', {"127.0.0.3"},
            {"127.0.0.2": "hosts"}),
            ("all, which does not name private addresses", '{depth: 3, hosts: ["*"]}',
            set(), {"127.0.0.2": "guard", "127.0.0.3": "guard"})):
        eq(f"hosts {name}: who was asked; who was refused, and why", crawled(name, leash), (asked, refusals))
    w.configure("fetch: {private: allow, delay: 0s}\n")
    eq("hosts all, private addresses allowed", crawled("private", '{depth: 3, hosts: ["*"]}'), (both, {}))
    site.close()
    there.close()


def greedy():
    """A collector that asks for 500 children, each with a leash of {depth: 999, hosts: ['*']}."""
    w = World(plugins=("http", "greedy"))
    for name, leash, reason in (("depth", "{depth: 1}", "depth"), ("hosts", "{depth: 5}", "hosts"), ("runs",
        '{depth: 5, runs: 2, hosts: ["*"]}', "runs"),
                                ("fanout", '{depth: 5, fanout: 0, hosts: ["*"]}', "fanout")):
        r = w.tl("run", w.crawl("greedy-" + name, {"collector": "greedy"}, leash=leash))
        eq(f"a child cannot loosen {name}: two runs, 500 refusals, all on record", (r.code,
           len(w.runs(r.root)), {x["reason"]: 0 for x in w.leashed(r.root)},
           len(w.leashed(r.root)), {x["times"] for x in w.leashed(r.root)}), (0, 2, {reason: 0}, 500, {1}))


# ---- depth does not race

SHORT = {"/": ["/slow", "/f1"], "/f1": ["/f2"], "/f2": ["/f3"], "/f3": ["/f4", "/target"], "/f4": [],
    "/slow": ["/target"], "/target": ["/t1"],
         "/t1": ["/t2"], "/t2": ["/t3"], "/t3": []}
DEPTHS = {"/": 1, "/slow": 2, "/f1": 2, "/f2": 3, "/f3": 4, "/f4": 5, "/target": 3, "/t1": 4, "/t2": 5}


def depths(w, site, root):
    return {x["url"][len(site.base):]: x["reach"] for x in w.runs(root, "parent_id IS NOT NULL AND status = 'success'")}


def slow_short_path():
    site = Site(script=pages(SHORT, **{"/slow": "delay 2000"}))
    w = World()
    r, asked = crawl(w, site, "race", "{depth: 5}")
    eq("a page at the end of a slow short path and a fast long one: by the short one, with all behind it",
       depths(w, site, r.root), DEPTHS)
    eq("each page was asked for once", set(asked.values()), {1})
    same("only what is too far by the shortest way was refused", refused(w, site, r.root, "depth"), ["/t3"])
    site.close()


def parked_start():
    """/slow asks to come back in 31 s: it is parked, and holds nobody up. The target is fetched from afar first."""
    global parked
    site = Site(script=pages(SHORT).replace("on /slow\n",
        "on /slow\n  status 503\n  header Retry-After: 31\n  body later\nnext\n"))
    w = World()
    parked = site, w, w.start("run", w.crawl("parked", site.base + "/", leash="{depth: 5}"))


def parked_end():
    site, w, child = parked
    r = child.wait()
    eq("a parked run holds nobody up; when it comes back, what it leads to is nearer, and nothing is lost", (r.code,
       depths(w, site, r.root)), (0, DEPTHS))
    eq("nothing but the parked page was asked for twice: links are put again from the document", {k: v for k,
       v in site.asked().items() if v != 1}, {"/slow": 2})
    none("the crawl's books balance", w.faults(r.root))
    site.close()


def heavy_tail():
    """Three crawls of one random graph whose answers take now 1, now 600 ms: the breadth-first distances, each time."""
    rng, n = random.Random(7), 160
    name = ["/"] + [f"/p{i}" for i in range(1, n)]
    graph = {x: [] for x in name}
    for i in range(1, n):
        graph[name[rng.randrange(max(0, i - 25), i)]].append(name[i])
    for i in range(3 * n):
        graph[rng.choice(name)].append(rng.choice(name))
    for x in name:
        rng.shuffle(graph[x])
    distance, queue = {"/": 0}, collections.deque(["/"])
    while queue:
        x = queue.popleft()
        for y in graph[x]:
            if y not in distance:
                distance[y] = distance[x] + 1
                queue.append(y)
    leash = max(distance.values()) - 1  # so that some lie beyond
    w = World(config="workers: {max: 3, inflight: 16}\n")
    for seed in (1, 2, 3):
        site = Site(script=pages(graph, **{x: f"delay-tail {seed} 1 600" for x in name}))
        r, asked = crawl(w, site, f"tail-{seed}", f"{{depth: {leash}}}")
        eq(f"heavy-tailed latency, {seed}: every page at its breadth-first distance",
           depths(w, site, r.root), {x: d + 1 for x, d in distance.items() if d < leash})
        eq(f"heavy-tailed latency, {seed}: each once", {v for v in asked.values()}, {1})
        # a page may be refused to a parent that is too deep before a nearer one asks for it: that is on record, too
        same(f"heavy-tailed latency, {seed}: refused for good is what is one step beyond",
             set(refused(w, site, r.root, "depth")) - set(asked),
             [x for x, d in distance.items() if d == leash])
        site.close()


main(parked_start, depth, fanout_and_runs, bytes_and_time, hosts, greedy, slow_short_path, heavy_tail, parked_end)
