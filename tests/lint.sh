#!/bin/bash
# lint.sh [RULE...] - what a reviewer should not have to say. Rules: format cppcheck shell, which need a tool and are skipped with
# a line where it is missing, and banned rooms sqlite long, which need none. Prints PLACE: what is wrong; exit 1 if there was any.
set -u
cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C.UTF-8
faults=0

sources() { # sources FOLDER...: C of ours in the order of names; what make makes, and what must stay as it was, is left out
    find "$@" \( -name '_*' -o -name autom4te.cache -o -name old-plugins \) -prune -o -name '*.[ch]' ! -name schema_sql.h -print | sort
}
fault() { # reads lines, tells them, and counts them
    while IFS= read -r line; do
        printf '%s\n' "$line"
        faults=$((faults + 1))
    done
}
have() { # have TOOL RULE
    command -v "$1" > /dev/null && return
    echo "$2: skipped, $1 is missing"
    return 1
}

rule_format() {
    have clang-format format || return 0
    local file # one by one, and one line each: what differs is best seen by clang-format -i and git diff
    fault < <(sources host plugins sdk tests | while IFS= read -r file; do
        clang-format --dry-run -Werror "$file" 2> /dev/null || echo "$file: not as clang-format -i would have it"
    done)
}

rule_cppcheck() {
    have cppcheck cppcheck || return 0
    # It knows nothing of cleanup attributes (leaks are for the sanitizers), takes mmap's -1 and a check for a table's end in
    # front of one for the room for faults, and would not have readdir, getpwuid and ucontext in a program of one thread. It
    # cannot read ?: with a compound literal, and takes a buffer that is to be filled, and what a function makes of a local
    # one, for what they were before.
    local id passed=()
    for id in resourceLeak memleak invalidFunctionArg pointerSize arrayIndexThenCheck readdirCalled getpwuidCalled \
        getcontextCalled makecontextCalled swapcontextCalled internalAstError legacyUninitvar returnDanglingLifetime; do
        passed+=("--suppress=$id")
    done
    fault < <(cppcheck -q --std=c11 --enable=warning,performance,portability --inline-suppr -j "$(nproc)" "${passed[@]}" \
        -D__GNUC__ -D_GNU_SOURCE -DTROTLINE_FAULTS -I "${TROTLINE_BUILD:-_build}/host" -Isdk -Ihost \
        --template='{file}:{line}: {message} [{id}]' host plugins sdk 2>&1)
}

rule_shell() {
    have shellcheck shell || return 0
    local file
    fault < <(for file in bootstrap .ci/run conf/completion/*.bash $(find tests \( -name '_*' -prune \) -o -name '*.sh' -print | sort); do
        [ ! -f "$file" ] || shellcheck -x -e SC1091 -f gcc "$file"
    done)
}

# C without its comments and what stands between quotes, each line as FILE:LINE:TEXT.
bare() {
    awk '
        FNR == 1 { comment = 0 }
        {
            rest = $0; text = ""
            while (rest != "") {
                if (comment) {
                    if ((at = index(rest, "*/")) == 0) break
                    rest = substr(rest, at + 2); comment = 0
                } else if (match(rest, /\/\*|\/\/|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/)) {
                    found = substr(rest, RSTART, RLENGTH)
                    text = text substr(rest, 1, RSTART - 1)
                    rest = substr(rest, RSTART + RLENGTH)
                    if (found == "//") break
                    if (found == "/*") comment = 1; else text = text "\"\""
                } else { text = text rest; rest = "" }
            }
            print FILENAME ":" FNR ":" text
        }' "$@"
}

rule_banned() { # they cannot be told how long things are, share a state, ask the locale, or start a shell
    local words='strcpy|strcat|sprintf|vsprintf|gets|strtok|localtime|gmtime|ctime|asctime|strerror|rand|srand|system|popen|alloca|atoi|atol|atof|setjmp|longjmp|tmpnam|mktemp'
    # shellcheck disable=SC2046
    fault < <(bare $(sources host plugins sdk tests) | grep -E ":(.*[^A-Za-z0-9_.>])?($words) ?\(" |
        sed -E "s/^([^:]+:[0-9]+):.*[^A-Za-z0-9_]?\\b($words) ?\\(.*/\\1: \\2 is banned/")
}

rule_rooms() { # includes go one way: see the table of rooms in HACKING.md
    local room may
    while read -r room may; do
        fault < <(grep -nE '^ *# *include +"' -r "host/$room" --include='*.[ch]' |
            grep -vE "include +\"($may|trotline.h)" | sed -E 's/^([^:]+:[0-9]+):.*(".*").*/\1: may not include \2/')
    done << 'ROOMS'
base base/
net (base|net)/
lake (base|lake)/
store (base|store)/
convert (base|lake|convert)/
fanin (base|net|fanin)/
engine (base|net|lake|store|convert|fanin|engine)/
cmd .*/
ROOMS
    fault < <(grep -nE '^ *# *include +"[^"]*/' -r plugins --include='*.[ch]' |
        sed -E 's/^([^:]+:[0-9]+):.*(".*").*/\1: a collector includes trotline.h and its own files, not \2/')
}

rule_sqlite() {
    # shellcheck disable=SC2046
    fault < <(bare $(sources host plugins sdk | grep -v '^host/store/') | grep -E 'sqlite3_' |
        sed -E 's/^([^:]+:[0-9]+):.*/\1: SQLite is for host\/store alone/')
}

rule_long() { # a file owns one concept; tables of data are generated and say so
    local file lines
    fault < <(for file in $(sources host plugins sdk tests) $(find tests -name '*.sh' -o -name '*.py'); do
        lines=$(wc -l < "$file")
        [ "$lines" -le 700 ] || head -n 5 "$file" | grep -qi generated || echo "$file:700: $lines lines: more than one concept?"
    done)
}

for rule in "${@:-all}"; do
    case $rule in
    all) for each in format cppcheck shell banned rooms sqlite long; do "rule_$each"; done ;;
    format | cppcheck | shell | banned | rooms | sqlite | long) "rule_$rule" ;;
    *)
        echo "lint: unknown rule '$rule'" >&2
        exit 2
        ;;
    esac
done
[ "$faults" = 0 ] || echo "lint: $faults faults" >&2
[ "$faults" = 0 ]
