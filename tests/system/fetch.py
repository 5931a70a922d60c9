#!/usr/bin/env python3
"""fetch.py - one request after another to servers that are broken, hostile, slow, or merely busy.

What is complete is stored byte for byte; what is not is a failure with a reason, and none of its bytes are kept."""
import gzip
import http.server
import socket
import socketserver
import sys
import threading
import zlib

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

QUICK = "fetch: {timeout: 20s, per_host: 16, delay: 0s, retries: 0}\n"
ROBOTS = "on /robots.txt\n  status 404\n  body no\n"


def fetched(w, site, name, *lines, leash="{depth: 1}", args=()):
    """A crawl with a line for each path (or dict of http's arguments); {path: (status, reason, body)}, and the command."""
    given = [{"collector": "http", "args": dict({"url": site.base + x} if isinstance(x, str) else dict(x, url=site.base + x["url"]), follow=False)}
             for x in lines]
    r = w.tl("run", w.crawl(name, *given, leash=leash), *args)
    docs = {d.run_id: d for d in w.documents(r.root)}
    found = {}
    for x in w.runs(r.root, "parent_id IS NOT NULL"):
        d = docs.get(x["run_id"])
        body = d.original() if d and d.dataset("page") else None
        if d and d.status != x["status"]:
            raise AssertionError(f"{x['url']}: row says {x['status']}, document {d.status}")
        found[d.url[len(site.base):] if d else x["url"][len(site.base):]] = (x["status"], x["reason"], body)
    return found, r


def page_of(w, root, site, path):
    return next(d for d in w.documents(root) if d.collector == "http" and d.url == site.base + path)


def message(w, root, site, path):
    return page_of(w, root, site, path).d["error"]["message"]


def raw(head, body=""):
    return f"  raw HTTP/1.1 {head}\\r\\n\\r\\n{body}\n"


# ---- where an answer ends

FRAMES = {  # path: (answer, what is to become of it)
    "/whole": (raw("200 OK\\r\\nContent-Length: 5", "hello"), ("success", None, b"hello")),
    "/to-the-end": (raw("200 OK", "hello"), ("success", None, b"hello")),
    "/chunks": (raw("200 OK\\r\\nTransfer-Encoding: chunked", "2\\r\\nhe\\r\\n3;x=y\\r\\nllo\\r\\n0\\r\\nX-Trailer: no\\r\\n\\r\\n"), ("success", None, b"hello")),
    "/same-twice": (raw("200 OK\\r\\nContent-Length: 5\\r\\nContent-Length: 5", "hello"), ("success", None, b"hello")),
    "/same-listed": (raw("200 OK\\r\\nContent-Length: 5, 5", "hello"), ("success", None, b"hello")),
    "/length-and-chunks": (raw("200 OK\\r\\nContent-Length: 5\\r\\nTransfer-Encoding: chunked", "5\\r\\nhello\\r\\n0\\r\\n\\r\\n"), ("success", None, b"hello")),
    "/bare-lines": ("  raw HTTP/1.1 200 OK\\nContent-Length: 5\\n\\nhello\n", ("success", None, b"hello")),
    "/too-short": (raw("200 OK\\r\\nContent-Length: 10", "hello"), ("failed", "cut", None)),
    "/no-last-chunk": (raw("200 OK\\r\\nTransfer-Encoding: chunked", "5\\r\\nhello\\r\\n"), ("failed", "cut", None)),
    "/half-a-chunk": (raw("200 OK\\r\\nTransfer-Encoding: chunked", "a\\r\\nhello"), ("failed", "cut", None)),
    "/no-end-of-chunks": (raw("200 OK\\r\\nTransfer-Encoding: chunked", "5\\r\\nhello\\r\\n0\\r\\n"), ("failed", "cut", None)),
    "/bad-chunk": (raw("200 OK\\r\\nTransfer-Encoding: chunked", "zz\\r\\nhello\\r\\n0\\r\\n\\r\\n"), ("failed", "cut", None)),
    "/vast-chunk": (raw("200 OK\\r\\nTransfer-Encoding: chunked", "fffffffffffffffff\\r\\nhello\\r\\n0\\r\\n\\r\\n"), ("failed", "cut", None)),
    "/reset": ("  header Content-Length: 500000\n  body-fill x 500000\n  reset 1000\n", ("failed", "cut", None)),
    "/nothing": ("  cut\n", ("failed", "cut", None)),
    "/half-a-head": (raw("200 OK\\r\\nContent-Ty").replace("\\r\\n\\r\\n\n", "\n"), ("failed", None, None)),
    "/two-lengths": (raw("200 OK\\r\\nContent-Length: 3\\r\\nContent-Length: 5", "hello"), ("failed", "headers", None)),
    "/two-listed": (raw("200 OK\\r\\nContent-Length: 3, 5", "hello"), ("failed", "headers", None)),
    "/negative": (raw("200 OK\\r\\nContent-Length: -5", "hello"), ("failed", "headers", None)),
    "/vast": (raw("200 OK\\r\\nContent-Length: 99999999999999999999999", "hello"), ("failed", "headers", None)),
    "/no-number": (raw("200 OK\\r\\nContent-Length: 5x", "hello"), ("failed", "headers", None)),
    "/length-against-chunks": (raw("200 OK\\r\\nContent-Length: 3\\r\\nTransfer-Encoding: chunked", "5\\r\\nhello\\r\\n0\\r\\n\\r\\n"), ("failed", "headers", None)),
    "/coding-unasked": (raw("200 OK\\r\\nTransfer-Encoding: gzip, chunked", "5\\r\\nhello\\r\\n0\\r\\n\\r\\n"), ("failed", "headers", None)),
    "/coding-unknown": (raw("200 OK\\r\\nTransfer-Encoding: foo", "hello"), ("failed", "headers", None)),
    "/coding-hidden": (raw("200 OK\\r\\nTransfer-Encoding : chunked", "5\\r\\nhello\\r\\n0\\r\\n\\r\\n"), ("failed", "headers", None)),
    "/part": (raw("206 Partial Content\\r\\nContent-Range: bytes 0-4/100\\r\\nContent-Length: 5", "hello"), ("failed", "cut", None)),
    "/204": (raw("204 No Content\\r\\nContent-Length: 5", "hello"), ("success", None, b"")),
    "/interim": (raw("100 Continue", "HTTP/1.1 103 Early Hints\\r\\nX-Early: yes\\r\\nContent-Length: 99\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello"), ("success", None, b"hello")),
    "/many-interim": (raw("100 Continue", "HTTP/1.1 100 Continue\\r\\n\\r\\n" * 40 + "HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello"), ("failed", "headers", None)),
    "/101": (raw("101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade", "hello"), ("failed", "headers", None)),
    "/http09": ("  raw hello, this is no HTTP\n", ("failed", "headers", None)),
    "/http7": ("  raw HTTP/7.3 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello\n", ("failed", "headers", None)),
}


