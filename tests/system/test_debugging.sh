# Messages of trainings that cannot work: failing steps, runaway runs, --overfit and its causes. All checks passed in 15
# of 15 runs, --seed 0 to 4 at x86-64, x86-64-v3 and x86-64-v4.

. tests/system/common.sh

# build NAME ENCODING: sorting with a small model.
build() {
    cat >"$work/$1.lua" <<SPEC
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "$2" },
  model = { layers = 2, heads = 4, width = 32, feedforward = 64, dropout = 0.0 },
  train = { batch = 16, learning_rate = 1e-3, steps = 200, lengths = { 1, 10 }, log_every = 20 },
  eval = { lengths = { 5, 6 }, examples = 10 },
}
SPEC
    ./longhand gen "$work/$1.lua" --out "$work/src/$1" >/dev/null &&
        make -s trainer LEVELS=best ID="$1" SOURCES="$work/src/$1" OUT="$work/$1"
}

build_both() {
    make -s library || return
    build sorts sinusoid &
    first=$!
    build blind none && wait $first
}

# train NAME FLAGS
train() {
    trainer=$work/$1/trainer
    shift
    "$trainer" train --out "$work/runs" --threads 1 --no-eval --overwrite "$@"
}

overfit() {
    name=$1
    shift
    train "$name" --overfit 4 "$@"
}

# The message must hold both texts: CAUSE HINT COMMAND.
fails_with() {
    cause=$1 hint=$2
    shift 2
    ends_with 1 "$cause" "$@" && grep -qF -e "$hint" "$work/.out" || { cat "$work/.out" && return 1; }
}

# Hints of --overfit are right: the same training with their flags learns its data. Arguments: the largest number of
# hints to follow, one after the other; then the flags of the training.
hint_works() {
    hints=$1
    shift
    while [ "$hints" -gt 0 ]; do
        flags=$(sed -n 's/.*hint: \(--[a-z-]* [0-9.e+-]*\).*/\1/p' "$work/.out")
        echo "trying: $flags"
        [ -n "$flags" ] || return
        overfit sorts "$@" $flags >"$work/.out" 2>&1 && grep 'accuracy 1.0000' "$work/.out" && return
        hints=$((hints - 1))
    done
    cat "$work/.out"
    return 1
}

rate_too_low() {
    fails_with 'the learning rate is too low' '--learning-rate 0.001' overfit sorts --learning-rate 1e-7 &&
        hint_works 1
}

rate_too_high() {
    fails_with 'the learning rate is too high' 'times that of guessing' overfit sorts --learning-rate 10 &&
        hint_works 1
}

outputs_collapse() {
    fails_with 'different inputs now give the same output' '(at the start: all)' overfit sorts --learning-rate 0.1 &&
        hint_works 1
}

# The proposed steps are an extrapolation; with seeds 2 and 4 it is wrong, and they need the second hint.
steps_too_few() {
    fails_with 'still falling' '--steps ' overfit sorts --learning-rate 3e-5 --steps 100 &&
        hint_works 3 --learning-rate 3e-5
}

no_positions() {
    fails_with 'cannot tell apart positions' 'where a token stands' overfit blind
}

# A training warns if the first update destroys the model, and stops if the gradient overflows; the checkpoint before it
# is usable.
infinite_gradient() {
    fails_with "the gradient's norm is inf; no update was made" 'task length ' train sorts --learning-rate 1e4 \
        --checkpoint-every 1 && grep -q 'gradient: .* in [a-z]*\.' "$work/.out" || return
    grep -q 'warning: step 1: the training may be running away: the update has a norm of' "$work/.out" || return
    grep -q 'it was written after the warning of a runaway' "$work/.out" || return
    file=$(sed -n 's/.*last checkpoint is of step [0-9]*: //p' "$work/.out")
    "$work/sorts/trainer" eval --checkpoint "$file" --out "$work/eval"
}

expect debugging_trainers_build build_both
if [ "$failures" -eq 0 ]; then
    expect debugging_rate_too_low_told rate_too_low
    expect debugging_rate_too_high_told rate_too_high
    expect debugging_collapse_told outputs_collapse
    expect debugging_too_few_steps_told steps_too_few
    expect debugging_no_positions_told no_positions
    expect debugging_infinite_gradient_told infinite_gradient
fi
finish
