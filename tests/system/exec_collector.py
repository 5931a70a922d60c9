#!/usr/bin/env python3
"""exec_collector.py - executables as collectors: the protocol, what they may not do, and that none of them outlives its run."""
import os
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

EXEC = Path(TROTLINE).resolve().parents[1] / "plugins/exec/.libs/exec.so"
EXAMPLES = Path(os.environ.get("TROTLINE_SOURCE") or BUILD.parent) / "plugins/exec/examples"
NO_ROBOTS = "on /robots.txt\n  status 404\n  body no\n"
SAY = """#!/usr/bin/env python3
import ctypes, json, os, signal, socket, subprocess, sys, time
def say(**request):
    print(json.dumps(request), flush=True)
def hear():
    return json.loads(sys.stdin.readline())
def ask(**request):
    say(**request)
    return hear()
hello = hear()
payload = hello["payload"]
"""


class Programs(World):
    """A world in which the exec collector may run the programs given: {name: what follows SAY, or a whole script}."""

    def __init__(self, programs, also=(), config="", plugins=("http",)):
        super().__init__(plugins)
        shutil.copyfile(EXEC, self.dir / "plugins/exec.so")
        os.chmod(self.dir / "plugins/exec.so", 0o755)
        (self.dir / "programs").mkdir(mode=0o755)
        for name, text in programs.items():
            self.put(name, text)
        listed = [str(self.dir / "programs" / name) for name in programs] + [str(p) for p in also]
        self.configure(f"fetch: {{timeout: 20s, per_host: 16, delay: 0s, retries: 0}}\n"
                       f"collectors: {{exec: {{options: {{programs: {json.dumps(listed)}}}}}}}\n{config}")
        self.cache = self.dir / ".cache/trotline/collectors/exec"

    def home(self, name):
        """The folder of a program's own."""
        return self.cache / name

    def put(self, name, text, mode=0o755):
        path = self.dir / "programs" / name
        path.write_text(text if text.startswith("#!") else SAY + text)
        os.chmod(path, mode)
        return str(path)

    def line(self, name, payload=None, timeout="60s"):
        path = name if name.startswith("/") else str(self.dir / "programs" / name)
        return {"collector": "exec", "args": {"program": path, "timeout": timeout, "input": payload or {}}}

    def run(self, name, *lines, leash="{hosts: [127.0.0.1]}", options=()):
        """Runs a crawl; [(run's row, its document or None)] of the exec runs in the order in which they were put."""
        r = self.tl(*options, "run", self.crawl(name, *lines, leash=leash))
        self.ended = r
        if not r.root:
            raise RuntimeError(r)
        documents = {d.run_id: d for d in self.documents(r.root)}
        rows = self.sql("SELECT * FROM runs WHERE root_id = ? AND collector = 'exec' ORDER BY run_id", r.root)
        return [(row, documents.get(row["run_id"])) for row in rows]

    def values(self, document):
        """What the program put into `values` as JSON."""
        return {k: v["data"] for k, v in pairs(document).items() if v["encoding"] == "json"}


def pairs(document):
    return {p["key"]: p for p in elements(document, "values", "key_values")}


def pages_of(document):
    return sorted(elements(document, "pages", "pages"), key=lambda p: p["page_number"])


def elements(document, name, kind):
    found = document.dataset(name)[kind]
    return list(found.values()) if isinstance(found, dict) else found


def fails(name, run, *words):
    row, _ = run
    ok(name, row["status"] == "failed" and all(w in (row["error"] or "") for w in words), row["status"], row["error"])


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(*pids):
    until(f"the end of {pids}", lambda: not any(alive(p) for p in pids), 10)
    return True


# ---------------------------------------------------------------- the examples

LIST = NO_ROBOTS + """on /list/1
  type application/json
  body { "items": [{"url":"http://{host}/item/1"}, {"url":"http://{host}/item/2"}], "total": 9007199254740993, "next":"http://{host}/list/2" }
on /list/2
  type application/json
  body {"items":[{"url":"http://{host}/item/3"}],"next":"http://{host}/list/3"}
on /list/3
  type application/json
  body {"items":[],"next":null}
on /item/*
  page item {tail}
  links /elsewhere
"""


