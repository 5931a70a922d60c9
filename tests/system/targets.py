#!/usr/bin/env python3
"""targets.py - what is watched: files of targets, when they are due on a scripted clock, drift, and the crawl lock; candidates
with their score; promotion by hand and by reactions, a chain of which the leash stops."""
import ipaddress
import socket
import sys

sys.dont_write_bytecode = True
from lib_targets import *  # noqa: E402, F403

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from github_hub import Hub, issue, repo, user  # noqa: E402


def the_clock():
    site, w = Site(script=script({"/*": page()})), World()
    for i in range(10):
        target(w, f"t{i}", f"{site.base}/{i}", every="1d" if i < 7 else "2d" if i < 9 else "none")
    before = listed(w)
    same("before anything ran, every target is due", [i for i, t in before.items() if t["due"] and t["status"] == "never"],
         [f"t{i}" for i in range(10)])
    expected = {0: 10, 1: 7, 2: 9, 3: 7, 4: 9}
    for day in range(5):
        begun = len(crawls(w))
        for hour in (0, 1, 6, 23):  # what cron does
            r = w.tl("-q", "run", "--due", "--now", at(day, hour))
            if hour == 0:
                eq(f"day {day}: it ends well and says nothing", (r.code, r.out, r.err), (0, "", ""))
                eq(f"day {day}: what is due runs", len(crawls(w)) - begun, expected[day])
            else:
                ok(f"day {day}, {hour} hours later: nothing is due", r.code == 0 and len(crawls(w)) - begun == expected[day], r)
    after = listed(w, "--now", at(4, 2))
    eq("how often each ran", [after[f"t{i}"]["crawls"] for i in range(10)], [5] * 7 + [3, 3, 1])
    eq("the last run", after["t0"]["last_run"], at(4).replace("Z", ".000000Z"))
    eq("the next", [after[f"t{i}"]["next_due"] for i in (0, 7, 9)], [at(5).replace("Z", ".000000Z"), at(6).replace("Z", ".000000Z"), None])
    none("nothing is due", [t for t in after.values() if t["due"]])
    eq("names and kinds", (after["t3"]["name"], after["t3"]["kinds"], after["t3"]["every"]), ("all of t3", "topic", "1d"))
    eq("the target stands in documents", {d.d["target"]["name"] for d in w.documents() if "/3" == (d.url or "")[-2:]}, {"all of t3"})


def drift():
    site = Site(script=script({"/": [page("/a", "/b"), page("/a", "/c")], "/a": ["one", "two"], "/b": "b", "/c": "c"}))
    w = World()
    target(w, "drifting", site.base + "/")
    for day in (0, 1):
        eq(f"run {day}", w.tl("run", "--due", "--now", at(day)).code, 0)
    t = listed(w)["drifting"]
    eq("one came, one went, two are changed", (t["added"], t["removed"], t["changed"]), (1, 1, 2))
    roots = [r["root_id"] for r in w.sql("SELECT root_id FROM crawls ORDER BY root_id")]
    d = json.loads(w.tl("diff", *roots, "-o", "json").out)
    eq("as diff has it", [len(d[k]) for k in ("added", "removed", "changed")], [1, 1, 2])
    ok("the table says so", "+1 -1 ~2" in w.tl("targets").out)
    next_due = t["next_due"]
    r = w.tl("run", "--target", "drifting")
    eq("by hand it runs though it is not due", (r.code, len(crawls(w)), r.root in [x["root_id"] for x in w.sql("SELECT root_id FROM crawls")]), (0, 3, True))
    eq("and is due when it was", listed(w)["drifting"]["next_due"], next_due)
    r = w.tl("run", "--target", "driftin")
    ok("one that is none", r.code == 2 and "did you mean 'drifting'?" in r.err, r)
    eq("one or what is due, not both", w.tl("run", "--due", "--target", "drifting").code, 2)


