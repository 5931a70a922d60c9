#!/usr/bin/env python3
"""gitbackup.py - backups of git repositories: what is copied when, what is told of it, and that it can be restored.

A small API of GitHub's shape and real repositories, served by `git http-backend`. Witnesses are git itself, which reads
the copies, and the lists of refs of the sources."""
import sys
import zipfile

sys.dont_write_bytecode = True
from lib_gitbackup import *  # noqa: E402


def b2_to_b5():
    f = Farm()
    r1 = f.add("Octocat", "Hello-World", 9007199254740993)
    r1.commit({"README": "one\n"})
    old = r1.commit({"README": "two\n"}, extra=f"reset refs/tags/light\nfrom refs/heads/main\n\ntag v1\nfrom refs/heads/main\ntagger {PERSON}\ndata 2\nv1\nreset refs/pull/1/head\nfrom refs/heads/main\n\n")
    r = f.go("octocat")
    top = f.folder("Octocat", "europe-west-1")
    eq("B1: under the digest of the login in small letters, spelt as the list does", (r.code, bool(top), "a6/65/81/57" in str(top)), (0, True, True))
    want = refs(r1.path)
    t = f.told(r.root)["Octocat/Hello-World"]
    bundle = top / "Hello-World.bundle"
    eq("B2: what is told", {k: t[k] for k in ("status", "repo", "head", "refs", "refs_digest", "lfs", "submodules", "wiki", "changed")},
       {"status": "ok", "repo": {"id": 9007199254740993, "full_name": "Octocat/Hello-World"}, "head": "refs/heads/main", "refs": 4,
        "refs_digest": digest(want), "lfs": "none", "submodules": [], "wiki": "absent", "changed": []})
    data = bundle.read_bytes()
    eq("B2: the bundle's bytes and digest", (t["bundle"]["bytes"], t["bundle"]["sha256"], t["bundle"]["verified"], (f.w.lake / t["bundle"]["path"]).read_bytes() == data),
       (len(data), hashlib.sha256(data).hexdigest(), True, True))
    eq("B2: a mirror clone has the source's refs", refs(f.clone(bundle)), want)
    with zipfile.ZipFile(top / "Hello-World.zip") as z:
        eq("B2: the zip has the tree of HEAD", {n: z.read(n) for n in z.namelist() if not n.endswith("/")}, {"Hello-World/README": b"two\n"})
    manifest = [x for x in (top / "Hello-World.refs").read_text().splitlines() if not x.startswith("#")]
    eq("B2: the manifest has the lines of which the digest is", manifest, sorted(want))
    before = {p: p.stat().st_mtime_ns for p in top.rglob("*")}
    r = f.go("octocat", apart=True)
    eq("B3: nothing new is written, and told", (f.told(r.root)["Octocat/Hello-World"]["status"], {p: p.stat().st_mtime_ns for p in top.rglob("*")} == before), ("unchanged", True))
    n = len([x for x in f.seen if x[0] == "POST"])
    r = f.go("octocat", apart=True)
    eq("B3: it costs one request", (len([x for x in f.seen if x[0] == "POST"]) - n, r.code), (0, 0))
    r1.commit({"README": "forced\n"}, onto=False)
    r1.commit({"x": "y\n"}, ref="refs/heads/side")
    git("-C", r1.path, "update-ref", "-d", "refs/tags/light")
    new = git("-C", r1.path, "rev-parse", "refs/heads/main").strip()
    r = f.go("octocat", apart=True)
    changed = {c["ref"]: (c["kind"], c["old"], c["new"]) for c in f.told(r.root)["Octocat/Hello-World"]["changed"]}
    eq("B5: forced, new, deleted", (changed["refs/heads/main"], changed["refs/heads/side"][0], changed["refs/tags/light"], len(changed)),
       (("forced", old, new), "new", ("deleted", old, None), 3))
    copies = sorted((top / "Hello-World").glob("*.bundle"))
    eq("B5: two copies, the name leads to the newer", (len(copies), bundle.samefile(copies[1])), (2, True))
    eq("B5: the old one still has the old refs", refs(f.clone(copies[0])), want)
    r, to = f.restore("Octocat/hello-world")
    eq("restore: refs and HEAD, whatever the case", (r.code, refs(to), git("-C", to, "symbolic-ref", "HEAD").strip()), (0, refs(r1.path), "refs/heads/main"))
    eq("restore: whole", git("-C", to, "fsck", "--strict", check=False).returncode, 0)
    stamp = copies[0].stem
    r, to = f.restore("github.com/Octocat/Hello-World", "--at", stamp[:13] + ":" + stamp[14:16] + ":" + stamp[17:])
    eq("restore --at: as it was", (r.code, refs(to)), (0, want))
    r, to = f.restore("Octocat/Hello-World", "--at", "2001-01-01")
    eq("restore --at before there was one: exit 2, nothing made", (r.code, to.exists()), (2, False))
    (TMP / "full").mkdir()
    (TMP / "full/x").write_text("mine")
    eq("restore over something: exit 2", (f.w.tl("restore", "Octocat/Hello-World", TMP / "full").code, os.listdir(TMP / "full")), (2, ["x"]))
    eq("refine: a row for each time that a repository was looked at", json.loads(f.w.tl("refine", "-o", "json").out)["types"]["git_backup"], {"rows": 4, "rejected": 0})
    eq("verify has nothing to complain of", f.w.tl("verify").code, 0)
    os.chmod(copies[0], 0o644)
    copies[0].write_bytes(copies[0].read_bytes()[:-1] + b"x")
    v = f.w.tl("verify")
    ok("verify notices a damaged bundle", v.code == 14 and stamp in v.out + v.err, v)
    f.close()


