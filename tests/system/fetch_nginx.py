#!/usr/bin/env python3
"""fetch_nginx.py - a real server and real certificates: TLS and who is refused, HTTP/2, gzip, rate limits; and proxies of both kinds."""
import hashlib
import socket
import ssl
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "server"))
from lib import *  # noqa: E402
from proxy import Proxy  # noqa: E402

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
QUICK = "fetch: {timeout: 20s, per_host: 8, delay: 0s, retries: 0, EXTRA}\n"


def quick(extra="robots: true"):
    return QUICK.replace("EXTRA", extra)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- certificates

def openssl(*args):
    p = subprocess.run(["openssl", *map(str, args)], cwd=TMP, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(f"openssl {args[0]}: {p.stderr[-500:]}")


def certificates():
    """ca.pem; good, other (another host), expired: by it; own: by itself. NAME.pem and NAME.key in TMP."""
    (TMP / "ca.conf").write_text("""[ca]
default_ca = x
[x]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
""")
    (TMP / "index.txt").write_text("")
    ec = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *ec, "-keyout", "ca.key", "-out", "ca.pem", "-days", 30, "-subj", "/CN=Trotline Test CA", "-addext", "keyUsage=keyCertSign")
    openssl("req", "-x509", *ec, "-keyout", "own.key", "-out", "own.pem", "-days", 30, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    for name in ("client", "stranger"):  # who we are: by the authority, and by ourselves
        ca = ("-CA", "ca.pem", "-CAkey", "ca.key") if name == "client" else ()
        openssl("req", "-x509", *ec, *ca, "-keyout", name + ".key", "-out", name + ".pem", "-days", 20, "-subj", f"/CN={name}")
        os.chmod(TMP / (name + ".key"), 0o600)
    for name, alt, dates in (("good", "IP:127.0.0.1,DNS:secure.example", ("-days", 20)), ("other", "DNS:other.example", ("-days", 20)),
                             ("expired", "IP:127.0.0.1", ("-startdate", "20200101000000Z", "-enddate", "20200201000000Z"))):
        openssl("req", "-new", *ec, "-keyout", name + ".key", "-out", name + ".csr", "-subj", f"/CN={name}", "-addext", "subjectAltName=" + alt)
        openssl("ca", "-batch", "-notext", "-config", "ca.conf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", name + ".csr", "-out", name + ".pem", *dates)


# ---- the server

class Nginx:
    """plain: gzip and /slow/ with a rate limit; the others by certificate; two: HTTP/2, a connection ends after 10 requests; one: HTTP/1.1."""

    def __init__(self):
        """On ports that were free a moment ago: where another program was faster, once more."""
        for attempt in range(5):
            self.dir = TMP / f"nginx-{attempt}"
            (self.dir / "site/slow").mkdir(parents=True)
            self.start()
            until("nginx to answer", lambda: not self.p.running() or self.answers(), 20)
            if self.p.running():
                return
        raise RuntimeError("nginx: " + (self.dir / "error.log").read_text()[-600:])

    def start(self):
        for i in range(40):
            (self.dir / f"site/p{i}.html").write_text(f"<title>page {i}</title>" + "words and words " * 500)
            (self.dir / f"site/slow/p{i}.html").write_text(f"<title>slow page {i}</title>")
        (self.dir / "site/robots.txt").write_text("User-agent: *\nDisallow: /forbidden\n")
        (self.dir / "site/index.html").write_text("".join(f'<a href="/p{i}.html">{i}</a>' for i in range(40)))
        (self.dir / "site/slow/index.html").write_text("".join(f'<a href="p{i}.html">{i}</a>' for i in range(12)))
        self.port = {name: free_port() for name in ("plain", "two", "one", "own", "other", "expired", "asks")}
        self.base = {name: f"http{'' if name == 'plain' else 's'}://127.0.0.1:{port}" for name, port in self.port.items()}
        servers = "".join(f"""
  server {{
    listen 127.0.0.1:{self.port[name]} ssl{' http2' if name == 'two' else ''};
    ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {TMP}/{cert}.pem; ssl_certificate_key {TMP}/{cert}.key;
    keepalive_requests {10 if name == 'two' else 1000};
  }}""" for name, cert in (("two", "good"), ("one", "good"), ("own", "own"), ("other", "other"), ("expired", "expired")))
        servers += f"""
  server {{
    listen 127.0.0.1:{self.port['asks']} ssl; ssl_certificate {TMP}/good.pem; ssl_certificate_key {TMP}/good.key;
    ssl_client_certificate {TMP}/ca.pem; ssl_verify_client on;
    location / {{ add_header X-Client $ssl_client_s_dn always; try_files $uri =404; }}
    location /moved {{ return 302 {self.base['one']}/p0.html; }}
  }}"""
        for kind in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
            (self.dir / kind).mkdir()
        (self.dir / "nginx.conf").write_text(f"""
worker_processes 1; pid {self.dir}/pid; error_log {self.dir}/error.log info;{' user root;' if os.getuid() == 0 else ''}
events {{ worker_connections 200; }}
http {{
  client_body_temp_path {self.dir}/body; proxy_temp_path {self.dir}/proxy; fastcgi_temp_path {self.dir}/fastcgi;
  uwsgi_temp_path {self.dir}/uwsgi; scgi_temp_path {self.dir}/scgi;
  types {{ text/html html; }} default_type text/plain; root {self.dir}/site;
  log_format told '$server_port $connection $connection_requests $server_protocol $request_uri $status'; access_log {self.dir}/access.log told;
  limit_req_zone $binary_remote_addr zone=slow:1m rate=5r/s; limit_req_status 429;
  server {{
    listen 127.0.0.1:{self.port['plain']};
    gzip on; gzip_min_length 100;
    location /slow/ {{ limit_req zone=slow; error_page 429 @later; }}
    location @later {{ add_header Retry-After 1 always; return 429; }}
  }}{servers}
}}
""")
        self.p = Child([NGINX, "-c", self.dir / "nginx.conf", "-e", self.dir / "error.log", "-p", self.dir, "-g", "daemon off;"], self.dir, dict(os.environ))

    def answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port["expired"]), 1):
            return True

    def log(self, name):
        """[(connection, its how many-th request, protocol, path, status)]"""
        lines = [x.split(" ") for x in (self.dir / "access.log").read_text().splitlines()]
        return [(x[1], int(x[2]), x[3], x[4], int(x[5])) for x in lines if x[0] == str(self.port[name])]