def frames():
    site = Site(script=ROBOTS + "".join(f"on {path}\n{answer}" for path, (answer, _) in FRAMES.items()))
    w = World(config=QUICK)
    found, r = fetched(w, site, "frames", *FRAMES)
    for path, (_, want) in FRAMES.items():
        got = found.get(path)
        if want[1] is None and want[0] == "failed":
            got = got and (got[0], None, got[2])
        eq(f"frames: {path[1:]} is {want[1] or want[0]}", got, want)
    eq("frames: some failed, some not: exit 5", r.code, 5)
    none("frames: every failure says why", [p for p, x in found.items() if x[0] == "failed" and len(message(w, r.root, site, p)) < 20])
    ok("frames: two lengths are named", "3 and 5" in message(w, r.root, site, "/two-lengths"), message(w, r.root, site, "/two-lengths"))
    d = page_of(w, r.root, site, "/interim")
    eq("frames: headers of an interim answer are not the answer's", d.http["response_headers"], [["Content-Length", "5"]])
    eq("frames: nor is a trailer", page_of(w, r.root, site, "/chunks").http["response_headers"], [["Transfer-Encoding", "chunked"]])
    none("frames: the books balance", w.faults(r.root))
    eq("frames: without retries each was asked for once", {k: v for k, v in site.asked().items() if v != 1}, {})
    site.close()


# ---- codings of the body

WORDS = b"The same words come again and again, coded. " * 40
BR = bytes.fromhex("1fdf06c0a541585cc830061cb01fec1bc04da2c1149b9fa1b9330a429b80bb7908")
ZSTD = bytes.fromhex("28b52ffd04688d010064025468652073616d6520776f72647320636f6d6520616761696e20616e642c20636f6465642e200200b13ef54fc58a1352d7e81f")
BR_BOMB = bytes.fromhex("cfffff7ff82700e2b14020f7fe9ffffffff04f00c4610180eefd3fffffffe19f0088c32200ddfb7ffeffffc33f0110870500baf7ff03")  # 64 MiB
ZSTD_BOMB = bytes.fromhex("28b52ffd0058") + bytes.fromhex("02001000") * 500 + bytes.fromhex("03001000")  # 501 blocks of 128 KiB, each one byte
ZSTD_WINDOW = bytes.fromhex("28b52ffd0088") + bytes.fromhex("290000") + b"hello"  # wants 128 MiB to look back on


def naked(data):
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    return c.compress(data) + c.flush()


