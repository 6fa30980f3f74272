# Device code of every scheme of the gradient checks, of geometric attention and labels in wide models, of heads too
# wide for a thread, and of specs of tests/specs/long, in the emulation: compared with the CPU half
# (tests/emulation/test_model.c) and with differences (test_gradcheck.c). The suite itself compares
# tests/specs/emulated_*.lua with their CPU halves.

. tests/system/common.sh

family=emulate
. tests/system/schemes.sh

SCHEMES="$SCHEMES $MORE_SCHEMES wide_geometric wide_label heads_geometric heads_geometric_plain heads_alibi_learned
    heads_fire_softcap heads_shaw heads_rand_relative_difference heads_rand_rope wide_heads_geometric
    wide_heads_relative wide_gates heads_gates"

programs=''
for name in $SCHEMES; do
    id=${family}_$name
    write_spec "$name"
    ./longhand gen "$work/$id.lua" --out "build/tests/specs/$id" >/dev/null || expect "$id" false
    programs="$programs build/release/tests/emulation/test_gradcheck.$id"
    # test_model.c samples examples of any length, which dataset files lack.
    case $name in sums_*) ;; *) programs="$programs build/release/tests/emulation/test_model.$id" ;; esac
done
# Some tensors between others are constant; no other spec has constant tensors.
for kind in float32 wide_float32 adamw; do
    id=${family}_fixed_$kind
    cp "$(ls tests/specs/emulated_$kind.lua tests/specs/long/emulate_$kind.lua 2>/dev/null)" "$work/$id.lua"
    ${LUA:-lua5.4} tests/support/with_constants.lua query.weight,norm1.scale,embed.token.weight gen "$work/$id.lua" \
        --out "build/tests/specs/$id" >/dev/null || expect "$id" false
    SCHEMES="$SCHEMES fixed_$kind"
    programs="$programs build/release/tests/emulation/test_model.$id"
done
# Specs with several attentions, and with two streams.
for spec in tests/specs/long/${family}_*.lua; do
    id=$(basename "$spec" .lua)
    ./longhand gen "$spec" --out "build/tests/specs/$id" >/dev/null || expect "$id" false
    SCHEMES="$SCHEMES ${id#${family}_}"
    programs="$programs build/release/tests/emulation/test_model.$id"
done
# Lengths mixed within a batch, in several attentions with tables of several kinds.
STEPPED='parity_mixed parity_mixed_means parity_mixed_sliced'
for id in $STEPPED; do
    ./longhand gen "tests/specs/$id.lua" --out "build/tests/specs/$id" >/dev/null || expect "$id" false
    programs="$programs build/release/tests/emulation/test_steps.$id"
done
expect emulated_models_build make -s -j2 LEVELS=best VARIANT=release MORE_STEPPED="$STEPPED" \
    MORE_EMULATED="$(echo "$SCHEMES" | sed "s/[^ ][^ ]*/${family}_&/g") $STEPPED" $programs
for program in $programs; do
    [ -x "$program" ] && expect "emulation_${program##*/test_}" "$program"
done
rm -rf build/tests/specs/${family}_* build/release/tests/emulation/test_*.${family}_* build/release/specs/${family}_*
finish
