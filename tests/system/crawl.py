#!/usr/bin/env python3
"""crawl.py - one crawl of a believable site, looked at from the server, the lake and the catalog."""
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

HTML = 80
KNOWN_404 = {"/trails/lost-river.html", "/gear/recall-2019.html"}
PRIVATE = {"/private/members.html", "/private/put-in-keys.html"}
KEYS = ("schema_version result_id run_id lineage collector target result_context_name result_name run_context payload "
        "leash status error started_at finished_at datasets checksum").split()
CODE = """<!DOCTYPE html><html><head><title>Code</title><style>p { color: red }</style>
<script>var hidden = "<a href='/script-link'>no</a>"; if (1 < 2) { alert("boo") }</script></head>
<body onload="evil()"><noscript>no script</noscript><p>One &amp; two<br>three</p><!-- <a href="/comment-link">no</a> -->
<template><a href="/template-link">t</a></template><textarea><a href="/area-link"></textarea>
<a href="../up/./here.html?a=1&amp;b=2#part">up</a> <A HREF='//schemeless.example'>s</A><a href="  /blanks
.html ">b</a><a href="javascript:alert(1)">j</a><a href=unquoted.html>u</a><a>none</a></body></html>"""


def linked():
    site = Site("--site", "linked", "--pages", HTML)
    w = World()
    file = w.crawl("kayak", site.base + "/", leash="{depth: 4}")
    r = w.tl("run", file, "--plan")
    ok("--plan: exit 0, and says how large it may become", r.code == 0 and "10000" in r.out, r)
    eq("--plan: asks the server nothing, leaves neither document nor run",
       (site.log(), w.files("documents"), w.catalog.exists() and w.one("SELECT count(*) FROM runs")), ([], [], False))

    r = w.tl("run", file)
    if not ok("the crawl ends with 0 and names its root last", r.code == 0 and r.root, r):
        return
    stats, log, docs = site.stats(), site.log(), w.by_path(r.root, site)
    eq("the server handed out every page", (stats["distinct"], stats["pages"]), (HTML,
       HTML + 1))  # one by its old address, too
    asked = {k: v for k, v in stats["by_path"].items() if k != "/robots.txt"}
    eq("each once; what is old, and what failed at first, twice", {k: v for k, v in asked.items() if v != 1},
       {"/trails/": 2, "/gear/tide-tables.html": 2})
    none("nothing behind robots.txt was asked for", [x for x in log if x[1].startswith("/private/")])
    eq("robots.txt was asked for before anything else", log[0][1], "/robots.txt")
    same("one document for each, and no other", docs, asked)
    none("the bytes are the server's", [p for p, d in docs.items() if d.status == "success" and
                                        d.original() != site.get("/trails/" if p == "/old/trails.html" else p)])
    same("runs that failed: the dead links", {x["url"][len(site.base):] for x in w.runs(r.root, "status = 'failed'")},
         KNOWN_404)
    eq("a dead link has a document that says so, and keeps the answer",
       {(docs[p].status, docs[p].d["error"]["kind"], docs[p].http["status"], len(docs[p].original()) > 0)
       for p in KNOWN_404},
       {("failed", "http_404", 404, True)})
    eq("what answered 500 once succeeded within its run", (docs["/gear/tide-tables.html"].status,
       docs["/gear/tide-tables.html"].http["requests"],
       w.one("SELECT attempts FROM runs WHERE url LIKE '%tide-tables.html'")), ("success", 2, 0))
    same("what robots.txt forbids is recorded by its reason",
         {x["url"][len(site.base):] for x in w.leashed(r.root, "robots")}, PRIVATE)
    same("its runs are refused and have no document",
         {(x["status"], x["result_ref"]) for x in w.runs(r.root, "reason = 'robots'")}, {("refused", None)})
    ok("other hosts were refused, and only those",
       {x["url"].split("/")[2].split(".", 1)[1] for x in w.leashed(r.root, "hosts")} == {"example.org"}
       and len(w.leashed(r.root)) == len(w.leashed(r.root, "hosts")) + len(PRIVATE) + len(w.leashed(r.root, "depth")),
       w.leashed(r.root)[:3])
    h = docs["/old/trails.html"].http
    eq("metadata.http of a redirect: chain, requested and final URL",
       (h["requested_url"], h["chain"], h["final_url"], h["status"], h["requests"]),
       (site.base + "/old/trails.html",
       [{"url": site.base + "/old/trails.html", "status": 301, "location": "/trails/"}], site.base + "/trails/", 200,
       2))
    ok("metadata.http has what was said, in order", [x[0] for x in h["request_headers"]][:2] == ["Host", "User-Agent"]
       and dict(h["response_headers"])["ETag"] == h["etag"] and h["remote_address"] == site.host, h)
    spanish = docs["/guides/espanol.html"].dataset("page")
    eq("a page in windows-1252 is text, named, readable, and comes back",
       (spanish["encoding"], spanish["metadata"]["charset"], "45 \u20ac; el ni\u00f1o" in spanish["data"]), ("text",
       "windows-1252", True))
    numbers = docs["/api/water-levels.json"]
    ok("JSON stands as it came: 9007199254740993",
       numbers.dataset("page")["encoding"] == "json" and b'"station":9007199254740993' in
       numbers.raw.replace(b'": ', b'":') and numbers.original() == site.get("/api/water-levels.json"),
       numbers.raw[-700:])
    eq("what is no text is base64", {p: docs[p].dataset("page")["encoding"] for p in docs
       if p.endswith((".png", ".pdf"))},
       {"/images/launch.png": "base64", "/files/florida-paddling-map.pdf": "base64"})
    none("documents have the keys of result_v1 in order", [d.path for d in w.documents(r.root) if list(d.d) != KEYS])
    none("documents cannot be written to",
         [d.path for d in w.documents(r.root) if d.file.stat().st_mode & 0o7777 != 0o444])
    none("lake, catalog and closing record agree", w.faults(r.root))
    eq("the root has a document too, at depth 0", [d.depth for d in w.documents(r.root) if d.run_id == r.root], [0])
    none("lineage.path leads from the root to the parent",
         [d.path for d in w.documents(r.root) if d.run_id != r.root and (
        d.d["lineage"]["path"][0] != r.root or d.d["lineage"]["path"][-1] != d.d["lineage"]["parent_id"] or
        len(d.d["lineage"]["path"]) != d.depth)])
    every = {d.run_id: d.d["lineage"]["path"] for d in w.documents(r.root)}
    eq("lineage: every run that has a document, under each of its ancestors once", sorted(
        tuple(x.values()) for x in w.sql("SELECT run_id, ancestor_id, hops FROM lineage") if x["run_id"] in every),
        sorted(
        (i, a, n) for i, path in every.items() for n, a in enumerate([i] + path[::-1])))
    again(site, w, file, r.root, set(docs))


