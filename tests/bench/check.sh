#!/bin/sh
# check.sh quick|wrong_peer|options ITG_BENCH FOLDER: the bench runs, verifies, and does not believe what is wrong. Says nothing of times.
set -eu
cd "$(dirname "$0")/../.."
bench=$2 folder=$3
mkdir -p "$folder"
fail() {
    echo "FAILED: $1"
    cat "$folder/log"
    exit 1
}
case $1 in
quick)
    "$bench" --quick --folder "$folder" --write "$folder/table.md" >"$folder/log" || fail "exit status $?"
    for figure in '(a) digits' '(b) digits' '(c) digits' '(d) digits'; do
        grep -qF "| $figure" "$folder/table.md" || fail "no figure $figure"
    done
    grep -F '(a) digits' "$folder/table.md" | grep -q 'program = simulation' || fail "nothing was verified"
    grep -F '(a) digits' "$folder/table.md" | grep -q 'ONNX Runtime is absent' || fail "the absent peer is not told"
    if [ -f ../shared/data/models/resnet8_cifar10.onnx ]; then
        grep -qF '| (e) resnet8: peak memory' "$folder/table.md" || [ ! -r /proc/self/status ] || fail "no memory of calibration"
    else
        grep -q 'resnet8: left out' "$folder/table.md" || fail "absent data are not told"
        echo "without ../shared/data: the embedded example only"
    fi
    ! grep -q 'failed' "$folder/table.md" || fail "a result is wrong"
    ;;
wrong_peer)
    status=0
    "$bench" --quick --only digits --python tests/bench/wrong_peer.py --folder "$folder" --write "$folder/table.md" >"$folder/log" || status=$?
    [ "$status" = 1 ] || fail "exit status $status, not 1"
    grep -q "FAILED: digits: the peer's float outputs differ from ours" "$folder/log" || fail "the wrong peer was believed"
    ! grep -q 'ratio [0-9]' "$folder/log" || fail "something was timed against a wrong peer"
    ;;
options)
    for wrong in '--what' '--part nothing' '--rounds 0' '--rounds' '--threads 1x'; do
        status=0
        # shellcheck disable=SC2086
        "$bench" $wrong >"$folder/log" 2>&1 || status=$?
        [ "$status" = 2 ] && grep -q '^usage: itg_bench' "$folder/log" || fail "'$wrong': exit status $status, not 2"
    done
    ;;
esac
