# Positions sampled for every sequence, and dropout in evaluation: equal bits for any threads, other replicas and
# interruptions; batches of an evaluation; given positions; traces.

. tests/system/common.sh

SPEC=parity_float64_labels
FLAGS="--log-every 5 --checkpoint-every 10"
trainer=$work/out/trainer

builds() {
    ./longhand gen tests/specs/$SPEC.lua --out "$work/src" >/dev/null &&
        make -s trainer LEVELS=best ID=$SPEC SOURCES="$work/src" OUT="$work/out"
}

train() {
    directory=$work/$1
    shift
    "$trainer" train --out "$directory" --steps 30 $FLAGS "$@" >/dev/null
}

folder() { echo "$work/$1"/*/*/lr*-seed"$2"; }

same() {
    for file in checkpoint.safetensors eval.jsonl; do
        cmp "$(folder "$1" "$3")/$file" "$(folder "$2" "$3")/$file" || return
    done
}

same_bits() {
    train one --threads 1 --seed 1 && train three --threads 3 --seed 1 && same one three 1 || return
    train parts --threads 2 --seed 1 --steps 13 --no-eval && train parts --threads 3 --seed 1 --resume && same one parts 1 ||
        return
    train group --threads 2 --seeds 0:2 && same one group 1
}

evaluate() { "$trainer" eval --checkpoint "$(folder one 1)/checkpoint.safetensors" --lengths 5,9 --examples 20 "$@"; }

batches() {
    for threads in 1 3; do
        evaluate --threads $threads --batch 8 --draws 3 --out "$work/batches$threads" --per-example "$work/each" || return
    done
    cmp "$work/batches1/eval.jsonl" "$work/batches3/eval.jsonl" && [ "$(wc -l <"$work/each")" -eq 120 ] || return
    grep -c '"examples":20,"batch":8,"draws":3' "$work/batches1/eval.jsonl" | grep -x 2 || return
    evaluate --draws 3 --out "$work/whole" && ! grep -q batch "$work/whole/eval.jsonl" || return
    # The accuracy of a draw is the mean over its batches of 8, 8 and 4.
    awk -F'[:,}]' '$2 == 9 { n = int($4 / 8); right[$6, n] += $8; all[$6, n] += $10 }
        END { for (at in right) sum += right[at] / all[at]; printf "%.9f\n", sum / 9 }' "$work/each" >"$work/expected"
    sed -n 's/.*"length":9.*"accuracy":\([0-9.]*\).*/\1/p' "$work/batches1/eval.jsonl" |
        awk '{ printf "%.9f\n", $1 }' | cmp - "$work/expected"
}

too_many_draws() {
    ends_with 1 'length 5: 5000 draws in each of 20 batches' evaluate --batch 1 --draws 5000 --out "$work/many"
}

overfit_refused() {
    ends_with 1 '--overfit: this spec has eval.dropout' "$trainer" train --overfit 4 --out "$work/overfit"
}

# Given positions lie from 1 to 64.
given() {
    file=$(folder one 1)/checkpoint.safetensors
    echo '{"input":[1,0,4],"positions":[1,2,3,4,5,64]}' >"$work/given.jsonl"
    "$trainer" predict --checkpoint "$file" <"$work/given.jsonl" >"$work/first" &&
        "$trainer" predict --checkpoint "$file" <"$work/given.jsonl" | cmp - "$work/first" &&
        "$trainer" trace --checkpoint "$file" --input "$work/given.jsonl" --out "$work/traced" >/dev/null || return
    sed 's/\[1,2/[0,2/' "$work/given.jsonl" >"$work/low.jsonl"
    ends_with 1 'positions[0] is no integer from 1 to 64' "$trainer" predict --checkpoint "$file" <"$work/low.jsonl"
}

# Each input has a number, as examples have, so two equal inputs have different positions. A file ends with the scores
# of the last layer, 2 heads and 6 tokens, and with the tokens and 3 answers.
traces() {
    file=$(folder one 1)/checkpoint.safetensors
    echo '{"input":[1,0,4]}' >"$work/once.jsonl"
    cat "$work/once.jsonl" "$work/once.jsonl" >"$work/twice.jsonl"
    for inputs in once twice; do
        "$trainer" trace --checkpoint "$file" --what scores --input "$work/$inputs.jsonl" --out "$work/$inputs" || return
    done
    tail -c 612 "$work/once" | head -c 576 >"$work/alone"
    tail -c 1224 "$work/twice" | head -c 576 | cmp - "$work/alone" &&
        ! tail -c 648 "$work/twice" | head -c 576 | cmp -s - "$work/alone" || return
    # Each answer is reported with the number of its draw.
    drawn() { "$trainer" trace --checkpoint "$file" --what entropy --input "$work/twice.jsonl" --draws 2 "$@"; }
    drawn --json | sed -n 's/^{"index":\([01]\),"draw":\([01]\),"input":.*/\1 \2/p' >"$work/told" &&
        printf '0 0\n0 1\n1 0\n1 1\n' | cmp - "$work/told" && [ "$(drawn | grep -c '^draw    2 of 2$')" -eq 2 ]
}

expect draws_trainer_builds builds
if [ "$failures" -eq 0 ]; then
    expect draws_same_bits same_bits
    expect draws_batches batches
    expect draws_too_many too_many_draws
    expect draws_overfit_refused overfit_refused
    expect draws_given given
    expect draws_traces traces
fi
finish
