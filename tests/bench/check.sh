#!/bin/sh
# make bench-check: measures whether a generated step has become slower.
#
#     make bench-check, make bench-record     build build/bench/<spec>/check and call this script
#     sh tests/bench/check.sh [--record]
#
# Counts the instructions of one step of few sequences by valgrind at x86-64-v3 (it does not support AVX-512), and
# compares them with instructions.txt. For one compiler they are the same on every machine under any load. TOLERANCE
# covers other builds of the same compiler and of the C library.
# Compares the time of a step with that of a hand-written step (step.c), both compiled with the same flags, in turn.
# TIME_BOUND is generous: measured ratios are near 0.9 (training) and 0.75 (evaluation), and other load changes a median
# of nine by about 10%.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why", and the table. --record writes instructions.txt instead.
TOLERANCE=2 # percent
TIME_BOUND=1.25
TABLE=tests/bench/instructions.txt
compiler=${COMPILER:?through make bench-check}

# Counted measurements: spec, length of inputs, mode, sequences. The longest comes first, since two run at a time.
COUNTED='bench_long 500 eval 1
parity_check_sinusoid 20 train 2
parity_check_sinusoid 20 eval 2
reverse_string_rand_rope 10 train 2
reverse_string_rand_rope 10 eval 2
bench_latin_square 16 train 1
bench_latin_square 16 eval 1
bench_decoder 40 train 1
bench_decoder 40 eval 1
bench_encoder_decoder 40 train 1
bench_encoder_decoder 40 eval 1'
TIMED='parity_check_sinusoid 20' # spec and length of inputs, those of the hand-written step

unset LONGHAND_ISA # the measured programs have one level
cd -- "$(dirname -- "$0")/../.." || exit 4
counts=build/bench/counts

# count SPEC LENGTH MODE SEQUENCES, a line of COUNTED: writes the number of instructions inside the engine's step or
# evaluation, without start-up, to a file.
count() {
    case $3 in train) counted_function=lh_cpu_engine_step ;; *) counted_function=lh_cpu_evaluate ;; esac
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=$counted_function "build/bench/$1/check" \
        steps "$3" "$2" "$4" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p' >"$counts/$1.$3"
}

# Counts two lines at a time; xargs cannot call functions, so it calls this script.
count_all() {
    echo "$COUNTED" | xargs -P 2 -L 1 sh tests/bench/check.sh --count
}

# each_counted COMMAND...: runs the command with the words of every line as its last arguments.
each_counted() {
    while read -r line; do
        # shellcheck disable=SC2086
        "$@" $line
    done <<END
$COUNTED
END
}

record_one() { echo "$1 $2 $3 $4 $(cat "$counts/$1.$3")"; }

record() {
    echo "# Instructions of one step of few sequences, x86-64-v3, by callgrind; written by make bench-record."
    echo "# spec length mode sequences instructions"
    echo "compiler $compiler"
    each_counted record_one
}

failed=0
say() {
    echo "$*"
    case $1 in not) failed=1 ;; esac
}

# compare_one SPEC LENGTH MODE SEQUENCES: prints a row of the table and whether it passes.
compare_one() {
    name="instructions of $1, $3"
    old=$(awk -v line="$1 $2 $3 $4" '$1 " " $2 " " $3 " " $4 == line { print $5 }' $TABLE)
    new=$(cat "$counts/$1.$3")
    if [ -z "$old" ] || [ -z "$new" ]; then
        say not ok "$name: recorded '$old', counted '$new'"
        return
    fi
    change=$(awk -v o="$old" -v n="$new" 'BEGIN { printf "%+.2f", 100 * (n / o - 1) }')
    printf '%-28s %6s %-5s %12s %12s %7s%%\n' "$1" "$2" "$3" "$old" "$new" "$change"
    if awk -v c="$change" -v t=$TOLERANCE 'BEGIN { exit !(c > t) }'; then
        say not ok "$name: $change%, at most +$TOLERANCE% is allowed (if intended: make bench-record)"
    else
        say ok "$name"
        awk -v c="$change" -v t=$TOLERANCE 'BEGIN { exit !(c < -t) }' && echo "faster: make bench-record keeps it"
    fi
}

skip_one() { say skip "instructions of $2, $4: $1"; }

check_counts() {
    recorded=$(sed -n 's/^compiler //p' $TABLE)
    if ! command -v valgrind >/dev/null 2>&1; then
        each_counted skip_one "valgrind is not installed"
    elif [ "$recorded" != "$compiler" ]; then
        each_counted skip_one "recorded with $recorded, this is $compiler"
    else
        count_all
        printf '%-28s %6s %-5s %12s %12s %8s\n' spec length mode recorded counted change
        each_counted compare_one
    fi
}

check_times() {
    # shellcheck disable=SC2086
    if ! "build/bench/${TIMED% *}/check" time ${TIMED#* } >"$counts/times" 2>&1; then
        say not ok "time of ${TIMED% *}: $(cat "$counts/times")"
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

if [ "${1:-}" = --count ]; then
    shift
    count "$@"
    exit
fi
mkdir -p "$counts" && rm -f "$counts"/*
if [ "${1:-}" = --record ]; then
    count_all
    record >"$TABLE.new" && mv "$TABLE.new" $TABLE && cat $TABLE
    exit
fi
check_times
check_counts
exit $failed
