#!/bin/sh
# Everything again with clang, but for the comparison with the second program, which is most of the time of all tests.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages $test_packages clang libomp-dev
cmake --preset clang >/dev/null
build --preset clang
ctest --preset clang -j "$(nproc)" -LE slow -E '^independent$'
