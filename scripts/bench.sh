#!/bin/sh
# Installs what is needed, builds Release, makes the models and runs itg_bench against ONNX Runtime; arguments go to itg_bench.
# --write (first) puts the table into bench/README.md. bench/README.md says what the figures mean.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages python3 python3-venv
write=
if [ "${1:-}" = --write ]; then
    write=1
    shift
fi

cmake --preset release -DITG_BUILD_BENCH=ON -DITG_BUILD_TESTS=OFF >/dev/null
build --preset release --target itg_bench

# The peer lives in an environment of its own, and is not needed.
python=build/venv/bin/python
[ -x $python ] || python3 -m venv build/venv
if ! $python -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
    $python -m pip install --quiet --disable-pip-version-check numpy onnx onnxruntime ||
        echo "no ONNX Runtime from the package registry: the peer's columns stay empty"
fi

folder=build/bench tools=../shared/tools models=../shared/data/models
mkdir -p $folder
make_qdq() {
    if [ -f "$1" ] && [ ! -f "$2" ]; then
        $python $tools/make_qdq.py "$1" "$2" || rm -f "$2"
    fi
}
if [ -f $tools/make_resnet18.py ] && $python -c 'import numpy, onnx' 2>/dev/null; then
    [ -f $folder/resnet18_rand.onnx ] || $python $tools/make_resnet18.py $folder/resnet18_rand.onnx
    make_qdq $folder/resnet18_rand.onnx $folder/resnet18_rand.qdq.onnx
    make_qdq $models/resnet8_cifar10.onnx $folder/resnet8.qdq.onnx
    make_qdq $models/mbv2_cifar10.onnx $folder/mbv2.qdq.onnx
else
    echo "without $tools, numpy and onnx: no ResNet-18, no QDQ models of make_qdq.py"
fi

build/release/itg_bench --python $python --folder $folder --write $folder/table.md "$@"
[ -n "$write" ] || exit 0
awk -v table=$folder/table.md '
    /^<!-- end of table -->/ { skip = 0 }
    !skip { print }
    /^<!-- table -->/ { while ((getline line < table) > 0) print line; skip = 1 }
' bench/README.md >$folder/README.md
cp $folder/README.md bench/README.md
echo "bench/README.md holds the table"
