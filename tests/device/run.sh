#!/bin/sh
# Checks and measures on a GPU, all in one command of at most eight minutes. Needs no Lua and no network.
#
#     sh tests/device/run.sh [--parts LIST] [--limit SECONDS] [--fresh] [--build] [--peer-flags FLAGS]
#
# tests/device/prepare.sh, run where Lua is, makes build/device, which this machine needs too; without it the showcase
# in generated/ is built and checked, and nothing is timed.
#
# parts (default: all, in this order)
#   checks   trainers on the CPU and on the GPU: parameters, metrics, evaluation, logits; small models in float64
#   bits     on the GPU alone: runs again, side by side, resumed and killed come to the same bits
#   rates    trainer bench of one model and of thirty, at 21, 41 and 80 tokens
#   peaks    a large matrix product and a copy, by PyTorch
#   profile  Nsight Compute on one step, where it is installed
#   peers    JAX and PyTorch; what build/peers/<driver>-<device>.jsonl knows is not timed again, but with --fresh
# --limit: nothing new is begun after so many seconds (480). --build: builds here even where prepared trainers run.
# --peer-flags: for the peers' scripts, in one word.
# PREPARED (build/device): what prepare.sh made. OUT (build/device-results): results.json, report.md, log.txt and the
# peers' lines, written after each part.
#
# Exit status: 0 when every check passed, 1 when one failed, 4 without the tools, 77 without a GPU.
set -u
cd -- "$(dirname -- "$0")/../.." || exit 4

start=$(date +%s)
limit=480 parts=checks,bits,rates,peaks,profile,peers fresh='' build_here='' peer_flags=''
while [ $# -gt 0 ]; do
    case $1 in
        --parts) parts=${2:?--parts LIST} && shift ;;
        --limit) limit=${2:?--limit SECONDS} && shift ;;
        --fresh) fresh=--fresh ;;
        --build) build_here=yes ;;
        --peer-flags) peer_flags=${2:?--peer-flags FLAGS} && shift ;;
        *) echo "run.sh: unknown argument $1; see the head of tests/device/run.sh" >&2 && exit 2 ;;
    esac
    shift
done

PARTS="checks bits rates peaks profile peers"
for part in $(echo "$parts" | tr , ' '); do
    case " $PARTS " in *" $part "*) ;; *) echo "run.sh: no part $part; there are: $PARTS" >&2 && exit 2 ;; esac
done

base=${PREPARED:-build/device}
out=${OUT:-$base-results}
work=$base-work
prepared=$base/trainers
replicas=30 seed=3
UNPREPARED="nothing prepared: sh tests/device/prepare.sh, where Lua is"

# --- What there is ------------------------------------------------------------------------------------------------

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

rm -rf "$work" && mkdir -p "$work/parts" "$out" build/peers || exit 4
log=$out/log.txt
: >"$log"
cache=build/peers/$(echo "$driver-$device" | tr -c 'A-Za-z0-9.\n-' _).jsonl
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
toolkit=$([ -z "$nvcc" ] || "$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
printf '{"device":"%s","driver":"%s","capability":"%s","toolkit":"%s","date":"%s","commit":"%s"}\n' \
    "$device" "$driver" "$capability" "$toolkit" "$(date +%Y-%m-%d)" "$(git rev-parse --short HEAD 2>/dev/null)" \
    >"$work/parts/machine.json"

left() { echo $((limit - $(date +%s) + start)); }
say() { printf '%4d s  %s\n' $(($(date +%s) - start)) "$*" | tee -a "$log" | cut -c1-160; }
wants() { case ,$parts, in *,"$1",*) return 0 ;; *) return 1 ;; esac; }

# Seconds for a command: so many, or what is left.
at_most() {
    seconds=$(left)
    [ "$seconds" -lt "$1" ] || seconds=$1
    [ "$seconds" -gt 0 ] && echo "$seconds" || echo 1
}

# What was found so far, as files of the results folder.
save() {
    [ ! -f "$cache" ] || { cp "$cache" "$work/parts/peers.jsonl" && cp "$cache" "$out/$(basename "$cache")"; }
    "$PYTHON" tests/device/table.py merge "$work/parts" >"$out/results.new" &&
        mv "$out/results.new" "$out/results.json" &&
        "$PYTHON" tests/device/table.py report "$out/results.json" >"$out/report.md"
}

