# Dataset files, examples/dataset: a model is trained by epochs, killed and resumed, on any number of threads, and
# evaluated by length; changed and wrong files are refused; all verbs that need examples find them.

. tests/system/common.sh

ID=addition_sinusoid
SPEC=examples/dataset/$ID.lua
FLAGS="--log-every 10 --checkpoint-every 17 --no-eval"
LUA=${LUA:-lua5.4}
trainer=$work/out/trainer
double=$work/double/trainer

builds() {
    ends_with 0 'addition, data (examples/dataset/train.jsonl), 11 input symbols, 10 classes' ./longhand plan $SPEC &&
        ends_with 0 'task.longest' ./longhand check $SPEC --print &&
        ./longhand build $SPEC --levels best --out "$work/out" &&
        ends_with 0 'data           examples/dataset/train.jsonl, evaluation examples/dataset/test.jsonl' \
            "$trainer" info
}

# Whether a run has the results of `whole`: FOLDER.
equals_whole() { have_equal_results "$(find_run whole)" "$(find_run "$1")" metrics.jsonl; }

# 70 steps are more than three epochs of 21 batches.
keeps_bits() {
    "$trainer" train --out "$work/whole" --steps 70 --threads 1 $FLAGS || return
    for threads in 2 5 16; do
        "$trainer" train --out "$work/threads$threads" --steps 70 --threads $threads $FLAGS &&
            equals_whole threads$threads || return
    done
    for steps in 11 21 22 60 70; do
        "$trainer" train --out "$work/parts" --steps $steps --threads 2 --resume $FLAGS || return
    done
    equals_whole parts || return
    "$trainer" train --out "$work/group" --steps 70 --threads 2 --seeds 0:2 $FLAGS && equals_whole group
}

survives_kills() {
    "$trainer" train --out "$work/calm" --steps 1200 --log-every 50 --checkpoint-every 100 || return
    for moment in 0.05 0.15 0.3; do
        "$trainer" train --out "$work/killed" --steps 1200 --log-every 50 --checkpoint-every 100 --resume &
        child=$!
        sleep $moment
        kill -9 $child 2>/dev/null
        wait $child
    done
    "$trainer" train --out "$work/killed" --steps 1200 --log-every 50 --checkpoint-every 100 --resume &&
        have_equal_results "$(find_run calm)" "$(find_run killed)" metrics.jsonl eval.jsonl
}

# The number of steps follows from that of epochs; a flag for steps replaces it.
trains_for_epochs() {
    epochs=$(sed -n 's/.*epochs = \([0-9]*\).*/\1/p' $SPEC)
    ends_with 0 "an epoch is 21 batches, $((21 * epochs)) steps are $epochs epochs" \
        "$trainer" train --out "$work/epochs" --no-eval &&
        grep -q "\"step\":$((21 * epochs))," "$(find_run epochs)/metrics.jsonl" &&
        ends_with 0 '42 steps are 2 epochs' "$trainer" train --out "$work/two" --steps 42 --no-eval
}

# A file with names of symbols, as in the spec, trains to the same bits; run.json names the lengths of training.
reads_names_as_ids() {
    awk -F'[][]' '{
        gsub(/10/, "\"+\"", $2); gsub(/[0-9]/, "\"&\"", $2); gsub(/[0-9]/, "\"&\"", $4)
        print $1 "[" $2 "]" $3 "[" $4 "]" $5
    }' examples/dataset/train.jsonl >"$work/names.jsonl"
    head -1 "$work/names.jsonl" | grep -q '^{"input":\["[0-9+]".*"target":\["[0-9]"' || return
    "$trainer" train --out "$work/ids" --steps 30 $FLAGS &&
        "$trainer" train --out "$work/named" --steps 30 --data "$work/names.jsonl" $FLAGS || return
    drop_times "$(find_run ids)/metrics.jsonl" >"$work/expected" &&
        drop_times "$(find_run named)/metrics.jsonl" | cmp "$work/expected" - || return
    grep -q '"train_lengths":\[3,4,5\],' "$(find_run ids)/run.json" || return
    file=$(find_run ids)/checkpoint.safetensors
    echo '{"input":[1,10,2],"outputs":2}' | "$trainer" predict --checkpoint "$file" >"$work/expected" &&
        echo '{"input":["1","+","2"],"outputs":2}' | "$trainer" predict --checkpoint "$file" | cmp "$work/expected" - &&
        ends_with 0 '' "$trainer" predict --checkpoint "$file" --text '1 + 2' &&
        echo '{"input":["1","-","2"]}' | ends_with 1 'line 1: input[1] is "-", which is not a symbol' \
            "$trainer" predict --checkpoint "$file" || return
    # A zero byte is not the end of the input.
    printf '{"input":[1,10,2]}\0\n' | ends_with 1 'line 1: byte 18 is 0' "$trainer" predict --checkpoint "$file" &&
        ends_with 1 'the standard input cannot be read: ' "$trainer" predict --checkpoint "$file" </
}

