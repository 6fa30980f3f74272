# A learned score, ALiBi with learned slopes, which a spec names by its preset or writes out as a formula: both give the
# same program. Training changes the slopes. Runs have the same bits with any number of threads, after a resume, and as
# replicas in one process.

. tests/system/common.sh

trainer=$work/out/trainer
STEPS=30

# Writes a spec and generates its sources: FOLDER ENCODING. The file's name is always the same, so that sources can be
# compared byte for byte.
generate() {
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

equals_a_written_out_score() {
    generate one_line 'kind = "alibi_learned"' || return
    generate written_out 'score = function(x)
      return x.score + x.slope * (-abs(x.distance) + select(less(x.distance, 0), 0.5, 0))
    end, parameters = { slope = { per = "head", init = "alibi_slopes" } }' || return
    diff -r "$work/one_line/src" "$work/written_out/src"
}

builds() {
    make -s trainer LEVELS=best ID=learned_slopes SOURCES="$work/one_line/src" OUT="$work/out"
}

# Trains in a folder of $work: FOLDER FLAGS.
train() {
    directory=$work/$1
    shift
    "$trainer" train --out "$directory" --log-every 5 --checkpoint-every 5 "$@"
}

# Prints the float32 numbers of a tensor, one per line: FILE NAME. A file has 8 bytes with the length of its header, the
# header in JSON, and the data.
print_tensor() {
    length=$(od -An -tu8 -N8 "$1" | tr -d ' ')
    begin=$(head -c $((8 + length)) "$1" | tail -c "$length" |
        sed "s/.*\"$2\":{[^}]*\"data_offsets\":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/")
    end=${begin#* } begin=${begin% *}
    od -An -v -tf4 -w4 -j $((8 + length + begin)) -N $((end - begin)) "$1"
}

# The slopes of two heads move away from 1/16 and 1/256, by less than 0.05: a step of Adam is at most about 3e-4.
trains_its_slopes() {
    train whole --steps $STEPS --threads 1 || return
    print_tensor "$(find_run whole)/checkpoint.safetensors" score.slope >"$work/slopes" || return
    awk '{ d = $1 - (NR == 1 ? 0.0625 : 0.00390625); d = d < 0 ? -d : d; good += d > 1e-5 && d < 0.05 }
        END { print NR, good; exit !(NR == 2 && good == 2) }' "$work/slopes"
}

# Whether runs of a seed have equal results: FOLDER FOLDER SEED.
same_results() {
    have_equal_results "$(find_run "$1" "$3")" "$(find_run "$2" "$3")" metrics.jsonl eval.jsonl &&
        [ "$(wc -l <"$work/expected")" -ge 10 ]
}

keeps_bits_on_two_threads() {
    train threads --steps $STEPS --threads 2 && same_results whole threads 0
}

keeps_bits_in_parts() {
    train resumed --steps 13 --no-eval --threads 2 && train resumed --steps $STEPS --threads 1 --resume &&
        same_results whole resumed 0
}

keeps_bits_of_replicas() {
    train other --steps $STEPS --seed 1 --threads 1 && train group --steps $STEPS --seeds 0:1 --threads 2 &&
        same_results whole group 0 && same_results other group 1
}

# The sequences are more than twice as long as the 36 tokens of training; no table limits their length.
evaluates_at_longer_lengths() {
    "$trainer" eval --checkpoint "$(find_run whole)/checkpoint.safetensors" --lengths 40:80:20 --examples 4 \
        --out "$work/eval" || return
    [ "$(grep -c '"loss":[0-9]' "$work/eval/eval.jsonl")" -eq 3 ]
}

expect_each score_ equals_a_written_out_score builds
if [ "$failures" -eq 0 ]; then
    expect_each score_ trains_its_slopes keeps_bits_on_two_threads keeps_bits_in_parts keeps_bits_of_replicas \
        evaluates_at_longer_lengths
fi
finish
