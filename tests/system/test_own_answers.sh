# A decoder whose targets end with a symbol is evaluated by its own answers; counts are compared with those of predict.

. tests/system/common.sh
. tests/system/own_answers.sh

cat >"$work/ends.lua" <<'END'
return {
  task = { kind = "binary_addition" },
  encoding = { kind = "rope", positions = { kind = "randomized", max_position = 64 } },
  model = { use = "ruoss_decoder", layers = 2, heads = 2, width = 32, feedforward = 64, dropout = 0,
    norm = { place = "pre" } },
  train = { use = "quick", batch = 64, lengths = { 1, 6 }, steps = 300, learning_rate = 3e-3 },
  eval = { lengths = { 5, 5 }, examples = 50, during = { every = 200, examples = 150 } },
}
END
END_TOKEN=2

are_evaluated_in_training() {
    "$work/trainer/trainer" train --out "$work/runs" --threads 2 >"$work/table" || return
    grep -q '"split":"during".*"examples":150,.*"decoding":"greedy","greedy_examples":128,"accuracy":' \
        "$(find_run runs)/eval.jsonl" && grep -q "exact match" "$work/table" &&
        grep -q "teacher-forced" "$work/table"
}

# Some answers end too early or never; their number depends on the bits of this level and compiler.
are_counted() {
    own_answers_are_those_of_predict "$work/trainer/trainer" "$checkpoint" 9 80 $END_TOKEN &&
        awk '{ exit !($3 + $4 > 0) }' "$work/own/actual"
}

# The counts of lines for single examples add up to the evaluation's, and each line names its decoding.
have_lines_of_examples() {
    "$work/trainer/trainer" eval --checkpoint "$checkpoint" --lengths 9 --examples 80 --out "$work/lines" \
        --per-example "$work/each" --wrong "$work/wrong" >/dev/null || return
    [ "$(grep -c '"decoding":"greedy"' "$work/each")" -eq 80 ] &&
        [ "$(grep -c '"decoding":"greedy"' "$work/wrong")" -eq 20 ] &&
        sed 's/.*"correct":\([0-9]*\),"counted":\([0-9]*\),"exact":\([01]\).*/\1 \2 \3/' "$work/each" |
        awk -v a="$(read_number accuracy "$work/lines/eval.jsonl")" \
            -v e="$(read_number exact_match "$work/lines/eval.jsonl")" '{ c += $1; n += $2; x += $3 }
                END { exit !((c / n - a) ^ 2 < 1e-18 && (x / NR - e) ^ 2 < 1e-18) }'
}

# With --resume, lines of one decoding are not used for another.
are_not_used_for_another_decoding() {
    eval="$work/trainer/trainer eval --checkpoint $checkpoint --lengths 9 --examples 80 --resume --out $work/apart"
    mkdir -p "$work/apart" && $eval --decoding teacher_forced >/dev/null && $eval >/dev/null || return
    [ "$(wc -l <"$work/apart/eval.jsonl")" -eq 2 ] || return
    first=$(head -n 1 "$work/apart/eval.jsonl")
    case $first in *'"accuracy":'*) return 1 ;; esac
    [ "$(read_number accuracy_teacher_forced "$work/apart/eval.jsonl")" = \
        "$(echo "$first" | sed 's/.*"accuracy_teacher_forced":\([0-9.]*\).*/\1/')" ] || return
    [ "$(read_number exact_match "$work/apart/eval.jsonl")" = \
        "$(echo "$first" | sed 's/.*"exact_match":\([0-9.]*\).*/\1/')" ] || return
    $eval --decoding teacher_forced >/dev/null && $eval >/dev/null && [ "$(wc -l <"$work/apart/eval.jsonl")" -eq 2 ]
}

need_a_known_decoding() {
    "$work/trainer/trainer" eval --checkpoint "$checkpoint" --decoding beam 2>"$work/message"
    [ $? -eq 2 ] && grep -q "expected: greedy or teacher_forced" "$work/message"
}

expect own_answers_trainer ./longhand build "$work/ends.lua" --levels best --out "$work/trainer"
if [ "$failures" -eq 0 ]; then
    expect_each own_answers_ are_evaluated_in_training
    checkpoint=$(find_run runs)/checkpoint.safetensors
    expect_python own_answers_are_counted are_counted
    expect_each own_answers_ have_lines_of_examples are_not_used_for_another_decoding need_a_known_decoding
fi
finish
