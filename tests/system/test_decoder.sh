# A decoder: it is trained on a task, evaluated by its own answers, and decoded token by token. The gradients of another
# decoder, with alibi and swiglu, are checked.

. tests/system/common.sh
. tests/system/own_answers.sh

cat >"$work/reverse_decoder.lua" <<'END'
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = { use = "ruoss_decoder", layers = 2, heads = 2, width = 32, feedforward = 64, dropout = 0,
    norm = { place = "pre" } },
  train = { use = "quick", batch = 64, lengths = { 1, 4 }, steps = 600, learning_rate = 3e-3 },
  eval = { lengths = { 4, 4 }, examples = 200 },
}
END

# The model learns the task: its accuracy was 1 for each of five seeds; guessing gives one half.
learns() {
    "$work/trainer/trainer" train --out "$work/runs" --threads 2 >/dev/null || return
    run=$(find_run runs)
    accuracy=$(sed -n 's/.*"accuracy":\([0-9.]*\).*/\1/p' "$run/eval.jsonl" | tail -1)
    echo "accuracy $accuracy" && awk -v a="$accuracy" 'BEGIN { exit !(a > 0.9) }'
}

# A decoder that learnt from given targets also decodes right answers: they were 16 of 16 for each of five seeds.
predicts() {
    right=$(count_reversed "$work/trainer/trainer" "$run/checkpoint.safetensors") &&
        echo "$right of 16" && [ "$right" -ge 14 ]
}

# --wrong writes twenty wrong answers for strings of an untrained length; predict gives the same answers. --places
# counts the answers at each place.
prints_wrong_answers() {
    "$work/trainer/trainer" eval --checkpoint "$run/checkpoint.safetensors" --lengths 4,9 --examples 100 --batch 30 \
        --out "$work/eval" --wrong "$work/wrong" --places >/dev/null || return
    [ "$(grep -c '"places":{"sequences":100,"start":{"counted":\[100,.*"first_error":\[' "$work/eval/eval.jsonl")" -eq 2 ] ||
        return
    sed 's/.*"input":"\([01]*\)","target":"\([01]*\)","answer":"\([01]*\)"}/\1 \2 \3/' "$work/wrong" >"$work/fields"
    [ "$(grep -c '"length":9,"example":[0-9]*,"draw":0,' "$work/wrong")" -eq 20 ] || return
    while read -r text target answer; do
        [ "$target" != "$answer" ] && [ "$target" = "$(echo "$text" | rev)" ] || return
        [ "$("$work/trainer/trainer" predict --text "$text" --checkpoint "$run/checkpoint.safetensors")" = "$answer" ] ||
            return
    done <"$work/fields"
}

counts_own_answers() {
    own_answers_are_those_of_predict "$work/trainer/trainer" "$run/checkpoint.safetensors" 6 100
}

# bench measures decoding with cached keys and values, and by whole passes; replicas have no such line.
benches() {
    "$work/trainer/trainer" bench --seconds 0.02 --threads 1 --lengths 4 --json >"$work/rates" &&
        grep -q '^{"mode":"decode","length":4,"answers":4,"sequences":32,"threads":1,"answers_per_second":[1-9]' \
            "$work/rates" && "$work/trainer/trainer" bench --seconds 0.02 --lengths 4 --replicas 1 >"$work/rates" &&
        ! grep -q "^decode" "$work/rates"
}

# The export has the answers, and the logits from which each was chosen.
exports() {
    ./longhand export pytorch "$run" --spec "$work/reverse_decoder.lua" --trainer "$work/trainer/trainer" \
        --out "$work/torch" && [ "$(grep -c '"output":\[[01,]*\],"logits":\[\[' "$work/torch/stored.jsonl")" -eq 6 ]
}

has_right_gradients() {
    ./longhand build tests/specs/networks/decoder_alibi_swiglu.lua --levels best --out "$work/double" >/dev/null &&
        "$work/double/trainer" gradcheck
}

expect decoder_builds ./longhand build "$work/reverse_decoder.lua" --levels best --out "$work/trainer"
if [ "$failures" -eq 0 ]; then
    expect decoder_learns learns
    run=$(find_run runs)
    expect_each decoder_ predicts prints_wrong_answers benches exports
    expect_python decoder_counts_own_answers counts_own_answers
    expect_torch decoder_agrees_in_torch "$PYTHON" tests/python/use_model.py "$work/torch"
fi
expect decoder_has_right_gradients has_right_gradients
finish
