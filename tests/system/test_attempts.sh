# A task of Slurm finds attempts, folders with runs that other tasks began, and continues or deletes them. Trainers are
# simulated, and the test runs the tasks itself.

. tests/system/common.sh
. tests/system/simulated.sh

# Writes the study of two runs: STEPS.
write_study() {
    cat >"$work/grid.lua" <<END
return {
  title = "two runs",
  base = { model = { use = "small_encoder" }, train = { batch = 4, steps = $1, lengths = { 1, 4 } },
    eval = { lengths = { list = { 5, 7, 9 } }, examples = 16 }, encoding = { kind = "none" } },
  axes = { { name = "task", values = { { name = "parity", spec = { task = { kind = "parity_check" } } } } } },
  seeds = { 0, 1 },
  learning_rates = { 1e-3 },
}
END
}
echo 'return { time = "1:00:00", replicas = 2, max_tasks = 1 }' >"$work/site.lua"
first=lr0.001-seed0 second=lr0.001-seed1

# Submits the study to a folder of its own: OUT. The task waits in the queue. Sets `script`, the folder of the job's
# script, `cell`, the folder of the cell's runs, and `place`, its path below OUT.
submit() {
    rm -f "$SIMULATED"/queue/* "$SIMULATED"/waits "$SIMULATED"/go
    simulate run "$1" && echo "PENDING x" >"$SIMULATED/queue/1_1" || return
    script=$(ls -d "$work/$1"/.slurm/[0-9]* | tail -n 1)
    # shellcheck disable=SC2046
    set -- "$1" $(cut -d ' ' -f 3,4 "$script/runs.txt" | head -n 1)
    cell=$work/$1/$2/$3 place=$2/$3
}

# Runs the task of a job, which must end with an exit code: JOB CODE. Its output is in $work/output.
run_task() {
    PATH=$SIMULATED/bin:$PATH SLURM_ARRAY_JOB_ID=$1 SLURM_ARRAY_TASK_ID=1 sh "$script/job.sh" >"$work/output" 2>&1
    actual=$?
    cat "$work/output"
    [ "$actual" -eq "$2" ]
}

# Runs the task, which ends with a checkpoint, or is killed, after a number of quarters of its first run: QUARTER.
stop_after() { SIMULATED_FATE=2 SIMULATED_AT=$1 run_task 1 75; }
kill_after() { SIMULATED_FATE=0 SIMULATED_AT=$1 run_task 1 1; }
count_attempts() { (cd "$cell/.attempts" && ls -d */"$place/$1") | wc -l; }
read_level() { sed -n 's/.*"level":"\([^"]*\)".*/\1/p' "$cell/$1/checkpoint.safetensors"; }

# Whether both runs are complete, and no attempt is left.
are_complete() {
    for run in $first $second; do
        grep -q '"exit":0}$' "$cell/$run/run.json" && [ "$(grep -c . "$cell/$run/metrics.jsonl")" -eq 4 ] || return
    done
    [ ! -e "$cell/.attempts" ]
}

# A task that is requeued on a node of another level begins anew, although an attempt of the first level exists.
begin_anew_at_another_level() {
    submit level && SIMULATED_LEVEL=x86-64-v4 stop_after 3 && run_task 1 0 && are_complete &&
        [ "$(read_level $first)" = x86-64-v3 ] && ! grep 'refuses the checkpoint' "$work/output"
}

# A trainer that cannot report its level refuses the furthest attempt, and continues the next one.
continue_the_next_attempt_after_a_refusal() {
    submit refused && stop_after 2 || return
    cp -R "$cell/.attempts/1_1-1" "$cell/.attempts/7_1-1" && from=$cell/.attempts/7_1-1/$place/$first &&
        sed -i 's/x86-64-v3/x86-64-v4/; s/"step":"[0-9]*"/"step":"390"/' "$from/checkpoint.safetensors" || return
    SIMULATED_SILENT=yes run_task 1 0 && are_complete &&
        [ "$(grep -c 'refuses the checkpoint' "$work/output")" -eq 1 ] &&
        grep -q "$first: its trainer refuses the checkpoint of step 390" "$work/output"
}

# The steps of a study become fewer while its tasks run: attempts beyond the new number are not continued.
are_not_used_beyond_the_steps() {
    submit fewer && stop_after 3 && write_study 100 && submit fewer && run_task 2 0 && are_complete &&
        grep -q '"step":100,"exit":0' "$cell/$first/run.json" && ! grep 'refuses the checkpoint' "$work/output"
    code=$?
    write_study 400
    return $code
}

