#!/usr/bin/env python3
"""exits.py - every exit code means what it says, and the last line on stderr says what to do."""
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

SITE = pages({"/": ["/good", "/missing", "/third"], "/good": ["/deep"], "/third": [],
    "/deep": []}) + "on /missing\n  status 404\n  body no such page\n"


def code(name, r, want, *said):
    """An exit code, and words that the last line on stderr must have."""
    last = r.last_line()
    return ok(f"{name}: exit {want}" + ("" if not said else ", and says why"),
        r.code == want and (want == 0 or last) and all(x in last for x in said), r)


def usage():
    w = World()
    code("no command", w.tl(), 2)
    code("a command that is not there, but nearly", w.tl("crwal"), 2, "crawl")
    code("run without a file", w.tl("run"), 2, "run")
    code("an option that is not there, but nearly", w.tl("run", "--rezume", "auto", "x.yml"), 2, "--resume")
    code("--fail-on of no sense", w.tl("run", "--fail-on", "sometimes", "x.yml"), 2, "sometimes")
    code("crawl of no URL", w.tl("crawl", "example.org"), 2, "https://example.org")
    code("--help", w.tl("run", "--help"), 0)
    site = Site(script=SITE)
    r = w.tl("run", w.crawl("ids", site.base + "/"))
    code("an unknown id", w.tl("show", "ffffffff"), 2, "ffffffff")
    code("an ambiguous id", w.tl("show", r.root[:2]), 2, r.root[:2])
    child = w.runs(r.root, "parent_id IS NOT NULL")[0]["run_id"]
    code("a run that is no root, to be resumed", w.tl("run", w.dir / "ids.yml", "--resume", child), 2)
    code("a run that is no root, to be stopped", w.tl("stop", child), 2)
    with open("/dev/full", "w") as full:  # what cannot be said is a failure, too
        p = subprocess.run([TROTLINE, "--config", w.config, "ls"], stdout=full, stderr=subprocess.PIPE, env=w.env,
            timeout=PATIENCE)
    eq("output that cannot be written: exit 9", (p.returncode, b"cannot write the output" in p.stderr), (9, True))
    site.close()


def configuration():
    w = World()

    def crawl_text(text):
        (w.dir / "c.yml").write_text(text)
        return w.tl("run", w.dir / "c.yml")
    good = "crawl: c\nlines:\n  - collector: http\n    args: {url: 'http://127.0.0.1:1/'}\n"
    code("a crawl file that is not there", w.tl("run", w.dir / "none.yml"), 3, "none.yml")
    code("an unknown key, with its place and the nearest known one", crawl_text(good + "leesh: {depth: 2}\n"), 3,
         "c.yml:5:1", "leash")
    code("a key twice", crawl_text(good + "crawl: d\n"), 3, "c.yml:5:1", "crawl")
    code("an anchor", crawl_text(good.replace("{url", "&a {url")), 3, "c.yml:4:")
    code("a depth that is no number", crawl_text(good + "leash: {depth: deep}\n"), 3, "c.yml:5:", "deep")
    code("an argument that http does not have", crawl_text(good.replace("}", ", folow: no}")), 3, "c.yml:", "follow")
    code("a URL that is none", crawl_text(good.replace("http://127.0.0.1:1/", "nowhere")), 3, "nowhere")
    code("a credential in the clear", crawl_text(good.replace("}", ", headers: ['Authorization: Bearer abc']}")), 3,
         "secret:")
    ok("... which is not repeated", "abc" not in crawl_text(good.replace("}",
       ", headers: ['Authorization: Bearer abc']}")).err)
    w.configure("worker: {max: 2}\n")
    code("an unknown key in trotline.yml", crawl_text(good), 3, "trotline.yml:5:1", "workers")
    code("a trotline.yml that is not there",
         Child([TROTLINE, "--config", w.dir / "no.yml", "ls"], w.dir, w.env).wait(), 3, "no.yml")
    eq("nothing was made meanwhile", (w.lake.exists(), w.catalog.exists()), (False, False))


