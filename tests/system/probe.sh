#!/bin/bash
# probe.sh - trotline probe and trotline url (TAP): each parser's answer, refusals, what becomes of a broken line, one
# answer at a time. TROTLINE: the binary.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
trotline=${TROTLINE:?the trotline binary}
cd "$tmp" || exit 99
tell=(err)

probe() { # probe PARSER LINE...: answers of all lines
  local parser=$1
  shift
  printf '%s\n' "$@" | timeout 60 "$trotline" probe "$parser" 2> err
  echo "exit $?"
}
gives() { # gives NAME PARSER LINE ANSWER
  check "$1" "$(probe "$2" "$3")" "$4"$'\n''exit 0'
}
refuses() { # refuses NAME PARSER LINE TEXT
  check "$1" "$(probe "$2" "$3")" '{"error":"'"$4"'"}'$'\n''exit 0'
}
b64() { printf '%b' "$1" | base64 -w0; }

# ---- each parser
gives 'url: against a base' url '{"input":"../b?c#d","base":"https://example.org/a/x"}' '{"href":"https://example.org/b?c#d"}'
gives 'url: U+0000 is a character of it' url '{"input":"https://example.org/a\u0000b"}' '{"href":"https://example.org/a%00b"}'
refuses 'url: a relative one without a base' url '{"input":"b"}' 'no URL'
refuses 'url: a base that is none' url '{"input":"b","base":"c"}' '\"base\" is no absolute URL'

gives 'canon: text and key' canon '{"url":"HTTPS://Example.COM:443/%7Ea?#f"}' \
  '{"canonical":"https://example.com/~a","key":"'"$("$trotline" url key https://example.com/~a)"'"}'
refuses 'canon: another scheme' canon '{"url":"ftp://example.org/"}' 'no http or https URL'

robots=$(b64 'user-agent: *\ndisallow: /a\ncrawl-delay: 2.5\n\nuser-agent: b\ndisallow: /c\nsitemap: https://example.org/s.xml\n')
gives 'robots: the group of all, its delay' robots '{"robots_b64":"'"$robots"'","agent":"x","url":"https://example.org/a/b"}' \
  '{"allowed":false,"crawl_delay":2.5,"sitemaps":["https://example.org/s.xml"]}'
gives 'robots: the agent'\''s own group' robots '{"robots_b64":"'"$robots"'","agent":"b/1.0","url":"https://example.org/a/b"}' \
  '{"allowed":true,"crawl_delay":null,"sitemaps":["https://example.org/s.xml"]}'

page=$(b64 '<title> A &amp; B </title><base href="/d/"><link rel=canonical href=c><a href="x#f" rel="Next NoFollow">one <b>two</b></a><a href="mailto:a@example.org">m</a><a href="http://[">no</a><img src=i.png alt=pic>')
gives 'links: resolved against the base, every scheme, fragments kept' links '{"url":"https://example.org/p","html_b64":"'"$page"'"}' \
  '{"links":[{"url":"https://example.org/d/c","rel":"canonical","text":"","source":"link"},{"url":"https://example.org/d/x#f","rel":"next nofollow","text":"one two","source":"a"},{"url":"mailto:a@example.org","rel":"","text":"m","source":"a"},{"url":"https://example.org/d/i.png","rel":"","text":"pic","source":"img"}],"canonical":"https://example.org/d/c","base":"https://example.org/d/","title":"A & B"}'
gives 'links: text in the page'\''s charset' links \
  '{"url":"https://example.org/p","html_b64":"'"$(b64 '<a href=a>\xcf\xf0\xe8\xe2\xe5\xf2</a>')"'","content_type":"text/html; charset=windows-1251"}' \
  '{"links":[{"url":"https://example.org/a","rel":"","text":"Привет","source":"a"}],"canonical":null,"base":"https://example.org/p","title":null}'
refuses 'links: without a URL of its own' links '{"url":"p","html_b64":""}' '\"url\" is no absolute URL'

gives 'charset: what the header says' charset '{"body_b64":"'"$(b64 'a')"'","content_type":"text/plain; charset=Latin1"}' \
  '{"charset":"windows-1252","source":"header"}'
gives 'charset: nothing said, but valid' charset '{"body_b64":"'"$(b64 '\xc3\xa9')"'"}' '{"charset":"utf-8","source":"guess"}'
gives 'charset: nothing said, and not valid' charset '{"body_b64":"'"$(b64 '\xe9')"'"}' '{"charset":"windows-1252","source":"default"}'

