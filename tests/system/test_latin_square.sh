# A task that makes its examples, latin_square: trained by epochs, stopped and resumed, on any number of threads;
# evaluated by two axes and three sets; a file for validation; and its reports.

. tests/system/common.sh

trainer=$work/out/trainer
cat >"$work/latin_small.lua" <<'END'
return {
  task = { kind = "latin_square", options = { puzzles = 100 }, seed = 3 },
  encoding = { kind = "learned", additive = { rows = 17 } },
  model = { use = "small_encoder" },
  train = { batch = 32, epochs = 6, learning_rate = 1e-3, log_every = 3, checkpoint = { every = 4 } },
  eval = { by = { vectors = true, puzzle = true }, splits = { "train", "test", "validation" }, examples = 80,
    during = { every = 9, by = { vectors = true }, splits = { "train", "validation" }, examples = 20 } },
}
END

builds() {
    ./longhand build "$work/latin_small.lua" --levels best --out "$work/out" &&
        ends_with 0 'made at the start, seed 3' "$trainer" info &&
        ends_with 0 'This trainer makes its examples at the start' "$trainer" train --help
}

same_results() { have_equal_results "$(find_run "$1")" "$(find_run "$2")" metrics.jsonl eval.jsonl; }

# 270 puzzles in batches of 32: 9 batches in an epoch, the last of 14. The resumes are within epochs and between them.
keeps_bits() {
    ends_with 0 'an epoch is 9 batches, 54 steps are 6 epochs' "$trainer" train --out "$work/whole" --threads 1 &&
        "$trainer" train --out "$work/threads" --threads 5 && same_results whole threads || return
    for steps in 5 9 20 36; do
        "$trainer" train --out "$work/parts" --steps $steps --threads 2 --resume --no-eval || return
    done
    "$trainer" train --out "$work/parts" --threads 2 --resume && same_results whole parts
}

# Checks that as many lines of the evaluations of the first run match a pattern: COUNT PATTERN.
has_lines() {
    [ "$(grep -c "$2" "$(find_run whole)/eval.jsonl")" -eq "$1" ] && return
    echo "wanted $1 lines with $2"
    cat "$(find_run whole)/eval.jsonl"
    return 1
}

# Each combination of numbers in a set is a condition; evaluations during training have two sets, not by puzzle.
writes_a_line_per_condition() {
    has_lines 3 '^{"step":54,"split":"train","by":{"vectors":[123]},"examples":80,' &&
        has_lines 3 '^{"step":54,"split":"test","by":{"vectors":[123]},"examples":10,' &&
        has_lines 108 '^{"step":54,"split":"validation","by":{"vectors":[123],"puzzle":[0-9]*},"examples":1,' &&
        has_lines 36 '"by":{"vectors":3,"puzzle":' && has_lines 1 '"by":{"vectors":3,"puzzle":108}' &&
        has_lines 18 '"split":"during","set":"train","by":{"vectors":[123]},"examples":20,' &&
        has_lines 18 '"split":"during","set":"validation","by":{"vectors":[123]},"examples":20,' && has_lines 150 '' &&
        grep -q '"train_examples":270,"eval":"latin_square",.*"validation_examples":108,"by":\["vectors","puzzle"\]}' \
            "$(find_run whole)/run.json"
}

# Flags select other sets and axes; examples are listed one by one, and in traces.
selects_by_flags() {
    file=$(find_run whole)/checkpoint.safetensors
    ends_with 0 'all test   1..3' "$trainer" eval --checkpoint "$file" --out "$work/eval" --splits test \
        --per-example "$work/each" &&
        [ "$(grep -c '^{"vectors":[123],"example":[0-9],' "$work/each")" -eq 30 ] &&
        ends_with 0 'validation     16 ' "$trainer" eval --checkpoint "$file" --out "$work/eval" --lengths 16 \
            --splits validation &&
        ends_with 2 'expected: some of train,test,validation' "$trainer" eval --checkpoint "$file" --splits tests &&
        "$trainer" eval --checkpoint "$file" --out "$work/axes" --splits train --by vectors >/dev/null &&
        grep '"step":54,"split":"train"' "$(find_run whole)/eval.jsonl" | cmp - "$work/axes/eval.jsonl" &&
        "$trainer" eval --checkpoint "$file" --out "$work/axes" --splits validation --by puzzle,length >/dev/null &&
        [ "$(grep -c '"by":{"length":16,"puzzle":[0-9]*}' "$work/axes/eval.jsonl")" -eq 108 ] &&
        ends_with 2 'expected: at most 4 of length, vectors, puzzle, each once' "$trainer" eval --checkpoint "$file" \
            --by vectors,digits &&
        ends_with 2 'expected: one of the two flags' "$trainer" eval --checkpoint "$file" --by vectors --lengths 16 &&
        ends_with 0 '[108][2][17][17]' "$trainer" trace --checkpoint "$file" --split validation --examples 200 \
            --length 16 --out "$work/trace" &&
        ends_with 2 'expected: train, test, validation' "$trainer" sample --length 16 --split validations
}

