#!/usr/bin/env python3
"""github_walks.py - whole walks: recorded answers of GitHub, an organisation, maps of what to visit, long lists."""
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from github_hub import *  # noqa: E402

DATA = Path(os.environ.get("TROTLINE_TEST_DATA") or Path(__file__).resolve().parents[1] / "data") / "github"
R, AT = "urn:repo:4242", "/repos/acme/rocket"
ISSUE = "/repos/octokit-fixture-org/paginate-issues/issues"
SCENARIOS = {  # {scenario: {path: (dataset, entities on it)}}
    "create-status": {"/repos/octokit-fixture-org/create-status/commits/%040d/statuses" % 1: ("statuses", 0),
                      "/repos/octokit-fixture-org/create-status/commits/%040d/status" % 1: ("other", 0)},
    "errors": {}, "lock-issue": {}, "markdown": {},
    "get-content": {"/repos/octokit-fixture-org/hello-world/contents/": ("other", 0), "/repos/octokit-fixture-org/hello-world/contents/README.md": ("other", 0)},
    "get-organization": {"/orgs/octokit-fixture-org": ("org", 0)},
    "get-repository": {"/repos/octokit-fixture-org/hello-world": ("repo", 0)},
    "get-root": {"/": ("other", 0)},
    "git-refs": {"/repos/octokit-fixture-org/git-refs/git/refs/": ("other", 0)},
    "labels": {"/repos/octokit-fixture-org/labels/labels": ("labels", 0), "/repos/octokit-fixture-org/labels/labels/test-label": ("label", 0)},
    "paginate-issues": {ISSUE + "?per_page=3": ("issues", 3), **{f"/repositories/1000/issues?per_page=3&page={n}": ("issues", 3 if n < 5 else 1) for n in range(2, 6)}},
    "release-assets": {"/repos/octokit-fixture-org/release-assets/releases/tags/v1.0.0": ("other", 0),
                       "/repos/octokit-fixture-org/release-assets/releases/1000/assets": ("other", 0),
                       "/repos/octokit-fixture-org/release-assets/releases/assets/1000": ("other", 0)},
    "search-issues": {"/search/issues?q=sesame%20repo%3Aoctokit-fixture-org%2Fsearch-issues": ("other", 0)}}


def recorded(name):
    """{path: Answer} of what was asked with GET, addresses put in place."""
    table = {}
    for x in json.loads((DATA / f"{name}.json").read_text()):
        if x["method"] != "get":
            continue
        body = x["response"] if isinstance(x["response"], str) else json.dumps(x["response"], ensure_ascii=False)
        headers = {k.replace("-", "_"): v.replace("https://api.github.com", "{api}") for k, v in x["headers"].items() if k in ("link", "location")}
        table.setdefault(x["path"], Answer(body.replace("https://api.github.com", "{api}"), x["status"], **headers))
    return table


def scenarios():
    for name, want in SCENARIOS.items():
        table = recorded(name)
        first = [p for p in table if not p.startswith("/repositories/")]  # the other pages are found
        if not first:
            eq(f"{name}: nothing was asked with GET", want, {})
            continue
        w = Hub(table)
        r = w.go(*(w.line(p, follow={}) for p in first))
        ends_well(w, name, r)
        found = {d[0]["_metadata"]["url"].replace(w.api.base, ""): (d[0]["name"], len(d[0].get("_entities", []))) for d in w.docs(r.root)}
        eq(f"{name}: the documents", found, want)
        same_bytes = [p for p in found if w.api.base.encode() not in table[p].body.encode() and next(
            doc.original(x["name"]) for x, doc in w.docs(r.root) if x["_metadata"]["url"] == w.api.base + p) != table[p].body.replace("{api}", w.api.base).encode()]
        eq(f"{name}: as they were sent", same_bytes, [])
        if name == "paginate-issues":
            eq("paginate-issues: every issue, by the repository's id", len([u for u in w.entities() if u.startswith("urn:repo:1000:issue:")]), 13)
            eq("paginate-issues: the page that a repository's old name led to is of the same list", sorted(u for u in w.entities() if ":page:" in u),
               [f"urn:repo:1000:issues:page:{n}" for n in range(1, 6)])
        if name == "get-repository":
            eq("get-repository: links of the real thing", (w.links("urn:repo:1000")["owner"], w.links("urn:repo:1000").get("organization")), ("urn:user:1000", "urn:org:1000"))
        w.api.close()


