#!/bin/sh
# sh check_emitted.sh PROGRAM CC FOLDER DATA: C source of real networks. Each is quantized to a uniform width, emitted,
# verified by its certificate, compiled without a warning, and run: its digest must be that of `intaglio run`, its
# weights as large as the artefact's. The rule: networks by size, one width and one target each in turn, all targets for
# the first. Exit 77 (CTest: skipped): no data, or no compiler.
program=$1 cc=$2 folder=$3 data=$4
flags="-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -O1"
[ -d "$data/models" ] || { echo "skipped: no $data/models"; exit 77; }
mkdir -p "$folder"
echo 'int main(void){return 0;}' > "$folder/probe.c"
$cc "$folder/probe.c" -o "$folder/probe" 2> /dev/null || { echo "skipped: no compiler"; exit 77; }
failed=0 checked=0

fail()
{
    echo "FAILED: $1"
    failed=1
}

field() # of JSON on standard input
{
    tr ',{}' '\n\n\n' | sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\"]*\)\"\{0,1\} *\$/\1/p" | head -n 1
}

# check NAME MODEL SAMPLES TARGET BITS [preprocessing...]
check()
{
    name=$1_$4_$5 model=$data/models/$2 samples=$data/$3 target=$4 bits=$5
    shift 5
    [ -f "$model" ] && [ -f "$samples" ] || { echo "$name: skipped, no data"; return; }
    out=$folder/$name
    "$program" simulate "$model" --uniform "$bits" --hw "$target" --calib "$samples" --calib-limit 20 --data "$samples" \
        --limit 2 -o "$out.json" "$@" > /dev/null || { fail "$name: simulate"; return; }
    "$program" realize "$model" "$out.json" --emit c -o "$out" --name net --data "$samples" --samples 2 --json \
        > "$out.emitted" || { fail "$name: emit"; return; }
    "$program" verify "$out" > "$out.verified" || { fail "$name: verify"; return; }
    "$program" run "$out/net.itg" --data "$samples" --limit 2 --json > "$out.ran" || { fail "$name: run"; return; }
    $cc $flags "$out/net.c" "$out/net_selftest.c" -o "$out/test" || { fail "$name: does not compile"; return; }
    "$out/test" > "$out.digest" || { fail "$name: its own test"; return; }
    expected=$(field digest < "$out.ran")
    [ -n "$expected" ] && grep -q "$expected" "$out.digest" || fail "$name: not the digest of run"
    emitted=$(field weight_bytes < "$out.emitted") least=$(field weight_bytes < "$out.ran") more=0
    # Channels whose codes are multiplied where they lie take whole words.
    grep -q 'int32_t start = dense_start(\|^ *both_start(' "$out/net.c" && more=$((least / 32 + 128))
    [ "$emitted" -ge "$least" ] && [ "$emitted" -le $((least + more)) ] || fail "$name: weight bytes"
    checked=$((checked + 1))
    echo "$name: $(field weight_bytes < "$out.emitted") bytes of weights, $(cat "$out.digest" | head -n 1)"
}

mnist=mnist/calib-images-idx3-ubyte.gz cifar=cifar10/calib_images_u8.npy
own="--scale 1/255 --mean 0.4914,0.4822,0.4465 --std 0.2471,0.2435,0.2616"
check iris iris_winml_network.onnx iris/x_f32.npy cortex-m 8
for target in cortex-m vta cvm; do
    check onnxjs mnist_onnxjs_7.onnx $mnist $target 3
done
check resnet8 resnet8_cifar10.onnx $cifar cortex-m 6 $own
check mnist256 vnn_mnist-net_256x2.onnx $mnist vta 4 --scale 1/255
for target in armv8-dot esp32 fpga tlu nic; do
    check onnxjs mnist_onnxjs_7.onnx $mnist $target 6
done
check mbv2 mbv2_cifar10.onnx $cifar cvm 8 $own
[ $checked -gt 0 ] || [ $failed -ne 0 ] || exit 77
exit $failed
