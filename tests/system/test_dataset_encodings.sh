# Dataset files with encodings that have more sums over a shard than gradients, or that sample distances: batches that
# leave shards empty, on any number of threads, and traces with several samples of distances. Files with positions.

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

# The data has a batch of fewer sequences than the 16 shards of a step: batches of 32 have sequences of one shape.
has_short_batches() {
    awk -F'[][]' '{ count[split($2, a, ",") "," split($4, b, ",")]++ }
        END { for (shape in count) short += count[shape] % 32 > 0 && count[shape] % 32 < 16; exit !short }' \
        examples/dataset/train.jsonl
}

# Trains with several numbers of threads, and in two parts: NAME of the trainer.
keeps_bits() {
    for threads in 1 2 5 16; do
        "$work/$1/trainer" train --out "$work/$1.$threads" --steps 45 --threads $threads $FLAGS || return
    done
    "$work/$1/trainer" train --out "$work/$1.parts" --steps 20 --threads 3 $FLAGS &&
        "$work/$1/trainer" train --out "$work/$1.parts" --steps 45 --threads 2 --resume $FLAGS || return
    for other in 2 5 16 parts; do
        have_equal_results "$(find_run "$1.1")" "$(find_run "$1.$other")" metrics.jsonl || return
    done
}

traces_draws() {
    file=$(find_run drawn.1)/checkpoint.safetensors
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

refuses_sequences_beyond_the_range() {
    ends_with 1 'raise encoding.positions.max_position to 16, lower task.longest, or' ./longhand check $SPEC $DRAWN \
        --set encoding.positions.max_position=10
}

# Builds trainers of a task that gives positions, and of files with its examples and positions.
builds_coupled() {
    coupled='encoding = { use = "coupling", positions = { max_position = 30 } }, model = { kind = "decoder",
        layers = 1, width = 32, heads = 2, feedforward = 64 }'
    echo "return { task = { kind = \"reverse_string\" }, $coupled, train = { steps = 60, lengths = { 1, 8 },
        learning_rate = 3e-3 }, eval = { lengths = { list = { 6, 10 } }, examples = 64 } }" >"$work/bits.lua"
    echo "return { task = { data = \"bits.jsonl\", input_symbols = 2, output_symbols = 2 }, $coupled,
        train = { steps = 60 }, eval = { examples = \"all\" } }" >"$work/placed.lua"
    for name in bits placed; do
        ./longhand build "$work/$name.lua" --levels best --out "$work/$name" || return
    done
}

# Evaluations of a task's examples in a file, with the task's positions, have the results of the task; so do predictions.
has_results_of_the_task() {
    "$work/bits/trainer" train --out "$work/task" || return
    for length in 6 10; do
        "$work/bits/trainer" sample --length $length --count 64
    done | sed 's/,"mask".*/,"positions":[/' | awk -F'[][]' '{
        count = split($2, bits, ",")
        printf "%s", $0
        for (i = 1; i <= count; i++) printf "%d,", i
        for (i = count + 1; i > 2; i--) printf "%d,", i
        print "2]}"
    }' >"$work/bits.jsonl"
    gzip <"$work/bits.jsonl" >"$work/bits.jsonl.gz"
    file=$(find_run task)/checkpoint.safetensors
    "$work/placed/trainer" eval --checkpoint "$file" --data "$work/bits.jsonl.gz" --out "$work/of_file" || return
    for length in 6 10; do
        for evaluation in "$(find_run task)/eval.jsonl" "$work/of_file/eval.jsonl"; do
            grep -E "\"(in_distribution|beyond|train)\".*\"length\":$length}" "$evaluation" |
                sed 's/.*"decoding"/"decoding"/; s/,"data".*//; s/}$//'
        done | uniq | wc -l | grep -qx 1 || return
    done
    "$work/placed/trainer" predict --checkpoint "$file" <"$work/bits.jsonl" | sed 's/,"wrong".*/}/' >"$work/answers" &&
        sed 's/,"target".*/}/' "$work/bits.jsonl" | "$work/bits/trainer" predict --checkpoint "$file" |
        cmp "$work/answers" - && "$work/placed/trainer" sample --data "$work/bits.jsonl" --order file --count 128 |
        sed 's/"mask":\[[01,]*\],//' | cmp "$work/bits.jsonl" - &&
        sed '3s/,10,/,31,/; 100s/,10,/,31,/' "$work/bits.jsonl" >"$work/far.jsonl" &&
        ends_with 1 'far.jsonl:100: positions[9] is 31' \
            "$work/placed/trainer" train --data "$work/far.jsonl" --out "$work/far" &&
        list_positions "$work/answers" >"$work/answered" && list_positions "$work/bits.jsonl" | cmp "$work/answered" -
}

list_positions() {
    sed 's/.*"positions":\(\[[0-9,]*\]\).*/\1/' "$1"
}

# Positions of the task are stored next to the logits of the export.
exports_positions() {
    ./longhand export pytorch "$(find_run task)" --spec "$work/bits.lua" --trainer "$work/bits/trainer" \
        --out "$work/torch" && list_positions "$work/torch/stored.jsonl" | tail -1 |
        grep -qxF '[1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2]'
}

runs_with_sanitizers() {
    ./longhand gen $SPEC $DRAWN --set 'encoding.score={ use = "alibi_learned" }' --set model.layers=2 \
        --out "$work/src" &&
        make -s -j2 trainer VARIANT=asan LEVELS=best ID=$ID SOURCES="$work/src" OUT="$work/asan" &&
        "$work/asan/trainer" train --steps 25 --threads 2 --out "$work/asan-runs" &&
        "$work/asan/trainer" trace --lengths 3:5 --examples 3 --draws 2 --out "$work/asan-trace" \
            --checkpoint "$(find_run asan-runs)/checkpoint.safetensors" &&
        "$work/asan/trainer" trace --input "$work/inputs.jsonl" --out "$work/asan-trace" \
            --checkpoint "$(find_run asan-runs)/checkpoint.safetensors"
}

expect_each dataset_encodings_ has_short_batches
expect dataset_encodings_drawn_builds builds drawn $DRAWN
expect dataset_encodings_summed_builds builds summed --set encoding.kind=shaw \
    --set 'encoding.score={ use = "alibi_learned" }'
if [ "$failures" -eq 0 ]; then
    expect dataset_encodings_drawn_keeps_bits keeps_bits drawn
    expect dataset_encodings_summed_keeps_bits keeps_bits summed
    expect_each dataset_encodings_ builds_coupled has_results_of_the_task exports_positions
    FLAGS="$FLAGS --data $work/bits.jsonl" expect dataset_encodings_coupled_keeps_bits keeps_bits placed
    expect_each dataset_encodings_ traces_draws refuses_sequences_beyond_the_range runs_with_sanitizers
fi
finish
