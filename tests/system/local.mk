# System tests, in the order of their length.
SYSTEM_TESTS += tests/system/bad.py
SYSTEM_TESTS += tests/system/cli.sh
SYSTEM_TESTS += tests/system/collector.sh
SYSTEM_TESTS += tests/system/crawl.py
SYSTEM_TESTS += tests/system/exec.sh
SYSTEM_TESTS += tests/system/exec_collector.py
SYSTEM_TESTS += tests/system/exits.py
SYSTEM_TESTS += tests/system/fetch.py
SYSTEM_TESTS += tests/system/fetch_nginx.py
SYSTEM_TESTS += tests/system/hostile.py
SYSTEM_TESTS += tests/system/install.sh
SYSTEM_TESTS += tests/system/leash.py
SYSTEM_TESTS += tests/system/probe.sh
SYSTEM_TESTS += tests/system/queries.sh
SYSTEM_TESTS += tests/system/recover.py
SYSTEM_TESTS += tests/system/verify.sh
EXTRA_DIST += tests/system/lib.py
