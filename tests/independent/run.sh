#!/bin/sh
# Compares digests of 'intaglio simulate' with those of reproduce.py, over models, targets and widths.
# Usage: run.sh INTAGLIO. Exit 77: python3 or numpy is missing. PYTHON names another interpreter, JOB one model alone.
set -u
intaglio=${1:?usage: run.sh INTAGLIO}
python=${PYTHON:-python3}
# The distribution's interpreter has the numpy that the package installs.
"$python" -B -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
shared=$root/../shared/data
"$python" -c 'import numpy' 2>/dev/null || { echo "skipped: $python with numpy is needed"; exit 77; }
work=$(mktemp -d) || exit 1
PYTHONPYCACHEPREFIX=$work/python; export PYTHONPYCACHEPREFIX # compiled once, and nothing beside the sources
unset PYTHONDONTWRITEBYTECODE
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cases=0
failures=0

mkfifo "$work/asked" "$work/answered"
"$python" "$here/serve.py" <"$work/asked" >"$work/answered" &
exec 3>"$work/asked" 4<"$work/answered"
# ask PROGRAM ARGUMENTS...: prints what it printed; a failure's line goes to $work/errors.
ask() {
    printf '%s' "$1" >&3
    shift
    printf '\t%s' "$@" >&3
    printf '\n' >&3
    read -r status answer <&4 || { echo "serve.py has ended" >>"$work/errors"; return 1; }
    [ "$status" = 0 ] || { printf '%s\n' "$answer" >>"$work/errors"; return 1; }
    printf '%s\n' "$answer"
}

