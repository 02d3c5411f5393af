#!/bin/sh
# Rounding is written once: one changed constant breaks vectors, simulation and program alike. Options: --only NAME.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages $test_packages
exec python3 tests/mutants/check_mutants.py . build/mutants "$@"
