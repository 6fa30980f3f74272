# All values of all choices of tuned.h, at all levels, for a model with one stream and one with two, in both precisions.

LEVELS=all
. tests/system/common.sh
. tests/system/tuned.sh

expect tuned_encoder_has_equal_bits keeps_bits 5 parity_dropout_relative --set model.width=64 --set \
    model.feedforward=96 --set model.heads=4
expect tuned_pair_has_equal_bits keeps_bits 5 parity_float64_encoder_decoder

# Runs the whole verb on a small model: the next build uses and reports the choices that the search found, if any.
finds_choices() {
    export LONGHAND_CACHE="$work/cache"
    ./longhand tune tests/specs/parity_none.lua --seconds 90 --level x86-64 >"$work/output" || return
    grep -q 'nothing is written' "$work/output" && { ! [ -e "$LONGHAND_CACHE" ]; return; } # no better choice was found
    ./longhand build tests/specs/parity_none.lua --levels x86-64 --out "$work/tuned" &&
        "$work/tuned/trainer" info | grep -q "tuned $(date +%Y)" &&
        ./longhand plan tests/specs/parity_none.lua | grep -q 'tuned here on'
}

# A stopped search ends with exit code 75 and leaves no folder.
stops_at_a_signal() {
    export LONGHAND_CACHE="$work/other" TMPDIR="$work/tmp"
    mkdir -p "$TMPDIR"
    setsid python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL) # a shell ignores SIGINT in its background jobs
os.execv(sys.argv[1], sys.argv[1:])' ./longhand tune tests/specs/parity_none.lua --seconds 600 >"$work/output" 2>&1 &
    child=$!
    while ! grep -q "product_tile.* against" "$work/output"; do kill -0 $child && sleep 1 || return; done
    kill -INT "-$child"
    wait $child
    [ $? -eq 75 ] && [ -z "$(ls "$TMPDIR")" ]
}

expect_each tune_ finds_choices stops_at_a_signal

finish
