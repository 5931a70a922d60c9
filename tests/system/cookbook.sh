#!/bin/bash
# cookbook.sh - the recipes of docs/howto/collector-cookbook.md, to the letter: each compiles alone, passes `trotline check` on recorded
# answers, and does what its text says (TAP); and the argument tables of the plug-ins' man pages are those of the plug-ins.
# TROTLINE: the binary; TROTLINE_SOURCE: the top of the source; TROTLINE_BUILD: that of the build, else the binary's parent's.
set -u
umask 022
trotline=${TROTLINE:?the trotline binary}
source=${TROTLINE_SOURCE:?the top of the source}
build=${TROTLINE_BUILD:-$(cd "$(dirname "$trotline")/.." && pwd)}
tmp=$(mktemp -d)
tmp=$(cd "$tmp" && pwd -P)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$tmp"' EXIT
mkdir "$tmp/home" "$tmp/plugins"
export HOME=$tmp/home XDG_CACHE_HOME=$tmp/cache NO_COLOR=1
unset TROTLINE_CONFIG TROTLINE_LAKE TROTLINE_CATALOG TROTLINE_PLUGINS
cd "$tmp" || exit 99
count=0 failures=0

ok() { # ok RC NAME FILE...
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; else
        failures=$((failures + 1))
        echo "not ok $count - $2"
        shift 2
        cat "$@" 2>/dev/null | sed 's/^/# /' | head -n 40
    fi
}
fixture() { # fixture NAME FILE URL HEADER BODY
    mkdir -p "$tmp/$1/fixtures"
    printf '%s\nHTTP/1.1 200 OK\n%s\n\n%s' "$3" "$4" "$5" >"$tmp/$1/fixtures/$2.http"
}
payload() { # payload NAME JSON
    mkdir -p "$tmp/$1"
    printf '%s\n' "$2" >"$tmp/$1/payload.json"
}

# ---- recorded answers

json='Content-Type: application/json'
api=https://api.example.org
payload cook_paging "{\"url\":\"$api/1\"}"
fixture cook_paging 1 $api/1 "$json" '{"items":[1],"next":"/2"}'
fixture cook_paging 2 $api/2 "$json" '{"items":[2],"next":null}'
payload cook_credentials "{\"url\":\"$api/mine\"}"
fixture cook_credentials 1 $api/mine "$json" '{"mine":true}'
payload cook_login "{\"login\":\"$api/session\",\"url\":\"$api/mine\"}"
fixture cook_login 1 $api/session "$json"$'\nSet-Cookie: session=abc; Path=/; HttpOnly' '{}'
fixture cook_login 2 $api/mine "$json" '{"mine":true}'
payload cook_download "{\"url\":\"$api/file\"}"
fixture cook_download 1 $api/file 'Content-Type: application/octet-stream' 'the bytes of the file'
payload cook_new "{\"url\":\"$api/list\"}"
fixture cook_new 1 $api/list "$json" '{"items":[{"id":9007199254740993,"url":"/a"},{"id":7,"url":"/b"}]}'
payload cook_json "{\"url\":\"$api/prices\"}"
fixture cook_json 1 $api/prices "$json" '{"items":[{"id":9007199254740993,"price":1.10},{"id":2},{"id":18446744073709551615,"price":2e1}]}'
payload cook_convert "{\"url\":\"$api/mine\"}"
fixture cook_convert 1 $api/mine "$json" '[{"mine":1},{"mine":2},9007199254740993]'

# ---- each block by itself

awk '/^```c$/{f = "block" ++b ".c"; next} /^```/{f = ""} f{print > f}' "$source/docs/howto/collector-cookbook.md"
names=
for block in $(seq 100); do
    [ -f "block$block.c" ] || break
    name=$(sed -n 's/^TL_COLLECTOR(\.name = "\([a-z_]*\)".*/\1/p' "block$block.c")
    names="$names $name"
    cc -std=c17 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -I"$source/sdk" "block$block.c" -o "plugins/$name.so" >cc.out 2>&1
    ok $? "$name compiles alone, without a warning" cc.out
    if [ "$name" = cook_download ]; then
        mkdir files
        "$trotline" collect "./plugins/$name.so" --payload "$name/payload.json" --fixtures "$name/fixtures" --attach files >collect.out 2>&1
        ok $? "$name: is collected" collect.out
        [ "$(cat files/download)" = "the bytes of the file" ]
        ok $? "$name: the attachment is there" collect.out
    fi
    timeout 300 "$trotline" check --folder "$tmp/$name" "plugins/$name.so" >"$name.out" 2>&1
    ok $? "$name: trotline check" "$name.out"
    grep -q '^ok .*collect: succeeds' "$name.out"
    ok $? "$name: it was run on recorded answers" "$name.out"
done
[ "$names" = " cook_paging cook_credentials cook_login cook_download cook_new cook_json cook_convert" ]
ok $? "these are all recipes:$names"

by_hand() { # by_hand NAME: on its recorded answers
    "$trotline" collect "./plugins/$1.so" --payload "$1/payload.json" --fixtures "$1/fixtures" --children >"$1.json" 2>"$1.err"
}
by_hand cook_json
grep -q '"key":"9007199254740993"' cook_json.json && grep -q '"key":"18446744073709551615"' cook_json.json && grep -q '"1.10"' cook_json.json && grep -q '"2e1"' cook_json.json
ok $? "cook_json: ids and prices are as written" cook_json.json cook_json.err
by_hand cook_new
[ "$(grep -c '"collector":"http"' cook_new.json)" = 2 ]
ok $? "cook_new: without a state, everything is new" cook_new.json cook_new.err
payload short "{\"url\":\"$api/1\",\"max_pages\":1}"
"$trotline" collect ./plugins/cook_paging.so --payload short/payload.json --fixtures cook_paging/fixtures >short.json 2>short.err
[ $? = 5 ] && grep -q 'more than 1 pages' short.json
ok $? "cook_paging: is bounded, and says so" short.json short.err
TROTLINE_PLUGINS=$tmp/plugins "$trotline" plugins show cook_convert >convert.out 2>&1
grep -q '^does  *collect convert' convert.out
ok $? "cook_convert: what it has is shown" convert.out
grep -q '^ok .*convert: its own gives 3 items' cook_convert.out && grep -q "^ok .*convert: the host's gives [1-9]" cook_json.out
ok $? "cook_convert: a row for each entry of its list" cook_convert.out

