#!/usr/bin/env python3
"""hostile.py - servers, names and neighbours that do what they should not: each costs what it must, and no more."""
import gzip
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

NO_ROBOTS = "on /robots.txt\n  status 404\n  body no\n"


def alone(*urls):
    """Lines that fetch one URL each and follow nothing."""
    return [{"collector": "http", "args": {"url": u, "follow": False}} for u in urls]


# What a server does: the rule, and what becomes of the run: (status, reason, dataset page or None).
ANSWERS = {
    "/cut": ("header Content-Length: 100\n  bare\n  body-fill x 40\n  close", "failed", "cut"),
    "/cut-chunked": ("chunked 10\n  body-fill x 100\n  cut 50", "failed", "cut"),
    "/longer": ("body-fill x 100\n  bad-length +5\n  close", "failed", "cut"),
    "/nothing": ("cut", "failed", "cut"),
    "/reset": ("body-fill x 5000\n  reset 2000", "failed", "cut"),
    "/reset-first": ("body x\n  reset", "failed", "cut"),
    "/stall": ("body-fill x 1000\n  stall 500", "failed", "timeout"),
    "/stall-first": ("body x\n  stall", "failed", "timeout"),
    "/no-chunk": ("raw HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nZZ\\r\\nhello\\r\\n0\\r\\n\\r\\n",
    "failed", None),
    "/garbage": ("raw \\x16\\x03\\x01 this is no HTTP at all\\n", "failed", None),
    "/status": ("raw HTTP/1.1 99999 Odd\\r\\n\\r\\n", "failed", None),
    "/header-fill": ("header-fill X-Long 300000\n  body x", "failed", None),
    "/header-many": ("header-many 40000\n  body x", "failed", None),
    "/bad-gzip": ("header Content-Encoding: gzip\n  body this is no gzip", "failed", "decode"),
    "/loop": ("redirect 302 /loop", "failed", "redirects"),
    "/hop/1": ("redirect 302 /hop/2", "failed", "redirects"),
    "/nowhere": ("redirect 302 http://", "failed", "redirects"),
    "/file": ("redirect 302 file:///etc/passwd", "failed|refused", None),
    "/foreign": ("redirect 301 http://foreign.example/", "refused", "hosts"),
    "/metadata": ("redirect 307 http://169.254.169.254/latest/meta-data/", "refused", "hosts"),
    "/drip": ("drip 7 5 head\n  page slowly", "success", None),
    "/chunks": ("chunked 3\n  trailer X-End: 1\n  body 0123456789", "success", None),
    "/old": ("raw HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\nold but good", "success", None),
    "/headers": ("raw HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 2\\r\\nX-A: 1\\r\\n"
                 "X-A: 2\\r\\nX-B:\\r\\n\\r\\nok", "success", None),
    "/shorter": ("body-fill abcdefghij 100\n  bad-length -5", "success", None),
    "/endless": ("type application/octet-stream\n  body-fill x endless", "partial", "collector"),
    "/dense": ("type application/octet-stream\n  header Content-Encoding: gzip\n  body-file DENSE", "partial",
               "collector"),
    "/bomb": ("type application/octet-stream\n  header Content-Encoding: gzip\n  body-file BOMB", "failed", "decode"),
}


def server():
    (TMP / "bomb.gz").write_bytes(gzip.compress(bytes(64 << 20)))
    (TMP / "dense.gz").write_bytes(gzip.compress(b"".join(b"line %d\n" % i for i in range(400000))))
    script = NO_ROBOTS + "".join(f"on {p}\n  {rule}\n" for p, (rule, _, _) in ANSWERS.items())
    script = script.replace("BOMB", str(TMP / "bomb.gz")).replace("DENSE", str(TMP / "dense.gz"))
    site = Site(script=script + "on /hop/*\n  redirect 302 /hop/{tail+1}\non /after/*\n  page good {tail}\n")
    w = World(config="fetch: {timeout: 4s, retries: 1, per_host: 16, delay: 0s, max_body: 1MiB, max_redirects: 5}\n")
    after = [f"/after/{i}" for i in range(20)]
    r = w.tl("run", w.crawl("hostile", *alone(*[site.base + p for x in zip(after, ANSWERS) for p in x]),
        *alone(*[site.base + p for p in list(ANSWERS)[20:]])))
    ok("the crawl comes to its end", r.code == 5 and r.root, r)
    rows = {x["url"][len(site.base):]: x for x in w.runs(r.root, "parent_id IS NOT NULL")}
    for p, (_, status, reason) in ANSWERS.items():
        row = rows[p]
        ok(f"{p}: {status}{', ' + reason if reason else ''}",
           re.fullmatch(status, row["status"]) and (reason is None or row["reason"] == reason)
           and (status == "success" or row["error"]), {k: row[k] for k in ("status", "reason", "error", "http_status")})
    docs = w.by_path(r.root, site)
    none("good answers in between, over the same connections, are their own",
         [p for p in after if docs[p].status != "success" or
                                                                               docs[p].original() != site.get(p)])
    eq("what came slowly, in chunks, in HTTP/1.0, shorter than announced",
       [docs[p].original()[-12:] for p in ("/chunks", "/old", "/headers")],
       [b"0123456789", b"old but good", b"ok"])
    eq("an announced length that is too small: what it says", docs["/shorter"].original(), (b"abcdefghij" * 10)[:95])
    eq("no body is longer than max_body, whatever it unpacks to",
       [(d.status, d.dataset("page")["bytes"], d.http["truncated"], len(d.original()))
                                                                   for d in (docs["/endless"], docs["/dense"])],
                                                                   [("partial", 1 << 20, True, 1 << 20)] * 2)
    ok("a redirect loop is left", len([x for x in site.log() if x[1] == "/loop"]) <= 6, site.asked()["/loop"])
    eq("redirects that never end are followed max_redirects times",
       ([x[1] for x in site.log() if x[1].startswith("/hop")],
       "5 redirects" in rows["/hop/1"]["error"]), ([f"/hop/{i}" for i in range(1, 7)], True))
    same("refused redirects are on record, and have no document",
         {x["url"][len(site.base):] for x in w.leashed(r.root)} - {"/file"},
         ["/foreign", "/metadata"])
    none("nothing of it upsets lake or catalog", w.faults(r.root))
    r = w.tl("run", w.crawl("anywhere", *alone(site.base + "/metadata"), leash='{hosts: ["*"]}'))
    eq("the metadata address is refused even to a crawl that may go anywhere",
       (r.code, [(x["status"], x["reason"]) for x in w.runs(r.root, "parent_id IS NOT NULL")],
       [x["reason"] for x in w.leashed(r.root)]), (6, [("refused", "guard")], ["guard"]))
    site.close()


