# A task finds files of its runs that other tasks have left, and uses or deletes them. Trainers are simulated, and the
# test runs the tasks itself.

. tests/system/common.sh
. tests/system/simulated.sh

grid() { # STEPS
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

# Submits a separate array for the study, whose task waits in the queue: OUT. Sets script, cell and place.
submit() {
    rm -f "$SIMULATED"/queue/* "$SIMULATED"/waits "$SIMULATED"/go
    simulate run "$1" && echo "PENDING x" >"$SIMULATED/queue/1_1" || return
    script=$(ls -d "$work/$1"/.slurm/[0-9]* | tail -n 1)
    # shellcheck disable=SC2046
    set -- "$1" $(cut -d ' ' -f 3,4 "$script/runs.txt" | head -n 1)
    cell=$work/$1/$2/$3 place=$2/$3
}

# Runs the task of a job: NUMBER CODE. Its output is in $work/output.
task() {
    PATH=$SIMULATED/bin:$PATH SLURM_ARRAY_JOB_ID=$1 SLURM_ARRAY_TASK_ID=1 sh "$script/job.sh" >"$work/output" 2>&1
    actual=$?
    cat "$work/output"
    [ "$actual" -eq "$2" ]
}

stop_at_step() { SIMULATED_FATE=2 SIMULATED_AT=$1 task 1 75; } # QUARTER
kill_at_step() { SIMULATED_FATE=0 SIMULATED_AT=$1 task 1 1; }
count_attempts() { (cd "$cell/.attempts" && ls -d */"$place/$1") | wc -l; } # RUN
read_level() { sed -n 's/.*"level":"\([^"]*\)".*/\1/p' "$cell/$1/checkpoint.safetensors"; }

whole() { # both runs have all of their lines, and no other file exists
    for run in $first $second; do
        grep -q '"exit":0}$' "$cell/$run/run.json" && [ "$(grep -c . "$cell/$run/metrics.jsonl")" -eq 4 ] || return
    done
    [ ! -e "$cell/.attempts" ]
}

# A task that is requeued on a node of another level begins anew, although an attempt of the first level exists.
other_level() {
    submit level && SIMULATED_LEVEL=x86-64-v4 stop_at_step 3 && task 1 0 && whole &&
        [ "$(read_level $first)" = x86-64-v3 ] && ! grep 'does not go on' "$work/output"
}

# A trainer that cannot report its level refuses the furthest attempt, and continues the next one.
refused() {
    submit refused && stop_at_step 2 || return
    cp -R "$cell/.attempts/1_1-1" "$cell/.attempts/7_1-1" && from=$cell/.attempts/7_1-1/$place/$first &&
        sed -i 's/x86-64-v3/x86-64-v4/; s/"step":"[0-9]*"/"step":"390"/' "$from/checkpoint.safetensors" || return
    SIMULATED_SILENT=yes task 1 0 && whole && [ "$(grep -c 'does not go on' "$work/output")" -eq 1 ] &&
        grep -q "$first: does not go on from the checkpoint of step 390" "$work/output"
}

# The steps of a study become fewer while its tasks run: attempts beyond the new number are not continued.
fewer_steps() {
    submit fewer && stop_at_step 3 && grid 100 && submit fewer && task 2 0 && whole &&
        grep -q '"step":100,"exit":0' "$cell/$first/run.json" && ! grep 'does not go on' "$work/output"
    code=$?
    grid 400
    return $code
}

# Attempts that have ended are deleted once another has as many steps; a killed attempt is kept, since it may be
# running.
older() {
    submit older && stop_at_step 1 && stop_at_step 2 && [ "$(count_attempts $first)" -eq 1 ] && kill_at_step 3 &&
        [ "$(count_attempts $first)" -eq 1 ] && stop_at_step 4 && [ "$(count_attempts $first)" -eq 2 ] && task 1 0 &&
        whole
}

# Two arrays have the same run: one finishes the run while the other trains it. The second trainer ends, and its task
# continues with the remaining runs.
overlapping() { # new | again
    submit "overlapping_$1" || return
    sed -i "s/^1 new /1 $1 /" "$script/runs.txt"
    [ "$1" = new ] || { mkdir -p "$cell/$first" "$cell/$second" && echo mine >"$cell/$first/note"; }
    other=$script.other && mkdir "$other" && sed "s|^folder=.*|folder=$other|" "$script/job.sh" >"$other/job.sh" &&
        sed "s/'$first $second'/$first/; s/--seeds 0:1/--seeds 0:0/" "$script/runs.txt" >"$other/runs.txt" || return
    SIMULATED_FATE=waits task 1 0 >"$work/one" 2>&1 &
    one=$!
    until [ -e "$SIMULATED/waits" ]; do sleep 0.05; done
    PATH=$SIMULATED/bin:$PATH SLURM_ARRAY_JOB_ID=2 SLURM_ARRAY_TASK_ID=1 sh "$other/job.sh" || return
    : >"$SIMULATED/go"
    wait $one || { cat "$work/one"; return 1; }
    grep -q "$first: another task has finished it" "$work/one" && whole || return
    [ "$1" = new ] || [ -e "$cell/$first/note" ]
}

