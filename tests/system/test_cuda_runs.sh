# Trainers with a CUDA half over the emulated driver: they have the numbers of the CPU, and the same bits with any other
# replicas, with any number of multiprocessors and after a resume. Either device evaluates a checkpoint of the other,
# but does not train it further.

. tests/system/common.sh

SPEC=emulated_rand_rope # float64: results of the CPU and of the device agree to all but the last digits
STEPS=3
. tests/system/emulated.sh

has_the_numbers_of_the_cpu() {
    train cpu --seed 3 --threads 1 && train_on_device chip '' --seed 3 &&
        have_equal_numbers "$(find_run cpu 3)/metrics.jsonl" "$(find_run chip 3)/metrics.jsonl" 12
}

keeps_bits_on_any_device() {
    train_on_device chip3 order=3,multiprocessors=3 --seed 3 --threads 2 &&
        train_on_device chip1 order=1,multiprocessors=1 --seed 3 || return
    for run in chip3 chip1; do cmp "$(find_checkpoint chip 3)" "$(find_checkpoint $run 3)" || return; done
}

keeps_bits_of_replicas() {
    train_on_device alone '' --seeds 4:4 &&
        train_on_device fleet order=2,multiprocessors=2 --seeds 3:5 2>"$work/output" || return
    cat "$work/output"
    grep -q '3 replicas in 2 rounds of 2, each on one of 2 resident blocks' "$work/output" || return
    cmp "$(find_checkpoint alone 4)" "$(find_checkpoint fleet 4)"
}

continues_to_same_bits() {
    train_on_device parts '' --seeds 4:5 --steps 2 &&
        train_on_device parts multiprocessors=6 --seeds 3:5 --resume || return
    for seed in 3 4 5; do
        cmp "$(find_checkpoint fleet $seed)" "$(find_checkpoint parts $seed)" || return
    done
}

evaluates_on_cpu_and_gpu() {
    for device in cpu cuda; do
        emulate '' "$trainer" eval --device $device --checkpoint "$(find_checkpoint fleet 4)" \
            --lengths 5,23 --examples 9 --draws 2 --out "$work/eval.$device" \
            --per-example "$work/each.$device" || return
    done
    have_equal_numbers "$work/each.cpu" "$work/each.cuda" 12 &&
        have_equal_numbers "$work/eval.cpu/eval.jsonl" "$work/eval.cuda/eval.jsonl" 12
}

predicts_the_same() {
    for device in cpu cuda; do
        echo '{"input":[1,4,0,2],"positions":[3,1,7,9,11,12,13,20]}' |
            emulate '' "$trainer" predict --device $device --checkpoint "$(find_checkpoint cpu 3)" \
                >"$work/logits.$device" || return
    done
    have_equal_numbers "$work/logits.cpu" "$work/logits.cuda" 12
}

refuses_the_other_device() {
    ends_with 1 'cannot resume from this file: its source_digest is' train chip --seed 3 --steps 9 --resume &&
        ends_with 1 'cannot resume from this file: its level is "sm_90 replicas", expected "sm_90 chip"' \
            train_on_device fleet '' --seed 3 --steps 9 --resume
}

# A bundle lists its requirements, reports a missing driver, and trains elsewhere to the bits of replicas. The cell has
# the spec's name, because names of kernels contain it.
trains_from_a_bundle() {
    cp tests/specs/$SPEC.lua "$work" || return
    cat >"$work/bundled.lua" <<END
return {
  title = "bundled",
  base = { use = "./$SPEC.lua", train = { batch = 12, steps = $STEPS }, eval = { lengths = { 3, 4 }, examples = 2 } },
  axes = { { name = "spec", values = { { name = "$SPEC", spec = {} } } } },
  seeds = { 4, 5 },
}
END
    ends_with 0 '1 cell, 2 runs' ./longhand bundle "$work/bundled.lua" --device cuda --arch sm_90 --levels best \
        --out "$work/bundled.tar.gz" && tar xzf "$work/bundled.tar.gz" -C "$work" &&
        grep -qE "glibc [0-9.]+ or later, an NVIDIA driver .* \(CUDA [0-9]+\.0\)$" "$work/bundled/needs.txt" || return
    ends_with 4 'no CUDA driver on this machine' env LONGHAND_CUDA_DRIVER=/none sh "$work/bundled/run.sh" &&
        ends_with 0 '2 of 2 runs done' emulate '' sh "$work/bundled/run.sh" &&
        cmp "$(find_checkpoint fleet 4)" "$(find_checkpoint bundled/runs 4)"
}

# An emulated step of 128 sequences takes a second, so batches are small.
expect cuda_runs_builds build_both --set train.batch=12
if [ "$failures" -eq 0 ]; then
    expect_each cuda_runs_ has_the_numbers_of_the_cpu keeps_bits_on_any_device keeps_bits_of_replicas \
        continues_to_same_bits evaluates_on_cpu_and_gpu predicts_the_same refuses_the_other_device \
        trains_from_a_bundle
fi
finish
