#!/bin/sh
# Digests and trial lists on real networks: the same with every kernel set, thread count, block size and cache, with and without
# racing. Options: --full (all variations of all searches, not two by turns), --only NAME.
set -eu
cd "$(dirname "$0")/.."
data=../shared/data
if [ ! -d "$data/models" ]; then
    echo "SKIP: $data is absent"
    exit 0
fi
. scripts/packages.sh
need $build_packages python3
cmake --preset release >/dev/null
build --preset release --target intaglio
PYTHONDONTWRITEBYTECODE=1 exec python3 tests/pairs/check_exactness.py build/release/intaglio "$data" "$@"