def http_documents(w, root):
    return {d.url: d for d in w.documents(root) if d.collector == "http"}


def refusals():
    """Nothing is asked of who cannot prove who it is, and the run says why."""
    w = World(config=quick(f"ca: '{TMP}/ca.pem'"))
    r = w.tl("run", w.crawl("refusals", *[nginx.base[n] + "/p0.html" for n in ("own", "other", "expired")]))
    rows = {x["url"]: x for x in w.runs(r.root, "parent_id IS NOT NULL")}
    for name, why in (("own", "self.signed"), ("other", "subject name|host name|hostname|IP address"), ("expired", "expired")):
        row = rows[nginx.base[name] + "/p0.html"]
        ok(f"TLS: {name} is refused, and why is said", (row["status"], row["reason"]) == ("failed", "tls") and re.search(why, row["error"]), row["reason"], row["error"])
        eq(f"TLS: {name}: not one request was made", nginx.log(name), [])
    w = World(config=quick("robots: false"))
    r = w.tl("run", w.crawl("unknown", nginx.base["one"] + "/p0.html"))
    row = w.runs(r.root, "parent_id IS NOT NULL")[0]
    ok("TLS: an authority that nobody knows", (row["status"], row["reason"]) == ("failed", "tls") and "issuer" in row["error"], row["reason"], row["error"])
    w.configure(quick("robots: false, ca: nowhere.pem"))
    r = w.tl("run", w.crawl("nowhere", nginx.base["one"] + "/p0.html"))
    row = w.runs(r.root, "parent_id IS NOT NULL")[0]
    ok("TLS: with a fetch.ca that is not there nothing is trusted", row["reason"] == "tls" and "nowhere.pem" in row["error"], row)
    (w.dir / "no.pem").write_text("no certificate")
    w.configure(quick("robots: false, ca: no.pem"))
    r = w.tl("run", w.crawl("no-pem", nginx.base["one"] + "/p0.html"))
    ok("TLS: fetch.ca that holds no certificates is exit 3", r.code == 3 and "no.pem" in r.err and ":4:" in r.err, r)


