#!/usr/bin/env python3
"""gitbackup_track.py - the tracked set: which names are backed up again and again, and whose turn it is; kept in the catalog,
or in a Redis of its own."""
import datetime
import sys

sys.dont_write_bytecode = True
from lib_gitbackup import *  # noqa: E402


def take(w, owner, ttl="60s"):
    r = w.tl("track", "next", "--owner", owner, "--ttl", ttl, "-o", "json")
    return (json.loads(r.out)["name"], json.loads(r.out)["token"]) if r.out.strip() else (None, r.code)


def tracked(where, w):
    names = ["github.com/b", "github.com/a"]
    eq(f"{where}: add", (w.tl("track", "add", "B", names[1]).code, w.tl("track", "add", *names).code), (0, 0))
    eq(f"{where}: what is no name", [w.tl("track", "add", x).code for x in ("github.com/..", "a/b/c", "", "é", "a b")], [2] * 5)
    one, two = take(w, "w1"), take(w, "w2")
    eq(f"{where}: each once, then none, which is no failure", (sorted([one[0], two[0]]), take(w, "w3")), (sorted(names), (None, 0)))
    eq(f"{where}: renew with the token, and with another", (w.tl("track", "renew", one[0], "--token", str(one[1])).code, w.tl("track", "renew", one[0], "--token", str(one[1] + 7)).code), (0, 1))
    status = {x["name"]: x for x in json.loads(w.tl("track", "status", "-o", "json").out)}
    eq(f"{where}: status tells who has it", status[one[0]]["owner"], "w1")
    eq(f"{where}: complete, and not a second time", [w.tl("track", "complete", one[0], "--token", str(one[1])).code for _ in "12"], [0, 1])
    time.sleep(1.1)
    eq(f"{where}: complete with an error", w.tl("track", "complete", two[0], "--token", str(two[1]), "--error", "no network").code, 0)
    status = {x["name"]: x for x in json.loads(w.tl("track", "status", "-o", "json").out)}
    eq(f"{where}: status tells when and why", (bool(status[one[0]]["completed_at"]), status[two[0]]["completed_at"], status[two[0]]["error"]), (True, None, "no network"))
    w.tl("track", "add", "new")
    got = [take(w, "w1", "1s") for _ in range(4)]
    eq(f"{where}: never done first, then the one longest ago", [x[0] for x in got], ["github.com/new", one[0], two[0], None])
    time.sleep(1.3)
    late = w.tl("track", "complete", got[1][0], "--token", str(got[1][1]))
    eq(f"{where}: a lock that ended is nobody's", late.code, 1)
    again = {x[0]: x[1] for x in (take(w, "w2") for _ in range(3))}
    eq(f"{where}: given out again, with a greater token", all(again[n] > t for n, t in got[:3]), True)
    return again


def removed(where, w):
    """Out of the set, of the lake and of Redis; who had it has lost it; it can be added again, as new."""
    w.tl("track", "add", "leaving", "staying")
    held = {x[0]: x[1] for x in iter(lambda: take(w, "w5"), (None, 0))}
    r = w.tl("track", "remove", "github.com/leaving", "never-there")
    ok(f"{where}: removed", r.code == 0 and r.last_line().startswith("1 of 2 removed"), r)
    eq(f"{where}: its lock is lost", w.tl("track", "complete", "leaving", "--token", str(held["github.com/leaving"])).code, 1)
    eq(f"{where}: nobody gets it", take(w, "w5"), (None, 0))
    names = [x["name"] for x in json.loads(w.tl("track", "status", "-o", "json").out)]
    ok(f"{where}: status has the other alone", "github.com/leaving" not in names and "github.com/staying" in names, names)
    eq(f"{where}: and so has the lake", [x for x in w.files("tracked") if "leaving" in x or "staying" in x],
       [x for x in w.files("tracked") if x.endswith("/staying.json")])
    eq(f"{where}: what is no name", w.tl("track", "remove", "a/b/c").code, 2)
    w.tl("track", "add", "leaving")
    name, token = take(w, "w5")
    eq(f"{where}: added again, with a greater token", (name, token > held["github.com/leaving"]), ("github.com/leaving", True))
    w.tl("track", "remove", "leaving", "staying")


