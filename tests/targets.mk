# Targets beside `make check`: what is slow, needs other tools, or another build. `make help` prints the lines with ##.
# Builds with other switches lie in _asan and _fuzz of this build, and are configured again when configure changed.
##   make                  the program, its collectors, test programs
##   make check            all tests; TESTS=tests/unit/url_test for one, whose log is tests/unit/url_test.log
##   make check-asan       the same on a build with the address and undefined-behaviour sanitizers (_asan)
##   make check-valgrind   unit tests, and a crawl with its workers, under valgrind
##   make check-fuzz       replays seed corpora and test data through the fuzz targets
##   make check-torture    allocations of a worker fail, one after the other; the crawl must end, and be consistent
##   make check-kill9      kills supervisor and workers at 200 random moments of a crawl of 5,000 pages
##   make fuzz             libFuzzer with clang (_fuzz): FUZZ_SECONDS=30 for each target, FUZZ_TARGETS="url html"
##   make lint             formatting, static analysis, shell scripts, and rules of our own; RULES=banned for one of them
##   make bench            parsers, a crawl of a local site of 5,000 pages, and tables, measured; see tests/bench/README.md
##   make bench-convert    items to Parquet and Avro, beside DuckDB (part of make bench): BENCH_ITEMS=200000
##   make bench-gitbackup  backups of 200 repositories beside a loop of git (part of make bench): BENCH_REPOS=200
##   make install          DESTDIR=... and the like as usual
##   make distcheck        the release: packed, unpacked read-only, built, tested, installed, removed
EXTRA_DIST += tests/lint.sh tests/valgrind.sh tests/valgrind.supp tests/torture/failmalloc.c tests/torture/torture.py

help:
	@echo 'trotline $(PACKAGE_VERSION), in $(abs_top_builddir):'
	@$(SED) -n 's/^##//p' '$(srcdir)/tests/targets.mk'

# ---- other builds
sub_configure = sub_configure () { \
	  test '$(abs_top_srcdir)' != '$(abs_top_builddir)' || \
	    { echo 'This needs a build outside of the source: mkdir _build && cd _build && ../configure' >&2; return 1; }; \
	  echo "Configuring $$1"; $(MKDIR_P) "$$1" && cd "$$1" && shift && '$(abs_top_srcdir)/configure' -q --enable-faults "$$@"; \
	}; sub_configure

_asan/Makefile: $(top_srcdir)/configure
	@$(sub_configure) _asan --enable-asan CC='$(CC)'

_fuzz/Makefile: $(top_srcdir)/configure
	@$(sub_configure) _fuzz CC=clang CFLAGS='-g -O1 $(FUZZ_CFLAGS)'

check-asan: _asan/Makefile
	$(MAKE) -C _asan check

# ---- valgrind
VALGRIND_FLAGS = -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
	--suppressions=$(abs_top_srcdir)/tests/valgrind.supp
check-valgrind: all
	@test -n '$(VALGRIND)' || { echo 'valgrind is missing: apt-get install valgrind libc6-dbg, then configure again' >&2; exit 1; }
	$(MAKE) check TESTS='$(UNIT_TESTS)' LOG_COMPILER='$(VALGRIND)' LOG_FLAGS='$(VALGRIND_FLAGS)'
	$(AM_TESTS_ENVIRONMENT) VALGRIND='$(VALGRIND)' VALGRIND_FLAGS='$(VALGRIND_FLAGS)' bash $(srcdir)/tests/valgrind.sh

# ---- fuzzing
FUZZ_SECONDS = 30
FUZZ_TARGETS = `echo $(FUZZ_TESTS) | $(SED) 's|tests/fuzz/fuzz_||g'`
FUZZ_CFLAGS = -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
FUZZ_LINK = -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined

check-fuzz: $(FUZZ_TESTS)
	@set -e; for t in $(FUZZ_TARGETS); do \
	  set -- '$(srcdir)/tests/data/fuzz'/$$t; \
	  for d in '$(srcdir)/tests/data'/$$t '$(srcdir)/tests/data'/$$t-*; do test ! -d "$$d" || set -- "$$@" "$$d"; done; \
	  tests/fuzz/fuzz_$$t "$$@" >tests/fuzz/fuzz_$$t.out || { tail -n 3 tests/fuzz/fuzz_$$t.out; echo "fuzz_$$t failed"; exit 1; }; \
	  echo "fuzz_$$t: $$(grep -c '^ok' tests/fuzz/fuzz_$$t.out) files"; \
	done

