# Trainers of a wide model over the emulated driver and an emulated cuBLASLt: the numbers of the CPU, equal bits for any
# other replicas and any multiprocessors of the device, resumed runs, and the message without the library.

. tests/system/common.sh

SPEC=emulated_wide_rand_rope # float64: results of the CPU and of the device agree to all but the last digits
STEPS=4
trainer=$work/out/trainer
library=build/release/emulation/$SPEC.so

toolkit=$(sh runtime/cuda/toolkit.sh --root "" --arch sm_90 --least 75 2>/dev/null)
if [ -z "$toolkit" ]; then
    echo "skip cuda_wide: there is no CUDA toolkit to compile device code with"
    exit 0
fi
if ! printf '#include <functional>\nint main() { return 0; }\n' | ${CXX:-g++} -std=c++17 -x c++ -o "$work/probe" - 2>/dev/null; then
    echo "skip cuda_wide: ${CXX:-g++} does not compile C++"
    exit 0
fi

# Small batches and short sequences: an emulated step is slow.
builds() {
    ./longhand gen tests/specs/$SPEC.lua --out build/tests/specs/$SPEC >/dev/null && make -s "$library" LEVELS=best &&
        ./longhand build tests/specs/$SPEC.lua --set train.batch=6 --set 'train.lengths={1,8}' --target cpu,cuda \
            --arch sm_90 --levels best --out "$work/out"
}

# train DIR FLAGS: on the CPU. device DIR EMULATION FLAGS: on the emulated device.
train() {
    directory=$work/$1
    shift
    "$trainer" train --out "$directory" --no-eval --log-every 1 --steps $STEPS "$@"
}
device() {
    directory=$1 emulation=$2
    shift 2
    LONGHAND_CUDA_DRIVER=$root/$library LONGHAND_CUBLASLT=$root/$library LONGHAND_EMULATION=$emulation \
        train "$directory" --device cuda "$@"
}

# Compares the numbers of two runs, line by line, to ten digits.
same_numbers() {
    paste -d ' ' "$1" "$2" | tr ':,}' '   ' | awk '
        { half = NF / 2
          for (i = 2; i <= half; i++) {
              if ($(i - 1) ~ /second/ || $i !~ /^[-+0-9.e]+$/) continue
              a = $i; b = $(i + half); d = a - b; if (d < 0) d = -d; if (a < 0) a = -a
              seen++
              if (d > 1e-10 * (a + 1e-3)) { print "line " NR ": " $(i - 1) " " $i " and " b; bad = 1 }
          } }
        END { exit bad || seen < 12 }'
}

# A thread's part of a head fits in its registers: the text is that of make cuda-all (tests/cuda/check.sh).
fits_registers() {
    ./longhand gen tests/specs/$SPEC.lua --target cpu,cuda --set precision=float32 --out build/cuda/specs/$SPEC \
        >/dev/null || return
    words=$(echo "$toolkit" | cut -d ' ' -f 1-3)
    for architecture in sm_80 sm_90; do
        goal=build/cuda/$(echo "$words" | cut -d ' ' -f 1,2 | tr ' ' -)/$SPEC.$architecture
        make -s "$goal" TOOLKIT="$words" && grep -q 'bytes spill stores' "$goal.log" || return
        ! grep -E '[1-9][0-9]* bytes spill (stores|loads)' "$goal.log" || return
    done
}

numbers_of_the_cpu() {
    train cpu --seed 3 --threads 1 && device chip '' --seed 3 2>"$work/output" || return
    cat "$work/output"
    grep -q 'one model on 4 of 4 resident blocks, products by cuBLASLt 13.1.0' "$work/output" || return
    same_numbers "$work"/cpu/*/*/*/metrics.jsonl "$work"/chip/*/*/*/metrics.jsonl
}

# Compares tensors alone: a checkpoint names the algorithms that the library chose, which depend on the device.
same_tensors() {
    for file in "$1" "$2"; do ${LUA:-lua5.4} tests/bits/tensors.lua "$file" >"$file.tensors" || return; done
    cmp "$1.tensors" "$2.tensors"
}

checkpoints() { echo "$work/$1"/*/*/lr*-seed"$2"/checkpoint.safetensors; }

# The library may also be one that adds no biases.
chip_same_bits_on_any_device() {
    device chip3 order=3,multiprocessors=3 --seed 3 --threads 2 &&
        device chip1 order=1,multiprocessors=1,plain_products=1 --seed 3 || return
    same_tensors "$(checkpoints chip 3)" "$(checkpoints chip3 3)" &&
        same_tensors "$(checkpoints chip 3)" "$(checkpoints chip1 3)"
}

fleet_same_bits_as_alone() {
    device alone '' --seeds 4:4 && device fleet order=2,multiprocessors=2 --seeds 3:5 2>"$work/output" || return
    cat "$work/output"
    grep -q '3 replicas, one after the other, on 2 of 2 resident blocks' "$work/output" || return
    same_tensors "$(checkpoints alone 4)" "$(checkpoints fleet 4)"
}

continues_to_same_bits() {
    device parts '' --seeds 4:5 --steps 2 &&
        ends_with 1 'on 6 multiprocessors, algorithms' device parts multiprocessors=6 --seeds 4:5 --resume &&
        grep -q 'on 4 multiprocessors, algorithms' "$work/.out" && device parts '' --seeds 3:5 --resume || return
    for seed in 3 4 5; do
        same_tensors "$(checkpoints fleet $seed)" "$(checkpoints parts $seed)" || return
    done
}

evaluates_either_on_either() {
    for device in cpu cuda; do
        LONGHAND_CUDA_DRIVER=$root/$library LONGHAND_CUBLASLT=$root/$library "$trainer" eval --device $device \
            --checkpoint "$(checkpoints fleet 4)" --lengths 5,23 --examples 9 --draws 2 --out "$work/eval.$device" \
            --per-example "$work/each.$device" || return
    done
    same_numbers "$work/each.cpu" "$work/each.cuda" && same_numbers "$work/eval.cpu/eval.jsonl" "$work/eval.cuda/eval.jsonl"
}

reports_what_is_missing() {
    ends_with 4 'no cuBLASLt for the products of a model as wide as this one; looked in: ' env \
        LONGHAND_CUDA_DRIVER="$root/$library" LONGHAND_CUDA_ROOT="$work/nowhere" \
        "$trainer" train --out "$work/none" --device cuda --steps 1 &&
        ends_with 4 'has no function cublasLtGetVersion' env LONGHAND_CUDA_DRIVER="$root/$library" \
            LONGHAND_CUBLASLT="$work/other.so" "$trainer" train --out "$work/none" --device cuda --steps 1
}

expect cuda_wide_builds builds
printf 'int nothing;\n' | ${CC:-cc} -shared -fPIC -x c -o "$work/other.so" -
if [ "$failures" -eq 0 ]; then
    for name in fits_registers numbers_of_the_cpu chip_same_bits_on_any_device fleet_same_bits_as_alone \
        continues_to_same_bits evaluates_either_on_either reports_what_is_missing; do
        expect "cuda_wide_$name" $name
    done
fi
finish
