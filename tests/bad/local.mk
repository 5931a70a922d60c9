# Collectors that misbehave, and a few that only tests need.
BAD_LDFLAGS = $(PLUGIN_LDFLAGS) -rpath $(abs_builddir)/tests/bad
# They crash on purpose, and as others would: without a sanitizer that steps in.
BAD_CFLAGS = $(PLUGIN_CFLAGS) -Wno-missing-prototypes -fno-sanitize=undefined
noinst_LTLIBRARIES += \
	tests/bad/abort.la \
	tests/bad/crash.la \
	tests/bad/deep.la \
	tests/bad/describe_crash.la \
	tests/bad/describe_exit.la \
	tests/bad/describe_prying.la \
	tests/bad/describe_spin.la \
	tests/bad/github.la \
	tests/bad/greedy.la \
	tests/bad/hang.la \
	tests/bad/late.la \
	tests/bad/leak.la \
	tests/bad/newer.la \
	tests/bad/noop.la \
	tests/bad/prying.la \
	tests/bad/react_crash.la \
	tests/bad/refuse_abi.la \
	tests/bad/refuse_default.la \
	tests/bad/refuse_entry.la \
	tests/bad/refuse_field.la \
	tests/bad/refuse_name.la \
	tests/bad/refuse_null.la \
	tests/bad/refuse_reserved.la \
	tests/bad/refuse_size.la \
	tests/bad/refuse_table.la \
	tests/bad/retry.la \
	tests/bad/runs.la \
	tests/bad/saves.la \
	tests/bad/shapes.la \
	tests/bad/spin.la \
	tests/bad/splits.la \
	tests/bad/state.la \
	tests/bad/typed.la
tests_bad_abort_la_SOURCES = tests/bad/abort.c
tests_bad_abort_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_abort_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_abort_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_crash_la_SOURCES = tests/bad/crash.c
tests_bad_crash_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_crash_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_crash_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_deep_la_SOURCES = tests/bad/deep.c
tests_bad_deep_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_deep_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_deep_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_describe_crash_la_SOURCES = tests/bad/describe_crash.c
tests_bad_describe_crash_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_describe_crash_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_describe_crash_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_describe_exit_la_SOURCES = tests/bad/describe_exit.c
tests_bad_describe_exit_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_describe_exit_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_describe_exit_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_describe_prying_la_SOURCES = tests/bad/describe_prying.c
tests_bad_describe_prying_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_describe_prying_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_describe_prying_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_describe_spin_la_SOURCES = tests/bad/describe_spin.c
tests_bad_describe_spin_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_describe_spin_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_describe_spin_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_greedy_la_SOURCES = tests/bad/greedy.c
tests_bad_greedy_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_greedy_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_greedy_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_hang_la_SOURCES = tests/bad/hang.c
tests_bad_hang_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_hang_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_hang_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_late_la_SOURCES = tests/bad/late.c
tests_bad_late_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_late_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_late_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_leak_la_SOURCES = tests/bad/leak.c
tests_bad_leak_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_leak_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_leak_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_newer_la_SOURCES = tests/bad/newer.c
tests_bad_newer_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_newer_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_newer_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_noop_la_SOURCES = tests/bad/noop.c
tests_bad_noop_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_noop_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_noop_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_prying_la_SOURCES = tests/bad/prying.c
tests_bad_prying_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_prying_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_prying_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_react_crash_la_SOURCES = tests/bad/react_crash.c
tests_bad_react_crash_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_react_crash_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_react_crash_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_refuse_abi_la_SOURCES = tests/bad/refuse_abi.c
tests_bad_refuse_abi_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_refuse_abi_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_refuse_abi_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_refuse_default_la_SOURCES = tests/bad/refuse_default.c
tests_bad_refuse_default_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_refuse_default_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_refuse_default_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_refuse_entry_la_SOURCES = tests/bad/refuse_entry.c
tests_bad_refuse_entry_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_refuse_entry_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_refuse_entry_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_refuse_field_la_SOURCES = tests/bad/refuse_field.c
tests_bad_refuse_field_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_refuse_field_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_refuse_field_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_refuse_name_la_SOURCES = tests/bad/refuse_name.c
tests_bad_refuse_name_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_refuse_name_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_refuse_name_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_refuse_null_la_SOURCES = tests/bad/refuse_null.c
tests_bad_refuse_null_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_refuse_null_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_refuse_null_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_refuse_reserved_la_SOURCES = tests/bad/refuse_reserved.c
tests_bad_refuse_reserved_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_refuse_reserved_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_refuse_reserved_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_refuse_size_la_SOURCES = tests/bad/refuse_size.c
tests_bad_refuse_size_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_refuse_size_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_refuse_size_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_refuse_table_la_SOURCES = tests/bad/refuse_table.c
tests_bad_refuse_table_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_refuse_table_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_refuse_table_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_retry_la_SOURCES = tests/bad/retry.c
tests_bad_retry_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_retry_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_retry_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_runs_la_SOURCES = tests/bad/runs.c
tests_bad_runs_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_runs_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_runs_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_saves_la_SOURCES = tests/bad/saves.c
tests_bad_saves_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_saves_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_saves_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_shapes_la_SOURCES = tests/bad/shapes.c
tests_bad_shapes_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_shapes_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_shapes_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_spin_la_SOURCES = tests/bad/spin.c
tests_bad_spin_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_spin_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_spin_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_splits_la_SOURCES = tests/bad/splits.c
tests_bad_splits_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_splits_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_splits_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_state_la_SOURCES = tests/bad/state.c
tests_bad_state_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_state_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_state_la_LDFLAGS = $(BAD_LDFLAGS)
tests_bad_typed_la_SOURCES = tests/bad/typed.c
tests_bad_typed_la_CFLAGS = $(BAD_CFLAGS)
tests_bad_typed_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_bad_typed_la_LDFLAGS = $(BAD_LDFLAGS)
# The collector of GitHub as a later version would be, which derives anew what it finds in the lake.
tests_bad_github_la_SOURCES = $(GITHUB_SOURCES)
tests_bad_github_la_CFLAGS = $(PLUGIN_CFLAGS)
tests_bad_github_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -DGITHUB_VERSION=2
tests_bad_github_la_LDFLAGS = $(BAD_LDFLAGS)
