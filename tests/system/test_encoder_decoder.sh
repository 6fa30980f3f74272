# An encoder-decoder is trained on a task, evaluated by its own answers, decoded token by token, and has device code.

. tests/system/common.sh
. tests/system/own_answers.sh

cat >"$work/reverse_pair.lua" <<'END'
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "sinusoid" },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 2, width = 32, feedforward = 64,
    dropout = 0 },
  train = { use = "quick", batch = 64, lengths = { 1, 4 }, steps = 1200, learning_rate = 3e-3 },
  eval = { lengths = { 4, 4 }, examples = 200 },
}
END

cat >"$work/reverse_two.lua" <<'END'
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "alibi_causal" },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 8, width = 32, feedforward = 64,
    dropout = 0 },
  train = { use = "quick", batch = 64, lengths = { 2, 2 }, steps = 600, learning_rate = 3e-3 },
  eval = { lengths = { 2, 2 }, examples = 200 },
}
END

# With a causal preset the encoder still attends to both sides, and every answer to the whole input: the first answer is
# the input's last symbol.
learns_with_a_causal_preset() {
    ./longhand build "$work/reverse_two.lua" --levels best --out "$work/two" >/dev/null 2>&1 || return
    "$work/two/trainer" train --out "$work/runs_of_two" --threads 2 >/dev/null || return
    exact=$(sed -n 's/.*"exact_match":\([0-9.]*\).*/\1/p' "$(find_run runs_of_two)/eval.jsonl" | tail -1)
    echo "exact match $exact" && [ "$exact" = 1 ]
}

# The model learns the task: its loss falls, and most answers are right; guessing is right for one of sixteen.
learns() {
    "$work/trainer/trainer" train --out "$work/runs" --threads 2 >/dev/null || return
    run=$(find_run runs)
    exact=$(sed -n 's/.*"exact_match":\([0-9.]*\).*/\1/p' "$run/eval.jsonl" | tail -1)
    losses=$(sed -n 's/.*"loss":\([-0-9.e]*\).*/\1/p' "$run/metrics.jsonl" | sed -n '1p;$p' | tr '\n' ' ')
    echo "exact match $exact; loss $losses"
    echo "$exact $losses" | awk '{ exit !($1 > 0.7 && $3 < $2 / 4) }'
}

# Greedy answers are right if the teacher-forced ones are.
predicts() {
    right=$(count_reversed "$work/trainer/trainer" "$run/checkpoint.safetensors") &&
        echo "$right of 16" && [ "$right" -ge 12 ]
}

counts_own_answers() {
    own_answers_are_those_of_predict "$work/trainer/trainer" "$run/checkpoint.safetensors" 6 100
}

traces_cross_attention() {
    "$work/trainer/trainer" trace --checkpoint "$run/checkpoint.safetensors" --what attention --lengths 4 --examples 2 \
        --out "$work/trace" >/dev/null &&
        grep -aq '"n4.decoder.layers.1.cross.attention":{[^}]*"shape":\[2,2,4,4\]' "$work/trace"
}

# Both halves are built by default if there is a network for each.
has_device_code() {
    ./longhand gen "$work/reverse_pair.lua" --out "$work/both" 2>"$work/message" &&
        [ ! -s "$work/message" ] && grep -q "^INLINE void cross_attend_backward" "$work/both/device.cu" &&
        grep -q "step.tokens\[1\]" "$work/both/device.cu" && [ -e "$work/both/cuda.c" ]
}

expect encoder_decoder_builds ./longhand build "$work/reverse_pair.lua" --levels best --out "$work/trainer"
if [ "$failures" -eq 0 ]; then
    expect encoder_decoder_learns learns
    run=$(find_run runs)
    expect_each encoder_decoder_ predicts traces_cross_attention
    expect_python encoder_decoder_counts_own_answers counts_own_answers
fi
expect_each encoder_decoder_ learns_with_a_causal_preset has_device_code
finish
