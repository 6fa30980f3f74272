#!/bin/sh
# Runs the compiled PTX of device code on the host, instruction by instruction. Tests of the machine itself need a C++
# compiler, all others also a CUDA toolkit; none needs a GPU.
#
#     sh tests/ptx/check.sh [--all]
#
# Tests of the machine compare each of its instructions with plain Lua, and run small kernels with and without races.
# Test specs of every precision, and one run of the showcase in tf32, are compiled to PTX by nvcc or NVRTC;
# the machine runs the PTX in the tests of tests/emulation/test_model.c and looks for races.
# These tests must also fail for mutants of the PTX of the specs MUTATED and DECODED (a decoder); check_mutants.lua
# makes the mutants.
# --all: every test spec of tests/emulation, the showcase in every precision with all tests, a mutant for every barrier.
# Prints lines "ok NAME", "not ok NAME: why", "skip NAME: why".
SMALL='emulated_decoder emulated_tf32 emulated_bf16 emulated_warps_tf32' # without --all
MUTATED=emulated_tf32
DECODED=emulated_decoder

cd -- "$(dirname -- "$0")/../.." || exit 4
LUA=${LUA:-lua5.4}
MAKE=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL
jobs=$(nproc 2>/dev/null || echo 2)
mode=${1:-check}
out=build/ptx
work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir -p $out
failed=0
say() {
    echo "$*"
    case $1 in not) failed=1 ;; esac
}

make_goals() { "$MAKE" -s -j"$jobs" LEVELS=best TOOLKIT="${toolkit:-}" "$@" >"$work/log" 2>&1; }

# start NAME COMMAND...: starts a program that prints lines "ok NAME" and "not ok NAME: why", in the background.
# collect_lines NAME waits for it and prints its lines, and a line "not ok" if the program itself failed.
start() {
    output=$work/$1
    shift
    { "$@" >"$output" 2>&1 || echo "not ok $* (status $?)" >>"$output"; } &
}
collect_lines() {
    wait
    cat "$work/$1"
    ! grep -q '^not ok' "$work/$1" || failed=1
}

# Writes the sources of a run of the showcase in a precision, as spec ptx_<run>_<precision>. If operands are rounded,
# the model has only two layers, so that device and CPU differ less; all layers run the same code.
write_showcase() {
    id=ptx_$1_$2 layers=''
    mkdir -p $out/specs
    cp "spec/runs/$1.lua" "$out/specs/$id.lua"
    [ "$2" = float32 ] || layers='--set model.layers=2'
    ./longhand gen "$out/specs/$id.lua" --target cpu,cuda --set "precision=$2" $layers --out "$out/specs/$id" \
        >/dev/null || say not ok "sources of $id"
    models="$models $id"
}

get_binary() {
    case $1 in
        ptx_*) echo "build/release/tests/ptx/test_model.$1" ;;
        *) echo "build/release/tests/emulation/test_model.$1" ;;
    esac
}

# Runs the models whose names are on standard input, as many at a time as there are processors. The inner shell has the
# arguments $programs ($0), $tests ($1), $work ($2) and the name of a model ($3).
run_models() {
    xargs -P "$jobs" -n 1 sh -c '
        folder=build/release/tests/emulation tests=
        case $3 in ptx_*) folder=build/release/tests/ptx tests=$1 ;; esac
        export LONGHAND_TESTS="${tests:-*}" LONGHAND_PTX_RACES=1 LONGHAND_PTX="$0/$3.program"
        "$folder/test_model.$3" >"$2/$3.out" 2>&1 && grep -q "PASSED  . [1-9]" "$2/$3.out"
        echo $? >"$2/$3.status"' "$programs" "$tests" "$work"
}

# Whether a test is linked with the machine, and so refuses a program that does not exist.
takes_programs() { [ -x "$1" ] && ! LONGHAND_PTX=$work/none "$1" >/dev/null 2>&1; }

# Builds the tests of the models.
make_models() {
    goals=''
    for spec in $(ls tests/specs/emulated_*.lua); do
        id=$(basename "$spec" .lua)
        case " $models " in *" $id "*)
            ./longhand gen "$spec" --out "build/tests/specs/$id" >/dev/null || say not ok "sources of $id" ;;
        esac
    done
    for model in $models; do
        goals="$goals $programs/$model.program"
        # An existing test is not built again: other scripts of the long suite, which run at the same time, use it.
        case "$mode $model" in
            "--all emulated_"*) ! takes_programs "$(get_binary "$model")" || continue ;;
        esac
        goals="$goals $(get_binary "$model")"
    done
    make_goals -k $goals || cat "$work/log"
}

check_models() {
    echo "$models" | tr ' ' '\n' | grep . | run_models
    for model in $models; do
        if [ "$(cat "$work/$model.status" 2>/dev/null)" = 0 ] && takes_programs "$(get_binary "$model")"; then
            say ok "compiled code of $model does as its CPU half, without races"
        else
            say not ok "compiled code of $model does as its CPU half, without races"
            cat "$work/$model.out"
        fi
    done
}

if ! printf '#include <functional>\nint main() { return 0; }\n' |
    ${CXX:-g++} -std=c++17 -x c++ -o "$work/probe" - 2>/dev/null; then
    say skip "compiled code on the host: ${CXX:-g++} does not compile C++"
    exit 0
fi
if ! make_goals build/release/tests/ptx/run; then
    say not ok "the machine compiles"
    cat "$work/log"
    exit 1
fi
mkdir -p $out/instructions $out/races $out/mutants $out/decoding
start instructions "$LUA" tests/ptx/check_instructions.lua build/release/tests/ptx/run $out/instructions
start races "$LUA" tests/ptx/check_races.lua build/release/tests/ptx/run $out/races
collect_lines instructions
collect_lines races

if ! toolkit=$(sh runtime/cuda/toolkit.sh --kind nvrtc --arch sm_90 2>"$work/problem" ||
    sh runtime/cuda/toolkit.sh --kind nvcc --arch sm_90 2>"$work/problem"); then
    say skip "compiled code of models: $(head -1 "$work/problem" | sed 's/[;:].*//')"
    exit $failed
fi
programs=$out/$(echo "$toolkit" | cut -d ' ' -f 1,2 | tr ' ' -)
models='' tests=''
if [ "$mode" = --all ]; then
    for spec in tests/specs/emulated_*.lua; do models="$models $(basename "$spec" .lua)"; done
    for spec in generated/*/device.cu; do
        for precision in float32 tf32 bf16; do write_showcase "$(basename "$(dirname "$spec")")" $precision; done
    done
else
    models=$SMALL tests='test_*ev*_cpu' # the gradients of all lengths, and evaluation
    write_showcase reverse_string_rand_relative tf32
fi
make_models
start mutants "$LUA" tests/ptx/check_mutants.lua "$(get_binary $MUTATED)" "$programs/$MUTATED.ptx" $out/mutants \
    $([ "$mode" = check ] || echo all)
start decoding "$LUA" tests/ptx/check_mutants.lua "$(get_binary $DECODED)" "$programs/$DECODED.ptx" $out/decoding decoding
check_models
collect_lines mutants
collect_lines decoding
exit $failed