def again(site, w, file, first, paths):
    site.reset()
    r = w.tl("run", file, "-o", "jsonl")
    lines = r.lines()
    ok("-o jsonl: each run a line when it ends, then a summary whose last value is the root",
       r.code == 0 and r.root == list(lines[-1].values())[-1]
       and lines[-1]["crawl"] == "kayak"
       and len(lines) - 1 == w.one("SELECT count(*) FROM runs WHERE root_id = ?", r.root) - 1, r)
    same("-o jsonl: names the document of each run", {x["document"] for x in lines[:-1] if x["document"]},
         {d.path for d in w.documents(r.root) if d.run_id != r.root})
    same("-o jsonl: run ids, parents and statuses are the catalog's",
         {(x["run_id"], x["parent_id"], x["status"], x["depth"]) for x in lines[:-1]},
         {(x["run_id"], x["parent_id"], x["status"], x["depth"]) for x in w.runs(r.root) if x["parent_id"]})
    same("a second crawl is a second snapshot of the same pages", w.by_path(r.root, site), paths)
    ok("and the first one stands", r.root != first and not w.faults(first) and not w.faults(r.root), w.faults(first))
    d = w.tl("diff", first, r.root, "-o", "json")
    eq("diff: nothing has changed between them", (d.code, json.loads(d.out)),
       (0, {"added": [], "removed": [], "changed": []}))
    site.close()
    other = Site("--site", "linked", "--pages", HTML, "--edition", 1, "--port", site.port)
    c = w.tl("run", file)
    before = w.by_path(first, site)
    changed = sum(before[p].original() != other.get(p) for p in paths - KNOWN_404 - {"/old/trails.html"})
    d = w.tl("diff", first, c.root, "-o", "json")
    found = json.loads(d.out)
    ok("diff: exactly the pages of which the next edition has other bytes",
       changed > 1 and (len(found["added"]), len(found["removed"]), len(
        {x["key"] for x in found["changed"]} - {other.base + "/old/trails.html"})) == (0, 0, changed), changed, found)
    other.close()


