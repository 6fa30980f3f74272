# A study on dataset files whose files, epochs and evaluation change: runs are trained again, trained further, evaluated
# or left unchanged, and the command reports it.

. tests/system/common.sh

study=$work/probe.lua
runs=$work/runs

# Writes the spec of the study: epochs, the learning rate's schedule or nothing.
study() {
    cat >"$study" <<END
return {
  title = "files", seeds = { 0, 1 },
  base = {
    task = { data = "train.jsonl", eval = "test.jsonl", input_symbols = 4, output_symbols = 2, longest = 16 },
    model = { use = "small_encoder", layers = 1, feedforward = 16 },
    train = { batch = 8, epochs = $1, log_every = 4${2:+, }${2:-} },
    eval = { examples = 50 },
  },
  axes = { { name = "encoding", values = { { name = "none", spec = { encoding = { use = "none" } } } } } },
}
END
}

# Writes examples: file, number, first one.
examples() {
    awk -v count="$2" -v from="$3" 'BEGIN {
        for (i = from; i < from + count; i++)
            printf "{\"input\":[%d,%d,%d],\"target\":[%d]}\n", i % 4, int(i / 4) % 4, int(i / 16) % 4, (i + int(i / 4)) % 2
    }' >"$work/$1"
}

sweep() { ./longhand sweep "$study" --out "$runs" "$@"; }
status() { ./longhand sweep status "$study" --out "$runs"; }
digits() { sha256sum <"$work/$1" | cut -c 1-8; }
checkpoints() { find "$runs" -name checkpoint.safetensors | sort | xargs cksum; }
run() { echo "$runs"/none/*/lr0.0003-seed"$1"-data"$(digits train.jsonl)"; }

first_sweep() {
    study 2 && examples train.jsonl 40 0 && examples test.jsonl 20 7 && ends_with 0 '2 of 2 runs done' sweep &&
        [ -f "$(run 0)/run.json" ] && ends_with 0 '2 of 2 runs done' status
}

more_epochs_train_on() {
    study 4 && ends_with 0 'to train on: 2 runs of none: from step 10 to 20 (4 epochs)' status &&
        ends_with 0 '2 of 2 runs done' sweep && grep -q '"step":20,.*"exit":0}' "$(run 0)/run.json" &&
        grep -q '"step":8,' "$(run 0)/metrics.jsonl" && [ "$(ls "$runs"/none | wc -l)" -eq 1 ]
}

# Runs that were already trained for more epochs are reported and kept; they are no failures, also if other runs of the
# cell are trained.
fewer_epochs_leave_what_is_there() {
    checkpoints >"$work/before"
    study 2 && ends_with 0 '0 of 2 runs done, 2 trained further' sweep &&
        grep -q 'trained further: 2 runs of none: at step 20, of 10 (2 epochs) requested' "$work/.out" &&
        checkpoints | cmp - "$work/before" && grep -q '"step":20,.*"exit":0}' "$(run 0)/run.json" || return
    ends_with 0 '2 of 2 runs done (2 trained further)' ./longhand sweep watch "$study" --out "$runs" --once || return
    cp -r "$runs" "$work/mixed" && rm -r "$work"/mixed/none/*/lr0.0003-seed1-* &&
        ends_with 0 '1 of 2 runs done, 1 trained further' ./longhand sweep "$study" --out "$work/mixed" || return
    ends_with 1 'the checkpoint is of step 20, --steps is 10' ./longhand train "$study:none" -- --resume \
        --out "$runs" && grep -q '"step":20,.*"exit":0}' "$(run 0)/run.json" && study 4 && ends_with 0 '2 of 2' status
}

new_evaluation_data_is_evaluated() {
    checkpoints >"$work/before"
    examples test.jsonl 30 9 &&
        ends_with 0 'to evaluate: 2 runs of none: test.jsonl has other bytes than the file that was evaluated' status &&
        ends_with 0 '2 of 2 runs done' sweep && checkpoints | cmp - "$work/before" &&
        [ "$(grep -c '"step":20,"split":"test"' "$(run 0)/eval.jsonl")" -eq 2 ] &&
        grep -q "\"data\":\"$(sha256sum <"$work/test.jsonl" | cut -c 1-16)\"" "$(run 0)/eval.jsonl" &&
        ends_with 0 '2 done, 0 to do' sweep
}

# The earlier file returns: its lines exist, and nothing is computed again.
evaluation_data_comes_back() {
    cp "$work/test.jsonl" "$work/second.jsonl" && cp "$(run 0)/eval.jsonl" "$work/lines" && examples test.jsonl 20 7 &&
        ends_with 0 'test.jsonl has other bytes than the file that was evaluated' status &&
        ends_with 0 '2 of 2 runs done' sweep && cmp "$(run 0)/eval.jsonl" "$work/lines" &&
        grep -q "\"eval_sha256\":\"$(sha256sum <"$work/test.jsonl" | cut -c 1-64)\"" "$(run 0)/run.json" &&
        ends_with 0 '2 done, 0 to do' sweep && cp "$work/second.jsonl" "$work/test.jsonl" &&
        ends_with 0 '2 of 2 runs done' sweep
}

new_training_data_is_another_run() {
    before=$(digits train.jsonl) old=$(run 0)
    cksum "$old"/* >"$work/before"
    examples train.jsonl 48 3 || return
    ends_with 0 "trained on other data: 2 runs of none: train.jsonl had the SHA-256 $before..., and has $(
        digits train.jsonl)... now; they stay as they are" status &&
        ends_with 0 '2 of 2 runs done' sweep && [ -f "$(run 0)/run.json" ] && [ "$(run 0)" != "$old" ] &&
        cksum "$old"/* | cmp - "$work/before"
}

file_that_is_gone() {
    mv "$work/test.jsonl" "$work/away.jsonl"
    ends_with 0 'task.eval: there is no file' sweep && grep -q '2 done, 0 to do' "$work/.out" &&
        ends_with 0 '2 of 2 runs have a score' ./longhand report "$runs" --out "$work/report" || return
    study 6 && ends_with 1 '0 of 2 runs done, 2 without their files' sweep && mv "$work/away.jsonl" "$work/test.jsonl"
}

expect first_sweep first_sweep
expect more_epochs_train_on more_epochs_train_on
expect fewer_epochs_leave_what_is_there fewer_epochs_leave_what_is_there
expect new_evaluation_data_is_evaluated new_evaluation_data_is_evaluated
expect evaluation_data_comes_back evaluation_data_comes_back
expect new_training_data_is_another_run new_training_data_is_another_run
expect file_that_is_gone file_that_is_gone
finish
