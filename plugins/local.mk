# Collectors that come with trotline. Each is one module with one exported symbol and no undefined ones.
PLUGIN_CFLAGS = $(TL_CFLAGS)
PLUGIN_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)/sdk
PLUGIN_LDFLAGS = $(TL_LDFLAGS) -module -avoid-version -shared -no-undefined -Wl,-z,defs

pluginexec_LTLIBRARIES += plugins/http/http.la
plugins_http_http_la_SOURCES = plugins/http/http.c
plugins_http_http_la_CFLAGS = $(PLUGIN_CFLAGS)
plugins_http_http_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_http_http_la_LDFLAGS = $(PLUGIN_LDFLAGS)

install-exec-hook:
	cd $(DESTDIR)$(pluginexecdir) && for f in $(pluginexec_LTLIBRARIES); do rm -f "$${f##*/}"; done
uninstall-hook:
	cd $(DESTDIR)$(pluginexecdir) && for f in $(pluginexec_LTLIBRARIES); do f=$${f##*/}; rm -f "$${f%.la}.so"; done
