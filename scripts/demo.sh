#!/bin/sh
# Installs what is needed, builds, and runs the main job on the embedded example: search, realize, run.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages

cmake --preset release -DITG_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release | tail -n 1
intaglio=build/release/intaglio
work=build/demo
rm -rf "$work"
mkdir -p "$work"
show() {
    echo
    echo "\$ $*"
    "$@"
}
examples=examples
show $intaglio check $examples/digits.onnx --hw cortex-m
show $intaglio search $examples/digits.onnx --hw cortex-m --scale 1/255 \
    --data $examples/digits_search_images.npy --labels $examples/digits_search_labels.npy \
    --holdout $examples/digits_test_images.npy --holdout-labels $examples/digits_test_labels.npy \
    --max-drop 1% --seed 1 --db "$work/runs.db" -o "$work/best.json"
show $intaglio realize $examples/digits.onnx "$work/best.json" -o "$work/digits.itg"
show $intaglio run "$work/digits.itg" --data $examples/digits_test_images.npy --labels $examples/digits_test_labels.npy
echo
echo "The strategy, the program and the log of the search lie in $work."