def examples():
    site = Site(script=LIST)
    w = Programs({name: (EXAMPLES / name).read_text() for name in ("list.py", "list.sh")})
    served = [site.get(f"/list/{i}") for i in (1, 2, 3)]
    for name in ("list.py", "list.sh"):
        site.reset()
        [(row, d)] = w.run(name.replace(".", "-"), w.line(name, {"url": site.base + "/list/1"}))
        eq(f"{name}: succeeds, and all its children", (w.ended.code, w.statuses(w.ended.root)), (0, {"success": 4}))
        eq(f"{name}: keeps the pages of the list byte for byte, in order",
           [original(p, d.raw) if p["encoding"] != "json" else p["bytes"] for p in pages_of(d)], [len(s) for s in served])
        eq(f"{name}: and their digests", [p["sha256"] for p in pages_of(d)], [hashlib.sha256(s).hexdigest() for s in served])
        eq(f"{name}: every page and item was asked for once, links of items not", site.asked(),
           {f"/list/{i}": 1 for i in (1, 2, 3)} | {f"/item/{i}": 1 for i in (1, 2, 3)})
        items = w.by_path(w.ended.root, site)
        same(f"{name}: the items are runs of http, children of its run",
             [(p, x.d["lineage"]["parent_id"], x.depth) for p, x in items.items()],
             [(f"/item/{i}", row["run_id"], 2) for i in (1, 2, 3)])
        eq(f"{name}: its name is a level of the path", d.d["result_name"], name)
        none(f"{name}: lake and catalog agree", w.faults(w.ended.root))
    [(row, d)] = w.run("missing", w.line("list.py", {"url": site.base + "/list/nine"}))
    ok("list.py: a list that is not there makes it partial, with the reason", row["status"] == "partial" and "/list/nine: 404" in row["error"], row["error"])
    site.close()


# ---------------------------------------------------------------- what a program is kept from

PROBE = """
def attempt(what):
    try:
        what()
        return "done"
    except OSError as e:
        return e.errno
libc = ctypes.CDLL(None, use_errno=True)
def call(*numbers):
    if libc.syscall(*numbers) < 0:
        raise OSError(ctypes.get_errno(), "")
def write(path):
    def to():
        with open(path, "w") as f:
            f.write("x")
    return to
def look_into(pid):
    return lambda: open(f"/proc/{pid}/mem", "rb").close()
def named(kind):
    return lambda: socket.socket(*kind).close()
def all_of_it():
    here = os.environ.get("HOME", "/nonexistent")
    found = {name: attempt(named(kind)) for name, kind in {
        "inet": (socket.AF_INET, socket.SOCK_STREAM), "inet6": (socket.AF_INET6, socket.SOCK_STREAM), "udp": (socket.AF_INET, socket.SOCK_DGRAM),
        "unix": (socket.AF_UNIX, socket.SOCK_STREAM), "netlink": (socket.AF_NETLINK, socket.SOCK_RAW)}.items()}
    found["pair of datagrams"] = attempt(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    found["pair of streams"] = attempt(lambda: socket.socketpair())
    found["io_uring"] = attempt(lambda: call(425, 1, 0))
    found["own network"] = attempt(lambda: call(272 if os.uname().machine == "x86_64" else 97, 0x10000000))
    found["resolver"] = "done" if attempt(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else payload["port"]))) == "done" else "no"
    found["own folder"] = attempt(write(here + "/mine"))
    found["elsewhere"] = attempt(write(sys.argv[2] if len(sys.argv) > 2 else payload["elsewhere"]))
    found["null"] = attempt(write("/dev/null"))
    found["parent"] = attempt(look_into(os.getppid()))
    found["privileges"] = open("/proc/self/status").read().split("NoNewPrivs:")[1].split()[0]
    return found
"""


