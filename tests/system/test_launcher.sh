# The script ./longhand, in any folder, through links, in hostile environments, without packages; it passes signals to
# the trainer, and the trainer's exit codes on.

. tests/system/common.sh

SPEC=bucket_sort_sinusoid

runs_from_elsewhere() {
    cd "$work" && "$root/longhand" check $SPEC
}

runs_through_links() {
    ln -s "$root/longhand" "$work/first" && ln -s first "$work/second" && cd / && "$work/second" check $SPEC
}

runs_in_a_bare_environment() {
    env -i PATH="$PATH" ./longhand check $SPEC
}

runs_in_a_hostile_environment() {
    LUA_INIT='error("LUA_INIT ran")' LUA_PATH='/nowhere/?.lua' LUA_CPATH=/nowhere/?.so LC_ALL=xx_YY MAKEFLAGS=-n \
        CDPATH=/ ./longhand check $SPEC
}

# A relative LONGHAND_CACHE names one folder for all programs. The generator is replaced by a line that prints the path.
makes_the_cache_absolute() {
    make_bare_path
    printf '#!/bin/sh\n[ "$1" = - ] && exec "%s" "$@"\necho "$LONGHAND_CACHE" && echo ended >&3\n' \
        "$(command -v lua5.4)" >"$work/bin/lua5.4" && chmod +x "$work/bin/lua5.4" && cd "$work" || return
    for path in a/b /a/b ''; do
        echo "$(PATH=$work/bin LONGHAND_CACHE=$path "$root/longhand" check $SPEC)"
    done >"$work/caches"
    printf '%s\n' "$(pwd)/a/b" /a/b '' | cmp - "$work/caches"
}

# Makes a folder for PATH with the usual tools but no Lua; with an argument, also an apt-get that records its arguments.
make_bare_path() {
    rm -rf "$work/bin" "$work/apt" && mkdir -p "$work/bin"
    for tool in sh env readlink dirname id mktemp rm cat grep sed dd printf cc make ld as; do
        ln -sf "$(command -v $tool)" "$work/bin/$tool" 2>/dev/null
    done
    [ -z "${1:-}" ] || printf '#!/bin/sh\necho "$*" >>"%s/apt"\n' "$work" >"$work/bin/apt-get"
    [ -z "${1:-}" ] || chmod +x "$work/bin/apt-get"
}

names_missing_packages() {
    make_bare_path
    ends_with 4 'this needs: lua5.4 lua-argparse lua-dkjson lua-filesystem' env PATH="$work/bin" ./longhand check $SPEC
}

installs_packages_as_root() {
    make_bare_path apt
    ends_with 4 'running: apt-get install' env PATH="$work/bin" ./longhand check $SPEC || return
    grep -q '^update' "$work/apt" &&
        grep -q -e '--no-install-recommends.*Lock::Timeout=300 lua5.4 lua-argparse' "$work/apt"
}

# Help and the version need no Lua; errors that need no Lua are reported before any package is installed.
prints_help_without_lua() {
    make_bare_path apt
    ends_with 0 'Commands:' env PATH="$work/bin" ./longhand --help || return
    ends_with 2 'Commands:' env PATH="$work/bin" ./longhand || return
    ends_with 0 "longhand $(cat VERSION)" env PATH="$work/bin" ./longhand --version || return
    ends_with 0 'lua-argparse' env PATH="$work/bin" ./longhand train --help || return
    ends_with 0 'Commands:' env PATH="$work/bin" ./longhand help plan || return
    ends_with 2 "unknown command 'frobnicate'" env PATH="$work/bin" ./longhand frobnicate || return
    [ ! -e "$work/apt" ]
}

# With Lua the generator checks the arguments before a compiler is installed, and help installs none.
checks_arguments_without_a_compiler() {
    make_bare_path apt && rm "$work/bin/cc" "$work/bin/make" &&
        ln -s "$(command -v "${LUA:-lua5.4}")" "$work/bin/lua5.4" || return
    ends_with 2 "Did you mean '--static'?" env PATH="$work/bin" ./longhand build $SPEC --satic || return
    ends_with 2 'did you mean --learning-rate?' env PATH="$work/bin" ./longhand train $SPEC -- --lr 1 || return
    ends_with 2 "missing argument 'spec'" env PATH="$work/bin" ./longhand build || return
    ends_with 0 'Usage: longhand build' env PATH="$work/bin" ./longhand build --help || return
    [ ! -e "$work/apt" ] || return
    [ "$(id -u)" != 0 ] || ends_with 4 'this needs: make gcc' env PATH="$work/bin" ./longhand build $SPEC || return
    [ "$(id -u)" != 0 ] || ends_with 4 'this needs: make clang-19 libomp-19-dev libc6-dev' env PATH="$work/bin" \
        CC=clang-19 ./longhand build $SPEC
}

# LAPACK, which only the analysis of tables needs, is installed for that analysis alone.
installs_lapack_for_one_analysis() {
    make_bare_path apt && rm "$work/bin/cc" "$work/bin/make"
    LAPACK=-lnosuch ends_with 4 'this needs: liblapack-dev' env PATH="$work/bin:$PATH" ./longhand analyze tables \
        "$work" || return
    [ "$(id -u)" != 0 ] || grep -q 'install.* liblapack-dev' "$work/apt" || return
    LAPACK=-lnosuch ends_with 1 'there are no runs' env PATH="$work/bin:$PATH" ./longhand analyze compare "$work"
}

