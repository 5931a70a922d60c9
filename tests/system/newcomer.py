#!/usr/bin/env python3
"""newcomer.py - what somebody gets wrong who has not read everything, and what he is told: the wrong folder, a file that ends in
.yaml, a name of a secret or a repository that is none, one of many that failed."""
import sys

sys.dont_write_bytecode = True
from lib_gitbackup import *  # noqa: E402, F403
from lib_targets import *  # noqa: E402, F403


def nowhere():
    """cron without --config"""
    w = World()
    r = w.tl("-q", "run", "--due")
    ok("nothing to watch is no success, and says what is looked for", r.code == 3 and f"neither a folder {w.dir}/targets" in r.err and "--config" in r.err, r)
    eq("in one line", len(r.err.splitlines()), 1)
    none("nothing is made there", [x for x in (w.catalog, w.lake) if x.exists()])
    r = w.tl("targets")
    ok("targets says where a first one would be", r.code == 0 and f"{w.dir}/targets, or made by" in r.err, r)
    (w.dir / "targets").mkdir()
    eq("an empty folder is meant to be", w.tl("-q", "run", "--due").code, 0)
    r = w.tl("-q", "--config", "nope.yml", "run", "--due")
    eq("a configuration that is not there is told once", (r.code, len(r.err.splitlines())), (3, 1))


def told_once():
    site, w = Site(script=script({f"/{i}": "x" for i in range(3)})), World()
    for i in range(3):
        target(w, f"t{i}", f"{site.base}/{i}")
    (w.dir / "targets/wrong.yml").write_text("id: wrong\nname: bad: wrong\n")
    (w.dir / "rules.yml").write_text("watch:\n  - {type: http_page, column: status}\n")
    w.configure("targets: {rules: rules.yml}\n")
    r = w.tl("-q", "run", "--due")
    eq("all others run, and what is wrong with a file is told once", (r.code, len(crawls(w)), r.err.count("wrong.yml:2:10")), (3, 3, 1))
    ok("and how to mend it", "wants quotes" in r.err, r.err)


def file_of_one():
    """What a promoted target becomes in a file, as trotline-targets(5) says."""
    w = World()
    w.tl("promote", "https://example.org/", "--as", "found")
    folder = w.dir / "targets"
    folder.mkdir()
    (folder / "found.yml").write_text("")  # as the shell does before the program begins
    r = w.tl("targets", "show", "found")
    eq("the file that it goes to is not complained of", (r.code, r.err, r.out.startswith('id: "found"')), (0, "", True))
    (folder / "found.yml").write_text(r.out)
    r = w.tl("targets", "-o", "jsonl")
    eq("and it is a target", (r.code, [x["file"] for x in r.lines()]), (0, [f"{folder}/found.yml"]))
    (folder / "other.yml").write_text("id: other\n")
    r = w.tl("targets", "show", "other")
    ok("one that is not found may be in a file that is wrong", r.code == 2 and "other.yml:1:1" in r.err, r)


def never_so():
    """What is yes or no in other places of YAML is true or false in a rule."""
    w = World()
    w.configure("targets: {rules: rules.yml}\n")
    for given, code in (("no", 3), ("[true, yes]", 3), ("false", 0), ('"*"', 0)):
        (w.dir / "rules.yml").write_text(f"count:\n  - {{type: http_link, column: to_url, where: {{same_site: {given}}}}}\n")
        r = w.tl("targets", "--candidates")
        ok(f"same_site: {given}", r.code == code and (code == 0 or re.search(r"rules\.yml:2:\d+: 'same_site' is true or false, never '(no|yes)'", r.err)), r)


