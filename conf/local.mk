# Examples and what is installed beside the program. What holds a folder is made here, not by configure, because @bindir@ is only
# known to make.
examplesdir = $(docdir)/examples
dist_examples_DATA = conf/trotline.yml conf/trotline.cron conf/crawls/kayaking.yml conf/crawls/search.yml conf/crawls/site.yml

systemduserunit_DATA = conf/trotline@.service conf/trotline@.timer
CLEANFILES += $(systemduserunit_DATA)
EXTRA_DIST += conf/trotline@.service.in conf/trotline@.timer.in

conf/trotline@.service: conf/trotline@.service.in Makefile
	@$(MKDIR_P) conf
	$(AM_V_GEN)$(SED) -e 's|[@]bindir@|$(bindir)|g' -e 's|[@]sysconfdir@|$(sysconfdir)|g' \
		'$(srcdir)/conf/trotline@.service.in' > '$@.tmp' && mv '$@.tmp' '$@'
conf/trotline@.timer: conf/trotline@.timer.in
	@$(MKDIR_P) conf
	$(AM_V_GEN)cp '$(srcdir)/conf/trotline@.timer.in' '$@'

bashcompletion_DATA = conf/completion/trotline
CLEANFILES += $(bashcompletion_DATA)
EXTRA_DIST += conf/completion/trotline.bash
conf/completion/trotline: conf/completion/trotline.bash
	@$(MKDIR_P) conf/completion
	$(AM_V_GEN)cp '$(srcdir)/conf/completion/trotline.bash' '$@'