def honest():
    site, w = Site(script="on /good\n  body good\non /bad\n  status 404\n  body gone\n"), World()
    target(w, "bad", site.base + "/bad")
    target(w, "good", site.base + "/good")
    r = w.tl("run", "--due", "--now", at())
    eq("a target whose line failed gives 6, the other runs all the same", (r.code, sorted(crawls(w))), (6, ["bad", "good"]))
    ok("and is named", "bad: exit 6" in r.last_line(), r.last_line())
    eq("it had its turn", w.tl("run", "--due", "--now", at(0, 1)).code, 0)
    (w.dir / "targets/broken.yml").write_text("id: broken\nname: x\nevery: 1d\nlins: []\n")
    r = w.tl("run", "--due", "--now", at(1))
    eq("a file that is none gives 3, and the others run", (r.code, len(crawls(w))), (3, 4))
    ok("with its place and the nearest key", "broken.yml:4:1: unknown key 'lins'; did you mean 'lines'?" in r.err, r.err)
    (w.dir / "targets/broken.yml").write_text((w.dir / "targets/good.yml").read_text())
    r = w.tl("targets")
    ok("an id that stands twice is refused", r.code == 3 and "the target 'broken'" not in r.err and "'good' is in" in r.err, r)
    (w.dir / "targets/broken.yml").unlink()
    eq("--due with a file", w.tl("run", "--due", "x.yml").code, 2)
    eq("--now without --due", w.tl("run", "--now", at(), "x.yml").code, 2)
    eq("a target that is not there", w.tl("targets", "rm", "nobody").code, 2)
    r = w.tl("targets", "rm", "good")
    ok("a file is not removed", r.code == 2 and "good.yml" in r.err and (w.dir / "targets/good.yml").exists(), r)


def overlap():
    site, w = Site(script="on /slow\n  gate go\n  body slow\non /quick\n  body quick\n"), World()
    target(w, "slow", site.base + "/slow")
    first = w.start("run", "--due", "--now", at())
    until("the first asks", lambda: any(t == "/slow" for _, t, _, _ in site.log()) or site.stats()["in_flight"])
    target(w, "quick", site.base + "/quick")
    second = w.tl("run", "--due", "--now", at())
    eq("the second leaves it alone and does what is left", (second.code, sorted(crawls(w))), (0, ["quick", "slow"]))
    ok("and says so", "1 left to another trotline" in second.last_line(), second)
    site.open("go")
    eq("the first ends well", first.wait().code, 0)
    eq("each ran once", sorted(crawls(w)), ["quick", "slow"])
    # out of time: what waits goes on at the next call
    site.reset()
    r = w.tl("run", "--due", "--now", at(0, 30), "--timeout", "1s")
    eq("out of time", (r.code, w.one("SELECT count(*) FROM crawls WHERE status = 'open'")), (7, 1))
    site.open("go")
    eq("the next call goes on, and does the other", (w.tl("run", "--due", "--now", at(0, 31)).code, sorted(crawls(w))), (0, ["quick"] * 2 + ["slow"] * 2))
    # killed in the middle: it is due at once, and goes on with the same crawl
    site.reset()
    third = w.start("run", "--due", "--now", at(3))
    until("it asks", lambda: site.stats()["in_flight"] >= 1)
    third.signal_group(signal.SIGKILL)
    third.wait()
    site.open("go")
    r = w.tl("run", "--due", "--now", at(3, 1))
    eq("after kill -9 it goes on", (r.code, crawls(w).count("slow"), w.one("SELECT count(*) FROM crawls WHERE status = 'open'")), (0, 3, 0))


RULES = """count:
  - {type: http_link, column: to_url, as: host, where: {source: a}, score: 2}
deny: ["*.ads.test", "127.0.0.1*"]
"""


