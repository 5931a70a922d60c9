#!/usr/bin/env python3
"""github_changes.py - what the GitHub collector makes of a second look: nothing new, new, renamed, gone, back again; and
what it makes of answers that are none."""
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from github_hub import *  # noqa: E402

R, AT = "urn:repo:4242", "/repos/acme/rocket"
ISSUES = {"repo": {"issues": {}}}
HOWTO = Path(os.environ.get("TROTLINE_SOURCE") or Path(__file__).resolve().parents[2]) / "docs/howto/github.md"
ISSUES_OF_REPO, MEMBERS_OF_TEAM = re.findall("```sql\n(.*?);\n```", HOWTO.read_text(), re.S)  # as a reader would paste them


def g8_unchanged():
    pages = {"/repos/acme/rocket": repo(), "/repos/acme/rocket/issues?state=all": Answer([issue(1, 1)], Link=link(next="/repos/acme/rocket/issues?after=x")),
             "/repos/acme/rocket/issues?after=x": [issue(2, 2)]}
    w = Hub(pages, tokens=("one",))
    line = w.line(start="acme/rocket", api=w.api.base, follow=ISSUES, token=["one"])
    first = w.go(line)
    ends_well(w, "G8: first", first)
    w.api.forget()
    second = w.go(line)
    ends_well(w, "G8: second", second)
    eq("G8: everything is asked for on condition, the second page by the remembered Link", w.api.asked(),
       [("/repos/acme/rocket", 304), ("/repos/acme/rocket/issues?state=all&per_page=100", 304), ("/repos/acme/rocket/issues?after=x", 304)])
    eq("G8: nothing new is written, and every run names what stands for it", (w.statuses(second.root), len(w.docs(second.root)),
       w.one("SELECT count(*) FROM runs WHERE root_id = ? AND result_ref IS NOT NULL", second.root)), ({"not_modified": 3}, 0, 3))
    eq("G8: validators are of URL and token", w.sql("SELECT DISTINCT credential FROM validators"), [{"credential": "Authorization=one;"}])
    eq("G8: the set of issues is the same in both", [len(w.tl("links", "--root", r.root, R, "issues").out.splitlines()) for r in (first, second)], [2, 2])
    pages["/repos/acme/rocket/issues?after=x"] = [issue(2, 2, title="new"), issue(3, 3)]
    w.api.table.update(pages)
    third = w.go(line)
    eq("a page that changed is written anew, what is on it is the latest", (w.statuses(third.root), w.sql(
        "SELECT l.urn, l.root_id = ? new FROM links l WHERE name = 'siblings' AND href = ? AND is_latest ORDER BY urn", third.root, R + ":issues")),
       ({"not_modified": 2, "success": 1}, [{"urn": R + ":issue:1", "new": 0}, {"urn": R + ":issue:2", "new": 1}, {"urn": R + ":issue:3", "new": 1}]))
    eq("the how-to's query for the issues of a repository", [x["urn"] for x in w.sql(ISSUES_OF_REPO)], [f"{R}:issue:{n}" for n in (1, 2, 3)])
    before = w.sql("SELECT * FROM links ORDER BY result_id, urn, name, href")
    for f in w.dir.glob("catalog.db*"):
        f.unlink()
    eq("rebuild: exit 0", w.tl("rebuild").code, 0)
    eq("rebuild: the same links, the same of them the latest", w.sql("SELECT * FROM links ORDER BY result_id, urn, name, href"), before)
    eq("verify: sound", w.tl("verify").code, 0)
    w.api.close()


