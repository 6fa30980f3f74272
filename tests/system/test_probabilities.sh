# Attention's probabilities are cached for the backward pass or recomputed there, with the same bits.

. tests/system/common.sh

# Prints a spec: ENCODING MODEL.
print_spec() {
    cat <<END
return {
  task = { kind = "parity_check" },
  encoding = { $1 },
  model = { use = "$2", layers = 2, heads = 2, width = 16, feedforward = 32 },
  train = { use = "ruoss", lengths = { list = { 20, 380 } }, batch = 4, log_every = 1 },
  eval = { use = "ruoss" },
}
END
}

# Prints the tensors of a checkpoint, the bytes after its header, whose length is the first eight bytes: FILE.
print_tensors() {
    tail -c "+$(($(od -A n -t d8 -N 8 "$1") + 9))" "$1"
}

# Prints checksums of the tensors after six steps of batches of either length, on one thread and on two:
# NAME [--set FIELD=VALUE].
train_and_sum() {
    name=$1
    shift
    ./longhand build "$work/spec.lua" --levels best --out "$work/$name" "$@" >/dev/null || return
    for threads in 1 2; do
        rm -rf "$work/runs"
        "$work/$name/trainer" train --out "$work/runs" --steps 6 --no-eval --threads $threads >/dev/null &&
            print_tensors "$(echo "$work"/runs/*/*/*/checkpoint.safetensors)" | cksum || return
    done
    cat "$work"/runs/*/*/*/metrics.jsonl >&2
}

# Compares a trainer that always caches probabilities with one that follows the plan, which does not cache them at the
# longer length: ENCODING MODEL.
keeps_bits() {
    print_spec "$1" "$2" >"$work/spec.lua"
    ./longhand plan "$work/spec.lua" | grep -q 'attention  *kept up to 362 tokens' || return
    train_and_sum kept --set train.keep_probabilities=true >"$work/bits" &&
        train_and_sum planned >>"$work/bits" || return
    grep -q SAVED_PAIRS "$work/planned/src/step.c" && ! grep -q SAVED_PAIRS "$work/kept/src/step.c" || return
    cat "$work/bits"
    [ "$(sort -u "$work/bits" | wc -l)" -eq 1 ]
}

# Compares the sums of the last keeps_bits with those of a trainer that always recomputes probabilities.
keeps_bits_of_recomputed() {
    cp "$work/bits" "$work/bits.kept" && train_and_sum recomputed --set train.keep_probabilities=false >"$work/bits" &&
        ! grep -q SAVED_PAIRS "$work/recomputed/src/step.c" &&
        sort -u "$work/bits" "$work/bits.kept" | wc -l | grep -qx 1
}

expect encoder_keeps_bits keeps_bits 'kind = "none"' ruoss_encoder
expect encoder_keeps_bits_of_recomputed keeps_bits_of_recomputed
expect decoder_with_learned_scores_keeps_bits keeps_bits 'kind = "alibi_learned"' ruoss_decoder
expect vectors_of_sampled_differences_keep_bits keeps_bits \
    'kind = "relative", positions = { kind = "randomized", max_position = 512, reading = "difference" }' ruoss_encoder
expect dropped_probabilities_are_cached ends_with 1 'expected: true, or no such field' ./longhand plan \
    tests/specs/parity_none.lua --set model.attention_dropout=0.1 --set train.keep_probabilities=false

finish