def found():
    links = ["http://shared.test/1", "http://shared.test/2", "https://b.ads.test/", "mailto:x@y.test", "http://SHARED.test:80/3"]
    site = Site(script=script({"/one": page("/one/a", *links), "/one/a": [page("http://shared.test/", "http://only.test:8080/"), "new"],
                               "/two": page("http://shared.test/"), "/three": "none"}))
    w = World(config="targets: {rules: rules.yml}\n")
    (w.dir / "rules.yml").write_text(RULES)
    target(w, "one", site.base + "/one")
    target(w, "two", site.base + "/two")
    eq("they run", w.tl("run", "--due", "--now", at()).code, 0)
    c = candidates(w)
    same("candidates", c, ["shared.test", "only.test:8080"])
    s = c["shared.test"]
    eq("three pages of weight 2 in two targets", (s["kind"], s["score"], s["documents"], s["targets"], s["seen_in"]), ("host", 12, 3, 2, "one, two"))
    eq("where to begin", (s["url"], c["only.test:8080"]["url"]), ("http://shared.test/", "http://only.test:8080/"))
    eq("seen at", c["only.test:8080"]["seen_at"], site.base + "/one/a")
    eq("seen in the run", w.one("SELECT url FROM runs WHERE run_id = ?", c["only.test:8080"]["run_id"]), site.base + "/one/a")
    eq("asked again, it is the same", candidates(w), c)
    eq("a day later", w.tl("run", "--due", "--now", at(1)).code, 0)
    again = candidates(w)
    eq("a page that is fetched again counts once", {k: (v["score"], v["documents"]) for k, v in again.items()},
       {"shared.test": (12, 3), "only.test:8080": (2, 1)})
    (w.dir / "rules.yml").write_text(RULES.replace("score: 2", "score: 5").replace('deny: ["*.ads.test"', 'allow: ["*.test"]\ndeny: ["x"'))
    c = candidates(w)
    eq("other rules count anew", {k: v["score"] for k, v in c.items()}, {"shared.test": 30, "b.ads.test": 5})
    (w.dir / "rules.yml").write_text(RULES.replace("to_url", "to_urn"))
    r = w.tl("targets", "--candidates")
    ok("a column that is not there", r.code == 3 and "rules.yml:2:31: the type http_link has no column 'to_urn'; did you mean 'to_url'?" in r.err, r)
    (w.dir / "rules.yml").write_text(RULES.replace("http_link", "http_lnk"))
    ok("a type that is not there", "did you mean 'http_link'?" in w.tl("targets", "--candidates").err)


def reused():
    """A page that two targets have, and the second gets as unchanged, is a page of both."""
    site = Site(script='on /page\n  header ETag: "1"\n  validate\n  body <<END\n<a href="http://both.test/">x</a>\nEND\n')
    w = World()
    target(w, "one", site.base + "/page")
    eq("the first", w.tl("run", "--due", "--now", at()).code, 0)
    c = candidates(w)
    eq("seen in one", {k: (v["score"], v["targets"]) for k, v in c.items()}, {"both.test": (1, 1)})
    target(w, "two", site.base + "/page")
    eq("the second", w.tl("run", "--due", "--now", at(0, 1)).code, 0)
    eq("without a document of its own", w.sql("SELECT status FROM runs WHERE url LIKE '%/page' AND root_id = (SELECT max(root_id) FROM crawls)"),
       [{"status": "not_modified"}])
    c = candidates(w)
    eq("seen in both", {k: (v["score"], v["targets"], v["seen_in"]) for k, v in c.items()}, {"both.test": (4, 2, "one, two")})


def flood():
    """A page that names more than anybody wants to read."""
    site, w = Site(script=script({"/": page(*(f"http://h{n}.test/" for n in range(10050)))})), World()
    target(w, "flood", site.base + "/", leash="{depth: 1}")
    eq("it runs", w.tl("run", "--due", "--now", at()).code, 0)
    r = w.tl("targets", "--candidates", "-n", "20000", "-o", "jsonl")
    eq("so many of one document", (r.code, len(r.lines())), (0, 10000))
    ok("and it is said", "more than 10000 candidates" in r.err, r.err)


