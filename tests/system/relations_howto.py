#!/usr/bin/env python3
"""relations_howto.py - docs/howto/relations.md, followed to the letter: its files, commands and queries as a reader takes them from
the text, with the fixture's site in place of example.org, and last week made by moving what was collected back."""
import sys

sys.dont_write_bytecode = True
from lib_targets import *  # noqa: E402, F403

SOURCE = Path(os.environ.get("TROTLINE_SOURCE") or Path(__file__).resolve().parents[2])
TEXT = (SOURCE / "docs/howto/relations.md").read_text()
BACK = 8 * 86400 * 1000000


def linked(title, *links):
    return f"<title>{title}</title>" + "".join(f'<a href="{url}">{text}</a>' for url, text in links)


SITE = {
    "/trails/": [linked("Trails", ("/trails/a", "a"), ("/old", "old"), ("http://paddlers.test/", "Pals")),
                 linked("Trails, closed", ("/trails/a", "a"), ("/new", "new"), ("/shared", "s"), ("http://paddlers.test/", "Paddlers"))],
    "/trails/a": linked("A", ("http://paddlers.test/x", "x"), ("http://maps.test/", "m")),
    "/old": linked("Old"), "/new": linked("New"),
    "/shared": linked("Shared"),
    "/clubs/": linked("Clubs", ("http://paddlers.test/", "Paddlers"), ("http://maps.test/1", "m"), ("http://clubs.test/", "c"), ("/shared", "s")),
}


class Reader:
    """Takes blocks from the text, and knows which were taken."""

    def __init__(self, w, base):
        self.w, self.base = w, base
        self.yaml = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.M | re.S)
        self.commands = [c.strip() for c in re.findall(r"^    (trotline .*)$", TEXT, re.M)]
        self.queries = dict(re.findall(r"^<!-- query: (\w+) -->\n```sql\n(.*?)^```$", TEXT, re.M | re.S))
        self.taken = set()

    def file(self, number, name):
        path = self.w.dir / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(self.yaml[number].replace("https://example.org", self.base))
        self.taken.add(number)

    def command(self, text, *more):
        self.taken.add(text)
        ok(f"the text says: {text}", text in self.commands)
        return self.w.tl(*text.split()[1:], *more)

    def ask(self, name, **instead):
        """As a reader pastes it between double quotes, into a catalog that is only read."""
        self.taken.add(name)
        query = self.queries[name].replace("https://example.org", self.base)
        for old, new in instead.values():
            ok(f"{name} has {old}", old in query)
            query = query.replace(old, new)
        none(f"{name} can be pasted between double quotes", [c for c in '"$`\\!' if c in query])
        return [tuple(r.values()) for r in self.w.sql(query)]


def move_back(w):
    """What there is was collected eight days ago."""
    con = sqlite3.connect(w.catalog, timeout=30)
    with con:
        for table, columns in (("document", ("collected_us",)), ("crawl", ("turn_us", "due_us")),
                               ("run", ("queued_us", "started_us", "finished_us")), ("watched_value", ("at_us", "seen_us")),
                               ("sighting", ("first_us", "last_us"))):
            con.execute(f"UPDATE {table} SET " + ", ".join(f"{c} = {c} - {BACK}" for c in columns))
    con.close()


def the_text():
    site, w = Site(script=script(SITE)), World()
    r = Reader(w, site.base)
    eq("blocks of the text", (len(r.yaml), len(r.commands), len(r.queries), TEXT.count("```sql")), (4, 5, 8, 8))
    r.file(0, "targets/kayaking.yml")
    r.file(1, "targets/paddling.yml")
    eq("without rules: titles of lines alone", (w.tl("run", "--due").code, w.tl("targets", "--candidates").code,
       sorted(x["of"] for x in w.sql("SELECT of FROM history WHERE column = 'title'"))), (0, 0, [site.base + "/clubs/", site.base + "/trails/"]))
    r.file(2, "discovery.yml")
    w.configure(r.yaml[3])
    r.taken.add(3)
    eq("by hand", r.command("trotline targets --candidates").code, 0)
    move_back(w)
    day, end = w.one("SELECT date(max(at)) FROM history"), w.one("SELECT date(max(at), '+1 day') FROM history")
    eq("the next turn", r.command("trotline run --due").code, 0)
    eq("both had it", crawls(w), ["kayaking", "paddling"] * 2)

    # 1: how it relates
    said = r.command("trotline targets shared kayaking", "-o", "jsonl")
    both = [("host:paddlers.test", 3), ("host:maps.test", 2)]
    eq("what it has in common with others", [(x["via"], x["times"]) for x in said.lines()],
       [(f"fetched:{site.host}", 7), *both, (f"page:{site.base}/shared", 2)])
    eq("the others", r.ask("others"), [("paddling", 4, 14)])
    eq("what both link to", r.ask("both"), both)
    eq("which pages these are", r.ask("pages"), [("kayaking", site.base + "/trails/"), ("kayaking", site.base + "/trails/a"), ("paddling", site.base + "/clubs/")])

    # 2: what changed
    said = r.command("trotline targets history kayaking -n 20", "-o", "jsonl")
    paddlers = "http://paddlers.test/"
    changes = [("text", paddlers, "Pals", "Paddlers"), ("title", site.base + "/trails/", "Trails", "Trails, closed")]
    eq("the newest changes", sorted((x["column"], x["of"], x["was"], x["value"]) for x in said.lines() if not x["is_first"]), changes)
    today = {x["at"][:10] for x in said.lines() if not x["is_first"]}
    eq("those of seven days", sorted(r.ask("changed")), sorted((d, *c) for d in today for c in changes))
    eq("what came", r.ask("came"), [("title", site.base + "/new", "New"), ("title", site.base + "/shared", "Shared")])
    said = r.command("trotline diff kayaking@7d", "-o", "json")
    d = json.loads(said.out)
    eq("documents", {k: sorted(x["key"] for x in d[k]) for k in ("added", "removed", "changed")},
       {"added": [site.base + "/new", site.base + "/shared"], "removed": [site.base + "/old"], "changed": [site.base + "/trails/"]})

    # 3: what was said then, and who said it first
    then = r.ask("then", day=("2026-11-24", end))
    eq("the title of that day", [(v, s[:10]) for v, _, s in then], [("Trails", day)])
    first = r.ask("first")
    eq("who said it first: the club's page, eight days ago", [(h, c, u) for _, h, c, u in first],
       [(1, "orchestrator", None), (0, "http", site.base + "/clubs/")])
    path = r.ask("document")
    ok("the document has the bytes", path and b"Paddlers" in (w.lake / path[0][0]).read_bytes(), path)

    same("every block of the text was followed", r.taken, [0, 1, 2, 3, *r.commands, *r.queries])
    r.command("trotline targets --candidates")
    rows = w.sql("SELECT * FROM history ORDER BY target, of, \"column\", at")
    w.catalog.rename(w.dir / "old.db")
    eq("rebuilt: history goes by the time of collection", (w.tl("rebuild").code, w.tl("targets", "--candidates").code), (0, 0))
    eq("the same changes", [(x["target"], x["of"], x["column"], x["value"]) for x in w.sql("SELECT * FROM history ORDER BY target, of, \"column\", at")],
       [(x["target"], x["of"], x["column"], x["value"]) for x in rows])


main(the_text)
