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

# Makes a PATH with the usual tools but without Lua; apt-get only records its arguments.
bare_path() {
    rm -rf "$work/bin" "$work/apt" && mkdir -p "$work/bin"
    for tool in sh env readlink dirname id mktemp rm cat grep sed dd printf cc make ld as; do
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

# Help and the version need no Lua; errors that need no Lua are reported before any package is installed.
asks_without_lua() {
    bare_path apt
    ends_with 0 'Commands:' env PATH="$work/bin" ./longhand --help || return
    ends_with 2 'Commands:' env PATH="$work/bin" ./longhand || return
    ends_with 0 "longhand $(cat VERSION)" env PATH="$work/bin" ./longhand --version || return
    ends_with 0 'lua-argparse' env PATH="$work/bin" ./longhand train --help || return
    ends_with 0 'Commands:' env PATH="$work/bin" ./longhand help plan || return
    ends_with 2 "unknown command 'frobnicate'" env PATH="$work/bin" ./longhand frobnicate || return
    [ ! -e "$work/apt" ]
}

# With Lua the generator checks the arguments before a compiler is installed, and help installs none.
asks_without_compiler() {
    bare_path apt && rm "$work/bin/cc" "$work/bin/make" &&
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

# A package that only one analysis needs is requested by that analysis alone.
asks_for_lapack() {
    bare_path apt && rm "$work/bin/cc" "$work/bin/make"
    LAPACK=-lnosuch ends_with 4 'this needs: liblapack-dev' env PATH="$work/bin:$PATH" ./longhand analyze tables "$work" ||
        return
    [ "$(id -u)" != 0 ] || grep -q 'install.* liblapack-dev' "$work/apt" || return
    LAPACK=-lnosuch ends_with 1 'there are no runs' env PATH="$work/bin:$PATH" ./longhand analyze compare "$work"
}

without_temporary_files() {
    TMPDIR=/nowhere ends_with 4 'TMPDIR: no temporary files can be written in /nowhere' ./longhand build $SPEC
}

# A generator without a last line has failed, whatever its exit code.
dying_generator() {
    bare_path
    printf '#!/bin/sh\n[ "$1" = - ] || %s\n' "$2" >"$work/bin/lua5.4" && chmod +x "$work/bin/lua5.4" &&
        ends_with "$1" "$3" env PATH="$work/bin" ./longhand check $SPEC
}

# Errors inside one verb that no handler receives: exhausted memory, the stack of C.
unhandled_error() {
    printf 'package.preload["cli.listing"] = function() return { list = function() %s end } end' "$1" >"$work/faulty.lua"
    ulimit -S -v 500000
    LUA_PATH="$work/?.lua;;" ends_with 4 "$2" "${LUA:-lua5.4}" -l faulty generator/main.lua list runs
}

children_are_unlimited() {
    limit=$( (ulimit -S -v 500000 && "${LUA:-lua5.4}" -e 'package.path = "generator/?.lua"
        io.write((require("base.shell").capture({ "sh", "-c", "ulimit -S -v" })))'))
    [ "$limit" = "$(ulimit -H -v)" ]
}

greedy_spec_fails_politely() {
    printf 'local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(2^20) .. i end return t\n' >"$work/greedy.lua"
    ends_with 1 'greedy.lua' ./longhand check "$work/greedy.lua"
}

has_begun() { find "$work/runs" -name run.json | grep -q .; }

# Starts a long training, waits until it runs, sends a signal; the launcher's process must be the trainer by then.
stopped_by() {
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

# The plan's memory is within a tenth of the memory that the process reports.
memory_is_planned() {
    planned=$(./longhand plan $SPEC | sed -n 's/^memory *\([0-9.]*\) MB in training with 2 threads.*/\1/p')
    ./longhand train $SPEC -- --steps 3 --no-eval --threads 2 --out "$work/memory" >"$work/output" 2>/dev/null &&
        took=$(sed -n 's/.* 3 steps in .*, \([0-9.]*\) MB of memory$/\1/p' "$work/output") &&
        echo "planned $planned, took $took" && awk "BEGIN { exit !($took > 0.9 * $planned && $took < 1.1 * $planned) }"
}

# Exit codes of errors that only the trainer detects are passed on.
passes_exit_codes() {
    ends_with 2 '--seed and --seeds exclude each other' ./longhand train $SPEC -- --seed 1 --seeds 1:2
}

reports_nothing_on_stdout() {
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
expect launcher_asks_without_lua asks_without_lua
expect launcher_asks_without_compiler asks_without_compiler
if command -v gnuplot >/dev/null 2>&1; then
    expect launcher_asks_for_lapack asks_for_lapack
else
    echo 'skip launcher_asks_for_lapack: gnuplot is not installed'
fi
expect launcher_without_temporary_files without_temporary_files
expect launcher_generator_without_a_word_exit_4 dying_generator 4 'exit 0' 'ended without a last word (status 0)'
expect launcher_generator_killed_exit_4 dying_generator 4 'kill -9 $$' 'killed (signal 9)'
expect launcher_generator_terminated dying_generator 143 'kill -15 $$' ''
expect launcher_out_of_memory_exit_4 unhandled_error 'return ("x"):rep(1 << 30)' 'out of memory'
expect launcher_out_of_memory_in_lua_exit_4 unhandled_error \
    'local s = ("x"):rep(1 << 20) while true do s = s .. s end' 'out of memory'
expect launcher_stack_of_c_exit_4 unhandled_error 'local function f() return (("x"):gsub("x", f)) end return f()' \
    'mistake of the program'
expect launcher_children_are_unlimited children_are_unlimited
expect launcher_greedy_spec_fails_politely greedy_spec_fails_politely
expect train_stopped_by_TERM_exit_75 stopped_by TERM
expect train_stopped_by_INT_exit_75 stopped_by INT
expect train_takes_the_memory_that_is_planned memory_is_planned
expect train_passes_exit_codes passes_exit_codes
expect train_reports_nothing_on_stdout reports_nothing_on_stdout
finish