# Prints a file of the examples as columns with tabs: train or test.
write_columns() {
    sed 's/{"input":\[//; s/\],"target":\[/\t/; s/\]}$//; s/10/+/g; s/,/ /g' "examples/dataset/$1.jsonl"
}

# Files with these examples as columns with tabs, compressed or not, and in the form of SCAN train to the same bits.
reads_other_formats() {
    write_columns train >"$work/columns.tsv"
    sed 's/^/IN: /; s/\t/ OUT: /' "$work/columns.tsv" >"$work/scan.txt"
    sed 's/ //g; s/$/\tweb/; 1i input\ttarget\tsource' "$work/columns.tsv" >"$work/header.tsv"
    "$trainer" train --out "$work/json" --steps 30 $FLAGS || return
    drop_times "$(find_run json)/metrics.jsonl" >"$work/expected"
    gzip <"$work/columns.tsv" >"$work/packed.tsv" && head -c 300 "$work/packed.tsv" >"$work/torn.tsv" || return
    for file in columns.tsv packed.tsv scan.txt header.tsv; do
        ends_with 0 '' "$trainer" train --out "$work/of_$file" --steps 30 --data "$work/$file" $FLAGS &&
            drop_times "$(find_run "of_$file")/metrics.jsonl" | cmp "$work/expected" - || return
    done
    grep -q 'header.tsv: ignores "source", which are neither input, target, mask nor in task.axes' "$work/.out" &&
        grep -q "$(sha256sum <"$work/packed.tsv" | cut -c 1-64)" "$(find_run of_packed.tsv)/run.json" &&
        ends_with 1 'torn.tsv: is truncated or damaged: gzip -dc has exit code 1' \
            "$trainer" train --out "$work/of_torn" --data "$work/torn.tsv" $FLAGS
}

# An evaluation has as many examples of a length as requested, or all examples of the file; the split names the file.
evaluates() {
    file=$(find_run whole)/checkpoint.safetensors
    ends_with 0 'all test   3..7' "$trainer" eval --checkpoint "$file" --out "$work/eval" || return
    for n in 3 4 5 6 7; do
        count=$(awk -F'[][]' -v n=$n 'split($2, a, ",") == n' examples/dataset/test.jsonl | wc -l)
        grep -q "\"split\":\"test\",\"by\":{\"length\":$n},\"examples\":$count," "$work/eval/eval.jsonl" || return
    done
    ends_with 0 'all test   4..5' "$trainer" eval --checkpoint "$file" --out "$work/eval" --lengths 4:5 --examples 3 \
        --per-example "$work/each" && [ "$(grep -c '"length":4,"example":[012],' "$work/each")" -eq 3 ] || return
    ends_with 1 'examples/dataset/test.jsonl has no example with an input of these lengths' \
        "$trainer" eval --checkpoint "$file" --lengths 40:50 --out "$work/eval"
}

# Evaluates lengths that only another set has.
evaluates_other_sets() {
    file=$(find_run whole)/checkpoint.safetensors
    echo '{"input":[1,2],"target":[1]}' >"$work/short.jsonl"
    ends_with 0 'all validation 2..2' "$trainer" eval --checkpoint "$file" --validation "$work/short.jsonl" \
        --splits validation --lengths 2 --out "$work/other" || return
    for length in '' '--length 2'; do
        "$trainer" trace --checkpoint "$file" --validation "$work/short.jsonl" --split validation $length \
            --out "$work/traced" >/dev/null || return
        [ "$($LUA tests/support/check_trace.lua meta "$work/traced" source)" = "$work/short.jsonl" ] &&
            [ "$($LUA tests/support/check_trace.lua meta "$work/traced" split)" = validation ] || return
    done
}

