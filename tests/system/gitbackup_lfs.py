#!/usr/bin/env python3
"""gitbackup_lfs.py - large files of Git LFS: which are found, who is asked for them and how, what is kept, and that what is
restored has them. The batch API is that of the test's own server; witnesses are SHA-256 and, where it is there, git-lfs."""
import sys

sys.dont_write_bytecode = True
from lib_gitbackup import *  # noqa: E402

MIB = 1 << 20


def pointer(data):
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha(data)}\nsize {len(data)}\n"


def sha(data):
    return hashlib.sha256(data).hexdigest()


def kept(f, name="acme/large"):
    login, repo = name.split("/")
    top = f.folder(login) / repo / "lfs"
    return {p.name: p.read_bytes() for p in top.rglob("*") if p.is_file()} if top.exists() else {}


def listed(f):
    return [x for x in (f.folder("acme") / "large.lfs").read_text().splitlines() if not x.startswith("#")]


def large(*more, config="", **how):
    f = Farm(config=config)
    repo = f.add("acme", "large", 1)
    f.lfs = {sha(x): x for x in more}
    for n, x in enumerate(more):
        repo.commit({"big.bin": pointer(x), "n": str(n)}, **how)
    return f, repo


def whole():
    old, new, empty = b"in history only\n" * 10, bytes(range(256)) * 3, b""
    f, repo = large(old, new)
    not_pointers = pointer(b"x").replace("oid", "\noid")
    repo.commit({"big.bin": pointer(new), "readme": "see:\n" + pointer(b"an example"), "odd": not_pointers, "none": pointer(empty).replace("spec/v1", "spec/v2"), "long": pointer(b"y") + "x" * 2000})
    repo.commit({"side.bin": pointer(empty)}, ref="refs/heads/side")
    f.lfs[sha(empty)] = empty
    r = f.go("acme")
    t = f.told(r.root)["acme/large"]
    every = sorted((old, new, empty), key=sha)
    eq("all of the history, each once", (r.code, t["status"], t["lfs"], t["lfs_objects"]), (0, "ok", "kept", [{"oid": sha(x), "size": len(x), "kept": True} for x in every]))
    eq("kept by what they are", kept(f), {sha(x): x for x in every})
    eq("and listed", listed(f), [f"{sha(x)} {len(x)}" for x in every])
    eq("asked for in one", [sorted(b) for b in f.batches], [[sha(x) for x in every]])
    where = next(p for p in (f.folder("acme") / "large").rglob(sha(new)))
    eq("below two folders, read-only", (str(where.relative_to(f.folder("acme") / "large")), oct(where.stat().st_mode & 0o777)), (f"lfs/{sha(new)[:2]}/{sha(new)[2:4]}/{sha(new)}", "0o444"))
    none("what is signed for a few minutes stands nowhere", [p for p in f.w.dir.rglob("*") if p.is_file() and SIGNED.encode() in p.read_bytes()] + [x for x in (r.out, r.err) if SIGNED in x])
    r = f.go("acme", apart=True)
    eq("unchanged: nobody is asked", (f.told(r.root)["acme/large"]["status"], len(f.batches), len(f.given)), ("unchanged", 1, 3))
    repo.commit({"more.bin": pointer(b"fresh")})
    f.lfs[sha(b"fresh")] = b"fresh"
    r = f.go("acme", apart=True, keep={"last": 1})
    eq("one more: only that is asked for", (f.batches[1:], f.told(r.root)["acme/large"]["lfs"], set(kept(f)) == set(f.lfs)), ([[sha(b"fresh")]], "kept", True))
    eq("keep lets no large file go", (len(list((f.folder("acme") / "large").glob("*.bundle"))), f.w.tl("verify").code), (1, 0))
    rows = f.w.sql("SELECT owner, name, bytes, sha256, path, at FROM backups WHERE kind = 'object'")
    eq("view backups has them", sorted((x["owner"], x["name"], x["bytes"], x["sha256"], (f.w.lake / x["path"]).name, x["at"][-1]) for x in rows),
       sorted(("acme", "large", len(d), o, o, "Z") for o, d in f.lfs.items()))
    r, to = f.restore("acme/large")
    eq("restore: they are where git-lfs looks", (r.code, {p.name: p.read_bytes() for p in (to / "lfs/objects").rglob("*") if p.is_file()}, "4 large files" in r.err), (0, f.lfs, True))
    if shutil.which("git-lfs"):
        eq("git-lfs finds them", subprocess.run(["git", "-C", to, "lfs", "smudge"], input=pointer(new).encode(), capture_output=True, env={**GIT_ENV, "HOME": str(f.w.dir), "GIT_LFS_SKIP_SMUDGE": "0"}).stdout, new)
    else:
        note("no git-lfs: its own reading is not tested")
    stamp = sorted((f.folder("acme") / "large").glob("*.lfs"))[0].stem
    shutil.rmtree(to)
    for p in f.w.dir.glob("catalog.db*"):
        p.unlink()
    eq("a rebuilt catalog has the rows", (f.w.tl("rebuild").code, f.w.one("SELECT count(*) FROM backups WHERE kind = 'object'"), f.w.tl("verify").code), (0, 4, 0))
    os.chmod(where, 0o644)
    where.write_bytes(new[:-1] + b"?")
    v = f.w.tl("verify")
    r, to = f.restore("acme/large")
    ok("one that is damaged: verify says so, and nothing is restored", (v.code, r.code, to.exists()) == (14, 14, False) and sha(new)[:12] in r.err + v.out, r, v)
    where.unlink()
    v = f.w.tl("verify")
    r, to = f.restore("acme/large")
    ok("one that is gone, likewise", (v.code, r.code, to.exists()) == (14, 14, False) and sha(new) in r.err, r, v)
    f.close()