digest() { sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p'; }

# compare MODEL CALIBRATION DATA SAMPLES TARGET WEIGHT-BITS ACTIVATION-BITS [preprocessing options]
compare() {
    model=$1 calibration=$2 data=$3 samples=$4 target=$5 weights=$6 activations=$7
    shift 7
    name="$(basename "$model") on $(basename "$target"), weights $weights, activations $activations"
    cases=$((cases + 1))
    rm -f "$work/strategy.json"
    case "$(basename "$target")" in cortex-m) recover=auto ;; *) recover=none ;; esac # it takes its time
    theirs=$("$intaglio" simulate "$model" --definition --uniform "$activations" --weight-bits "$weights" --hw "$target" --calib "$calibration" \
        --calib-limit 200 --recover $recover --data "$data" --limit "$samples" "$@" -o "$work/strategy.json" --json 2>"$work/errors" | digest)
    if [ ${#theirs} -ne 64 ]; then
        failures=$((failures + 1))
        echo "FAILED  $name: intaglio gave no digest: $(head -n 1 "$work/errors")"
        return
    fi
    : >"$work/errors"
    ours=$(ask reproduce.py "$model" "$work/strategy.json" "$data" --limit "$samples" | digest)
    if [ "$ours" = "$theirs" ]; then
        echo "equal   $name"
        [ "$weights" -gt 5 ] || perturbed "$model" "$data" "$samples" "$name"
    else
        failures=$((failures + 1))
        echo "FAILED  $name: intaglio $theirs, reproduce.py ${ours:-$(tail -n 1 "$work/errors")}"
    fi
}

# searched MODEL DATA SAMPLES: strategies of random searches on a target with several ways for the same widths, and float.
searched() {
    for seed in 1 2 3 4; do
        name="$(basename "$1") on choices, random search $seed"
        cases=$((cases + 1))
        rm -f "$work/strategy.json"
        "$intaglio" search "$1" --hw "$here/hardware/choices.json" --searcher random --seed $seed --trials 8 --min-sqnr 3 --allow-float '*' \
            --threshold mse,max --data "$2" --search-samples 64 --calibration-samples 64 --fix conv2.weight=32 --recover none --scale 1/255 \
            -o "$work/strategy.json" >/dev/null 2>"$work/errors"
        theirs=$("$intaglio" simulate "$1" "$work/strategy.json" --definition --data "$2" --limit "$3" --json 2>>"$work/errors" | digest)
        ours=$(ask reproduce.py "$1" "$work/strategy.json" "$2" --limit "$3" | digest)
        if [ ${#ours} -eq 64 ] && [ "$ours" = "$theirs" ]; then
            echo "equal   $name"
        else
            failures=$((failures + 1))
            echo "FAILED  $name: intaglio $theirs, reproduce.py ${ours:-$(tail -n 1 "$work/errors")}"
        fi
    done
}

# The emitted C, too: one model on one target.
c_agrees() {
    case "$name" in "digits.onnx on cortex-m,"*) command -v cc >/dev/null || return 0 ;; *) return 0 ;; esac
    "$intaglio" realize "$1" "$work/strategy.json" --emit c -o "$work/c" --name net --data "$2" --samples 20 >/dev/null &&
        cc -std=c99 -O1 -o "$work/c/test" "$work/c/net.c" "$work/c/net_selftest.c" && "$work/c/test" | grep -q '^pass'
}

# perturbed MODEL DATA SAMPLES NAME: the strategy of the last comparison, with other codes than the nearest.
perturbed() {
    cases=$((cases + 1))
    rm -rf "$work/program.itg" "$work/c"
    : >"$work/errors"
    ask codes.py "$1" "$work/strategy.json" 7 >/dev/null || echo "codes.py: $(tail -n 1 "$work/errors")"
    ours=$(ask reproduce.py "$1" "$work/strategy.json" "$2" --limit "$3" | digest)
    theirs=$("$intaglio" simulate "$1" "$work/strategy.json" --definition --data "$2" --limit "$3" --json 2>>"$work/errors" | digest)
    "$intaglio" realize "$1" "$work/strategy.json" --allow-overflow -o "$work/program.itg" >/dev/null 2>>"$work/errors"
    run=$("$intaglio" run "$work/program.itg" --data "$2" --limit "$3" --json 2>>"$work/errors" | digest)
    if [ ${#ours} -eq 64 ] && [ "$ours" = "$theirs" ] && [ "$ours" = "$run" ] && c_agrees "$1" "$2" &&
        ask codes.py "$1" "$work/strategy.json" "$work/program.itg" >/dev/null; then
        echo "equal   $4, other codes"
    elif [ -z "$ours$theirs" ] && grep -q "does not hold one product" "$work/errors"; then
        echo "refused $4, other codes: one lies too far out for the accumulator"
    else
        failures=$((failures + 1))
        echo "FAILED  $4, other codes: simulate $theirs, run $run, reproduce.py ${ours:-$(tail -n 1 "$work/errors")}"
    fi
}

# matrix MODEL CALIBRATION DATA SAMPLES [preprocessing options]
matrix() {
    a=$1 b=$2 c=$3 d=$4
    shift 4
    for widths in "x86-vnni 8 8" "x86-vnni 4 8" "cortex-m 8 8" "cortex-m 4 8" "cortex-m 8 16" \
        "shift 8 8" "shift 4 6" "preshift 8 8" "preshift 4 12" "preshift 8 16" "stages 8 8" "stages 5 16" "ties 8 8" "ties 6 16" \
        "split 8 8" "split 5 12" "split 16 16" "vta 8 8" "vta 4 6" "cvm 8 8" "cvm 4 6" "cvm 16 16" "cvm 8 31" "avr 8 8" "avr 4 6" "fpga 1 8" \
        "weights 4 8" "zeros 8 8" "zeros 4 8" "zeros 2 6"; do
        target=${widths%% *}
        activations=${widths##* }
        weights=${widths#* }
        weights=${weights% *}
        case "$target $(basename "$a" .onnx)" in # no lookup tables there
            "vta elements" | "vta functions" | "vta branches" | "vta matrices" | "vta lost") continue ;;
        esac
        [ -f "$here/hardware/$target.json" ] && target=$here/hardware/$target.json
        compare "$a" "$b" "$c" "$d" "$target" "$weights" "$activations" "$@"
    done
}

wanted() { [ -z "${JOB:-}" ] || [ "$JOB" = "$1" ]; }

wanted digits && matrix "$root/examples/digits.onnx" "$root/examples/digits_search_images.npy" \
    "$root/examples/digits_test_images.npy" 200 --scale 1/255
wanted digits && searched "$root/examples/digits.onnx" "$root/examples/digits_search_images.npy" 100
if wanted lowest; then
    cases=$((cases + 1))
    "$python" "$here/lowest.py" "$intaglio" "$root/examples" || failures=$((failures + 1))
fi
"$python" "$here/make_models.py" "$work" || exit 1
for made in windows elements functions branches means volumes images matrices lost; do
    wanted $made && matrix "$work/$made.onnx" "$work/$made.npy" "$work/$made.npy" 60
done
# Gather, tables and products of two activations: the built-in targets that have all three.
wanted composed && for widths in "x86-vnni 8 8" "x86-vnni 4 8" "cortex-m 8 8" "cortex-m 4 8" "cortex-m 8 16" "cvm 8 8" "avr 4 6"; do
    # shellcheck disable=SC2086 # three words
    set -- $widths
    compare "$work/composed.onnx" "$work/composed.npy" "$work/composed.npy" 60 "$1" "$2" "$3"
done
wanted boxes && for widths in "x86-vnni 8 8" "cortex-m 8 8" "cortex-m 4 8" "cvm 8 8"; do
    # shellcheck disable=SC2086 # three words
    set -- $widths
    compare "$work/boxes.onnx" "$work/boxes.npy" "$work/boxes.npy" 60 "$1" "$2" "$3"
done
# No lookup tables are needed, but the normalizations.
wanted attention && for widths in "x86-vnni 8 8" "cortex-m 8 8" "cortex-m 4 8" "cortex-m 8 16" "vta 8 8" "cvm 8 8" "cvm 16 16" "avr 8 8"; do
    # shellcheck disable=SC2086 # three words
    set -- $widths
    compare "$work/attention.onnx" "$work/attention.npy" "$work/attention.npy" 60 "$1" "$2" "$3"
done
# Several inputs, in a file and by name.
for made in pair gains idle; do
    wanted $made && for widths in "x86-vnni 8 8" "cortex-m 8 8" "cortex-m 4 8" "cortex-m 8 16" "cvm 8 8" "avr 8 8"; do
        # shellcheck disable=SC2086 # three words
        set -- $widths
        compare "$work/$made.onnx" "$work/$made.npz" "$work/$made.npz" 60 "$1" "$2" "$3"
    done
done
wanted pair && compare "$work/pair.onnx" "$work/pair.npz" "v=$work/pair.npz:v,x=$work/pair.npz:x" 60 cortex-m 8 8 --scale 0.5 \
    --preprocess x
wanted tokens && compare "$work/tokens.onnx" "$work/tokens.npz" "$work/tokens.npz" 60 x86-vnni 8 8
# Inputs that are no float32: rows of a table are codes, arithmetic on them stays in float, which x86-vnni has.
for widths in "x86-vnni 8 8" "cortex-m 8 8" "cortex-m 4 8" "cortex-m 8 16" "vta 8 8" "cvm 8 8" "avr 4 6"; do
    # shellcheck disable=SC2086 # three words
    wanted words && compare "$work/words.onnx" "$work/words.npy" "$work/words.npy" 60 $widths
done
wanted pixels && compare "$work/pixels.onnx" "$work/pixels.npy" "$work/pixels.npy" 60 x86-vnni 8 8 --layout nhwc
wanted pixels && compare "$work/pixels.onnx" "$work/pixels.npy" "$work/pixels.npy" 60 x86-vnni 4 6 --layout nhwc --bgr
if [ -d "$shared/models" ]; then
    wanted mnist && matrix "$shared/models/mnist_onnxjs_7.onnx" "$shared/mnist/calib-images-idx3-ubyte.gz" \
        "$shared/mnist/test-images-idx3-ubyte.gz" 40
    wanted resnet8 && matrix "$shared/models/resnet8_cifar10.onnx" "$shared/cifar10/calib_images_u8.npy" \
        "$shared/cifar10/test_images_u8.npy" 12 --scale 1/255 --mean 0.4914,0.4822,0.4465 --std 0.2470,0.2435,0.2616
else
    echo "skipped: mnist and resnet8 ($shared is not there)"
fi
exec 3>&-
wait
echo "$cases cases, $failures failed"
[ "$cases" -gt 0 ] && [ "$failures" -eq 0 ]
