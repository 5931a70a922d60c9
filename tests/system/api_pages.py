#!/usr/bin/env python3
"""api_pages.py - how lists of APIs go on and end: links, URLs, cursors, numbers, offsets; lists that are cut, and go on later."""
import sys

sys.dont_write_bytecode = True
from lib_api import *  # noqa: E402, F403


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


main(links, nexts, cursors, numbers, cut, going_on)
