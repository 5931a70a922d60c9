#!/usr/bin/env python3
"""fanin.py - legs that run apart, in one go, on three lakes, or die in the middle: one result, byte for byte."""
import datetime
import random
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

WEEK, SINCE = "2026-W24", datetime.datetime(2026, 6, 8)
SOURCES = "sources:\n" + "".join(f"  - {{id: {s}}}\n" for s in ("north", "south", "east")) + \
    "shards:\n  - {id: new_repos, required: false}\n  - {id: topic_primary, required: false}\n"

FEEDS = r"""
on /north
  type application/rss+xml
  body <<END
<rss version="2.0"><channel><title>North</title><link>http://n.example/</link>
<item><title>Kayaks &amp; AI</title><link>https://n.example/1?utm_source=x</link><guid>n1</guid><pubDate>Tue, 09 Jun 2026 10:00:00 GMT</pubDate>
<description>&lt;p&gt;A &lt;b&gt;paddle&lt;/b&gt; by Acme: see &lt;a href="https://github.com/acme/rocket.git"&gt;rocket&lt;/a&gt;, https://github.com/acme/boat.
and https://github.com/topics/kayak&lt;/p&gt;</description></item>
<item><title>Last week</title><link>https://n.example/0</link><guid>n0</guid><pubDate>Sun, 07 Jun 2026 23:59:59 GMT</pubDate></item>
<item><title>First second</title><link>https://n.example/2</link><guid>n2</guid><pubDate>Mon, 08 Jun 2026 02:00:00 +0200</pubDate></item>
<item><title>Next week</title><link>https://n.example/3</link><guid>n3</guid><pubDate>Mon, 15 Jun 2026 00:00:00 GMT</pubDate></item>
<item><title>No date</title><link>https://n.example/4</link><guid>n4</guid></item>
<item><title>No date</title><link>https://n.example/4</link><guid>n4</guid></item>
</channel></rss>
  END
on /south
  type application/atom+xml
  body <<END
<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://s.example/blog/"><title>South</title><id>urn:s</id><updated>2026-06-12T00:00:00Z</updated>
<entry><title>Shared</title><id>urn:s:1</id><link href="https://N.example/1"/><updated>2026-06-10T08:00:00.5Z</updated><summary>AI paddle</summary></entry>
<entry><title>Relative</title><id>urn:s:2</id><link href="two"/><published>2026-06-11T00:00:00Z</published><updated>2026-07-01T00:00:00Z</updated></entry>
</feed>
  END
on /east
  type application/feed+json
  body {"version":"https://jsonfeed.org/version/1.1","title":"East","items":[{"id":"e1","url":"https://e.example/1","title":"Caf\xc3\xa9","content_text":"x","date_published":"2026-06-12T12:00:00Z"}]}
on /page
  page A page
  body <link rel="alternate" type="application/rss+xml" href="/north">
on /gone
  status 404 Not Found
  body nothing
on /long
  type application/rss+xml
  body <rss version="2.0"><channel><title>L</title>ITEMS</channel></rss>
on /returns
  status 404 Not Found
  body nothing
next
  type application/rss+xml
  body <rss version="2.0"><channel><title>R</title></channel></rss>
on /broken
  type application/rss+xml
  body <rss version="2.0"><channel><title>B & C</title><item><title>caf\xe9 & more</title><link>https://b.example/1</link><pubDate>2026-06-09</pubDate></item>
on /slow
  gate slow
  type application/rss+xml
  body <rss version="2.0"><channel><title>S</title></channel></rss>
"""


FEEDS = FEEDS.replace("ITEMS", "".join(f"<item><title>{i} {'x' * 100}</title><link>https://l.example/{i}</link>"
                                       "<pubDate>Tue, 09 Jun 2026 10:00:00 GMT</pubDate></item>" for i in range(9)))


def context(folder, week=WEEK):
    """A run context of our own making, so that the program's reading of it is tested, too."""
    sha = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("sources.yml", "topic.yml")}
    code = hashlib.sha256(b"").hexdigest()
    run = hashlib.sha256(f"{week}:{sha['sources.yml']}:{sha['topic.yml']}:{code}".encode()).hexdigest()[:12]
    stamp = "%Y-%m-%dT%H:%M:%SZ"
    return {"schema_version": "run_context_v1", "run_id": f"{week}-{run}", "week": week, "since": SINCE.strftime(stamp),
            "until": (SINCE + datetime.timedelta(days=7)).strftime(stamp), "source_config_checksum": "sha256:" + sha["sources.yml"],
            "topic_config_checksum": "sha256:" + sha["topic.yml"], "code_sha": code, "created_at": "2026-06-15T00:07:00Z"}


