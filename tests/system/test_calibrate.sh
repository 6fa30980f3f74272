# Calibration: correctly decoded examples, sampled by a seed; lines of a teacher's attention, the student's spec; runs
# without lines.

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

teacher() {
    ./longhand build "$work/counts.lua" --levels best --out "$work/counts" &&
        "$work/counts/trainer" train --out "$work/runs" --threads 2 --no-eval
}

trace() {
    "$work/counts/trainer" trace --checkpoint "$run/checkpoint.safetensors" "$@"
}

# Decodes numbers of up to 15 digits after training on 4: `calibrate` uses the numbers that greedy decoding solves.
exact() {
    trace --split test --shuffle --seed 5 --examples 60 --out "$work/kept" &&
        trace --split test --shuffle --seed 5 --examples 60 --average --exact --json --out "$work/mean" \
            >"$work/output" &&
        $LUA tests/support/check_trace.lua inputs "$work/kept" |
        "$work/counts/trainer" predict --checkpoint "$run/checkpoint.safetensors" >"$work/answers" &&
        $LUA tests/support/check_trace.lua exact "$work/kept" "$work/mean" "$work/answers" &&
        count=$($LUA tests/support/check_trace.lua meta "$work/mean" exact) &&
        grep -q "^{\"length\":18,\"outputs\":17,\"passes\":60,\"exact\":${count%/*}}$" "$work/output"
}

# Another seed samples other examples; without --shuffle they are the first ones.
shuffled() {
    for seed in 5 6; do
        trace --split test --shuffle --seed $seed --examples 60 --out "$work/seed$seed" &&
            trace --split test --seed $seed --examples 60 --out "$work/chosen$seed" || return
    done
    # The choice equals that of an evaluation with this seed.
    trace --split test --seed 5 --examples 60 --out "$work/again" || return
    cmp "$work/kept" "$work/seed5" && ! $LUA tests/support/check_trace.lua same "$work/seed5" "$work/seed6" &&
        ! $LUA tests/support/check_trace.lua same "$work/chosen5" "$work/chosen6" && cmp "$work/chosen5" "$work/again"
}

trace_refuses() {
    ends_with 2 '--exact: applies only to means' trace --exact --out "$work/x" &&
        ends_with 2 '--exact: applies only to examples' trace --exact --average --input x --out "$work/x" &&
        ends_with 2 '--shuffle: applies only to sets of examples, not to --input' trace --shuffle --input x --out "$work/x" &&
        ends_with 2 'only one of the two' trace --text 1 --input x --out "$work/x" &&
        ends_with 2 '--frame: applies only to --text' trace --frame 9 --out "$work/x" &&
        ends_with 1 "'x2' is no symbol of successor, at column 2" trace --text 1x2 --out "$work/x" &&
        ends_with 1 "line 2: successor: symbol 2 is '+'" trace --text 1 --text 1+2 --out "$work/x" &&
        ends_with 2 '--frame: 4097 is out of range' trace --text 1 --frame 4097 --out "$work/x" &&
        ends_with 1 'a frame of at least 17' trace --text 1000000000000000 --out "$work/x" && [ ! -e "$work/x" ]
}

