#!/usr/bin/env python3
"""The collector api: descriptions that come with the program against servers of the same dialect, then what a list can
do wrong, limits, arguments, secrets."""
import base64
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from lib import World, eq, main, none, note, ok, original, part, same

SECRET = "s3cr3t/key+with=signs"


class Server:
    """Answers from a function (path, query, headers, body) -> (status, headers, body); keeps what it was asked."""

    def __init__(self, answer):
        self.asked = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                query = {k: v[-1] for k, v in parse_qs(parts.query, keep_blank_values=True).items()}
                robots = parts.path == "/robots.txt"
                robots or server.asked.append({"method": self.command, "target": self.path, "path": parts.path, "query": query,
                                     "headers": dict(self.headers.items()), "body": body})
                status, headers, answer = (404, {}, "") if robots else server.answer(parts.path, query, self.headers, body)
                raw = answer if isinstance(answer, bytes) else (
                    answer if isinstance(answer, str) else json.dumps(answer)).encode()
                self.send_response(status)
                if "Content-Type" not in headers:
                    self.send_header("Content-Type", "application/json")
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = handle_any

            def log_message(self, *_):
                pass

        self.answer = answer
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def world(*descriptions, config="", env=None):
    w = World(plugins=("api", "http"), config=config + ("apis: [apis]\n" if descriptions else ""))
    if descriptions:
        (w.dir / "apis").mkdir()
    for text in descriptions:
        name = text.split("api:", 1)[1].split()[0].strip(",}")
        (w.dir / "apis" / f"{name}.yml").write_text(text)
    w.env.update(env or {})
    return w


runs = 0


def run(w, name="x", leash=None, **args):
    """One line; the run, its document, and how the command ended."""
    global runs
    runs += 1
    crawl = w.crawl(f"crawl-{runs}", {"collector": "api", "args": dict(args, api=name)}, leash=leash)
    ended = w.tl("run", crawl)
    documents = [d for d in (w.documents(ended.root) if ended.root else []) if d.collector == "api"]
    return ended, documents[0] if documents else None


def pages(document):
    """[(data, metadata.api)] of the answers."""
    data = document.dataset("answers") if document else None
    return [(p, p["metadata"]["api"]) for p in data["pages"].values()] if data else []


def ends(document):
    return [about["ended"] for _, about in pages(document)]


# ---------------------------------------------------------------- what comes with the program

def mediawiki():
    def answer(path, query, headers, body):
        first = int(query["sroffset"]) if "sroffset" in query else 0
        found = [{"ns": 0, "title": f"Kayak {i}", "pageid": 9007199254740993 + i} for i in range(first, min(first + 50, 120))]
        more = {"continue": {"sroffset": first + 50, "continue": "-||"}} if first + 50 < 120 else {}
        return 200, {}, {"batchcomplete": "", **more, "query": {"searchinfo": {"totalhits": 120}, "search": found}}

    s, w = Server(answer), world()
    ended, d = run(w, "mediawiki_search", base=s.base + "w/")
    eq("mediawiki: the crawl succeeds", ended.code, 0)
    eq("mediawiki: three pages, by the offset that the answer gives", [a["query"].get("sroffset") for a in s.asked],
       [None, "50", "100"])
    first = s.asked[0]
    eq("mediawiki: what is asked", (first["path"], first["query"]), ("/w/api.php", {
        "action": "query", "list": "search", "format": "json", "srsearch": "kayaking", "srlimit": "50"}))
    eq("mediawiki: items of each page", [about["items"] for _, about in pages(d)], [50, 50, 20])
    eq("mediawiki: why it ended", ends(d), [None, None, "last"])
    ok("mediawiki: a number over 2^53 is as it came", b"9007199254741095" in d.raw)
    eq("mediawiki: nothing is wrong between lake and catalog", w.faults(ended.root), [])
    s.answer = lambda path, query, *rest: answer(path, query, *rest) if query.get("sroffset") != "100" else (
        200, {}, {"error": {"code": "cirrussearch-offset-too-large", "info": "Could not retrieve results. Up to 10000"}})
    ended, d = run(w, "mediawiki_search", base=s.base + "w/", q="deep")
    ok("mediawiki: behind what it gives at the most, what came is kept", d.status == "partial" and ends(d)[-1] == "failed" and
       "Up to 10000" in d.raw.decode(), d.d.get("error"))
    s.answer = lambda *_: (200, {}, {"error": {"code": "badvalue", "info": "Unrecognized value"}})
    ended, d = run(w, "mediawiki_search", base=s.base + "w/", q="x")
    ok("mediawiki: an error in a 200 is a failure that is told", "Unrecognized value" in d.raw.decode() and
       d.status == "failed", d and d.raw[:300])
    eq("mediawiki: and the answer is kept", len(pages(d)), 1)


def hackernews():
    def answer(path, query, headers, body):
        page = int(query["page"])
        if path == "/item":
            return 200, {"Content-Type": "text/html"}, "<title>x</title>"
        hits = [{"objectID": f"{page}-{i}", "url": f"{s.base}story-{page}-{i}" if i else None} for i in range(3)]
        return 200, {}, {"hits": hits, "nbPages": 2, "page": page, "hitsPerPage": 100}

    s, w = Server(answer), world()
    ended, d = run(w, "hn_algolia", base=s.base + "api/v1", q="sea kayak & café", pages=5)
    eq("hn: two pages, by number", [a["query"]["page"] for a in s.asked], ["0", "1"])
    ok("hn: the argument is encoded where it stands",
       "query=sea%20kayak%20%26%20caf%C3%A9&tags=story&hitsPerPage=100&page=0" in s.asked[0]["target"], s.asked[0])
    eq("hn: it ended by the number of pages", ends(d), [None, "count"])
    eq("hn: without follow there are no children", len(w.runs(ended.root)), 2)

    def story(path, query, headers, body):
        return (200, {"Content-Type": "text/html"}, "<title>x</title>") if path.startswith("/story") else \
            answer(path, query, headers, body)

    s.answer = story
    ended, d = run(w, "hn_algolia", base=s.base + "api/v1", q="x", follow=True)
    same("hn: follow: each item that has a URL is a child", [r["url"] for r in w.runs(ended.root, "collector = 'http'")],
         [f"{s.base}story-{p}-{i}" for p in (0, 1) for i in (1, 2)])
    s.answer = answer
    s.asked.clear()
    run(w, "hn_algolia", base=s.base + "api/v1", q="new", by="search_by_date", pages=1)
    eq("hn: the newest first", s.asked[0]["path"], "/api/v1/search_by_date")
    s.answer = lambda *_: (400, {}, {"message": "invalid numeric attribute", "status": 400})
    ended, d = run(w, "hn_algolia", base=s.base + "api/v1", q="bad", filters="x>1")
    ok("hn: what it does not take is told as it says", "answered 400: invalid numeric attribute" in d.raw.decode(), d.d.get("error"))
    s.answer = story
    ended, d = run(w, "hn_algolia", leash="{fanout: 3}", base=s.base + "api/v1", q="y", follow=True)
    eq("hn: the leash holds children", len(w.leashed(ended.root, "fanout")), 1)


