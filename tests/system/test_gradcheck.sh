# Analytic against numeric gradients in float64, dropout on: the verb a user would run. long_gradcheck.sh has the rest of
# the encodings and sets SCHEMES.

. tests/system/common.sh

SCHEMES=${SCHEMES:-"none sinusoid learned rope rand_learned rand_rope rand_rope_ntk rope_yarn relative rand_relative
    rand_relative_difference shaw rand_shaw alibi_learned rand_alibi_learned fire_softcap
    geometric"}

family=gradcheck
. tests/system/schemes.sh

build_one() {
    spec_of "$1"
    ./longhand gen "$work/gradcheck_$1.lua" --out "$work/src/$1" >/dev/null || return
    make -s trainer LEVELS=best ID="gradcheck_$1" SOURCES="$work/src/$1" OUT="$work/$1"
}

# Two compilers at a time.
build_all() {
    make -s library || return
    while [ $# -gt 0 ]; do
        build_one "$1" &
        first=$!
        if [ $# -gt 1 ]; then build_one "$2" || return; fi
        wait $first || return
        shift
        [ $# -eq 0 ] || shift
    done
}

every_preset_has_a_check() {
    for preset in spec/encodings/*.lua; do
        name=$(basename "$preset" .lua)
        grep -hv 'use =' tests/system/*_gradcheck.sh |
            grep -qE "(^|[ \"])(rand_)?$name(_difference|_clamped)?([ \"]|\$)" && continue
        echo "$name is in neither list of schemes"
        return 1
    done
}

expect gradcheck_every_preset every_preset_has_a_check
expect gradcheck_trainers_build build_all $SCHEMES
if [ "$failures" -eq 0 ]; then
    for scheme in $SCHEMES; do
        expect "gradcheck_$scheme" "$work/$scheme/trainer" gradcheck
    done
fi
finish
