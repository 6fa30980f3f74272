# The best checkpoint and patience: sweeps, lists of runs and reports of runs that end early, and how they go on.

. tests/system/common.sh

spec=$work/early.lua
runs=$work/runs

# Writes the spec: STEPS.
write_spec() {
    cat >"$spec" <<END
return {
  task = { kind = "parity_check" }, encoding = { use = "none" },
  model = { layers = 1, width = 16, heads = 2 },
  train = { steps = $1, batch = 8, lengths = { 1, 6 }, learning_rate = 3e-3, log_every = 50, patience = 3,
    checkpoint = { best = { metric = "loss" } } },
  eval = { lengths = { 7, 9 }, examples = 16, during = { every = 10, lengths = { 4, 8 }, examples = 16 } },
}
END
}

sweep() { ./longhand sweep "$spec" --seeds 0:1 --out "$runs"; }

# Prints a fact of the run of seed 0, such as steps.
print_fact() { ./longhand runs show "$(find_run runs)" | sed -n "s/^$1 *//p"; }

ends_early_and_counts_as_done() {
    write_spec 5000 && ends_with 0 '2 of 2 runs done' sweep && ends_with 0 '2 done, 0 to do' sweep &&
        [ "$(print_fact steps)" -lt 5000 ] && [ "$(print_fact best_step)" -eq $(($(print_fact steps) - 30)) ]
}

shows_the_best_checkpoint() {
    ends_with 0 "step $(print_fact best_step): " ./longhand runs show "$(find_run runs)" &&
        ends_with 0 'Last, best and late: accuracy in percent' ./longhand report "$runs" &&
        ! grep -q 'runs differ in last step' "$work/.out" &&
        grep -q ',best_step,best_score,' "$runs"/report*/runs.csv
}

evaluates_the_best_checkpoint_alone() {
    build/trainers/early-*/trainer eval --checkpoint "$(find_run runs)/checkpoint-best.safetensors" \
        --out "$work/alone" --threads 1 && grep -v '"during"' "$(find_run runs)/eval.jsonl" | grep '"beyond"' |
        grep "\"step\":$(print_fact best_step)," >"$work/of_run" && cmp "$work/of_run" "$work/alone/eval.jsonl"
}

goes_on_to_more_steps() {
    before=$(print_fact steps)
    write_spec 6000 && ends_with 0 '2 to do' sweep && [ "$(print_fact steps)" -gt "$before" ] &&
        ends_with 0 '2 done, 0 to do' sweep
}

expect_each "patience_" ends_early_and_counts_as_done shows_the_best_checkpoint evaluates_the_best_checkpoint_alone \
    goes_on_to_more_steps
finish