def plugins():
    w = World(plugins=["http", "refuse_abi", "crash"])
    code("a collector that nobody has", w.tl("run", w.crawl("a", {"collector": "gopher"})), 4, "gopher")
    code("a collector made for another ABI", w.tl("run", w.crawl("b", {"collector": "refuse_abi"})), 4, "refuse_abi")
    os.chmod(w.dir / "plugins/crash.so", 0o777)
    code("a collector that others may write to", w.tl("run", w.crawl("c", {"collector": "crash"})), 4, "crash")
    site = Site(script=SITE)
    code("none of them keeps the others from working", w.tl("run", w.crawl("d", site.base + "/")), 0)
    site.close()


def outcomes():
    site = Site(script=SITE)
    w = World()
    start, missing, good = site.base + "/", site.base + "/missing", site.base + "/good"
    deep = w.crawl("deep", start)  # five runs below the root, one of them a 404 that is no line
    half = w.crawl("half", good, missing)
    dead = w.crawl("dead", missing)
    leashed = w.crawl("leashed", start, leash="{depth: 2}")
    for file, on, want in ((deep, None, 0), (deep, "line", 0), (deep, "any", 5), (deep, "10%", 5), (deep, "30%", 0),
        (deep, "root", 0), (deep, "leash", 0),
                           (half, None, 5), (half, "root", 0), (half, "never", 0), (half, "leash", 5), (dead, None, 6),
                           (dead, "root", 6), (dead, "never", 0),
                           (leashed, None, 0), (leashed, "any", 5), (leashed, "leash", 8)):
        r = w.tl("run", file, *(["--fail-on", on] if on else []))
        code(f"{file.stem}, --fail-on {on or '(not given)'}", r, want, r.root or "no root id")
        if file == deep and want:
            ok(f"deep, --fail-on {on}: the last line says that it was that", "--fail-on" in r.last_line(), r)
    code("all lines refused by the leash", w.tl("run", w.crawl("short", start, leash="{depth: 0}")), 6)
    r = w.tl("-q", "run", deep)
    eq("-q: not a byte when all is well", (r.code, r.out, r.err), (0, "", ""))
    r = w.tl("-q", "run", deep, "-o", "jsonl")
    ok("-q -o jsonl: the root id stays on stdout", r.code == 0 and r.root and r.err == "", r)
    r = w.tl("-q", "run", dead)
    ok("-q: but it speaks when it fails", r.code == 6 and r.out == "" and len(r.err.splitlines()) == 1, r)
    r = w.tl("--log-format", "json", "run", half)
    none("--log-format json: each line is JSON", [x for x in r.err.splitlines() if not isinstance(json.loads(x), dict)])
    site.close()

    site = Site(script="on /robots.txt\n  type text/plain\n  body User-agent: *\\nDisallow: /\\n\non /\n  page x\n")
    code("all lines refused by robots.txt", w.tl("run", w.crawl("polite", site.base + "/")), 6)
    site.close()
    site = Site(script="on /robots.txt\n  status 404\n  body no\n"
                "on /\n  status 401\n  header WWW-Authenticate: Bearer\n  body who are you\n")
    (w.dir / "token").write_text("swordfish\n")
    os.chmod(w.dir / "token", 0o600)
    w.configure(f"secrets: {{door: {{file: token, origins: ['{site.base}']}}}}\n")
    line = {"collector": "http", "args": {"url": site.base + "/", "headers": ["Authorization: Bearer secret:door"]}}
    r = w.tl("run", w.crawl("door", line))
    code("credentials that are rejected", r, 13)
    none("the secret stands nowhere", [p for p in w.files() if b"swordfish" in (w.lake / p).read_bytes()] +
         (["catalog"] if b"swordfish" in w.catalog.read_bytes() else []) + (["output"] if "swordfish" in r.out + r.err
         else []))
    site.close()


