#!/bin/sh
# Runs the lines of a file as commands, in order, N at a time. In a line, \n is a newline, and \\ a backslash.
#
#     sh runner.sh FILE N
#
# Prints "runner PID", then "start LINE PID" when a command starts, "end LINE STATUS" when it ends, and "tick" every
# second. LINE is the index of the command; PID is the process that passes SIGTERM on to the command, or in the first
# line this script. After SIGTERM, SIGHUP, Ctrl-C, or if the process that reads the output ends, this script starts no
# further command, sends SIGTERM to the running commands and waits for them. After SIGUSR1 it starts no further command.

set -u
max_running=$2 line=0 running=0 pids='' stopping='' is_reader_lost=''
exec 8<"$1" || exit 4

# All events arrive through one pipe, whose name is deleted once the pipe is open.
folder=$(mktemp -d) || exit 4
mkfifo "$folder/events" && exec 9<>"$folder/events" || exit 4
rm -rf "$folder"

# Starts no further command and ends the running ones.
stop() {
    stopping=yes
    [ -z "$pids" ] || kill -TERM $pids 2>/dev/null
}
# Handles the end of the output's reader: SIGPIPE reports it, or, if that signal is ignored, a failed write.
lose_reader() {
    [ -z "$is_reader_lost" ] || return 0
    is_reader_lost=yes
    stop
    exec >/dev/null
}
trap stop TERM INT HUP
trap lose_reader PIPE
trap 'stopping=yes' USR1

# Prints a line of output.
say() {
    echo "$*" 2>/dev/null || lose_reader
}

# Runs one command in a process that passes SIGTERM on to the command and reports its exit code.
run_job() { # LINE COMMAND
    exec </dev/null >/dev/null 2>&1
    sh -c "exec $2" 8<&- 9>&- &
    child=$!
    trap 'kill -TERM $child 2>/dev/null' TERM
    while :; do
        wait $child
        status=$?
        kill -0 $child 2>/dev/null || break
    done
    echo "end $1 $status" >&9
}

# Starts the command of the next line; fails if there is none, or if this script is stopping.
begin() {
    [ -z "$stopping" ] && IFS= read -r command <&8 || return 1
    line=$((line + 1)) running=$((running + 1))
    command=$(printf %b "$command")
    run_job $line "$command" &
    pids="$pids $!"
    eval "pid_$line=$!"
    say start $line $!
}

# Removes the process of an ended command from $pids.
forget() { # LINE
    running=$((running - 1))
    eval "ended_pid=\$pid_$1"
    wait "$ended_pid" 2>/dev/null
    other_pids=''
    for pid in $pids; do
        [ "$pid" = "$ended_pid" ] || other_pids="$other_pids $pid"
    done
    pids=$other_pids
}

say runner $$
# Sends the event "tick" every second, as long as this script runs.
tick() {
    exec >/dev/null 2>&1
    while sleep 1 && kill -0 $$; do echo tick >&9; done
}
tick &
ticker=$!
while [ $running -lt "$max_running" ] && begin; do :; done
while [ $running -gt 0 ]; do
    IFS=' ' read -r event number status <&9 || continue
    case $event in
        end)
            forget "$number"
            say end "$number" "$status"
            begin
            ;;
        tick) say tick ;;
    esac
done
kill $ticker 2>/dev/null