def accepted():
    w = World(config=quick(f"robots: false, ca: '{TMP}/ca.pem'"))
    r = w.tl("run", w.crawl("accepted", nginx.base["one"] + "/p0.html", nginx.base["one"] + "/p1.html"))
    docs = http_documents(w, r.root)
    eq("TLS: with fetch.ca it is fetched", (r.code, {d.status for d in docs.values()}, len(docs)), (0, {"success"}, 2))
    der = ssl.PEM_cert_to_DER_cert((TMP / "good.pem").read_text())
    told = [d.http["tls"] for d in docs.values()]
    ok("TLS: what was agreed, and whose certificate it was, is recorded; of each request alike", told[0] == told[1] and told[0]["version"] == "TLSv1.3"
       and told[0]["cipher"].startswith("TLS_") and told[0]["sha256"] == hashlib.sha256(der).hexdigest()
       and (told[0]["subject"], told[0]["issuer"]) == ("CN=good", "CN=Trotline Test CA") and told[0]["expires"].endswith("Z"), told)
    eq("TLS: it does not say of a certificate that was verified that it was not", ['verified' in t for t in told], [False, False])
    eq("TLS: one server without HTTP/2", {d.http["version"] for d in docs.values()}, {"1.1"})
    w.configure(quick("robots: false, ca: ca.pem"))
    shutil.copy(TMP / "ca.pem", w.dir / "ca.pem")
    eq("TLS: fetch.ca is relative to the file", w.tl("run", w.crawl("relative", nginx.base["one"] + "/p2.html")).code, 0)


def asked_who_we_are():
    """A server that wants to know who asks: by a certificate that is shown to it, and to no other."""
    host = f"127.0.0.1:{nginx.port['asks']}"
    def asked(tls, path="/p0.html"):
        w = World(config=quick(f"robots: false, ca: '{TMP}/ca.pem'" + (f", hosts: {{'{host}': {{tls: {tls}}}}}" if tls else "")))
        r = w.tl("run", w.crawl("asked", nginx.base["asks"] + path, leash='{depth: 1}'))
        rows = w.runs(r.root, "parent_id IS NOT NULL") if r.root else []
        return r, rows[0] if rows else None, next(iter(http_documents(w, r.root).values()), None), w
    r, row, doc, w = asked(None)
    eq("client certificate: without one the server refuses", (row["status"], row["http_status"]), ("failed", 400))
    r, row, doc, w = asked(f"{{cert: '{TMP}/client.pem', key: '{TMP}/client.key'}}")
    eq("client certificate: with it, the server knows who we are", (r.code, row["status"], dict(doc.http["response_headers"]).get("X-Client")), (0, "success", "CN=client"))
    none("client certificate: the key is in no document and not in the catalog",
         [p for p in [w.lake / f for f in w.files()] + list(w.dir.glob("catalog.db*")) if b"PRIVATE KEY" in p.read_bytes()])
    r, row, doc, w = asked(f"{{cert: '{TMP}/stranger.pem', key: '{TMP}/stranger.key'}}")
    eq("client certificate: one that the server does not know is refused", (row["status"], row["http_status"]), ("failed", 400))
    r, row, doc, w = asked(f"{{cert: '{TMP}/client.pem', key: '{TMP}/client.key'}}", "/moved")
    eq("client certificate: a redirect leads to another host, which has its own rule", (row["status"], doc.http["final_url"], "X-Client" in dict(doc.http["response_headers"])),
       ("success", nginx.base["one"] + "/p0.html", False))
    r, row, doc, w = asked(f"{{cert: '{TMP}/client.pem', key: '{TMP}/stranger.key'}}")
    ok("client certificate: a key of another certificate is a failure that says so", (row["status"], row["reason"]) == ("failed", "tls") and "key" in row["error"], row)
    r, row, doc, w = asked(f"{{cert: '{TMP}/client.pem', key: '{TMP}/nowhere.key'}}")
    ok("client certificate: so is a key that is not there", (row["status"], row["reason"]) == ("failed", "tls") and "nowhere.key" in row["error"], row["reason"], row["error"])
    os.chmod(TMP / "client.key", 0o644)
    r, row, doc, w = asked(f"{{cert: '{TMP}/client.pem', key: '{TMP}/client.key'}}")
    os.chmod(TMP / "client.key", 0o600)
    ok("client certificate: a key that others can read is exit 3", r.code == 3 and "chmod 600" in r.err, r)


def unverified():
    """verify: false holds for one host, and the document says so."""
    w = World(config=quick(f"robots: false, hosts: {{'127.0.0.1:{nginx.port['own']}': {{tls: {{verify: false}}}}}}"))
    r = w.tl("run", w.crawl("unverified", nginx.base["own"] + "/p0.html", nginx.base["expired"] + "/p0.html"))
    rows = {x["url"]: (x["status"], x["reason"]) for x in w.runs(r.root, "parent_id IS NOT NULL")}
    eq("verify: false: who cannot prove who it is, is asked; nobody else is", rows,
       {nginx.base["own"] + "/p0.html": ("success", None), nginx.base["expired"] + "/p0.html": ("failed", "tls")})
    tls = http_documents(w, r.root)[nginx.base["own"] + "/p0.html"].http["tls"]
    eq("verify: false: the document says so, and whose certificate it was", (tls["verified"], tls["subject"]), (False, "CN=127.0.0.1"))