def certificates():
    s, w = Server(lambda *_: (200, {}, [{"id": 1, "name_value": "a.example.org"}])), world()
    ended, d = run(w, "crt_sh", base=s.base, q="%.example.org")
    eq("crt.sh: what is asked", s.asked[0]["target"], "/?q=%25.example.org&output=json")
    eq("crt.sh: one answer", (ended.code, [about["items"] for _, about in pages(d)], ends(d)), (0, [1], ["last"]))
    s.answer = lambda *_: (200, {"Content-Type": "text/html"}, "<html>busy</html>")
    ended, d = run(w, "crt_sh", base=s.base, q="busy")
    ok("crt.sh: a page of HTML is no answer, and kept", d.status == "failed" and "is no JSON (crt.sh answers with a page" in
       d.raw.decode() and len(pages(d)) == 1, d.d.get("error"))
    s.answer = lambda *_: (200, {}, '{"id":1}{"id":2}')
    ended, d = run(w, "crt_sh", base=s.base, q="old")
    ok("crt.sh: objects without a list, as it once answered, are no JSON", d.status == "failed" and "is no JSON" in d.raw.decode())
    s.answer = lambda *_: (200, {}, [])
    ended, d = run(w, "crt_sh", base=s.base, q="nothing", exclude="expired", deduplicate="Y")
    eq("crt.sh: none found", (ended.code, s.asked[-1]["target"], [about["items"] for _, about in pages(d)]),
       (0, "/?q=nothing&output=json&exclude=expired&deduplicate=Y", [0]))
    s.asked.clear()
    s.answer = lambda *_: (200, {}, [{"id": 1}]) if len(s.asked) > 2 else (502, {"Content-Type": "text/html"}, "<html>")
    ended, d = run(w, "crt_sh", base=s.base, q="busy2")
    eq("crt.sh: 502 is asked again", (ended.code, len(s.asked)), (0, 3))
    ended, _ = run(w, "crt_sh", base=s.base)
    ok("crt.sh: an argument that must be given is missed before anything is asked",
       ended.code == 3 and "argument q of API crt_sh is missing" in ended.err, ended)


def wayback():
    rows = [["org,example)/", "2019060100000%d" % (i % 10), f"https://example.org/{i}"] for i in range(1500)]

    def answer(path, query, headers, body):
        first, most = int(query["offset"]), int(query["limit"])
        found = rows[first:first + most]
        return 200, {}, ([["urlkey", "timestamp", "original"]] + found) if found else []

    s, w = Server(answer), world()
    ended, d = run(w, "wayback_cdx", base=s.base, url="example.org/*", filter="statuscode:200")
    eq("wayback: offsets", [a["query"]["offset"] for a in s.asked], ["0", "1000"])
    eq("wayback: path and parameters", (s.asked[0]["path"], s.asked[0]["query"]["url"], s.asked[0]["query"]["filter"],
       "collapse" in s.asked[0]["query"]), ("/cdx/search/cdx", "example.org/*", "statuscode:200", False))
    eq("wayback: rows, with that of the names", [about["items"] for _, about in pages(d)], [1001, 501])
    eq("wayback: it ended with a page that is not full", ends(d), [None, "short"])
    del rows[1999 - 500 - 500:]  # a last page that is full but for one, and has the row of names
    s.asked.clear()
    ended, d = run(w, "wayback_cdx", base=s.base, url="b")
    eq("wayback: as many rows as fit but one, and the names: one more answer, which is empty",
       ([about["items"] for _, about in pages(d)], ends(d)[-1]), ([1000, 0], "empty"))
    s.answer = lambda *_: (403, {"Content-Type": "text/plain"}, "org.archive.util.io.RuntimeIOException: Blocked Site Error")
    ended, d = run(w, "wayback_cdx", base=s.base, url="c")
    eq("wayback: what is blocked has failed, and the answer is kept", (d.status, len(pages(d))), ("failed", 1))


def crossref():
    def answer(path, query, headers, body):
        at = {"*": 0, "c1": 1, "c2": 2}[query["cursor"]]
        items = [{"DOI": f"10.1/{at}-{i}"} for i in range(100 if at < 2 else 30)]
        return 200, {"X-Rate-Limit-Limit": "1000", "X-Rate-Limit-Interval": "1s"}, {
            "status": "ok", "message": {"total-results": 230, "next-cursor": f"c{at + 1}", "items": items}}

    s, w = Server(answer), world()
    ended, d = run(w, "crossref", base=s.base, q="kayak", mailto="a@example.org")
    eq("crossref: cursors", [a["query"]["cursor"] for a in s.asked], ["*", "c1", "c2"])
    eq("crossref: it ended when it had all", (ends(d), pages(d)[-1][1]["total"]), ([None, None, "total"], 230))
    s.answer = lambda *_: (400, {}, {"status": "failed", "message-type": "validation-failure", "message": [
        {"type": "parameter-not-allowed", "value": "x", "message": "This route does not support x"}]})
    ended, bad = run(w, "crossref", base=s.base, q="kayak", filter="x:y")
    ok("crossref: what it does not take is told as it says", bad.status == "failed" and
       "answered 400: This route does not support x" in bad.raw.decode(), bad.d.get("error"))
    eq("crossref: a mail address is encoded", "mailto=a%40example.org" in s.asked[0]["target"], True)


def searxng():
    def answer(path, query, headers, body):
        page = int(query["pageno"])
        found = [{"url": f"{s.base}r{page}-{i}", "title": "x"} for i in range(10)] if page <= 3 else []
        return 200, {}, {"query": query["q"], "results": found}

    s, w = Server(answer), world()
    ended, _ = run(w, "searxng")
    ok("searxng: an instance must be named", ended.code == 3 and "give 'base'" in ended.err, ended)
    ended, d = run(w, "searxng", base=s.base, language="en")
    eq("searxng: pages from 1 until one is empty", [a["query"]["pageno"] for a in s.asked], ["1", "2", "3", "4"])
    eq("searxng: why it ended", ends(d), [None, None, None, "empty"])
    eq("searxng: what was not given is left out", sorted(s.asked[0]["query"]), ["format", "language", "pageno", "q"])
    fine, s.answer = s.answer, lambda *_: (403, {"Content-Type": "text/html"}, "<title>403 Forbidden</title>")
    ended, d = run(w, "searxng", base=s.base, q="forbidden")
    ok("searxng: 403 is explained", d.status == "failed" and "answered 403 (this instance does not give JSON" in d.raw.decode(),
       d.d.get("error"))
    s.answer = fine
    s.asked.clear()
    ended, d = run(w, "searxng", base=s.base, q="z", pages=2)
    eq("searxng: the line's bound on pages", (len(s.asked), ends(d), ended.code), (2, [None, "pages"], 0))