LOOP = """
n=0
while [ $n -lt $TIMES ]; do
    next=$("$TROTLINE" --config "$CONFIG" -q track next --owner "$WHO" --ttl 60s) || exit 1
    [ -n "$next" ] || exit 2
    set -- $next
    echo "$1 $2" >>"$LOG"
    "$TROTLINE" --config "$CONFIG" -q track complete "$1" --token "$2" || exit 3
    n=$((n + 1))
done
"""
HOLD = """
"$TROTLINE" --config "$CONFIG" -q track next --owner "$WHO" --ttl 2s >"$LOG.part" && mv "$LOG.part" "$LOG"
sleep 600
"""


def shell(w, script, log, **more):
    return subprocess.Popen(["sh", "-c", script], cwd=w.dir / "elsewhere", stderr=subprocess.PIPE, start_new_session=True,
                            env={**w.env, "TROTLINE": TROTLINE, "CONFIG": str(w.config), "WHO": log.name, "LOG": str(log), **more})


def two_workers(where, w):
    """Two shells, each with a loop of its own; then one that is killed while it has a name."""
    names = [f"github.com/two{n:02}" for n in range(12)]
    w.tl("track", "add", *names)
    done = {}
    for number in range(3):
        logs = [w.dir / f"{where}-{number}-{k}" for k in range(2)]
        ended = [(p.communicate(timeout=PATIENCE)[1], p.returncode) for p in [shell(w, LOOP, log, TIMES="6") for log in logs]]
        took = [x.split() for log in logs for x in log.read_text().splitlines()]
        eq(f"{where}, round {number}: two workers, every name exactly once", (ended, sorted(x[0] for x in took)), ([(b"", 0)] * 2, names))
        eq(f"{where}, round {number}: with a token that is greater than the last", all(int(t) > done.get(n, 0) for n, t in took), True)
        done = {n: int(t) for n, t in took}
        time.sleep(1.1)  # the next round is later by the clock of Redis, too, which counts seconds there
    log = w.dir / f"{where}-held"
    p = shell(w, HOLD, log)
    until(f"{where}: a name is held", log.exists)
    os.killpg(p.pid, signal.SIGKILL)
    p.wait()
    held, token = log.read_text().split()
    others = [take(w, "w2")[0] for _ in range(11)]
    same(f"{where}: what the dead one holds is nobody else's", others, [n for n in names if n != held])
    until(f"{where}: its lock ends", lambda: not any(x["owner"] for x in json.loads(w.tl("track", "status", "-o", "json").out) if x["name"] == held))
    again = take(w, "w3")
    eq(f"{where}: and it is given to another, with a greater token", (again[0], again[1] > int(token)), (held, True))
    eq(f"{where}: the dead one's token completes and renews nothing", [w.tl("track", *x, held, "--token", token).code for x in (("complete",), ("complete", "--error", "x"), ("renew",))], [1, 1, 1])
    row = next(x for x in json.loads(w.tl("track", "status", "-o", "json").out) if x["name"] == held)
    eq(f"{where}: who has it now does", (row["owner"], row["error"], w.tl("track", "complete", held, "--token", str(again[1])).code), ("w3", None, 0))


def track_catalog():
    two_workers("catalog", World(plugins=()))
    removed("catalog", World(plugins=()))
    w = World(plugins=())
    tracked("catalog", w)
    held = w.start("track", "next", "--owner", "racer", "-o", "json").wait()
    eq("catalog: all are locked", (held.code, held.out), (0, ""))
    for n in range(8):
        w.tl("track", "add", f"r{n}")
    racing = [w.start("track", "next", "--owner", f"w{n}", "--ttl", "60s", "-o", "json") for n in range(8)]
    got = [json.loads(c.wait().out)["name"] for c in racing]
    same("catalog: eight at once get eight names", got, [f"github.com/r{n}" for n in range(8)])


# What the durable store is asked for, as views and as `track status`.
ASKED = {"usernames": "SELECT name FROM tracked ORDER BY 1", "last sync": "SELECT name, completed_at, error FROM tracked ORDER BY 1",
         "repository count": "SELECT owner, count(DISTINCT name) n FROM backups WHERE kind = 'bundle' GROUP BY 1 ORDER BY 1",
         "repositories": "SELECT DISTINCT server, owner, name FROM backups WHERE kind <> 'json' ORDER BY 1, 2, 3",
         "last update": "SELECT owner, name, max(at) at FROM backups WHERE kind = 'bundle' GROUP BY 1, 2 ORDER BY 1, 2",
         "last error": "SELECT owner, name, max(at) at FROM backups WHERE kind = 'error' AND bytes > 0 GROUP BY 1, 2 ORDER BY 1, 2"}


