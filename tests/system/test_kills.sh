# Trainings that are killed with kill -9 at random moments end in the bits of an uninterrupted one; SIGTERM ends long
# operations between two of their parts.
#
#     sh tests/system/test_kills.sh [KILLS]      LH_KILLS=N, LH_KILL_SEED=S: the same by variables; 20 kills, seed 1
#
# The moment of each kill is random, counted from the start of the process: before the folder is locked, while a
# checkpoint is written, at the end. Checkpoints come every third step, so that many kills interrupt one.

. tests/system/common.sh

TINY=parity_dropout_rand_rope
KILLS=${LH_KILLS:-${1:-20}}
SEED=${LH_KILL_SEED:-1}
ENDLESS=100000 # more steps than a killed training can make
FLAGS="--log-every 7 --checkpoint-every 3 --threads 2"
trainer=$work/out/trainer

# Prints KILLS moments below a number of milliseconds, in seconds, one per line, by SEED alone: MILLISECONDS.
print_moments() {
    awk -v seed="$SEED" -v kills="$KILLS" -v most="$1" 'BEGIN {
        srand(seed)
        for (i = 0; i < kills; i++) printf "%.3f\n", int(rand() * most) / 1000
    }'
}

# Prints the results of all runs in a folder, times aside: FOLDER.
print_all_results() {
    (cd "$1" && find . -type f | sort | while read -r file; do
        case $file in
            *checkpoint.safetensors) cksum "$file" ;;
            *metrics.jsonl) echo "$file" && drop_times "$file" ;;
            *eval.jsonl) echo "$file" && cat "$file" ;;
        esac
    done)
}

# Prints the last step in the lines of any run, or nothing: FOLDER.
find_last_step() {
    cat "$1"/*/*/*/metrics.jsonl 2>/dev/null | sed -n 's/{"step":\([0-9]*\),.*/\1/p' | sort -n | tail -1
}

# Starts or resumes a run and kills it: MOMENT NAME FLAGS. Counts in `writing` the kills while a checkpoint was written.
train_and_kill() {
    moment=$1 name=$2
    shift 2
    "$trainer" train --out "$work/$name" --steps $ENDLESS --no-eval --resume "$@" >"$work/$name.log" 2>&1 &
    child=$!
    sleep "$moment"
    kill -9 $child || { cat "$work/$name.log" && return 1; }
    wait $child
    [ $? -eq 137 ] || return
    ! ls -A "$work/$name"/*/*/* 2>/dev/null | grep -q '\.new\.safetensors\|\.tmp$' || writing=$((writing + 1))
}

# Kills a run with these flags at the random moments, lets it end at a step that it did not reach before, and compares
# it with a run that was never killed: NAME FLAGS. On a machine so slow that no step was done before the kills, three
# more kills come later and later.
survives_kills() {
    name=$1 writing=0
    shift
    echo "$KILLS kills of seed $SEED"
    for moment in $(print_moments 180); do
        train_and_kill "$moment" "$name" "$@" || return
    done
    for moment in 1 4 16; do
        [ -n "$(find_last_step "$work/$name")" ] || train_and_kill $moment "$name" "$@" || return
    done
    reached=$(find_last_step "$work/$name")
    steps=$((${reached:-0} + 10))
    "$trainer" train --out "$work/$name" --steps $steps --resume "$@" &&
        "$trainer" train --out "$work/$name.whole" --steps $steps "$@" || return
    print_all_results "$work/$name" >"$work/$name.out"
    print_all_results "$work/$name.whole" >"$work/$name.want"
    echo "the run got to step $reached before the last kill; $writing kills came while a checkpoint was written"
    [ "${reached:-0}" -gt 0 ] && grep -q checkpoint "$work/$name.want" && grep -q '"accuracy"' "$work/$name.want" &&
        cmp "$work/$name.out" "$work/$name.want"
}

# Sends SIGTERM to a verb that takes minutes, half a second after a file exists (-e PATH) or is not empty (-s PATH); the
# process must exit long before the verb would end: CONDITION VERB FLAGS.
ends_soon() {
    condition=$1
    shift
    "$trainer" "$@" --checkpoint "$work"/one/*/*/*/checkpoint.safetensors 2>"$work/output" &
    child=$!
    until_true test $condition
    sleep 0.5
    kill -TERM $child && began=$(date +%s) && wait $child
    status=$?
    [ $status -eq 75 ] && [ $(($(date +%s) - began)) -le 60 ] && grep -q "stopped by a signal; " "$work/output" ||
        { echo "status $status" && cat "$work/output" && return 1; }
}

# An evaluation of millions of examples at one length is stopped, and a trace of as many.
stops_long_operations() {
    ends_soon "-e $work/eval/lock" eval --out "$work/eval" --lengths 18 --examples 5000000 --draws 1 &&
        [ ! -e "$work/eval/eval.jsonl" ] &&
        ends_soon "-s $work/output" trace --out "$work/trace" --what entropy --length 18 --examples 5000000 &&
        [ ! -e "$work/trace" ]
}

expect kills_trainer_builds ./longhand build tests/specs/$TINY.lua --levels best --out "$work/out"
if [ "$failures" -eq 0 ]; then
    expect kills_end_in_the_same_bits survives_kills one $FLAGS
    # One kill ends all runs of a group, which are at different steps.
    expect kills_of_a_group_end_in_the_same_bits survives_kills group $FLAGS --seeds 0:2
    expect signal_stops_long_operations stops_long_operations
fi
finish
