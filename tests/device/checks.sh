# The parts checks and bits of tests/device/run.sh, which sources this file.

# --- checks: the CPU against the GPU ------------------------------------------------------------------------------

# print_bounds PRECISION: prints the bounds of parameters after 5 steps, of losses and norms of these steps, of losses
# of 50 steps, of losses and accuracies of evaluations, and of logits. float32: two instruction-set levels of the CPU,
# which differ in rounding alone, gave 4e-4, 6e-6, 7e-5, 2e-3, 5e-7, 0 and 1e-6: Adam turns the sign of a gradient near
# zero into a step of full size, and 50 steps amplify it about a thousandfold. tf32 and bf16: a CPU trainer with
# products rounded to these formats gave 0.15 and 0.4 after 5 steps, and losses within 3e-4 and 1e-3. float64: the
# values of float32 divided by 1e9, with a margin.
print_bounds() {
    case $1 in
        float64) echo 1e-8 1e-11 1e-10 1e-6 1e-12 0.001 1e-12 ;;
        float32 | float32_warps) echo 5e-3 1e-4 1e-3 2e-2 1e-5 0.002 1e-5 ;;
        tf32 | tf32_warps) echo 0.4 3e-3 3e-2 5e-2 5e-3 0.02 5e-3 ;;
        bf16) echo 0.8 2e-2 0.2 0.1 3e-2 0.05 3e-2 ;;
    esac
}

# compare_five_steps NAME CPU_NAME PRECISION: compares five steps of a trainer on the GPU with those of one on the CPU.
compare_five_steps() {
    set -- "$1" "$2" $(print_bounds "$3")
    gpu=$1 cpu=$2
    train "$cpu" "$cpu.cpu0" cpu 0 --seed $seed --overwrite &&
        train "$cpu" "$cpu.cpu" cpu 5 --seed $seed --log-every 1 --overwrite &&
        train "$gpu" "$gpu.cuda" cuda 5 --seed $seed --log-every 1 --overwrite || return
    for file in cpu0 cpu; do mv "$(find_file "$work/$cpu.$file" checkpoint.safetensors)" "$work/$file" || return; done
    mv "$(find_file "$work/$gpu.cuda" checkpoint.safetensors)" "$work/cuda" || return
    compare parameters "$work/cpu" "$work/cuda" "$work/cpu0" "$3" >"$work/output" 2>&1
    status=$?
    parameters=$(cat "$work/output")
    compare metrics "$(find_file "$work/$cpu.cpu" metrics.jsonl)" "$(find_file "$work/$gpu.cuda" metrics.jsonl)" \
        "$4" "$5" >"$work/output" 2>&1 || status=1
    echo "$parameters; $(cat "$work/output")"
    return $status
}

# compare_fifty_steps NAME CPU_NAME PRECISION: compares the losses of 50 steps.
compare_fifty_steps() {
    set -- "$1" "$2" $(print_bounds "$3")
    train "$2" "$2.cpu50" cpu 50 --seed $seed --log-every 10 --overwrite &&
        train "$1" "$1.cuda50" cuda 50 --seed $seed --log-every 10 --overwrite || return
    compare metrics "$(find_file "$work/$2.cpu50" metrics.jsonl)" "$(find_file "$work/$1.cuda50" metrics.jsonl)" "$6" 1
}

# compare_evaluations NAME CPU_NAME PRECISION: evaluates the GPU's checkpoint of 50 steps on both, also on long
# sequences.
compare_evaluations() {
    set -- "$1" "$2" $(print_bounds "$3")
    checkpoint=$(find_file "$work/$1.cuda50" checkpoint.safetensors)
    for where in cpu cuda; do
        evaluator=$([ $where = cpu ] && echo "$2" || echo "$1")
        rm -rf "$work/$1.eval.$where"
        timeout "$(at_most 60)" "$(get_trainer "$evaluator")" eval --checkpoint "$checkpoint" --device $where \
            --lengths 1,41,200,500 --examples 16 --out "$work/$1.eval.$where" 2>&1 || return
    done
    compare eval "$work/$1.eval.cpu/eval.jsonl" "$work/$1.eval.cuda/eval.jsonl" "$7" "$8"
}

