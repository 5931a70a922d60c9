#!/usr/bin/env python3
"""recover.py - nothing lost, nothing twice: whoever dies, whenever, the crawl ends like one that nobody disturbed.

recover.py --long: 200 kills over 5,000 pages in place of 10, and faults at random points until the crawl is done."""
import contextlib
import random
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

LONG = "--long" in sys.argv
SUPERVISOR = ["synced", "in-transaction", "before-commit", "committed", "renamed-one", "renamed"]
CLOSING = ["closing-staged", "closing-committed", "closing-published-one"]
WORKER = ["worker-before-stage", "worker-staged"]
# Only a program built with --enable-faults can be told to die.
HAVE_FAULTS = b"closing-published-one" in Path(TROTLINE).read_bytes()


def tree_pages():
    level, found = ["/n"], ["/"]
    for _ in range(3):
        level = [f"{x}-{i}" for x in level for i in range(3)]
        found += level
    return found


def whole(name, w, site, root, want):
    """The end of every story: this is a list of what is wrong."""
    wrong = w.faults(root)
    wrong += [f"staging folder left: {x}"
        for x in os.listdir(w.lake / ".staging")] if (w.lake / ".staging").exists() else []
    got = {x["url"][len(site.base):]: x["status"] for x in w.runs(root, "parent_id IS NOT NULL")}
    want = set(want) | ({"/n/0.html"} & set(got))  # of the graph: another name for /, which some pages link
    wrong += [f"lost: {p}" for p in set(want) - set(got)] + [f"too many: {p}" for p in set(got) - set(want)]
    wrong += [f"{p}: {s}" for p, s in got.items() if s != "success"]
    if sorted(w.by_path(root, site)) != sorted(want):
        wrong.append(f"{len(w.by_path(root, site))} documents")
    v = w.tl("verify")
    if v.code:
        wrong.append(f"verify: {v}")
    none(name, wrong)


def faults():
    site, want = Site("--site", "tree", "--arity", 3, "--depth", 3), tree_pages()
    w = World(config="workers: {max: 2, inflight: 4}\n")
    for point, n in [(p, n) for p in SUPERVISOR for n in (1, 6)] + [("closing-staged", 1)]:
        file = w.crawl(f"{point}-{n}", site.base + "/", leash="{depth: 9}")
        died = w.tl("run", file, env={"TROTLINE_FAULT": f"{point}:{n}"})
        first = w.newest_root()
        r = w.tl("run", file, "--resume", "auto")
        ok(f"{point}, {n}: it dies, and the same crawl goes on to its end",
           died.code == -signal.SIGKILL and r.code == 0 and r.root == first, died, r)
        whole(f"{point}, {n}: all pages once, nothing torn, nothing left over", w, site, first, want)
    for point, n in [("closing-committed", 1), ("closing-published-one", 1), ("closing-published-one", 2)]:
        file = w.crawl(f"{point}-{n}", site.base + "/", leash="{depth: 9}")
        died = w.tl("run", file, env={"TROTLINE_FAULT": f"{point}:{n}"})
        first = w.newest_root()
        site.reset()
        r = w.tl("run", file, "--resume", first)
        ok(f"{point}, {n}: a crawl that was closed is over; nothing is fetched again",
           died.code == -signal.SIGKILL and r.code == 0 and r.root == first
           and not site.asked(), died, r)
        whole(f"{point}, {n}: its closing record is whole", w, site, first, want)
    site.close()


def worker_faults():
    """A worker that dies with a run on the processor: that run is recorded as crashed, and only that."""
    site, want = Site("--site", "tree", "--arity", 3, "--depth", 3), tree_pages()
    w = World(config="workers: {max: 1, inflight: 4}\n")
    for point in WORKER:
        file = w.crawl(point, site.base + "/", leash="{depth: 9}")
        r = w.tl("run", file, env={"TROTLINE_FAULT": f"{point}:7"})
        got = w.statuses(r.root)
        ok(f"{point}: the crawl goes on; who was on the processor crashed, all others succeeded",
           r.code == 0 and set(got) == {"success", "crashed"}
           and not [x for x in w.faults(r.root) if not x.startswith("in .staging")], r, got, w.faults(r.root))
        crashed = w.runs(r.root, "status = 'crashed'")
        eq(f"{point}: the signal is named, and each crash has its document",
           ({"SIGKILL" in x["error"] for x in crashed},
           sum(d.d["error"] is not None and d.d["error"]["kind"] == "crashed" for d in w.documents(r.root))), ({True},
           len(crashed)))
        back = w.tl("retry", r.root)
        again = w.tl("run", file, "--resume", r.root)
        ok(f"{point}: retry puts them back, resume carries them out",
           back.code == 0 and again.code == 0 and again.root == r.root, back, again)
        whole(f"{point}: all pages once, nothing torn, nothing left over", w, site, r.root, want)
    site.close()


def graph(nodes):
    site = Site("--site", "graph", "--nodes", nodes, "--kids", 8, "--cross", 4, "--bytes", 2048, "--delay", 3)
    return site, ["/"] + [f"/n/{i}.html" for i in range(1, nodes)]


def progress(site):
    return json.loads(site.control("/__stats?brief"))["requests"]


def gone(pids):
    """Have these processes ended by themselves?"""
    return all(not Path(f"/proc/{p}").exists() or "\nState:\tZ" in Path(f"/proc/{p}/status").read_text() for p in pids)