def answers(w):
    found = {k: w.sql(v) for k, v in ASKED.items()}
    for name in ((), ("acme",), ("octocat",)):
        found[" ".join(("track status", *name))] = json.loads(w.tl("track", "status", *name, "-o", "json").out)
    return found


def rebuilt():
    f = Farm()
    repo = f.add("Acme", "one", 1)
    repo.commit({"a": "b\n"})
    f.add("Acme", "two", 2).commit({"a": "b\n"})
    f.add("Acme", "broken", 3, source=False)
    f.pages["Acme/broken"] = (200, f.entry("Acme", "broken", 3))
    f.add("octocat", "three", 4).commit({"a": "b\n"})
    w = f.w
    eq("names are added", w.tl("track", "add", "Acme", "octocat", "octocat/three", "nobody").code, 0)
    eq("one lacks a repository, one has all", [f.go(x).code for x in ("acme", "octocat")], [5, 0])
    f.go("acme", keep={"last": 1}, apart=True)
    repo.commit({"a": "c\n"})
    f.go("acme", keep={"last": 1}, apart=True)
    for name, how in (("github.com/acme", ("--error", "broken: \u00e9 \"404\"")), ("github.com/octocat", ())):
        got = take(w, "w1")
        eq(f"{name} has its turn", (got[0], w.tl("track", "complete", name, "--token", str(got[1]), *how).code), (name, 0))
    was, order = answers(w), w.sql("SELECT name, taken_at > '' t FROM tracked ORDER BY taken_at, added_at, name")
    eq("there are answers", [bool(v) for v in was.values()], [True] * len(was))
    for p in w.dir.glob("catalog.db*"):
        p.unlink()
    r = w.tl("rebuild")
    ok("rebuild says how many", r.code == 0 and "4 tracked names" in r.err, r)
    now = answers(w)
    for k in was:
        eq(f"rebuilt, {k}: the same answer", now[k], was[k])
    eq("whose turn it is, too", w.sql("SELECT name, taken_at > '' t FROM tracked ORDER BY taken_at, added_at, name"), order)
    eq("and is given out", take(w, "w2")[0], "github.com/octocat/three")
    eq("verify", w.tl("verify").code, 0)
    records = {p.name: p for p in (w.lake / "tracked").rglob("*") if p.is_file()}
    same("one record a name", records, ["acme.json", "octocat.json", "octocat%2Fthree.json", "nobody.json"])
    ok("under the digest of the login", "/github.com/a6/65/81/57/" in str(records["octocat%2Fthree.json"]), records)
    good = records["acme.json"].read_text()
    for n, bad in enumerate(('{"name": "github.com/octocat"}', '{"name": "../../x"}', '{"name": 7}', "[", "", good.replace("202", "2 2"), '{"name": "github.com/Acme"}')):
        os.chmod(records["acme.json"], 0o644)
        records["acme.json"].write_text(bad)
        r = w.tl("rebuild", "--catalog", w.dir / f"other{n}.db")
        ok(f"a record that is none is damage, and named; the others come back ({bad[:20]})", r.code == 14 and "acme.json" in r.out and "3 tracked names" in r.err, r)
        v = w.tl("verify")
        ok("verify says so, too", v.code == 14 and v.out.count("acme.json") == 1, v)
    for what, make in (("a link", lambda p: p.symlink_to(records["octocat.json"])), ("a pipe", os.mkfifo), ("a link to a folder", lambda p: p.symlink_to(w.dir))):
        records["acme.json"].unlink()
        make(records["acme.json"])
        r, v = w.tl("rebuild", "--catalog", w.dir / f"odd-{what[2:]}.db"), w.tl("verify")
        ok(f"{what} in the place of a record is damage, and named", r.code == 14 and "acme.json: it is no file" in r.out and "3 tracked names" in r.err, r)
        ok(f"{what}: verify says so, too", v.code == 14 and v.out.count("acme.json") == 1, v)
    f.close()


