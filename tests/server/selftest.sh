#!/bin/bash
# selftest.sh - shows that the fixture server misbehaves exactly as told (TAP).
# FIXTURE=binary (default: ../../_build/tests/server/fixture, seen from here)
# shellcheck source-path=SCRIPTDIR source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
fixture=${FIXTURE:-$here/../../_build/tests/server/fixture}

check_bytes() { # check_bytes NAME FORMAT: $tmp/got is exactly what printf makes of FORMAT
  # shellcheck disable=SC2059
  printf "$2" > "$tmp/wanted"
  check "$1" "$(od -An -c "$tmp/got")" "$(od -An -c "$tmp/wanted")"
}
start() { # start OPTIONS...: sets port
  rm -f "$tmp/port"
  "$fixture" --port-file "$tmp/port" "$@" > "$tmp/stdout" 2> "$tmp/stderr" < /dev/null &
  server=$!
  for _ in $(seq 200); do [ -s "$tmp/port" ] && break; sleep 0.02; done
  port=$(cat "$tmp/port")
  url=http://127.0.0.1:$port
}
finish() { # sets rc
  kill "$server"
  wait "$server"
  rc=$?
  server=
}
get() { curl -s --max-time 20 "$@"; }
talk() { # talk FORMAT: sends the bytes, what comes back until the end is $tmp/got; $tmp/err says how it ended
  exec 3<> "/dev/tcp/127.0.0.1/$port"
  # shellcheck disable=SC2059
  printf "$1" >&3
  timeout 20 cat <&3 > "$tmp/got" 2> "$tmp/err"
  exec 3>&-
}
ask() { talk "GET $1 HTTP/1.1\r\nHost: h\r\n\r\n"; }
quote='"'

echo 'Only text.' > "$tmp/body.txt"
cat > "$tmp/script" <<'SCRIPT'
# one rule a block
on /flaky
  status 503 Not Now
  header Retry-After: 1
  body busy
next
  body fine
on /raw
  raw HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 3\r\n\r\nabc
on /no-head
  raw nonsense
on /exact
  version HTTP/1.0
  status 299 Odd One
  bare
  header Set-Cookie: a=1
  header Set-Cookie: b=2
  header X-Odd:no blank
  body a\r\n\tb
on /chunked
  chunked 4
  trailer X-Sum: 7
  body abcdef
  body gh
  close
on /cut
  cut 3
  body abcdef
on /cut-nothing
  cut
on /reset
  reset 3
  body abcdef
on /stall
  stall
on /stall-3
  stall 3
  body abcdef
on /long
  bad-length +5
  body abc
on /short
  bad-length -2
  body abc
  close
on /drip
  drip 2 60
  body abcdef
on /late
  delay 300
  body late
on /tail
  delay-tail 7 1 20
  body t
on /gate
  gate dawn
  body open
on /big
  header-fill X-Big 1M
  body b
on /many
  header-many 200
  body m
on /fill
  body-fill ab 100001
on /endless
  body-fill x endless
on /endless-chunked
  chunked
  body-fill x endless
on /file
  type text/plain
  body-file body.txt
on /here
  body <<TEXT
  <p>{path} \r is here</p>
  TEXT
on /gone
  redirect 308 /here?a={count}