# Without a file for evaluation the training examples are used, and the trainer reports it.
evaluates_training_examples() {
    mkdir "$work/plain" && cp examples/dataset/train.jsonl "$work/plain" &&
        sed '/eval = /d' $SPEC >"$work/plain/$ID.lua" &&
        ./longhand build "$work/plain/$ID.lua" --levels best --out "$work/plain/out" && cd "$work/plain" &&
        ends_with 0 'all train  3..5' out/trainer train --steps 42 &&
        ends_with 0 'all test   3..5' out/trainer train --steps 63 --resume \
            --eval-data "$root/examples/dataset/train.jsonl"
}

# The file is identified by its bytes, not by its path.
continues_only_with_its_file() {
    cp examples/dataset/train.jsonl "$work/same.jsonl"
    ends_with 0 'step 75' "$trainer" train --out "$work/parts" --steps 75 --resume --data "$work/same.jsonl" $FLAGS ||
        return
    grep -q "\"train_sha256\":\"$(sha256sum <"$work/same.jsonl" | cut -d' ' -f1)\"" "$(find_run parts)/run.json" ||
        return
    sed '1s/3/4/' examples/dataset/train.jsonl >"$work/other.jsonl"
    mine=$(find_run parts) && mkdir "$work/before" && cp "$mine"/* "$work/before" || return
    ends_with 0 "trained on other data: $work/same.jsonl, whose SHA-256 is $(hash "$work/same.jsonl")" \
        "$trainer" train --out "$work/parts" --steps 80 --resume --data "$work/other.jsonl" $FLAGS &&
        grep -q "is trained on $work/other.jsonl, whose SHA-256 is $(hash "$work/other.jsonl")" "$work/.out" &&
        [ -e "${mine%-data*}-data$(hash "$work/other.jsonl" | cut -c 1-8)/checkpoint.safetensors" ] &&
        diff -r "$mine" "$work/before" || return
    # The checkpoint comes from a training elsewhere.
    cp "$mine/checkpoint.safetensors" "${mine%-data*}-data$(hash "$work/other.jsonl" | cut -c 1-8)" &&
        ends_with 1 "data_sha256 is \"$(hash "$work/same.jsonl")\", expected \"$(hash "$work/other.jsonl")\"" \
            "$trainer" train --out "$work/parts" --steps 81 --resume --data "$work/other.jsonl" $FLAGS
}

hash() { sha256sum <"$1" | cut -d ' ' -f 1; }

# A refused training changes no file and no time of a file, whatever the reason.
writes_nothing_if_refused() {
    "$trainer" train --out "$work/finished" --steps 63 $FLAGS && mine=$(find_run finished) &&
        (cd "$mine" && ls -l --time-style=full-iso && cksum ./*) >"$work/before.txt" || return
    ends_with 1 'the checkpoint is of step 63, --steps is 21' \
        "$trainer" train --out "$work/finished" --steps 21 --resume $FLAGS || return
    (cd "$mine" && ls -l --time-style=full-iso && cksum ./*) | cmp - "$work/before.txt" || return
    mv "$mine" "${mine%-seed0*}-seed1${mine#*-seed0}" &&
        ends_with 1 'the checkpoint is of seed 0, this run has seed 1' \
            "$trainer" train --out "$work/finished" --steps 63 --seed 1 --resume $FLAGS || return
    (cd "$(find_run finished 1)" && ls -l --time-style=full-iso && cksum ./*) | cmp - "$work/before.txt"
}

# With another file for evaluation, the run is evaluated again but not trained; the previous lines name their file.
evaluates_new_data() {
    "$trainer" train --out "$work/evaluated" --steps 63 --log-every 10 && mine=$(find_run evaluated) &&
        head -50 examples/dataset/test.jsonl >"$work/fewer.jsonl" &&
        cksum "$mine/checkpoint.safetensors" >"$work/sum" &&
        ends_with 0 'all test' "$trainer" train --out "$work/evaluated" --steps 63 --missing \
            --eval-data "$work/fewer.jsonl" &&
        cksum "$mine/checkpoint.safetensors" | cmp - "$work/sum" || return
    for file in examples/dataset/test.jsonl "$work/fewer.jsonl"; do
        [ "$(grep -c "\"step\":63.*\"data\":\"$(hash "$file" | cut -c 1-16)\"" "$mine/eval.jsonl")" -eq 5 ] || return
    done
    ends_with 0 '1 of 1 runs are finished' "$trainer" train --out "$work/evaluated" --steps 63 --missing \
        --eval-data "$work/fewer.jsonl" &&
        "$trainer" train --out "$work/evaluated" --steps 63 --missing &&
        [ "$(grep -c '"step":63' "$mine/eval.jsonl")" -eq 10 ] &&
        [ "$(grep -c "\"eval_sha256\":\"$(hash examples/dataset/test.jsonl)\"" "$mine/run.json")" -eq 1 ]
}

# With a limit, sample and eval choose the same examples, by a hash of their lines. --seed chooses other examples, and
# --order file the first ones.
chooses_examples() {
    file=$(find_run whole)/checkpoint.safetensors
    for flags in '--seed 1' '--seed 2' '--order file' '--examples all'; do
        count=20
        [ "$flags" != '--examples all' ] || count=41
        ends_with 0 'examples' "$trainer" eval --checkpoint "$file" --out "$work/caps" --lengths 5 --examples 20 \
            $flags && grep -q "^test  *5 .* $count of 41 examples" "$work/.out" || return
    done
    sed 's/"accuracy.*,"data":"[0-9a-f]*"/X/; s/.*"examples"/"examples"/' "$work/caps/eval.jsonl" >"$work/actual" &&
        printf '%s\n' '"examples":20,"of":41,"draws":1,X}' '"examples":20,"of":41,"draws":1,X,"seed":2}' \
            '"examples":20,"of":41,"order":"file","draws":1,X}' '"examples":41,"draws":1,X}' | cmp - "$work/actual" ||
            return
    "$trainer" sample --split test --length 5 --count 41 --order file | sed 's/,"mask.*//' >"$work/actual" &&
        awk -F'[][]' 'split($2, a, ",") == 5' examples/dataset/test.jsonl | sed 's/}$//' | cmp - "$work/actual" &&
        "$trainer" sample --split test --length 5 --count 20 >"$work/actual" &&
        "$trainer" sample --split test --length 5 --count 7 >"$work/few" &&
        head -7 "$work/actual" | cmp - "$work/few" &&
        "$trainer" sample --split test --length 5 --count 20 --seed 2 >"$work/expected" &&
        ! cmp -s "$work/expected" "$work/actual" &&
        [ "$("$trainer" sample --count 1000 --split test | wc -l)" -eq "$(wc -l <examples/dataset/test.jsonl)" ] ||
        return
    # A trace of 20 examples has the 20 examples of an evaluation, sorted by their numbers of outputs.
    "$trainer" sample --split test --length 5 --count 20 | sed 's/,"mask.*//' >"$work/sampled" &&
        sed 's/}$//' examples/dataset/test.jsonl | awk -F'[][]' -v sampled="$work/sampled" '
            BEGIN { while ((getline line <sampled) > 0) is_taken[line] = 1 }
            is_taken[$0] { outputs = split($4, b, ","); print outputs, "{\"input\":[" $2 "],\"outputs\":" outputs "}" }' |
        sort -s -n -k 1,1 | cut -d' ' -f2 >"$work/inputs.jsonl" && [ "$(wc -l <"$work/inputs.jsonl")" -eq 20 ] &&
        "$trainer" trace --checkpoint "$file" --length 5 --examples 20 --split test --out "$work/taken" >/dev/null &&
        "$trainer" trace --checkpoint "$file" --input "$work/inputs.jsonl" --out "$work/given" >/dev/null &&
        $LUA tests/support/check_trace.lua same "$work/taken" "$work/given" || return
    ends_with 2 'expected: hash' "$trainer" sample --order random &&
        ends_with 2 'expected: hash' "$trainer" eval --checkpoint "$file" --order random
}

