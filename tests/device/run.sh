#!/bin/sh
# Runs checks and measurements on a GPU in one command of at most eight minutes. Needs no Lua and no network.
#
#     sh tests/device/run.sh [--parts LIST] [--limit SECONDS] [--fresh] [--build] [--peers LIST] [--peer-flags FLAGS]
#
# tests/device/prepare.sh, on a machine with Lua, makes build/device, which this machine also needs; otherwise the
# showcase in generated/ is built and checked, and nothing is timed.
#
# parts (default: all, in this order)
#   checks    trainers on the CPU and on the GPU: parameters, metrics, evaluation, logits; small models in float64;
#             wide models, where cuBLASLt is found (LONGHAND_CUBLASLT names it)
#   bits      on the GPU alone: repeated, side by side, resumed and killed runs have the same bits
#   rates     trainer bench of one model and of thirty, at 21, 41 and 80 tokens
#   peaks     a large matrix product and a copy, by PyTorch
#   profile   Nsight Compute on one step, where it is installed
#   sanitize  Compute Sanitizer on a few steps of small models, where it is installed and takes the GPU
#   peers     JAX and PyTorch; cases in build/peers/<driver>-<device>.jsonl, also failed ones, are only timed
#             again with --fresh
# --limit: no part begins after this time (480 seconds). --build: builds here even if prepared trainers run.
# --peers: a list of jax, torch. --peer-flags: flags of their scripts, as one word: --peer-flags "--variants=scan
# --windows=3".
# PREPARED (build/device): the output of prepare.sh. OUT (build/device-results): results.json, report.md, log.txt and
# the peers' lines, written after each part. REPLICAS (30): number of models side by side when rates are measured.
#
# Exit status: 0 if every check passed, 1 if one failed, 4 without the tools, 77 without a GPU.
set -u
unset LONGHAND_ISA # prepared trainers have one level
cd -- "$(dirname -- "$0")/../.." || exit 4

start=$(date +%s)
limit=480 parts=checks,bits,rates,peaks,profile,sanitize,peers fresh='' build_here=''
peers=jax,torch peer_flags=''
while [ $# -gt 0 ]; do
    case $1 in
        --parts) parts=${2:?--parts LIST} && shift ;;
        --limit) limit=${2:?--limit SECONDS} && shift ;;
        --fresh) fresh=--fresh ;;
        --build) build_here=yes ;;
        --peers) peers=${2:?--peers LIST} && shift ;;
        --peer-flags) peer_flags=${2:?--peer-flags FLAGS} && shift ;;
        *) echo "run.sh: unknown argument $1; see the head of tests/device/run.sh" >&2 && exit 2 ;;
    esac
    shift
done

# check_names WHAT LIST NAMES: reports an error unless all elements of the list are among the names.
check_names() {
    for name in $(echo "$2" | tr , ' '); do
        case " $3 " in *" $name "*) ;; *) echo "run.sh: no $1 $name; there are: $3" >&2 && exit 2 ;; esac
    done
}
PARTS="checks bits rates peaks profile sanitize peers"
check_names part "$parts" "$PARTS"
check_names peer "$peers" "jax torch"

base=${PREPARED:-build/device}
out=${OUT:-$base-results}
work=$base-work
prepared=$base/trainers
replicas=${REPLICAS:-30} seed=3
UNPREPARED="nothing prepared: sh tests/device/prepare.sh, where Lua is"

# --- Tools and devices --------------------------------------------------------------------------------------------

gpu=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null | head -n 1)
case $gpu in
    *,*,*) ;;
    *) echo "skip tests/device: no GPU here (nvidia-smi finds none)" && exit 77 ;;