def g8b_reprocess():
    w = Hub({"/repos/acme/rocket": repo()})
    w.go(w.line(start="acme/rocket", api=w.api.base, follow={}))
    (old, _), = w.docs(dataset="repo")
    w.api.forget()
    again = w.line(start="acme/rocket", api=w.api.base, follow={}, policy="reprocess")
    same = w.go(again)
    eq("reprocess: by the same version nothing is new", (w.statuses(same.root), w.api.asked()), ({"not_modified": 1}, []))
    shutil.copyfile(BAD / "github.so", w.dir / "plugins/github.so")
    newer = w.go(again)
    ends_well(w, "G8b", newer)
    (new, doc), = w.docs(newer.root, "repo")
    eq("G8b: by a later version, a new document without a request", (w.api.asked(), new["_metadata"]["version"], old["_metadata"]["version"]), ([], 2, 1))
    eq("G8b: the ETag is kept, and when it was fetched", [new["_metadata"][k] == old["_metadata"][k] for k in ("etag", "fetchedAt", "url")], [True] * 3)
    eq("G8b: the bytes, too", doc.original("repo"), w.docs(dataset="repo")[0][1].original("repo"))
    eq("reprocess: what was never fetched is not asked for",
       (w.statuses(w.go(w.line(start="acme/other", api=w.api.base, policy="reprocess")).root), w.api.asked()), ({"failed": 1}, []))
    w.api.close()


def relations():
    T = "urn:team:9"
    team = {"id": 9, "slug": "rowers", "url": "{api}/teams/9", "members_count": 3}
    two = {"/teams/9/members": Answer([user(1), user(2)], Link=link(next="/teams/9/members?page=2")), "/teams/9/members?page=2": [user(3)]}
    w = Hub({"/teams/9": team, **two})
    line = w.line("/teams/9", follow={"team": {"members": []}})
    members = lambda: sorted(x["href"] for x in w.sql(MEMBERS_OF_TEAM))
    w.go(line)
    eq("relation: members of the latest set", members(), ["urn:user:1", "urn:user:2", "urn:user:3"])
    w.api.table.update({"/teams/9": dict(team, members_count=2), "/teams/9/members?page=2": []})
    second = w.go(line)
    eq("relation: what changed on its second page", (members(), w.statuses(second.root)), (["urn:user:1", "urn:user:2"], {"success": 2, "not_modified": 1}))
    w.api.table.update({"/teams/9/members": [user(2)]})
    w.go(line)
    eq("relation: a set that became shorter has no page left behind its end", members(), ["urn:user:2"])
    w.api.table.update(two)
    w.go(line)
    eq("relation: and longer again", members(), ["urn:user:1", "urn:user:2", "urn:user:3"])
    w.api.table.update({f"/users/u{n}": user(n) for n in (1, 2, 3)})
    w.go(w.line("/teams/9", follow={"team": {"members": {}}}), name="people")
    eq("relation: followed from the team", [json.loads(x)["id"] for x in w.tl("links", T, "members").out.splitlines()], [1, 2, 3])
    w.api.close()


def g9_rename():
    w = Hub({"/repos/acme/rocket": Answer(b"{}", 301, Location="{api}/repositories/4242"), "/repositories/4242": repo(name="rocket2")})
    old = w.api.base + "/repos/acme/rocket"
    r = w.go(w.line("/repos/acme/rocket", follow={}))
    ends_well(w, "G9", r)
    m = w.entities()[R]
    eq("G9: the same URN under the old name", (m["requestedUrl"], m["url"], m["links"]["self"]["href"]), (old, w.api.base + "/repositories/4242", R))
    eq("G9: the old name is recorded", w.sql("SELECT urn, name, href, type FROM links WHERE name = 'alias'"), [{"urn": R, "name": "alias", "href": old, "type": "alias"}])
    eq("G9: the document is of the new one", json.loads(w.tl("cat", "--entity", R).out)["full_name"], "acme/rocket2")
    w.api.close()


def g10_gone():
    Q = "/repos/acme/rocket/issues/7"
    w = Hub({"/repos/acme/rocket": repo(), Q: issue(3001, 7)})
    line = w.line(Q, of=R, follow={})
    w.go(line)
    w.api.table[Q] = Answer({"message": "This issue was deleted"}, 410, etag=False)
    w.api.forget()
    r = w.go(line)
    ends_well(w, "G10: 410", r)
    (data, doc), = w.docs(r.root)
    m = data["_metadata"]
    eq("G10: a last version with the last content", (data["name"], json.loads(doc.original("issue"))["id"], m["reason"], "deletedAt" in m, w.api.asked()),
       ("issue", 3001, "410", True, [(Q, 410)]))
    ok("G10: the catalog has it as deleted", w.one("SELECT deleted_at FROM links WHERE urn = ? AND name = 'self' AND is_latest", R + ":issue:3001"), "")
    again = w.go(line)
    eq("G10: gone once more is nothing new", w.statuses(again.root), {"not_modified": 1})
    w.api.table[Q] = issue(3001, 7)
    back = w.go(line)
    eq("G10: it is back, though its ETag is the old one", ("deletedAt" in w.entities()[R + ":issue:3001"], w.statuses(back.root),
       w.one("SELECT deleted_at FROM links WHERE urn = ? AND name = 'self' AND is_latest", R + ":issue:3001")), (False, {"success": 1}, None))
    w.api.close()