on /trap/*
  links {path}x /trap/{tail+1}
on /list
  page All {count}
  links-range /p/{}.html 9 11
on /each/*
  status 500
next
  body {tail} now
on POST /echo
  echo
on /valid
  header ETag: "v1"
  validate
  body v
on /host host=127.0.0.2
  body two
on /host
  body one
on /cookie\
  body literal
on http://far.example/x
  body proxied {host}
SCRIPT
start --script "$tmp/script" --site tree --arity 2 --depth 2 --log "$tmp/log" --any-local

check 'the port is the first line of stdout' "$(head -1 "$tmp/stdout")" "$port"
check 'answers in turn, the last one repeats' \
  "$(for _ in 1 2 3; do get -w ' %{http_code};' "$url/flaky"; done)" 'busy 503;fine 200;fine 200;'
get "$url/__reset" > "$tmp/got"
check 'reset begins anew' "$(get -o "$tmp/got" -D - "$url/flaky" | tr -d '\r' | head -4 | tr '\n' '|')" \
  'HTTP/1.1 503 Not Now|Retry-After: 1|Content-Type: text/html; charset=utf-8|Content-Length: 4|'

ask /raw
check_bytes 'raw: exactly these bytes, then the end' 'HTTP/1.1 200 OK\r\nX: a\000b\r\nContent-Length: 3\r\n\r\nabc'
ask /no-head
check_bytes 'raw: no head at all' 'nonsense'
ask /exact
check_bytes 'bare: nothing but what was given' \
  'HTTP/1.0 299 Odd One\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Odd:no blank\r\n\r\na\r\n\tb'
ask /chunked
check_bytes 'chunked: sizes, trailer' \
  'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nabcd\r\n4\r\nefgh\r\n0\r\nX-Sum: 7\r\n\r\n'
ask /cut
check_bytes 'cut 3: three bytes of six' 'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n\r\nabc'
check 'cut: a proper end' "$(cat "$tmp/err")" ''
ask /cut-nothing
check_bytes 'cut: not one byte' ''
ask /reset
check_bytes 'reset 3: three bytes of six' 'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n\r\nabc'
check 'reset: by RST' "$(grep -c 'reset by peer' "$tmp/err")" 1
check 'cut: curl sees a partial file' "$(get -o "$tmp/got" "$url/cut"; echo $?)" 18
check 'reset: curl sees a receive error' "$(get -o "$tmp/got" "$url/reset"; echo $?)" 56
check 'stall: nothing comes' "$(get --max-time 0.4 -w '%{size_header} %{size_download}' "$url/stall"; echo " $?")" '0 0 28'
check 'stall 3: nothing after three bytes' "$(get --max-time 0.4 -o "$tmp/got" -w '%{size_download}' "$url/stall-3"; echo " $?")" '3 28'
check 'bad-length +5' "$(get -o "$tmp/got" -D - "$url/long" | tr -d '\r' | grep Length; tail -c 3 "$tmp/got")" "Content-Length: 8
abc"
check 'bad-length -2' "$(get "$url/short")" 'a'

cat > "$tmp/times.awk" <<'END'
{ printf "%s", ($1 >= low && $1 < high) ? "in time" : $1 }
END
in_time() { awk -v low="$1" -v high="$2" -f "$tmp/times.awk"; } # generous above: the machine may be busy
check 'drip: three steps, two pauses' "$(get -o "$tmp/got" -w '%{time_total}' "$url/drip" | in_time 0.12 10)" 'in time'
check 'drip: nothing is lost' "$(cat "$tmp/got")" abcdef
check 'delay: before the first byte' "$(get -o "$tmp/got" -w '%{time_starttransfer}' "$url/late" | in_time 0.3 10)" 'in time'
check 'delay-tail: answers' "$(for _ in 1 2 3 4 5; do get "$url/tail"; done)" ttttt

get "$url/gate" > "$tmp/gate-1" &
one=$!
get "$url/gate" > "$tmp/gate-2" &
two=$!
for _ in $(seq 100); do get "$url/__stats?brief" | grep -q '"in_flight":2,' && break; sleep 0.02; done
check 'gate: both wait' "$(get "$url/__stats?brief" | grep -o '"in_flight":[0-9]*'; cat "$tmp/gate-1" "$tmp/gate-2")" '"in_flight":2'
get "$url/__open/dawn" > "$tmp/got"
wait "$one" "$two"
check 'gate: open for all, and from now on' "$(cat "$tmp/gate-1" "$tmp/gate-2"; get "$url/gate")" openopenopen

check 'headers of 1 MiB' "$(exec 3<> "/dev/tcp/127.0.0.1/$port"
  printf 'GET /big HTTP/1.1\r\nConnection: close\r\n\r\n' >&3; timeout 20 cat <&3 | grep -a '^X-Big' | tr -cd x | wc -c)" $((1 << 20))
check 'two hundred headers' "$(get -o "$tmp/got" -D - "$url/many" | grep -c '^X-[0-9]*: x')" 200
get "$url/fill" > "$tmp/got"
check 'body-fill: a pattern cut at N bytes' "$(wc -c < "$tmp/got") $(tail -c 3 "$tmp/got") $(tr -d 'ab' < "$tmp/got" | wc -c)" '100001 aba 0'
check 'endless: goes on' "$(get "$url/endless" | head -c 3000000 | tr -d x | wc -c; get "$url/endless-chunked" | head -c 3000000 | wc -c)" '0
3000000'
check 'body-file' "$(get -w '%{content_type}' "$url/file")" 'Only text.
text/plain'
check 'a text up to its end, no escapes, places filled in' "$(get "$url/here?x=1")" \
  '<!DOCTYPE html>
<title>no such page</title>
<p>There is no such page.</p>'
check '… exact means exact' "$(get "$url/here")" '  <p>/here \r is here</p>'
check 'redirect' "$(get -o "$tmp/got" -w '%{http_code} %{redirect_url}' "$url/gone")" "308 $url/here?a=1"
check 'a trap that leads deeper' "$(get "$url/trap/41" | grep -o 'href="[^"]*"' | tr '\n' ' ')" "href=${quote}/trap/41x${quote} href=${quote}/trap/42${quote} "
check 'generated links' "$(get "$url/list" | grep -o 'All 1\|href="[^"]*"' | tr -d '"' | tr '\n' ' ')" \
  'All 1 href=/p/9.html href=/p/10.html href=/p/11.html '
check 'under a prefix every path counts by itself' \
  "$(for p in a b a b; do get -w '%{http_code};' "$url/each/$p"; done)" '500;500;a now200;b now200;'
check 'validate: 304 for the same ETag only' \
  "$(for e in v1 v2; do get -o "$tmp/got" -H "If-None-Match: \"$e\"" -w '%{http_code} ' "$url/valid"; done)" '304 200 '
check 'rules by host, on more addresses' "$(get "$url/host"; get "http://127.0.0.2:$port/host")" onetwo
check 'as a proxy' "$(get -x "$url" http://far.example/x)" 'proxied far.example'

head -c 100000 /dev/zero | tr '\0' z > "$tmp/post"
check 'echo: method, body, headers in order' \
  "$(get -X POST -H 'A: 1' -H 'B: "x"' -H 'A: 2' --data-binary "@$tmp/post" "$url/echo" |
    sed -E 's/.*("method":"POST").*(\["A","1"\],\["B","\\"x\\""\],\["A","2"\]).*("body_bytes":[0-9]*,"body_head":"7a7a).*/\1 \2 \3/')" \
  '"method":"POST" ["A","1"],["B","\"x\""],["A","2"] "body_bytes":100000,"body_head":"7a7a'
