# Trainers with a CUDA half over the emulated driver: the numbers of the CPU, equal bits for any other replicas and any
# multiprocessors of the device, resumed runs, and checkpoints that change between CPU and device.

. tests/system/common.sh

SPEC=emulated_rand_rope # float64: results of the CPU and of the device agree to all but the last digits
STEPS=3
trainer=$work/out/trainer
library=build/release/emulation/$SPEC.so

toolkit=$(sh runtime/cuda/toolkit.sh --root "" --arch sm_90 --least 75 2>/dev/null)
if [ -z "$toolkit" ]; then
    echo "skip cuda_runs: there is no CUDA toolkit to compile device code with"
    exit 0
fi
if ! printf '#include <functional>\nint main() { return 0; }\n' | ${CXX:-g++} -std=c++17 -x c++ -o "$work/probe" - 2>/dev/null; then
    echo "skip cuda_runs: ${CXX:-g++} does not compile C++"
    exit 0
fi

# Small batches: an emulated step takes a second of 128 sequences.
builds() {
    ./longhand gen tests/specs/$SPEC.lua --out build/tests/specs/$SPEC >/dev/null && make -s "$library" LEVELS=best &&
        ./longhand build tests/specs/$SPEC.lua --set train.batch=12 --target cpu,cuda --arch sm_90 --levels best \
            --out "$work/out"
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
    LONGHAND_CUDA_DRIVER=$root/$library LONGHAND_EMULATION=$emulation train "$directory" --device cuda "$@"
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

numbers_of_the_cpu() {
    train cpu --seed 3 --threads 1 && device chip '' --seed 3 || return
    same_numbers "$work"/cpu/*/*/*/metrics.jsonl "$work"/chip/*/*/*/metrics.jsonl
}

checkpoints() { echo "$work/$1"/*/*/lr*-seed"$2"/checkpoint.safetensors; }

chip_same_bits_on_any_device() {
    device chip3 order=3,multiprocessors=3 --seed 3 --threads 2 && device chip1 order=1,multiprocessors=1 --seed 3 || return
    cmp "$(checkpoints chip 3)" "$(checkpoints chip3 3)" && cmp "$(checkpoints chip 3)" "$(checkpoints chip1 3)"
}

fleet_same_bits_as_alone() {
    device alone '' --seeds 4:4 && device fleet order=2,multiprocessors=2 --seeds 3:5 2>"$work/output" || return
    cat "$work/output"
    grep -q '3 replicas in 2 rounds of 2, a block each: 2 blocks are resident' "$work/output" || return
    cmp "$(checkpoints alone 4)" "$(checkpoints fleet 4)"
}

continues_to_same_bits() {
    device parts '' --seeds 4:5 --steps 2 && device parts multiprocessors=6 --seeds 3:5 --resume || return
    for seed in 3 4 5; do
        cmp "$(checkpoints fleet $seed)" "$(checkpoints parts $seed)" || return
    done
}

evaluates_either_on_either() {
    for device in cpu cuda; do
        LONGHAND_CUDA_DRIVER=$root/$library "$trainer" eval --device $device --checkpoint "$(checkpoints fleet 4)" \
            --lengths 5,23 --examples 9 --draws 2 --out "$work/eval.$device" --per-example "$work/each.$device" || return
    done
    same_numbers "$work/each.cpu" "$work/each.cuda" && same_numbers "$work/eval.cpu/eval.jsonl" "$work/eval.cuda/eval.jsonl"
}

predicts_the_same() {
    for device in cpu cuda; do
        echo '{"input":[1,4,0,2],"positions":[3,1,7,9,11,12,13,20]}' |
            LONGHAND_CUDA_DRIVER=$root/$library "$trainer" predict --device $device \
                --checkpoint "$(checkpoints cpu 3)" | tr '[]' '  ' >"$work/logits.$device" || return
    done
    same_numbers "$work/logits.cpu" "$work/logits.cuda"
}

refuses_the_other_device() {
    ends_with 1 'cannot go on from it: source_digest is' train chip --seed 3 --steps 9 --resume &&
        ends_with 1 'cannot go on from it: level is "sm_90 replicas" there, "sm_90 chip" here' \
            device fleet '' --seed 3 --steps 9 --resume
}

# A bundle lists its requirements, reports a missing driver, and trains elsewhere to the bits of replicas. The cell has
# the spec's name, because names of kernels contain it.
bundled() {
    cp tests/specs/$SPEC.lua "$work" || return
    cat >"$work/bundled.lua" <<END
return {
  title = "bundled",
  base = { use = "./$SPEC.lua", train = { batch = 12, steps = $STEPS }, eval = { lengths = { 3, 4 }, examples = 2 } },
  axes = { { name = "spec", values = { { name = "$SPEC", spec = {} } } } },
  seeds = { 4, 5 },
}
END
    ends_with 0 '1 cell, 2 runs' ./longhand bundle "$work/bundled.lua" --device cuda --arch sm_90 --levels best \
        --out "$work/bundled.tar.gz" && tar xzf "$work/bundled.tar.gz" -C "$work" &&
        grep -qE "glibc [0-9.]+ or later, an NVIDIA driver .* \(CUDA [0-9]+\.0\)$" "$work/bundled/needs.txt" || return
    ends_with 4 'no CUDA driver on this machine' env LONGHAND_CUDA_DRIVER=/none sh "$work/bundled/run.sh" &&
        ends_with 0 '2 of 2 runs done' env LONGHAND_CUDA_DRIVER="$root/$library" sh "$work/bundled/run.sh" &&
        cmp "$(checkpoints fleet 4)" "$(checkpoints bundled/runs 4)"
}

expect cuda_runs_builds builds
if [ "$failures" -eq 0 ]; then
    for name in numbers_of_the_cpu chip_same_bits_on_any_device fleet_same_bits_as_alone continues_to_same_bits \
        evaluates_either_on_either predicts_the_same refuses_the_other_device bundled; do
        expect "cuda_runs_$name" $name
    done
fi
finish
