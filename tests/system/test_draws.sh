# Positions sampled for every sequence, and dropout in evaluation: equal bits for any threads, other replicas and
# interruptions; batches of an evaluation; given positions; traces.

. tests/system/common.sh

SPEC=parity_float64_labels
FLAGS="--log-every 5 --checkpoint-every 10"
trainer=$work/out/trainer

train() {
    directory=$work/$1
    shift
    "$trainer" train --out "$directory" --steps 30 $FLAGS "$@" >/dev/null
}

# Whether a run of seed 1 has the results of the run `one`: FOLDER.
equals_one() { have_equal_results "$(find_run one 1)" "$(find_run "$1" 1)" eval.jsonl; }

keeps_bits() {
    train one --threads 1 --seed 1 && train three --threads 3 --seed 1 && equals_one three || return
    train parts --threads 2 --seed 1 --steps 13 --no-eval && train parts --threads 3 --seed 1 --resume &&
        equals_one parts || return
    train group --threads 2 --seeds 0:2 && equals_one group
}

evaluate() { "$trainer" eval --checkpoint "$(find_run one 1)/checkpoint.safetensors" --lengths 5,9 --examples 20 "$@"; }

# Evaluations of 20 examples in batches of 8 have the same results with any number of threads.
evaluates_in_batches() {
    for threads in 1 3; do
        evaluate --threads $threads --batch 8 --draws 3 --out "$work/batches$threads" \
            --per-example "$work/each" || return
    done
    # Two lengths of 20 examples have three draws each.
    cmp "$work/batches1/eval.jsonl" "$work/batches3/eval.jsonl" && [ "$(wc -l <"$work/each")" -eq 120 ] || return
    grep -c '"examples":20,"batch":8,"draws":3' "$work/batches1/eval.jsonl" | grep -x 2 || return
    evaluate --draws 3 --out "$work/whole" && ! grep -q batch "$work/whole/eval.jsonl" || return
    # The accuracy of a draw is the mean over its batches of 8, 8 and 4.
    awk -F'[:,}]' '$2 == 9 { n = int($4 / 8); right[$6, n] += $8; all[$6, n] += $10 }
        END { for (at in right) sum += right[at] / all[at]; printf "%.9f\n", sum / 9 }' "$work/each" >"$work/expected"
    sed -n 's/.*"length":9.*"accuracy":\([0-9.]*\).*/\1/p' "$work/batches1/eval.jsonl" |
        awk '{ printf "%.9f\n", $1 }' | cmp - "$work/expected"
}

refuses_too_many_draws() {
    ends_with 1 'length 5: 5000 draws in each of 20 batches' evaluate --batch 1 --draws 5000 --out "$work/many"
}

refuses_overfit() {
    ends_with 1 '--overfit: this spec has eval.dropout' "$trainer" train --overfit 4 --out "$work/overfit"
}

# The smallest allowed position is 1, the largest 64.
uses_given_positions() {
    file=$(find_run one 1)/checkpoint.safetensors
    echo '{"input":[1,0,4],"positions":[1,2,3,4,5,64]}' >"$work/given.jsonl"
    "$trainer" predict --checkpoint "$file" <"$work/given.jsonl" >"$work/first" &&
        "$trainer" predict --checkpoint "$file" <"$work/given.jsonl" | cmp - "$work/first" &&
        "$trainer" trace --checkpoint "$file" --input "$work/given.jsonl" --out "$work/traced" >/dev/null || return
    sed 's/\[1,2/[0,2/' "$work/given.jsonl" >"$work/low.jsonl"
    ends_with 1 'positions[0] is not an integer from 1 to 64' "$trainer" predict --checkpoint "$file" <"$work/low.jsonl"
}

# Each input has a number, as examples have, so two equal inputs have different positions. A file ends with the scores
# of the last layer, 2 heads and 6 tokens, and with the tokens and 3 answers.
traces() {
    file=$(find_run one 1)/checkpoint.safetensors
    echo '{"input":[1,0,4]}' >"$work/once.jsonl"
    cat "$work/once.jsonl" "$work/once.jsonl" >"$work/twice.jsonl"
    for inputs in once twice; do
        "$trainer" trace --checkpoint "$file" --what scores --input "$work/$inputs.jsonl" \
            --out "$work/$inputs" || return
    done
    tail -c 612 "$work/once" | head -c 576 >"$work/alone"
    tail -c 1224 "$work/twice" | head -c 576 | cmp - "$work/alone" &&
        ! tail -c 648 "$work/twice" | head -c 576 | cmp -s - "$work/alone" || return
    # Each answer is reported with the number of its draw.
    trace_two_draws() { "$trainer" trace --checkpoint "$file" --what entropy --input "$work/twice.jsonl" \
        --draws 2 "$@"; }
    trace_two_draws --json | sed -n 's/^{"index":\([01]\),"draw":\([01]\),"input":.*/\1 \2/p' >"$work/numbers" &&
        printf '0 0\n0 1\n1 0\n1 1\n' | cmp - "$work/numbers" &&
        [ "$(trace_two_draws | grep -c '^draw    2 of 2$')" -eq 2 ]
}

expect draws_trainer_builds ./longhand build tests/specs/$SPEC.lua --levels best --out "$work/out"
if [ "$failures" -eq 0 ]; then
    expect_each draws_ keeps_bits evaluates_in_batches refuses_too_many_draws refuses_overfit uses_given_positions \
        traces
fi
finish