# --- Checks -------------------------------------------------------------------------------------------------------

# record NAME true|false|null DETAIL
record() {
    detail=$(printf %s "$3" | tr '\n\t"' "  '" | tr '\\\\' / | cut -c1-300)
    printf '{"check":"%s","ok":%s,"detail":"%s"}\n' "$1" "$2" "$detail" >>"$work/parts/checks.jsonl"
    case $2 in true) say "ok $1: $detail" ;; false) say "not ok $1: $detail" ;; *) say "skip $1: $detail" ;; esac
}

# check NAME COMMAND...: a function, in a shell of its own; the last line of what it says is the detail.
check() {
    checked=$1
    shift
    if [ "$(left)" -le 0 ]; then
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
        124) record "$checked" false "took too long; $detail" ;;
        *) record "$checked" false "${detail:-exit status $status}" ;;
    esac
    return $status
}

compare() { "$PYTHON" tests/device/compare.py "$@"; }

# one FOLDER NAME: the one file of that name in a folder.
one() { find "$1" -name "$2" | head -n 1; }

trainer_of() { echo "$prepared/$1/trainer"; }

# train NAME FOLDER DEVICE STEPS FLAG...: in a folder of its own, quietly.
train() {
    trainer=$(trainer_of "$1") folder=$work/$2 where=$3 steps=$4
    shift 4
    timeout "$(at_most 60)" "$trainer" train --device "$where" --steps "$steps" --no-eval --out "$folder" "$@" \
        2>"$folder.log" || { status=$? && tail -n 3 "$folder.log" && return $status; }
}

# --- Builds -------------------------------------------------------------------------------------------------------

# Whether a trainer has code for this GPU and runs on this machine.
runs() {
    [ -x "$(trainer_of "$1")" ] && train "$1" try cuda 1 --seed $seed --overwrite >>"$log" 2>&1
}