# What is found stays in _fuzz/NAME, and is where the next run starts; what broke something is named by libFuzzer.
fuzz:
	@if ! command -v clang >/dev/null; then echo 'fuzz: skipped, clang is missing'; else $(MAKE) fuzz-all; fi
fuzz-all: _fuzz/Makefile
	+@$(MAKE) -s -C _fuzz host/store/schema_sql.h host/libhost.a
	@set -e; for t in $(FUZZ_TARGETS); do \
	  $(MKDIR_P) _fuzz/$$t; \
	  clang -std=c17 $(DEFS) -I_fuzz $(AM_CPPFLAGS) -g -O1 $(FUZZ_LINK) $(CURL_CFLAGS) $(YAML_CFLAGS) $(CJSON_CFLAGS) $(SQLITE_CFLAGS) \
	    -o _fuzz/fuzz_$$t $(srcdir)/tests/fuzz/fuzz_$$t.c _fuzz/host/libhost.a $(HOST_LIBS); \
	  echo "== $$t, $(FUZZ_SECONDS) s"; \
	  if ! _fuzz/fuzz_$$t -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
	    -artifact_prefix=_fuzz/$$t- _fuzz/$$t '$(srcdir)/tests/data/fuzz'/$$t >_fuzz/$$t.log 2>&1; then tail -n 40 _fuzz/$$t.log; exit 1; fi; \
	  grep -E 'number_of_executed_units|new_units_added' _fuzz/$$t.log; \
	done

# ---- the rest
lint:
	@cd '$(srcdir)' && TROTLINE_BUILD='$(abs_top_builddir)' bash tests/lint.sh $(RULES)

check-kill9: all
	$(AM_TESTS_ENVIRONMENT) $(PYTHON3) $(srcdir)/tests/system/recover.py --long

check-torture: all tests/torture/failmalloc.so
	$(AM_TESTS_ENVIRONMENT) FAILMALLOC=$(abs_builddir)/tests/torture $(PYTHON3) $(srcdir)/tests/torture/torture.py
tests/torture/failmalloc.so: $(srcdir)/tests/torture/failmalloc.c
	@$(MKDIR_P) tests/torture
	$(AM_V_CC)$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fPIC -shared -o $@ $(srcdir)/tests/torture/failmalloc.c -ldl

BENCH_PAGES = 5000
BENCH_ITEMS = 40000
BENCH_REPOS = 200
BENCH_HTML =
bench: bench-net bench-crawl bench-convert bench-gitbackup

bench-net: all tests/bench/net_bench$(EXEEXT)
	@$(AM_TESTS_ENVIRONMENT) tests/bench/net_bench$(EXEEXT) $(BENCH_HTML)

bench-convert: tests/bench/gen_items tests/bench/convert_bench
	@echo 'Items become table files, by us and by DuckDB in turn; ratios of one sitting are what counts.'
	@BUILD='$(abs_top_builddir)' bash '$(srcdir)/tests/bench/convert.sh' $(BENCH_ITEMS)

bench-crawl: all
	@echo 'A crawl of $(BENCH_PAGES) pages of 4 KiB each from a server on this machine. Compare only figures of one sitting, and'
	@echo 'cpu_per_1k (seconds of processor time for 1,000 pages) before pages_per_s; tests/bench/README.md has the peers.'
	@dir=`mktemp -d` && trap 'kill `cat $$dir/graph.pid` 2>/dev/null; rm -rf "$$dir"' EXIT && \
	port=`FIXTURE='$(abs_builddir)/tests/server/fixture' bash '$(srcdir)/tests/bench/graphsite.sh' "$$dir" $(BENCH_PAGES)` && \
	RUNS=3 COUNTER=fixture BASE="http://127.0.0.1:$$port/" TROTLINE='$(abs_builddir)/host/trotline' \
	  PLUGINS='$(abs_builddir)/plugins/http/.libs' bash '$(srcdir)/tests/bench/run-trotline.sh' "$$dir"

bench-gitbackup: all
	@echo 'Backups of small repositories, and git itself in a loop; ratios of one sitting are what counts.'
	@BUILD='$(abs_top_builddir)' bash '$(srcdir)/tests/bench/gitbackup.sh' $(BENCH_REPOS)

clean-local:
	rm -rf _asan _fuzz tests/torture/failmalloc.so tests/fuzz/*.out tests/system/staged tests/readers

.PHONY: help check-asan check-valgrind check-fuzz fuzz fuzz-all lint check-kill9 check-torture bench bench-net bench-crawl bench-convert bench-gitbackup
