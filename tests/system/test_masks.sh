# Masks: hidden keys have no score and no weight with any encoding; models with masks train, and work at longer lengths.

. tests/system/common.sh

LUA=${LUA:-lua5.4}

# Builds a trainer with an encoding: NAME ENCODING.
build_one() {
    cat >"$work/$1.lua" <<SPEC
return {
  task = { kind = "reverse_string" },
  encoding = $2,
  model = { layers = 2, heads = 4, width = 32, feedforward = 64, dropout = 0.1 },
  train = { batch = 16, learning_rate = 1e-3, steps = 10, lengths = { 1, 10 } },
  eval = { lengths = { 5, 6 }, examples = 10 },
}
SPEC
    ./longhand build "$work/$1.lua" --levels best --out "$work/$1"
}

# Trains, and checks in traces how many keys on its left and right a query sees: NAME LEFT RIGHT.
hides_keys() {
    "$work/$1/trainer" train --out "$work/runs" --threads 2 >/dev/null &&
        "$work/$1/trainer" trace --checkpoint "$work/runs/$1"/*/*/checkpoint.safetensors --lengths 3:21:9 \
            --what attention,scores --out "$work/$1.safetensors" >/dev/null &&
        $LUA tests/support/check_trace.lua attention "$work/$1.safetensors" &&
        $LUA tests/support/check_trace.lua mask "$work/$1.safetensors" "$2" "$3"
}

expect causal_builds build_one causal '{ kind = "alibi_causal" }'
expect causal_hides_later_keys hides_keys causal 1000 0
expect window_builds build_one window '{ kind = "relative", mask = { kind = "window", left = 3, right = 1 } }'
expect window_hides_far_keys hides_keys window 3 1
# Each head has lines on the main diagonal and on the one below.
lines=$(for head in 0 1 2 3; do
    for line in 0 -1; do
        printf '{ head = %d, direction = 1, line = %d, value = 1 }, ' $head $line
    done
done)
expect lines_build build_one lines "{ lines = { $lines } }"
expect lines_hide_other_keys hides_keys lines 1 0
finish
