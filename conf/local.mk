# Examples and what is installed beside the program. The unit is made here and not by configure, because bindir is whole
# only in make.
examplesdir = $(docdir)/examples
dist_examples_DATA = conf/trotline.yml
dist_examples_DATA += conf/discovery.yml
dist_examples_DATA += conf/targets/kayaking-florida.yml
dist_examples_DATA += conf/targets/site.template
dist_examples_DATA += conf/trotline.cron
dist_examples_DATA += conf/crawls/apis.yml
dist_examples_DATA += conf/crawls/backup.yml
dist_examples_DATA += conf/crawls/digest.yml
dist_examples_DATA += conf/crawls/github.yml
dist_examples_DATA += conf/crawls/kayaking.yml
dist_examples_DATA += conf/crawls/search.yml
dist_examples_DATA += conf/crawls/site.yml

systemduserunit_DATA = conf/trotline@.service
dist_systemduserunit_DATA = conf/trotline@.timer
CLEANFILES += $(systemduserunit_DATA)
EXTRA_DIST += conf/trotline@.service.in

conf/trotline@.service: conf/trotline@.service.in Makefile
	@$(MKDIR_P) conf
	$(AM_V_GEN)$(SED) -e 's|[@]bindir@|$(bindir)|g' '$(srcdir)/conf/trotline@.service.in' > '$@.tmp' && mv '$@.tmp' '$@'

bashcompletion_DATA = conf/completion/trotline
CLEANFILES += $(bashcompletion_DATA)
EXTRA_DIST += conf/completion/trotline.bash
conf/completion/trotline: conf/completion/trotline.bash
	@$(MKDIR_P) conf/completion
	$(AM_V_GEN)cp '$(srcdir)/conf/completion/trotline.bash' '$@'