def kept_from():
    site = Site(script=NO_ROBOTS + "on /page\n  page hello\n")
    w = Programs({"probe": PROBE + "say(op='put', dataset='values', key='own', json=all_of_it())\n"
                  "child = subprocess.run([sys.executable, '-c', payload['code']], capture_output=True, text=True)\n"
                  "say(op='put', dataset='values', key='child', json=child.stdout.strip())\n"
                  "a = ask(op='fetch', url=payload['url'])\nsay(op='put', dataset='values', key='fetched', json=a['status'])\n"
                  "a = ask(op='fetch', url=payload['far'])\nsay(op='put', dataset='values', key='far', json=[a['op'], a['status'], a['error']])\n"
                  "say(op='put', dataset='values', key='environ', json=dict(os.environ))\n"
                  "say(op='put', dataset='values', key='files', json=sorted(os.listdir('/proc/self/fd'))[:3])\nsay(op='done')\n"},
                 plugins=("http", "runs"))
    elsewhere = w.dir / "elsewhere/written"
    # the same questions outside of trotline: what fails there says nothing about it
    free = subprocess.run([sys.executable, "-c", "import ctypes, json, os, socket, sys\n" + PROBE + "print(json.dumps(all_of_it()))", str(site.port),
                           str(elsewhere)], capture_output=True, text=True, env=w.env, check=True)
    free = json.loads(free.stdout)
    ok("outside, sockets can be made and files written", free["inet"] == free["unix"] == free["resolver"] == free["elsewhere"] == "done", free)
    elsewhere.unlink()
    code = "import socket\ntry:\n  socket.socket()\n  print('done')\nexcept OSError as e:\n  print(e.errno)"
    [(row, d)] = w.run("probe", w.line("probe", {"port": site.port, "elsewhere": str(elsewhere), "code": code, "url": site.base + "/page",
                                                 "far": f"http://far.example:{site.port}/"}))
    if not ok("a program that is kept from much can do its work", row["status"] == "success", row["error"], w.ended):
        return
    v = w.values(d)
    own = v["own"]
    for name in ("inet", "inet6", "udp", "unix", "netlink", "pair of datagrams"):
        eq(f"no socket: {name}", own[name], 1)  # EPERM
    ok("no way around it by io_uring", own["io_uring"] != "done", own["io_uring"])
    ok("no name space of its own", own["own network"] != "done", own["own network"])
    eq("nor by the resolver", own["resolver"], "no")
    eq("a pair of streams, which leads nowhere, is allowed", own["pair of streams"], "done")
    eq("what it starts is kept from it, too", v["child"], "1")
    eq("the server saw the host's request alone", site.asked(), {"/page": 1})
    eq("the host fetches for it", v["fetched"], 200)
    ok("under the leash", v["far"][:2] == ["error", "refused"] and "far.example" in v["far"][2], v["far"])
    eq("it writes in its own folder", own["own folder"], "done")
    eq("and into /dev/null", own["null"], "done")
    if Path("/sys/kernel/security/landlock").exists() or own["elsewhere"] != "done":
        ok("nowhere else", own["elsewhere"] == 13 and not elsewhere.exists(), own["elsewhere"])
        ok("it cannot look into its parent", own["parent"] != "done", own["parent"])
    else:
        note("this kernel has no Landlock: files are not looked at")
    eq("it gains no privileges", own["privileges"], "1")
    eq("its environment is its own", {k: v["environ"].get(k) for k in ("HOME", "TMPDIR", "PATH", "USER", "TROTLINE")},
       {"HOME": str(w.home("probe")), "TMPDIR": str(w.home("probe")), "PATH": "/usr/local/bin:/usr/bin:/bin", "USER": None, "TROTLINE": None})
    # a program of tl_exec, declared by name, keeps the network: git needs it
    r = w.tl("run", w.crawl("named", {"collector": "runs", "args": {"program": "cat", "args": ["/proc/self/status"]}}))
    text = w.documents(r.root)
    status = next(x for x in text if x.collector == "runs").dataset("out")["data"]
    ok("one that a collector declares by name is not filtered, and gains no privileges, either",
       re.search(r"Seccomp:\s*0\n", status) and re.search(r"NoNewPrivs:\s*1\n", status), status[-600:])
    site.close()


# ---------------------------------------------------------------- which programs

def which():
    w = Programs({"good": "say(op='put', dataset='result', text='x')\nsay(op='done')\n", "open": "say(op='done')\n", "mode": "say(op='done')\n",
                  "no-interpreter": "#!/nonexistent/interpreter\n"},
                 also=["/nonexistent/program", "relative/path", "sh", TMP / "world-folder"])
    (TMP / "world-folder").mkdir(exist_ok=True)
    os.chmod(w.dir / "programs/open", 0o777)
    os.chmod(w.dir / "programs/mode", 0o644)
    unlisted = w.put("unlisted", "say(op='done')\n")
    good = str(w.dir / "programs/good")
    cases = [("one that is not listed", unlisted, ["not among the programs", "collectors.exec.options.programs"]),
             ("another spelling of one that is", good.replace("/programs/", "/programs//"), ["not among the programs"]),
             ("one that others can write", str(w.dir / "programs/open"), ["can be written by others", "chmod go-w"]),
             ("one that is not executable", str(w.dir / "programs/mode"), ["cannot be executed"]),
             ("one that is not there", "/nonexistent/program", ["cannot be found"]),
             ("a folder", str(TMP / "world-folder"), ["not a regular file"]),
             ("a path that is not absolute", "relative/path", ["absolute path"]),
             ("a bare name", "sh", ["absolute path"]),
             ("one without an interpreter", str(w.dir / "programs/no-interpreter"), ["cannot be started", "No such file"])]
    lines = [{"collector": "exec", "args": {"program": path}} for _, path, _ in cases]
    found = {row["payload"]: (row, d) for row, d in w.run("which", *lines, w.line("good"))}
    by_program = {json.loads(k)["program"]: v for k, v in found.items()}
    for name, path, words in cases:
        fails(f"{name} is refused", by_program[path], *words)
    eq("the one that is listed runs", by_program[good][0]["status"], "success")
    os.chmod(w.dir / "programs", 0o777)
    [run] = w.run("folder", w.line("good"))
    fails("none in a folder that others can write", run, "its folder", "can be written by others")
    os.chmod(w.dir / "programs", 0o755)
    w.configure("collectors: {exec: {options: {}}}\n")
    [run] = w.run("none", w.line("good"))
    fails("where none is listed, none is run", run, "not among the programs")


# ---------------------------------------------------------------- bad lines, bad ends