def kills(nodes, moments, step, per_host):
    site, want = graph(nodes)
    w = World(config=f"workers: {{max: 2, inflight: 16}}\nfetch: {{per_host: {per_host}, delay: 0s}}\n")
    file = w.crawl("killed", site.base + "/", leash="{depth: 9}")
    rng, done, orphans = random.Random(11), 0, []
    r = None
    while done < moments:
        child, goal = w.start("run", file, "--resume", "auto"), progress(site) + rng.randrange(1, step)
        until("progress", lambda: progress(site) >= goal or not child.running())
        time.sleep(rng.random() * 0.01)
        workers = child.workers()
        if rng.random() < 0.5:
            child.signal_group(signal.SIGKILL)
        else:
            child.signal(signal.SIGKILL)  # its workers must notice by themselves
            orphans += workers
        child.p.wait()
        if child.p.returncode == 0:  # it was done already
            r = child.wait()
            break
        done += 1
        children.discard(child)
    ok(f"killed {moments} times on its way", done == moments, done, r)
    with part("workers"):
        until("orphaned workers to end", lambda: gone(orphans), 60)
    ok("workers of a supervisor that was killed end by themselves", gone(orphans), orphans)
    r = w.tl("run", file, "--resume", "auto")
    roots = w.sql("SELECT root_id FROM crawls")
    ok("the last one goes to the end of the one crawl", r.code == 0 and [x["root_id"] for x in roots] == [r.root], r,
       roots)
    whole(f"all {nodes} pages once, nothing torn, nothing left over", w, site, r.root, want)
    asked = site.asked()
    # a worker is handed four runs for each that it carries out at once
    ok("what was fetched again is at most what had been handed out at each kill",
       sum(asked.values()) - len(want) <= done * 128, sum(asked.values()) - len(want))
    eq("attempts are not charged to runs whose supervisor died", w.one("SELECT max(attempts) FROM runs"), 0)
    site.close()


def killed():
    kills(*((5000, 200, 10, 1) if LONG else (1000, 10, 70, 2)))


def killed_workers():
    """kill -9 of workers, from outside."""
    script = "on /robots.txt\n  status 404\n  body no\n" + pages({"/": [f"/p{i}"
        for i in range(20)]}) + "on /p*\n  gate g\n  page p\n"
    site = Site(script=script)
    w = World(config="workers: {max: 1, inflight: 32}\nfetch: {per_host: 32, delay: 0s}\n")
    child = w.start("run", w.crawl("waiting", site.base + "/"))
    until("all pages to be in flight", lambda: json.loads(site.control("/__stats?brief"))["in_flight"] == 20)
    os.kill(until("a worker", child.workers)[0], signal.SIGKILL)
    until("a second worker to ask for them all", lambda: progress(site) >= 42)
    site.open("g")
    r = child.wait()
    eq("a worker killed while its runs wait for answers: nobody is blamed, all are fetched again", (r.code,
       w.statuses(r.root),
       {n for p, n in site.asked().items() if p != "/"}), (0, {"success": 21}, {2}))
    whole("all pages once, nothing torn, nothing left over", w, site, r.root, ["/"] + [f"/p{i}" for i in range(20)])
    site.close()

    site, want = graph(500)
    w = World(config="workers: {max: 2, inflight: 8}\nfetch: {per_host: 8, delay: 0s}\n")
    file, rng, n = w.crawl("shot", site.base + "/", leash="{depth: 9}"), random.Random(12), 0
    child = w.start("run", file)
    for _ in range(6):
        goal = progress(site) + rng.randrange(20, 60)
        until("progress", lambda: progress(site) >= goal or not child.running())
        for pid in child.workers()[:1]:
            with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
                os.kill(pid, signal.SIGKILL)
                n += 1
    r = child.wait()
    got = w.statuses(r.root)
    crashed = got.pop("crashed", 0)
    ok(f"{n} workers shot at any moment: at most one run each is blamed", r.code == 0 and n >= 3 and crashed <= n, r,
       got, crashed)
    w.tl("retry", r.root)
    again = w.tl("run", file, "--resume", r.root)
    ok("retry and resume bring those back", again.code == 0, again)
    whole("all pages once, nothing torn, nothing left over", w, site, r.root, want)
    site.close()


def random_faults():
    """Only in the long form: each start is told to die at another point, until one is not reached any more."""
    site, want = graph(600)
    w = World(config="workers: {max: 1, inflight: 1}\n")
    file, rng, deaths = w.crawl("unlucky", site.base + "/", leash="{depth: 9}"), random.Random(13), 0
    for _ in range(300):
        r = w.tl("run", file, "--resume", "auto",
            env={"TROTLINE_FAULT": f"{rng.choice(SUPERVISOR)}:{rng.randrange(1, 12)}"})
        if r.code != -signal.SIGKILL:
            break
        deaths += 1
    r = w.tl("run", file, "--resume", w.newest_root())
    ok(f"after {deaths} deaths at random points",
       deaths > 20 and r.code == 0 and len(w.sql("SELECT 1 FROM crawls")) == 1, r)
    whole("all pages once, nothing torn, nothing left over", w, site, r.root, want)
    site.close()


main(*([faults, worker_faults] if HAVE_FAULTS else []), *([random_faults] if HAVE_FAULTS and LONG else []), killed,
    killed_workers)
