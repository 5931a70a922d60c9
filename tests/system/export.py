#!/usr/bin/env python3
"""export.py - doors to other tools: rows as text against the Parquet files as DuckDB reads them, the views of the DuckDB file,
the statements for other engines against the columns that the files have, and the metadata for Datasette.

Where npm is out of reach, what needs its readers is left out, and said."""
import csv
import io
import sys

sys.dont_write_bytecode = True
from lib import *  # noqa: E402

HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("TROTLINE_SOURCE") or HERE.parents[1])
SHAPES = {"collector": "shapes", "args": {"simple": 2, "pages": 3, "pairs": 4, "json": True}}
BINARY = {"collector": "shapes", "args": {"simple": 1, "binary": True, "simple_bytes": "3KiB"}, "name": "bits, \"all\" of them"}
SCRIPT = pages({"/": ["/a", "/b"], "/a": ["/"], "/b": ["/a"]}, **{"/a": ["header ETag: \"1\"", "validate"]})


def node(*args, stdin=None):
    return subprocess.run(["node", HERE / "readers.mjs", *map(str, args)], input=stdin, capture_output=True, text=True, timeout=300)


def have_readers():
    try:
        got = node("install")
    except FileNotFoundError:
        got = subprocess.CompletedProcess([], 77, "", "there is no node: apt-get install nodejs npm")
    if got.returncode and os.environ.get("TROTLINE_TEST_READERS") == "required":
        print(f"Bail out! {got.stderr}")
        sys.exit(1)
    if got.returncode:
        note(f"left out: {got.stderr.strip()}")
    return got.returncode == 0


READERS = have_readers()


def sql(*texts):
    got = node("sql", stdin="".join(json.dumps({"sql": t}) + "\n" for t in texts))
    return [json.loads(line) for line in got.stdout.splitlines()]


def files_of(w, *words):
    return [x for x in w.tl("export", "manifest", *words).out.splitlines()]


def parquet(w, *words):
    """All rows of tables, as DuckDB reads them: times are microseconds."""
    got = node("rows", "duckdb", *files_of(w, *words))
    if got.returncode:
        raise RuntimeError(got.stderr)
    return [json.loads(line) for line in got.stdout.splitlines()]


def micros(text):
    whole, part = text.rstrip("Z").split(".")
    return int(time.mktime(time.strptime(whole + " UTC", "%Y-%m-%dT%H:%M:%S %Z")) - time.timezone) * 10**6 + int(part)


def plain(row):
    """A row of JSON Lines as the files have it."""
    row = {k: micros(v) if v and k.endswith("ed_at") else v for k, v in row.items()}
    for k in ("dataset_metadata", "element_metadata"):
        if row.get(k) is not None:
            row[k] = json.dumps(row[k])
    return row


def compare(rows):
    return sorted(json.dumps({k: json.dumps(json.loads(v)) if k.endswith("_metadata") and v else v for k, v in r.items()}, sort_keys=True)
                  for r in rows)


def crawled(config=""):
    site, w = Site(script=SCRIPT), World(plugins=("http", "shapes"), config=config)
    c = w.crawl("c", site.base + "/", SHAPES, BINARY, leash='{depth: 3, hosts: ["127.0.0.1"]}')
    r = w.tl("run", c)
    ok("a crawl ends well", r.code == 0, r)
    w.site, w.file = site, c
    return w, r.root


