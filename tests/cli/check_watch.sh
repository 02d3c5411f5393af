#!/bin/sh
# runs show --watch follows a search of another process until it ends, and then prints what runs show does.
# Usage: check_watch.sh INTAGLIO SOURCE
set -eu
intaglio=$1 digits=$2/examples/digits
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$intaglio" search "$digits.onnx" --hw cortex-m --scale 1/255 --data "${digits}_search_images.npy" --labels "${digits}_search_labels.npy" \
    --searcher random --recover none --max-drop 20% --trials 1000000 --seconds 3 --db "$work/runs.db" -q >/dev/null 2>&1 &
tries=0
until "$intaglio" runs show 1 --db "$work/runs.db" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { echo "the search does not begin"; exit 1; }
    sleep 0.1
done
"$intaglio" runs show 1 --db "$work/runs.db" --watch >"$work/watched" 2>"$work/progress"
wait
"$intaglio" runs show 1 --db "$work/runs.db" >"$work/after"
cmp "$work/watched" "$work/after"
grep -Eq "^  state +time limit" "$work/after" || { cat "$work/after"; exit 1; }
grep -Eq "^[0-9]+ of 1000000 trials, .*best [0-9,]+ bytes at [0-9.]+ % \(trial [0-9]+\)" "$work/progress" || { echo "progress, then the run:"; cat "$work/progress" "$work/after"; exit 1; }
# of a run that nobody writes nothing is shown but the run
"$intaglio" runs show 1 --db "$work/runs.db" --watch 2>/dev/null | cmp - "$work/after"
