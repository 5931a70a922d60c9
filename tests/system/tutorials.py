#!/usr/bin/env python3
"""Pages of docs, typed as a reader would: files are written, commands run in one shell in the order of the page, and what the
page shows is compared with what came. Ids, times and the reader's folder differ; `...` stands for lines left out."""
import http.server
import os
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path

from lib import PATIENCE, TMP, TROTLINE, World, eq, main, none, note, ok

SOURCE = Path(os.environ.get("TROTLINE_SOURCE") or Path(__file__).resolve().parents[2])
HOME = "/home/you"


class Block:
    """kind: commands, shown (what the commands before it print), or file (with its name)."""

    def __init__(self, kind, text, name, line):
        self.kind, self.text, self.name, self.line = kind, text, name, line


def blocks(page):
    """Fences: sh is typed, text was shown, others are files, named by the last `NAME.EXT` before. What is indented is typed."""
    found, name, lines = [], None, (SOURCE / page).read_text().splitlines()
    i = 0
    while i < len(lines):
        begin = i
        if lines[i].startswith("```"):
            kind, i = lines[i][3:], i + 1
            while not lines[i].startswith("```"):
                i += 1
            text = "\n".join(lines[begin + 1:i]) + "\n"
            found.append(Block({"sh": "commands", "text": "shown"}.get(kind, "file"), text, name, begin + 1))
            i += 1
        elif lines[i].startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            while i < len(lines) and lines[i].startswith("    "):
                i += 1
            found.append(Block("commands", "\n".join(x[4:] for x in lines[begin:i]) + "\n", name, begin + 1))
        else:
            named = re.findall(r"`([\w/.-]+\.(?:yml|json|template))`", lines[i])
            name, i = named[-1] if named else name, i + 1
    return found