def rows():
    w, root = crawled()
    r = w.tl("export", root, "--format", "jsonl")
    ok("documents that are not converted are, first", r.code == 0 and r.last_line() == "export: 20 rows", r)
    lines = r.lines()
    elements = sum(1 if s["type"] == "SIMPLE" else len(s["pages"] if s["type"] == "PAGED" else s["key_values"])
                   for d in w.documents(root) for s in d.d["datasets"])
    eq("a row for each element of each document", (len(lines), len({x["item_id"] for x in lines})), (elements, elements))
    eq("columns in order", list(lines[0])[:3] + list(lines[0])[-1:], ["item_id", "result_id", "run_id", "data"])
    ok("metadata are objects, data is text", all(isinstance(x["dataset_metadata"], dict) and isinstance(x["data"], str) for x in lines))
    eq("again: byte for byte the same, nothing converted", w.tl("export", root, "--format", "jsonl").out, r.out)
    if READERS:
        eq("every value as DuckDB reads it", compare(plain(x) for x in lines), compare(parquet(w, "items")))
    pairs = [json.loads(x["data"])["big"] for x in lines if x["element_kind"] == "key_value"]
    eq("integers of payloads are exact", set(pairs), {9007199254740993})

    text = w.tl("export", root, "--format", "csv").out
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    same_as = {k: "" if v is None else json.dumps(v, separators=(",", ":"), ensure_ascii=False) if isinstance(v, (list, dict)) else str(v)
               for k, v in lines[0].items()}
    eq("CSV: as many rows, CRLF, and the same first row", (len(table), text.count("\r\n") >= 21, {k: v for k, v in table[0].items()}
                                                          | {"dataset_metadata": same_as["dataset_metadata"]}), (20, True, same_as))
    binary = next(x for x in lines if x["result_context_name"] == BINARY["name"])
    cell = next(x for x in table if x["item_id"] == binary["item_id"])
    eq("CSV: quotes, commas, base64", (cell["result_context_name"], cell["data"]), (BINARY["name"], binary["data"]))
    eq("--columns: those, in that order", w.tl("export", root, "--format", "csv", "--columns", "depth,element_kind").out.splitlines()[:2],
       ["depth,element_kind", "0,simple"])
    eq("--type: the rows that refine writes", w.tl("export", root, "--format", "jsonl", "--type", "http_page").code, 0)
    w.tl("refine", root)
    for t in ("http_page", "http_link"):
        got = w.tl("export", root, "--format", "jsonl", "--type", t).lines()
        ok(f"--type {t}: some rows", len(got) > 2, got)
        if READERS:
            eq(f"--type {t}: the rows that refine writes", compare(plain(x) for x in got), compare(parquet(w, t)))
    eq("--type: with its version, as the tables are named", w.tl("export", root, "--format", "jsonl", "--type", "http_page_v1").out,
       w.tl("export", root, "--format", "jsonl", "--type", "http_page").out)
    link = w.tl("export", root, "--format", "csv", "--type", "http_link", "--columns", "rel,text").out.splitlines()[1]
    eq("CSV: an empty text is quoted", link, '"",/a')
    eq("CSV: null is nothing", w.tl("export", root, "--format", "csv", "--columns", "parent_id,element_id,depth").out.splitlines()[1], ",,0")

    second = w.tl("run", w.file)
    reused = w.runs(second.root, "status = 'not_modified'")
    got = w.tl("export", second.root, "--format", "jsonl", "--columns", "data_url,run_id").lines()
    ok("items of reused documents are the crawl's too", reused and all(
        any(x["data_url"] == r["url"] and x["run_id"] != r["run_id"] for x in got) for r in reused), reused, got)
    both = w.tl("export", "--format", "jsonl").lines()
    eq("without a root: all, each once", len({x["item_id"] for x in both}), len(both))
    w.tl("compact", "--now", "2099-01-01T00:00:00Z")
    eq("joined files: the same rows", compare(plain(x) for x in w.tl("export", "--format", "jsonl").lines()), compare(plain(x) for x in both))

    shell = subprocess.run(f"'{TROTLINE}' --config '{w.config}' export --format jsonl | head -n 1 | cut -c1-11", shell=True, env=w.env,
                           cwd=w.dir, capture_output=True, text=True, timeout=PATIENCE)
    ok("head: one row, and no complaint", shell.stdout == '{"item_id":\n' and "error" not in shell.stderr, shell)
    for args, code, word in ((["--format", "xml"], 2, "jsonl or csv"), ([], 2, "jsonl or csv"), (["--format", "csv", "--columns", "dat"], 2, "data"),
                             (["--format", "csv", "--type", "http_pag"], 2, "http_page"), (["ddl", "--format", "csv"], 2, "--format"),
                             (["--format", "csv", "0123"], 2, "0123"), (["manifest", "nothing"], 2, "nothing")):
        r = w.tl("export", *args)
        ok(f"export {' '.join(args)}: refused, and why", r.code == code and word in r.last_line(), r)
    eq("manifest: files that are there, Avro as well", [all(Path(x).exists() for x in w.tl("export", "manifest", "--format", f).out.splitlines())
                                                       for f in ("parquet", "avro")], [True, True])
    told = json.loads(w.tl("export", "manifest", "items", "http_page", "-o", "json").out)
    eq("manifest -o json: rows and digests are the files'", [(x["bytes"], x["sha256"]) for x in told],
       [(len(b := Path(x["path"]).read_bytes()), hashlib.sha256(b).hexdigest()) for x in told])
    gone = json.loads(w.tl("export", "manifest", "-o", "json").out)[0]["path"].replace("/parquet/", "/avro/")
    for f in w.files("items/avro"):
        os.unlink(w.lake / f)
    r = w.tl("export", "--format", "jsonl")
    ok("a lake without its files: said, with the way out", r.code == 14 and "trotline verify" in r.last_line(), r, gone)


