#!/usr/bin/env python3
"""revalidate.py - what outlives a crawl: validators, robots.txt, lasting redirects, and hosts that asked to be left alone."""
import http.server
import sys
import threading
import time

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

SCRIPT = r"""
on /robots.txt
  type text/plain
  body User-agent: *\nDisallow: /private\n
on /
  header ETag: "v1"
  validate
  page Start
  links /a /old /private
on /a
  header Last-Modified: Fri, 02 Jan 2026 03:04:05 GMT
  validate
  page A
  links /b
on /b
  page B
on /old
  redirect 301 /new
on /new
  page New
"""


def paths(site):
    return [line[1] for line in site.log()]


def crawl(w, site, **more):
    return w.crawl("watched", {"collector": "http", "args": {"url": site.base + "/"}}, leash="{depth: 5}", **more)


def run(w, c):
    r = w.tl("run", c)
    rows = {x["url"][len(w.site.base):]: x for x in w.runs(r.root, "parent_id IS NOT NULL")}
    return r, rows


def unchanged():
    site, w = Site(script=SCRIPT), World()
    w.site = site
    c = crawl(w, site)
    first, a = run(w, c)
    eq("first: all of it is fetched", {p: x["status"] for p, x in a.items()},
       {"/": "success", "/a": "success", "/b": "success", "/old": "success", "/private": "refused"})
    asked = len(paths(site))
    second, b = run(w, c)
    eq("second: what has not changed is not modified, what has no validators is fetched", {p: x["status"] for p, x in b.items()},
       {"/": "not_modified", "/a": "not_modified", "/b": "success", "/old": "success", "/private": "refused"})
    eq("second: an unchanged run names the earlier result",
       [w.one("SELECT run_id FROM documents WHERE result_id = ?", b[p]["result_ref"]) for p in ("/", "/a")], [a[p]["run_id"] for p in ("/", "/a")])
    eq("second: its children are its own all the same", {p: x["parent_id"] for p, x in b.items() if p in ("/a", "/b")},
       {"/a": b["/"]["run_id"], "/b": b["/a"]["run_id"]})
    eq("second: unchanged runs have no document", sorted(d.url[len(site.base):] for d in w.documents(second.root) if d.collector == "http"), ["/b", "/old"])
    eq("second: robots.txt is not read again within the day", [p for p in paths(site)[asked:] if p == "/robots.txt"], [])
    eq("second: robots.txt holds all the same", w.leashed(second.root, "robots") != [], True)
    r = w.tl("diff", first.root, second.root, "-o", "json")
    eq("diff: an unchanged page counts as a member", json.loads(r.out), {"added": [], "removed": [], "changed": []})
    eq("url_map: a lasting redirect is remembered", [tuple(x.values()) for x in w.sql("SELECT requested_url, canonical_url, kind FROM url_map WHERE kind <> 'same'")],
       [(site.base + "/old", site.base + "/new", "redirect")])
    eq("verify: sound", w.tl("verify").code, 0)
    rebuilt(w, second)
    site.close()


def rebuilt(w, second):
    before = [tuple(x.values()) for x in w.sql("SELECT run_id, status, result_ref FROM runs ORDER BY run_id")]
    for f in w.dir.glob("catalog.db*"):
        f.unlink()
    eq("rebuild: exit 0", w.tl("rebuild").code, 0)
    eq("rebuild: unchanged runs name their results as before", [tuple(x.values()) for x in w.sql("SELECT run_id, status, result_ref FROM runs ORDER BY run_id")], before)


def in_full():
    site, w = Site(script=SCRIPT), World(config="fetch: {full_every: 2, delay: 0s}\n")
    w.site = site
    c = crawl(w, site)
    eq("full_every 2: in full, unchanged, in full, unchanged", [run(w, c)[1]["/"]["status"] for _ in range(4)],
       ["success", "not_modified", "success", "not_modified"])
    off = w.crawl("always", {"collector": "http", "args": {"url": site.base + "/", "revalidate": False, "follow": False}}, leash="{depth: 1}")
    eq("revalidate: false asks in full", run(w, off)[1]["/"]["status"], "success")
    site.close()


def left_alone():
    site, w = Site(script="on /robots.txt\n  status 404\non /\n  status 429\n  header Retry-After: 3600\n  body later\n"), World(config="fetch: {retries: 0}\n")
    w.site = site
    c = w.crawl("pushed", {"collector": "http", "args": {"url": site.base + "/"}}, leash="{depth: 1}")
    began = time.monotonic()
    r = w.tl("run", c, "--timeout", "4s")
    eq("429 with an hour: nothing can be asked in time, so it ends with 10, resumable", (r.code, w.statuses(r.root).get("queued")), (10, 1))
    asked = paths(site).count("/")
    r = w.tl("run", c, "--resume", r.root, "--timeout", "4s")
    eq("429 with an hour: another process does not ask either", (r.code, paths(site).count("/") - asked), (10, 0))
    r = w.tl("run", w.crawl("other", {"collector": "http", "args": {"url": site.base + "/"}}, leash="{depth: 1}"), "--timeout", "4s")
    eq("429 with an hour: nor does another crawl", (r.code, paths(site).count("/") - asked), (10, 0))
    ok("429 with an hour: nobody waited for it", time.monotonic() - began < 60, time.monotonic() - began, "under a minute")
    site.close()


class Liar(http.server.BaseHTTPRequestHandler):
    """At first pages; later 304 to who did not ask on condition: at /plain, and where /moved leads to."""
    later = False

    def do_GET(self):
        status, more = 200, []
        if self.path == "/robots.txt":
            status = 404
        elif self.path == "/moved":
            status, more = (302, [("Location", "/other")]) if self.later else (200, [("ETag", '"1"')])
        elif self.later:
            status = 304
        body = b"content" if status == 200 else b""
        self.send_response(status)
        for name, value in [*more, ("Content-Type", "text/plain")] + ([] if status == 304 else [("Content-Length", str(len(body)))]):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def not_asked():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base, w = f"http://127.0.0.1:{server.server_port}", World()
    c = w.crawl("lied", *({"collector": "http", "args": {"url": base + p, "follow": False}} for p in ("/moved", "/plain")))
    first = w.tl("run", c)
    eq("304: at first there are pages", sorted(x["status"] for x in w.runs(first.root, "parent_id IS NOT NULL")), ["success", "success"])
    Liar.later = True
    second = w.tl("run", c)
    eq("304: of a redirect's target, or to who did not ask, is no 'not modified'",
       [(x["status"], x["result_ref"]) for x in w.runs(second.root, "parent_id IS NOT NULL")], [("failed", None), ("failed", None)])
    eq("304: what is known of the page is still that", w.tl("url", "cat", base + "/plain").out, "content")
    server.shutdown()


main(unchanged, in_full, left_alone, not_asked)
