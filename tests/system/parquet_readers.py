#!/usr/bin/env python3
"""parquet_readers.py - our Parquet files as DuckDB, hyparquet and arrow-rs read them: every value, and what WHERE finds.

table_write makes the files from rows that are made here; readers.mjs prints what each reader sees. The numbers of rows
that a condition is true for are counted here, and DuckDB is asked with and without its use of statistics.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

from lib import BUILD, TMP, eq, main, none, ok

HERE = Path(__file__).resolve().parent
WRITER = Path(os.environ.get("TROTLINE_BUILD") or BUILD) / "tests/system/table_write"
READERS = ("duckdb", "hyparquet", "arrow")
TOP = "\U0010ffff"
EVERYTHING = [["id", "int"], ["name", "text"], ["score", "real"], ["good", "bool"], ["seen", "time"], ["tags", "list"],
              ["body", "text", "payload"]]


def node(*args, stdin=None):
    return subprocess.run(["node", "--max-old-space-size=2048", HERE / "readers.mjs", *args], input=stdin, capture_output=True,
                          text=True, timeout=300)


def installed():
    try:
        got = node("install")
    except FileNotFoundError:
        got = subprocess.CompletedProcess([], 77, "", "there is no node: apt-get install nodejs npm")
    if got.returncode:
        required = os.environ.get("TROTLINE_TEST_READERS") == "required"
        print(f"Bail out! {got.stderr}" if required else f"1..0 # SKIP {got.stderr.strip()}")
        sys.exit(1 if required else 0)


def written(value):
    """As table_write reads it: a real that JSON has no number for is a text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write(name, rows, columns=EVERYTHING, **plan):
    path = TMP / f"{name}.parquet"
    plan.update(table="t", columns=columns)
    lines = [json.dumps(plan)] + [json.dumps([written(v) for v in row], ensure_ascii=False) for row in rows]
    got = subprocess.run([WRITER, path], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120)
    eq(f"{name}: written", (got.returncode, got.stderr), (0, ""))
    return path


