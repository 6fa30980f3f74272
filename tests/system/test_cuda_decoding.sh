# Greedy decoding with cached keys and values on an emulated device: the answers of the CPU, one model or several side by
# side, with few or many launches.

. tests/system/common.sh

SPEC=emulated_decoder # float64: the CPU and the device choose the same answers
trainer=$work/out/trainer
library=build/release/emulation/$SPEC.so

toolkit=$(sh runtime/cuda/toolkit.sh --root "" --arch sm_90 --least 75 2>/dev/null)
if [ -z "$toolkit" ]; then
    echo "skip cuda_decoding: there is no CUDA toolkit to compile device code with"
    exit 0
fi
if ! printf '#include <functional>\nint main() { return 0; }\n' | ${CXX:-g++} -std=c++17 -x c++ -o "$work/probe" - 2>/dev/null; then
    echo "skip cuda_decoding: ${CXX:-g++} does not compile C++"
    exit 0
fi

builds() {
    ./longhand gen tests/specs/$SPEC.lua --out build/tests/specs/$SPEC >/dev/null && make -s "$library" LEVELS=best &&
        ./longhand build tests/specs/$SPEC.lua --set train.batch=6 --set 'train.lengths={6,7}' --set eval.examples=8 \
            --set 'eval.lengths={6,9,step=3}' --target cpu,cuda --arch sm_90 --levels best --out "$work/out"
}

# train DIR EMULATION FLAGS: trains two steps on the device, and evaluates.
train() {
    directory=$1 emulation=$2
    shift 2
    LONGHAND_CUDA_DRIVER=$root/$library LONGHAND_EMULATION=$emulation "$trainer" train --out "$work/$directory" \
        --steps 2 --device cuda "$@"
}

run_of() { echo "$work/$1"/*/*/lr*-seed"$2"; }

# evaluate DEVICE RUN: own answers of 30 sequences of each length; all wrong answers are written.
evaluate() {
    LONGHAND_CUDA_DRIVER=$root/$library "$trainer" eval --device "$1" --checkpoint "$2/checkpoint.safetensors" \
        --lengths 3,9,14 --examples 30 --out "$work/eval.$1" --wrong "$work/wrong.$1" >/dev/null
}

answers_of_the_cpu() {
    train alone '' --seed 4 && evaluate cpu "$(run_of alone 4)" && evaluate cuda "$(run_of alone 4)" || return
    [ "$(wc -l <"$work/wrong.cpu")" -ge 20 ] && cmp "$work/wrong.cpu" "$work/wrong.cuda"
}

side_by_side_as_alone() {
    train one '' --seeds 4:4 && train fleet order=2,multiprocessors=2 --seeds 3:5 || return
    grep -q '"decoding":"greedy"' "$(run_of one 4)/eval.jsonl" && cmp "$(run_of one 4)/eval.jsonl" \
        "$(run_of fleet 4)/eval.jsonl"
}

expect cuda_decoding_builds builds
if [ "$failures" -eq 0 ]; then
    expect cuda_decoding_answers_of_the_cpu answers_of_the_cpu
    expect cuda_decoding_side_by_side_as_alone side_by_side_as_alone
fi
finish
