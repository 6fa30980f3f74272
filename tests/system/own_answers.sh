# Compares a model's own answers in an evaluation with its answers in predict; sourced after common.sh.

# Prints a number from the last line of a file.
read_number() {
    tail -n 1 "$2" | sed -n "s/.*\"$1\":\([0-9.e+-]*\)[,}].*/\1/p" | grep . || echo 0
}

# own_answers_are_those_of_predict TRAINER CHECKPOINT LENGTH EXAMPLES [END]
own_answers_are_those_of_predict() {
    rm -rf "$work/own" && "$1" eval --checkpoint "$2" --lengths "$3" --examples "$4" --out "$work/own" >/dev/null || return
    expected=$("$PYTHON" tests/system/own_answers.py "$@") || return
    for key in accuracy exact_match ended_early not_ended; do
        printf '%.12g ' "$(read_number $key "$work/own/eval.jsonl")"
    done >"$work/own/actual"
    echo "got $(cat "$work/own/actual"), expected $expected" &&
        [ "$(sed 's/ $//' "$work/own/actual")" = "$expected" ] &&
        grep -q '"decoding":"greedy"' "$work/own/eval.jsonl"
}
