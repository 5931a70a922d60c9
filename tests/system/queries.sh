#!/bin/bash
# queries.sh - the questions of docs/howto/queries.md (TAP): each query is taken from the text as a reader would paste it, asked of a
# crawl of the fixture's site, and its answer compared with what the site itself says to curl.
# TROTLINE, FIXTURE: the programs; TROTLINE_TEST_PLUGINS: the folder with http.so; TROTLINE_SOURCE: the source tree.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
trotline=${TROTLINE:?the trotline binary}
fixture=${FIXTURE:?the fixture server}
text=${TROTLINE_SOURCE:?the source tree}/docs/howto/queries.md
mkdir "$tmp/plugins"
cp "${TROTLINE_TEST_PLUGINS:?the folder with http.so}/http.so" "$tmp/plugins/" || exit 99
cd "$tmp" || exit 99

serve() { # serve EDITION [PORT]
  rm -f port
  "$fixture" --port-file port --port "${2:-0}" --site linked --pages 48 --edition "$1" > /dev/null 2> stderr < /dev/null &
  server=$!
  for _ in $(seq 200); do [ -s port ] && break; sleep 0.02; done
  port=$(cat port)
  site=http://127.0.0.1:$port
  curl -s -o /dev/null "$site/gear/tide-tables.html" # answers 500 the first time, whoever asks
}
unserve() {
  kill "$server"
  wait "$server"
  server=
}
query() { # query NAME: the text of the block behind <!-- query: NAME -->
  awk -v mark="<!-- query: $1 -->" '$0 == mark { found = 1; next } found && $0 == "```sql" { inside = 1; next }
    inside && $0 == "```" { exit } inside' "$text"
}
ask() { # ask NAME [CATALOG [BEFORE]]: rows, columns separated by |
  sqlite3 "${2:-catalog.db}" "${3:-}$(query "$1")" 2>> stderr
}
rows() { wc -l | tr -d ' '; }
links_to() { # links_to FROM TO: does the page FROM link to TO? Both below $site
  local path=${2#"$site/"}
  curl -sL "$1" | grep -qF -e "href=\"/$path\"" -e "href=\"$path\"" && echo yes
}
crawl() { # crawl OPTIONS...: sets root
  "$trotline" run kayaking.yml -o json "$@" > stdout 2> stderr < /dev/null || sed 's/^/# /' stderr
  root=$(sqlite3 catalog.db 'select max(root_id) from crawls')
}

serve 0
printf 'plugins: [plugins]\nfetch: {delay: 0s}\n' > trotline.yml
printf 'crawl: kayaking\nleash: {depth: 3}\nlines:\n  - {collector: http, args: {url: "%s/"}}\n' "$site" > kayaking.yml
crawl
first=$root

# ---- the texts themselves
names=$(sed -n 's/^<!-- query: \(.*\) -->$/\1/p' "$text")
check 'the text has the five questions' "$(echo "$names" | tr '\n' ' ')" 'failed-yesterday tree origin leashed leashed-list changed '
check 'as many queries as marks, and nothing runs off its block' "$(grep -c '^```sql$' "$text")" "$(echo "$names" | rows)"
for name in $names; do
  check "$name can be pasted between double quotes" "$(query "$name" | grep -c '["$`\\!]')" 0
  sqlite3 -readonly -box catalog.db "$(query "$name")" > box 2>&1
  check "$name is good SQL for a catalog that is only read" "$?" 0
done

# ---- what failed yesterday
shift_to() { # a time of day of the catalog's failed runs
  echo "update run set finished_us = strftime('%s', 'now', 'start of day', $1) * 1000000 where finished_us > 0;"
}
cp catalog.db copy.db
check 'a failure of yesterday is shown, with its reason' \
  "$(ask failed-yesterday copy.db "$(shift_to "'-12 hours'")" | cut -d'|' -f2-4 | sort)" \
  "http|$site/gear/recall-2019.html|http_404: $site/gear/recall-2019.html answered 404
http|$site/trails/lost-river.html|http_404: $site/trails/lost-river.html answered 404"
check 'and those links are dead indeed' \
  "$(curl -s -o /dev/null -w '%{http_code} ' "$site/gear/recall-2019.html" "$site/trails/lost-river.html" -o /dev/null)" '404 404 '
check 'one of today is not' "$(ask failed-yesterday copy.db "$(shift_to "'+1 second'")")" ''
check 'nor one of the day before' "$(ask failed-yesterday copy.db "$(shift_to "'-24 hours', '-1 second'")")" ''

# ---- the tree
ask tree > tree.txt
# what curl can reach by itself: pages, the redirect, three files, two dead links, two forbidden pages; and the root
curl -s "$site/sitemap.xml" | grep -o '<loc>[^<]*' | sed 's/<loc>//' | sort > pages
check 'the tree has the site: every page, and what else is linked' "$(rows < tree.txt)" "$(($(rows < pages) + 1 + 3 + 2 + 2 + 1))"
check 'each page stands in it once' \
  "$(sed -n 's/^.* http \(.*\)|success$/\1/p' tree.txt | grep -Fxf pages | sort)" "$(cat pages)"
check 'its first line is the crawl' "$(head -n 1 tree.txt)" 'kayaking|success'
check 'its second the front page' "$(sed -n 2p tree.txt)" "└── http $site/|success"
declare -a above=()
lies=
while IFS='|' read -r what _; do
  branch=${what%%http *}
  level=$((${#branch} / 4))
  url=${what#*http }
  above[level]=$url
  [ "$level" -lt 2 ] || [ "$(links_to "${above[level - 1]}" "$url")" = yes ] || lies+="$url under ${above[level - 1]} "
done < <(tail -n +2 tree.txt)
check 'whoever stands under a page is linked from it' "$lies" ''

# ---- where a document comes from
read -r result run < <(sqlite3 -separator ' ' catalog.db "select d.result_id, d.run_id from documents d join runs r on r.run_id = d.run_id
  where r.depth = 3 and r.status = 'success' order by r.url limit 1")
file=$(find lake -name "$result.json")
url=$(grep -o '"requested_url":"[^"]*' "$file" | head -n 1 | cut -d'"' -f4)
way=$(sqlite3 catalog.db "$(query origin | sed "s/RESULT_ID/$result/")")
check 'the way has the root, the line, and two more steps' "$(echo "$way" | rows)" 4
check 'it begins with the orchestrator' "$(echo "$way" | head -n 1 | cut -d'|' -f1,2,4)" "0|orchestrator|$first"
check 'and ends with the document' "$(echo "$way" | tail -n 1 | cut -d'|' -f1,2,4)" "3|$url|$run"
mapfile -t step < <(echo "$way" | cut -d'|' -f2)
check 'the line is the front page' "${step[1]}" "$site/"
check 'which links to the next page' "$(links_to "${step[1]}" "${step[2]}")" yes
check 'which links to the document' "$(links_to "${step[2]}" "${step[3]}")" yes

# ---- what the leash stopped
ask leashed > leashed.txt
check 'reasons add up to what the crawl says' "$(awk -F'|' '{ n += $2 } END { print n }' leashed.txt)" \
  "$(sqlite3 catalog.db "select leashed from crawls where root_id = '$first'")"
check 'robots.txt forbids two pages' "$(awk -F'|' '$1 == "robots" { print $2 }' leashed.txt)" 2
# other hosts: what pages that may have children link to outside
sqlite3 catalog.db "select url from runs where depth in (1, 2) and status = 'success' and url is not null" | xargs curl -s |
  grep -o 'href="https\?://[^"#]*' | grep -v "$site" | sort -u > outside
check 'every link to another host is counted once' "$(awk -F'|' '$1 == "hosts" { print $2 }' leashed.txt)" "$(rows < outside)"
ask leashed-list > list
check 'the list has them all' "$(rows < list)" "$(awk -F'|' '{ n += $2 } END { print n }' leashed.txt)"
check 'the forbidden pages are those of robots.txt' "$(grep -c "^robots|$site/private/" list)" 2
asked=$(awk -F'|' '$1 == "hosts" { print $3 " " $2; exit }' list)
check 'whoever is said to have asked has the link' "$(curl -s "${asked% *}" | grep -cF "\"${asked#* }")" 1

# ---- what changed since last week
mkdir old new
fetch() { # fetch FOLDER: every page of the first crawl, by curl
  (cd "$1" && sqlite3 ../catalog.db "select url from runs where root_id = '$first' and status = 'success' and url is not null" |
    while read -r url; do curl -sL -o "$(echo "$url" | tr / _)" "$url"; done)
}
ago() { # ago DAYS: the first crawl was so many days ago
  echo "update crawl set started_us = started_us - $1 * 86400000000 where root in (select key from run where run_id = '$first');"
}
fetch old
unserve
serve 1 "$port"
fetch new
crawl
for name in old/*; do cmp -s "$name" "new/${name#old/}" || echo "changed|${name#old/}"; done | tr _ / | sort > edited
check 'the new edition differs somewhere' "$([ -s edited ] && echo yes)" yes
cp catalog.db copy.db
check 'pages that curl sees changed are those that are told' "$(ask changed copy.db "$(ago 8)" | sort)" "$(cat edited)"
cp catalog.db copy.db
check 'a crawl of six days ago is not last week' "$(ask changed copy.db "$(ago 6)")" ''
crawl --set leash.depth=2
cp catalog.db copy.db
check 'what is not fetched any more is removed' \
  "$(ask changed copy.db "$(ago 8)" | grep '^removed' | cut -d'|' -f2)" \
  "$(sqlite3 catalog.db "select url from runs where root_id = '$first' and depth = 3 and status = 'success' order by url")"
unserve

echo "1..$count"
[ "$failures" = 0 ]
