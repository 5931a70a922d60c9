#!/usr/bin/env python3
"""fetch_crawl.py - what a crawl is asked to mind: options of single hosts, cookies, sitemaps, words to robots."""
import gzip
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

QUICK = "fetch: {timeout: 20s, per_host: 16, delay: 0s, retries: 0}\n"
NO_ROBOTS = "on /robots.txt\n  status 404\n  body no\n"


def http(url, **args):
    return {"collector": "http", "args": dict(url=url, **args)}


def rows_of(w, root, site):
    return {x["url"][len(site.base):]: x for x in w.runs(root, "parent_id IS NOT NULL")}


def documents(w, root, site):
    return {d.url[len(site.base):]: d for d in w.documents(root) if d.collector == "http" and d.url.startswith(site.base)}


# ---- options of single hosts

def times(site):
    """{host: [seconds]} of every request but robots.txt's, by the server's clock."""
    found = {}
    for line in Path(site.log_file).read_text().splitlines():
        _, target, host, _, at = line.split(" ")
        if target != "/robots.txt":
            found.setdefault(host.split(":")[0], []).append(int(at) / 1e6)
    return found


def hosts():
    site = Site("--any-local", script="on /robots.txt\n  type text/plain\n  body User-agent: *\\nDisallow: /private\\n\n"
                "on /slow\n  delay 3000\n  body slow\non /long\n  body-fill x 5000\non /once\n  status 500\n  body no\nnext\n  body yes\n"
                "on /*\n  echo\n")
    def at(n, *paths):
        return [http(f"http://127.0.0.{n}:{site.port}{p}", follow=False) for p in paths]
    w = World(config="fetch: {timeout: 20s, per_host: 8, delay: 0s, retries: 1, max_body: 1000, hosts: {"
              f"127.0.0.2: {{delay: 400ms}}, '127.0.0.3:{site.port}': {{timeout: 1s, retries: 0, max_body: 10KB}}, '127.0.0.3': {{delay: 1m}}, "
              "127.0.0.4: {robots: false}, 127.0.0.5: {proxy: 'http://127.0.0.1:1'}}}\n")
    lines = at(1, *[f"/p{i}" for i in range(4)], "/long", "/private") + at(2, *[f"/p{i}" for i in range(4)]) \
        + at(3, "/slow", "/long", "/once") + at(4, "/private") + at(5, "/x")
    r = w.tl("run", w.crawl("hosts", *lines, leash="{depth: 1}"))
    rows = {x["url"][len("http://127.0.0."):].replace(f":{site.port}", ""): x for x in w.runs(r.root, "parent_id IS NOT NULL")}
    got = {k: (x["status"], x["reason"]) for k, x in rows.items()}
    seen = times(site)
    gaps = [b - a for a, b in zip(seen["127.0.0.2"], seen["127.0.0.2"][1:])]
    ok("hosts: a delay holds for its host", len(gaps) == 3 and sum(gaps) >= 0.75 * 3 * 0.4, gaps)
    eq("hosts: a time-out, retries and max_body of their own", [got[k] for k in ("3/slow", "3/once", "3/long", "1/long")],
       [("failed", "timeout"), ("failed", "http_500"), ("success", None), ("partial", "collector")])
    eq("hosts: the pattern with the port is the more specific one: no minute between two requests", len(seen["127.0.0.3"]), 3)
    eq("hosts: robots.txt where it is to be obeyed", [got["1/private"], got["4/private"]], [("refused", "robots"), ("success", None)])
    ok("hosts: and is not even asked for where it is not", not any(x[1] == "/robots.txt" and x[2].startswith("127.0.0.4") for x in site.log()))
    eq("hosts: a proxy of their own", got["5/x"][0], "failed")
    none("hosts: nobody asked that one directly", [x for x in site.log() if x[2].startswith("127.0.0.5")])
    w.configure("fetch: {proxy: 'http://127.0.0.1:1', retries: 0, robots: false, hosts: {127.0.0.1: {proxy: none}}}\n")
    r = w.tl("run", w.crawl("direct", *at(1, "/p0"), *at(2, "/p0"), leash="{depth: 1}"))
    eq("hosts: proxy: none asks directly", {x["url"].split(":")[1][-1]: x["status"] for x in w.runs(r.root, "parent_id IS NOT NULL")},
       {"1": "success", "2": "failed"})
    (w.dir / "bad.yml").write_text("fetch:\n  hosts:\n    '*.example.org':\n      deley: 1s\n")
    r = w.tl("--config", w.dir / "bad.yml", "ls")
    ok("hosts: nonsense is refused at its place: exit 3", r.code == 3 and "bad.yml:4:7" in r.err and "delay" in r.err, r)
    site.close()