def world(name=None):
    w = World(("feed", "github_search"), "collectors: {feed: {options: {keywords: [ai, paddle, kayaks, acme], entities: [Acme, Paddle]}}}\n", name=name)
    (w.dir / "sources.yml").write_text(SOURCES)
    (w.dir / "topic.yml").write_text("topic: kayaking\n")
    (w.dir / "context.json").write_text(json.dumps(context(w.dir)))
    return w


def feed(source, url, **args):
    return {"collector": "feed", "args": {"source": source, "url": url, **args}}


def merged(folder, which="-external-news"):
    """The document, as bytes without the time of the merge, and as a value."""
    raw = (folder / f"{WEEK}{which}.json").read_bytes()
    return re.sub(rb'"merged_at":"[^"]*"', b"", raw), json.loads(raw)


def pyjson(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def checksum(value):
    return "sha256:" + hashlib.sha256(pyjson(value)).hexdigest()


def artifact(w, run):
    return json.loads(w.tl("cat", run, "--dataset", "artifact").out)


# ---------------------------------------------------------------- a source

def sources_become_legs():
    site, w = Site(script=FEEDS), world()
    lines = [feed(name, site.base + path) for name, path in (("north", "/north"), ("south", "/south"), ("east", "/east"), ("page", "/page"),
                                                            ("gone", "/gone"), ("broken", "/broken"))]
    r = w.tl("run", w.crawl("legs", *lines, react="run_context: context.json\n"))
    rows = {json.loads(x["payload"])["source"]: x for x in w.sql("SELECT * FROM runs WHERE root_id = ? AND depth = 1", r.root)}
    legs = {name: artifact(w, x["run_id"]) for name, x in rows.items()}
    eq("status of each run", {n: x["status"] for n, x in rows.items()},
       {"north": "success", "south": "success", "east": "success", "page": "failed", "gone": "failed", "broken": "success"})
    eq("status of each artifact", {n: a["status"] for n, a in legs.items()},
       {"north": "success", "south": "success", "east": "success", "page": "failed", "gone": "failed", "broken": "success"})
    none("every artifact: version, context, checksum as an independent program has them",
         [n for n, a in legs.items() if a["schema_version"] != 2 or a["source_id"] != n or a["run_context"] != json.loads((w.dir / "context.json").read_text())
          or a["checksum"] != checksum(sorted(a["articles"], key=lambda x: x["url"].encode()))])
    eq("north: what was published within the window, each once",
       legs["north"]["articles"],
       [{"url": "https://n.example/1?utm_source=x", "title": "Kayaks & AI", "published": "2026-06-09T10:00:00Z", "source": "north", "relevance_score": 1.0,
         "github_urls": ["https://github.com/acme/boat", "https://github.com/acme/rocket"], "entities": ["Acme"]},
        {"url": "https://n.example/2", "title": "First second", "published": "2026-06-08T00:00:00Z", "source": "north", "relevance_score": 0.0, "github_urls": [], "entities": []}])
    eq("north: metrics", {k: legs["north"]["metrics"][k] for k in ("articles_fetched", "articles_relevant", "retries")},
       {"articles_fetched": 6, "articles_relevant": 1, "retries": 0})
    eq("south: links by xml:base; the day of publication, else of the last change",
       [(a["url"], a["published"], a["relevance_score"]) for a in legs["south"]["articles"]],
       [("https://n.example/1", "2026-06-10T08:00:00.500000Z", 0.4), ("https://s.example/blog/two", "2026-06-11T00:00:00Z", 0.0)])
    eq("east: JSON Feed", [(a["title"], a["url"]) for a in legs["east"]["articles"]], [("Caf\u00e9", "https://e.example/1")])
    eq("broken: read all the same", [a["url"] for a in legs["broken"]["articles"]], ["https://b.example/1"])
    eq("gone: no articles, and why", (legs["gone"]["articles"], legs["gone"]["error"]), ([], {"class": "http_404", "message": "http 404"}))
    ok("page: says what it is, and which feed it names", f"{site.base}/north" in legs["page"]["error"]["message"], legs["page"]["error"])

    docs = {d.d["payload"]["source"]: d for d in w.documents(r.root) if d.depth == 1}
    entries = docs["north"].dataset("entries")["key_values"].values()
    eq("north's document has every entry, by its identity", [e["key"] for e in entries], [f"guid:n{i}" for i in (1, 0, 2, 3, 4)])
    eq("north's document has the answer byte for byte", docs["north"].original(), site.get("/north"))
    eq("every document of the crawl carries the context", {json.dumps(d.d["run_context"], sort_keys=True) for d in w.documents(r.root)},
       {json.dumps(context(w.dir), sort_keys=True)})
    eq("the context is in the catalog", w.sql("SELECT run_id, week, since_at, crawls FROM contexts"),
       [{"run_id": context(w.dir)["run_id"], "week": WEEK, "since_at": "2026-06-08T00:00:00Z", "crawls": 1}])

    items = w.tl("convert", r.root)
    r = w.tl("refine", r.root, "-o", "json")
    eq("refine: a row of feed_entry for each entry", (items.code, r.code, json.loads(r.out)["types"].get("feed_entry")),
       (0, 0, {"rows": 9, "rejected": 0}))

    r = w.tl("run", w.crawl("plain", feed("north", site.base + "/north")))
    doc = next(d for d in w.documents(r.root) if d.depth == 1)
    eq("without a run context a feed is read, and no leg is made", (r.code, [s["name"] for s in doc.d["datasets"]]), (0, ["page", "feed", "entries"]))
    r = w.tl("run", w.crawl("nameless", {"collector": "feed", "args": {"url": site.base + "/north"}}, react="run_context: context.json\n"))
    ok("a leg without a source's name is refused", r.code == 6 and "source" in (w.one("SELECT error FROM runs WHERE root_id = ? AND depth = 1", r.root) or ""), r)
    site.close()


# ---------------------------------------------------------------- apart, and in one go

def apart_and_together():
    site, w = Site(script=FEEDS), world()
    lines = [feed("north", site.base + "/north"), feed("south", site.base + "/south"), feed("east", site.base + "/east")]
    together = w.tl("run", w.crawl("together", *lines, react="run_context: context.json\nfanin: {sources: sources.yml, out: together}\n"))
    eq("in one go: done", (together.code, sorted(os.listdir(w.dir / "together"))), (0, [f"{WEEK}-external-news.json", f"{WEEK}.json"]))
    raw, news = merged(w.dir / "together")
    eq("the shared page belongs to the first source", [(a["source"], a["url"]) for a in news["articles"]],
       [("east", "https://e.example/1"), ("north", "https://n.example/1?utm_source=x"), ("north", "https://n.example/2"), ("south", "https://s.example/blog/two")])
    eq("its checksum", news["checksum"], checksum(news["articles"]))
    eq("what optional shards lack is said where it belongs", merged(w.dir / "together", "")[1]["warnings"],
       ["new_repos: artifact not found", "topic_primary: artifact not found"])

    worlds, files = [world(f"lake-{i}") for i in range(3)], []
    for other, line in zip(worlds, lines):
        r = other.tl("run", other.crawl("leg", line, react="run_context: context.json\n"))
        doc = next(d for d in other.documents(r.root) if d.depth == 1)
        run_id = doc.run_id
        path = other.dir / "leg.json"
        path.write_text(other.tl("cat", run_id, "--dataset", "artifact").out)
        files.append((path, doc.file))
    fourth = world("fourth")
    random.seed(8)
    for name, chosen in (("artifacts", [a for a, _ in files]), ("documents of three lakes", [d for _, d in files]), ("both kinds", [files[0][1], files[1][0], files[2][1]])):
        random.shuffle(chosen)
        out = fourth.dir / name.replace(" ", "-")
        r = fourth.tl("fanin", "--context", fourth.dir / "context.json", "--sources", fourth.dir / "sources.yml", "--out", out, *chosen)
        eq(f"apart, {name}: done", r.code, 0)
        eq(f"apart, {name}: the same bytes", (merged(out)[0], merged(out, "")[0]), (raw, merged(w.dir / "together", "")[0]))

    made = w.tl("run", w.crawl("own", *lines, react=f"fanin: {{sources: sources.yml, out: own, week: {WEEK}, topic: topic.yml}}\n"))
    own = merged(w.dir / "own")[1]
    eq("a crawl that makes its own context: the same run, the same articles", (made.code, own["run_context"]["run_id"], own["articles"]),
       (0, news["run_context"]["run_id"], news["articles"]))
    site.close()


def large_legs():
    """An artifact that does not fit into its document lies beside it."""
    w, n = world(), 9000
    items = "".join(f"<item><title>{i} {'x' * 990}</title><link>https://l.example/{i}</link><pubDate>Tue, 09 Jun 2026 10:00:00 GMT</pubDate></item>" for i in range(n))
    (w.dir / "large.xml").write_text('<rss version="2.0"><channel><title>L</title>' + items + "</channel></rss>")
    site = Site(script=FEEDS + f"on /large\n  type application/rss+xml\n  body-file {w.dir / 'large.xml'}\n")
    (w.dir / "sources.yml").write_text("sources: [{id: north}]\n")
    r = w.tl("run", w.crawl("large", feed("north", site.base + "/large"), react="run_context: context.json\nfanin: {sources: sources.yml, out: out}\n"))
    raw, news = merged(w.dir / "out")
    doc = next(d for d in w.documents(r.root) if d.depth == 1)
    eq("large: merged from beside the document", (r.code, len(news["articles"]), doc.dataset("artifact")["encoding"]), (0, n, "attachment"))
    again = w.tl("fanin", "--context", w.dir / "context.json", "--sources", w.dir / "sources.yml", "--out", w.dir / "again", doc.file)
    eq("large: and from the document as a file", (again.code, merged(w.dir / "again")[0] == raw), (0, True))
    site.close()


def what_fails_degrades():
    site, w = Site(script=FEEDS), world()
    react = "run_context: context.json\nfanin: {sources: sources.yml, out: out}\n"
    r = w.tl("run", w.crawl("one-fails", feed("north", site.base + "/north"), feed("south", site.base + "/gone"), feed("east", site.base + "/east"), react=react))
    raw, news = merged(w.dir / "out")
    eq("one of three fails: the policy holds", (r.code, news["sources"]["south"]), (0, {"error": "http 404", "status": "failed"}))
    eq("and it is said", news["warnings"], ["south: http 404"])
    r = w.tl("run", w.crawl("two-fail", feed("north", site.base + "/page"), feed("south", site.base + "/gone"), feed("east", site.base + "/east"),
                            react=react.replace("out: out", "out: closed")))
    eq("two of three fail: closed, diagnostics only", (r.code, os.listdir(w.dir / "closed")), (6, [f"diagnostics-{context(w.dir)['run_id']}.json"]))
    told = json.loads((w.dir / "closed" / os.listdir(w.dir / "closed")[0]).read_text())
    eq("the diagnostics say why", told["reasons"], ["1 of 3 sources succeeded, at least 2 are needed"])
    strict = SOURCES.replace("{id: south}", "{id: south, required: true}")
    (w.dir / "strict.yml").write_text(strict)
    r = w.tl("run", w.crawl("required", feed("north", site.base + "/north"), feed("south", site.base + "/gone"), feed("east", site.base + "/east"),
                            react=react.replace("sources.yml, out: out", "strict.yml, out: strict")))
    ok("a required source fails: closed", r.code == 6 and "required source south: http 404" in r.err, r)

    # What is cut off is worth what came.
    w.configure("fetch: {max_body: 1KiB, delay: 0s}\n")
    r = w.tl("run", w.crawl("cut", feed("north", site.base + "/long"), feed("south", site.base + "/south"), feed("east", site.base + "/east"),
                            react=react.replace("out: out", "out: cut")))
    news = merged(w.dir / "cut")[1]
    eq("a feed that is longer than what may be fetched: partial, with what came", (r.code, news["sources"]["north"]["status"],
       0 < news["sources"]["north"]["articles_count"] < 9, news["warnings"][0].startswith("north: partial (")), (0, "partial", True, True))
    w.configure()

    # The source comes back, and the runs that failed are put back.
    c = w.crawl("retried", feed("north", site.base + "/north"), feed("south", site.base + "/returns"), feed("east", site.base + "/gone"),
                react=react.replace("out: out", "out: retried"))
    first = w.tl("run", c)
    put = w.tl("retry", first.root)
    r = w.tl("run", c, "--resume", first.root)
    news = merged(w.dir / "retried")[1]
    eq("retried: the newest leg of each source is merged, and diagnostics are gone",
       (first.code, put.code, r.code, sorted(os.listdir(w.dir / "retried")), {s: v["status"] for s, v in news["sources"].items()}),
       (6, 0, 0, [f"{WEEK}-external-news.json", f"{WEEK}.json"], {"north": "success", "south": "success", "east": "failed"}))

    asked = len(site.log())
    for name, text in (("unknown key", "sources: [{id: north, prio: 1}]"), ("no source", "sources: []"), ("not there", None)):
        (w.dir / "wrong.yml").unlink(missing_ok=True)
        if text:
            (w.dir / "wrong.yml").write_text(text)
        r = w.tl("run", w.crawl("wrong", feed("north", site.base + "/north"), react=react.replace("sources.yml", "wrong.yml")))
        ok(f"sources, {name}: refused before anything is fetched", r.code == 3 and "wrong.yml" in r.err and len(site.log()) == asked, r)

    contexts = w.sql("SELECT * FROM contexts ORDER BY 1")
    w.catalog.unlink()
    eq("rebuild: done", w.tl("rebuild").code, 0)
    eq("rebuild: the contexts are known again", w.sql("SELECT * FROM contexts ORDER BY 1"), contexts)
    site.close()


# ---------------------------------------------------------------- a leg that dies

def killed_in_the_middle():
    site, w = Site(script=FEEDS), world()
    c = w.crawl("killed", feed("north", site.base + "/north"), feed("south", site.base + "/slow"), feed("east", site.base + "/east"),
                react="run_context: context.json\nfanin: {sources: sources.yml, out: out}\n")
    child = w.start("run", c)

    def two_done():
        with contextlib.suppress(sqlite3.OperationalError):  # the catalog is being made
            return len(w.runs(w.newest_root(), "depth = 1 AND status = 'success'")) == 2

    until("two legs are done", two_done)
    child.signal(signal.SIGKILL)
    child.wait()
    root = w.newest_root()
    ok("nothing was merged yet", not (w.dir / "out").exists())
    site.open("slow")
    r = w.tl("run", c, "--resume", "auto")
    eq("resumed: the same crawl, done", (r.code, r.root), (0, root))
    raw, news = merged(w.dir / "out")
    eq("resumed: all legs are there, each once", {s: v["status"] for s, v in news["sources"].items()}, {"north": "success", "south": "success", "east": "success"})
    eq("resumed: the legs that were done were not fetched again", {p: n for p, n in site.asked().items() if p != "/slow"}, {"/north": 1, "/east": 1})

    alone = w.tl("run", w.crawl("never-killed", feed("north", site.base + "/north"), feed("south", site.base + "/slow"), feed("east", site.base + "/east"),
                                react="run_context: context.json\nfanin: {sources: sources.yml, out: alone}\n"))
    eq("the same bytes as one that was never killed", (alone.code, merged(w.dir / "alone")[0]), (0, raw))

    other = context(w.dir)
    other["run_id"] = "2026-W24-000000000000"
    (w.dir / "context.json").write_text(json.dumps(other))
    r = w.tl("run", w.crawl("late", feed("north", site.base + "/north"), react="run_context: context.json\n"))
    ok("a context that contradicts itself begins nothing", r.code == 3 and "run_id" in r.err, r)
    site.close()


def killed_while_writing():
    """Between staging and the two renames: what is there is whole, and the next run completes."""
    w = world()
    arts = [{"url": "https://n.example/1", "title": "t", "published": "2026-06-09T00:00:00Z", "source": s, "relevance_score": 0.5, "github_urls": [], "entities": []} for s in ("north", "south")]
    files = []
    for a in arts:
        leg = {"schema_version": 2, "source_id": a["source"], "run_context": context(w.dir), "status": "success", "articles": [a], "error": None, "checksum": checksum([a])}
        files.append(w.dir / f"{a['source']}.json")
        files[-1].write_text(json.dumps(leg))
    out = w.dir / "out"
    command = ["fanin", "--context", w.dir / "context.json", "--sources", w.dir / "sources.yml", "--out", out, "--now"]
    before = w.tl(*command, "2026-06-16T00:00:00Z", *files)
    eq("a first merge", (before.code, merged(out)[1]["merged_at"]), (0, "2026-06-16T00:00:00Z"))
    bytes_before = {f: (out / f).read_bytes() for f in os.listdir(out)}
    for fault, changed in (("fanin-staged", []), ("fanin-between", [f"{WEEK}.json"])):
        r = w.tl(*command, "2026-06-17T00:00:00Z", *files, env={"TROTLINE_FAULT": f"{fault}:1"})
        if r.code == 0:
            note("built without fault points: nothing was killed")
            break
        eq(f"{fault}: killed", r.code, -signal.SIGKILL)
        now = {f: (out / f).read_bytes() for f in os.listdir(out) if not f.startswith(".")}
        eq(f"{fault}: whole files under both names, the new one where it was renamed", sorted(f for f in now if now[f] != bytes_before[f]), changed)
        none(f"{fault}: no unfinished file looks like a document", [f for f in os.listdir(out) if f.endswith(".json") and f not in bytes_before])
    r = w.tl(*command, "2026-06-18T00:00:00Z", *files)
    eq("the next merge completes and cleans up", (r.code, sorted(os.listdir(out)), merged(out)[1]["merged_at"]),
       (0, [f"{WEEK}-external-news.json", f"{WEEK}.json"], "2026-06-18T00:00:00Z"))
    r = w.tl(*command, "2026-06-19T00:00:00Z", files[0])
    eq("a merge that fails closed leaves the earlier documents alone", (r.code, sorted(os.listdir(out))[:2], merged(out)[1]["merged_at"]),
       (6, [f"{WEEK}-external-news.json", f"{WEEK}.json"], "2026-06-18T00:00:00Z"))
    r = w.tl(*command, "2026-06-20T00:00:00Z", *files)
    eq("and the next good one removes the diagnostics", (r.code, sorted(os.listdir(out))), (0, [f"{WEEK}-external-news.json", f"{WEEK}.json"]))


# ---------------------------------------------------------------- shards

REPO = '{{"full_name":"{0}","stargazers_count":{1},"description":{2},"language":"C","topics":["kayak"],"created_at":"2026-06-09T00:00:00Z","pushed_at":"2026-06-10T00:00:00Z","id":9007199254740993}}'


def answer(*repos, incomplete="false"):
    return '{"total_count":%d,"incomplete_results":%s,"items":[%s]}' % (len(repos), incomplete, ",".join(REPO.format(*r) for r in repos))


def search_script(first_stars, limited=False):
    new = "created%3A2026-06-08T00%3A00%3A00Z..2026-06-14T23%3A59%3A59Z%20stars%3A%3E%3D5"
    topic = "topic%3A{}%20pushed%3A%3E%3D2026-06-08T00%3A00%3A00Z%20stars%3A%3E%3D10"
    tail = "&sort=stars&order=desc&per_page=100"
    limit = "  status 403 Forbidden\n  type application/json\n  header Retry-After: 1\n  body {\"message\":\"You have exceeded a secondary rate limit\"}\nnext\n"
    return "".join((
        f"on /search/repositories?q={new}{tail}\n", limit if limited else "",
        "  type application/json\n  header X-RateLimit-Remaining: 9\n",
        "  header Link: </search/repositories?page=2>; rel=\"next\", </search/repositories?page=9>; rel=\"last\"\n",
        f"  body {answer(('acme/rocket', first_stars, 'null'), ('acme/boat', 50, chr(34) + 'Row, row' + chr(34)))}\n",
        "on /search/repositories?page=2\n  type application/json\n  header X-RateLimit-Remaining: 8\n",
        f"  body {answer(('zed/late', 7, 'null'), ('acme/boat', 51, 'null'))}\n",
        *(f"on /search/repositories?q={topic.format(t)}{tail}\n  type application/json\n  body {answer(('acme/rocket', first_stars, 'null'), (t + '/x', 20, 'null'))}\n"
          for t in ("kayak", "canoe")),
        "on /*\n  status 404 Not Found\n  type application/json\n  body {\"message\":\"Not Found\"}\n"))


def shard_lines(site):
    return ({"collector": "github_search", "args": {"shard": "new_repos", "api": site.base, "min_stars": 5}},
            {"collector": "github_search", "args": {"shard": "topic_primary", "topics": ["kayak", "canoe"], "api": site.base}})


def shards():
    site, w = Site(script=search_script(100, limited=True)), world()
    react = "run_context: context.json\nfanin: {sources: sources.yml, out: out}\n"
    (w.dir / "sources.yml").write_text(SOURCES.replace("{id: south}", "{id: south, required: false}"))
    feeds = Site(script=FEEDS)
    sources = [feed(s, feeds.base + "/" + s) for s in ("north", "south", "east")]
    r = w.tl("run", w.crawl("digest", *sources, *shard_lines(site), react=react))
    rows = {json.loads(x["payload"])["shard"]: x for x in w.sql("SELECT * FROM runs WHERE root_id = ? AND collector = 'github_search'", r.root)}
    eq("the search was asked what it should be, page after page",
       [p for p in site.asked() if "page=2" in p or "created" in p or "topic" in p].__len__(), 4)
    new, topic = (artifact(w, rows[s]["run_id"]) for s in ("new_repos", "topic_primary"))
    eq("new_repos: repositories, each once, all their stars gained this week",
       [(x["full_name"], x["stars"], x.get("stars_gained"), x["description"]) for x in new["repositories"]],
       [("acme/boat", 51, 51, None), ("acme/rocket", 100, 100, None), ("zed/late", 7, 7, None)])
    eq("topic_primary: what was gained is not known yet", [(x["full_name"], "stars_gained" in x) for x in topic["repositories"]],
       [("acme/rocket", False), ("canoe/x", False), ("kayak/x", False)])
    eq("new_repos: API metrics", new["api_metrics"],
       {"calls_made": 3, "cache_hits": 0, "cache_misses": 3, "secondary_rate_limit_events": 1, "search_api_remaining": 8})
    eq("shards: checksums", [a["checksum"] for a in (new, topic)], [checksum(a["repositories"]) for a in (new, topic)])
    github = merged(w.dir / "out", "")[1]
    eq("merged: the shard where more was gained has it", ([x["full_name"] for x in github["repositories"]], github["shards"]),
       (["acme/boat", "acme/rocket", "canoe/x", "kayak/x", "zed/late"],
        {"new_repos": {"count": 3, "status": "success"}, "topic_primary": {"count": 2, "status": "success"}}))
    site.close()

    # The same week again, a day later: nothing is compared with itself. The week after: with the week before.
    site = Site(script=search_script(130))
    r = w.tl("run", w.crawl("digest", *shard_lines(site), react="run_context: context.json\n"))
    topic = artifact(w, w.one("SELECT run_id FROM runs WHERE root_id = ? AND depth = 1 AND payload LIKE '%topic_primary%'", r.root))
    eq("the same week again: still not known", [x.get("stars_gained") for x in topic["repositories"]], [None, None, None])
    site.close()
    global SINCE
    since, SINCE = SINCE, SINCE + datetime.timedelta(days=7)
    (w.dir / "context.json").write_text(json.dumps(context(w.dir, "2026-W25")))
    site = Site(script=search_script(142).replace("2026-06-14", "2026-06-21").replace("2026-06-08", "2026-06-15"))
    for again in ("the week after", "the week after, again"):
        r = w.tl("run", w.crawl("digest", *shard_lines(site), react="run_context: context.json\n"))
        topic = artifact(w, w.one("SELECT run_id FROM runs WHERE root_id = ? AND depth = 1 AND payload LIKE '%topic_primary%'", r.root))
        eq(f"{again}: gained since the last stars that were seen in the week before", [(x["full_name"], x.get("stars_gained")) for x in topic["repositories"]],
           [("acme/rocket", 12), ("canoe/x", 0), ("kayak/x", 0)])
    SINCE = since
    site.close()
    feeds.close()

    site = Site(script="on /*\n  status 422 No\n  type application/json\n  body {\"message\":\"Validation Failed\"}\n")
    r = w.tl("run", w.crawl("refused", shard_lines(site)[0], react="run_context: context.json\n"))
    error = w.one("SELECT error FROM runs WHERE root_id = ? AND depth = 1", r.root)
    ok("what the API says is passed on", "422" in error and "Validation Failed" in error, error)
    site.close()
    site = Site(script="on /*\n  echo\n")
    (w.dir / "token").write_text("s3cret\n")
    os.chmod(w.dir / "token", 0o600)
    w.configure(f"secrets: {{hub: {{file: token, origins: ['{site.base}']}}}}\n")
    line = shard_lines(site)[0]
    line["args"]["token"] = "hub"
    r = w.tl("run", w.crawl("secret", line, react="run_context: context.json\n"))
    page = next(d for d in w.documents(r.root) if d.depth == 1).dataset("pages")["pages"]
    sent = {k.lower(): v for k, v in next(iter(page.values()))["data"]["headers"]}
    eq("the token goes where its secret may go", (sent.get("authorization"), sent.get("x-github-api-version")), ("Bearer s3cret", "2022-11-28"))
    r = w.tl("run", w.crawl("contextless", shard_lines(site)[0]))
    ok("a shard without a run context is refused", "run context" in w.one("SELECT error FROM runs WHERE root_id = ? AND depth = 1", r.root), r)
    site.close()


def what_is_documented_is_true():
    """The files of the how-to and of the examples are read, and the lines checked, as they stand there."""
    source = Path(os.environ.get("TROTLINE_SOURCE") or Path(__file__).resolve().parents[2])
    blocks = re.findall(r"```yaml\n(.*?)```", (source / "docs/howto/digest.md").read_text(), re.S)
    eq("the how-to has three files", len(blocks), 3)
    w = world()
    w.configure(blocks[2].replace("/etc/trotline/github.token", "token"))
    (w.dir / "token").write_text("x")
    os.chmod(w.dir / "token", 0o600)
    for name, text in (("how-to", blocks[1]), ("example", (source / "conf/crawls/digest.yml").read_text())):
        (w.dir / "sources.yml").write_text(blocks[0])
        (w.dir / f"{name}.yml").write_text(text)
        r = w.tl("run", "--plan", w.dir / f"{name}.yml", "--set", "fanin.week=2026-W23")
        eq(f"{name}: its lines are understood", (r.code, r.err), (0, ""))
    r = w.tl("run", "--plan", w.dir / "how-to.yml", "--set", "fanin.week=2025-W53")
    ok("how-to: a week that does not exist is refused", r.code == 3 and "2026-W23" in r.err, r)


def legs_keep_the_contract():
    """The contract test, with a run context; and one leg by hand."""
    site, w = Site(script=FEEDS), world()
    new = "created%3A2026-06-08T00%3A00%3A00Z..2026-06-14T23%3A59%3A59Z%20stars%3A%3E%3D10&sort=stars&order=desc&per_page=100"
    for name, payload, url, type_, body in (
            ("feed", {"url": "https://f.example/", "source": "north"}, "https://f.example/", "application/rss+xml", site.get("/north").decode()),
            ("github_search", {"shard": "new_repos"}, "https://api.github.com/search/repositories?q=" + new, "application/json", answer(("acme/rocket", 12, "null")))):
        folder = w.dir / name
        (folder / "fixtures").mkdir(parents=True)
        (folder / "payload.json").write_text(json.dumps(payload))
        (folder / "context.json").write_text(json.dumps(context(w.dir)))
        (folder / "fixtures" / "answer.http").write_text(f"{url}\nHTTP/1.1 200 OK\nContent-Type: {type_}\n\n{body}")
        r = w.tl("check", "--folder", folder, w.dir / "plugins" / f"{name}.so")
        none(f"{name}: trotline check finds nothing", [line for line in r.out.splitlines() if line.startswith("not ok")])
        r = w.tl("collect", name, "--payload", folder / "payload.json", "--context", folder / "context.json", "--fixtures", folder / "fixtures")
        leg = next(s["data"] for s in json.loads(r.out)["datasets"] if s["name"] == "artifact")
        entries = leg.get("articles") or leg.get("repositories")
        eq(f"{name}: collect with a context makes a leg", (r.code, leg["run_context"], leg["checksum"], len(entries)), (0, context(w.dir), checksum(entries), 2 if name == "feed" else 1))
    (w.dir / "context.json").write_text("{}")
    r = w.tl("collect", "feed", "--payload", w.dir / "feed" / "payload.json", "--context", w.dir / "context.json")
    ok("a context that is none is refused", r.code == 3 and "context.json" in r.err, r)
    site.close()


main(sources_become_legs, apart_and_together, large_legs, what_fails_degrades, killed_in_the_middle, killed_while_writing, shards, what_is_documented_is_true, legs_keep_the_contract)
