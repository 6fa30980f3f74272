#!/bin/sh
# Makes what tests/device/run.sh needs on a machine with a GPU and without Lua: build/device, ignored by git.
#
#     sh tests/device/prepare.sh [--arch LIST] [--sources-only]
#
# Here: Lua, a C compiler, and (but for --sources-only) nvcc or NVRTC. Takes some minutes. LIST: GPU architectures
# (sm_90), as for ./longhand build.
# Then, in a copy of the repository on the machine with the GPU (build/device.tar.gz is all that it lacks):
#     tar xzf build/device.tar.gz && sh tests/device/run.sh
#
#     build/device/manifest           what is there, a line each: showcase NAME, double NAME, rates NAME ENCODING
#                                   PRECISION LENGTHS
#     build/device/trainers/NAME      trainer with both halves, and src: built again where the trainer does not run
#     build/device/peers              a checkpoint for each encoding, inputs, and the logits of a trainer for them
#
# Trainers are compiled for x86-64-v3 alone and stripped: 2 MB each. Exit status 1 where something could not be made.
set -u
cd -- "$(dirname -- "$0")/../.." || exit 4

ENCODINGS="sinusoid rand_relative none relative"
TASKS="parity reverse"
arch=sm_90 verb=build
while [ $# -gt 0 ]; do
    case $1 in
        --arch) arch=${2:?--arch LIST} && shift ;;
        --sources-only) verb=gen ;;
        *) echo "usage: sh tests/device/prepare.sh [--arch LIST] [--sources-only]" >&2 && exit 2 ;;
    esac
    shift
done

base=build/device
level=x86-64-v3
failed=0
rm -rf "$base" "$base.tar.gz"
mkdir -p "$base/specs" "$base/trainers" "$base/peers" "$base/host" || exit 4
log=$base/prepare.log
: >"$log"

complain() {
    echo "prepare: $*" >&2
    failed=1
}

# make_one NAME SPEC: build/device/trainers/NAME. Says nothing but errors.
make_one() {
    target=$base/trainers/$1
    echo "== $1" >>"$log"
    case $verb in
        gen) ./longhand gen "$2" --target cpu,cuda --out "$target/src" >>"$log" 2>&1 ;;
        build)
            ./longhand build "$2" --target cpu,cuda --arch "$arch" --levels $level --out "$target" >>"$log" 2>&1 &&
                strip "$target/trainer"
            ;;
    esac && return
    complain "$1 cannot be made; the end of $log:"
    tail -n 5 "$log" >&2
    return 1
}

encoding_table() {
    case $1 in
        rand_relative) echo '{ kind = "relative", positions = { kind = "randomized", max_position = 2048 } }' ;;
        *) echo "{ kind = \"$1\" }" ;;
    esac
}

task_kind() { case $1 in parity) echo parity_check ;; reverse) echo reverse_string ;; esac; }

# Task lengths with 21 and 41, and with 80 tokens.
task_lengths() { case $1 in parity) echo 20,40 ;; reverse) echo 40 ;; esac; }

# write_spec NAME TASK ENCODING PRECISION
write_spec() {
    cat >"$base/specs/$1.lua" <<END
return {
  task      = { kind = "$(task_kind "$2")" },
  encoding  = $(encoding_table "$3"),
  model     = { use = "ruoss_encoder" },
  train     = { use = "ruoss" },
  eval      = { use = "ruoss" },
  precision = "$4",
}
END
}

# The trainers whose rates are measured: everything in two precisions, the two main encodings in bf16 as well.
for encoding in $ENCODINGS; do
    for precision in float32 tf32 bf16; do
        case $encoding.$precision in none.bf16 | relative.bf16) continue ;; esac
        for task in $TASKS; do
            name=${task}_${encoding}_$precision
            write_spec "$name" "$task" "$encoding" "$precision"
            make_one "$name" "$base/specs/$name.lua" &&
                echo "rates $name $encoding $precision $(task_lengths "$task")" >>"$base/manifest"
        done
    done
    echo "prepare: $encoding" >&2
done

# Small models in float64, where CPU and GPU must agree to many digits.
for spec in tests/specs/parity_float64_*.lua; do
    name=$(basename "$spec" .lua)
    make_one "$name" "$spec" && echo "double $name" >>"$base/manifest"
done
for file in generated/*/device.cu; do
    id=$(basename "$(dirname "$file")")
    [ ! -f "$file" ] || { make_one "$id" "$id" && echo "showcase $id" >>"$base/manifest"; }
done

# Inputs of one task for the peers, with distances where they are drawn: NAME TASK LENGTH TOKENS.
inputs() {
    "$base/host/$2_$1/trainer" sample --length "$3" --count 4 --seed 7 |
        awk -v tokens="$4" -v drawn="$(case $1 in rand_*) echo 1 ;; esac)" '
            {
                sub(/,"target".*/, "")
                if (drawn) {
                    stride = int(2040 / tokens)
                    distances = "0"
                    for (k = 1; k < tokens; k++) distances = distances "," (stride * k + k * k % 5)
                    $0 = $0 ",\"distances\":[" distances "]"
                }
                print $0 "}"
            }'
}

# A checkpoint of 50 steps on this machine's CPU, and the logits of both tasks' trainers for it.
reference() {
    work=$base/host/run_$1
    for task in $TASKS; do
        ./longhand build "$base/specs/${task}_$1_float32.lua" --levels $level --out "$base/host/${task}_$1" \
            >>"$log" 2>&1 || return
    done
    "$base/host/parity_$1/trainer" train --steps 50 --no-eval --out "$work" >>"$log" 2>&1 || return
    cp "$work"/*/*/*/checkpoint.safetensors "$base/peers/$1.safetensors" || return
    for row in parity:20:21 reverse:40:80; do
        task=${row%%:*} tokens=${row##*:} length=${row#*:}
        length=${length%:*}
        file=$base/peers/$1.${task}_$length
        inputs "$1" "$task" "$length" "$tokens" >"$file.inputs.jsonl" &&
            "$base/host/${task}_$1/trainer" predict --checkpoint "$base/peers/$1.safetensors" \
                <"$file.inputs.jsonl" >"$file.logits.jsonl" || return
    done
}

for encoding in $ENCODINGS; do
    reference "$encoding" || complain "no logits of $encoding; see $log"
done
rm -rf "$base/host"
[ $failed -eq 0 ] || complain "not everything could be made"
tar czf "$base.tar.gz" "$base" || complain "$base.tar.gz cannot be written"
echo "prepare: $(wc -l <"$base/manifest") trainers in $base; $(du -h "$base.tar.gz" | cut -f1) in $base.tar.gz" >&2
exit $failed
