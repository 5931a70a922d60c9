#!/usr/bin/env python3
"""api.py - the APIs whose descriptions come along, on servers that speak as theirs do, and one described by the page of APIs."""
import sys

sys.dont_write_bytecode = True
from lib_api import *  # noqa: E402, F403


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


main(howto, mediawiki, hackernews, certificates, wayback, crossref, searxng)
