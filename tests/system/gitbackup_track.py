#!/usr/bin/env python3
"""gitbackup_track.py - the tracked set: which names are backed up again and again, and whose turn it is; kept in the catalog,
or in a Redis of its own."""
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
    eq(f"{where}: status tells who has it", (status[one[0]]["owner"] or "").split()[-1:], ["w1"])
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


def track_catalog():
    w = World(plugins=())
    tracked("catalog", w)
    held = w.start("track", "next", "--owner", "racer", "-o", "json").wait()
    eq("catalog: all are locked", (held.code, held.out), (0, ""))
    for n in range(8):
        w.tl("track", "add", f"r{n}")
    racing = [w.start("track", "next", "--owner", f"w{n}", "--ttl", "60s", "-o", "json") for n in range(8)]
    got = [json.loads(c.wait().out)["name"] for c in racing]
    same("catalog: eight at once get eight names", got, [f"github.com/r{n}" for n in range(8)])


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
        again = tracked("redis", w)

        def ask(*words):
            with socket.create_connection(("127.0.0.1", port)) as s:
                s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(x), x.encode()) for x in words))
                return s.recv(65536)
        eq("redis: the keys of the seed", (ask("ZCARD", "tracked"), ask("EXISTS", "lock:github.com/new")), (b":3\r\n", b":1\r\n"))
        ok("redis: a lock ends by itself", 0 < int(ask("PTTL", "lock:github.com/new")[1:]) <= 60000)
        ask("FLUSHALL")
        w.tl("track", "status")
        eq("redis: emptied, it is filled again from what is known", (ask("ZCARD", "tracked"), ask("ZSCORE", "tracked", "github.com/new")[4:6]), (b":3\r\n", b"-1"))
        eq("redis: the locks are gone with it", len({take(w, "w9")[0] for _ in again}), 3)
    finally:
        p.kill()
        p.wait()
    r = w.tl("track", "next")
    ok("redis: out of reach: said, with the way out", r.code == 9 and "tracked.backend" in r.err, r)


main(track_catalog, track_redis)
