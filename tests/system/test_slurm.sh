# A study on a cluster of Slurm, which the test starts: one node on the loopback interface. 24 runs are packed into
# tasks; a task is preempted, a trainer and a whole task are killed; missing runs are submitted again. The report must
# equal that of the same study swept without Slurm and without a failure. Common mistakes of users follow.

. tests/system/common.sh

for program in munged slurmctld slurmd sbatch; do
    if ! PATH=$PATH:/usr/sbin:/sbin command -v $program >/dev/null; then
        echo "skip slurm: $program is not installed (Debian: slurmctld slurmd slurm-client munge)"
        exit 0
    fi
done
if [ "$(id -u)" != 0 ]; then
    echo "skip slurm: a node of a cluster is started by root"
    exit 0
fi
PATH=$PATH:/usr/sbin:/sbin

# ---- the cluster ----

export SLURM_CONF=$work/etc/slurm.conf
node=$(uname -n | cut -d . -f 1)

stop_cluster() {
    [ ! -e "$work/etc/up" ] || timeout 5 scancel --user=root 2>/dev/null
    for program in slurmd slurmctld munged; do
        pid=$(cat "$work/etc/$program.pid" 2>/dev/null) && kill "$pid" 2>/dev/null || continue
        for i in $(seq 50); do
            kill -0 "$pid" 2>/dev/null || break
            [ "$i" -lt 50 ] || kill -9 "$pid"
            sleep 0.1
        done
    done
    left=$(find_processes "$work/") && kill -9 $left 2>/dev/null
    rm -rf "$work"
}
trap stop_cluster EXIT

start_cluster() {
    mkdir "$work/etc" && chmod 755 "$work" "$work/etc" || return
    dd if=/dev/urandom of="$work/etc/key" bs=128 count=1 2>/dev/null && chmod 400 "$work/etc/key" || return
    munged --force --key-file="$work/etc/key" --socket="$work/etc/munge" --pid-file="$work/etc/munged.pid" \
        --log-file="$work/etc/munged.log" --seed-file="$work/etc/seed" 2>"$work/etc/munged.err" || return
    port=$((20000 + $$ % 20000))
    cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/etc/munge,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
MaxArraySize=11
ReturnToService=2
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$work/etc/ctld
SlurmdSpoolDir=$work/etc/d
SlurmctldPidFile=$work/etc/slurmctld.pid
SlurmdPidFile=$work/etc/slurmd.pid
SlurmctldLogFile=$work/etc/slurmctld.log
SlurmdLogFile=$work/etc/slurmd.log
KillWait=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 RealMemory=100 State=UNKNOWN
PartitionName=main Nodes=$node Default=YES MaxTime=60 State=UP OverSubscribe=FORCE:2
END
    mkdir "$work/etc/ctld" "$work/etc/d" && slurmctld && slurmd || return
    touch "$work/etc/up"
    until_true sh -c 'sinfo -h -o %T | grep -qE "idle|mixed"'
}

# ---- the study ----

cat >"$work/grid.lua" <<'END2'
return {
  title = "a study of 24 runs",
  base = {
    model = { use = "small_encoder", layers = 1, feedforward = 16 },
    train = { batch = 4, steps = 8000, lengths = { 1, 4 }, log_every = 500, checkpoint = { every = 1000 } },
    eval = { lengths = { 3, 6 }, examples = 16 },
    encoding = { kind = "none" },
  },
  axes = { { name = "task", values = {
    { name = "parity", spec = { task = { kind = "parity_check" } } },
    { name = "sort", spec = { task = { kind = "bucket_sort" } } },
  } } },
  seeds = { 0, 5 },
  learning_rates = { 1e-3, 2e-3 },
}
END2

level=$(make -s print-levels LEVELS=best)
# Writes a description of the cluster: NAME FIELDS [TIME].
write_site() {
    echo "return { ${3-time = \"0:10:00\",} levels = { \"$level\" }, memory = \"10M\", $2 }" >"$work/$1.lua"
}
write_site estimated 'partition = "main", cpus = 2' ''
write_site here 'partition = "main", replicas = 2, min_tasks = 4'
write_site nowhere 'partition = "nowhere"'
write_site held 'partition = "main", options = { "--hold" }'

# Runs the verb sweep for a folder of $work: FOLDER ARGUMENTS.
sweep() {
    where=$1
    shift
    ./longhand sweep "$@" --out "$work/$where"
}

