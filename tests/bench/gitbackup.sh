#!/bin/bash
# gitbackup.sh [REPOS] [ROUNDS] - backups of many small repositories over HTTP, beside a loop of git itself.
#
#   BUILD=_build ./gitbackup.sh 200 1         REPOS repositories of 20 commits, with fixed dates: the same each time
#
# In each round, in turn, of the same URLs of one server (gitbackup_hub.py, git http-backend) on this machine:
#   loop      git clone --mirror and git bundle create, one repository after the other
#   first     trotline run, nothing known: mirrors, bundles, verified, zips, manifests, documents, the catalog
#   second    the same again, nothing has changed
#   ask       curl asks for their refs, one after the other over one connection: the server's part of the second
# CONFIG is added to trotline.yml, whose defaults hold otherwise. WORK_DIR: where the files go. PROFILE=1 counts what
# processes the runs start (strace). The last lines are ratios, which are what counts, beside the load of the machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-$here/../../_build}" && pwd)
repos=${1:-200}
rounds=${2:-1}
dir=$(mktemp -d "${WORK_DIR:-${TMPDIR:-/tmp}}/trotline-gitbackup.XXXXXX")
export HOME=$dir XDG_CACHE_HOME=$dir/cache GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
trap 'rm -rf "$dir"' EXIT
[ -z "${KEEP:-}" ] || trap - EXIT

# ---- the repositories: one is made, the others are copies with another last commit
commits() { # FROM TO: of fast-import
    for i in $(seq "$1" "$2"); do
        printf 'commit refs/heads/main\nmark :%d\ncommitter A <a@example.org> %d +0000\ndata 2\nc\n\n' "$i" $((1700000000 + i * 60))
        [ "$i" -gt 1 ] || echo deleteall
        printf 'M 100644 inline src/file%d.c\ndata <<.\n' $((i % 10))
        seq "$i" $((i + 200))
        printf '.\n\n'
    done
}
mkdir "$dir/sources"
git init -q --bare --template= -b main "$dir/model.git"
{ commits 1 19; printf 'reset refs/tags/v1\nfrom :19\n\n'; } | git -C "$dir/model.git" fast-import --quiet
for i in $(seq "$repos"); do
    r=$dir/sources/$(printf 'repo%04d' "$i").git
    cp -r "$dir/model.git" "$r"
    printf 'commit refs/heads/main\ncommitter A <a@example.org> 1700009999 +0000\ndata 2\nc\n\nfrom refs/heads/main^0\nM 100644 inline README\ndata <<.\n%s\n.\n\n' "$i" |
        git -C "$r" fast-import --quiet
done

# ---- their server
coproc HUB { exec python3 "$here/gitbackup_hub.py" "$dir/sources"; }
read -r port <&"${HUB[0]}"
base=http://127.0.0.1:$port

# ---- who backs them up
loop() {
    local i
    rm -rf "$dir/loop"; mkdir "$dir/loop"
    for i in "$dir"/sources/*.git; do
        i=$(basename "$i" .git)
        git clone -q --mirror "$base/git/$i.git" "$dir/loop/$i.git"
        git -C "$dir/loop/$i.git" bundle create -q "$dir/loop/$i.bundle" --all
    done
}
world() { # nothing known
    rm -rf "$dir/world" "$dir/cache"; mkdir -p "$dir/world/plugins"
    cp "$build/plugins/gitbackup/.libs/gitbackup.so" "$dir/world/plugins/"
    chmod 755 "$dir/world/plugins" "$dir/world/plugins/gitbackup.so"
    printf 'lake: lake\ncatalog: catalog.db\nplugins: [plugins]\n%s\n' "${CONFIG:-}" >"$dir/world/trotline.yml"
    chmod 644 "$dir/world/trotline.yml"
    cat >"$dir/world/crawl.yml" <<YML
crawl: bench
target: {org: bench, project: git, name: backup}
leash: {depth: 3, hosts: [127.0.0.1]}
lines:
  - {collector: gitbackup, args: {login: bench, api: "$base"}}
YML
}
backup() {
    ${TRACE:-} "$build/host/trotline" --config "$dir/world/trotline.yml" -q run "$dir/world/crawl.yml" >"$dir/root"
}
ask() {
    curl -fsS -K "$dir/ask" >/dev/null
}
requests() {
    curl -fsS "$base/__stats" | tr -dc '0-9 '
}
timed() { # NAME COMMAND
    local a b load
    load=$(cut -d' ' -f1 /proc/loadavg)
    a=$(requests)
    env time -q -f '%e %U %S' -o "$dir/time" bash -c "$2"
    b=$(requests)
    echo "$1 $(cat "$dir/time") $a $b $load" |
        awk '{printf "%-7s seconds %.2f cpu %.2f requests %d of_git %d load %s\n", $1, $2, $3 + $4, $7 - $5, $8 - $6, $9}' | tee -a "$dir/lines"
}
for i in "$dir"/sources/*.git; do
    printf 'url = "%s/git/%s/info/refs?service=git-upload-pack"\n' "$base" "$(basename "$i")"
done >"$dir/ask"
export -f loop backup ask
export dir base build
for _ in $(seq "$rounds"); do
    timed loop loop
    world
    timed first backup
    timed second backup
    timed ask ask
done
status=$(sqlite3 "$dir/world/catalog.db" "select kind || ' ' || count(*) from backups group by kind order by kind" | tr '\n' ' ')
echo "copies: $status"
if [ -n "${PROFILE:-}" ]; then
    TRACE="strace -f -qq -e trace=execve -e signal=none -o $dir/trace" timed traced backup
    echo "programs started by an unchanged run: $(grep -c 'execve(.* = 0$' "$dir/trace")"
fi
awk '
{ if (!($1 in least) || $3 + 0 < least[$1]) least[$1] = $3 + 0 }
END { printf "first run: %.2f times the loop (aim: at most 1.3); second: %.1f times as quick as the first (aim: 10)\n",
    least["first"] / least["loop"], least["first"] / least["second"]
  printf "second run: %.2f times what the server takes to be asked for its refs alone\n", least["second"] / least["ask"] }' "$dir/lines"
