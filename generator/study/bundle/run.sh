#!/bin/sh
# Trains and evaluates what is missing of the study here: sh run.sh [--threads N] [CELL...]
#
# A line of cells.txt is a process: the cell, the digest of its plan, and its trainer's flags; runs of it train side by
# side, one thread each, or all threads on one where there are fewer. What is done is left alone, so the same command
# goes on after whatever stopped it. Exit codes: 0 done, 1 a run failed, 2 usage, 4 the machine, 75 stopped.
set -u
threads=$(nproc 2>/dev/null) || threads=1
case ${1:-} in
    --threads) threads=${2:?--threads N} && shift 2 ;;
    -*) echo "usage: sh run.sh [--threads N] [CELL...]" >&2 && exit 2 ;;
esac
cd -- "$(dirname -- "$0")" || exit 4
for cell in "$@"; do
    [ -e "trainers/$cell" ] || { echo "run.sh: $cell: no such cell; expected one of: $(ls trainers)" >&2 && exit 2; }
done

wanted=" $* "
is_wanted() {
    [ "$wanted" = "  " ] || case $wanted in *" $1 "*) ;; *) return 1 ;; esac
}

count=0 failed=0
while read -r cell _; do
    ! is_wanted "$cell" || count=$((count + 1))
done <cells.txt
at=0
while read -r cell _ flags; do
    is_wanted "$cell" || continue
    at=$((at + 1))
    echo "[$at/$count] $cell" >&2
    # shellcheck disable=SC2086
    "trainers/$cell" train --missing --out runs --threads "$threads" $flags </dev/null
    code=$?
    case $code in
        0) ;;
        1) failed=$((failed + 1)) ;;
        *) exit "$code" ;;
    esac
done <cells.txt
[ "$failed" -eq 0 ] || { echo "$failed of $count failed; what they said is above" >&2 && exit 1; }
