
# A line of runs.txt is a group of runs that train side by side in one process:
#
#     TASK[.LANE] MODE ID DIGEST DEFAULTS TRAINER 'RUN RUN ...' flags of the trainer
#
# MODE is "again" if the runs had folders when this array was made, else "new"; see is_done. The groups of a lane train
# one after the other, and the lanes of a task side by side, each with a separate log. Each group works in a separate
# folder, $runs/ID/DIGEST/.attempts/<job>_<task>[.<lane>]-<n>, in which no other process writes. A finished run is moved
# from there to $runs/ID/DIGEST/RUN in one step that succeeds only once: the first finished run counts. So a task may
# run twice, be killed at any moment, or be submitted again by hand. The lines above this text set three variables:
#
#     folder     the folder of this array, with job.sh, runs.txt and logs
#     runs       the folder of all runs
#     trainers   the folder of trainers

set -u
task=$SLURM_ARRAY_TASK_ID place=$SLURM_ARRAY_TASK_ID pid='' got_signal='' failed=0 # place: TASK[.LANE]
job=${SLURM_ARRAY_JOB_ID}_$task # SLURM_JOB_ID of one of the tasks equals the number of the whole array

say() {
    printf '%s task %s: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$task" "$*"
}

# Only the script's first shell receives SIGTERM. It passes the signal on to its trainer, or to the shells of its lanes,
# which do the same. A trainer then writes a checkpoint and exits with 75. pid: the processes that get the signal.
pass_signals_on() {
    trap 'got_signal=yes; [ -z "$pid" ] || kill -TERM $pid 2>/dev/null' TERM
}
pass_signals_on

# Waits for a process, also when signals interrupt the waiting. Sets status to the exit code of the process.
await() { # PROCESS
    while :; do
        wait "$1"
        status=$?
        kill -0 "$1" 2>/dev/null || break
    done
}

# Ends this script, and returns the job to the queue unless a user has cancelled it. Sites with RequeueExit=75 requeue a
# job with this exit code by themselves. A lane only ends; the script's first shell returns the job to the queue.
requeue() {
    [ "$place" = "$task" ] || exit 75
    for _ in 1 2 3 4; do # a busy controller may answer late
        [ ! -e "$folder/cancelled" ] || break
        if state=$(squeue -h -j "$job" -o %T 2>/dev/null); then
            [ "$state" = RUNNING ] || break
            say "continues later; returns to the queue"
            ! scontrol requeue "$job" || break
        fi
        sleep 5
    done
    exit 75
}

# Whether a path is below $runs and no folder between the two is a link. A link could lead to another user's runs: no
# file is read, moved or deleted through a link. The path itself may be a link, or missing.
is_inside() { # PATH
    case $1 in "$runs"/*) ;; *) return 1 ;; esac
    parent=${1%/*}
    while [ "$parent" != "$runs" ]; do
        [ ! -L "$parent" ] || return
        parent=${parent%/*}
    done
}

# Whether a path is a regular file: no link, and no pipe, which could block.
is_file() {
    [ -f "$1" ] && [ ! -L "$1" ]
}

# All deletions and moves of files go through these two functions.
delete() { # PATH
    is_inside "$1" && rm -rf "$1"
}
move() { # FROM TO, which must not be there
    is_inside "$1" && is_inside "$2" && mv -T "$1" "$2"
}

# Whether run.json in a folder ends with an exit code that matches a pattern.
has_ended() { # DIR PATTERN
    is_file "$1/run.json" && grep -q "\"exit\":$2}\$" "$1/run.json" 2>/dev/null
}

# Whether the run in a folder ended without an error.
is_finished() {
    has_ended "$1" 0
}

# Whether a run is done. A run that had a folder when this array was made is done once that folder was replaced. If
# another process meanwhile puts an unfinished run into its place, both runs are kept, and the next array replaces the
# unfinished run.
is_done() { # RUN
    if [ "$mode" = new ]; then
        is_finished "$cell/$1"
    else
        [ -e "$folder/replaced/$id.$digest.$1" ]
    fi
}

all_done() {
    for run in $group; do
        is_done "$run" || return
    done
}

# Makes the attempt's folder. mkdir succeeds for a single caller, on network file systems too.
open_attempt() {
    mkdir -p "$cell/.attempts" || return
    number=1 tries=0 name=${SLURM_ARRAY_JOB_ID}_$place
    until mkdir "$cell/.attempts/$name-$number" 2>/dev/null; do
        if [ -d "$cell/.attempts/$name-$number" ]; then
            number=$((number + 1))
        else # another task has just deleted the empty folder
            tries=$((tries + 1))
            [ "$tries" -le 9 ] && mkdir -p "$cell/.attempts" || return
        fi
    done
    attempt=$cell/.attempts/$name-$number
}

# Prints the value of a key in a JSON text.
print_value() { # KEY TEXT
    printf '%s\n' "$2" | LC_ALL=C sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

# Prints the values of several keys in a JSON text. A trainer continues a checkpoint only if both have the same values.
print_origin() { # KEYS TEXT
    for key in $1; do
        print_value "$key" "$2"
    done
}

# Prints the metadata in the header of a run's newest checkpoint.
print_checkpoint_facts() { # DIR
    newer=$1/checkpoint.safetensors
    is_file "$newer" || newer=$1/checkpoint.previous.safetensors
    is_file "$newer" && head -c 4096 "$newer" 2>/dev/null | tr -d '\000\n' | LC_ALL=C sed 's/}.*//'
}

