#!/bin/sh
# Mutation run: changes lines at random, in a copy, and lists the changes that no test notices. --seed N --count N; --help for the rest.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages $test_packages
exec python3 tests/mutants/mutate.py . build/mutate "$@"