def pieces():
    data, other = os.urandom(20 * MIB + 17), os.urandom(9 * MIB)
    f, repo = large(data)
    r = f.go("acme")
    eq("a large one comes in pieces", (r.code, kept(f) == {sha(data): data}, [x[1] for x in f.given]),
       (0, True, [f"bytes={a}-{min(a + 8 * MIB, len(data)) - 1}" for a in range(0, len(data), 8 * MIB)]))
    again = os.urandom(17 * MIB)
    f.lfs[sha(again)], f.flaky, f.given = again, True, []
    repo.commit({"big.bin": pointer(again).replace("oid", f"ext-0-x sha256:{'0' * 64}\noid")})
    r = f.go("acme", apart=True)
    eq("a piece that fails is asked for again, and goes where it belongs", (r.code, len(f.given), kept(f)[sha(again)] == again), (0, 4, True))
    f.ranges = False
    f.lfs[sha(other)] = other
    repo.commit({"big.bin": pointer(other)})
    r = f.go("acme", apart=True)
    eq("of a server that knows no pieces it is taken whole", (r.code, set(kept(f))), (0, {sha(data), sha(other), sha(again)}))
    f.close()
    f, _ = large(other, config="fetch: {timeout: 60s, per_host: 16, delay: 0s, max_body: 8MiB}\n")
    f.ranges = False
    r = f.go("acme")
    ok("unless it is over fetch.max_body, which is said", r.code == 5 and "fetch.max_body" in f.told(r.root)["acme/large"]["lfs_reason"] and not kept(f), r)
    f.ranges = True
    r = f.go("acme", apart=True)
    eq("with pieces it is not", (r.code, set(kept(f))), (0, {sha(other)}))
    f.close()
    f, _ = large(data, config="fetch: {timeout: 60s, per_host: 16, delay: 0s, max_body: 8MiB}\n")
    store = Farm()
    store.lfs, f.leads_to, f.media_header = f.lfs, store.base, {"Authorization": "RemoteAuth abc"}
    r = f.go("acme")
    eq("pieces, too, from where its server leads to; and that alone goes along", (r.code, kept(f) == f.lfs, [x[1][:8] for x in store.given], {x[2] for x in store.given}),
       (0, True, ["bytes=0-", "bytes=83", "bytes=16"], {None}))
    f.close()
    store.close()


