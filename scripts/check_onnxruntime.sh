#!/bin/sh
# Target x86-vnni against ONNX Runtime's integer kernels, output by output, then the QDQ models that are exported. Arguments go to
# tests/onnxruntime/compare.py; behind --exported, which leaves it out, to tests/onnxruntime/exported.py.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages python3 python3-venv

cmake --preset release -DITG_BUILD_TESTS=OFF >/dev/null
build --preset release
python=build/venv/bin/python
[ -x $python ] || python3 -m venv build/venv
$python -c 'import numpy, onnx, onnxruntime' 2>/dev/null ||
    $python -m pip install --quiet --disable-pip-version-check numpy onnx onnxruntime
export PYTHONDONTWRITEBYTECODE=1
exported=
if [ "${1:-}" = --exported ]; then
    exported=yes
    shift
fi
status=0
[ "$exported" ] || $python tests/onnxruntime/compare.py build/release/intaglio "$@" || status=1
[ "$exported" ] || $python tests/onnxruntime/inputs.py build/release/intaglio || status=1
[ "$exported" ] || set --
$python tests/onnxruntime/exported.py build/release/intaglio "$@" || status=1
exit $status
