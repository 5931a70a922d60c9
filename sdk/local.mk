# The SDK: what a collector author includes and links with (nothing).
pkginclude_HEADERS = sdk/trotline.h
pkgconfig_DATA = sdk/trotline.pc
pkgdata_DATA = sdk/collector.mk
EXTRA_DIST += sdk/collector.mk
