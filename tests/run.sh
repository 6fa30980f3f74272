#!/bin/sh
# Runs the test suite layer by layer and ends with one line: "N passed, N failed, N skipped".
#
#     sh tests/run.sh [--quick | --long] [--times] [--only LAYER]
#
# Layers: lint, lua, stale, unit (with sanitizers), generated (unit tests of generated code, with the flags of a
# release), cuda (device code is compiled, which needs a toolkit; run on the host, which needs a C++ compiler; and run
# as compiled PTX, which needs both), system, bench (make bench-check).
# --quick: in two minutes lint, lua without $SLOW_LUA and with few cases of fuzzing, stale, unit without sanitizers, and
# trainer, which generates, compiles, trains and evaluates one trainer.
# --long: unit tests for every instruction-set level instead of the widest (one spec always has all of them), all test
# specs with the optimisation of a release, ten thousand cases of fuzzing, 200 random formulas instead of 16, device
# code of the showcase for every class of GPUs, tests/device/test.sh and tests/system/long_*.sh.
# --times: prints below each layer its programs with the most processor time, without compilation by make, and the
# duration of each.
# LH_REQUIRE_GPU=1 turns a skipped unit test into a failure. Exit status 1 when anything failed.

cd -- "$(dirname -- "$0")/.." || exit 4
LUA=${LUA:-lua5.4}
MAKE=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL LONGHAND_BUILD
jobs=$(nproc 2>/dev/null || echo 2)
[ "$jobs" -le 16 ] || jobs=16
long='' quick='' only='' show_times='' layers="lint lua stale unit generated cuda system bench"
while [ $# -gt 0 ]; do
    case $1 in
        --long) long=all ;;
        --quick) quick=yes layers="lint stale lua unit trainer" ;;
        --times) show_times=yes ;;
        --only) only=$2 && shift ;;
        *) echo "tests/run.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done

# Lua tests that begin first, since they take longest, and that --quick leaves out: they render or compile the output of
# most specs.
SLOW_LUA="generated_compiler cuda cuda_families generated models masks network random score_cuda generated_spec
    generated_sections"
# System tests that begin first.
LONGEST="slurm"
# System tests whose trainers take much longer to compile than to run.
SHORT_TRAINING="analyze changed_spec dataset_encodings facets generator latin_square masked masks own_task probabilities
    scalings scores static trace trainers tune"
fuzz_cases=$([ -n "$quick" ] && echo 500 || { [ -n "$long" ] && echo 10000 || echo 1000; })
passed=0 failed=0 skipped=0 written=''
layer_passed=0 layer_failed=0 layer_skipped=0
logs=$(mktemp -d) || exit 4
log=$logs/log
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM

# Adds to the counts of the layer: PASSED FAILED SKIPPED.
add_counts() {
    layer_passed=$((layer_passed + $1))
    layer_failed=$((layer_failed + $2))
    layer_skipped=$((layer_skipped + $3))
}

# Runs a command (arguments) with every name (standard input, one per line, no blanks) as its last argument, $at_once at
# a time, or $jobs if it is empty. Each run writes NAME.out, NAME.errors, NAME.status and NAME.times in $logs, with _
# for /.
run_each() {
    xargs -P "${at_once:-$jobs}" -n 1 sh -c 'for name do :; done
        file=$0/$(printf %s "$name" | tr / _)
        began=$(date +%s)
        "$@" >"$file.out" 2>"$file.errors"
        echo $? >"$file.status"
        { times && echo $(($(date +%s) - began)); } >"$file.times"' "$logs" "$@"
}

# Sets the results of `run_each` for a name: $file, the path without its ending, and $status.
read_results() {
    file=$logs/$(printf %s "$1" | tr / _)
    status=$(cat "$file.status" 2>/dev/null || echo 99)
}