# ---------------------------------------------------------------- lists that go wrong

LINK = "api: x\nitems: /items\npages: {by: link}\n"
NEXT = "api: x\nitems: /items\npages: {by: next, at: /next}\n"
CURSOR = 'api: x\nquery: {c: "{cursor}"}\nitems: /items\npages: {by: cursor, at: /next}\n'
PAGE = 'api: x\nquery: {p: "{page}"}\nitems: /items\npages: {by: page, first: 1, most: 50}\n'
OFFSET = 'api: x\nquery: {o: "{offset}", n: "{size}"}\nitems: /items\npages: {by: offset, size: 2, total: /total}\n'


def links():
    def answer(path, query, headers, body):
        n = int(query.get("n", 0))
        link = {"Link": f'</x?n={n + 1}>; rel="next", </x?n=9>; rel="last"'} if n < 4 else {}
        return 200, link, {"items": [n]}

    s, w = Server(answer), world(LINK)
    ended, d = run(w, base=s.base)
    eq("link: five pages", ([a["target"] for a in s.asked], ends(d)[-1]),
       (["/"] + [f"/x?n={n}" for n in (1, 2, 3, 4)], "last"))
    s.answer = lambda path, query, *_: (200, {"Link": "</>; rel=next" if path == "/b" else "</b>; rel=next"},
                                        {"items": [path]})
    ended, d = run(w, base=s.base, pages=100)
    eq("link: a circle of two pages ends, and is told", (len(pages(d)), d.status, ends(d)[-1]), (2, "partial", "circle"))
    s.answer = lambda *_: (200, {"Link": "<http://127.0.0.2:1/>; rel=next"}, {"items": [1]})
    ended, d = run(w, base=s.base, pages=7)
    eq("link: not to another origin", (len(pages(d)), d.status), (1, "partial"))


def nexts():
    def answer(path, query, headers, body):
        n = int(query.get("n", 0))
        return 200, {}, {"items": [n], "next": f"{s.base}list?n={n + 1}" if n < 3 else None}

    s, w = Server(answer), world(NEXT)
    _, d = run(w, base=s.base)
    eq("next: until it is null", (len(pages(d)), ends(d)[-1], d.status), (4, "last", "success"))
    s.answer = lambda path, query, *_: (200, {}, {"items": [1], "next": "?n=%d" % (int(query.get("n", 0)) + 1)})
    s.asked.clear()
    _, d = run(w, base=s.base, pages=100)
    eq("next: the same answer for ever is asked for twice", (len(s.asked), len(pages(d)), d.status), (2, 1, "partial"))
    s.answer = lambda *_: (200, {}, {"items": [1], "next": {"a": []}})
    _, d = run(w, base=s.base, pages=3)
    eq("next: what is no text is no next page", (len(pages(d)), d.status), (1, "success"))
    s.answer = lambda *_: (200, {}, {"items": [1], "next": "javascript:alert(1)"})
    _, d = run(w, base=s.base, pages=4)
    eq("next: no other scheme", (len(pages(d)), d.status), (1, "partial"))


def cursors():
    s, w = Server(lambda path, query, *_: (200, {}, {"items": [int(query.get("c", "0"))], "next": int(
        query.get("c", "0")) + 1})), world(CURSOR)
    _, d = run(w, base=s.base, pages=6)
    eq("cursor: a number; held by the line's bound", ([a["query"].get("c") for a in s.asked], ends(d)[-1]),
       ([None, "1", "2", "3", "4", "5"], "pages"))
    s.asked.clear()
    _, d = run(w, base=s.base)
    eq("cursor: ten pages when nobody says anything", len(s.asked), 10)
    s.answer = lambda *_: (200, {}, {"items": ["same"], "next": "again"})
    s.asked.clear()
    _, d = run(w, base=s.base, pages=50)
    eq("cursor: one that stands still ends", (len(s.asked), len(pages(d)), d.status), (2, 1, "partial"))


def numbers():
    s, w = Server(lambda path, query, *_: (200, {}, {"items": [min(int(query["p"]), 4)], "took": int(query["p"])})), \
        world(PAGE)
    ended, d = run(w, base=s.base)
    eq("page: a server that repeats its last page for ever", ([a["query"]["p"] for a in s.asked], len(pages(d)),
       d.status, ended.code), (["1", "2", "3", "4", "5"], 4, "success", 0))
    s, w = Server(None), world(OFFSET)
    s.answer = lambda path, query, *_: (200, {}, {
        "total": 9 - len(s.asked), "items": list(range(int(query["o"]), min(int(query["o"]) + 2, 9 - len(s.asked))))})
    _, d = run(w, base=s.base)
    eq("offset: a total that moves", ([a["query"]["o"] for a in s.asked], [about["total"] for _, about in pages(d)],
       ends(d)[-1]), (["0", "2", "4"], [8, 7, 6], "total"))
    s.answer = lambda *_: (200, {}, {"total": "many", "items": [len(s.asked), 0]})
    s.asked.clear()
    _, d = run(w, base=s.base, pages=4)
    eq("offset: a total that is none", (len(s.asked), ends(d)[-1]), (4, "pages"))


def hostile():
    w = world(PAGE)
    deep = "[" * 100000
    for name, body, headers in (("no JSON", "{", {}), ("too deep", deep, {}), ("no list", {"items": 1}, {}),
                                ("nothing", "", {}), ("not UTF-8", b'{"items":["\xff"]}', {}),
                                ("a list that is a text", '"items"', {})):
        s = Server(lambda *_: (200, headers, body))
        ended, d = run(w, base=s.base)
        ok(f"hostile: {name}: one request, a failure that says where", len(s.asked) == 1 and d.status == "failed" and
           s.base in json.dumps(d.d), len(s.asked), d and d.d.get("error"))
    s = Server(lambda path, query, *_: (200, {}, {"items": [query["p"]]} if query["p"] == "1" else "oops"))
    _, d = run(w, base=s.base)
    eq("hostile: what came before is kept", (d.status, ends(d)), ("partial", [None, "failed"]))
    s = Server(lambda *_: (404, {}, {"message": "no"}))
    ended, d = run(w, base=s.base)
    eq("hostile: 404 fails, its answer is kept", (d.status, len(pages(d)), "answered 404" in d.raw.decode()),
       ("failed", 1, True))