def gaps(site):
    """Seconds between the starts of requests, robots.txt's left out, by the server's clock."""
    at = sorted(t for host in times(site).values() for t in host)
    return [b - a for a, b in zip(at, at[1:])]


def pace():
    """What holds for a host holds for all workers together. A request that was late on its way makes one gap
    longer and the next one shorter, so it is their sum that counts; each worker by itself would take half of it."""
    many = NO_ROBOTS + "on /*\n  page x\n"
    def crawled(config, script, *paths):
        site = Site(script=script)
        w = World(config=config)
        r = w.tl("run", w.crawl("pace", *[http(site.base + p, follow=False) for p in paths], leash="{depth: 1}"))
        found, statuses = gaps(site), w.statuses(r.root)
        site.close()
        return found, statuses
    found, statuses = crawled("fetch: {delay: 300ms, per_host: 8}\nworkers: {max: 2, inflight: 2}\n", many, *[f"/p{i}" for i in range(8)])
    ok("pace: one delay, whichever worker asks", statuses == {"success": 8} and sum(found) >= 0.75 * 7 * 0.3, found, statuses)
    found, statuses = crawled("fetch: {delay: 0s, per_host: 8}\n", "on /robots.txt\n  type text/plain\n  body User-agent: *\\nCrawl-delay: 0.4\\nDisallow:\\n\non /*\n  page x\n",
                              *[f"/p{i}" for i in range(5)])
    ok("pace: Crawl-delay lengthens it", statuses == {"success": 5} and sum(found) >= 0.75 * 4 * 0.4, found, statuses)
    # After twelve quick answers one takes long: the host is asked less often, and then more often again.
    slow = NO_ROBOTS + "on /p12\n  delay 1500\n  page slow\non /*\n  page x\n"
    found, statuses = crawled("fetch: {delay: 0s, per_host: 1}\nworkers: {max: 1, inflight: 1}\n", slow, *[f"/p{i:02}" for i in range(18)])
    ok("pace: a host that grows slow is asked less", statuses == {"success": 18} and found[12] >= 1.5 and sum(found[13:17]) >= 0.75 * 4 * 0.25, found, statuses)


# ---- cookies

def cookie(doc):
    return dict(json.loads(doc.original())["headers"]).get("Cookie")