def bad():
    out = {"words": ("print('hello, world')", ["line 1", "no JSON object", "hello, world"]),
           "array": ("print('[1]')", ["no JSON object"]),
           "two": ("print('{\"op\":\"done\"} {\"op\":\"done\"}')", ["no JSON object"]),
           "cut-short": ("print('{\"op\":\"log\",\"text\":\"a')", ["no JSON object", '{"op":"log"']),
           "latin": ("sys.stdout.buffer.write(b'{\"op\":\"log\",\"text\":\"caf\\xe9\"}\\n')", ["no JSON object"]),
           "deep": ("print('{\"op\":\"put\",\"dataset\":\"result\",\"json\":' + '[' * 100000 + ']' * 100000 + '}')", ["no JSON object"]),
           "unknown-op": ("say(op='dance')", ["no such op", '"dance"']),
           "no-op": ("say(text='x')", ["it has no op"]),
           "member": ("say(op='log', text='x', colour='red')", ["no request has a member", "colour"]),
           "foreign": ("say(op='log', text='x', url='u')", ["log has no member url"]),
           "missing": ("say(op='fetch')", ["fetch wants a member url"]),
           "twice": ("print('{\"op\":\"log\",\"text\":\"a\",\"text\":\"b\"}')", ["text stands there twice"]),
           "nul": ("print('{\"op\":\"spawn\",\"collector\":\"http\\\\u0000\",\"args\":{}}')", ["collector holds a NUL"]),
           "type": ("say(op='log', text=7)", ["text does not have the type"]),
           "level": ("say(op='log', text='x', level='loud')", ["level is error"]),
           "dataset": ("say(op='put', dataset='page', text='x')", ["declares no dataset 'page'"]),
           "key": ("say(op='put', dataset='values', text='x')", ["a key is wanted"]),
           "second": ("say(op='put', dataset='result', text='x')\nsay(op='put', dataset='result', text='y')", ["has its value already", "line 2"]),
           "base64": ("say(op='put', dataset='result', body_b64='abc')", ["no base64"]),
           "base64-inside": ("say(op='put', dataset='result', body_b64='ab=c')", ["no base64"]),
           "both": ("say(op='put', dataset='result', text='x', json=1)", ["only one of"]),
           "neither": ("say(op='put', dataset='result')", ["is wanted"]),
           "response": ("say(op='put', dataset='result', response=1)", ["no response of that number"]),
           "headers": ("say(op='fetch', url='http://127.0.0.1/', headers=[['a']])", ["headers are pairs"]),
           "leash": ("say(op='spawn', collector='http', args={'url': 'http://127.0.0.1/'}, leash={'x': 'y' * 5000})", ["over 4 KiB"]),
           "status": ("say(op='done', status='well')", ["status is success"]),
           "huge": ("sys.stdout.write('x' * (17 << 20) + '\\n')", ["a line of its output is over 16 MiB"]),
           "endless": ("while True: sys.stdout.write('x' * 65536)", ["a line of its output is over 16 MiB"]),
           "silent": ("", ["silent: it ended with status 0 without a word of being done"]),
           "exit": ("sys.exit(3)", ["exit: it ended with status 3"]),
           "raises": ("raise ValueError('no idea')", ["ended with status 1", "ValueError: no idea"]),
           "signal": ("print('{\"op\":', end='', flush=True)\nos.kill(os.getpid(), signal.SIGSEGV)", ["died of signal 11"]),
           "done-and-fails": ("say(op='put', dataset='result', text='x')\nsay(op='done')\nsys.exit(4)", ["said that it was done, but ended with status 4"]),
           "own-reason": ("say(op='done', status='failed', error='the shop is shut')", ["own-reason: the shop is shut"]),
           "marks": ("say(op='done', status='failed', error='a\\u009bb\\u202ec\\u2066d\\u200fe\\u2028f\\u061cg\\x7fh \u00e9\u20ac')", ["marks: a b c d e f g h \u00e9\u20ac"]),
           "nothing": ("say(op='done')", ["put nothing"]),
           "refused": ("say(op='done', status='refused')", ["it gave no reason"])}
    w = Programs({name: text for name, (text, _) in out.items()})
    runs = w.run("bad", *[w.line(name) for name in out])
    eq("as many runs as lines", len(runs), len(out))
    for row, d in runs:
        name = json.loads(row["payload"])["program"].rsplit("/", 1)[1]
        fails(f"bad: {name}", (row, d), *out[name][1])
    none("bad: lake and catalog agree", w.faults(w.ended.root))


def void():
    """What a program had said when it was stopped, and was not done by then, is not done."""
    site = Site(script=NO_ROBOTS + "on /slow\n  delay 3000\n  page slow\non /never\n  page never\n")
    w = Programs({"hasty": "say(op='fetch', url=payload['base'] + '/slow')\nsay(op='fetch', url=payload['base'] + '/never')\n"
                           "say(op='put', dataset='result', text='x')\nsay(op='done')\ntime.sleep(1000)\n"})
    [run] = w.run("void", w.line("hasty", {"base": site.base}, "1s"))
    fails("a program that is stopped while its request is under way has failed", run, "did not end within")
    eq("and what it had asked for behind that is not asked", site.asked(), {"/slow": 1})
    site.close()


