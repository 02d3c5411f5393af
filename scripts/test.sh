#!/bin/sh
# Installs what is needed, builds, and runs all tests. Tests on real models skip, with a message, where ../shared/data is absent.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages $test_packages

cmake --preset release -DITG_BUILD_TESTS=ON >/dev/null
build --preset release
ctest --preset release -j "$(nproc)"
