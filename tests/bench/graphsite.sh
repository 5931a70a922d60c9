#!/bin/bash
# graphsite.sh DIR [NODES [KIDS [CROSS [BYTES [DELAY_MS]]]]]
# Start the fixture server's graph site on 127.0.0.1 and print its port.
#   FIXTURE=binary   (default: ../../_build/tests/server/fixture; compiled into DIR if it is not there)
# NODES 0 is an endless site. Stop it with: kill "$(cat DIR/graph.pid)".  Then, for example:
#   COUNTER=fixture BASE=http://127.0.0.1:PORT/ ./run-scrapy.sh DIR
set -euo pipefail
DIR=${1:?usage: graphsite.sh DIR [NODES [KIDS [CROSS [BYTES [DELAY_MS]]]]]}; mkdir -p "$DIR"
TOP=$(cd "$(dirname "$0")/../.." && pwd)
if [ -s "$DIR/graph.pid" ]; then
  old=$(cat "$DIR/graph.pid"); if grep -qs '^fixture' "/proc/$old/comm"; then kill "$old"; sleep 0.3; fi
fi
FIXTURE=${FIXTURE:-$TOP/_build/tests/server/fixture}
if [ ! -x "$FIXTURE" ]; then
  FIXTURE=$DIR/fixture
  cc -std=c17 -D_GNU_SOURCE -O2 -I"$TOP/sdk" -I"$TOP/host" -o "$FIXTURE" \
    "$TOP"/tests/server/*.c "$TOP"/host/base/buf.c "$TOP"/host/base/mem.c
fi
rm -f "$DIR/graph.port"
nohup "$FIXTURE" --port-file "$DIR/graph.port" --site graph --nodes "${2:-20000}" --kids "${3:-8}" --cross "${4:-4}" \
  --bytes "${5:-4096}" --delay "${6:-0}" > /dev/null 2> "$DIR/graph.err" < /dev/null &
echo $! > "$DIR/graph.pid"
for _ in $(seq 50); do [ -s "$DIR/graph.port" ] && break; sleep 0.1; done
cat "$DIR/graph.port"