def write(folder, name, text, seen):
    """The first text of a file is all of it, what comes later stands below."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a" if name in seen else "w") as f:
        f.write(text)
    seen.add(name)


class Shell:
    """One bash for a page; each block of commands is answered for by itself."""

    def __init__(self, folder, env):
        self.folder, self.n = folder, 0
        self.p = subprocess.Popen(["bash"], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, commands):
        """(exit code of the last command, stdout, stderr)"""
        self.n += 1
        out, err, end = (TMP / f"{x}-{self.p.pid}-{self.n}" for x in ("out", "err", "end"))
        os.mkfifo(end)
        self.p.stdin.write(f"{{\n{commands}\n}} > {out} 2> {err}\necho $? > {end}\n")
        self.p.stdin.flush()
        code = subprocess.run(["timeout", str(PATIENCE), "cat", end], capture_output=True, text=True).stdout.strip()
        return int(code) if code else "no end", out.read_text(), err.read_text()

    def close(self):
        self.p.stdin.close()
        try:
            os.killpg(self.p.pid, 9)
        except ProcessLookupError:
            pass
        self.p.wait()


def plain(text, folder, change):
    """Without what differs from reader to reader."""
    for real, shown in change:
        text = text.replace(real, shown)
    text = text.replace(str(folder), HOME)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", "ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    text = re.sub(r"\b\d+\.\d+s\b", "DURATION", text)
    text = re.sub(r"\b\d+ B\b", "SIZE", text)  # a port may have more digits
    return [re.sub(r" +", " ", x).rstrip() for x in text.splitlines()]


def as_shown(shown, out, err):
    """What is shown and did not come, or came and is not shown; the two streams may meet in any order."""
    left, wrong, partly = [list(out), list(err)], [], "..." in shown
    for line in (x for x in shown if x != "..."):
        stream = next((x for x in left if x and x[0] == line), None) or (
            next((x for x in left if line in x), None) if partly else None)
        if stream:
            del stream[:stream.index(line) + 1]
        else:
            wrong.append(f"shown, but did not come: {line}")
    return wrong + ([] if partly else [f"came, but is not shown: {x}" for stream in left for x in stream])


def follow(page, folder, env, change=(), fix=lambda text: text, places=None):
    """Types the page. change: pairs of what is real here and what stands in the page; places: where a file lies that the page
    tells of in words. Returns how many commands there were."""
    last, typed = None, 0
    (folder / "home").mkdir(exist_ok=True)
    seen = {x.name for x in (folder / "home").iterdir()}
    shell = Shell(folder / "home", dict(env, HOME=str(folder / "home")))
    try:
        for block in blocks(page):
            text = block.text
            for real, shown in change:
                text = text.replace(shown, real) if block.kind != "shown" else text
            if block.kind == "file":
                write(Path(os.readlink(f"/proc/{shell.p.pid}/cwd")), (places or {}).get(block.name, block.name), text, seen)
            elif block.kind == "commands":
                last = shell.run(fix(text))
                typed += 1
                ok(f"{page}:{block.line}: typed as it stands", last[0] == 0 or "is bad" in last[2], text, last)
            else:
                wrong = as_shown(plain(block.text, folder / "home", ()), plain(last[1], folder / "home", change),
                                 plain(last[2], folder / "home", change))
                none(f"{page}:{block.line}: shown as it comes", wrong)
        return typed
    finally:
        shell.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(w):
    """trotline in PATH, as the page has it."""
    return dict(w.env, PATH=f"{Path(TROTLINE).parent}:{os.environ['PATH']}")


def build(w):
    """A build tree with what a page names of one."""
    at = w.dir / "clone/_build"
    (at / "host").mkdir(parents=True)
    (at / "host/trotline").symlink_to(Path(TROTLINE).resolve())
    for name in ("api", "http"):
        (at / f"plugins/{name}/.libs").mkdir(parents=True)
        shutil.copy(w.dir / f"plugins/{name}.so", at / f"plugins/{name}/.libs/{name}.so")
    os.chmod(w.dir, 0o755)
    return w.dir / "clone"


def first_api():
    for tool in ("jq", "curl", "sqlite3"):
        if not shutil.which(tool):
            note(f"first-api.md is left out: there is no {tool}")
            return
    w = World(plugins=("api", "http"))
    os.remove(w.config)
    change = [(str(build(w)), "CLONE"), (f":{(port := free_port())}/", ":8000/"), (f"server {port} ", "server 8000 ")]
    typed = follow("docs/tutorial/first-api.md", w.dir, environment(w), change)
    ok("first-api.md: there was something to type", typed > 8, typed)
    home = w.dir / "home/rivers"
    eq("first-api.md: a lake is there", (home / "lake/l2ts/type=gauge").is_dir(), True)


class Trails(http.server.BaseHTTPRequestHandler):
    """example.org/trails/ as the page of targets needs it: a page that links elsewhere, among them to a partner."""

    def do_GET(self):
        body = b'<title>x</title><a href="http://127.0.0.2:1/races/">our partner</a> <a href="/trails/a">a</a>'
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def targets():
    """docs/howto/targets.md: every file is taken, every command ends well, whatever is added to the page."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Trails)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    w = World(plugins=("http",))
    home = w.dir / "home"
    home.mkdir()
    (home / "trotline.yml").write_text(f"plugins: [{w.dir}/plugins]\nfetch: {{delay: 0s, retries: 0, timeout: 5s}}\n")

    def fix(text):
        """A line of a crontab is its command; a candidate's number is one that is there."""
        if re.match(r"\S+ \* \* \* \* ", text):
            text = re.sub(r"^\S+ \* \* \* \* \w+ ", "", text).replace("/etc/trotline/", str(home) + "/")
        known = subprocess.run([TROTLINE, "targets", "--candidates", "-o", "csv"], cwd=home, env=w.env, capture_output=True,
                               text=True).stdout if re.search(r"\bc\d+\b", text) else ""
        number = re.search(r"^c\d+", known, re.M)
        return re.sub(r"\bc\d+\b", number[0], text) if number else text

    change = [(f"http://127.0.0.1:{server.server_port}/", "https://example.org/"),
              (f"http://127.0.0.1:{server.server_port}/", "https://paddlers.test/")]
    typed = follow("docs/howto/targets.md", w.dir, environment(w), change, fix, {"kayaking.yml": "targets/kayaking.yml"})
    ok("targets.md: there was something to type", typed > 5, typed)
    w.catalog = home / "catalog.db"
    eq("targets.md: the target was carried out once", w.one("SELECT count(*) FROM crawls WHERE crawl = 'kayaking'"), 1)
    ok("targets.md: its page was fetched", w.one("SELECT count(*) FROM runs WHERE status = 'success' AND url LIKE '%/trails/%'"))
    eq("targets.md: what was promoted came from a candidate", w.one("SELECT count(*) FROM promotions WHERE reaction IS NULL") > 0,
       True)
    server.shutdown()


main(first_api, targets)
