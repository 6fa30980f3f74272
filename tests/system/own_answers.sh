# Helpers of tests that compare a model's own answers, in an evaluation and in predict; sourced after common.sh.

# Prints how many of the 16 strings of four bits a model reverses: TRAINER CHECKPOINT.
count_reversed() {
    right=0
    for text in 0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011 1100 1101 1110 1111; do
        answer=$("$1" predict --text "$text" --checkpoint "$2") || return
        [ "$answer" != "$(echo "$text" | sed 's/\(.\)\(.\)\(.\)\(.\)/\4\3\2\1/')" ] || right=$((right + 1))
    done
    echo $right
}

# Prints the number of a key in the last line of a file, or 0 if there is none: KEY FILE.
read_number() {
    tail -n 1 "$2" | sed -n "s/.*\"$1\":\([0-9.e+-]*\)[,}].*/\1/p" | grep . || echo 0
}

# Compares counts of own answers in an evaluation with those of own_answers.py; END: the token that ends an answer.
# Arguments: TRAINER CHECKPOINT LENGTH EXAMPLES [END].
own_answers_are_those_of_predict() {
    rm -rf "$work/own" && "$1" eval --checkpoint "$2" --lengths "$3" --examples "$4" --out "$work/own" >/dev/null ||
        return
    expected=$("$PYTHON" tests/system/own_answers.py "$@") || return
    for key in accuracy exact_match ended_early not_ended; do
        printf '%.12g ' "$(read_number $key "$work/own/eval.jsonl")"
    done >"$work/own/actual"
    echo "got $(cat "$work/own/actual"), expected $expected" &&
        [ "$(sed 's/ $//' "$work/own/actual")" = "$expected" ] &&
        grep -q '"decoding":"greedy"' "$work/own/eval.jsonl"
}