def slow_site():
    """Twelve pages, of which eleven wait for a gate."""
    return Site(script="on /robots.txt\n  status 404\n  body no\n" + pages({"/": [f"/p{i}"
        for i in range(11)]}) + "on /p*\n  gate g\n  page p\n")


def in_flight(site, n=11):
    until("requests to wait", lambda: json.loads(site.control("/__stats?brief"))["in_flight"] == n)


def resumed(name, w, site, file, first):
    r = w.tl("run", file, "--resume", "auto")
    ok(f"{name}: --resume auto brings the same crawl to its end",
       r.code == 0 and r.root == first and w.statuses(first) == {"success": 12}
       and not w.faults(first), r, w.statuses(first), w.faults(first))


def interrupted_and_back():
    w = World()
    for how in ("SIGINT", "SIGTERM", "--timeout"):
        site = slow_site()
        file = w.crawl("slow" + how.strip("-").lower(), site.base + "/")
        child = w.start("run", file, *(["--timeout", "2s"] if how == "--timeout" else []))
        in_flight(site)
        if how == "--timeout":
            r = child.wait()
            code(how, r, 7, "--resume", w.newest_root())
        else:
            child.signal(getattr(signal, how))
            r = child.wait(60)
            code(how, r, 11, "--resume", w.newest_root())
        first = w.newest_root()
        eq(f"{how}: the crawl is open, what was in flight waits again",
           (w.one("SELECT status FROM crawls WHERE root_id = ?", first), w.statuses(first)),
           ("open", {"success": 1, "queued": 11}))
        if how == "SIGINT":
            file.write_text(file.read_text() + "leash: {depth: 2}\n")
            code("resume after the crawl file was edited", w.tl("run", file, "--resume", first), 3, "--relax")
            site.open("g")
            code("resume --relax", w.tl("run", file, "--resume", first, "--relax"), 0)
            ok("resume --relax: the same crawl, to its end",
               w.newest_root() == first and w.statuses(first) == {"success": 12}, w.statuses(first))
        else:
            site.open("g")
            resumed(how, w, site, file, first)
        asked = sum(site.asked().values())
        r = w.tl("run", file, "--resume", first)  # edited or not
        ok(f"{how}: a crawl that is over stays over",
           r.code == 0 and r.root == first and sum(site.asked().values()) == asked and "done already" in r.last_line(), r)
        r = w.tl("run", file, "--resume", "auto")
        ok(f"{how}: --resume auto begins a new one when none is open", r.code == 0 and r.root != first, r)
        site.close()


def beside():
    """While a crawl runs: a second instance, a stop."""
    w, site = World(), slow_site()
    file = w.crawl("one", site.base + "/")
    child = w.start("run", file)
    in_flight(site)
    first = w.newest_root()
    code("another instance of a crawl that runs", w.tl("run", file), 12, "one")
    code("also to resume it", w.tl("run", file, "--resume", first), 12)
    eq("it has not touched the crawl", len(w.sql("SELECT * FROM crawls")), 1)
    code("stop", w.tl("stop", first), 0)
    r = child.wait()
    ok("a crawl that was stopped ends cleanly, and is closed",
       r.code == 0 and w.one("SELECT status FROM crawls") == "stopped" and not w.faults(first),
       r, w.faults(first))
    eq("what was in flight, or waited, is cancelled", w.statuses(first), {"success": 1, "cancelled": 11})
    code("stop of one that is over", w.tl("stop", first), 0)
    child = w.start("run", file)
    in_flight(site)
    child.kill()
    child.wait()
    site.open("g")
    r = w.tl("run", file, "--resume", "auto")
    code("a crawl killed with -9 holds no lock", r, 0)
    site.close()


