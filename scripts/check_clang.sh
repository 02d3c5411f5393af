#!/bin/sh
# Everything again with clang.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages $test_packages clang libomp-dev
cmake --preset clang >/dev/null
build --preset clang
ctest --preset clang -j "$(nproc)" -LE slow