def apart():
    """Programs have nothing in common but the collector."""
    word = "a = ask(op='state_get', key='k')\nsay(op='put', dataset='values', key='state', json=[a['key'], a['value']])\n" \
        "say(op='put', dataset='values', key='files', json=sorted(os.listdir(os.environ['HOME'])))\nopen('mine', 'w').write('x')\n" \
        "try:\n  open('../other', 'w')\n  up = 'written'\nexcept OSError as e:\n  up = e.errno\nsay(op='put', dataset='values', key='up', json=up)\n" \
        "say(op='state_put', key='k', value=payload['who'])\nsay(op='done')\n"
    w = Programs({"ours": word, "theirs": word})
    first = {json.loads(row["payload"])["input"]["who"]: w.values(d) for row, d in w.run("apart", *[w.line(n, {"who": n}) for n in ("ours", "theirs")])}
    eq("at first nothing is there", [first[n]["files"] for n in ("ours", "theirs")], [[], []])
    again = {json.loads(row["payload"])["input"]["who"]: w.values(d) for row, d in w.run("apart", *[w.line(n, {"who": n}) for n in ("ours", "theirs")])}
    eq("each has the state that it kept, under its own key", [again[n]["state"] for n in ("ours", "theirs")], [["k", "ours"], ["k", "theirs"]])
    eq("and its own files", [again[n]["files"] for n in ("ours", "theirs")], [["mine"], ["mine"]])
    if Path("/sys/kernel/security/landlock").exists() or again["ours"]["up"] != "written":
        eq("what is beside them is out of reach", [again[n]["up"] for n in ("ours", "theirs")], [13, 13])
    w.home("ours").rename(w.dir / "moved")
    w.home("ours").symlink_to(w.dir / "moved")
    runs = {json.loads(row["payload"])["input"]["who"]: (row, d) for row, d in w.run("apart", w.line("ours", {"who": "ours"}))}
    fails("a folder that is a symlink is not entered", runs["ours"], "symlink")


def stops():
    w = Programs({"sleeps": "child = subprocess.Popen(['sleep', '1000'])\nopen('sleeps.pid', 'w').write(f'{os.getpid()} {child.pid}')\ntime.sleep(1000)\n",
                  "stubborn": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('stubborn.pid', 'w').write(str(os.getpid()))\n"
                              "while True: time.sleep(1)\n",
                  "talks": "open('talks.pid', 'w').write(str(os.getpid()))\nwhile True: say(op='log', level='debug', text='x' * 1000)\n",
                  "lingers": "open('lingers.pid', 'w').write(str(os.getpid()))\nsay(op='put', dataset='result', text='x')\nsay(op='done')\ntime.sleep(1000)\n",
                  "deaf": "open('deaf.pid', 'w').write(str(os.getpid()))\nfor i in range(40): say(op='fetch', url=payload['url'])\ntime.sleep(1000)\n"})
    site = Site(script=NO_ROBOTS + "on /big\n  type text/plain\n  body-fill abcdefgh 1M\n")
    runs = {json.loads(row["payload"])["program"].rsplit("/", 1)[1]: (row, d)
            for row, d in w.run("stops", *[w.line(n, {"url": site.base + "/big"}, "2s") for n in ("sleeps", "stubborn", "talks", "lingers", "deaf")])}
    pids = {n: [int(p) for p in (w.home(n) / f"{n}.pid").read_text().split()] for n in runs}
    for name in runs:
        fails(f"{name}: it is stopped at its time", runs[name], "did not end within")
        ok(f"{name}: and is gone, with all that it started", gone(*pids[name]))
    none("stops: lake and catalog agree", w.faults(w.ended.root))
    [run] = w.run("leash", w.line("sleeps"), leash="{hosts: [127.0.0.1], time: 2s}")
    ok("the leash's time ends it, too", run[0]["status"] in ("failed", "refused") and gone(*map(int, (w.home("sleeps") / "sleeps.pid").read_text().split())), run[0])
    site.close()


# ---------------------------------------------------------------- what is said and answered