# Prints the 20 programs of a layer with the most processor time. The second line of NAME.times is the time of NAME
# itself, such as 0m1.230000s 0m0.450000s, the third its duration in seconds.
print_times() {
    for file in "$logs"/*.times; do
        [ ! -f "$file" ] || tail -n 2 "$file" | tr 'ms\n' '   ' | awk -v name="$(basename "$file" .times)" \
            '{ printf "%10.1f s in %4d s  %s\n", 60 * $1 + $2 + 60 * $3 + $4, $5, name }'
    done | LC_ALL=C sort -rn | head -n 20
}

# Runs one check, which passes or fails: a name and a command, whose output is printed after a failure. Lines of a check
# that passes count as one skipped check if they begin with "skipped: ".
check() {
    name=$1
    shift
    if "$@" >"$log" 2>&1; then
        add_counts 1 0 0
        ! grep '^skipped: ' "$log" || add_counts 0 0 1
    else
        add_counts 0 1 0
        echo "FAILED: $name"
        cat "$log"
    fi
}

# Counts and prints a skipped check: NAME AND REASON.
skip() {
    add_counts 0 0 1
    echo "skipped: $1"
}

layer_lint() {
    check "comments, docs of fields, subjects of commits, long files" "$LUA" tests/lint/words.lua
    check "fields of required modules exist" "$LUA" tests/lint/modules.lua
    check "names say what they name" "$LUA" tests/lint/names.lua
    check "python/longhand/fields.py is what make gen would write" \
        sh -c './longhand dev python | cmp - python/longhand/fields.py'
    if command -v luacheck >/dev/null 2>&1; then
        check luacheck "$MAKE" -s lint
    else
        skip "luacheck: not installed"
    fi
    if command -v clang-format-14 >/dev/null 2>&1 || clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
        check clang-format "$MAKE" -s fmt-check
    else
        skip "clang-format 14: not installed"
    fi
    check "sh -n" sh -c 'for script in longhand .ci/run tests/run.sh tests/bench/*.sh tests/bits/*.sh tests/cuda/*.sh \
        tests/device/*.sh tests/ptx/*.sh tests/support/*.sh tests/system/*.sh lab/study/*/*.sh runtime/cuda/*.sh; do
        sh -n "$script" || exit; done'
}

# Runs the Lua tests, and counts by luaunit's last lines: "Ran 5 tests in 0.1 seconds, 5 successes, 0 failures, 1 error,
# 2 skipped".
layer_lua() {
    slow=$(printf 'tests/lua/test_%s.lua\n' $SLOW_LUA)
    set -- $({ [ -n "$quick" ] || echo "$slow"; } && ls tests/lua/test_*.lua | grep -vxF -e "$slow")
    printf '%s\n' "$@" | run_each env "LH_FUZZ_CASES=${LH_FUZZ_CASES:-$fuzz_cases}" "$LUA"
    for name in "$@"; do
        read_results "$name"
        line=$(grep '^Ran [0-9]* tests in' "$file.out" | tail -1)
        if [ -z "$line" ]; then
            add_counts 0 1 0
            echo "FAILED: $name stopped"
            cat "$file.out" "$file.errors"
            continue
        fi
        good=$(echo "$line" | sed -n 's/.*, \([0-9]*\) success.*/\1/p')
        skips=$(echo "$line" | sed -n 's/.*, \([0-9]*\) skipped.*/\1/p')
        total=$(echo "$line" | sed 's/^Ran \([0-9]*\) .*/\1/')
        bad=$((total - ${good:-0}))
        [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
        add_counts "${good:-0}" "$bad" "${skips:-0}"
        [ "$bad" -eq 0 ] || { echo "FAILED: $name" && cat "$file.out" "$file.errors"; }
    done
}

layer_stale() {
    check "generated/ is what would be written" ./longhand dev stale
}

# Counts the results of a cmocka binary, by its name. Its XML is parsed, because its other formats count a skipped test
# as failed.
count_unit() {
    read_results "$1"
    number='"\([0-9]*\)"'
    pattern=".*<testsuite .*tests=$number failures=$number errors=$number skipped=$number.*"
    counts=$(sed -n "s/$pattern/\1 \2 \3 \4/p" "$file.out" |
        awk '{ t += $1; f += $2 + $3; s += $4 } END { print t + 0, f + 0, s + 0 }')
    set -- "$1" $counts # name, tests, failures, skipped tests
    bad=$3 skips=$4 good=$(($2 - $3 - $4))
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    if [ "${LH_REQUIRE_GPU:-0}" = 1 ]; then
        bad=$((bad + skips)) skips=0
    fi
    add_counts "$good" "$bad" "$skips"
    if [ "$bad" -gt 0 ]; then
        echo "FAILED: $1 (exit status $status)"
        cat "$file.out" "$file.errors"
    elif [ "$skips" -gt 0 ]; then
        echo "skipped in $1:"
        grep -B1 '<skipped' "$file.out" | sed -n 's/.*<testcase name="\([^"]*\)".*/    \1/p'
    fi
}

# build_and_run unit|emulation VARIABLE=VALUE...: builds tests by make with these variables, and runs them.
build_and_run() {
    goal=$1
    shift
    if ! "$MAKE" -s -j"$jobs" "$goal" "$@" >"$log" 2>&1; then
        add_counts 0 1 0
        echo "FAILED: the $goal tests do not compile (make $goal $*)"
        cat "$log"
        return
    fi
    binaries=$("$MAKE" -s "$@" "print-$goal-tests")
    echo "$binaries" | run_each env CMOCKA_MESSAGE_OUTPUT=XML
    for binary in $binaries; do
        count_unit "$binary"
    done
}

layer_unit() {
    build_and_run unit VARIANT=$([ -n "$quick" ] && echo plain || echo asan) "LEVELS=${long:-best}"
}

# Makes one trainer from spec to evaluation, with the library that the unit tests were linked with.
make_trainer() {
    id=bucket_sort_rand_sinusoid out=$logs/quick
    ./longhand gen $id --set train.batch=16 --out "$out" &&
        "$MAKE" -s -j"$jobs" trainer VARIANT=plain LEVELS=best ID=$id SOURCES="$out" OUT="$out" &&
        "$out/trainer" train --steps 20 --no-eval --out "$out/runs" &&
        "$out/trainer" eval --checkpoint "$out"/runs/*/*/*/checkpoint.safetensors --lengths 5,50 --examples 16 \
            --out "$out/eval" && [ "$(grep -c '"accuracy":' "$out/eval/eval.jsonl")" -eq 2 ]
}
layer_trainer() {
    check "one trainer is generated, compiled, trained and evaluated" make_trainer
}

# Writes sources for tests, once: those of test specs and of random specs (random_1), a share by each of $jobs processes,
# and formulas, which programs of tests/expressions write.
write_sources() {
    [ -z "$written" ] || return 0
    written=yes
    mkdir -p build/tests/expressions build/tests/specs
    formulas=$([ -n "$long" ] && echo 200 || echo 16)
    { ls tests/specs/*.lua && "$MAKE" -s print-random-specs; } >"$logs/specs"
    set -- tests/expressions/generate.lua tests/expressions/library.lua tests/facets/specs $(seq "$jobs")
    export formulas logs jobs
    printf '%s\n' "$@" | run_each sh -c 'case $1 in
        tests/expressions/generate.lua) "$0" "$1" build/tests/expressions 1 "$formulas" ;;
        tests/expressions/*) "$0" "$1" build/tests/expressions ;;
        tests/facets/*) "$0" -l tests.facets.enter tests/support/write_sources.lua build/tests/specs "$1"/*.lua ;;
        *) "$0" tests/support/write_sources.lua build/tests/specs $(awk "NR % $jobs + 1 == $1" "$logs/specs") ;;
    esac' "$LUA"
    for name in "$@"; do
        read_results "$name"
        [ "$status" -eq 0 ] && continue
        add_counts 0 1 0
        echo "FAILED: sources of tests ($name)"
        cat "$file.out" "$file.errors"
    done
}

layer_generated() {
    write_sources
    build_and_run unit VARIANT=release "LEVELS=${long:-best}" ${long:+AS_RELEASED=%}
}

# Whether the C++ compiler works.
has_cxx() {
    printf '#include <functional>\nint main() { return 0; }\n' |
        ${CXX:-g++} -std=c++17 -x c++ -o "$logs/probe" - 2>/dev/null
}

layer_cuda() {
    sh tests/cuda/check.sh $([ -n "$long" ] || echo --few) >"$log" 2>&1
    count_lines $? "make cuda-check"
    for variant in asan release; do
        if has_cxx; then
            [ "$variant" = asan ] || write_sources
            build_and_run emulation "VARIANT=$variant" "LEVELS=${long:-best}" ${long:+AS_RELEASED=%}
        else
            for program in $("$MAKE" -s "VARIANT=$variant" print-emulation-tests); do
                skip "$program: ${CXX:-g++} does not compile C++"
            done
        fi
    done
    sh tests/ptx/check.sh >"$log" 2>&1
    count_lines $? "tests/ptx/check.sh"
}

# Puts ccache in front of the compilers if it is installed: nearly half of the compilations of system tests repeat an
# earlier one, for another trainer or in a copy of the tree. LH_PATH is the PATH without the cache, for tests with a
# compiler elsewhere or for another user. Other layers compile each file once, and the cache would cost time.
use_compiler_cache() {
    for compilers in /usr/lib/ccache/bin /usr/lib/ccache /usr/lib64/ccache; do
        [ -x "$compilers/gcc" ] || continue
        PATH=$compilers:$PATH CCACHE_DIR=$(pwd -P)/build/tests/ccache CCACHE_DEPEND=1 CCACHE_NOHASHDIR=1
        export PATH CCACHE_DIR CCACHE_DEPEND CCACHE_NOHASHDIR
        return
    done
}

# System tests print "ok NAME", "not ok NAME" or "skip NAME: reason", one line each, and other lines that explain them.
# They run side by side, two more than there are processors, since many of them wait; objects that several of them link
# are compiled before, and the longest tests begin first. Their trainers take longer to compile than to run, so they are
# optimised less, those of $SHORT_TRAINING least; other layers test steps with the flags of a release.
layer_system() {
    check "the runtime compiles" "$MAKE" -s -j"$jobs" library
    check "the runtime compiles with sanitizers" "$MAKE" -s -j"$jobs" library VARIANT=asan
    scripts=$(ls tests/system/test_*.sh ${long:+tests/device/test.sh tests/system/long_*.sh} 2>/dev/null)
    scripts=$({ printf 'tests/system/test_%s.sh\n' $LONGEST && echo "$scripts"; } | awk '!seen[$0]++')
    at_once=$((jobs + 2)) LH_PATH=$PATH
    export LH_PATH
    use_compiler_cache
    set -- sh
    [ -n "$long" ] || set -- sh -c 'name=${1#tests/system/test_}
        case " $0 " in *" ${name%.sh} "*) level=-Og ;; *) level=-O1 ;; esac
        STEP_O=${STEP_O:-$level} exec sh "$1"' "$(echo $SHORT_TRAINING)"
    echo "$scripts" | run_each "$@"
    at_once='' PATH=$LH_PATH
    for script in $scripts; do
        read_results "$script"
        cp "$file.out" "$log"
        count_lines "$status" "$script (exit status $status)"
        [ "$bad" -eq 0 ] || cat "$file.errors"
    done
}

# Counts the results in $log, in the form of system tests: STATUS NAME of the program that wrote them.
count_lines() {
    good=$(grep -c '^ok ' "$log") bad=$(grep -c '^not ok ' "$log") skips=$(grep -c '^skip ' "$log")
    [ "$1" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    add_counts "$good" "$bad" "$skips"
    grep '^skip ' "$log"
    [ "$bad" -eq 0 ] || { echo "FAILED: $2" && cat "$log"; }
}

# Programs are compiled before, since the check measures times.
layer_bench() {
    if ! "$MAKE" -s -j"$jobs" bench-programs >"$log" 2>&1; then
        add_counts 0 1 0
        echo "FAILED: the bench programs do not compile"
        cat "$log"
        return
    fi
    "$MAKE" -s bench-check >"$log" 2>&1
    count_lines $? "make bench-check"
}

# The two blanks at the end match an empty --only, which means all layers.
case " $layers  " in
    *" $only "*) ;;
    *) echo "tests/run.sh: --only $only: no such layer" >&2 && exit 2 ;;
esac
start=$(date +%s)
for layer in $layers; do
    [ -z "$only" ] || [ "$only" = "$layer" ] || continue
    layer_passed=0 layer_failed=0 layer_skipped=0
    began=$(date +%s)
    "layer_$layer"
    printf '%-10s %4d passed, %d failed, %d skipped  (%d s)\n' "$layer" "$layer_passed" "$layer_failed" \
        "$layer_skipped" "$(($(date +%s) - began))"
    [ -z "$show_times" ] || print_times
    rm -f "$logs"/*.times
    passed=$((passed + layer_passed)) failed=$((failed + layer_failed)) skipped=$((skipped + layer_skipped))
done
echo "all layers: $(($(date +%s) - start)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$((passed + skipped))" -gt 0 ]