esac
device=${gpu%%,*} rest=${gpu#*, }
driver=${rest%%,*} capability=${rest##*, }
PYTHON=${PYTHON:-python3}
for tool in "$PYTHON" timeout awk; do
    command -v "$tool" >/dev/null 2>&1 || { echo "run.sh: needs $tool" >&2 && exit 4; }
done

# Finds a program of the toolkit, if there is one.
find_tool() {
    command -v "$1" || ls "/usr/local/cuda/bin/$1" /opt/nvidia/nsight-compute/*/"$1" 2>/dev/null | head -n 1
}

rm -rf "$work" && mkdir -p "$work/parts" "$out" build/peers || exit 4
log=$out/log.txt
: >"$log"
cache=build/peers/$(echo "$driver-$device" | tr -c 'A-Za-z0-9.\n-' _).jsonl
nvcc=$(find_tool nvcc)
toolkit=$([ -z "$nvcc" ] || "$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')

# Prints one of nvidia-smi's values; nothing if it does not support the value.
query_gpu() { nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1 | grep '^[0-9]'; }

# Prints the commit of this copy, or that of the prepared trainers.
print_commit() { git describe --always --dirty 2>/dev/null || cat "$base/commit" 2>/dev/null; }

processors=$(nproc 2>/dev/null || echo 4)
host="$processors x $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)"
printf '{"device":"%s","driver":"%s","capability":"%s","sm_clock":"%s","memory_clock":"%s","power_limit":"%s",' \
    "$device" "$driver" "$capability" "$(query_gpu clocks.max.sm)" "$(query_gpu clocks.max.memory)" \
    "$(query_gpu power.limit)" >"$work/parts/machine.json"
printf '"toolkit":"%s","host":"%s","date":"%s","commit":"%s"}\n' \
    "$toolkit" "$host" "$(date +%Y-%m-%d)" "$(print_commit)" >>"$work/parts/machine.json"

print_seconds_left() { echo $((limit - $(date +%s) + start)); } # seconds until --limit
say() { printf '%4d s  %s\n' $(($(date +%s) - start)) "$*" | tee -a "$log" | cut -c1-160; }
wants() { case ,$parts, in *,"$1",*) return 0 ;; *) return 1 ;; esac; }

# Prints a time limit for a command: the given seconds, or the rest of the time if that is less.
at_most() {
    seconds=$(print_seconds_left)
    [ "$seconds" -lt "$1" ] || seconds=$1
    [ "$seconds" -gt 0 ] && echo "$seconds" || echo 1
}

# Saves the results so far as files of the results folder.
save() {
    [ ! -f "$cache" ] || { cp "$cache" "$work/parts/peers.jsonl" && cp "$cache" "$out/$(basename "$cache")"; }
    "$PYTHON" tests/device/table.py merge "$work/parts" >"$out/results.new" &&
        mv "$out/results.new" "$out/results.json" &&
        "$PYTHON" tests/device/table.py report "$out/results.json" >"$out/report.md"
}

# --- Checks -------------------------------------------------------------------------------------------------------

# record NAME true|false|null DETAIL: records that a check passed, failed or was skipped, and says so.
record() {
    detail=$(printf %s "$3" | tr '\n\t"' "  '" | tr '\\\\' / | cut -c1-300)
    printf '{"check":"%s","ok":%s,"detail":"%s"}\n' "$1" "$2" "$detail" >>"$work/parts/checks.jsonl"
    case $2 in true) say "ok $1: $detail" ;; false) say "not ok $1: $detail" ;; *) say "skip $1: $detail" ;; esac
}

# check NAME COMMAND...: runs a function in a subshell and records its result: passed with exit status 0, skipped with
# 77, otherwise failed. Its last line of output, or after a failure its last line with "error: ", is the detail.
check() {
    checked=$1
    shift
    if [ "$(print_seconds_left)" -le 0 ]; then
        record "$checked" null "no time left"
        return 1
    fi
    echo "== $checked" >>"$log"
    ("$@") >"$work/check.log" 2>&1
    status=$?
    cat "$work/check.log" >>"$log"
    detail=$(grep 'error: ' "$work/check.log" | tail -n 1)
    [ $status -ne 0 ] && [ -n "$detail" ] || detail=$(tail -n 1 "$work/check.log")
    case $status in
        0) record "$checked" true "$detail" ;;
        77) record "$checked" null "$detail" ;;
        124) record "$checked" false "took too long; $detail" ;;
        *) record "$checked" false "${detail:-exit status $status}" ;;
    esac
    return $status
}

compare() { "$PYTHON" tests/device/compare.py "$@"; }

# find_file FOLDER NAME: prints the path of the only file of that name in a folder.
find_file() { find "$1" -name "$2" | head -n 1; }

get_trainer() { echo "$prepared/$1/trainer"; }

# train NAME FOLDER DEVICE STEPS FLAG...: trains in a folder of its own, without output.
train() {
    trainer=$(get_trainer "$1") folder=$work/$2 where=$3 steps=$4
    shift 4
    timeout "$(at_most 60)" "$trainer" train --device "$where" --steps "$steps" --no-eval --out "$folder" "$@" \
        2>"$folder.log" || { status=$? && tail -n 3 "$folder.log" && return $status; }
}

# --- Builds -------------------------------------------------------------------------------------------------------

# Whether a trainer has code for this GPU and runs on this machine.
runs() {
    [ -x "$(get_trainer "$1")" ] && train "$1" try cuda 1 --seed $seed --overwrite >>"$log" 2>&1
}

# Prints trainers of a kind (showcase, rates, double, sanitize, wide) or of all kinds; without a manifest those in
# generated/.
list_trainers() {
    if [ -f "$base/manifest" ]; then
        awk -v kind="${1:-}" 'kind == "" || $1 == kind { print $2 }' "$base/manifest"
    elif [ "${1:-showcase}" = showcase ]; then
        for file in generated/*/device.cu; do [ ! -f "$file" ] || basename "$(dirname "$file")"; done
    fi
}

# Builds every trainer from its prepared or committed sources, as many at a time as there are processors.
build_all() {
    [ ! -d "$base/lib" ] || export C_INCLUDE_PATH="$base/lib" LIBRARY_PATH="$base/lib"
    make -s -j"$processors" library LEVELS=best || return
    list_trainers | timeout "$(at_most 200)" xargs -P "$processors" -I NAME sh -c '
        sources=$1/NAME/src
        [ -d "$sources" ] || sources=generated/NAME
        make -s trainer ID=NAME SOURCES="$sources" OUT="$1/NAME" TARGETS=cpu,cuda ARCH=native LEVELS=best &&
            sh tests/device/resources.sh NAME "$1/NAME" >"$1/NAME/resources.jsonl" ||
            { echo "error: NAME is not built" && exit 1; }' sh "$prepared" || return
    echo "$(list_trainers | wc -l) trainers built here"
}

build() {
    first=$(list_trainers | head -n 1) missing=no
    [ -n "$first" ] || { record build false "no device code in generated/ and nothing prepared" && return 1; }
    for name in $(list_trainers); do [ -x "$(get_trainer "$name")" ] || missing=yes; done
    if [ -z "$build_here" ] && [ $missing = no ] && runs "$first"; then
        record build true "prepared trainers run here"
        return
    fi
    for tool in make cc xargs; do
        command -v $tool >/dev/null 2>&1 || { record build false "needs $tool" && return 1; }
    done
    check build build_all
    runs "$first" || { record "$first runs here" false "$(grep error: "$log" | tail -n 1)" && return 1; }
}

. tests/device/checks.sh
. tests/device/measures.sh

# --- Main program -------------------------------------------------------------------------------------------------

say "$device, driver $driver, toolkit ${toolkit:-none}"
: >"$work/parts/checks.jsonl"
case $parts in
    *checks* | *bits* | *rates* | *profile* | *sanitize*) build ;;
esac || parts=$(echo "$parts" | sed 's/checks//; s/bits//; s/rates//; s/profile//; s/sanitize//')
cat "$prepared"/*/resources.jsonl >"$work/parts/resources.jsonl" 2>/dev/null
save
for part in $PARTS; do
    wants $part || continue
    if [ "$(print_seconds_left)" -le 0 ]; then
        record "$part" null "no time left"
        continue
    fi
    say "part $part"
    "part_$part"
    save
done
save
"$PYTHON" tests/device/table.py short "$out/results.json"
echo "$out/results.json, $out/report.md"
! grep -q '"ok":false' "$work/parts/checks.jsonl"
