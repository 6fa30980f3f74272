# A whole study of a paper, 15 tasks by 13 encodings by 3 learning rates by 10 seeds, with simulated trainers of which
# 30 of 100 processes die, stop or fail: makes the checks of test_simulated.sh and prints their duration.

. tests/system/common.sh
. tests/system/simulated.sh

cat >"$work/grid.lua" <<'END'
return {
  title = "5,850 runs that fail",
  base = { model = { use = "ruoss_encoder" }, train = { use = "ruoss" },
    eval = { lengths = { list = { 50, 100, 200, 500 } }, examples = 500 } },
  axes = { { name = "task", use = "ruoss_tasks" }, { name = "encoding", use = "ruoss_encodings" } },
  seeds = { 0, 9 },
  learning_rates = { 1e-4, 3e-4, 5e-4 },
}
END
echo 'return { time = "1-00:00:00", replicas = 10, max_tasks = 200 }' >"$work/site.lua"

complete_without_failures() { SIMULATED_FAILING=0 complete whole 5850; }
complete_with_failures() { SIMULATED_FAILING=30 complete failing 5850 && [ $rounds -gt 1 ]; }

# Runs a function and prints its duration: FUNCTION.
measure() {
    from=$(date +%s)
    "$@" && echo "$(($(date +%s) - from)) s: $*" >&3
}

exec 3>&2
export SIMULATED_FAILING
expect "5,850 runs of which none fails" measure complete_without_failures
expect "5,850 runs of which many fail, submitted until all are done" measure complete_with_failures
expect "a sweep finds nothing to do" find_nothing_to_do
expect "nothing is lost, and nothing counted twice" have_equal_files
finish
