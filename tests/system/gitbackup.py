#!/usr/bin/env python3
"""gitbackup.py - backups of git repositories: what is copied when, what is told of it, and that it can be restored.

A small API of GitHub's shape and real repositories, served by `git http-backend`. Witnesses are git itself, which reads
the copies, and the lists of refs of the sources."""
import http.server
import sys
import threading
import urllib.parse
import zipfile

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

GIT_ENV = {**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_CONFIG_COUNT": "1",
           "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
PERSON = "A U Thor <a@example.org> 1700000000 +0000"
TOKEN = "ghp_0123456789abcdefABCDEFghijklmnopqrst"


def git(*args, stdin=None, check=True):
    p = subprocess.run(["git", *map(str, args)], input=stdin, capture_output=True, env=GIT_ENV, timeout=PATIENCE)
    if check and p.returncode:
        raise RuntimeError(f"git {args}: {p.stderr.decode('utf-8', 'replace')}")
    return p.stdout.decode("utf-8", "surrogateescape") if check else p


def refs(path):
    return git("-C", path, "for-each-ref", "--format=%(objectname) %(refname)").splitlines()


class Repo:
    """A source; commit() writes one commit of whole trees onto a ref."""

    def __init__(self, hub, name, head="refs/heads/main"):
        self.path = hub.repos / f"{name}.git"
        git("init", "-q", "--bare", self.path)
        git("-C", self.path, "symbolic-ref", "HEAD", head)

    def commit(self, tree, ref="refs/heads/main", onto=True, extra=""):
        lines = [f"commit {ref}\ncommitter {PERSON}\ndata 2\nc\n\n"]
        if onto and git("-C", self.path, "rev-parse", "--verify", "-q", ref, check=False).returncode == 0:
            lines.append(f"from {ref}^0\n")
        elif not onto:
            lines.insert(0, f"reset {ref}\n")
        lines.append("deleteall\n")
        for path, text in tree.items():
            if isinstance(text, tuple):
                lines.append(f"M 160000 {text[0]} {path}\n")
            else:
                lines.append(f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n")
        git("-C", self.path, "fast-import", "--quiet", "--force", stdin=("".join(lines) + extra).encode())
        return git("-C", self.path, "rev-parse", ref).strip()


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, *headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for k, v in (("Content-Type", "application/json"), *headers, ("Content-Length", str(len(body)))):
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(body)

    def backend(self, path, query):
        hub = self.server.hub
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if (self.headers.get("Transfer-Encoding") or "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        if self.command == "POST" and hub.gate:
            hub.reached.set()
            hub.gate.wait(PATIENCE)
        env = {**GIT_ENV, "GIT_PROJECT_ROOT": str(hub.repos), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
               "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_ADDR": "127.0.0.1",
               "CONTENT_TYPE": self.headers.get("Content-Type") or "", "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
               "GIT_PROTOCOL": self.headers.get("Git-Protocol") or ""}
        p = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=env, timeout=PATIENCE)
        head, _, rest = p.stdout.partition(b"\r\n\r\n")
        headers = [tuple(h.decode().split(": ", 1)) for h in head.split(b"\r\n") if b": " in h]
        status = next((int(v.split()[0]) for k, v in headers if k == "Status"), 200)
        self.send_response(status)
        for k, v in headers:
            if k not in ("Status", "Content-Length"):
                self.send_header(k, v)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def do_GET(self):
        hub = self.server.hub
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path)
        hub.seen.append((self.command, self.path, self.headers.get("Authorization")))
        part = path.strip("/").split("/")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if hub.private and TOKEN not in (self.headers.get("Authorization") or "") and not (
                    self.headers.get("Authorization") or "").startswith("Basic "):
                return self.answer(401, {"message": "Requires authentication"}, ("WWW-Authenticate", 'Basic realm="git"'))
            if part[0] == "git":
                name = "/".join(part[1:3])
                if name in hub.blocked:
                    return self.answer(451, b"Repository unavailable due to DMCA takedown.\n")
                return self.backend("/" + "/".join(part[1:]), query)
            if part[0] == "users" and part[2:] == ["repos"] and part[1].lower() in hub.lists:
                every, at = hub.lists[part[1].lower()], int(urllib.parse.parse_qs(query).get("cursor", ["0"])[0])
                more = [("Link", f'<{hub.base}{path}?cursor={at + hub.step}>; rel="next"')] if at + hub.step < len(every) else []
                return self.answer(200, every[at:at + hub.step], *more)
            if part[0] == "repos" and "/".join(part[1:]) in hub.pages:
                status, value = hub.pages["/".join(part[1:])]
                return self.answer(status, value)
            self.answer(404, {"message": "Not Found"})

    do_POST = do_GET


class Farm:
    """Repositories, their server, and a world that backs them up."""
    made = 0

    def __init__(self, config="", step=3, plugins=("gitbackup",)):
        Farm.made += 1
        self.repos = TMP / f"sources-{Farm.made}"
        self.repos.mkdir()
        self.lists, self.pages, self.seen, self.blocked = {}, {}, [], set()
        self.step, self.gate, self.reached, self.private = step, None, threading.Event(), False
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        self.server.daemon_threads, self.server.hub = True, self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.w = World(plugins=plugins, config=config)

    def entry(self, login, name, number, **more):
        return {"id": number, "name": name, "full_name": f"{login}/{name}", "owner": {"login": login}, "size": 1, "fork": False,
                "archived": False, "has_wiki": False, "clone_url": f"{self.base}/git/{urllib.parse.quote(login)}/{urllib.parse.quote(name)}.git", **more}

    def add(self, login, name, number, head="refs/heads/main", source=True, **more):
        self.lists.setdefault(login.lower(), []).append(self.entry(login, name, number, **more))
        return Repo(self, f"{login}/{name}", head) if source else None

    def line(self, login, **more):
        return {"collector": "gitbackup", "args": {"login": login, "api": self.base, **more}}

    def go(self, *lines, env=None, **more):
        time.sleep(1.05 - time.time() % 1 if more.pop("apart", False) else 0)
        lines = [self.line(x, **more) if isinstance(x, str) else x for x in lines]
        return self.w.tl("run", self.w.crawl("backup", *lines, leash="{depth: 3, hosts: [127.0.0.1]}"), env=env)

    def told(self, root):
        """{full_name: what its element says}"""
        found = {}
        for d in self.w.documents(root):
            s = d.dataset("repositories")
            for e in (s or {}).get("key_values", {}).values():
                found[e["data"]["repo"]["full_name"]] = e["data"]
        return found

    def folder(self, login, shard="*", server="github.com"):
        digest = hashlib.sha256(login.lower().encode()).hexdigest()
        found = list(self.w.lake.glob(f"backups/shard={shard}/{server}/{'/'.join(digest[i:i + 2] for i in (0, 2, 4, 6))}/{login}"))
        return found[0] if found else None

    def clone(self, bundle):
        to = Path(tempfile.mkdtemp(dir=TMP)) / "c"
        alone = shutil.copy(bundle, to.parent / "b")  # of x.bundle git would rather take x.bundle.bundle
        p = git("clone", "-q", "--mirror", alone, to, check=False)
        return to if p.returncode == 0 else p.stderr.decode()

    def restore(self, name, *more):
        to = Path(tempfile.mkdtemp(dir=TMP)) / "r"
        r = self.w.tl("restore", *more, name, to)
        return r, to

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def digest(lines):
    return hashlib.sha256("".join(x + "\n" for x in sorted(lines)).encode()).hexdigest()


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


def shards():
    f = Farm(config="shards: [{name: low, min: '00', max: '7f'}, {name: high, min: '80', max: 'ff'}]\n")
    for login in ("user62", "user308"):
        f.add(login, "r", 1).commit({"a": login})
    r = f.go("user62", "user308")
    eq("shards of one's own", (r.code, bool(f.folder("user62", "low")), bool(f.folder("user308", "high"))), (0, True, True))
    f.w.configure()
    eq("cut otherwise since: what is there is still found", f.restore("user62/r")[0].code, 0)
    f.close()


# ---------------------------------------------------------------- the tracked set

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


main(b2_to_b5, b4_to_b10, incremental, pruned, killed, secret, elsewhere, reacting, shards, track_catalog, track_redis)
