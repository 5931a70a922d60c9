#!/bin/bash
# verify.sh - a crawl is closed as a package, checked and restored (TAP): what the closing record says against what lies in
# the lake, what verify finds when something is changed behind its back, and a rebuilt catalog against the one it replaces.
# TROTLINE: the binary; FIXTURE: the fixture server; TROTLINE_TEST_PLUGINS: the folder with http.so.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
trotline=${TROTLINE:?the trotline binary}
fixture=${FIXTURE:?the fixture server}
mkdir "$tmp/w" "$tmp/junk"
cd "$tmp/w" || exit 99
printf 'plugins: ["%s"]\nfetch: {delay: 0s}\n' "${TROTLINE_TEST_PLUGINS:?the folder with http.so}" > trotline.yml
tell=("$tmp/out" "$tmp/err")

tl() { # tl ARGUMENTS: stdout in $tmp/out, stderr in $tmp/err, and rc
  timeout 60 "$trotline" "$@" > "$tmp/out" 2> "$tmp/err" < /dev/null
  rc=$?
}
start() { # start OPTIONS: sets port
  rm -f "$tmp/port"
  "$fixture" --port 0 --port-file "$tmp/port" "$@" > "$tmp/server.out" 2>&1 < /dev/null &
  server=$!
  for _ in $(seq 500); do [ -s "$tmp/port" ] && break; sleep 0.02; done
  port=$(cat "$tmp/port")
}
crawl_file() { # crawl_file NAME
  cat > "$1.yml" << END
crawl: $1
target: {org: "Acme & Co", project: "wäter/7", name: kayaking in florida}
leash: {depth: 3, hosts: ["127.0.0.1"]}
lines:
  - collector: http
    args: {url: "http://127.0.0.1:$port/"}
    leash: {runs: 500}
END
}
root_of() { tail -n 1 "$tmp/out" | sed 's/.* //'; }
record_of() { find lake/crawls -name "$1.$2"; }
last() { tail -n 1 "$tmp/err"; }
dump() { # dump CATALOG: all that the views say, and the tables that restore what they do not
  python3 - "$1" << 'END'
import sqlite3, sys
con = sqlite3.connect(sys.argv[1])
for view in "crawls runs edges lineage tree documents datasets leashed events failures collectors".split():
    for row in sorted(map(repr, con.execute(f"SELECT * FROM {view}"))):
        print(view, row)
for row in con.execute("SELECT r.run_id, r.token, r.children, r.line, r.digest, l.given, l.json, l.depth, l.fanout, l.runs, l.bytes, l.time_us, "
                       "l.runs_spent, l.bytes_spent FROM run r LEFT JOIN leash l ON l.key = r.scope ORDER BY 1"):
    print(row)
for row in con.execute("SELECT r.run_id FROM run r JOIN run o ON o.key = r.root ORDER BY o.run_id, r.key"):
    print(row)  # the order of put
print(con.execute("PRAGMA integrity_check").fetchall(), con.execute("PRAGMA foreign_key_check").fetchall())
END
}
edit() { # edit FILE PYTHON: b is its bytes
  python3 - "$1" "$2" << 'END'
import os, sys
file, code = sys.argv[1:]
b = bytearray(open(file, "rb").read())
os.chmod(file, 0o644)
names = {"b": b}
exec(code, names)
open(file, "wb").write(bytes(names["b"]))
os.chmod(file, 0o444)
END
}
reseal() { # reseal ROOT.json: what it says of its package becomes true again
  python3 - "$1" << 'END'
import hashlib, os, re, sys
file = sys.argv[1]
package = open(file + "l", "rb").read()
text = open(file, "rb").read()
text = re.sub(rb'("package":\{"path":"[^"]*","sha256":")[0-9a-f]{64}(","bytes":)\d+(,"lines":)\d+',
              lambda m: m[1] + hashlib.sha256(package).hexdigest().encode() + m[2] + b"%d" % len(package) + m[3] + b"%d" % package.count(b"\n"), text)
text = text[: text.rindex(b',"checksum"')]
os.chmod(file, 0o644)
open(file, "wb").write(text + b',"checksum":"sha256:' + hashlib.sha256(text + b"}").hexdigest().encode() + b'"}')
os.chmod(file, 0o444)
END
}