def cookies():
    site = Site(script=NO_ROBOTS + "on /login\n  header Set-Cookie: sid=s3cr3t-c00kie; Path=/; HttpOnly\n  header Set-Cookie: evil=1; Domain=example.org\n"
                "  page Welcome\n  links-range /p{} 0 40\non /stay\n  header Set-Cookie: sid=1\n  header Set-Cookie: lang=en\n  page Stay\n  links /leave\n"
                "on /leave\n  header Set-Cookie: sid=; Max-Age=0; Path=/\n  page Bye\n  links /after\n"
                "on /seen\n  header ETag: \"1\"\n  validate\n  page Seen\non /*\n  echo\n")
    w = World(config=QUICK + "workers: {max: 2, inflight: 2}\n")
    r = w.tl("run", w.crawl("none", http(site.base + "/login")))
    docs = documents(w, r.root, site)
    eq("cookies: by default none are sent", {cookie(d) for p, d in docs.items() if p.startswith("/p")}, {None})
    r = w.tl("run", w.crawl("login", http(site.base + "/login", cookies=True)))
    docs = documents(w, r.root, site)
    eq("cookies: what a run was given, all that come of it send, whichever worker they are in",
       ({cookie(d) for p, d in docs.items() if p.startswith("/p")}, len(docs)), ({"sid=s3cr3t-c00kie"}, 42))
    h = docs["/p0"].http
    eq("cookies: struck out in documents, in both directions", (dict(h["request_headers"])["Cookie"],
       [v for k, v in docs["/login"].http["response_headers"] if k == "Set-Cookie"]), ("***", ["***", "***"]))
    none("cookies: and nowhere else", [p for p in [docs["/login"].file, *w.dir.glob("catalog.db*")] if b"s3cr3t-c00kie" in p.read_bytes()])
    r = w.tl("run", w.crawl("next", http(site.base + "/p1", cookies=True)))
    eq("cookies: another crawl has another jar", cookie(documents(w, r.root, site)["/p1"]), None)
    r = w.tl("run", w.crawl("leave", http(site.base + "/stay", cookies=True)))
    docs = documents(w, r.root, site)
    eq("cookies: what a server takes back is gone", (dict(docs["/leave"].http["request_headers"]).get("Cookie"), cookie(docs["/after"])), ("***", "lang=en"))
    w.env["KEY"] = "by=hand"
    w.configure(QUICK + f"workers: {{max: 1, inflight: 1}}\nsecrets: {{KEY: {{env: KEY, origins: ['{site.base}']}}}}\n")
    r = w.tl("run", w.crawl("hand", http(site.base + "/login", cookies=True, follow=False),
                            http(site.base + "/p1", cookies=True, headers=["Cookie: secret:KEY"], follow=False)))
    eq("cookies: who gives a Cookie line by hand means that one", cookie(documents(w, r.root, site)["/p1"]), "by=hand")
    for want in ("success", "not_modified"):
        r = w.tl("run", w.crawl("seen", http(site.base + "/seen")))
        eq(f"cookies: a page with a validator: {want}", rows_of(w, r.root, site)["/seen"]["status"], want)
    r = w.tl("run", w.crawl("seen", http(site.base + "/seen", cookies=True)))
    eq("cookies: with cookies it may be another page, and is fetched", rows_of(w, r.root, site)["/seen"]["status"], "success")
    site.close()


def cookies_on_the_way():
    """Redirects: each hop gets what is its own."""
    there = Site("--any-local", script=NO_ROBOTS + "on /take\n  header Set-Cookie: there=1\n  redirect 302 /echo\non /*\n  echo\n")
    site = Site(script=NO_ROBOTS + "on /wall\n  header Set-Cookie: ok=1\n  redirect 302 /wall\nnext\n  echo\n"
                f"on /for-ever\n  header Set-Cookie: n={{count}}\n  redirect 302 /for-ever\non /round\n  header Set-Cookie: same=1\n  redirect 302 /round\n"
                f"on /away\n  header Set-Cookie: here=1\n  redirect 302 http://127.0.0.2:{there.port}/take\non /*\n  echo\n")
    w = World(config=QUICK)
    def one(path, **args):
        r = w.tl("run", w.crawl("way", http(site.base + path, follow=False, **args), leash='{depth: 1, hosts: ["127.0.0.1", "127.0.0.2"]}'))
        return rows_of(w, r.root, site)[path], documents(w, r.root, site).get(path)
    row, doc = one("/wall", cookies=True)
    eq("cookies: a page that sets one and sends us back to itself is had", (row["status"], cookie(doc)), ("success", "ok=1"))
    eq("cookies: each time by its own jar; without one it is a circle", one("/round")[0]["reason"], "redirects")
    row, doc = one("/round", cookies=True)
    eq("cookies: one that changes nothing is a circle, too", (row["status"], row["reason"], len(doc.http["chain"]) if doc and doc.dataset("page") else 2), ("failed", "redirects", 2))
    row, doc = one("/for-ever", cookies=True)
    ok("cookies: and one that always changes ends", (row["status"], row["reason"]) == ("failed", "redirects") and len([x for x in site.log() if x[1] == "/for-ever"]) <= 11, row)
    row, doc = one("/away", cookies=True)
    eq("cookies: another host does not get them, and has its own", (row["status"], cookie(doc)), ("success", "there=1"))
    site.close()
    there.close()


# ---- sitemaps

def sitemap(*urls, index=False):
    a, b = ("sitemapindex", "sitemap") if index else ("urlset", "url")
    return f'<?xml version="1.0"?><{a} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">' + "".join(f"<{b}><loc>{u}</loc></{b}>" for u in urls) + f"</{a}>"


