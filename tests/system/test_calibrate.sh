# The verb calibrate: it finds lines in the attention of a trained model, the teacher, and writes the spec of a student
# that begins with these lines. First come the flags of the verb trace that it uses.

. tests/system/common.sh

LUA=${LUA:-lua5.4}

cat >"$work/counts.lua" <<'END'
return {
  task = { kind = "successor", options = { width = 16, numbers = 4096 } },
  encoding = { kind = "sinusoid" },
  model = { kind = "encoder_decoder", encoder_layers = 0, decoder_layers = 1, heads = 2, width = 32, feedforward = 64,
    dropout = 0, bias = "all", init = "xavier" },
  train = { batch = 64, steps = 500, learning_rate = 4e-3 },
  eval = { by = { digits = { 1, 15 } }, examples = 20 },
}
END

trains_a_teacher() {
    ./longhand build "$work/counts.lua" --levels best --out "$work/counts" &&
        "$work/counts/trainer" train --out "$work/runs" --threads 2 --no-eval
}

trace() {
    "$work/counts/trainer" trace --checkpoint "$run/checkpoint.safetensors" "$@"
}

# --exact: means over the examples that greedy decoding solves. Numbers have up to 15 digits, those of training up to 4.
averages_exact_examples() {
    trace --split test --shuffle --seed 5 --examples 60 --out "$work/kept" &&
        trace --split test --shuffle --seed 5 --examples 60 --average --exact --json --out "$work/mean" \
            >"$work/output" &&
        $LUA tests/support/check_trace.lua inputs "$work/kept" |
        "$work/counts/trainer" predict --checkpoint "$run/checkpoint.safetensors" >"$work/answers" &&
        $LUA tests/support/check_trace.lua exact "$work/kept" "$work/mean" "$work/answers" &&
        count=$($LUA tests/support/check_trace.lua meta "$work/mean" exact) &&
        grep -q "^{\"length\":18,\"outputs\":17,\"passes\":60,\"exact\":${count%/*}}$" "$work/output"
}

# Another seed gives other examples, with --shuffle and without it.
shuffles_examples() {
    for seed in 5 6; do
        trace --split test --shuffle --seed $seed --examples 60 --out "$work/seed$seed" &&
            trace --split test --seed $seed --examples 60 --out "$work/chosen$seed" || return
    done
    # A seed gives the same examples each time.
    trace --split test --seed 5 --examples 60 --out "$work/again" || return
    cmp "$work/kept" "$work/seed5" && ! $LUA tests/support/check_trace.lua same "$work/seed5" "$work/seed6" &&
        ! $LUA tests/support/check_trace.lua same "$work/chosen5" "$work/chosen6" && cmp "$work/chosen5" "$work/again"
}

refuses_flags() {
    ends_with 2 '--exact: applies only to means' trace --exact --out "$work/x" &&
        ends_with 2 '--exact: applies only to examples' trace --exact --average --input x --out "$work/x" &&
        ends_with 2 '--shuffle: applies only to sets of examples, not to --input' trace --shuffle --input x \
            --out "$work/x" &&
        ends_with 2 'exclude each other' trace --text 1 --input x --out "$work/x" &&
        ends_with 2 '--frame: applies only to --text' trace --frame 9 --out "$work/x" &&
        ends_with 1 "'x2' is not a symbol of successor, at column 2" trace --text 1x2 --out "$work/x" &&
        ends_with 1 "line 2: successor: symbol 2 is '+'" trace --text 1 --text 1+2 --out "$work/x" &&
        ends_with 2 '--frame: 4097 is out of range' trace --text 1 --frame 4097 --out "$work/x" &&
        ends_with 1 'a frame of at least 17' trace --text 1000000000000000 --out "$work/x" && [ ! -e "$work/x" ]
}

# --text: a number is padded to the width of training (the frame) or to that of --frame; the answer begins like that of
# predict, and is compared with the task's own answer.
answers_given_numbers() {
    far=123456789999999
    trace --text 1999 --text $far --json --out "$work/own" >"$work/output" &&
        trace --text 1999 --frame 0 --out "$work/short" >"$work/text" && cat "$work/output" "$work/text" &&
        grep -q '^input   \$01999&$' "$work/text" || return
    near='\$0000000000001999&' expected='0002000000000000&'
    grep -q "^{\"index\":0,\"input\":\"$near\",\"answer\":\"$expected\",\"right\":true}$" "$work/output" &&
        answer=$("$work/counts/trainer" predict --checkpoint "$run/checkpoint.safetensors" --text "\$0$far&") &&
        grep -q "\"input\":\".0$far&\",\"answer\":\"$answer[0-9&]*\",\"right\":false,\"target\":\"0000000976543210&\"" \
            "$work/output"
}