def talk():
    binary = bytes(range(256)) * 3000
    (TMP / "binary").write_bytes(binary)
    site = Site(script=NO_ROBOTS + f"""on /binary
  type application/octet-stream
  body-file {TMP / "binary"}
on /text
  type text/plain; charset=utf-8
  header X-Odd: caf\\xe9
  body a "quoted" \\\\ line\\n\\ttwo \\xc3\\xa9 \\xe2\\x82\\xac \\x01 \\0 end
on /latin
  type text/html; charset=iso-8859-1
  body <p>caf\\xe9
on /echo
  type application/json
  echo
on /gone
  status 410 Gone
  page gone
on /big
  type text/plain
  body-fill 0123456789abcdef 3M
on /moved
  redirect 301 /text
on /n/*
  type text/plain
  body number {{tail}}
""")
    w = Programs({
        "asks": """
for name in ('binary', 'text', 'latin', 'gone', 'moved'):
    a = ask(op='fetch', url=payload['base'] + '/' + name)
    say(op='put', dataset='values', key=name, json={k: v for k, v in a.items() if k not in ('text', 'body_b64')} | {
        'encoding': 'text' if 'text' in a else 'base64', 'body': a.get('text', a.get('body_b64'))[:200]})
    say(op='put', dataset='pages', response=a['response'])
    if name == 'binary':
        import base64
        say(op='put', dataset='values', key='again', body_b64=base64.b64encode(base64.b64decode(a['body_b64'])).decode(), media_type='application/x-own')
    if name == 'text':
        say(op='put', dataset='values', key='text again', text=a['text'], url='http://x.example/', metadata={'n': 1})
a = ask(op='fetch', url=payload['base'] + '/echo', method='POST', json={'a': 1}, headers=[['X-Mine', 'yes'], ['Authorization', 'Bearer secret:KEY']], **{'class': 'api'})
say(op='put', dataset='values', key='echo', json=json.loads(a['text']))
a = ask(op='fetch', url=payload['base'] + '/big')
say(op='put', dataset='values', key='big', json=[len(a['text']), a['truncated']])
a = ask(op='fetch', url=payload['base'] + '/big', max_bytes=1000, send_body=False)
say(op='put', dataset='values', key='cut', json=[a['truncated'], 'text' in a])
a = ask(op='fetch', url='http://')
say(op='put', dataset='values', key='bad url', json=[a['op'], a['status']])
say(op='put', dataset='values', key='hello', json=hello)
say(op='put', dataset='values', key='exact', json=9007199254740993)
print(r'{"op":"put","dataset":"values","key":"\\u20ac\\ud83d\\ude00","json":{"n":12345678901234567890.10, "b" : [ ]}}', flush=True)
say(op='done')
""",
        "ahead": """
for i in range(500):
    say(op='fetch', url=f"{payload['base']}/n/{i}")
got = [hear()['text'] for i in range(500)]
say(op='put', dataset='values', key='all', json=got == [f'number {i}' for i in range(500)])
sys.stdout.write('\\n\\n')
for i in range(60):
    print(json.dumps({'op': 'put', 'dataset': 'pages', 'text': f'{i} ' + 'y' * 100000}))
sys.stdout.flush()
print(json.dumps({'op': 'put', 'dataset': 'result', 'text': 'z' * (9 << 20)}), flush=True)
print(json.dumps({'op': 'done'}), end='', flush=True)
""",
        "early": "print(json.dumps({'op': 'put', 'dataset': 'result', 'text': 'x'}))\nprint(json.dumps({'op': 'fetch', 'url': payload['base'] + '/big'}))\n"
                 "print(json.dumps({'op': 'done'}), flush=True)\nos.close(0)\nos._exit(0)\n",
        "errs": "sys.stderr.write('warned\\x1b[31m\\n' * 100000)\nsay(op='log', level='warn', text='one\\x1b]0;two\\nthree')\n"
                "say(op='put', dataset='result', text='x')\nsay(op='done')\n"},
        config=f"secrets: {{KEY: {{env: MY_KEY, origins: ['{site.base}']}}}}\n")
    w.env["MY_KEY"] = "s3cret"
    runs = w.run("talk", *[w.line(n, {"base": site.base, "n": 9007199254740993}) for n in ("asks", "ahead", "early", "errs")])
    runs = {json.loads(row["payload"])["program"].rsplit("/", 1)[1]: (row, d) for row, d in runs}
    for name, (row, _) in runs.items():
        eq(f"{name} succeeds", (row["status"], row["error"]), ("success", None))
    d = runs["asks"][1]
    v = w.values(d) if d else {}
    text = site.get("/text")
    eq("an answer that is no text comes in base64", (v["binary"]["encoding"], base64.b64decode(v["binary"]["body"] + "=" * (-len(v["binary"]["body"]) % 4))[:100]),
       ("base64", binary[:100]))
    eq("and goes back the same", (pairs(d)["again"]["sha256"], pairs(d)["again"]["media_type"]), (hashlib.sha256(binary).hexdigest(), "application/x-own"))
    eq("text comes as text, every character of it", v["text"]["body"].encode(), text)
    again = pairs(d)["text again"]
    eq("and goes back the same, with what is said about it", (original(again), again["data_url"], again["metadata"]["n"]), (text, "http://x.example/", 1))
    eq("text that is no UTF-8 comes in base64", (v["latin"]["encoding"], v["latin"]["charset"], base64.b64decode(v["latin"]["body"])), ("base64", "windows-1252", b"<p>caf\xe9"))
    eq("a header with a faulty byte comes with that mended", [x for n, x in v["text"]["headers"] if n.lower() == "x-odd"], ["caf\ufffd"])
    eq("a 410 is an answer", (v["gone"]["op"], v["gone"]["status"], v["gone"]["media_type"]), ("response", 410, "text/html"))
    eq("redirects are followed", (v["moved"]["url"], v["moved"]["response"]), (site.base + "/text", 5))
    eq("pages are kept as they were fetched", [p["sha256"] for p in pages_of(d)][:2], [hashlib.sha256(x).hexdigest() for x in (binary, text)])
    echo = v["echo"]
    headers = {n.lower(): x for n, x in echo["headers"]}
    eq("method, body and headers of a request", (echo["method"], bytes.fromhex(echo["body_head"]), headers["x-mine"]), ("POST", b'{"a": 1}', "yes"))
    eq("a secret is filled in by the host", headers["authorization"], "Bearer s3cret")
    none("and stands in no document", [x.path for x in w.documents() if b"s3cret" in x.raw.replace(b"Bearer s3cret", b"", 1)])
    eq("a large answer comes whole", v["big"], [3 << 20, False])
    eq("a limit of the request cuts it, and a body that is not wanted is not sent", v["cut"], [True, False])
    eq("a URL that is none is an error, not an end", v["bad url"], ["error", "failed"])
    hello = v["hello"]
    eq("it is told who it is", (hello["op"], hello["protocol"], hello["payload"]["base"], hello["lineage"]["run_id"], hello["lineage"]["depth"],
                                hello["lineage"]["org"], hello["lineage"]["crawl"]),
       ("collect", 1, site.base, runs["asks"][0]["run_id"], 1, "acme", "talk"))
    eq("numbers keep their digits, in and out", (v["exact"], hello["payload"]["n"]), (9007199254740993, 9007199254740993))
    ok("JSON is kept as written, keys unescaped", b'{"n":12345678901234567890.10, "b" : [ ]}' in d.raw and "\u20ac\U0001f600" in pairs(d), list(pairs(d)))
    d = runs["ahead"][1]
    eq("requests may be made before the answers are read", w.values(d)["all"], True)
    eq("and much be put at once", ([p["bytes"] for p in pages_of(d)], d.dataset("result")["bytes"]),
       ([100000 + len(f"{i} ") for i in range(60)], 9 << 20))
    ok("what it logs is told, in one line and harmless", "errs: one" in w.ended.err and "\x1b" not in w.ended.err, w.ended)
    none("talk: lake and catalog agree", w.faults(w.ended.root))
    site.close()