def g10_missing():
    w = Hub({"/repos/acme/rocket": repo()})
    line = w.line("/repos/acme/rocket", follow={})
    never = w.go(w.line("/repos/acme/never"), name="never")
    eq("404: what was never seen is a failure that says so", (never.code, w.sql("SELECT reason FROM failures")), (6, [{"reason": "http_404"}]))
    w.go(line)
    w.api.table.pop("/repos/acme/rocket")
    seen = []
    for _ in range(3):
        r = w.go(line)
        m = w.docs(r.root)[0][0]["_metadata"]
        seen.append((r.code, m.get("missing"), "deletedAt" in m))
    eq("G10: 404 on a known repository: missing, and gone only when missed three times", seen,
       [(0, {"status": 404, "times": 1}, False), (0, {"status": 404, "times": 2}, False), (0, None, True)])
    eq("G10: its last content is still there", json.loads(w.tl("cat", "--entity", R).out)["full_name"], "acme/rocket")
    w.api.table["/repos/acme/rocket"] = repo()
    w.go(line)
    eq("G10: revived", "deletedAt" in w.entities()[R], False)
    w.api.close()


def g10_unavailable():
    w = Hub({"/repos/acme/rocket": Answer({"message": "Repository access blocked", "block": {"reason": "dmca", "html_url": "https://github.com/github/dmca/x.md"}}, 451, etag=False)})
    r = w.go(w.line("/repos/acme/rocket"))
    ends_well(w, "G10: 451", r)
    (data, _), = w.docs(r.root)
    eq("G10: 451 is unavailable, and leads nowhere", (data["name"], data["_metadata"]["unavailable"], w.api.asked(), w.statuses(r.root)),
       ("unavailable", {"status": 451, "url": "https://github.com/github/dmca/x.md"}, [("/repos/acme/rocket", 451)], {"success": 1}))
    w.api.close()


def failures_of_one_thing():
    lists = {"repo": {n: {} for n in ("issues", "commits", "labels", "events", "contributors", "releases", "milestones")}}
    at = "/repos/acme/rocket"
    w = Hub({at: repo(), at + "/issues?state=all": Answer({"message": "Issues are disabled for this repo"}, 410, etag=False),
             at + "/commits": Answer({"message": "Git Repository is empty."}, 409, etag=False), at + "/labels": Answer([{"id": 11, "name": "b\u00fcg"}], cut=True, etag=False),
             at + "/events": Answer(b"{\"half", etag=False), at + "/contributors": Answer(b"", 204, etag=False),
             at + "/releases": [{"id": 5, "author": None, "name": "caf\u00e9 \U0001f6a3", "tag_name": "v1"}]}, config="fetch: {retries: 0, delay: 0s, timeout: 10s}\n")
    r = w.go(w.line(at, follow=lists))
    eq("one thing that fails: the rest is there", r.code, 0)
    rows = {w.short(x["url"]): (x["status"], x["reason"]) for x in w.runs(r.root, "parent_id IS NOT NULL")}
    eq("disabled, empty, absent are data; cut and broken are failures of their own", {k[len(at):]: v for k, v in rows.items()},
       {"": ("success", None), "/issues?state=all": ("success", None), "/commits": ("success", None), "/labels": ("failed", "cut"),
        "/events": ("failed", "collector"), "/contributors": ("success", None), "/releases": ("success", None), "/milestones?state=all": ("success", None)})
    names = {d[0]["_metadata"]["url"].replace(w.api.base, "").split("?")[0][len(at):]: (d[0]["name"], d[0]["_metadata"].get("empty"), d[0]["_metadata"].get("absent"))
             for d in w.docs(r.root) if "_metadata" in d[0]}
    eq("and say which", {k: v for k, v in names.items() if k}, {"/issues": ("absent", None, {"status": 410}), "/commits": ("absent", True, None),
       "/contributors": ("absent", True, None), "/releases": ("releases", None, None), "/milestones": ("absent", None, {"status": 404})})
    eq("a list of which there is nothing has nobody on it", w.links(R + ":contributors:page:1").get("resources"), [])
    w.api.close()