# Whether squeue answers, and lists no task.
is_idle() { tasks=$(squeue -h) && [ -z "$tasks" ]; }

# Prints the numbers of processes whose command has a path: ABSOLUTE_PATH. The brackets keep grep from finding itself.
find_processes() { grep -lzs -e "[/]${1#/}" /proc/[0-9]*/cmdline | cut -d / -f 3; }

# Prints the process numbers of trainers with the flag --missing, which train; others only describe themselves. A
# process that has ended, but was not waited for, has no command: FOLDER.
find_task_trainers() {
    for one in $(find_processes "$work/$1/.slurm/trainers/"); do
        ! grep -qzxs -e --missing "/proc/$one/cmdline" || echo "$one"
    done | grep .
}
one_task_waits() { [ "$(squeue -h -r -t PENDING | grep -c .)" -eq 1 ]; }
get_parent() { cut -d ' ' -f 4 "/proc/$1/stat"; }

sweeps_without_slurm() { ends_with 0 "grid: 24 of 24 runs done" sweep local "$work/grid.lua"; }

# --dry-run prints the script and writes nothing.
prints_its_script() {
    sweep none "$work/grid.lua" --slurm "$work/here.lua" --dry-run >"$work/job.sh" 2>"$work/output" || return
    [ ! -e "$work/none" ] && sh -n "$work/job.sh" && grep -q '^#SBATCH --array=1-4$' "$work/job.sh" &&
        grep -q '24 runs, 2 at a time in a task: 4 tasks (at most 10), up to .*; requested time 0:10:00, as in the site' \
            "$work/output"
}

# A run that was trained here before has fewer steps: a task replaces its folder.
trains_before() {
    ./longhand train "$work/grid.lua:sort" -- --steps 3000 --seed 1 --learning-rate 1e-3 --no-eval \
        --out "$work/cluster" && ends_with 0 "1 to continue" sweep cluster status "$work/grid.lua"
}

# Prints the process numbers of halted trainers. The test halts them, so that none finishes before it is killed.
find_halted() {
    for one in $(find_task_trainers cluster); do
        ! grep -q '^State:[[:space:]]*T' "/proc/$one/status" || echo "$one"
    done
}
all_are_halted() { kill -STOP $(find_task_trainers cluster) && [ "$(find_halted | grep -c .)" -eq 4 ]; }

# Halting begins before the tasks do, since a task that waits for no one is done within seconds.
submits() {
    until_true all_are_halted &
    halting=$!
    ends_with 0 "4 tasks, 24 runs; $work/cluster/.slurm/1/job.sh" sweep cluster "$work/grid.lua" \
        --slurm "$work/here.lua" && wait $halting || { kill $halting && return 1; }
}

# A second call has nothing to do: tasks in the queue are left alone.
submits_nothing_twice() {
    ends_with 0 " 0 to submit, " sweep cluster "$work/grid.lua" --slurm "$work/here.lua" &&
        [ ! -e "$work/cluster/.slurm/2" ]
}

