#!/bin/bash
# contract.sh - what misbehaves is caught by `trotline check`, each for what it does (TAP); and what a collector that pries is let.
# TROTLINE: the binary; TROTLINE_BAD_PLUGINS: the folder of the collectors of tests/bad.
set -u
trotline=${TROTLINE:?the trotline binary}
bad=$(cd "${TROTLINE_BAD_PLUGINS:?the folder of tests/bad}" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/home"
export HOME=$tmp/home XDG_CACHE_HOME=$tmp/cache NO_COLOR=1
unset TROTLINE_CONFIG TROTLINE_LAKE TROTLINE_CATALOG TROTLINE_PLUGINS
cd "$tmp/home" || exit 99
count=0 failures=0

ok() { # ok RC NAME FILE
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; else
        failures=$((failures + 1))
        echo "not ok $count - $2"
        sed 's/^/# /' "$3" | head -n 40
    fi
}

# name, exit code, and the line (a regular expression) that says so
wanted() {
    cat <<'LIST'
abort 1 collect: succeeds.* died of signal 6 .SIGABRT
crash 1 collect: succeeds.* died of signal 11 .SIGSEGV
deep 1 collect: succeeds.* died of signal 11 .SIGSEGV
describe_crash 4 load: it describes itself.* died of signal 11 .SIGSEGV
describe_exit 4 load: it describes itself.* ended the process .exit code 0
describe_spin 4 load: it describes itself.* took over 10 s
greedy 1 children: no leash of theirs is wider
hang 1 collect: succeeds.* did not come back within 10 s
late 1 collect: succeeds.* did not come back within 10 s
leak 1 collect: succeeds.* did not come back within 10 s
newer 1 collect: succeeds.* put nothing
react_crash 1 collect: succeeds.* died of signal 11 .SIGSEGV
refuse_abi 4 load: trotline takes it.* built for plugin interface 7.3, this trotline has .*rebuild it
refuse_default 4 load: trotline takes it.* default of its argument wait
refuse_entry 4 load: trotline takes it.* no entry symbol
refuse_field 4 load: trotline takes it.* lies outside its struct
refuse_name 4 load: trotline takes it.* its name is not
refuse_null 4 load: trotline takes it.* gave NULL
refuse_reserved 4 load: trotline takes it.* built-in one
refuse_size 4 load: trotline takes it.* impossible size
refuse_table 4 load: trotline takes it.* no end within 256
retry 1 collect: succeeds.* not now, as always
runs 1 collect: succeeds.* put nothing
shapes 1 describe: summary, arguments
spin 1 collect: succeeds.* did not come back within 10 s
typed 1 describe: summary, arguments
LIST
}
wanted >"$tmp/wanted"
while read -r name _; do # all at once: some only end at a deadline
    { timeout 100 "$trotline" check --folder "$tmp/home" "$bad/$name.so" >"$tmp/$name.out" 2>&1; echo $? >"$tmp/$name.rc"; } &
done <"$tmp/wanted"
wait
while read -r name code line; do
    [ "$(cat "$tmp/$name.rc")" = "$code" ] && tr '\n' ' ' <"$tmp/$name.out" | grep -Eq "not ok [0-9]+ - $line"
    ok $? "check catches $name" "$tmp/$name.out"
done <"$tmp/wanted"
for name in noop state saves prying; do
    timeout 100 "$trotline" check --folder "$tmp/home" "$bad/$name.so" >"$tmp/$name.out" 2>&1
    code=$?
    want=0
    [ $name = saves ] && ! grep -q '^not ok' "$tmp/$name.out" && want=$code # it needs a folder for attachments
    [ $code = $want ]
    ok $? "check has nothing to say about $name" "$tmp/$name.out"
done

# Each of what prying tries, in a worker.
printf 'plugins: ["%s"]\n' "$bad" >trotline.yml
"$trotline" doctor >"$tmp/doctor.out" 2>&1
grep -q '^confinement ' "$tmp/doctor.out"
ok $? "doctor says what binds a collector" "$tmp/doctor.out"
if ! grep -q '^confinement *ok ' "$tmp/doctor.out"; then
    echo "ok $((count += 1)) - prying # SKIP this kernel lacks Landlock or seccomp filters"
else
    printf 'crawl: prying\nlines:\n  - {collector: prying}\n' >prying.yml
    timeout 60 "$trotline" run prying.yml >"$tmp/run.out" 2>&1
    ok $? "prying is collected" "$tmp/run.out"
    "$trotline" cat "$(sqlite3 catalog.db "select run_id from runs where collector = 'prying'")" >"$tmp/prying.json" 2>&1
    python3 - "$tmp/prying.json" >"$tmp/tried" 2>&1 <<'P'
import json, sys
for pair in json.load(open(sys.argv[1]))["datasets"][0]["key_values"].values():
    print(pair["key"], "|", pair["data"])
P
    for what in "read /etc/shadow" "list /" "write /tmp" "make a folder" "start a program" "fork" "trace its parent" "signal its parent" "become another"; do
        grep -qx "$what | refused" "$tmp/tried"
        ok $? "a worker may not: $what" "$tmp/tried"
    done
    grep -qx "write its cache | allowed" "$tmp/tried"
    ok $? "a worker may write its cache" "$tmp/tried"
fi
echo "1..$count"
[ $failures = 0 ]
