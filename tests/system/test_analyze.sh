# Analyses of trained runs, the Python package with the files and trainers of these runs, and their export to PyTorch.

. tests/system/common.sh

LUA=${LUA:-lua5.4}

# Two tiny models: `drawn` has relative vectors at random distances, `plain` a score with all kinds of parameters.
write_specs() {
    front='task = { kind = "reverse_string" },
        model = { layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1 },
        train = { batch = 8, learning_rate = 1e-3, steps = 30, lengths = { 1, 6 }, log_every = 10 },
        eval = { lengths = { list = { 4, 8 } }, examples = 4, validation = { examples = 0 } }'
    cat >"$work/drawn.lua" <<SPEC
return { $front, encoding = { use = "relative", positions = { kind = "randomized", max_position = 64 } } }
SPEC
    cat >"$work/plain.lua" <<SPEC
return { $front, encoding = { additive = { kind = "learned", rows = 40 }, mask = { kind = "window", left = 9 },
    score = function(x)
      local far = log1p(abs(x.distance) * x.rate)
      return x.score - far * far + lookup(x.side, min(max(x.distance, -1), 1)) + lookup(x.fixed, mod(x.key, 3)) / 8
    end,
    parameters = { rate = { per = "layer_head", init = 0.2 }, side = { per = "head", index = { -1, 1 }, init = 0.1 },
      fixed = { shape = 3, values = { 1, -0.5, 2 } } } } }
SPEC
}

# The trainer of `drawn` is built in $work, that of `plain` in its folder of build/trainers.
train_drawn() {
    ./longhand build "$work/drawn.lua" --levels best --out "$work/drawn" >/dev/null &&
        "$work/drawn/trainer" train --out "$work/runs" --threads 1
}

train_plain() { ./longhand train "$work/plain.lua" -- --out "$work/runs" --threads 1; }

# Prints the folder of build/trainers for the trainer of a run: FOLDER.
locate_trainer() {
    digest=${1%/*}
    echo "build/trainers/$(basename "${digest%/*}")-${digest##*/}"
}

trace() {
    "$work/drawn/trainer" trace --checkpoint "$drawn/checkpoint.safetensors" --what attention,activations \
        --lengths 4,8 --examples 2 --out "$work/trace.safetensors"
}

analyze() {
    what=$1
    shift
    ./longhand analyze "$what" "$drawn" --trainer "$work/drawn/trainer" --lengths 4,8 "$@"
}

fits_pca_on_the_first_length() {
    analyze pca --sequences 5 --out "$work/pca" >"$work/output" && cat "$work/output" &&
        grep -q '^drawn, embedding  *8  *[01]\.[0-9]*  *[0-9.]*%  *[0-9.]*% ' "$work/output" &&
        grep -q '\\label{tab:pca}' "$work/pca/pca.tex" || return
    # There are 3 sites x 5 sequences x (4 + 8) input tokens; the fitted points have drift 1 and their centre at 0.
    [ "$(wc -l <"$work/pca/pca.csv")" -eq $((1 + 3 * 5 * 12)) ] &&
        [ "$(wc -l <"$work/pca/summary.csv")" -eq 7 ] &&
        awk -F, 'NR > 1 && $3 == 4 && ($7 < 0.9999 || $7 > 1.0001 || $9 != 1) { bad = 1 } END { exit bad }' \
            "$work/pca/summary.csv" &&
        awk -F, 'NR > 1 && $3 == 4 { sum[$2] += $6; n[$2]++ } END { for (s in sum) if (sum[s] / n[s] > 1e-5 ||
            sum[s] / n[s] < -1e-5) exit 1 }' "$work/pca/pca.csv" && are_pictures "$work/pca/pca"
}

# The output half follows the input; the same command gives the same bytes.
repeats_pca_of_outputs() {
    analyze pca --sequences 3 --part output --out "$work/outputs" &&
        awk -F, 'NR > 1 && ($5 < $3 || $5 >= 2 * $3) { bad = 1 } END { exit bad }' "$work/outputs/pca.csv" &&
        analyze pca --sequences 3 --part output --out "$work/again" &&
        cmp "$work/outputs/pca.csv" "$work/again/pca.csv" && cmp "$work/outputs/pca.gnuplot" "$work/again/pca.gnuplot"
}