# Trainers of a kind (showcase, rates, double) or all of them; without a manifest those in generated/.
names() {
    if [ -f "$base/manifest" ]; then
        awk -v kind="${1:-}" 'kind == "" || $1 == kind { print $2 }' "$base/manifest"
    elif [ "${1:-showcase}" = showcase ]; then
        for file in generated/*/device.cu; do [ ! -f "$file" ] || basename "$(dirname "$file")"; done
    fi
}

# Every trainer from its prepared or committed sources, as many at a time as there are processors.
build_all() {
    processors=$(nproc 2>/dev/null || echo 4)
    make -s -j"$processors" library LEVELS=best || return
    names | timeout "$(at_most 200)" xargs -P "$processors" -I NAME sh -c '
        sources=$1/NAME/src
        [ -d "$sources" ] || sources=generated/NAME
        make -s trainer ID=NAME SOURCES="$sources" OUT="$1/NAME" TARGETS=cpu,cuda ARCH=native LEVELS=best ||
            { echo "error: NAME is not built" && exit 1; }' sh "$prepared" || return
    echo "$(names | wc -l) trainers built here"
}

build() {
    first=$(names | head -n 1) missing=no
    [ -n "$first" ] || { record build false "no device code in generated/ and nothing prepared" && return 1; }
    for name in $(names); do [ -x "$(trainer_of "$name")" ] || missing=yes; done
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

# --- checks: the CPU against the GPU ------------------------------------------------------------------------------

# bounds PRECISION: of parameters after 5 steps, losses and norms of these, losses of 50 steps, losses and accuracies
# of evaluations, logits. float32: two instruction-set levels of the CPU, which differ in rounding alone, came to 4e-4,
# 6e-6, 7e-5, 2e-3, 5e-7, 0 and 1e-6: Adam turns the sign of a gradient near zero into a step of full size, and 50
# steps amplify that some thousandfold. tf32 and bf16: products rounded so by hand gave 0.15 and 0.4 after 5 steps,
# losses within 3e-4 and 1e-3. float64: float32's, 1e9 times less, with room.
bounds() {
    case $1 in
        float64) echo 1e-8 1e-11 1e-10 1e-6 1e-12 0.001 1e-12 ;;
        float32) echo 5e-3 1e-4 1e-3 2e-2 1e-5 0.002 1e-5 ;;
        tf32) echo 0.4 3e-3 3e-2 5e-2 5e-3 0.02 5e-3 ;;
        bf16) echo 0.8 2e-2 0.2 0.1 3e-2 0.05 3e-2 ;;
    esac
}

# agree NAME CPU_NAME PRECISION: a trainer on the GPU against one on the CPU, where both must come to about the same.
agree() {
    set -- "$1" "$2" $(bounds "$3")
    gpu=$1 cpu=$2
    train "$cpu" "$cpu.cpu0" cpu 0 --seed $seed --overwrite &&
        train "$cpu" "$cpu.cpu" cpu 5 --seed $seed --log-every 1 --overwrite &&
        train "$gpu" "$gpu.cuda" cuda 5 --seed $seed --log-every 1 --overwrite || return
    for file in cpu0 cpu; do mv "$(one "$work/$cpu.$file" checkpoint.safetensors)" "$work/$file" || return; done
    mv "$(one "$work/$gpu.cuda" checkpoint.safetensors)" "$work/cuda" || return
    compare parameters "$work/cpu" "$work/cuda" "$work/cpu0" "$3" >"$work/said" 2>&1
    status=$?
    parameters=$(cat "$work/said")
    compare metrics "$(one "$work/$cpu.cpu" metrics.jsonl)" "$(one "$work/$gpu.cuda" metrics.jsonl)" "$4" "$5" \
        >"$work/said" 2>&1 || status=1
    echo "$parameters; $(cat "$work/said")"
    return $status
}

# fifty NAME CPU_NAME PRECISION: 50 steps, their losses.
fifty() {
    set -- "$1" "$2" $(bounds "$3")
    train "$2" "$2.cpu50" cpu 50 --seed $seed --log-every 10 --overwrite &&
        train "$1" "$1.cuda50" cuda 50 --seed $seed --log-every 10 --overwrite || return
    compare metrics "$(one "$work/$2.cpu50" metrics.jsonl)" "$(one "$work/$1.cuda50" metrics.jsonl)" "$6" 1
}

# evaluation NAME CPU_NAME PRECISION: the GPU's checkpoint of 50 steps evaluated on both, at long sequences too.
evaluation() {
    set -- "$1" "$2" $(bounds "$3")
    checkpoint=$(one "$work/$1.cuda50" checkpoint.safetensors)
    for where in cpu cuda; do
        evaluator=$([ $where = cpu ] && echo "$2" || echo "$1")
        rm -rf "$work/$1.eval.$where"
        timeout "$(at_most 60)" "$(trainer_of "$evaluator")" eval --checkpoint "$checkpoint" --device $where \
            --lengths 1,41,200,500 --examples 16 --out "$work/$1.eval.$where" 2>&1 || return
    done
    compare eval "$work/$1.eval.cpu/eval.jsonl" "$work/$1.eval.cuda/eval.jsonl" "$7" "$8"
}

# logits NAME ENCODING PRECISION: on the GPU, against those of the CPU that prepare.sh stored.
logits() {
    encoding=$2 trainer=$(trainer_of "$1") task=${1%%_*}
    set -- $(bounds "$3")
    bound=$7
    : >"$work/cpu.jsonl"
    : >"$work/cuda.jsonl"
    for inputs in "$base/peers/$encoding.$task"_*.inputs.jsonl; do
        cat "${inputs%.inputs.jsonl}.logits.jsonl" >>"$work/cpu.jsonl" || return
        timeout "$(at_most 60)" "$trainer" predict --device cuda --checkpoint "$base/peers/$encoding.safetensors" \
            <"$inputs" >>"$work/cuda.jsonl" || return
    done
    compare logits "$work/cpu.jsonl" "$work/cuda.jsonl" "$bound"
}

gradients() { timeout "$(at_most 60)" "$(trainer_of "$1")" gradcheck --device cuda; }

part_checks() {
    for id in $(names showcase); do
        check "$id, 5 steps" agree "$id" "$id" float32
        check "$id, 50 steps" fifty "$id" "$id" float32 &&
            check "$id, evaluation" evaluation "$id" "$id" float32
    done
    [ -f "$base/manifest" ] || return
    while read -r kind name encoding precision lengths; do
        cpu=${name%_*}_float32
        case $kind in
            double) check "$name, 5 steps" agree "$name" "$name" float64
                "$(trainer_of "$name")" gradcheck --help 2>&1 | grep -q -e --device &&
                    check "$name, gradients" gradients "$name" ;;
            rates) check "$name, logits" logits "$name" "$encoding" "$precision"
                [ "$precision" = float32 ] || check "$name, 5 steps" agree "$name" "$cpu" "$precision"
                case $name in
                    reverse_rand_relative_tf32 | reverse_rand_relative_bf16 | parity_sinusoid_tf32)
                        check "$name, 50 steps" fifty "$name" "$cpu" "$precision" &&
                            check "$name, evaluation" evaluation "$name" "$cpu" "$precision" ;;
                esac ;;
        esac
    done <"$base/manifest"
}

# --- bits: a GPU against itself -----------------------------------------------------------------------------------

# Folders of one run: FOLDER SEED.
run_of() { find "$work/$1" -type d -name "lr*-seed$2" | head -n 1; }

again() {
    for name in first second; do train "$1" "bits.$name" cuda 60 --seed 2 --log-every 7 --overwrite || return; done
    compare bits "$(run_of bits.first 2)" "$(run_of bits.second 2)"
}

# Eight side by side, two of them as a pair, and one with the same variant: the same bits.
side_by_side() {
    train "$1" bits.eight cuda 60 --seeds 0:7 --log-every 7 --overwrite &&
        train "$1" bits.two cuda 60 --seeds 2:3 --log-every 7 --overwrite &&
        train "$1" bits.one cuda 60 --seeds 3:3 --log-every 7 --overwrite &&
        compare bits "$(run_of bits.eight 2)" "$(run_of bits.two 2)" &&
        compare bits "$(run_of bits.eight 3)" "$(run_of bits.two 3)" &&
        compare bits "$(run_of bits.eight 3)" "$(run_of bits.one 3)"
}

resumed() {
    train "$1" bits.whole cuda 2000 --seed 4 --log-every 30 --overwrite &&
        train "$1" bits.half cuda 1000 --seed 4 --log-every 30 --overwrite &&
        train "$1" bits.half cuda 2000 --seed 4 --log-every 30 --resume &&
        compare bits "$(run_of bits.whole 4)" "$(run_of bits.half 4)"
}

# Killed once its first checkpoint is there, then resumed: against the run in one piece of `resumed`.
killed() {
    "$(trainer_of "$1")" train --device cuda --steps 2000 --seed 4 --log-every 30 --checkpoint-every 50 --no-eval \
        --out "$work/bits.killed" 2>/dev/null &
    victim=$! tries=0
    while [ -z "$(one "$work/bits.killed" checkpoint.safetensors 2>/dev/null)" ] && [ $tries -lt 2000 ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    kill -9 $victim || { echo "it was done before it could be killed" && return 1; }
    wait $victim
    train "$1" bits.killed cuda 2000 --seed 4 --log-every 30 --resume &&
        compare bits "$(run_of bits.whole 4)" "$(run_of bits.killed 4)"
}

part_bits() {
    for id in $(names showcase); do
        check "$id, again" again "$id"
        check "$id, side by side" side_by_side "$id"
    done
    id=$(names showcase | tail -n 1)
    [ -n "$id" ] || return
    check "$id, resumed" resumed "$id" && check "$id, killed" killed "$id"
}

# --- rates, peaks, profile, peers ---------------------------------------------------------------------------------

# bench_one NAME ENCODING PRECISION LENGTHS REPLICAS: lines of rates.jsonl, also those before it failed.
bench_one() {
    models=$([ "$5" -eq 1 ] || echo "--replicas $5")
    # shellcheck disable=SC2086
    timeout "$(at_most 60)" "$(trainer_of "$1")" bench --device cuda --json --seconds 0.3 --lengths "$4" $models \
        >"$work/bench"
    status=$?
    sed "s/^{/{\"name\":\"$1\",\"encoding\":\"$2\",\"precision\":\"$3\",/; s/\"replicas\":0/\"replicas\":1/" \
        "$work/bench" >>"$work/parts/rates.jsonl"
    grep '"mode":"train"' "$work/bench" |
        sed 's/.*"tokens":\([0-9]*\).*"steps_per_second":\([0-9]*\).*/T=\1: \2 steps\/s/' | tr '\n' ' '
    return $status
}

