# Collectors that come with trotline. Each is one module with one exported symbol and no undefined ones.
PLUGIN_CFLAGS = $(TL_CFLAGS)
PLUGIN_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)/sdk
PLUGIN_LDFLAGS = $(TL_LDFLAGS) -module -avoid-version -shared -no-undefined -Wl,-z,defs

pluginexec_LTLIBRARIES += plugins/http/http.la
plugins_http_http_la_SOURCES = plugins/http/http.c
plugins_http_http_la_CFLAGS = $(PLUGIN_CFLAGS)
plugins_http_http_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_http_http_la_LDFLAGS = $(PLUGIN_LDFLAGS)

API_SOURCES = plugins/api/api.c plugins/api/api.h plugins/api/ask.c plugins/api/pages.c plugins/api/template.c \
	plugins/api/next.c plugins/api/token.c plugins/api/xml.c
pluginexec_LTLIBRARIES += plugins/api/api.la
plugins_api_api_la_SOURCES = $(API_SOURCES)
plugins_api_api_la_CFLAGS = $(PLUGIN_CFLAGS)
plugins_api_api_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_api_api_la_LDFLAGS = $(PLUGIN_LDFLAGS)

pluginexec_LTLIBRARIES += plugins/feed/feed.la
plugins_feed_feed_la_SOURCES = plugins/feed/feed.c plugins/feed/match.c plugins/feed/match.h
plugins_feed_feed_la_CFLAGS = $(PLUGIN_CFLAGS)
plugins_feed_feed_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_feed_feed_la_LDFLAGS = $(PLUGIN_LDFLAGS)

pluginexec_LTLIBRARIES += plugins/github_search/github_search.la
plugins_github_search_github_search_la_SOURCES = plugins/github_search/github_search.c plugins/github_search/stars.c \
	plugins/github_search/stars.h
plugins_github_search_github_search_la_CFLAGS = $(PLUGIN_CFLAGS)
plugins_github_search_github_search_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_github_search_github_search_la_LDFLAGS = $(PLUGIN_LDFLAGS)

pluginexec_LTLIBRARIES += plugins/exec/exec.la
plugins_exec_exec_la_SOURCES = plugins/exec/exec.c plugins/exec/wire.c plugins/exec/wire.h
plugins_exec_exec_la_CFLAGS = $(PLUGIN_CFLAGS)
plugins_exec_exec_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_exec_exec_la_LDFLAGS = $(PLUGIN_LDFLAGS)
execexamplesdir = $(docdir)/examples/exec
dist_execexamples_SCRIPTS = plugins/exec/examples/list.py plugins/exec/examples/list.sh

GITHUB_SOURCES = plugins/github/ask.c plugins/github/entity.c plugins/github/event.c plugins/github/github.c \
	plugins/github/github.h plugins/github/gone.c plugins/github/hook.c plugins/github/list.c plugins/github/metadata.c \
	plugins/github/text.c plugins/github/text.h plugins/github/types.c plugins/github/visit.c
pluginexec_LTLIBRARIES += plugins/github/github.la
plugins_github_github_la_SOURCES = $(GITHUB_SOURCES)
plugins_github_github_la_CFLAGS = $(PLUGIN_CFLAGS)
plugins_github_github_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_github_github_la_LDFLAGS = $(PLUGIN_LDFLAGS)

pluginexec_LTLIBRARIES += plugins/gitbackup/gitbackup.la
plugins_gitbackup_gitbackup_la_SOURCES = plugins/gitbackup/gitbackup.c plugins/gitbackup/gitbackup.h \
	plugins/gitbackup/lfs.c plugins/gitbackup/lfs_find.c plugins/gitbackup/listing.c plugins/gitbackup/mirror.c plugins/gitbackup/outcome.c plugins/gitbackup/refs.c \
	plugins/gitbackup/repository.c plugins/gitbackup/source.c plugins/gitbackup/tree.c plugins/github/text.c \
	plugins/github/text.h
plugins_gitbackup_gitbackup_la_CFLAGS = $(PLUGIN_CFLAGS)
plugins_gitbackup_gitbackup_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir)/plugins/github
plugins_gitbackup_gitbackup_la_LDFLAGS = $(PLUGIN_LDFLAGS)

install-exec-hook:
	cd $(DESTDIR)$(pluginexecdir) && for f in $(pluginexec_LTLIBRARIES); do rm -f "$${f##*/}"; done
uninstall-hook:
	cd $(DESTDIR)$(pluginexecdir) && for f in $(pluginexec_LTLIBRARIES); do f=$${f##*/}; rm -f "$${f%.la}.so"; done