def two():
    w = World(config=quick(f"ca: '{TMP}/ca.pem'") + "workers: {max: 1}\n")
    r = w.tl("run", w.crawl("two", nginx.base["two"] + "/"))
    docs = http_documents(w, r.root)
    eq("HTTP/2: every page", (r.code, len(docs), {d.status for d in docs.values()}), (0, 41, {"success"}))
    eq("HTTP/2: by ALPN", {d.http["version"] for d in docs.values()}, {"2"})
    log = [x for x in nginx.log("two") if x[3] != "/robots.txt"]
    eq("HTTP/2: the server saw each once", (len(log), len({x[3] for x in log}), {x[2] for x in log}), (41, 41, {"HTTP/2.0"}))
    connections = len({x[0] for x in nginx.log("two")})
    ok("HTTP/2: over few connections, and over a new one when one said GOAWAY", 5 <= connections <= 15, connections)
    eq("HTTP/2: which cost no retry", ({d.http["requests"] for d in docs.values()}, w.one("SELECT max(attempts) FROM runs")), ({1}, 0))
    w = World(config=quick(f"http2: false, ca: '{TMP}/ca.pem'"))
    r = w.tl("run", w.crawl("not-two", nginx.base["two"] + "/p0.html"))
    eq("HTTP/2: not when fetch.http2 is false", {d.http["version"] for d in http_documents(w, r.root).values()}, {"1.1"})


def reload():
    """The server is told to start anew while it is crawled: connections end with GOAWAY, the old process goes."""
    w = World(config=f"fetch: {{timeout: 20s, per_host: 4, delay: 50ms, retries: 0, ca: '{TMP}/ca.pem'}}\n")
    before = len(nginx.log("two"))
    crawl = w.start("run", w.crawl("reload", nginx.base["two"] + "/"))
    for n in (8, 22):
        until("requests", lambda: len(nginx.log("two")) > before + n)
        nginx.p.signal(signal.SIGHUP)
    r = crawl.wait()
    eq("HTTP/2: a server that is restarted under way loses no page", (r.code, w.statuses(r.root)), (0, {"success": 41}))


def origins():
    """What http says at a port is nothing about https at the same: another origin, another robots.txt."""
    host = f"127.0.0.1:{nginx.port['one']}"
    w = World(config=quick(f"ca: '{TMP}/ca.pem'"))
    r = w.tl("run", w.crawl("plain", f"http://{host}/forbidden"))
    eq("robots: a port that speaks TLS has no robots.txt for http: 400", w.runs(r.root, "parent_id IS NOT NULL")[0]["reason"], "http_400")
    r = w.tl("run", w.crawl("secure", f"https://{host}/forbidden"))
    eq("robots: it has one for https, which is not taken from what was remembered", w.runs(r.root, "parent_id IS NOT NULL")[0]["reason"], "robots")
    before = len(nginx.log("one"))
    r = w.tl("run", w.crawl("again", f"https://{host}/forbidden"))
    eq("robots: and is remembered itself", (w.runs(r.root, "parent_id IS NOT NULL")[0]["reason"], len(nginx.log("one")) - before), ("robots", 0))


def by_hand():
    """`collect` is asked by the same rules."""
    payload = TMP / "payload.json"
    for base, tls, want in (("asks", f"cert: '{TMP}/client.pem', key: '{TMP}/client.key'", "CN=client"), ("own", "verify: false", None)):
        w = World(config=quick(f"robots: false, ca: '{TMP}/ca.pem', hosts: {{127.0.0.1: {{tls: {{{tls}}}}}}}") if want
                  else quick(f"robots: false, hosts: {{127.0.0.1: {{tls: {{{tls}}}}}}}"))
        payload.write_text(json.dumps({"url": nginx.base[base] + "/p0.html"}))
        for plain in ((), ("--plain",)):
            r = w.tl("collect", "http", "--payload", payload, *plain)
            d = json.loads(r.out) if r.code == 0 else {"status": r}
            got = d["status"] == "success" and dict(d["datasets"][0]["metadata"]["http"]["response_headers"]).get("X-Client")
            eq(f"collect {' '.join(plain)}: {tls.split(':')[0]} of a host", (d["status"], got), ("success", want))


