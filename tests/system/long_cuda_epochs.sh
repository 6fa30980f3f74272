# Epochs of dataset files on a device, over the emulated driver: order, short batches and numbers are those of the CPU;
# equal bits for any other replicas, any multiprocessors of the device, and after a stop within an epoch and within a
# schedule. SGD with momentum, whose state is one vector.

. tests/system/common.sh

ID=addition_sinusoid
SPEC=examples/dataset/$ID.lua
SPECS=build/tests/specs/$ID
STEPS=25 # more than an epoch of 21 batches
trainer=$work/out/trainer
library=build/release/emulation/$ID.so

toolkit=$(sh runtime/cuda/toolkit.sh --root "" --arch sm_90 --least 75 2>/dev/null)
if [ -z "$toolkit" ]; then
    echo "skip cuda_epochs: there is no CUDA toolkit to compile device code with"
    exit 0
fi
if ! printf '#include <functional>\nint main() { return 0; }\n' | ${CXX:-g++} -std=c++17 -x c++ -o "$work/probe" - 2>/dev/null; then
    echo "skip cuda_epochs: ${CXX:-g++} does not compile C++"
    exit 0
fi

# float64: results of the CPU and of the device agree to all but the last digits.
builds() {
    set -- --set precision=float64 --set 'model={ layers = 1, heads = 4, width = 32, feedforward = 32 }' \
        --set 'train={ optimizer = { kind = "sgd", momentum = 0.9 }, schedule = { kind = "cosine", warmup = 8 } }'
    ./longhand gen $SPEC "$@" --out "$work/src" >/dev/null && mkdir -p $SPECS && cp "$work/src/device.cu" $SPECS &&
        make -s LEVELS=best MORE_EMULATED=$ID "$library" &&
        ./longhand build $SPEC "$@" --target cpu,cuda --arch sm_90 --levels best --out "$work/out"
}

# train DIR FLAGS: on the CPU. device DIR EMULATION FLAGS: on the emulated device.
train() {
    directory=$work/$1
    shift
    "$trainer" train --out "$directory" --no-eval --log-every 1 --steps $STEPS --learning-rate 0.05 "$@"
}
device() {
    directory=$1 emulation=$2
    shift 2
    LONGHAND_CUDA_DRIVER=$root/$library LONGHAND_EMULATION=$emulation train "$directory" --device cuda "$@"
}

# Compares all numbers of all lines but times and rates, to ten digits; losses identify the batches.
numbers_of_the_cpu() {
    train cpu --seed 3 --threads 2 && device chip '' --seed 3 || return
    paste -d ' ' "$work"/cpu/*/*/*/metrics.jsonl "$work"/chip/*/*/*/metrics.jsonl | tr ':,}' '   ' | awk '
        { half = NF / 2
          for (i = 2; i <= half; i++) {
              if ($(i - 1) ~ /second/ || $i !~ /^[-+0-9.e]+$/) continue
              a = $i; b = $(i + half); d = a - b; if (d < 0) d = -d; if (a < 0) a = -a
              seen++
              if (d > 1e-10 * (a + 1e-3)) { print "line " NR ": " $(i - 1) " " $i " and " b; bad = 1 }
          } }
        END { exit bad || seen < 9 * '$STEPS' }'
}

checkpoints() { echo "$work/$1"/*/*/lr*-seed"$2"/checkpoint.safetensors; }

same_bits_in_parts() {
    device parts multiprocessors=3,order=2 --seed 3 --steps 5 && device parts '' --seed 3 --steps 23 --resume &&
        device parts multiprocessors=1,order=1 --seed 3 --resume && cmp "$(checkpoints chip 3)" "$(checkpoints parts 3)"
}

same_bits_in_a_fleet() {
    device alone '' --seeds 4:4 && device fleet multiprocessors=2 --seeds 3:5 &&
        cmp "$(checkpoints alone 4)" "$(checkpoints fleet 4)"
}

refuses_another_optimiser() {
    ./longhand build $SPEC --set precision=float64 --set 'model={ layers = 1, heads = 4, width = 32, feedforward = 32 }' \
        --levels best --out "$work/adam" &&
        "$work/adam/trainer" train --out "$work/other" --no-eval --steps 1 --seed 3 --learning-rate 0.05 &&
        cp "$(checkpoints cpu 3)" "$(checkpoints other 3)" || return
    ends_with 1 'its optimiser is "sgd", this run'"'"'s is "adam"' "$work/adam/trainer" train --out "$work/other" --no-eval \
        --steps 9 --seed 3 --learning-rate 0.05 --resume &&
        "$work/adam/trainer" train --out "$work/begun" --no-eval --steps 2 --init "$(checkpoints cpu 3)"
}

expect cuda_epochs_builds builds
if [ "$failures" -eq 0 ]; then
    for name in numbers_of_the_cpu same_bits_in_parts same_bits_in_a_fleet refuses_another_optimiser; do
        expect "cuda_epochs_$name" $name
    done
fi
rm -rf "$SPECS" "$library" "build/release/emulation/$ID.o" "build/release/emulation/$ID.cpp"
finish