# A sweep without Slurm continues the furthest attempt that fits, and deletes the others once all runs are done.
swept_here() {
    submit here && SIMULATED_LEVEL=x86-64-v4 stop_at_step 3 && stop_at_step 2 && rm "$SIMULATED"/queue/* &&
        ends_with 0 'continues runs that tasks of Slurm left: 1 run' simulate sweep here && whole &&
        [ "$(read_level $first)" = x86-64-v3 ]
}

# Runs start again if no attempt fits.
swept_anew() {
    submit anew && SIMULATED_LEVEL=x86-64-v4 stop_at_step 3 && rm "$SIMULATED"/queue/* &&
        ends_with 0 'of 1 run is of another level, compiler or source' simulate sweep anew && whole &&
        [ "$(read_level $first)" = x86-64-v3 ]
}

# Files that a user has added to a run's folder are kept when the run is replaced, even if the task dies in between.
replaced() {
    submit replaced && sed -i 's/^1 new /1 again /' "$script/runs.txt" && mkdir -p "$cell/$first/export" "$work/dies" &&
        echo mine >"$cell/$first/export/model.pt" && echo old >"$cell/$first/metrics.jsonl" || return
    printf '#!/bin/sh\ncase "$1 $3" in "-T %s") kill -9 $PPID ;; *) exec %s "$@" ;; esac\n' "$cell/$first" \
        "$(command -v mv)" >"$work/dies/mv" && chmod +x "$work/dies/mv" || return
    PATH=$work/dies:$PATH task 1 137 || [ "$actual" -eq 137 ] || return
    [ ! -e "$cell/$first" ] && [ -e "$cell/.attempts/1_1-1/replaced/$first/export/model.pt" ] && task 1 0 && whole &&
        grep -q mine "$cell/$first/export/model.pt"
}

# A task that is cancelled while it runs writes its checkpoint and is not queued again; the next task continues its
# runs.
cancelled() {
    submit cancelled && echo "RUNNING x" >"$SIMULATED/queue/1_1" && : >"$script/cancelled" && stop_at_step 2 &&
        [ -z "$(ls "$SIMULATED/requeued")" ] && submit cancelled && task 2 0 && whole
}

# Makes runs of another user, in a folder of their own: NAME.
foreign() {
    theirs=$work/$1_theirs/$place
    mkdir -p "$theirs/$first" && echo '{"exit":0}' >"$theirs/$first/run.json" &&
        echo keep >"$theirs/$first/metrics.jsonl"
}
untouched() { [ "$(cat "$theirs/$first/metrics.jsonl")" = keep ] && [ "$(ls -A "$theirs/$first" | wc -l)" -eq 2 ]; }

# A link among the attempts leads to other runs: no file of these runs is deleted or moved.
linked_attempt() {
    submit linked && foreign linked && mkdir -p "$cell/.attempts" && ln -s "$work/linked_theirs" "$cell/.attempts/e" &&
        task 1 0 && untouched && grep -q '"exit":0}$' "$cell/$first/run.json"
}

# Nothing is trained if the folder of the cell, or that of its attempts, is a link.
linked_cell() {
    submit cell && foreign cell && mkdir -p "${cell%/*}" && ln -s "$theirs" "$cell" &&
        sed -i "s/'$first $second'/$second/; s/--seeds 0:1/--seeds 1:1/" "$script/runs.txt" && task 1 1 && untouched &&
        [ ! -e "$theirs/$second" ] && grep -q "$cell is a link" "$work/output" || return
    rm "$cell" && mkdir "$cell" && ln -s "$theirs" "$cell/.attempts" && task 1 1 && untouched &&
        grep -q "$cell/.attempts is a link" "$work/output"
}

# A sweep that deletes the attempts of tasks follows no link either.
linked_sweep() {
    submit sweeps && task 1 0 && foreign sweeps && rm "$SIMULATED"/queue/* && mkdir -p "$cell/.attempts" &&
        ln -s "$work/sweeps_theirs" "$cell/.attempts/e" && ends_with 0 "2 of 2 runs done" simulate sweep sweeps &&
        untouched
}

# A pipe in place of a checkpoint or a log does not block a task.
piped() {
    submit piped && stop_at_step 2 && from=$cell/.attempts/1_1-1/$place/$first &&
        other=$cell/.attempts/9-1/$place/$first && mkdir -p "$other" && rm -f "$from/eval.jsonl" "$from/metrics.jsonl" &&
        mkfifo "$from/eval.jsonl" "$from/metrics.jsonl" "$other/checkpoint.safetensors" &&
        PATH=$SIMULATED/bin:$PATH SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=1 \
            timeout -s KILL 600 sh "$script/job.sh"
}

# Only the built trainer is started: another program under the name of a staged trainer is replaced.
foreign_trainer() {
    submit trainer && rm "$SIMULATED"/queue/* || return
    for name in "$work"/trainer/.slurm/trainers/*; do
        printf '#!/bin/sh\n: >"%s"\n' "$work/started" >"$name"
    done
    chmod +x "$name" && simulate resubmit trainer && echo "PENDING x" >"$SIMULATED/queue/1_1" &&
        script=$(ls -d "$work"/trainer/.slurm/[0-9]* | tail -n 1) && task 2 0 && whole &&
        [ ! -e "$work/started" ] || return
    rm "$SIMULATED"/queue/* && : >"$work/outside" && rm "$name" && ln -s "$work/outside" "$name" && rm -r "$cell" &&
        simulate resubmit trainer && [ ! -L "$name" ] && [ ! -s "$work/outside" ]
}

# A run whose files are damaged is set aside by the next array, and trained anew.
damaged() {
    submit damaged && task 1 0 && echo nothing >"$cell/$first/run.json" && rm "$SIMULATED"/queue/* &&
        ends_with 0 "set aside as $cell/.damaged/$first-1" simulate resubmit damaged &&
        echo "PENDING x" >"$SIMULATED/queue/1_1" && script=$(ls -d "$work"/damaged/.slurm/[0-9]* | tail -n 1) &&
        task 2 0 && whole && grep -q nothing "$cell/.damaged/$first-1/run.json"
}

# The damaged run is put back if sbatch refuses the array.
not_submitted() {
    submit kept && task 1 0 && echo nothing >"$cell/$first/run.json" && rm "$SIMULATED"/queue/* &&
        SIMULATED_REFUSAL="no such partition" ends_with 1 "nothing was submitted, and $cell/$first is put back" \
            simulate resubmit kept && grep -q nothing "$cell/$first/run.json" && [ ! -e "$cell/.damaged" ]
}

# A record that another study has written names a job of this user, which is kept; this study's own array is cancelled.
foreign_record() {
    submit records && rm "$SIMULATED"/queue/* && name=$(sed -n 's/^#SBATCH --job-name=//p' "$script/job.sh") &&
        seventh=$work/records/.slurm/7 && mkdir "$seventh" && cp "$script/runs.txt" "$seventh/" &&
        sed "s/$name/thesis/" "$script/record.json" >"$seventh/record.json" &&
        echo "RUNNING thesis" >"$SIMULATED/queue/99_1" &&
        ends_with 1 'names the job thesis, which is none that grid is given' simulate cancel records &&
        [ ! -e "$SIMULATED/cancelled" ] && echo "RUNNING $name" >"$SIMULATED/queue/5_1" &&
        ends_with 0 'cancelled: job 5, 1 task' simulate cancel records && [ "$(cat "$SIMULATED/cancelled")" = 5 ]
}

grid 400
expect attempts_through_a_link linked_attempt
expect attempts_where_the_cell_is_a_link linked_cell
expect attempts_that_a_sweep_meets_through_a_link linked_sweep
expect attempts_with_pipes piped
expect attempts_by_a_foreign_trainer foreign_trainer
expect attempts_at_a_damaged_run damaged
expect attempts_at_a_damaged_run_that_stays not_submitted
expect attempts_and_a_foreign_record foreign_record
expect attempts_of_another_level other_level
expect attempts_that_are_refused refused
expect attempts_beyond_the_steps fewer_steps
expect attempts_that_have_ended_go older
expect attempts_that_a_sweep_continues_with swept_here
expect attempts_that_no_sweep_continues_with swept_anew
expect attempts_of_two_arrays overlapping new
expect attempts_of_two_arrays_that_replace overlapping again
expect attempts_replace_a_folder replaced
expect attempts_of_a_cancelled_task cancelled
finish
