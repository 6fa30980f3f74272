# The verb gradcheck, as a user would run it: analytic and numeric gradients in float64, with dropout. It must accept
# right gradients for any seed: the schemes of `many` are checked with `seeds` seeds, the others with the first.
# long_gradcheck.sh sets LONG_SEEDS.

. tests/system/common.sh

family=gradcheck
. tests/system/schemes.sh

seeds=4 many="rand_shaw fire_softcap"
[ -z "${LONG_SEEDS:-}" ] || { seeds=$LONG_SEEDS many="$SCHEMES $MORE_SCHEMES" && SCHEMES=$many; }

build_one() {
    write_spec "$1"
    ./longhand build "$work/gradcheck_$1.lua" --levels best --out "$work/$1"
}

# Builds with two compilers at a time.
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
        printf '%s\n' $SCHEMES $MORE_SCHEMES | grep -qE "^(rand_|sums_)?$name(_difference|_clamped)?\$" && continue
        echo "$name is in no list of schemes"
        return 1
    done
}

checks() {
    last=0
    case " $many " in *" $1 "*) last=$((seeds - 1)) ;; esac
    for seed in $(seq 0 $last); do
        "$work/$1/trainer" gradcheck --seed "$seed" || { echo "at seed $seed" && return 1; }
    done
}

# With as many passes as the task length, the default lengths are those for which training has memory.
checks_passes_by_length() {
    ./longhand build tests/specs/parity_float64_passes_by_length.lua --levels best --out "$work/passes" &&
        "$work/passes/trainer" gradcheck
}

expect gradcheck_passes_by_length checks_passes_by_length
expect gradcheck_every_preset every_preset_has_a_check
expect gradcheck_trainers_build build_all $SCHEMES
if [ "$failures" -eq 0 ]; then
    for scheme in $SCHEMES; do
        expect "gradcheck_$scheme" checks "$scheme"
    done
fi
finish
