#!/usr/bin/env python3
"""network.py - names and addresses of our own: a network and a resolver that no one else sees (namespaces).

Hosts that have public addresses, names that move to private ones, names with several addresses, IPv6, and two hosts of
one site. It runs itself again in new user, network and mount namespaces; where those are not to be had, it is skipped."""
import ctypes
import fcntl
import ipaddress
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
INSIDE = "TROTLINE_TEST_NETWORK"
if INSIDE not in os.environ:
    enter = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*enter, "mount", "--bind", "/etc/hosts", "/etc/hosts"], capture_output=True).returncode:
        print("1..0 # SKIP no namespaces here")
        sys.exit(0)
    os.execvpe("unshare", [*enter, sys.executable, *sys.argv], dict(os.environ, **{INSIDE: "yes"}))

sys.path.insert(1, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../server"))
from git_server import GitServer, make_repository  # noqa: E402
from lib import *  # noqa: E402

QUICK = "fetch: {timeout: 20s, per_host: 4, delay: 0s, retries: 0}\n"
PUBLIC, OTHER, SIX = "11.22.33.44", "11.22.33.55", "2a01:db8::44"  # of others, out there; of ours in here


def interfaces():
    """lo is up and has the public addresses, too."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running
        for i, address in enumerate((PUBLIC, OTHER)):
            fcntl.ioctl(s, 0x8916, struct.pack("16sHH4s8x", f"lo:{i}".encode(), socket.AF_INET, 0, socket.inet_aton(address)))  # SIOCSIFADDR
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        index = socket.if_nametoindex("lo")
        fcntl.ioctl(s, 0x8916, struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, SIX), 128, index))


def resolver():
    """Names are asked of 127.0.0.1 alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    for path, text in (("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n"), ("/etc/nsswitch.conf", "hosts: dns\n")):
        own = TMP / Path(path).name
        own.write_text(text)
        target = os.path.realpath(path)
        if libc.mount(str(own).encode(), target.encode(), None, 4096, None):  # MS_BIND
            raise OSError(ctypes.get_errno(), f"cannot put {own} at {target}")


class Names:
    """A DNS server: name -> its addresses, as they stand when it is asked. They may be kept for a second."""

    def __init__(self):
        self.table, self.questions = {}, []
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            question, who = self.s.recvfrom(1500)
            at, labels = 12, []
            while question[at]:
                labels.append(question[at + 1: at + 1 + question[at]].decode())
                at += 1 + question[at]
            kind, end = struct.unpack(">H", question[at + 1: at + 3])[0], at + 5
            name, family = ".".join(labels).lower(), {1: 4, 28: 6}.get(kind)
            self.questions.append(name)
            addresses = [ipaddress.ip_address(a) for a in self.table.get(name, [])]
            found = [a.packed for a in addresses if a.version == family]
            flags = 0x8180 if addresses else 0x8183
            records = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(a)) + a for a in found)
            self.s.sendto(question[:2] + struct.pack(">HHHHH", flags, 1, len(found), 0, 0) + question[12:end] + records, who)


