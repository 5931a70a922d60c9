#!/bin/sh
# demo.sh BUILD - what ./bootstrap demo shows: a local site, a leashed crawl of it, and what is left behind.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
demo=$build/demo
trotline=$build/host/trotline
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
if [ ! -t 1 ] || [ -n "${NO_COLOR:-}" ]; then
    say() { printf '\n== %s\n' "$*"; }
fi
show() { printf '$ %s\n' "$*"; "$@"; }

rm -rf "$demo"
mkdir -p "$demo"
cd "$demo"

say "1. A web site of 240 linked pages, served on this machine"
mkfifo keep
"$build/tests/server/fixture" --site linked --pages 240 --port-file port --stdin-bound <keep >server.log 2>&1 &
exec 9>keep # the server ends when this is closed, however the demo ends
rm keep
i=0
while [ ! -s port ] && [ $i -lt 100 ]; do
    sleep 0.1
    i=$((i + 1))
done
port=$(cat port)
echo "http://127.0.0.1:$port/ (robots.txt, dead links, redirects, a page that fails at first, links to strangers)"

cat >trotline.yml <<YML
plugins: [$build/plugins/http/.libs]
lake: lake
catalog: catalog.db
YML
cat >kayaks.yml <<YML
crawl: kayaks
target: {org: demo, project: florida, name: kayaking in florida}
leash: {depth: 4, fanout: 60, runs: 400, time: 90s}   # depth 1 is the start page, 2 what it links to ...
lines:
  - collector: http
    args: {url: "http://127.0.0.1:$port/"}
YML
say "2. The crawl file"
cat kayaks.yml

say "3. The crawl"
printf '$ trotline run kayaks.yml\n'
"$trotline" run kayaks.yml | tee run.out
root=$(sed -n '$s/.* //p' run.out)

say "4. The lake: $(find lake/documents -name '*.json' | wc -l) immutable documents, each with its lineage and checksum"
find lake -mindepth 1 -maxdepth 7 -type d ! -path '*/.staging*' | sort | sed -e 's|[^/]*/|  |g' | head -n 20
find lake/documents -name '*.json' | sort | sed -n '2p' | sed 's|.*/|      ... |'

query() { printf '$ sqlite3 -box catalog.db "%s"\n' "$1"; sqlite3 -box catalog.db "$1"; }
say "5. The graph, with bare hands: what failed, and why?"
query "select collector, url, error from failures"
say "6. What did the leash and robots.txt stop?"
query "select reason, count(*) links, sum(times) times, min(url) example from leashed group by reason"
say "7. Where does the deepest document come from?"
query "select l.hops, r.collector, r.url from lineage l join runs r on r.run_id = l.ancestor_id where l.run_id = (select run_id from runs where status = 'success' order by depth desc, run_id limit 1) order by l.hops"

say "8. Is everything sound?"
printf '$ trotline verify\n'
"$trotline" verify

exec 9>&-
say "Next, in $demo:"
cat <<TXT
  PATH=$build/host:\$PATH
  trotline ls                                   the crawls of this catalog
  trotline lineage $root | less
  trotline show $root
  trotline cat ID --dataset text                what there is to read on a page
  trotline crawl https://YOUR.SITE/ --depth 2   your own (mind its robots.txt; we do)
  man $top/docs/trotline.1
TXT
