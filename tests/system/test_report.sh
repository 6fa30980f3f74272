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
    ./longhand gen "$work/pairs.lua" --target cpu --out "$work/src" >/dev/null &&
        make -s trainer LEVELS=best ID=pairs SOURCES="$work/src" OUT="$work/pairs" &&
        "$work/pairs/trainer" train --seeds 1:2 --learning-rate 1e-3,1e-2 --out "$work/runs"
}

# Prints the mean over lengths 8 and 12 of the last evaluation, in percent: DIR.
score() {
    awk '/"split":"beyond"/ { sub(/.*"accuracy":/, ""); sub(/,.*/, ""); sum += $0; n++ }
        END { printf "%.1f\n", 100 * sum / n }' "$1/eval.jsonl"
}

# Without gnuplot a report has all files but the figures, and a message.
drawn=0
command -v gnuplot >/dev/null 2>&1 || drawn=4

report() {
    ends_with $drawn "4 of 4 runs have a score" "$LUA" generator/main.lua report "$work/runs" --max --out "$work/report" &&
        expected=$(for dir in "$work"/runs/*/*/*; do score "$dir"; done | sort -rn | head -1) &&
        grep -q "^even_pairs *$expected\$" "$work/report/report.txt" &&
        [ "$(grep -c ,beyond, "$work/report/report.csv")" -eq 8 ] &&
        [ "$(wc -l <"$work/report/runs.csv")" -eq 5 ] &&
        grep -q toprule "$work/report/tables.tex" &&
        [ "$(grep -c 'lr0.01-seed2</code>' "$work/report/index.html")" -eq 1 ]
}

pictures() {
    curves=$work/report/curves-encoding-task
    grep -q '<svg' "$curves.svg" && grep -aq '^%PDF' "$curves.pdf" && [ "$(head -c 4 "$curves.png" | tail -c 3)" = PNG ]
}

two_runs() {
    a=$(echo "$work"/runs/*/*/lr0.001-seed1) b=$(echo "$work"/runs/*/*/lr0.001-seed2)
    ends_with 0 "seed  " "$LUA" generator/main.lua report "$a" "$b" &&
        ends_with 0 "The first logged step that differs is 10" "$LUA" generator/main.lua report "$a" "$b" &&
        ends_with 0 "have the same numbers, times aside" "$LUA" generator/main.lua report "$a" "$a" &&
        ends_with 1 "is no folder of a run" "$LUA" generator/main.lua report "$a" "$work"
}

torn() {
    printf '{"step":40,"split":"be' >>"$(echo "$work"/runs/*/*/lr0.001-seed1)/eval.jsonl"
    ends_with $drawn "eval.jsonl: line 9 is torn, skipped" "$LUA" generator/main.lua report "$work/runs" \
        --out "$work/report"
}

# Makes a PATH without gnuplot, with the few programs that a report needs.
without_gnuplot() {
    mkdir -p "$work/bin" "$work/plain"
    for tool in sh env cat rm mkdir; do
        ln -sf "$(command -v "$tool")" "$work/bin/$tool"
    done
    interpreter=$(command -v "$LUA")
    ends_with 4 "gnuplot is not installed; everything but the pictures is written" \
        env PATH="$work/bin" "$interpreter" generator/main.lua report "$work/runs" --out "$work/plain" &&
        grep -q '<details class="numbers" open' "$work/plain/index.html" && [ -s "$work/plain/report.csv" ] &&
        [ ! -e "$work/plain/curves-encoding-task.svg" ]
}

# A gnuplot without Cairo, of which a report asks only for its terminals.
without_cairo() {
    printf '#!/bin/sh\necho "svg png" >&2\n' >"$work/bin/gnuplot" && chmod +x "$work/bin/gnuplot" &&
        ends_with 4 "this gnuplot has no terminal pdfcairo; everything but the pictures is written; to install it" \
            env PATH="$work/bin" "$(command -v "$LUA")" generator/main.lua report "$work/runs" --out "$work/no_cairo" &&
        [ -s "$work/no_cairo/report.csv" ] && [ ! -e "$work/no_cairo/curves-encoding-task.svg" ]
}

# A folder from another user may have hostile names, hostile contents of run.json, and hostile files.
foreign=$work/foreign
export LH_RAN="$work/ran"

copy() {
    rm -rf "$foreign" && cp -R "$work/runs" "$foreign" && one=$(echo "$foreign"/*/*/lr0.001-seed1)
}

names_run_nothing() {
    copy && mv "$foreign/pairs" "$foreign/a
!touch \"\$LH_RAN\"
#" &&
        ends_with 1 "4 runs are damaged" "$LUA" generator/main.lua report "$foreign" && [ ! -e "$LH_RAN" ] &&
        grep -q 'id: found "pairs"; expected "a\\10!touch' "$foreign/report/report.txt"
}

damaged() {
    copy && sed -i 's|"kind":"even_pairs"|"kind":"a\\n!touch FILE\\n#"|' "$one/run.json" &&
        ends_with 1 'spec.task.kind: found "a\10!touch FILE\10#"; expected a word' "$LUA" generator/main.lua report \
            "$foreign" --out "$work/told" &&
        grep -q '3 of 4 runs have a score (1 damaged)' "$work/told/report.txt" &&
        copy && sed -i 's|"id":"[a-z]*"|"id":"../../x"|' "$one/run.json" &&
        for verb in "analyze pca" "export pytorch"; do
            ends_with 1 'run.json: id: found "../../x"' "$LUA" generator/main.lua $verb "$one" || return
        done
}

pipe() { copy && rm "$one/$1" && mkfifo "$one/$1"; }

pipes() {
    for name in run.json eval.jsonl; do
        pipe "$name" && ends_with 1 "$one/$name: found a named pipe" timeout 600 "$LUA" generator/main.lua report \
            "$foreign" --out "$work/told" || return
    done
    for name in run.json checkpoint.safetensors; do
        pipe "$name" && ends_with 1 "$one/$name: " timeout 600 "$LUA" generator/main.lua analyze pca "$one" || return
    done
}

LUA=${LUA:-lua5.4}
expect "four short runs are trained" train
expect "a report of them: text, CSV, LaTeX, page" report
if [ "$drawn" -eq 0 ]; then
    expect "pictures" pictures
else
    echo "skip pictures: gnuplot is not installed"
fi
expect "two runs against each other" two_runs
expect "a torn line is skipped and told" torn
expect "what a folder is called runs no command" names_run_nothing
expect "a damaged run is told by file and field, the others go on" damaged
expect "pipes in the place of files are not waited for" pipes
expect "without gnuplot the rest is written" without_gnuplot
expect "without a terminal for PDF the rest is written" without_cairo
finish
