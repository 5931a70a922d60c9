#!/bin/bash
# run-trotline.sh DIR - the same crawl by Trotline: documents, text, links, graph, checksums (see lib.sh).
# TROTLINE=binary (default: ../../_build/host/trotline, seen from here)  INFLIGHT=32  DEPTH=64  PLUGINS=dir[:dir]  WORK_DIR as in lib.sh
# The peak memory that lib.sh prints is that of the largest single process, not the sum over all workers.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"; bench_init "$@"
TROTLINE=${TROTLINE:-$HERE/../../_build/host/trotline}; INFLIGHT=${INFLIGHT:-32}; DEPTH=${DEPTH:-64}
HOST=$(printf '%s' "$BASE" | sed -E 's,^https?://([^/:]+).*,\1,')
once() {
  rm -rf "$WORK/trotline"; mkdir -p "$WORK/trotline"
  {
    echo 'lake: lake'; echo 'catalog: catalog.db'
    [ -z "${PLUGINS:-}" ] || echo "plugins: [$(printf '%s' "$PLUGINS" | sed 's/:/, /g')]"
    echo "fetch: {delay: 0s, per_host: $INFLIGHT, robots: false}"
    echo "workers: {inflight: $INFLIGHT}"
  } > "$WORK/trotline/trotline.yml"
  cat > "$WORK/trotline/crawl.yml" <<YML
crawl: bench
target: {org: bench, project: site, name: docs}
leash: {depth: $DEPTH, fanout: 100000, runs: 10000000, hosts: ["$HOST"]}
lines:
  - collector: http
    args: {url: "$BASE"}
YML
  measure trotline "$TROTLINE" --config "$WORK/trotline/trotline.yml" -q run "$WORK/trotline/crawl.yml"
  [ -n "${KEEP:-}" ] || rm -rf "$WORK/trotline"
}
repeat "trotline-i$INFLIGHT" once