# compare_logits NAME ENCODING PRECISION: compares logits of the GPU with those of the CPU that prepare.sh stored.
compare_logits() {
    encoding=$2 trainer=$(get_trainer "$1") task=${1%%_*}
    set -- $(print_bounds "$3")
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

# check_gradients NAME: compares the device's gradients of a float64 model with differences of its own losses.
check_gradients() { timeout "$(at_most 60)" "$(get_trainer "$1")" gradcheck --device cuda; }

# Whether a wide model finds cuBLASLt, by one step. Without the library its checks are skipped by name.
finds_library() {
    train "$1" try cuda 1 --seed $seed --overwrite && echo "it does" && return
    status=$?
    ! grep -q 'no cuBLASLt' "$work/try.log" || status=77
    return $status
}

# check_wide NAME CPU_NAME PRECISION: runs all checks of a wide model.
check_wide() {
    check "$1, cuBLASLt" finds_library "$1" && check "$1, 5 steps" compare_five_steps "$@" || return
    if [ "$3" = float64 ]; then
        check "$1, gradients" check_gradients "$1"
    else
        check "$1, 50 steps" compare_fifty_steps "$@" && check "$1, evaluation" compare_evaluations "$@"
    fi
}

part_checks() {
    for id in $(list_trainers showcase); do
        check "$id, 5 steps" compare_five_steps "$id" "$id" float32
        check "$id, 50 steps" compare_fifty_steps "$id" "$id" float32 &&
            check "$id, evaluation" compare_evaluations "$id" "$id" float32
    done
    [ -f "$base/manifest" ] || return
    while read -r kind name encoding precision lengths; do
        cpu=${name%_warps}
        cpu=${cpu%_*}_float32
        case $kind in
            double) check "$name, 5 steps" compare_five_steps "$name" "$name" float64
                check "$name, gradients" check_gradients "$name" ;;
            wide) [ "$precision" != float64 ] || cpu=$name
                check_wide "$name" "$cpu" "$precision" ;;
            rates) check "$name, logits" compare_logits "$name" "$encoding" "$precision"
                [ "$precision" = float32 ] || check "$name, 5 steps" compare_five_steps "$name" "$cpu" "$precision"
                case $name in
                    reverse_rand_relative_tf32 | reverse_rand_relative_bf16 | parity_sinusoid_tf32)
                        check "$name, 50 steps" compare_fifty_steps "$name" "$cpu" "$precision" &&
                            check "$name, evaluation" compare_evaluations "$name" "$cpu" "$precision" ;;
                esac ;;
        esac
    done <"$base/manifest"
}

# --- bits: a GPU against itself -----------------------------------------------------------------------------------

# Prints the folder of one run: FOLDER SEED.
find_run() { find "$work/$1" -type d -name "lr*-seed$2" | head -n 1; }

compare_repeated() {
    for name in first second; do train "$1" "bits.$name" cuda 60 --seed 2 --log-every 7 --overwrite || return; done
    compare bits "$(find_run bits.first 2)" "$(find_run bits.second 2)"
}

# Trains eight runs side by side, two of them as a pair, and one alone by --seeds: their bits do not depend on it.
compare_side_by_side() {
    train "$1" bits.eight cuda 60 --seeds 0:7 --log-every 7 --overwrite &&
        train "$1" bits.two cuda 60 --seeds 2:3 --log-every 7 --overwrite &&
        train "$1" bits.one cuda 60 --seeds 3:3 --log-every 7 --overwrite &&
        compare bits "$(find_run bits.eight 2)" "$(find_run bits.two 2)" &&
        compare bits "$(find_run bits.eight 3)" "$(find_run bits.two 3)" &&
        compare bits "$(find_run bits.eight 3)" "$(find_run bits.one 3)"
}

# compare_resumed NAME STEPS: trains STEPS and STEPS more, and compares the result with that of one training.
compare_resumed() {
    train "$1" bits.whole cuda $((2 * $2)) --seed 4 --log-every 30 --overwrite &&
        train "$1" bits.half cuda "$2" --seed 4 --log-every 30 --overwrite &&
        train "$1" bits.half cuda $((2 * $2)) --seed 4 --log-every 30 --resume &&
        compare bits "$(find_run bits.whole 4)" "$(find_run bits.half 4)"
}

# Kills a training after its first checkpoint, resumes it, and compares it with the uninterrupted training of
# compare_resumed.
compare_killed() {
    "$(get_trainer "$1")" train --device cuda --steps 2000 --seed 4 --log-every 30 --checkpoint-every 50 --no-eval \
        --out "$work/bits.killed" 2>/dev/null &
    victim=$! tries=0
    while [ -z "$(find_file "$work/bits.killed" checkpoint.safetensors 2>/dev/null)" ] && [ $tries -lt 2000 ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    kill -9 $victim || { echo "it was done before it could be killed" && return 1; }
    wait $victim
    train "$1" bits.killed cuda 2000 --seed 4 --log-every 30 --resume &&
        compare bits "$(find_run bits.whole 4)" "$(find_run bits.killed 4)"
}

part_bits() {
    for id in $(list_trainers showcase); do
        check "$id, again" compare_repeated "$id"
        check "$id, side by side" compare_side_by_side "$id"
    done
    for id in $(list_trainers wide | head -n 1); do
        check "$id, cuBLASLt" finds_library "$id" || continue
        check "$id, again" compare_repeated "$id"
        check "$id, side by side" compare_side_by_side "$id"
        check "$id, resumed" compare_resumed "$id" 30
    done
    id=$(list_trainers showcase | tail -n 1)
    [ -n "$id" ] || return
    check "$id, resumed" compare_resumed "$id" 1000 && check "$id, killed" compare_killed "$id"
}