# Attempts that ended are deleted once another has as many steps; a killed attempt is kept, since it may be running.
are_deleted_once_ended() {
    submit older && stop_after 1 && stop_after 2 && [ "$(count_attempts $first)" -eq 1 ] && kill_after 3 &&
        [ "$(count_attempts $first)" -eq 1 ] && stop_after 4 && [ "$(count_attempts $first)" -eq 2 ] && run_task 1 0 &&
        are_complete
}

# Two arrays have the same run: one finishes the run while the other trains it. The second trainer ends, and its task
# continues with other runs. The job's list calls the runs new, or again if folders are replaced: new|again.
end_where_another_array_has_finished() {
    submit "overlapping_$1" || return
    sed -i "s/^1 new /1 $1 /" "$script/runs.txt"
    [ "$1" = new ] || { mkdir -p "$cell/$first" "$cell/$second" && echo mine >"$cell/$first/note"; }
    other=$script.other && mkdir "$other" && sed "s|^folder=.*|folder=$other|" "$script/job.sh" >"$other/job.sh" &&
        sed "s/'$first $second'/$first/; s/--seeds 0:1/--seeds 0:0/" "$script/runs.txt" >"$other/runs.txt" || return
    SIMULATED_FATE=waits run_task 1 0 >"$work/one" 2>&1 &
    one=$!
    until [ -e "$SIMULATED/waits" ]; do sleep 0.05; done
    PATH=$SIMULATED/bin:$PATH SLURM_ARRAY_JOB_ID=2 SLURM_ARRAY_TASK_ID=1 sh "$other/job.sh" || return
    : >"$SIMULATED/go"
    wait $one || { cat "$work/one"; return 1; }
    grep -q "$first: another task has finished this run" "$work/one" && are_complete || return
    [ "$1" = new ] || [ -e "$cell/$first/note" ]
}

