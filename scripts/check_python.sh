#!/bin/sh
# The Python package as its users get it: `pip install ./python` into a new environment, its tests, and the examples. Arguments go
# to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages libhiredis-dev libssl-dev redis-server python3 python3-venv

cmake --preset release -DITG_BUILD_TESTS=OFF >/dev/null # the program, which the tests compare with
build --preset release
folder=build/python
wheel=$PWD/build/wheel
rm -rf $folder "$wheel"
python3 -m venv $folder
python=$folder/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
# Where ccache is used, compiler and depth of the folder are those of the build above.
CC=cc $python -m pip install --quiet -C build-dir="$wheel" './python[test]'
$python -m pytest -q -p no:cacheprovider python/tests "$@"
for example in examples/python/*.py; do
    echo "-- $example"
    $python "$example"
done