def robots():
    rules = {2: "status 500\n  body no",
        3: "type text/plain\n  body User-agent: *\\nDisallow: /no\\n\n  body-fill #comment\\n endless", 4: "cut",
             5: "redirect 301 /moved.txt", 6: "redirect 302 /robots.txt", 7: "status 403\n  body no"}
    site = Site("--any-local", script="".join(f"on /robots.txt host=127.0.0.{n}\n  {rule}\n" for n,
        rule in rules.items()) +
                "on /moved.txt\n  type text/plain\n  body User-agent: *\\nDisallow: /no\\n\non /*\n  page x\n")
    w = World(config="fetch: {timeout: 10s, retries: 1, per_host: 4, delay: 0s}\n")
    r = w.tl("run", w.crawl("robots", *alone(*[f"http://127.0.0.{n}:{site.port}{p}" for n in rules
        for p in ("/yes", "/no")])))
    got = {}
    for x in w.runs(r.root, "parent_id IS NOT NULL"):
        got.setdefault(int(x["url"].split(":")[1][-1]), {})[x["url"][-3:].strip("/")] = x["reason"] or x["status"]
    out, forbidden, open_ = ({"yes": v, "no": v2} for v,
        v2 in (("robots_unreachable",) * 2, ("success", "robots"), ("success",) * 2))
    eq("robots.txt that fails, never ends, is cut, has moved, runs in circles, is forbidden",
       got, {2: out, 3: forbidden, 4: out, 5: forbidden, 6: open_, 7: open_})
    site.close()


def odd_urls():
    """Links as no author should write them: what a browser would ask for."""
    links = {b"/nul\0x": "/nul%EF%BF%BDx", b"/bad\xffutf8": "/bad%EF%BF%BDutf8", b"/sp ace": "/sp%20ace",
        b"/tab\tline\nend": "/tablineend",
             b"\\back\\slash": "/back/slash", b"/%zz%00%2e%41": "/%zz%00%2e%41",
             b"/caf\xc3\xa9?q=\xc3\xa9": "/caf%C3%A9?q=%C3%A9", b"/a/../../../b/./c": "/b/c",
             b"/%2e%2E/d": "/d", b"//": None, b"http://[::1": None, b"http://127.0.0.1:99999/": None,
             b"/quote&quot;&lt;&#39;": "/quote%22%3C'",
             b"/crlf&#13;&#10;X-Evil:1": "/crlfX-Evil:1", b"/semi;a=b,c": "/semi;a=b,c",
             b"?only=query": "/?only=query", b"/\xf0\x9f\x8e\xa3": "/%F0%9F%8E%A3"}
    (TMP / "odd.html").write_bytes(b"<!DOCTYPE html><meta charset=utf-8>" + b"".join(b'<a href="' + x + b'">x</a>'
        for x in links))
    site = Site(script=NO_ROBOTS + f"on /\n  body-file {TMP}/odd.html\non /*\n  page x\n")
    w = World()
    r = w.tl("run", w.crawl("odd", site.base + "/"))
    same("links with NUL, bytes that are no UTF-8, blanks, dots, backslashes: as the URL standard has it",
         site.asked(), {"/"} | {x for x in links.values() if x})
    eq("each is a run that succeeds", (r.code, set(w.statuses(r.root))), (0, {"success"}))
    none("lake and catalog agree", w.faults(r.root))
    site.close()