class Web:
    """Answers on port 80 of one address; pages: path -> body, or (status, location). While `gate` is closed
    nothing but robots.txt is answered."""

    def __init__(self, address, pages):
        self.pages, self.asked, self.gate = pages, [], threading.Event()
        self.gate.set()
        self.s = socket.create_server((address, 80), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                c, _ = self.s.accept()
                threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        with contextlib.suppress(OSError, ValueError), c:
            head = b""
            while b"\r\n\r\n" not in head:
                more = c.recv(4096)
                if not more:
                    return
                head += more
            path = head.split()[1].decode()
            host = head.lower().split(b"host: ")[1].split(b"\r\n")[0].decode()
            self.asked.append((host, path))
            if path != "/robots.txt":
                self.gate.wait(PATIENCE)
            body = self.pages.get(path, b"")
            status, more, body = ("302 Found", f"Location: {body[1]}\r\n", b"") if isinstance(body, tuple) else ("200 OK" if body else "404 No", "", body)
            c.sendall(f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nConnection: close\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def close(self):
        self.s.shutdown(socket.SHUT_RDWR)  # who waits for a connection is woken
        self.s.close()


def crawl(w, *urls, hosts='["*"]', depth=2):
    r = w.tl("run", w.crawl("names", *urls, leash=f"{{depth: {depth}, hosts: {hosts}}}"))
    return r, {x["url"]: x for x in w.runs(r.root, "parent_id IS NOT NULL")}


def public():
    """The way it should be, so that the rest means something."""
    names.table["plain.example"] = [PUBLIC]
    there = Web(PUBLIC, {"/": b'<a href="/a">a</a>', "/a": b"a"})
    w = World(config=QUICK)
    r, rows = crawl(w, "http://plain.example/")
    eq("names: a public host is fetched", {u: x["status"] for u, x in rows.items()}, {"http://plain.example/": "success", "http://plain.example/a": "success"})
    eq("names: where it was is recorded", {d.http["remote_address"] for d in w.documents(r.root) if d.collector == "http"}, {PUBLIC + ":80"})
    r, rows = crawl(w, "http://nowhere.example/")
    x = rows["http://nowhere.example/"]
    eq("names: one that nobody knows is a failure that says so", (x["status"], x["reason"] in ("resolve", "robots_unreachable"), "resolve" in x["error"]), ("failed", True, True))
    there.close()


def rebinding():
    """A name that was public moves to the machine itself. A worker remembers addresses for a minute, so it gets a new one."""
    here, there = Web("127.0.0.1", {"/": b"secret", "/secret": b"secret"}), Web(PUBLIC, {"/": b"public"})
    there.gate.clear()
    names.table["rebind.example"] = [PUBLIC]
    w = World(config=QUICK + "workers: {max: 1}\n")
    child = w.start("run", w.crawl("rebinding", "http://rebind.example/", leash='{depth: 1, hosts: ["*"]}'))
    until("the page to be asked for", lambda: ("rebind.example", "/") in there.asked)
    names.table["rebind.example"] = ["127.0.0.1"]
    os.kill(child.workers()[0], signal.SIGKILL)
    r = child.wait()
    x = w.runs(r.root, "parent_id IS NOT NULL")[0]
    eq("rebinding: a host that moves to a private address is refused, though the crawl names it", (x["status"], x["reason"]), ("refused", "guard"))
    ok("rebinding: and why is said", "public address before" in w.leashed(r.root)[0]["url"] + (x["error"] or ""), x["error"], w.leashed(r.root))
    eq("rebinding: nobody asked there", here.asked, [])
    r, rows = crawl(w, "http://rebind.example/", depth=1)
    eq("rebinding: a name that the crawl names and that was never public is its own affair", rows["http://rebind.example/"]["status"], "success")
    here.asked.clear()
    there.gate.set()
    names.table.update({"page.example": [PUBLIC], "local.example": ["127.0.0.1"]})
    there.pages["/"] = b'<a href="http://127.0.0.1/secret">x</a><a href="http://local.example/secret">z</a>'
    r, rows = crawl(w, "http://page.example/")
    eq("rebinding: what a page leads to is refused: a private address, and a name of one", {u: (x["status"], x["reason"]) for u, x in rows.items()},
       {"http://page.example/": ("success", None), "http://127.0.0.1/secret": ("refused", "guard"), "http://local.example/secret": ("refused", "guard")})
    eq("rebinding: nobody asked there, either", here.asked, [])
    here.close()
    there.close()


def git_stays():
    """A name that moves when we have looked at it leads git nowhere else: it goes to the address that was looked at."""
    sources, trapped = TMP / "sources", TMP / "trapped"
    sources.mkdir()
    trapped.mkdir()
    refs = make_repository(sources / "r.git")
    make_repository(trapped / "r.git", "of the machine itself\n")

    def moves(method, path, *_):
        names.table["git.example"] = ["127.0.0.1"]
        asked.append(len(names.questions))

    for where, url in ((PUBLIC, "HTTP://Git.EXAMPLE:80/r.git"), (SIX, "http://git.example/r.git")):
        asked = []
        names.table["git.example"] = [where]
        try:
            there = GitServer(sources, where, 80, before=moves)
        except OSError:
            ok("git: # SKIP no IPv6 here", where == SIX)
            continue
        here = GitServer(trapped, "127.0.0.1", 80)
        w = World(plugins=("gitbackup",), config=QUICK)
        r = w.tl("run", w.crawl("git", {"collector": "gitbackup", "args": {"url": [url]}}, leash="{depth: 1}"))
        bundles = [w.lake / p for p in w.files("backups") if p.endswith("/r.bundle")]
        heads = [subprocess.run(["git", "bundle", "list-heads", b], capture_output=True, text=True, check=True).stdout.splitlines() for b in bundles]
        eq(f"git, {where}: there is a copy of what is there", (r.code, [[x for x in h if not x.endswith("HEAD")] for h in heads]), (0, [refs]))
        eq(f"git, {where}: nobody asked at the private address", here.asked, [])
        eq(f"git, {where}: it did not even ask for the name", names.questions[asked[0]:], [])
        here.close()
        there.close()


def redirected():
    names.table.update({"front.example": [PUBLIC], "inner.example": ["10.0.0.1"], "mapped.example": ["::ffff:127.0.0.1"], "meta.example": ["169.254.169.254"],
                        "second.example": [OTHER]})
    here = Web("127.0.0.1", {"/": b"secret"})
    ways = {"/inner": "http://inner.example/", "/mapped": "http://mapped.example/", "/meta": "http://meta.example/", "/local": "http://localhost/",
            "/second": "http://second.example/page"}
    front, second = Web(PUBLIC, {p: (302, u) for p, u in ways.items()}), Web(OTHER, {"/page": b"second"})
    w = World(config=QUICK)
    r, rows = crawl(w, *["http://front.example" + p for p in ways], depth=1)
    eq("redirects: to names of private addresses, refused at connect; to another host, followed",
       {u.rsplit("/", 1)[1]: (x["status"], x["reason"]) for u, x in rows.items()},
       {"inner": ("refused", "guard"), "mapped": ("refused", "guard"), "meta": ("refused", "guard"), "local": ("refused", "guard"), "second": ("success", None)})
    eq("redirects: nobody asked the machine itself", here.asked, [])
    eq("redirects: the other host saw its own name", [x for x in second.asked if x[1] == "/page"], [("second.example", "/page")])
    for x in (here, front, second):
        x.close()


def sites():
    """A redirect of a line within its registrable domain widens the crawl by that host; one elsewhere does not."""
    names.table.update({"example.org": [PUBLIC], "www.example.org": [OTHER], "example.net": [OTHER]})
    one, two = Web(PUBLIC, {"/": (302, "http://www.example.org/"), "/away": (302, "http://example.net/")}), Web(OTHER, {"/": b'<a href="/next">n</a>', "/next": b"next"})
    w = World(config=QUICK)
    r = w.tl("run", w.crawl("sites", "http://example.org/", "http://example.org/away"))
    rows = {x["url"]: (x["status"], x["reason"]) for x in w.runs(r.root, "parent_id IS NOT NULL")}
    eq("sites: within the registrable domain, and not beyond", rows, {"http://example.org/": ("success", None), "http://example.org/away": ("refused", "hosts"),
                                                                     "http://www.example.org/next": ("success", None)})
    one.close()
    two.close()


def several_addresses():
    names.table["dead.example"] = ["11.22.33.66", PUBLIC]  # nobody is at the first
    names.table["mixed.example"] = [OTHER, "127.0.0.1"]  # nobody listens at the public one
    names.table["way.example"] = [PUBLIC]
    there, here = Web(PUBLIC, {"/": b"alive", "/mixed": (302, "http://mixed.example/")}), Web("127.0.0.1", {"/": b"secret"})
    w = World(config=QUICK)
    r, rows = crawl(w, "http://dead.example/", "http://way.example/mixed", depth=1)
    eq("addresses: of several, one that answers is enough", rows["http://dead.example/"]["status"], "success")
    x = rows["http://way.example/mixed"]
    ok("addresses: a public and a private one of one name: the private one is not asked", x["status"] in ("refused", "failed") and here.asked == [], x, here.asked)
    there.close()
    here.close()


def six():
    try:
        there = Web(SIX, {"/": b"six"})
    except OSError:
        ok("IPv6: # SKIP none here", True)
        return
    names.table["six.example"] = [SIX]
    names.table["six-local.example"] = ["::1"]
    w = World(config=QUICK)
    r, rows = crawl(w, "http://six.example/", depth=1)
    eq("IPv6: by name", rows["http://six.example/"]["status"], "success")
    eq("IPv6: its address", [d.http["remote_address"] for d in w.documents(r.root) if d.collector == "http"], [f"[{SIX}]:80"])
    there.pages["/to"] = (302, "http://six-local.example/")
    r, rows = crawl(w, "http://six.example/to", depth=1)
    eq("IPv6: ::1 behind a name is refused", rows["http://six.example/to"]["reason"], "guard")
    there.close()


interfaces()
resolver()
names = Names()
main(public, rebinding, git_stays, redirected, sites, several_addresses, six)