def verdicts():
    site = Site(script="on /robots.txt\n  body User-agent: *\\nDisallow: /private\n" + "on /page\n  page x\n")
    word = "a = payload.get('fetch') and ask(op='fetch', url=payload['base'] + payload['fetch'])\nif payload.get('put'): say(op='put', dataset='result', text='kept')\n" \
        "say(op='done', status=payload['status'], **({'error': payload['error']} if 'error' in payload else {}))\n"
    w = Programs({"verdict": word})
    cases = {"success": ({"put": 1, "status": "success"}, "success", None),
             "in spite": ({"put": 1, "status": "success", "fetch": "/private"}, "success", None),
             "partial": ({"put": 1, "status": "partial", "error": "the end is missing"}, "partial", "verdict: the end is missing"),
             "partial, refused": ({"put": 1, "status": "partial", "fetch": "/private", "error": "not all"}, "partial", "verdict: not all"),
             "failed, refused": ({"put": 1, "status": "failed", "fetch": "/private", "error": "my own fault"}, "failed", "verdict: my own fault"),
             "refused": ({"status": "refused", "fetch": "/private", "error": "may not"}, "refused", "verdict: may not"),
             "unchanged": ({"status": "unchanged"}, "not_modified", None),
             "retry": ({"status": "retry", "error": "later"}, "failed", "verdict: later")}
    runs = w.run("verdicts", *[w.line("verdict", dict(p, base=site.base, name=n)) for n, (p, _, _) in cases.items()])
    found = {json.loads(row["payload"])["input"]["name"]: (row, d) for row, d in runs}
    for name, (_, status, error) in cases.items():
        row, d = found[name]
        eq(f"{name}: {status}", (row["status"], row["error"]), (status, error))
        eq(f"{name}: a document {'or none' if status in ('refused', 'not_modified') else 'is kept'}", d is None, status in ("refused", "not_modified"))
    eq("retry: two more attempts", found["retry"][0]["attempts"], 2)
    eq("refused: by robots.txt", [r["reason"] for r in w.leashed(w.ended.root)], ["robots"])
    none("verdicts: lake and catalog agree", w.faults(w.ended.root))
    site.close()


def classes():
    """robots.txt governs pages; an API and a feed keep the pace alone, and the document says which it was."""
    site = Site(script="on /robots.txt\n  body User-agent: *\\nDisallow: /private\n" + "on /private\n  status 503\n  header Retry-After: 1\n  body later\nnext\n  body here\n")
    w = Programs({"classes": """
for c in ('api', 'feed', 'page'):
    a = ask(op='fetch', url=payload['base'] + '/private', **{'class': c})
    if 'response' in a:
        say(op='put', dataset='pages', response=a['response'])
    say(op='put', dataset='values', key=c, json=a['op'])
say(op='done', status='success')
"""})
    (row, d), = w.run("classes", w.line("classes", {"base": site.base}))
    eq("classes: an API and a feed are had where a page is refused", ([p["metadata"]["http"]["class"] for p in pages_of(d)], row["status"]), (["api", "feed"], "success"))
    eq("classes: Retry-After holds for them, too", pages_of(d)[0]["metadata"]["http"]["requests"], 2)
    eq("classes: robots.txt was asked for the page alone: last", [x[1] for x in site.log()], ["/private", "/private", "/private", "/robots.txt"])
    site.close()