# ---- a sound lake
tl verify
check 'verify without a catalog: usage, and it is named' "$rc $(grep -c catalog.db "$tmp/err")" '2 1'
tl doctor
check 'doctor on a new installation: sound' "$rc" 0
check 'doctor makes neither lake nor catalog' "$(ls)" trotline.yml
start --site linked --pages 40
crawl_file kayak
tl run kayak.yml
root=$(root_of)
check 'a crawl ends well' "$rc" 0
tl verify
check 'verify: sound, nothing on stdout' "$rc $(wc -c < "$tmp/out")" '0 0'
check 'verify: it looked at every document' "$(grep -o 'verify: [0-9]* documents' "$tmp/err")" "verify: $(find lake/documents -type f | wc -l) documents"
tl -q verify
check '-q verify: says nothing' "$rc $(cat "$tmp/out" "$tmp/err" | wc -c)" '0 0'

# ---- the closing record
json=$(record_of "$root" json) jsonl=$(record_of "$root" jsonl)
day=$(date -u +'year=%Y/month=%m/day=%d')
check 'two files under the day, nothing else' "$(find lake/crawls -type f | sort | sed "s,$day,DAY,")" "lake/crawls/DAY/$root.json
lake/crawls/DAY/$root.jsonl"
check 'both read-only' "$(stat -c %a "$json" "$jsonl" | tr '\n' ' ')" '444 444 '
check 'checksum: that of the bytes before it and a brace' \
  "$(sed 's/,"checksum":"[^"]*"}$/}/' "$json" | tr -d '\n' | sha256sum | cut -c1-64)" "$(sed 's/.*"checksum":"sha256:\([0-9a-f]*\)"}$/\1/' "$json")"
check 'the summary says the SHA-256 of the package' "$(grep -o '"package":{[^}]*}' "$json" | grep -o '[0-9a-f]\{64\}')" "$(sha256sum < "$jsonl" | cut -c1-64)"
python3 - "$jsonl" > "$tmp/members" << 'END'
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    x = json.loads(line)
    if x["kind"] == "document":
        print(x["sha256"], "", "lake/" + x["path"])
END
check 'members: exactly the documents of the lake, with their SHA-256' "$(sort "$tmp/members")" "$(find lake/documents -type f -exec sha256sum {} + | sort)"
python3 - "$json" "$jsonl" > "$tmp/said" << 'END'
import collections, json, sys
head, lines = json.load(open(sys.argv[1])), [json.loads(x) for x in open(sys.argv[2], encoding="utf-8")]
states = collections.Counter(x["status"] for x in lines if x["kind"] == "run")
reasons = collections.Counter(x["reason"] for x in lines if x["kind"] == "leashed")
print(head["schema_version"], head["crawl"], head["target"]["project"], head["reason"], head["counts"] == states, head["leashed"] == reasons,
      head["package"]["lines"] == len(lines), head["leash"]["spent"]["runs"] == sum(states.values()), bool(states["failed"] and reasons["hosts"]))
END
check 'the summary counts what the package holds' "$(cat "$tmp/said")" 'crawl_v1 kayak wäter/7 done True True True True True'

