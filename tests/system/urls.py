#!/usr/bin/env python3
"""urls.py - one identity for each URL: where it leads, its documents, answers from the store, forgetting."""
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402


def rule(path, body, *headers):
    return f"on {path}\n  type text/html\n" + "".join(f"  header {h}\n" for h in headers) + f"  body {body}\n"


def says(url, text="x", how="canonical"):
    tag = f'<link rel=canonical href="{url}">' if how == "canonical" else f'<meta property="og:url" content="{url}">'
    return f"<title>{text}</title>{tag}<p>{text}</p>"


NO_ROBOTS = "on /robots.txt\n  status 404\n"


class Pages:
    """A world whose crawl fetches the given paths, each once."""

    def __init__(self, *rules, plugins=("http",), config=""):
        self.site, self.w, self.n = Site(script=NO_ROBOTS + "".join(rules)), World(plugins=plugins, config=config), 0

    def get(self, *paths, **args):
        self.n += 1
        lines = [{"collector": "http", "args": dict({"url": self.site.base + p, "follow": False}, **args)} for p in paths]
        c = self.w.crawl(f"get-{self.n}", *lines, leash='{depth: 2, hosts: ["*"]}')
        r = self.w.tl("run", c)
        return r, {x["url"][len(self.site.base):]: x for x in self.w.runs(r.root, "parent_id IS NOT NULL")}

    def map(self, where="1"):
        cut = len(self.site.base)
        return [(x["requested_url"][cut:], x["canonical_url"].removeprefix(self.site.base), x["kind"], x["until_at"] is None) for x in
                self.w.sql(f"SELECT * FROM url_map WHERE {where} ORDER BY since_at, requested_url")]

    def show(self, path):
        r = self.w.tl("url", "show", "-o", "json", path if "://" in path else self.site.base + path)
        return json.loads(r.out) if r.code == 0 else r

    def cat(self, path):
        return self.w.tl("url", "cat", self.site.base + path).out

    def asked(self, path):
        return [line[1] for line in self.site.log()].count(path)


def mismatch():
    """The rows of the table of canonical mismatches, one after the other."""
    p = Pages("on /r\n  redirect 302 /c\n", rule("/c", "<title>C</title>"), rule("/r1", says("/c1", "R1")), rule("/c1", "<title>C1 itself</title>"),
              rule("/r2", says("/c1", "R2")), rule("/evil", says("https://bank.example/x", "evil")), rule("/og", says("/c2", "og", how="og")),
              rule("/broken", says("http://[::bad", "broken")), rule("/empty", says("", "empty")), rule("/plain", "<title>plain</title>"),
              rule("/js", says("javascript:1", "js")))
    _, a = p.get("/r", "/r1", "/plain")
    eq("R redirects to C: content under C, R leads to it", [m for m in p.map() if m[0] in ("/r", "/c")],
       [("/c", "/c", "same", True), ("/r", "/c", "redirect", True)])
    eq("R1 declares C1: content under C1", (p.map("requested_url LIKE '%/r1'"), p.cat("/c1")), ([("/r1", "/c1", "canonical", True)], p.site.get("/r1").decode()))
    eq("a page that declares nothing: one mapping also when both are equal", p.map("requested_url LIKE '%/plain'"), [("/plain", "/plain", "same", True)])
    _, b = p.get("/c1", "/r2")
    edge = p.w.sql("SELECT parent_id, child_id FROM edges WHERE kind = 'canonical_of'")
    ok("R1 declares C1, C1 is fetched: an edge canonical_of", {"parent_id": b["/c1"]["run_id"], "child_id": a["/r1"]["run_id"]} in edge, edge)
    eq("R2 also declares C1: a new document, none is gone", sorted(d["requested_url"][len(p.site.base):] for d in p.show("/c1")["documents"]), ["/c1", "/r1", "/r2"])
    _, _ = p.get("/r2")
    eq("R2 also declares C1: the newest is what C1 is", (p.show("/r2")["documents"][0]["requested_url"], p.cat("/c1")), (p.site.base + "/r2", p.site.get("/r2").decode()))
    _, _ = p.get("/evil", "/og", "/broken", "/empty", "/js")
    eq("a canonical on another site is a claim, and not believed", p.map("requested_url LIKE '%/evil'"),
       [("/evil", "/evil", "same", True), ("/evil", "https://bank.example/x", "claim", True)])
    shown = p.show("/evil")
    eq("a claim: the page is filed under its own URL", (shown["canonical"], shown["documents"][0]["claimed_url"]), (p.site.base + "/evil", "https://bank.example/x"))
    bank = p.show("https://bank.example/x")
    eq("a claim: the other site's URL has no document by it", (bank["documents"], bank["others"][0]["kind"]), ([], "claim"))
    eq("a claim: cat of the other site's URL gives nothing", p.w.tl("url", "cat", "https://bank.example/x").code, 2)
    eq("og:url counts where there is no rel=canonical", p.map("requested_url LIKE '%/og'"), [("/og", "/c2", "canonical", True)])
    for path in ("/broken", "/empty", "/js"):
        eq(f"{path}: such a canonical is none", p.map(f"requested_url LIKE '%{path}'"), [(path, path, "same", True)])
    sound(p)
    p.site.close()