# Answers are reported by traces of entropy too, and a file of means has all answers.
answers_without_attention() {
    trace --text 1999 --what entropy >"$work/output" && cat "$work/output" &&
        grep -q '^answer  0002000000000000&  right$' "$work/output" &&
        trace --text 1999 --text 5 --average --out "$work/mean" | grep -q '^answer  0002000000000000&  right$' &&
        $LUA tests/support/check_trace.lua tensors "$work/mean" >"$work/tensors" && cat "$work/tensors" &&
        grep -q 'n18.answers	I32	2 17' "$work/tensors" && grep -q 'n18.targets	I32	2 17' "$work/tensors" &&
        ! grep -q tokens "$work/tensors"
}

# Marks are printed below wrong symbols. A symbol that does not count is in parentheses; wrong places are then listed.
marks_wrong_symbols() {
    input='"input":[12,0,0,0,0,0,0,0,0,0,0,0,0,1,9,9,9,13]' target='"target":[1,0,0,3,0,0,0,0,0,0,0,0,0,0,0,0,13]'
    echo "{$input,$target}" >"$work/wrong.jsonl" &&
        echo "{$input,$target,\"mask\":[0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}" >"$work/masked.jsonl" || return
    for lines in wrong masked; do
        trace --what entropy --input "$work/$lines.jsonl" | sed 5q >"$work/$lines" || return
        trace --what entropy --json --input "$work/$lines.jsonl" | sed 1q >"$work/$lines.json" || return
    done
    cat "$work/wrong" "$work/masked" "$work/wrong.json" "$work/masked.json"
    printf '%s\n' 'answer  0002000000000000&  wrong' '        ^  ^' 'right   1003000000000000&' >"$work/expected" &&
        sed -n 2,4p "$work/wrong" | cmp - "$work/expected" &&
        printf '%s\n' 'answer  0002000000000000&  wrong' 'wrong   4' 'right   (1)003000000000000&' >"$work/expected" &&
        sed -n 2,4p "$work/masked" | cmp - "$work/expected" &&
        grep -qF '"target":"1003000000000000&","wrong":[0,3]}' "$work/wrong.json" &&
        grep -qF '"target":"(1)003000000000000&","wrong":[3]}' "$work/masked.json"
}

# A training example that is decoded correctly has bit-identical attention whether its target is read, or its line has
# none and the answer is decoded.
decodes_lines_without_targets() {
    "$work/counts/trainer" sample --length 18 --split train --count 1 >"$work/line" &&
        sed 's/,"target".*/}/' "$work/line" >"$work/bare" &&
        trace --length 18 --split train --examples 1 --out "$work/read" &&
        trace --input "$work/line" --out "$work/with" && trace --input "$work/bare" --out "$work/without" &&
        $LUA tests/support/check_trace.lua same "$work/read" "$work/with" &&
        $LUA tests/support/check_trace.lua same "$work/with" "$work/without" &&
        $LUA tests/support/check_trace.lua tensors "$work/without" | grep -q 'n18.targets	I32	1 17' || return
    # A line may give its number of outputs; for fewer outputs than the task's the right answer is not known.
    sed 's/}$/,"outputs":17}/' "$work/bare" >"$work/outputs" && sed 's/17}$/9}/' "$work/outputs" >"$work/fewer" &&
        trace --input "$work/outputs" --out "$work/asked" >/dev/null &&
        $LUA tests/support/check_trace.lua same "$work/with" "$work/asked" &&
        ends_with 0 'does not know all right answers' trace --input "$work/fewer" --out "$work/x" && rm "$work/x" &&
        sed 's/}$/,"mask":[1]}/' "$work/bare" >"$work/masked" &&
        ends_with 1 'line 1: "mask" is given without "target"' \
            trace --input "$work/masked" --out "$work/x" && [ ! -e "$work/x" ] || return
    { cat "$work/bare" && printf '\0' && cat "$work/bare"; } >"$work/cut" &&
        ends_with 1 'cut: byte ' trace --input "$work/cut" --out "$work/x" && [ ! -e "$work/x" ]
}

# `analyze decoding` draws attention as heat maps, with the symbols of input and answer on the axes.
draws_symbols() {
    analyze() { ./longhand analyze decoding "$run" --trainer "$work/counts/trainer" "$@"; }
    analyze --text 1999 --text 12345678 --out "$work/maps" >"$work/output" && cat "$work/output" &&
        grep -q '^counts: 1999 -> 0002000000000000&  right$' "$work/output" &&
        [ "$(grep -c '^counts,1999,' "$work/maps/decoding.csv")" -eq 17 ] &&
        grep -q '</svg>' "$work/maps/decoding.svg" && [ -s "$work/maps/decoding.png" ] &&
        $LUA tests/support/check_trace.lua tensors "$work/maps/trace-2.safetensors" | grep -q n18.answers &&
        ends_with 1 'no layer of --layers has an attention' analyze --text 1 --layers 3 --out "$work/none" &&
        ends_with 1 "'?' is not a symbol" analyze --text '?' --out "$work/none" && [ ! -e "$work/none" ]
}