# ---- rebuilt, and compared
tl run kayak.yml
second=$(root_of)
dump catalog.db > "$tmp/before"
tl rebuild
check 'rebuild: refuses a catalog that knows crawls' "$rc $(grep -c -- --catalog "$tmp/err")" '2 1'
dump catalog.db | cmp -s - "$tmp/before"
check '… and leaves it as it was' $? 0
mkdir "$tmp/aside"
mv catalog.db* "$tmp/aside"
tl rebuild
check 'rebuild: ends with 0' "$rc" 0
dump catalog.db | cmp - "$tmp/before" > "$tmp/out" 2>&1
check 'rebuild: the same rows, in the same order of put' $? 0
check 'rebuild: leaves nothing beside the catalog' "$(echo catalog.db*)" 'catalog.db'
tl verify
check 'verify after rebuild: sound' "$rc $(wc -c < "$tmp/out")" '0 0'
sums=$(sha256sum "$json" "$jsonl")
chmod u+w "$json" "$jsonl"
rm -f "$json" "$jsonl"
tl verify
check 'verify: a closing record that is gone' "$rc $(grep -c "$root.json: " "$tmp/out") $(wc -l < "$tmp/out")" '14 1 1'
tl run kayak.yml
third=$(root_of)
check 'the next run writes it again, byte for byte, from the rebuilt catalog' "$(sha256sum "$json" "$jsonl")" "$sums"

# ---- opened again
tl retry "$root"
tl verify
check 'verify: sound while a crawl is open again' "$rc $(cat "$tmp/out")" '0 '
tl run kayak.yml --resume "$root"
check 'a crawl that was opened again is closed again' "$rc $(sha256sum "$jsonl" | grep -cF "$(head -c 64 <<< "${sums#*$'\n'}")")" '0 0'
check '… with two files' "$(find lake/crawls -name "$root*" | wc -l)" 2
tl verify
check 'verify: documents of earlier attempts are no fault' "$rc $(grep -o '[0-9]* files of earlier attempts' "$tmp/err")" '0 2 files of earlier attempts'
dump catalog.db > "$tmp/before"
rm -f catalog.db*
tl rebuild
dump catalog.db | cmp - "$tmp/before" > "$tmp/out" 2>&1
check 'rebuild after that: the same rows' $? 0

# ---- damage
victim=$(find lake/documents -path "*=$second/*result_name=http*" -type f -exec grep -lF '<title>' {} + | sort | sed -n 3p)
sane() { # sane NAME: the damage before was undone
  tl verify
  check "$1: and sound again" "$rc $(cat "$tmp/out")" '0 '
}
found() { # found NAME FILE: verify names this file alone
  tl verify
  check "$1: exit 14, the file is named, and no other" "$rc $(wc -l < "$tmp/out") $(grep -cF "$tmp/w/$2: " "$tmp/out")" '14 1 1'
}
cp -p "$victim" "$tmp/whole"
edit "$victim" 'b[b.index(b"<title>") + 9] ^= 1'
found 'one flipped bit' "$victim"
tl verify "$second"
check 'verify ROOT finds it' "$rc" 14
tl verify "${root%????????????}"
check 'verify of another crawl does not look there' "$rc" 0
tl verify --quick
check 'verify --quick reads nothing' "$rc" 0
cp -pf "$tmp/whole" "$victim"
sane 'one flipped bit'
edit "$victim" 'b = b[:-1]'
found 'a document cut short' "$victim"
tl verify --quick
check 'verify --quick: sees the size' "$rc" 14
rm -f "$victim"
found 'a document that is gone' "$victim"
other=$(dirname "$victim")/019a0000-0000-7000-8000-000000000001.json
cp -p "$tmp/whole" "$victim"
cp "$tmp/whole" "$other"
found 'a document under the name of another' "$other"
rm -f "$other"
echo hello > lake/documents/hello.txt
found 'a file that is no document' lake/documents/hello.txt
rm -f lake/documents/hello.txt
mkdir -p lake/attachments/year=2026
echo hello > lake/attachments/year=2026/hello.txt
found 'a file that is no attachment' lake/attachments/year=2026/hello.txt
rm -rf lake/attachments
chmod 644 "$victim"
tl verify
check 'a document that can be written: a warning, no damage' "$rc $(grep -cF "$victim" "$tmp/err")" '0 1'
chmod 444 "$victim"
json=$(record_of "$second" json) jsonl=$(record_of "$second" jsonl)
cp -p "$json" "$tmp/json"
cp -p "$jsonl" "$tmp/jsonl"
edit "$json" 'b[b.index(b"success") + 2] ^= 1'
found 'a summary that was changed' "$json"
cp -pf "$tmp/json" "$json"
edit "$jsonl" 'b[b.index(b"http_status") + 2] ^= 1'
found 'a package that was changed' "$jsonl"
sane_lines=$(wc -l < "$tmp/before")