def retried():
    site = Site(script=pages({"/": ["/a",
        "/b"]}) + "on /a\n  status 404\n  body no\nnext\n  page a\n  links /c\n"
                "on /b\n  status 410\n  body gone\non /c\n  page c\n")
    w = World()
    file = w.crawl("again", site.base + "/")
    r = w.tl("run", file)
    eq("two dead links", w.statuses(r.root), {"success": 1, "failed": 2})
    code("retry --reason", w.tl("retry", r.root, "--reason", "http_404"), 0, r.root)
    eq("puts back that one only, and opens the crawl", (w.statuses(r.root), w.one("SELECT status FROM crawls")),
       ({"success": 1, "failed": 1, "queued": 1}, "open"))
    again = w.tl("run", file, "--resume", "auto")
    ok("resume carries it out, and follows where it leads",
       again.root == r.root and w.statuses(r.root) == {"success": 3, "failed": 1} and not w.faults(r.root),
       again, w.statuses(r.root), w.faults(r.root))
    eq("its new document is the catalog's", {p: d.status for p, d in w.by_path(r.root, site).items()},
       {"/": "success", "/a": "success", "/b": "failed", "/c": "success"})
    code("retry when nothing failed for that reason", w.tl("retry", r.root, "--reason", "timeout"), 0, "nothing")
    site.close()


def disk_full(site, what, lake, catalog, size):
    """On a small file system of its own; where none can be mounted, there is nothing to see."""
    w = World()
    w.configure("workers: {max: 1, inflight: 4}\n", lake, catalog)
    full = w.dir / "full"
    full.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", full],
            stderr=subprocess.DEVNULL).returncode:
        return
    atexit.register(lambda: subprocess.run(["umount", "-l", full], stderr=subprocess.DEVNULL))
    (full / "ballast").write_bytes(b"x" * 100000)
    file = w.crawl("full", site.base + "/", leash="{depth: 9}")
    r = w.tl("run", file)
    code(f"a full disk under the {what}", r, 9)
    first = w.newest_root()
    ok(f"{what}: what was recorded before stands whole",
       first and not w.faults(first, closed=False) and set(w.statuses(first)) <= {"success", "queued", "leased"},
       w.statuses(first), w.faults(first, closed=False))
    subprocess.run(["mount", "-o", "remount,size=64m", full], check=True)
    r = w.tl("run", file, "--resume", "auto")
    ok(f"{what}: with room again, the same crawl goes to its end",
       r.code == 0 and r.root == first and w.statuses(first) == {"success": 85}
       and not w.faults(first), r, w.statuses(first), w.faults(first))
    subprocess.run(["umount", full], check=True)


def disk():
    site = Site("--site", "tree", "--arity", 4, "--depth", 3, "--filler", 20000)
    w = World(lake="lake-file")
    w.lake.write_text("I am a file")
    code("a lake that is a file", w.tl("run", w.crawl("file", site.base + "/")), 9, "lake-file")
    if os.geteuid() == 0:
        disk_full(site, "lake", "full/lake", "catalog.db", "900k")
        disk_full(site, "catalog", "lake", "full/catalog.db", "900k")
    site.close()


