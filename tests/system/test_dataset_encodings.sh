# Dataset files with encodings that sum more than a gradient over a shard, or that sample distances: batches that leave
# shards empty, on any number of threads, and traces under several draws.

. tests/system/common.sh

LUA=${LUA:-lua5.4}
ID=addition_sinusoid
SPEC=examples/dataset/$ID.lua
FLAGS="--log-every 10 --checkpoint-every 30 --no-eval"
DRAWN="--set encoding.kind=relative --set encoding.positions.kind=randomized --set encoding.positions.max_position=32"

# Builds a trainer: NAME, then settings.
builds() {
    name=$1
    shift
    ./longhand build $SPEC "$@" --set model.layers=2 --levels best --out "$work/$name"
}

# Some shape has a batch with fewer sequences than there are shards.
has_short_batches() {
    awk -F'[][]' '{ count[split($2, a, ",") "," split($4, b, ",")]++ }
        END { for (shape in count) short += count[shape] % 32 > 0 && count[shape] % 32 < 16; exit !short }' \
        examples/dataset/train.jsonl
}

results() {
    cksum <"$(echo "$work/$1"/*/*/lr*)/checkpoint.safetensors"
    sed 's/,"steps_per_second":[^}]*//' "$(echo "$work/$1"/*/*/lr*)/metrics.jsonl"
}

same_bits() {
    for threads in 1 2 5 16; do
        "$work/$1/trainer" train --out "$work/$1.$threads" --steps 45 --threads $threads $FLAGS &&
            results "$1.$threads" >"$work/$1.results$threads" &&
            cmp "$work/$1.results1" "$work/$1.results$threads" || return
    done
    "$work/$1/trainer" train --out "$work/$1.parts" --steps 20 --threads 3 $FLAGS &&
        "$work/$1/trainer" train --out "$work/$1.parts" --steps 45 --threads 2 --resume $FLAGS &&
        results "$1.parts" | cmp "$work/$1.results1" -
}

traces_draws() {
    file=$(echo "$work"/drawn.1/*/*/lr*)/checkpoint.safetensors
    awk -F'[][]' 'split($2, a, ",") == 3 && split($4, b, ",") == 1' examples/dataset/test.jsonl |
        head -4 >"$work/four.jsonl"
    sed 's/,"target".*/}/' "$work/four.jsonl" >"$work/inputs.jsonl"
    "$work/drawn/trainer" trace --checkpoint "$file" --what attention,scores,entropy --length 3 --examples 4 --draws 3 \
        --eval-data "$work/four.jsonl" --out "$work/examples" &&
        "$work/drawn/trainer" trace --checkpoint "$file" --what attention,scores,entropy --input "$work/inputs.jsonl" \
            --draws 3 --out "$work/given" &&
        $LUA tests/support/check_trace.lua tensors "$work/given" | grep -F 'n3.layers.1.scores	F32	3 4' &&
        $LUA tests/support/check_trace.lua attention "$work/given" &&
        $LUA tests/support/check_trace.lua same "$work/examples" "$work/given" || return
    echo '{"input":[1,10,2],"outputs":2,"distances":[0,3,4,9,30]}' >"$work/apart.jsonl"
    sed 's/"outputs":2/"outputs":3/' "$work/apart.jsonl" >"$work/more.jsonl"
    "$work/drawn/trainer" predict --checkpoint "$file" <"$work/apart.jsonl" &&
        "$work/drawn/trainer" trace --checkpoint "$file" --input "$work/apart.jsonl" --out "$work/apart" &&
        ends_with 1 '5 distances' "$work/drawn/trainer" trace --checkpoint "$file" --input "$work/more.jsonl" \
            --out "$work/apart"
}

too_long_for_the_range() {
    ends_with 1 'raise encoding.positions.max_position to 16, lower task.longest, or' ./longhand check $SPEC $DRAWN \
        --set encoding.positions.max_position=10
}

sanitized() {
    ./longhand gen $SPEC $DRAWN --set 'encoding.score={ use = "alibi_learned" }' --set model.layers=2 --out "$work/src" &&
        make -s -j2 trainer VARIANT=asan LEVELS=best ID=$ID SOURCES="$work/src" OUT="$work/asan" &&
        "$work/asan/trainer" train --steps 25 --threads 2 --out "$work/asan-runs" &&
        "$work/asan/trainer" trace --lengths 3:5 --examples 3 --draws 2 --out "$work/asan-trace" \
            --checkpoint "$(echo "$work"/asan-runs/*/*/lr*)/checkpoint.safetensors" &&
        "$work/asan/trainer" trace --input "$work/inputs.jsonl" --out "$work/asan-trace" \
            --checkpoint "$(echo "$work"/asan-runs/*/*/lr*)/checkpoint.safetensors"
}

expect dataset_encodings_short_batches has_short_batches
expect dataset_encodings_drawn_builds builds drawn $DRAWN
expect dataset_encodings_summed_builds builds summed --set encoding.kind=shaw \
    --set 'encoding.score={ use = "alibi_learned" }'
if [ "$failures" -eq 0 ]; then
    expect dataset_encodings_drawn_same_bits same_bits drawn
    expect dataset_encodings_summed_same_bits same_bits summed
    expect dataset_encodings_traces_draws traces_draws
    expect dataset_encodings_too_long too_long_for_the_range
    expect dataset_encodings_with_sanitizers sanitized
fi
finish
