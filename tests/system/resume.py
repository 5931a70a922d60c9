#!/usr/bin/env python3
"""resume.py - crawls without a file, too, are taken up again, put back and stopped; and the last line says why a line failed."""
import re
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

SITE = "on /robots.txt\n  status 404\n  body no\n" + "".join(
    f"on /{i}\n  page {i}\n  links /{2 * i} /{2 * i + 1}\n" for i in range(1, 8)) + \
    "".join(f"on /{i}\n  gate g\n  page {i}\n" for i in range(8, 16))
PAGES = {f"/{i}" for i in range(1, 16)}


def hanging(site, count):
    until("requests that hang", lambda: sum(1 for p in site.asked() if p.strip("/").isdigit() and int(p[1:]) >= 8) >= count)


def interrupted(w, site, *argv, number=signal.SIGINT):
    child = w.start(*argv)
    hanging(site, 4)
    child.signal(number)
    if number != signal.SIGKILL:
        child.signal(number)
    r = child.wait()
    return r, w.newest_root()


def by_hand():
    site = Site(script=SITE)
    w = World()
    r, root = interrupted(w, site, "crawl", site.base + "/1", "--depth", "4", "--runs", "100")
    ok("a crawl by hand that was interrupted names the way on, which works", r.code == 11 and f"trotline crawl --resume {root}" in r.last_line(), r)
    for name, argv, word in (("URLs", ("crawl", site.base + "/1", "--resume", root), "neither"), ("a leash", ("crawl", "--depth", "2", "--resume", root), "neither"),
                             ("auto", ("crawl", "--resume", "auto"), "id of the crawl's root"), ("nothing known", ("crawl", "--resume", "ffffffff"), "ffffffff")):
        r = w.tl(*argv)
        ok(f"--resume with {name} is a mistake", r.code == 2 and word in r.last_line(), r)
    child = w.runs(root, "parent_id IS NOT NULL")[0]["run_id"]
    r = w.tl("crawl", "--resume", child)
    ok("so is one of a run that is no root", r.code == 2 and "not the root" in r.last_line(), r)
    site.open("g")
    r = w.tl("crawl", "--resume", root)
    ok("it goes on, on its own leash", r.code == 0 and r.root == root and "depth 4, runs 100" in r.last_line(), r)
    ok("and its table counts the whole crawl", re.search(r"^success +16$", r.out, re.M), r)
    eq("every page is there, once", sorted(w.by_path(root, site)), sorted(PAGES))
    eq("and nothing is left open", (w.statuses(root), w.one("SELECT status FROM crawls")), ({"success": 15}, "done"))
    none("lake and catalog agree", w.faults(root))
    r = w.tl("run", w.crawl("file", site.base + "/1", leash="{depth: 2}"))
    r = w.tl("crawl", "--resume", r.root)
    ok("a crawl of a file is not for this", r.code == 2 and "trotline run file.yml --resume" in r.last_line(), r)
    site.close()


def put_back():
    site = Site(script="on /robots.txt\n  status 404\n  body no\non /1\n  page 1\n  links /2\non /2\n  status 404\n  body no\nnext\n  page 2\n")
    w = World()
    r = w.tl("crawl", site.base + "/1")
    root = r.root
    r = w.tl("retry", root, "--reason", "nope")
    ok("retry for a reason that nothing has names those that are there", r.code == 0 and "http_404 (1)" in r.last_line(), r)
    r = w.tl("retry", root)
    ok("retry of a crawl by hand names the way on", r.code == 0 and f"1 failed run of {root} waits again; go on with: trotline crawl --resume {root}" in r.last_line(), r)
    r = w.tl("crawl", "--resume", root)
    eq("which works", (r.code, w.statuses(root)), (0, {"success": 2}))
    none("lake and catalog agree", w.faults(root))
    r = w.tl("ls", "--name", "nobody")
    ok("ls of a name that no crawl has says so", r.code == 0 and "no crawl is named 'nobody'" in r.err, r)
    site.close()


