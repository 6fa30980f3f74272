#!/bin/sh
# Measures the time from spec to first step, of `./longhand train SPEC -- --steps 1 --no-eval`: with nothing built, with
# the runtime built, and with a trainer of which only the defaults must be built (--set train.learning_rate).
#
#     sh tests/bench/first_step.sh [--rounds N] [SPEC]
#
# Prints a row for each of the three cases: seconds by the clock and of processor time (user and system, all processes),
# medians of N rounds (5) in which the cases alternate. Everything is built in a copy of the project.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P) || exit 4
rounds=5 spec=bucket_sort_sinusoid
while [ $# -gt 0 ]; do
    case $1 in
        --rounds) rounds=${2:?--rounds N} && shift ;;
        -*) echo "usage: sh tests/bench/first_step.sh [--rounds N] [SPEC]" >&2 && exit 2 ;;
        *) spec=$1 ;;
    esac
    shift
done

work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$root" && cp -R Makefile cuda.mk VERSION longhand generator include kernels runtime templates spec "$work" &&
    cd "$work" && : >times || exit 4

# measure CASE FLAG...: appends one line "CASE seconds processor-seconds" to times.
measure() {
    name=$1
    shift
    rm -rf runs
    began=$(date +%s.%N)
    (./longhand train "$spec" "$@" -- --steps 1 --no-eval --out runs >output 2>&1 && times >used) ||
        { cat output >&2 && exit 1; }
    ended=$(date +%s.%N)
    # The second line of `times` counts child processes: 0m1.230000s 0m0.450000s.
    tail -1 used | tr 'ms' '  ' | awk -v name="$name" -v began="$began" -v ended="$ended" '{
        print name, ended - began, 60 * $1 + $2 + 60 * $3 + $4
    }' >>times
}

# Prints the median of the numbers in standard input, one per line.
median() { sort -n | awk '{ a[NR] = $1 } END { print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'; }

for round in $(seq "$rounds"); do
    rm -rf build
    measure nothing || exit
    rm -rf build/trainers
    measure runtime || exit
    measure defaults --set "train.learning_rate=0.00123$round" || exit
done
echo "$spec, medians of $rounds, $(nproc) processors, $(make -s print-compiler)," \
    "level $(make -s print-levels LEVELS=best), $(date +%Y-%m-%d)"
echo '| built before | s | s of processor time |'
echo '| --- | --- | --- |'
for name in nothing runtime defaults; do
    case $name in
        defaults) title='all but the defaults' ;;
        runtime) title='the runtime' ;;
        *) title=nothing ;;
    esac
    awk -v name=$name '$1 == name { print $2 }' times | median >wall
    awk -v name=$name '$1 == name { print $3 }' times | median >processor
    printf '| %s | %.2f | %.2f |\n' "$title" "$(cat wall)" "$(cat processor)"
done
