# Scalings of rope fit models trained without one: trainers with a scaling evaluate and continue a plain checkpoint.

. tests/system/common.sh

SCALINGS="linear ntk yarn"

# Builds a trainer of the tiny rope model: NAME SCALING.
build() {
    ./longhand build tests/specs/parity_rope.lua --set "encoding.rotation.scaling=$2" --levels best --out "$work/$1"
}

# The scaling `unit` divides positions by one, so it has no effect.
build_all() {
    make -s library || return
    build plain '{ kind = "none" }' &
    build unit '{ kind = "linear", factor = 1 }' && wait $! || return
    for kind in $SCALINGS; do
        build $kind "{ kind = \"$kind\", factor = 4 }" || return
    done
}

trains() {
    "$work/plain/trainer" train --steps 20 --no-eval --out "$work/runs" --threads 2 || return
    cp "$work"/runs/*/*/*/checkpoint.safetensors "$work/checkpoint.safetensors"
}

# Evaluates at lengths beyond the 18 of training, in a folder of the trainer: NAME.
evaluate() {
    "$work/$1/trainer" eval --checkpoint "$work/checkpoint.safetensors" --lengths 20:60:20 --examples 8 \
        --out "$work/eval/$1"
}

# Other angles give other losses at every length: NAME.
takes_a_plain_checkpoint() {
    evaluate "$1" && [ "$(wc -l <"$work/eval/$1/eval.jsonl")" -eq 3 ] &&
        ! grep -qxFf "$work/eval/plain/eval.jsonl" "$work/eval/$1/eval.jsonl"
}

has_no_effect_by_one() {
    evaluate unit && cmp "$work/eval/plain/eval.jsonl" "$work/eval/unit/eval.jsonl"
}

trains_further() {
    "$work/yarn/trainer" train --init "$work/checkpoint.safetensors" --steps 5 --no-eval --out "$work/tuned"
}

expect scaling_trainers_build build_all
if [ "$failures" -eq 0 ]; then
    expect scaling_none_trains trains
    expect scaling_none_evaluates evaluate plain
    expect scaling_has_no_effect_by_one has_no_effect_by_one
    for kind in $SCALINGS; do
        expect "scaling_${kind}_takes_a_plain_checkpoint" takes_a_plain_checkpoint $kind
    done
    expect scaling_yarn_trains_further trains_further
fi
finish