calibrate() { ./longhand calibrate "$run" --samples 64 --set rows=4 "$@"; }

calibrate_student() {
    calibrate --set threshold.cross=2 --trainer "$work/counts/trainer" --out "$work/out/reads_lines.lua" "$@"
}

# A head attends from each answer to the digit of the same place: its cross-attention has a line on an anti-diagonal.
finds_lines() {
    calibrate_student >"$work/output" && cat "$work/output" && cat "$work/out/reads_lines.lua" &&
        grep -q '^counts: 6[0-4] of 64 training examples answered correctly; attention of decoder layer 1' "$work/output" &&
        grep -q 'cross-attention, 17 queries and 18 keys; kept: lines more than k = 2 deviations above the mean, in the first 4 rows' "$work/output" &&
        grep -q 'anti-diagonal  1 ([0-9.]*, z [0-9.]*)' "$work/output" &&
        grep -q '{ head = [01], direction = -1, line = 1, value = 0 },' "$work/out/reads_lines.lua" &&
        grep -q '^  use = "./counts.lua",$' "$work/out/reads_lines.lua" &&
        grep -q 'additive = { kind = "none" }' "$work/out/reads_lines.lua" &&
        ./longhand check "$work/out/reads_lines.lua" && grep -q '</svg>' "$run/calibration/calibration.svg"
}

# The table has all lines, and the bias of those that are in the spec.
writes_all_lines() {
    table=$run/calibration/lines.csv
    [ "$(grep -c '^cross,0,-1,' "$table")" -eq 21 ] && [ "$(grep -c '^decoder,1,0,' "$table")" -eq 17 ] &&
        [ "$(awk -F, 'NR > 1 && $9 != ""' "$table" | wc -l)" -eq "$(grep -c '{ head' "$work/out/reads_lines.lua")" ]
}

# One command gives the same bytes each time; existing files are overwritten only with --force.
keeps_existing_files() {
    cp "$work/out/reads_lines.lua" "$work/before" && echo '-- mine' >>"$work/out/reads_lines.lua" &&
        ends_with 1 'exists already' calibrate_student && grep -q mine "$work/out/reads_lines.lua" &&
        calibrate_student --force && cmp "$work/before" "$work/out/reads_lines.lua" || return
    # A copy of the teacher's spec next to the student is kept as it is; another spec of that name is not overwritten.
    echo '-- mine, too' >>"$work/out/counts.lua" && calibrate_student --force &&
        grep -q 'mine, too' "$work/out/counts.lua" &&
        sed -i 's/batch = 64/batch = 32/' "$work/out/counts.lua" &&
        ends_with 1 'counts.lua: exists, but is not the spec of the run' calibrate_student --force &&
        grep -q 'batch = 32' "$work/out/counts.lua" && rm "$work/out/counts.lua"
}

# With --spec, a student is written next to the teacher's spec, with a comment that has all flags. With --positions keep
# the student has the teacher's positions.
writes_next_to_the_teacher() {
    flags="--trainer $work/counts/trainer --spec $work/counts.lua --reading code"
    written=$work/counts_calibrated.lua
    calibrate $flags --positions keep --set threshold.cross=2 &&
        grep -q 'reading code --samples 64 --seed 1 --set rows=4 --set threshold.cross=2$' "$written" &&
        grep -q 'use = "./counts.lua"' "$written" && ! grep -q additive "$written" &&
        ends_with 0 'encoding.cross.lines.zero_corner   = "all"' ./longhand check "$written" --print &&
        calibrate $flags --out "$work/deep/er/reads_code.lua" &&
        grep -q 'use = "../../counts.lua"' "$work/deep/er/reads_code.lua"
}

print_digest() { ./longhand plan "$@" --json 2>/dev/null | grep '"digest"'; }

# With --init a student begins with its teacher's parameters: its spec names the checkpoint, and has another digest.
continues_from_the_teacher() {
    written=$work/out/continues.lua
    calibrate --trainer "$work/counts/trainer" --set threshold.cross=2 --init --out "$written" &&
        grep -qF "  init = \"../runs/counts/" "$written" && grep -q -- '--init$' "$written" &&
        ! grep -q additive "$written" &&
        ./longhand check "$written" &&
        [ "$(print_digest "$written")" != "$(print_digest "$written" --set init=false)" ] &&
        ends_with 1 'embed.token.weight has shape [15, 32] (a checkpoint of counts)' ./longhand check "$written" \
            --set model.width=64 &&
        ends_with 2 'the parameters were trained with' calibrate --init --positions none
}

