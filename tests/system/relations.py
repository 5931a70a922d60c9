#!/usr/bin/env python3
"""relations.py - how targets relate to one another (view shared), and what changed over time (view history): counted by hand from
what the site said, whatever order documents come in, and the same after a rebuild."""
import sys

sys.dont_write_bytecode = True
from lib_targets import *  # noqa: E402, F403

HISTORY = "SELECT target, \"column\", of, value, was, is_first FROM history ORDER BY target, of, \"column\", at, run_id"


def titled(title, *urls):
    return f"<html><head><title>{title}</title></head><body>{page(*urls)}</body></html>"


def history(w, **where):
    rows = w.sql("SELECT target, \"column\", at, value, type, of, was, is_first, seen_at, run_id, url FROM history ORDER BY target, of, \"column\", at, run_id")
    return [r for r in rows if all(r[k] == v for k, v in where.items())]


def values(w, **where):
    return [r["value"] for r in history(w, **where)]


def columns(w, view):
    return list(w.sql(f"SELECT * FROM {view} LIMIT 1")[0])


def usual():
    """Without a file of rules: titles and statuses of pages that are lines."""
    site = Site(script=script({"/": [titled("one", "/deep"), titled("two", "/deep"), titled("two", "/deep"), titled("one", "/deep")], "/deep": titled("deep")})
        + "on /gone\n  header Cache-Control: no-store\n  body <<END\n<title>here</title>\nEND\nnext\n  status 404\n  body gone\n")
    w = World()
    target(w, "lake", site.base + "/")
    target(w, "gone", site.base + "/gone")
    for day in range(4):
        w.tl("run", "--due", "--now", at(day))
    r = w.tl("targets", "history", "lake", "-o", "jsonl")
    eq("asked for", r.code, 0)
    eq("a title each time it changed", [(x["column"], x["value"], x["was"]) for x in r.lines() if x["column"] == "title"],
       [("title", "one", None), ("title", "two", "one"), ("title", "one", "two")])
    eq("the columns of the contract come first", columns(w, "history")[:4], ["target", "column", "at", "value"])
    eq("a status that did not change is there once", values(w, target="lake", column="status"), ["200"])
    none("what lines lead to is not watched", [x for x in history(w) if "/deep" in x["of"]])
    eq("a page that goes", values(w, target="gone", column="status"), ["200", "404"])
    eq("what has no value is NULL, and is told from what never was", [(x["value"], x["is_first"]) for x in history(w, target="gone", column="title")],
       [("here", 1), (None, 0)])
    two = history(w, target="lake", column="title")[1]
    eq("who said it first", (w.one("SELECT url FROM runs WHERE run_id = ?", two["run_id"]), two["at"]),
       (site.base + "/", w.one("SELECT collected_at FROM documents WHERE run_id = ?", two["run_id"])))
    eq("until when it was seen", two["seen_at"], w.sql("SELECT collected_at FROM documents d JOIN runs r ON r.run_id = d.run_id WHERE r.url = ? AND r.line "
       "ORDER BY 1", site.base + "/")[2]["collected_at"])
    before = w.sql(HISTORY)
    eq("asked again, it is the same", (w.tl("targets", "--candidates").code, w.sql(HISTORY)), (0, before))
    w.catalog.rename(w.dir / "old.db")
    eq("rebuilt, it is derived anew", (w.tl("rebuild").code, w.tl("targets", "history", "lake").code, w.sql(HISTORY)), (0, 0, before))
    r = w.tl("targets", "history", "nobody")
    ok("a target that is not there", r.code == 2 and "nobody" in r.err, r)


