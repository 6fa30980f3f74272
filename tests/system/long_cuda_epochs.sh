# Epochs of dataset files on a device, over the emulated driver: order, short batches and numbers are those of the CPU;
# the bits of a run depend neither on other replicas nor on the number of multiprocessors, nor on a stop within an epoch
# and within a schedule. The optimiser is SGD with momentum, whose state is one vector.

. tests/system/common.sh

SPEC=addition_sinusoid
STEPS=25 # more than an epoch of 21 batches
. tests/system/emulated.sh
DATASET=examples/dataset/$SPEC.lua
SOURCES=build/tests/specs/$SPEC

# float64: results of the CPU and of the device agree to all but the last digits.
builds() {
    set -- --set precision=float64 --set 'model={ layers = 1, heads = 4, width = 32, feedforward = 32 }' \
        --set 'train={ optimizer = { kind = "sgd", momentum = 0.9 }, schedule = { kind = "cosine", warmup = 8 } }' \
        --set train.learning_rate=0.05
    ./longhand gen $DATASET "$@" --out "$work/src" >/dev/null && mkdir -p $SOURCES &&
        cp "$work/src/device.cu" $SOURCES &&
        make -s LEVELS=best MORE_EMULATED=$SPEC "${library#"$root/"}" &&
        ./longhand build $DATASET "$@" --target cpu,cuda --arch sm_90 --levels best --out "$work/out"
}

# Losses identify the batches.
has_the_numbers_of_the_cpu() {
    train cpu --seed 3 --threads 2 && train_on_device chip '' --seed 3 &&
        have_equal_numbers "$(find_run cpu 3)/metrics.jsonl" "$(find_run chip 3)/metrics.jsonl" $((9 * STEPS))
}

keeps_bits_in_parts() {
    train_on_device parts multiprocessors=3,order=2 --seed 3 --steps 5 &&
        train_on_device parts '' --seed 3 --steps 23 --resume &&
        train_on_device parts multiprocessors=1,order=1 --seed 3 --resume &&
        cmp "$(find_checkpoint chip 3)" "$(find_checkpoint parts 3)"
}

keeps_bits_of_replicas() {
    train_on_device alone '' --seeds 4:4 && train_on_device fleet multiprocessors=2 --seeds 3:5 &&
        cmp "$(find_checkpoint alone 4)" "$(find_checkpoint fleet 4)"
}

refuses_another_optimiser() {
    ./longhand build $DATASET --set precision=float64 \
        --set 'model={ layers = 1, heads = 4, width = 32, feedforward = 32 }' --levels best --out "$work/adam" &&
        "$work/adam/trainer" train --out "$work/other" --no-eval --steps 1 --seed 3 --learning-rate 0.05 &&
        cp "$(find_checkpoint cpu 3)" "$(find_checkpoint other 3)" || return
    ends_with 1 'its optimiser is "sgd", this run'"'"'s is "adam"' "$work/adam/trainer" train --out "$work/other" \
        --no-eval --steps 9 --seed 3 --learning-rate 0.05 --resume &&
        "$work/adam/trainer" train --out "$work/begun" --no-eval --steps 2 --init "$(find_checkpoint cpu 3)"
}

expect cuda_epochs_builds builds
if [ "$failures" -eq 0 ]; then
    expect_each cuda_epochs_ has_the_numbers_of_the_cpu keeps_bits_in_parts keeps_bits_of_replicas \
        refuses_another_optimiser
fi
rm -rf "$SOURCES" "${library%.so}".*
finish
