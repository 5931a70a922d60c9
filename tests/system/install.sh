#!/bin/bash
# install.sh - what is installed works where it lies (TAP): the header in every language that may include it, a collector
# built out of tree with it, the program that finds its collectors without being told, manual and completion.
# TROTLINE_BUILD: the build; TROTLINE_TEST_DATA: tests/data. What is installed goes to tests/system/staged of the build; there
# stands a program, trotline-staged, that was compiled as if that were where it belongs.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
build=${TROTLINE_BUILD:?the build} data=${TROTLINE_TEST_DATA:?tests/data}
staged=$build/tests/system/staged
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES DESTDIR
export HOME=$tmp
cd "$tmp" || exit 99
tell=("$tmp/said") leave=("$tmp" "$staged")

quiet() { # quiet COMMAND...: its exit code; what it said is told when the check fails
  "$@" > "$tmp/said" 2>&1 < /dev/null
  echo $?
}
installed() { # installed PATH-END: the one file of it, below the staged folder
  find "$staged" -path "*/$1" | sed "s|^$staged||"
}
one() { # one NAME PATH-END: is there exactly one
  check "$1" "$(installed "$2" | wc -l)" 1
}

# ---- what lies where
rm -rf "$staged"
check 'make install DESTDIR=...' "$(quiet make -s -C "$build" install DESTDIR="$staged")" 0
one 'the program' bin/trotline
one 'the header' include/trotline/trotline.h
one 'the collector http' lib/trotline/collectors/http.so
for page in man1/trotline.1 man3/trotline-collector.3 man5/trotline-catalog.5 man5/trotline-crawl.5 man5/trotline-items.5 man5/trotline-lake.5 man5/trotline.yml.5; do
  one "the manual: ${page#*/}" "man/$page"
done
one 'completion' bash-completion/completions/trotline
check 'completion is a script that bash can read' "$(quiet bash -n "$staged$(installed bash-completion/completions/trotline)")" 0
one 'a unit for systemd' systemd/system/trotline@.service
check '... that names the installed program' \
  "$(grep -c "^ExecStart=$(installed bin/trotline) " "$staged$(installed systemd/system/trotline@.service)")" 1
one 'examples' examples/trotline.yml
check 'nothing of libtool, no static library, nothing of the tests' \
  "$(find "$staged" -name '*.la' -o -name '*.a' -o -name fixture -o -type f -name '*test*' | sed "s|^$staged||")" ''
check 'collectors are plain files beside each other' \
  "$(cd "$staged$(dirname "$(installed collectors/http.so)")" && find . ! -type d ! -name '*.so')" ''

# ---- the header alone
header=$staged$(dirname "$(installed include/trotline/trotline.h)")
printf '#include <trotline.h>\nint only_the_header;\n' > alone.c
for cc in gcc clang; do
  command -v $cc > /dev/null || continue
  for std in c11 c17 c2x; do
    check "the header alone: $cc, $std" "$(quiet $cc -std=$std -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -I"$header" -fsyntax-only alone.c)" 0
  done
done
for cxx in g++ clang++; do
  command -v $cxx > /dev/null || continue
  check "the header alone: $cxx" "$(quiet $cxx -x c++ -std=c++17 -Wall -Wextra -Werror -I"$header" -fsyntax-only alone.c)" 0
done

# ---- a collector out of tree, by pkg-config and by collector.mk
PKG_CONFIG_PATH=$staged$(dirname "$(installed pkgconfig/trotline.pc)")
# A stage is not where trotline.pc thinks it lies.
prefix=$(PKG_CONFIG_PATH=$PKG_CONFIG_PATH pkg-config --variable=prefix trotline)
mkdir stage-bin
printf '#!/bin/sh\nexec %s --define-variable=prefix=%s "$@"\n' "$(command -v pkg-config)" "$staged$prefix" > stage-bin/pkg-config
chmod 755 stage-bin/pkg-config
export PKG_CONFIG_PATH PATH=$tmp/stage-bin:$PATH
check 'pkg-config says where the header is' "$(pkg-config --cflags trotline | sed 's/ *$//')" "-I$header"
check '... and where collectors belong' "$(pkg-config --variable=plugindir trotline)" "$staged$(dirname "$(installed collectors/http.so)")"
check '... and the version of the program' "trotline $(pkg-config --modversion trotline)" \
  "$("$staged$(installed bin/trotline)" --version | head -n 1 | cut -d' ' -f1,2)"
cp "$data/sdk/hello.c" .
# shellcheck disable=SC2046
check 'a collector, by hand' "$(quiet "${CC:-cc}" -std=c17 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -Wl,-z,defs \
  $(pkg-config --cflags trotline) -o by-hand.so hello.c)" 0
check '... exports one symbol' "$(nm -D --defined-only by-hand.so | cut -d' ' -f2,3)" 'T trotline_collector_v1'
# shellcheck disable=SC2016
printf 'NAME = hello\ninclude $(shell pkg-config --variable=sdkdir trotline)/collector.mk\n' > Makefile
check 'a collector, by collector.mk' "$(quiet make CFLAGS='-O2 -Wall -Wextra -Werror')" 0
check '... exports one symbol' "$(nm -D --defined-only hello.so | cut -d' ' -f2,3)" 'T trotline_collector_v1'
check '... which make install puts where it is told' \
  "$(quiet make install PLUGINDIR="$tmp/mine") $(find mine -type f -perm 755)" '0 mine/hello.so'

# ---- the program, without any configuration
program=$staged$(installed bin/trotline)
cp "$build/tests/system/trotline-staged" "$program"
mkdir empty
tl() {
  (cd "$tmp/empty" && exec timeout 60 "$program" "$@") > "$tmp/out" 2> "$tmp/said" < /dev/null
  echo $?
}
check 'trotline plugins finds the installed collector, without configuration' \
  "$(tl plugins -o json) $(grep -c "\"file\":\"${staged}[^\"]*/trotline/collectors/http.so\"" "$tmp/out")" '0 1'
check 'trotline new collector finds the installed skeleton' \
  "$(tl new collector mine) $(find empty/mine -name mine.c) $(quiet make -C empty/mine)" '0 empty/mine/mine.c 0'
check 'make install into the folder of the collectors' "$(quiet make install PLUGINDIR="$(pkg-config --variable=plugindir trotline)")" 0
check '... is all that it takes' "$(tl plugins show hello) $(grep -c 'greetings that follow this one' "$tmp/out")" '0 1'
cat > empty/crawl.yml << 'YML'
crawl: greetings
leash: {depth: 9}
lines:
  - collector: hello
    args: {whom: kayakers, left: 3}
YML
check 'it runs' "$(tl run crawl.yml)" 0
check 'each reaction asked for the next: four greetings' \
  "$(find empty/lake/documents -path '*hello*' -name '*.json' -exec grep -ho 'hello kayakers, [0-9] left' {} + | sort | tr '\n' ';')" \
  'hello kayakers, 0 left;hello kayakers, 1 left;hello kayakers, 2 left;hello kayakers, 3 left;'

# ---- and away again
rm -f "$staged$(installed collectors/hello.so)"
check 'make uninstall' "$(quiet make -s -C "$build" uninstall DESTDIR="$staged")" 0
check '... leaves nothing' "$(find "$staged" ! -type d)" ''

echo "1..$count"
[ "$failures" -eq 0 ]