def crowded():
    """Private addresses in great numbers keep nobody else from being promoted."""
    inside = (f"http://10.0.{n // 250}.{n % 250 + 1}/" for n in range(10000))
    site, w = Site(script=script({"/": page("/b", *inside), "/b": page("http://somebody.test/")})), World(config="targets: {rules: rules.yml}\n")
    (w.dir / "rules.yml").write_text("react:\n  - {name: all, on: {type: http_link, where: {to_url: ['*//10.*', '*//somebody.*']}}, column: to_url}\n")
    target(w, "start", site.base + "/", leash="{depth: 2, runs: 20, hosts: [127.0.0.1]}")
    w.tl("run", "--due", "--now", at())
    w.tl("run", "--due", "--now", at(0, 1))
    eq("the one that can be is", [p["text"] for p in w.sql("SELECT text FROM promotions")], ["somebody.test"])


def entities():
    """Entities that links lead to, by their URNs; names that a column has; one promoted by a template."""
    w = Hub({"/repos/acme/rocket": repo(), "/repos/acme/rocket/issues?state=all": [issue(1, 1), issue(2, 2)]}, config="targets: {rules: rules.yml}\n")
    (w.dir / "rules.yml").write_text('count:\n  - {urn: "urn:user:*", score: 2}\n  - {type: github_repo, column: owner_login, as: name}\n')
    r = w.go(w.line("/repos/acme/rocket", follow={"repo": {"issues": []}}))
    eq("a walk", r.code, 0)
    led = {(d.run_id, l["href"]) for data, d in w.docs() for m in [data.get("_metadata") or {}, *(data.get("_entities") or [])]
           for l in m.get("links", {}).values() if l.get("type") in ("resource", "relation") and str(l.get("href")).startswith("urn:user:")}
    c = candidates(w)
    urns = {u for _, u in led}
    ok("links lead to some", urns, c)
    eq("users that links lead to, a document counts once", {u: v["score"] for u, v in c.items() if v["kind"] == "urn"},
       {u: 2 * len([1 for _, x in led if x == u]) for u in urns})
    eq("names of owners", [u for u, v in c.items() if v["kind"] == "name"], ["acme"])
    eq("under the crawl's name", {v["seen_in"] for v in c.values()}, {"hub"})
    one = sorted(urns)[0]
    eq("what has no URL wants a template", w.tl("promote", "acme").code, 2)
    (w.dir / "person").write_text("lines:\n  - {collector: github, args: {url: \"%s/users/{target.name}\"}}\n" % w.api.base)
    r = w.tl("promote", one, "--as", "somebody", "--template", w.dir / "person")
    ok("an URN becomes a target", (r.code, r.out) == (0, "somebody\n") and listed(w)["somebody"]["name"] == one, r)
    eq("and a name", w.tl("promote", "acme", "--template", w.dir / "person").out, "acme\n")