# The validation set that the task made is written to a file and read: the same training puzzles give the same numbers.
reads_its_validation_set_from_a_file() {
    "$trainer" sample --length 16 --count 200 --split validation --order file --text |
        awk 'BEGIN { print "puzzles,solutions" } { print $1 "," $3 }' >"$work/items.csv" || return
    sed 's/seed = 3/seed = 3, validation = "items.csv"/' "$work/latin_small.lua" >"$work/latin_file.lua"
    [ "$(wc -l <"$work/items.csv")" -eq 109 ] &&
        ./longhand build "$work/latin_file.lua" --levels best --out "$work/of_file" &&
        (cd / && "$work/of_file/trainer" train --out "$work/file" --validation "$work/items.csv") &&
        cmp "$(find_run whole)/eval.jsonl" "$(find_run file)/eval.jsonl" &&
        grep -q "\"validation\":\"$work/items.csv\",\"validation_sha256\":\"$(sha256sum <"$work/items.csv" |
            cut -d' ' -f1)\"" "$(find_run file)/run.json" || return
    head -100 "$work/items.csv" >"$work/short.csv"
    ends_with 1 'of the file that this trainer was built for' "$work/of_file/trainer" train --out "$work/file" \
        --validation "$work/short.csv" &&
        ends_with 1 'expected: task.validation in the spec' "$trainer" sample --length 16 \
            --validation "$work/items.csv" || return
    mv "$work/items.csv" "$work/elsewhere.csv"
    ends_with 1 'task.validation: cannot read' ./longhand plan "$work/latin_file.lua"
}

# Lines of any lengths in one file have the results of single lines: the second needs more memory than the first,
# although its activations have as many rows.
predicts_lines_of_any_length() {
    file=$(find_run whole)/checkpoint.safetensors
    for input in 1 1,4,3 2,3; do
        echo "{\"input\":[$input]}" >>"$work/lines"
        echo "{\"input\":[$input]}" | "$trainer" predict --checkpoint "$file" >>"$work/apart" || return
    done
    "$trainer" predict --checkpoint "$file" <"$work/lines" >"$work/together" && cmp "$work/apart" "$work/together"
}

# The model of Ito et al. 2024, small: its gradients, the probed cell of an input that names one, and its checkpoint,
# which does not fit a model that answers at other tokens.
probes_a_cell() {
    cat >"$work/latin_probe.lua" <<'END'
return { use = "./latin_small.lua", encoding = { kind = "none" }, eval = { by = { vectors = true } },
  model = { use = "lst_encoder", layers = 2, width = 16, feedforward = 32, readout = "probe" },
  precision = "float64" }
END
    ./longhand build "$work/latin_probe.lua" --levels best --out "$work/probe" &&
        ends_with 0 'embed.token.bias' "$work/probe/trainer" gradcheck &&
        "$work/probe/trainer" train --out "$work/probed" || return
    file=$(find_run probed)/checkpoint.safetensors
    "$work/probe/trainer" predict --checkpoint "$file" --text ..12.?.. | grep -q '^[1-4]$' &&
        ends_with 1 'expected: one ? in the input, and one output' "$work/probe/trainer" predict --checkpoint "$file" \
            --text ..12.?.? &&
        ends_with 1 'does not determine the token from which the answer is read' "$work/probe/trainer" predict \
            --checkpoint "$file" --text 1234 &&
        ends_with 1 'embed.token.weight: shape' "$trainer" eval --checkpoint "$file"
}

