# Man pages and texts. Pages are written by hand in mdoc(7); `mandoc -T lint -W warning docs/PAGE` must be silent.
dist_man_MANS += docs/trotline.1 docs/trotline-collector.3 docs/trotline-catalog.5 docs/trotline-crawl.5 \
	docs/trotline-exec.7 docs/trotline-http.7 docs/trotline-items.5 docs/trotline-lake.5 docs/trotline-probe.1 docs/trotline.yml.5

explanationdir = $(docdir)/explanation
dist_explanation_DATA = docs/explanation/execution-model.md

howtodir = $(docdir)/howto
dist_howto_DATA = docs/howto/collector-cookbook.md docs/howto/cron.md docs/howto/queries.md docs/howto/systemd.md docs/howto/urls.md

tutorialdir = $(docdir)/tutorial
dist_tutorial_DATA = docs/tutorial/first-collector.md docs/tutorial/first-crawl.md
