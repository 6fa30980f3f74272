# A simulated cluster: the commands of Slurm that sweeps call, and a function that runs the tasks of their jobs, two at
# a time and some of them twice. Sourced after common.sh; simulated.lua makes their trainers.

SIMULATED=$work/simulated
export SIMULATED
mkdir -p "$SIMULATED/bin" "$SIMULATED/queue" "$SIMULATED/jobs" "$SIMULATED/requeued"

cat >"$SIMULATED/bin/sbatch" <<'END'
#!/bin/sh
# sbatch --parsable SCRIPT; squeue; scancel JOB...; scontrol show|requeue
case ${0##*/} in
    sbatch)
        [ -z "$SIMULATED_REFUSAL" ] || { echo "sbatch: error: $SIMULATED_REFUSAL" >&2 && exit 1; }
        job=$(($(ls "$SIMULATED/jobs" | wc -l) + 1)) task=0
        last=$(sed -n 's/^#SBATCH --array=1-//p' "$2")
        name=$(sed -n 's/^#SBATCH --job-name=//p' "$2")
        echo "$2" >"$SIMULATED/jobs/$job"
        while [ "$task" -lt "$last" ]; do
            task=$((task + 1))
            echo "PENDING $name" >"$SIMULATED/queue/${job}_$task"
        done
        echo "$job"
        ;;
    squeue)
        if [ "$1" = -h ]; then
            read -r state name <"$SIMULATED/queue/$3" && echo "$state"
            exit
        fi
        for file in "$SIMULATED"/queue/*_*; do
            [ -e "$file" ] || continue
            entry=${file##*/}
            read -r state name <"$file" && echo "$name|${entry%_*}|${entry#*_}|$state|node|None"
        done
        ;;
    scancel) echo "$@" >>"$SIMULATED/cancelled" ;;
    scontrol)
        case $1 in
            show) echo "MaxArraySize            = 1001" ;;
            requeue) : >"$SIMULATED/requeued/$2" ;;
        esac
        ;;
esac
END
# Runs a task: JOB_TASK, its name in the queue. With SIMULATED_FAILING, a task whose name ends in 3 runs twice at once.
cat >"$SIMULATED/bin/run_task" <<'END'
#!/bin/sh
file=$SIMULATED/queue/$1
read -r state name <"$file" && echo "RUNNING $name" >"$file"
read -r script <"$SIMULATED/jobs/${1%_*}"
export SLURM_ARRAY_JOB_ID="${1%_*}" SLURM_ARRAY_TASK_ID="${1#*_}"
log=${script%/*}/logs/$SLURM_ARRAY_TASK_ID.txt
if [ "${SIMULATED_FAILING:-0}" -gt 0 ]; then
    case $1 in *3) sh "$script" >>"$log.twice" 2>&1 & ;; esac
fi
sh "$script" >>"$log" 2>&1
wait
if [ -e "$SIMULATED/requeued/$1" ]; then
    rm "$SIMULATED/requeued/$1"
    echo "PENDING $name" >"$file"
else
    rm "$file"
fi
END
chmod +x "$SIMULATED/bin/sbatch" "$SIMULATED/bin/run_task"
ln -s sbatch "$SIMULATED/bin/squeue"
ln -s sbatch "$SIMULATED/bin/scontrol"
ln -s sbatch "$SIMULATED/bin/scancel"

# Sweeps the study $work/grid.lua on the cluster of $work/site.lua: ACTION OUT. simulated.lua explains ACTION.
simulate() {
    PATH=$SIMULATED/bin:$PATH "${LUA:-lua5.4}" tests/system/simulated.lua "$1" "$work/grid.lua" "$work/site.lua" \
        "$work/$2" "$work/trainers"
}

# Runs the tasks in the queue, two at a time, until it is empty.
drain() {
    while [ -n "$(ls "$SIMULATED/queue")" ]; do
        ls "$SIMULATED/queue" | PATH=$SIMULATED/bin:$PATH xargs -P 2 -n 1 run_task || return
    done
}

# Submits the study and runs its tasks, again for missing runs: OUT RUNS. Sets `rounds`, the number of submissions.
complete() {
    rounds=1
    simulate run "$1" && drain || return
    until simulate status "$1" | grep -q "$2 of $2 runs done"; do
        rounds=$((rounds + 1))
        [ $rounds -le 40 ] && simulate resubmit "$1" && drain || return
    done
    moves=$(cat "$work/$1"/.slurm/*/logs/* | grep -c ': done$')
    echo "$2 runs done, $rounds submissions, $(cat "$work/$1"/.slurm/*/logs/* | grep -c Killed) killed" >&2
    [ "$moves" -eq "$2" ] # each run was moved to its own folder once
}

# Prints checksums of the files of all runs; fails if a file of an attempt is left: OUT.
sum_files() {
    (cd "$work/$1" && ! find . -path '*/.attempts/*' -type f | grep . >&2 &&
        find . -mindepth 4 -type f ! -path './.slurm/*' | sort | xargs cksum)
}

# A sweep without Slurm finds nothing to do, and deletes the attempts of killed tasks at runs that others finished.
find_nothing_to_do() {
    PATH=$SIMULATED/bin:$PATH ends_with 0 " 0 to do" "${LUA:-lua5.4}" generator/main.lua sweep "$work/grid.lua" \
        --out "$work/failing"
}

# Whether all files of all runs equal those of the study without failures.
have_equal_files() { sum_files whole >"$work/expected" && sum_files failing | cmp - "$work/expected"; }
