# Compares generated code of every encoder-decoder of tests/reference with its stored vectors, at every level; the suite
# itself compares some of them, and compares kernels/ref with all vectors.

. tests/system/common.sh

enter_copy || exit 4

ids=''
for spec in tests/specs/networks/abc_*.lua tests/specs/parity_float64_encoder_decoder.lua \
    tests/specs/parity_float64_identity_encoder.lua tests/specs/parity_float64_drawn_layers.lua \
    tests/specs/parity_float64_masks.lua tests/specs/parity_float64_lines.lua; do
    id=$(basename "$spec" .lua)
    ./longhand gen "$spec" --target cpu --out "build/tests/specs/$id" >/dev/null || exit 4
    case $id in abc_*) ids="$ids $id" ;; esac
done

compares_every_file() {
    build/release/tests/unit/test_encoder_decoder >"$work/out" 2>&1 || { cat "$work/out" && return 1; }
    [ "$(grep -c 'and generated code' "$work/out")" -eq 15 ]
}

expect "encoder-decoders build" make -s -j2 LEVELS=all VARIANT=release "MORE_PAIRS=$ids" \
    build/release/tests/unit/test_encoder_decoder
expect "generated code has the stored vectors" compares_every_file

finish