# Reads the facts of a group's trainer. The trainer continues only checkpoints with the same facts, up to its own last
# step. The level and compiler of a GPU trainer are known only while it trains.
read_trainer() { # FLAG...
    case " $* " in
        *' --device cuda '*) keys=source_digest ;;
        *) keys='source_digest level compiler' ;;
    esac
    facts=$("$trainers/$trainer" info --json </dev/null 2>/dev/null 9<&-)
    trainer_origin=$(print_origin "$keys" "$facts")
    last_step=$(print_value steps "$facts")
    # A trainer that counts epochs prints no number of steps, and checks the steps itself.
    [ "${last_step:-x}" -ge 0 ] 2>/dev/null || last_step=9000000000000
}

# Prints the step of a run in a list "RUN:STEP ..."; if the run occurs several times, the last step.
print_step() { # LIST RUN
    for pair in $1; do
        [ "${pair%:*}" != "$2" ] || echo "${pair##*:}"
    done | tail -n 1
}

# Prints the progress of the run in a folder, if this trainer can continue it, as one number: a million times the step
# of the newest checkpoint, plus the number of lines of eval.jsonl.
print_progress() { # DIR RUN
    is_inside "$1/any" && facts=$(print_checkpoint_facts "$1") || return
    step=$(print_value step "$facts")
    [ "$step" -ge 0 ] 2>/dev/null && [ "$step" -le "$last_step" ] || return
    [ -z "$trainer_origin" ] || [ "$(print_origin "$keys" "$facts")" = "$trainer_origin" ] || return
    refused_step=$(print_step "$refused" "$2")
    [ -z "$refused_step" ] || [ "$step" -lt "$refused_step" ] || return
    lines=0
    ! is_file "$1/eval.jsonl" || lines=$(cat "$1/eval.jsonl" 2>/dev/null | wc -l)
    echo $((step * 1000000 + lines))
}

# Copies a run with its files into this attempt, from the folder or attempt with the most progress. The run may still be
# running there. Checkpoints are replaced and never modified, so a hard link to a checkpoint is a copy.
continue_run() { # RUN
    best='' most_progress=-1
    for from in "$cell/$1" "$cell"/.attempts/*/"$id/$digest/$1" "$cell"/.attempts/*/"replaced/$1"; do
        progress=$(print_progress "$from" "$1")
        [ "${progress:--1}" -le "$most_progress" ] || { best=$from most_progress=$progress; }
    done
    [ -n "$best" ] || return 0
    into=$attempt/$id/$digest
    delete "$into/.$1" && mkdir -p "$into/.$1" || return
    for file in "$best"/checkpoint*.safetensors; do
        is_file "$file" || continue
        ln "$file" "$into/.$1/" 2>/dev/null || cp "$file" "$into/.$1/" || return
    done
    for file in metrics eval window; do
        ! is_file "$best/$file.jsonl" || cp "$best/$file.jsonl" "$into/.$1/" || return
    done
    [ -d "$best" ] && move "$into/.$1" "$into/$1" || return # if $best is gone now, the copy may be incomplete
    continued="$continued $1:$((most_progress / 1000000))"
}

