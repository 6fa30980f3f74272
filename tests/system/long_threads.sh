# No data races: unit tests of threaded code, and a real training, under the thread sanitizer.

. tests/system/common.sh

TINY=parity_dropout_rand_rope
REPORT="WARNING: ThreadSanitizer"
trainer=build/tsan/trainers/$TINY/trainer
TSAN_OPTIONS="exitcode=66 halt_on_error=1 allocator_may_return_null=1"
export TSAN_OPTIONS

# The sanitizer needs fixed addresses, which some kernels randomise by default.
plain=''
if command -v setarch >/dev/null 2>&1 && setarch -R true 2>/dev/null; then
    plain='setarch -R'
fi

compile_a_race() {
    "${CC:-cc}" -std=gnu11 -g1 -O1 -fsanitize=thread -o "$work/race" tests/tsan/race.c -pthread
}

reports_a_race() {
    ends_with 66 "$REPORT: data race" $plain "$work/race"
}

build() {
    ./longhand gen tests/specs/$TINY.lua --out build/tests/specs/$TINY >/dev/null || return
    make -s -j2 unit VARIANT=tsan && make -s -j2 trainer VARIANT=tsan LEVELS=best ID=$TINY \
        SOURCES=build/tests/specs/$TINY OUT=build/tsan/trainers/$TINY
}

# Runs a command that must succeed without any report: COMMAND.
runs_silently() {
    $plain "$@" >"$work/output" 2>&1 && ! grep "$REPORT" "$work/output" && return
    cat "$work/output"
    return 1
}

test_units() {
    for test in $(make -s VARIANT=tsan print-unit-tests); do
        runs_silently "$test" || return
    done
}

train_alone() {
    for threads in 2 3; do
        runs_silently $trainer train --steps 4 --log-every 1 --checkpoint-every 2 --threads $threads \
            --out "$work/runs$threads" || return
    done
    cmp "$work"/runs2/*/*/*/checkpoint.safetensors "$work"/runs3/*/*/*/checkpoint.safetensors
}

train_replicas() {
    runs_silently $trainer train --steps 4 --log-every 1 --checkpoint-every 2 --threads 3 --seeds 0:4 \
        --out "$work/group" &&
        cmp "$work"/group/*/*/*-seed0/checkpoint.safetensors "$work"/runs2/*/*/*-seed0/checkpoint.safetensors
}

if ! (compile_a_race) 2>/dev/null; then
    echo "skip threads_no_races: ${CC:-cc} has no thread sanitizer"
    exit
fi
expect threads_race_on_purpose_is_reported reports_a_race
expect threads_build_with_sanitizer build
if [ "$failures" -eq 0 ]; then
    expect threads_units_have_no_races test_units
    expect threads_trainings_have_no_races train_alone
    expect threads_replicas_have_no_races train_replicas
fi
finish
