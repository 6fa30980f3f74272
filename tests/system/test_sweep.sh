# A study that is swept, killed in the middle and swept again has the bits of an uninterrupted one; a run that fails is
# reported and the others continue.

. tests/system/common.sh

# Writes a study of two cells with two seeds: STEPS LEARNING_RATES [NAME [EXAMPLES]].
write_study() {
    cat >"$work/${3:-sweep}.lua" <<EOF
return {
  title = "two cells",
  base = {
    model = { use = "small_encoder", layers = 1, feedforward = 16 },
    train = { batch = 4, steps = $1, lengths = { 1, 4 }, log_every = 500 },
    eval = { lengths = { 3, 6 }, validation = { examples = 0 }, examples = ${4:-16} },
    encoding = { -- too large a learning rate makes the score infinite
      score = function(x) return x.score - exp(x.speed) * abs(x.distance) end,
      parameters = { speed = { per = "head", init = 0, learned = true } },
    },
  },
  axes = { { name = "task", values = {
    { name = "parity", spec = { task = { kind = "parity_check" } } },
    { name = "sort", spec = { task = { kind = "bucket_sort" } } },
  } } },
  seeds = { 0, 1 },
  learning_rates = { $2 },
}
EOF
}

sweep() { ./longhand sweep "$work/sweep.lua" --out "$work/$1" ${2:+"$2"}; }
status() { ./longhand sweep status "$work/sweep.lua" --out "$work/$1"; }

kill_one() { kill -9 $(find_trainers | head -1); }
halt_all() { halt $(find_trainers); }

has_begun() { ls "$work/$1"/*/*/*/metrics.jsonl; }
no_trainer_is_left() { ! find_trainers; }
trainers_got_signal() { got_signal $(find_trainers); }

prints_an_estimate() {
    ends_with 0 "in total                                2      4" sweep none --dry-run && [ ! -e "$work/none" ]
}

trains_all_runs() {
    ends_with 0 "sweep: 4 of 4 runs done" sweep whole && status whole | grep -q '^sort .* 2 of   2 done$' &&
        grep -q '"study":"sweep"' "$work/whole/sweep.json"
}

does_nothing_twice() {
    sum_runs whole >"$work/before" && cp -r "$work/whole" "$work/copy" &&
        ends_with 0 "4 done, 0 to do" sweep whole && sum_runs whole | cmp - "$work/before" &&
        diff -r -x sweep.json "$work/whole" "$work/copy"
}

is_reported_by_python() {
    cp -r "$work/whole" "$work/python" && "$PYTHON" tests/python/test_studies.py "$work/sweep.lua" "$work/python"
}

# A study that was swept by a relative path is found from another folder.
is_reported_from_elsewhere() {
    (cd "$work" && "$root/longhand" sweep sweep.lua --out whole) &&
        (cd / && "$root/longhand" report "$work/whole" --no-cache --out "$work/elsewhere") >"$work/output" 2>&1
    grep -q '4 of 4 runs have a score' "$work/output" && ! grep 'cannot be read now' "$work/output"
}

# A run with damaged files is named, set aside, and trained again to the same bits.
trains_a_damaged_run_anew() {
    cp -r "$work/whole" "$work/damaged" && set -- "$work"/damaged/sort/*/lr0.001-seed1 &&
        echo '{"step":' >"$work/line" &&
        cat "$work/line" "$1/eval.jsonl" >"$work/lines" && cp "$work/lines" "$1/eval.jsonl" || return
    ends_with 1 "damaged: $1/eval.jsonl: line 1: " status damaged &&
        ends_with 0 "eval.jsonl: line 1: " sweep damaged && grep -q '4 of 4 runs done' "$work/.out" &&
        grep -q "set aside as ${1%/*}/.damaged/lr0.001-seed1-1, and trained anew" "$work/.out" &&
        cmp "$work/lines" "${1%/*}/.damaged/lr0.001-seed1-1/eval.jsonl" && sum_runs whole >"$work/expected" &&
        rm -r "${1%/*}/.damaged" && sum_runs damaged | cmp - "$work/expected"
}

# No run is trained or logged through a link to another user's files: a link at a run's folder, then at a cell's.
trains_nothing_through_links() {
    mkdir -p "$work/linked" && cp -r "$work/whole/parity" "$work/linked/" && cp -r "$work/whole/sort" "$work/theirs" &&
        for run in "$work"/theirs/*/lr*; do rm "$run"/[!m]* || return; done &&
        cp -r "$work/theirs" "$work/kept" || return
    cp -r "$work/whole/sort" "$work/linked/" && set -- "$work"/linked/sort/*/lr0.001-seed1 && rm -r "$1" &&
        ln -s "$work"/theirs/*/lr0.001-seed1 "$1" && ends_with 1 "$1: found a link; expected a folder" sweep linked &&
        grep -q '3 of 4 runs done, 1 behind links' "$work/.out" && diff -r "$work/theirs" "$work/kept" &&
        rm -r "$work/linked/sort" && ln -s "$work/theirs" "$work/linked/sort" &&
        ends_with 1 "$work/linked/sort: found a link" sweep linked && diff -r "$work/theirs" "$work/kept" &&
        grep -q '2 of 4 runs done, 2 behind links' "$work/.out"
}