GZIP = gzip.compress(WORDS, mtime=0)
CODINGS = {  # path: (Content-Encoding, bytes sent, what is to become of it)
    "/gzip": ("gzip", GZIP, WORDS), "/x-gzip": ("X-GZip", GZIP, WORDS), "/deflate": ("deflate", zlib.compress(WORDS), WORDS),
    "/deflate-naked": ("deflate", naked(WORDS), WORDS), "/br": ("br", BR, WORDS), "/zstd": ("zstd", ZSTD, WORDS), "/identity": ("identity", WORDS, WORDS),
    "/members": ("gzip", gzip.compress(b"one, ") + gzip.compress(b"two"), b"one, two"), "/padded": ("gzip", GZIP + bytes(100), WORDS),
    "/twice": ("gzip, gzip", gzip.compress(GZIP), WORDS), "/stack": ("deflate, gzip", gzip.compress(zlib.compress(WORDS)), WORDS),
    "/nothing": ("gzip", b"", b""), "/empty": ("gzip", gzip.compress(b""), b""), "/large": ("gzip", gzip.compress(bytes(range(256)) * 20000), bytes(range(256)) * 20000),
    "/unknown": ("rot13", b"uryyb", b"uryyb"), "/partly-unknown": ("gzip, rot13", b"uryyb", b"uryyb"),
    "/no-trailer": ("gzip", GZIP[:-8], "cut"), "/half-trailer": ("gzip", GZIP[:-3], "cut"), "/half": ("gzip", GZIP[:40], "cut"), "/a-byte": ("gzip", GZIP[:1], "cut"),
    "/half-deflate": ("deflate", zlib.compress(WORDS)[:-4], "cut"), "/half-naked": ("deflate", naked(WORDS)[:-3], "cut"), "/half-br": ("br", BR[:-4], "cut"),
    "/half-zstd": ("zstd", ZSTD[:-5], "cut"), "/half-stack": ("deflate, gzip", gzip.compress(zlib.compress(WORDS)[:-4]), "cut"),
    "/half-second": ("gzip", GZIP + GZIP[:30], "cut"),
    "/bad-sum": ("gzip", GZIP[:-8] + b"\0\1\2\3" + GZIP[-4:], "decode"), "/bad-middle": ("gzip", GZIP[:20] + b"\xff" * 20 + GZIP[40:], "decode"),
    "/no-gzip": ("gzip", WORDS, "decode"), "/no-br": ("br", b"\xff" * 50, "decode"), "/no-zstd": ("zstd", WORDS, "decode"), "/no-deflate": ("deflate", b"\x78\x9c" + b"\xff" * 50, "decode"),
    "/deep": ("gzip, gzip, gzip, gzip", gzip.compress(b"x"), "decode"), "/window": ("zstd", ZSTD_WINDOW, "decode"),
    "/bomb-gzip": ("gzip", gzip.compress(bytes(64 << 20), 9), "decode"), "/bomb-deflate": ("deflate", zlib.compress(bytes(64 << 20), 9), "decode"),
    "/bomb-br": ("br", BR_BOMB, "decode"), "/bomb-zstd": ("zstd", ZSTD_BOMB, "decode"), "/bomb-nested": ("gzip, gzip", gzip.compress(gzip.compress(bytes(64 << 20), 9), 9), "decode"),
}


def codings():
    text = ROBOTS
    for path, (coding, sent, _) in CODINGS.items():
        (TMP / ("body" + path.replace("/", "-"))).write_bytes(sent)
        text += f"on {path}\n  type application/octet-stream\n  header Content-Encoding: {coding}\n  body-file {TMP / ('body' + path.replace('/', '-'))}\n"
    site = Site(script=text)
    w = World(config=QUICK)
    found, r = fetched(w, site, "codings", *CODINGS)
    for path, (_, _, want) in CODINGS.items():
        got = found.get(path)
        eq(f"codings: {path[1:]} is {want if isinstance(want, str) else 'decoded'}", got, ("failed", want, None) if isinstance(want, str) else ("success", None, want))
    none("codings: a bomb is called one", [p for p in CODINGS if "bomb" in p and "bomb" not in message(w, r.root, site, p)])
    h = page_of(w, r.root, site, "/gzip").http
    eq("codings: the header stays on record, and what went over the wire", (dict(h["response_headers"])["Content-Encoding"], h["wire_bytes"]), ("gzip", len(GZIP)))
    ok("codings: we say what we can undo", ["Accept-Encoding", "gzip, deflate, br, zstd"] in h["request_headers"], h["request_headers"])
    eq("codings: what nobody here can undo is named", (page_of(w, r.root, site, "/unknown").http["coding_kept"], "coding_kept" in h), ("rot13", False))
    none("codings: the books balance", w.faults(r.root))
    site.close()


def caps():
    """max_body, and what it means for a run."""
    members = gzip.compress(b"") * 10000
    (TMP / "members").write_bytes(members)
    (TMP / "tight").write_bytes(gzip.compress(b"tight " * 200))
    site = Site(script=ROBOTS + f"""
on /exact
  body-fill x 1000
on /more
  body-fill x 1001
on /endless
  body-fill x endless
on /coded
  header Content-Encoding: gzip
  body-file {TMP / "tight"}
on /members
  header Content-Encoding: gzip
  body-file {TMP / "members"}
""")
    w = World(config=QUICK.replace("fetch: {", "fetch: {max_body: 1000, "))
    found, r = fetched(w, site, "caps", "/exact", "/more", "/endless", "/coded", "/members")
    eq("caps: an answer of max_body bytes is whole", found["/exact"], ("success", None, b"x" * 1000))
    eq("caps: of a longer one the beginning is kept, and the run is partial", {p: (x[0], x[2]) for p, x in found.items() if x[0] == "partial"},
       {"/more": ("partial", b"x" * 1000), "/endless": ("partial", b"x" * 1000), "/coded": ("partial", (b"tight " * 200)[:1000])})
    eq("caps: the document says so", [page_of(w, r.root, site, p).http.get("truncated") for p in ("/exact", "/more")], [None, True])
    eq("caps: what decodes to nothing for ever is given up", found["/members"], ("failed", "decode", None))
    eq("caps: exit 5", r.code, 5)
    none("caps: the books balance", w.faults(r.root))
    site.close()