# ---------------------------------------------------------------- lists that are cut

def cut():
    """Every page tells where the next one lies; of a list that was cut, the last one does."""
    def nexts(d):
        return [about["next"] for _, about in pages(d)]

    def numbered(most):
        return lambda path, query, *_: (500 if int(query.get("p", query.get("o", 0))) > most else 200, {}, {
            "items": [query.get("p", query.get("o"))] * 2, "total": 99})

    for name, text, answer, want, ended in (
            ("page", PAGE, numbered(3), [{"page": 2}, {"page": 3}, {"page": 4}, {"page": 4}], "failed"),
            ("offset", OFFSET, numbered(3), [{"offset": 2}, {"offset": 4}, {"offset": 4}], "failed"),
            ("cursor", CURSOR, lambda path, query, *_: (200, {}, {"items": [query.get("c")], "next": 9007199254740993 + len(
                s.asked)}), [{"cursor": str(9007199254740993 + n)} for n in (1, 2)], "pages"),
            ("next", NEXT, lambda path, query, *_: (200, {}, {"items": [len(s.asked)], "next": f"?n={len(s.asked)}"}),
             [{"url": "BASE?n=1"}, {"url": "BASE?n=2"}], "pages"),
            ("link", LINK, lambda path, query, *_: (200, {"Link": f"<?n={len(s.asked)}>; rel=next"}, {"items": [len(s.asked)]}),
             [{"url": "BASE?n=1"}, {"url": "BASE?n=2"}], "pages")):
        s, w = Server(answer), world(text)
        w.configure("apis: [apis]\nfetch: {retries: 0, delay: 0s}\n")
        ended_, d = run(w, base=s.base, pages=2 if ended == "pages" else 9)
        eq(f"cut: {name}: where it goes on stands with each page", json.loads(json.dumps(nexts(d)).replace(s.base, "BASE")), want)
        eq(f"cut: {name}: why it ended", (d.status, ends(d)[-1]), ("partial" if ended == "failed" else "success", ended))
    s, w = Server(lambda path, query, *_: (200, {}, {"items": [query["p"]] if query["p"] != "3" else []})), world(PAGE)
    _, d = run(w, base=s.base)
    eq("cut: a list that ended leads nowhere", nexts(d), [{"page": 2}, {"page": 3}, None])


def going_on():
    """continue: a list that was cut goes on with the next crawl of that name, one that ended begins anew."""
    def crawl(w, **args):
        ended = w.tl("run", w.crawl("same", {"collector": "api", "args": dict(args, api="x")}))
        return next(d for d in w.documents(ended.root) if d.collector == "api")

    for name, text, key in (("page", PAGE.replace("most: 50", "most: 2, continue: true"), "p"),
                            ("cursor", CURSOR.replace("at: /next", "at: /next, most: 2, continue: true"), "c"),
                            ("next", NEXT.replace("at: /next", "at: /next, most: 2, continue: true"), "n")):
        def answer(path, query, headers, body):
            n = int(query.get(key, 1))
            return 200, {}, {"items": [n] if n < 5 else [], "next": (f"?n={n + 1}" if key == "n" else n + 1) if n < 5 else None}

        s, w = Server(answer), world(text)
        asked = []
        for _ in range(4):
            crawl(w, base=s.base)
            asked.append([int(a["query"].get(key, 1)) for a in s.asked])
            s.asked.clear()
        eq(f"continue: by {name}: every page once, then from the start", asked, [[1, 2], [3, 4], [5], [1, 2]])
        crawl(w, base=s.base + "other/")
        eq(f"continue: by {name}: another question begins at its own start", int(s.asked[0]["query"].get(key, 1)), 1)
    s, w = Server(lambda path, query, *_: (200, {}, {"items": [query["p"]]})), world(PAGE.replace("most: 50", "most: 4, continue: true"))
    w.configure("apis: [apis]\nfetch: {retries: 0, delay: 0s}\n")
    fine = s.answer
    s.answer = lambda path, query, *rest: (503, {}, {}) if query["p"] == "3" else fine(path, query, *rest)
    d = crawl(w, base=s.base)
    eq("continue: a page that failed is where it goes on", (d.status, ends(d)[-1], pages(d)[-1][1]["next"]), ("partial", "failed", {"page": 3}))
    s.asked.clear()
    s.answer = lambda *_: (500, {}, {})
    d = crawl(w, base=s.base)
    eq("continue: a server in trouble changes nothing", ([a["query"]["p"] for a in s.asked], d.status), (["3"], "failed"))
    s.asked.clear()
    s.answer = lambda *_: (410, {}, {"message": "this cursor is gone"})
    d = crawl(w, base=s.base)
    eq("continue: a place that is gone is given up", ([a["query"]["p"] for a in s.asked], d.status), (["3"], "partial"))
    s.answer = fine
    s.asked.clear()
    d = crawl(w, base=s.base)
    eq("continue: and the next crawl begins anew", ([a["query"]["p"] for a in s.asked], d.status), (["1", "2", "3", "4"], "success"))


# ---------------------------------------------------------------- limits

LIMITED = PAGE + "limits: {remaining: X-Left, reset: X-Reset, reset_is: seconds}\n"


def limits():
    def answer(path, query, headers, body):
        if len(s.asked) == 2:
            return 429, {"Retry-After": "1"}, {}
        return 200, {}, {"items": [query["p"]] if int(query["p"]) < 3 else []}

    s, w = Server(answer), world(LIMITED)
    ended, d = run(w, base=s.base)
    eq("limits: 429 is waited for, and asked again", ([a["query"]["p"] for a in s.asked], d.status),
       (["1", "2", "2", "3"], "success"))
    s.answer = lambda path, query, *_: (200, {"X-Left": "0", "X-Reset": "100000"} if query["p"] == "2" else {},
                                        {"items": [query["p"]]})
    s.asked.clear()
    ended, d = run(w, base=s.base, pages=5)
    eq("limits: beyond a day a header is not believed", len(s.asked), 5)
    s.answer = lambda path, query, *_: (200, {"X-Left": "0", "X-Reset": "3600"} if query["p"] == "2" else {},
                                        {"items": [query["p"]]})
    s.asked.clear()
    ended, d = run(w, base=s.base, pages=6)
    eq("limits: none left for an hour: what was got is kept, nothing more is asked",
       (len(s.asked), d.status, len(pages(d)), "wants a wait of 36" in d.raw.decode()), (2, "partial", 2, True))
    s.answer = lambda *_: (429, {"Retry-After": "0"}, {})
    s.asked.clear()
    ended, d = run(w, base=s.base, pages=7)
    eq("limits: who always says 429 is asked six times", (len(s.asked), d.status), (6, "failed"))