feed=$(b64 '<rss version="2.0"><channel><title>A &amp;amp; B</title><item><guid isPermaLink="false">g1</guid><link>p/1</link><title>One</title><pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate><description>&lt;b>x&lt;/b></description><category domain="d">c</category><enclosure url="/e.mp3" type="audio/mpeg" length="7"/></item></channel></rss>')
gives 'feed: titles as text, links resolved, ids as found' feed '{"url":"https://example.org/f/","body_b64":"'"$feed"'"}' \
  '{"format":"rss2.0","charset":"utf-8","title":"A & B","link":null,"description":null,"language":null,"updated":null,"updated_raw":null,"updated_quality":null,"authors":[],"entries":[{"id":"g1","id_is_permalink":false,"link":"https://example.org/f/p/1","links":["https://example.org/f/p/1"],"title":"One","published":"2026-01-02T03:04:05Z","published_raw":"Fri, 02 Jan 2026 03:04:05 GMT","published_quality":"exact","updated":null,"updated_raw":null,"updated_quality":null,"summary":"<b>x</b>","summary_type":"text/html","content":null,"content_type":null,"authors":[],"categories":[{"term":"c","scheme":"d","label":null}],"enclosures":[{"url":"https://example.org/e.mp3","type":"audio/mpeg","length":7}],"comments":null,"language":null,"base":null,"identity":"guid:g1","identity_rung":"guid","doubled":false}],"alternates":[],"warnings":[]}'
check 'feed: a page is none' "$(probe feed '{"url":"https://example.org/","body_b64":"'"$(b64 '<html></html>')"'"}' | cut -c1-24)" \
  '{"error":"this is an HTM'$'\n''exit 0'

gives 'sitemap: gzip by its first bytes' sitemap \
  '{"url":"https://example.org/s","body_b64":"'"$(printf 'https://example.org/a\nhttps://example.org/b\n' | gzip -n | base64 -w0)"'"}' \
  '{"urls":["https://example.org/a","https://example.org/b"],"sitemaps":[]}'
gives 'sitemap: an index' sitemap \
  '{"url":"https://example.org/s","body_b64":"'"$(b64 '<sitemapindex><sitemap><loc>https://example.org/2.xml</loc></sitemap></sitemapindex>')"'"}' \
  '{"urls":[],"sitemaps":["https://example.org/2.xml"]}'

gives 'date: with its zone' date '{"text":"Fri, 02 Jan 2026 03:04:05 +0200"}' '{"utc":"2026-01-02T01:04:05Z","quality":"exact"}'
gives 'date: without one' date '{"text":"2026-01-02 03:04:05"}' '{"utc":"2026-01-02T03:04:05Z","quality":"zone-assumed"}'
refuses 'date: none' date '{"text":"soon"}' 'no date'

gives 'link-header: rel as written, what else is said' link-header \
  '{"value":"<?p=2>; REL=\"Next last\"; title=\"a, b\", <https://example.org/x>","base":"https://example.org/l"}' \
  '{"links":[{"url":"https://example.org/l?p=2","rel":"Next last","params":{"title":"a, b"}},{"url":"https://example.org/x","rel":null,"params":{}}]}'
gives 'link-header: no link in it' link-header '{"value":"x; rel=next"}' '{"links":[]}'

gives 'retry-after: a date against the clock' retry-after '{"value":"Thu, 15 Jan 2026 12:02:00 GMT","now":"2026-01-15T12:00:00Z"}' '{"seconds":120}'
refuses 'retry-after: negative' retry-after '{"value":"-5","now":"2026-01-15T12:00:00Z"}' 'neither seconds nor an HTTP date'

gives 'json: valid' json '{"text_b64":"'"$(b64 '[1e400]')"'"}' '{"valid":true}'
gives 'json: where it is not' json '{"text_b64":"'"$(b64 '[1,]')"'"}' '{"valid":false,"offset":3}'

gives 'yaml: as the configuration reader sees it' yaml '{"text_b64":"'"$(b64 'a: no\nb: [1.10, "2", ~]\n')"'"}' \
  '{"json":{"a":"no","b":[1.10,"2",null]}}'
check 'yaml: refused, with its place' "$(probe yaml '{"text_b64":"'"$(b64 'a: 1\nb: &x 2\n')"'"}' | head -n 1 | cut -c1-15)" '{"error":"2:4: '

