#!/bin/sh
# The tests under AddressSanitizer and UndefinedBehaviorSanitizer, but for the comparison with the second program.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages $test_packages
cmake --preset asan-ubsan >/dev/null
build --preset asan-ubsan
ctest --preset asan-ubsan -j "$(nproc)" -LE slow -E '^independent$'
