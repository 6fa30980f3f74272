#!/bin/sh
# Trains and evaluates the missing runs of the study in this folder: sh run.sh [--threads N] [CELL...]
#
# Each line of cells.txt describes one process of a trainer: the cell, the digest of the cell's plan, the names of runs
# with commas between them, and the trainer's flags. N is the number of processors, or the number after --threads. All
# processes have the same number of threads: the largest number of runs in a line, but at most N; with a GPU, N. The
# runs of a process train side by side, one thread each; a single run has all threads of its process. As many processes
# train at a time as N threads allow. A trainer's output is appended to runs/CELL/DIGEST/log.txt, whose last line is
# shown from time to time.
# Finished runs are not changed, so the same command continues after any interruption. Exit codes: 0 done, 1 a run
# failed, 2 usage, 4 the machine, 75 stopped, or another process is training some of the runs.
set -u
PROGRESS_TICKS=30 # seconds between two reports of progress
LOG_LINES=8 # lines of a log to print after a failure

say() {
    printf '%s\n' "$@" >&2
}

fail() {
    status=$1
    shift
    say "$@"
    exit "$status"
}

usage="usage: sh run.sh [--threads N] [CELL...]"
processors=$(nproc 2>/dev/null) || processors=1
case ${1:-} in
    --threads)
        processors=${2:-}
        case $processors in
            '' | 0* | *[!0-9]*) fail 2 "run.sh: --threads '$processors': expected 1 or more" "$usage" ;;
        esac
        shift 2
        ;;
    -*) fail 2 "$usage" ;;
esac
cd -- "$(dirname -- "$0")" || exit 4

# Whether a word is in a list.
is_among() { # WORD LIST
    case " $2 " in *" $1 "*) ;; *) return 1 ;; esac
}

damage=$(sha256sum -c --quiet SHA256SUMS 2>&1) ||
    fail 4 "run.sh: files differ from the archive; unpack the archive again. sha256sum reports:" "$damage"
