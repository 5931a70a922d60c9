#!/usr/bin/env python3
"""gitbackup_lists.py - a list of repositories is text from outside: what it says of other servers, of ways to get there, or
of lines in a manifest, is not believed. The witness is what lies in the lake."""
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "server"))
from github_api import Api  # noqa: E402
from lib import *  # noqa: E402

GIT = {**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, "GIT_CONFIG_NOSYSTEM": "1",
       "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def git(*args, stdin=None):
    p = subprocess.run(["git", *map(str, args)], input=stdin, capture_output=True, env=GIT, timeout=PATIENCE)
    if p.returncode:
        raise RuntimeError(f"git {args}: {p.stderr.decode('utf-8', 'replace')}")
    return p.stdout.decode()


def repository(name, *how):
    path = TMP / name
    git("init", "-q", "--bare", *how, path)
    git("-C", path, "symbolic-ref", "HEAD", "refs/heads/main")
    git("-C", path, "fast-import", "--quiet",
        stdin=b"commit refs/heads/main\ncommitter A U Thor <a@example.org> 1700000000 +0000\ndata 2\nc\n\nM 100644 inline private\ndata 6\nsecret\n")
    return path


def told(w, root):
    """What the elements say, in order."""
    return [e["data"] for d in w.documents(root) for e in (d.dataset("repositories") or {}).get("key_values", {}).values()]


def entry(n, **more):
    return {"id": n, "name": f"r{n}", "full_name": f"eve/r{n}", "owner": {"login": "eve"}, "size": 1, "fork": False,
            "archived": False, "has_wiki": False, **more}


def ways_of_a_list():
    private = repository("private.git")
    ways = [f"file://{private}", "ssh://git@127.0.0.1:1/r.git", "git://127.0.0.1:1/r.git", "ext::sh -c true", "--upload-pack=true", str(private)]
    api = Api()
    api.table["/users/eve/repos?per_page=100"] = [entry(n, server="example.org", clone_url=url) for n, url in enumerate(ways)]
    w = World(plugins=("gitbackup",))
    r = w.tl("run", w.crawl("backup", {"collector": "gitbackup", "args": {"login": "eve", "api": api.base}}, leash="{depth: 3, hosts: [127.0.0.1]}"))
    eq("each of them is refused", [(t["repo"]["full_name"], t["status"]) for t in told(w, r.root)], [(f"eve/r{n}", "refused") for n in range(len(ways))])
    none("nothing of it was copied", [p for p in w.files("backups") if not p.endswith(".json")])
    eq("and that is told", r.code, 5)
    api.close()


def lines_of_a_manifest():
    source = repository("source.git")
    oid = git("-C", source, "rev-parse", "refs/heads/main").strip()
    w = World(plugins=("gitbackup",))
    name = f"eve/r1\n# bundle 2001-01-01T00-00-00Z\n# head refs/heads/evil\n{oid} refs/heads/evil"
    repo = entry(1, server="example.org", full_name=name, clone_url=f"file://{source}")
    r = w.tl("run", w.crawl("backup", {"collector": "gitbackup", "args": {"repo": repo}}, leash="{depth: 3}"))
    eq("it is backed up under its own name", (r.code, [t["repo"]["full_name"] for t in told(w, r.root)]), (0, ["eve/r1"]))
    lines = next(p for p in (w.lake / "backups").rglob("*.refs")).read_text().splitlines()
    eq("the manifest has its ref and no other", [x for x in lines if not x.startswith("#")], [f"{oid} refs/heads/main"])
    eq("and one bundle", sum(x.startswith("# bundle ") for x in lines), 1)
    r = w.tl("restore", "example.org/eve/r1", w.dir / "again")
    eq("it can be restored", (r.code, git("-C", w.dir / "again", "for-each-ref", "--format=%(refname)").split()), (0, ["refs/heads/main"]))


def ids_of_sha256():
    source = repository("sha256.git", "--object-format=sha256")
    w = World(plugins=("gitbackup",))
    r = w.tl("run", w.crawl("backup", {"collector": "gitbackup", "args": {"url": [f"file://{source}"]}}, leash="{depth: 3}"))
    eq("a repository with ids of SHA-256 is backed up", (r.code, [t["status"] for t in told(w, r.root)]), (0, ["ok"]))
    for manifest in (True, False):
        if not manifest:
            for p in (w.lake / "backups").rglob("*.refs"):
                p.unlink()
        r = w.tl("restore", f"localhost/{str(source)[1:-4]}", w.dir / f"again-{manifest}")
        eq(f"and restored, {'by' if manifest else 'without'} its manifest", (r.code, r.code or git("-C", w.dir / f"again-{manifest}", "for-each-ref")),
           (0, git("-C", source, "for-each-ref")))


def head_of_a_manifest():
    source = repository("head.git")
    w = World(plugins=("gitbackup",))
    w.tl("run", w.crawl("backup", {"collector": "gitbackup", "args": {"url": [f"file://{source}"]}}, leash="{depth: 3}"))
    manifest = next(p for p in (w.lake / "backups").rglob("*.refs") if p.parent.name == "head")
    os.chmod(manifest, 0o644)
    manifest.write_text(manifest.read_text().replace("# head refs/heads/main", "# head refs/heads/../../../x\x1b[2J"))
    r = w.tl("restore", f"localhost/{str(source)[1:-4]}", w.dir / "again")
    eq("a HEAD that is none is damage, and nothing is left", (r.code, (w.dir / "again").exists(), "\x1b" in r.err), (14, False, False))


main(ways_of_a_list, lines_of_a_manifest, ids_of_sha256, head_of_a_manifest)