# A sweep without Slurm continues the furthest attempt that fits, and deletes the others once all runs are done.
are_continued_by_a_sweep() {
    submit here && SIMULATED_LEVEL=x86-64-v4 stop_after 3 && stop_after 2 && rm "$SIMULATED"/queue/* &&
        ends_with 0 'continues runs that tasks of Slurm left: 1 run' simulate sweep here && are_complete &&
        [ "$(read_level $first)" = x86-64-v3 ]
}

# Runs start again if no attempt fits.
are_replaced_by_a_sweep() {
    submit anew && SIMULATED_LEVEL=x86-64-v4 stop_after 3 && rm "$SIMULATED"/queue/* &&
        ends_with 0 'left 1 run that this trainer cannot continue: their level' simulate sweep anew && are_complete &&
        [ "$(read_level $first)" = x86-64-v3 ]
}

# Files that a user has added to a run's folder are kept when the run is replaced, even if the task dies in between.
keep_files_of_users() {
    submit replaced && sed -i 's/^1 new /1 again /' "$script/runs.txt" && mkdir -p "$cell/$first/export" "$work/dies" &&
        echo mine >"$cell/$first/export/model.pt" && echo old >"$cell/$first/metrics.jsonl" || return
    printf '#!/bin/sh\ncase "$1 $3" in "-T %s") kill -9 $PPID ;; *) exec %s "$@" ;; esac\n' "$cell/$first" \
        "$(command -v mv)" >"$work/dies/mv" && chmod +x "$work/dies/mv" || return
    PATH=$work/dies:$PATH run_task 1 137 || [ "$actual" -eq 137 ] || return
    [ ! -e "$cell/$first" ] && [ -e "$cell/.attempts/1_1-1/replaced/$first/export/model.pt" ] && run_task 1 0 &&
        are_complete &&
        grep -q mine "$cell/$first/export/model.pt"
}

# A task that is cancelled while it runs writes a checkpoint and is not queued again; the next task continues its runs.
continue_after_a_cancelled_task() {
    submit cancelled && echo "RUNNING x" >"$SIMULATED/queue/1_1" && : >"$script/cancelled" && stop_after 2 &&
        [ -z "$(ls "$SIMULATED/requeued")" ] && submit cancelled && run_task 2 0 && are_complete
}

# Makes runs of another user, in a folder of their own: NAME. Sets `theirs`, that folder.
make_foreign_runs() {
    theirs=$work/$1_theirs/$place
    mkdir -p "$theirs/$first" && echo '{"exit":0}' >"$theirs/$first/run.json" &&
        echo keep >"$theirs/$first/metrics.jsonl"
}
are_foreign_runs_kept() {
    [ "$(cat "$theirs/$first/metrics.jsonl")" = keep ] && [ "$(ls -A "$theirs/$first" | wc -l)" -eq 2 ]
}

# A link among the attempts leads to other runs: no file of these runs is deleted or moved.
delete_nothing_through_a_link() {
    submit linked && make_foreign_runs linked && mkdir -p "$cell/.attempts" &&
        ln -s "$work/linked_theirs" "$cell/.attempts/e" &&
        run_task 1 0 && are_foreign_runs_kept && grep -q '"exit":0}$' "$cell/$first/run.json"
}

# Nothing is trained if the folder of the cell, or that of its attempts, is a link.
train_nothing_through_a_link() {
    submit cell && make_foreign_runs cell && mkdir -p "${cell%/*}" && ln -s "$theirs" "$cell" &&
        sed -i "s/'$first $second'/$second/; s/--seeds 0:1/--seeds 1:1/" "$script/runs.txt" && run_task 1 1 &&
        are_foreign_runs_kept &&
        [ ! -e "$theirs/$second" ] && grep -q "$cell is a link" "$work/output" || return
    rm "$cell" && mkdir "$cell" && ln -s "$theirs" "$cell/.attempts" && run_task 1 1 && are_foreign_runs_kept &&
        grep -q "$cell/.attempts is a link" "$work/output"
}

# A sweep that deletes the attempts of tasks follows no link either.
are_not_deleted_by_a_sweep_through_a_link() {
    submit sweeps && run_task 1 0 && make_foreign_runs sweeps && rm "$SIMULATED"/queue/* &&
        mkdir -p "$cell/.attempts" &&
        ln -s "$work/sweeps_theirs" "$cell/.attempts/e" && ends_with 0 "2 of 2 runs done" simulate sweep sweeps &&
        are_foreign_runs_kept
}

# A pipe in place of a checkpoint or a log does not block a task.
wait_for_no_pipe() {
    submit piped && stop_after 2 && from=$cell/.attempts/1_1-1/$place/$first &&
        other=$cell/.attempts/9-1/$place/$first && mkdir -p "$other" &&
        rm -f "$from/eval.jsonl" "$from/metrics.jsonl" &&
        mkfifo "$from/eval.jsonl" "$from/metrics.jsonl" "$other/checkpoint.safetensors" &&
        PATH=$SIMULATED/bin:$PATH SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=1 \
            timeout -s KILL 600 sh "$script/job.sh"
}

# Only the built trainer is started: another program under the name of a staged trainer is replaced.
start_no_foreign_trainer() {
    submit trainer && rm "$SIMULATED"/queue/* || return
    for name in "$work"/trainer/.slurm/trainers/*; do
        printf '#!/bin/sh\n: >"%s"\n' "$work/started" >"$name"
    done
    chmod +x "$name" && simulate resubmit trainer && echo "PENDING x" >"$SIMULATED/queue/1_1" &&
        script=$(ls -d "$work"/trainer/.slurm/[0-9]* | tail -n 1) && run_task 2 0 && are_complete &&
        [ ! -e "$work/started" ] || return
    rm "$SIMULATED"/queue/* && : >"$work/outside" && rm "$name" && ln -s "$work/outside" "$name" && rm -r "$cell" &&
        simulate resubmit trainer && [ ! -L "$name" ] && [ ! -s "$work/outside" ]
}

# A run whose files are damaged is set aside by the next array, and trained anew.
set_a_damaged_run_aside() {
    submit damaged && run_task 1 0 && echo nothing >"$cell/$first/run.json" && rm "$SIMULATED"/queue/* &&
        ends_with 0 "set aside as $cell/.damaged/$first-1" simulate resubmit damaged &&
        echo "PENDING x" >"$SIMULATED/queue/1_1" && script=$(ls -d "$work"/damaged/.slurm/[0-9]* | tail -n 1) &&
        run_task 2 0 && are_complete && grep -q nothing "$cell/.damaged/$first-1/run.json"
}

# The damaged run is put back if sbatch refuses the array.
put_a_damaged_run_back() {
    submit kept && run_task 1 0 && echo nothing >"$cell/$first/run.json" && rm "$SIMULATED"/queue/* &&
        SIMULATED_REFUSAL="no such partition" ends_with 1 "nothing was submitted, and $cell/$first is put back" \
            simulate resubmit kept && grep -q nothing "$cell/$first/run.json" && [ ! -e "$cell/.damaged" ]
}

# A record that another study has written names a job of this user, which is kept; this study's own array is cancelled.
cancel_no_foreign_job() {
    submit records && rm "$SIMULATED"/queue/* && name=$(sed -n 's/^#SBATCH --job-name=//p' "$script/job.sh") &&
        seventh=$work/records/.slurm/7 && mkdir "$seventh" && cp "$script/runs.txt" "$seventh/" &&
        sed "s/$name/thesis/" "$script/record.json" >"$seventh/record.json" &&
        echo "RUNNING thesis" >"$SIMULATED/queue/99_1" &&
        ends_with 1 'names the job thesis, but the study grid has no such job in this folder' simulate cancel records &&
        [ ! -e "$SIMULATED/cancelled" ] && echo "RUNNING $name" >"$SIMULATED/queue/5_1" &&
        ends_with 0 'cancelled: job 5, 1 task' simulate cancel records && [ "$(cat "$SIMULATED/cancelled")" = 5 ]
}

# Whether the trainers of both lanes have written half of their lines.
both_wait() { [ "$(cat "$work"/lanes/*/*/.attempts/1_1.[12]-*/*/*/*/metrics.jsonl | grep -c .)" -ge $((4 + 2)) ]; }

