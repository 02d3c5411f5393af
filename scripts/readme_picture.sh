#!/bin/sh
# docs/report.svg, the README's picture: the front of a search on the example's network. readme_picture.sh [PROGRAM]
set -eu
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/release/intaglio}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
digits=examples/digits
"$program" search $digits.onnx --hw cortex-m --scale 1/255 --data ${digits}_search_images.npy --labels ${digits}_search_labels.npy \
    --holdout ${digits}_test_images.npy --holdout-labels ${digits}_test_labels.npy --pareto size --trials 120 --db "$work/runs.db" >/dev/null 2>&1
"$program" report 1 --db "$work/runs.db" --part front -o docs/report.svg
