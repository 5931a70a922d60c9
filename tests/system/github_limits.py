#!/usr/bin/env python3
"""github_limits.py - limits of the API and what they cost: time, but no attempts; tokens; and crawls that break off."""
import hashlib
import hmac
import sys
from email.utils import formatdate

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from github_hub import *  # noqa: E402

R, AT = "urn:repo:4242", "/repos/acme/rocket"


def when(api, path=AT):
    return [x["at"] for x in api.log if x["path"] == path]


def g11_wait(name, answer, least):
    w = Hub({AT: answer})
    r = w.go(w.line(AT, follow={}))
    ends_well(w, f"G11: {name}", r)
    times = when(w.api)
    eq(f"G11: {name}: one document, no attempt", (len(w.docs(r.root)), w.sql("SELECT attempts, status FROM runs WHERE parent_id IS NOT NULL")), (1, [{"attempts": 0, "status": "success"}]))
    ok(f"G11: {name}: asked twice, not before its time", len(times) == 2 and times[1] - times[0] >= least, times)
    w.api.close()


def g11_throttled():
    message = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
    g11_wait("403 with Retry-After", Answer(message, 403, then=repo(), etag=False, Retry_After="2"), 2)
    g11_wait("429 with a date", Answer(message, 429, then=repo(), etag=False, Retry_After=formatdate(time.time() + 3, usegmt=True)), 1)
    g11_wait("503 with Retry-After", Answer({}, 503, then=repo(), etag=False, Retry_After="1"), 1)
    at = int(time.time()) + 3
    g11_wait("403 with nothing remaining", Answer({"message": "API rate limit exceeded"}, 403, then=repo(), etag=False, X_RateLimit_Remaining="0",
                                                  X_RateLimit_Reset=str(at)), at - time.time())
    w = Hub({AT: Answer({"message": "Resource not accessible by integration"}, 403, etag=False, X_RateLimit_Remaining="4000")})
    r = w.go(w.line(AT))
    eq("G11: another 403 is final, after one request", (r.code, w.api.asked(), w.sql("SELECT reason, attempts FROM failures")),
       (6, [(AT, 403)], [{"reason": "http_403", "attempts": 0}]))
    w.api.close()


def g11_deferred():
    w = Hub({AT: repo(), **{f"/users/u{n}": user(n) for n in range(8)}}, tokens=("one", "two"))
    w.api.limits = {f"Bearer value-of-{t}": [2, time.time() + 3000] for t in ("one", "two")}
    c = w.crawl("hub", *(w.line(f"/users/u{n}", token=["one", "two"], low_water=0, follow={}) for n in range(8)))
    r = w.tl("run", c, "--timeout", "20s")
    done = w.statuses(r.root)
    eq("G11: no token left before the crawl's time is up: exit 10, the rest waits", (r.code, done), (10, {"success": 4, "queued": 4}))
    eq("G11: each token was asked with to its end", {t: sum(x["token"] == t and x["status"] == 200 for x in w.api.log) for t in w.api.limits},
       {t: 2 for t in w.api.limits})
    eq("G11: no attempt was spent", w.one("SELECT max(attempts) FROM runs"), 0)
    n = len(w.api.asked())
    r = w.tl("run", c, "--resume", r.root, "--timeout", "5s")
    eq("G11: taken up too early, it ends the same, and nobody was asked", (r.code, len(w.api.asked()) - n), (10, 0))
    w.api.limits = {}
    con = sqlite3.connect(w.catalog)  # an hour later
    con.execute("UPDATE host SET until_us = 0")
    con.execute("UPDATE run SET not_before_us = 0")
    con.commit()
    con.close()
    r = w.tl("run", c, "--resume", r.root)
    ends_well(w, "G11: taken up later", r)
    eq("G11: all of it is there in the end, each once", (w.statuses(r.root), sorted(u for u in w.entities())), ({"success": 8}, [f"urn:user:{n}" for n in range(8)]))
    w.api.close()


def low_water():
    w = Hub({f"/users/u{n}": user(n) for n in range(6)}, tokens=("one", "two"))
    w.api.limits = {"Bearer value-of-one": [51, time.time() + 3000], "Bearer value-of-two": [5000, time.time() + 3000]}
    r = w.go(*(w.line(f"/users/u{n}", token=["one", "two"], follow={}) for n in range(6)), options=("--set", "workers.max=1", "--set", "workers.inflight=1"))
    ends_well(w, "low water", r)
    used = sum(x["token"] == "Bearer value-of-one" for x in w.api.log)
    ok("a token is left alone before it is used up", used <= 2, used)
    eq("the other one does the rest", (len(w.api.log), w.statuses(r.root)), (6, {"success": 6}))
    w.api.close()