def organisation():
    org = {"id": 77, "login": "acme", "url": "{api}/orgs/acme"}
    team = {"id": 9, "slug": "rowers", "url": "{api}/teams/9", "members_url": "{api}/teams/9/members{/member}", "repositories_url": "{api}/teams/9/repos"}
    w = Hub({"/orgs/acme": org, "/users/acme": user(77, "acme"), "/orgs/acme/repos": [repo(), repo(4243, "canoe")], AT: repo(organization=user(77, "acme")),
             "/repos/acme/canoe": repo(4243, "canoe"), "/orgs/acme/members": [user(501)], "/orgs/acme/teams": [team], "/teams/9": dict(team, organization=dict(org)),
             "/teams/9/members": [user(501)], "/teams/9/repos": [repo()], "/users/u501": user(501), **{f"/repos/acme/{n}/{x}": [] for n in ("rocket", "canoe") for x in
                                                                                         ("teams", "collaborators", "contributors", "issues", "commits", "events")}})
    r = w.go(w.line(start="acme", api=w.api.base))
    ends_well(w, "organisation", r)
    O = "urn:org:77"
    run = w.docs(r.root, "org")[0][1].run_id
    eq("organisation: its links", w.links(O), {"self": O, "siblings": "urn:orgs", "user": "urn:user:77", "repos": "urn:user:77:repos",
                                               "members": f"{O}:org_members:pages:{run}", "teams": f"{O}:org_teams:pages:{run}"})
    eq("organisation: a user's", w.links("urn:user:501"), {"self": "urn:user:501", "siblings": "urn:users", "repos": "urn:user:501:repos"})
    eq("organisation: pages of its relations", (w.links(O + ":members:page:1")["siblings"], w.links(O + ":teams:page:1")["unique"]), (O + ":org_members:pages", f"{O}:org_teams:pages:{run}"))
    eq("organisation: everything once", [p for p, n in {p: w.api.asked(p) for p, _ in w.api.asked()}.items() if n > 1], [])
    eq("organisation: who is who", sorted(u for u in w.entities() if ":page" not in u), ["urn:org:77", R, "urn:repo:4243", "urn:team:9", "urn:user:501", "urn:user:77"])
    names = lambda *a: sorted(json.loads(x).get("name") or json.loads(x)["login"] for x in w.tl("links", *a).out.splitlines())
    eq("organisation: from it to its repositories", names(O, "repos"), ["canoe", "rocket"])
    eq("organisation: from a repository to its siblings", names("urn:repo:4243", "siblings"), ["rocket"])
    eq("organisation: to its members", names(O, "members"), ["u501"])
    w.api.close()


