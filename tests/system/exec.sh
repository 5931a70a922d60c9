#!/bin/bash
# exec.sh - programs on behalf of collectors, and files beside documents (TAP): what a program is given, what comes
# back, what is refused, and that nothing outlives its run.
# TROTLINE: the binary; TROTLINE_BAD_PLUGINS: the folder with runs.so.
# shellcheck disable=SC2016 # what stands in single quotes is for the shell of the programs
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
trotline=${TROTLINE:?the trotline binary}
mkdir "$tmp/plugins"
cp "${TROTLINE_BAD_PLUGINS:?the folder with runs.so}/runs.so" "$tmp/plugins/" || exit 99
export NOT_FOR_PROGRAMS=1
printf 'lake: lake\ncatalog: catalog.db\nplugins: [plugins]\n' > "$tmp/trotline.yml"
cache=$tmp/cache/trotline/collectors/runs

check_says() { # check_says NAME TEXT: the run failed, and its error holds TEXT
  local seen="$status: $error"
  [[ $status = failed && $error = *"$2"* ]] && seen=$2
  check "$1" "$seen" "$2"
}
line() { # line ARGS [LEASH]: a line of a crawl file
  printf '  - collector: runs\n    args: {%s}\n    leash: {%s}\n' "$1" "${2-}"
}
run() { # run CRAWL OPTIONS...
  timeout 60 "$trotline" --config "$tmp/trotline.yml" run "$@" > "$tmp/stdout" 2> "$tmp/stderr" < /dev/null
}
crawl() { # crawl NAME ARGS [LEASH]: one run; sets rc, status, error, doc
  { printf 'crawl: %s\nlines:\n' "$1"; line "$2" "${3-}"; } > "$tmp/$1.yml"
  run "$tmp/$1.yml" -o jsonl
  rc=$?
  local row
  row=$(grep '"collector":"runs"' "$tmp/stdout" | tail -n 1)
  status=$(field "$row" status)
  error=$(field "$row" error)
  doc=$tmp/lake/$(field "$row" document)
  if [ ! -f "$doc" ]; then doc=/dev/null; fi
}
field() { # field JSON NAME: the text of a member
  case $1 in *"\"$2\":\""*) local rest=${1#*"\"$2\":\""} && printf '%s' "${rest%%\"*}" ;; esac
}
dataset() { # dataset NAME MEMBER: as it stands in the document, without quotes
  local all
  all=$(cat "$doc")
  case $all in *"\"id\":\"$1\""*) ;; *) return ;; esac
  all=${all#*"\"id\":\"$1\""}
  all=${all#*"\"$2\":"}
  case $all in
    \"*) all=${all#\"} && printf '%s' "${all%%\"*}" ;;
    *) printf '%s' "${all%%[,\}]*}" ;;
  esac
}
sum() { sha256sum | cut -d' ' -f1; }
gone() { # gone FILE: the process whose number the file holds is no more (a zombie is none)
  local pid
  pid=$(cat "$1" 2>/dev/null) || { echo 'never there'; return; }
  for _ in $(seq 100); do
    grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" || { echo gone; return; }
    sleep 0.02
  done
  echo alive
}

# ---- what comes back
crawl echo 'program: echo, args: [a b, "c\td"]'
check 'a program runs' "$rc $status" '0 success'
check 'its arguments are not split, and its output comes back' "$(dataset out data)" 'a b c\td\n'
check 'its status comes back' "$(dataset status data)" 0
crawl input 'program: cat, input: "from the collector\n"'
check 'it reads its input, and the end of it' "$(dataset out data)" 'from the collector\n'
crawl fails 'program: sh, args: [-c, "echo oh >&2; exit 7"]'
check 'an exit code is an answer, not a fault' "$status $(dataset status data)" 'success 7'
check 'its error output comes apart' "$(dataset out data)$(dataset err data)" 'oh\n'
crawl signal 'program: sh, args: [-c, "kill -9 $$"]'
check 'a signal is 128 and its number' "$(dataset status data)" 137
crawl long 'program: sh, args: [-c, "yes 0123456789 | head -c 500000"]'
check 'a long output comes whole and in order' "$(dataset out bytes) $(dataset out sha256)" \
  "500000 $(yes 0123456789 | head -c 500000 | sum)"

# ---- what it is given
crawl home 'program: sh, args: [-c, "pwd; echo $HOME $PATH $NOT_FOR_PROGRAMS $MINE"], env: [MINE=yes]'
check 'it starts in the cache folder, with an environment of its own' "$(dataset out data)" \
  "$cache\\n$cache /usr/local/bin:/usr/bin:/bin yes\\n"
mkdir -p "$cache/below/it" && ln -s "$tmp/home" "$cache/out"
crawl below 'program: sh, args: [-c, pwd], cwd: below/it'
check 'or in a folder below' "$(dataset out data)" "$cache/below/it\\n"
crawl files 'program: sh, args: [-c, "cd /proc/self/fd; echo *"]'
check 'it inherits three descriptors; the fourth is the folder that it lists' "$(dataset out data)" '0 1 2 3\n'
crawl session 'program: sh, args: [-c, "read -r _ _ _ _ group session tty _ < /proc/self/stat;
  echo $((group - $$)) $((session - $$)) $tty"]'
check 'it leads a group and a session of its own, without a terminal' "$(dataset out data)" '0 0 0\n'

# ---- what is refused
crawl undeclared 'program: ls'
check_says 'a program that is not declared' 'the collector runs does not declare this program'
check 'every line failed: exit code 6' "$rc" 6
crawl pathname 'program: /bin/echo'
check_says 'a path instead of a name' 'does not declare'
crawl up 'program: sh, args: [-c, pwd], cwd: below/../..'
check_says "a folder with '..'" 'not below the cache folder'
crawl absolute 'program: sh, args: [-c, pwd], cwd: /tmp'
check_says 'an absolute folder' 'not below the cache folder'
crawl symlink 'program: sh, args: [-c, pwd], cwd: out'
check_says 'a symlink that leads out' 'symlink'
for entry in LD_PRELOAD=/tmp/x.so LD_LIBRARY_PATH=/tmp PATH=/tmp =x NAMELESS 'A B=1'; do
  crawl env "program: echo, env: [\"$entry\"]"
  check_says "the variable $entry" 'is not to be set'
done

# ---- what is stopped
crawl timeout 'program: sh, args: [-c, "echo $$ > timeout.pid; exec sleep 1000"], timeout_ms: 1s'
check_says 'a program that takes too long' 'did not end within 1.0s'
check 'it is gone' "$(gone "$cache/timeout.pid")" gone
crawl stubborn 'timeout_ms: 1s, program: sh,
  args: [-c, "trap \"\" TERM; echo $$ > stubborn.pid; while :; do sleep 1; done"]'
check_says 'one that does not want to hear of it' 'did not end within 1.0s'
check 'it is gone, too' "$(gone "$cache/stubborn.pid")" gone
crawl cap 'program: sh, args: [-c, "echo $$ > cap.pid; exec yes 2>&1"], max_output: 10000'
check_says 'an output without end' 'its output is over 10000 bytes'
check 'its program is gone' "$(gone "$cache/cap.pid")" gone
crawl default 'program: sh, args: [-c, "yes | head -c 1048577"]'
check_says 'a byte more than 1 MiB, where nothing is said' 'its output is over 1048576 bytes'
crawl exact 'program: sh, args: [-c, "yes | head -c 10000"], max_output: 10000'
check 'just as much as is allowed is allowed' "$status $(dataset out bytes)" 'success 10000'
crawl left 'program: sh, args: [-c, "sleep 1000 & echo $! > left.pid; echo ready"]'
check 'what a program leaves behind does not hold up its answer' "$(dataset out data)" 'ready\n'
check 'and goes with it' "$(gone "$cache/left.pid")" gone
crawl cancel 'program: sh, args: [-c, "trap \"\" TERM; echo $$ > cancel.pid; while :; do sleep 1; done"]' 'time: 3s'
check "a run's end is its program's, and the crawl waits for it" "$status $(gone "$cache/cancel.pid")" 'failed gone'
# At first it kills the worker that asked for it, and waits to be stopped; the second time it looks whether it was.
cat > "$cache/orphan.sh" <<'END'
if [ -e orphan.pid ]; then
  for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$(cat orphan.pid)" 2>/dev/null || exec echo gone; sleep 0.5; done
  exec echo alive
fi
echo $$ > orphan.pid
for d in /proc/[0-9]*; do
  read -r pid _ _ parent _ < "$d/stat" && [ "$parent" = $PPID ] && [ "$pid" != $$ ] && kill -9 "$pid"
done 2>/dev/null
exec sleep 1000
END
crawl orphan 'program: sh, args: [orphan.sh]'
check 'when its worker dies, it is stopped, and asked for again' "$status $(dataset out data)" 'success gone\n'

# ---- an interrupted crawl
{
  printf 'crawl: interrupted\nlines:\n'
  line 'program: sh, args: [-c, "echo $$ > interrupted.pid; exec sleep 1000"]'
} > "$tmp/i.yml"
"$trotline" --config "$tmp/trotline.yml" run "$tmp/i.yml" > "$tmp/stdout" 2> "$tmp/stderr" < /dev/null &
pid=$!
for _ in $(seq 500); do [ -s "$cache/interrupted.pid" ] && break; sleep 0.02; done
kill -TERM "$pid"
sleep 0.3
kill -TERM "$pid"
wait "$pid"
check 'an interrupted crawl ends as such' "$?" 11
check 'and takes its program along' "$(gone "$cache/interrupted.pid")" gone

# ---- many
{
  printf 'crawl: many\nlines:\n'
  for i in $(seq 40); do
    line "program: sh, args: [-c, \"echo begins >> many; sleep 0.2; echo ends >> many; echo $i\"]"
  done
} > "$tmp/many.yml"
run "$tmp/many.yml" -o jsonl
check 'more programs than run at once: all come to their turn' \
  "$? $(grep -c '"collector":"runs".*"status":"success"' "$tmp/stdout")" '0 40'
most=$(awk '/begins/ { if (++n > most) most = n } /ends/ { n-- } END { print n, most <= 16 }' "$cache/many")
check 'never more than sixteen at once' "$most" '0 1'

# ---- files beside documents
crawl attach 'attach_bytes: 100000'
check 'files can be attached' "$rc $status" '0 success'
made=$(find "$tmp/lake/attachments" -name made.txt) zeros=$(find "$tmp/lake/attachments" -name zeros.bin)
made_sum=$(yes trotline | head -c 100000 | sum) zeros_sum=$(head -c 100000 /dev/zero | sum)
check 'one written through a descriptor lies in the lake' "$(sum < "${made:-/dev/null}")" "$made_sum"
check 'and one that a program wrote into the cache folder' "$(sum < "${zeros:-/dev/null}")" "$zeros_sum"
id=$(basename "$doc" .json)
made_in=$(basename "$(dirname "${made:-none}")") zeros_in=$(basename "$(dirname "${zeros:-none}")")
check 'both in a folder of the document' "$made_in $zeros_in" "$id $id"
listed=$(cat "$doc")
listed=${listed#*'"attachments":['}
check 'which names the first' "$(field "$listed" name) $(field "$listed" sha256)" "made.txt $made_sum"
listed=${listed#*'},{'}
check 'and the second' "$(field "$listed" name) $(field "$listed" sha256)" "zeros.bin $zeros_sum"
check 'the path that it names is that of the file' "$tmp/lake/$(field "$listed" path)" "$zeros"
check 'nothing is left in the cache folder' "$(find "$cache" -name 'zeros-*' | wc -l)" 0
check 'nor in staging' "$(find "$tmp/lake/.staging" -type f -name '*zeros*' | wc -l)" 0

echo "1..$count"
[ "$failures" -eq 0 ]
