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

totals=$(mktemp)
trap 'rm -f "$totals"' EXIT
echo "| layer | $(echo "$*" | sed 's/ / | /g') |"
echo "|---|$(echo "$*" | sed 's/[^ ]* */---|/g')"
for layer in 1 2 3 4 5 6 7 8 9 10 11 12; do
    cells=
    for kernels in "$@"; do
        one=$(execute "$kernels" $layer 1)
        # times, multiply-accumulates, instructions
        counts=$(printf '%s\n%s\n' "$one" "$(execute "$kernels" $layer 2)" | awk '
            /multiply-accumulates/ { times = $1; macs = $3 }
            /^instructions/ { count[++n] = $2 }
            END { printf "%d %.0f %.0f", times, macs, count[2] - count[1] }')
        echo "$kernels $counts" >>"$totals"
        cells="$cells $(echo "$counts" | awk '{ printf "%.2f |", $3 * 16 / $2 }')"
    done
    name=$(printf '%s\n' "$one" | sed -n 's/.*multiply-accumulates of //p')
    echo "| $name |$cells"
done
cells=
for kernels in "$@"; do
    cells="$cells $(awk -v set="$kernels" '$1 == set { macs += $2 * $3; all += $2 * $4 } END { printf "%.2f |", all * 16 / macs }' "$totals")"
done
echo "| all, as often as the network has them |$cells"