def changing():
    """R later declares another; R is itself another's canonical, and leads elsewhere."""
    p = Pages("on /r\n  type text/html\n  body " + says("/c", "first") + "\nnext\n  type text/html\n  body " + says("/d", "second") + "\n", rule("/x", says("/r", "x")))
    p.get("/r")
    p.get("/r")
    eq("R later declares D: both, with their times", p.map("requested_url LIKE '%/r'"), [("/r", "/c", "canonical", False), ("/r", "/d", "canonical", True)])
    old, new = [p.w.sql("SELECT * FROM url_map WHERE canonical_url = ?", p.site.base + x)[0] for x in ("/c", "/d")]
    eq("R later declares D: the one ends when the other begins", old["until_at"], new["since_at"])
    ok("C keeps its document", "first" in p.cat("/c") and "second" in p.cat("/d") and "second" in p.cat("/r"), p.cat("/c"), p.cat("/d"))
    p.get("/x")
    shown = p.show("/r")
    eq("R is X's canonical and leads to D: asked for R, it is D's", (shown["canonical"], [d["url"][len(p.site.base):] for d in shown["documents"]]),
       (p.site.base + "/d", ["/d", "/r"]))
    eq("what X said of R is no answer for R", p.get("/r", max_age="1h")[1]["/r"]["result_ref"], shown["documents"][0]["result_id"])
    p.site.close()


def collision():
    """Two URLs are given one key: the text decides."""
    p = Pages(rule("/one", "<title>one</title>"), rule("/two", "<title>two</title>"))
    p.get("/one", "/two")
    con = sqlite3.connect(p.w.catalog)
    key = con.execute("SELECT key FROM url_row WHERE url LIKE '%/one'").fetchone()[0]
    con.execute("UPDATE url_row SET url = CASE WHEN url LIKE '%/one' THEN replace(url, '/one', '/other') ELSE url END, key = ?", (key,))
    con.commit()
    con.close()
    eq("another text with the key of this URL: it is not known", p.w.tl("url", "show", p.site.base + "/one").code, 2)
    eq("another text with the key of this URL: it is fetched", p.get("/one", max_age="1h")[1]["/one"]["status"], "success")
    eq("both stand beside each other", p.w.one("SELECT count(DISTINCT url) FROM url_row WHERE key = ?", key), 3)
    ok("and each has its own", "one" in p.cat("/one"), p.cat("/one"))
    p.site.close()