def maps():
    table = {AT: repo(), AT + "/issues?state=all": [issue(1, 1, comments=1)], "/users/u501": user(501), "/users/u501/repos": [], "/users/acme": user(77, "acme"),
             "/users/acme/repos": [repo()], AT + "/issues/1/comments": [{"id": 5, "user": user(501)}]}
    walks = {"{}": ({}, []), "a list, in full": ({"repo": {"issues": {}}, "issue": {"user": {}}}, [AT + "/issues?state=all", "/users/u501"]),
             "self": ({"repo": {"owner": "self"}, "user": {"repos": []}}, ["/users/acme"]),
             "and without self": ({"repo": {"owner": {}}, "user": {"repos": []}}, ["/users/acme", "/users/acme/repos"]),
             "pages alone": ({"repo": {"issues": []}, "issue": {"user": {}}}, [AT + "/issues?state=all"]),
             "a list, self": ({"repo": {"issues": "self"}, "issue": {"user": {}}}, [AT + "/issues?state=all"]),
             "a tree of its own": ({"repo": {"issues": {"issue_comments": {"user": "self"}}}},
                                   [AT + "/issues?state=all", AT + "/issues/1/comments", "/users/u501"]),
             "false": ({"repo": {"issues": False}}, [])}
    for name, (follow, want) in walks.items():
        w = Hub(table)
        r = w.go(w.line(AT, follow=follow))
        eq(f"map: {name}", (r.code, sorted(w.short(w.api.base + p) for p, _ in w.api.asked()[1:])), (0, sorted(want)))
        w.api.close()
    w = Hub(table)
    r = w.go(w.line(AT), leash="{depth: 2}")
    ok("map: inside the leash", {x["reason"] for x in w.leashed(r.root)} == {"depth"} and max(x["depth"] for x in w.runs(r.root)) == 2, w.leashed(r.root))
    w.api.close()
    w = Hub(dict(table, **{AT + "/issues/1": issue(1, 1, closed_by=user(9))}))
    w.go(w.line(AT, follow={"repo": {"issues": {}}}, detail=True))
    eq("detail: what lists show is fetched by itself, too", (w.api.asked(AT + "/issues/1"), w.links(R + ":issue:1").get("closed_by")), (1, "urn:user:9"))
    w.api.close()


def more_types():
    table = {AT: repo(), AT + "/labels": [{"id": 11, "name": "bug"}], AT + "/milestones?state=all": [{"id": 21, "creator": user(501)}], AT + "/releases": [{"id": 31, "author": user(501)}],
             AT + "/deployments": [{"id": 41, "sha": "a1b2", "creator": user(501)}], AT + "/traffic/views": {"count": 3, "views": []}, AT + "/traffic/popular/paths": [{"path": "/", "count": 1}],
             AT + "/pulls?state=all": [{"id": 88, "number": 8, "url": "{api}" + AT + "/pulls/8"}], AT + "/pulls/8": {"id": 88, "number": 8, "url": "{api}" + AT + "/pulls/8", "review_comments": 0, "commits": 0}}
    w = Hub(table)
    r = w.go(w.line(AT, follow={"repo": {n: {} for n in ("labels", "milestones", "releases", "deployments", "views", "paths", "clones", "pull_requests")}}))
    ends_well(w, "more types", r)
    U = "urn:user:501"
    eq("label", w.links(R + ":label:11"), {"self": R + ":label:11", "siblings": R + ":labels", "repo": R})
    eq("milestone", w.links(R + ":milestone:21"), {"self": R + ":milestone:21", "siblings": R + ":milestones", "repo": R, "creator": U})
    eq("release", w.links(R + ":release:31"), {"self": R + ":release:31", "siblings": R + ":releases", "repo": R, "author": U})
    eq("deployment", w.links(R + ":deployment:41"), {"self": R + ":deployment:41", "siblings": R + ":deployments", "commit": R + ":commit:a1b2", "creator": U})
    day = time.strftime("%Y_%m_%d", time.gmtime())
    views, paths = ([u for u in w.entities() if f":{n}:2" in u][0] for n in ("views", "paths"))
    eq("traffic is of its day, nothing is put into it", (w.links(views), views[-10:] <= day, json.loads(w.tl("cat", "--entity", views).out)["count"]), ({"self": views, "repo": R}, True, 3))
    eq("traffic: a list becomes elements", json.loads(w.tl("cat", "--entity", paths).out)["elements"], [{"path": "/", "count": 1}])
    eq("traffic that may not be seen is noted", [d["_metadata"]["absent"] for d, _ in w.docs(r.root, "absent")], [{"status": 404}])
    eq("pull requests by their list", (w.links(R + ":pull_request:88")["self"], w.api.asked(AT + "/pulls/8")), (R + ":pull_request:88", 1))
    w.api.close()


