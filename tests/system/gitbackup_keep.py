#!/usr/bin/env python3
"""gitbackup_keep.py - copies that build on others, and copies that are let go: what stays can always be restored, and what
REPO.bundle leads to can always be cloned. Witnesses are git and the lake's files."""
import sys

sys.dont_write_bytecode = True
from lib_gitbackup import *  # noqa: E402


def incremental():
    f = Farm()
    repo, states = f.add("acme", "tall", 1), []
    for n in range(5):
        repo.commit({"f": f"{n}\n" * 2000, f"g{n}": f"{n}\n"})
        r = f.go("acme", full_every=3, apart=True)
        states.append((refs(repo.path), f.told(r.root)["acme/tall"]["bundle"]["bytes"]))
        eq(f"full_every: 3: tall.bundle of copy {n} can be cloned, and is the newest that is whole",
           refs(f.clone(f.folder("acme") / "tall.bundle")), states[n - n % 3][0])
    copies = sorted((f.folder("acme") / "tall").glob("*.bundle"))
    full = [git("-C", repo.path, "bundle", "list-heads", c, check=False).returncode == 0 and b"\n-" not in c.read_bytes()[:200] for c in copies]
    eq("full_every: 3: the first and the fourth are whole", full, [True, False, False, True, False])
    for n, (want, _) in enumerate(states):
        stamp = copies[n].stem
        r, to = f.restore("acme/tall", "--at", stamp[:13] + ":" + stamp[14:16] + ":" + stamp[17:])
        eq(f"restore of copy {n}", (r.code, refs(to) if to.exists() else None), (0, want))
    f.close()


def pruned():
    f = Farm()
    repo, states = f.add("acme", "kept", 1), []
    r = f.go("acme", keep={"last": 0, "daily": 3})
    ok("keep: what is no policy is refused, with what it may have", r.code != 0 and "weekly" in r.err, r)
    for n in range(3):
        repo.commit({"f": f"{n}\n"})
        r = f.go("acme", keep={"last": 2}, apart=True)
        states.append((refs(repo.path), f.told(r.root)["acme/kept"]))
    top = f.folder("acme")
    copies = sorted((top / "kept").glob("*.bundle"))
    eq("keep last: 2: the first goes with the third, and is told", (len(copies), len(list((top / "kept").glob("*.refs"))), len(list((top / "kept").glob("*.zip"))), [x[1].get("dropped") for x in states]),
       (2, 2, 2, [None, None, [states[0][1]["bundle"]["path"]]]))
    eq("those that are left are the newest", ([str(c.relative_to(f.w.lake)) for c in copies], (top / "kept.bundle").samefile(copies[1])), ([x[1]["bundle"]["path"] for x in states[1:]], True))
    v = f.w.tl("verify")
    ok("verify misses nothing", v.code == 0, v)
    stamp = Path(states[0][1]["bundle"]["path"]).stem
    eq("restore --at: none is that old", f.restore("acme/kept", "--at", stamp[:13] + ":" + stamp[14:16] + ":" + stamp[17:])[0].code, 2)
    r, to = f.restore("acme/kept")
    eq("restore of what is left", (r.code, refs(to)), (0, states[2][0]))
    for at in (copies[1].stem,):
        copies[1].rename(TMP / "away")
        v = f.w.tl("verify")
        ok("but one that nobody let go is missed", v.code == 14 and at in v.out + v.err, v)
        (TMP / "away").rename(copies[1])
    for p in f.w.dir.glob("catalog.db*"):
        p.unlink()
    r = f.w.tl("rebuild")
    v = f.w.tl("verify")
    ok("a rebuilt catalog knows it", (r.code, v.code) == (0, 0), (r, v))
    for fault in ("committed", "renamed-one"):
        for at in (2, 3, 4):
            time.sleep(1.05)
            repo.commit({"f": f"{fault}{at}\n"})
            f.go("acme", keep={"last": 2}, env={"TROTLINE_FAULT": f"{fault}:{at}"})
            r = f.w.tl("run", f.w.dir / "backup.yml", "--resume", "auto")
            v = f.w.tl("verify")
            eq(f"killed at {fault}, {at}: let go after the next start", (r.code, len(list((top / "kept").glob("*.bundle"))), refs(f.clone(top / "kept.bundle")), v.code), (0, 2, refs(repo.path), 0))
    for at in (1, 2, 3, 4):
        time.sleep(1.05)
        repo.commit({"f": f"marked{at}\n"})
        f.go("acme", keep={"last": 2}, env={"TROTLINE_FAULT": f"marked:{at}"})
        eq(f"killed before what is marked was removed, {at}: the newest is there", (f.w.tl("run", f.w.dir / "backup.yml", "--resume", "auto").code, refs(f.clone(top / "kept.bundle"))), (0, refs(repo.path)))
    repo.commit({"f": "next\n"})
    f.go("acme", keep={"last": 2}, apart=True)
    eq("with the next copy all that is marked goes", (len(list((top / "kept").glob("*.bundle"))), f.w.tl("verify").code), (2, 0))
    none("nothing is left in staging", f.w.files(".staging"))
    tall = f.add("acme", "tall", 2)
    for n in range(4):
        tall.commit({"f": f"{n}\n" * 2000, f"g{n}": f"{n}\n"})
        f.go("acme", full_every=3, keep={"last": 1}, apart=True)
        eq(f"full_every: 3, last: 1: copy {n} and what it builds on", len(list((top / "tall").glob("*.bundle"))), (1, 2, 3, 1)[n])
        r, to = f.restore("acme/tall")
        eq(f"restore of copy {n}", (r.code, refs(to) if to.exists() else None), (0, refs(tall.path)))
        ok(f"tall.bundle can be cloned, {n}", isinstance(f.clone(top / "tall.bundle"), Path))
    rows = json.loads(f.w.tl("track", "status", "acme", "-o", "json").out)
    eq("track status counts what is there", {x["repository"]: x["copies"] for x in rows}, {f"github.com/acme/{n}": len(list((top / n).glob("*.bundle"))) for n in ("kept", "tall")})
    there = {str(p.relative_to(f.w.lake)) for p in (f.w.lake / "backups").rglob("*-*Z.*") if p.suffix != ".dropped"}
    same("view backups lists the files that are there", {x["path"] for x in f.w.sql("select path from backups")}, there)
    f.close()


