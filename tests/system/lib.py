"""lib.py - what the system tests share: TAP, a fixture server, a folder with a configuration, and three witnesses.

A test compares what the server saw (Site), what lies in the lake (World.documents) and what the catalog's views say
(World.sql); none of the three is made from another. Every test works in a temporary folder and on port 0, so tests may
run beside each other. No assertion is about speed: time limits only end what hangs.

  TROTLINE              the program under test
  FIXTURE               the fixture server (tests/server)
  TROTLINE_TEST_PLUGINS a folder with http.so
  TROTLINE_BAD_PLUGINS  a folder with crash.so and the other collectors of tests/bad
"""
import atexit
import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
from pathlib import Path
from urllib.parse import quote

BUILD = Path(__file__).resolve().parents[2] / "_build"
TROTLINE = os.environ.get("TROTLINE") or str(BUILD / "host/trotline")
FIXTURE = os.environ.get("FIXTURE") or str(BUILD / "tests/server/fixture")
PLUGINS = Path(os.environ.get("TROTLINE_TEST_PLUGINS") or BUILD / "plugins/http/.libs")
BAD = Path(os.environ.get("TROTLINE_BAD_PLUGINS") or BUILD / "tests/bad/.libs")
TMP = Path(tempfile.mkdtemp(prefix="trotline-test-"))
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
PATIENCE = 120  # seconds after which something hangs
# What sanitizers say when the program itself is at fault; collectors that crash on purpose give other words.
SANITIZER = re.compile(r"runtime error:|ERROR: LeakSanitizer|ERROR: AddressSanitizer: (?!SEGV|stack-overflow|ABRT)")

# ---------------------------------------------------------------- TAP

count = failures = 0


def short(value, most=400):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= most else text[: most - 100] + " ... " + text[-95:]


def ok(name, good, *about):
    """One check. What is behind the name is told when it fails."""
    global count, failures
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name.replace('#', '/')}", flush=True)
    if not good:
        failures += 1
        for value in about:
            for line in short(value).splitlines() or [""]:
                print("#   " + line, flush=True)
    return bool(good)


def eq(name, got, want):
    return ok(name, got == want, f"got:    {short(got)}", f"wanted: {short(want)}")


def same(name, got, want):
    """Two sets; their difference is what is told."""
    got, want = set(got), set(want)
    return ok(name, got == want, f"{len(got)} of {len(want)}; too many: {sorted(map(str, got - want))[:5]}",
              f"missing: {sorted(map(str, want - got))[:5]}")


def none(name, bad):
    bad = list(bad)
    return ok(name, not bad, f"{len(bad)}: {short(bad[:4])}")


def note(text):
    print("# " + text, flush=True)


@contextlib.contextmanager
def part(name):
    """What is raised inside is one failed check, and the test goes on behind it."""
    try:
        yield
    except Exception as e:  # a view that is missing, a document that cannot be read
        at = traceback.extract_tb(e.__traceback__)[-1]
        ok(f"{name}: to its end", False, f"{type(e).__name__}: {e}", f"{at.filename}:{at.lineno}: {at.line}")


def main(*parts):
    """Runs the parts one after the other; the plan stands at the end. With arguments, only the parts so named."""
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    for need in (TROTLINE, FIXTURE, PLUGINS, BAD):
        if not Path(need).exists():
            print(f"Bail out! {need} is not there")
            sys.exit(1)
    for p in parts:
        if not wanted or p.__name__ in wanted:
            begun = time.monotonic()
            with part(p.__name__):
                p()
            note(f"{p.__name__}: {time.monotonic() - begun:.1f} s")
    print(f"1..{count}", flush=True)
    sys.exit(1 if failures else 0)


# ---------------------------------------------------------------- processes

children = set()


@atexit.register
def end_all():
    for child in list(children):
        child.kill()
    for folder, _, _ in os.walk(TMP):  # folders that a test made read-only
        os.chmod(folder, 0o700)
    shutil.rmtree(TMP, ignore_errors=True)


def interrupted(number, _):
    sys.exit(128 + number)


signal.signal(signal.SIGTERM, interrupted)


