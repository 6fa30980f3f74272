# Trainers of a wide model over the emulated driver and an emulated cuBLASLt: they have the numbers of the CPU, and the
# same bits with any other replicas, any number of multiprocessors and after a resume; messages without cuBLASLt.

. tests/system/common.sh

SPEC=emulated_wide_rand_rope # float64: results of the CPU and of the device agree to all but the last digits
STEPS=4
. tests/system/emulated.sh

# A thread's part of a head fits in its registers, so compilers report no spills; compiled by the rule of make cuda-all.
fits_registers() {
    ./longhand gen tests/specs/$SPEC.lua --target cpu,cuda --set precision=float32 --out build/cuda/specs/$SPEC \
        >/dev/null || return
    words=$(echo "$toolkit" | cut -d ' ' -f 1-3)
    for architecture in sm_80 sm_90; do
        goal=build/cuda/$(echo "$words" | cut -d ' ' -f 1,2 | tr ' ' -)/$SPEC.$architecture
        make -s "$goal" TOOLKIT="$words" && grep -q 'bytes spill stores' "$goal.log" || return
        ! grep -E '[1-9][0-9]* bytes spill (stores|loads)' "$goal.log" || return
    done
}

has_the_numbers_of_the_cpu() {
    train cpu --seed 3 --threads 1 && train_on_device chip '' --seed 3 2>"$work/output" || return
    cat "$work/output"
    grep -q 'one model on 4 of 4 resident blocks, products by cuBLASLt 13.1.0' "$work/output" || return
    have_equal_numbers "$(find_run cpu 3)/metrics.jsonl" "$(find_run chip 3)/metrics.jsonl" 12
}

# Compares the tensors of two checkpoints, but not the algorithms of cuBLASLt, which depend on the device: FILE FILE.
have_equal_tensors() {
    for file in "$1" "$2"; do ${LUA:-lua5.4} tests/bits/tensors.lua "$file" >"$file.tensors" || return; done
    cmp "$1.tensors" "$2.tensors"
}

# plain_products: the emulated cuBLASLt adds no biases to products.
keeps_bits_on_any_device() {
    train_on_device chip3 order=3,multiprocessors=3 --seed 3 --threads 2 &&
        train_on_device chip1 order=1,multiprocessors=1,plain_products=1 --seed 3 || return
    for run in chip3 chip1; do have_equal_tensors "$(find_checkpoint chip 3)" "$(find_checkpoint $run 3)" ||
        return; done
}

keeps_bits_of_replicas() {
    train_on_device alone '' --seeds 4:4 &&
        train_on_device fleet order=2,multiprocessors=2 --seeds 3:5 2>"$work/output" || return
    cat "$work/output"
    grep -q '3 replicas, one after the other, on 2 of 2 resident blocks' "$work/output" || return
    have_equal_tensors "$(find_checkpoint alone 4)" "$(find_checkpoint fleet 4)"
}

continues_to_same_bits() {
    train_on_device parts '' --seeds 4:5 --steps 2 &&
        ends_with 1 'on 6 multiprocessors, algorithms' train_on_device parts multiprocessors=6 --seeds 4:5 --resume &&
        grep -q 'on 4 multiprocessors, algorithms' "$work/.out" &&
        train_on_device parts '' --seeds 3:5 --resume || return
    for seed in 3 4 5; do
        have_equal_tensors "$(find_checkpoint fleet $seed)" "$(find_checkpoint parts $seed)" || return
    done
}

evaluates_on_cpu_and_gpu() {
    for device in cpu cuda; do
        emulate '' "$trainer" eval --device $device \
            --checkpoint "$(find_checkpoint fleet 4)" --lengths 5,23 --examples 9 --draws 2 --out "$work/eval.$device" \
            --per-example "$work/each.$device" || return
    done
    have_equal_numbers "$work/each.cpu" "$work/each.cuda" 12 &&
        have_equal_numbers "$work/eval.cpu/eval.jsonl" "$work/eval.cuda/eval.jsonl" 12
}

reports_a_missing_library() {
    ends_with 4 'no cuBLASLt for the products of a model as wide as this one; looked in: ' env \
        LONGHAND_CUDA_DRIVER="$library" LONGHAND_CUDA_ROOT="$work/nowhere" \
        "$trainer" train --out "$work/none" --device cuda --steps 1 &&
        ends_with 4 'has no function cublasLtGetVersion' env LONGHAND_CUDA_DRIVER="$library" \
            LONGHAND_CUBLASLT="$work/other.so" "$trainer" train --out "$work/none" --device cuda --steps 1
}

# An emulated step is slow, so batches are small and sequences short.
expect cuda_wide_builds build_both --set train.batch=6 --set 'train.lengths={1,8}'
printf 'int nothing;\n' | ${CC:-cc} -shared -fPIC -x c -o "$work/other.so" -
if [ "$failures" -eq 0 ]; then
    expect_each cuda_wide_ fits_registers has_the_numbers_of_the_cpu keeps_bits_on_any_device keeps_bits_of_replicas \
        continues_to_same_bits evaluates_on_cpu_and_gpu reports_a_missing_library
fi
finish
