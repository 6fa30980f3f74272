# Bits do not depend on threads, replicas or kills: at every instruction-set level of this machine, a run alone, on one
# to three threads, and the same run in a group that was killed and resumed write equal files. So do runs of a recurrent
# model, in one piece and in two.

. tests/system/common.sh

TINY=parity_dropout_rand_rope RATES='--set model.attention_dropout=0.2 --set model.hidden_dropout=0.3'
STEPS=150
FLAGS="--log-every 7 --checkpoint-every 5"
trainer=$work/out/trainer

# Prints the compiled levels that this machine runs, one per line.
list_levels() {
    for level in $(make -s print-levels LEVELS=all); do
        LONGHAND_ISA=$level "$trainer" bench --seconds 0.01 --lengths 1 >/dev/null 2>&1 && echo "$level"
    done
}

# keeps_bits_at_level LEVEL: trains each seed s alone on s + 1 threads, then all seeds in one group, which is killed
# three times on two threads and ends on three.
keeps_bits_at_level() {
    export LONGHAND_ISA="$1"
    for seed in 0 1 2; do
        "$trainer" train --out "$work/alone.$1" --steps $STEPS --threads $((seed + 1)) --seed $seed $FLAGS || return
    done
    for moment in 0.05 0.1 0.15; do
        "$trainer" train --out "$work/group.$1" --steps $STEPS --threads 2 --seeds 0:2 --resume $FLAGS &
        child=$!
        sleep $moment
        kill -9 $child
        wait $child
    done
    "$trainer" train --out "$work/group.$1" --steps $STEPS --threads 3 --seeds 0:2 --resume $FLAGS || return
    for seed in 0 1 2; do
        have_equal_results "$(find_run "alone.$1" $seed)" "$(find_run "group.$1" $seed)" metrics.jsonl eval.jsonl ||
            return
    done
}

# Two levels may have different bits, so a checkpoint records its level, and no other level continues it: LEVEL OTHER.
refuses_another_level() {
    LONGHAND_ISA=$2 ends_with 1 "$1" "$trainer" train --out "$work/alone.$1" --steps $((STEPS + 1)) --resume
}

# keeps_bits_of_recurrence CELL: trains and evaluates a recurrent model without interruption on one thread, and in two
# parts on two and on three threads.
keeps_bits_of_recurrence() {
    ./longhand build tests/specs/parity_float64_$1.lua --levels best --out "$work/$1" || return
    "$work/$1/trainer" train --out "$work/whole.$1" --steps 20 --threads 1 $FLAGS &&
        "$work/$1/trainer" train --out "$work/parts.$1" --steps 10 --no-eval --threads 2 $FLAGS &&
        "$work/$1/trainer" train --out "$work/parts.$1" --steps 20 --threads 3 --resume $FLAGS &&
        have_equal_results "$(find_run "whole.$1" 0)" "$(find_run "parts.$1" 0)" metrics.jsonl eval.jsonl
}

expect bits_trainer_builds ./longhand build tests/specs/$TINY.lua $RATES --out "$work/out"
if [ "$failures" -eq 0 ]; then
    levels=$(list_levels)
    for level in $levels; do expect "bits_same_at_$level" keeps_bits_at_level "$level"; done
    set -- $levels
    if [ $# -gt 1 ]; then
        expect bits_refuse_another_level refuses_another_level "$1" "$2"
    else
        echo "skip bits_refuse_another_level: this machine runs one level, $levels"
    fi
fi
for cell in lstm stack_rnn tape_rnn; do expect "bits_same_of_$cell" keeps_bits_of_recurrence $cell; done
finish