# ---------------------------------------------------------------- requests

def requests():
    description = '''api: x
url: "v1/{kind}/find"
method: POST
headers: {X-Who: "{target.org} {who}", X-Not: "{nobody}"}
body: '{"q":"{q}","n":{n},"w":{who}}'
arguments:
  kind: {default: all}
  q: {required: true}
  n: {default: "5"}
  who: {default: "{target.project}"}
  nobody: {}
'''
    s, w = Server(lambda *_: (200, {}, {})), world(description)
    ended, d = run(w, base=s.base + "base", q='a"b\\c\n', kind="../x?y#z")
    a = s.asked[0]
    eq("request: method and path; a value cannot leave its segment", (a["method"], a["target"]),
       ("POST", "/base/v1/..%2Fx%3Fy%23z/find"))
    eq("request: JSON stays JSON", json.loads(a["body"]), {"q": 'a"b\\c\n', "n": 5, "w": "water"})
    eq("request: headers, and those that name nothing are left out",
       (a["headers"].get("X-Who"), "X-Not" in a["headers"], a["headers"]["Content-Type"]),
       ("acme water", False, "application/json"))
    run(w, base=s.base, q="x", n='1,"admin":true', who="x")
    eq("request: what is no number becomes a text", json.loads(s.asked[1]["body"])["n"], '1,"admin":true')
    ended, d = run(w, base=s.base, q="x", who="a\r\nX-Evil: 1")
    eq("request: no line break in a header", (len(s.asked), d.status if d else None), (2, "failed"))
    ended, _ = run(w, base=s.base, q="x", knd="y")
    ok("request: an unknown argument, with the nearest", ended.code == 3 and 'did you mean "kind"' in ended.err, ended)
    ended, _ = run(w, "y", base=s.base)
    ok("request: an unknown API", ended.code == 3 and 'there is no API "y"' in ended.err, ended)


def identities():
    """The same question is the same run; the description is no part of it."""
    s, w = Server(lambda *_: (200, {}, {"items": [1]})), world(PAGE + "arguments: {q: {}}\n")
    crawl = w.crawl("twice", {"collector": "api", "args": {"api": "x", "base": s.base, "q": "a", "pages": 1}},
                    {"collector": "api", "args": {"q": "a", "pages": 1, "base": s.base, "api": "x"}},
                    {"collector": "api", "args": {"api": "x", "base": s.base, "with": {"q": "a"}, "pages": 1}},
                    {"collector": "api", "args": {"api": "x", "base": s.base, "q": "b", "pages": 1}})
    ended = w.tl("run", crawl)
    eq("identity: three of four lines are one", len(w.runs(ended.root, "collector = 'api'")), 2)
    d = w.documents(ended.root)
    payload = next(x.d["payload"] for x in d if x.collector == "api")
    eq("identity: a document says how it was asked", (payload["with"] in ({"q": "a"}, {"q": "b"}),
       payload["description"]["pages"]["by"]), (True, "page"))


def descriptions():
    for text, words in (
            ("api: x\nbas: http://a/\n", "x.yml:2:1: unknown key 'bas'; did you mean 'base'?"),
            ("api: x\nquery: {q: \"{querry}\"}\narguments: {query: {}}\n", "x.yml:2:12: {querry} is not known; did you mean {query}?"),
            ("api: x\nurl: /a\n", "x.yml:2:6: 'url' is put behind 'base'"),
            ("api: x\npages: {by: next}\n", "'at' is missing"),
            ("api: x\nheaders: {Authorization: Bearer abc}\n", "a credential must not stand here"),
            ("api: x\narguments: {pages: {}}\n", "'pages' is an argument that every API has"),
            ("api: x\nitems: items\n", "wants a JSON pointer"),
            ("api: x\nsecret: {as: query}\n", "needs its 'name'"),
            ("api: x\nexplain: {200: fine}\n", "x.yml:2:11: 'explain' wants a status that is no success"),
            ("api: x\nsecret: {as: oauth2}\n", "needs 'token_url' and 'client_id'")):
        w = world(text)
        ended, _ = run(w, base="http://127.0.0.1:9/")
        ok(f"description: {words[:40]}", ended.code == 3 and words in ended.err, ended)
    w = world()
    ended = w.tl("plugins", "show", "api")
    ok("plugins show api lists the descriptions with their arguments", ended.code == 0 and "crossref" in ended.out and
       "namespace" in ended.out, ended)


# ---------------------------------------------------------------- secrets

def secret_world(kind):
    config = ""
    w = world(f"api: x\nquery: {{q: a, p: \"{{page}}\"}}\nitems: /items\npages: {{by: page}}\n{kind}", env={"KEY": SECRET})
    return w, lambda *origins: w.configure(f"apis: [apis]\nsecrets:\n  KEY: {{env: KEY, origins: [{', '.join(origins)}]}}\n" + config)


def forms_of(secret, user="bob"):
    return [secret.encode(), base64.b64encode(f"{user}:{secret}".encode()), b"s3cr3t%2Fkey", b"s3cr3t\\/key", b"s3cr3t"]


def leaks(w):
    """Files of the lake and the catalog in which the secret stands, in any spelling."""
    files = [w.lake / f for f in w.files()] + [w.catalog, *w.dir.glob("catalog.db-*")]
    return [str(f) for f in files if any(x in f.read_bytes() for x in forms_of(SECRET))]


def secrets():
    echo = lambda path, query, headers, body: (200, {"X-Echo": (headers.get("Authorization") or headers.get("X-Key") or
        query.get("key") or "").replace("\r", "")}, {"items": [query["p"]] if int(query["p"]) < 2 else [], "you_sent": [
            dict(headers.items()), s.asked[-1]["target"], unquote(s.asked[-1]["target"])]})
    for name, kind, seen in (
            ("header", "secret: {as: header, name: X-Key}", lambda a: a["headers"].get("X-Key")),
            ("query", "secret: {as: query, name: key}", lambda a: a["query"].get("key")),
            ("bearer", "secret: {as: bearer}", lambda a: (a["headers"].get("Authorization") or "")[7:]),
            ("basic", "secret: {as: basic, user: bob}", lambda a: base64.b64decode(
                (a["headers"].get("Authorization") or "")[6:]).decode().partition(":")[2])):
        w, configure = secret_world(kind)
        s = Server(echo)
        configure(s.base[:-1])
        ended, d = run(w, base=s.base, secret="KEY")
        eq(f"secret as {name}: the server gets it with every page", [seen(a) for a in s.asked], [SECRET] * 3)
        none(f"secret as {name}: it stands nowhere, though the server repeats it", leaks(w))
        ok(f"secret as {name}: the answer says what was struck out", ended.code == 0 and
           pages(d)[0][0]["metadata"]["http"].get("struck_out", 0) > 0, ended, pages(d)[:1])
        configure("https://elsewhere.example")
        s.asked.clear()
        run(w, base=s.base, secret="KEY", pages=1)
        ok(f"secret as {name}: not to an origin that it is not bound to", s.asked and all(
            SECRET not in unquote(json.dumps(a)) and not seen(a) for a in s.asked), s.asked)
    w, configure = secret_world("secret: {as: query, name: key}")
    ended, _ = run(w, base="http://127.0.0.1:9/")
    ok("secret: one that is wanted is missed before anything is asked", ended.code == 3 and
       "wants a credential" in ended.err, ended)


