# System tests, in the order of their length.
SYSTEM_TESTS += tests/system/cli.sh
SYSTEM_TESTS += tests/system/exec.sh