# ---- a real host: what is sent, and what is remembered

cat >server.py <<'P'
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, body, **headers):
        self.send_response(200)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
    def note(self):
        with open("asked", "a") as f:
            f.write(f"{self.command} {self.path} {self.headers['Authorization']} {self.headers['X-Api-Key']} {self.headers['Cookie']}\n")
    def do_GET(self):
        self.note()
        self.answer(open("list.json", "rb").read() if self.path == "/list" else b"{}")
    def do_POST(self):
        self.note()
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b"{}", Set_Cookie="session=abc; Path=/")
    def log_message(self, *_):
        pass
httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w") as f:
    f.write(str(httpd.server_port))
import os
os.rename("port.new", "port")
httpd.serve_forever()
P
python3 server.py >server.out 2>&1 &
server=$!
for _ in $(seq 100); do
    [ -s port ] && break
    sleep 0.1
done
site=http://127.0.0.1:$(cat port)
http=$(find "$build/plugins/http" -name http.so -print -quit)
cp "$http" plugins/ || exit 99
printf 's3cret-token\n' >token
chmod 600 token
cat >trotline.yml <<Y
plugins: [$tmp/plugins]
fetch: {robots: false, delay: 0ms}
secrets:
  TOKEN: {file: $tmp/token, origins: ["$site"]}
collectors:
  cook_credentials:
    options: {token: TOKEN}
Y
cat >secrets.yml <<Y
crawl: secrets
lines:
  - {collector: cook_credentials, args: {url: "$site/mine"}}
  - {collector: cook_login, args: {login: "$site/session", url: "$site/yours", key: TOKEN}}
Y
timeout 60 "$trotline" run secrets.yml >secrets.out 2>&1
ok $? "credentials: both recipes are collected" secrets.out
grep -qx 'GET /mine Bearer s3cret-token None None' asked
ok $? "cook_credentials: the token is sent" asked
grep -qx 'POST /session None s3cret-token None' asked && grep -qx 'GET /yours None None session=abc' asked
ok $? "cook_login: the key goes to the login, the cookie with the question" asked
[ -d lake/documents ] && ! grep -rqE 's3cret-token|session=abc' lake
ok $? "credentials: none of it is in the lake" asked

printf 'crawl: new\nlines:\n  - {collector: cook_new, args: {url: "%s/list"}}\n' "$site" >new.yml
told() { grep -c '^GET /item' asked; }
echo '{"items":[{"id":1,"url":"/item1"},{"id":2,"url":"/item2"}]}' >list.json
timeout 60 "$trotline" run new.yml >new.out 2>&1
ok $? "cook_new: a first crawl" new.out
[ "$(told)" = 2 ]
ok $? "cook_new: asks for all" asked
echo '{"items":[{"id":9007199254740993,"url":"/item3"},{"id":2,"url":"/item2"}]}' >list.json
timeout 60 "$trotline" run new.yml >new.out 2>&1
[ "$(told)" = 3 ] && grep -q '^GET /item3 ' asked
ok $? "cook_new: a second one asks for what is new" asked new.out
timeout 60 "$trotline" run new.yml >new.out 2>&1
[ "$(told)" = 3 ]
ok $? "cook_new: a third one for nothing" asked new.out

# ---- the tables of arguments in the man pages

# .It Cm NAME : Ar TYPE, and Default .Li VALUE or Required: as name|type|default
page_arguments() {
    awk '
        function tell() { if (name != "") print name "|" type "|" dflt; name = "" }
        /^\.S[hs] / { tell(); inside = $0 ~ /^\.S[hs] "?ARGUMENTS/; next }
        !inside { next }
        /^\.It Cm / { tell(); name = $3; type = $0; sub(/^.*: Ar "?/, "", type); sub(/"$/, "", type); dflt = ""; next }
        /^Required\.$/ { dflt = "(required)" }
        /^Default$/ { getline; sub(/^\.Li /, ""); sub(/ [.,;:]$/, ""); gsub(/"/, ""); dflt = $0 }
        END { tell() }' "$1"
}
shown_arguments() { # the columns begin where their titles do
    awk '
        /^ARGUMENT / { t = index($0, "TYPE"); d = index($0, "DEFAULT"); h = index($0, "HELP"); inside = 1; next }
        /^$/ { inside = 0 }
        function cut(from, to) { s = substr($0, from, to - from); sub(/ +$/, "", s); return s }
        inside { print cut(1, t) "|" cut(t, d) "|" cut(d, h) }'
}
for name in http exec github; do
    TROTLINE_PLUGINS=$build/plugins/$name/.libs "$trotline" --config /dev/null plugins show $name 2>shown.err | shown_arguments >shown
    page_arguments "$source/docs/trotline-$name.7" >page
    [ -s shown ] && diff shown page >diff.out
    ok $? "trotline-$name(7) lists the arguments that it takes" diff.out shown.err
done
echo "1..$count"
[ $failures = 0 ]