def attachments():
    """What a collector has fetch put into a file is held to the same."""
    (TMP / "tight").write_bytes(gzip.compress(b"tight " * 200))
    site = Site(script=ROBOTS + f"""
on /a
  body-fill abc 300000
on /broken
  header Content-Length: 300000
  body-fill abc 200000
  close
on /coded
  header Content-Encoding: gzip
  body-file {TMP / "tight"}
""")
    w = World(config=QUICK, plugins=("http", "saves"))
    def saves(name, *paths, **more):
        r = w.tl("run", w.crawl(name, {"collector": "saves", "args": dict(url=[site.base + p for p in paths], **more)}))
        d = next(d for d in w.documents(r.root) if d.collector == "saves")
        return r, d, {a["name"]: (w.lake / a["path"]).read_bytes() for a in d.d.get("attachments", [])}
    r, d, files = saves("whole", "/a", "/coded")
    eq("attachments: whole ones are the bytes", (d.status, files), ("success", {"file-0": b"abc" * 100000, "file-1": b"tight " * 200}))
    r, d, files = saves("broken", "/a", "/broken")
    eq("attachments: one that broke off fails the run, and is not kept", (r.code, d.status, d.d["error"]["kind"], list(files)), (6, "failed", "cut", ["file-0"]))
    r, d, files = saves("partly", "/broken", "/a", go_on=True)
    eq("attachments: a collector may go on without it", (d.status, {k: len(v) for k, v in files.items()}), ("partial", {"file-1": 300000}))
    none("attachments: nothing is left in staging", w.files(".staging"))
    site.close()


# ---- heads

def heads():
    site = Site(script=ROBOTS + "".join(f"on {p}\n{t}" for p, t in {
        "/nul": raw("200 OK\\r\\nX-A: a\\0b\\r\\nContent-Length: 5", "hello"), "/no-colon": raw("200 OK\\r\\nX-A a\\r\\nContent-Length: 5", "hello"),
        "/no-name": raw("200 OK\\r\\n: a\\r\\nContent-Length: 5", "hello"),
        "/fold": raw("200 OK\\r\\nX-A: one\\r\\n   two\\r\\n\\tthree\\r\\nContent-Type: text/plain\\r\\nContent-Length: 5", "hello"),
        "/fold-length": raw("200 OK\\r\\nContent-Length: 5\\r\\n 0", "hello"), "/control": raw("200 OK\\r\\nX-A: a\\rb\\x01c\\r\\nContent-Length: 5", "hello"),
        "/latin": raw("200 OK\\r\\nX-A: \\xe9t\\xe9\\r\\nContent-Length: 5", "hello"), "/spaced": raw("200 OK\\r\\nX-A :  a  \\r\\nContent-Length: 5", "hello"),
        "/empty": raw("200 OK\\r\\nX-A:\\r\\nContent-Length: 5", "hello"), "/fine": "  header-fill X-Big 90K\n  body hello\n",
        "/large": "  header-fill X-Big 120K\n  body hello\n", "/many": "  header-many 30000\n  body hello\n", "/slow": "  header-many 500\n  drip 20 300 head\n  body hello\n",
        "/304": raw("304 Not Modified\\r\\nContent-Length: 5"), "/head": "  header X-Length: yes\n  body hello\n", "/head-gzip": "  header Content-Encoding: gzip\n  body hello\n",
        "/cookie": "  header Set-Cookie: a=b; Path=/\n  header Set-Cookie: c=d\n  body hello\n", "/echo": "  echo\n",
    }.items()))
    w = World(config=QUICK.replace("timeout: 20s", "timeout: 4s"))
    head = [{"url": p, "method": "HEAD"} for p in ("/head", "/head-gzip")]
    found, r = fetched(w, site, "heads", "/nul", "/no-colon", "/no-name", "/fold", "/fold-length", "/control", "/latin", "/spaced", "/empty", "/fine", "/large",
                       "/many", "/slow", "/304", *head, "/cookie", "/echo")
    for path, why in {"/nul": "Nul byte", "/no-colon": "colon", "/no-name": "no header", "/fold-length": "continues", "/large": "100 KiB", "/many": "256 KiB"}.items():
        ok(f"heads: {path[1:]} is a failure that says why", found[path] == ("failed", "headers", None) and why in message(w, r.root, site, path),
           found[path], message(w, r.root, site, path) if found[path][0] == "failed" else "")
    value = {p: dict(page_of(w, r.root, site, p).http["response_headers"]).get("X-A") for p in ("/fold", "/control", "/latin", "/spaced", "/empty")}
    eq("heads: folded lines are joined, control characters are blanks, other bytes are replaced, blanks around are dropped", value,
       {"/fold": "one two three", "/control": "a b c", "/latin": "\ufffdt\ufffd", "/spaced": "a", "/empty": ""})
    eq("heads: 90 KiB is not too much", found["/fine"], ("success", None, b"hello"))
    eq("heads: a head that drips is ended by the time-out", found["/slow"][:2], ("failed", "timeout"))
    eq("heads: HEAD has no body, whatever is announced", [found[p] for p in ("/head", "/head-gzip")], [("success", None, b"")] * 2)
    eq("heads: nor has 304; and who did not ask is not told anything by it", found["/304"], ("failed", "collector", None))
    eq("heads: HEAD is what was sent", [x[0] for x in site.log() if x[1].startswith("/head")], ["HEAD", "HEAD"])
    d = page_of(w, r.root, site, "/cookie")
    eq("heads: cookies are struck out", [x for x in d.http["response_headers"] if x[0] == "Set-Cookie"], [["Set-Cookie", "***"]] * 2)
    asked = json.loads(page_of(w, r.root, site, "/echo").original())
    names = [x[0].lower() for x in asked["headers"]]
    eq("heads: and never come back", [n for n in names if "cookie" in n], [])
    ok("heads: who asks says where to complain", re.fullmatch(r"trotline/[0-9.]+ \(\+https://[^ ]+\)", dict(asked["headers"])["User-Agent"]), asked["headers"])
    eq("heads: what metadata.http says was sent is what came", page_of(w, r.root, site, "/echo").http["request_headers"], asked["headers"])
    none("heads: the books balance", w.faults(r.root))
    site.close()


