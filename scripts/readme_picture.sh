#!/bin/sh
# docs/report.svg, the README's picture: the front of a search on the example's network, cut out of its report. readme_picture.sh [PROGRAM]
set -eu
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/release/intaglio}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
digits=$PWD/examples/digits
(
    cd "$work"
    "$program" search "$digits.onnx" --hw cortex-m --scale 1/255 --data "${digits}_search_images.npy" --labels "${digits}_search_labels.npy" \
        --holdout "${digits}_test_images.npy" --holdout-labels "${digits}_test_labels.npy" --pareto size --trials 120 --db runs.db >/dev/null 2>&1
    "$program" report 1 --db runs.db -o report.html >/dev/null
)
{
    echo '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 340" font-family="system-ui, sans-serif">'
    sed -n '/<style>/,/<\/style>/p' "$work/report.html"
    echo '<rect width="640" height="340" style="fill: var(--paper)"/>'
    sed -n '/<svg [^>]*against weight bytes/,/<\/svg>/p' "$work/report.html" | sed '1s/.*<svg [^>]*>//'
} >docs/report.svg
echo "docs/report.svg: $(wc -c <docs/report.svg) bytes"