TYPED = """\
type: shape
version: 2.b
about: shapes, of a type with columns that paths have levels for
from: {collector: shapes, kind: key_value}
key: [type]
columns:
  - {name: type, field: key_name, required: true, about: "key; of the pair"}
  - {name: p, type: int, field: data, pointer: /big, about: a number beyond 2^53}
"""


def views():
    if not READERS:
        return
    empty = World()
    made = empty.dir / "views.sql"
    r = empty.tl("run", empty.crawl("none", "http://127.0.0.1:1/", leash="{depth: 0}"))
    load = lambda file: [x for x in "\n".join(line for line in file.read_text().splitlines() if not line.startswith("--")).split(";\n") if x.strip()]
    r = empty.tl("export", "duckdb", made)
    ok("duckdb: views of a lake without tables", r.code == 0 and str(made) in r.last_line(), r)
    got = sql(*load(made), "select count(*) n from items", "select count(*) n from http_page", "select count(*) n from rejects", "describe http_page")
    eq("duckdb: empty relations", [x[0]["n"] for x in got[-4:-1]], [0, 0, 0])
    types = {x["column_name"]: x["column_type"] for x in got[-1]}

    w, root = crawled("convert: {types: [types]}\nenvironment: prod-1.x\n")
    (w.dir / "types").mkdir()
    (w.dir / "types" / "shape.yml").write_text(TYPED)
    r = w.tl("refine", root)
    ok("a type of one's own", r.code == 0, r)
    w.tl("export", "duckdb", made)
    names = [re.search(r'VIEW "(\w+)"', x)[1] for x in load(made)]
    ok("duckdb: a view for each version, and one for the newest", {"http_page", "http_page_v1", "shape", "shape_v2_b", "items", "documents", "rejects"}
       <= set(names), names)
    asked = ["select item_id from items", "select * from shape order by type", "select url, p_year from http_page where p_year = '1999'",
             "select p_environment, p_producer_name, count(*) n from items group by all order by 2", "select * from documents", "describe http_page",
             "describe items", "select count(*) n from read_parquet([" + ", ".join("'" + f + "'" for f in files_of(w)) + "])"]
    got = sql(*load(made), *asked)
    none("duckdb: no view that cannot be made", [x for x in got if isinstance(x, dict)])
    got = got[-len(asked):]
    eq("duckdb: the items", {x["item_id"] for x in got[0]}, {x["item_id"] for x in w.tl("export", "--format", "jsonl", "--columns", "item_id").lines()})
    eq("duckdb: a column is not hidden by a level of the path", [(x["type"], x["p"]) for x in got[1]], [(f"key-{i}", 9007199254740993) for i in range(4)])
    eq("duckdb: partitions are texts", (got[2], {x["p_environment"] for x in got[3]}, [x["p_producer_name"] for x in got[3]]),
       ([], {"prod-1.x"}, ["http", "orchestrator", "shapes"]))
    documents = {d.d["result_id"]: d for d in w.documents()}
    eq("duckdb: documents, with what they say", sorted((x["result_id"], x["result_context_name"], x["status"], json.loads(x["payload"]), x["year"],
       x["clct_uuid"]) for x in got[4]), sorted((i, d.d["result_context_name"], d.status, d.d["payload"], d.d["started_at"][:4], root)
                                                for i, d in documents.items()))
    eq("duckdb: an empty table's columns are those of one with rows", types, {x["column_name"]: x["column_type"] for x in got[5]})
    eq("duckdb: a list of files from the manifest", got[7][0]["n"], len(got[0]))