# Another study of the same cells trains and compiles nothing, and has its own evaluation.
shares_runs_of_another_study() {
    write_study 15000 1e-3 other 8 && cp -r "$work/whole" "$work/both" || return
    ends_with 0 '0 trainers to build' ./longhand sweep "$work/other.lua" --out "$work/both" --dry-run &&
        write_study 15000 1e-3 other 9 || return
    ends_with 0 '2 trainers given new defaults, nothing compiled' ./longhand sweep "$work/other.lua" \
        --out "$work/both" &&
        ! grep -q building "$work/.out" && grep -q '"examples":9,' "$work/both"/sort/*/*/eval.jsonl &&
        grep -q '"examples":16,' "$work/both"/sort/*/*/eval.jsonl
}

# After a kill of the sweep the trainers write checkpoints. They are halted until then, since they could end earlier.
leaves_checkpoints_if_killed() {
    ./longhand sweep "$work/sweep.lua" --out "$work/cut" >"$work/cut.log" 2>&1 &
    until_true has_begun cut && until_true halt_all && kill -9 $! && wait $!
    [ $? -eq 137 ] && until_true trainers_got_signal && kill -CONT $(find_trainers) && until_true no_trainer_is_left &&
        grep -q '"exit":75}' "$work"/cut/*/*/*/run.json
}

reports_a_killed_trainer() {
    ./longhand sweep "$work/sweep.lua" --out "$work/cut" >"$work/cut.log" 2>&1 &
    until_true kill_one && wait $!
    [ $? -eq 1 ] && grep -q 'failed (killed by signal 9)' "$work/cut.log"
}

continues_to_the_same_bits() {
    ends_with 0 "sweep: 4 of 4 runs done" sweep cut && sum_runs whole >"$work/expected" &&
        sum_runs cut | cmp - "$work/expected"
}

# Each failure is reported once in each of the two cells.
reports_each_failure() {
    for seed in 0 1; do
        [ "$(grep -c "seed $seed: error: step 2: " "$work/.out")" -eq 2 ] || { cat "$work/.out" && return 1; }
    done
}

# With --jobs=9 each cell has one thread: seed 1 starts, warns and fails after seed 0 has failed.
reports_failed_runs() {
    write_study 15000 "1e-3, 1e6" && ends_with 1 "sweep: 4 of 8 runs done, 4 failed" sweep whole --jobs=9 &&
        reports_each_failure && ends_with 1 "sweep: 4 of 8 runs done, 4 failed" sweep whole &&
        reports_each_failure &&
        status whole | grep -q '^parity  *2 of   4 done, 2 failed' &&
        ends_with 0 'failed: parity lr1e+06-seed1: step 2: ' ./longhand sweep watch "$work/sweep.lua" \
            --out "$work/whole" --once
}

# Sweeps a study that flags make of a spec: FOLDER of $work, SEEDS, ARGUMENTS of sweep.
sweep_by_flags() {
    out=$work/$1 seeds=$2
    shift 2
    ./longhand sweep "$@" "$work/flags.lua" --axis encoding=alibi,none --seeds "$seeds" --out "$out"
}

