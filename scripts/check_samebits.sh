#!/bin/sh
# Same bits everywhere: one digest from simulation, the executors, and the emitted C of real networks on eleven machines, Cortex-M3,
# M4, M7 and M55 among them; and the flash it takes. Options: --full (all networks, targets, strategies and levels: some hours), --only NAME.
set -eu
cd "$(dirname "$0")/.."
data=../shared/data
if [ ! -d "$data/models" ]; then
    echo "SKIP: $data is absent"
    exit 0
fi
. scripts/packages.sh
need $build_packages python3 clang qemu-user qemu-system-arm gcc-arm-none-eabi libnewlib-arm-none-eabi \
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross \
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross
cmake --preset release >/dev/null
build --preset release --target intaglio
PYTHONDONTWRITEBYTECODE=1 exec python3 tests/samebits/check_samebits.py build/release/intaglio "$data" "$@"