def doctors():
    w = World(plugins=("http", "gitbackup"))
    target(w, "good", "http://127.0.0.1:1/")
    shutil.copy(w.dir / "targets/good.yml", w.dir / "targets/other.yaml")
    r = w.tl("doctor")
    ok("a file that ends in .yaml", r.code == 0 and re.search(r"^target +note .*/targets/other\.yaml is left alone", r.out, re.M), r)
    (w.dir / "targets/asks.yml").write_text("id: asks\nname: asks\nlines:\n  - {collector: http, args: {url: \"http://127.0.0.1:1/\"}}\n"
                                            "  - {collector: gitbackup, args: {login: acme, token: githb}}\n")
    r = w.tl("doctor")
    ok("a secret that is none", r.code == 3 and "asks.yml:5:5: argument token: 'secrets' of the configuration has no \"githb\"" in r.out, r)
    r = w.tl("run", w.dir / "targets/good.yml")
    ok("a target is no crawl file", r.code == 3 and "targets/good.yml:1:1: this is a target, not a crawl file" in r.err and "run --due" in r.err, r)
    r = w.tl("doctor", "x.yml")
    ok("who checks crawl files", r.code == 2 and "trotline run --plan FILE" in r.err, r)
    r = w.tl("run", "--plan", w.crawl("asks", {"collector": "gitbackup", "args": {"login": "acme", "token": "githb"}}))
    ok("and finds that, too", r.code == 0 and "asks.yml:" in r.err and "has no \"githb\"" in r.err, r)
    w.configure("secrets: {github: {env: NOT_SET, origins: [\"https://api.github.com\"]}}\n")
    ok("and the nearest one", "did you mean \"github\"?" in w.tl("doctor").out, w.tl("doctor"))


def bound_elsewhere():
    """A secret whose origins lack a port goes nowhere, and its server just says 401."""
    site, w = Site(script="on /x\n  status 401\n  body no\n"), World(plugins=("api",))
    (w.dir / "apis").mkdir()
    (w.dir / "apis/keyed.yml").write_text(f"api: keyed\nbase: {site.base}/\nurl: x\nsecret: {{as: bearer, from: river}}\n")
    w.configure("apis: [apis]\nsecrets: {river: {env: RIVER, origins: [\"http://127.0.0.1\"]}}\n")
    r = w.tl("run", w.crawl("keyed", {"collector": "api", "args": {"api": "keyed"}}), env={**os.environ, "RIVER": "not-told-to-anybody"})
    ok("the last line says what may be wrong with it", r.code == 13 and "answered 401 (the secret is not accepted, or was not sent" in r.last_line(), r)


def one_of_many():
    site, w = Site(script=script({"/": page("/gone", "/there"), "/there": "x"})), World()
    r = w.tl("run", w.crawl("many", {"collector": "http", "args": {"url": site.base + "/"}}))
    eq("a dead link is no fault of the crawl", r.code, 0)
    shown = w.tl("show", r.root)
    found = [x.split() for x in shown.out.splitlines() if x.startswith("failure:")]
    dead = w.sql("SELECT run_id FROM runs WHERE url = ?", site.base + "/gone")[0]["run_id"]
    ok("show ROOT names it, and why", len(found) == 1 and found[0][1:4] == [dead, "http", site.base + "/gone"] and "http_404:" in found[0], shown)
    eq("and in JSON", [f["run_id"] for f in json.loads(w.tl("show", r.root, "-o", "json").out)["failures"]], [dead])


def lacking():
    """A crawl that could not ask does not mean that what it lacks is gone."""
    site, w = Site(script="on /\n  body <<END\n<a href=\"/there\">x</a>\nEND\nnext\n  body <<END\n<a href=\"/gone\">x</a>\nEND\nnext\n  status 503\n  body no\n"
                          "on /there\n  body x\n"), World(config="fetch: {retries: 0, delay: 0s, full_every: 1}\n")
    crawl = w.crawl("lacks", {"collector": "http", "args": {"url": site.base + "/"}})
    roots = [w.tl("run", crawl).root for _ in "123"]
    r = w.tl("diff", roots[0], roots[1])
    ok("a page that is gone is gone", r.code == 0 and "warning" not in r.err, r)
    r = w.tl("diff", "lacks")
    ok("what failed is told", r.code == 0 and f"1 run of the later crawl failed, so what is lacking may still be there: trotline show {roots[2]}" in r.err, r)