# Copies files that a user has put next to a run, such as an export, into the run that replaces it.
copy_user_files() { # RUN
    for file in "$cell/$1"/* "$cell"/.attempts/*/replaced/"$1"/*; do
        case ${file##*/} in
            checkpoint* | metrics.jsonl | eval.jsonl | window.jsonl | run.json | lock) continue ;;
        esac
        [ ! -e "$file" ] || [ -e "$from/${file##*/}" ] || ! is_inside "$file" || cp -Rp "$file" "$from/" || return
    done
}

# Moves a finished run to its own folder. mv -T renames, and fails if another run is there.
publish() { # RUN
    from=$attempt/$id/$digest/$1
    is_finished "$from" || return 0
    ! is_done "$1" || return 0
    copy_user_files "$1" ||
        { say "$id $1: other files of its folder cannot be copied; the run stays in $from" && return; }
    if [ "$mode" = again ] && [ -e "$cell/$1" ]; then
        mkdir -p "$attempt/replaced" && move "$cell/$1" "$attempt/replaced/$1"
    fi
    move "$from" "$cell/$1" || return 0
    [ "$mode" = new ] || mkdir -p "$folder/replaced/$id.$digest.$1"
    published="$published $1"
    say "$id $1: done"
}

# Removes a path below .attempts, and then the folders above it that are empty.
remove() { # PATH
    delete "$1" 2>/dev/null || return
    above=${1#"$cell/.attempts/"}
    (cd "$cell/.attempts" && rmdir -p "${above%/*}") 2>/dev/null
}

# Removes the run $run of an attempt. Renaming it first keeps other tasks from continuing an incompletely removed run.
remove_run() { # PATH of the run
    delete "${1%/*}/.$run" && move "$1" "${1%/*}/.$run" 2>/dev/null && remove "${1%/*}/.$run"
}

# Removes finished runs from all attempts. An attempt that still trains such a run then ends; see
# report_finished_elsewhere.
remove_done() {
    for run in $group; do
        is_done "$run" || continue
        for old in "$cell"/.attempts/*/"$id/$digest/$run" "$cell"/.attempts/*/"$id/$digest/.$run" \
            "$cell"/.attempts/*/"replaced/$run"; do
            [ ! -e "$old" ] || remove "$old"
        done
    done
    rmdir -p "$attempt/$id/$digest" 2>/dev/null
    rmdir "$cell/.attempts" 2>/dev/null
}

# Removes a run from another attempt if its trainer has recorded its end, if it has at most the progress of this
# attempt's run, and if both have the same level, compiler and source. Runs without a recorded end may be running.
remove_older() {
    all_keys='source_digest level compiler'
    for run in $group; do
        ours=$attempt/$id/$digest/$run
        our_progress=$(print_progress "$ours" "$run") || continue
        origin=$(print_origin "$all_keys" "$(print_checkpoint_facts "$ours")")
        for old in "$cell"/.attempts/*/"$id/$digest/$run"; do
            [ "$old" != "$ours" ] && has_ended "$old" '[1-9][0-9]*' || continue
            their_progress=$(print_progress "$old" "$run") && [ "$their_progress" -le "$our_progress" ] || continue
            [ "$(print_origin "$all_keys" "$(print_checkpoint_facts "$old")")" = "$origin" ] || continue
            remove_run "$old"
        done
    done
}

# Reports runs that disappeared from this attempt's folder without being published: other tasks have finished them.
report_finished_elsewhere() {
    for run in $group; do
        [ ! -e "$attempt/$id/$digest/$run" ] && is_finished "$cell/$run" || continue
        case " $published " in *" $run "*) continue ;; esac
        [ "$mode" = new ] || mkdir -p "$folder/replaced/$id.$digest.$run"
        say "$id $run: another task has finished this run"
        has_changed=yes
    done
}

