# Man pages and texts. Pages are written by hand in mdoc(7); `mandoc -T lint -W warning docs/PAGE` must be silent.
dist_man_MANS += docs/trotline.1
dist_man_MANS += docs/trotline-probe.1
dist_man_MANS += docs/trotline-collector.3
dist_man_MANS += docs/trotline-catalog.5
dist_man_MANS += docs/trotline-crawl.5
dist_man_MANS += docs/trotline-fanin.5
dist_man_MANS += docs/trotline-items.5
dist_man_MANS += docs/trotline-lake.5
dist_man_MANS += docs/trotline-targets.5
dist_man_MANS += docs/trotline-types.5
dist_man_MANS += docs/trotline.yml.5
dist_man_MANS += docs/trotline-api.7
dist_man_MANS += docs/trotline-exec.7
dist_man_MANS += docs/trotline-feed.7
dist_man_MANS += docs/trotline-gitbackup.7
dist_man_MANS += docs/trotline-github.7 docs/trotline-github_search.7
dist_man_MANS += docs/trotline-http.7

explanationdir = $(docdir)/explanation
dist_explanation_DATA = docs/explanation/execution-model.md

howtodir = $(docdir)/howto
dist_howto_DATA = docs/howto/apis.md docs/howto/backup.md docs/howto/collector-cookbook.md
dist_howto_DATA += docs/howto/cron.md
dist_howto_DATA += docs/howto/digest.md
dist_howto_DATA += docs/howto/github.md
dist_howto_DATA += docs/howto/hosts.md
dist_howto_DATA += docs/howto/queries.md docs/howto/relations.md
dist_howto_DATA += docs/howto/systemd.md
dist_howto_DATA += docs/howto/tables.md
dist_howto_DATA += docs/howto/targets.md
dist_howto_DATA += docs/howto/urls.md

tutorialdir = $(docdir)/tutorial
dist_tutorial_DATA = docs/tutorial/first-api.md docs/tutorial/first-collector.md docs/tutorial/first-crawl.md
