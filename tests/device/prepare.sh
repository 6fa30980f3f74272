#!/bin/sh
# Prepares tests/device/run.sh for a machine with a GPU and without Lua: writes build/device, which git ignores.
#
#     sh tests/device/prepare.sh [--arch LIST] [--sources-only]
#
# This machine needs Lua, a C compiler, and (without --sources-only) nvcc or NVRTC. Takes some minutes. LIST: GPU
# architectures (sm_90), as for ./longhand build.
# The machine with the GPU needs a copy of the repository and build/device.tar.gz. Run there:
#     tar xzf build/device.tar.gz && sh tests/device/run.sh
#
#     build/device/manifest         the content, one line each: showcase NAME, double NAME, sanitize NAME, wide NAME
#                                   ENCODING PRECISION, rates NAME ENCODING PRECISION LENGTHS
#     build/device/trainers/NAME    trainer with both halves, and src: built again if the trainer does not run;
#                                   resources.jsonl: the assembler's report on its kernels
#     build/device/peers            a checkpoint for each encoding, inputs, and the logits of a trainer for them
#     build/device/commit           the commit from which it was made
#     build/device/lib              jansson, for builds on a machine that lacks it
#
# Trainers are compiled for x86-64-v3 alone and stripped: 2 MB each. Exit status 1 if a part could not be made.
# Variables of the environment select another folder (PREPARED) and fewer or smaller models (those set below).
set -u
cd -- "$(dirname -- "$0")/../.." || exit 4

