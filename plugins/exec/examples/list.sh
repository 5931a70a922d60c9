#!/bin/sh
# Reads a list that comes in pages: {"items": [{"url": ...}, ...], "next": URL or null}, URLs absolute. Keeps every page,
# and has each item fetched by the http collector. Its input is {"url": the first page}. See trotline-exec(7).
# There is no JSON in sh: sed takes what it needs out of a line, in which the page's own quotes stand as \".
set -eu

member() { # member NAME: its value in the line on stdin, a string or a number
  sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p'
}

read -r line
url=$(printf '%s\n' "$line" | member url)
while [ -n "$url" ]; do
  printf '{"op":"fetch","class":"api","url":"%s"}\n' "$url"
  read -r line
  status=$(printf '%s\n' "$line" | member status)
  if [ "$status" != 200 ]; then
    printf '{"op":"done","status":"partial","error":"%s: %s"}\n' "$url" "$status"
    exit
  fi
  printf '{"op":"put","dataset":"pages","response":%s}\n' "$(printf '%s\n' "$line" | member response)"
  page=$(printf '%s\n' "$line" | sed 's/.*"text":"//; s/\\"/"/g')
  printf '%s\n' "$page" | sed 's/{"url":/\
&/g' | sed -n 's/^{"url":"\([^"]*\)".*/{"op":"spawn","collector":"http","args":{"url":"\1","follow":false}}/p'
  url=$(printf '%s\n' "$page" | member next)
  [ "$url" != null ] || url=
done
printf '{"op":"done","status":"success"}\n'
