
# A line of runs.txt is a group of runs that train side by side in one process:
#
#     TASK new|again ID DIGEST DEFAULTS TRAINER 'RUN RUN ...' flags of the trainer
#
# A group works in a folder of its own, runs/ID/DIGEST/.attempts/<job>_<task>-<n>, which nobody else writes to. A run
# that is through is moved from there to runs/ID/DIGEST/RUN in one step that can be done once: the first one counts. So
# it does no harm when a task runs twice, is killed at any moment, or is sent by hand once more.

set -u
task=$SLURM_ARRAY_TASK_ID pid='' told='' failed=0
job=${SLURM_ARRAY_JOB_ID}_$task # SLURM_JOB_ID is the number of the whole array in one of its tasks

say() {
    printf '%s task %s: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$task" "$*"
}

# SIGTERM comes to this shell alone. The trainer writes a checkpoint and ends with 75.
trap 'told=yes; [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null' TERM

# Into the queue again, unless somebody has ended this job. Sites with RequeueExit=75 do it by the exit code.
requeue() {
    for _ in 1 2 3 4; do # a busy controller may not answer at once
        [ ! -e "$folder/cancelled" ] || break
        if state=$(squeue -h -j "$job" -o %T 2>/dev/null); then
            [ "$state" = RUNNING ] || break
            say "goes on later: back into the queue"
            ! scontrol requeue "$job" || break
        fi
        sleep 5
    done
    exit 75
}

# Whether the run in a folder has ended well.
is_finished() {
    grep -q '"exit":0}$' "$1/run.json" 2>/dev/null
}

# Whether a run is through. One that had a folder before this array was made is so once that was replaced. An unfinished
# one that came there meanwhile stays, and so does ours: the next array replaces it.
is_done() {
    if [ "$how" = new ]; then
        is_finished "$cell/$1"
    else
        [ -e "$folder/replaced/$id.$digest.$1" ]
    fi
}

all_done() {
    for run in $members; do
        is_done "$run" || return
    done
}

# mkdir makes a folder for one caller alone, on network file systems too.
open_attempt() {
    mkdir -p "$cell/.attempts" || return
    number=1 tries=0
    until mkdir "$cell/.attempts/$job-$number" 2>/dev/null; do
        if [ -d "$cell/.attempts/$job-$number" ]; then
            number=$((number + 1))
        else # another task has just tidied up
            tries=$((tries + 1))
            [ "$tries" -le 9 ] && mkdir -p "$cell/.attempts" || return
        fi
    done
    attempt=$cell/.attempts/$job-$number
}

# How far the run in a folder is: the step of its last checkpoint, then how many evaluations it has.
reach() {
    [ -e "$1/checkpoint.safetensors" ] || [ -e "$1/checkpoint.previous.safetensors" ] || return
    step=$(sed -n '$s/^{"step":\([0-9]*\),.*/\1/p' "$1/window.jsonl" 2>/dev/null)
    echo $((${step:-0} * 1000000 + $(cat "$1/eval.jsonl" 2>/dev/null | wc -l)))
}

# Takes on what an earlier attempt at a run has left: that of the one which got furthest, which may be at work still.
# Its checkpoints are replaced and never written to, so that a second name for one is a copy.
take() {
    best='' furthest=-1
    for from in "$cell/$1" "$cell"/.attempts/*/"$id/$digest/$1" "$cell"/.attempts/*/"replaced/$1"; do
        far=$(reach "$from")
        [ "${far:--1}" -le "$furthest" ] || { best=$from furthest=$far; }
    done
    [ -n "$best" ] || return 0
    into=$attempt/$id/$digest
    rm -rf "$into/.$1" && mkdir -p "$into/.$1" || return
    for file in "$best"/checkpoint*.safetensors; do
        ln "$file" "$into/.$1/" 2>/dev/null || cp "$file" "$into/.$1/" || return
    done
    for file in metrics eval window; do
        [ ! -e "$best/$file.jsonl" ] || cp "$best/$file.jsonl" "$into/.$1/" || return
    done
    mv "$into/.$1" "$into/$1"
}

# Moves a run that is through to its place. mv -T renames, and fails where somebody else's is there.
publish() {
    from=$attempt/$id/$digest/$1
    is_finished "$from" || return 0
    ! is_done "$1" || return 0
    if [ "$how" = again ] && [ -e "$cell/$1" ]; then
        mkdir -p "$attempt/replaced" && mv -T "$cell/$1" "$attempt/replaced/$1"
    fi
    mv -T "$from" "$cell/$1" || return 0
    [ "$how" = new ] || mkdir -p "$folder/replaced/$id.$digest.$1"
    say "$id $1: done"
}

# What attempts still have of runs that are through is of no use.
tidy() {
    for run in $members; do
        is_done "$run" || continue
        for old in "$cell"/.attempts/*/"$id/$digest/$run" "$cell"/.attempts/*/"replaced/$run"; do
            [ -e "$old" ] || continue
            rm -rf "$old" 2>/dev/null
            above=${old#"$cell/.attempts/"}
            (cd "$cell/.attempts" && rmdir -p "${above%/*}") 2>/dev/null
        done
    done
    rmdir -p "$attempt/$id/$digest" 2>/dev/null
}

group() {
    how=$1 id=$2 digest=$3 defaults=$4 trainer=$5 members=$6
    shift 6
    cell=$runs/$id/$digest
    ! all_done || return 0
    open_attempt || { say "no folder can be made in $cell"; exit 4; }
    for run in $members; do
        # What another task moves away meanwhile is through, or is there under its next name.
        take "$run" || is_done "$run" || take "$run" || is_done "$run" || take "$run" ||
            { say "$attempt: what is there of $run cannot be taken on"; exit 4; }
    done
    LONGHAND_DEFAULTS=$defaults "$trainers/$trainer" train --missing --out "$attempt" "$@" </dev/null 9<&- &
    pid=$!
    [ -z "$told" ] || kill -TERM "$pid"
    while :; do
        wait "$pid"
        status=$?
        kill -0 "$pid" 2>/dev/null || break
    done
    pid=''
    for run in $members; do
        publish "$run"
    done
    tidy
    ! all_done || return 0
    [ -z "$told" ] && [ "$status" -ne 75 ] || requeue
    say "$id: not all of $members is done (the trainer's exit code: $status)"
    [ "$status" -ne 4 ] || { say "the others would meet the same: nothing more is started"; exit 4; }
    failed=1
}

exec 9<"$folder/runs.txt" || exit 4
while read -r number line <&9; do
    [ "$number" = "$task" ] || continue
    eval "group $line"
    [ -z "$told" ] || requeue
done
exit $failed
