#!/bin/bash
# The tutorial of a first collector, to the letter: every ```sh block of the page, in order, with an installed trotline.
set -u
n=0
failed=0
ok() { # ok RC NAME
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else
        failed=1
        echo "not ok $n - $2"
    fi
}
tmp=$(mktemp -d)
trap 'kill $server 2>/dev/null; rm -rf "$tmp"' EXIT
server=
build=$(cd "$(dirname "$TROTLINE")/.." && pwd)
unset MAKEFLAGS MAKELEVEL MFLAGS TROTLINE_CONFIG
make -s -C "$build" install prefix="$tmp/prefix" exec_prefix="$tmp/prefix" >"$tmp/install.log" 2>&1
ok $? "make install"
# The prefix is compiled in; this one is another, so tell the program and the .pc file.
sed -i "s|^prefix=.*|prefix=$tmp/prefix|; s|^datarootdir=.*|datarootdir=$tmp/prefix/share|; s|^sdkdir=.*|sdkdir=$tmp/prefix/share/trotline|; s|^includedir=.*|includedir=$tmp/prefix/include|" \
    "$tmp"/prefix/lib/pkgconfig/trotline.pc 2>/dev/null
export PATH="$tmp/prefix/bin:$PATH" PKG_CONFIG_PATH="$tmp/prefix/lib/pkgconfig" HOME="$tmp/home" TROTLINE_PLUGINS="$tmp/prefix/lib/trotline/collectors"
mkdir -p "$HOME"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
page=$TROTLINE_SOURCE/docs/tutorial/first-collector.md
awk -v dir="$tmp" '/^```sh/{b++; f=dir "/block" b; next} /^```/{f=""} f{print > f}' "$page"
sed -i -e "s/8000/$port/g" "$tmp"/block*
sed -i -e "s|trotline new collector releases|trotline new collector releases --skeleton $tmp/prefix/share/trotline/skeleton|" "$tmp"/block2

cd "$HOME" || exit 1
# shellcheck disable=SC1091
. "$tmp/block1"
server=$!
for _ in $(seq 100); do curl -fs "http://127.0.0.1:$port/page1.json" >/dev/null && break; sleep 0.1; done
ok $? "1: the API answers"
(set -e; . "$tmp/block2") >"$tmp/2.out" 2>&1
ok $? "2: new, make, make check"
[ "$(grep -c '^ok' "$tmp/2.out")" -ge 20 ] && ! grep -q '^not ok' "$tmp/2.out"
ok $? "2: the contract test passes"
cd "$HOME/releases" || exit 1
(set -e; . "$tmp/block3") >"$tmp/3.out" 2>"$tmp/3.err"
ok $? "3: collect"
grep -q 9007199254740993 "$tmp/3.out"
ok $? "3: the 64-bit id is exact"
grep -q '"collector":"http","args":{"url":"http://127.0.0.1:'"$port"'/ada.html"}' "$tmp/3.out"
ok $? "3: its children are listed"
[ ! -e catalog.db ] && [ ! -e lake ]
ok $? "3: lake and catalog were not touched"
(set -e; . "$tmp/block4") >"$tmp/4.out" 2>"$tmp/4.err"
ok $? "4: install, run"
[ "$(sqlite3 catalog.db "select group_concat(collector || ' ' || status || ' ' || depth, ', ') from (select * from runs order by depth, url)")" = \
    "orchestrator success 0, releases success 1, http success 2, http success 2" ]
ok $? "4: the runs are there"
[ "$(find lake/documents -name '*.json' | wc -l)" = 4 ]
ok $? "4: so are the documents"
trotline verify >"$tmp/verify.out" 2>&1
ok $? "4: and they are sound"
[ $failed = 0 ] || { sed 's/^/# /' "$tmp"/install.log "$tmp"/*.out "$tmp"/*.err | tail -n 40; }
echo "1..$n"
exit $failed