DUCKDB = {"string": "VARCHAR", "bigint": "BIGINT", "double": "DOUBLE", "boolean": "BOOLEAN", "timestamp": "TIMESTAMP WITH TIME ZONE",
          "array<string>": "VARCHAR[]", "varchar": "VARCHAR", "array(varchar)": "VARCHAR[]"}


def tables_of(text):
    """{name: (columns, partitions, place, statement)} of statements, by a reading of this test's own."""
    found = {}
    text = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    for statement in text.split(";\n"):
        head = re.match(r'\s*CREATE (?:EXTERNAL )?TABLE IF NOT EXISTS (?:hive\.default\.)?[`"](\w+)[`"] \(\n', statement)
        if not head:
            continue
        columns = dict(re.findall(r'^  [`"](\w+)[`"] ([a-z]+(?:[<(][a-z]+[>)])?)', statement, re.M))
        partitions = re.search(r"(?:PARTITIONED BY \(|partitioned_by = ARRAY\[)(.*)[)\]]", statement)[1]
        place = re.search(r"(?:LOCATION|path|external_location =) '([^']*)'", statement)[1]
        found[head[1]] = (columns, re.findall(r"\w+", partitions.replace(" string", "")), place, statement)
    return found


def ddl():
    w, root = crawled("convert: {types: [types]}\nenvironment: prod-1.x\n")
    (w.dir / "types").mkdir()
    (w.dir / "types" / "shape.yml").write_text(TYPED)
    w.tl("refine", root)
    texts = {e: w.tl("export", "ddl", "--for", e, "--location", "s3://bucket/lake/").out for e in ("athena", "glue", "hive", "spark", "trino")}
    eq("glue is athena", texts["glue"], texts["athena"])
    words = {"dataset_items": "items", "http_page_v1": "http_page", "shape_v2_b": "shape"}
    files = {name: Path(files_of(w, word)[0]) for name, word in words.items()}
    described = dict(zip(words, sql(*(f"describe select * from read_parquet('{f}', hive_partitioning = false)" for f in files.values())))) if READERS else {}
    for engine in ("athena", "hive", "spark", "trino"):
        found = tables_of(texts[engine])
        ok(f"{engine}: a table for each table", {"dataset_items", "dataset_items_avro", "http_page_v1", "shape_v2_b", "rejects"} <= set(found), list(found))
        for name, file in files.items():
            columns, partitions, place, _ = found[name]
            below = str(file.relative_to(w.lake))
            levels = [x.split("=")[0] for x in below[len(place) - len("s3://bucket/lake/"):].strip("/").split("/")[:-1]]
            eq(f"{engine} {name}: partitions are the levels below its place", partitions, levels)
            ok(f"{engine} {name}: its files are below its place", ("s3://bucket/lake/" + below).startswith(place.rstrip("/") + "/"), place, below)
            if READERS:
                own = [(k, DUCKDB[v]) for k, v in columns.items() if k not in partitions]
                eq(f"{engine} {name}: columns and types are those of the file", own, [(x["column_name"], x["column_type"]) for x in described[name]])
        times = found["dataset_items_avro"][0]["collected_at"]
        eq(f"{engine}: time in Avro", times, "timestamp" if engine == "spark" else "bigint")
    projected = dict(re.findall(r"'projection\.([\w.]+)' = '([^']*)'", tables_of(texts["athena"])["dataset_items"][3]))
    year = time.gmtime().tm_year
    eq("athena: projection of every partition", projected, {
        "enabled": "true", "p_schema_version.type": "enum", "p_schema_version.values": "v1", "p_environment.type": "enum",
        "p_environment.values": "prod-1.x", "p_producer_name.type": "enum", "p_producer_name.values": "http,orchestrator,shapes",
        "p_year.type": "integer", "p_year.range": f"{year},{year + 1}", "p_year.digits": "4", "p_month.type": "integer", "p_month.range": "1,12",
        "p_month.digits": "2", "p_day.type": "integer", "p_day.range": "1,31", "p_day.digits": "2", "p_hour.type": "integer", "p_hour.range": "0,23",
        "p_hour.digits": "2"})
    ok("hive: repairs, trino: synchronises, spark: recovers", "MSCK REPAIR TABLE `dataset_items`;" in texts["hive"]
       and "CALL hive.system.sync_partition_metadata('default', 'http_page_v1', 'ADD');" in texts["trino"]
       and "ALTER TABLE `http_page_v1` RECOVER PARTITIONS;" in texts["spark"])
    none("no semicolon within a statement", [x for t in texts.values() for x in re.findall(r";(?!\n|$)[^\n]*", "\n".join(
        line for line in t.splitlines() if not line.startswith("--")))])
    w.tl("export", "delta", "items")
    spark = w.tl("export", "ddl", "--for", "spark").out
    ok("spark: a table with a Delta log is read by it", f"USING delta\nLOCATION 'file://{w.lake}/items/parquet';" in spark, spark)
    r = w.tl("export", "ddl", "--for", "oracle")
    ok("an engine that is none of these", r.code == 2 and "trino" in r.last_line(), r)
    if READERS:
        spoken = {"athena": "hive", "hive": "hive", "spark": "spark", "trino": "trino"}
        lines = [{"engine": spoken[e], "sql": ";\n".join(x for x in texts[e].split(";\n") if re.search("dataset_items|shape", x)) + ";\n"}
                 for e in spoken]    # not all: the grammars take their time
        lines += [{"engine": "spark", "sql": next(x for x in spark.split(";\n") if "USING delta" in x)}, {"engine": "hive", "sql": "CREATE TABEL x"}]
        got = [json.loads(x) for x in node("parse", stdin="".join(json.dumps(x) + "\n" for x in lines)).stdout.splitlines()]
        if isinstance(got[0], dict):
            return note(f"left out: {got[0]['error']}")
        for engine, wrong in zip(spoken, got):
            eq(f"{engine}: statements as its grammar has them", wrong, [])
        eq("spark: USING delta, too; and the grammars do refuse", (got[4], len(got[5])), ([], 1))


