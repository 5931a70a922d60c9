# shellcheck shell=bash
# lib.sh - what the system tests in shell share: a folder of its own, an environment that nobody else's settings reach,
# TAP. To be sourced first, from bash. Sets tmp; whoever starts a server puts its process id into server, so that it ends
# with the test; tell: files whose beginnings are told when a check fails; leave:
# what is removed at the end.
set -u
umask 022
tmp=$(mktemp -d)
tmp=$(cd "$tmp" && pwd -P)
server=
tell=("$tmp/err" "$tmp/stderr")
leave=("$tmp")
count=0 failures=0
mkdir "$tmp/home"
export HOME=$tmp/home XDG_CACHE_HOME=$tmp/cache NO_COLOR=1
unset TROTLINE_CONFIG TROTLINE_LAKE TROTLINE_CATALOG TROTLINE_PLUGINS XDG_CONFIG_HOME
trap at_end EXIT

at_end() {
  [ -z "$server" ] || kill "$server" 2> /dev/null
  chmod -R u+w "$tmp"
  rm -rf "${leave[@]}"
}
check() { # check NAME GOT WANTED
  local file
  count=$((count + 1))
  if [ "$2" = "$3" ]; then
    echo "ok $count - $1"
    return
  fi
  failures=$((failures + 1))
  echo "not ok $count - $1"
  printf '# got:    %.500q\n# wanted: %.500q\n' "$2" "$3"
  for file in "${tell[@]}"; do
    [ ! -s "$file" ] || sed 's/^/# /' "$file" | head -n 20
  done
}