def sitemaps():
    site = Site(script="on /\n  page Start\n  links /linked\non /*\n  page x\n")
    base = site.base
    site.close()
    (TMP / "zipped").write_bytes(gzip.compress(sitemap(base + "/zipped/1", base + "/zipped/2", base + "/deny/1").encode()))
    xml = {"/index.xml": sitemap(base + "/one.xml.gz", base + "/two.txt", base + "/nested.xml", base + "/gone.xml", index=True),
           "/nested.xml": sitemap(base + "/never.xml", index=True), "/foreign.xml": sitemap(base + "/foreign/1", "http://foreign.example/x", "ftp://x/")}
    text = f"on /robots.txt\n  type text/plain\n  body User-agent: *\\nDisallow: /secret\\nSitemap: {base}/index.xml\\nsitemap: /feed.xml\\nSitemap: {base}/foreign.xml\\n\n"
    text += "".join(f"on {p}\n  type application/xml\n  body {t}\n" for p, t in xml.items())
    text += f"on /one.xml.gz\n  type application/x-gzip\n  body-file {TMP / 'zipped'}\non /two.txt\n  type text/plain\n  body {base}/text/1\\n{base}/secret/1\\n\n"
    text += f"on /feed.xml\n  type application/rss+xml\n  body <rss version=\"2.0\"><channel><title>t</title><item><title>i</title><link>{base}/feed/1</link></item></channel></rss>\n"
    text += "on /gone.xml\n  status 404\n  body gone\non /\n  page Start\n  links /linked\non /zipped/1\n  page z\n  links /deep\non /*\n  page x\n"
    site = Site("--port", base.rsplit(":", 1)[1], script=text)
    w = World(config=QUICK)
    r = w.tl("run", w.crawl("listed", http(base + "/", sitemaps=True, deny=["*/deny/*"]), leash="{depth: 2}"))
    rows = rows_of(w, r.root, site)
    pages = {"/", "/linked", "/zipped/1", "/zipped/2", "/text/1", "/feed/1", "/foreign/1"}
    maps = {"/index.xml", "/one.xml.gz", "/two.txt", "/nested.xml", "/feed.xml", "/foreign.xml"}
    same("sitemaps: what robots.txt names, its indexes, gzip, text and feeds, and what they list", site.asked(), pages | maps | {"/gone.xml"})
    eq("sitemaps: one that is not there is a failed run", (rows["/gone.xml"]["status"], rows["/gone.xml"]["reason"]), ("failed", "http_404"))
    eq("sitemaps: robots.txt governs what they list", rows["/secret/1"]["reason"], "robots")
    eq("sitemaps: so does the leash", [x["url"] for x in w.leashed(r.root, "hosts")], ["http://foreign.example/x"])
    eq("sitemaps: they count for no depth: what they list is as if the line linked it", ({rows[p]["depth"] for p in maps}, {rows[p]["depth"] for p in pages - {"/"}}), ({1}, {2}))
    eq("sitemaps: and what that links to is a step farther", [x["url"] for x in w.leashed(r.root, "depth")], [base + "/deep"])
    docs = documents(w, r.root, site)
    eq("sitemaps: the document of one has what it lists", [(x["url"][len(base):], x["source"]) for x in docs["/one.xml.gz"].dataset("links")["data"]],
       [("/zipped/1", "url"), ("/zipped/2", "url"), ("/deny/1", "url")])
    eq("sitemaps: that of the line, where they are", [x["url"][len(base):] for x in docs["/"].dataset("sitemaps")["data"]], ["/index.xml", "/feed.xml", "/foreign.xml"])
    none("sitemaps: the books balance", w.faults(r.root))
    site.reset()
    r = w.tl("run", w.crawl("again", http(base + "/", sitemaps=True, deny=["*/deny/*"], follow=False), leash="{depth: 2}"))
    same("sitemaps: in a second crawl too, though robots.txt is remembered; and without following links", site.asked(), (pages | maps | {"/gone.xml"}) - {"/linked"})
    site.reset()
    r = w.tl("run", w.crawl("off", http(base + "/"), leash="{depth: 2}"))
    same("sitemaps: only when asked for", site.asked(), ["/", "/linked"])
    site.reset()
    r = w.tl("run", w.crawl("direct", http(base + "/one.xml.gz", read="sitemap"), leash="{depth: 2, runs: 3}"))
    eq("sitemaps: a line may name one itself, and the leash holds", (len(site.asked()), r.code, {x["reason"] for x in w.leashed(r.root)}), (2, 0, {"runs", "depth"}))
    r = w.tl("run", w.crawl("no-map", http(base + "/linked", read="sitemap")))
    row = rows_of(w, r.root, site)["/linked"]
    ok("sitemaps: what is none is a failure that says so", (row["status"], row["reason"]) == ("failed", "sitemap") and "/linked" in row["error"], row["reason"], row["error"])
    site.close()