# Two cells of a run each train side by side. The task stops when their trainers stop, gets a signal while both train,
# and then completes both.
train_cells_side_by_side() {
    sed -i "s/replicas/cpus = 2, &/" "$work/site.lua"
    sed -i 's/{ name = "parity", spec = { task = { kind = "parity_check" } } }/&, { name = "sort", spec = { task = { kind = "bucket_sort" } } }/
        s/seeds = { 0, 1 }/seeds = { 0, 0 }/' "$work/grid.lua" || return
    submit lanes && [ "$(grep -c '^1\.[12] new .* --threads 1 ' "$script/runs.txt")" -eq 2 ] &&
        SIMULATED_FATE=2 SIMULATED_AT=1 run_task 1 75 && [ "$(ls "$work"/lanes/*/*/.attempts | grep -c 1_1)" -eq 2 ] ||
        return
    SIMULATED_FATE=waits SIMULATED_AT=2 PATH=$SIMULATED/bin:$PATH SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=1 \
        sh "$script/job.sh" >"$work/output" 2>&1 &
    task=$!
    until_true both_wait && kill -TERM $task
    wait $task
    actual=$?
    rm "$SIMULATED"/queue/*
    cat "$script"/logs/*
    [ "$actual" -eq 75 ] && ! grep -lzs -e "[/]${work#/}/lanes/.slurm/trainers/" /proc/[0-9]*/cmdline &&
        ends_with 0 "2 runs in no task" simulate status lanes &&
        run_task 1 0 && ends_with 0 "2 of 2 runs done" simulate status lanes &&
        [ -z "$(find "$work/lanes" -name .attempts)" ] && grep -q ': done$' "$script/logs/1.1.txt" &&
        grep -q ': done$' "$script/logs/1.2.txt"
}

# A run that fails in a lane makes the task fail, and its error is found in the log of the lane.
report_a_failure_in_a_lane() {
    submit failing && SIMULATED_FATE=3 run_task 1 1 && grep -q 'not all of' "$script/logs/1.2.txt"
}

write_study 400
expect_each attempts_ delete_nothing_through_a_link train_nothing_through_a_link \
    are_not_deleted_by_a_sweep_through_a_link wait_for_no_pipe start_no_foreign_trainer set_a_damaged_run_aside \
    put_a_damaged_run_back cancel_no_foreign_job begin_anew_at_another_level \
    continue_the_next_attempt_after_a_refusal are_not_used_beyond_the_steps are_deleted_once_ended \
    are_continued_by_a_sweep are_replaced_by_a_sweep keep_files_of_users continue_after_a_cancelled_task
expect attempts_at_new_runs_of_two_arrays end_where_another_array_has_finished new
expect attempts_at_replaced_runs_of_two_arrays end_where_another_array_has_finished again
expect_each tasks_ train_cells_side_by_side report_a_failure_in_a_lane
finish
