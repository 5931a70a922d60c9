#!/bin/bash
# setup-site.sh DIR [PORT]
# Lay out a real, cross-linked static HTML site under DIR/site (from Debian
# documentation packages), write an nginx configuration that lives entirely
# under DIR, start nginx on 127.0.0.1:PORT and print the port as the last line.
#
#   SITE=docs   (default) Python 3.11 + PostgreSQL 15 + Git + Boost docs
#   SITE=jdk    the OpenJDK 17 API (about 10,000 dense pages)
#   SITE=all    both
#   NO_APT=1    do not install anything
#   WORKERS=1   nginx worker processes
#
# Stop it with:  kill "$(cat DIR/nginx/nginx.pid)"
# Running it again on the same DIR reuses the site and restarts its own nginx.
set -euo pipefail

DIR=${1:?usage: setup-site.sh DIR [PORT]}
PORT=${2:-0}
SITE=${SITE:-docs}
WORKERS=${WORKERS:-1}
mkdir -p "$DIR"; DIR=$(cd "$DIR" && pwd)

case $SITE in
  docs) PKGS="python3.11-doc postgresql-doc-15 git-doc libboost1.74-doc" ;;
  jdk)  PKGS="openjdk-17-doc" ;;
  all)  PKGS="python3.11-doc postgresql-doc-15 git-doc libboost1.74-doc openjdk-17-doc" ;;
  *) echo "unknown SITE=$SITE" >&2; exit 2 ;;
esac
TOOLS="nginx-light wget2 python3-scrapy curl time rsync"

if [ -z "${NO_APT:-}" ]; then
  missing=
  for p in $TOOLS $PKGS; do
    if [ "$p" = nginx-light ] && command -v nginx >/dev/null; then continue; fi
    dpkg-query -W -f='${Status}\n' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
  done
  if [ -n "$missing" ]; then
    apt-get -qq -o DPkg::Lock::Timeout=600 update >&2
    # policy-rc.d: do not let the distribution's own nginx service start on port 80
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -y --no-install-recommends \
      -o DPkg::Lock::Timeout=600 install $missing >&2
  fi
fi

S=$DIR/site
if [ ! -f "$DIR/site.ok" ] || [ "$(cat "$DIR/site.ok")" != "$SITE" ]; then
  rm -rf "$S" "$DIR/site.ok"; mkdir -p "$S"
  put() { # put SRC NAME : copy, following symlinks, unpacking *.html.gz
    [ -d "$1" ] || { echo "missing $1" >&2; exit 1; }
    mkdir -p "$S/$2"
    rsync -aL --ignore-errors "$1/" "$S/$2/" 2>/dev/null || true
    find "$S/$2" -name '*.html.gz' -exec gzip -df {} + 2>/dev/null || true
  }
  entries=
  if [ "$SITE" != jdk ]; then
    put /usr/share/doc/python3.11/html python
    put /usr/share/doc/postgresql-doc-15/html postgresql
    put /usr/share/doc/git-doc git
    put /usr/share/doc/libboost1.74-doc/ boost
    entries="python/index.html postgresql/index.html git/git.html boost/doc/html/index.html"
  fi
  if [ "$SITE" != docs ]; then
    put /usr/share/doc/openjdk-17-jre-headless/api jdk
    entries="$entries jdk/index.html jdk/allclasses-index.html jdk/allpackages-index.html"
  fi
  chmod -R u+rwX,go+rX "$S"
  {
    echo '<!DOCTYPE html><html><head><meta charset="utf-8"><title>bench site</title></head><body><ul>'
    for e in $entries; do
      if [ -f "$S/$e" ]; then echo "<li><a href=\"$e\">$e</a></li>"; fi
    done
    # One contents page per part, so that pages without an inbound link
    # are reachable too and every crawler has the same target set.
    for d in "$S"/*/; do n=$(basename "$d"); echo "<li><a href=\"$n-contents.html\">$n</a></li>"; done
    echo '</ul></body></html>'
  } > "$S/index.html"
  for d in "$S"/*/; do
    n=$(basename "$d")
    { echo "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>$n</title></head><body><ol>"
      (cd "$S" && find "$n" -type f \( -name '*.html' -o -name '*.htm' \) | LC_ALL=C sort |
        sed 's/&/\&amp;/g; s/"/%22/g; s/ /%20/g; s/#/%23/g; s/.*/<li><a href="&">&<\/a><\/li>/')
      echo '</ol></body></html>'; } > "$S/$n-contents.html"
  done
  echo "$SITE" > "$DIR/site.ok"
fi
(cd "$S" && find . -type f \( -name '*.html' -o -name '*.htm' \) | LC_ALL=C sort |
  sed 's,^\.,,; s/ /%20/g; s/#/%23/g') > "$DIR/paths.txt"

if [ "$PORT" = 0 ]; then
  PORT=$(python3 -c 'import socket;s=socket.socket();s.bind(("127.0.0.1",0));print(s.getsockname()[1])')
fi
N=$DIR/nginx
mkdir -p "$N/tmp"
if [ -s "$N/nginx.pid" ]; then
  old=$(cat "$N/nginx.pid")
  if grep -qs nginx "/proc/$old/comm"; then
    kill "$old"; for _ in $(seq 50); do [ -d "/proc/$old" ] || break; sleep 0.1; done
  fi
fi
cat > "$N/nginx.conf" <<CONF
worker_processes $WORKERS;
pid $N/nginx.pid;
error_log $N/error.log warn;
daemon on;
events { worker_connections 4096; }
http {
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  # one line per request: status, body bytes, content type, URI
  log_format bench '\$status \$body_bytes_sent \$sent_http_content_type \$request_uri';
  access_log $N/access.log bench buffer=256k flush=1s;
  sendfile on; tcp_nopush on; tcp_nodelay on;
  keepalive_timeout 65; keepalive_requests 1000000;
  open_file_cache max=20000 inactive=600s;
  client_body_temp_path $N/tmp/body; proxy_temp_path $N/tmp/proxy;
  fastcgi_temp_path $N/tmp/fcgi; uwsgi_temp_path $N/tmp/uwsgi; scgi_temp_path $N/tmp/scgi;
  server {
    listen 127.0.0.1:$PORT backlog=4096;
    server_name localhost;
    root $S;
    index index.html;
    etag on;
  }
}
CONF
: > "$N/access.log"
nginx -c "$N/nginx.conf" -p "$N" -e "$N/error.log"
for _ in $(seq 50); do curl -fsS -o /dev/null "http://127.0.0.1:$PORT/" 2>/dev/null && break; sleep 0.1; done
sed "s,^,http://127.0.0.1:$PORT," "$DIR/paths.txt" > "$DIR/urls.txt"
echo "$PORT" > "$DIR/port"
echo "site $SITE: $(wc -l < "$DIR/paths.txt") HTML files, $(du -sh "$S" | cut -f1)" >&2
echo "$PORT"