# ---- redirects

def redirects():
    text = ROBOTS + "on /echo\n  echo\non /r/*\n  redirect 302 /r/{tail+1}\n"
    hops = {"301": "redirect 301 /echo", "302": "redirect 302 /echo", "303": "redirect 303 /echo", "307": "redirect 307 /echo", "308": "redirect 308 /echo",
            "self": "redirect 302 /self", "self-fragment": "redirect 302 #again", "a": "redirect 301 /b", "b": "redirect 302 /c", "c": "redirect 302 /a",
            "odd-utf8": "redirect 302 /caf\\xc3\\xa9?x=\\xc3\\xa9", "odd-latin": "redirect 302 /caf\\xe9", "odd-blank": "redirect 302 /a\\sb", "fragment": "redirect 302 /end#part",
            "relative": "redirect 302 ../end?q", "nowhere": "status 302\n  body nowhere to go", "no-url": "redirect 302 http://[::1", "user": "redirect 302 http://me:pass@{host}/echo",
            "300": "status 300\n  header Location: /echo\n  body choose", "ftp": "redirect 302 ftp://127.0.0.1/x", "script": "redirect 302 javascript:alert(1)",
            "file": "redirect 302 file:///etc/passwd", "data": "redirect 302 data:text/plain,x", "once": "redirect 302 /flaky", "end": "body the end"}
    text += "".join(f"on /{name}\n  {rule}\n" for name, rule in hops.items())
    text += "on /flaky\n  status 500\n  body no\nnext\n  body yes\non /end?q\n  body the end?q\n"
    text += "".join(f"on {p}\n  body {p}\n" for p in ("/caf%C3%A9?x=%C3%A9", "/caf%E9", "/a%20b"))
    site = Site(script=text)
    w = World(config=QUICK.replace("retries: 0", "retries: 1"))
    def kept(name, *lines):
        site.reset()
        found, r = fetched(w, site, name, *lines)
        return found, r, site.asked()
    def echo(name, method, path, body="x=1"):
        found, r, _ = kept(name, {"url": path, "method": method, "body": body} if body else {"url": path, "method": method})
        d = page_of(w, r.root, site, path)
        return (d.http["method"],) + (tuple(json.loads(d.original())[k] for k in ("method", "body_bytes")) if d.original() else ())
    for code in ("301", "302", "303"):
        eq(f"redirects: {code} makes a GET of a POST, without its body", echo("post-" + code, "POST", "/" + code), ("GET", "GET", 0))
    for code in ("307", "308"):
        eq(f"redirects: {code} leaves a POST as it is", echo("post-" + code, "POST", "/" + code), ("POST", "POST", 3))
    eq("redirects: PUT stays PUT at 301, and becomes GET at 303", [echo("put-" + c, "PUT", "/" + c) for c in ("301", "303")], [("PUT", "PUT", 3), ("GET", "GET", 0)])
    eq("redirects: HEAD stays HEAD", echo("head-303", "HEAD", "/303", None), ("HEAD",))
    found, r, asked = kept("circles", "/self", "/self-fragment", "/a")
    eq("redirects: a circle is found where it closes", ({x[:2] for x in found.values()}, asked), ({("failed", "redirects")}, {"/self": 1, "/self-fragment": 1, "/a": 1, "/b": 1, "/c": 1}))
    ok("redirects: and named", "circle" in message(w, r.root, site, "/a") and "/a " in message(w, r.root, site, "/a"), message(w, r.root, site, "/a"))
    found, r, asked = kept("long", "/r/1")
    eq("redirects: ten are followed, the eleventh is not", (found["/r/1"], len(asked)), (("failed", "redirects", None), 11))
    found, r, asked = kept("odd", "/odd-utf8", "/odd-latin", "/odd-blank", "/fragment", "/relative")
    eq("redirects: a Location with odd bytes names the bytes that it has", {k: x[2] for k, x in found.items()}, {"/odd-utf8": b"/caf%C3%A9?x=%C3%A9",
       "/odd-latin": b"/caf%E9", "/odd-blank": b"/a%20b", "/fragment": b"the end", "/relative": b"the end?q"})
    h = page_of(w, r.root, site, "/fragment").http
    eq("redirects: the chain has what was said; a fragment is no part of the URL", (h["chain"], h["final_url"]),
       ([{"url": site.base + "/fragment", "status": 302, "location": "/end#part"}], site.base + "/end"))
    found, r, asked = kept("ends", "/nowhere", "/300", "/no-url", "/once")
    eq("redirects: without a Location it is an answer, and so is 300", [found[p] for p in ("/nowhere", "/300")],
       [("success", None, b"nowhere to go"), ("success", None, b"choose")])
    eq("redirects: a Location that is no URL", found["/no-url"], ("failed", "redirects", None))
    eq("redirects: a hop is asked again by itself", (found["/once"], asked["/once"], asked["/flaky"]), (("success", None, b"yes"), 1, 2))
    found, r, asked = kept("user", "/user")
    eq("redirects: user and password of a URL are not sent", ([x for x in json.loads(found["/user"][2])["headers"] if x[0] == "Authorization"],
       page_of(w, r.root, site, "/user").http["final_url"]), ([], site.base + "/echo"))
    found, r, asked = kept("schemes", "/ftp", "/script", "/file", "/data")
    eq("redirects: to http and https only: the leash has no other hosts", {p: x[:2] for p, x in found.items()},
       {p: ("refused", "hosts") for p in ("/ftp", "/script", "/file", "/data")})
    site.close()


