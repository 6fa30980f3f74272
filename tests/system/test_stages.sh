# A study with stages: cells of a later stage (students) are calibrated from runs of an earlier one (teachers). One
# command trains all stages, and failures are reported.

. tests/system/common.sh

cat >"$work/stages.lua" <<'END'
return {
  title = "teacher and student",
  base = {
    task = { kind = "successor", options = { width = 16, numbers = 4096 } },
    model = { kind = "encoder_decoder", encoder_layers = 0, decoder_layers = 1, heads = 2, width = 32,
      feedforward = 80, dropout = 0, bias = "all", init = "xavier" }, -- test_slurm.sh has 64: no trainer is shared
    train = { batch = 64, steps = 400, learning_rate = 4e-3 },
    eval = { by = { digits = { 1, 15 } }, examples = 20 },
  },
  axes = { { name = "bias", values = {
    { name = "teacher", spec = { encoding = { kind = "sinusoid" } } },
    { name = "taught", spec = { train = { steps = 20 } } },
    { name = "strict", spec = {} },
    { name = "beyond", spec = {} },
  } } },
  stages = {
    { name = "teachers", cells = { bias = { "teacher" } } },
    { name = "students", cells = { bias = { "taught" } }, from = "teachers", verb = "calibrate", seeds = { 3, 4 },
      options = { samples = 64, init = true, set = { "rows=4", "threshold.cross=2", "threshold.self=0" } } },
    { name = "none_passes", cells = { bias = { "strict" } }, from = "teachers", verb = "calibrate",
      options = { samples = 64, set = { "rows=4", "threshold.self=9" } } },
    { name = "never", cells = { bias = { "beyond" } }, from = "none_passes", verb = "calibrate" },
  },
  report = { metric = "exact_match", { kind = "numbers", rows = "bias", at = { 3, 10 } } },
}
END

sweep() { ./longhand sweep "$work/stages.lua" --out "$work/runs" "$@"; }
status() { ./longhand sweep status "$work/stages.lua" --out "$work/runs"; }

estimate_known_runs() {
    ends_with 0 'not counted: 4 runs that wait for other runs' sweep --dry-run &&
        grep -q '^bias teacher  *1  *1 ' "$work/.out"
}

# The steps of an epoch are known only after the examples are made, which takes a while; nothing is built for it.
do_not_estimate_epochs() {
    sed 's/steps = 400/epochs = 2/' "$work/stages.lua" >"$work/epochs.lua" &&
        ends_with 0 'not counted: 1 cell trained for epochs' ./longhand sweep "$work/epochs.lua" --out "$work/none" \
            --dry-run && grep -q '^bias teacher  *1  *1  *not known  *not known$' "$work/.out" &&
        ! grep -q -e 'on this machine' -e 'measured' -e 'building' "$work/.out"
}

wait_for_each_other() {
    status >"$work/output" && grep -q '^taught .* 0 of   2 done, 2 waiting for teacher$' "$work/output" &&
        grep -q '^beyond .* 1 waiting for strict$' "$work/output" &&
        ends_with 1 'the cell taught waits for teacher' ./longhand plan "$work/stages.lua:taught"
}

are_trained_by_one_command() {
    ends_with 1 'stages: 3 of 5 runs done, 2 waiting' sweep || return
    cp "$work/.out" "$work/first"
    grep -q 'taught: calibrate of teacher/' "$work/first" &&
        grep -q 'strict: calibrate of teacher/.* failed (exit code 1); from ' "$work/first" &&
        grep -q 'no line of any head passes' "$work/first" &&
        ls "$work"/runs/taught/*/lr0.004-seed[34]/eval.jsonl
}

# The student's spec is written with its tables next to it; the runs of its cell begin with the teacher's parameters.
write_a_spec_of_the_student() {
    grep -q '"init_checksum":"' "$work"/runs/taught/*/lr0.004-seed3/run.json || return
    made=$(ls "$work"/runs/taught/calibrate_*/taught.lua) && ./longhand check "$made" &&
        [ -s "${made%/*}/tables/lines.csv" ] && ./longhand plan "$made" | grep -q 'lines' && [ -s "${made%/*}/log.txt" ]
}

# A second sweep neither builds nor trains finished runs again, and tries failed runs once more.
train_nothing_twice() {
    sum_files() { find "$work/runs" -name '*.safetensors' -o -path '*/calibrate_*/*.lua' | sort | xargs cksum; }
    sum_files >"$work/before"
    ends_with 1 '3 done, 2 to do' sweep && ! grep -q 'building\|taught: calibrate' "$work/.out" &&
        sum_files | cmp - "$work/before"
}

# A student's cell alone uses its teacher's run, which must exist.
train_a_student_alone() {
    rm -r "$work"/runs/taught/calibrate_* &&
        ends_with 0 'stages: 2 of 2 runs of 1 of 4 cells done' sweep --only bias=taught &&
        grep -q 'taught: calibrate of teacher/' "$work/.out" &&
        ends_with 75 'need runs of cells that are not selected' ./longhand sweep "$work/stages.lua:taught" \
            --out "$work/none"
}

are_reported() {
    ./longhand report "$work/runs" --out "$work/report" >"$work/output" 2>&1 || [ $? -eq 4 ] || return
    grep -q '(2 waiting)' "$work/output" && grep -q '^taught  *2 of 2 ' "$work/report/report.txt" &&
        grep -q '^stages,taught,3,.*,test,2,12,1,' "$work/report/report.csv"
}

# A bundle contains the teacher's run of this machine; the student is made and trained elsewhere.
are_bundled() {
    rm -r "$work"/runs/taught/calibrate_* && ends_with 0 '1 of 4 cells, 2 runs' ./longhand bundle "$work/stages.lua" \
        --only bias=taught --runs "$work/runs" --levels best --out "$work/taught.tar.gz" &&
        tar xzf "$work/taught.tar.gz" -C "$work" && ends_with 0 '2 of 2 runs done' sh "$work/taught/run.sh" || return
    for seed in 3 4; do
        cmp "$work"/runs/taught/*/lr0.004-seed$seed/checkpoint.safetensors \
            "$work"/taught/runs/taught/*/lr0.004-seed$seed/checkpoint.safetensors || return
    done
}

expect_each stages_ estimate_known_runs do_not_estimate_epochs wait_for_each_other are_trained_by_one_command
if [ "$failures" -eq 0 ]; then
    expect_each stages_ write_a_spec_of_the_student train_nothing_twice train_a_student_alone are_reported
    if [ -z "$(make -s print-static-problem)" ]; then
        expect stages_are_bundled are_bundled
    else
        echo "skip stages_are_bundled: $(make -s print-static-problem)"
    fi
fi
finish