def by_hand():
    site = Site(script=script({"/one": page("/one/a"), "/one/a": "a", "/": page("/x"), "/x": "x"}))
    w = World(config="targets: {rules: rules.yml}\n")
    (w.dir / "rules.yml").write_text(RULES.replace(', "127.0.0.1*"', ""))
    target(w, "one", site.base + "/one")
    eq("it runs", w.tl("run", "--due", "--now", at()).code, 0)
    host = site.host
    c = candidates(w)
    ok("the host is a candidate", host in c, c)
    r = w.tl("promote", c[host]["id"], "--every", "6h", "--as", "found", "--now", at())
    eq("promoted", (r.code, r.out), (0, "found\n"))
    eq("it cannot be twice", w.tl("promote", host).code, 2)
    ok("no candidate any more", host not in candidates(w) and candidates(w, "--all")[host]["target"] == "found")
    t = listed(w, "--now", at())["found"]
    eq("listed", (t["due"], t["every"], t["promoted_from"], t["status"]), (True, "6h", host, "never"))
    r = w.tl("run", "--due", "--now", at(0, 1))
    eq("it runs at once, alone", (r.code, crawls(w)), (0, ["one", "found"]))
    edges = w.sql("SELECT p.url, c.crawl FROM edges e JOIN runs p ON p.run_id = e.parent_id JOIN crawls c ON c.root_id = e.child_id WHERE e.kind = 'promoted'")
    eq("an edge keeps where it came from", edges, [{"url": c[host]["seen_at"], "crawl": "found"}])
    eq("six hours later it is due again", (w.tl("run", "--due", "--now", at(0, 8)).code, crawls(w)), (0, ["one", "found", "found"]))
    shown = w.tl("targets", "show", "found").out
    documents = len(w.documents())
    eq("undone", w.tl("targets", "rm", "found").code, 0)
    eq("it runs no more; documents stay", (w.tl("run", "--due", "--now", at(0, 20)).code, len(crawls(w)), len(w.documents())), (0, 3, documents))
    eq("it is recorded", [(p["target"], p["text"], p["reaction"], p["removed_at"] is not None) for p in w.sql("SELECT * FROM promotions")],
       [("found", host, None, True)])
    (w.dir / "targets/found.yml").write_text(shown)
    eq("what was shown is a file of a target", listed(w)["found"]["file"], str(w.dir / "targets/found.yml"))
    (w.dir / "templates.yml").write_text("kinds: [page]\nevery: none\nleash: {depth: 1, runs: none}\nlines:\n"
                                         "  - {collector: http, args: {url: \"{target.url}\", follow: false}, name: \"of {target.name}\"}\n")
    r = w.tl("promote", site.base + "/one/a", "--template", w.dir / "templates.yml", "--now", at(0, 20))
    ok("a URL, by a template", r.code == 0, r)
    t = listed(w, "--now", at(0, 20))[r.out.strip()]
    eq("says what the template says", (t["kinds"], t["every"], t["name"]), ("page", "none", site.base + "/one/a"))
    eq("runs once", (w.tl("run", "--due", "--now", at(0, 21)).code, w.tl("run", "--due", "--now", at(0, 22)).code, crawls(w).count(t["id"])), (0, 0, 1))
    eq("a name without a template", w.tl("promote", "nobody").code, 2)
    for wrong in (["--every", "often"], ["--as", "a b"], ["--template", "/nowhere"]):
        ok(f"refused: {wrong}", w.tl("promote", site.base + "/x", *wrong).code in (2, 3))
    eq("verify", w.tl("verify").code, 0)
    root = w.one("SELECT root_id FROM crawls WHERE crawl = 'found' LIMIT 1")
    w.catalog.rename(w.dir / "old.db")
    eq("rebuilt", w.tl("rebuild").code, 0)
    eq("the edge is in the record of the crawl", w.one("SELECT count(*) FROM edges WHERE kind = 'promoted' AND child_id = ?", root), 1)


def inside():
    """A name that a page gives, and that leads to a private address, is not believed; by hand it is."""
    name = socket.gethostname().lower()
    try:
        if not ipaddress.ip_address(socket.gethostbyname(name)).is_private or name == "localhost":
            raise OSError("it is public")
    except (OSError, ValueError) as e:
        note(f"left out: the name of this machine is none of a private address: {e}")
        return
    site = Site(script=script({"/": f'<a href="http://{name}:9/">x</a>'}))
    w = World(config="targets: {rules: rules.yml}\n")
    (w.dir / "rules.yml").write_text("react:\n  - {name: any, on: {type: http_link}, column: to_url}\n")
    target(w, "start", site.base + "/", every="7d")
    r = w.tl("run", "--due", "--now", at())
    eq("promoted, and refused by the guard", (r.code, crawls(w), [x["reason"] for x in w.sql("SELECT reason FROM leashed WHERE url LIKE '%:9/' AND "
       "root_id = (SELECT max(root_id) FROM crawls)")]), (6, ["start", f"{name}-9"], ["guard"]))