def lacking():
    good, bad, gone = b"good" * 50, b"bad" * 50, b"gone" * 50
    f, repo = large(good, bad, gone)
    f.lfs[sha(bad)] = b"something else"
    del f.lfs[sha(gone)]
    r = f.go("acme")
    t = f.told(r.root)["acme/large"]
    eq("one is not what it should be, one is not there: exit 5, and which", (r.code, t["status"], t["lfs"], {x["oid"]: x.get("kept") for x in t["lfs_objects"]}),
       (5, "ok", "partial", {sha(good): True, sha(bad): None, sha(gone): None}))
    ok("and why", "SHA-256" in t["lfs_reason"], t)
    eq("only the good one is kept", kept(f), {sha(good): good})
    same("the list says what is not", listed(f), [f"{sha(good)} 200", f"-{sha(bad)} 150", f"-{sha(gone)} 200"])
    none("nothing of it is left", f.w.files("attachments") + f.w.files(".staging"))
    r, to = f.restore("acme/large")
    ok("restore gives what there is, and says what is lacking", r.code == 0 and len(list((to / "lfs/objects").rglob("*"))) == 3 and "of 3 large files" in r.err, r)
    f.lfs[sha(bad)] = 500
    r = f.go("acme", apart=True)
    eq("unchanged: those that lack are asked for again", (r.code, f.told(r.root)["acme/large"]["status"], sorted(f.batches[-1])), (5, "unchanged", sorted((sha(bad), sha(gone)))))
    f.lfs[sha(bad)] = bad
    r = f.go("acme", apart=True)
    t = f.told(r.root)["acme/large"]
    eq("and come when they can; what a server does not have is told, and no failure", (r.code, t["status"], t["lfs"], set(kept(f))), (0, "unchanged", "partial", {sha(good), sha(bad)}))
    f.lfs[sha(gone)] = gone
    r = f.go("acme", apart=True)
    n = len(f.batches)
    f.go("acme", apart=True)
    eq("all are there: nobody is asked any more", (set(kept(f)) == {sha(x) for x in (good, bad, gone)}, len(f.batches) - n, f.w.tl("verify").code), (True, 0, 0))
    f.close()
    f, _ = large(good, bad)
    f.lfs = None
    r = f.go("acme")
    t = f.told(r.root)["acme/large"]
    ok("a server without large files: pointers only, loudly", (r.code, t["lfs"], t["status"]) == (0, "pointers-only", "ok") and "pointers" in r.err, r)
    f.close()
    f, _ = large(good, bad)
    r = f.go("acme", lfs=False)
    eq("lfs: false: nobody is asked", (r.code, f.told(r.root)["acme/large"]["lfs"], f.batches, kept(f)), (0, "pointers-only", [], {}))
    r = f.go("acme", max_size=160, apart=True)
    eq("max_size: the repository itself is larger", (r.code, set(kept(f)), f.told(r.root)["acme/large"]["status"]), (0, set(), "too_big"))
    f.lists["acme"][0]["size"] = 0
    r = f.go("acme", max_size=160, apart=True)
    eq("max_size is that of large files, too", (r.code, set(kept(f)), f.told(r.root)["acme/large"]["lfs"]), (0, {sha(bad)}, "partial"))
    f.close()


def where_it_goes():
    data = b"elsewhere" * 30
    f, _ = large(data)
    other = Farm()
    other.lfs, f.media, f.media_header = f.lfs, other.base, {"X-Media-Key": "k", "Host": "evil", "Bad\r\nName": "x", "X-Bad": "a\r\nB: c"}
    (f.w.dir / "token").write_text(TOKEN + "\n")
    os.chmod(f.w.dir / "token", 0o600)
    f.w.configure(f"secrets: {{GH: {{file: token, origins: ['{f.base}']}}}}\n")
    f.private = True
    r = f.go("acme", token="GH")
    eq("kept from another server, which never sees the token", (r.code, kept(f), [x[2] for x in other.given]), (0, {sha(data): data}, [None]))
    f.private, f.media_header = True, {"Authorization": "RemoteAuth abc"}
    f.close()
    other.close()
    f, _ = large(data)
    (f.w.dir / "token").write_text(TOKEN + "\n")
    os.chmod(f.w.dir / "token", 0o600)
    f.w.configure(f"secrets: {{GH: {{file: token, origins: ['{f.base}']}}}}\n")
    f.private = True
    r = f.go("acme", token="GH")
    eq("on its own server it is asked for with the token", (r.code, kept(f), [bool(x[2]) for x in f.given]), (0, {sha(data): data}, [True]))
    none("which stands in no file", [p for p in f.w.dir.rglob("*") if p.is_file() and p.name != "token" and TOKEN.encode() in p.read_bytes()])
    f.close()
    f, _ = large(data)
    f.media = f.base.replace("127.0.0.1", "localhost")
    r = f.go("acme")
    ok("a server that is not on the leash is not asked", r.code == 5 and not f.given and not kept(f) and "localhost" in f.told(r.root)["acme/large"]["lfs_reason"], r)
    f.media = "file:///etc/passwd#"
    r = f.go("acme", apart=True)
    ok("nor is a file", r.code == 5 and not f.given and not kept(f), r)
    f.close()