def pinned():
    names = [f"r{n}" for n in range(12)]
    w = Hub({f"/repos/acme/{n}": repo(100 + i, n) for i, n in enumerate(names)}, tokens=("one", "two"))
    lines = [w.line(f"/repos/acme/{n}", token=["one", "two"], follow={}) for n in names]
    w.go(*lines)
    by = {x["path"]: x["token"] for x in w.api.log}
    w.api.forget()
    r = w.go(*lines)
    eq("both tokens are used, a repository keeps its own, so its ETag holds", (len(set(by.values())), w.statuses(r.root), {x["path"]: x["token"] for x in w.api.log}),
       (2, {"not_modified": 12}, by))
    secret = [p for p in w.files() + ["../catalog.db", "../catalog.db-wal"] if (w.lake / p).exists() and b"value-of-" in (w.lake / p).read_bytes()]
    eq("a token is in no document, in no catalog", secret, [])
    r = w.tl("-vv", "run", w.crawl("hub", *lines))
    ok("nor in what is said", "value-of-" not in r.err + r.out, r.err)
    for x in lines:
        w.api.table["/repos/" + x["args"]["url"].split("/repos/")[1]] = Answer(repo(7), etag=False)
    child, seen = w.start("run", w.crawl("hub", *lines)), set()
    while child.running():
        for pid in [child.pid, *child.workers()]:
            with contextlib.suppress(OSError):
                seen.add(Path(f"/proc/{pid}/cmdline").read_bytes())
        time.sleep(0.01)
    child.wait()
    ok("nor in the arguments of a process", seen and not any(b"value-of-" in x for x in seen), seen)
    bad = w.go(w.line(AT, token=["nosuch"]), name="bad")
    eq("a secret that is not there is named", (bad.code, "nosuch" in (w.one("SELECT error FROM failures") or "")), (6, True))
    w.api.table[AT] = Answer({"message": "Bad credentials"}, 401, etag=False)
    eq("a token that is refused: exit 13", w.go(w.line(AT, token=["one"]), name="refused").code, 13)
    w.api.close()


def crash_and_resume():
    pages = 12
    at = lambda n: f"{AT}/issues?state=all&after={n}"
    table = {AT: repo(), **{at(n): Answer([issue(100 + n, n)], Link=link(next=at(n + 1))) for n in range(1, pages)}, at(pages): [issue(100 + pages, pages)]}
    table[AT + "/issues?state=all"] = Answer([issue(100, 100)], Link=link(next=at(1)))
    w = Hub(table)
    c = w.crawl("hub", w.line(AT, follow={"repo": {"issues": {}}}))
    roots = []
    for death in ("committed:4", "renamed:3", "in-transaction:5"):
        r = w.tl("run", c, *(("--resume", "auto") if roots else ()), env={"TROTLINE_FAULT": death})
        roots.append(w.newest_root())
        eq(f"killed at {death}", r.code, -9)
    r = w.tl("run", c, "--resume", "auto")
    ends_well(w, "taken up after three deaths in mid-list", r)
    eq("it was one crawl", set(roots + [r.root]), {r.root})
    eq("every page once, every issue once", sorted(u for u in w.entities() if u != R),
       sorted([f"{R}:issues:page:{n}" for n in range(1, pages + 2)] + [f"{R}:issue:{n}" for n in range(100, 101 + pages)]))
    ok("pages that were there were not fetched again", len(w.api.log) <= pages + 2 + 3, len(w.api.log))
    w.api.close()


def g12_events():
    base = {"actor": user(501), "repo": {"id": 4242, "name": "acme/rocket", "url": "{api}" + AT}, "org": {"id": 77}, "public": True}
    events = [dict(base, id="900", type="PushEvent", payload={"ref": "refs/heads/main", "head": "a1b2", "before": "c3d4"}),
              dict(base, id="901", type="DiscussionEvent", payload={"action": "created"}),
              dict(base, id="902", type="IssuesEvent", payload={"action": "opened", "issue": issue(3001, 7)}),
              dict(base, id="903", type="PullRequestEvent", payload={"action": "opened", "number": 8, "pull_request": {"id": 88, "number": 8, "url": "{api}" + AT + "/pulls/8"}}),
              dict(base, id="904", type="IssueCommentEvent", payload={"issue": issue(3001, 7), "comment": {"id": 71, "url": "{api}" + AT + "/issues/comments/71", "user": None}}),
              {"id": "905", "type": None, "payload": None}, {"id": "906", "type": "x\" onload", "payload": {}}]
    w = Hub({AT: repo(), AT + "/events": events, AT + "/commits/a1b2": {"sha": "a1b2", "commit": {"comment_count": 0}}, AT + "/issues/7": issue(3001, 7)})
    r = w.go(w.line(AT, follow={"repo": {"events": {}}, "event": {n: {} for n in ("commit", "issue", "pull_request", "comment")}}))
    ends_well(w, "G12", r)
    common = {"actor": "urn:user:501", "repo": R, "org": "urn:org:77"}
    own = lambda t, n, **more: {"self": f"{R}:{t}:{n}", "siblings": f"{R}:{t}s", **common, **more}
    eq("G12: a push without its commits", w.links(R + ":PushEvent:900"), own("PushEvent", 900, head=R + ":commit:a1b2"))
    eq("G12: a type that nobody knows is kept, and linked", w.links(R + ":DiscussionEvent:901"), own("DiscussionEvent", 901))
    eq("G12: issue", w.links(R + ":IssuesEvent:902"), own("IssuesEvent", 902, issue=R + ":issue:3001"))
    eq("G12: a trimmed pull request", w.links(R + ":PullRequestEvent:903"), own("PullRequestEvent", 903, pull_request=R + ":pull_request:88"))
    eq("G12: a comment", w.links(R + ":IssueCommentEvent:904"), own("IssueCommentEvent", 904, issue=R + ":issue:3001", comment=R + ":issue:3001:issue_comment:71"))
    eq("G12: children are what known events are about", w.children(r.root, R + ":events:page:1"), sorted(
        [AT + "/commits/a1b2", AT + "/issues/7", AT + "/pulls/8", AT + "/issues/comments/71"]))
    eq("G12: what makes no sense costs nothing", sum("Event:" in u for u in w.entities()), 5)
    w.api.close()