def redirects():
    """A server that sends its own parameters back; and one that sends elsewhere."""
    w, configure = secret_world("secret: {as: query, name: key}")
    s = Server(lambda path, query, headers, body: (302, {"Location": "/moved" + s.asked[-1]["target"][1:]}, "") if
               path == "/" else (200, {}, {"items": []}))
    configure(s.base[:-1])
    ended, d = run(w, base=s.base, secret="KEY", pages=1)
    eq("redirect: the parameter goes along once", [a["target"].count("key=") for a in s.asked], [1, 1])
    eq("redirect: and is right", s.asked[1]["query"]["key"], SECRET)
    none("redirect: it stands nowhere", leaks(w))
    other = Server(lambda *_: (200, {}, {"items": []}))
    s.answer = lambda *_: (302, {"Location": other.base}, "")
    s.asked.clear()
    run(w, leash="{hosts: ['127.0.0.1']}", base=s.base, secret="KEY", pages=2)
    ok("redirect: to another origin it does not go", len(other.asked) == 1 and
       "key" not in other.asked[0]["query"], other.asked)


def oauth2():
    kind = "secret: {as: oauth2, token_url: 'https://login.example/', client_id: trotline, scope: read}"
    w, configure = secret_world(kind)

    def answer(path, query, headers, body):
        if path == "/token":
            return 200, {}, {"access_token": "t0k3n-of-the-hour", "token_type": "Bearer", "expires_in": 3600}
        return 200, {}, {"items": [query["p"]] if query["p"] == "0" else [], "you_sent": headers.get("Authorization")}

    s = Server(answer)
    configure(s.base[:-1])
    ended, d = run(w, base=s.base, token_url=s.base + "token", secret="KEY")
    eq("oauth2: a token, then pages with it", [a["path"] for a in s.asked], ["/token", "/", "/"])
    token = s.asked[0]
    eq("oauth2: client credentials in the body", (token["method"], {k: v[0] for k, v in parse_qs(token["body"]).items()}),
       ("POST", {"grant_type": "client_credentials", "client_id": "trotline", "client_secret": SECRET, "scope": "read"}))
    eq("oauth2: the token is shown", [a["headers"].get("Authorization") for a in s.asked[1:]],
       ["Bearer t0k3n-of-the-hour"] * 2)
    none("oauth2: neither stands anywhere", leaks(w) + [str(f) for f in w.files() if b"t0k3n" in (w.lake / f).read_bytes()])
    s.answer = lambda *_: (400, {}, {"error": "invalid_client"})
    ended, d = run(w, base=s.base, token_url=s.base + "token", secret="KEY", pages=1)
    ok("oauth2: no token is told", d.status == "failed" and "gave no token" in d.raw.decode(), d and d.d)


def tokens():
    """One token for all runs of a crawl that show the same secret at the same place; another when it is refused."""
    kind = "secret: {as: oauth2, token_url: 'https://login.example/', client_id: trotline, scope: %s}\narguments: {q: {}}\n"
    w, configure = secret_world(kind % "read")
    (w.dir / "apis/y.yml").write_text((w.dir / "apis/x.yml").read_text().replace("api: x", "api: y").replace("scope: read",
                                                                                              "scope: write"))
    lock, given, refused = threading.Lock(), [], set()

    def answer(path, query, headers, body):
        if path == "/token":
            with lock:
                given.append(body)
                return 200, {}, dict({"access_token": f"t0k3n-{len(given)}", "token_type": "bearer"}, **life)
        token = (headers.get("Authorization") or "").removeprefix("Bearer ")
        if token in refused:
            return 401, {}, {"error": "expired"}
        return 200, {}, {"items": [query["p"]] if query["p"] == "0" else [], "you_sent": token}

    def many(name, n, apis=("x",), **more):
        given.clear(), s.asked.clear()
        ended = w.tl("run", w.crawl(name, *[{"collector": "api", "args": dict(more, api=a, base=s.base, q=str(i), secret="KEY",
                     token_url=s.base + "token")} for a in apis for i in range(n)]), "--set", "workers.max=3")
        return ended, [a["headers"].get("Authorization") for a in s.asked if a["path"] == "/"]

    s, life = Server(answer), {"expires_in": 3600}
    configure(s.base[:-1])
    ended, shown = many("share", 40)
    eq("tokens: forty runs show one", (ended.code, len(given), set(shown), len(shown)), (0, 1, {"Bearer t0k3n-1"}, 80))
    ended, shown = many("scopes", 5, ("x", "y"))
    eq("tokens: another scope, another token", (ended.code, len(given), len(set(shown))), (0, 2, 2))
    refused.add("t0k3n-1")
    ended, shown = many("refused", 20)
    eq("tokens: one that is refused is got anew once, for all", (ended.code, len(given), shown[-1], w.statuses(ended.root)),
       (0, 2, "Bearer t0k3n-2", {"success": 20}))
    refused.update(f"t0k3n-{i}" for i in range(100))
    ended, shown = many("always", 1)
    eq("tokens: who always says 401 is asked twice", (len(given), len(shown), w.statuses(ended.root)), (2, 2, {"failed": 1}))
    refused.clear()
    for name, life, most in (("nothing", {}, 1), ("no number", {"expires_in": "soon"}, 1), ("a text", {"expires_in": "3600"}, 1),
                             ("over all bounds", {"expires_in": 10 ** 40}, 1), ("negative", {"expires_in": -1}, 1)):
        ended, _ = many(f"life-{name}".replace(" ", "-"), 6)
        eq(f"tokens: expires_in {name}", (ended.code, len(given)), (0, most))
    life = {"expires_in": 0}
    ended, _ = many("none", 6)
    eq("tokens: one that is over at once is not shared", (ended.code, len(given)), (0, 6))
    life = {"expires_in": 3600}
    fine, s.answer = s.answer, lambda path, *rest: (400, {}, {"error": "invalid_client"}) if path == "/token" else (200, {}, {})
    ended, shown = many("client", 3)
    ok("tokens: one that cannot be had fails those that want it, and is told", shown == [] and w.statuses(ended.root) == {
        "failed": 3} and "answered 400: invalid_client" in w.one("SELECT error FROM runs WHERE status = 'failed' AND collector = "
                                                                 "'api' ORDER BY run_id DESC LIMIT 1"), ended)
    s.answer = lambda path, query, headers, body: (400, {"X-Echo": SECRET}, {"error": f"{SECRET} is wrong", "you_sent": body})
    ended, shown = many("echo", 1)
    ok("tokens: who says the secret back is not quoted", "**" in w.one("SELECT error FROM runs WHERE status = 'failed' ORDER BY run_id "
       "DESC LIMIT 1"), ended)
    none("tokens: none of it stands anywhere", leaks(w) + [str(f) for f in w.files() if b"t0k3n" in (w.lake / f).read_bytes()] +
         [str(f) for f in w.dir.glob("catalog.db*") if b"t0k3n" in f.read_bytes()])
    s.answer = fine
    given.clear()
    payload = w.dir / "payload.json"
    payload.write_text(json.dumps({"api": "x", "base": s.base, "secret": "KEY", "token_url": s.base + "token"}))
    ended = w.tl("collect", "api", "--payload", payload)
    eq("tokens: collect gets one", (ended.code, len(given), "t0k3n" in ended.out + ended.err), (0, 1, False))