def usual_place():
    site = Site("--site", "linked", "--pages", 60)
    w = World(config=QUICK)
    r = w.tl("run", w.crawl("kayak", http(site.base + "/", sitemaps=True, follow=False)))
    listed = set(re.findall(r"<loc>https?://[^/]*([^<]*)</loc>", site.get("/sitemap.xml").decode()))
    asked = set(site.asked())
    ok("sitemaps: /sitemap.xml, where robots.txt names none" if b"Sitemap" not in site.get("/robots.txt") else "sitemaps: of a whole site",
       len(listed) == 60 and listed <= asked | {p for p in listed if p.startswith("/private/")}, len(listed), sorted(listed - asked)[:5])
    site.reset()
    r = w.tl("crawl", site.base + "/", "--sitemaps", "--no-follow", "--cookies", "-o", "jsonl")
    eq("sitemaps: the same by hand", (r.code, set(site.asked())), (0, asked))
    site.close()
    for name, script in (("is not there", "status 404\n  body no"), ("is a page", "page Not a sitemap")):
        site = Site(script=NO_ROBOTS + f"on /sitemap.xml\n  {script}\non /*\n  page x\n")
        r = w.tl("run", w.crawl("guess", http(site.base + "/", sitemaps=True)))
        eq(f"sitemaps: one that was only guessed and {name} is no failure", (r.code, {p: x["status"] for p, x in rows_of(w, r.root, site).items()}),
           (0, {"/": "success", "/sitemap.xml": "success"}))
        site.close()


# ---- words to robots

def words():
    tags = {"/none": ("X-Robots-Tag: none", False), "/ours": ("X-Robots-Tag: trotline: nofollow", False), "/all": ("X-Robots-Tag: noindex, nofollow", False),
            "/theirs": ("X-Robots-Tag: googlebot: nofollow", True), "/index": ("X-Robots-Tag: noindex", True), "/follow": ("X-Robots-Tag: otherbot: none, trotline: all", True)}
    site = Site(script=NO_ROBOTS + "".join(f"on {p}\n  header {h}\n  page x\n  links {p}/child\n" for p, (h, _) in tags.items())
                + "on /meta\n  body <meta name=robots content=nofollow><a href=/meta/child>x</a>\non /meta-ours\n  body <meta name=Trotline content=nofollow><a href=/meta-ours/child>x</a>\n"
                + "on /meta-theirs\n  body <meta name=googlebot content=nofollow><a href=/meta-theirs/child>x</a>\non /*\n  page x\n")
    w = World(config=QUICK)
    want = {p: goes for p, (_, goes) in tags.items()} | {"/meta": False, "/meta-ours": False, "/meta-theirs": True}
    r = w.tl("run", w.crawl("words", *[http(site.base + p) for p in want]))
    eq("robots: of X-Robots-Tag and meta, what is said to all or to us counts", {p: p + "/child" in site.asked() for p in want}, want)
    w.configure("user_agent: \"Example-Bot/1.0 (+https://example.org/bot)\"\n" + QUICK)
    site.reset()
    r = w.tl("run", w.crawl("other", *[http(site.base + p) for p in ("/ours", "/meta-ours", "/all")]))
    eq("robots: our name is the product token of user_agent", {p: p + "/child" in site.asked() for p in ("/ours", "/meta-ours", "/all")},
       {"/ours": True, "/meta-ours": True, "/all": False})
    site.close()


main(hosts, pace, cookies, cookies_on_the_way, sitemaps, usual_place, words)