# The picture shows the largest weight of any head, as in a trace of the same sequence.
draws_the_largest_attention() {
    analyze attention --sequence 2 --crop 5 --out "$work/attention" && are_pictures "$work/attention/attention" &&
        [ "$(wc -l <"$work/attention/attention.csv")" -eq $((1 + 2 * 2 * 25)) ] &&
        $LUA tests/support/check_maximum.lua "$work/trace.safetensors" "$work/attention/attention.safetensors" \
            "$work/attention/attention.csv"
}

# Two runs are drawn one below the other in the first one's folder; the second's trainer is rebuilt from run.json.
draws_runs_below_each_other() {
    ./longhand analyze attention "$plain" "$drawn/checkpoint.safetensors" --lengths 3 2>"$work/building" &&
        [ "$(grep '^building' "$work/building" | cut -d' ' -f2)" = drawn ] &&
        [ -x "$(locate_trainer "$drawn")/trainer" ] &&
        grep -q "'drawn, length 3'" "$plain/attention/attention.gnuplot" &&
        grep -q '^plain,3,1,5,5,' "$plain/attention/attention.csv"
}

# Compares two cells of a folder, one masked, after training and before the first step, whose state no run has stored.
computes_similarity_of_traces() {
    ends_with 0 'plain *' ./longhand analyze similarity "$work/runs" --split test --length 4 --examples 2 \
        --reference drawn --out "$work/similarity" && are_pictures "$work/similarity/similarity" || return
    for step in trained start; do
        for run in drawn plain; do
            eval "folder=\$$run"
            checkpoint=$folder/checkpoint.safetensors
            if [ $step = start ]; then
                "$(locate_trainer "$folder")/trainer" train --out "$work/untrained" --seed 0 --steps 0 \
                    --no-eval || return
                checkpoint=$(echo "$work/untrained/$run"/*/*/checkpoint.safetensors)
            fi
            "$(locate_trainer "$folder")/trainer" trace --checkpoint "$checkpoint" --lengths 4 --examples 2 \
                --out "$work/of_$run.safetensors" || return
        done
        $LUA tests/support/check_similarity.lua "$work/of_drawn.safetensors" "$work/of_plain.safetensors" \
            "$work/similarity/similarity.csv" drawn plain 4 $step || return
    done
    grep -q '^plain,trained,all,"window 9, 9",1,,0.[0-9]*,,0.[0-9]*$' "$work/similarity/levels.csv" &&
        ends_with 1 'did you mean drawn?' ./longhand analyze similarity "$work/runs" --split test --reference drwn
}

# Runs that were trained without noise are evaluated with noise; at 0 the result equals the run's own evaluation.
evaluates_with_noise() {
    ends_with 0 'Accuracy in percent by noise on embeddings' ./longhand analyze noise "$work/runs" --split test \
        --length 4 --examples 8 --noise 0,0.5,40 --draws 2 --relative --out "$work/noise" &&
        are_pictures "$work/noise/noise" && [ "$(wc -l <"$work/noise/noise.csv")" -eq 7 ] || return
    "$(locate_trainer "$plain")/trainer" eval --checkpoint "$plain/checkpoint.safetensors" --lengths 4 --examples 8 \
        --out "$work/quiet" >"$work/log" || return
    accuracy=$(sed 's/.*"accuracy":\([^,]*\),.*/\1/' "$work"/quiet/eval.jsonl)
    grep -q "^,plain,0,[^,]*,relative,0,1,$accuracy,0\$" "$work/noise/noise.csv" &&
        ends_with 2 'expected ascending standard deviations' ./longhand analyze noise "$work/runs" --noise 0,1,1 &&
        ends_with 1 'no such axis with several values' ./longhand analyze noise "$work/runs" --split test --axis none
}

# Prints the value of a column in the line of a CSV file that begins with these words: FILE COLUMN WORDS.
read_column() {
    awk -F, -v name="$2" -v front="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
        index($0, front) == 1 { print $at }' "$1"
}