def names():
    """Names become folders."""
    site = Site(script=NO_ROBOTS + "on /*\n  page x\n")
    w = World()
    long = "x" * 300
    odd = ["../../../escape", "a/b=c%d", "..", ".", "ü €\u202e", " blank ", long, long[:-1] + "y", "-rf"]
    folders = set()
    for name in odd:
        r = w.tl("run", w.crawl(name, {"collector": "http", "args": {"url": site.base + "/"}, "name": name},
            leash="{depth: 1}", file="names",
                                target=json.dumps({"org": name, "project": name, "name": name})))
        if not ok(f"a crawl, a target and a line of the name {short(name, 120)!r}",
                r.code == 0 and r.root and not w.faults(r.root), r):
            continue
        d = [x for x in w.documents(r.root) if x.depth][0]
        levels = [x.split("=", 1)[1] for x in d.path.split("/")[1:-1]]
        folders.add(d.path.split("/project=")[1].split("/")[0])
        ok("... is kept in the document, and escaped in its path",
           d.d["target"]["name"] == name and d.d["result_context_name"] == name and len(levels) == 10
           and all(re.fullmatch(r"(?:[A-Za-z0-9._-]|%[0-9A-F]{2})+", x) and len(x) <= 200 and x not in (".", "..")
           for x in levels), d.path)
    eq("different names, different folders", len(folders), len(odd))
    same("nothing lies outside of the lake", {x for x in os.listdir(w.dir)} - {".cache", "elsewhere", "plugins"},
         {"lake", "catalog.db", "trotline.yml",
         "names.yml"} | {x for x in os.listdir(w.dir) if x.startswith("catalog.db")} | {x for x in os.listdir(w.dir)
         if x.endswith(".lock")})
    for bad in ("a\\0b", "new\\nline", "con\\ttab", ""):
        text = f'crawl: "{bad}"\nlines:\n  - collector: http\n    args: {{url: "http://127.0.0.1/"}}\n'
        (w.dir / "bad.yml").write_text(text)
        r = w.tl("run", w.dir / "bad.yml")
        ok(f"{bad!r} as a name is a fault of the file", r.code == 3 and "bad.yml:1:8" in r.err, r)
    site.close()


def stopped():
    """The machine sleeps for a while (SIGSTOP of all): no collector is to blame."""
    site = Site(script=NO_ROBOTS + pages({"/": [f"/p{i}" for i in range(10)]}) + "on /p*\n  gate g\n  page p\n")
    w = World(config="workers: {max: 1, stall: 1s}\nfetch: {timeout: 60s, per_host: 16, delay: 0s}\n")
    child = w.start("run", w.crawl("asleep", site.base + "/"))
    until("requests to wait", lambda: site.stats()["in_flight"] == 10)
    group = [child.pid] + until("a worker", child.workers)
    for pid in group:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(8)  # longer than a worker may be silent: stall + 5 s
    for pid in group:
        os.kill(pid, signal.SIGCONT)
    time.sleep(1)
    same("all were asleep: the same worker goes on", child.workers(), group[1:])
    site.open("g")
    r = child.wait()
    eq("all pages, each once, nobody to blame", (r.code, w.statuses(r.root), set(site.asked().values())),
       (0, {"success": 11}, {1}))
    none("lake and catalog agree", w.faults(r.root))
    site.reset()
    child = w.start("run", w.crawl("awake", site.base + "/"))
    until("requests to wait", lambda: site.stats()["in_flight"] == 10)
    worker = until("a worker", child.workers)[0]
    os.kill(worker, signal.SIGSTOP)
    until("another worker in its place", lambda: child.workers() not in ([worker], []))
    site.open("g")
    r = child.wait()
    ok("only the worker was: it is replaced, and its runs are carried out, nobody to blame",
       r.code == 0 and w.statuses(r.root) == {"success": 11}
       and not w.faults(r.root), r, w.statuses(r.root), w.faults(r.root))
    site.close()


def neighbours():
    """Several crawls at once on one catalog and one lake."""
    sites = [Site("--site", "graph", "--nodes", 300, "--kids", 8, "--cross", 4, "--bytes", 500) for _ in range(3)]
    w = World(config="workers: {max: 1, inflight: 16}\n")
    files = [w.crawl(f"neighbour-{i}", s.base + "/", leash="{depth: 9}") for i, s in enumerate(sites)]
    running = [w.start("run", f) for f in files] + [w.start("crawl", sites[0].base + "/", "--depth", "2")]
    ended = [c.wait() for c in running]
    ok("all end well, each with a root of its own",
       [r.code for r in ended] == [0] * 4 and len({r.root for r in ended}) == 4, *[r for r in ended if r.code])
    want = {"/"} | {f"/n/{i}.html" for i in range(1, 300)}
    for i, s in enumerate(sites):
        same(f"crawl {i} has all its pages", set(w.by_path(ended[i].root, s)) - {"/n/0.html"}, want)
        none(f"crawl {i}: lake, catalog and closing record agree", w.faults(ended[i].root))
    eq("verify", w.tl("verify").code, 0)
    for s in sites:
        s.close()


main(server, robots, odd_urls, names, stopped, neighbours)