# The accuracy that the authors log is the mean over an epoch's batches, each before its update, with equal weight for
# the short one. Each batch is a line here.
logs_the_accuracy_of_epochs() {
    "$trainer" train --out "$work/batches" --threads 2 --no-eval --log-every 1 || return
    tr ':,}' '   ' <"$(find_run batches)/metrics.jsonl" | awk '
        { for (i = 1; i < NF; i += 2) value[$i] = $(i + 1)
          sum += value["\"accuracy\""]
          if (NR % 9) next
          d = sum / 9 - value["\"epoch_accuracy\""]; sum = 0
          if (value["\"epoch\""] != NR / 9 || d > 1e-9 || d < -1e-9) { print "line " NR ": off by " d; bad = 1 } }
        END { exit bad || NR != 54 }' &&
        for run in batches whole; do grep -o '"epoch_accuracy":[0-9.]*' "$(find_run $run)/run.json"; done >"$work/last" &&
        [ "$(sort -u "$work/last" | wc -l)" -eq 1 ] && [ "$(wc -l <"$work/last")" -eq 2 ] &&
        grep -q "$(head -1 "$work/last")" "$(find_run whole)/metrics.jsonl" &&
        grep -q '"data":{"epoch_batches":9,' "$(find_run whole)/run.json"
}

print_steps() { grep "$1" "$(find_run epochs)/$2" | sed 's/{"step":\([0-9]*\).*/\1/' | uniq | tr '\n' ' '; }

# All cadences count epochs of 9 batches; the trainer differs in its defaults alone.
counts_epochs() {
    ./longhand build "$work/latin_small.lua" --levels best --out "$work/out" --set train.cadence=epochs \
        --set train.log_every=2 --set 'train.checkpoint={ every = 4, keep = { 0, 3 } }' \
        --set 'eval.during={ every = 5, by = { vectors = true }, splits = { "test" } }' &&
        "$trainer" train --out "$work/epochs" --no-eval && [ "$(print_steps . metrics.jsonl)" = '18 36 54 ' ] &&
        [ "$(print_steps during eval.jsonl)" = '45 ' ] && [ "$(print_steps . window.jsonl)" = '0 27 36 54 ' ] &&
        [ -e "$(find_run epochs)/checkpoint-0.safetensors" ] && [ -e "$(find_run epochs)/checkpoint-27.safetensors" ] &&
        cmp "$(find_run epochs)/checkpoint.safetensors" "$(find_run whole)/checkpoint.safetensors"
}

# Noise on embeddings: the parameters are the same; the least noise has the results without noise; numbers are equal for
# any threads; accuracy falls with the deviation, and all deviations use the same draws.
evaluates_with_noise() {
    ./longhand build "$work/latin_small.lua" --levels best --out "$work/loud" \
        --set 'eval.by.noise={ list = { 0, 0.5, 9 } }' --set eval.draws=4 || return
    for threads in 1 3; do
        "$work/loud/trainer" train --out "$work/noise$threads" --threads $threads >"$work/log" || return
    done
    same_results noise1 noise3 &&
        ${LUA:-lua5.4} tests/bits/tensors.lua "$(find_run whole)/checkpoint.safetensors" >"$work/expected" &&
        ${LUA:-lua5.4} tests/bits/tensors.lua "$(find_run noise1)/checkpoint.safetensors" >"$work/actual" &&
        cmp "$work/expected" "$work/actual" &&
        grep -v during "$(find_run whole)/eval.jsonl" >"$work/expected" &&
        sed -n 's/,"noise":0}/}/p' "$(find_run noise1)/eval.jsonl" >"$work/actual" &&
        cmp "$work/expected" "$work/actual" &&
        [ "$(grep -c '"split":"validation","by":{"vectors":[123],"puzzle":[0-9]*,"noise":0.5},"examples":1,"draws":4' \
            "$(find_run noise1)/eval.jsonl")" -eq 108 ] &&
        [ "$(grep -c '"by":{"vectors":1,"noise":9}' "$(find_run noise1)/eval.jsonl")" -eq 2 ] &&
        ends_with 0 'noise 0.5' "$work/loud/trainer" eval --checkpoint "$(find_run whole)/checkpoint.safetensors" \
            --lengths 16 --splits validation --out "$work/by_length" &&
        ends_with 0 'by noise on embeddings' ./longhand report "$work/noise1" --out "$work/report_noise"
}

# Tables and curves use the first axis.
reports() {
    ends_with 0 'latin_small' ./longhand report "$work/whole" --out "$work/report" &&
        ends_with 0 '' ./longhand report "$(find_run whole)" "$(find_run file)" --out "$work/two"
}

expect_each latin_square_ builds keeps_bits writes_a_line_per_condition selects_by_flags \
    reads_its_validation_set_from_a_file predicts_lines_of_any_length probes_a_cell logs_the_accuracy_of_epochs \
    evaluates_with_noise reports counts_epochs
finish
