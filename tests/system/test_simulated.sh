# A study of 200 runs whose simulated trainers die, stop or fail in 30 of 100 processes, and some of whose tasks run
# twice: after repeated submission it is complete, with the same files as a study without failures.

. tests/system/common.sh
. tests/system/simulated.sh

cat >"$work/grid.lua" <<'END'
return {
  title = "runs that fail",
  base = { model = { use = "small_encoder" }, train = { batch = 4, steps = 400, lengths = { 1, 4 } },
    eval = { lengths = { list = { 5, 7, 9 } }, examples = 16 }, encoding = { kind = "none" } },
  axes = { { name = "task", values = {
    { name = "parity", spec = { task = { kind = "parity_check" } } },
    { name = "sort", spec = { task = { kind = "bucket_sort" } } },
  } } },
  seeds = { 0, 49 },
  learning_rates = { 1e-3, 2e-3 },
}
END
echo 'return { time = "1:00:00", replicas = 6, max_tasks = 20 }' >"$work/site.lua"

complete_without_failures() { SIMULATED_FAILING=0 complete whole 200; }
complete_with_failures() { SIMULATED_FAILING=30 complete failing 200 && [ $rounds -gt 1 ]; }

reports_all() {
    ./longhand report "$work/failing" --study "$work/grid.lua" --no-cache >"$work/output" 2>&1
    grep -q '^200 of 200 runs have a score' "$work/output"
}

export SIMULATED_FAILING
expect "200 runs of which none fails" complete_without_failures
expect "200 runs of which many fail, submitted until all are done" complete_with_failures
expect "a sweep finds nothing to do" find_nothing_to_do
expect "nothing is lost, and nothing counted twice" have_equal_files
expect "all have a score" reports_all
finish