# Three seeds of two cells: the compared quantities, the cell that generalises, and the least possible p. After so few
# steps no seed has an exact match, so there is nothing to test.
compares_seeds() {
    for run in "$drawn" "$plain"; do
        "$(locate_trainer "$run")/trainer" train --seeds 0:2 --out "$work/seeds" --threads 1 >"$work/log" || return
    done
    ends_with 0 'Accuracy in percent, length 8, beyond training' ./longhand analyze compare "$work/seeds" --above 2 \
        --out "$work/compare" && are_pictures "$work/compare/compare" &&
        [ "$(read_column "$work/compare/groups.csv" generalise ,plain,)" = 3 ] &&
        [ "$(read_column "$work/compare/groups.csv" share_low ,plain,)" = 0.292401774 ] &&
        [ "$(read_column "$work/compare/compare.csv" least_p ,drawn,plain,)" = 0.1 ] &&
        [ "$(read_column "$work/compare/compare.csv" p_fisher ,drawn,plain,)" = 1 ] || return
    ends_with 0 'Exact match in percent, length 8, beyond training' ./longhand analyze compare "$work/seeds" \
        --metric exact_match --out "$work/exact" &&
        [ "$(read_column "$work/exact/compare.csv" verdict ,drawn,plain,)" = 'no spread' ] &&
        [ "$(read_column "$work/exact/compare.csv" p ,drawn,plain,)" = '' ] &&
        ends_with 0 'Loss in nats' ./longhand analyze compare "$work/seeds" --metric loss --out "$work/loss" &&
        ends_with 1 'a loss is not a share' ./longhand analyze compare "$work/seeds" --metric loss --above 90
}

refuses_wrong_arguments() {
    ends_with 2 'missing argument' ./longhand analyze pca &&
        ends_with 2 '--lengths 4: expected a length for fitting the components' \
            ./longhand analyze pca "$drawn" --lengths 4 &&
        ends_with 2 '--lengths 4,4: expected different lengths' ./longhand analyze pca "$drawn" --lengths 4,4 &&
        ends_with 1 'expected the folder of a run' ./longhand analyze pca "$work" &&
        ends_with 1 'its plan digest is' ./longhand analyze pca "$plain" --trainer "$work/drawn/trainer" &&
        ends_with 1 'max_position = 64' analyze pca --lengths 4,40 --out "$work/none" && [ ! -e "$work/none" ]
}

refuses_another_spec() {
    ends_with 1 'no such spec' ./longhand export pytorch "$plain" --spec "$work/none.lua" &&
        ends_with 1 'plan digest' ./longhand export pytorch "$plain" --spec "$work/drawn.lua"
}

# Copies a run to $work/weights, with one value for all weights: VALUE RUN.
set_weights() {
    rm -rf "$work/weights" && mkdir -p "$work/weights" && cp -r "$work/runs/$2" "$work/weights/" &&
        $LUA tests/support/set_weights.lua "$work/weights/$2"/*/*/checkpoint.safetensors "$1"
}

# Weights that are not finite, or too large to compute with, are reported with exit code 1, and no file is written.
refuses_weights_that_are_not_finite() {
    for value in nan 3e38; do
        set_weights $value drawn && set -- "$work"/weights/drawn/*/* &&
            ends_with 1 'expected numbers that are finite' ./longhand analyze pca "$1" --trainer "$work/drawn/trainer" \
                --lengths 4,8 --sequences 5 --out "$work/nothing" && [ ! -e "$work/nothing" ] || return
        echo '{"input":[0,1]}' >"$work/line" &&
            ends_with 1 'line 1: the logits of token 0 are not finite' "$work/drawn/trainer" predict \
                --checkpoint "$1/checkpoint.safetensors" <"$work/line" && ! grep nan "$work/.out" || return
        set_weights $value plain && ends_with 1 "finite" ./longhand export pytorch "$work"/weights/plain/*/* \
            --out "$work/nothing" && ! grep 'stack traceback' "$work/.out" && [ ! -e "$work/nothing" ] || return
    done
}

# Exports a run: RUN NAME TRAINER. The text equals the golden's except for the digest.
exports() {
    ./longhand export pytorch "$1" --trainer "$3" --out "$work/torch_$2" &&
        sed 's/plan [0-9a-f]*,/plan DIGEST,/' "$work/torch_$2/model.py" >"$work/$2.py" &&
        cmp "$1/checkpoint.safetensors" "$work/torch_$2/checkpoint.safetensors" || return
    [ -z "${LH_UPDATE_GOLDEN:-}" ] || cp "$work/$2.py" "tests/golden/export/$2.py"
    diff "tests/golden/export/$2.py" "$work/$2.py"
}

