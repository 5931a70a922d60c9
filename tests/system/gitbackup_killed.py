#!/usr/bin/env python3
"""gitbackup_killed.py - kill -9 while git is in the middle of it: of the supervisor, of the worker, of git itself, at the first
copy and at a later one. Witnesses are git, which reads the copies, the processes that are left, and the lake's files."""
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(1, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "server"))
from git_server import GitServer, commit, make_repository  # noqa: E402
from lib import *  # noqa: E402


class Place:
    """A repository whose server, once told so, keeps git waiting in the middle of its transfer."""

    def __init__(self, name):
        self.path = TMP / name / "r.git"
        self.path.parent.mkdir()
        self.refs = make_repository(self.path)
        self.reached, self.gate = threading.Event(), None
        self.server = GitServer(self.path.parent, before=self.hold)
        self.w = World(plugins=("gitbackup",))
        self.crawl = self.w.crawl("killed", {"collector": "gitbackup", "args": {"url": [self.server.base + "/r.git"]}}, leash="{depth: 1}")

    def hold(self, method, *_):
        if method == "POST" and self.gate:
            self.reached.set()
            self.gate.wait(PATIENCE)

    def start(self):
        """Comes back when git is in the middle of it."""
        self.gate = threading.Event()
        self.reached.clear()
        child = self.w.start("run", self.crawl)
        if not self.reached.wait(PATIENCE):
            raise RuntimeError("git never asked for anything")
        return child

    def release(self):
        gate, self.gate = self.gate, None
        gate.set()

    def gits(self):
        """Process ids of programs that have the server's URL among their arguments: git clone or fetch, git-remote-http."""
        found = []
        for p in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = p.read_bytes().split(b"\0")
                if b"git" in words[0] and any(x.startswith(self.server.base.encode()) for x in words):
                    found.append(int(p.parent.name))
        return found

    def copies(self):
        """What each dated bundle holds, oldest first."""
        found = []
        for p in sorted(x for x in self.w.files("backups") if re.search(r"/r/[^/]*\.bundle$", x)):
            text = subprocess.run(["git", "bundle", "list-heads", self.w.lake / p], capture_output=True, text=True, check=True).stdout
            found.append([x for x in text.splitlines() if not x.endswith(" HEAD")])
        return found

    def rest(self):
        """What is neither a mirror nor its lock, nor a copy: half a clone, files that were on their way to the lake."""
        cache = self.w.dir / ".cache/trotline/collectors/gitbackup"
        return [p.name for p in cache.iterdir() if not p.name.endswith((".git", ".lock"))] + self.w.files(".staging")

    def is_whole(self, what, copies, code=None):
        eq(f"{what}: what was copied", (code, self.copies(), self.rest(), self.w.tl("verify").code), (0, copies, [], 0))
        eq(f"{what}: nothing failed in the end", [p for p in self.w.files("backups") if p.endswith("/r.error")], [])

    def close(self):
        self.server.close()


def supervisor():
    x = Place("supervisor")
    for what, before in (("first copy", []), ("later copy", [x.refs])):
        child = x.start()
        mid = x.gits()
        child.signal(signal.SIGKILL)
        child.p.wait()
        ok(f"{what}: git was at work", mid)
        until("git to die with the supervisor", lambda: not x.gits())
        child.wait()
        eq(f"{what}: nothing of a copy is to be seen", x.copies(), before)
        x.release()
        x.is_whole(what, before + [x.refs], x.w.tl("run", x.crawl, "--resume", "auto").code)
        time.sleep(1.05 - time.time() % 1)  # a copy has its name from the second
        x.refs = commit(x.path, "later\n")
    x.close()


def worker():
    x = Place("worker")
    child = x.start()
    mid = x.gits()
    os.kill(child.workers()[0], signal.SIGKILL)
    until("that git to die with its run", lambda: not set(mid) & set(x.gits()))
    x.release()
    x.is_whole("the worker killed: another does it", [x.refs], child.wait().code)
    x.close()


def git_itself():
    x = Place("git")
    child = x.start()
    for pid in x.gits():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    r = child.wait()
    x.release()
    told = [json.loads((x.w.lake / p).read_text()) for p in x.w.files("backups") if p.endswith("/r.error")]
    eq("git killed: that is a failure, and told", (r.code, [t["class"] for t in told], x.copies()), (6, ["git"], []))
    x.is_whole("git killed: the next time", [x.refs], x.w.tl("run", x.crawl).code)
    x.close()


main(supervisor, worker, git_itself)