def names_of_types():
    """Each version of each type is a table of its own, whatever they are called."""
    w = World(plugins=("shapes",), config="convert: {types: [types]}\n")
    (w.dir / "types").mkdir()
    w.tl("run", w.crawl("s", SHAPES))
    given = [("x", "1.0"), ("x", "1_0"), ("x", "1-0"), ("x", "v1"), ("x", "1"), ("x_v1", "0")]

    def refine(name, version):
        (w.dir / "types/a.yml").write_text(f"type: {name}\nversion: '{version}'\nfrom: {{collector: shapes}}\ncolumns:\n"
                                           "  - {name: a, type: text, field: dataset_name}\n")
        return w.tl("refine").code

    eq("types with names that are alike", [refine(*t) for t in given], [0] * len(given))
    for name in ("items", "dataset_items", "rejects", "documents"):
        eq(f"a type is not called {name}", refine(name, "1"), 3)
    refine(*given[-1])
    views = re.findall(r'VIEW "([^"]+)"', w.tl("export", "duckdb").out)
    eq("no view takes the place of another", sorted(views), sorted(set(views)))
    tables = re.findall(r"EXISTS `([^`]+)`", w.tl("export", "ddl", "--for", "hive").out)
    eq("no table does", sorted(tables), sorted(set(tables)))
    ok("the first of a name keeps it, another is told apart", {"x_v1_0", "x_v1_v0", "x", "x_v1"} <= set(views) and
       sum(v.startswith("x") for v in views) == len(given) + 2, views)