check 'echo: a chunked request body' \
  "$(get -X POST -H 'Transfer-Encoding: chunked' --data-binary "@$tmp/post" "$url/echo" | grep -o '"body_bytes":[0-9]*')" '"body_bytes":100000'
check 'another method has no rule here' "$(get -o "$tmp/got" -w '%{http_code}' "$url/echo")" 404

talk 'GET /valid HTTP/1.1\r\nHost: h\r\n\r\nPOST /nothing HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /HEAD /valid HTTP/1.1\r\n\r\nGET /late HTTP/1.1\r\n\r\nGET /raw HTTP/1.1\r\n\r\n'
check 'pipelined requests, one with a body, one late' "$(grep -a -o 'HTTP/1.1 [0-9]*' "$tmp/got" | tr '\n' ' '; tail -c 3 "$tmp/got")" \
  'HTTP/1.1 200 HTTP/1.1 404 HTTP/1.1 200 HTTP/1.1 200 HTTP/1.1 200 abc'
check '… in order' "$(tr -d '\r' < "$tmp/got" | grep -a -o '^vHTTP\|^lateHTTP' | tr '\n' ' ')" 'vHTTP lateHTTP '
talk 'GET /valid HTTP/1.1\r\nno colon\r\n\r\n'
check 'a bad request is refused' "$(head -c 12 "$tmp/got")" 'HTTP/1.1 400'

