#!/bin/bash
# interleave.sh DIR ROUNDS CMD [CMD...] - fair comparison on a noisy machine.
# Each CMD is a shell command that prints a 'pages ...' line followed by an
# 'extra ...' line (any run-*.sh, or your own program wrapped with lib.sh).
# They are run in turn, ROUNDS times, and the medians are printed with their
# ratio to the first CMD:   compare LABEL pages_per_s R x RATIO cpu_per_1k C x RATIO peak_mb M
# Example: ./interleave.sh DIR 5 "THREADS=10 ./run-wget2.sh DIR" "./run-trotline.sh DIR" (DIR absolute)
set -uo pipefail
DIR=${1:?}; ROUNDS=${2:?}; shift 2
T=$(mktemp "$DIR/interleave.XXXXXX")
cd "$(dirname "$0")" || exit 1
for ((r = 1; r <= ROUNDS; r++)); do
  i=0
  for c in "$@"; do
    i=$((i + 1))
    RUNS=1 bash -c "$c" | awk -v i="$i" '/^pages/{p=$0} /^extra/{print i, p, $0}' | tee -a "$T"
  done
done
awk -v n="$#" 'function med(s, a,k,i,j,t){k=split(s,a," ");for(i=2;i<=k;i++){t=a[i]+0;for(j=i-1;j>0&&a[j]+0>t;j--)a[j+1]=a[j];a[j+1]=t}
    return k%2?a[(k+1)/2]:(a[k/2]+a[k/2+1])/2}
  {i=$1; r[i]=r[i]" "$7; m[i]=m[i]" "$9; for(f=10;f<NF;f++){if($f=="cpu_per_1k")c[i]=c[i]" "$(f+1); if($f=="label")l[i]=$(f+1)}}
  END{r1=med(r[1]); c1=med(c[1]); for(i=1;i<=n;i++) printf "compare %d %s pages_per_s %.1f x %.2f cpu_per_1k %.3f x %.2f peak_mb %.1f\n", \
    i,l[i],med(r[i]),r1?med(r[i])/r1:0,med(c[i]),c1?med(c[i])/c1:0,med(m[i])}' "$T"
rm -f "$T"
