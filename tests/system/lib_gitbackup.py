"""lib_gitbackup.py - repositories, a small API of GitHub's shape that lists them, `git http-backend` that serves them, and a
world that backs them up."""
import http.server
import sys
import threading
import urllib.parse

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from git_server import backend  # noqa: E402

GIT_ENV = {**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_CONFIG_COUNT": "1",
           "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
PERSON = "A U Thor <a@example.org> 1700000000 +0000"
SIGNED = "signature-of-a-few-minutes"
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

    def answer(self, status, body, *headers, kind="application/json"):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for k, v in (("Content-Type", kind), *headers, ("Content-Length", str(len(body)))):
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
        if path.endswith("/info/lfs/objects/batch") and hub.lfs is not None:
            return self.large(json.loads(body))
        if self.command == "POST" and hub.gate:
            hub.reached.set()
            hub.gate.wait(PATIENCE)
        status, headers, rest = backend(hub.repos, self, path, query, body)
        self.send_response(status)
        for k, v in headers:
            if k not in ("Status", "Content-Length"):
                self.send_header(k, v)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def large(self, wanted):
        """The batch API of Git LFS. hub.lfs: {oid: bytes, or how it fails}"""
        hub, objects = self.server.hub, []
        hub.batches.append([o["oid"] for o in wanted["objects"]])
        for o in wanted["objects"]:
            if o["oid"] in hub.lfs:
                action = {"href": f"{hub.media or hub.base}/media/{o['oid']}?X-Signature={SIGNED}&key=a%2Fb", "expires_in": 3600}
                if hub.media_header:
                    action["header"] = hub.media_header
                objects.append({**o, "actions": {"download": action}})
            else:
                objects.append({**o, "error": {"code": 404, "message": "Object does not exist"}})
        return self.answer(200, {"transfer": "basic", "objects": objects}, ("Content-Type", "application/vnd.git-lfs+json"))

    def give(self, oid, query):
        hub = self.server.hub
        value, asked = hub.lfs.get(oid), self.headers.get("Range")
        if isinstance(value, int) or urllib.parse.parse_qs(query) != {"X-Signature": [SIGNED], "key": ["a/b"]}:
            return self.answer(value if isinstance(value, int) else 403, b"no")
        if hub.leads_to:
            return self.answer(302, b"", ("Location", f"{hub.leads_to}/media/{oid}?{query}"))
        if asked and hub.flaky and not asked.startswith("bytes=0-"):
            hub.flaky = False
            return self.answer(503, b"not now")
        if asked and hub.ranges == "none":
            return self.answer(206, b"", ("Content-Range", asked.replace("=", " ") + "/*"))
        if asked and hub.ranges:
            first, last = (int(x) for x in asked.partition("=")[2].split("-"))
            return self.answer(206, value[first:last + 1], ("Content-Range", f"bytes {first}-{last}/{len(value)}"))
        return self.answer(200, value)

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
            if part[0] == "media":
                hub.given.append((part[1], self.headers.get("Range"), self.headers.get("Authorization")))
                return self.give(part[1], query)
            if part[0] == "git":
                name = "/".join(part[1:3])
                if name in hub.made_up and path.endswith("/info/refs"):
                    lines = ["# service=git-upload-pack\n", None, *hub.made_up[name], None]
                    body = b"".join(b"0000" if x is None else b"%04x" % (len(x.encode()) + 4) + x.encode() for x in lines)
                    return self.answer(200, body, kind="application/x-git-upload-pack-advertisement")
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
    """Repositories, their server, and a world that backs them up. made_up: {OWNER/REPO.git: lines that it says its refs are}"""
    made = 0

    def __init__(self, config="", step=3, plugins=("gitbackup",)):
        Farm.made += 1
        self.repos = TMP / f"sources-{Farm.made}"
        self.repos.mkdir()
        self.lists, self.pages, self.seen, self.blocked, self.made_up = {}, {}, [], set(), {}
        self.lfs, self.batches, self.given, self.ranges, self.flaky, self.media, self.media_header = None, [], [], True, False, None, None
        self.leads_to = None
        self.step, self.gate, self.reached, self.private = step, None, threading.Event(), False
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        self.server.daemon_threads, self.server.hub, self.server.handle_error = True, self, lambda *_: None
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
