#!/usr/bin/env python3
"""collect.py - one collector by hand: collect, collect --plain and check, with programs; and what may happen while a collector is only looked at."""
import os
import struct
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

EXEC = Path(TROTLINE).resolve().parents[1] / "plugins/exec/.libs/exec.so"
NO_ROBOTS = "on /robots.txt\n  status 404\n  body no\n"
SAY = """#!/usr/bin/env python3
import json, os, socket, subprocess, sys, time
def say(**request):
    print(json.dumps(request), flush=True)
def hear():
    return json.loads(sys.stdin.readline())
payload = hear()["payload"]
def attempt(what):
    try:
        what()
        return "done"
    except OSError as e:
        return e.errno
"""
LANDLOCK = Path("/sys/kernel/security/landlock").exists()


class Bench(World):
    """A world with the exec collector and programs for it."""

    def __init__(self, programs=None, plugins=(), config=""):
        super().__init__(plugins)
        shutil.copyfile(EXEC, self.dir / "plugins/exec.so")
        os.chmod(self.dir / "plugins/exec.so", 0o755)
        (self.dir / "programs").mkdir(mode=0o755)
        (self.dir / "kit").mkdir()
        for name, text in (programs or {}).items():
            path = self.dir / "programs" / name
            path.write_text(SAY + text)
            os.chmod(path, 0o755)
        self.listed = {"programs": [str(self.dir / "programs" / name) for name in programs or {}]}
        self.configure(f"fetch: {{retries: 0, delay: 0s}}\ncollectors: {{exec: {{options: {json.dumps(self.listed)}}}}}\n{config}")

    def payload(self, name, payload=None, **more):
        path = self.dir / "kit/payload.json"
        path.write_text(json.dumps({"program": str(self.dir / "programs" / name), "input": payload or {}} | more))
        return path

    def collect(self, collector, payload, *options):
        if not isinstance(payload, Path):
            payload, text = self.dir / "kit/payload.json", json.dumps(payload)
            payload.write_text(text)
        return self.tl("collect", collector, "--payload", payload, *options)


def data(ended, name="result"):
    return next((s["data"] for s in json.loads(ended.out)["datasets"] if s["name"] == name), None) if ended.out else None


