# Writes the results of this tree's specs, bit by bit: sh tests/bits/list.sh OUT [ID...]
#
# OUT/<id>.cpu has, for every level of this machine, the checksum of each tensor after 20 steps and the evaluation of
# those parameters; OUT/<id>.device, for a spec of tests/specs/emulated_*, those of one device step and an evaluation in
# the emulation. Two trees with equal lists train to the same bits. Existing lists are kept, so that a stopped command
# can continue; a list that fails leaves <list>.partial and <list>.errors. Without IDs: all specs of spec/runs and
# tests/specs but HUGE, a step of which takes seconds.

set -u
out=$1
shift
mkdir -p "$out" || exit 4
STEPS=20
HUGE=abc_addition_vanilla

find_spec() {
    for folder in spec/runs tests/specs; do
        [ -f "$folder/$1.lua" ] && echo "$folder/$1.lua"
    done
}

# print_lengths TRAINER LENGTHS: prints the flag --lengths, or nothing for a task of dataset files, which has its own.
print_lengths() {
    "$1" info | grep -q '^data ' || echo "--lengths $2"
}

# print_levels TRAINER: prints the levels of a trainer that this machine can run.
print_levels() {
    for level in $(make -s print-levels LEVELS=all); do
        LONGHAND_ISA=$level "$1" bench --seconds 0.01 $(print_lengths "$1" 1) >/dev/null 2>&1 && echo "$level"
    done
}

# write_results TRAINER LEVEL RUNS: prints what the trainer computes at a level; RUNS: a folder for its files.
write_results() {
    export LONGHAND_ISA="$2"
    "$1" train --out "$3" --steps $STEPS --seed 3 --threads 1 --no-eval >/dev/null &&
        "$1" eval --checkpoint "$3"/*/*/*/checkpoint.safetensors $(print_lengths "$1" 3,10) \
            --examples 40 --out "$3/eval" \
            >/dev/null &&
        ${LUA:-lua5.4} tests/bits/tensors.lua "$3"/*/*/*/checkpoint.safetensors | sed "s/^/$2 /" &&
        find "$3/eval" -name eval.jsonl -exec cat {} + | sed "s/^/$2 /"
}

write_cpu_bits() {
    work=$out/$1.work
    rm -rf "$work"
    ./longhand gen "$(find_spec "$1")" --out "$work/src" >/dev/null &&
        make -s trainer LEVELS=all ID="$1" SOURCES="$work/src" OUT="$work" || return
    for level in $(print_levels "$work/trainer"); do
        write_results "$work/trainer" "$level" "$work/runs.$level" || return
    done
}

write_device_bits() {
    ./longhand gen "tests/specs/$1.lua" --out "build/tests/specs/$1" >/dev/null &&
        flock "$out" make -s LEVELS=best "build/release/tests/emulation/test_model.$1" && # builds share a library
        LONGHAND_BITS=1 "build/release/tests/emulation/test_model.$1" 2>&1 | grep '^bits '
}

# list NAME COMMAND: writes the output of a command to $out/NAME, complete or not at all.
list() {
    [ -f "$out/$1" ] && return
    name=$1
    shift
    if "$@" >"$out/$name.partial" 2>"$out/$name.errors" && [ -s "$out/$name.partial" ]; then
        mv "$out/$name.partial" "$out/$name" && rm -f "$out/$name.errors"
    else
        echo "$name: no list; see $out/$name.errors" >&2
        return 1
    fi
}

list_spec() {
    status=0
    list "$1.cpu" write_cpu_bits "$1" || status=1
    rm -rf "${out:?}/$1.work"
    case $1 in emulated_*) list "$1.device" write_device_bits "$1" || status=1 ;; esac
    return $status
}

# With ONE the script is a child of its own xargs, below, and lists one spec.
if [ "${ONE:-}" ]; then
    list_spec "$1"
    exit
fi
[ $# -gt 0 ] || set -- $(ls spec/runs/*.lua tests/specs/*.lua | sed 's|.*/||; s|\.lua$||' | grep -vx "$HUGE")
make -s -j2 library || exit 1
for id do printf '%s\n' "$id"; done | ONE=1 xargs -P 2 -n 1 sh "$0" "$out"
