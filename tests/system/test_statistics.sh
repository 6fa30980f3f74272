# Short trainings with a known result: one model must learn and generalise beyond its lengths, another must not. The
# bounds hold on every machine: the means given below are of 15 runs, `train --seed 0` to 4 at x86-64, x86-64-v3 and
# x86-64-v4.

. tests/system/common.sh

# Writes the spec of a small model that sorts: NAME ENCODING.
write_spec() {
    cat >"$work/$1.lua" <<SPEC
return {
  task = { kind = "bucket_sort" },
  encoding = $2,
  model = { layers = 2, heads = 4, width = 32, feedforward = 64, dropout = 0.0 },
  train = { batch = 64, learning_rate = 3e-3, steps = 700, lengths = { 1, 10 } },
  eval = { lengths = { list = { 5, 10, 15, 20 } }, examples = 200, draws = 2 },
}
SPEC
}

# Trains a model and writes its evaluation to $work/NAME.jsonl: NAME.
train() {
    ./longhand build "$work/$1.lua" --levels best --out "$work/$1" &&
        "$work/$1/trainer" train --seed 1 --out "$work/runs/$1" &&
        cp "$work/runs/$1"/*/*/*/eval.jsonl "$work/$1.jsonl"
}

# Checks that the mean accuracy of a split lies between two bounds: NAME SPLIT LEAST MOST.
is_accuracy_between() {
    awk -v split_name="\"split\":\"$2\"" -v from="$3" -v to="$4" '
        index($0, split_name) {
            sub(/.*"accuracy":/, ""); sub(/[,}].*/, ""); sum += $0; n++
        }
        END {
            mean = n ? sum / n : -1
            printf "mean accuracy %.4f over %d lengths, expected from %s to %s\n", mean, n, from, to
            exit !(n && mean >= from && mean <= to)
        }' "$work/$1.jsonl"
}

# Without positions all outputs of a sequence are equal, so the best prediction is its most frequent token: 0.43 at
# length 5, 0.35 at 10, 0.29 at 20. Means of 15 runs: 0.411 to 0.416.
write_spec sorts_without_positions '{ kind = "none" }'
expect statistics_no_positions_trains train sorts_without_positions
expect statistics_no_positions_stays_at_majority is_accuracy_between sorts_without_positions in_distribution 0.25 0.45

# With randomized positions the model learns and generalises to twice the length. Means of 15 runs: at least 0.748 at
# the lengths of training, 0.665 beyond.
write_spec sorts_with_random_positions '{ kind = "sinusoid", positions = { kind = "randomized", max_position = 64 } }'
expect statistics_random_positions_trains train sorts_with_random_positions
expect statistics_random_positions_learns is_accuracy_between sorts_with_random_positions in_distribution 0.6 1
expect statistics_random_positions_holds_beyond is_accuracy_between sorts_with_random_positions beyond 0.55 1
finish
