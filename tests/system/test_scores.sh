# A learned score, ALiBi with learned slopes, from one line that names its preset. The written-out score gives the same
# program, training changes the slopes, and runs have the same bits with any number of threads, resumed, and side by
# side.

. tests/system/common.sh

trainer=$work/out/trainer
STEPS=30

# spec FOLDER ENCODING: the file name is always the same, so that generated files can be compared byte for byte.
spec() {
    mkdir -p "$work/$1"
    cat >"$work/$1/learned_slopes.lua" <<SPEC
return {
  task = { kind = "bucket_sort" },
  encoding = { $2 },
  model = { layers = 2, heads = 2, width = 16, feedforward = 32 },
  train = { batch = 16, lengths = { 1, 18 } },
  eval = { lengths = { 1, 36, step = 12 }, examples = 4 },
}
SPEC
    ./longhand gen "$work/$1/learned_slopes.lua" --out "$work/$1/src" >/dev/null
}

written_out_is_the_same_program() {
    spec one_line 'kind = "alibi_learned"' || return
    spec written_out 'score = function(x)
      return x.score + x.slope * (-abs(x.distance) + select(less(x.distance, 0), 0.5, 0))
    end, parameters = { slope = { per = "head", init = "alibi_slopes" } }' || return
    diff -r "$work/one_line/src" "$work/written_out/src"
}

build() {
    make -s trainer LEVELS=best ID=learned_slopes SOURCES="$work/one_line/src" OUT="$work/out"
}

# train DIR FLAGS: a run under $work/DIR.
train() {
    directory=$work/$1
    shift
    "$trainer" train --out "$directory" --log-every 5 --checkpoint-every 5 "$@"
}

checkpoint() {
    echo "$work/$1"/*/*/lr*-seed"${2:-0}"/checkpoint.safetensors
}

# The float32 numbers of a tensor, one a line: FILE NAME. The format: 8 bytes of length, a JSON header, the data.
tensor() {
    length=$(od -An -tu8 -N8 "$1" | tr -d ' ')
    begin=$(head -c $((8 + length)) "$1" | tail -c "$length" |
        sed "s/.*\"$2\":{[^}]*\"data_offsets\":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/")
    end=${begin#* } begin=${begin% *}
    od -An -v -tf4 -w4 -j $((8 + length + begin)) -N $((end - begin)) "$1"
}

# The slopes of two heads move from 1/16 and 1/256 a little: a step of Adam is at most about 3e-4.
slopes_move() {
    train whole --steps $STEPS --threads 1 || return
    tensor "$(checkpoint whole)" score.slope >"$work/slopes" || return
    awk '{ d = $1 - (NR == 1 ? 0.0625 : 0.00390625); d = d < 0 ? -d : d; good += d > 1e-5 && d < 0.05 }
        END { print NR, good; exit !(NR == 2 && good == 2) }' "$work/slopes"
}

# Prints the results of a run, without its rates: DIR SEED.
results() {
    cksum <"$(checkpoint "$1" "$2")"
    for file in metrics eval; do
        sed 's/,"steps_per_second":[^}]*//' "$(dirname "$(checkpoint "$1" "$2")")/$file.jsonl"
    done
}

same_results() {
    results "$1" "$3" >"$work/expected" && results "$2" "$3" >"$work/actual" &&
        [ "$(wc -l <"$work/expected")" -ge 10 ] &&
        cmp "$work/expected" "$work/actual"
}

two_threads_same_bits() {
    train threads --steps $STEPS --threads 2 && same_results whole threads 0
}

resumed_same_bits() {
    train resumed --steps 13 --no-eval --threads 2 && train resumed --steps $STEPS --threads 1 --resume &&
        same_results whole resumed 0
}

replicas_same_bits() {
    train other --steps $STEPS --seed 1 --threads 1 && train group --steps $STEPS --seeds 0:1 --threads 2 &&
        same_results whole group 0 && same_results other group 1
}

# The length is more than twice the 36 tokens of training; no table limits it.
evaluates_at_longer_lengths() {
    "$trainer" eval --checkpoint "$(checkpoint whole)" --lengths 40:80:20 --examples 4 --out "$work/eval" || return
    [ "$(grep -c '"loss":[0-9]' "$work/eval/eval.jsonl")" -eq 3 ]
}

expect score_written_out_is_the_same_program written_out_is_the_same_program
expect score_trainer_builds build
if [ "$failures" -eq 0 ]; then
    expect score_slopes_move slopes_move
    expect score_two_threads_same_bits two_threads_same_bits
    expect score_resumed_same_bits resumed_same_bits
    expect score_replicas_same_bits replicas_same_bits
    expect score_evaluates_at_longer_lengths evaluates_at_longer_lengths
fi
finish
