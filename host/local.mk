# The host: everything but main.c in one static library, so that unit tests link with it and host/trotline is the real program.
noinst_LIBRARIES += host/libhost.a
HOST_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(CJSON_CFLAGS) $(YAML_CFLAGS) $(SQLITE_CFLAGS) $(SSL_CFLAGS) $(CRYPTO_CFLAGS) $(IDN2_CFLAGS) $(PSL_CFLAGS) $(XML2_CFLAGS) $(ZLIB_CFLAGS) \
	$(ZSTD_CFLAGS) $(BROTLI_CFLAGS) $(DEFLATE_CFLAGS) $(SNAPPY_CFLAGS) $(HIREDIS_CFLAGS)
HOST_LIBS = $(CURL_LIBS) $(CJSON_LIBS) $(YAML_LIBS) $(SQLITE_LIBS) $(SSL_LIBS) $(CRYPTO_LIBS) $(IDN2_LIBS) $(PSL_LIBS) $(XML2_LIBS) $(ZLIB_LIBS) $(ZSTD_LIBS) $(BROTLI_LIBS) \
	$(DEFLATE_LIBS) $(SNAPPY_LIBS) $(HIREDIS_LIBS)
HOST_PATHS = -DTROTLINE_PLUGINDIR='"$(pluginexecdir)"' -DTROTLINE_SYSCONFDIR='"$(sysconfdir)"' -DTROTLINE_DATADIR='"$(pkgdatadir)"'

host_libhost_a_CFLAGS = $(HOST_CFLAGS)
host_libhost_a_CPPFLAGS = $(AM_CPPFLAGS) $(HOST_PATHS)
host_libhost_a_SOURCES =
include host/sources.mk

bin_PROGRAMS += host/trotline
host_trotline_SOURCES = host/main.c
host_trotline_CFLAGS = $(HOST_CFLAGS)
host_trotline_CPPFLAGS = $(AM_CPPFLAGS) $(HOST_PATHS)
host_trotline_LDADD = host/libhost.a $(HOST_LIBS)

# The schema as a C string: one literal a line.
host/store/schema_sql.h: host/store/schema.sql
	@$(MKDIR_P) host/store
	$(AM_V_GEN)$(SED) -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@.tmp && mv $@.tmp $@
BUILT_SOURCES += host/store/schema_sql.h
CLEANFILES += host/store/schema_sql.h
EXTRA_DIST += host/store/schema.sql

# The types and descriptions of APIs that are built in, as C strings.
BUILTIN = f() { name=$$1; shift; echo "static const struct {"; echo "    const char *file, *text;"; echo "} $$name[] = {"; \
	  for f; do echo "    {\"$$f\","; \
	    $(SED) -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/     "/' -e 's/$$/\\n"/' $(srcdir)/$$f; echo "    },"; done; \
	  echo "};"; }; f
TYPES_BUILTIN = conf/types/feed_entry.yml \
	conf/types/git_backup.yml \
	conf/types/github_commit.yml \
	conf/types/github_issue.yml \
	conf/types/github_pull_request.yml \
	conf/types/github_repo.yml \
	conf/types/github_user.yml \
	conf/types/http_link.yml \
	conf/types/http_page.yml
host/engine/types_builtin.h: $(TYPES_BUILTIN) host/local.mk
	@$(MKDIR_P) host/engine
	$(AM_V_GEN)$(BUILTIN) types_builtin $(TYPES_BUILTIN) > $@.tmp && mv $@.tmp $@
BUILT_SOURCES += host/engine/types_builtin.h
CLEANFILES += host/engine/types_builtin.h
typesdir = $(pkgdatadir)/types
dist_types_DATA = $(TYPES_BUILTIN)

APIS_BUILTIN = conf/apis/crossref.yml \
	conf/apis/crt_sh.yml \
	conf/apis/hn_algolia.yml \
	conf/apis/mediawiki_search.yml \
	conf/apis/searxng.yml \
	conf/apis/wayback_cdx.yml
host/engine/apis_builtin.h: $(APIS_BUILTIN) host/local.mk
	@$(MKDIR_P) host/engine
	$(AM_V_GEN)$(BUILTIN) apis_builtin $(APIS_BUILTIN) > $@.tmp && mv $@.tmp $@
BUILT_SOURCES += host/engine/apis_builtin.h
CLEANFILES += host/engine/apis_builtin.h
apisdir = $(pkgdatadir)/apis
dist_apis_DATA = $(APIS_BUILTIN)
