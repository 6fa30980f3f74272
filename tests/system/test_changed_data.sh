# A study on dataset files whose files, epochs and evaluation change: a sweep trains runs again or further, evaluates
# them, or leaves them unchanged, and reports it.

. tests/system/common.sh

study=$work/probe.lua
runs=$work/runs

# Writes the study: EPOCHS.
write_study() {
    cat >"$study" <<END
return {
  title = "files", seeds = { 0, 1 },
  base = {
    task = { data = "train.jsonl", eval = "test.jsonl", input_symbols = 4, output_symbols = 2, longest = 16 },
    model = { use = "small_encoder", layers = 1, feedforward = 16 },
    train = { batch = 8, epochs = $1, log_every = 4 },
    eval = { examples = 50 },
  },
  axes = { { name = "encoding", values = { { name = "none", spec = { encoding = { use = "none" } } } } } },
}
END
}

# Writes examples, numbered from FIRST: FILE COUNT FIRST.
write_examples() {
    awk -v count="$2" -v from="$3" 'BEGIN {
        for (i = from; i < from + count; i++)
            printf "{\"input\":[%d,%d,%d],\"target\":[%d]}\n", i % 4, int(i / 4) % 4, int(i / 16) % 4, (i + int(i / 4)) % 2
    }' >"$work/$1"
}

sweep() { ./longhand sweep "$study" --out "$runs" "$@"; }
status() { ./longhand sweep status "$study" --out "$runs"; }
print_hash() { sha256sum <"$work/$1" | cut -c 1-8; }
sum_checkpoints() { find "$runs" -name checkpoint.safetensors | sort | xargs cksum; }
find_data_run() { echo "$runs"/none/*/lr0.0003-seed"$1"-data"$(print_hash train.jsonl)"; }

trains() {
    write_study 2 && write_examples train.jsonl 40 0 && write_examples test.jsonl 20 7 &&
        ends_with 0 '2 of 2 runs done' sweep &&
        [ -f "$(find_data_run 0)/run.json" ] && ends_with 0 '2 of 2 runs done' status
}

trains_further_for_more_epochs() {
    write_study 4 && ends_with 0 'to continue: 2 runs of none: from step 10 to 20 (4 epochs)' status &&
        ends_with 0 '2 of 2 runs done' sweep && grep -q '"step":20,.*"exit":0}' "$(find_data_run 0)/run.json" &&
        grep -q '"step":8,' "$(find_data_run 0)/metrics.jsonl" && [ "$(ls "$runs"/none | wc -l)" -eq 1 ]
}

# Runs that were trained for more epochs are reported and kept. They are no failures, even if others are trained.
keeps_runs_of_more_epochs() {
    sum_checkpoints >"$work/before"
    write_study 2 && ends_with 0 '0 of 2 runs done, 2 trained further' sweep &&
        grep -q 'trained further: 2 runs of none: at step 20; the spec ends at step 10 (2 epochs)' "$work/.out" &&
        sum_checkpoints | cmp - "$work/before" && grep -q '"step":20,.*"exit":0}' "$(find_data_run 0)/run.json" ||
        return
    ends_with 0 '2 of 2 runs done (2 trained further)' ./longhand sweep watch "$study" --out "$runs" --once || return
    cp -r "$runs" "$work/mixed" && rm -r "$work"/mixed/none/*/lr0.0003-seed1-* &&
        ends_with 0 '1 of 2 runs done, 1 trained further' ./longhand sweep "$study" --out "$work/mixed" || return
    ends_with 1 'the checkpoint is of step 20, --steps is 10' ./longhand train "$study:none" -- --resume \
        --out "$runs" && grep -q '"step":20,.*"exit":0}' "$(find_data_run 0)/run.json" && write_study 4 &&
        ends_with 0 '2 of 2' status
}

evaluates_new_data() {
    sum_checkpoints >"$work/before"
    write_examples test.jsonl 30 9 &&
        ends_with 0 'to evaluate: 2 runs of none: test.jsonl has other bytes than the file that was evaluated' status &&
        ends_with 0 '2 of 2 runs done' sweep && sum_checkpoints | cmp - "$work/before" &&
        [ "$(grep -c '"step":20,"split":"test"' "$(find_data_run 0)/eval.jsonl")" -eq 2 ] &&
        grep -q "\"data\":\"$(sha256sum <"$work/test.jsonl" | cut -c 1-16)\"" "$(find_data_run 0)/eval.jsonl" &&
        ends_with 0 '2 done, 0 to do' sweep
}

# The earlier file returns: its lines exist, and nothing is computed again.
computes_nothing_for_earlier_data() {
    cp "$work/test.jsonl" "$work/second.jsonl" && cp "$(find_data_run 0)/eval.jsonl" "$work/lines" &&
        write_examples test.jsonl 20 7 &&
        ends_with 0 'test.jsonl has other bytes than the file that was evaluated' status &&
        ends_with 0 '2 of 2 runs done' sweep && cmp "$(find_data_run 0)/eval.jsonl" "$work/lines" &&
        grep -q "\"eval_sha256\":\"$(sha256sum <"$work/test.jsonl" | cut -c 1-64)\"" "$(find_data_run 0)/run.json" &&
        ends_with 0 '2 done, 0 to do' sweep && cp "$work/second.jsonl" "$work/test.jsonl" &&
        ends_with 0 '2 of 2 runs done' sweep
}

trains_other_runs_on_new_data() {
    before=$(print_hash train.jsonl) old=$(find_data_run 0)
    cksum "$old"/* >"$work/before"
    write_examples train.jsonl 48 3 || return
    ends_with 0 "trained on other data: 2 runs of none: train.jsonl had the SHA-256 $before..., and has $(
        print_hash train.jsonl)... now; these runs stay unchanged" status &&
        ends_with 0 '2 of 2 runs done' sweep && [ -f "$(find_data_run 0)/run.json" ] &&
        [ "$(find_data_run 0)" != "$old" ] &&
        cksum "$old"/* | cmp - "$work/before"
}

reports_missing_files() {
    mv "$work/test.jsonl" "$work/away.jsonl"
    ends_with 0 'task.eval: there is no file' sweep && grep -q '2 done, 0 to do' "$work/.out" &&
        ends_with 0 '2 of 2 runs have a score' ./longhand report "$runs" --out "$work/report" || return
    write_study 6 && ends_with 1 '0 of 2 runs done, 2 without their files' sweep &&
        mv "$work/away.jsonl" "$work/test.jsonl"
}

expect_each changed_data_ trains trains_further_for_more_epochs keeps_runs_of_more_epochs evaluates_new_data \
    computes_nothing_for_earlier_data trains_other_runs_on_new_data reports_missing_files
finish