reports_missing_temporary_files() {
    TMPDIR=/nowhere ends_with 4 'TMPDIR: no temporary files can be written in /nowhere' ./longhand build $SPEC
}

# A generator ends with a line that names the next command. Without this line it has failed, whatever its exit code.
# Here a program in the place of Lua runs a command: STATUS COMMAND MESSAGE.
ends_after_a_generator() {
    make_bare_path
    printf '#!/bin/sh\n[ "$1" = - ] || %s\n' "$2" >"$work/bin/lua5.4" && chmod +x "$work/bin/lua5.4" &&
        ends_with "$1" "$3" env PATH="$work/bin" ./longhand check $SPEC
}

# Errors in a verb that no handler receives, such as exhausted memory: LUA MESSAGE.
reports_an_unhandled_error() {
    printf 'package.preload["cli.listing"] = function() return { list = function() %s end } end' "$1" >"$work/faulty.lua"
    ulimit -S -v 500000
    LUA_PATH="$work/?.lua;;" ends_with 4 "$2" "${LUA:-lua5.4}" -l faulty generator/main.lua list runs
}

lifts_limits_of_memory_for_programs() {
    limit=$( (ulimit -S -v 500000 && "${LUA:-lua5.4}" -e 'package.path = "generator/?.lua"
        io.write((require("base.shell").capture({ "sh", "-c", "ulimit -S -v" })))'))
    [ "$limit" = "$(ulimit -H -v)" ]
}

refuses_a_greedy_spec() {
    printf 'local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(2^20) .. i end return t\n' >"$work/greedy.lua"
    ends_with 1 'greedy.lua' ./longhand check "$work/greedy.lua"
}

has_begun() { find "$work/runs" -name run.json | grep -q .; }

# Starts a long training, and sends a signal once it runs: SIGNAL. By then the launcher's process is the trainer.
stops_at() {
    rm -rf "$work/runs"
    ./longhand train $SPEC -- --steps 1000000 --no-eval --threads 1 --out "$work/runs" >"$work/train" 2>&1 &
    pid=$!
    until_true has_begun || { cat "$work/train" && return 1; }
    kill "-$1" $pid
    wait $pid
    status=$?
    [ $status -eq 75 ] || { echo "status $status" && cat "$work/train" && return 1; }
    find "$work/runs" -name checkpoint.safetensors | grep -q .
}

# The memory that plan prints is within a tenth of the memory that the process reports.
needs_the_planned_memory() {
    planned=$(./longhand plan $SPEC | sed -n 's/^memory *\([0-9.]*\) MB in training with 2 threads.*/\1/p')
    ./longhand train $SPEC -- --steps 3 --no-eval --threads 2 --out "$work/memory" >"$work/output" 2>/dev/null &&
        took=$(sed -n 's/.* 3 steps in .*, \([0-9.]*\) MB of memory$/\1/p' "$work/output") &&
        echo "planned $planned, took $took" && awk "BEGIN { exit !($took > 0.9 * $planned && $took < 1.1 * $planned) }"
}

# Exit codes of errors that only the trainer detects are passed on.
passes_exit_codes() {
    ends_with 2 '--seed and --seeds exclude each other' ./longhand train $SPEC -- --seed 1 --seeds 1:2
}

prints_nothing_on_stdout() {
    ./longhand train $SPEC -- --help >"$work/out" 2>/dev/null && ! grep -q building "$work/out"
}

expect_each launcher_ runs_from_elsewhere runs_through_links runs_in_a_bare_environment \
    runs_in_a_hostile_environment makes_the_cache_absolute names_missing_packages
if [ "$(id -u)" = 0 ]; then
    expect launcher_installs_packages_as_root installs_packages_as_root
else
    echo "skip launcher_installs_packages_as_root: not root"
fi
expect_each launcher_ prints_help_without_lua checks_arguments_without_a_compiler
if command -v gnuplot >/dev/null 2>&1; then
    expect launcher_installs_lapack_for_one_analysis installs_lapack_for_one_analysis
else
    echo 'skip launcher_installs_lapack_for_one_analysis: gnuplot is not installed'
fi
expect_each launcher_ reports_missing_temporary_files
expect launcher_generator_without_a_word_exit_4 ends_after_a_generator 4 'exit 0' 'ended without a last word (status 0)'
expect launcher_generator_killed_exit_4 ends_after_a_generator 4 'kill -9 $$' 'killed (signal 9)'
expect launcher_generator_terminated ends_after_a_generator 143 'kill -15 $$' ''
expect launcher_out_of_memory_exit_4 reports_an_unhandled_error 'return ("x"):rep(1 << 30)' 'out of memory'
expect launcher_out_of_memory_in_lua_exit_4 reports_an_unhandled_error \
    'local s = ("x"):rep(1 << 20) while true do s = s .. s end' 'out of memory'
expect launcher_stack_of_c_exit_4 reports_an_unhandled_error 'local function f() return (("x"):gsub("x", f)) end return f()' \
    'mistake of the program'
expect_each launcher_ lifts_limits_of_memory_for_programs refuses_a_greedy_spec
expect train_stops_at_SIGTERM stops_at TERM
expect train_stops_at_SIGINT stops_at INT
expect_each train_ needs_the_planned_memory passes_exit_codes prints_nothing_on_stdout
finish