def spellings():
    p = Pages(rule("/a", "<title>A</title>", 'ETag: "v1"', "Last-Modified: Fri, 02 Jan 2026 03:04:05 GMT"), rule("/b", "<title>B</title>"), rule("/q?x=1", "<title>Q</title>"))
    p.get("/a", "/b", "/q?x=1")
    want = p.site.base + "/a"
    for spelling in ("/a#top", "/a?utm_source=x&gclid=y", "/./a", "/%61", "/a?", "/a?UTM_Medium=x#y"):
        got = p.show(spelling)
        eq(f"show {spelling}: the same URL", isinstance(got, dict) and (got["canonical"], len(got["documents"])), (want, 1))
    eq("parameters that say something stay", p.show("/q?utm_campaign=z&x=1")["canonical"], p.site.base + "/q?x=1")
    got = p.show("/a")
    eq("show: the key is that of `url key`", got["key"], p.w.tl("url", "key", want).out.strip())
    eq("show: validators as sent", [(v["etag"], v["last_modified"]) for v in got["validators"]], [('"v1"', "Fri, 02 Jan 2026 03:04:05 GMT")])
    eq("show: sizes and times", [(d["fetched_bytes"], d["status"], d["http_status"]) for d in got["documents"]], [(len(p.site.get("/a")), "success", 200)])
    eq("show: neighbours of its site, and not itself", (got["neighbours"]["count"], sorted(got["neighbours"]["urls"])), (2, sorted(p.site.base + x for x in ("/b", "/q?x=1"))))
    eq("show: the group is the key's upper bits", got["neighbours"]["group"], int(got["key"]) >> 56)
    eq("show: nothing keeps it from being asked", got["next_fetch_at"], None)
    ok("show for people names the document", got["documents"][0]["run_id"] in p.w.tl("url", "show", want).out, p.w.tl("url", "show", want))
    eq("cat: byte for byte", p.cat("/a?utm_source=q#z"), p.site.get("/a").decode())
    eq("show of what is unknown: exit 2", p.w.tl("url", "show", want + "/none").code, 2)
    eq("show of no URL: exit 2", p.w.tl("url", "show", "mailto:a@example.com").code, 2)
    lines = [want + "#x", "nonsense", "", p.site.base + "/none", want + "?fbclid=1", "http://" + "x" * 70000, p.site.base + "/b"]
    child = subprocess.run([TROTLINE, "--config", p.w.config, "url", "-"], input="\n".join(lines), capture_output=True, text=True, cwd=p.w.dir, env=p.w.env, timeout=PATIENCE)
    out = [json.loads(x) for x in child.stdout.splitlines()]
    eq("batch: a line for each line, in order", [x["url"][:70000 // 2] for x in out], [x[:70000 // 2] for x in lines])
    eq("batch: errors in their place", [i for i, x in enumerate(out) if "error" in x], [1, 2, 5])
    eq("batch: what is known", [x.get("known") for x in out], [True, None, None, False, True, None, True])
    eq("batch: exit 0, and keys that show has, too", (child.returncode, out[0]["key"], out[4]["canonical"]), (0, got["key"], want))
    p.site.close()


def from_store():
    script = "on /\n  page start\n  links /x /y\non /x\n  page x\non /y\n  status 404\n  page y\non /post\n  page post\n"
    p = Pages(script, plugins=("http",))
    w, base = p.w, p.site.base
    def run(name, **args):
        c = w.crawl(name, {"collector": "http", "args": dict({"url": base + "/"}, **args)}, leash="{depth: 3}")
        r = w.tl("run", c)
        return r, {x["url"][len(base):]: x for x in w.runs(r.root, "parent_id IS NOT NULL")}
    first, a = run("first")
    asked = (p.asked("/"), p.asked("/x"), p.asked("/y"))
    second, b = run("second", max_age="1h")
    eq("max_age: what is fresh is not asked for; a failure is no answer", {k: x["status"] for k, x in b.items()}, {"/": "cached", "/x": "cached", "/y": "failed"})
    eq("max_age: the server was asked for the failure alone", (p.asked("/"), p.asked("/x"), p.asked("/y")), (asked[0], asked[1], asked[2] + 1))
    eq("max_age: the run names the earlier result", w.one("SELECT run_id FROM documents WHERE result_id = ?", b["/"]["result_ref"]), a["/"]["run_id"])
    same("max_age: an edge from the run with the document", [(e["parent_id"], e["child_id"]) for e in w.sql("SELECT * FROM edges WHERE kind = 'cached'")],
         [(a[k]["run_id"], b[k]["run_id"]) for k in ("/", "/x")])
    eq("max_age: the earlier document is reacted to; children are its own", b["/x"]["parent_id"], b["/"]["run_id"])
    eq("max_age: the snapshot counts it as a member", json.loads(w.tl("diff", first.root, second.root, "-o", "json").out), {"added": [], "removed": [], "changed": []})
    none("max_age: catalog and package agree", w.faults(second.root))
    ok("max_age: cat of such a run is the earlier document", "start" in w.tl("cat", "--dataset", "page", b["/"]["run_id"]).out)
    time.sleep(1.1)
    eq("max_age: what is older is asked for", {k: x["status"] for k, x in run("third", max_age="1s", revalidate=False)[1].items()}["/"], "success")
    eq("max_age 0, the default: always asked for", run("fourth", revalidate=False)[1]["/"]["status"], "success")
    _, c = run("fifth", max_age="1h", headers=["Accept-Language: de"])
    eq("max_age: not where headers may change the answer", c["/"]["status"], "success")
    eq("max_age: what was got with headers is no answer", run("sixth", max_age="1h")[1]["/"]["result_ref"] != w.one(
        "SELECT result_id FROM documents WHERE run_id = ?", c["/"]["run_id"]), True)
    p.get("/post", method="POST", body="x")
    eq("max_age: what was got by POST is no answer", p.get("/post", max_age="1h")[1]["/post"]["status"], "success")
    eq("verify: sound", w.tl("verify").code, 0)
    sound(p)
    p.site.close()


def forgetting():
    p = Pages("".join(rule(f"/p{i}", f"<title>{i}</title>", f'ETag: "{i}"') for i in range(40)), "on /r\n  redirect 301 /p1\n")
    p.get("/r", *[f"/p{i}" for i in range(40)])
    count = p.w.one("SELECT count(*) FROM documents")
    eq("forget: by any spelling", p.w.tl("url", "forget", p.site.base + "/r?utm_source=x").code, 0)
    eq("forget: nothing is known of what it led to, nor of itself", [p.w.tl("url", "show", p.site.base + x).code for x in ("/p1", "/r", "/p2")], [2, 2, 0])
    eq("forget: the documents stay", (p.w.one("SELECT count(*) FROM documents"), p.w.tl("verify").code), (count, 0))
    eq("forget: no conditional request any more", p.w.one("SELECT count(*) FROM validators WHERE url LIKE '%/p1'"), 0)
    eq("forget, then max_age: it is fetched", p.get("/p1", max_age="1h")[1]["/p1"]["status"], "success")
    eq("forget what is not known: exit 2", p.w.tl("url", "forget", p.site.base + "/none").code, 2)
    con = sqlite3.connect(p.w.catalog)
    con.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO url_row (key, url, first_us) "
                "SELECT i, 'http://old.example/' || i || '/' || hex(randomblob(20)), 1 FROM n")
    con.execute("INSERT INTO url_map_row (asked, url, kind, since_us) SELECT id, id, 0, 1 FROM url_row WHERE url LIKE 'http://old.example/%'")
    con.commit()
    con.close()
    kept = p.w.one("SELECT count(*) FROM url_documents")
    r = p.w.tl("maintain", "--older-than", "1h", "-o", "json")
    got = json.loads(r.out)
    eq("maintain: what is old goes, what is new stays", (r.code, got["mappings"], got["urls"] >= 20000, got["pointers"], p.w.one("SELECT count(*) FROM url_documents")),
       (0, 20000, True, 0, kept))
    ok("maintain: the file shrinks", got["bytes_after"] < got["bytes_before"] // 2 and os.path.getsize(p.w.catalog) == got["bytes_after"], got)
    con = sqlite3.connect(p.w.catalog)
    con.execute("UPDATE url_document SET seen_us = seen_us - 7200000000")
    con.execute("UPDATE validator SET at_us = at_us - 7200000000")
    con.execute("UPDATE url_map_row SET since_us = since_us - 7200000000")
    con.commit()
    con.close()
    eq("C is too old, R is asked: it is fetched again", p.get("/p2", max_age="1h", revalidate=False)[1]["/p2"]["status"], "success")
    con = sqlite3.connect(p.w.catalog)
    con.execute("UPDATE host SET robots_us = robots_us - 8 * 86400000000")
    con.commit()
    con.close()
    got = json.loads(p.w.tl("maintain", "--older-than", "1h", "--expire-only", "-o", "json").out)
    eq("maintain: pointers and validators of old documents go, and old robots.txt", (got["pointers"], got["validators"] > 30, got["robots"], got["bytes_after"]),
       (kept - 0, True, 1, None))
    eq("C expired, R asked: not known, and fetched", (p.w.tl("url", "show", p.site.base + "/p3").code, p.get("/p3", max_age="1h")[1]["/p3"]["status"]), (2, "success"))
    eq("maintain: the lake is sound", p.w.tl("verify").code, 0)
    eq("maintain --older-than nonsense: exit 2", p.w.tl("maintain", "--older-than", "30").code, 2)
    p.site.close()


def busy():
    site, w = Site(script=NO_ROBOTS + "on /\n  gate slow\n  page late\n"), World()
    c = w.crawl("slow", site.base + "/", leash="{depth: 1}")
    child = w.start("run", c)
    until("the request", lambda: site.stats()["in_flight"] == 1)
    r = w.tl("maintain")
    eq("maintain while a crawl runs: refused", (r.code, "under way" in r.last_line()), (12, True))
    eq("maintain --expire-only goes", w.tl("maintain", "--expire-only").code, 0)
    site.open("slow")
    eq("the crawl ends well", child.wait().code, 0)
    eq("maintain after it", w.tl("maintain").code, 0)
    site.close()


def sound(p):
    """The catalog made anew from the lake says the same of URLs."""
    w = p.w
    questions = ("SELECT url, requested_url, source_url, claimed_url, result_id, plain FROM url_documents ORDER BY result_id",
                 "SELECT requested_url, canonical_url, kind, since_at, until_at FROM url_map ORDER BY 1, 2, 3, 4",
                 "SELECT url, credential, etag, last_modified, run_id FROM validators ORDER BY 1",
                 "SELECT kind, parent_id, child_id FROM edges WHERE kind IN ('cached', 'canonical_of') ORDER BY 1, 2, 3",
                 "SELECT run_id, status, result_ref FROM runs ORDER BY run_id")
    before = [w.sql(q) for q in questions]
    for f in w.dir.glob("catalog.db*"):
        f.unlink()
    eq("rebuild: exit 0", w.tl("rebuild").code, 0)
    for q, b in zip(questions, before):
        same("rebuild: as before: " + q.split("FROM ")[1].split()[0], [tuple(x.values()) for x in w.sql(q)], [tuple(x.values()) for x in b])


main(mismatch, changing, collision, spellings, from_store, forgetting, busy)
