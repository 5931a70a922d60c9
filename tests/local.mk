# Tests. Each runs in its own temporary folder on port 0, so that make -j check is safe.
EXTRA_DIST += tests/data tests/bench tests/demo.sh

include tests/bad/local.mk

# ---- the fixture server
noinst_PROGRAMS += tests/server/fixture
tests_server_fixture_SOURCES = tests/server/conn.c tests/server/fixture.c tests/server/fixture.h tests/server/kayak.c \
	tests/server/kayak_words.h tests/server/listen.c tests/server/reply.c tests/server/request.c tests/server/script.c \
	tests/server/script.h tests/server/script_answer.c tests/server/site.c tests/server/stats.c tests/server/template.c tests/server/timer.c
tests_server_fixture_LDADD = host/libhost.a
EXTRA_DIST += tests/server/README.md tests/server/git_server.py tests/server/github_api.py tests/server/github_hub.py tests/server/proxy.py

# ---- unit tests: one group a program, TAP
UNIT_CFLAGS = $(HOST_CFLAGS) $(CMOCKA_CFLAGS)
UNIT_LIBS = host/libhost.a $(CMOCKA_LIBS) $(HOST_LIBS)
EXTRA_DIST += tests/unit/avro_world.h tests/unit/cases.h tests/unit/config_help.h tests/unit/store_world.h
UNIT_TESTS =
include tests/unit/local.mk
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)

# ---- system tests: shell, TAP, real servers
SYSTEM_TESTS = tests/server/selftest.sh
include tests/system/local.mk
dist_check_SCRIPTS += $(SYSTEM_TESTS)
TESTS += $(SYSTEM_TESTS)

# ---- the program as if it had been configured for tests/system/staged, where install.sh puts it
check_PROGRAMS += tests/system/trotline-staged
tests_system_trotline_staged_SOURCES = host/main.c host/cmd/new.c host/engine/config.c
tests_system_trotline_staged_CFLAGS = $(HOST_CFLAGS)
tests_system_trotline_staged_CPPFLAGS = $(AM_CPPFLAGS) -DTROTLINE_PLUGINDIR='"$(abs_top_builddir)/tests/system/staged$(pluginexecdir)"' \
	-DTROTLINE_DATADIR='"$(abs_top_builddir)/tests/system/staged$(pkgdatadir)"'
tests_system_trotline_staged_LDADD = host/libhost.a $(HOST_LIBS)

# ---- a writer of table files from JSON, for other programs to read
check_PROGRAMS += tests/system/table_write
tests_system_table_write_SOURCES = tests/system/table_write.c
tests_system_table_write_CFLAGS = $(HOST_CFLAGS)
tests_system_table_write_LDADD = host/libhost.a $(HOST_LIBS)
EXTRA_DIST += tests/system/readers.mjs

# ---- benches of parts; run by make bench and bench-convert
EXTRA_PROGRAMS = tests/bench/gen_items tests/bench/convert_bench tests/bench/net_bench
tests_bench_net_bench_SOURCES = tests/bench/net_bench.c
tests_bench_net_bench_CFLAGS = $(HOST_CFLAGS)
tests_bench_net_bench_LDADD = host/libhost.a $(HOST_LIBS)
tests_bench_gen_items_SOURCES = tests/bench/gen_items.c
tests_bench_gen_items_LDADD = -lm
tests_bench_convert_bench_SOURCES = tests/bench/convert_bench.c
tests_bench_convert_bench_CFLAGS = $(HOST_CFLAGS)
tests_bench_convert_bench_LDADD = host/libhost.a $(HOST_LIBS)

# ---- fuzz targets: their corpora are replayed as ordinary tests
include tests/fuzz/local.mk

# ---- other targets
include tests/targets.mk

TEST_EXTENSIONS = .sh .py
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
PY_LOG_DRIVER = $(LOG_DRIVER)
# A sanitizer reports what it finds but leaves signals alone: how a process crashed is for trotline to see.
AM_TESTS_ENVIRONMENT = \
	TROTLINE_TEST_DATA='$(abs_top_srcdir)/tests/data'; export TROTLINE_TEST_DATA; \
	TROTLINE='$(abs_top_builddir)/host/trotline'; export TROTLINE; \
	FIXTURE='$(abs_top_builddir)/tests/server/fixture'; export FIXTURE; \
	TROTLINE_TEST_PLUGINS='$(abs_top_builddir)/plugins/http/.libs'; export TROTLINE_TEST_PLUGINS; \
	TROTLINE_BAD_PLUGINS='$(abs_top_builddir)/tests/bad/.libs'; export TROTLINE_BAD_PLUGINS; \
	ASAN_OPTIONS="handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:$$ASAN_OPTIONS"; export ASAN_OPTIONS; \
	TROTLINE_BUILD='$(abs_top_builddir)'; export TROTLINE_BUILD; \
	TROTLINE_SOURCE='$(abs_top_srcdir)'; export TROTLINE_SOURCE; \
	LC_ALL=C.UTF-8; export LC_ALL;

# ---- collectors compiled against earlier headers; never compiled again
EXTRA_DIST += tests/old-plugins