# Finds runs without progress beyond the checkpoint that they continued: their trainer refused the checkpoint, and the
# next best checkpoint is tried. A trainer that refuses a checkpoint writes no file. The original checkpoint is kept,
# and its copy is deleted.
find_refused() {
    for run in $group; do
        step=$(print_step "$continued" "$run")
        facts=$attempt/$id/$digest/$run/run.json
        ended=$(sed -n 's/.*"step":\([0-9]*\),.*"exit":1}$/\1/p' "$facts" 2>/dev/null)
        [ -e "$facts" ] || [ "$status" -ne 1 ] || ended=0
        [ -n "$step" ] && [ -n "$ended" ] && [ "$ended" -le "$step" ] || continue
        say "$id $run: its trainer refuses the checkpoint of step $step; an earlier checkpoint is tried, if one exists"
        refused="$refused $run:$step" has_changed=yes
        remove_run "$attempt/$id/$digest/$run"
    done
}

# Trains the runs of a group in a new attempt. Sets status to the trainer's exit code.
train() { # FLAG...
    continued=''
    open_attempt || { say "cannot make a folder in $cell"; exit 4; }
    for run in $group; do
        # If another task moves a run away meanwhile, the run is done, or exists under its next name.
        continue_run "$run" || is_done "$run" || continue_run "$run" || is_done "$run" || continue_run "$run" ||
            { say "$attempt: the earlier progress of $run cannot be copied"; exit 4; }
    done
    LONGHAND_DEFAULTS=$defaults "$trainers/$trainer" train --missing --out "$attempt" "$@" </dev/null 9<&- &
    pid=$!
    [ -z "$got_signal" ] || kill -TERM "$pid"
    await "$pid"
    pid=''
}

train_group() {
    mode=$1 id=$2 digest=$3 defaults=$4 trainer=$5 group=$6
    shift 6
    cell=$runs/$id/$digest refused=''
    ! all_done || return 0
    if ! is_inside "$cell/.attempts/any"; then
        say "$id: $parent is a link, through which nothing is trained"
        failed=1
        return
    fi
    read_trainer "$@"
    until all_done; do
        has_changed='' published='' # has_changed: after a change by another task or of `refused`, training is repeated
        train "$@"
        for run in $group; do
            publish "$run"
        done
        report_finished_elsewhere
        find_refused
        remove_done
        ! all_done || return 0
        remove_older
        [ -z "$got_signal" ] && [ "$status" -ne 75 ] || requeue
        [ -z "$has_changed" ] || continue
        say "$id: not all of $group is done (the trainer's exit code: $status)"
        [ "$status" -ne 4 ] || { say "other groups would fail in the same way: none is started"; exit 4; }
        failed=1
        return
    done
}

# Trains the groups of this place, one after the other, and ends this shell.
train_groups() {
    exec 9<"$folder/runs.txt" || exit 4
    while read -r number line <&9; do
        [ "$number" = "$place" ] || continue
        eval "train_group $line"
        [ -z "$got_signal" ] || requeue
    done
    exit $failed
}

lanes=$(sed -n "s/^\($task\.[0-9]*\) .*/\1/p" "$folder/runs.txt" | sort -u)
[ -n "$lanes" ] || train_groups
for lane in $lanes; do
    (
        place=$lane pid=''
        pass_signals_on
        train_groups
    ) >>"$folder/logs/$lane.txt" 2>&1 &
    pid="$pid $!"
done
[ -z "$got_signal" ] || kill -TERM $pid 2>/dev/null
for lane in $pid; do
    await "$lane"
    case $status in
        0) ;;
        75) got_signal=yes ;;
        *) [ "$failed" -eq 4 ] || failed=$((status == 4 ? 4 : 1)) ;;
    esac
done
[ -z "$got_signal" ] || requeue
exit $failed
