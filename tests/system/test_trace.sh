# The verb trace of a trainer: its files, examples and given inputs, means, and refused requests.

. tests/system/common.sh

LUA=${LUA:-lua5.4}
TRAINER=$work/sorts/trainer

build() {
    cat >"$work/sorts.lua" <<'SPEC'
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "rope", positions = { kind = "randomized", max_position = 64 } },
  model = { layers = 2, heads = 4, width = 32, feedforward = 64, dropout = 0.1 },
  train = { batch = 16, learning_rate = 1e-3, steps = 30, lengths = { 1, 10 } },
  eval = { lengths = { 5, 6 }, examples = 10 },
}
SPEC
    ./longhand build "$work/sorts.lua" --levels best --out "$work/sorts" &&
        "$TRAINER" train --out "$work/runs" --threads 1 --no-eval
}

trace() { "$TRAINER" trace --checkpoint "$checkpoint" "$@"; }

check() { $LUA tests/support/check_trace.lua "$@"; }

ALL=attention,scores,activations,entropy

writes_one_example_by_default() {
    trace --out "$work/plain.safetensors" >"$work/output" || return
    check tensors "$work/plain.safetensors" >"$work/tensors"
    printf '%s\t%s\t%s\n' n5.layers.0.attention F32 '1 4 10 10' n5.layers.1.attention F32 '1 4 10 10' \
        n5.tokens I32 '1 10' | cmp - "$work/tensors" || return
    grep -q 'n5.layers.0.attention .* 1600 bytes .*\[1\]\[4\]\[10\]\[10\]' "$work/output" &&
        [ "$(check meta "$work/plain.safetensors" id)" = sorts ] &&
        [ "$(check meta "$work/plain.safetensors" checkpoint)" = "$checkpoint" ] &&
        [ "$(check meta "$work/plain.safetensors" step)" = 30 ]
}

writes_all_kinds() {
    trace --what $ALL --lengths 3:7:4 --examples 3 --draws 2 --out "$work/all.safetensors" &&
        check attention "$work/all.safetensors" && check tensors "$work/all.safetensors" | grep -F '2 3 4 14 14'
}

averages() {
    trace --what $ALL --lengths 3:7:4 --examples 3 --draws 2 --average --out "$work/mean.safetensors" &&
        check mean "$work/all.safetensors" "$work/mean.safetensors" &&
        [ "$(check meta "$work/mean.safetensors" examples)" = 3 ] &&
        [ "$(check meta "$work/mean.safetensors" draws)" = 2 ]
}

# Inputs that equal the examples of a length have the same bits in a trace.
gives_inputs_the_bits_of_examples() {
    "$TRAINER" sample --length 6 --count 3 >"$work/inputs.jsonl" &&
        trace --what $ALL --length 6 --examples 3 --out "$work/examples.safetensors" &&
        trace --what $ALL --input "$work/inputs.jsonl" --out "$work/given.safetensors" &&
        check same "$work/examples.safetensors" "$work/given.safetensors"
}

prints_entropy() {
    trace --what entropy --lengths 5:6 --json >"$work/lines" && [ "$(wc -l <"$work/lines")" -eq 4 ] &&
        grep -q '^{"length":6,"layer":"layers.1","uniform":2.48490664978800[0-9]*,"mean":[0-9.]*,"entropy":\[' "$work/lines"
}

refuses_wrong_requests() {
    ends_with 2 'attention, scores, activations, entropy' trace --what heat --out "$work/x" &&
        ends_with 2 '--out: missing' trace --what entropy,scores &&
        ends_with 2 'exclude each other' trace --length 5 --lengths 5:6 --out "$work/x" &&
        ends_with 2 'leave out --examples' trace --input "$work/inputs.jsonl" --examples 2 --out "$work/x" &&
        ends_with 1 'max_position = 64' trace --length 40 --out "$work/x" &&
        ends_with 1 'bad.jsonl: line 2: input[1] is 9' trace_bad_input &&
        ends_with 4 'none/x: cannot make a temporary file in its folder' trace --out "$work/none/x" &&
        [ ! -e "$work/x" ]
}

