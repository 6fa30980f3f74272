# Decoding has the bits of a pass over the whole sequence: for every decoder of tests/specs/networks without dropout in
# evaluation, and for those of the suite, at every level.

. tests/system/common.sh

enter_copy || exit 4

# Generates the sources of specs, and prints the names of those that decode.
generate_decoders() {
    for spec in tests/specs/networks/*decoder*.lua tests/specs/parity_*decoder*.lua \
        tests/specs/parity_float64_drawn_*.lua tests/specs/parity_float64_masks.lua tests/specs/parity_float64_lines.lua; do
        id=$(basename "$spec" .lua)
        ./longhand gen "$spec" --target cpu --out "build/tests/specs/$id" >/dev/null || return
        [ -f "build/tests/specs/$id/decode.inc" ] && echo "$id"
    done
    return 0
}

ids=$(generate_decoders) || exit 4
echo "$ids"
expect "decoders are there" [ "$(echo "$ids" | wc -l)" -ge 20 ]
expect "decoders build" make -s -j2 LEVELS=all VARIANT=release "DECODED_SPECS=$(echo $ids)" \
    build/release/tests/unit/test_decoding
expect "decoding has the bits of a pass" build/release/tests/unit/test_decoding

finish