def gzipped():
    w = World(config=quick())
    r = w.tl("run", w.crawl("gzip", nginx.base["plain"] + "/"))
    docs = http_documents(w, r.root)
    bodies = {u.rsplit("/", 1)[1]: d.original() for u, d in docs.items()}
    eq("gzip: the bytes are those of the files", bodies, {k: (nginx.dir / "site" / (k or "index.html")).read_bytes() for k in bodies})
    eq("gzip: all of them", len(bodies), 41)
    h = docs[nginx.base["plain"] + "/p0.html"].http
    ok("gzip: and came compressed", dict(h["response_headers"])["Content-Encoding"] == "gzip" and h["wire_bytes"] < 1000 < len(bodies["p0.html"]), h)
    none("gzip: the books balance", w.faults(r.root))


def limited():
    """Five requests a second, no more, asked for as fast as may be: all is had, and the server need not say no often."""
    w = World(config=quick("robots: false"))
    r = w.tl("run", w.crawl("limited", nginx.base["plain"] + "/slow/", leash="{depth: 2}"))
    log = [x[4] for x in nginx.log("plain") if x[3].startswith("/slow/")]
    eq("limit_req: every page in the end", (r.code, w.statuses(r.root)), (0, {"success": 13}))
    eq("limit_req: no run was charged for it", w.one("SELECT max(attempts) FROM runs"), 0)
    ok("limit_req: it said no, but not often", 1 <= log.count(429) <= 20 and log.count(200) == 13, log)


# ---- proxies

def proxies():
    site = Site(script="on /robots.txt\n  status 404\n  body no\non /a\n  page through\n  links http://127.0.0.1:1/x http://localhost:1/x http://169.254.169.254/x\n"
                "on /moved\n  redirect 302 http://127.0.0.1:1/private\non /moved2\n  redirect 302 http://[::1]:1/private\n")
    here = ("127.0.0.1", site.port)
    for kind, scheme in (("http", "http"), ("socks", "socks5h")):
        proxy = Proxy(kind, {"kayak.example": here, "secure.example": ("127.0.0.1", nginx.port["one"])})
        w = World(config=quick(f"retries: 1, proxy: '{scheme}://127.0.0.1:{proxy.port}', ca: '{TMP}/ca.pem'").replace("retries: 0, ", ""))
        w.env["no_proxy"] = w.env["NO_PROXY"] = "*"
        lines = ["http://kayak.example/a", "http://kayak.example/moved", "http://kayak.example/moved2", "https://secure.example/p0.html", "http://elsewhere.example/"]
        r = w.tl("run", w.crawl(kind, *lines, leash='{depth: 2, hosts: ["*"]}'))
        rows = {x["url"]: x for x in w.runs(r.root, "parent_id IS NOT NULL")}
        docs = http_documents(w, r.root)
        eq(f"proxy, {kind}: http and https go through it, names are its business", [rows[lines[i]]["status"] for i in (0, 3)], ["success", "success"])
        eq(f"proxy, {kind}: TLS is with the host behind it", docs[lines[3]].http["tls"]["subject"], "CN=good")
        ok(f"proxy, {kind}: its own answer is not the host's", "X-From" not in dict(docs[lines[3]].http["response_headers"])
           and docs[lines[3]].http["proxy_address"] == f"127.0.0.1:{proxy.port}", docs[lines[3]].http)
        eq(f"proxy, {kind}: private addresses are refused before it is asked", {x["url"]: x["reason"] for x in w.leashed(r.root)},
           {u: "guard" for u in (lines[1], lines[2], "http://127.0.0.1:1/x", "http://localhost:1/x", "http://169.254.169.254/x")})
        eq(f"proxy, {kind}: it was asked for no other", {x.rsplit(":", 1)[0] for x in proxy.asked}, {"kayak.example", "secure.example", "elsewhere.example"})
        ok(f"proxy, {kind}: what it refuses is a failure", rows[lines[4]]["status"] == "failed", rows[lines[4]])
        w.configure(quick(f"robots: false, proxy: '{scheme}://127.0.0.1:{proxy.port}'"))
        r = w.tl("run", w.crawl("refused", "https://elsewhere.example/"))
        row = w.runs(r.root, "parent_id IS NOT NULL")[0]
        eq(f"proxy, {kind}: which says that it was the proxy", (row["status"], row["reason"]), ("failed", "proxy"))
        proxy.s.close()
    site.close()


if not NGINX or not shutil.which("openssl"):
    print("1..0 # SKIP nginx or openssl is not installed")
    sys.exit(0)
certificates()
nginx = Nginx()
main(refusals, accepted, asked_who_we_are, unverified, two, reload, origins, by_hand, gzipped, limited, proxies)
