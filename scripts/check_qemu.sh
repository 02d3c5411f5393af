#!/bin/sh
# The same bits elsewhere: builds for aarch64 and big-endian s390x, runs the embedded example under qemu-user with a strategy made on
# the host (so calibration statistics are given), and compares the digests of simulation and of the executor with the host's.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/cross.sh
need $build_packages qemu-user gcc-aarch64-linux-gnu gcc-s390x-linux-gnu libc6-dev-arm64-cross libc6-dev-s390x-cross

host=build/release/intaglio
cmake --preset release >/dev/null
build --preset release --target intaglio
model=examples/digits.onnx
data="--data examples/digits_test_images.npy --labels examples/digits_test_labels.npy --limit 24"

field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1; }

failed=0
passed=0
compare() { # what, expected, found
    if [ "$2" = "$3" ] && [ -n "$2" ]; then
        passed=$((passed + 1))
        echo "equal: $1 $2"
    else
        failed=$((failed + 1))
        echo "DIFFERS: $1: host $2, found $3"
    fi
}

report() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}

# Each weight of the third target has a zero point.
targets="x86-vnni cortex-m zero-points"
sed '/"w[78]":/{s/"zero_point": false/"zero_point": true/;s/, "full_range": true//}' hardware/targets/cortex-m.json >"$work/hw-zero-points.json"
hardware() { # target
    case $1 in zero-points) echo "$work/hw-zero-points.json" ;; *) echo "$1" ;; esac
}

for target in $targets; do
    $host simulate $model --definition --uniform 8 --hw "$(hardware $target)" --scale 1/255 --calib examples/digits_search_images.npy $data \
        -o "$work/$target.json" --json >"$work/$target.simulate"
    $host realize $model "$work/$target.json" -o "$work/$target.itg" --json >/dev/null
    $host realize $model "$work/$target.json" --emit qdq -o "$work/$target.onnx" --json >/dev/null
    $host run "$work/$target.itg" $data --json >"$work/$target.run"
    compare "host run, $target" "$(field digest <"$work/$target.simulate")" "$(field digest <"$work/$target.run")"
done

strategy() { # program, target, file: statistics by the reference kernels, and weight codes by reconstruction
    $1 simulate $model --uniform 8 --weight-bits 3 --hw "$(hardware "$2")" --scale 1/255 --calib examples/digits_search_images.npy --calib-limit 16 \
        $data --threads 1 -o "$3" --json >/dev/null
}
for target in cortex-m zero-points; do strategy "$host" $target "$work/host-$target.json"; done

# Every kernel set of aarch64, and the one that an older processor chooses.
compare_sets() {
    for kernels in "max portable" "max neon" "max dotprod" "max i8mm" "cortex-a53 neon"; do
        for target in $targets; do
            compare "arm64 run, $target, processor and kernels $kernels" "$(field digest <"$work/$target.run")" \
                "$($emulate -cpu "${kernels% *}" -E "INTAGLIO_KERNELS=${kernels#* }" build/arm64/intaglio run "$work/$target.itg" \
                    $data --threads 1 --json | field digest)"
        done
    done
    older=$($emulate -cpu cortex-a53 build/arm64/intaglio doctor --json | sed 's/.*"kernels in use"[^}]*"found": "\([a-z0-9]*\)".*/\1/')
    compare "kernels that a Cortex-A53 chooses:" neon "$older"
}

check_platform() { # name
    passed=0
    failed=0
    mkdir -p "$work/$1"
    for target in $targets; do
        expected=$(field digest <"$work/$target.run")
        compare "$1 run, $target" "$expected" "$($run run "$work/$target.itg" $data --threads 1 --json | field digest)"
        compare "$1 simulate, $target" "$expected" \
            "$($run simulate $model --definition "$work/$target.json" $data --threads 1 --json | field digest)"
        $run realize $model "$work/$target.json" -o "$work/$1/program.itg" --json >/dev/null
        compare "$1 realize, $target" "$(sha256sum <"$work/$target.itg")" "$(sha256sum <"$work/$1/program.itg")"
        $run realize $model "$work/$target.json" --emit qdq -o "$work/$1/qdq.onnx" --json >/dev/null
        compare "$1 QDQ model, $target" "$(sha256sum <"$work/$target.onnx")" "$(sha256sum <"$work/$1/qdq.onnx")"
    done
    for target in cortex-m zero-points; do
        strategy "$run" $target "$work/$1/strategy.json"
        compare "$1 strategy, $target" "$(sha256sum <"$work/host-$target.json")" "$(sha256sum <"$work/$1/strategy.json")"
    done
    case $1 in arm64) compare_sets ;; esac
    report
}

# One platform's runs, which use one thread, lie beside the other's build.
pids=
for platform in "arm64 aarch64-linux-gnu qemu-aarch64" "s390x s390x-linux-gnu qemu-s390x"; do
    # shellcheck disable=SC2086
    cross $platform
    check_platform "${platform%% *}" >"$work/${platform%% *}.log" 2>&1 &
    pids="$pids $!"
done
status=0
for pid in $pids; do wait "$pid" || status=1; done
cat "$work/arm64.log" "$work/s390x.log"
report && [ $status = 0 ]