def track_killed():
    """Killed between the catalog and the record: verify says what lacks, and the same command puts it right."""
    w = World()
    eq("a name before", w.tl("track", "add", "before").code, 0)
    r = w.tl("track", "add", "one", env={"TROTLINE_FAULT": "tracked:1"})
    if r.code >= 0:
        note("left out: a build without fault points")
        return
    v = w.tl("verify")
    ok("verify warns of a name without a record, and of it alone", v.code == 0 and "one.json" in v.err + v.out and "trotline track add github.com/one" in v.err + v.out and "before" not in v.err + v.out, v)
    eq("the same command writes it", (w.tl("track", "add", "one").code, "github.com/one" in w.tl("verify").err), (0, False))
    name, token = take(w, "w")
    done = ("track", "complete", name, "--token", str(token))
    ok("killed after it was completed", w.tl(*done, env={"TROTLINE_FAULT": "tracked:1"}).code < 0)
    record = next(p for p in (w.lake / "tracked").rglob("*.json") if p.stem == name.partition("/")[2])
    eq("the record has it not", json.loads(record.read_text())["completed_at"], None)
    eq("again: the lock is lost, as it is", w.tl(*done).code, 1)
    eq("and the record has it", json.loads(record.read_text())["completed_at"], w.one(f"SELECT completed_at FROM tracked WHERE name = '{name}'"))
    for p in w.dir.glob("catalog.db*"):
        p.unlink()
    eq("of a catalog that has it not, to complete it takes no record away", (w.tl(*done).code, record.exists()), (1, True))
    eq("rebuilt", (w.tl("rebuild", "--catalog", w.dir / "other.db").code, w.tl("rebuild").code), (0, 0))
    ok("killed after it was removed", w.tl("track", "remove", name, env={"TROTLINE_FAULT": "tracked:1"}).code < 0)
    eq("and taken away by the same command", (record.exists(), w.tl("track", "remove", name).code, record.exists()), (True, 0, False))


def track_redis():
    server = shutil.which("redis-server")
    if not server:
        note("no redis-server: the tracked set in Redis is not tested")
        return
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    (TMP / "redis").mkdir()
    p = subprocess.Popen([server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(TMP / "redis")],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        w = World(plugins=(), config=f"tracked: {{backend: 'redis://127.0.0.1:{port}'}}\n")
        until("Redis", lambda: (r := w.tl("track", "status")).code == 0 or "without hiredis" in r.err)
        if "without hiredis" in w.tl("track", "status").err:
            note("built without hiredis: the tracked set in Redis is not tested")
            return
        def ask(*words):
            with socket.create_connection(("127.0.0.1", port)) as s:
                s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(x), x.encode()) for x in words))
                return s.recv(65536)

        two_workers("redis", w)
        removed("redis", w)
        ask("FLUSHALL")
        w = World(plugins=(), config=w.config.read_text()[w.config.read_text().index("tracked:"):])
        again = tracked("redis", w)

        eq("redis: the keys of the seed", (ask("ZCARD", "tracked"), ask("EXISTS", "lock:github.com/new")), (b":3\r\n", b":1\r\n"))
        ok("redis: a lock ends by itself", 0 < int(ask("PTTL", "lock:github.com/new")[1:]) <= 60000)
        ask("FLUSHALL")
        w.tl("track", "status")
        eq("redis: emptied, it is filled again from what is known", (ask("ZCARD", "tracked"), ask("ZSCORE", "tracked", "github.com/new")[4:6]), (b":3\r\n", b"-1"))
        before = w.sql("SELECT name, completed_at FROM tracked ORDER BY 1")
        done = {x["name"]: x["completed_at"] for x in before if x["completed_at"]}
        for x in w.dir.glob("catalog.db*"):
            x.unlink()
        ask("FLUSHALL")
        eq("redis: catalog and Redis lost, the lake has it all", (w.tl("rebuild").code, w.tl("track", "status").code, w.sql("SELECT name, completed_at FROM tracked ORDER BY 1")), (0, 0, before))
        score = int(datetime.datetime.fromisoformat(max(done.values())[:19] + "+00:00").timestamp())
        name = max(done, key=done.get)
        eq("redis: and is filled again, with the last completion", (ask("ZCARD", "tracked"), ask("ZSCORE", "tracked", name).split(b"\r\n")[1]), (b":%d\r\n" % len(before), str(score).encode()))
        eq("redis: the locks are gone with it", len({take(w, "w9")[0] for _ in again}), 3)
    finally:
        p.kill()
        p.wait()
    r = w.tl("track", "next")
    ok("redis: out of reach: said, with the way out", r.code == 9 and "tracked.backend" in r.err, r)


main(track_catalog, rebuilt, track_killed, track_redis)