# ---- rebuild from a lake that is damaged
restored() { python3 -c 'import sqlite3, sys; print(sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute("SELECT group_concat(root_id, %s) FROM (SELECT * FROM crawls ORDER BY 1)" % "\" \"").fetchone()[0])' "$1"; }
tl rebuild --catalog "$tmp/new.db"
check 'rebuild: a damaged package is named, exit 14' "$rc $(grep -cF "$tmp/w/$json: " "$tmp/out")" '14 1'
check '… its crawl is said not to be restored' "$(grep -c "^$second cannot be restored: .* $(find lake/documents -path "*=$second/*" -type f | wc -l) documents" "$tmp/out")" 1
check '… and the others are' "$(restored "$tmp/new.db")" "$root $third"
hostile() { # hostile NAME PYTHON TEXT: a package that is changed and sealed anew: FILE:LINE: reason, and nothing of it is kept
  cp -pf "$tmp/json" "$json"
  cp -pf "$tmp/jsonl" "$jsonl"
  edit "$jsonl" "$2"
  reseal "$json"
  rm -f "$tmp/new.db"*
  tl rebuild --catalog "$tmp/new.db"
  check "rebuild: $1" "$rc $(grep -cE "^$tmp/w/$jsonl(:[0-9]+)?: .*$3" "$tmp/out") $(restored "$tmp/new.db")" "14 1 $root $third"
}
hostile 'a run whose parent is missing' 'i = b.index(b"\"parent_id\":\"") + 13; b[i:i + 8] = b"00000000"' 'the parent of run .* is missing'
hostile 'a line that is no JSON' 'i = b.index(b"\n{\"kind\":\"run\"") + 1; b[i:i + 1] = b"["' 'no JSON object'
hostile 'a number that is none' 'i = b.index(b"\"depth\":0,\"reach\""); b[i:i + 9] = b"\"depth\":-1"' 'member depth'
hostile 'a document that leads out of the lake' 'i = b.index(b"\"path\":\"documents/"); b[i + 8:i + 18] = b"documents/../"' 'member path leads'
hostile 'a run twice' 'i = b.rindex(b"\n{\"kind\":\"run\"") + 1; j = b.index(b"\n", i) + 1; b[j:j] = b[i:j]' 'already|does not follow'
hostile 'a run that is still queued' 'i = b.rindex(b"\"status\":\"success\""); b[i:i + 18] = b"\"status\":\"queued\""' 'closed crawl is queued'
hostile 'refusals that are missing' 'i = b.index(b"\n{\"kind\":\"leashed\"") + 1; del b[i:]' 'its summary says'
hostile 'a package of another crawl' "b[:] = b.replace(b'$second', b'$root')" 'another crawl'
hostile 'a last line without end' 'b[:] = b[:-1]' 'cut off'
cp -pf "$tmp/json" "$json"
cp -pf "$tmp/jsonl" "$jsonl"
edit "$jsonl" 'b += b"{\"kind\":\"of a later version\",\"x\":1}\n"'
reseal "$json"
rm -f "$tmp/new.db"*
tl rebuild --catalog "$tmp/new.db"
check 'rebuild: a kind of a later version is passed over' "$rc $(restored "$tmp/new.db")" "0 $root $second $third"
cp -pf "$tmp/json" "$json"
cp -pf "$tmp/jsonl" "$jsonl"
sane 'closing records'
check '(the dump had something to compare)' "$([ "$sane_lines" -gt 1000 ] && echo yes)" yes
kill "$server"
wait "$server" 2> /dev/null

