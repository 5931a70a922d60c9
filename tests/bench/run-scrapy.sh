#!/bin/bash
# run-scrapy.sh DIR - full-site crawl by Scrapy, bodies stored (see lib.sh).
# CONC=32 concurrent requests.  JOBDIR=1 keeps the frontier on disk (resume).
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"; bench_init "$@"
CONC=${CONC:-32}
once() {
  rm -rf "$WORK/scrapy" "$WORK/scrapy-job"; mkdir -p "$WORK/scrapy"
  (cd "$WORK/scrapy" && for i in $(seq 0 255); do printf '%02x\n' "$i"; done | xargs mkdir)
  export OUT=$WORK/scrapy PYTHONDONTWRITEBYTECODE=1
  job=(); if [ -n "${JOBDIR:-}" ]; then job=(-s "JOBDIR=$WORK/scrapy-job"); fi
  measure scrapy scrapy runspider "$HERE/scrapy_spider.py" -a "start=$BASE" \
    -s ROBOTSTXT_OBEY=False -s DEPTH_LIMIT=0 -s CONCURRENT_REQUESTS="$CONC" \
    -s CONCURRENT_REQUESTS_PER_DOMAIN="$CONC" -s DOWNLOAD_DELAY=0 -s AUTOTHROTTLE_ENABLED=False \
    -s COOKIES_ENABLED=False -s TELNETCONSOLE_ENABLED=False -s LOG_LEVEL=INFO \
    -s URLLENGTH_LIMIT=4096 -s DUPEFILTER_DEBUG=False "${job[@]}"
  [ -n "${KEEP:-}" ] || rm -rf "$WORK/scrapy" "$WORK/scrapy-job"
}
repeat "scrapy-c$CONC${JOBDIR:+-jobdir}" once
