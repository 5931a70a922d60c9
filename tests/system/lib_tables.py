"""lib_tables.py - what the tests of tables share: rows as python3-avro and, where npm can be reached, DuckDB and hyparquet
(readers.mjs) read them; and what must hold of them, told from the documents by hand."""
import base64
import collections
import datetime
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from lib import *  # noqa: E402, F403

try:
    import avro.datafile
    import avro.io
except ImportError:  # the package is in Debian's Python, which need not be the first in PATH
    if os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3") and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
    print("1..0 # SKIP python3-avro is not installed")
    sys.exit(0)

HERE = Path(__file__).resolve().parent
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def node(*args, stdin=None):
    return subprocess.run(["node", HERE / "readers.mjs", *map(str, args)], input=stdin, capture_output=True, text=True, timeout=300)


def readers():
    """Is there a reader of Parquet? Said once."""
    if not hasattr(readers, "there"):
        try:
            got = node("install")
        except FileNotFoundError:
            got = subprocess.CompletedProcess([], 77, "", "there is no node: apt-get install nodejs npm")
        readers.there = got.returncode == 0
        if not readers.there:
            note("Parquet is not read: " + got.stderr.strip())
            ok("readers of Parquet", os.environ.get("TROTLINE_TEST_READERS") != "required", got.stderr)
    return readers.there


def parquet(files, reader="hyparquet"):
    got = node("rows", reader, *files)
    if got.returncode:
        raise RuntimeError(got.stderr)
    return [json.loads(line) for line in got.stdout.splitlines()]


def avro_rows(files):
    rows = []
    for f in files:
        with open(f, "rb") as stream, avro.datafile.DataFileReader(stream, avro.io.DatumReader()) as reader:
            rows += list(reader)
    for row in rows:
        for key, value in row.items():
            if isinstance(value, datetime.datetime):
                row[key] = (value - EPOCH) // datetime.timedelta(microseconds=1)
    return rows


def item_files(w, kind="avro"):
    return [w.lake / p for p in w.files("items") if p.endswith("." + kind)]


def items(w):
    return avro_rows(item_files(w))


def fingerprint(rows):
    """What rows say, but for the time of conversion."""
    return sorted(json.dumps({k: v for k, v in r.items() if k != "converted_at"}, sort_keys=True) for r in rows)


def elements(document):
    """(dataset, kind, id, number, key, element) of a document, in order."""
    for d in document.d["datasets"]:
        if d["type"] == "SIMPLE":
            yield d, "simple", None, None, None, d
        for p in d.get("pages", {}).values():
            yield d, "page", p["id"], p["page_number"], None, p
        for p in d.get("key_values", {}).values():
            yield d, "key_value", p["id"], None, p["key"], p


def expected(w):
    """{(result, dataset, element): data's checksum, length} of every document in the lake."""
    return {(d.d["result_id"], s["id"], e): (x["sha256"], x["bytes"]) for d in w.documents() for s, _, e, _, _, x in elements(d)}


def whole(w, name, rows=None):
    """Every element of every document has one row, and nothing else has."""
    rows = items(w) if rows is None else rows
    got = collections.Counter((r["result_id"], r["dataset_id"], r["element_id"]) for r in rows)
    none(f"{name}: no row twice", [k for k, n in got.items() if n > 1])
    same(f"{name}: a row for each element", got, expected(w))
    none(f"{name}: bytes and checksums are the documents'",
         [r["data_url"] for r in rows if expected_of(w, r) != (r["data_sha256"], r["data_bytes"])])


def expected_of(w, row, cache={}):
    if row["document_path"] not in cache:
        cache[row["document_path"]] = json.loads((w.lake / row["document_path"]).read_bytes())
    for d in cache[row["document_path"]]["datasets"]:
        if d["id"] == row["dataset_id"]:
            e = d if row["element_kind"] == "simple" else d.get("pages", d.get("key_values"))[row["element_id"]]
            return e["sha256"], e["bytes"]


def catalog_says(w, name):
    """Files, rows and checksums of the catalog are those of the files."""
    wrong, listed = [], set()
    for t in w.sql("SELECT * FROM tables WHERE replaced_at IS NULL"):
        f = w.lake / t["path"]
        listed.add(t["path"])
        if not f.exists():
            wrong.append("gone: " + t["path"])
        elif hashlib.sha256(f.read_bytes()).hexdigest() != t["sha256"] or f.stat().st_size != t["bytes"]:
            wrong.append("not what it says: " + t["path"])
        elif f.stat().st_mode & 0o222:
            wrong.append("can be written: " + t["path"])
        elif t["format"] == "avro" and len(avro_rows([f])) != t["rows"]:
            wrong.append("rows: " + t["path"])
    there = {p for top in ("items", "l2ts", "rejects") for p in w.files(top)}
    wrong += [f"not in the catalog: {p}" for p in there - listed] + [f"in .staging: {p}" for p in w.files(".staging")]
    none(f"{name}: the catalog knows each file, and it is as it says", wrong)


SHAPES = [{"collector": "shapes", "args": a} for a in (
    {"simple": 1}, {"simple": 0, "pages": 10}, {"simple": 0, "pairs": 2}, {"simple": 2, "pages": 3, "pairs": 4, "repeat_keys": True},
    {"simple": 2, "binary": True}, {"simple": 1, "json": True, "simple_bytes": 300})]