# If no line passes, no spec is written and the reason is printed: 21 lines are too few for 4.5 deviations.
reports_why_no_line_passes() {
    ends_with 1 'no line of any head passes' calibrate --trainer "$work/counts/trainer" --out "$work/none/empty.lua" \
        --set threshold.self=3 --tables "$work/none" && [ ! -e "$work/none/empty.lua" ] &&
        [ -s "$work/none/lines.csv" ] &&
        grep -qF '21 lines are too few for k = 4.5: z is at most 4.47; a single strong line passes' "$work/.out" &&
        grep -qF 'there are more than k^2 + 1 = 21.25 lines, and r equally strong lines pass only if' "$work/.out"
}

refuses_wrong_arguments() {
    ends_with 1 'rows = 40: found a matrix of 17 rows' calibrate_student --set rows=40 --force &&
        ends_with 2 '--set row: no such field' calibrate_student --set row=4 &&
        ends_with 2 'expected: above, at_least' calibrate_student --set keep=below &&
        ends_with 2 "'--reading' must be one of" calibrate_student --reading mine &&
        ends_with 1 'not a name of a spec' calibrate_student --out "$work/out/9.lua" &&
        ends_with 1 "is the teacher's spec" calibrate_student --out "$work/counts.lua" --spec "$work/counts.lua" \
            --force &&
        ends_with 1 'expected the folder of a run' ./longhand calibrate "$work" &&
        ends_with 2 'missing argument' ./longhand calibrate
}

# Runs that cannot be teachers: untrained, torn, without a decoder.
refuses_runs_that_are_no_teachers() {
    "$work/counts/trainer" train --out "$work/untrained" --steps 0 --no-eval || return
    ends_with 1 '0 of 64 examples have right answers' ./longhand calibrate "$work"/untrained/counts/*/* --samples 64 \
        --trainer "$work/counts/trainer" || return
    cp -r "$run" "$work/torn" && head -c 3000 "$run/checkpoint.safetensors" >"$work/torn/checkpoint.safetensors" &&
        ends_with 1 'checkpoint.safetensors' ./longhand calibrate "$work/torn" --trainer "$work/counts/trainer" &&
        sed -i 's/"kind":"encoder_decoder"/"kind":"encoder"/' "$work/torn/run.json" &&
        ends_with 1 'expected: a run of model.kind = "encoder_decoder"' ./longhand calibrate "$work/torn"
}

# Whether no process is left whose command has the student's file or the teacher's trainer. Brackets keep grep from
# finding its own command.
no_process_is_left() {
    ! grep -qs -e "$work/[l]ate/student" -e "$work/[s]low" -e "$work/[c]ounts/trainer" /proc/[0-9]*/cmdline
}

# A signal to the launcher ends its processes too, so no student is written afterwards. The script `slow` delays the
# trainer until a file exists.
ends_at_a_signal() {
    cat >"$work/slow" <<END
#!/bin/sh
[ "\$1" != trace ] || { echo \$\$ >"$work/slow.began" && until [ -e "$work/slow.on" ]; do sleep 0.1; done; }
exec "$work/counts/trainer" "\$@"
END
    chmod +x "$work/slow"
    exec_calibrate() { exec ./longhand calibrate "$run" --samples 64 --set rows=4 "$@"; }
    exec_calibrate --set threshold.cross=2 --trainer "$work/slow" --out "$work/late/student.lua" >"$work/output" 2>&1 &
    pid=$!
    until_true test -s "$work/slow.began" && kill -TERM $pid || { cat "$work/output" && return 1; }
    wait $pid
    status=$?
    : >"$work/slow.on"
    until_true no_process_is_left || { echo "a process is left" && return 1; }
    [ $status -eq 143 ] && [ ! -e "$work/late/student.lua" ] ||
        { echo "status $status" && cat "$work/output" && return 1; }
}

expect_each calibrate_ trains_a_teacher
run=$(echo "$work"/runs/counts/*/lr0.004-seed0)
if [ "$failures" -eq 0 ]; then
    expect_each trace_ averages_exact_examples shuffles_examples refuses_flags answers_given_numbers \
        answers_without_attention marks_wrong_symbols decodes_lines_without_targets
    expect_each analyze_decoding_ draws_symbols
    expect_each calibrate_ finds_lines writes_all_lines keeps_existing_files writes_next_to_the_teacher \
        continues_from_the_teacher reports_why_no_line_passes refuses_wrong_arguments ends_at_a_signal \
        refuses_runs_that_are_no_teachers
fi
finish