UTF8 = "“quotes” \\ \" \u2028 🎣 tab\there\r\n\u00e9 and e\u0301 \u0000 NUL"
JSON = b'\r\n {"a":1,"a":2,"e":1E2,"z":"x\\u0000y","big":[123456789012345678901234567890,-0.0,18446744073709551615]} \n'


def one_page():
    """What is read out of a page, and how odd bytes travel."""
    (TMP / "utf8").write_bytes(UTF8.encode())
    (TMP / "json").write_bytes(JSON)
    site = Site(script=f"""
on /dir/code.html
  type text/html
  body <<END
{CODE}
  END
on /utf8
  type text/plain; charset=utf-8
  body-file {TMP}/utf8
on /spaced.json
  type application/json
  body-file {TMP}/json
on /lone.json
  type application/json
  body {{"half":"\\\\ud800"}}
on /bad.json
  type application/json
  body {{"a":01}}
on /bytes.html
  body <title>t</title>caf\\xc3\\xff\\xfe <a href="/utf8">u</a>
on /empty.html
  body
on /big
  type application/octet-stream
  body-fill 0123456789abcdef 9000000
""")
    w = World()
    paths = ["/dir/code.html", "/utf8", "/spaced.json", "/lone.json", "/bad.json", "/bytes.html", "/empty.html", "/big"]
    r = w.tl("run", w.crawl("odd", *[site.base + p for p in paths], leash="{depth: 1}"))
    docs = w.by_path(r.root, site)
    code = docs["/dir/code.html"]
    text = code.dataset("text")["data"]
    none("there is no code in the text of a page",
         [x for x in ("hidden", "alert", "boo", "color", "comment-link", "evil") if x in text])
    ok("the words and entities of the page are in it", "One & two\nthree" in text, text)
    eq("links are absolute, in order, as a browser reads them",
       [x["url"] for x in code.dataset("links")["data"] if x["source"] == "a"],
       [site.base + "/up/here.html?a=1&b=2#part", "http://schemeless.example/", site.base + "/blanks.html",
       "javascript:alert(1)",
        site.base + "/dir/unquoted.html"])
    eq("how each is kept", {p: docs[p].dataset("page")["encoding"] for p in paths},
       {"/dir/code.html": "text", "/utf8": "text", "/spaced.json": "json", "/lone.json": "json", "/bad.json": "text",
       "/bytes.html": "base64",
        "/empty.html": "text", "/big": "attachment"})
    none("all bytes come back", [p for p in paths[:-1] if docs[p].original() != site.get(p)])
    a = docs["/big"].d["attachments"][0]
    e = docs["/big"].dataset("page")
    kept = (w.lake / a["path"]).read_bytes()
    eq("what is over 8 MiB lies beside the document, whole, read-only, named by it", (kept == site.get("/big"),
       hashlib.sha256(kept).hexdigest(),
       e["sha256"], e["bytes"], e["data"], e["attachment"], (w.lake / a["path"]).stat().st_mode & 0o777),
       (True, a["sha256"], a["sha256"], 9000000, None, a["name"], 0o444))
    c = w.tl("cat", docs["/spaced.json"].run_id)
    eq("cat prints the document, byte for byte", c.out.rstrip("\n").encode() == docs["/spaced.json"].raw.rstrip(b"\n"),
       True)
    none("lake, catalog and closing record agree", w.faults(r.root))
    site.close()


main(linked, one_page)