returns_to_the_queue() { grep -h 'returns to the queue' "$work"/cluster/.slurm/1/logs/*.txt; }

two_are_halted() { [ "$(find_halted | grep -c .)" -eq 2 ]; }
is_gone() { [ ! -s "/proc/$1/cmdline" ]; }

# Whether the trainers of a task have received SIGTERM: PROCESSES of the task. Sets `own`, their process numbers.
task_got_signal() {
    own=''
    for one in $(find_task_trainers cluster); do
        case " $(echo $1) " in *" $(get_parent "$one") "*) own="$own $one" ;; esac
    done
    got_signal $own
}

# The script of one task receives SIGTERM, as at a time limit, and another task is preempted; then the trainer of one
# task and all processes of another are killed. Slurm keeps the task's script in a folder with the job's number.
survives_kills() {
    script=$(find_processes "$work/etc/d/job00001/") && kill -TERM $script &&
        until_true task_got_signal "$script" && kill -CONT $own && until_true returns_to_the_queue &&
        until_true one_task_waits && scontrol requeue "$(squeue -h -t RUNNING -o %i | head -1)" &&
        until_true two_are_halted || return
    first=$(find_halted | head -1) last=$(find_halted | tail -1)
    kill -9 "$first" && until_true is_gone "$first" && kill -9 "$(get_parent "$last")" "$last" && until_true is_idle
}

reports_missing_runs() {
    ends_with 0 "in no task of the queue: ./longhand sweep resubmit" sweep cluster status "$work/grid.lua" || return
    cp "$work/.out" "$work/status" && ! grep -q '24 of 24' "$work/status"
}

# sweep watch shows the runs of tasks in the folders of their attempts, and ends with the last run.
resubmits() {
    sweep cluster watch "$work/grid.lua" --seconds 0.5 >"$work/watched" 2>&1 &
    watcher=$!
    ends_with 0 "tasks, " sweep cluster resubmit "$work/grid.lua" && until_true is_idle &&
        ends_with 0 "grid: 24 of 24 runs done" sweep cluster status "$work/grid.lua" && wait $watcher &&
        grep -q ' [1-9][0-9]* running' "$work/watched" && grep -q '24 of 24 runs done' "$work/watched" ||
        { cat "$work/watched" "$work"/cluster/.slurm/2/logs/*.txt && return 1; }
}

keeps_bits() {
    sum_runs local >"$work/expected" && sum_runs cluster | cmp - "$work/expected" &&
        [ "$(grep -c . "$work/expected")" -gt 100 ]
}

# Two cells of one run each train at the same time in a task, whose time follows from their estimate.
trains_cells_side_by_side() {
    sed 's/seeds = .*/seeds = { 0, 0 },/; s/learning_rates = .*/learning_rates = { 1e-3 },/' "$work/grid.lua" \
        >"$work/pair.lua"
    ends_with 0 "2 runs, 2 at a time in a task: 1 task (at most 10), up to " sweep pair "$work/pair.lua" \
        --slurm "$work/estimated.lua" && grep -q 'requested time 0:0[0-9]:00: 2 times the estimate, plus 5 min' "$work/.out" &&
        grep -q '^#SBATCH --time=0:0[0-9]:00$' "$work/pair/.slurm/1/job.sh" && until_true is_idle &&
        ends_with 0 "2 of 2 runs done" sweep pair status "$work/pair.lua" &&
        grep -q ': done$' "$work/pair/.slurm/1/logs/1.1.txt" && grep -q ': done$' "$work/pair/.slurm/1/logs/1.2.txt" &&
        sum_runs pair >"$work/actual" && [ "$(grep -c eval.jsonl "$work/actual")" -eq 2 ] &&
        ! grep -vxF -f "$work/expected" "$work/actual"
}

# Compares reports without times, and without the width of columns that have them.
gives_the_same_report() {
    for where in local cluster; do
        ./longhand report "$work/$where" --study "$work/grid.lua" --out "$work/report-$where" >/dev/null 2>&1
        sed -e '/[0-9] s\|[0-9] h\|[0-9] min/d' "$work/report-$where/report.txt" | sed "s|$where||g" | tr -s ' -' \
            >"$work/$where.txt"
    done
    diff "$work/local.txt" "$work/cluster.txt" && grep -q '12 of 12' "$work/cluster.txt"
}

leaves_nothing() {
    [ -z "$(find "$work/cluster" -path '*/.attempts/*' -name '*.safetensors')" ] &&
        [ -z "$(find_task_trainers cluster)" ]
}

# Another build gives a trainer other defaults after it was built and before it is copied next to the runs: a program in
# the place of cp, which copies it, does this once. Tasks have their own defaults nevertheless.
keeps_its_defaults() {
    sed 's/"parity"/"between"/' "$work/grid.lua" >"$work/between.lua" # no other test has trainers of this name
    ./longhand train "$work/between.lua:between" -- --steps 7 --no-eval --out "$work/short" || return
    place=$(ls -td build/trainers/between-????????????????/ | head -1) && cp -a "$place" "$work/fresh" &&
        ./longhand train "$work/between.lua:between" --set train.steps=7 -- --no-eval --out "$work/seven" &&
        mv "${place}trainer" "$work/other" && rm -r "$place" && mv "$work/fresh" "$place" &&
        mkdir "$work/shim" || return
    cat >"$work/shim/cp" <<END4
#!/bin/sh
case "\$*" in *"${place}trainer "*)
    [ -e "$work/swapped" ] || $(command -v cp) "$work/other" "${place}trainer"
    touch "$work/swapped" ;;
esac
exec $(command -v cp) "\$@"
END4
    chmod +x "$work/shim/cp"
    ends_with 0 "12 runs" env PATH="$work/shim:$PATH" ./longhand sweep "$work/between.lua" --only task=between \
        --slurm "$work/held.lua" --out "$work/between" && [ -e "$work/swapped" ] || return
    # shellcheck disable=SC2046
    set -- $(head -1 "$work/between/.slurm/1/runs.txt" | tr -d "'") # TASK new ID DIGEST DEFAULTS TRAINER ...
    LONGHAND_DEFAULTS=$5 "$work/between/.slurm/trainers/$6" info >/dev/null &&
        ends_with 0 "cancelled: job" sweep between cancel "$work/between.lua" && until_true is_idle
}

