#!/bin/bash
# cli.sh - the command line and the commands that read (TAP): help, options, ids, every format of a lineage against the
# catalog and against what the server saw, documents byte for byte, drift, and text from outside that must do no harm.
# TROTLINE: the binary; FIXTURE: the fixture server; TROTLINE_TEST_PLUGINS: the folder with http.so.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
trotline=${TROTLINE:?the trotline binary}
fixture=${FIXTURE:?the fixture server}
mkdir "$tmp/empty"
config=$tmp/trotline.yml
printf 'lake: lake\ncatalog: catalog.db\nplugins: ["%s"]\n' "${TROTLINE_TEST_PLUGINS:?the folder with http.so}" > "$config"

tl() { # tl ARGUMENTS: stdout in $tmp/out, stderr in $tmp/err, and rc
  (cd "$tmp/empty" && exec timeout 60 "$trotline" --config "$config" "$@") > "$tmp/out" 2> "$tmp/err" < /dev/null
  rc=$?
}
check_refused() { # check_refused NAME CODE TEXT ARGUMENTS: nothing on stdout, one line on stderr that holds TEXT
  local name=$1 code=$2 text=$3 said=no
  shift 3
  tl "$@"
  grep -qF -- "$text" "$tmp/err" && said=$text
  check "$name" "$rc $(wc -c < "$tmp/out") $(wc -l < "$tmp/err") $said" "$code 0 1 $text"
}
start() { # start PORT OPTIONS: sets port
  rm -f "$tmp/port"
  "$fixture" --port "$1" --port-file "$tmp/port" "${@:2}" > "$tmp/server.out" 2>&1 < /dev/null &
  server=$!
  for _ in $(seq 500); do [ -s "$tmp/port" ] && break; sleep 0.02; done
  port=$(cat "$tmp/port")
}
finish() {
  kill "$server"
  wait "$server"
  server=
}
first() { head -n 1 "$tmp/out"; }
id_of() { # id_of URL-END: run of the first crawl whose URL ends so
  tr -d '\r' < "$tmp/lineage.csv" | awk -F, -v end="$1" 'substr($16, length($16) - length(end) + 1) == end {print $1; exit}'
}

