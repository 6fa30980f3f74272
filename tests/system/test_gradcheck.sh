# Analytic against numeric gradients in float64, dropout on: the verb a user would run. long_gradcheck.sh has the rest of
# the encodings and sets SCHEMES.

. tests/system/common.sh

SCHEMES=${SCHEMES:-"none sinusoid learned rope rand_learned rand_rope rand_rope_ntk rope_yarn relative rand_relative
    rand_relative_difference shaw rand_shaw alibi_learned rand_alibi_learned fire_softcap"}

CAP='function(x) return exp(x.log_cap) * tanh(x.score / exp(x.log_cap)) end'
CAPPED='parameters = { log_cap = { init = 0.5 } }'

# The facets of a scheme by its name; those that are no preset are written out.
facets_of() {
    case $1 in
        softcap) echo "score = $CAP, $CAPPED" ;;
        constant_cap) echo 'score = function(x) return 3 * tanh(x.score / 3) end' ;; # no tables
        fire_softcap) echo "score = { { use = \"fire\" }, { score = $CAP, $CAPPED } }" ;;
        list) echo 'score = { { use = "window", width = 4 }, { use = "cyclic" }, { use = "kerple_log" } }' ;;
        places) echo 'score = function(x) return x.score + sin(x.rate * x.query) * cos(x.rate * x.key + x.shift) end,
            parameters = { rate = { per = "layer", init = 0.3 }, shift = { per = "head", init = 1 } }' ;;
        *) echo "use = \"$1\"" ;;
    esac
}

# The spec of an encoding by its name: rand_<scheme> draws its positions, rand_<scheme>_<reading> reads distances so.
spec_of() {
    positions='' reading='' scheme=${1#rand_}
    case $scheme in *_difference | *_clamped) reading=", reading = \"${scheme##*_}\"" scheme=${scheme%_*} ;; esac
    case $1 in rand_*) positions=", positions = { kind = \"randomized\", max_position = 128$reading }" ;; esac
    cat >"$work/gradcheck_$1.lua" <<SPEC
return {
  task = { kind = "bucket_sort" },
  encoding = { $(facets_of "$scheme")$positions },
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