def repositories():
    f = Farm(config="fetch: {delay: 0s, retries: 0}\n")
    repo = f.add("tools", "knife", 1)
    repo.commit({"f": "one"})
    urls = [f"{f.base}/git/tools/{x}.git" for x in ("knife", "gone")]
    line = {"collector": "gitbackup", "args": {"url": urls}}
    r = f.go(line)
    ok("which of them failed, and why, stands in the last line", r.code == 5 and "gone could not be backed up" in r.last_line(), r)
    shown = [x for x in f.w.tl("show", r.root).out.splitlines() if x.startswith("failure:")]
    ok("and in show", len(shown) == 1 and "gone could not be backed up" in shown[0], shown)
    server = f.base.removeprefix("http://")
    owner = f"{server}/git/tools"
    status = f.w.tl("track", "status")
    ok("status names a server as one writes it", owner in status.out, status)
    eq("and so does the view", f.w.sql("SELECT DISTINCT server, owner FROM backups WHERE kind <> 'json'"), [{"server": server, "owner": "git/tools"}])
    for given in (owner, "git/tools", owner + "/knife"):
        rows = f.w.tl("track", "status", given, "-o", "jsonl").lines()
        ok(f"status {given}", f"{owner}/knife" in [x["repository"] for x in rows], rows)
    r = f.w.tl("track", "status", "nobody")
    ok("status of what is not known says so", (r.code, r.out) == (0, "") and "nothing is tracked or backed up as 'nobody'" in r.err, r)
    eq("restore by that name", f.restore(owner + "/knife")[0].code, 0)
    r, to = f.restore("git/tools/knife")
    ok("restore: without its server", r.code == 2 and "no copy of git/tools/knife" in r.err and "that old" not in r.err and not to.exists(), r)
    r, _ = f.restore("example.org/git/tools/knife")
    ok("restore: of another server, which is named", r.code == 2 and f"but one of {owner}/knife;" in r.err, r)
    r, _ = f.restore(owner + "/knive")
    ok("restore: misspelt", r.code == 2 and "that old" not in r.err and "track status" in r.err, r)
    r, _ = f.restore(owner + "/knife", "--at", "2001-01-01")
    ok("restore: before the first copy", r.code == 2 and re.search(r"that old: the oldest is of 20\d\d-", r.err), r)
    oldest = re.search(r"is of (\S+),", r.err)[1]
    eq("restore: and that is a time that it takes", f.restore(owner + "/knife", "--at", oldest)[0].code, 0)
    r, _ = f.restore(urls[0])
    ok("restore: a URL is no name", r.code == 2 and "[SERVER/]OWNER/REPOSITORY" in r.err, r)
    (f.w.dir / "file").write_text("")
    r = f.w.tl("restore", owner + "/knife", f.w.dir / "file/r")
    ok("restore: into what is no folder is no damage", r.code == 2 and "cannot make the folder" in r.err, r)
    r = World(plugins=("gitbackup",)).tl("restore", "acme/knife", TMP / "r")
    ok("restore: in a folder without a lake", r.code == 2 and "there is no lake" in r.err and "--config" in r.err, r)
    r = f.go({"collector": "gitbackup", "args": {"url": ["git@git.example.org:tools/knife.git"]}})
    ok("a URL that is none: why", r.code == 6 and re.search("1 of 1 URLs were refused: .*ssh", r.last_line()), r)
    line["args"]["full_every"] = 0
    ok("full_every: 0 is none", (r := f.go(line)).code == 6 and "argument full_every" in r.last_line(), r)
    f.close()


def not_mounted():
    """The disk of the lake is not there: no second lake in its place, whoever asks for one."""
    site = Site(script="on /\n  page Front\n")
    w = World(("http",))
    file = w.crawl("a", site.base + "/")
    eq("a crawl", w.tl("run", file).code, 0)
    w.lake.rename(w.dir / "unmounted")
    for args in (("run", file), ("crawl", site.base + "/"), ("convert",)):
        r = w.tl("-q", *args)
        ok(f"{args[0]}: a lake that is gone is not made anew", r.code == 9 and "is its disk mounted?" in r.err and "mkdir -p" in r.err
           and not w.lake.exists(), r)
    (w.dir / "unmounted").rename(w.lake)
    eq("when it is back, all is well", (w.tl("run", file).code, w.tl("verify").code), (0, 0))
    w.lake.rename(w.dir / "unmounted")
    w.lake.mkdir()
    eq("nor is one refused that somebody made", w.tl("run", file).code, 0)
    site.close()


main(nowhere, not_mounted, told_once, file_of_one, never_so, doctors, bound_elsewhere, one_of_many, lacking, repositories)