def wikis():
    f = Farm()
    f.add("acme", "r", 1, has_wiki=True).commit({"a": "b\n"})
    wiki, told = Repo(f, "acme/r.wiki"), []
    for n in range(2):
        wiki.commit({"Home.md": f"{n}\n"})
        r = f.go("acme", keep={"last": 1}, apart=True)
        told.append(f.told(r.root)["acme/r"])
    copies = list((f.folder("acme") / "r.wiki").glob("*.bundle"))
    gone = [p.with_suffix(".bundle") for p in (f.folder("acme") / "r.wiki").glob("*.dropped")]
    eq("what is let go of a wiki is told, too", (told[0].get("dropped"), told[1].get("dropped"), len(copies)), (None, [str(p.relative_to(f.w.lake)) for p in gone], 1))
    f.close()


def at_once():
    """Two machines, each with mirrors of its own, at one repository. The slow one is held in the middle of its fetch, when it has
    chosen what to build on; meanwhile the other makes a full copy and lets that go."""
    f = Farm()
    slow, fast = ({"XDG_CACHE_HOME": str(f.w.dir / n)} for n in ("slow", "fast"))
    repo, args = f.add("acme", "raced", 1), {"full_every": 3, "keep": {"last": 1}}
    for n in range(2):
        repo.commit({f"f{n}": f"{n}\n" * 500})
        f.go("acme", env=slow, apart=True, **args)
    top = f.folder("acme") / "raced"
    before = sorted(p.stem for p in top.glob("*.bundle"))
    repo.commit({"f3": "3\n"})
    f.gate = gate = threading.Event()
    path = f.w.crawl("slow", f.line("acme", **args), leash="{depth: 3, hosts: [127.0.0.1]}")
    child = f.w.start("run", path, env=slow)
    ok("the slow one is in the middle of its fetch", f.reached.wait(PATIENCE))
    f.gate = None
    for n in (3, 4):
        f.go("acme", env=fast, apart=True, **args)
        repo.commit({f"f{n + 1}": f"{n}\n"})
    full = sorted(p.stem for p in top.glob("*.bundle"))
    eq("the fast one has let go of what the slow one builds on", (len(before), len(full), set(before) & set(full)), (2, 1, set()))
    gate.set()
    end = child.wait()
    r, to = f.restore("acme/raced")
    eq("what came of it can be restored", (end.code, r.code, refs(to) if to.exists() else r.err), (0, 0, refs(repo.path)))
    ok("and cloned", isinstance(f.clone(f.folder("acme") / "raced.bundle"), Path))
    for p in top.glob("*.refs"):
        stamp = p.stem
        eq(f"and each copy that is there, too ({stamp})", f.restore("acme/raced", "--at", stamp[:13] + ":" + stamp[14:16] + ":" + stamp[17:])[0].code, 0)
    eq("verify", f.w.tl("verify").code, 0)
    none("nothing is left in staging", f.w.files(".staging"))
    f.close()


def many_at_once():
    """Three crawls, each with mirrors of its own, again and again, while the source moves."""
    f = Farm()
    repo, args = f.add("acme", "busy", 1), {"full_every": 2, "keep": {"last": 2}}
    for n in range(4):
        repo.commit({f"f{n}": f"{n}\n"})
        running = [f.w.start("run", f.w.crawl(f"c{k}", f.line("acme", **args), leash="{depth: 3, hosts: [127.0.0.1]}"), env={"XDG_CACHE_HOME": str(f.w.dir / f"cache{k}")}) for k in range(3)]
        repo.commit({f"g{n}": f"{n}\n"})
        ended = [x.wait() for x in running]
        eq(f"round {n}: none failed", [x.code for x in ended], [0, 0, 0])
        r, to = f.restore("acme/busy")
        ok(f"round {n}: what is there can be restored and cloned", r.code == 0 and isinstance(f.clone(f.folder("acme") / "busy.bundle"), Path), r)
    for p in sorted((f.folder("acme") / "busy").glob("*.refs")):
        stamp = p.stem
        eq(f"each copy that is there can be restored ({stamp})", f.restore("acme/busy", "--at", stamp[:13] + ":" + stamp[14:16] + ":" + stamp[17:])[0].code, 0)
    eq("verify, after all of it", f.w.tl("verify").code, 0)
    f.close()


main(incremental, pruned, wikis, at_once, many_at_once)
