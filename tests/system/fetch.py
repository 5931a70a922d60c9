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
    "/twice": ("gzip, gzip", gzip.compress(GZIP), WORDS), "/mixed": ("deflate, br", b"", b""), "/stack": ("deflate, gzip", gzip.compress(zlib.compress(WORDS)), WORDS),
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
    site = Site(script=ROBOTS + f"""
on /a
  body-fill abc 300000
on /broken
  header Content-Length: 300000
  body-fill abc 200000
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
    eq("heads: 304 and HEAD have no body, whatever they announce", [found[p] for p in ("/304", "/head", "/head-gzip")], [("success", None, b"")] * 3)
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


main(frames, codings, caps, attachments, heads)
