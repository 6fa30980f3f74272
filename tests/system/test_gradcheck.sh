# Analytic against numeric gradients in float64, dropout on, for every encoding: the verb a user would run.

. tests/system/common.sh

ENCODINGS="none sinusoid learned rope rand_sinusoid rand_learned rand_rope rope_linear rand_rope_ntk rope_yarn
    relative rand_relative rand_relative_difference shaw rand_shaw
    alibi_causal"

# The spec of an encoding by its name: rand_<name> draws its positions, rand_<name>_<reading> reads distances so.
spec_of() {
    positions='' reading='' scheme=${1#rand_}
    case $scheme in *_difference | *_clamped) reading=", reading = \"${scheme#*_}\"" scheme=${scheme%%_*} ;; esac
    case $1 in rand_*) positions=", positions = { kind = \"randomized\", max_position = 128$reading }" ;; esac
    cat >"$work/gradcheck_$1.lua" <<SPEC
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "$scheme"$positions },
  model = { layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
SPEC
}

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

expect gradcheck_trainers_build build_all $ENCODINGS
if [ "$failures" -eq 0 ]; then
    for encoding in $ENCODINGS; do
        expect "gradcheck_$encoding" "$work/$encoding/trainer" gradcheck
    done
fi
finish
