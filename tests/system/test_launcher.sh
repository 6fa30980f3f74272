# The launcher: any folder, links, hostile environments, missing packages, signals and exit codes of the trainer.

. tests/system/common.sh

SPEC=bucket_sort_sinusoid

from_elsewhere() {
    cd "$work" && "$root/longhand" check $SPEC
}

through_links() {
    ln -s "$root/longhand" "$work/first" && ln -s first "$work/second" && cd / && "$work/second" check $SPEC
}

in_bare_environment() {
    env -i PATH="$PATH" ./longhand check $SPEC
}

in_hostile_environment() {
    LUA_INIT='error("LUA_INIT ran")' LUA_PATH='/nowhere/?.lua' LUA_CPATH=/nowhere/?.so LC_ALL=xx_YY MAKEFLAGS=-n CDPATH=/ \
        ./longhand check $SPEC
}

# A PATH with the usual tools but without Lua; apt-get only writes down what it was asked for.
bare_path() {
    mkdir -p "$work/bin"
    for tool in sh env readlink dirname id mktemp rm cat grep printf cc make ld as; do
        ln -sf "$(command -v $tool)" "$work/bin/$tool" 2>/dev/null
    done
    [ -z "${1:-}" ] || printf '#!/bin/sh\necho "$*" >>"%s/apt"\n' "$work" >"$work/bin/apt-get"
    [ -z "${1:-}" ] || chmod +x "$work/bin/apt-get"
}

without_lua() {
    bare_path
    ends_with 4 'this needs: lua5.4 lua-argparse lua-dkjson lua-filesystem' env PATH="$work/bin" ./longhand check $SPEC
}

installs_as_root() {
    bare_path apt
    ends_with 4 'running: apt-get install' env PATH="$work/bin" ./longhand check $SPEC || return
    grep -q '^update' "$work/apt" && grep -q -e '--no-install-recommends.*Lock::Timeout=300 lua5.4 lua-argparse' "$work/apt"
}

children_are_unlimited() {
    limit=$( (ulimit -S -v 4000000 && "${LUA:-lua5.4}" -e 'package.path = "generator/?.lua"
        io.write((require("shell").capture({ "sh", "-c", "ulimit -S -v" })))'))
    [ "$limit" = "$(ulimit -H -v)" ]
}

greedy_spec_fails_politely() {
    printf 'local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(2^20) .. i end return t\n' >"$work/greedy.lua"
    ends_with 1 'greedy.lua' ./longhand check "$work/greedy.lua"
}

# Starts a long training, waits until it runs, sends a signal; the launcher's process must be the trainer by then.
stopped_by() {
    rm -rf "$work/runs"
    ./longhand train $SPEC -- --steps 1000000 --no-eval --threads 1 --out "$work/runs" >"$work/train" 2>&1 &
    pid=$!
    tries=0
    until find "$work/runs" -name run.json 2>/dev/null | grep -q .; do
        sleep 0.2
        tries=$((tries + 1))
        [ $tries -lt 300 ] && kill -0 $pid || { cat "$work/train" && return 1; }
    done
    sleep 0.5
    kill "-$1" $pid
    wait $pid
    status=$?
    [ $status -eq 75 ] || { echo "status $status" && cat "$work/train" && return 1; }
    find "$work/runs" -name checkpoint.safetensors | grep -q .
}

passes_exit_codes() {
    ends_with 2 '--step' ./longhand train $SPEC -- --stepz 5
}

says_nothing_on_stdout() {
    ./longhand train $SPEC -- --help >"$work/out" 2>/dev/null && ! grep -q building "$work/out"
}

expect launcher_from_elsewhere from_elsewhere
expect launcher_through_links through_links
expect launcher_in_bare_environment in_bare_environment
expect launcher_in_hostile_environment in_hostile_environment
expect launcher_without_lua_exit_4 without_lua
if [ "$(id -u)" = 0 ]; then
    expect launcher_installs_as_root installs_as_root
else
    echo "skip launcher_installs_as_root: not root"
fi
expect launcher_children_are_unlimited children_are_unlimited
expect launcher_greedy_spec_fails_politely greedy_spec_fails_politely
expect train_stopped_by_TERM_exit_75 stopped_by TERM
expect train_stopped_by_INT_exit_75 stopped_by INT
expect train_passes_exit_codes passes_exit_codes
expect train_says_nothing_on_stdout says_nothing_on_stdout
finish