def exact(value):
    """A real by its bits, so that -0.0 and NaN are themselves; a long text of a plan at its length."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value).hex()
    if isinstance(value, dict) and "repeat" in value:
        return value["repeat"] * value["times"]
    return value


REALS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def seen(value, kind):
    """JSON does not tell 1.0 from 1."""
    if kind == "real" and value is not None:
        return exact(float(REALS.get(value, value)))
    return value


pending = []  # (file, rows, columns): read together, for a reader takes longer to start than to read


def check(name, rows, columns=EVERYTHING, **plan):
    path = write(name, rows, columns, **plan)
    pending.append((path, rows, columns))
    return path


def compare():
    """What was checked so far, by every reader."""
    for reader in READERS:
        got = node("rows", reader, *(path for path, _, _ in pending))
        read = [json.loads(line) for line in got.stdout.split("\n")[:-1]]
        eq(f"{reader} reads {', '.join(path.stem for path, _, _ in pending)}", (got.returncode, got.stderr, len(read)),
           (0, "", sum(len(rows) for _, rows, _ in pending)))
        for path, rows, columns in pending:
            mine, read = read[:len(rows)], read[len(rows):]
            names = [c[0] for c in columns]
            none(f"{path.stem}: {reader} has the columns in order", [r for r in mine if list(r) != names])
            none(f"{path.stem}: {reader} has every value",
                 [(i, n, str(got)[:80], str(cell)[:80]) for i, (r, row) in enumerate(zip(mine, rows))
                  for (n, kind, *_), cell in zip(columns, row) if (got := seen(r.get(n), kind)) != exact(cell)])
    pending.clear()


def footer(path):
    got = node("meta", path)
    if got.returncode:
        raise RuntimeError(got.stderr)
    return json.loads(got.stdout)


def chunks(path, column):
    return [c for g in footer(path)["row_groups"] for c in g["columns"] if c["meta_data"]["path_in_schema"][0] == column]


# ---------------------------------------------------------------- files


def few():
    row = [5225608189600411232, "né\0e", -0.5, True, 1767225600000001, ["a", "", "é"], "{\"a\": 1.0}"]
    check("one-row", [row])
    check("all-null", [[None] * 7] * 50, page_rows=7)
    check("empty-texts", [[0, "", 0.0, False, 0, [], ""], [0, "", -0.0, False, 0, [""], ""]] * 5)
    check("marks", [[1, "x\ufeffx", 1.0, None, 1, ["x\ufeff"], "x\ufeff"], [2, "\u2028\r\n\t\"\\", 2.0, None, 1, ["\x7f"], TOP]])


def numbers():
    ints = [0, -1, 1, 2**63 - 1, -2**63, 2**53 + 1, None]
    reals = [0.0, -0.0, 5e-324, -1.7976931348623157e308, math.inf, -math.inf, math.nan]
    times = [0, -1, 1767225600000001, -2208988800000000, 253402300799999999, None, 1]
    rows = [[i, None, r, None, t, None, None] for i, r, t in zip(ints, reals, times)]
    for codec in ("zstd", "snappy", "none"):
        check(f"numbers-{codec}", rows * 3, codec=codec, page_rows=4)
    check("nan-only", [[1, None, math.nan, None, 1, None, None]] * 3)


def payloads():
    rng = random.Random(20)
    long = ["".join(rng.choices("abcdefgh é<>\n", k=20480)) for _ in range(60)]
    check("payload-20k", [[i, "x", None, None, None, [], t] for i, t in enumerate(long)], codec="zstd", page_bytes=65536)
    huge = {"repeat": "0123456789 large texts ", "times": 20 * 1024 * 1024 // 23}
    rows = [[1, "before", None, None, None, [], "small"], [2, huge, None, None, None, [], huge], [3, "behind", None, None, None, [], ""]]
    for codec in ("zstd", "snappy", "none"):
        path = check(f"payload-20M-{codec}", rows, codec=codec, threads=2)
    eq("payload-20M: pages of the texts, in two row groups, for both do not wait in memory",
       [len(c["offset_index"]["page_locations"]) for c in chunks(path, "body")], [2, 1])


def prefixes():
    heads = ["a" * 64, "a" * 63 + "\x7f", "\x7f" * 64, "a" * 62 + "é", "é" * 32, "a" * 61 + "\ud7ff", "\U0001f680" * 16, TOP * 15 + "~", "a" * 60 + TOP]
    texts = [h + t for h in heads for t in ("", "\x7f", "z", "é", TOP)] + ["", "\0", "\x7f", TOP, TOP * 20, None, "b"]
    random.Random(7).shuffle(texts)
    rows = [[i, t, None, None, i, [t] if t is not None else None, t] for i, t in enumerate(texts)]
    ask(check("prefixes", rows, page_rows=3), rows)
    ask(check("prefixes-groups", rows, group_rows=4, page_rows=2), rows)
    unbound = [[i, TOP * 20 + str(i), None, None, None, None, None] for i in range(9)]
    path = check("no-upper-bound", unbound, page_rows=2)
    eq("no-upper-bound: no column index", ["column_index" in c for c in chunks(path, "name")], [False])
    ask(path, unbound)


def fallback():
    rng = random.Random(3)
    texts = ["few " + str(i % 5) for i in range(900)] + [f"value {i} of many" for i in range(2000)] + ["few 1"] * 100
    rows = [[i % 4 if i < 1500 else i, t if i % 11 else None, float(i % 3), i % 5 == 0 if i % 13 else None, i // 100,
             [t] * (i % 3), "b" * rng.randrange(40)] for i, t in enumerate(texts)]
    path = check("fallback", rows, dictionary_bytes=4000, page_rows=250, threads=2)
    kinds = chunks(path, "name")[0]["meta_data"]["encoding_stats"]
    eq("fallback: a dictionary, pages of both kinds", sorted((k["page_type"], k["encoding"]) for k in kinds),
       [("DATA_PAGE", "PLAIN"), ("DATA_PAGE", "RLE_DICTIONARY"), ("DICTIONARY_PAGE", "PLAIN")])
    ask(path, rows)


def lists():
    many = [str(i % 700) for i in range(5000)]
    rows = [[i, None, None, None, None, v, None] for i, v in enumerate([[], many, None, [""], many[:3], None, [], many, ["x"] * 40, [TOP]] * 6)]
    check("lists", rows, page_bytes=3000)
    check("lists-groups", rows, group_rows=3, codec="snappy")
    check("lists-fallback", rows, dictionary_bytes=900, page_rows=4, threads=3)


def mixed():
    rng = random.Random(1)
    words = ["".join(rng.choices("aeiouklmn", k=rng.randrange(1, 12))) for _ in range(300)]

    def maybe(value):
        return None if rng.random() < 0.1 else value
    rows = [[maybe(rng.randrange(-2**63, 2**63)), maybe(rng.choice(words)), maybe(rng.uniform(-9, 9)), maybe(rng.random() < 0.5),
             maybe(i * 1000), maybe([rng.choice(words) for _ in range(rng.randrange(5))]), maybe("html " * rng.randrange(300))]
            for i in range(3000)]
    for codec, plan in (("zstd", {"threads": 2, "memory": 100000}), ("snappy", {"group_bytes": 400000}), ("none", {"group_rows": 700})):
        path = check(f"mixed-{codec}", rows, codec=codec, page_rows=333, page_bytes=20000, **plan)
        ok(f"mixed-{codec}: several row groups", len(footer(path)["row_groups"]) > 2)
        ask(path, rows)


def no_rows():
    path = write("nothing", [])
    ok("no row, no file", not path.exists())


# ---------------------------------------------------------------- conditions


def literal(value, kind):
    if kind == "text":
        return "'" + value.replace("'", "''") + "'"
    return {"int": str(value), "time": f"make_timestamptz({value})", "bool": str(value).lower(), "real": f"{value!r}::double"}[kind]


def key(value, kind):
    return value.encode() if kind == "text" else value


OPERATORS = {"=": lambda a, b: a == b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


def ask(path, rows):
    """DuckDB's counts against ours, for conditions on every column that has statistics or none."""
    rng = random.Random(9)
    questions = []
    for at, (name, kind) in enumerate((c[0], c[1]) for c in EVERYTHING):
        values = [r[at] for r in rows if r[at] is not None]
        questions.append((f'"{name}" is null', len(rows) - len(values)))
        if kind == "list" or not values:
            continue
        picked = [min(values, key=lambda v: key(v, kind)), max(values, key=lambda v: key(v, kind))] + rng.sample(values, min(6, len(values)))
        for value in picked:
            if kind == "text" and ("\0" in value or len(value) > 2000):
                continue
            for sign, holds in OPERATORS.items():
                questions.append((f'"{name}" {sign} {literal(value, kind)}', sum(holds(key(v, kind), key(value, kind)) for v in values)))
    counts = [f"select count(*) as n from read_parquet('{path}') where {q}" for q, _ in questions]
    plain = "set disabled_optimizers = 'filter_pushdown,statistics_propagation'"
    got = node("sql", stdin="\n".join(json.dumps({"sql": line}) for line in counts + [plain] + counts) + "\n")
    answers = [json.loads(line) for line in got.stdout.split("\n")[:-1]]
    eq(f"{path.stem}: all conditions answered", (got.stderr, len(answers)), ("", 2 * len(counts) + 1))
    for how, some in (("with statistics", answers[:len(counts)]), ("without", answers[len(counts) + 1:])):
        none(f"{path.stem}: conditions find what is there, {how}",
             [(q, want, a) for (q, want), a in zip(questions, some) if a != [{"n": want}]])


def compared(files):
    def both():
        files()
        compare()
    both.__name__ = files.__name__
    return both


installed()
main(*map(compared, (few, numbers, payloads, prefixes, fallback, lists, mixed)), no_rows)
