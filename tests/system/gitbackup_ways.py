#!/usr/bin/env python3
"""gitbackup_ways.py - git goes the way that our own requests go: through the host's proxy, with the certificates that are
believed, and proving who we are. Witnesses are the servers and the proxies, which tell who asked them for what."""
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "server"))
from git_server import GitServer, make_repository  # noqa: E402
from lib import *  # noqa: E402
from proxy import Proxy  # noqa: E402

SOURCES, PASSWORD = TMP / "sources", "pa55-of-the-proxy"
QUICK = "fetch: {timeout: 20s, per_host: 4, delay: 0s, retries: 0%s}\n"


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], cwd=TMP, capture_output=True, check=True)


def certificates():
    """ca.pem; by it server (127.0.0.1, git.example) and client; by itself own. NAME.pem and NAME.key in TMP."""
    ec = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 20)
    openssl("req", *ec, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Trotline Test CA", "-addext", "keyUsage=keyCertSign")
    alt = ("-addext", "subjectAltName=IP:127.0.0.1,DNS:git.example", "-addext", "basicConstraints=CA:FALSE")
    by_ca = ("-CA", "ca.pem", "-CAkey", "ca.key")
    openssl("req", *ec, *by_ca, "-keyout", "server.key", "-out", "server.pem", "-subj", "/CN=server", *alt)
    openssl("req", *ec, *by_ca, "-keyout", "client.key", "-out", "client.pem", "-subj", "/CN=client", "-addext", "basicConstraints=CA:FALSE")
    openssl("req", *ec, "-keyout", "own.key", "-out", "own.pem", "-subj", "/CN=own", *alt)
    os.chmod(TMP / "client.key", 0o600)


def back_up(config, url):
    """(how it ended, what is told of the repository, its bundles, the world)"""
    w = World(plugins=("gitbackup",), config=QUICK % config)
    line = {"collector": "gitbackup", "args": {"url": [url]}}
    r = w.tl("run", w.crawl("ways", line, leash="{depth: 1}"))
    told = [e["data"] for d in w.documents(r.root) for e in (d.dataset("repositories") or {}).get("key_values", {}).values()]
    bundles = [p for p in w.files("backups") if re.fullmatch(r".*/r\.bundle", p)]
    return r, (told or [{}])[0], bundles, w


def whole(what, r, told, bundles, w):
    got = "\n".join(subprocess.run(["git", "bundle", "list-heads", w.lake / b], capture_output=True, text=True).stdout for b in bundles)
    eq(f"{what}: there is a copy", (r.code, told.get("status"), [x for x in got.splitlines() if not x.endswith("HEAD")]), (0, "ok", REFS))


def methods(server):
    return sorted({x[0] for x in server.asked})


def authority():
    server = GitServer(SOURCES, tls=(TMP / "server.pem", TMP / "server.key"))
    whole("fetch.ca", *back_up(f", ca: '{TMP}/ca.pem'", server.base + "/r.git"))
    eq("fetch.ca: git was there itself", methods(server), ["GET", "POST"])
    server.asked.clear()
    host = f"127.0.0.1:{server.port}"
    whole("tls.ca of the host", *back_up(f", hosts: {{'{host}': {{tls: {{ca: '{TMP}/ca.pem'}}}}}}", server.base + "/r.git"))
    server.asked.clear()
    r, told, bundles, w = back_up("", server.base + "/r.git")
    eq("without it nobody is believed", (r.code, told.get("status"), bundles, server.asked), (6, "failed", [], []))
    server.close()
    server = GitServer(SOURCES, tls=(TMP / "own.pem", TMP / "own.key"))
    host = f"127.0.0.1:{server.port}"
    whole("verify: false", *back_up(f", hosts: {{'{host}': {{tls: {{verify: false}}}}}}", server.base + "/r.git"))
    server.close()


def who_we_are():
    server = GitServer(SOURCES, tls=(TMP / "server.pem", TMP / "server.key"), clients=TMP / "ca.pem")
    host = f"127.0.0.1:{server.port}"
    trust = f"ca: '{TMP}/ca.pem'"
    whole("client certificate", *back_up(f", hosts: {{'{host}': {{tls: {{{trust}, cert: '{TMP}/client.pem', key: '{TMP}/client.key'}}}}}}",
                                         server.base + "/r.git"))
    eq("client certificate: every request came with it", ({x[3] for x in server.asked}, methods(server)), ({"client"}, ["GET", "POST"]))
    server.asked.clear()
    r, told, bundles, w = back_up(f", {trust}", server.base + "/r.git")
    eq("client certificate: without it there is no copy", (told.get("status"), bundles, server.asked), ("failed", [], []))
    server.close()


def proxies():
    plain, secure = GitServer(SOURCES), GitServer(SOURCES, tls=(TMP / "server.pem", TMP / "server.key"))
    for kind, scheme in (("http", "http"), ("socks", "socks5h")):
        for url, server, port in (("http://git.example/r.git", plain, 80), ("https://git.example/r.git", secure, 443)):
            proxy = Proxy(kind, {"git.example": ("127.0.0.1", server.port)})
            server.asked.clear()
            whole(f"{kind}, {url}", *back_up(f", proxy: '{scheme}://127.0.0.1:{proxy.port}', ca: '{TMP}/ca.pem'", url))
            eq(f"{kind}, {url}: all of it went through the proxy", (set(proxy.asked), methods(server), {x[2] for x in server.asked}),
               ({f"git.example:{port}"}, ["GET", "POST"], {"git.example"}))
            ok(f"{kind}, {url}: git came to it, too", len(proxy.asked) >= 2, proxy.asked)
            proxy.s.close()
    proxy = Proxy("http", {"git.example": ("127.0.0.1", plain.port)}, login="me:" + PASSWORD)
    config = f", proxy: 'http://me:{PASSWORD}@127.0.0.1:{proxy.port}'"
    r, told, bundles, w = back_up(config, "http://git.example/r.git")
    whole("a proxy that wants to know who asks", r, told, bundles, w)
    plain.before = lambda method, path, *_: (500, [], f"{PASSWORD} is what I was told".encode()) if "POST" == method else None
    r, told, bundles, more = back_up(config, "http://git.example/r.git")
    eq("what fails behind it is told", (r.code, told.get("status")), (6, "failed"))
    none("its password is nowhere", [p for x in (w, more) for p in [*x.dir.rglob("*")] if p.is_file() and p != x.config and PASSWORD.encode() in p.read_bytes()])
    none("nor is it said", [x for x in (r.out, r.err) if PASSWORD in x])
    proxy.s.close()
    local = World(plugins=("gitbackup",), config=QUICK % f", proxy: 'http://127.0.0.1:{proxy.port}', hosts: {{127.0.0.1: {{proxy: none}}}}")
    plain.before = None
    r = local.tl("run", local.crawl("none", {"collector": "gitbackup", "args": {"url": [plain.base + "/r.git"]}}, leash="{depth: 1}"))
    eq("proxy: none goes there directly", (r.code, len(local.files("backups")) > 0), (0, True))
    plain.close()
    secure.close()


SOURCES.mkdir()
REFS = make_repository(SOURCES / "r.git")
certificates()
main(authority, who_we_are, proxies)
