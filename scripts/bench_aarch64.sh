#!/bin/sh
# Instructions that the kernel sets of aarch64 execute for 16 multiply-accumulates of ResNet-18's layers, requantization and all,
# on a processor that QEMU emulates: exact, and the same on any machine. Arguments: kernel sets (neon dotprod i8mm).
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/cross.sh
need $build_packages qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
cross arm64 aarch64-linux-gnu qemu-aarch64 ON
cc -O2 -shared -fPIC bench/instructions.c -o "$work/instructions.so"
[ $# -gt 0 ] || set -- neon dotprod i8mm

execute() { # kernel set, layer, repeats: what the program prints, then the plugin
    $emulate -cpu max -plugin "$work/instructions.so" build/arm64/itg_bench_kernels --network resnet18 --set "$1" --count "$2" \
        --repeats "$3" --samples 8 2>&1
}

echo "| layer | $(echo "$*" | sed 's/ / | /g') |"
echo "|---|$(echo "$*" | sed 's/[^ ]* */---|/g')"
for layer in 1 2 3 4 5 6 7 8 9 10 11 12; do
    cells=
    for kernels in "$@"; do
        one=$(execute "$kernels" $layer 1)
        cells="$cells $(printf '%s\n%s\n' "$one" "$(execute "$kernels" $layer 2)" | awk '
            /multiply-accumulates/ { macs = $1 }
            /^instructions/ { count[++n] = $2 }
            END { printf "%.2f |", (count[2] - count[1]) * 16 / macs }')"
    done
    name=$(printf '%s\n' "$one" | sed -n 's/.*multiply-accumulates of //p')
    echo "| $name |$cells"
done
