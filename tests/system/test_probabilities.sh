# Attention's probabilities are cached for the backward pass or recomputed there, with the same bits.

. tests/system/common.sh

spec() {
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

# Prints a checkpoint's tensors: the bytes after its header, whose length is in its first eight bytes.
tensors() {
    tail -c "+$(($(od -A n -t d8 -N 8 "$1") + 9))" "$1"
}

# Prints the tensors after six steps of batches of either length, on one thread and on two: NAME [--set ...].
trained() {
    name=$1
    shift
    ./longhand gen "$work/spec.lua" --out "$work/$name" "$@" >/dev/null &&
        make -s -j2 trainer LEVELS=best ID=spec SOURCES="$work/$name" OUT="$work/$name.out" || return
    for threads in 1 2; do
        rm -rf "$work/runs"
        "$work/$name.out/trainer" train --out "$work/runs" --steps 6 --no-eval --threads $threads >/dev/null &&
            tensors "$(echo "$work"/runs/*/*/*/checkpoint.safetensors)" | cksum || return
    done
    cat "$work"/runs/*/*/*/metrics.jsonl >&2
}

# Trains with probabilities that are always cached, and as the plan decides, which does not cache them at the longer
# length: ENCODING MODEL.
same_bits() {
    spec "$1" "$2" >"$work/spec.lua"
    ./longhand plan "$work/spec.lua" | grep -q 'attention  *kept up to 362 tokens' || return
    trained kept --set train.keep_probabilities=true >"$work/bits" && trained planned >>"$work/bits" || return
    grep -q KEPT_PAIRS "$work/planned/step.c" && ! grep -q KEPT_PAIRS "$work/kept/step.c" || return
    cat "$work/bits"
    [ "$(sort -u "$work/bits" | wc -l)" -eq 1 ]
}

# Trains with probabilities that are always recomputed.
made_again_same_bits() {
    cp "$work/bits" "$work/bits.kept" && trained made --set train.keep_probabilities=false >"$work/bits" &&
        ! grep -q KEPT_PAIRS "$work/made/step.c" && sort -u "$work/bits" "$work/bits.kept" | wc -l | grep -qx 1
}

expect encoder_same_bits same_bits 'kind = "none"' ruoss_encoder
expect encoder_made_again_same_bits made_again_same_bits
expect decoder_with_learned_scores_same_bits same_bits 'kind = "alibi_learned"' ruoss_decoder

expect vectors_of_drawn_differences_same_bits same_bits \
    'kind = "relative", positions = { kind = "randomized", max_position = 512, reading = "difference" }' ruoss_encoder

expect dropped_probabilities_are_kept ends_with 1 'expected: true, or nothing' ./longhand plan \
    tests/specs/parity_none.lua --set model.attention_dropout=0.1 --set train.keep_probabilities=false

finish