part_rates() {
    [ -f "$base/manifest" ] || { record rates null "$UNPREPARED" && return; }
    while read -r kind name encoding precision lengths; do
        [ "$kind" = rates ] || continue
        for models in 1 $replicas; do
            check "$name, rate of $models" bench_one "$name" "$encoding" "$precision" "$lengths" "$models"
        done
    done <"$base/manifest"
}

part_peaks() {
    timeout "$(at_most 60)" "$PYTHON" tests/device/peaks.py >"$work/parts/peaks.jsonl" 2>>"$log" ||
        record peaks null "PyTorch could not measure them; see log.txt"
    say "peaks: $(wc -l <"$work/parts/peaks.jsonl") measured"
}

# The long kernel of one step of a model alone and of thirty; one launch each. The clocks are left as they are.
part_profile() {
    ncu=$(command -v ncu) || { say "profile: Nsight Compute is not installed" && return; }
    name=parity_sinusoid_tf32
    [ -x "$(trainer_of $name)" ] || return
    for models in "" "--replicas $replicas"; do
        # shellcheck disable=SC2086
        timeout "$(at_most 45)" "$ncu" --clock-control none --kernel-name regex:train --launch-skip 2 --launch-count 1 \
            --csv --metrics "gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,\
sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active,sm__warps_active.avg.pct_of_peak_sustained_active,\
smsp__issue_active.avg.pct_of_peak_sustained_active,lts__t_bytes.avg.pct_of_peak_sustained_elapsed,dram__bytes.sum,\
launch__registers_per_thread,launch__grid_size" \
            "$(trainer_of $name)" bench --device cuda --seconds 0.05 --lengths 20 $models >"$work/ncu.csv" 2>>"$log" ||
            { say "profile: $(tail -n 1 "$log")" && continue; }
        sed 's/^"//; s/"$//; s/","/\t/g' "$work/ncu.csv" | awk -F '\t' -v models="${models:-one model}" '
            $1 == "ID" { for (i = 1; i <= NF; i++) at[$i] = i; next }
            NF > 5 && ("Metric Name" in at) {
                printf "{\"name\":\"%s, %s\",\"value\":\"%s %s\"}\n", models, $at["Metric Name"], $at["Metric Value"],
                    $at["Metric Unit"]
            }' >>"$work/parts/profile.jsonl"
    done
}