def datasette():
    w, root = crawled()
    w.tl("convert")
    r = w.tl("export", "datasette")
    told = json.loads(r.out)["databases"]["catalog"]
    con = sqlite3.connect(w.catalog)
    named = {t: [n for (n,) in con.execute("select name from sqlite_master where type = ?", (t,)) if not n.startswith("sqlite_")] for t in ("view", "table")}
    same("datasette: every view and table is told of", told["tables"], named["view"] + named["table"])
    none("datasette: tables are hidden, views are not", [k for k, v in told["tables"].items() if (k in named["table"]) != bool(v.get("hidden"))])
    columns = {v: [x[1] for x in con.execute(f"pragma table_info({v})")] for v in named["view"]}
    none("datasette: columns, facets and sort exist", [(v, c) for v in named["view"] for c in [*told["tables"][v]["columns"], *told["tables"][v].get(
        "facets", []), told["tables"][v].get("sort_desc", columns[v][0])] if c not in columns[v]])
    eq("datasette: what a column is about stands in the schema", told["tables"]["runs"]["columns"]["final_url"], "where redirects led, NULL: nowhere else")
    text = (SOURCE / "docs/howto/queries.md").read_text()
    wanted = {name: q.strip() for name, q in re.findall(r"<!-- query: ([\w-]+) -->\n```sql\n(.*?)```", text, re.S)}
    got = {k: v["sql"].replace(":result_id", "'RESULT_ID'").replace(":crawl", "'kayaking'") for k, v in told["queries"].items()}
    eq("datasette: the questions of the how-to", got, wanted)
    one = w.one("select result_id from documents where path like '%/result_name=http/%'")
    for name, q in told["queries"].items():
        answer = con.execute(q["sql"], {"result_id": one, "crawl": "c"}).fetchall()
        ok(f"datasette: {name} can be asked", answer or name not in ("tree", "origin"), answer)
    con.close()


def howto():
    """The commands of docs/howto/tables.md that are for DuckDB, as they stand there."""
    if not READERS:
        return
    w, root = crawled()
    w.tl("refine")
    text = (SOURCE / "docs/howto/tables.md").read_text()
    w.tl("export", "duckdb", w.dir / "views.sql")
    views = [x for x in "\n".join(s for s in (w.dir / "views.sql").read_text().splitlines() if not s.startswith("--")).split(";\n") if x.strip()]
    asked = [(name, q.strip().rstrip(";")) for name, q in re.findall(r"<!-- duckdb: ([\w-]+) -->\n```sql\n(.*?)```", text, re.S)]
    ok("the how-to asks some questions", len(asked) >= 4, asked)
    files = "', '".join(files_of(w))
    got = sql(*views, *(q.replace("LIST", f"'{files}'") for _, q in asked))
    for (name, _), answer in zip(asked, got[len(views):]):
        ok(f"how-to: {name} has an answer", isinstance(answer, list) and answer, answer)


main(rows, views, ddl, names_of_types, datasette, howto)