def gone(pid):
    until(f"the end of {pid}", lambda: not Path(f"/proc/{pid}").exists() or Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX", 10)
    return True


# ---------------------------------------------------------------- programs

def programs():
    site = Site(script=NO_ROBOTS + "on /page\n  type text/plain\n  body hello\n")
    w = Bench({"asks": """
say(op='fetch', url=payload['url'])
a = hear()
say(op='state_get', key='k')
found = {'text': a['text'], 'state': hear()['value'], 'home': os.environ['HOME'],
    'socket': attempt(lambda: socket.socket().close()), 'elsewhere': attempt(lambda: open(payload['elsewhere'], 'w').close()),
    'own': attempt(lambda: open('mine', 'w').close()), 'session': os.getsid(0) == os.getpid()}
say(op='put', dataset='result', json=found)
say(op='state_put', key='k', value='x')
say(op='spawn', args={'input': {'n': 1}})
say(op='done')
""", "slow": "open('pid', 'w').write(str(subprocess.Popen(['sleep', '1000']).pid))\ntime.sleep(1000)\n"}, plugins=("runs",))
    for options in ((), ("--plain",)):
        how = "collect" + "".join(f" {o}" for o in options)
        r = w.collect("exec", w.payload("asks", {"url": site.base + "/page", "elsewhere": str(w.dir / "written")}), *options)
        d = data(r) or {}
        eq(f"{how}: a program runs, and the host fetches for it", (r.code, d.get("text")), (0, "hello"))
        eq(f"{how}: it has no network, and a session of its own", (d.get("socket"), d.get("session")), (1, True))
        eq(f"{how}: it is at home in its own folder", (d.get("home"), d.get("own")), (str(w.dir / ".cache/trotline/collectors/exec/asks"), "done"))
        eq(f"{how}: nothing is remembered", d.get("state"), None)
        if LANDLOCK or d.get("elsewhere") != "done":
            eq(f"{how}: it writes nowhere else", d.get("elsewhere"), 13)
        r = w.collect("exec", w.payload("slow", timeout="1s"), *options)
        ok(f"{how}: its deadline holds", r.code == 6 and "slow: it did not end within 1s" in r.err.replace("1.0s", "1s"), r)
        ok(f"{how}: and what it started is gone", gone(int((w.dir / ".cache/trotline/collectors/exec/slow/pid").read_text())))
        r = w.collect("exec", {"program": "/bin/true"}, *options)
        ok(f"{how}: a program that is not listed is refused", r.code == 6 and "not among the programs that collectors.exec.options.programs" in r.err, r)
        r = w.collect("runs", {"program": "cat", "args": ["/proc/self/status"]}, *options)
        ok(f"{how}: tl_exec runs what the collector declares", r.code == 0 and re.search(r"NoNewPrivs:\s*1\n", data(r, "out") or ""), r)
        r = w.collect("runs", {"program": "sh", "args": ["-c", "cat; echo no >&2; exit 3"], "input": "given\n"}, *options)
        eq(f"{how}: with its input, output and status", (data(r, "out"), data(r, "err"), str(data(r, "status"))), ("given\n", "no\n", "3"))
        r = w.collect("runs", {"program": "ls"}, *options)
        ok(f"{how}: and nothing else", r.code == 6 and "does not declare this program" in r.err, r)
        r = w.collect("runs", {"program": "sleep", "args": ["1000"], "timeout_ms": "200ms"}, *options)
        ok(f"{how}: nor for longer than it said", r.code == 6 and "did not end within" in r.err, r)
    r = w.collect("exec", w.payload("asks", {"url": site.base + "/page", "elsewhere": "/dev/null"}), "--children")
    eq("--children prints what a program asks for", [x["args"] for x in r.lines()[1:]], [{"input": {"n": 1}}])
    eq("the lake and the catalog are not touched", [p.name for p in w.dir.iterdir() if p.name in ("lake", "catalog.db")], [])
    site.close()


def kit():
    w = Bench({"good": "say(op='put', dataset='result', json=payload)\nsay(op='done')\n",
               "chance": "say(op='put', dataset='result', json=time.time_ns())\nsay(op='done')\n"})
    (w.dir / "kit/options.json").write_text(json.dumps(w.listed))
    w.payload("good", {"n": 9007199254740993})
    r = w.tl("check", "--folder", w.dir / "kit", w.dir / "plugins/exec.so")
    ok("check runs the program of a payload, every time that it runs the collector", r.code == 0 and "not ok" not in r.out, r.out, r.err)
    ok("and has looked at all of it", r.out.count("\nok ") + 1 >= 20, r.out)
    w.payload("chance")
    r = w.tl("check", "--folder", w.dir / "kit", w.dir / "plugins/exec.so")
    ok("a program that says something else each time is found out", r.code == 1 and re.search("not ok .* byte for byte", r.out), r.out)
    (w.dir / "kit/options.json").unlink()
    r = w.tl("check", "--folder", w.dir / "kit", w.dir / "plugins/exec.so")
    ok("without options no program is allowed", r.code == 1 and "not among the programs" in r.out, r.out)
    r = w.tl("doctor")
    ok("doctor has nothing to say about programs that may be run", r.code == 0 and not re.search("^program ", r.out, re.M), r.out)
    os.chmod(w.dir / "programs/good", 0o777)
    r = w.tl("doctor")
    ok("and names one that may not", r.code == 0 and re.search("^program *note *exec cannot run .*/programs/good: .*written by others", r.out, re.M), r.out)
    none("nothing is left in the collector's cache folder", (w.dir / ".cache/trotline/collectors/exec").rglob("*"))


# ---------------------------------------------------------------- what a collector may while it is looked at

def prying():
    w = Bench(plugins=("describe_prying", "prying"))
    want = "shadow refused, write refused, connect refused, start refused"
    doctor = w.tl("doctor").out
    if not re.search(r"^confinement *ok ", doctor, re.M):
        note("this kernel lacks Landlock or seccomp filters")
        return
    r = w.tl("plugins", "show", "describe_prying")
    ok("a constructor may nothing while it is described", want in r.out, r)
    r = w.tl("check", "--folder", w.dir / "kit", w.dir / "plugins/describe_prying.so")
    eq("check does not load it any other way", r.code, 0)
    r = w.collect(str(w.dir / "plugins/describe_prying.so"), {})
    ok("nor collect, but for the network", data(r, "report") == want.replace("connect refused", "connect allowed"), r)
    r = w.collect("prying", {})
    tried = {p["key"]: p["data"] for p in json.loads(r.out)["datasets"][0]["key_values"].values()}
    eq("collect confines as a crawl does", [k for k, v in tried.items() if v == "allowed"], ["write its cache"])


def broken_tag(path):
    """DT_PLTREL, which is DT_RELA in every file of this machine, becomes a number that nobody knows."""
    raw = bytearray(path.read_bytes())
    at, size, count = struct.unpack_from("<Q", raw, 32)[0], *struct.unpack_from("<HH", raw, 54)
    for i in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", raw, at + i * size)
        for entry in range(offset, offset + length, 16) if kind == 2 else ():
            if struct.unpack_from("<q", raw, entry)[0] == 20:
                struct.pack_into("<q", raw, entry + 8, 99)
                path.write_bytes(raw)
                return True
    return False


def unloadable():
    w = Bench(plugins=("describe_spin", "describe_crash", "describe_exit", "noop", "abort", "late"), config="workers: {run: 2s}\n")
    folder = w.dir / "by-path"
    folder.mkdir(mode=0o755)
    for name in ("describe_spin", "describe_crash", "describe_exit", "noop"):
        (w.dir / f"plugins/{name}.so").rename(folder / f"{name}.so")
    ok("(a file is damaged)", broken_tag(folder / "noop.so"))
    (folder / "text.so").write_text("no ELF\n")
    os.chmod(folder / "text.so", 0o755)
    for name, words in {"describe_spin": "took over 10 s to describe itself", "describe_crash": "died of signal 11 (SIGSEGV)", "describe_exit": "ended the process (exit code 0)",
                        "noop": "the file is damaged", "text": "ELF", "none": "none.so"}.items():
        for options in ((), ("--plain",)):
            r = w.collect(str(folder / f"{name}.so"), {}, *options)
            ok(f"collect {name} {' '.join(options)}: exit 4, with the reason as the last line", r.code == 4 and words in r.last_line() and not r.out, r)
    r = w.collect("abort", {})
    ok("a collector that dies is told from one that failed", r.code == 6 and "died of signal 6 (SIGABRT)" in r.last_line(), r)
    r = w.collect("late", {})
    ok("one that does not come back has the time of a run", r.code == 6 and "workers.run" in r.last_line(), r)


if not EXEC.exists():
    print(f"Bail out! {EXEC} is not there")
    sys.exit(1)
main(programs, kit, prying, unloadable)