# ---------------------------------------------------------------- XML

def xml():
    description = 'api: x\nanswer: xml\nquery: {s: "{cursor}"}\nitems: /list/record\nerror: /list/error\n' \
                  "pages: {by: cursor, at: /list/resume, total: /list/total}\n"
    w = world(description)

    def answer(path, query, headers, body):
        at = query.get("s")
        more = "<r:resume a='>'>a&amp;b&#x2f;&#99;</r:resume>" if at is None else "<r:resume/>"
        return 200, {"Content-Type": "text/xml"}, (
            "<?xml version='1.0'?><!-- <record> --><r:list xmlns:r='urn:r'><r:total>3</r:total>" +
            ("<r:record><x><record/></x></r:record><r:record/>" if at is None else
             "<r:record><![CDATA[</r:list>]]></r:record>") + more + "</r:list>")

    s = Server(answer)
    ended, d = run(w, base=s.base)
    eq("xml: the next page by an element's text, unescaped", [a["query"].get("s") for a in s.asked], [None, "a&b/c"])
    eq("xml: elements at the path, and nowhere else", [about["items"] for _, about in pages(d)], [2, 1])
    eq("xml: the answer is as it came", original(pages(d)[0][0], d.raw).startswith(b"<?xml version='1.0'?><!--"), True)
    for name, body in (("cut off", "<list><record>"), ("a document type with entities",
                       "<!DOCTYPE l [<!ENTITY a 'b'>]><list/>"), ("too deep", "<a>" * 1000), ("text", "no")):
        s.answer = lambda *_: (200, {"Content-Type": "text/xml"}, body)
        ended, d = run(w, base=s.base)
        ok(f"xml: {name} is refused", d.status == "failed" and "is no XML" in d.raw.decode(), d and d.d.get("error"))
    s.answer = lambda *_: (200, {"Content-Type": "text/xml"}, "<list><error>go away</error></list>")
    ended, d = run(w, base=s.base)
    ok("xml: an error is told", d.status == "failed" and "go away" in d.raw.decode())


# ---------------------------------------------------------------- those who mean harm

