#!/bin/sh
# Runs the system tests, or a given command, several times next to two busy loops on the same two processors. A test
# that waits for a time instead of a state fails under this load.
#
#     sh tests/support/under_load.sh [TIMES [COMMAND ...]]
#
# Exit status 1 as soon as the command fails. Needs taskset (util-linux).

cd -- "$(dirname -- "$0")/../.." || exit 4
times=${1:-1}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- sh tests/run.sh --only system
taskset -cp 0,1 $$ >/dev/null || exit 4 # all later processes inherit it
loops=''
trap 'kill $loops' EXIT
trap 'exit 130' INT TERM
for _ in 1 2; do
    while :; do :; done &
    loops="$loops $!"
done
for turn in $(seq "$times"); do
    "$@" || { echo "under load: turn $turn of $times failed" && exit 1; }
done
echo "under load: $times of $times turns passed"
