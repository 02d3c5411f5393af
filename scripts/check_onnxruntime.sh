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
if [ "${1:-}" = --exported ]; then
    shift
    exec $python tests/onnxruntime/exported.py build/release/intaglio "$@"
fi
target() {
    status=0
    $python tests/onnxruntime/compare.py build/release/intaglio "$@" || status=1
    $python tests/onnxruntime/inputs.py build/release/intaglio || status=1
    return $status
}
# Each uses one thread, so they run side by side; what the first one prints comes at the end.
failed=0
target "$@" >build/onnxruntime.log 2>&1 &
$python tests/onnxruntime/exported.py build/release/intaglio || failed=1
wait $! || failed=1
cat build/onnxruntime.log
exit $failed
