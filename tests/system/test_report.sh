# Reports on four short trainings.

. tests/system/common.sh

cat >"$work/pairs.lua" <<'SPEC'
return {
  task = { kind = "even_pairs" },
  encoding = { kind = "none" },
  model = { layers = 1, heads = 1, width = 16, feedforward = 16, dropout = 0.0 },
  train = { batch = 8, steps = 40, lengths = { 1, 5 }, log_every = 10 },
  eval = { lengths = { list = { 5, 8, 12 } }, examples = 16 },
}
SPEC

train() {
    ./longhand build "$work/pairs.lua" --levels best --out "$work/pairs" &&
        "$work/pairs/trainer" train --seeds 1:2 --learning-rate 1e-3,1e-2 --out "$work/runs"
}

# Prints a run's mean accuracy over lengths 8 and 12, in percent: FOLDER.
print_score() {
    awk '/"split":"beyond"/ { sub(/.*"accuracy":/, ""); sub(/,.*/, ""); sum += $0; n++ }
        END { printf "%.1f\n", 100 * sum / n }' "$1/eval.jsonl"
}

# Without gnuplot a report has all files but the figures, prints a message, and ends with status 4.
status_of_figures=0
command -v gnuplot >/dev/null 2>&1 || status_of_figures=4

has_all_files() {
    ends_with $status_of_figures "4 of 4 runs have a score" "$LUA" generator/main.lua report "$work/runs" --max \
        --out "$work/report" &&
        expected=$(for dir in "$work"/runs/*/*/*; do print_score "$dir"; done | sort -rn | head -1) &&
        grep -q "^even_pairs *$expected\$" "$work/report/report.txt" &&
        [ "$(grep -c ,beyond, "$work/report/report.csv")" -eq 8 ] &&
        [ "$(wc -l <"$work/report/runs.csv")" -eq 5 ] &&
        grep -q toprule "$work/report/tables.tex" &&
        [ "$(grep -c 'lr0.01-seed2</code>' "$work/report/index.html")" -eq 1 ]
}

# Crosses seeds of initial values and of training examples; every run begins with the same draws.
has_shares_of_crossed_seeds() {
    "$work/pairs/trainer" train --seeds-init 0:1 --seeds-data 0:1 --out "$work/crossed" >"$work/.out" 2>&1 &&
        [ -f "$(echo "$work"/crossed/*/*/lr0.0003-seed0.init1.data1)/run.json" ] &&
        ends_with $status_of_figures "Seeds: shares of the variance" "$LUA" generator/main.lua report "$work/crossed" &&
        grep -Eq '^pairs +2 x 2 .* one seed ' "$work/crossed/report/report.txt"
}

has_pictures() {
    are_pictures "$work/report/curves-encoding-task"
}

compares_two_runs() {
    a=$(echo "$work"/runs/*/*/lr0.001-seed1) b=$(echo "$work"/runs/*/*/lr0.001-seed2)
    ends_with 0 "seed  " "$LUA" generator/main.lua report "$a" "$b" &&
        ends_with 0 "The first logged step that differs is 10" "$LUA" generator/main.lua report "$a" "$b" &&
        ends_with 0 "have the same numbers, except for times" "$LUA" generator/main.lua report "$a" "$a" &&
        ends_with 1 "is not a folder of a run" "$LUA" generator/main.lua report "$a" "$work"
}

skips_a_torn_line() {
    printf '{"step":40,"split":"be' >>"$(echo "$work"/runs/*/*/lr0.001-seed1)/eval.jsonl"
    ends_with $status_of_figures "eval.jsonl: line 9 is torn, skipped" "$LUA" generator/main.lua report "$work/runs" \
        --out "$work/report"
}

