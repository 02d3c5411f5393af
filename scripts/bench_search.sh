#!/bin/sh
# Compares searchers (bench/searchers.py, whose arguments these are) through the Python package, in an environment of its own, with
# Optuna where it can be installed. Runs that are in build/bench/searchers.jsonl are not made again. bench/README.md has the table.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages python3 python3-venv
python=build/bench/venv/bin/python
mkdir -p build/bench
[ -x $python ] || python3 -m venv build/bench/venv
export PIP_DISABLE_PIP_VERSION_CHECK=1
$python -m pip install --quiet --force-reinstall --no-deps ./python
$python -c 'import cffi, numpy' 2>/dev/null || $python -m pip install --quiet cffi numpy
if ! $python -c 'import optuna' 2>/dev/null && ! $python -m pip install --quiet optuna; then
    echo "no Optuna from the package registry: it is left out" >&2
fi
exec $python bench/searchers.py "$@"