def damage():
    site = Site(script=SITE)
    w = World()
    r = w.tl("run", w.crawl("frail", site.base + "/"))
    code("verify: all is well", w.tl("verify"), 0)
    d = w.by_path(r.root, site)["/good"]
    raw = bytearray(d.raw)
    raw[len(raw) // 2] ^= 1
    os.chmod(d.file, 0o644)
    d.file.write_bytes(raw)
    os.chmod(d.file, 0o444)
    v = w.tl("verify")
    code("verify: one flipped bit", v, 14, "1 problem in")
    ok("verify: names the file, and only that", [d.path in x for x in v.out.splitlines()] == [True], v.out)
    os.unlink(d.file)
    v = w.tl("verify")
    ok("verify: a document that is gone", v.code == 14 and [d.path in x for x in v.out.splitlines()] == [True], v)
    con = sqlite3.connect(w.catalog)
    con.execute("PRAGMA user_version = 999")
    con.close()
    code("a catalog of a newer version", w.tl("run", w.dir / "frail.yml"), 14, "999")
    code("... is not read either", w.tl("ls"), 14, "999")
    w.catalog.write_bytes(b"this is no database, but it is long enough to be one " * 100)
    for wal in (f"{w.catalog}-wal", f"{w.catalog}-shm"):
        Path(wal).unlink(missing_ok=True)
    code("a catalog that is none", w.tl("run", w.dir / "frail.yml"), 14, "catalog.db")
    site.close()


def small_things():
    """What once was said wrongly, or not at all."""
    import pty
    site = Site(script="on /robots.txt\n  status 404\n  body no\non /\n  page start\n  links /a /b\non /a\n  page a\nnext\n  status 404\n  page a\n"
                "on /b\n  type text/plain\n  body no newline\nnext\n  status 503\n  body later\n")
    w = World()
    w.configure("fetch: {retries: 0, delay: 0s}\n")
    first = w.tl("crawl", site.base + "/")
    second = w.tl("crawl", site.base + "/")
    d = json.loads(w.tl("diff", first.root, second.root, "-o", "json").out)
    eq("diff: a page that answers 404 was removed, one that fails otherwise changed", ([x["key"] for x in d["removed"]], [x["key"] for x in d["changed"]], d["added"]),
       ([site.base + "/a"], [site.base + "/b"], []))
    d = json.loads(w.tl("diff", second.root, first.root, "-o", "json").out)
    eq("diff: and added when it comes back", ([x["key"] for x in d["added"]], d["removed"]), ([site.base + "/a"], []))
    run = w.one("SELECT run_id FROM runs WHERE root_id = ? AND url LIKE '%/b'", first.root)
    eq("cat --dataset: not a byte is added", w.tl("cat", "--dataset", "page", run).out, "no newline")
    try:
        master, slave = pty.openpty()
        p = subprocess.run([TROTLINE, "--config", w.config, "cat", "--dataset", "page", run], stdout=slave, stderr=subprocess.PIPE, env=w.env, timeout=PATIENCE)
        os.close(slave)
        seen = os.read(master, 1000)
        os.close(master)
        eq("cat --dataset: but for the end of the line on a terminal", (p.returncode, seen), (0, b"no newline\r\n"))
    except OSError as e:  # /dev/pts is not mounted
        note(f"there are no terminals here ({e}): cat on one is not tested")
    folder = os.open(w.dir, os.O_RDONLY)
    p = subprocess.run([TROTLINE, "--config", w.config, "url", "-"], stdin=folder, capture_output=True, env=w.env, timeout=PATIENCE)
    os.close(folder)
    ok("url - of what cannot be read: exit 2, with the reason", p.returncode == 2 and b"cannot be read" in p.stderr, p.stderr)
    code("rebuild into a place that cannot be", w.tl("rebuild", "--catalog", "/dev/null/catalog.db"), 9, "/dev/null/catalog.db")
    summary = next((w.lake / "crawls").rglob(f"{first.root}.json"))
    for kind in ("a link to itself", "a folder"):
        kept = summary.read_bytes()
        summary.unlink()
        summary.symlink_to(summary.name) if kind == "a link to itself" else summary.mkdir()
        r = w.tl("rebuild", "--catalog", w.dir / "again.db")
        ok(f"rebuild: a summary that is {kind} is damage, and named", r.code == 14 and f"{first.root}.jsonl" in r.out and "1 crawl with" in r.last_line(), r)
        (w.dir / "again.db").unlink(missing_ok=True)
        summary.unlink() if summary.is_symlink() else summary.rmdir()
        summary.write_bytes(kept)
    empty = World(plugins=[])
    r = empty.tl("doctor")
    ok("doctor: an installation without collectors is not sound", r.code == 4 and "no collector is installed" in r.out, r)
    site.close()


main(usage, configuration, plugins, outcomes, interrupted_and_back, beside, retried, disk, damage, small_things)