# Makes a PATH without gnuplot, with the few programs that a report needs.
is_written_without_gnuplot() {
    mkdir -p "$work/bin" "$work/plain"
    for tool in sh env cat rm mkdir; do
        ln -sf "$(command -v "$tool")" "$work/bin/$tool"
    done
    interpreter=$(command -v "$LUA")
    ends_with 4 "gnuplot is not installed; all files except pictures are written" \
        env PATH="$work/bin" "$interpreter" generator/main.lua report "$work/runs" --out "$work/plain" &&
        grep -q '<details class="numbers" open' "$work/plain/index.html" && [ -s "$work/plain/report.csv" ] &&
        [ ! -e "$work/plain/curves-encoding-task.svg" ]
}

# Puts a gnuplot without Cairo into that PATH, which prints its terminals: a report asks for nothing else.
is_written_without_cairo() {
    printf '#!/bin/sh\necho "svg png" >&2\n' >"$work/bin/gnuplot" && chmod +x "$work/bin/gnuplot" &&
        ends_with 4 "the first gnuplot in PATH has no terminal pdfcairo; all files except pictures are written" \
            env PATH="$work/bin" "$(command -v "$LUA")" generator/main.lua report "$work/runs" --out "$work/no_cairo" &&
        [ -s "$work/no_cairo/report.csv" ] && [ ! -e "$work/no_cairo/curves-encoding-task.svg" ]
}

# A folder from another user may have hostile names, a hostile run.json, and pipes in the place of files. LH_RAN: a file
# that a command in such a name would make.
foreign=$work/foreign
export LH_RAN="$work/ran"

# Copies the runs to $foreign; sets `one`, the folder of one of them.
copy_runs() {
    rm -rf "$foreign" && cp -R "$work/runs" "$foreign" && one=$(echo "$foreign"/*/*/lr0.001-seed1)
}

runs_no_command_in_a_name() {
    copy_runs && mv "$foreign/pairs" "$foreign/a
!touch \"\$LH_RAN\"
#" &&
        ends_with 1 "4 runs are damaged" "$LUA" generator/main.lua report "$foreign" && [ ! -e "$LH_RAN" ] &&
        grep -q 'id: found "pairs"; expected "a\\10!touch' "$foreign/report/report.txt"
}

reports_a_damaged_run() {
    copy_runs && sed -i 's|"kind":"even_pairs"|"kind":"a\\n!touch FILE\\n#"|' "$one/run.json" &&
        ends_with 1 'spec.task.kind: found "a\10!touch FILE\10#"; expected a word' "$LUA" generator/main.lua report \
            "$foreign" --out "$work/damaged" &&
        grep -q '3 of 4 runs have a score (1 damaged)' "$work/damaged/report.txt" &&
        copy_runs && sed -i 's|"id":"[a-z]*"|"id":"../../x"|' "$one/run.json" &&
        for verb in "analyze pca" "export pytorch"; do
            ends_with 1 'run.json: id: found "../../x"' "$LUA" generator/main.lua $verb "$one" || return
        done
}

# Copies the runs, with a pipe in the place of a file of one: FILE.
make_pipe() { copy_runs && rm "$one/$1" && mkfifo "$one/$1"; }

waits_for_no_pipe() {
    for name in run.json eval.jsonl; do
        make_pipe "$name" && ends_with 1 "$one/$name: found a named pipe" timeout 600 "$LUA" generator/main.lua report \
            "$foreign" --out "$work/damaged" || return
    done
    for name in run.json checkpoint.safetensors; do
        make_pipe "$name" && ends_with 1 "$one/$name: " timeout 600 "$LUA" generator/main.lua analyze pca "$one" ||
            return
    done
}

LUA=${LUA:-lua5.4}
expect report_trains_four_runs train
expect_each report_ has_all_files has_shares_of_crossed_seeds
if [ "$status_of_figures" -eq 0 ]; then
    expect report_has_pictures has_pictures
else
    echo "skip report_has_pictures: gnuplot is not installed"
fi
expect_each report_ compares_two_runs skips_a_torn_line runs_no_command_in_a_name reports_a_damaged_run \
    waits_for_no_pipe is_written_without_gnuplot is_written_without_cairo
finish