write_spec() {
    cat >"$work/flags.lua" <<EOF
return {
  task = { kind = "parity_check" },
  model = { use = "small_encoder", layers = 1, feedforward = 16 },
  train = { batch = 4, steps = 15000, lengths = { 1, 4 }, log_every = 500 },
  eval = { lengths = { 3, 6 }, examples = 16 },
}
EOF
}

# No run begins after the time limit of two seconds, 0.0006 hours; 256 runs take longer. The output goes to a terminal,
# on which lines are redrawn, if the program script can make one.
ends_after_its_hours() {
    write_spec
    sweep_by_flags budget 0:255 status >"$work/output" &&
        grep -q '^flags_alibi .* 0 of 256 done, 256 absent' "$work/output" || return
    set -- --only encoding=alibi --hours 0.0006 --jobs 1
    if command -v script >/dev/null 2>&1; then
        words="$work/flags.lua --axis encoding=alibi,none --seeds 0:255 --out $work/budget $*"
        TERM=xterm script -qec "stty rows 24 cols 80; ./longhand sweep $words" "$work/tty" >/dev/null </dev/null
    else
        sweep_by_flags budget 0:255 "$@" >"$work/tty" 2>&1
    fi
    [ $? -eq 75 ] && grep -q 'the time is over, and no further run was started' "$work/tty" &&
        [ ! -e "$work/budget/flags_none" ] && ! grep -q '256 of 256 runs' "$work/tty" ||
        { cat -v "$work/tty" && return 1; }
}

# sweep watch follows the sweep to its end. Other commands find a study from flags by its name in the folder of runs.
is_watched() {
    sweep_by_flags flags 0:3 watch --seconds 1 >"$work/watched" 2>&1 &
    ends_with 0 ": 8 of 8 runs done" sweep_by_flags flags 0:3 || return
    name=$(basename "$work"/flags/flags-encoding-*.lua .lua)
    wait $! && grep -q '8 of 8 runs done' "$work/watched" &&
        ./longhand sweep watch "$name" --out "$work/flags" --once >"$work/output" &&
        grep -q '^alibi  *\[########\]  *4/4 ' "$work/output" &&
        ends_with 0 'flags: encoding' ./longhand report "$work/flags"
}

# A study would train a renamed cell anew, so its runs keep their name.
of_a_study_keep_their_names() {
    ends_with 1 'the study flags-encoding-' ./longhand runs rename "$work/flags/flags_alibi" other &&
        [ -d "$work/flags/flags_alibi" ] && [ ! -e "$work/flags/other" ]
}

# Runs are not removed while a trainer holds their lock, and are afterwards.
are_not_removed_in_training() {
    ./longhand build "$work/flags.lua" --levels best --out "$work/built" >/dev/null || return
    "$work/built/trainer" train --steps 2000000000 --no-eval --out "$work/held" >"$work/log" 2>&1 &
    trainer=$!
    until_true has_begun held
    ends_with 1 'a trainer is running in this folder' ./longhand runs remove --yes "$work/held"
    refused=$?
    kill "$trainer" && wait "$trainer"
    [ $? -eq 75 ] && [ $refused -eq 0 ] && ends_with 0 '' ./longhand runs remove --yes "$work/held" &&
        [ ! -e "$work/held/flags" ]
}

selects_cells() {
    ends_with 0 "2 of 2 runs of 1 of 2 cells done" ./longhand sweep status "$work/sweep.lua:sort" --out "$work/whole" &&
        ends_with 0 "2 of 2 runs of 1 of 2 cells done" ./longhand sweep status "$work/sweep.lua" --only task=sort \
            --out "$work/whole" &&
        ends_with 1 "did you mean parity?" ./longhand sweep "$work/sweep.lua:sort,party" --out "$work/whole"
}

write_study 15000 1e-3
expect_each sweep_ prints_an_estimate trains_all_runs does_nothing_twice selects_cells
expect_python sweep_is_reported_by_python is_reported_by_python
expect_each sweep_ is_reported_from_elsewhere trains_a_damaged_run_anew trains_nothing_through_links \
    shares_runs_of_another_study leaves_checkpoints_if_killed reports_a_killed_trainer continues_to_the_same_bits \
    reports_failed_runs ends_after_its_hours is_watched
expect_each runs_ of_a_study_keep_their_names are_not_removed_in_training
finish
