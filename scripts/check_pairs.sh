#!/bin/sh
# Real networks with labelled data, which lie beside the project and are no part of it: float accuracy, loss at 8 bits on the
# integer targets, digests of simulate and run. Options: --full (simulate all samples, not 64), --limit N (quick: the first N samples,
# digests alone), --only NAME.
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
exec python3 tests/pairs/check_pairs.py build/release/intaglio "$data" "$@"
