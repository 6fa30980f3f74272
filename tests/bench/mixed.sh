#!/bin/sh
# Measures the throughput of mixed lengths (train.lengths.per = "sequence") relative to batches of one length:
#
#     sh tests/bench/mixed.sh [ROUNDS [LAYERS [SEQUENCES [NAMES]]]]
#
# The base model on reverse_string with lengths 4, 8, ..., 40, on one thread. NAMES: encodings, rand_NAME for one with
# random positions. SEQUENCES: sequences for each length; the batch has 10 times as many, in 4 shards: a shard has as
# many sequences as one of 16 shards of a batch with 40 lengths. Times are processor times of a step in ms.
# "one length" does the same work in batches of one length: it is the sum, over the lengths of the mixed batches, of the
# number of sequences times the time of a sequence in a batch of this length and of the same size. Sequences of the mean
# length would do less work, since attention grows with the square of the length. Every step is the fastest of ROUNDS,
# since other load only lengthens steps. Not a test.

cd -- "$(dirname -- "$0")/../.." || exit 4
rounds=${1:-20} layers=${2:-2 5} sequences=${3:-1 4 16} names=${4:-none rope alibi relative rand_rope rand_relative}
work=build/bench/mixed
mkdir -p "$work"

# build_half NAME LAYERS PER ID: generates and compiles one of the two specs.
build_half() {
    positions=''
    case $1 in rand_*) positions=', positions = { kind = "randomized", max_position = 2048 }' ;; esac
    echo "return { task = { kind = \"reverse_string\" }, encoding = { kind = \"${1#rand_}\"$positions },
  model = { use = \"ruoss_encoder\", layers = $2 }, train = { use = \"ruoss\", shards = 4,
  lengths = { 4, 40, step = 4, per = \"$3\" } }, eval = { use = \"ruoss\" } }" >"$work/$4.lua"
    ./longhand gen "$work/$4.lua" --out "$work/src_$4" --target cpu >/dev/null &&
        make -s trainer LEVELS=best ID="$4" SOURCES="$work/src_$4" OUT="$work/$4"
}

make -s library || exit 4
printf '%-14s %6s %9s %9s %10s %6s\n' encoding layers sequences mixed 'one length' ratio
for name in $names; do
    for count in $layers; do
        id=${name}_$count
        build_half "$name" "$count" sequence "mixed_$id" && build_half "$name" "$count" batch "plain_$id" || exit 4
        make -s "$work/$id/measure" || exit 4
        for number in $sequences; do
            measured=$("$work/$id/measure" "$rounds" "$number") || exit 4
            # shellcheck disable=SC2086
            printf '%-14s %6s %9s %9s %10s %6s\n' "$name" "$count" "$number" $measured
        done
    done
done