# peer NAME SCRIPT SECONDS: a framework's lines go to the cache.
peer() {
    "$PYTHON" -c "import $1" 2>/dev/null || { record "peer $1" null "not installed" && return; }
    [ "$3" -gt 15 ] || { record "peer $1" null "no time left" && return; }
    # shellcheck disable=SC2086
    timeout "$3" "$PYTHON" "tests/peers/$2" --reference "$base/peers" --out "$cache" --limit $(($3 - 10)) $fresh \
        $peer_flags >"$work/$1.out" 2>"$work/$1.log"
    status=$?
    cat "$work/$1.out" "$work/$1.log" >>"$log"
    checks=$(grep -c ' logits ' "$work/$1.log")
    case $status in
        0 | 124) record "peer $1" true "$checks checks of logits; $(tail -n 1 "$work/$1.log")" ;;
        *) record "peer $1" false "$(grep -e expected -e 'not finite' -e rror "$work/$1.log" | tail -n 1)" ;;
    esac
}

part_peers() {
    [ -d "$base/peers" ] || { record peers null "$UNPREPARED" && return; }
    peer jax jax_gpu.py $(($(left) * 45 / 100))
    save
    peer torch pytorch_gpu.py "$(left)"
}

# --- All of it ----------------------------------------------------------------------------------------------------

say "$device, driver $driver, toolkit ${toolkit:-none}"
: >"$work/parts/checks.jsonl"
case $parts in
    *checks* | *bits* | *rates* | *profile*) build ;;
esac || parts=$(echo "$parts" | sed 's/checks//; s/bits//; s/rates//; s/profile//')
save
for part in $PARTS; do
    wants $part || continue
    if [ "$(left)" -le 0 ]; then
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