def children():
    w = Programs({"tree": """
n = payload.get('n', 0)
a = ask(op='state_get', key='seen')
say(op='put', dataset='values', key='state', json=a['value'])
if n == 0:
    say(op='state_put', key='seen', value=(a['value'] or '') + 'x\\u00e9')
    for i in (1, 2):
        say(op='spawn', args={'input': {'n': i}}, name='branch')
    say(op='spawn', args={'input': {'n': 1}}, name='branch')
    say(op='spawn', args={'input': {'n': 3}}, page=True)
    say(op='spawn', collector='http', args={'url': 'http://127.0.0.2/'})
say(op='done')
"""})
    runs = w.run("tree", w.line("tree"))
    rows = {json.loads(row["payload"])["input"].get("n", 0): row for row, _ in runs}
    eq("a program has others of its kind made, each once", sorted(rows), [0, 1, 2, 3])
    eq("with its own arguments but for those that are said", {json.loads(r["payload"])["program"] for r in rows.values()}, {str(w.dir / "programs/tree")})
    eq("a next page has its depth, others one more", [(rows[n]["depth"], rows[n]["edge"]) for n in (0, 1, 2, 3)],
       [(1, "spawn"), (2, "spawn"), (2, "spawn"), (1, "page")])
    eq("a name is the context of the branch", rows[1]["result_context_name"], "branch")
    eq("the leash decides about children", [(r["reason"]) for r in w.leashed(w.ended.root)], ["hosts"])
    by = {row["run_id"]: d for row, d in runs}
    eq("there is no state at first", w.values(by[rows[0]["run_id"]])["state"], None)
    runs = w.run("tree", w.line("tree"))
    first = next(d for row, d in runs if json.loads(row["payload"])["input"] == {})
    eq("what is kept is there the next time", w.values(first)["state"], "x\u00e9")


# ---------------------------------------------------------------- nothing is left behind

def orphans():
    silent = "open(f'silent-{os.getpid()}.pid', 'w').write(f'{os.getpid()} {subprocess.Popen([\"sleep\", \"1000\"]).pid}')\n" \
        "while True: time.sleep(100)\n"
    shell = "#!/bin/sh\nread -r line\nsleep 1000 &\necho \"$$ $!\" > \"shell-$$.pid\"\nwait\n"
    w = Programs({"silent": silent, "shell": shell})
    crawl = w.crawl("orphans", *[w.line(n, {"i": i}) for n in ("silent", "shell") for i in range(2)], leash="{hosts: [127.0.0.1]}")

    def started():
        files = [p for p in w.cache.glob("*/*.pid") if len(p.read_text().split()) == 2]
        return [int(x) for p in files for x in p.read_text().split()] if len(files) == 4 else None

    def left():
        """Processes that were started from here, whatever they call themselves."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.readlink(entry / "cwd").startswith(str(w.cache)) and alive(int(entry.name)):
                    found.append(int(entry.name))
        return found

    for number in (signal.SIGKILL, signal.SIGTERM):
        for p in w.cache.glob("*/*.pid"):
            p.unlink()
        child = w.start("run", crawl)
        pids = until("four programs", started)
        ok(f"signal {number}: programs are there", all(alive(p) for p in pids), pids)
        child.signal(number)
        if number == signal.SIGTERM:
            child.signal(number)
        until("the end", lambda: not child.running())
        ok(f"signal {number}: with the supervisor its programs are gone, and theirs", gone(*pids), pids)
        until("an empty folder", lambda: not left(), 10)
        eq(f"signal {number}: nothing of it is left", left(), [])
        r = child.wait()
        note(short(r.last_line()))


def many():
    w = Programs({"one": "open('many', 'a').write('+\\n')\ntime.sleep(0.2)\nopen('many', 'a').write('-\\n')\n"
                  "say(op='put', dataset='result', json=payload['i'])\nsay(op='done')\n"})
    runs = w.run("many", *[w.line("one", {"i": i}) for i in range(40)])
    eq("many: all come to their turn", sorted(d.dataset("result")["data"] for _, d in runs), list(range(40)))
    now, most = 0, 0
    for mark in (w.home("one") / "many").read_text().split():
        now += 1 if mark == "+" else -1
        most = max(most, now)
    ok("many: sixteen at once, and no more", now == 0 and 1 < most <= 16, now, most)


if not EXEC.exists():
    print(f"Bail out! {EXEC} is not there")
    sys.exit(1)
main(examples, kept_from, which, bad, void, apart, stops, talk, verdicts, classes, children, orphans, many)
