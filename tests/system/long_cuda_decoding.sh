# Greedy decoding with cached keys and values on an emulated device: it has the answers of the CPU, for one model and
# for several side by side.

. tests/system/common.sh

SPEC=emulated_decoder # float64: the CPU and the device choose the same answers
STEPS=2
. tests/system/emulated.sh

# Trains on the emulated device, and evaluates: FOLDER PROPERTIES FLAGS.
train_and_evaluate() {
    directory=$1 properties=$2
    shift 2
    emulate "$properties" "$trainer" train --out "$work/$directory" --steps $STEPS --device cuda "$@"
}

# Evaluates the model's own answers to 30 sequences of each length, and writes wrong ones, at most 20 of each length, to
# $work/wrong.DEVICE: DEVICE.
evaluate() {
    emulate '' "$trainer" eval --device "$1" --checkpoint "$(find_checkpoint alone 4)" --lengths 3,9,14 --examples 30 \
        --out "$work/eval.$1" --wrong "$work/wrong.$1" >/dev/null
}

gives_the_answers_of_the_cpu() {
    train_and_evaluate alone '' --seed 4 && evaluate cpu && evaluate cuda || return
    [ "$(wc -l <"$work/wrong.cpu")" -ge 20 ] && cmp "$work/wrong.cpu" "$work/wrong.cuda"
}

answers_side_by_side_as_alone() {
    train_and_evaluate one '' --seeds 4:4 && train_and_evaluate fleet order=2,multiprocessors=2 --seeds 3:5 || return
    grep -q '"decoding":"greedy"' "$(find_run one 4)/eval.jsonl" && cmp "$(find_run one 4)/eval.jsonl" \
        "$(find_run fleet 4)/eval.jsonl"
}

expect cuda_decoding_builds build_both --set train.batch=6 --set 'train.lengths={6,7}' --set eval.examples=8 \
    --set 'eval.lengths={6,9,step=3}'
if [ "$failures" -eq 0 ]; then
    expect_each cuda_decoding_ gives_the_answers_of_the_cpu answers_side_by_side_as_alone
fi
finish