def many():
    every = [str(n).encode() * 30 for n in range(260)]
    f = Farm()
    f.lfs = {sha(x): x for x in every}
    f.add("acme", "large", 1).commit({f"{n}.bin": pointer(x) for n, x in enumerate(every)})
    r = f.go("acme")
    eq("more than one run takes: the rest is for a further one", (r.code, len(kept(f)), kept(f) == f.lfs, sum(len(d.dataset("repositories")["key_values"]) for d in f.w.documents(r.root) if d.dataset("repositories"))),
       (0, 260, True, 2))
    eq("verify", f.w.tl("verify").code, 0)
    f.close()


def gone():
    f = Farm()
    f.lfs = {}
    f.add("acme", "large", 1).commit({f"{n}.bin": pointer(str(n).encode() * 30) for n in range(25)})
    r = f.go("acme")
    eq("of many that are not there some are named, and all are counted", (r.code, r.err.count("the server has no large file"), "of 25 large files" in r.err), (0, 20, True))
    f.close()


def in_turn():
    """Of many that the server has not, some are asked for again in each run, and none for ever passed over."""
    every = {sha(str(n).encode()): str(n).encode() for n in range(1150)}
    f = Farm()
    f.lfs = {}
    f.add("acme", "large", 1).commit({f"{n}.bin": pointer(x) for n, x in enumerate(every.values())})
    asked = []
    for n in range(3):
        f.batches = []
        r = f.go("acme", apart=n > 0)
        asked.append([oid for b in f.batches for oid in b])
        eq("a server that has none is no failure", (r.code, "1000 are asked for again at a time" in r.err), (0, n > 0))
    eq("at first all, then some of them", [len(x) for x in asked], [1150, 1000, 1000])
    eq("in turn", (len(set(asked[1])), asked[2][:150], set(asked[1] + asked[2]) == set(every)), (1000, sorted(every)[1000:], True))
    f.batches, f.lfs = [], {oid: every[oid] for oid in sorted(every)[-20:]}
    r = f.go("acme", apart=True)
    eq("those that have come are found, and the others are asked for, too", (r.code, kept(f) == f.lfs, len({oid for b in f.batches for oid in b})), (0, True, 1150))
    f.close()
    wrong = [str(n).encode() * 30 for n in range(6)]
    f, _ = large(*wrong, b"good" * 40)
    last = max(f.lfs)
    f.lfs = {oid: x if oid == last else b"something else" for oid, x in f.lfs.items()}
    f.go("acme")
    r = f.go("acme", apart=True)
    eq("what goes wrong at first holds up nothing behind it for ever", (r.code, set(kept(f))), (5, {last}))
    f.close()


def no_end():
    oid = sha(b"never seen")
    f = Farm()
    f.lfs, f.ranges = {oid: b""}, "none"
    f.add("acme", "large", 1).commit({"big.bin": pointer(b"never seen").replace("size 10", f"size {10**18 - 1}")})
    r = f.go("acme")
    t = f.told(r.root)["acme/large"]
    eq("pieces without bytes: one is asked for, and no more", (r.code, len(f.given), t["lfs"], kept(f)), (5, 1, "pointers-only", {}))
    ok("which is said", "8388608 bytes" in t["lfs_reason"] and "0" in t["lfs_reason"], t)
    none("nothing of it is left", f.w.files("attachments") + f.w.files(".staging"))
    f.close()


def crowd():
    """More pointers than are kept in mind, two of each file: none is pushed out by its like."""
    n = 26000
    f = Farm()
    repo = f.add("acme", "large", 1)
    oids = sorted(sha(str(i).encode()) for i in range(n))
    text = "".join(f"M 100644 inline {oid[:2]}/{oid}-{i}\ndata {len(p)}\n{p}\n" for i in range(2) for oid in oids
                   for p in [f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {1000 + i}\n"])
    repo.commit({}, ref="refs/heads/side", extra=text)
    repo.commit({"one.bin": pointer(b"one more")})
    r = f.go("acme", lfs=False)
    eq("each once", (r.code, [x[1:65] for x in listed(f)] == sorted([*oids, sha(b"one more")])), (0, True))
    f.close()


main(whole, pieces, lacking, where_it_goes, many, gone, in_turn, no_end, crowd)
