# libFuzzer targets; here each is built with a small main that replays files.
FUZZ_TESTS =
FUZZ_TESTS += tests/fuzz/fuzz_answer
tests_fuzz_fuzz_answer_SOURCES = tests/fuzz/fuzz_answer.c tests/fuzz/replay.c
tests_fuzz_fuzz_answer_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"answer"'
tests_fuzz_fuzz_answer_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_answer_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_avro
tests_fuzz_fuzz_avro_SOURCES = tests/fuzz/fuzz_avro.c tests/fuzz/replay.c
tests_fuzz_fuzz_avro_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"avro"'
tests_fuzz_fuzz_avro_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_avro_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_config
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c tests/fuzz/replay.c
tests_fuzz_fuzz_config_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"config"'
tests_fuzz_fuzz_config_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_config_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_date
tests_fuzz_fuzz_date_SOURCES = tests/fuzz/fuzz_date.c tests/fuzz/replay.c
tests_fuzz_fuzz_date_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"date"'
tests_fuzz_fuzz_date_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_date_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_feed
tests_fuzz_fuzz_feed_SOURCES = tests/fuzz/fuzz_feed.c tests/fuzz/replay.c
tests_fuzz_fuzz_feed_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"feed"'
tests_fuzz_fuzz_feed_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_feed_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_github
tests_fuzz_fuzz_github_SOURCES = tests/fuzz/fuzz_github.c tests/fuzz/replay.c
tests_fuzz_fuzz_github_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"github"'
tests_fuzz_fuzz_github_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_github_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_headers
tests_fuzz_fuzz_headers_SOURCES = tests/fuzz/fuzz_headers.c tests/fuzz/replay.c
tests_fuzz_fuzz_headers_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"headers"'
tests_fuzz_fuzz_headers_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_headers_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_html
tests_fuzz_fuzz_html_SOURCES = tests/fuzz/fuzz_html.c tests/fuzz/replay.c
tests_fuzz_fuzz_html_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"html"'
tests_fuzz_fuzz_html_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_html_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_json
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c tests/fuzz/replay.c
tests_fuzz_fuzz_json_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"json"'
tests_fuzz_fuzz_json_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_json_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_leg
tests_fuzz_fuzz_leg_SOURCES = tests/fuzz/fuzz_leg.c tests/fuzz/replay.c
tests_fuzz_fuzz_leg_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"leg"'
tests_fuzz_fuzz_leg_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_leg_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_robots
tests_fuzz_fuzz_robots_SOURCES = tests/fuzz/fuzz_robots.c tests/fuzz/replay.c
tests_fuzz_fuzz_robots_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"robots"'
tests_fuzz_fuzz_robots_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_robots_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_sitemap
tests_fuzz_fuzz_sitemap_SOURCES = tests/fuzz/fuzz_sitemap.c tests/fuzz/replay.c
tests_fuzz_fuzz_sitemap_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"sitemap"'
tests_fuzz_fuzz_sitemap_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_sitemap_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_url
tests_fuzz_fuzz_url_SOURCES = tests/fuzz/fuzz_url.c tests/fuzz/replay.c
tests_fuzz_fuzz_url_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"url"'
tests_fuzz_fuzz_url_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_url_LDADD = $(UNIT_LIBS)
FUZZ_TESTS += tests/fuzz/fuzz_yaml
tests_fuzz_fuzz_yaml_SOURCES = tests/fuzz/fuzz_yaml.c tests/fuzz/replay.c
tests_fuzz_fuzz_yaml_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY -DFUZZ_NAME='"yaml"'
tests_fuzz_fuzz_yaml_CFLAGS = $(HOST_CFLAGS)
tests_fuzz_fuzz_yaml_LDADD = $(UNIT_LIBS)
check_PROGRAMS += $(FUZZ_TESTS)
TESTS += $(FUZZ_TESTS)
