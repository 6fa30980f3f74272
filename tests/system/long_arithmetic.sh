# The tasks of numbers in a frame in trainers: examples made at the start, training by epochs, stopped and resumed on
# any number of threads; tests by digits and carries, with and without training examples; reports.

. tests/system/common.sh

trainer=$work/out/trainer

# Writes a spec: FILE KIND OPTIONS EVAL, the fields after the first in the syntax of Lua.
write_spec() {
    cat >"$work/$1.lua" <<END
return {
  task = { kind = "$2", seed = 3, options = { numbers = 4096, $3 } },
  encoding = { kind = "sinusoid" },
  model = { use = "duan_encoder_decoder", encoder_layers = 0, decoder_layers = 1, width = 16, heads = 2,
    feedforward = 32 },
  train = { use = "duan", batch = 256, epochs = 3, learning_rate = 1e-3, log_every = 7, checkpoint = { every = 10 } },
  eval = { $4, splits = { "test", "validation" }, examples = 50,
    during = { every = 14, by = { digits = { 1, 3 } }, splits = { "validation" }, examples = 20 } },
}
END
}

same_results() { have_equal_results "$(find_run "$1")" "$(find_run "$2")" metrics.jsonl eval.jsonl; }

# 3584 numbers in batches of 256: 14 in an epoch.
keeps_bits() {
    write_spec arithmetic successor 'width = 9' \
        'novel = false, by = { digits = { 1, 6 }, carry = true }' &&
        ./longhand build "$work/arithmetic.lua" --levels best --out "$work/out" &&
        ends_with 0 'an epoch is 14 batches, 42 steps are 3 epochs' "$trainer" train --out "$work/whole" --threads 1 &&
        "$trainer" train --out "$work/parts" --steps 17 --threads 2 --no-eval &&
        "$trainer" train --out "$work/parts" --threads 3 --resume && same_results whole parts
}

# Checks that as many lines of an evaluation match a pattern: COUNT PATTERN FOLDER.
has_lines() {
    [ "$(grep -c "$2" "$3/eval.jsonl")" -eq "$1" ] && return
    echo "wanted $1 lines with $2"
    cat "$3/eval.jsonl"
    return 1
}

# There are 6 counts of digits, and for each count every length of a carry chain; all numbers of few digits are in
# training or validation.
writes_a_line_per_condition() {
    run=$(find_run whole)
    has_lines 6 '"split":"test","by":{"digits":[1-6]},' "$run" &&
        has_lines 27 '"split":"test","by":{"digits":[1-6],"carry":[0-6]},"examples":50,' "$run" &&
        has_lines 1 '"by":{"digits":1},"examples":9,' "$run" &&
        has_lines 15 '"split":"test","by":{"digits":[56].*"beyond":\["digits".*"trained":0}' "$run" &&
        has_lines 1 '"by":{"digits":4,"carry":4},.*"beyond":\["carry"\],"trained":0}' "$run" &&
        ends_with 0 'Exact match in percent by carry' ./longhand report "$work/whole" --out "$work/report" &&
        grep -q '0% of 5 to 6' "$work/report/report.txt"
}

# The trainer differs from the first one in its defaults alone. It evaluates examples that were not trained on.
evaluates_novel_examples() {
    sed -i 's/novel = false/novel = true/' "$work/arithmetic.lua" &&
        ./longhand build "$work/arithmetic.lua" --levels best --out "$work/out" &&
        "$trainer" eval --checkpoint "$(find_run whole)/checkpoint.safetensors" --out "$work/novel" &&
        has_lines 0 '"trained":[^0]' "$work/novel" &&
        has_lines 2 '"split":"test","by":{"digits":[56]},.*"trained":0,"novel":true}' "$work/novel"
}