# ---- mistakes of users, and their messages ----

reports_a_missing_partition() {
    ends_with 1 "sbatch failed" sweep bad "$work/grid.lua" --slurm "$work/nowhere.lua" &&
        grep -q 'invalid partition' "$work/.out" && [ -z "$(ls -A "$work"/bad/.slurm/[0-9]*)" ]
}

reports_another_study() {
    cp "$work/grid.lua" "$work/other.lua" &&
        ends_with 1 "expected: one of the submitted studies: grid" sweep cluster resubmit "$work/other.lua" &&
        ends_with 1 "no run of " sweep bad cancel "$work/grid.lua"
}

refuses_a_second_sweep() {
    other=$work/held/.slurm/submitting
    mkdir -p "$other" && touch "$other/$(uname -n).$$-1.$(cut -c 1-8 /proc/sys/kernel/random/boot_id).1" &&
        ends_with 4 "another sweep is submitting jobs for this folder ($(uname -n), process $$)" sweep held \
            "$work/grid.lua" --slurm "$work/held.lua" && rm -r "$other"
}

reports_waiting_tasks() {
    ends_with 0 "1 task, 24 runs" sweep held "$work/grid.lua" --slurm "$work/held.lua" &&
        ends_with 0 " 0 of  12 done, 12 queued" sweep held status "$work/grid.lua" || return
    ends_with 1 "tasks of Slurm work in this folder" sweep held "$work/grid.lua"
}

reports_an_edited_study() {
    sed 's/batch = 4/batch = 5/' "$work/grid.lua" >"$work/edited" && cp "$work/grid.lua" "$work/kept" &&
        cp "$work/edited" "$work/grid.lua" &&
        ends_with 0 "24 runs of job" sweep held status "$work/grid.lua" && grep -q 'the study was edited' "$work/.out" &&
        cp "$work/kept" "$work/grid.lua"
}

cancels_waiting_tasks() {
    ends_with 0 "cancelled: job" sweep held cancel "$work/grid.lua" && until_true is_idle &&
        ends_with 0 "no task of" sweep held cancel "$work/grid.lua"
}

