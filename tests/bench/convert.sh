#!/bin/bash
# convert.sh - items of JSON Lines become Parquet and Avro, by us and by DuckDB, in turn.
#
#   BUILD=_build ./convert.sh [ITEMS] [ROUNDS]          40000 items, 3 rounds; 200000 items are 1.2 GB
#
# BUILD has tests/bench/gen_items and convert_bench (make bench-convert builds them and comes here). DuckDB comes from npm
# (tests/system/readers.mjs install); without it there are only our own figures. WORK_DIR: where the files go.
#
# A line a run: who, rows, bytes of input and output, seconds of processor and wall time, rows a processor second, peak
# memory. Then the least processor time of each, the ratios to ours, and the sizes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../_build}
items=${1:-40000}
rounds=${2:-3}
dir=$(mktemp -d "${WORK_DIR:-${TMPDIR:-/tmp}}/trotline-convert.XXXXXX")
trap 'rm -rf "$dir"' EXIT
in=$dir/items.ndjson

"$build/tests/bench/gen_items" "$items" 1 >"$in"
cat "$in" >/dev/null
readers=$(TROTLINE_BUILD=$build node "$here/../system/readers.mjs" install) || readers=

ours() { # NAME FORMAT CODEC LEVEL THREADS
    printf '%s ' "$1"
    "$build/tests/bench/convert_bench" "$2" "$3" "$4" "$5" "$dir/$1" <"$in"
}

duckdb() { # NAME THREADS
    printf '%s ' "$1"
    # shellcheck disable=SC2016 # it is JavaScript
    IN=$in OUT=$dir/$1 THREADS=$2 READERS=$readers node --input-type=module -e '
import { createRequire } from "node:module"
import { statSync } from "node:fs"
const { IN, OUT, THREADS, READERS } = process.env
const { DuckDBInstance } = createRequire(READERS + "/package.json")("@duckdb/node-api")
const connection = await (await DuckDBInstance.create(":memory:", { threads: THREADS })).connect()
const types = { item_id: "bigint", depth: "bigint", branch: "bigint", status: "bigint", fetched_at: "timestamptz", links: "varchar[]" }
const names = ["item_id", "run_id", "collector", "target", "urn", "root", "parent", "depth", "branch", "url", "status", "content_type",
  "fetched_at", "etag", "sha256", "links", "body"]
const columns = names.map(n => `${n}: \x27${types[n] ?? "varchar"}\x27`).join(", ")
const before = process.cpuUsage(), began = process.hrtime.bigint()
const copy = await connection.run(`copy (select * from read_json(\x27${IN}\x27, format = \x27newline_delimited\x27, columns = {${columns}}))
  to \x27${OUT}\x27 (format parquet, compression zstd, compression_level 3)`)
const used = process.cpuUsage(before), cpu = (used.user + used.system) / 1e6, rows = Number(copy.rowsChanged)
console.log(`rows ${rows} in ${statSync(IN).size} out ${statSync(OUT).size} cpu ${cpu.toFixed(2)} wall ${(Number(process.hrtime.bigint() - began) / 1e9).toFixed(2)} ` +
  `rows_per_cpu_s ${(rows / cpu).toFixed(0)} peak_mib ${Math.round(process.resourceUsage().maxRSS / 1024)}`)
process.exit(0)'
}

for _ in $(seq "$rounds"); do
    ours parquet parquet zstd 3 1
    [ -z "$readers" ] || duckdb duckdb 1
    ours parquet-2 parquet zstd 3 2
    ours parquet-snappy parquet snappy 0 1
    ours avro avro deflate 3 1
done | tee "$dir/lines"

awk '
{ cpu = $9 + 0; wall = $11 + 0
  if (!($1 in least) || cpu < least[$1]) least[$1] = cpu
  if (!($1 in quick) || wall < quick[$1]) quick[$1] = wall
  size[$1] = $7; rows = $3; peak[$1] = $15 > peak[$1] ? $15 : peak[$1] }
END {
  print "least processor time of each:"
  for (n in least) printf "  %-15s %8.2f s, %7.0f rows a second, %6.1f MB, peak %d MiB\n", n, least[n], rows / least[n], size[n] / 1e6, peak[n]
  if ("duckdb" in least) printf "rows a processor second: %.2f times DuckDB (aim: 2); size: %+.1f %% of it (aim: at most +3)\n",
    least["duckdb"] / least["parquet"], 100 * (size["parquet"] / size["duckdb"] - 1)
  printf "two threads: %.2f times as quick as one, by the clock (aim: 1.7, on an idle machine)\n", quick["parquet"] / quick["parquet-2"]
}' "$dir/lines"
