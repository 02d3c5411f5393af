#!/bin/sh
# Installs what is needed, builds, and runs 'intaglio demo': search, realize, run on the embedded example.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages

cmake --preset release -DITG_BUILD_TESTS=OFF >/dev/null
build --preset release
echo
rm -rf build/demo
build/release/intaglio demo -o build/demo "$@"
echo
echo "The program is build/release/intaglio: PATH=\$PWD/build/release:\$PATH"