# Whether the trainers of four endless tasks have begun their runs and handle signals.
four_have_begun() {
    set -- $(for one in $(find_task_trainers "$1"); do tr '\0' '\n' <"/proc/$one/cmdline" | sed -n '/^--out$/{n;p;}'; done)
    [ $# -eq 4 ] || return
    for out; do find "$out" -name run.json | grep -q . || return; done
}

# Running tasks are cancelled: their trainers write checkpoints, and no task returns to the queue.
cancels_running_tasks() {
    long="--set train.steps=100000000"
    ends_with 0 "12 runs" sweep running "$work/grid.lua" $long --only task=sort --slurm "$work/here.lua" &&
        until_true four_have_begun running &&
        ends_with 0 "cancelled: job" sweep running cancel "$work/grid.lua" $long && until_true is_idle &&
        [ -z "$(find_task_trainers running)" ] || return
    for run in "$work"/running/sort/*/.attempts/*/sort/*/*; do
        [ -s "$run/checkpoint.safetensors" ] && grep -q '"exit":75}$' "$run/run.json" || { ls "$run" && return 1; }
    done
    ends_with 0 " stopped" sweep running status "$work/grid.lua" $long --only task=sort
}

# The script of one task, with a shortened list, is run twice at once: each run exists once, with the same bits.
runs_a_task_twice() {
    script=$work/held/.slurm/1
    sed -i '3,$d' "$script/runs.txt"
    SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_JOB_ID=77 sh "$script/job.sh" >"$work/first" 2>&1 &
    first=$!
    SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_JOB_ID=77 sh "$script/job.sh" >"$work/second" 2>&1 && wait $first || return
    sum_runs held >"$work/actual" && [ "$(grep -c eval.jsonl "$work/actual")" -eq 2 ] &&
        ! grep -vxF -f "$work/expected" "$work/actual" &&
        [ "$(cat "$work/first" "$work/second" | grep -c ': done$')" -eq 2 ]
}

# The controller accepts a job, but sbatch fails before its answer: the sweep finds the job in the queue.
finds_a_job_without_an_answer() {
    mkdir -p "$work/late"
    printf '#!/bin/sh\n%s "$@" >/dev/null\necho "sbatch: error: Socket timed out" >&2\nexit 1\n' \
        "$(command -v sbatch)" >"$work/late/sbatch" && chmod +x "$work/late/sbatch" &&
        ends_with 0 'of that name is in the queue' env PATH="$work/late:$PATH" ./longhand sweep "$work/grid.lua" \
            --slurm "$work/held.lua" --out "$work/unheard" &&
        ends_with 0 " 0 of  12 done, 12 queued" sweep unheard status "$work/grid.lua" || return
    ends_with 0 "cancelled: job" sweep unheard cancel "$work/grid.lua" && until_true is_idle
}

# Another user's unfinished folder is in a run's place: it is kept, and so is the attempt with the trained run.
keeps_a_foreign_folder() {
    ends_with 0 "24 runs" sweep foreign "$work/grid.lua" --slurm "$work/held.lua" &&
        ends_with 0 "cancelled: job" sweep foreign cancel "$work/grid.lua" && until_true is_idle || return
    script=$work/foreign/.slurm/1
    sed -i '2,$d' "$script/runs.txt"
    # shellcheck disable=SC2046
    set -- $(tr -d "'" <"$script/runs.txt") # TASK new ID DIGEST DEFAULTS TRAINER RUN ...
    mkdir -p "$work/foreign/$3/$4/$7" && echo mine >"$work/foreign/$3/$4/$7/note"
    SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_JOB_ID=78 sh "$script/job.sh" >"$work/output" 2>&1
    [ $? -eq 1 ] && [ -e "$work/foreign/$3/$4/$7/note" ] &&
        grep -q '"exit":0}' "$work/foreign/$3/$4/.attempts/78_1-1/$3/$4/$7/run.json"
}

# A student and its teacher are submitted at once: the second job makes and submits the student once the first is done.
submits_stages() {
    cat >"$work/stages.lua" <<'END3'
return {
  title = "teacher and student",
  base = {
    task = { kind = "successor", options = { width = 16, numbers = 4096 } },
    model = { kind = "encoder_decoder", encoder_layers = 0, decoder_layers = 1, heads = 2, width = 32,
      feedforward = 64, dropout = 0, bias = "all", init = "xavier" },
    train = { batch = 64, steps = 400, learning_rate = 4e-3 },
    eval = { by = { digits = { 1, 15 } }, examples = 20 },
  },
  axes = { { name = "bias", values = {
    { name = "teacher", spec = { encoding = { kind = "sinusoid" } } },
    { name = "taught", spec = { train = { steps = 20 } } },
  } } },
  stages = {
    { name = "teachers", cells = { bias = { "teacher" } } },
    { name = "students", cells = { bias = { "taught" } }, from = "teachers", verb = "calibrate", seeds = { 3, 4 },
      options = { samples = 64, init = true, set = { "rows=4", "threshold.cross=2", "threshold.self=0" } } },
  },
}
END3
    ends_with 0 "submits the waiting runs of later stages, once job" sweep staged "$work/stages.lua" \
        --slurm "$work/here.lua" && until_true is_idle || return
    ends_with 0 "3 of 3 runs done" sweep staged status "$work/stages.lua" ||
        { cat "$work"/staged/.slurm/*/logs/*.txt && return 1; }
}

# Cancelling a stage also cancels the jobs that would continue it.
cancels_stages() {
    ends_with 0 "submits the waiting runs of later stages" sweep again "$work/stages.lua" --slurm "$work/held.lua" &&
        [ "$(squeue -h | grep -c .)" -eq 2 ] && ends_with 0 "cancelled: job" sweep again cancel "$work/stages.lua" &&
        until_true is_idle
}

expect slurm_cluster_starts start_cluster
if [ "$failures" -eq 0 ]; then
    expect_each slurm_ sweeps_without_slurm prints_its_script trains_before submits submits_nothing_twice \
        survives_kills returns_to_the_queue reports_missing_runs resubmits keeps_bits trains_cells_side_by_side \
        gives_the_same_report leaves_nothing keeps_its_defaults reports_a_missing_partition reports_another_study refuses_a_second_sweep \
        reports_waiting_tasks reports_an_edited_study cancels_waiting_tasks cancels_running_tasks runs_a_task_twice \
        finds_a_job_without_an_answer keeps_a_foreign_folder submits_stages cancels_stages
fi
finish
