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
    none("nothing is left in staging", f.w.files(".staging"))
    tall = f.add("acme", "tall", 2)
    for n in range(4):
        tall.commit({"f": f"{n}\n" * 2000, f"g{n}": f"{n}\n"})
        f.go("acme", full_every=3, keep={"last": 1}, apart=True)
        eq(f"full_every: 3, last: 1: copy {n} and what it builds on", len(list((top / "tall").glob("*.bundle"))), (1, 2, 3, 1)[n])
        r, to = f.restore("acme/tall")
        eq(f"restore of copy {n}", (r.code, refs(to) if to.exists() else None), (0, refs(tall.path)))
    f.close()


main(incremental, pruned)
