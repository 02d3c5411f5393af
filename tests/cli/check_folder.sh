#!/bin/sh
# A folder of images gets the shape of the only input, of a model and of a program. Usage: check_folder.sh INTAGLIO SOURCE
set -eu
intaglio=$1 model=$2/examples/digits.onnx images=$2/tests/sim/images/flat
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
digest() { sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p'; }
simulated=$("$intaglio" simulate "$model" --definition --uniform 8 --hw cortex-m --scale 1/255 --calib "$images" --data "$images" -o "$work/s.json" --json | digest)
"$intaglio" realize "$model" "$work/s.json" -o "$work/p.itg" >/dev/null
for data in "$images" "$images:1x16x16"; do
    found=$("$intaglio" run "$work/p.itg" --data "$data" --json | digest)
    if [ ${#found} -ne 64 ] || [ "$found" != "$simulated" ]; then
        echo "$data: run gives $found, simulate $simulated"
        exit 1
    fi
done