def names_of_none():
    """Refs under names that none can have: never taken for an empty repository, nor left out in silence."""
    f = Farm()
    good = f.add("acme", "mixed", 1).commit({"a": "b\n"})
    for n, name in enumerate(("dots", "spaces", "strange", "oids"), 2):
        f.add("acme", name, n, source=False)
    f.add("acme", "empty", 9)
    x = "1" * 40
    f.made_up = {"acme/dots.git": [f"{x} refs/heads/a..b\0 agent=x\n", f"{x} refs/heads/../../c\n"], "acme/spaces.git": [f"{x} HEAD\0\n", f"{x} refs/heads/a b\n"],
                 "acme/strange.git": [f"{x} main\0\n"], "acme/oids.git": ["12 refs/heads/main\0\n"],
                 "acme/mixed.git": [f"{good} HEAD\0 symref=HEAD:refs/heads/main\n", f"{x} refs/heads/a..b\n", f"{good} refs/heads/main\n"]}
    for again in (False, True):
        r = f.go("acme", apart=again)
        said = {k.split("/")[1]: v for k, v in f.told(r.root).items()}
        eq("none is said to be empty but the one that is", (r.code, {k: v["status"] for k, v in said.items()}),
           (5, {"dots": "failed", "spaces": "failed", "strange": "failed", "oids": "failed", "mixed": "unchanged" if again else "ok", "empty": "empty"}))
        ok("and why", "2 refs" in said["dots"]["reason"] and "not empty" in said["dots"]["reason"] and "not empty" in r.err, said["dots"])
        eq("of others what is left out is counted", (said["mixed"]["refs"], said["mixed"].get("refs_refused"), said["empty"].get("refs_refused")), (1, 1, None))
        ok("and said", "acme/mixed: 1 refs are left out" in r.err, r)
    same("each has an .error", sorted(p.name for p in f.folder("acme").glob("*.error")), ["dots.error", "oids.error", "spaces.error", "strange.error"])
    f.close()


