# The SDK: what a collector author includes and links with (nothing), and what `trotline new collector` copies.
pkginclude_HEADERS = sdk/trotline.h
pkgconfig_DATA = sdk/trotline.pc
dist_pkgdata_DATA = sdk/collector.mk
skeletondir = $(pkgdatadir)/skeleton
dist_skeleton_DATA = sdk/skeleton/NAME.c sdk/skeleton/Makefile sdk/skeleton/payload.json sdk/skeleton/README.md
skeletonfixturesdir = $(pkgdatadir)/skeleton/fixtures
dist_skeletonfixtures_DATA = sdk/skeleton/fixtures/page-1.http sdk/skeleton/fixtures/page-2.http