# ---- help and options, without configuration, catalog or lake
cd "$tmp/empty" || exit 99
"$trotline" --help > "$tmp/out" 2> "$tmp/err"
check 'trotline --help ends with 0' $? 0
listed=$(sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' "$tmp/out" | grep -vx help)
for command in run crawl retry stop ls show cat lineage diff plugins verify rebuild doctor; do
  check "--help lists $command" "$(grep -cx "$command" <<< "$listed")" 1
done
for command in $listed; do
  "$trotline" --config "$tmp/not-there.yml" "$command" --help > "$tmp/out" 2> "$tmp/err"
  check "$command --help: ends with 0, before any configuration is read" "$? $(wc -c < "$tmp/err")" '0 0'
  check "$command --help: begins with its usage" "$(first | cut -d' ' -f1-3)" "usage: trotline $command"
  check "$command --help: ends in examples of it" \
    "$(sed '1,/^Examples:$/d' "$tmp/out" | grep -vc "^  .*trotline .*\b$command\b")" 0
  check "$command --help: and there are some" "$(sed '1,/^Examples:$/d' "$tmp/out" | grep -q . && echo some)" some
  "$trotline" help "$command" | cmp -s - "$tmp/out"
  check "help $command says the same" $? 0
done
check '--help touches nothing' "$(find "$tmp/empty" "$tmp/home" -mindepth 1 | wc -l)" 0
check '--version is one fact a line, ours first' \
  "$("$trotline" --version | sed -n '1s/ [0-9.]*[0-9]$//p; s/^plugin interface [0-9]*\.[0-9]*$/interface/p; s/^SQLite [0-9.]*$/SQLite/p' | tr '\n' ' ')" \
  'trotline interface SQLite '
check_refused 'an unknown command is refused, with the nearest' 2 'did you mean lineage?' linage
check_refused 'an unknown option is refused, with the nearest' 2 'did you mean --depth?' lineage --detph 3 x
check_refused 'an unknown short option is refused' 2 'no option -z' ls -z
check_refused 'an option without its value is refused' 2 '--name wants a value' ls --name
check_refused 'a value for an option that takes none is refused' 2 '--up=yes takes no value' lineage --up=yes x
check_refused 'an ambiguous option is refused' 2 '--d may mean several options' lineage --d x
check_refused 'an unknown format is refused' 2 "not 'xml'" ls -o xml
check_refused 'a number that is none is refused' 2 "not '1x'" ls -n 1x
check_refused 'a number out of bounds is refused' 2 "not '0'" ls -n 0
check_refused 'a missing argument is asked for' 2 'which run?' show
check_refused 'one argument too many is refused' 2 'one run at a time' lineage a b
check_refused 'a global option behind the command is none of the command' 2 'no option --config' ls --config x
check_refused 'without a catalog it says so' 2 'there is no catalog' ls
check_refused 'retry makes no catalog' 2 'there is no catalog' retry 01
check 'no catalog was made' "$(ls "$tmp/catalog.db" 2>/dev/null)" ''
"$trotline" -q > "$tmp/out" 2> "$tmp/err"
check 'no command: exit 2, help on stderr' "$? $(wc -c < "$tmp/out") $(head -n 1 "$tmp/err")" '2 0 usage: trotline [OPTION]... COMMAND ...'
"$trotline" --log-format json linage 2> "$tmp/err"
check '--log-format json: an object a line' "$(sed 's/"time":"[^"]*"/T/' "$tmp/err")" \
  '{T,"level":"error","message":"there is no command linage; did you mean lineage? (trotline --help lists them)"}'

# ---- a closed stdout is a failure, unless there is nothing to be said
"$trotline" --version >&- 2> "$tmp/err"
check 'output that is thrown away is noticed' "$? $(grep -c 'cannot write the output' "$tmp/err")" '9 1'

# ---- completion
check 'completes commands' "$("$trotline" --complete line)" lineage
check 'completes nothing else at that place' "$("$trotline" --complete r | tr '\n' ' ')" 'run retry refine restore rebuild '
check 'completes options of a command' "$("$trotline" --complete lineage --d | tr '\n' ' ')" '--down --depth '
check 'completes options before the command' "$("$trotline" --complete --lo)" --log-format
check 'completes behind global options' "$("$trotline" --complete -q --config some.yml sh)" show
check 'leaves arguments to the shell' "$("$trotline" --complete show '')" ''

# ---- two crawls of a site that changes, and one page of a hostile one
cat > "$tmp/script" <<'END'
on /robots.txt
  type text/plain
  body User-agent: *\nDisallow: /forbidden\n
on /evil
  page <title>evil</title>
  links /w1251 /sjis /blob /gone /forbidden /q?a=%22->%22&b={c} /%E2%80%AE%1B[2J
on /w1251
  type text/html; charset=windows-1251
  body <p>\xcf\xe5\xf0\xe5\xec\xb8\xf2</p>
on /sjis
  type text/html; charset=shift_jis
  body <p>\x93\xfa\x96\x7b\x8c\xea</p>
on /blob
  type application/octet-stream
  body \x00\x01\xff\xfe"
on /gone
  status 404 Not Found
  body gone
on /q*
  body <p>odd
END
start 0 --script "$tmp/script" --site linked --pages 48 --edition 0
cat > "$tmp/kayak.yml" <<END
crawl: kayak-trails
target: {org: acme, project: water, name: kayak}
leash: {depth: 6, hosts: ["127.0.0.1"]}
lines:
  - {collector: http, args: {url: "http://127.0.0.1:$port/"}}
  - {collector: http, args: {url: "http://127.0.0.1:$port/evil"}}
END
tl run "$tmp/kayak.yml"
a=$(awk 'END {print $NF}' "$tmp/out")
finish
start "$port" --script "$tmp/script" --site linked --pages 48 --edition 0
tl run "$tmp/kayak.yml"
b=$(awk 'END {print $NF}' "$tmp/out")
finish
start "$port" --script "$tmp/script" --site linked --pages 48 --edition 1
tl run "$tmp/kayak.yml"
c=$(awk 'END {print $NF}' "$tmp/out")

# ---- ls
tl ls
check 'ls: newest first, whole ids' "$rc $(awk 'NR > 1 {printf "%s ", $1}' "$tmp/out")" "0 $c $b $a "
check 'ls: columns are aligned' "$(awk '{print index($0, "kayak-trails"), index($0, "CRAWL")}' "$tmp/out" | sort -u | tr '\n' ';')" '0 39;39 0;'
tl ls -n 1 -o jsonl
check 'ls -n 1 -o jsonl: the newest, one object' "$(wc -l < "$tmp/out") $(grep -o '"root_id":"[^"]*"' "$tmp/out")" "1 \"root_id\":\"$c\""
tl ls --name nobody -o json
check 'ls of a name that nobody has: an empty list' "$rc $(cat "$tmp/out")" '0 []'
tl -q ls --name nobody
check '-q: nothing to say, nothing said' "$rc $(cat "$tmp/out" "$tmp/err")" '0 '

# ---- lineage: every format has the same runs and edges
tl lineage "$a" --format csv
cp "$tmp/out" "$tmp/lineage.csv"
runs=$(($(wc -l < "$tmp/out") - 1))
tl ls -o csv
check 'lineage: as many runs as ls says' "$(tr -d '\r' < "$tmp/out" | awk -F, -v r="$a" '$1 == r {print $5}')" "$runs"
check 'lineage csv: the same number of fields in each row' "$(awk -F, '{print NF}' "$tmp/lineage.csv" | sort -u)" 20
check 'lineage csv: no run twice' "$(tail -n +2 "$tmp/lineage.csv" | cut -d, -f1 | sort -u | wc -l)" "$runs"
check 'lineage csv: parents stand before their children' \
  "$(awk -F, 'NR > 1 {if ($2 != "" && !($2 in seen)) print; seen[$1]}' "$tmp/lineage.csv")" ''
tl lineage "$a"
check 'lineage: a line a run' "$rc $(wc -l < "$tmp/out")" "0 $runs"
check 'lineage: the tree has the ids of the table, in its order' "$(awk '{print $NF}' "$tmp/out")" "$(tail -n +2 "$tmp/lineage.csv" | cut -d, -f1)"
# Each line's depth by its indentation, four columns a step, is that of the catalog.
check 'lineage: indentation is depth' "$(sed 's/\(│   \|├── \|└── \|    \)/>/g; s/^\(>*\).*/\1/' "$tmp/out" | awk '{print length($0)}' | tr '\n' ' ')" \
  "$(tail -n +2 "$tmp/lineage.csv" | cut -d, -f4 | tr '\n' ' ')"
check 'lineage: each branch ends once' "$(grep -c '└── ' "$tmp/out")" "$(tail -n +2 "$tmp/lineage.csv" | cut -d, -f2 | grep . | sort -u | wc -l)"
tl lineage "$a" --format dot
check 'lineage dot: an edge each but for the root, and no other arrow' "$(grep -o -- '->' "$tmp/out" | wc -l)" $((runs - 1))
check 'lineage dot: an arrow stands between two names' "$(grep -- '->' "$tmp/out" | grep -vc '^  "[0-9a-f-]*" -> "[0-9a-f-]*";$')" 0
if command -v dot > /dev/null; then
  dot -Tplain "$tmp/out" > "$tmp/plain" 2> "$tmp/err"
  check 'lineage dot: Graphviz reads as many' "$(grep -c '^node' "$tmp/plain") $(grep -c '^edge' "$tmp/plain")" "$runs $((runs - 1))"
  tl lineage "$a" --depth 1 --format svg
  check 'lineage svg: drawn' "$rc $(grep -c '</svg>' "$tmp/out")" '0 1'
fi
mkdir "$tmp/bare"
(PATH=$tmp/bare "$trotline" --config "$config" lineage "$a" --format svg) > "$tmp/out" 2> "$tmp/err"
check 'lineage svg without Graphviz: exit 2 and what to do' "$? $(wc -c < "$tmp/out") $(grep -c 'apt-get install graphviz' "$tmp/err")" '2 0 1'
tl lineage "$a" --format graphml
check 'lineage graphml: nodes and edges' "$(grep -c '<node ' "$tmp/out") $(grep -c '<edge ' "$tmp/out")" "$runs $((runs - 1))"
cp "$tmp/out" "$tmp/lineage.graphml"
tl lineage "$a" --format openlineage
check 'lineage openlineage: an event a run' "$(grep -c '^{"eventType":"' "$tmp/out")" "$runs"
check 'lineage openlineage: a dead link failed, what robots.txt forbids was not run' \
  "$(grep -c '"eventType":"FAIL"' "$tmp/out") $(grep -c '"eventType":"ABORT"' "$tmp/out")" \
  "$(awk -F, '$8 == "failed"' "$tmp/lineage.csv" | wc -l) $(awk -F, '$8 == "refused"' "$tmp/lineage.csv" | wc -l)"
tl lineage "$a" --format cypher
check 'lineage cypher: rows and links' "$(grep -c '^  {run_id: ' "$tmp/out") $(grep -c '^  {parent: ' "$tmp/out")" "$runs $((runs - 1))"
tl lineage "$a" --format json
cp "$tmp/out" "$tmp/lineage.json"
check 'lineage json: nodes and edges' "$(grep -c '^{"run_id"' "$tmp/out") $(grep -c '^{"source"' "$tmp/out")" "$runs $((runs - 1))"
check 'lineage json: is what a strict reader takes' "$(head -c 11 "$tmp/out") $(tail -n 1 "$tmp/out")" '{"nodes":[ ]}'
if command -v python3 > /dev/null; then
  cat > "$tmp/read.py" <<'END'
import csv, json, sys, xml.etree.ElementTree as tree
folder = sys.argv[1]
graph = json.load(open(folder + "/lineage.json", encoding="utf-8"))
rows = list(csv.DictReader(open(folder + "/lineage.csv", encoding="utf-8", newline=""), strict=True))
xml = tree.parse(folder + "/lineage.graphml").getroot()
ns = "{http://graphml.graphdrawing.org/xmlns}"
ids = [r["run_id"] for r in rows]
print([n["run_id"] for n in graph["nodes"]] == ids, [n.get("id") for n in xml.iter(ns + "node")] == ids)
edges = [(r["parent_id"], r["run_id"]) for r in rows if r["parent_id"]]
print([(e["source"], e["target"]) for e in graph["edges"]] == edges)
print([(e.get("source"), e.get("target")) for e in xml.iter(ns + "edge")] == edges)
urls = [r["url"] or None for r in rows]
print([n["url"] for n in graph["nodes"]] == urls)
shown = {n.get("id"): n.findtext(ns + "data[@key='url']") for n in xml.iter(ns + "node")}
print([shown[i] for i in ids] == urls)
END
  check 'json, csv and graphml read back to the same' "$(python3 "$tmp/read.py" "$tmp" 2>&1 | tr '\n' ' ')" 'True True True True True True '
fi
deep=$(awk -F, 'NR > 1 {if ($4 > most) {most = $4; id = $1}} END {print id}' "$tmp/lineage.csv")
depth=$(awk -F, -v i="$deep" '$1 == i {print $4}' "$tmp/lineage.csv")
tl lineage --up "$deep"
check 'lineage --up: from the root to the run' "$(wc -l < "$tmp/out") $(first | awk '{print $NF}') $(tail -n 1 "$tmp/out" | awk '{print $NF}')" "$((depth + 1)) $a $deep"
tl lineage --up --depth 1 "$deep"
check 'lineage --up --depth 1: the parent and it' "$(wc -l < "$tmp/out")" 2
evil=$(id_of /evil)
tl lineage --up --down "$evil"
check 'lineage --up --down: ancestors, it, descendants' "$(first | awk '{print $NF}') $(sed -n 2p "$tmp/out" | awk '{print $NF}') $(wc -l < "$tmp/out")" \
  "$a $evil $((2 + $(awk -F, -v p="$evil" '$2 == p' "$tmp/lineage.csv" | wc -l)))"
tl lineage --depth 0 "$a" --format json
check 'lineage --depth 0: it alone' "$(grep -c run_id "$tmp/out") $(grep -c source "$tmp/out") $(tail -n 2 "$tmp/out" | tr '\n' ' ')" '1 0 ],"edges":[ ]} '

# ---- ids
check_refused 'an unknown id is refused' 2 'no run or result' show 00000000-0000-7000-8000-000000000000
check_refused 'what cannot be an id is refused' 2 'is no id' cat ../etc/passwd
check_refused 'an ambiguous id is refused, with candidates' 2 'may mean several runs' show "${a:0:2}"
tl lineage "${a:0:35}${a:35:1}" --depth 0
check 'a whole id is taken' "$rc" 0
result=$(awk -F, -v i="$evil" '$1 == i {print $18}' "$tmp/lineage.csv")
tl show "$result"
check "a result's id names its run" "$rc $(first | awk '{print $2}')" "0 $evil"

# ---- show
tl show "$evil"
kids=$(awk -F, -v p="$evil" '$2 == p {print $1}' "$tmp/lineage.csv" | sort)
check 'show: parent' "$(sed -n 's/^parent_id: *//p' "$tmp/out")" "$a"
check 'show: children' "$(awk '$1 == "child:" {print $2}' "$tmp/out" | sort)" "$kids"
check 'show: what robots.txt refused it' "$(awk '$1 == "leashed:" {print $2, $NF != "", $5}' "$tmp/out")" "robots 1 http://127.0.0.1:$port/forbidden"
check 'show: every line is a fact' "$(grep -vc '^[a-z_0-9]*: *[^ ]' "$tmp/out")" 0
tl show "$a"
check "show: a root has its crawl's facts" "$(sed -n 's/^crawl: *//p; s/^runs: *//p' "$tmp/out" | tr '\n' ' ')" "kayak-trails $runs "
tl show "$evil" -o json
check 'show -o json: children counted and named' "$(grep -o '"child_count":[0-9]*' "$tmp/out")" "\"child_count\":$(wc -l <<< "$kids")"

# ---- cat
w1251=$(id_of /w1251)
path=$(awk -F, -v i="$w1251" '$1 == i {print $19}' "$tmp/lineage.csv")
tl cat "$w1251"
cmp -s "$tmp/out" "$tmp/lake/$path"
check 'cat: the document, byte for byte' "$? $rc" '0 0'
tl cat --path "$w1251"
check 'cat --path' "$(cat "$tmp/out")" "$tmp/lake/$path"
tl cat --dataset page "$w1251"
printf '<p>\xcf\xe5\xf0\xe5\xec\xb8\xf2</p>' | cmp -s - "$tmp/out"
check 'cat --dataset: windows-1251 as it was fetched' "$? $rc $(wc -c < "$tmp/err")" '0 0 0'
tl cat --dataset page "$(id_of /sjis)"
printf '<p>\x93\xfa\x96\x7b\x8c\xea</p>' | cmp -s - "$tmp/out"
check 'cat --dataset: Shift_JIS as it was fetched' "$? $rc $(wc -c < "$tmp/err")" '0 0 0'
tl cat --dataset page --element 1 "$(id_of /blob)"
printf '\x00\x01\xff\xfe"' | cmp -s - "$tmp/out"
check 'cat --dataset: bytes that are no text' "$? $rc" '0 0'
check_refused 'cat: a dataset that is not there' 2 'it has: page' cat --dataset nothing "$evil"
check_refused 'cat: an element that is not there' 2 'there is no 2' cat --dataset page --element 2 "$evil"
check_refused 'cat: what was refused has no document, and why' 2 'it is refused: robots' cat "$(id_of /forbidden)"
tl cat "$a" --path
(cd "$tmp/empty" && "$trotline" --config "$config" cat "$a" > /dev/full) 2> "$tmp/err"
check 'cat: output that cannot be written is a failure, said once' "$? $(wc -l < "$tmp/err")" '9 1'

# ---- diff
tl diff "$a" "$b"
check 'diff: nothing changed' "$rc $(wc -c < "$tmp/out") $(cut -d, -f1-3 "$tmp/err")" '0 0 0 added, 0 removed, 0 changed'
tl diff --exit-code "$a" "$b"
check 'diff --exit-code: 0 when nothing did' "$rc" 0
# An edition changes every 24th page, and the same options give the same bytes: 48 pages, so two of them.
tl diff --exit-code "$b" "$c"
check 'diff --exit-code: 1 when something did' "$rc" 1
check 'diff: the pages of the new edition, and no other' "$(awk '{print $1}' "$tmp/out" | tr '\n' ' ')" 'changed changed '
awk '{print $2}' "$tmp/out" > "$tmp/changed"
while read -r url; do
  tl lineage "$b" --format csv
  before=$(tr -d '\r' < "$tmp/out" | awk -F, -v u="$url" '$16 == u {print $1}')
  tl lineage "$c" --format csv
  after=$(tr -d '\r' < "$tmp/out" | awk -F, -v u="$url" '$16 == u {print $1}')
  tl cat --dataset page "$before"
  cp "$tmp/out" "$tmp/before"
  tl cat --dataset page "$after"
  cmp -s "$tmp/before" "$tmp/out"
  check "diff: ${url#*//*/} is another page now" $? 1
done < "$tmp/changed"
tl diff "$b" "$c" -o json
check 'diff -o json: lists' "$(grep -c '^{"key":' "$tmp/out") $(grep -o '"before":{"run_id"' "$tmp/out" | wc -l) $(grep -o '"after":{"run_id"' "$tmp/out" | wc -l)" '2 2 2'
tl -q diff "$b" "$c"
check '-q: no closing line' "$rc $(wc -c < "$tmp/err")" '0 0'
check_refused 'diff of a run that is no root' 2 'not the root of a crawl' diff "$a" "$evil"

# ---- text from outside
for format in tree dot csv; do
  tl lineage "$a" --format "$format"
  check "lineage $format: no control character of a page gets through" "$(LC_ALL=C tr -d '\n\r\40-\176\200-\377' < "$tmp/out" | wc -c)" 0
done

# ---- retry and stop
tl retry "$a" --reason no_such_reason
check 'retry: no run of that reason' "$rc $(grep -c 'nothing was changed' "$tmp/err")" '0 1'
tl stop "$a"
check 'stop: over already' "$rc $(grep -c 'over already' "$tmp/err")" '0 1'
check_refused 'retry of an unknown id' 2 'no run or result' retry ffffffff
check_refused 'stop of an unknown id' 2 'no run or result' stop ffffffff
failed=$(awk -F, '$8 == "failed"' "$tmp/lineage.csv" | wc -l)
tl retry "$a" --reason http_404
check 'retry: says how many, and how to go on' "$rc $(grep -c "^$failed failed runs of $a wait again; go on with: trotline run .* --resume $a" "$tmp/err")" '0 1'
tl ls -o csv
check 'retry: the crawl is open again' "$(awk -F, -v r="$a" '$1 == r {print $3, $6}' "$tmp/out")" 'open 0'
tl stop "${a:0:35}${a:35:1}"
check 'stop: closes what nobody carries out' "$rc $(grep -c 'nobody carried' "$tmp/err")" '0 1'

# ---- what steers a terminal is not passed on
tl links $'urn:\e[2J\u009b2J\u202e\u2066x'
check 'a name from outside in a message' "$rc $(grep -c 'urn:?\[2J?2J??x' "$tmp/err")" '2 1'

# ---- plugins
tl plugins
check 'plugins: built in and found' "$rc $(awk 'NR > 1 && ($1 == "orchestrator" || $1 == "http") {print $1}' "$tmp/out" | sort | tr '\n' ' ')" '0 http orchestrator '
tl plugins show http
check 'plugins show' "$rc $(grep -c '^url  *url  *(required)' "$tmp/out")" '0 1'
tl plugins show htpp
check 'plugins show: an unknown name' "$((rc != 0)) $(grep -c http "$tmp/err")" '1 1'

finish
echo "1..$count"
[ "$failures" = 0 ]