trace_bad_input() {
    printf '{"input":[1,2]}\n{"input":[1,9]}\n' >"$work/bad.jsonl"
    trace --input "$work/bad.jsonl" --out "$work/x"
}

# Every verb refuses a checkpoint with a flipped bit in the length, a name, metadata, parameters or optimiser state.
refuses_damaged_checkpoints() {
    echo '{"input":[1,2]}' >"$work/line.jsonl"
    for place in 1 '"dtype"' '"step":"' last middle; do
        flip "$place" <"$checkpoint" >"$work/flipped" && ! cmp -s "$work/flipped" "$checkpoint" || return
        ends_with 1 "$work/flipped: " "$TRAINER" eval --checkpoint "$work/flipped" --out "$work/eval" &&
            ends_with 1 "$work/flipped: " "$TRAINER" predict --checkpoint "$work/flipped" <"$work/line.jsonl" &&
            ends_with 1 "$work/flipped: " "$TRAINER" trace --checkpoint "$work/flipped" --out "$work/x" &&
            ends_with 1 "$work/flipped: " "$TRAINER" train --init "$work/flipped" --out "$work/init" || return
    done
}

# Copies stdin with a flipped bit in one byte: after a text of the header, or at an offset of the file.
flip() {
    PLACE=$1 $LUA -e 'local text, place = io.read("a"), os.getenv("PLACE")
        local _, found = text:find(place, 1, true)
        local at = tonumber(place) or place == "middle" and #text // 2 or place == "last" and #text or found + 2
        io.write(text:sub(1, at - 1), string.char(text:byte(at) ~ 1), text:sub(at + 1))'
}

# The error comes before the computation: the attention of 2 layers, 4 heads, 64 x 64 tokens and 100,000 examples does
# not fit in 300 MB of address space.
refuses_more_than_memory() {
    (ulimit -v 300000 && ends_with 4 'MB of memory,' trace --length 32 --examples 100000 --out "$work/x") &&
        (ulimit -v 300000 && trace --length 32 --examples 20 --average --out "$work/small")
}

# Dropout in an evaluation depends on the line's number, in predict as in trace; a repeated line has other masks.
drops_out_as_predict_does() {
    cat >"$work/dropped.lua" <<'SPEC'
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "sinusoid" },
  model = { use = "small_encoder", dropout = 0.5 },
  train = { use = "quick", batch = 16, lengths = { 1, 4 }, steps = 20 },
  eval = { lengths = { 4, 4 }, examples = 8, dropout = true },
}
SPEC
    ./longhand build "$work/dropped.lua" --levels best --out "$work/dropped" >/dev/null 2>&1 &&
        "$work/dropped/trainer" train --out "$work/runs" --threads 1 --no-eval >/dev/null || return
    dropped=$(echo "$work"/runs/dropped/*/*/checkpoint.safetensors)
    for line in 0110 011 0110 0110 0110 011 0110 0110; do
        echo "{\"input\":[$(echo $line | sed 's/./&,/g; s/,$//')]}"
    done >"$work/lines"
    "$work/dropped/trainer" predict --checkpoint "$dropped" <"$work/lines" |
        sed 's/.*"argmax":.\(.*\)]}/\1/; s/,//g' >"$work/predicted"
    "$work/dropped/trainer" trace --checkpoint "$dropped" --what entropy --json --input "$work/lines" 2>/dev/null |
        sed -n 's/.*"index":\([0-9]*\).*"answer":"\([01]*\)".*/\1 \2/p' | sort -n | cut -d' ' -f2 >"$work/traced"
    cmp "$work/predicted" "$work/traced" && [ "$(grep -c . "$work/traced")" -eq 8 ] &&
        [ "$(grep '....' "$work/traced" | sort -u | grep -c .)" -gt 1 ]
}

expect trace_trainer_is_built build
checkpoint=$(find_run runs)/checkpoint.safetensors
expect_each trace_ writes_one_example_by_default writes_all_kinds averages gives_inputs_the_bits_of_examples \
    drops_out_as_predict_does prints_entropy refuses_wrong_requests refuses_damaged_checkpoints \
    refuses_more_than_memory
finish
