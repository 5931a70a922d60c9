#!/bin/bash
# run-wget2.sh DIR - recursive crawl by GNU Wget2, bodies stored (see lib.sh).
# THREADS=10 concurrent download threads.  Only HTML pages are followed.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"; bench_init "$@"
THREADS=${THREADS:-10}
once() {
  rm -rf "$WORK/wget2"; mkdir -p "$WORK/wget2"
  measure wget2 wget2 --no-config -q -r -l 0 --max-threads="$THREADS" --robots=off --tries=3 \
    --no-cookies --no-hsts --no-compression --filter-urls --accept-regex='(/|\.html?)([?#].*)?$' \
    -P "$WORK/wget2" "$BASE"
  [ -n "${KEEP:-}" ] || rm -rf "$WORK/wget2"
}
repeat "wget2-t$THREADS" once