# Given numbers are written in the frame of training or in another frame; the answer begins like that of predict, and is
# compared with the task's own answer.
literals() {
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

# Answers are reported for every kind of trace, and the file of means has all answers.
answers_without_maps() {
    trace --text 1999 --what entropy >"$work/output" && cat "$work/output" &&
        grep -q '^answer  0002000000000000&  right$' "$work/output" &&
        trace --text 1999 --text 5 --average --out "$work/mean" | grep -q '^answer  0002000000000000&  right$' &&
        $LUA tests/support/check_trace.lua tensors "$work/mean" >"$work/tensors" && cat "$work/tensors" &&
        grep -q 'n18.answers	I32	2 17' "$work/tensors" && grep -q 'n18.targets	I32	2 17' "$work/tensors" &&
        ! grep -q tokens "$work/tensors"
}

# Marks are printed below wrong symbols. A symbol that does not count is in parentheses; wrong places are then listed.
marks() {
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

# A correctly decoded training example has bit-identical attention whether its target is read, or decoded for a line
# without it.
decoded() {
    "$work/counts/trainer" sample --length 18 --split train --count 1 >"$work/line" &&
        sed 's/,"target".*/}/' "$work/line" >"$work/bare" &&
        trace --length 18 --split train --examples 1 --out "$work/read" &&
        trace --input "$work/line" --out "$work/with" && trace --input "$work/bare" --out "$work/without" &&
        $LUA tests/support/check_trace.lua same "$work/read" "$work/with" &&
        $LUA tests/support/check_trace.lua same "$work/with" "$work/without" &&
        $LUA tests/support/check_trace.lua tensors "$work/without" | grep -q 'n18.targets	I32	1 17' || return
    # The file of predict has numbers of outputs; a number below the task's has no known answer.
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

# The heat maps of a run have symbols on the axes; the bias of a student is drawn from its spec.
maps() {
    analyze() { ./longhand analyze decoding "$run" --trainer "$work/counts/trainer" "$@"; }
    analyze --text 1999 --text 12345678 --out "$work/maps" >"$work/output" && cat "$work/output" &&
        grep -q '^counts: 1999 -> 0002000000000000&  right$' "$work/output" &&
        [ "$(grep -c '^counts,1999,' "$work/maps/decoding.csv")" -eq 17 ] &&
        grep -q '</svg>' "$work/maps/decoding.svg" && [ -s "$work/maps/decoding.png" ] &&
        $LUA tests/support/check_trace.lua tensors "$work/maps/trace-2.safetensors" | grep -q n18.answers &&
        ends_with 1 'no attention of these layers' analyze --text 1 --layers 3 --out "$work/none" &&
        ends_with 1 "'?' is no symbol" analyze --text '?' --out "$work/none" && [ ! -e "$work/none" ]
}

calibrate() { ./longhand calibrate "$run" --samples 64 --set rows=4 "$@"; }

student() { calibrate --set threshold.cross=2 --trainer "$work/counts/trainer" --out "$work/out/reads_lines.lua" "$@"; }

# The last digits of training lie on an anti-diagonal of the cross-attention, which some head shows.
finds_lines() {
    student >"$work/output" && cat "$work/output" && cat "$work/out/reads_lines.lua" &&
        grep -q '^counts: 6[0-4] of 64 training examples answered correctly; attention of decoder layer 1' "$work/output" &&
        grep -q 'cross-attention, 17 queries and 18 keys; in the first 4 rows lines of k = 2' "$work/output" &&
        grep -q 'anti-diagonal  1 ([0-9.]*, z [0-9.]*)' "$work/output" &&
        grep -q '{ head = [01], direction = -1, line = 1, value = 0 },' "$work/out/reads_lines.lua" &&
        grep -q '^  use = "./counts.lua",$' "$work/out/reads_lines.lua" &&
        grep -q 'additive = { kind = "none" }' "$work/out/reads_lines.lua" &&
        ./longhand check "$work/out/reads_lines.lua" && grep -q '</svg>' "$run/calibration/calibration.svg"
}

# The table has every line; lines in the spec are marked with their bias.
prints_all_lines() {
    table=$run/calibration/lines.csv
    [ "$(grep -c '^cross,0,-1,' "$table")" -eq 21 ] && [ "$(grep -c '^decoder,1,0,' "$table")" -eq 17 ] &&
        [ "$(awk -F, 'NR > 1 && $9 != ""' "$table" | wc -l)" -eq "$(grep -c '{ head' "$work/out/reads_lines.lua")" ]
}

# One command gives the same bytes each time; existing files are not overwritten.
leaves_what_is_there() {
    cp "$work/out/reads_lines.lua" "$work/before" && echo '-- mine' >>"$work/out/reads_lines.lua" &&
        ends_with 1 'exists already' student && grep -q mine "$work/out/reads_lines.lua" &&
        student --force && cmp "$work/before" "$work/out/reads_lines.lua" || return
    # The teacher's own spec next to the student is used unchanged; another spec of that name is not overwritten.
    echo '-- mine, too' >>"$work/out/counts.lua" && student --force && grep -q 'mine, too' "$work/out/counts.lua" &&
        sed -i 's/batch = 64/batch = 32/' "$work/out/counts.lua" &&
        ends_with 1 'counts.lua: exists, but is not the spec of the run' student --force &&
        grep -q 'batch = 32' "$work/out/counts.lua" && rm "$work/out/counts.lua"
}

# A student is written next to the teacher's spec if that exists, keeps its positions, and records its reading and
# choices in the comment.
beside_the_teacher() {
    of_code="--trainer $work/counts/trainer --spec $work/counts.lua --reading code"
    written=$work/counts_calibrated.lua
    calibrate $of_code --positions keep --set threshold.cross=2 &&
        grep -q 'reading code --samples 64 --seed 1 --set rows=4 --set threshold.cross=2$' "$written" &&
        grep -q 'use = "./counts.lua"' "$written" && ! grep -q additive "$written" &&
        ends_with 0 'encoding.cross.lines.zero_corner   = "all"' ./longhand check "$written" --print &&
        calibrate $of_code --out "$work/deep/er/reads_code.lua" &&
        grep -q 'use = "../../counts.lua"' "$work/deep/er/reads_code.lua"
}

digest() { ./longhand plan "$@" --json 2>/dev/null | grep '"digest"'; }

# A student begins with its teacher's parameters: its spec names the checkpoint, fits it, and is another plan.
continues() {
    written=$work/out/continues.lua
    calibrate --trainer "$work/counts/trainer" --set threshold.cross=2 --init --out "$written" &&
        grep -qF "  init = \"../runs/counts/" "$written" && grep -q -- '--init$' "$written" &&
        ! grep -q additive "$written" &&
        ./longhand check "$written" && [ "$(digest "$written")" != "$(digest "$written" --set init=false)" ] &&
        ends_with 1 'embed.token.weight has shape [15, 32] (it is of counts)' ./longhand check "$written" \
            --set model.width=64 &&
        ends_with 2 'the parameters were trained with' calibrate --init --positions none
}

# The reason why no line passes is printed: 21 lines are too few for 4.5 deviations; no spec is written.
nothing_passes() {
    ends_with 1 'no line of any head passes' calibrate --trainer "$work/counts/trainer" --out "$work/none/empty.lua" \
        --set threshold.self=3 --tables "$work/none" && [ ! -e "$work/none/empty.lua" ] &&
        [ -s "$work/none/lines.csv" ] &&
        grep -qF '21 lines are too few: z is at most 4.47; r strong lines need K > r (k^2 + 1) = 21.25 r lines' "$work/.out"
}

refuses() {
    ends_with 1 'rows = 40: found a matrix of 17 rows' student --set rows=40 --force &&
        ends_with 2 '--set row: no such field' student --set row=4 &&
        ends_with 2 'expected: above, at_least' student --set keep=below &&
        ends_with 2 "'--reading' must be one of" student --reading mine &&
        ends_with 1 'no name of a spec' student --out "$work/out/9.lua" &&
        ends_with 1 "is the teacher's spec" student --out "$work/counts.lua" --spec "$work/counts.lua" --force &&
        ends_with 1 'expected the folder of a run' ./longhand calibrate "$work" &&
        ends_with 2 'missing argument' ./longhand calibrate
}

# Runs that cannot be teachers: untrained, torn, without a decoder.
no_teacher() {
    "$work/counts/trainer" train --out "$work/untrained" --steps 0 --no-eval || return
    ends_with 1 '0 of 64 examples have right answers' ./longhand calibrate "$work"/untrained/counts/*/* --samples 64 \
        --trainer "$work/counts/trainer" || return
    cp -r "$run" "$work/torn" && head -c 3000 "$run/checkpoint.safetensors" >"$work/torn/checkpoint.safetensors" &&
        ends_with 1 'checkpoint.safetensors' ./longhand calibrate "$work/torn" --trainer "$work/counts/trainer" &&
        sed -i 's/"kind":"encoder_decoder"/"kind":"encoder"/' "$work/torn/run.json" &&
        ends_with 1 'expected: a run of model.kind = "encoder_decoder"' ./longhand calibrate "$work/torn"
}

# Whether no process is left whose command names the student's file or the trainer of its teacher.
nobody_works() { ! grep -qs -e "$work/[l]ate/student" -e "$work/[s]low" -e "$work/[c]ounts/trainer" /proc/[0-9]*/cmdline; }

# A signal to the launcher ends its processes, so no student is written when the trainer ends.
ends_with_a_signal() {
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
    until_true nobody_works || { echo "somebody goes on" && return 1; }
    [ $status -eq 143 ] && [ ! -e "$work/late/student.lua" ] || { echo "status $status" && cat "$work/output" && return 1; }
}

expect calibrate_teacher teacher
run=$(echo "$work"/runs/counts/*/lr0.004-seed0)
if [ "$failures" -eq 0 ]; then
    expect trace_exact_means exact
    expect trace_shuffled_examples shuffled
    expect trace_exact_and_shuffle_refused trace_refuses
    expect trace_literals_are_padded_decoded_and_marked literals
    expect trace_answers_without_maps answers_without_maps
    expect trace_marks_what_is_wrong marks
    expect trace_decodes_lines_to_the_bits_of_examples decoded
    expect analyze_decoding_draws_symbols maps
    expect calibrate_finds_lines finds_lines
    expect calibrate_prints_all_lines prints_all_lines
    expect calibrate_leaves_what_is_there leaves_what_is_there
    expect calibrate_beside_the_teacher beside_the_teacher
    expect calibrate_continues_from_its_teacher continues
    expect calibrate_nothing_passes nothing_passes
    expect calibrate_refuses refuses
    expect calibrate_ends_with_a_signal ends_with_a_signal
    expect calibrate_no_teacher no_teacher
fi
finish
