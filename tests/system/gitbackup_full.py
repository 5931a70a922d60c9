#!/usr/bin/env python3
"""gitbackup_full.py - a disk that is full, under the mirrors or under the lake: that is said, what was copied before is whole, no
copy is seen in part, and with room again the next run completes it."""
import sys

sys.dont_write_bytecode = True
from lib_gitbackup import *  # noqa: E402


def small_disk(at, size):
    """A file system of its own; False: none can be mounted here."""
    at.mkdir(parents=True)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", at], stderr=subprocess.DEVNULL).returncode:
        note("nothing can be mounted here: full disks are not tested")
        return False
    atexit.register(lambda: subprocess.run(["umount", "-l", at], stderr=subprocess.DEVNULL))
    return True


def noise(size):
    return base64.b64encode(os.urandom(size * 3 // 4)).decode() + "\n"


def whole(what, f, states):
    """Every copy that is seen is one of these, and the names lead to the last."""
    top = f.folder("acme")
    copies = sorted((top / "grows").glob("*.bundle"))
    eq(f"{what}: the copies that are seen are whole", [refs(f.clone(x)) for x in copies], states)
    eq(f"{what}: grows.bundle leads to the last of them", (top / "grows.bundle").samefile(copies[-1]), True)
    r, to = f.restore("acme/grows")
    eq(f"{what}: restore", (r.code, refs(to)), (0, states[-1]))
    none(f"{what}: nothing else lies there", [x for x in (top / "grows").iterdir() if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.(bundle|zip|refs|error)", x.name)])


def goes_on(what, f, repo, disk, states, env):
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
    r = f.w.tl("run", f.w.dir / "backup.yml", "--resume", "auto", env=env)
    if r.code == 0 and refs(repo.path) != refs(f.clone(f.folder("acme") / "grows.bundle")):
        r = f.go("acme", env=env, apart=True)
    elif r.code:
        r = f.go("acme", env=env, apart=True)
    eq(f"{what}: with room again it is copied", (r.code, (f.folder("acme") / "grows.error").exists()), (0, False))
    whole(f"{what}, after", f, states + [refs(repo.path)])
    eq(f"{what}: verify", f.w.tl("verify").code, 0)
    none(f"{what}: nothing is left in staging", f.w.files(".staging"))
    subprocess.run(["umount", disk], check=True)


def mirrors():
    f = Farm()
    disk = f.w.dir / "cache"
    if not small_disk(disk, "1500k"):
        return
    env, repo = {"XDG_CACHE_HOME": str(disk)}, f.add("acme", "grows", 1)
    f.add("acme", "other", 2).commit({"a": "b\n"})
    repo.commit({"a": noise(20000)})
    states = [refs(repo.path)]
    eq("mirrors: it fits", f.go("acme", env=env).code, 0)
    repo.commit({"a": noise(20000), "b": noise(3000000)})
    r = f.go("acme", env=env, apart=True)
    error = json.loads((f.folder("acme") / "grows.error").read_text())
    said = f.told(r.root)
    eq("mirrors: a disk that is full: exit 5, class disk, the other one goes on", (r.code, error["class"], said["acme/grows"]["status"], said["acme/other"]["status"]), (5, "disk", "failed", "unchanged"))
    whole("mirrors", f, states)
    goes_on("mirrors", f, repo, disk, states, env)
    f.close()


def lake():
    f = Farm()
    disk = f.w.dir / "disk"
    if not small_disk(disk, "1500k"):
        return
    f.w.configure(lake="disk/lake")
    repo = f.add("acme", "grows", 1)
    repo.commit({"a": noise(20000)})
    states = [refs(repo.path)]
    eq("lake: it fits", f.go("acme").code, 0)
    repo.commit({"a": noise(20000), "b": noise(3000000)})
    f.add("acme", "small", 2).commit({"a": "b\n"})
    r = f.go("acme", apart=True)
    eq("lake: one that does not fit: exit 5, class disk; another does", (r.code, json.loads((f.folder("acme") / "grows.error").read_text())["class"], f.told(r.root)["acme/grows"]["status"], f.told(r.root)["acme/small"]["status"]), (5, "disk", "failed", "ok"))
    whole("lake, one", f, states)
    (disk / "ballast").write_bytes(b"x" * 4096)
    with contextlib.suppress(OSError), open(disk / "ballast", "ab") as b:
        while True:
            b.write(b"x" * 4096)
            b.flush()
    r = f.go("acme", apart=True)
    ok("lake: a disk that is full ends it, and is said", r.code in (5, 9) and "space" in (r.err + json.dumps(f.w.sql("SELECT error FROM runs WHERE error > ''"))), r)
    whole("lake", f, states)
    goes_on("lake", f, repo, disk, states, None)
    f.close()


main(mirrors, lake)