def stopped():
    for how in ("crawl", "run"):
        for number in (signal.SIGINT, signal.SIGKILL):
            site = Site(script=SITE)
            w = World()
            argv = ("crawl", site.base + "/1", "--depth", "4") if how == "crawl" else ("run", w.crawl("c", site.base + "/1", leash="{depth: 4}"))
            _, root = interrupted(w, site, *argv, number=number)
            name = f"{how}, signal {number}"
            eq(f"{name}: it is open", w.one("SELECT status FROM crawls"), "open")
            r = w.tl("stop", root)
            ok(f"{name}: stop ends what nobody carries out", r.code == 0 and "it is closed" in r.last_line(), r)
            got = w.statuses(root)  # two links a page: one more waited than were collected; kill -9 may have cost some of the seven
            ok(f"{name}: what waited is cancelled", set(got) == {"success", "cancelled"} and got["cancelled"] == got["success"] + 1 and got["success"] <= 7, got)
            eq(f"{name}: and the crawl is stopped", w.one("SELECT status FROM crawls"), "stopped")
            ok(f"{name}: it has its closing record", (w.lake / "crawls").is_dir() and list((w.lake / "crawls").rglob(f"{root}.json")))
            none(f"{name}: lake and catalog agree", w.faults(root))
            r = w.tl("stop", root)
            ok(f"{name}: once", r.code == 0 and "over already" in r.last_line(), r)
            r = w.tl("verify")
            eq(f"{name}: verify finds nothing", r.code, 0)
            site.close()
    site = Site(script=SITE)
    w = World()
    child = w.start("crawl", site.base + "/1", "--depth", "4")
    hanging(site, 4)
    root = w.newest_root()
    r = w.tl("crawl", "--resume", root)
    eq("what is carried out cannot be taken up by another", r.code, 12)
    r = w.tl("stop", root)
    ok("and is stopped by the process that carries it out", r.code == 0 and "was asked to stop" in r.last_line(), r)
    r = child.wait()
    eq("which ends well", (r.code, w.one("SELECT status FROM crawls")), (0, "stopped"))
    site.close()


def causes():
    site = Site(script="on /robots.txt\n  body User-agent: *\\nDisallow: /private\non /gone\n  status 410\n  body gone\non /good\n  page good\n")
    w = World()
    w.configure("fetch: {retries: 0, delay: 0s}\n")
    r = w.tl("crawl", "http://127.0.0.1:1/")
    ok("a server that is not there is named, with the reason", r.code == 6 and "http://127.0.0.1:1/" in r.last_line() and "connect" in r.last_line().lower(), r)
    r = w.tl("crawl", site.base + "/gone")
    ok("so is a page that is gone", r.code == 6 and "/gone" in r.last_line() and "410" in r.last_line(), r)
    r = w.tl("crawl", site.base + "/private")
    ok("and one that robots.txt forbids", r.code == 6 and "/private" in r.last_line() and "robots" in r.last_line().split("look with")[0].split("; ")[-2], r)
    r = w.tl("crawl", site.base + "/good", "--no-follow")
    ok("where all is well, nothing is", r.code == 0 and r.last_line().count("; ") == 1, r)
    r = w.tl("run", site.base + "/good")
    ok("run of a URL says what was meant", r.code == 2 and f"trotline crawl {site.base}/good" in r.last_line(), r)
    r = w.tl("crawl", site.base + "/private", "-o", "jsonl")
    eq("a refused run has no HTTP status", [x["http_status"] for x in r.lines() if "status" in x and x["collector"] == "http"], [None])
    r = w.tl("crawl", site.base + "/good", "--depth", "0")
    ok("a depth of 0 is refused, and the reason said", r.code == 6 and f"{site.base}/good: the leash refused it (depth)" in r.last_line(), r)
    site.close()


main(by_hand, put_back, stopped, causes)
