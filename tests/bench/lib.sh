# shellcheck shell=bash
# lib.sh - shared by the scripts that run one crawler each (source it).
#
# Every script:  run-X.sh DIR        DIR is what setup-site.sh was given
# Environment:   RUNS=3              repetitions (a 'median' line follows if > 1)
#                BASE=http://...     start URL (default: the site of DIR)
#                COUNTER=nginx|fixture  where truth comes from: nginx's access log
#                                    (default) or the fixture server's /__stats
#                WORK_DIR=...        where bodies go (default DIR/work); a tmpfs
#                                    takes the disk file system out of the figures
#                KEEP=1              keep the stored bodies of the last run
#                QUIET=30            before each run wait up to that many seconds
#                                    until the machine has been 75% idle for 2 s
#
# Each run prints exactly
#   pages N seconds S pages_per_s R peak_mb M
# and then a line that starts with 'extra': CPU of the client (user+system),
# CPU seconds per 1,000 pages, all requests, distinct pages, other statuses,
# MiB sent, server CPU, and 'others_cpu': CPU that neither client nor server
# used meanwhile (noise of the machine), plus the load average at the start.
# 'pages' are 200 answers of type text/html as the SERVER counted them, so a
# client that fetches a page twice shows pages > distinct.

bench_init() {
  DIR=${1:?usage: $0 DIR}; DIR=$(cd "$DIR" && pwd) || exit 1
  # shellcheck disable=SC2034
  HERE=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
  RUNS=${RUNS:-1}; COUNTER=${COUNTER:-nginx}
  BASE=${BASE:-http://127.0.0.1:$(cat "$DIR/port")/}
  ORIGIN=$(printf '%s' "$BASE" | sed -E 's,^(https?://[^/]+).*,\1,')
  WORK=${WORK_DIR:-$DIR/work}; mkdir -p "$WORK"
  TICK=$(getconf CLK_TCK)
  RESULTS=$(mktemp "$WORK/results.XXXXXX")
}

_quiet() { # wait (at most QUIET seconds) for a mostly idle machine
  local t=0 a b n; n=$(nproc)
  while [ "$t" -lt "${QUIET:-0}" ]; do
    a=$(awk '/^cpu /{print $5+$6; exit}' /proc/stat); sleep 2
    b=$(awk '/^cpu /{print $5+$6; exit}' /proc/stat); t=$((t + 2))
    [ $((b - a)) -ge $((n * TICK * 2 * 3 / 4)) ] && return 0
  done
}
_busy() { awk '/^cpu /{print $2+$3+$4+$7+$8+$9; exit}' /proc/stat; }   # ticks, all CPUs
_fixture_stats() { # pages distinct other-statuses MiB CPU-seconds, as the fixture server counts
  curl -fsS "$ORIGIN/__stats?brief" | tr -d '{}"' | tr ',' '\n' | awk -F: '{v[$1]=$2}
    END{printf "%d %d %d %.1f %.2f\n", v["pages"], v["distinct"], v["other"]+v["not_modified"], v["bytes"]/1048576, v["cpu_us"]/1e6}'
}
_nginx_ticks() {
  local m p t=0
  m=$(cat "$DIR/nginx/nginx.pid")
  # shellcheck disable=SC2013
  for p in $(cat /proc/"$m"/task/*/children); do
    t=$((t + $(sed 's/.*) //' "/proc/$p/stat" | awk '{print $12+$13}')))
  done
  echo "$t"
}

# measure LABEL CMD... : run CMD once, print its two lines.
measure() {
  local label=$1; shift
  local b0 b1 s0 s1 load pages distinct reqs other bytes scpu
  _quiet; load=$(cut -d' ' -f1 /proc/loadavg)
  if [ "$COUNTER" = nginx ]; then
    sleep 1.2; : > "$DIR/nginx/access.log"; s0=$(_nginx_ticks)
  else
    curl -fsS -o /dev/null "$ORIGIN/__reset"
    s0=$(_fixture_stats | cut -d' ' -f5)
  fi
  b0=$(_busy)
  env time -q -f '%e %U %S %M' -o "$WORK/time.txt" "$@" > "$WORK/$label.out" 2> "$WORK/$label.err"
  local rc=$?
  b1=$(_busy)
  if [ "$COUNTER" = nginx ]; then
    s1=$(_nginx_ticks); sleep 1.5
    scpu=$(awk -v a="$s0" -v b="$s1" -v t="$TICK" 'BEGIN{printf "%.2f",(b-a)/t}')
    read -r reqs pages distinct other bytes <<< "$(awk '
      {n++; b+=$2} $1==200 && $3 ~ /^text\/html/ {p++; s[$NF]=1} $1!=200{o++}
      END{d=0; for(k in s)d++; printf "%d %d %d %d %.1f", n,p,d,o,b/1048576}' "$DIR/nginx/access.log")"
  else
    read -r pages distinct other bytes s1 <<< "$(_fixture_stats)"
    reqs=$((pages + other))
    scpu=$(awk -v a="$s0" -v b="$s1" 'BEGIN{printf "%.2f",b-a}')
  fi
  awk -v pages="$pages" -v d="$distinct" -v reqs="$reqs" -v other="$other" -v mb="$bytes" -v scpu="$scpu" \
      -v b0="$b0" -v b1="$b1" -v tick="$TICK" -v load="$load" -v rc="$rc" -v label="$label" '
    NF==4 {e=$1; u=$2; s=$3; m=$4}
    END {
      cpu=u+s; oth=(b1-b0)/tick-cpu-scpu; if(oth<0)oth=0; if(e<=0)e=0.001
      printf "pages %d seconds %.2f pages_per_s %.1f peak_mb %.1f\n", pages,e,pages/e,m/1024
      printf "extra label %s rc %d cpu_s %.2f cpu_per_1k %.3f requests %d distinct %d other_status %d mib %.1f server_cpu %.2f others_cpu %.2f load %s\n", \
        label,rc,cpu,pages?cpu*1000/pages:0,reqs,d,other,mb,scpu,oth,load
    }' "$WORK/time.txt" | tee -a "$RESULTS"
}

# repeat LABEL FUNCTION : RUNS times; FUNCTION must call measure.
repeat() {
  local label=$1 i; shift
  : > "$RESULTS"
  for ((i = 1; i <= RUNS; i++)); do "$@"; done
  if [ "$RUNS" -gt 1 ]; then
    awk -v label="$label" 'function med(a,n,  i,j,t){for(i=2;i<=n;i++){t=a[i];for(j=i-1;j>0&&a[j]>t;j--)a[j+1]=a[j];a[j+1]=t}
        return n%2?a[(n+1)/2]:(a[n/2]+a[n/2+1])/2}
      $1=="pages"{n++; p[n]=$2; s[n]=$4; r[n]=$6; m[n]=$8}
      $1=="extra"{for(i=2;i<NF;i++) if($i=="cpu_per_1k") c[n]=$(i+1)}
      END{mc=c[1]; br=r[1]; for(i=2;i<=n;i++){if(c[i]<mc)mc=c[i]; if(r[i]>br)br=r[i]}
        printf "median label %s pages %d seconds %.2f pages_per_s %.1f peak_mb %.1f cpu_per_1k %.3f runs %d best_pages_per_s %.1f best_cpu_per_1k %.3f\n", \
        label,med(p,n),med(s,n),med(r,n),med(m,n),med(c,n),n,br,mc}' "$RESULTS"
  fi
}