# ---- what is wrong with a line
check 'one answer for each line, whatever stands in it; the last needs no newline' "$(
  printf '%s\n' '' 'null' '[]' '{"text":1}' '{}' '{"text":"x"' "$(printf '{"text":"\xff"}')" '{"text":null}' > in
  printf '{"text":"2026-01-02"}' >> in
  "$trotline" probe date < in 2> err
  echo "exit $?"
)" '{"error":"the line is no JSON: byte 1"}
{"error":"the line is no JSON object"}
{"error":"the line is no JSON object"}
{"error":"\"text\" must be a text"}
{"error":"\"text\" is missing"}
{"error":"the line is no JSON: byte 12"}
{"error":"the line is no JSON: byte 10"}
{"error":"\"text\" is missing"}
{"utc":"2026-01-02T00:00:00Z","quality":"zone-assumed"}
exit 0'
refuses 'a member that is no base64' json '{"text_b64":"?"}' '\"text_b64\" is no base64'
check 'nothing in, nothing out' "$("$trotline" probe url < /dev/null; echo "exit $?")" 'exit 0'
check 'a line above 64 MiB is refused, the next one answered' "$({
  printf '{"text":"'
  head -c $((64 << 20)) /dev/zero | tr '\0' a
  printf '"}\n{"text":"2026-01-02T00:00:00Z"}\n'
} | timeout 60 "$trotline" probe date 2> err)" '{"error":"the line is longer than 64 MiB"}
{"utc":"2026-01-02T00:00:00Z","quality":"exact"}'
check 'a line just below is read' "$({
  printf '{"text_b64":"'
  head -c $(((64 << 20) - 64)) /dev/zero | tr '\0' A
  printf '"}\n'
} | timeout 60 "$trotline" probe json 2> err)" '{"valid":false,"offset":0}'

# ---- an answer before the next question
coproc ASK { exec timeout 60 "$trotline" probe url 2> err; }
asked=$ASK_PID
answers=
for n in 1 2 3; do
  echo '{"input":"https://example.org/'$n'"}' >&"${ASK[1]}"
  IFS= read -r -t 30 answer <&"${ASK[0]}" || answer=none
  answers+=" $answer"
done
check 'each answer comes before the next line is given' "$answers" \
  ' {"href":"https://example.org/1"} {"href":"https://example.org/2"} {"href":"https://example.org/3"}'
eval "exec ${ASK[1]}>&-"
wait "$asked"
check 'and the end of the input ends it' $? 0
echo '{}' | "$trotline" probe url > /dev/full 2> err
check 'an output that cannot be written ends with 9' "$? $(grep -c 'cannot write' err)" '9 1'

# ---- usage
usage() { # usage NAME CODE TEXT ARGUMENTS: nothing on stdout, one line on stderr that holds TEXT
  local name=$1 code=$2 text=$3 said=no
  shift 3
  "$trotline" "$@" > out 2> err < /dev/null
  local rc=$?
  grep -qF -- "$text" err && said=$text
  check "$name" "$rc $(wc -c < out) $(wc -l < err) $said" "$code 0 1 $text"
}
usage 'a parser that there is not' 2 'did you mean charset?' probe charsets
usage 'no parser' 2 'one parser is wanted' probe
usage 'two parsers' 2 'one parser is wanted' probe url canon
for parser in $("$trotline" probe --help | sed -n 's/^  \([a-z-]*\)  *{.*/\1/p'); do
  check "probe $parser is there" "$(echo '{}' | "$trotline" probe "$parser" 2>&1 | cut -c1-10)" '{"error":"'
done

# ---- trotline url key
check 'url key: of the canonical text' "$("$trotline" url key 'HTTP://EXAMPLE.com:80')" 6436259344882206403
check 'url key --rules scrape: of the cleaned text' \
  "$("$trotline" url key --rules scrape http://example.com; "$trotline" url key 'https://example.com/?utm_source=a' --rules scrape)" \
  $'6477185299308714514\n6452323252155173144'
usage 'url key: what cannot be fetched' 2 'ftp://example.com/ is no URL that has a key' url key ftp://example.com/
usage 'url key: nothing at all' 2 'no URL that has a key' url key ''
usage 'url key: rules that there are not' 2 'takes trotline or scrape' url key --rules go http://example.com/
usage 'url key: two of them' 2 'takes one URL' url key http://a.example/ http://b.example/
usage 'url: another verb' 2 "'frob' is nothing that it does" url frob http://example.com/
usage 'url: no verb' 2 'prints its key' url
check 'nothing was made' "$(find "$tmp/home" -mindepth 1 | wc -l)" 0

echo "1..$count"
[ "$failures" -eq 0 ]
