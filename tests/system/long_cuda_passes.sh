# A model whose training steps draw their passes, on an emulated device: it is trained with the passes of the CPU, and
# evaluated at several numbers of passes.

. tests/system/common.sh

SPEC=emulated_passes # float64: results of the CPU and of the device agree to all but the last digits
STEPS=3
. tests/system/emulated.sh

trains_as_the_cpu() {
    train cpu --seed 4 && train_on_device cuda '' --seed 4 || return
    have_equal_numbers "$(find_run cpu 4)/metrics.jsonl" "$(find_run cuda 4)/metrics.jsonl" 9
}

# Evaluates the model of the device: DEVICE.
evaluate() {
    emulate '' "$trainer" eval --device "$1" --checkpoint "$(find_checkpoint cuda 4)" --lengths 3,9 --examples 20 \
        --passes 2,4,9 --decoding teacher_forced --out "$work/eval.$1" >/dev/null
}

# Compares all numbers, with the uncertainty of each line and the lists of each example.
evaluates_as_the_cpu_at_every_number_of_passes() {
    evaluate cpu && evaluate cuda && [ "$(grep -c '"uncertainty":[0-9.]*[1-9]' "$work/eval.cuda/eval.jsonl")" -eq 6 ] &&
        [ "$(grep -c '"by_example":{"uncertainty":\[' "$work/eval.cuda/eval.jsonl")" -eq 6 ] &&
        have_equal_numbers "$work/eval.cpu/eval.jsonl" "$work/eval.cuda/eval.jsonl" 360
}

expect cuda_passes_builds build_both --set train.batch=6 --set 'train.lengths={6,7}' --set 'eval.lengths={6,9,step=3}'
if [ "$failures" -eq 0 ]; then
    expect_each cuda_passes_ trains_as_the_cpu evaluates_as_the_cpu_at_every_number_of_passes
fi
finish