def origins():
    """What was configured for one origin is told to no other, and not to it either once another had a say in where to go."""
    there = Site("--any-local", script=ROBOTS + "on /echo\n  echo\non /back\n  redirect 302 http://127.0.0.1:PORT/echo\n".replace("PORT", "{tail}"))
    here = Site(script=ROBOTS + f"on /echo\n  echo\non /same\n  redirect 302 /echo\non /away\n  redirect 302 http://127.0.0.2:{there.port}/echo\n"
                f"on /port\n  redirect 302 http://127.0.0.1:{there.port}/echo\non /round\n  redirect 302 http://127.0.0.2:{there.port}/back\n"
                f"on /inside\n  redirect 302 http://127.0.0.3:{there.port}/echo\non /metadata\n  redirect 302 http://169.254.169.254/latest/\n"
                f"on /mapped\n  redirect 302 http://[::ffff:127.0.0.3]:{there.port}/echo\non /number\n  redirect 302 http://2130706435:{there.port}/echo\n")
    there.p.stdin.close()
    there.p.wait()
    there = Site("--any-local", "--port", there.port, script=ROBOTS + f"on /echo\n  echo\non /back\n  redirect 302 {here.base}/echo\n")
    w = World(config=QUICK + f"secrets: {{KEY: {{env: MY_KEY, origins: ['{here.base}']}}, OTHER: {{env: MY_KEY, origins: ['https://example.org']}}}}\n")
    w.env["MY_KEY"] = "s3cret"
    headers = ["X-Mine: yes", "Authorization: Bearer secret:KEY", "X-Api-Key: secret:OTHER", "Cookie: secret:KEY"]
    paths = ("/echo", "/same", "/away", "/port", "/round", "/inside", "/metadata", "/mapped", "/number")
    found, r = fetched(w, here, "origins", *[{"url": p, "headers": headers} for p in paths], leash='{depth: 1, hosts: ["127.0.0.1", "127.0.0.2", "*"]}')
    def told(path):
        got = dict(json.loads(found[path][2])["headers"])
        return tuple(got.get(k) for k in ("X-Mine", "Authorization", "X-Api-Key", "Cookie"))
    eq("origins: a secret goes where it is bound to, after its scheme; one for elsewhere does not", told("/echo"), ("yes", "Bearer s3cret", None, "s3cret"))
    eq("origins: and along on a redirect within the origin", told("/same"), ("yes", "Bearer s3cret", None, "s3cret"))
    eq("origins: another host, another port, and the way back: nothing", [told(p) for p in ("/away", "/port", "/round")], [(None,) * 4] * 3)
    eq("origins: a private address that a redirect leads to is refused, however it is written", {x["url"][len(here.base):]: x["reason"] for x in w.leashed(r.root)},
       {p: "guard" for p in ("/inside", "/metadata", "/mapped", "/number")})
    eq("origins: nobody connected there", {x[2] for x in there.log()} - {f"127.0.0.2:{there.port}", f"127.0.0.1:{there.port}"}, set())
    h = page_of(w, r.root, here, "/same").http
    ok("origins: in documents secrets are ***", dict(h["request_headers"])["Authorization"] == "***" and dict(h["request_headers"])["Cookie"] == "***", h["request_headers"])
    none("origins: and nowhere in the catalog", [t for t in w.catalog.parent.glob("catalog.db*") if b"s3cret" in t.read_bytes()])
    here.close()
    there.close()


# ---- a host that is busy

def times(site):
    """[(target, status, seconds)] of every request but robots.txt's, by the server's clock."""
    lines = [x.split(" ") for x in Path(site.log_file).read_text().splitlines()]
    return [(x[1], int(x[3]), int(x[4]) / 1e6) for x in lines if x[1] != "/robots.txt"]