# Trains the other three tasks: aligned, stratified and in other bases.
trains_other_tasks() {
    write_spec arithmetic addition 'width = 8, base = 12, input = "aligned"' 'by = { digits = { 1, 4 }, carry = true }' &&
        ./longhand train "$work/arithmetic.lua" -- --out "$work/others" --steps 3 || return
    write_spec arithmetic multiplication 'width = 9, split = "stratified"' 'by = { digits = { 1, 4 }, carry = { 0, 2 } }' &&
        ./longhand train "$work/arithmetic.lua" -- --out "$work/others" --steps 3 || return
    write_spec arithmetic parity 'width = 20, target = "last"' 'by = { digits = { list = { 6, 20 } } }' &&
        ./longhand train "$work/arithmetic.lua" -- --out "$work/others" --steps 3 &&
        [ "$(cat "$work"/others/*/*/*/eval.jsonl | grep -c '"split":"test"')" -ge 20 ]
}

# Compares traces of the plain run with those of the run that is tested in frames: FLAGS.
have_equal_traces() {
    for name in plain framed; do
        "$work/$name/trainer" trace --checkpoint "$(find_run ${name}_runs)/checkpoint.safetensors" --what entropy \
            --json --examples 20 "$@" >"$work/$name.entropy" || return
    done
    cmp "$work/plain.entropy" "$work/framed.entropy"
}

# A model trained in one frame is tested in other frames and without padding; its parameters do not depend on these
# tests. Frames for which the encoding has too few rows are refused before anything is trained.
tests_in_other_frames() {
    write_spec arithmetic addition 'width = 8' 'by = { digits = { 1, 6 } }' &&
        ./longhand build "$work/arithmetic.lua" --levels best --out "$work/plain" &&
        "$work/plain/trainer" train --out "$work/plain_runs" --steps 20 &&
        ./longhand build "$work/arithmetic.lua" --levels best --out "$work/framed" \
            --set 'eval.by={ digits = { list = { 1, 2, 3, 4, 5, 6, 9 } }, frame = { list = { 0, 6, 12 } } }' &&
        "$work/framed/trainer" train --out "$work/framed_runs" --steps 20 &&
        cmp "$(find_run plain_runs)/checkpoint.safetensors" "$(find_run framed_runs)/checkpoint.safetensors" || return
    grep -v during "$(find_run plain_runs)/eval.jsonl" >"$work/expected" &&
        grep -v 'during\|"frame"' "$(find_run framed_runs)/eval.jsonl" >"$work/actual" &&
        cmp "$work/expected" "$work/actual" &&
        has_lines 6 '"by":{"digits":[1-6],"frame":0}' "$(find_run framed_runs)" &&
        has_lines 5 '"by":{"digits":[1-9],"frame":6}' "$(find_run framed_runs)" &&
        has_lines 7 '"by":{"digits":[1-9],"frame":12}' "$(find_run framed_runs)" &&
        have_equal_traces && have_equal_traces --split test &&
        have_equal_traces --split validation --shuffle --seed 3 &&
        ends_with 1 'are for a single axis of eval.by' "$work/framed/trainer" trace --what entropy --lengths 15 \
            --checkpoint "$(find_run framed_runs)/checkpoint.safetensors" &&
        ends_with 0 'Exact match in percent by frame' ./longhand report "$work/framed_runs" --out "$work/by_frame" &&
        sed 's/sinusoid" }/learned", additive = { rows = 20 } }/' "$work/arithmetic.lua" >"$work/rows.lua" &&
        ./longhand build "$work/rows.lua" --levels best --out "$work/rows" --set 'eval.by.frame={ list = { 12 } }' &&
        ends_with 1 'the encoding allows 20 (encoding.additive.rows = 20)' "$work/rows/trainer" train \
            --out "$work/rows_runs"
}

# A frame that is too narrow is reported before any example is made.
reports_a_narrow_frame() {
    write_spec arithmetic addition 'width = 4' 'by = { digits = { 1, 3 } }' &&
        ./longhand build "$work/arithmetic.lua" --levels best --out "$work/narrow" &&
        ends_with 1 'expected: a task.options.width that is 1 greater, or a smaller task.options.numbers' \
            "$work/narrow/trainer" train --out "$work/narrow" &&
        ends_with 1 'eval.by.digits[2]: 4 is out of range' ./longhand check "$work/arithmetic.lua" \
            --set 'eval.by={ digits = { 1, 4 } }'
}

expect_each arithmetic_ keeps_bits writes_a_line_per_condition evaluates_novel_examples trains_other_tasks \
    tests_in_other_frames reports_a_narrow_frame
finish
