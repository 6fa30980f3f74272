# Helpers of test_tune.sh and long_tune.sh; sourced after common.sh. The last trainer is kept in $work/out.

LEVELS=${LEVELS:-best}

# Prints the results of a trainer at each of its levels: checksums after five steps, and evaluations of 150 examples on
# one thread and on two, at lengths with blocks of all sizes.
print_bits() {
    for level in $(make -s print-levels LEVELS="$LEVELS"); do
        export LONGHAND_ISA="$level"
        "$work/out/trainer" bench --seconds 0.01 --lengths 1 --windows 1 >/dev/null 2>&1 || continue
        rm -rf "$work/runs"
        "$work/out/trainer" train --out "$work/runs" --steps 5 --no-eval >/dev/null &&
            "$work/out/trainer" eval --checkpoint "$work"/runs/*/*/*/checkpoint.safetensors --lengths 1,4,7,18 \
                --examples 150 --threads 1 --out "$work/runs/one" >/dev/null &&
            "$work/out/trainer" eval --checkpoint "$work"/runs/*/*/*/checkpoint.safetensors --lengths 1,4,7,18 \
                --examples 150 --threads 2 --out "$work/runs/two" >/dev/null || return
        cksum <"$(echo "$work"/runs/*/*/*/checkpoint.safetensors)"
        find "$work/runs/one" "$work/runs/two" -name eval.jsonl -exec cat {} +
    done
}

# Builds trainers with the first, second, ... value of every choice of tuned.h, and compares their bits: COUNT SPEC
# [--set FIELD=VALUE]...
keeps_bits() {
    count=$1 spec=$2
    shift 2
    rm -rf "$work/out"
    sets=$(echo "$@" | sed 's/--set //g')
    for n in $(seq "$count"); do
        ${LUA:-lua5.4} tests/support/write_tuned.lua "$work/$spec" "$n" "tests/specs/$spec.lua" $sets &&
            make -s -j2 trainer LEVELS="$LEVELS" ID="$spec" SOURCES="$work/$spec" OUT="$work/out" &&
            print_bits >"$work/bits.$n" && [ -s "$work/bits.$n" ] && cmp "$work/bits.1" "$work/bits.$n" || return
        cmp -s "$work/$spec/tuned.h" "$work/tuned.h" && return 1 # equals the previous one: nothing to compare
        cp "$work/$spec/tuned.h" "$work/tuned.h"
    done
}

reports_its_choices() {
    "$work/out/trainer" info | grep -q 'evaluation_tokens 252 (tuned 2026-11-23)' &&
        "$work/out/trainer" info --json | grep -q '"evaluation_tokens":"252"'
}
