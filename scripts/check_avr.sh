#!/bin/sh
# C source of target avr on the chip that it describes: emitted, compiled by avr-gcc for an ATmega1284P (where int has 16 bits), run by
# simavr; its digest is the executor's. Networks that fit 16 KiB, for avr-gcc keeps constants in RAM. Usage: check_avr.sh [PROGRAM].
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need gcc-avr avr-libc simavr
program=${1:-build/release/intaglio}
data=../shared/data
[ -x "$program" ] || { echo "check_avr.sh: $program is absent: build first" >&2; exit 1; }
[ -d "$data/iris" ] || { echo "skipped: $data/iris is absent"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cat >"$work/console.h" <<'END'
#include <avr/io.h>
/* Behind the verdict the chip sleeps without interrupts, which ends simavr. */
static inline void show(const char *s)
{
    const char first = *s;
    while (*s) UDR0 = (uint8_t)*s++;
    UDR0 = '\n';
    if (first != 'd') __asm__ volatile("cli\n\tsleep");
}
#define PUTS(line) show(line)
END
failures=0
for bits in 8 5 4 2; do
    "$program" simulate $data/models/iris_winml_network.onnx --uniform 8 --weight-bits $bits --hw avr --calib $data/iris/x_f32.npy \
        --data $data/iris/x_f32.npy --limit 4 -o "$work/strategy.json" --json >"$work/score.json"
    "$program" realize $data/models/iris_winml_network.onnx "$work/strategy.json" --emit c -o "$work/c" --name net \
        --data $data/iris/x_f32.npy --samples 4 >/dev/null
    digest=$(sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$work/score.json")
    for level in -Os -O2; do
        avr-gcc -std=gnu99 $level -mmcu=atmega1284p -Wall -Wextra -Werror -include "$work/console.h" "$work/c/net.c" \
            "$work/c/net_selftest.c" -o "$work/net.elf"
        timeout 60 simavr -m atmega1284p -f 16000000 "$work/net.elf" >"$work/out" 2>&1 || true
        if [ ${#digest} = 64 ] && grep -q "digest $digest" "$work/out" && grep -q pass "$work/out"; then
            echo "equal   weights of $bits bits, $level"
        else
            echo "FAILED  weights of $bits bits, $level: expected $digest, got $(head -c 200 "$work/out")"
            failures=$((failures + 1))
        fi
    done
done
[ $failures = 0 ]