class Child:
    """A process in a group of its own, so that it ends with all that it started."""

    def __init__(self, argv, cwd, env):
        self.out, self.err = tempfile.TemporaryFile(dir=TMP), tempfile.TemporaryFile(dir=TMP)
        self.p = subprocess.Popen([str(a) for a in argv], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=self.out,
                                  stderr=self.err, start_new_session=True)
        self.pid = self.p.pid
        children.add(self)

    def signal(self, number):
        """To the process alone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def signal_group(self, number):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def kill(self):
        self.signal_group(signal.SIGCONT)
        self.signal_group(signal.SIGKILL)

    def running(self):
        return self.p.poll() is None

    def workers(self):
        """Process ids of its children that are workers."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                    if parent == self.pid and b"--worker" in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
        return found

    def wait(self, patience=PATIENCE):
        try:
            code = self.p.wait(patience)
        except subprocess.TimeoutExpired:
            code = f"no end within {patience} s"
        if isinstance(code, str):
            self.kill()
            self.p.wait()
        self.signal_group(signal.SIGKILL)  # workers that outlived their supervisor
        children.discard(self)
        texts = []
        for f in (self.out, self.err):
            f.seek(0)
            texts.append(f.read().decode("utf-8", "replace"))
            f.close()
        if SANITIZER.search(texts[1]):
            ok("the sanitizers have nothing to say", False, texts[1])
        return Ended(code, *texts)


class Ended:
    """How a command ended: its exit code (negative: the signal it died of) and what it said."""

    def __init__(self, code, out, err):
        self.code, self.out = code, out
        self.err = re.sub(r"==\d+==WARNING: ASan doesn't fully support makecontext.*\n", "", err)  # it always says that

    @property
    def root(self):
        """The root id: the last word of stdout, the last value of a last JSON line."""
        words = re.findall(r'[^\s"{}:,]+', self.out)
        return words[-1] if words and UUID7.fullmatch(words[-1]) else None

    def last_line(self):
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __repr__(self):
        return f"exit {self.code}, stdout ...{self.out[-200:]!r}, stderr ...{self.err[-700:]!r}"