def busy():
    again = "\nnext\n  body here you are\n"
    def on(path, *answers):
        return f"on {path}\n" + "\nnext\n".join(answers) + again
    def later(status, value):
        return f"  status {status}\n  header Retry-After: {value}\n  body later"
    site = Site(script=ROBOTS + on("/seconds", later(429, 1), later(503, 1)) + on("/past", later(503, "Thu, 01 Jan 2015 00:00:00 GMT"))
                + on("/negative", later(503, -5)) + on("/garbage", later(429, "soon")) + on("/without", "  status 429\n  body no") + on("/ok-header", "  status 500\n  header Retry-After: 5\n  body no"))
    w = World(config=QUICK)
    found = {}
    more, r = fetched(w, site, "busy-0", "/seconds")
    found.update(more)
    eq("busy: it cost no attempt of the run", w.one("SELECT max(attempts) FROM runs"), 0)
    eq("busy: the document counts the requests", page_of(w, r.root, site, "/seconds").http["requests"], 3)
    w = World(config=QUICK)
    more, r = fetched(w, site, "busy-0", "/past", "/negative", "/garbage", "/without", "/ok-header")
    found.update(more)
    good, no = ("success", None, b"here you are"), lambda n: ("failed", f"http_{n}")
    eq("busy: a wait that the server asks for costs no try; what it does not ask for does", {p: x if x[0] == "success" else x[:2] for p, x in found.items()},
       {"/seconds": good, "/past": no(503), "/negative": no(503), "/garbage": no(429), "/without": no(429), "/ok-header": no(500)})
    at = [t for p, _, t in times(site) if p == "/seconds"]
    ok("busy: and the wait is kept to", len(at) == 3 and at[1] - at[0] >= 0.99 and at[2] - at[1] >= 0.99, at)
    site.reset()
    for path in ("/past", "/negative", "/garbage", "/without"):  # one crawl each: a host that pushes back is asked ever more slowly
        w = World(config=QUICK.replace("retries: 0", "retries: 1"))
        found, r = fetched(w, site, "busy-1", path)
        eq(f"busy: with one retry {path[1:]} is had", found[path], good)
    site.close()

    site = Site(script=ROBOTS + "on /first\n  status 429\n  header Retry-After: 2\n  body later\nnext\n  page first\n  links-range /p{} 0 7\non /*\n  body fine\n")
    w = World(config=QUICK.replace("per_host: 16", "per_host: 1"))
    r = w.tl("run", w.crawl("held", site.base + "/first"))
    at = times(site)
    gaps = [b[2] - a[2] for a, b in zip(at, at[1:])]
    eq("busy: all is had in the end", (r.code, [x[1] for x in at]), (0, [429] + [200] * 9))
    ok("busy: Retry-After holds the whole host", gaps[0] >= 1.99, at)
    ok("busy: and then it is asked slowly, and less slowly with each good answer", all(g > 0.18 for g in gaps[1:5]) and gaps[1] >= 0.4, gaps)
    site.close()


def busy_until():
    """Retry-After as a date, which the server makes when it is asked."""
    seen = []

    def talk(server, c, n):
        for head in server.heads(c):
            if head.startswith("GET /robots.txt"):
                c.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
                continue
            seen.append(time.time())
            if len(seen) > 1:
                c.sendall(answer("here you are"))
                continue
            server.until = int(time.time()) + 6  # in five seconds at least
            date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(server.until))
            c.sendall(f"HTTP/1.1 429 Later\r\nRetry-After: {date}\r\nContent-Length: 0\r\n\r\n".encode())
    server = Speaker(talk)
    w = World(config=QUICK)
    found, r = fetched(w, server, "date", "/date")
    eq("busy: a date is waited for, and costs neither a try nor an attempt", (found["/date"], w.one("SELECT max(attempts) FROM runs")),
       (("success", None, b"here you are"), 0))
    ok("busy: until then, and no less", len(seen) == 2 and seen[1] >= server.until - 0.01, seen)
    server.close()


def absurd():
    """A wait beyond 30 seconds gives the slot back; a century is a day."""
    site = Site(script=ROBOTS + "on /century\n  status 503\n  header Retry-After: 3153600000\n  body later\non /*\n  body fine\n")
    w = World(config=QUICK)
    r = w.tl("run", w.crawl("absurd", site.base + "/century"), "--timeout", "4s")
    eq("absurd: nothing can be asked in time, and the crawl is not over: exit 10", (r.code, site.asked()), (10, {"/century": 1}))
    row = w.sql("SELECT status, attempts FROM runs WHERE parent_id IS NOT NULL")[0]
    due = w.one("SELECT not_before_us FROM run WHERE parent IS NOT NULL") / 1e6 - time.time()
    ok("absurd: it waits a day, at no cost", row == {"status": "queued", "attempts": 0} and 86000 < due <= 86400, row, due)
    site.close()


# ---- connections

