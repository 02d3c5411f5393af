#!/bin/sh
# The same bits elsewhere: builds for aarch64 and big-endian s390x, runs the embedded example under qemu-user with a strategy made on
# the host (so calibration statistics are given), and compares the digests of simulation and of the executor with the host's.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages qemu-user gcc-aarch64-linux-gnu gcc-s390x-linux-gnu libc6-dev-arm64-cross libc6-dev-s390x-cross

host=build/release/intaglio
cmake --preset release >/dev/null
build --preset release --target intaglio
work=$PWD/build/qemu
mkdir -p "$work"
model=examples/digits.onnx
data="--data examples/digits_test_images.npy --labels examples/digits_test_labels.npy --limit 24"

field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1; }

# Libraries of the foreign architecture, unpacked beside the build: nothing of them is installed.
sysroot() { # architecture
    root=$work/sysroot-$1
    [ -e "$root/.done" ] && return
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    dpkg --print-foreign-architectures | grep -qx "$1" || { $as_root dpkg --add-architecture "$1"; $as_root apt-get update -qq; }
    mkdir -p "$root/debs"
    (
        cd "$root/debs"
        for package in libprotobuf-c1 libprotobuf-c-dev libcjson1 libcjson-dev zlib1g zlib1g-dev libzip4 libzip-dev libsqlite3-0 \
            libsqlite3-dev libbz2-1.0 liblzma5 libzstd1 libssl3 libgomp1; do
            apt-get download -qq "$package:$1" 2>/dev/null || apt-get download -qq "${package}t64:$1"
        done
    )
    for deb in "$root"/debs/*.deb; do dpkg -x "$deb" "$root"; done
    touch "$root/.done"
}

cross() { # architecture, triplet, qemu
    sysroot "$1"
    root=$work/sysroot-$1
    PKG_CONFIG_LIBDIR=$root/usr/lib/$2/pkgconfig:$root/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
        cmake -S . -B "build/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DITG_BUILD_TESTS=OFF -DCMAKE_SYSTEM_NAME=Linux \
        -DCMAKE_C_COMPILER="$2-gcc" -DCMAKE_FIND_ROOT_PATH="$root" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER \
        -DITG_BUILD_BENCH=OFF -DCMAKE_SKIP_BUILD_RPATH=ON -DCMAKE_LIBRARY_ARCHITECTURE="$2" -DZLIB_ROOT="$root/usr" \
        -DCMAKE_EXE_LINKER_FLAGS="-Wl,-rpath-link,$root/usr/lib/$2 -Wl,-rpath-link,$root/lib/$2" >/dev/null
    build "build/$1"
    run="$3 -L /usr/$2 -E LD_LIBRARY_PATH=$root/usr/lib/$2:$root/lib/$2 -E OMP_WAIT_POLICY=passive build/$1/intaglio"
}

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

for target in x86-vnni cortex-m; do
    $host simulate $model --uniform 8 --hw $target --scale 1/255 --calib examples/digits_search_images.npy $data \
        -o "$work/$target.json" --json >"$work/$target.simulate"
    $host realize $model "$work/$target.json" -o "$work/$target.itg" --json >/dev/null
    $host realize $model "$work/$target.json" --emit qdq -o "$work/$target.onnx" --json >/dev/null
    $host run "$work/$target.itg" $data --json >"$work/$target.run"
    compare "host run, $target" "$(field digest <"$work/$target.simulate")" "$(field digest <"$work/$target.run")"
done
for platform in "arm64 aarch64-linux-gnu qemu-aarch64" "s390x s390x-linux-gnu qemu-s390x"; do
    # shellcheck disable=SC2086
    cross $platform
    for target in x86-vnni cortex-m; do
        expected=$(field digest <"$work/$target.run")
        compare "$platform run, $target" "$expected" "$($run run "$work/$target.itg" $data --threads 1 --json | field digest)"
        compare "$platform simulate, $target" "$expected" "$($run simulate $model "$work/$target.json" $data --threads 1 --json | field digest)"
        $run realize $model "$work/$target.json" -o "$work/foreign.itg" --json >/dev/null
        compare "$platform realize, $target" "$(sha256sum <"$work/$target.itg")" "$(sha256sum <"$work/foreign.itg")"
        $run realize $model "$work/$target.json" --emit qdq -o "$work/foreign.onnx" --json >/dev/null
        compare "$platform QDQ model, $target" "$(sha256sum <"$work/$target.onnx")" "$(sha256sum <"$work/foreign.onnx")"
    done
    # Calibration too, and weight codes by reconstruction: statistics by the reference kernels are the same everywhere.
    $run simulate $model --uniform 8 --weight-bits 3 --hw cortex-m --scale 1/255 --calib examples/digits_search_images.npy --calib-limit 16 $data --threads 1 \
        -o "$work/foreign.json" --json >/dev/null
    $host simulate $model --uniform 8 --weight-bits 3 --hw cortex-m --scale 1/255 --calib examples/digits_search_images.npy --calib-limit 16 $data --threads 1 \
        -o "$work/host.json" --json >/dev/null
    compare "$platform strategy" "$(sha256sum <"$work/host.json")" "$(sha256sum <"$work/foreign.json")"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