# ---- a crawl that was not closed
start --site tree --arity 3 --depth 4 --delay 700
crawl_file open
tl run open.yml --timeout 1s
check 'a crawl that is broken off' "$rc" 7
open=$(root_of)
tl verify
check 'verify: sound' "$rc $(cat "$tmp/out")" '0 '
rm -f "$tmp/new.db"*
tl rebuild --catalog "$tmp/new.db"
check 'rebuild: names what it cannot restore, exit 0' "$rc $(grep -c "^$open cannot be restored" "$tmp/out") $(wc -l < "$tmp/out")" '0 1 1'
check '… and restores the others' "$(restored "$tmp/new.db")" "$root $second $third"

# ---- doctor
tl doctor
check 'doctor: sound' "$rc $(grep -c 'schema version' "$tmp/out")" '0 1'
tl doctor -o json
check 'doctor -o json' "$rc $(python3 -c 'import json, sys; x = json.load(open(sys.argv[1])); print(x["sound"], {"trotline", "lake", "catalog", "collector", "clock"} <= {c["what"] for c in x["checks"]})' "$tmp/out")" '0 True True'
echo 'this is no library' > "$tmp/junk/alpha.so"
printf 'plugins: ["%s", "%s"]\n' "$tmp/junk" "$TROTLINE_TEST_PLUGINS" > junk.yml
chmod 755 "$tmp" "$tmp/junk"
tl --config junk.yml doctor
check 'doctor: a refused file gives exit 4, one line with the reason' "$rc $(cat "$tmp/out" "$tmp/err" | grep -c 'alpha\.so') $(grep -c 'alpha\.so: ..' "$tmp/out")" '4 1 1'
printf 'lake: junk.yml/lake\n' > nowhere.yml
tl --config nowhere.yml doctor
check 'doctor: a lake that cannot be made gives exit 9' "$rc $(grep -c 'junk.yml/lake' "$tmp/out")" '9 1'
printf 'lakes: x\n' > wrong.yml
tl --config wrong.yml doctor
check 'doctor: a wrong configuration gives exit 3, with its place' "$rc $(grep -c 'wrong.yml:1:1' "$tmp/out")" '3 1'
mkdir types
printf 'type: boat\nversion: 1\nfrom: {collector: http}\ncolumns:\n  - {name: url, field: data_url}\n' > types/boat.yml
printf 'plugins: ["%s"]\nconvert: {types: [types]}\n' "$TROTLINE_TEST_PLUGINS" > typed.yml
tl --config typed.yml doctor
check 'doctor: types of the folders, and those built in' "$rc $(grep -c '^types *ok .*boat.*http_page' "$tmp/out")" '0 1'
cp types/boat.yml types/canoe.yml
tl --config typed.yml doctor
check 'doctor: two files of one type are told, with the second' "$rc $(grep -c '^types *bad .*canoe.yml.*boat' "$tmp/out")" '3 1'
sed -i 's/columns/colums/' types/boat.yml
tl --config typed.yml doctor
check 'doctor: a mistake in a type is told, with its place' "$rc $(grep -c 'boat.yml:4:1' "$tmp/out")" '3 1'
cp catalog.db damaged.db
dd if=/dev/zero of=damaged.db bs=4096 seek=3 count=4 conv=notrunc 2> /dev/null
printf 'catalog: damaged.db\n' > damaged.yml
tl --config damaged.yml doctor
check 'doctor: a damaged catalog gives exit 14' "$rc $(grep -c 'damaged.db' "$tmp/out")" '14 1'
tl --config damaged.yml verify
check 'verify: a damaged catalog gives exit 14' "$rc" 14

echo "1..$count"
[ "$failures" -eq 0 ]
