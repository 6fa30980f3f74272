#!/bin/sh
# make bench-check: has a generated step become slower?
#
#     sh tests/bench/check.sh [--record]     (through make, which builds build/bench/<spec>/check first)
#
# Instructions of one step, counted by valgrind at x86-64-v3 (it does not know AVX-512), against instructions.txt. They
# are the same on every machine for one compiler, whatever else runs there. TOLERANCE is for what is not ours: other
# builds of the same compiler and of the C library.
# Time of a step against the step by hand (step.c), both compiled alike, in turn. TIME_BOUND is generous: measured ratios
# are near 0.9 (training) and 0.75 (evaluation), and a busy neighbour moves a median of nine by some 10%.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why", and the table. --record writes instructions.txt instead.
TOLERANCE=2 # percent
TIME_BOUND=1.25
TABLE=tests/bench/instructions.txt
SPECS=${SPECS:-"parity_check_sinusoid reverse_string_rand_rope"}
length_of() { case $1 in reverse_*) echo 10 ;; *) echo 20 ;; esac; } # 20 and 21 tokens
compiler=${COMPILER:?through make bench-check}

unset LONGHAND_ISA # what is measured has one level
cd -- "$(dirname -- "$0")/../.." || exit 4
counts=build/bench/counts
mkdir -p "$counts" && rm -f "$counts"/*

# Prints the instructions inside the engine's step or evaluation: start-up is outside.
count() {
    case $2 in train) inside=lh_cpu_engine_step ;; *) inside=lh_cpu_evaluate ;; esac
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=$inside "build/bench/$1/check" \
        steps "$2" "$(length_of "$1")" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

count_all() {
    for spec in $SPECS; do
        { count "$spec" train >"$counts/$spec.train"; } &
        { count "$spec" eval >"$counts/$spec.eval"; } &
        wait
    done
}

record() {
    echo "# Instructions of one step of 2 sequences, x86-64-v3, by callgrind; written by make bench-record."
    echo "# spec length mode instructions"
    echo "compiler $compiler"
    for spec in $SPECS; do
        for mode in train eval; do echo "$spec $(length_of "$spec") $mode $(cat "$counts/$spec.$mode")"; done
    done
}

failed=0
say() {
    echo "$*"
    case $1 in not) failed=1 ;; esac
}

compare() {
    printf '%-28s %6s %-5s %12s %12s %8s\n' spec length mode recorded counted change
    for spec in $SPECS; do
        for mode in train eval; do
            name="instructions of $spec, $mode" length=$(length_of "$spec")
            old=$(awk -v s="$spec" -v n="$length" -v m=$mode '$1 == s && $2 == n && $3 == m { print $4 }' $TABLE)
            new=$(cat "$counts/$spec.$mode")
            if [ -z "$old" ] || [ -z "$new" ]; then
                say not ok "$name: recorded '$old', counted '$new'"
                continue
            fi
            change=$(awk -v o="$old" -v n="$new" 'BEGIN { printf "%+.2f", 100 * (n / o - 1) }')
            printf '%-28s %6s %-5s %12s %12s %7s%%\n' "$spec" "$length" $mode "$old" "$new" "$change"
            if awk -v c="$change" -v t=$TOLERANCE 'BEGIN { exit !(c > t) }'; then
                say not ok "$name: $change%, at most +$TOLERANCE% is allowed (meant? make bench-record)"
            else
                say ok "$name"
                awk -v c="$change" -v t=$TOLERANCE 'BEGIN { exit !(c < -t) }' && echo "faster: make bench-record keeps it"
            fi
        done
    done
}

check_counts() {
    recorded=$(sed -n 's/^compiler //p' $TABLE)
    if ! command -v valgrind >/dev/null 2>&1; then
        for spec in $SPECS; do for mode in train eval; do
            say skip "instructions of $spec, $mode: valgrind is not installed"; done; done
    elif [ "$recorded" != "$compiler" ]; then
        for spec in $SPECS; do for mode in train eval; do
            say skip "instructions of $spec, $mode: recorded with $recorded, this is $compiler"; done; done
    else
        count_all
        compare
    fi
}

check_times() {
    spec=${SPECS%% *}
    if ! "build/bench/$spec/check" time "$(length_of "$spec")" >"$counts/times" 2>&1; then
        say not ok "time of $spec: $(cat "$counts/times")"
        return
    fi
    printf '%-28s %6s %-5s %12s %12s %8s\n' spec length mode 'ms/step' 'by hand' ratio
    while read -r id length mode ours hand ratio; do
        printf '%-28s %6s %-5s %12s %12s %8s\n' "$id" "$length" "$mode" "$ours" "$hand" "$ratio"
        if awk -v r="$ratio" -v b=$TIME_BOUND 'BEGIN { exit !(r <= b) }'; then
            say ok "time of $id, $mode"
        else
            say not ok "time of $id, $mode: $ratio of the step by hand, at most $TIME_BOUND is allowed"
        fi
    done <"$counts/times"
}

if [ "${1:-}" = --record ]; then
    count_all
    record >"$TABLE.new" && mv "$TABLE.new" $TABLE && cat $TABLE
    exit
fi
check_times
check_counts
exit $failed
