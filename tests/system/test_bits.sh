# Bits do not depend on threads, replicas or kills: at every instruction-set level of this machine, a run alone, on one
# to three threads, and the same run in a group that was killed and resumed write equal files.

. tests/system/common.sh

TINY=parity_dropout_rand_rope RATES='--set model.attention_dropout=0.2 --set model.hidden_dropout=0.3'
STEPS=150
FLAGS="--log-every 7 --checkpoint-every 5"
trainer=$work/out/trainer

build() {
    ./longhand gen tests/specs/$TINY.lua $RATES --out "$work/$TINY" >/dev/null &&
        make -s -j2 trainer LEVELS=all ID=$TINY SOURCES="$work/$TINY" OUT="$work/out"
}

levels() {
    for level in $(make -s print-levels LEVELS=all); do
        LONGHAND_ISA=$level "$trainer" bench --seconds 0.01 --lengths 1 >/dev/null 2>&1 && echo "$level"
    done
}

# Prints the results of a run of one seed, without its rates: DIR SEED.
results() {
    cksum <"$(echo "$work/$1"/*/*/lr*-seed"$2")/checkpoint.safetensors"
    sed 's/,"steps_per_second":[^}]*//' "$(echo "$work/$1"/*/*/lr*-seed"$2")/metrics.jsonl"
    cat "$(echo "$work/$1"/*/*/lr*-seed"$2")/eval.jsonl"
}

same_results() {
    results "$1" "$3" >"$work/expected" && results "$2" "$3" >"$work/actual" && cmp "$work/expected" "$work/actual"
}

# Trains seed s alone on s + 1 threads, and a group of all three that is killed at three moments and resumed on three
# threads.
one_level() {
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
    for seed in 0 1 2; do same_results "alone.$1" "group.$1" $seed || return; done
}

# Two levels may have different bits, so checkpoints record their level.
other_level_refused() {
    one=$1 two=$2
    LONGHAND_ISA=$two ends_with 1 "$one" "$trainer" train --out "$work/alone.$one" --steps $((STEPS + 1)) --resume
}

expect bits_trainer_builds build
if [ "$failures" -eq 0 ]; then
    here=$(levels)
    for level in $here; do expect "bits_same_at_$level" one_level "$level"; done
    set -- $here
    if [ $# -gt 1 ]; then
        expect bits_other_level_refused other_level_refused "$1" "$2"
    else
        echo "skip bits_other_level_refused: this machine runs one level, $here"
    fi
fi
finish