def hooks():
    w = Hub({AT: repo(), AT + "/issues/7": issue(3001, 7), AT + "/commits/a1b2": {"sha": "a1b2", "commit": {}}},
            config="secrets:\n  hook: {env: HOOK, origins: [\"https://hook.example\"]}\n")
    w.env["HOOK"] = "It's a Secret to Everybody"
    inbox = w.dir / "inbox"
    inbox.mkdir()

    def deliver(name, event, body, secret=w.env["HOOK"], **more):
        raw = json.dumps(body).replace("{api}", w.api.base).encode()
        signature = "sha256=" + hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()
        (inbox / f"{name}.json").write_bytes(raw)
        (inbox / f"{name}.headers").write_text(f"x-github-event: {event}\r\nX-GitHub-Delivery: d-{name}\r\nX-Hub-Signature-256: {signature}\r\n")

    at = {"repository": {"id": 4242, "url": "{api}" + AT}, "sender": user(501), "organization": {"id": 77}}
    deliver("one", "issues", {"action": "opened", "issue": issue(3001, 7), **at})
    deliver("two", "push", {"after": "a1b2", **at})
    deliver("three", "discussion", {"action": "created", **at})
    deliver("forged", "issues", {"action": "opened", "issue": issue(6, 6), **at}, secret="wrong")
    (inbox / "unsigned.json").write_text(json.dumps(at))
    line = w.line(files=str(inbox), secret="hook")
    c = w.crawl("hub", line, leash='{depth: 8, hosts: ["%s"]}' % w.api.origin.removeprefix("http://"))
    r = w.tl("run", c)
    eq("hooks: exit 0", (r.code, r.err if r.code else ""), (0, ""))
    eq("hooks: what was delivered is there as events", {u: v["type"] for u, v in w.entities().items() if "Event:" in u},
       {f"{R}:IssuesEvent:d-one": "IssuesEvent", f"{R}:PushEvent:d-two": "PushEvent", f"{R}:DiscussionEvent:d-three": "DiscussionEvent"})
    eq("hooks: what is signed by somebody else, or by nobody, is not taken", sorted(x["error"].split("signature")[0].split("/")[-1].split(" ")[0] for x in w.sql("SELECT error FROM failures WHERE url IS NULL")),
       ["collector:", "unsigned.json"])
    eq("hooks: an event's links", w.links(R + ":IssuesEvent:d-one"), {"self": R + ":IssuesEvent:d-one", "siblings": R + ":IssuesEvents", "actor": "urn:user:501",
                                                                     "repo": R, "org": "urn:org:77", "issue": R + ":issue:3001"})
    eq("hooks: what they are about was fetched", sorted(p for p, s in w.api.asked()), [AT + "/commits/a1b2", AT + "/issues/7", "/users/u501"])
    deliver("four", "issues", {"action": "closed", "issue": issue(3001, 7), **at})
    again = w.tl("run", c)
    taken = [json.loads(d.original("files")) for x, d in w.docs(again.root, "files")]
    eq("hooks: the next time, only what is new, or was not taken", taken, [["forged.json", "four.json", "unsigned.json"]])
    ok("hooks: the secret is nowhere", not [p for p in w.files() if b"Everybody" in (w.lake / p).read_bytes()] and "Everybody" not in r.err, r.err)
    w.api.close()


main(g11_throttled, g11_deferred, low_water, pinned, crash_and_resume, g12_events, hooks)
