#!/bin/sh
# The tests under AddressSanitizer and UndefinedBehaviorSanitizer.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages $test_packages
cmake --preset asan-ubsan >/dev/null
build --preset asan-ubsan
# tests/independent/run.sh: reconstruction takes minutes here, and has tests of its own
RECOVER=none ctest --preset asan-ubsan -j "$(nproc)" -LE slow