def attacks():
    """Answers and descriptions that want more than they may: each has an end, and nothing goes where it should not."""
    other = Server(lambda *_: (200, {}, {"items": ["elsewhere"]}))
    here = lambda: s.base[len("http://"):-1]
    there = other.base[len("http://"):-1]
    s, w = Server(None), world(NEXT)
    for where in (f"http://{there}/", f"//{there}/", f"http://u:p@{'HERE'}/", f"http://HERE@{there}/", f"http://HERE\\@{there}/",
                  "ftp://HERE/", "file:///etc/passwd", "http://169.254.169.254/latest/", "http://[::1]:1/", "data:,x",
                  "http://HERE.evil.example/", "https://HERE/", "http:///x", "http://HERE:99999/", "\u0001", "x" * 70000):
        s.asked.clear()
        s.answer = lambda *_: (200, {}, {"items": [1], "next": where.replace("HERE", here())})
        ended, d = run(w, base=s.base, pages=9)
        ok(f"attack: next is {where[:40]!r}: nobody else is asked, and it ends", not other.asked and len(s.asked) <= 2 and d.status in (
            "partial", "success"), other.asked, len(s.asked), d and d.d.get("error"))
    s, w = Server(None), world(CURSOR)
    for name, cursor in (("over 64 bits", 2 ** 70), ("a float", 1.5), ("with what a URL is made of", "a&b=c#d?e/../%00+ \u00e9\U0001f6a3"),
                         ("a million bytes", "c" * 1000000), ("negative", -1)):
        s.asked.clear()
        s.answer = lambda *_: (200, {}, {"items": [len(s.asked)], "next": cursor} if len(s.asked) < 2 else {"items": []})
        ended, d = run(w, base=s.base, pages=5)
        if name == "a million bytes":
            eq(f"attack: a cursor {name} is not asked for", (len(s.asked), d.status), (1, "partial"))
        else:
            eq(f"attack: a cursor {name} comes back as it was", s.asked[1]["query"].get("c"), str(cursor))
    s.answer = lambda *_: (200, {}, b'{"items":[1],"next":"\xff\xfe"}')
    ended, d = run(w, base=s.base, pages=6)
    eq("attack: a cursor that is not UTF-8", d.status, "failed")
    s, w = Server(None), world(OFFSET)
    for total in (10 ** 40, -5, 1e300, "NaN", 2 ** 63, "9" * 1000):
        s.asked.clear()
        s.answer = lambda *_: (200, {}, {"total": total, "items": [len(s.asked), 0]})
        ended, d = run(w, base=s.base, pages=3)
        eq(f"attack: a total of {str(total)[:20]} is none", (len(s.asked), ends(d)[-1], d.status), (3, "pages", "success"))
    s, w = Server(None), world(LINK)
    many = ", ".join(f"<?n={i}>; rel=x{i}" for i in range(3000))
    s.answer = lambda *_: (200, {"Link": many + ", <?n=last>; rel=next"} if len(s.asked) < 2 else {}, {"items": [len(s.asked)]})
    ended, d = run(w, base=s.base)
    ok("attack: the last of 3000 links is found, or the answer refused", d.status in ("success", "failed", "partial") and len(s.asked) <= 4,
       d.d.get("error"))
    for name, link in (("quotes without end", '<a>; rel="' + "\\" * 9000), ("only commas", "," * 20000), ("brackets", "<" * 20000),
                       ("parameters", "<a>" + ";x" * 10000)):
        s.answer = lambda *_: (200, {"Link": link}, {"items": [1]})
        ended, d = run(w, base=s.base, pages=2)
        ok(f"attack: Link of {name}", d and d.status in ("success", "partial", "failed"), ended)
    s, w = Server(None), world(PAGE + "children: {collector: http, args: {url: '{/u}'}}\n")
    body = b'{"items":[' + b"{}," * 1000000 + b"{}]}"
    s.answer = lambda path, query, *_: (200, {}, body if query["p"] == "1" else {"items": []})
    ended, d = run(w, base=s.base, follow=True)
    eq("attack: a million items that lead nowhere", (ended.code, pages(d)[0][1]["items"]), (0, 1000001))
    w.configure("apis: [apis]\nfetch: {retries: 0, delay: 0s}\n")
    s.answer = lambda path, query, *_: (200, {}, {"items": [{"u": x} for x in (
        "file:///etc/passwd", "http://169.254.169.254/", "http://127.0.0.2:1/x", None, 7, {"a": 1}, "x" * 40000, "\n",
        f"{s.base}fine")]} if query.get("p") == "1" else {"items": []})
    other.asked.clear()
    ended, d = run(w, base=s.base, follow=True, pages=2)
    ok("attack: an item cannot take the others along", "leads to no run" in ended.err, ended)
    eq("attack: items lead nowhere that the leash does not let them", ([r["url"] for r in w.runs(ended.root, "collector = 'http'")],
       len(w.leashed(ended.root, "hosts"))), ([f"{s.base}fine"], 2))
    eq("attack: nothing is wrong between lake and catalog", w.faults(ended.root), [])
    s, w = Server(None), world(LIMITED)
    for headers in ({"X-Left": "0", "X-Reset": "-1"}, {"X-Left": "0", "X-Reset": "9" * 400}, {"X-Left": "-0", "X-Reset": "1e9"},
                    {"X-Left": "9" * 30, "X-Reset": ""}):
        s.asked.clear()
        s.answer = lambda *_: (200, headers, {"items": [len(s.asked)]})
        ended, d = run(w, base=s.base, pages=2)
        eq(f"attack: limits {json.dumps(headers)[:40]} are not believed", (len(s.asked), d.status), (2, "success"))
    deep = "{a: " * 3000 + "1" + "}" * 3000
    long = "".join(f"  p{i}: x\n" for i in range(20000))
    for name, text in (("deep", f"api: x\nquery: {deep}\n"), ("with 20,000 parameters", f"api: x\nquery:\n{long}"),
                       ("of four megabytes", "api: x\nabout: " + "a" * 4000000), ("with an anchor for ever", "api: &a x\nabout: *a\n"),
                       ("with pages without end", "api: x\npages: {by: page, most: 999999999999999999999}\n"),
                       ("with a size that is none", "api: x\npages: {by: offset, size: -1}\n"),
                       ("with a pointer that is none", "api: x\nitems: /~2\n"), ("that is binary", "api: x\n\0\x01"),
                       ("with 33 arguments", "api: x\narguments:\n" + "".join(f"  a{i}: {{}}\n" for i in range(33)))):
        w = world("api: x\n")
        (w.dir / "apis/x.yml").write_text(text)
        ended, _ = run(w, base="http://127.0.0.1:9/")
        ok(f"attack: a description {name} is refused", ended.code == 3 and "x.yml" in ended.err and len(ended.err) < 4000, ended)
    s, w = Server(lambda *_: (200, {}, {})), world("api: x\nquery: {a: \"" + "{q}" * 600 + "\"}\narguments: {q: {}}\n")
    ended, d = run(w, base=s.base, q="%" * 200)
    ok("attack: a template that grows over all bounds", not s.asked and d.status == "failed" and "over 64 KiB" in d.raw.decode(), d.d.get(
        "error"))


# ---------------------------------------------------------------- the how-to

def howto():
    """docs/howto/apis.md to the letter; only where the API is stands elsewhere."""
    text = (Path(os.environ.get("TROTLINE_SOURCE") or Path(__file__).resolve().parents[2]) / "docs/howto/apis.md").read_text()
    description, config, crawl = re.findall(r"```yaml\n(.*?)```", text, re.S)
    s = Server(lambda path, query, *_: (200, {}, {"meta": {"total": 5}, "gauges": [
        {"id": i, "page": f"{s.base}p/{i}"} for i in range(int(query["offset"]), min(int(query["offset"]) + 2, 5))]})
        if path == "/v2/gauges" else (200, {"Content-Type": "text/html"}, "<title>x</title>"))
    w = world(config=config)
    (w.dir / "apis").mkdir()
    (w.dir / "apis/rivers.yml").write_text(description.replace("https://rivers.example.org/", s.base))
    ok("howto: it is listed", "rivers" in w.tl("plugins", "show", "api").out)
    (w.dir / "rivers-crawl.yml").write_text(crawl)
    ended = w.tl("run", w.dir / "rivers-crawl.yml")
    d = next(x for x in w.documents(ended.root) if x.collector == "api") if ended.root else None
    eq("howto: three pages", [about["items"] for _, about in pages(d)], [2, 2, 1])
    same("howto: a run for each item", [r["url"] for r in w.runs(ended.root, "collector = 'http'")],
         [f"{s.base}p/{i}" for i in range(5)])
    payload = w.dir / "payload.json"
    payload.write_text(re.search(r"echo '(.*?)'", text)[1])
    ended = w.tl("collect", "api", "--payload", payload)
    ok("howto: collect", ended.code == 0 and '"total":5' in ended.out, ended)
    (w.dir / "apis/rivers.yml").write_text(description.replace('q: "{q}"', 'q: "{qq}"'))
    ended = w.tl("plugins")
    ok("howto: the mistake that it tells of", re.search(r"apis/rivers.yml:\d+:\d+: {qq} is not known; did you mean {q}\?",
       ended.err), ended)


main(howto, mediawiki, hackernews, certificates, wayback, crossref, searxng, links, nexts, cursors, numbers, hostile, cut, going_on, limits,
     requests, identities, descriptions, secrets, redirects, oauth2, tokens, xml, attacks)