class Speaker:
    """A server that talk(connection) writes byte by byte, in a thread for each connection; it counts requests by path."""

    def __init__(self, talk, family=socket.AF_INET, backlog=50):
        self.talk, self.asked, self.lock = talk, [], threading.Lock()
        self.s = socket.socket(family)
        self.s.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        self.s.listen(backlog)
        self.port = self.s.getsockname()[1]
        self.base = f"http://{'[::1]' if family == socket.AF_INET6 else '127.0.0.1'}:{self.port}"
        self.connections = 0
        if talk:
            threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                c, _ = self.s.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(c, self.connections), daemon=True).start()

    def serve(self, c, n):
        with contextlib.suppress(OSError), c:
            self.talk(self, c, n)

    def heads(self, c):
        """The heads of the requests on this connection."""
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                more = c.recv(65536)
                if not more:
                    return
                data += more
            head, data = data.split(b"\r\n\r\n", 1)
            with self.lock:
                self.asked.append(head.split(b"\r\n")[0].decode())
            yield head.decode("latin-1")

    def close(self):
        self.s.close()


def answer(body, more=""):
    return f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n{more}\r\n{body}".encode()


def reuse():
    """Connections that end, or speak, between two requests."""
    gate = threading.Barrier(8, timeout=20)

    def talk(server, c, n):
        for k, head in enumerate(server.heads(c)):
            path = head.split()[1]
            if path == "/robots.txt":
                c.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            if path.startswith("/second") and k > 0:
                return  # as if its time had come just now
            if path.startswith("/first"):
                gate.wait()  # so that there are eight connections
            c.sendall(answer(path))
    server = Speaker(talk)
    w = World(config=QUICK.replace("per_host: 16", "per_host: 8") + "workers: {max: 1, inflight: 8}\n")
    found, r = fetched(w, server, "reuse", *[f"/first{i}" for i in range(8)], *[f"/second{i}" for i in range(8)])
    eq("reuse: connections that end as they are used again cost nothing: no retry was allowed", {x[0] for x in found.values()}, {"success"})
    ok("reuse: they were used again", server.connections >= 10, server.connections)
    server.close()

    def late(server, c, n):
        for head in server.heads(c):
            path = head.split()[1]
            if path == "/robots.txt":
                c.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            c.sendall(answer(path))
            time.sleep(0.1)
            c.sendall(answer("POISON"))
    server = Speaker(late)
    w = World(config=QUICK.replace("per_host: 16, delay: 0s", "per_host: 1, delay: 300ms") + "workers: {max: 1}\n")
    found, r = fetched(w, server, "late", "/a", "/b", "/c")
    eq("reuse: what a server says before it is asked is nobody's answer", {p: x[2] for p, x in found.items()}, {p: p.encode() for p in ("/a", "/b", "/c")})
    server.close()


def family_six():
    def talk(server, c, n):
        for head in server.heads(c):
            c.sendall(answer(head.split("Host: ")[1].split("\r\n")[0]))
    server = Speaker(talk, socket.AF_INET6)
    w = World(config=QUICK)
    found, r = fetched(w, server, "six", "/x")
    eq("IPv6: an address that the crawl names is fetched", found["/x"], ("success", None, f"[::1]:{server.port}".encode()))
    eq("IPv6: and recorded", page_of(w, r.root, server, "/x").http["remote_address"], f"[::1]:{server.port}")
    server.close()


def slow_start():
    """Time-outs take their time: begun first, looked at last."""
    global slow
    full = Speaker(None, backlog=0)
    fillers = []
    for _ in range(4):  # the queue of connections is full: a further one gets no answer
        c = socket.socket()
        c.setblocking(False)
        c.connect_ex(("127.0.0.1", full.port))
        fillers.append(c)
    site = Site(script=ROBOTS + "on /total\n  body-fill x 1000\n  drip 1 50\non /still\n  header Content-Length: 100\n  body begun\n  stall 5\n"
                "on /thinks\n  delay 33000\n  body after long thought\n")
    hasty = World(config=QUICK.replace("timeout: 20s", "timeout: 2s"))
    patient = World(config=QUICK.replace("timeout: 20s", "timeout: 100s") + "workers: {run: 5m}\n")
    slow = (full, fillers, site, hasty, hasty.start("run", hasty.crawl("hasty", site.base + "/total", leash="{depth: 1}")), patient,
            patient.start("run", patient.crawl("patient", site.base + "/still", site.base + "/thinks", {"collector": "http", "args": {"url": full.base + "/never"}}, leash="{depth: 1}")))


def slow_end():
    full, fillers, site, hasty, one, patient, two = slow
    r = one.wait()
    eq("slow: an answer that takes longer than fetch.timeout", [(x["status"], x["reason"]) for x in hasty.runs(r.root, "parent_id IS NOT NULL")], [("failed", "timeout")])
    r = two.wait()
    rows = {x["url"].rsplit("/", 1)[1]: x for x in patient.runs(r.root, "parent_id IS NOT NULL")}
    eq("slow: one that stands still for 30 seconds", (rows["still"]["status"], rows["still"]["reason"], "30 seconds" in rows["still"]["error"]), ("failed", "timeout", True))
    eq("slow: a server may think for longer than that before it answers", rows["thinks"]["status"], "success")
    ok("slow: a connection that does not come about in ten", rows["never"]["status"] == "failed" and rows["never"]["reason"] in ("timeout", "robots_unreachable")
       and rows["never"]["seconds"] < 25, rows["never"])
    for c in fillers:
        c.close()
    full.close()
    site.close()


main(slow_start, frames, codings, caps, attachments, heads, redirects, origins, busy, busy_until, absurd, reuse, family_six, slow_end)