def vanished():
    one, two, three, four = (issue(3000 + n, n, by=None) for n in (1, 2, 3, 4))
    lists = {"repo": {"issues": {}, "labels": {}}}
    w = Hub({AT: repo(), AT + "/issues?state=all": Answer([one, two], Link=link(next=AT + "/issues?after=2")), AT + "/issues?after=2": [three, four],
             AT + "/issues/3": three, AT + "/labels": [{"id": 11, "url": "{api}" + AT + "/labels/bug"}]})
    w.go(w.line(AT, follow=lists))
    w.api.table.update({AT + "/issues?state=all": Answer([one], Link=link(next=AT + "/issues?after=2")), AT + "/issues?after=2": [four], AT + "/labels": [],
                        AT + "/issues/2": Answer(b"{}", 301, Location="{api}/repositories/5/issues/9"), "/repositories/5/issues/9": issue(9009, 9, by=None)})
    w.api.forget()
    r = w.go(w.line(AT, follow=lists))
    ends_well(w, "vanished", r)
    eq("what a list names no more is asked for by itself, once", sorted(p for p, _ in w.api.asked() if "?" not in p),
       sorted([AT, AT + "/issues/2", "/repositories/5/issues/9", AT + "/issues/3", AT + "/labels/bug"]))
    gone = lambda: {x["urn"].removeprefix(R): x["deleted_at"] is not None for x in w.sql("SELECT urn, deleted_at FROM links WHERE name = 'self' AND is_latest AND urn NOT LIKE '%:page:%'")}
    eq("moved elsewhere, and not found: gone; there by itself: not", gone(),
       {"": False, ":issue:3001": False, ":issue:3002": True, ":issue:3003": False, ":issue:3004": False, ":label:11": True})
    reasons = {u.removeprefix(R): m["reason"] for u, m in w.entities(r.root).items() if "deletedAt" in m}
    eq("and why", reasons, {":issue:3002": "301", ":label:11": "404"})
    eq("links: those that are gone are left out", [len(w.tl("links", *o, R, "issues").out.splitlines()) for o in ((), ("--deleted",))], [3, 4])
    w.api.forget()
    third = w.go(w.line(AT, follow=lists))
    eq("gone once, it is not asked for again", [p for p, _ in w.api.asked() if p in (AT + "/issues/2", AT + "/labels/bug")], [])
    w.api.table[AT + "/labels"] = [{"id": 11, "url": "{api}" + AT + "/labels/bug"}]
    w.go(w.line(AT, follow=lists))
    eq("back on its list, it is there again", gone()[":label:11"], False)
    w.api.close()


def g13_numbers():
    w = Hub({"/repos/acme/rocket": b'{"id":9007199254740993,"url":"{api}/repos/acme/rocket","owner":{"id":18446744073709551615,"login":"acme"},"x":1e400,"y":[]}',
             "/repos/acme/rocket/issues?state=all": [issue(9007199254740995, 1, title="\U0001d4d0\u0000\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace"))]})
    r = w.go(w.line("/repos/acme/rocket", follow=ISSUES))
    ends_well(w, "G13", r)
    R = "urn:repo:9007199254740993"
    eq("G13: ids beyond 2^53 are exact", (sorted(u for u in w.entities() if "page" not in u), w.links(R)["owner"]),
       ([R, R + ":issue:9007199254740995"], "urn:user:18446744073709551615"))
    ok("G13: numbers stand as they were sent", '"x":1e400' in w.tl("cat", "--entity", R).out, w.tl("cat", "--entity", R).out)
    eq("G13: and in the catalog", w.one("SELECT href FROM links WHERE urn = ? AND name = 'owner'", R), "urn:user:18446744073709551615")
    w.api.close()


main(g8_unchanged, g8b_reprocess, relations, g9_rename, g10_gone, g10_missing, g10_unavailable, failures_of_one_thing, vanished, g13_numbers)
