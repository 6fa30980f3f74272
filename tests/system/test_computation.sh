# Computation tokens with dataset files: training, resume, evaluation. Predictions and traces have the whole sequence,
# and an example of a file keeps its size.

. tests/system/common.sh

trainer=$work/out/trainer
cat >"$work/tokens.lua" <<'END'
return {
  task = { data = "train.jsonl", input_symbols = 3, output_symbols = 2, longest = 6, computation = 2 },
  encoding = { kind = "sinusoid", positions = { kind = "randomized", max_position = 16 } },
  model = { layers = 1, heads = 2, width = 16, feedforward = 16 },
  train = { batch = 4, shards = 2, steps = 20, log_every = 10 },
}
END
for i in 1 2 3 4; do
    echo '{"input":[2,0,1,2],"target":[1,0]}'
    echo '{"input":[1],"target":[0]}'
done >"$work/train.jsonl"

builds() {
    ./longhand build "$work/tokens.lua" --levels best --out "$work/out" &&
        ends_with 0 '2 computation tokens per input token (pause tokens)' ./longhand plan "$work/tokens.lua"
}

trains_and_resumes() {
    set -- --data "$work/train.jsonl" --no-eval
    "$trainer" train --out "$work/whole" --threads 1 "$@" && "$trainer" train --out "$work/parts" --steps 7 "$@" &&
        "$trainer" train --out "$work/parts" --resume "$@" &&
        cmp "$(find_run whole)/checkpoint.safetensors" "$(find_run parts)/checkpoint.safetensors"
}

# Inputs of 1 and 4 tokens make sequences of 4 and 14 tokens; the reported lengths are those of the inputs.
evaluates() {
    ends_with 0 'all train  1..4' "$trainer" eval --data "$work/train.jsonl" \
        --checkpoint "$(find_run whole)/checkpoint.safetensors"
}

predicts() {
    echo '{"input":[2,0,1,2],"outputs":2,"positions":[0,1,2,3,4,5,6,7,8,9,10,11,12,15]}' >"$work/right"
    echo '{"input":[2,0,1,2],"outputs":2,"positions":[0,1,2,3,4,5]}' >"$work/short"
    set -- "$trainer" predict --checkpoint "$(find_run whole)/checkpoint.safetensors"
    ends_with 0 '"argmax":[' "$@" <"$work/right" && ends_with 1 'expected: 14, one per token' "$@" <"$work/short"
}

# Tokens 3 and 4 are the computation token and the empty one.
traces() {
    "$trainer" trace --checkpoint "$(find_run whole)/checkpoint.safetensors" --input "$work/right" \
        --what activations --out "$work/trace" &&
        od -An -v -td4 "$work/trace" | tr -s ' \n' ' ' | grep -q ' 2 0 1 2 3 3 3 3 3 3 3 3 4 4 '
}

expect_each computation_ builds trains_and_resumes evaluates predicts traces
finish