def chain():
    """Every page names the next one, for ever."""
    text = "".join(f"on /p{i}\n  header Cache-Control: no-store\n  body <<END\n<a rel=next href=\"/p{i + 1}\">x</a>\nEND\n" for i in range(20))
    site, w = Site(script=text), World(config="targets: {rules: rules.yml, promotions: 3}\n")
    config = "fetch: {timeout: 60s, delay: 0s, private: allow}\ntargets: {rules: rules.yml, promotions: %d}\n"
    (w.dir / "only.yml").write_text("leash: {depth: 1, runs: 5}\nlines:\n  - {collector: http, args: {url: \"{target.url}\"}}\n")
    (w.dir / "rules.yml").write_text("react:\n  - {name: onwards, on: {type: http_link, where: {rel: [nothing, ne*t]}}, column: to_url, as: url, "
                                     "template: only.yml, every: 7d}\n")
    target(w, "start", site.base + "/p0", every="7d", leash="{depth: 1, runs: 5}")
    r = w.tl("run", "--due", "--now", at(-9))
    eq("no page opens a private address", (r.code, crawls(w), w.one("SELECT count(*) FROM promotions")), (0, ["start"], 0))
    t = w.tl("targets", "--candidates")
    ok("which is said of those that are wanted", t.code == 0 and "1 candidates that reactions want" in t.err and "private addresses" in t.err, t)
    w.configure(config % 3)
    ok("and is not where they are allowed", "private addresses" not in w.tl("targets", "--candidates").err)
    site.reset()
    w.catalog.unlink()
    r = w.tl("run", "--due", "--now", at())
    eq("three promotions, each carried out, then the leash", (r.code, len(crawls(w))), (0, 4))
    ok("and that is said", "3 promoted by reactions, 1 held back" in r.last_line(), r.last_line())
    same("what was asked", site.asked(), ["/p0", "/p1", "/p2", "/p3"])
    same("each is recorded, with who asked for it", [(p["text"], p["reaction"], p["promoted_at"]) for p in w.sql("SELECT * FROM promotions")],
         [(f"{site.base}/p{i}", "onwards", at().replace("Z", ".000000Z")) for i in (1, 2, 3)])
    same("edges from page to crawl", [(e["url"], e["child"]) for e in w.sql(
        "SELECT p.url, l.url AS child FROM edges e JOIN runs p ON p.run_id = e.parent_id JOIN runs l ON l.parent_id = e.child_id WHERE e.kind = 'promoted'")],
        [(f"{site.base}/p{i}", f"{site.base}/p{i + 1}") for i in range(3)])
    c = candidates(w)
    eq("what is held back is wanted still", c[site.base + "/p4"]["wanted_by"], "onwards")
    r = w.tl("run", "--due", "--now", at(0, 23))
    eq("the same day nothing happens", (r.code, len(crawls(w))), (0, 4))
    r = w.tl("run", "--due", "--now", at(1, 1))
    eq("a day later it goes on", (r.code, len(crawls(w)), w.one("SELECT count(*) FROM promotions")), (0, 7, 6))
    first = w.one("SELECT target FROM promotions WHERE text = ?", site.base + "/p1")
    eq("one is taken back", w.tl("targets", "rm", first).code, 0)
    w.configure(config % 100)
    (w.dir / "rules.yml").write_text((w.dir / "rules.yml").read_text() + "deny: [\"*/p12\"]\n")
    r = w.tl("run", "--due", "--now", at(2, 2))
    texts = [p["text"] for p in w.sql("SELECT text FROM promotions")]
    eq("no reaction promotes it again, and what is denied ends the chain", (r.code, texts.count(site.base + "/p1"), len(texts)), (0, 1, 11))
    w.configure(config % 0)
    (w.dir / "rules.yml").write_text("react:\n  - {name: names, on: {type: http_page}, column: title, as: name}\n")
    r = w.tl("run", "--due", "--now", at(3))
    ok("a reaction on names needs a template", r.code == 3 and "needs a 'template'" in r.err, r)


main(the_clock, drift, honest, overlap, found, reused, flood, crowded, entities, by_hand, inside, chain)
