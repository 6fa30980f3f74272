# Decoding has the bits of a pass over the whole sequence: for every decoder of tests/specs/networks without dropout in
# evaluation, and for those of the suite, at every level.

. tests/system/common.sh

# This test has a build folder of its own, since other tests run at the same time.
cd "$work" || exit 4
for name in Makefile cuda.mk longhand generator include kernels runtime templates spec tests examples generated \
    VERSION; do
    cp -R "$root/$name" "$name" || exit 4
done
mkdir -p build/tests/specs

# Prints the names of the decoders among the specs whose sources exist.
decoders() {
    for spec in tests/specs/networks/*decoder*.lua tests/specs/parity_*decoder*.lua tests/specs/parity_float64_drawn_*.lua \
        tests/specs/parity_float64_masks.lua tests/specs/parity_float64_lines.lua; do
        id=$(basename "$spec" .lua)
        ./longhand gen "$spec" --target cpu --out "build/tests/specs/$id" >/dev/null || return
        [ -f "build/tests/specs/$id/decode.inc" ] && echo "$id"
    done
    return 0
}

ids=$(decoders) || exit 4
echo "$ids"
expect "decoders are there" [ "$(echo "$ids" | wc -l)" -ge 20 ]
expect "decoders build" make -s -j2 LEVELS=all VARIANT=release "DECODED_SPECS=$(echo $ids)" \
    build/release/tests/unit/test_decoding
expect "decoding has the bits of a pass" build/release/tests/unit/test_decoding

finish