agrees_in_torch() {
    "$PYTHON" "$work/torch_$1/model.py" && "$PYTHON" tests/python/use_model.py "$work/torch_$1"
}

# Renders the export of a spec: SPEC of tests/specs, NAME for tests/python/check_reference.py, then settings.
render() {
    spec=$1 name=$2
    shift 2
    $LUA tests/support/render_model.lua "tests/specs/$spec.lua" "$work/reference/$name.py" \
        'precision="float64"' "$@"
}

# Models of which this test has no run, with the weights of tests/reference.
agrees_with_the_reference() {
    mkdir "$work/reference" && render parity_float64_geometric geometric && render parity_geometric_raw geometric_raw &&
        render parity_geometric_plain geometric_plain && render parity_none none.computation task.computation=2 &&
        render parity_rand_learned rand_learned.one_based 'encoding.positions.range="one_based"' &&
        render parity_rand_alibi rand_alibi.one_based 'encoding.positions.range="one_based"' &&
        render parity_float64_decoder_alibi decoder_alibi && render parity_decoder_relative decoder_relative &&
        render parity_decoder_rope decoder_rope && render networks/decoder_window decoder_window &&
        render networks/encoder_gelu_pre encoder_gelu_pre &&
        render parity_rand_relative rand_relative.sides 'encoding.positions.sides="independent"' &&
        render parity_rand_rope rand_rope.sequence.unsorted 'encoding.positions.draw="sequence"' \
            encoding.positions.sorted=false &&
        "$PYTHON" tests/python/check_reference.py "$work/reference"
}

# A different logit is reported, and a file without logits does not agree.
finds_a_difference() {
    sed '3s/"logits":\[\[\(-*\)/"logits":[[\11/' "$work/torch_plain/stored.jsonl" >"$work/stored" &&
        cp -r "$work/torch_plain" "$work/torch_wrong" && cp "$work/stored" "$work/torch_wrong/stored.jsonl" &&
        ends_with 1 FAILED "$PYTHON" "$work/torch_wrong/model.py" && : >"$work/torch_wrong/stored.jsonl" &&
        ends_with 1 '0 sequences' "$PYTHON" "$work/torch_wrong/model.py"
}

write_specs
# A trainer of an earlier run of this test is built again.
rm -rf build/trainers/drawn-???????????????? build/trainers/plain-????????????????
expect analyze_trains_a_run_with_drawn_distances train_drawn
expect analyze_trains_a_run_with_a_score train_plain
drawn=$(echo "$work"/runs/drawn/*/*) plain=$(echo "$work"/runs/plain/*/*)
trap 'rm -rf "$work" "$(locate_trainer "$drawn")" "$(locate_trainer "$plain")"' EXIT
expect analyze_has_a_trace_to_compare_with trace
checks="fits_pca_on_the_first_length repeats_pca_of_outputs draws_the_largest_attention draws_runs_below_each_other
    computes_similarity_of_traces evaluates_with_noise compares_seeds refuses_wrong_arguments"
if command -v gnuplot >/dev/null 2>&1; then
    expect_each analyze_ $checks
else
    for name in $checks; do echo "skip analyze_$name: gnuplot is not installed"; done
fi
expect export_refuses_another_spec refuses_another_spec
expect export_of_drawn_distances_is_the_golden exports "$drawn" drawn "$work/drawn/trainer"
expect export_of_a_score_is_the_golden exports "$plain" plain "$(locate_trainer "$plain")/trainer"
expect_each analyze_ refuses_weights_that_are_not_finite
expect_python python_reads_runs_and_tensors "$PYTHON" tests/python/test_longhand.py "$work/runs" \
    "$work/trace.safetensors"
expect_python python_writes_event_files "$PYTHON" tests/python/test_events.py "$work/runs"
expect_python python_builds_and_trains "$PYTHON" tests/python/test_commands.py "$work/plain.lua"
expect_python export_compiles "$PYTHON" -m py_compile "$work/torch_plain/model.py" "$work/torch_drawn/model.py"
expect_torch export_of_drawn_distances_agrees_in_torch agrees_in_torch drawn
expect_torch export_of_a_score_agrees_in_torch agrees_in_torch plain
expect_torch export_finds_a_difference finds_a_difference
expect_torch export_agrees_with_the_reference_in_torch agrees_with_the_reference
finish