def watched():
    """Rules of one's own: 64-bit numbers, lists, another column that says which row, only some rows, what is too long."""
    long = "x" * 990
    site = Site(script=script({"/": [titled("a", "/p?n=9007199254740993"), titled("a", "/p?n=9007199254740992")],
                               "/p?n=9007199254740993": titled(long + "ü" * 20 + "1"), "/p?n=9007199254740992": titled(long + "ü" * 20 + "2"),
                               "/many": titled("m", *(f"/n{i}" for i in range(1005)))}))
    w = World(config="targets: {rules: rules.yml}\n")
    rules = "watch:\n  - {type: http_page, column: title}\n  - {type: http_link, column: to_url, of: source, where: {text: x, from_url: '*/'}}\n"
    (w.dir / "rules.yml").write_text(rules)
    target(w, "lake", site.base + "/")
    for day in range(2):
        eq(f"day {day}: watched without being asked", (w.tl("run", "--due", "--now", at(day)).code, len(history(w)) > 0), (0, True))
    eq("of a column that says which row", values(w, column="to_url", of="a"), [f"{site.base}/p?n=9007199254740993", f"{site.base}/p?n=9007199254740992"])
    titles = [x["value"] for x in history(w, column="title") if "/p?" in x["of"]]
    digest = [hashlib.sha256((long + "ü" * 20 + n).encode()).hexdigest()[:16] for n in "21"]
    eq("what is too long is cut between characters, and told apart", titles, [long + "ü" * 5 + "... sha256:" + d for d in digest])
    (w.dir / "rules.yml").write_text(rules + "  - {type: http_page, column: fetched_at, of: status, lines: true}\n")
    w.tl("targets", "--candidates")
    eq("other rules begin anew", sorted({x["column"] for x in history(w)}), ["fetched_at", "title", "to_url"])
    none("a time as RFC 3339", [x for x in values(w, column="fetched_at", of="200") if not re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", x)])
    (w.dir / "rules.yml").write_text("watch: [{type: http_link, column: to_url, of: to_url}]\n")
    target(w, "many", site.base + "/many", leash="{depth: 1}")
    eq("a page of many rows", w.tl("run", "--due", "--now", at(3)).code, 0)
    r = w.tl("targets", "--candidates")
    eq("so many of one document", len(values(w, target="many")), 1000)
    for text, says in (("watch: [{type: http_page, column: titel}]\n", "rules.yml:1:35: the type http_page has no column 'titel'; did you mean 'title'?"),
                       ("watch: [{type: http_page, column: title, of: ulr}]\n", "rules.yml:1:46: the type http_page has no column 'ulr'; did you mean 'url'?"),
                       ("watch: [{type: http_page}]\n", "rules.yml:1:9: "), ("watch: [{type: http_pag, column: title}]\n", "did you mean 'http_page'?"),
                       ("watch: [{type: http_page, column: title, where: {state: 1}}]\n", "no column 'state'")):
        (w.dir / "rules.yml").write_text(text)
        r = w.tl("targets", "--candidates")
        ok(f"refused: {text.strip()}", r.code == 3 and says in r.err, r)


def late():
    """Documents that come later than they were collected: history is by time."""
    titles = ["a", "b", "b", "c", "c", "b"]
    site = Site(script=script({"/": [titled(t) for t in titles]}))
    w = World()
    target(w, "lake", site.base + "/")
    for day in range(len(titles)):
        eq(f"day {day}", w.tl("run", "--due", "--now", at(day)).code, 0)
    w.tl("targets", "--candidates")
    whole = w.sql(HISTORY)
    eq("in order", values(w, column="title"), ["a", "b", "c", "b"])
    runs = [r["key"] for r in sqlite(w, "SELECT r.key FROM run r JOIN document d ON d.run = r.key WHERE r.line = 1 ORDER BY r.key")]
    for first in ([5, 0], [1, 4], [3], [0, 2], [2, 5]):  # these are looked at first, the others late
        sqlite(w, "DELETE FROM discovered", "DELETE FROM watched_value", "DELETE FROM watched",
               "INSERT INTO discovered SELECT key FROM run JOIN document ON run = key WHERE key NOT IN (%s)" % ",".join(str(runs[i]) for i in first))
        w.tl("targets", "--candidates")
        sqlite(w, "DELETE FROM discovered WHERE run NOT IN (%s)" % ",".join(str(runs[i]) for i in first))
        w.tl("targets", "--candidates")
        eq(f"the days {first} first", w.sql(HISTORY), whole)


def sqlite(w, *statements):
    con = sqlite3.connect(w.catalog, timeout=30)
    con.row_factory = sqlite3.Row
    with con:
        for s in statements:
            rows = con.execute(s).fetchall()
    con.close()
    return [dict(r) for r in rows]


def reused():
    """A page that two targets have, and the second gets as unchanged, says the same of both."""
    site = Site(script='on /page\n  header ETag: "1"\n  validate\n  body <<END\n<title>both</title>\nEND\n')
    w = World()
    target(w, "one", site.base + "/page")
    eq("the first", w.tl("run", "--due", "--now", at()).code, 0)
    w.tl("targets", "--candidates")
    target(w, "two", site.base + "/page")
    eq("the second", (w.tl("run", "--due", "--now", at(0, 1)).code, w.one("SELECT status FROM runs WHERE url LIKE '%/page' ORDER BY run_id DESC")),
       (0, "not_modified"))
    w.tl("targets", "--candidates")
    eq("the title of both", [(x["target"], x["value"]) for x in history(w, column="title")], [("one", "both"), ("two", "both")])
    two = history(w, target="two", column="title")[0]
    eq("seen when the server called it unchanged", two["at"], w.one("SELECT finished_at FROM runs WHERE run_id = ?", two["run_id"]))
    before = w.sql(HISTORY)
    w.tl("targets", "--candidates")
    eq("once", w.sql(HISTORY), before)


def shared():
    site = Site(script=script({"/a": page("/both", "/only-a", "http://x.test/", "http://y.test/1"), "/b": page("/both", "http://x.test/2", "http://z.test/"),
                               "/both": page("http://x.test/3"), "/only-a": page("http://x.test/4", "http://y.test/"), "/c": "nothing"}))
    w = World()
    for name in "abc":
        target(w, "t" + name, f"{site.base}/{name}")
    eq("they run", w.tl("run", "--due", "--now", at()).code, 0)
    r = w.tl("targets", "shared", "ta", "-o", "jsonl")
    eq("asked for", r.code, 0)
    rows = {(x["target_a"], x["target_b"], x["via"]): (x["times"], x["times_a"], x["times_b"]) for x in w.sql("SELECT * FROM shared")}
    eq("the columns of the contract come first", columns(w, "shared")[:4], ["target_a", "target_b", "via", "times"])
    eq("of hosts that pages link to, those of both", {k: v for k, v in rows.items() if k[2].startswith("host:")},
       {("ta", "tb", "host:x.test"): (5, 3, 2)})
    eq("pages that both have", {k: v for k, v in rows.items() if k[2].startswith("page:")}, {("ta", "tb", f"page:{site.base}/both"): (2, 1, 1)})
    eq("the host that all fetched from", {k: v for k, v in rows.items() if k[2].startswith("fetched:")},
       {("ta", "tb", "fetched:" + site.host): (5, 3, 2), ("ta", "tc", "fetched:" + site.host): (4, 3, 1), ("tb", "tc", "fetched:" + site.host): (3, 2, 1)})
    eq("nothing else", len(rows), 5)
    eq("the command says the same of one", {(x["target_a"], x["target_b"], x["via"]): x["times"] for x in r.lines()},
       {k: v[0] for k, v in rows.items() if "ta" in k})
    eq("and of all", len(w.tl("targets", "shared", "-o", "jsonl").lines()), 5)
    eq("of two", len(w.tl("targets", "shared", "tc", "tb", "-o", "jsonl").lines()), 1)
    eq("a day later it is the same", (w.tl("run", "--due", "--now", at(1)).code, w.tl("targets", "shared").code,
       {(x["target_a"], x["target_b"], x["via"]): (x["times"], x["times_a"], x["times_b"]) for x in w.sql("SELECT * FROM shared")}), (0, 0, rows))


main(usual, watched, late, reused, shared)