def until(what, condition, patience=PATIENCE):
    """Waits for something to become true, and returns it."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise TimeoutError(f"waited {patience} s for {what}")


# ---------------------------------------------------------------- the server

class Site:
    """A fixture server on a free port; it ends with the test, whatever happens."""

    def __init__(self, *options, script=None):
        self.log_file = tempfile.mktemp(suffix=".log", dir=TMP)
        if script is not None:
            path = Path(tempfile.mktemp(suffix=".script", dir=TMP))
            path.write_text(script)
            options = ("--script", path, *options)
        self.p = subprocess.Popen([FIXTURE, "--stdin-bound", "--log", self.log_file, *map(str, options)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        first = self.p.stdout.readline()
        if not first.strip().isdigit():
            raise RuntimeError("the fixture server did not start")
        self.port = int(first)
        self.host = f"127.0.0.1:{self.port}"
        self.base = f"http://{self.host}"

    def control(self, what):
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(self.base + what, timeout=PATIENCE) as r:
            return r.read()

    def stats(self):
        return json.loads(self.control("/__stats"))

    def reset(self):
        self.control("/__reset")

    def open(self, gate):
        self.control("/__open/" + gate)

    def log(self):
        """(method, target, host, status) of every request since the server started."""
        with open(self.log_file, encoding="utf-8", errors="surrogateescape") as f:
            return [tuple(line.split(" ")[:3]) + (int(line.split(" ")[3]),) for line in f.read().splitlines()]

    def asked(self):
        """{target: how often}, robots.txt left out, since the last reset."""
        return {path: n["requests"] if isinstance(n, dict) else n for path, n in self.stats()["by_path"].items()
                if path != "/robots.txt"}

    def get(self, path):
        """The body, as any client gets it. Counts as a request: reset afterwards."""
        return self.control(path)

    def close(self):
        self.p.stdin.close()
        self.p.wait(PATIENCE)
        self.p.stdout.close()


# ---------------------------------------------------------------- documents

class Document:
    def __init__(self, lake, path):
        self.path, self.file = path, lake / path
        self.raw = self.file.read_bytes()
        self.d = json.loads(self.raw)  # big integers stay exact in Python
        self.run_id, self.status, self.depth = self.d["run_id"], self.d["status"], self.d["lineage"]["depth"]
        self.collector = self.d["collector"]["name"]

    def sealed(self):
        at = self.raw.rfind(b',"checksum"')
        return self.d["checksum"].removeprefix("sha256:") == hashlib.sha256(self.raw[:at] + b"}").hexdigest()

    def dataset(self, name):
        return next((s for s in self.d["datasets"] if s["name"] == name), None)

    @property
    def http(self):
        return self.dataset("page")["metadata"]["http"]

    @property
    def url(self):
        return self.d["payload"].get("url")

    def original(self, name="page"):
        return original(self.dataset(name), self.raw)


def original(element, raw=b""):
    """The bytes that were fetched; those of JSON are cut out of the document as they stand there."""
    if element["encoding"] == "base64":
        return base64.b64decode(element["data"], validate=True)
    if element["encoding"] == "text":
        return element["data"].encode((element.get("metadata") or {}).get("charset") or "utf-8")
    if element["encoding"] != "json":
        raise ValueError(element["encoding"])
    mark = f'"sha256":"{element["sha256"]}","data":'.encode()
    at = raw.index(mark) + len(mark)
    return raw[at: at + element["bytes"]]


# ---------------------------------------------------------------- the program's world

def copy_plugins(to, names):
    """Only the collectors that a test needs: describing all the bad ones takes a while."""
    to.mkdir(parents=True, exist_ok=True)
    os.chmod(to, 0o755)
    for name in names:
        own = PLUGINS.parents[1] / name / ".libs"  # each collector has its folder in the build tree
        source = next(f / f"{name}.so" for f in (PLUGINS, own, BAD) if (f / f"{name}.so").exists())
        shutil.copyfile(source, to / f"{name}.so")
        os.chmod(to / f"{name}.so", 0o755)


class World:
    """A folder with a configuration, a lake, a catalog."""

    made = 0

    def __init__(self, plugins=("http",), config="", lake="lake", name=None):
        World.made += 1
        self.dir = TMP / (name or f"world-{World.made}")
        (self.dir / "elsewhere").mkdir(parents=True)
        copy_plugins(self.dir / "plugins", plugins)
        self.config = self.dir / "trotline.yml"
        self.configure(config, lake)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("TROTLINE")
            and not k.lower().endswith("_proxy")}
        self.env.update(HOME=str(self.dir), TZ="NST3:30", LC_ALL="C.UTF-8", no_proxy="*")  # times are UTC all the same
        self.env.pop("XDG_CACHE_HOME", None)
        self.env.pop("XDG_CONFIG_HOME", None)

    def configure(self, config="", lake="lake", catalog="catalog.db"):
        fetch = "" if "fetch:" in config else "fetch: {timeout: 60s, per_host: 16, delay: 0s}\n"
        self.config.write_text(f"lake: {lake}\ncatalog: {catalog}\nplugins: [plugins]\n{fetch}{config}")
        os.chmod(self.config, 0o644)
        self.lake, self.catalog = self.dir / lake, self.dir / catalog

    def crawl(self, name, *lines, leash=None, react="", target="{org: acme, project: water, name: kayaking}",
            file=None):
        """A crawl file. A line is a URL, or a dict (collector, args, leash, name). JSON is YAML."""
        path = self.dir / f"{file or name}.yml"
        text = f"crawl: {json.dumps(name, ensure_ascii=False)}\ntarget: {target}\n"
        if leash is not None:
            text += f"leash: {leash}\n"
        text += "lines:\n"
        for line in lines:
            line = {"collector": "http", "args": {"url": line}} if isinstance(line, str) else line
            text += "  - collector: " + line["collector"] + "\n"
            for key in ("args", "leash", "name"):
                if key in line:
                    value = line[key]
                    text += f"    {key}: {value if key == 'leash' else json.dumps(value, ensure_ascii=False)}\n"
        path.write_text(text + react)
        return path

    def start(self, *args, env=None):
        return Child([TROTLINE, "--config", self.config, *args], self.dir / "elsewhere", dict(self.env, **(env or {})))

    def tl(self, *args, env=None, patience=PATIENCE):
        return self.start(*args, env=env).wait(patience)

    # -- the catalog

    def sql(self, query, *args):
        con = sqlite3.connect(f"file:{quote(str(self.catalog))}?mode=ro", uri=True, timeout=30)
        try:
            con.row_factory = sqlite3.Row
            return [dict(r) for r in con.execute(query, args).fetchall()]
        finally:
            con.close()

    def one(self, query, *args):
        rows = self.sql(query, *args)
        return next(iter(rows[0].values())) if rows else None

    def runs(self, root, where="1"):
        return self.sql(f"SELECT * FROM runs WHERE root_id = ? AND {where}", root)

    def leashed(self, root, reason=None):
        rows = self.sql("SELECT * FROM leashed WHERE root_id = ?", root)
        return [r for r in rows if reason is None or r["reason"] == reason]

    def statuses(self, root):
        """{status: how many}, the root's own run left out."""
        return {r["status"]: r["n"] for r in self.sql(
            "SELECT status, count(*) n FROM runs WHERE root_id = ? AND parent_id IS NOT NULL GROUP BY status", root)}

    def newest_root(self):
        return self.one("SELECT run_id FROM runs WHERE parent_id IS NULL ORDER BY run_id DESC LIMIT 1") \
            if self.catalog.exists() else None

    # -- the lake

    def files(self, below=""):
        top = self.lake / below
        return sorted(os.path.relpath(os.path.join(folder, f), self.lake) for folder, _,
            names in os.walk(top) for f in names)

    def documents(self, root=None):
        return [Document(self.lake, p) for p in self.files("documents") if root is None or f"/clct_uuid={root}/" in p]

    def by_path(self, root, site):
        """{path: document} of the http runs on that site; of a run for which an earlier document stands, that one."""
        found = {}
        for r in self.sql("SELECT r.url, d.path FROM runs r JOIN documents d ON d.run_id = r.run_id OR d.result_id = "
                          "r.result_ref WHERE r.root_id = ? AND r.collector = 'http'", root):
            if r["url"].startswith(site.base):
                found.setdefault(r["url"][len(site.base):], []).append(r["path"])
        twice = {k: len(v) for k, v in found.items() if len(v) > 1}
        if twice:
            raise AssertionError(f"more than one document: {twice}")
        return {k: Document(self.lake, v[0]) for k, v in found.items()}

    def faults(self, root, closed=True):
        """What is wrong between lake and catalog, found without asking the program: a list of sentences."""
        wrong = []
        rows = self.sql("SELECT * FROM documents WHERE root_id = ?", root)
        on_disk = {p for p in self.files("documents") if f"/clct_uuid={root}/" in p}
        retried = {r["run_id"] for r in rows}
        wrong += [f"no row: {p}" for p in on_disk - {r["path"] for r in rows}
                  if (d := Document(self.lake, p)).status != "failed" or d.run_id not in retried]
        for r in rows:
            if r["path"] not in on_disk:
                wrong.append(f"no file: {r['path']}")
                continue
            raw = (self.lake / r["path"]).read_bytes()
            if hashlib.sha256(raw).hexdigest() != r["sha256"] or len(raw) != r["bytes"]:
                wrong.append(f"torn: {r['path']}")
            elif not Document(self.lake, r["path"]).sealed():
                wrong.append(f"bad checksum: {r['path']}")
        for view, column in (("documents", "run_id"), ("edges", "child_id")):
            wrong += [f"twice in {view}: {r['id']}" for r in self.sql(
                f"SELECT {column} id FROM {view} WHERE {column} IN (SELECT run_id FROM runs WHERE root_id = ?) " +
                ("AND kind IN ('spawn', 'page', 'react') " if view == "edges" else "") +
                "GROUP BY 1 HAVING count(*) > 1", root)]
        wrong += [f"{r['status']} without a document: {r['url']}" for r in self.runs(
            root, "status IN ('success', 'partial', 'failed', 'crashed')") if r["run_id"] not in retried]
        counts = self.sql("SELECT * FROM crawls WHERE root_id = ?", root)[0]
        real = self.sql("SELECT count(*) runs, sum(status IN ('failed', 'crashed')) failed, sum(bytes) bytes FROM runs "
                        "WHERE root_id = ?", root)[0]
        real.update(documents=len(rows), leashed=len(self.leashed(root)))
        wrong += [f"crawls.{k} is {counts[k]}, counted {v}" for k, v in real.items() if counts[k] != (v or 0)]
        if closed:
            wrong += [f"still {r['status']}: {r['url']}" for r in self.runs(root, "status IN ('queued', 'leased')")]
            wrong += [f"in .staging: {p}" for p in self.files(".staging")]
            package = [p for p in self.files("crawls") if p.endswith(f"/{root}.jsonl")]
            if len(package) != 1:
                wrong.append(f"closing records: {package}")
            else:
                lines = [json.loads(x) for x in (self.lake / package[0]).read_text().splitlines()]
                members = {(x["path"], x["sha256"], x["reused"]) for x in lines if x["kind"] == "document"}
                reused = self.sql("SELECT DISTINCT d.path, d.sha256 FROM runs r JOIN documents d "
                                  "ON d.result_id = r.result_ref WHERE r.root_id = ?", root)
                own = {(r["path"], r["sha256"], False) for r in rows}
                known = own | {(r["path"], r["sha256"], True) for r in reused if r["path"] not in on_disk}
                if members != known:
                    odd = list(members ^ known)
                    wrong.append(f"{len(members)} members in the package, {len(known)} known: {odd[:2]}")
        return wrong


def html(*links, title="page", extra=""):
    """The body of a page, for a script's `body` line (one line, blanks kept)."""
    return "<title>" + title + "</title>" + extra + "".join(f'<a href="{u}">x</a>' for u in links)


def pages(graph, **more):
    """A script: {path: links}; more[path] are other lines of its rule (a text, or a list of texts)."""
    text = []
    for path, links in graph.items():
        text.append(f"on {path}")
        extra = more.get(path, [])
        text += ["  " + x for x in ([extra] if isinstance(extra, str) else extra)]
        text.append(f"  page {path}")
        if links:
            text.append("  links " + " ".join(links))
    return "\n".join(text) + "\n"
