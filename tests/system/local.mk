# System tests, in the order of their length.
SYSTEM_TESTS += tests/system/cli.sh
SYSTEM_TESTS += tests/system/crawl.py
SYSTEM_TESTS += tests/system/exec.sh
SYSTEM_TESTS += tests/system/leash.py
EXTRA_DIST += tests/system/lib.py