def b4_to_b10():
    f = Farm(step=4)
    f.add("acme", "empty", 1)
    f.add("acme", "nohead", 2, head="refs/heads/gone").commit({"a": "b\n"}, ref="refs/heads/other")
    detached = f.add("acme", "detached", 3)
    detached.commit({"a": "b\n"})
    git("-C", detached.path, "update-ref", "--no-deref", "HEAD", "refs/heads/main")
    f.add("acme", "blocked", 4).commit({"a": "b\n"})
    f.blocked.add("acme/blocked.git")
    f.add("acme", "big", 5, size=4250001).commit({"a": "b\n"})
    f.add("acme", "missing", 6, source=False)
    f.pages["acme/missing"] = (200, f.entry("acme", "missing", 6))
    f.add("acme", "absent", 7, source=False)
    oid = "1" * 40
    f.add("acme", "modules", 8).commit({"lib": (oid,), ".gitmodules": '[submodule "a.b"]\n\tpath = lib\n\turl = ../priv.git\n'})
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'ab' * 32}\nsize 123456789012\n"
    f.add("acme", "lfs", 9).commit({".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "big.bin": pointer, "no.txt": "oid sha256:x\n"})
    f.add("acme", "with.wiki-to-be", 10, has_wiki=True).commit({"a": "b\n"})
    f.add("acme", "wiki", 11, has_wiki=True).commit({"a": "b\n"})
    wiki = Repo(f, "acme/wiki.wiki")
    wiki.commit({"Home.md": "hi\n"}, ref="refs/heads/master")
    for name in ("plain", "plain.bundle"):
        f.add("acme", name, 12 + len(name)).commit({"a": name + "\n"})
    for n, name in enumerate(("../up", "a/b", "..", "x\ny", "nul\0")):
        f.lists["acme"].append(f.entry("acme", name, 100 + n, clone_url=f"{f.base}/git/acme/plain.git"))
    f.lists["acme"] += [f.entry("acme", "ext", 200, clone_url="ext::sh -c touch% PWNED"), f.entry("acme", "opt", 201, clone_url="--upload-pack=touch PWNED"),
                        f.entry("acme", "pw", 202, clone_url=f"http://u:p@127.0.0.1:{f.server.server_address[1]}/git/acme/plain.git")]
    r = f.go("acme", max_size="4GiB", apart=False)
    said, top = f.told(r.root), f.folder("acme")
    files = {p.name for p in top.iterdir() if p.is_file()}
    eq("exit 5: some failed", r.code, 5)
    eq("the statuses", {k.split("/", 1)[1]: v["status"] for k, v in said.items() if v["repo"]["id"] < 100},
       {"empty": "empty", "nohead": "ok", "detached": "ok", "blocked": "unavailable", "big": "too_big", "missing": "failed", "absent": "absent",
        "modules": "ok", "lfs": "ok", "with.wiki-to-be": "ok", "wiki": "ok", "plain": "ok", "plain.bundle": "ok"})
    eq("what has an .error", {n for n in files if n.endswith(".error")}, {"missing.error", "absent.error"})
    eq("B7: and what it says", {k: json.loads((top / "missing.error").read_text())[k] for k in ("class", "rc")}, {"class": "not_found", "rc": 404})
    same("what has a bundle", {n for n in files if n.endswith(".bundle")}, {f"{n}.bundle" for n in (
        "nohead", "detached", "modules", "lfs", "with.wiki-to-be", "wiki", "wiki.wiki", "plain", "plain.bundle")})
    eq("B6: HEAD leads nowhere: no zip, and why", ("nohead.zip" in files, said["acme/nohead"]["zip"], said["acme/nohead"]["zip_reason"]), (False, None, "HEAD leads to nothing"))
    eq("a HEAD that is a commit has a zip", ("detached.zip" in files, said["acme/detached"]["head"]), (True, None))
    eq("B9: submodules are listed", said["acme/modules"]["submodules"], [{"path": "lib", "url": "../priv.git", "oid": oid}])
    eq("B10: pointers are told of", (said["acme/lfs"]["lfs"], said["acme/lfs"]["lfs_objects"]), ("pointers-only", [{"oid": "ab" * 32, "size": 123456789012}]))
    eq("wikis: promised, and there", (said["acme/with.wiki-to-be"]["wiki"], said["acme/wiki"]["wiki"]), ("absent", "ok"))
    eq("the wiki's refs", refs(f.clone(top / "wiki.wiki.bundle")), refs(wiki.path))
    eq("a repository that is called like a bundle", [refs(f.clone(top / f"{n}.bundle")) for n in ("plain", "plain.bundle")],
       [refs(f.repos / f"acme/{n}.git") for n in ("plain", "plain.bundle")])
    r2, to = f.restore("acme/plain.bundle")
    eq("and can be restored", (r2.code, refs(to) if to.exists() else None), (0, refs(f.repos / "acme/plain.bundle.git")))
    refused = [v for v in said.values() if v["repo"]["id"] >= 100]
    eq("names and URLs that are not to be touched", {v["status"] for v in refused}, {"refused"})
    none("nothing escaped, nothing ran", [p for p in f.w.dir.rglob("*") if p.name in ("up.bundle", "PWNED", "b.bundle")])
    status = f.w.tl("track", "status", "acme", "-o", "json")
    rows = {x["repository"]: x for x in json.loads(status.out)}
    ok("track status LOGIN: last copy, last error", rows["github.com/acme/plain"]["copies"] == 1 and rows["github.com/acme/plain"]["updated_at"].endswith("Z")
       and "404" in (rows["github.com/acme/missing"]["error"] or "") and rows["github.com/acme/missing"]["updated_at"] is None, status)
    Repo(f, "acme/missing").commit({"a": "now\n"})
    r = f.go("acme", max_size="4GiB", apart=True)
    eq("once it is there, its .error goes", ((top / "missing.error").exists(), (top / "missing.bundle").exists(), len(list((top / "missing").glob("*.error")))), (False, True, 2))
    f.lists["acme"] = [x for x in f.lists["acme"] if x["id"] != 3]
    (f.repos / "acme/renamed.git").symlink_to("plain.git")
    plain = next(x for x in f.lists["acme"] if x["id"] == 17)
    plain.update(name="renamed", full_name="acme/renamed", clone_url=plain["clone_url"].replace("plain.git", "renamed.git"))
    r = f.go("acme", max_size="4GiB", apart=True)
    said = f.told(r.root)
    eq("a renamed one is known by its id", (said["acme/renamed"]["repo"].get("formerly"), (top / "renamed.bundle").exists(), (top / "plain.bundle").exists()), ("acme/plain", True, True))
    eq("one that is on the list no more is told, and kept", (said["acme/detached"]["status"], (top / "detached.bundle").exists()), ("absent", True))
    f.close()


def killed():
    f = Farm()
    repo = f.add("acme", "slow", 1)
    repo.commit({"a": "b\n"})
    f.gate = threading.Event()
    child = f.w.start("run", f.w.crawl("backup", f.line("acme"), leash="{depth: 3, hosts: [127.0.0.1]}"))
    ok("git is in the middle of its fetch", f.reached.wait(PATIENCE))
    child.signal(signal.SIGKILL)
    child.wait()
    gate, f.gate = f.gate, None
    gate.set()
    eq("B8: killed in mid-clone: no copy is seen", f.w.files("backups"), [x for x in f.w.files("backups") if ".listing" in x])
    r = f.w.tl("run", f.w.dir / "backup.yml", "--resume", "auto")
    eq("B8: taken up again, it is whole", (r.code, refs(f.clone(f.folder("acme") / "slow.bundle"))), (0, refs(repo.path)))
    for fault in ("committed", "synced", "renamed-one"):
        for at in (2, 3):
            time.sleep(1.05)
            repo.commit({"a": fault + str(at) + "\n"})
            f.go("acme", env={"TROTLINE_FAULT": f"{fault}:{at}"})
            r = f.w.tl("run", f.w.dir / "backup.yml", "--resume", "auto")
            top = f.folder("acme")
            copies = sorted((top / "slow").glob("*.bundle"))
            eq(f"killed at {fault}, {at}: whole after the next start", (r.code, (top / "slow.bundle").samefile(copies[-1]), refs(f.clone(top / "slow.bundle")), f.w.tl("verify").code),
               (0, True, refs(repo.path), 0))
    none("nothing is left in staging", f.w.files(".staging"))
    f.close()


def secret():
    f = Farm()
    (f.w.dir / "token").write_text(TOKEN + "\n")
    os.chmod(f.w.dir / "token", 0o600)
    f.w.configure(f"secrets: {{GH: {{file: token, origins: ['{f.base}']}}}}\n")
    repo = f.add("acme", "private", 1)
    repo.commit({"a": "b\n"})
    f.private = True
    r = f.go("acme")
    eq("without the token: refused", (r.code, f.folder("acme")), (6, None))
    r = f.go("acme", token="GH")
    eq("with it: copied", (r.code, refs(f.clone(f.folder("acme") / "private.bundle"))), (0, refs(repo.path)))
    basic = base64.b64encode(("x-access-token:" + TOKEN).encode())
    none("it stands in no file", [p for p in f.w.dir.rglob("*") if p.is_file() and p.name != "token" and (TOKEN.encode() in (d := p.read_bytes()) or basic in d)])
    none("nor in what was said", [x for x in (r.out, r.err) if TOKEN in x or basic.decode() in x])
    f.close()


def elsewhere():
    f = Farm()
    repo = Repo(f, "group/sub/thing")
    repo.commit({"a": "b\n"})
    r = f.go({"collector": "gitbackup", "args": {"url": [f"file://{repo.path}"]}})
    found = list(f.w.lake.glob("backups/shard=*/localhost/*/*/*/*/*/thing.bundle"))
    eq("url: any remote", (r.code, len(found), found and refs(f.clone(found[0]))), (0, 1, refs(repo.path)))
    r = f.go({"collector": "gitbackup", "args": {"url": ["ext::sh -c id", f"{f.base}/git/group/sub/thing.git"]}})
    eq("url: one is refused, the other copied", (r.code, {v["status"] for v in f.told(r.root).values()}), (5, {"refused", "ok"}))
    f.close()


def reacting():
    f = Farm(plugins=("gitbackup", "github"))
    for n, react in enumerate(("", f", args: {{api: '{f.base}', full_every: 2}}")):
        name = f"seen{n}"
        repo = f.add("acme", name, 40 + n)
        repo.commit({"a": name})
        f.pages[f"acme/{name}"] = (200, dict(f.lists["acme"][-1], url=f"{f.base}/repos/acme/{name}"))
        path = f.w.crawl("watch", {"collector": "github", "args": {"url": f"{f.base}/repos/acme/{name}", "follow": {}}}, leash="{depth: 3, hosts: [127.0.0.1, api.github.com]}",
                         react="react:\n  - {on: {collector: github, type: repo}, collector: gitbackup" + react + "}\n")
        r = f.w.tl("run", path)
        top = f.folder("acme")
        eq(f"what the GitHub collector found is backed up{' with arguments of its own' if react else ''}",
           (r.code, bool(top) and (top / f"{name}.bundle").exists() and refs(f.clone(top / f"{name}.bundle"))), (0, refs(repo.path)))
    f.close()


def long_lists():
    f = Farm(step=100)
    f.lists["acme"] = [f.entry("acme", f"r{n}", 10 ** 15 + n * 7919 % 2003) for n in range(2000)]
    one = f.add("acme", "kept", 5)
    one.commit({"a": "b\n"})
    f.go("acme", include=["kept"])
    gone = {x["full_name"] for x in f.lists["acme"][:-1:3]}
    f.lists["acme"] = [x for x in f.lists["acme"] if x["full_name"] not in gone][::-1]
    (f.repos / "acme/renamed.git").symlink_to("kept.git")
    f.lists["acme"][0].update(name="renamed", full_name="acme/renamed", clone_url=f.lists["acme"][0]["clone_url"].replace("kept", "renamed"))
    r = f.go("acme", include=["renamed"], apart=True)
    said = f.told(r.root)
    eq("of a long list, in another order: those that went, and one that is called otherwise", ({k for k, v in said.items() if v["status"] == "absent"} == gone, said["acme/renamed"]["repo"].get("formerly"), len(said)),
       (True, "acme/kept", len(gone) + 1))
    f.close()


def shards():
    f = Farm(config="shards: [{name: low, min: '00', max: '7f'}, {name: high, min: '80', max: 'ff'}]\n")
    for login in ("user62", "user308"):
        f.add(login, "r", 1).commit({"a": login})
    r = f.go("user62", "user308")
    eq("shards of one's own", (r.code, bool(f.folder("user62", "low")), bool(f.folder("user308", "high"))), (0, True, True))
    f.w.configure()
    eq("cut otherwise since: what is there is still found", f.restore("user62/r")[0].code, 0)
    f.close()


main(b2_to_b5, b4_to_b10, names_of_none, killed, secret, elsewhere, reacting, long_lists, shards)
