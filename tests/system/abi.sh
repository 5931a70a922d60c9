#!/bin/bash
# The ABI's promise: collectors compiled against earlier headers still load, keep the contract, and give the same document.
set -u
n=0
failed=0
ok() {
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else
        failed=1
        echo "not ok $n - $2"
    fi
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export HOME="$tmp"
old=$TROTLINE_SOURCE/tests/old-plugins
wanted='{"page-1": 9007199254740993, "page-2": 2}'
for so in "$old/$(uname -m)"/*.so; do
    [ -e "$so" ] || continue
    name=$(basename "$so" .so)
    mkdir -p "$tmp/$name" && cp "$so" "$tmp/$name/" && chmod 755 "$tmp/$name" "$tmp/$name/$name.so"
    "$TROTLINE" check --folder "$old" "$tmp/$name/$name.so" >"$tmp/$name.tap" 2>"$tmp/err"
    ok $? "$name: keeps the contract"
    grep -q '^not ok' "$tmp/$name.tap" && sed 's/^/# /' "$tmp/$name.tap"
    got=$("$TROTLINE" collect "$tmp/$name/$name.so" --payload "$old/payload.json" --fixtures "$old/fixtures" 2>"$tmp/err" |
        python3 -c 'import json, sys; d = json.load(sys.stdin); print(json.dumps({k: p["data"]["items"][0]["id"] for k, p in d["datasets"][0]["pages"].items()}))')
    [ "$got" = "$wanted" ]
    ok $? "$name: its document is what it was"
done
[ "$n" -gt 0 ] || { n=1; echo "ok 1 - no old collector was compiled for this machine"; }
echo "1..$n"
exit $failed
