#!/bin/sh
# Target x86-vnni against ONNX Runtime's integer kernels, output by output; arguments go to tests/onnxruntime/compare.py.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages python3 python3-venv

cmake --preset release -DITG_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release | tail -n 1
python=build/venv/bin/python
[ -x $python ] || python3 -m venv build/venv
$python -c 'import numpy, onnx, onnxruntime' 2>/dev/null ||
    $python -m pip install --quiet --disable-pip-version-check numpy onnx onnxruntime
PYTHONDONTWRITEBYTECODE=1 exec $python tests/onnxruntime/compare.py build/release/intaglio "$@"
