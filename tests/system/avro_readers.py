#!/usr/bin/env python3
"""avro_readers.py - Avro files of ours in the eyes of others: every value of every row, as python3-avro and avsc (npm)
read it, compared with the row that was written. python3-avro knows deflate and null; readers.mjs gives avsc Snappy and
zstd. Where npm cannot be reached its half is skipped."""
import datetime
import json
import math
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import lib  # noqa: E402
from lib import TMP, eq, ok, part  # noqa: E402

try:
    import avro.datafile
    import avro.io
except ImportError:  # the package is in Debian's Python, which need not be the first in PATH
    if os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3") and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
    print("1..0 # SKIP python3-avro is not installed")
    sys.exit(0)

HERE = Path(__file__).resolve().parent
TABLE_WRITE = Path(os.environ.get("TROTLINE_BUILD") or lib.BUILD) / "tests/system/table_write"
COLUMNS = [("id", "text"), ("n", "int"), ("x", "real"), ("yes", "bool"), ("at", "time"), ("tags", "list"),
           ("none", "text"), ("data", "text")]
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
FIRST, LAST = -62135596800000000, 253402300799999999  # the years 1 to 9999, which are Python's
NUMBERS = [0, 1, -1, 63, -64, 64, -65, 8191, 8192, 2**31 - 1, -2**31, 2**53, 2**53 + 1, -2**53 - 1, 2**63 - 1, -2**63]
REALS = [0.0, -0.0, 1.5, 0.1, 5e-324, 1.7976931348623157e308, -2.2250738585072014e-308, math.inf, -math.inf, math.nan]
TEXTS = ["", "a", "\0", "a\0b", "\x7f", "é", "\u0800", "\uffff", "\U0001f680", "\U0010ffff", '"\\\n\t', "x" * 127,
         "y" * 128, "z" * 20000, "\u20ac" * 5000, "<!DOCTYPE html>\n" * 30000]


def rows_to_write():
    """Edges one by one, then a few hundred rows of any of them."""
    rows = [[None] * 8, ["", 0, 0.0, False, 0, [], None, ""]]
    rows += [["n", n, None, None, None, None, None, None] for n in NUMBERS]
    rows += [["x", None, x, True, None, None, None, None] for x in REALS]
    rows += [["at", None, None, None, t, None, None, None] for t in (0, 1, -1, 1767225600123456, FIRST, LAST)]
    rows += [["tags", None, None, None, None, tags, None, None] for tags in ([""], ["a", "", "é"], TEXTS[:12], ["t"] * 5000)]
    rows += [[text, None, None, None, None, None, None, text] for text in TEXTS]
    any_of = random.Random(20261130)
    for i in range(400):
        row = [any_of.choice(TEXTS[:13]), any_of.getrandbits(64) - 2**63, any_of.uniform(-1e9, 1e9), any_of.random() < .5,
               any_of.randint(FIRST, LAST), [any_of.choice(TEXTS[:11]) for _ in range(any_of.randrange(4))], None,
               any_of.choice(TEXTS[:15])]
        rows.append([None if any_of.random() < .2 else v for v in row])
    return rows


def plain(value):
    """A value so that equal means the same: -0.0 is not 0.0, true is not 1, NaN is itself."""
    if isinstance(value, float):
        return ("real", value.hex())
    if isinstance(value, datetime.datetime):
        return ("int", (value - EPOCH) // datetime.timedelta(microseconds=1))
    if isinstance(value, list):
        return [plain(v) for v in value]
    return (type(value).__name__, value)


def write(codec, rows):
    path = TMP / f"{codec}.avro"
    def spelled(v):
        return str(v) if isinstance(v, float) and not math.isfinite(v) else v
    plan = {"table": "rows", "format": "avro", "codec": codec, "block_bytes": 4096, "columns": COLUMNS,
            "pairs": [["written_by", "table_write"]]}
    lines = "".join(json.dumps(line, ensure_ascii=False) + "\n"
                    for line in [plan] + [[spelled(v) for v in row] for row in rows])
    done = subprocess.run([TABLE_WRITE, path], input=lines.encode(), capture_output=True, timeout=lib.PATIENCE)
    eq(f"{codec}: written", (done.returncode, json.loads(done.stdout or "{}"), done.stderr),
       (0, {"rows": len(rows), "bytes": path.stat().st_size}, b""))
    return path


def compare(name, got, rows):
    wanted = [[plain(v) for v in row] for row in rows]
    eq(f"{name}: as many rows", len(got), len(wanted))
    wrong = [(i, COLUMNS[k][0], a, b) for i, (have, want) in enumerate(zip(got, wanted))
             for k, (a, b) in enumerate(zip(have, want)) if a != b]
    ok(f"{name}: every value of every row", not wrong and all(len(r) == len(COLUMNS) for r in got), wrong[:3])


def python_reads(path, rows):
    codec = path.stem
    with open(path, "rb") as f, avro.datafile.DataFileReader(f, avro.io.DatumReader()) as reader:
        meta = reader.meta
        got = [[plain(row[n]) for n, _ in COLUMNS] for row in reader]
    eq(f"python3-avro, {codec}: what the header says", (meta["avro.codec"], meta["written_by"]),
       (codec.encode(), b"table_write"))
    schema = json.loads(meta["avro.schema"])
    eq(f"python3-avro, {codec}: names", (schema["namespace"], schema["name"], [f["name"] for f in schema["fields"]]),
       ("trotline", "rows", [n for n, _ in COLUMNS]))
    eq(f"python3-avro, {codec}: null is the default everywhere", {(f["default"], f["type"][0]) for f in schema["fields"]},
       {(None, "null")})
    compare(f"python3-avro, {codec}", got, rows)


def node(*args):
    return subprocess.run(["node", HERE / "readers.mjs", *args], capture_output=True, timeout=3 * lib.PATIENCE)


def avsc_reads(path, rows):
    codec = path.stem
    done = node("rows", "avsc", path)
    if not ok(f"avsc, {codec}: read to the end", done.returncode == 0, done.stderr.decode("utf-8", "replace")):
        return
    def value(v, kind):
        return plain(float(v) if kind == "real" and v is not None else v)
    found = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
    compare(f"avsc, {codec}", [[value(row[n], t) for n, t in COLUMNS] for row in found], rows)


def missing():
    """Why avsc cannot be asked, or nothing. Status 77: npm does not answer, and nobody said that it must."""
    if not shutil.which("node"):
        return "nodejs is not installed"
    done = node("install")
    if done.returncode != 77:
        eq("the packages of npm", (done.returncode, done.stderr), (0, b""))
    return " ".join(done.stderr.decode("utf-8", "replace").split())[:200] if done.returncode else ""


def readers():
    rows = rows_to_write()
    files = {codec: write(codec, rows) for codec in ("deflate", "snappy", "zstandard", "null")}
    for codec in ("deflate", "null"):
        with part(f"python3-avro, {codec}"):
            python_reads(files[codec], rows)
    why = missing()
    for codec, path in files.items():
        if why:
            lib.count += 1
            print(f"ok {lib.count} - avsc, {codec} # SKIP {why}", flush=True)
        else:
            with part(f"avsc, {codec}"):
                avsc_reads(path, rows)


lib.main(readers)
