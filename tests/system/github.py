#!/usr/bin/env python3
"""github.py - the GitHub collector: what it makes of answers, entity by entity, and how it goes from one to the next."""
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from github_hub import *  # noqa: E402


ROCKET = repo(stargazers_count=3, organization=user(77, "acme"))


def g1_repo():
    w = Hub({"/repos/acme/rocket": ROCKET})
    r = w.go(w.line(start="acme/rocket", api=w.api.base))
    ends_well(w, "G1", r)
    (data, doc), = w.docs(r.root, "repo")
    run = doc.run_id
    R = "urn:repo:4242"
    want = {"self": (R, "resource"), "siblings": ("urn:user:77:repos", "collection"), "owner": ("urn:user:77", "resource"),
            "organization": ("urn:org:77", "resource"), "pull_requests": (R + ":pull_requests", "collection"),
            "issues": (R + ":issues", "collection"), "commits": (R + ":commits", "collection"), "events": (R + ":events", "collection")}
    want.update({n: (f"{R}:{n}:pages:{run}", "relation") for n in ("teams", "collaborators", "contributors", "stargazers")})
    m = data["_metadata"]
    eq("G1: the links of a repository, exactly", {k: (v["href"], v["type"]) for k, v in m["links"].items()}, want)
    eq("G1: its children", w.children(r.root, R), sorted(
        ["/users/acme", "/orgs/acme"] + ["/repos/acme/rocket" + x for x in
                                         ("/teams", "/collaborators?affiliation=direct", "/contributors", "/stargazers", "/issues?state=all", "/commits", "/events")]))
    eq("G1: the keys of _metadata", list(m), ["type", "url", "fetchedAt", "links", "etag", "version", "processedAt"])
    eq("G1: type, url, etag", (m["type"], m["url"], m["etag"][:1]), ("repo", w.api.base + "/repos/acme/rocket", '"'))
    ok("G1: times in ms", all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", m[k]) for k in ("fetchedAt", "processedAt")), m)
    eq("G1: the bytes of the answer, untouched", doc.original("repo").decode(), json.dumps(ROCKET, ensure_ascii=False).replace("{api}", w.api.base))
    eq("G1: lists of which there are none to be had are noted, not failed",
       (w.statuses(r.root).get("success"), sorted({x["status"] for x in w.runs(r.root, "url LIKE '%/rocket/%'")})), (8, ["success"]))
    eq("G1: a user that is not there is a failed run, no failed crawl", [w.short(x["url"]) for x in w.sql("SELECT url FROM failures ORDER BY url")],
       ["/orgs/acme", "/users/acme"])
    eq("G1: the catalog's links are those of the document", {x["name"]: (x["href"], x["type"]) for x in w.sql("SELECT * FROM links WHERE urn = ?", R)}, want)
    w.api.close()


def g2_issue():
    seven = issue(3001, 7, comments=2, assignee=user(502), assignees=[user(502), user(503)], labels=[{"id": 11, "name": "bug"}, {"id": 12, "name": "Größe"}])
    eight = issue(3002, 8, pull_request={"url": "{api}/repos/acme/rocket/pulls/8"})
    pull = {"id": 88, "number": 8, "url": "{api}/repos/acme/rocket/pulls/8", "user": user(501), "merged_by": None, "assignee": None, "review_comments": 1,
            "commits": 2, "head": {"sha": "a1b2", "repo": None}, "base": {"repo": repo()}, "statuses_url": "{api}/repos/acme/rocket/statuses/a1b2"}
    w = Hub({"/repos/acme/rocket": repo(), "/repos/acme/rocket/issues?state=all": [seven, eight], "/repos/acme/rocket/pulls/8": pull,
             "/users/u501": user(501), "/users/u502": user(502), "/repos/acme/rocket/statuses/a1b2": [{"id": 61, "state": "success", "creator": user(501)}],
             "/repos/acme/rocket/issues/7/comments": [{"id": 71, "user": None, "url": "{api}/repos/acme/rocket/issues/comments/71"}],
             "/repos/acme/rocket/pulls/8/reviews": [{"id": 81, "user": user(502), "pull_request_url": "{api}/repos/acme/rocket/pulls/8"}],
             "/repos/acme/rocket/pulls/8/comments": [{"id": 82, "user": user(501)}], "/repos/acme/rocket/pulls/8/commits": [{"sha": "c0ffee", "commit": {"comment_count": 0}}]})
    r = w.go(w.line(start="acme/rocket", api=w.api.base, follow={"repo": {"issues": {}}, **{t: FOLLOW[t] for t in ("issue", "pull_request")}}))
    ends_well(w, "G2", r)
    R = "urn:repo:4242"
    eq("G2: an issue", w.links(R + ":issue:3001"),
       {"self": R + ":issue:3001", "siblings": R + ":issues", "repo": R, "user": "urn:user:501", "assignee": "urn:user:502",
        "assignees": ["urn:user:502", "urn:user:503"], "labels": [R + ":label:11", R + ":label:12"], "issue_comments": R + ":issue:3001:issue_comments",
        "number": R + ":number:7"})
    eq("G2, G3: what its page led to", w.children(r.root, R + ":issues:page:1"),
       sorted(["/users/u501", "/users/u502", "/repos/acme/rocket/issues/7/comments", "/repos/acme/rocket/pulls/8"]))
    m = w.entities()[R + ":issue:3001"]
    eq("G2: it is an entity of its page, and was not asked for", (m["pointer"], w.api.asked("/repos/acme/rocket/issues/7")), ("/0", 0))
    eq("G3: an issue that is a pull request: joined by the number, no id made up", w.links(R + ":issue:3002"),
       {"self": R + ":issue:3002", "siblings": R + ":issues", "repo": R, "user": "urn:user:501", "assignees": [], "labels": [], "number": R + ":number:8"})
    P = R + ":pull_request:88"
    eq("G3: the pull request that was reached from it", w.links(P),
       {"self": P, "siblings": R + ":pull_requests", "repo": R, "user": "urn:user:501", "base": R, "reviews": P + ":reviews",
        "review_comments": P + ":review_comments", "statuses": R + ":commit:a1b2:statuses", "pull_request_commits": P + ":pull_request_commits",
        "issue": R + ":issue:3002", "issue_comments": R + ":issue:3002:issue_comments", "number": R + ":number:8"})
    eq("review", w.links(P + ":review:81"), {"self": P + ":review:81", "siblings": P + ":reviews", "pull_request": P, "user": "urn:user:502"})
    eq("review comment", w.links(P + ":review_comment:82"),
       {"self": P + ":review_comment:82", "siblings": P + ":review_comments", "pull_request": P, "user": "urn:user:501"})
    c = P + ":pull_request_commit:c0ffee"
    eq("commit of a pull request", w.links(c), {"self": c, "siblings": P + ":pull_request_commits", "pull_request": P, "repo": R,
                                               "pull_request_commit_comments": c + ":pull_request_commit_comments"})
    i = R + ":issue:3001:issue_comment:71"
    eq("comment of a ghost", w.links(i), {"self": i, "siblings": R + ":issue:3001:issue_comments", "issue": R + ":issue:3001"})
    s = R + ":commit:a1b2:status:61"
    eq("G7: status", w.links(s), {"self": s, "siblings": R + ":commit:a1b2:statuses", "commit": R + ":commit:a1b2"})
    eq("G7: it was not asked for by itself", [p for p, _ in w.api.asked() if "status" in p], ["/repos/acme/rocket/statuses/a1b2?per_page=100"])
    alone = Hub(w.api.table)
    alone.go(alone.line("/repos/acme/rocket/pulls/8", follow={}))
    eq("G3: reached without its issue it has none", {k: v for k, v in alone.links(P).items() if "issue" in k}, {})
    eq("a line that starts in the middle finds out what it belongs to", alone.links(P)["self"], P)
    eq("cat --entity: what the server sent, with _metadata inside", {k: json.loads(w.tl("cat", "--entity", R + ":issue:3001").out)[k] for k in ("id", "title")},
       {"id": 3001, "title": "issue 7 \U0001f6a3"})
    titles = lambda *a: [json.loads(x).get("number", json.loads(x).get("id")) for x in w.tl("links", *a).out.splitlines()]
    eq("links: a collection", titles(R, "issues"), [7, 8])
    eq("links: a resource, several of them", titles(R + ":issue:3001", "user") + titles(R + ":issue:3001", "assignees"), [501, 502])
    eq("links: the issue of a pull request by their number", titles(P, "number"), [8])
    eq("links: of one crawl", titles("--root", r.root, R, "issues"), [7, 8])
    eq("links: nothing to be had is a negative answer", w.tl("links", P, "head").code, 2)
    for h in (w, alone):
        h.api.close()


FOLLOW = {"issue": {"user": "self", "assignee": "self", "closed_by": "self", "issue_comments": {}, "pull_request": {}},
          "pull_request": {"user": "self", "reviews": {}, "review_comments": {}, "statuses": {}, "pull_request_commits": {}}}


def g4_relation():
    team = {"id": 9, "slug": "rowers", "url": "{api}/teams/9", "organization": user(77, "acme") | {"url": "{api}/orgs/acme"}}
    w = Hub({"/teams/9": team, "/teams/9/members": Answer([user(501), user(502)], Link=link(next="/teams/9/members?page=2", last="/teams/9/members?page=2")),
             "/teams/9/members?page=2": [user(503)], "/teams/9/repos": [], **{f"/users/u{n}": user(n) for n in (501, 502, 503)}})
    r = w.go(w.line("/teams/9", follow={"team": {"members": {}, "repos": []}}))
    ends_well(w, "G4", r)
    run = w.docs(r.root, "team")[0][1].run_id
    one, two = (x[0] for x in w.docs(r.root, "members"))
    T = "urn:team:9"
    eq("G4: the first page of a relation", {k: v.get("href", v.get("hrefs")) for k, v in one["_metadata"]["links"].items()},
       {"self": T + ":members:page:1", "origin": T, "team": T, "siblings": T + ":team_members:pages", "unique": T + ":team_members:pages:" + run,
        "resources": ["urn:user:501", "urn:user:502"]})
    eq("G4: types of its links", {k: v["type"] for k, v in one["_metadata"]["links"].items()},
       {"self": "resource", "origin": "resource", "team": "resource", "siblings": "collection", "unique": "collection", "resources": "resource"})
    ok("G4: its Link header is kept", "page=2" in one["_metadata"]["headers"]["link"], one["_metadata"])
    eq("G4: the second page is of the same set", (two["_metadata"]["links"]["unique"]["href"], two["_metadata"]["links"]["self"]["href"]),
       (T + ":team_members:pages:" + run, T + ":members:page:2"))
    eq("G4: it was asked for by the URL that the server gave", w.api.asked("/teams/9/members?page=2"), 1)
    eq("G4: a next page is a continuation, as deep as the first", sorted({(x["depth"], x["edge"]) for x in w.runs(r.root, "url LIKE '%members%'")}),
       [(2, "page"), (2, "react")])
    eq("G4: an empty relation has a page that says so", w.links(T + ":repos:page:1").get("resources"), [])
    eq("links: a relation, over its pages", [json.loads(x)["login"] for x in w.tl("links", T, "members").out.splitlines()], ["u501", "u502", "u503"])
    eq("G4: the combined form of a page", sorted(json.loads(w.tl("cat", "--entity", T + ":members:page:1").out)), ["_metadata", "elements"])
    eq("links: an empty relation", (lambda x: (x.code, x.out))(w.tl("links", T, "repos")), (1, ""))
    eq("links: URNs as rows", w.tl("links", T, "-o", "csv").out.splitlines()[0], "name,type,href,collected_at,deleted_at")
    eq("team", w.links(T), {"self": T, "siblings": "urn:org:77:teams", "organization": "urn:org:77", "members": T + ":team_members:pages:" + run,
                            "repos": T + ":repos:pages:" + run})
    w.api.close()


def g5_cursor():
    base = "/repositories/4242/issues?state=all&per_page=100&after="
    w = Hub({"/repos/acme/rocket": repo(), "/repos/acme/rocket/issues?state=all": Answer([issue(1, 1)], Link=link(next=base + "Y3Vyc29y&page=2")),
             base + "Y3Vyc29y&page=2": Answer([issue(2, 2)], Link=link(next=base + "bQ%3D%3D&page=3")),
             base + "bQ%3D%3D&page=3": Answer([issue(3, 3)], Link=link(next=base + "Y3Vyc29y&page=2"))})
    r = w.go(w.line(start="acme/rocket", api=w.api.base, follow={"repo": {"issues": {}}}), leash="{depth: 2}")
    ends_well(w, "G5", r)
    eq("G5: cursors are followed as they stand, one after the other; a circle ends", [p for p, _ in w.api.asked()][1:],
       ["/repos/acme/rocket/issues?state=all&per_page=100", base + "Y3Vyc29y&page=2", base + "bQ%3D%3D&page=3"])
    eq("G5: the page where it would begin again says so", [d[0]["_metadata"].get("paging") for d in w.docs(r.root, "issues")], [None, None, "loop"])
    eq("G5: page numbers are our own", sorted(u for u in w.entities() if ":page:" in u), [f"urn:repo:4242:issues:page:{n}" for n in (1, 2, 3)])
    eq("G5: all issues, with three requests", sorted(u for u in w.entities() if ":issue:" in u), [f"urn:repo:4242:issue:{n}" for n in (1, 2, 3)])
    eq("G5: the depth of the leash is not used up by pages", w.leashed(r.root), [])
    w.api.close()


def g6_commit():
    R = "urn:repo:4242"
    w = Hub({"/repos/acme/rocket": repo(), "/repos/acme/rocket/commits": [
        {"sha": "a1b2", "url": "{api}/repos/acme/rocket/commits/a1b2", "commit": {"comment_count": 0}, "author": {}, "committer": None},
        {"sha": "d4e5", "url": "{api}/repos/acme/rocket/commits/d4e5", "commit": {"comment_count": 1}, "author": user(501), "committer": user(502),
         "comments_url": "{api}/repos/acme/rocket/commits/d4e5/comments"}],
        "/repos/acme/rocket/commits/d4e5/comments": [{"id": 91, "user": user(502)}], "/repos/acme/rocket/commits/a1b2": {"sha": "a1b2", "commit": {"comment_count": 0}}})
    r = w.go(w.line(start="acme/rocket", api=w.api.base, follow={"repo": {"commits": {}}, "commit": {"commit_comments": {}}}))
    ends_well(w, "G6", r)
    eq("G6: a commit of nobody", w.links(R + ":commit:a1b2"),
       {"self": R + ":commit:a1b2", "siblings": R + ":commits", "repo": R, "commit_comments": R + ":commit:a1b2:commit_comments"})
    eq("commit", w.links(R + ":commit:d4e5"), {"self": R + ":commit:d4e5", "siblings": R + ":commits", "repo": R, "author": "urn:user:501",
                                               "committer": "urn:user:502", "commit_comments": R + ":commit:d4e5:commit_comments"})
    c = R + ":commit:d4e5:commit_comment:91"
    eq("commit comment", w.links(c), {"self": c, "siblings": R + ":commit:d4e5:commit_comments", "commit": R + ":commit:d4e5", "user": "urn:user:502"})
    eq("G6: only commits with comments are asked for theirs", [p for p, _ in w.api.asked() if p.split("?")[0].endswith("comments")],
       ["/repos/acme/rocket/commits/d4e5/comments?per_page=100"])
    one = w.line("/repos/acme/rocket/commits/a1b2")
    w.go(one, name="one")
    n = len(w.api.asked())
    again = w.go(one, name="one")
    eq("default: what never changes is not asked for again", (len(w.api.asked()) - n, w.statuses(again.root)), (0, {"not_modified": 1}))
    w.go(w.line("/repos/acme/rocket/commits/a1b2", policy="reload"), name="one")
    eq("reload: it is, on condition", w.api.asked()[n:], [("/repos/acme/rocket/commits/a1b2", 304)])
    w.api.close()


main(g1_repo, g2_issue, g4_relation, g5_cursor, g6_commit)