check 'where no rule matches, the site answers' "$(get "$url/n-1" | grep -o 'href="[^"]*"' | tr -d '"' | tr '\n' ' ')" 'href=/n-1-0 href=/n-1-1 href=/ '
check 'the tree ends at its depth' "$(get -o "$tmp/got" -w '%{http_code} ' "$url/n-1-1" "$url/n-1-1-0" -o "$tmp/got" "$url/n-2" -o "$tmp/got")" '200 404 404 '
check 'log: method, path, host, status' "$(grep ' /valid ' "$tmp/log" | head -1 | cut -d' ' -f1-4)" "GET /valid 127.0.0.1:$port 304"
check 'log: microseconds since 1970' "$(tail -1 "$tmp/log" | grep -c ' [0-9]\{16\}$')" 1
get "$url/__reset" > "$tmp/got"
get "$url/" "$url/n-0" "$url/n-0" "$url/none" > "$tmp/got"
get "$url/__stats" > "$tmp/got"
check 'stats: requests, pages, by path' "$(sed -E 's/"bytes".*"by_path"/"by_path"/' "$tmp/got")" \
  '{"requests":4,"pages":3,"distinct":2,"not_modified":0,"other":1,"by_path":{"/":1,"/n-0":2,"/none":1}}'
finish
check 'SIGTERM: ends with 0' "$rc" 0

start --site linked --pages 60
linked=$(get "$url/sitemap.xml" | grep -c '<loc>')
check 'linked: as many pages as asked for' "$linked" 60
sum() { get "$url/sitemap.xml" | sed "s,http://127.0.0.1:[0-9]*,,g" | grep -o '/[^<]*\.html' | while read -r p; do get "$url$p"; done | cksum; }
sum > "$tmp/first" # a page that fails at first makes this one differ
sum > "$tmp/first"
get "$url/__reset" > "$tmp/got"
check 'linked: one page fails at first' "$(for _ in 1 2; do get -o "$tmp/got" -w '%{http_code} ' "$url/gear/tide-tables.html"; done)" '500 200 '
check 'linked: a number that no double holds' "$(get "$url/api/water-levels.json" | grep -c '"station":9007199254740993,')" 1
check 'linked: windows-1252' "$(get -w '%{content_type}' "$url/guides/espanol.html" | iconv -f windows-1252 -t utf-8 | grep -c 'niño.*€\|45 €\|charset=windows-1252')" 2
finish
start --site linked --pages 60
sum > "$tmp/got"
sum > "$tmp/got"
check 'linked: the same bytes every time' "$(cat "$tmp/got")" "$(cat "$tmp/first")"
finish

mkfifo "$tmp/in"
"$fixture" --site graph --nodes 9 --stdin-bound < "$tmp/in" > "$tmp/stdout" &
server=$!
exec 4> "$tmp/in"
for _ in $(seq 200); do [ -s "$tmp/stdout" ] && break; sleep 0.02; done
url=http://127.0.0.1:$(cat "$tmp/stdout")
check 'graph: children, and an ETag' "$(get "$url/n/0.html" | grep -c '>c[1-8]<'; get -o "$tmp/got" -w '%{http_code}' \
  -H "If-None-Match: $(get -D - -o "$tmp/got" "$url/" | tr -d '\r' | sed -n 's/^ETag: //p')" "$url/")" '8
304'
exec 4>&-
wait "$server"
check 'stdin-bound: ends with its stdin' "$?" 0
server=

printf 'on /x\n  statos 200\n' > "$tmp/bad"
check 'a mistake in a script is named by its line' "$("$fixture" --script "$tmp/bad" 2>&1; echo "$?")" "fixture: $tmp/bad:2: no such word, or it takes nothing behind it: statos
2"
check 'no other address than loopback' "$("$fixture" --site tree --address 0.0.0.0 2>&1 | grep -c 'loopback addresses only')" 1
echo "1..$count"
[ "$failures" = 0 ]