# Rates are measured for encodings in precisions, with MODEL and TRAIN (a loop below leaves out some pairs). Further
# trainers: small models in float64, in which CPU and GPU must agree to many digits; runs of the showcase; small models
# in small batches for the sanitizer; and models whose products cuBLASLt computes: WIDE_MODEL in float32, tf32 and bf16,
# and specs in float64.
ENCODINGS=${ENCODINGS:-sinusoid rand_relative none relative}
PRECISIONS=${PRECISIONS:-float32 tf32 bf16 tf32_warps float32_warps} # the last two cut products by warp
MODEL=${MODEL:-use = \"ruoss_encoder\"}
TRAIN=${TRAIN:-use = \"ruoss\"}
DOUBLE=${DOUBLE:-$(echo tests/specs/parity_float64_*.lua) tests/specs/emulated_warps.lua \
    tests/specs/emulated_passes.lua tests/specs/emulated_layers.lua tests/specs/emulated_mixed.lua \
    tests/specs/emulated_weighed.lua tests/specs/emulated_mixed_weighed.lua}
SHOWCASE=${SHOWCASE:-$(for file in generated/*/device.cu; do basename "$(dirname "$file")"; done)}
WIDE_MODEL=${WIDE_MODEL:-use = \"ruoss_encoder\", layers = 2, width = 256, feedforward = 512}
WIDE_ENCODINGS=${WIDE_ENCODINGS:-sinusoid rand_relative}
WIDE_DOUBLE=${WIDE_DOUBLE:-tests/specs/emulated_wide_rand_rope.lua tests/specs/emulated_wide_rand_relative.lua \
    tests/specs/emulated_wide_block_tables.lua tests/specs/emulated_wide_passes.lua}
SANITIZE=${SANITIZE:-tests/specs/emulated_tf32.lua tests/specs/emulated_rand_relative_difference.lua \
    tests/specs/emulated_warps_tf32.lua}
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

# Trainers are linked with jansson, and the machine with the GPU gets a copy; a missing one is reported before minutes
# of work. A release contains it.
jansson=''
if [ ! -d third_party/jansson ]; then
    for file in $(echo '#include <jansson.h>' | ${CC:-cc} -M -x c - 2>/dev/null | tr ' ' '\n' | grep jansson) \
        "$(${CC:-cc} -print-file-name=libjansson.a)"; do
        [ ! -f "$file" ] || jansson="$jansson $file"
    done
    case $jansson in
        *jansson.h*libjansson.a) ;;
        *) echo "prepare: ${CC:-cc} finds no jansson.h and libjansson.a; install libjansson-dev" >&2 && exit 4 ;;
    esac
fi

base=${PREPARED:-build/device}
level=x86-64-v3
unset LONGHAND_ISA
failed=0
rm -rf "$base" "$base.tar.gz"
mkdir -p "$base/specs" "$base/trainers" "$base/peers" "$base/host" "$base/lib" || exit 4
log=$base/prepare.log
: >"$log"

complain() {
    echo "prepare: $*" >&2
    failed=1
}

# compile NAME: compiles the trainer of that name from its sources, as tests/device/run.sh does.
compile() {
    make -s trainer ID="$1" SOURCES="$target/src" OUT="$target" TARGETS=cpu,cuda ARCH="$arch" LEVELS=$level || return
    sh tests/device/resources.sh "$1" "$target" >"$target/resources.jsonl"
    rm -rf "$target/obj"
    strip "$target/trainer"
}

# make_one NAME SPEC FLAG...: makes build/device/trainers/NAME. Prints only errors.
make_one() {
    name=$1 spec=$2 target=$base/trainers/$1
    shift 2
    echo "== $name" >>"$log"
    ./longhand gen "$spec" "$@" --target cpu,cuda --out "$target/src" >>"$log" 2>&1 &&
        { [ $verb = gen ] || compile "$name" >>"$log" 2>&1; } && return
    complain "$name cannot be made; the end of $log:"
    tail -n 5 "$log" >&2
    return 1
}

# make_all KIND SPEC...: makes trainers of specs, or of runs of the showcase.
make_all() {
    kind=$1
    shift
    for spec in "$@"; do
        name=$(basename "$spec" .lua)
        make_one "$name" "$spec" $([ "$kind" != sanitize ] || echo --set train.batch=12 --set eval.examples=4) &&
            echo "$kind $name" >>"$base/manifest"
    done
    echo "prepare: $kind" >&2
}

print_encoding() {
    case $1 in
        rand_relative) echo '{ kind = "relative", positions = { kind = "randomized", max_position = 2048 } }' ;;
        *) echo "{ kind = \"$1\" }" ;;
    esac
}

print_task_kind() { case $1 in parity) echo parity_check ;; reverse) echo reverse_string ;; esac; }

# Prints task lengths with 21 and 41, or with 80 tokens.
print_lengths() { case $1 in parity) echo 20,40 ;; reverse) echo 40 ;; esac; }

# write_spec NAME TASK ENCODING PRECISION MODEL
write_spec() {
    cat >"$base/specs/$1.lua" <<END
return {
  task      = { kind = "$(print_task_kind "$2")" },
  encoding  = $(print_encoding "$3"),
  model     = { $5 },
  train     = { $TRAIN },
  eval      = { use = "ruoss" },
  precision = "${4%_warps}",
  device_products = "$(case $4 in *_warps) echo warps ;; *) echo tiles ;; esac)",
}
END
}

# The trainers whose rates are measured: all encodings in two precisions, the two main ones also in bf16 and by warp,
# and one of these by warp in float32.
for encoding in $ENCODINGS; do
    for precision in $PRECISIONS; do
        case $encoding.$precision in none.bf16 | relative.bf16 | none.*_warps | relative.*_warps | \
            rand_relative.float32_warps) continue ;; esac
        for task in $TASKS; do
            name=${task}_${encoding}_$precision
            write_spec "$name" "$task" "$encoding" "$precision" "$MODEL"
            make_one "$name" "$base/specs/$name.lua" &&
                echo "rates $name $encoding $precision $(print_lengths "$task")" >>"$base/manifest"
        done
    done
    echo "prepare: $encoding" >&2
done

for encoding in $WIDE_ENCODINGS; do
    for precision in float32 tf32 bf16; do
        name=wide_${encoding}_$precision
        write_spec "$name" reverse "$encoding" "$precision" "$WIDE_MODEL"
        make_one "$name" "$base/specs/$name.lua" && echo "wide $name $encoding $precision" >>"$base/manifest"
    done
done
for spec in $WIDE_DOUBLE; do
    name=$(basename "$spec" .lua)
    make_one "$name" "$spec" && echo "wide $name - float64" >>"$base/manifest"
done
echo "prepare: wide" >&2

make_all double $DOUBLE
make_all showcase $SHOWCASE
make_all sanitize $SANITIZE

# Writes inputs of one task for the peers, with distances if the encoding samples them: ENCODING TASK LENGTH TOKENS.
write_inputs() {
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

# Makes a checkpoint of 50 steps of an encoding ($1) on this machine's CPU, and its logits by both tasks' trainers.
make_reference() {
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
        write_inputs "$1" "$task" "$length" "$tokens" >"$file.inputs.jsonl" &&
            "$base/host/${task}_$1/trainer" predict --checkpoint "$base/peers/$1.safetensors" \
                <"$file.inputs.jsonl" >"$file.logits.jsonl" || return
    done
}

for encoding in $ENCODINGS; do
    make_reference "$encoding" || complain "no logits of $encoding; see $log"
done
rm -rf "$base/host"
git describe --always --dirty >"$base/commit" 2>/dev/null || rm "$base/commit"
[ -z "$jansson" ] || cp $jansson "$base/lib" || complain "jansson cannot be copied"
[ $failed -eq 0 ] || complain "not everything could be made"
tar czf "$base.tar.gz" "$base" || complain "$base.tar.gz cannot be written"
echo "prepare: $(wc -l <"$base/manifest") trainers in $base; $(du -h "$base.tar.gz" | cut -f1) in $base.tar.gz" >&2
exit $failed