# Held-out examples that are also trained on are reported at the start, and are an axis of evaluations on request.
reports_overlaps() {
    { head -5 examples/dataset/train.jsonl | sed 's/,"mask.*/}/' && head -3 examples/dataset/test.jsonl &&
        sed -n 1p examples/dataset/train.jsonl; } >"$work/overlap.jsonl"
    ends_with 0 'has 9 examples: 7 also in the training set (lines 1, 2, 3, ...), 1 repeated within the file (line 9)' \
        "$trainer" train --steps 5 --out "$work/overlap" --eval-data "$work/overlap.jsonl" &&
        ! grep -q trained "$(find_run overlap)/eval.jsonl" || return
    awk -F'[][]' 'split($2, a, ",") > 5' examples/dataset/test.jsonl >"$work/longer.jsonl" &&
        ends_with 0 'step 5' "$trainer" train --steps 5 --out "$work/apart" --eval-data "$work/longer.jsonl" $FLAGS &&
        ! grep -q 'examples:' "$work/.out" || return
    ./longhand build $SPEC --set 'eval.by={ trained = true }' --levels best --out "$work/trained" &&
        ends_with 0 'all test' "$work/trained/trainer" eval --checkpoint "$(find_run overlap)/checkpoint.safetensors" \
            --eval-data "$work/overlap.jsonl" --out "$work/trained/eval" || return
    sed 's/"draws.*//' "$work/trained/eval/eval.jsonl" >"$work/actual" &&
        printf '%s\n' '{"step":5,"split":"test","by":{"trained":0},"examples":2,' \
            '{"step":5,"split":"test","by":{"trained":1},"examples":7,' | cmp - "$work/actual"
}

