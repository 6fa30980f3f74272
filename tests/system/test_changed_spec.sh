# A study whose spec and sampler change after a sweep: its results are shown and marked, new runs get other folders.

. tests/system/common.sh

study=$work/mine.lua
runs=$work/runs

# Writes the study: FEEDFORWARD STEPS [FIELDS of train].
write_study() {
    cat >"$study" <<END
return {
  title = "mine", seeds = { 0, 1 },
  base = {
    task = { source = "first_repeat.c" },
    model = { use = "small_encoder", layers = 1, feedforward = $1 },
    train = { batch = 4, steps = $2, lengths = { 1, 4 }, log_every = 10${3:+, }${3:-} },
    eval = { lengths = { 3, 6 }, examples = 8 },
  },
  axes = { { name = "encoding", values = { { name = "none", spec = { encoding = { use = "none" } } },
    { name = "rope", spec = { encoding = { use = "rope" } } } } } },
}
END
}

sweep() { ./longhand sweep "$study${1:+:}${1:-}" --out "$runs"; }
write_report() { ./longhand report "$runs" --out "$work/report" "$@"; }
# Prints the columns of the CSV files that do not depend on the plan: without novel_positions, _distances and _keys.
print_scores() { cut -d, -f 2-9 "$work/report/runs.csv" && cut -d, -f 2-23,27- "$work/report/report.csv"; }
count_plans() { ls -d "$runs"/none/*/ | wc -l; }

trains() {
    cp examples/own_task/first_repeat.c "$work" && write_study 16 20 && ends_with 0 '4 of 4 runs done' sweep &&
        ends_with 0 '4 of 4 runs have a score' write_report && print_scores >"$work/before" &&
        cmp "$work/first_repeat.c" "$runs"/.studies/sources/*.c
}

# Checks that the scores are those of the first report, and that a text is in the new one: TEXT.
reports_a_difference() {
    ends_with 0 '4 of 4 runs have a score' write_report && tr -s '\n ' '  ' <"$work/.out" >"$work/words" &&
        grep -qF "$1" "$work/words" && print_scores | cmp - "$work/before"
}

reports_a_changed_sampler() {
    echo '/* A remark. */' >>"$work/first_repeat.c"
    reports_a_difference \
        'which a sweep would train anew: none: task.source: first_repeat.c had other bytes (.studies/sources/' &&
        ends_with 0 'of an earlier spec: 4 runs of none, rope: task.source: first_repeat.c had other bytes' \
            ./longhand sweep status "$study" --out "$runs"
}

ignores_a_comment_in_the_study() {
    cp examples/own_task/first_repeat.c "$work" && sed -i '1i -- A remark.' "$study" &&
        ends_with 0 '4 of 4 runs have a score' write_report && ! grep -q 'earlier version' "$work/.out" &&
        ends_with 0 '4 done, 0 to do' sweep
}

reports_another_field() { write_study 32 20 && reports_a_difference 'model.feedforward was 16 and is 32 now'; }
reports_an_unreadable_study() { echo 'return {' >"$study" && reports_a_difference 'cannot be read now'; }

reports_a_missing_study() {
    rm "$study" && reports_a_difference 'cannot be read now' &&
        ends_with 0 '4 of 4 runs have a score' write_report --study mine
}

# A cell is never shown with runs of two versions.
trains_the_new_version() {
    write_study 32 20 && ends_with 0 'none: model.feedforward was 16 and is 32 now' sweep none &&
        [ "$(count_plans)" -eq 2 ] &&
        ends_with 0 '1 of 2 cells shows runs of an earlier version' write_report &&
        tr -s '\n ' '  ' <"$work/.out" | grep -qF 'Left out: 2 runs of an earlier version of none'
}

# If the learning rate falls until the last step, another number of steps makes another run.
trains_other_runs_for_other_steps() {
    runs=$work/falls
    write_study 16 20 'schedule = { kind = "linear" }' && ends_with 0 '4 of 4 runs done' sweep &&
        write_study 16 40 'schedule = { kind = "linear" }' && ends_with 0 \
        'train.steps was 20 and is 40 now (the learning rate falls until the last step)' sweep &&
        [ "$(count_plans)" -eq 2 ]
}

expect_each changed_spec_ trains reports_a_changed_sampler ignores_a_comment_in_the_study reports_another_field \
    reports_an_unreadable_study reports_a_missing_study trains_the_new_version trains_other_runs_for_other_steps
finish