def long_list():
    pages, size = 25, 100
    at = lambda n: f"{AT}/issues?state=all&per_page=100&page={n}"
    table = {at(n): Answer([issue(n * 1000 + k, n * 1000 + k) for k in range(size)], etag=False, **({"Link": link(next=at(n + 1))} if n < pages else {})) for n in range(2, pages + 1)}
    w = Hub({AT: repo(), AT + "/issues?state=all": Answer([issue(1000 + k, 1000 + k) for k in range(size)], Link=link(next=at(2))), **table})
    r = w.go(w.line(AT, follow={"repo": {"issues": {}}}), leash="{depth: 2}")
    eq("a long list: exit 0", r.code, 0)
    eq("a long list: a request a page, a row an issue", (len(w.api.log), w.one("SELECT count(*) FROM links WHERE name = 'siblings' AND href = ? AND is_latest", R + ":issues")), (pages + 1, pages * size))
    eq("a long list: all of them one after the other", len(w.tl("links", R, "issues").out.splitlines()), pages * size)
    eq("a long list: one of them", json.loads(w.tl("cat", "--entity", R + ":issue:17007").out)["number"], 17007)
    w.api.close()


def tables():
    when = "2026-01-02T03:04:05Z"
    commit = lambda sha: {"sha": sha, "commit": {"message": "m", "comment_count": 0, "author": {"name": "A", "email": "a@x", "date": when}}, "author": None, "committer": user(502)}
    pull = {"id": 88, "number": 8, "url": "{api}" + AT + "/pulls/8", "user": user(501), "base": {"repo": repo()}, "head": {"sha": "a1b2", "repo": None}, "merged_at": when,
            "commits": 1, "review_comments": 0}
    w = Hub({AT: repo(topics=["rowing", "c"], created_at=when), "/users/u501": user(501), "/users/u502": user(502), "/users/acme": user(77, "acme"), AT + "/pulls/8": pull,
             AT + "/issues?state=all": [issue(3001, 7, labels=[{"id": 1, "name": "bug"}]), issue(3002, 8, pull_request={"url": "{api}" + AT + "/pulls/8"})],
             AT + "/commits": [commit("a1b2"), commit("c3d4")], AT + "/pulls/8/commits": [commit("e5f6")], AT + "/contributors": Answer(b"", 204, etag=False),
             AT + "/events": [{"id": "900", "type": "IssuesEvent", "repo": {"id": 4242}, "payload": {"issue": issue(3003, 9)}}], AT + "/issues/9": issue(3003, 9)})
    r = w.go(w.line(AT))
    c = w.tl("convert", r.root)
    f = w.tl("refine", r.root, "-o", "json")
    eq("tables: exit 0", (c.code, f.code, c.err + f.err if c.code or f.code else ""), (0, 0, ""))
    eq("tables: they fill, and nothing is rejected", {k: v for k, v in json.loads(f.out)["types"].items() if k.startswith("github_") and v["rows"]},
       {"github_repo": {"rows": 1, "rejected": 0}, "github_user": {"rows": 3, "rejected": 0}, "github_issue": {"rows": 3, "rejected": 0},
        "github_pull_request": {"rows": 1, "rejected": 0}, "github_commit": {"rows": 3, "rejected": 0}})
    w.api.close()


def contract():
    for name in ("check-repo", "check-list"):
        folder = TMP / name  # outside of the source tree, which may be read-only
        shutil.copytree(DATA / name, folder)
        copy_plugins(folder, ("github",))
        r = Child([TROTLINE, "check", folder / "github.so"], folder, dict(os.environ, HOME=str(folder))).wait()
        eq(f"contract: {name}", (r.code, [x for x in r.out.splitlines() if x.startswith("not ok")]), (0, []))


main(scenarios, organisation, maps, more_types, long_list, tables, contract)