# The files of a run are found from any folder, also after all of them were moved; files with other bytes are not used.
finds_its_files_from_elsewhere() {
    mkdir -p "$work/there/examples" && cp -r examples/dataset "$work/there/examples" &&
        (cd "$work/there" && "$trainer" train --out runs --steps 21 --no-eval) || return
    run=$(cd "$work/there/runs" && echo */*/*)
    (cd / && ends_with 0 'all test' "$trainer" eval --checkpoint "$work/there/runs/$run/checkpoint.safetensors" \
        --out "$work/elsewhere") || return
    mv "$work/there" "$work/moved" &&
        (cd / && ends_with 0 "test.jsonl: read from $work/moved/examples/dataset/test.jsonl" "$trainer" trace \
            --checkpoint "$work/moved/runs/$run/checkpoint.safetensors" --length 3 \
                --out "$work/elsewhere/trace") || return
    echo >>"$work/moved/examples/dataset/test.jsonl"
    (cd / && ends_with 1 "test.jsonl: no such file" "$trainer" eval \
        --checkpoint "$work/moved/runs/$run/checkpoint.safetensors" --out "$work/elsewhere" &&
        grep -q "in: $work/there, $work/moved/runs/$run, .*$work/moved," "$work/.out" &&
        grep -q 'hint: --eval-data FILE' "$work/.out") || return
    (cd / && "$root/longhand" analyze attention "$(find_run whole)" --trainer "$trainer" --lengths 3 \
        --out "$work/elsewhere/a")
}

# Checks that a file is refused for its last line, the third: LINE MESSAGE.
refuses_a_line() {
    head -2 examples/dataset/train.jsonl >"$work/bad.jsonl"
    printf "$1" >>"$work/bad.jsonl"
    ends_with 1 "$work/bad.jsonl:$2" "$trainer" train --out "$work/bad" --data "$work/bad.jsonl" && [ ! -e "$work/bad" ]
}

reports_missing_files() {
    cd "$work" || return
    ends_with 1 'examples/dataset/train.jsonl: cannot open: No such file or directory' "$trainer" train --out bad &&
        ends_with 1 'hint: --data FILE' "$trainer" train --out bad &&
        ends_with 1 'hint: --eval-data FILE' "$trainer" train --out bad --data="$root/examples/dataset/train.jsonl" &&
        ends_with 2 '--data: the value is missing' "$trainer" train --out bad --data && [ ! -e bad ]
}

# Paths are relative to the spec's own folder, in any working folder.
trains_from_elsewhere() {
    (cd "$work" && "$root/longhand" train "$root/$SPEC" -- --steps 5 --no-eval --out far) &&
        ends_with 0 'nowhere.jsonl yet; the trainer will read it' \
            ./longhand check $SPEC --set task.data="$work/nowhere.jsonl"
}

# The code of the guides leads from a folder with two files to a curve. Its spec has an existing trainer.
follows_the_guides() {
    mkdir "$work/mine" && write_columns train >"$work/mine/train.tsv" && write_columns test >"$work/mine/test.tsv" &&
        cd "$work/mine" && PYTHONPATH=$root/python MPLBACKEND=Agg "$PYTHON" -c '
import importlib.util, pathlib, sys
code = pathlib.Path(sys.argv[1]).read_text().split("## Your own data")[1].split("```python\n")[1].split("```")[0]
has_plots = importlib.util.find_spec("matplotlib") is not None
assert len(code.split("\n")) < 10
exec(code if has_plots else code[:code.index("runs.evaluations()")])
assert [run.seed for run in runs] == [0, 1] and pathlib.Path("curve.png").is_file() == has_plots
' "$root/docs/python.md" || return
    sed -n '/^    return {/,/^    }/s/^    //p' "$root/docs/own-task.md" >$ID.lua &&
        [ -d "runs/$ID/$("$root/longhand" check $ID.lua --json | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/')" ] &&
        ends_with 0 'index.html' "$root/longhand" report runs
}

has_other_verbs() {
    ends_with 0 '"mask":[1' "$trainer" sample --length 4 --count 3 && [ "$(wc -l <"$work/.out")" -eq 3 ] &&
        ends_with 0 '+' "$trainer" sample --length 3 --count 1 --text &&
        ends_with 1 'train.jsonl has no example with an input of 9 tokens' "$trainer" sample --length 9 &&
        ends_with 0 'train      3      4 ' "$trainer" bench --seconds 0.02 --threads 1 &&
        ends_with 0 'eval       4      6 ' "$trainer" bench --seconds 0.02 --lengths 4 --threads 1 &&
        ends_with 1 'with an input of 11 tokens' "$trainer" bench --seconds 0.02 --lengths 11 &&
        ends_with 1 'likely cause' "$trainer" train --overfit 4 --steps 3 --out "$work/over" &&
        ends_with 1 'examples of its longest shape' "$trainer" train --overfit 500 --out "$work/over" &&
        ends_with 0 '--eval-data FILE' "$trainer" train --help
}

predicts() {
    file=$(find_run whole)/checkpoint.safetensors
    printf '{"input":[1,10,2]}\n{"input":[1,2,10,3,4],"outputs":2}\n{"input":[1],"outputs":9}\n{"input":[9,9,10,9]}\n' |
        "$trainer" predict --checkpoint "$file" >"$work/answers" || return
    [ "$(sed 's/.*"argmax":\[\(.*\)\]}/\1/' "$work/answers" | awk -F, '{ printf "%d ", NF }')" = '1 2 9 1 ' ] || return
    # With a target, predict has as many answers and reports wrong ones; other keys are refused by name.
    printf '%s\n' '{"input":[1,2,10,3,4],"target":[1,2,3,4],"mask":[1,0,1,1]}' '{"input":[1,2],"target":[0,0]}' |
        "$trainer" predict --checkpoint "$file" >"$work/answers" &&
        awk -F'"argmax":|,"wrong":' '{
            gsub(/[][}]/, "", $2); gsub(/[][}]/, "", $3)
            count = split($2, answer, ","); split(NR == 1 ? "1,-,3,4" : "0,0", target, ","); wrong = ""
            for (i = 1; i <= count; i++)
                if (target[i] != "-" && answer[i] != target[i]) wrong = wrong (wrong == "" ? "" : ",") (i - 1)
            if (count != (NR == 1 ? 4 : 2) || wrong != $3 "") exit 1
        }' "$work/answers" || return
    echo '{"input":[1,10,2],"output":6}' | ends_with 1 'line 1: there is no "output"' \
        "$trainer" predict --checkpoint "$file" && grep -q 'did you mean "outputs"' "$work/.out" &&
        echo '{"input":[1,10,2],"target":[1],"outputs":2}' | ends_with 1 'line 1: a target of 1 tokens' \
            "$trainer" predict --checkpoint "$file" || return
    for line in '{"input":[1,10,2],"outputs":0}' '{"input":[1,10,2],"outputs":14}'; do
        echo "$line" | ends_with 1 'line 1: ' "$trainer" predict --checkpoint "$file" || return
    done
}

# Traces of a length have an evaluation's examples; if their numbers of outputs differ, each number has its own trace.
traces() {
    file=$(find_run whole)/checkpoint.safetensors
    "$trainer" trace --checkpoint "$file" --length 3 --examples 2 --out "$work/short" >"$work/output" &&
        "$trainer" trace --checkpoint "$file" --what attention,scores,activations,entropy --lengths 4:6 \
            --examples 1000 --out "$work/all" --json >"$work/output" || return
    $LUA tests/support/check_trace.lua attention "$work/all" &&
        $LUA tests/support/check_trace.lua tensors "$work/all" >"$work/tensors" || return
    for shape in 4,2 4,3 5,2 5,3; do
        count=$(print_lines_of_shape $shape | wc -l)
        [ "$count" -gt 0 ] && tokens="$count $((${shape%,*} + ${shape#*,}))" || return
        grep -q "^n${shape%,*}o${shape#*,}.tokens	I32	$tokens$" "$work/tensors" &&
            grep -q "{\"length\":${shape%,*},\"outputs\":${shape#*,},\"layer\":\"layers.0\"," "$work/output" || return
    done
    [ "$($LUA tests/support/check_trace.lua meta "$work/all" source)" = examples/dataset/test.jsonl ] &&
        ends_with 1 'test.jsonl has no example with an input of these lengths' \
            "$trainer" trace --checkpoint "$file" --length 40 --out "$work/none"
}

# Prints the lines of the file for evaluation with as many tokens in input and target: INPUT,TARGET.
print_lines_of_shape() {
    awk -F'[][]' -v shape="$1" 'split($2, a, ",") "," split($4, b, ",") == shape' examples/dataset/test.jsonl
}

# Traces the examples of two lengths, given as inputs with their numbers of outputs, in a folder without the files.
traces_inputs() {
    file=$(find_run whole)/checkpoint.safetensors
    awk -F'[][]' '{ inputs = split($2, a, ",") }
        inputs == 4 || inputs == 5 { printf "{\"input\":[%s],\"outputs\":%d}\n", $2, split($4, b, ",") }' \
        examples/dataset/test.jsonl >"$work/inputs.jsonl"
    "$trainer" trace --checkpoint "$file" --what attention,scores,activations,entropy --lengths 4:5 --examples 1000 \
        --out "$work/examples" &&
        (cd "$work" && "$trainer" trace --checkpoint "$file" --what attention,scores,activations,entropy \
            --input inputs.jsonl --out given) &&
        $LUA tests/support/check_trace.lua same "$work/examples" "$work/given" || return
    echo '{"input":[1,10,2],"outputs":14}' >"$work/long.jsonl"
    ends_with 1 'long.jsonl: line 1: ' "$trainer" trace --checkpoint "$file" --input "$work/long.jsonl" \
        --out "$work/none"
}

has_right_gradients() {
    ./longhand build $SPEC --set precision=float64 --levels best --out "$work/double" &&
        ends_with 0 'checks of' "$double" gradcheck && ends_with 0 'checks of' "$double" gradcheck --lengths 4
}

# Generates, builds, trains and predicts under the sanitizers.
runs_with_sanitizers() {
    ./longhand gen $SPEC --out "$work/src" &&
        make -s -j2 trainer VARIANT=asan LEVELS=best ID=$ID SOURCES="$work/src" OUT="$work/asan" &&
        "$work/asan/trainer" train --steps 25 --threads 2 --out "$work/asan-runs" &&
        echo '{"input":[1,2,10,3,4],"outputs":2}' | "$work/asan/trainer" predict \
            --checkpoint "$(find_run asan-runs)/checkpoint.safetensors"
}

expect dataset_builds builds
if [ "$failures" -eq 0 ]; then
    expect_each dataset_ keeps_bits survives_kills trains_for_epochs reads_names_as_ids reads_other_formats evaluates \
        evaluates_other_sets evaluates_training_examples continues_only_with_its_file writes_nothing_if_refused \
        evaluates_new_data chooses_examples finds_its_files_from_elsewhere reports_overlaps
    expect dataset_bad_json refuses_a_line '{"input":[1,10,2],"target":[3}\n' '3:30: '
    expect dataset_torn_last_line refuses_a_line '{"input":[1,10,2],"tar' '3:22: the last line is torn'
    expect dataset_token_out_of_range refuses_a_line '{"input":[1,10,11],"target":[3]}\n' '3: input[2] is 11'
    expect dataset_empty_target refuses_a_line '{"input":[1,10,1],"target":[]}\n' '3: target is empty'
    expect dataset_too_long refuses_a_line '{"input":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"target":[3,3]}\n' \
        '3: input and target have 15 and 2 tokens'
    expect_python dataset_follows_the_guides follows_the_guides
    expect_each dataset_ reports_missing_files trains_from_elsewhere has_other_verbs predicts traces traces_inputs \
        has_right_gradients runs_with_sanitizers
fi
finish
