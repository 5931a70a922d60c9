#!/usr/bin/env python3
"""api_hostile.py - what a description may say and an API may answer: limits, requests, identities, XML, and what means harm."""
import sys

sys.dont_write_bytecode = True
from lib_api import *  # noqa: E402, F403


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


main(limits, requests, identities, descriptions, xml, hostile, attacks)
