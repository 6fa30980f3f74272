# A study whose spec and sampler change after a sweep: its results are shown and marked, and new runs are trained in
# other folders.

. tests/system/common.sh

study=$work/mine.lua
runs=$work/runs

# Writes the study: feed-forward width, steps, more fields of train.
study() {
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
report() { ./longhand report "$runs" --out "$work/report" "$@"; }
scores() { cut -d, -f 2-9 "$work/report/runs.csv" && cut -d, -f 2- "$work/report/report.csv"; }
plans() { ls -d "$runs"/none/*/ | wc -l; }

swept() {
    cp examples/own_task/first_repeat.c "$work" && study 16 20 && ends_with 0 '4 of 4 runs done' sweep &&
        ends_with 0 '4 of 4 runs have a score' report && scores >"$work/before" &&
        cmp "$work/first_repeat.c" "$runs"/.studies/sources/*.c
}

# The scores do not change with the spec, and the difference is reported.
shows() {
    ends_with 0 '4 of 4 runs have a score' report && tr -s '\n ' '  ' <"$work/.out" >"$work/words" &&
        grep -qF "$1" "$work/words" && scores | cmp - "$work/before"
}

comment_in_the_sampler() {
    echo '/* A remark. */' >>"$work/first_repeat.c"
    shows 'which a sweep would train anew: none: task.source: first_repeat.c had other bytes (.studies/sources/' &&
        ends_with 0 'of an earlier spec: 4 runs of none, rope: task.source: first_repeat.c had other bytes' \
            ./longhand sweep status "$study" --out "$runs"
}

comment_in_the_study() {
    cp examples/own_task/first_repeat.c "$work" && sed -i '1i -- A remark.' "$study" &&
        ends_with 0 '4 of 4 runs have a score' report && ! grep -q 'earlier version' "$work/.out" &&
        ends_with 0 '4 done, 0 to do' sweep
}

another_field() { study 32 20 && shows 'model.feedforward was 16 and is 32 now'; }
study_that_cannot_be_read() { echo 'return {' >"$study" && shows 'cannot be read now'; }

study_that_is_gone() {
    rm "$study" && shows 'cannot be read now' && ends_with 0 '4 of 4 runs have a score' report --study mine
}

# A cell never mixes two versions.
swept_anew() {
    study 32 20 && ends_with 0 'none: model.feedforward was 16 and is 32 now' sweep none && [ "$(plans)" -eq 2 ] &&
        ends_with 0 '1 of 2 cells shows runs of an earlier version' report &&
        tr -s '\n ' '  ' <"$work/.out" | grep -qF 'Left out: 2 runs of an earlier version of none'
}

# If the learning rate falls until the last step, another number of steps makes another run.
schedule() {
    runs=$work/falls
    study 16 20 'schedule = { kind = "linear" }' && ends_with 0 '4 of 4 runs done' sweep &&
        study 16 40 'schedule = { kind = "linear" }' && ends_with 0 \
        'train.steps was 20 and is 40 now (the learning rate falls until the last step)' sweep && [ "$(plans)" -eq 2 ]
}

expect swept swept
expect comment_in_the_sampler comment_in_the_sampler
expect comment_in_the_study comment_in_the_study
expect another_field another_field
expect study_that_cannot_be_read study_that_cannot_be_read
expect study_that_is_gone study_that_is_gone
expect swept_anew swept_anew
expect schedule schedule
finish