# Checks that every file has a checksum: a file without one is not part of the bundle, or the file's line was lost.
listed=$(cut -c 67- SHA256SUMS)
for file in run.sh runner.sh cells.txt needs.txt trainers/* data/*; do
    case "
$listed
" in
        *"
./$file
"*) ;;
        *) [ ! -e "$file" ] || fail 4 "run.sh: SHA256SUMS has no line of $file; unpack the archive again" ;;
    esac
done
cells=$(cut -d ' ' -f 1 cells.txt | tr '\n' ' ')
for cell in "$@"; do
    is_among "$cell" "$cells" || fail 2 "run.sh: $cell: no such cell; expected some of: $cells"
done
problem=$("trainers/${cells%% *}" info 2>&1 >/dev/null) ||
    fail 4 "run.sh: the trainers do not start here:" "$problem" "  needed: $(cat needs.txt)" \
        "  found: $(uname -sm), $(getconf GNU_LIBC_VERSION 2>/dev/null || echo 'an unknown libc')"

# signal: empty until this script gets a signal; then yes; heard after read_event has returned because of the signal.
# runner: the process id of runner.sh.
signal='' runner=''
trap 'signal=yes; [ -z "$runner" ] || kill -TERM "$runner" 2>/dev/null' INT TERM HUP
temporary=$(mktemp -d) || exit 4
trap 'rm -rf "$temporary"' EXIT

# Writes each selected line of cells.txt to the file $temporary/NUMBER, and finds max_runs, the largest number of runs
# in a line. Trainers for a GPU get the threads of all processors, so that one process trains at a time.
count=0 max_runs=1
while read -r cell digest runs flags; do
    [ $# -eq 0 ] || is_among "$cell" "$*" || continue
    count=$((count + 1))
    echo "$cell $digest $runs $flags" >"$temporary/$count"
    run_count=$(echo "$runs" | tr , '\n' | wc -l)
    ! is_among "--device cuda" "$flags" || run_count=$processors
    [ "$run_count" -le "$max_runs" ] || max_runs=$run_count
done <cells.txt
threads=$((max_runs < processors ? max_runs : processors))
at_once=$((processors / threads < count ? processors / threads : count))

line=0
while [ $line -lt $count ]; do
    line=$((line + 1))
    read -r cell digest runs flags <"$temporary/$line"
    folder=runs/$cell/$digest
    mkdir -p "$folder" || exit 4
    echo "trainers/$cell train --missing --out runs --threads $threads $flags >>$folder/log.txt 2>&1"
done >"$temporary/lines" || exit 4
say "processes: $count, at a time: $at_once, threads of each: $threads"

# Sets done_runs to the number of runs that are done.
count_done() { # FOLDER NAME,NAME
    done_runs=0
    for run in $(echo "$2" | tr , ' '); do
        case $(tail -c 12 "$1/$run/run.json" 2>/dev/null) in *'"exit":0}') done_runs=$((done_runs + 1)) ;; esac
    done
}

# Reports the end of a process, and counts its finished runs. NUMBER: the index of its line in the file `lines`.
conclude() { # NUMBER EXIT_CODE
    read -r cell digest runs flags <"$temporary/$1"
    folder=runs/$cell/$digest
    count_done "$folder" "$runs"
    run_count=$(echo "$runs" | tr , '\n' | wc -l)
    ended=$((ended + 1)) all_done=$((all_done + done_runs)) all=$((all + run_count))
    result="[$ended/$count] $cell: $done_runs of $run_count runs done"
    case $2$signal in # 130, 143: SIGINT, SIGTERM, which stop the runs only if this script got a signal
        0*) say "$result" && return ;;
        75* | 130?* | 143?*) stopped=yes && say "$result, stopped" && return ;;
    esac
    failed=$((failed + 1))
    say "$result, exit code $2; from $folder/log.txt:" "$(tail -n $LOG_LINES "$folder/log.txt")"
    case $2 in
        1 | 129 | 1[3-9]?) ;; # a failed run, or a killed trainer
        *)
            [ -n "$broken" ] ||
                say "no further run is started, because other runs may fail too; running trainings continue"
            broken=yes
            kill -USR1 "$runner" 2>/dev/null
            ;;
    esac
}

# Prints the last line of the log of each running process.
show_progress() {
    for one in $training; do
        read -r cell digest _ <"$temporary/${one%:*}"
        say "    $cell: $(tail -n 1 "runs/$cell/$digest/log.txt" | cut -c 1-160)"
    done
}

# Reads one event of runner.sh: number, a line of the file `lines`; status, the exit code of an end, or the process id
# of a start. After the first signal, which interrupts the read, the event is empty.
read_event() {
    read -r event number status <&9 || { [ "$signal" = yes ] && signal=heard event=''; }
}

mkfifo "$temporary/events" || exit 4
sh runner.sh "$temporary/lines" $at_once >"$temporary/events" &
runner=$!
[ -z "$signal" ] || kill -TERM "$runner"
exec 9<"$temporary/events"
training='' # NUMBER:PID of each running process
ended=0 failed=0 all=0 all_done=0 broken='' stopped='' ticks=0
while read_event; do
    case $event in
        start) training="$training $number:$status" ;;
        end)
            rest=''
            for one in $training; do
                [ "${one%:*}" = "$number" ] || rest="$rest $one"
            done
            training=$rest
            conclude "$number" "$status"
            ;;
        tick)
            ticks=$((ticks + 1))
            [ $((ticks % PROGRESS_TICKS)) -ne 0 ] || show_progress
            ;;
    esac
done
for one in $training; do # no other process stops the trainers
    [ -n "$broken" ] || say "the process that started the trainers has ended"
    broken=yes
    kill -TERM "${one#*:}" 2>/dev/null
done

[ -z "$broken" ] || fail 4 "this machine lacks something, as reported above; after a repair, the same command continues"
[ $ended -eq $count ] || stopped=yes
[ -z "$stopped" ] || fail 75 "stopped; running trainings have written checkpoints; the same command continues the runs"
[ $failed -eq 0 ] || fail 1 "$failed of $count processes failed, as reported above; the same command tries them again"
[ $all_done -eq $all ] || fail 75 "$all_done of $all runs done; another process trains the other runs"
echo "$all_done of $all runs done"
