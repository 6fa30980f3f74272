# A decoder: trained on a task, evaluated by teacher-forced passes, decoded token by token; and its gradients, in the
# form of large decoders.

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

# The model learns the task: accuracy 1 for each of five seeds; guessing gives one half.
learns() {
    "$work/trainer/trainer" train --out "$work/runs" --threads 2 >/dev/null || return
    run=$(echo "$work"/runs/reverse_decoder/*/lr0.003-seed0)
    accuracy=$(sed -n 's/.*"accuracy":\([0-9.]*\).*/\1/p' "$run/eval.jsonl" | tail -1)
    echo "accuracy $accuracy" && awk -v a="$accuracy" 'BEGIN { exit !(a > 0.9) }'
}

# A decoder that learnt from given targets also decodes right answers: 16 of 16 for each of five seeds.
predicts() {
    run=$(echo "$work"/runs/reverse_decoder/*/lr0.003-seed0)
    right=0
    for text in 0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011 1100 1101 1110 1111; do
        expected=$(echo $text | awk '{ for (i = length($0); i; i--) printf "%s", substr($0, i, 1) }')
        actual=$("$work/trainer/trainer" predict --text $text --checkpoint "$run/checkpoint.safetensors") || return
        [ "$actual" = "$expected" ] && right=$((right + 1))
    done
    echo "$right of 16" && [ $right -ge 14 ]
}

# --wrong writes twenty wrong answers for strings of an untrained length; predict gives the same answers.
prints_wrong_answers() {
    run=$(echo "$work"/runs/reverse_decoder/*/lr0.003-seed0)
    "$work/trainer/trainer" eval --checkpoint "$run/checkpoint.safetensors" --lengths 4,9 --examples 100 --batch 30 \
        --out "$work/eval" --wrong "$work/wrong" >/dev/null || return
    sed 's/.*"input":"\([01]*\)","target":"\([01]*\)","answer":"\([01]*\)"}/\1 \2 \3/' "$work/wrong" >"$work/fields"
    [ "$(grep -c '"length":9,"example":[0-9]*,"draw":0,' "$work/wrong")" -eq 20 ] || return
    while read -r text target answer; do
        [ "$target" != "$answer" ] && [ "$target" = "$(echo "$text" | rev)" ] || return
        [ "$("$work/trainer/trainer" predict --text "$text" --checkpoint "$run/checkpoint.safetensors")" = "$answer" ] ||
            return
    done <"$work/fields"
}

counts_own_answers() {
    run=$(echo "$work"/runs/reverse_decoder/*/lr0.003-seed0)
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
    run=$(echo "$work"/runs/reverse_decoder/*/lr0.003-seed0)
    ./longhand export pytorch "$run" --spec "$work/reverse_decoder.lua" --trainer "$work/trainer/trainer" \
        --out "$work/torch" && [ "$(grep -c '"output":\[[01,]*\],"logits":\[\[' "$work/torch/stored.jsonl")" -eq 6 ]
}

gradients_are_right() {
    ./longhand build tests/specs/networks/decoder_alibi_swiglu.lua --levels best --out "$work/double" >/dev/null &&
        "$work/double/trainer" gradcheck
}

expect decoder_builds ./longhand build "$work/reverse_decoder.lua" --levels best --out "$work/trainer"
if [ "$failures" -eq 0 ]; then
    expect decoder_learns learns
    expect decoder_predicts_token_by_token predicts
    expect decoder_prints_wrong_answers prints_wrong_answers
    expect_python decoder_counts_own_answers counts_own_answers
    expect decoder_bench_has_decoding benches
    expect decoder_is_exported exports
    if "$PYTHON" -c 'import torch' 2>/dev/null; then
        expect decoder_agrees_in_torch "$PYTHON" tests/python/use_model.py "$work/torch"
    else
        echo "skip decoder_agrees_in_torch: $PYTHON has no torch (LONGHAND_PYTHON names another Python)"
    fi
fi
expect decoder_gradients_are_right gradients_are_right
finish
