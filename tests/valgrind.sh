#!/bin/bash
# valgrind.sh - a small crawl with the supervisor and its workers under valgrind (VALGRIND, VALGRIND_FLAGS): make check-valgrind.
set -u
tmp=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null; rm -rf "$tmp"' EXIT
"${FIXTURE:?}" --port-file "$tmp/port" --site linked --pages 60 > /dev/null 2>&1 < /dev/null &
server=$!
for _ in $(seq 100); do [ -s "$tmp/port" ] || sleep 0.1; done
cat > "$tmp/trotline.yml" << YML
lake: lake
catalog: catalog.db
plugins: ["${TROTLINE_TEST_PLUGINS:?}"]
fetch: {delay: 0s, timeout: 5m}
workers: {max: 1, memory: 64GiB, stall: 5m, run: 1h}
YML
cat > "$tmp/crawl.yml" << YML
crawl: slow
leash: {depth: 4}
lines:
  - collector: http
    args: {url: "http://127.0.0.1:$(cat "$tmp/port")/"}
YML
export HOME=$tmp XDG_CACHE_HOME=$tmp/cache
cd "$tmp" || exit 1
# shellcheck disable=SC2086
"${VALGRIND:?}" ${VALGRIND_FLAGS?} --trace-children=yes --log-file="$tmp/valgrind.%p" "${TROTLINE:?}" run crawl.yml > "$tmp/out" 2>&1
rc=$?
said=$(grep -h '^==' "$tmp"/valgrind.*) # lines with -- are its own troubles, such as system calls that it does not know
processes=$(find "$tmp" -name 'valgrind.*' | wc -l)
pages=$(find "$tmp/lake/documents" -name '*.json' 2> /dev/null | wc -l)
if [ "$rc" = 0 ] && [ -z "$said" ] && [ "$processes" -ge 2 ] && [ "$pages" -gt 50 ]; then
    echo "valgrind: a crawl of $pages documents in $processes processes, no complaint"
else
    cat "$tmp/out" "$tmp"/valgrind.*
    echo "valgrind: exit $rc, $pages documents, $processes processes"
    exit 1
fi
