# examples/own_network, by the steps of its README and docs/own-network.md: checked, planned, built, trained, evaluated;
# and wrong descriptions, which leave no file.

. tests/system/common.sh

SPEC=examples/own_network/own_network.lua

is_planned() {
    ends_with 0 'network examples/own_network/parallel_block.lua, gate = silu' ./longhand plan $SPEC &&
        grep -q '  layer, 4 times: Parallel branches and a gate.' "$work/.out" &&
        ./longhand plan $SPEC --json | grep -q '"name":"gate_up"'
}

# Twenty steps write one line of metrics, and the run records the path of its network.
trains() {
    "$work/trainer/trainer" train --steps 20 --out "$work/runs" --no-eval --threads 2 || return
    run=$(find_run runs)
    [ "$(grep -c '"step":20,' "$run/metrics.jsonl")" -eq 1 ] &&
        grep -q '"source":"parallel_block.lua"' "$run/run.json" &&
        grep -q '"options":{"gate":"silu"}' "$run/run.json"
}

evaluates() {
    "$work/trainer/trainer" eval --checkpoint "$run/checkpoint.safetensors" --lengths 40:80:40 --examples 4 \
        --out "$work/eval" && [ "$(grep -c '"accuracy":' "$work/eval/eval.jsonl")" -eq 2 ]
}

# A network with one other operation and the same parameters is another model. Rebuilding needs the network's file.
is_another_model_with_another_operation() {
    cp examples/own_network/*.lua "$work" &&
        sed -i 's/"gelu", name/"relu", name/' "$work/parallel_block.lua" &&
        model() { ./longhand gen "$1" --target cpu --out "$work/sources" >/dev/null &&
            sed -n 's/.*\.model_digest = "\(.*\)".*/\1/p' "$work/sources/spec.c"; } &&
        [ "$(model $SPEC)" != "$(model "$work/own_network.lua")" ] &&
        ends_with 1 'its network is a file' ./longhand export pytorch "$run" --out "$work/export"
}

exports() {
    ./longhand export pytorch "$run" --spec $SPEC --trainer "$work/trainer/trainer" --out "$work/torch" \
        2>"$work/problems" && [ ! -s "$work/problems" ] &&
        grep -q '^class Think(nn.Module):' "$work/torch/model.py"
}

# Checks that a network with another line for the gate is refused with a message, and writes no file: LINE MESSAGE.
is_refused() {
    cp examples/own_network/*.lua "$work" &&
        sed -i "s/^  local gated = .*/  $1/" "$work/parallel_block.lua" &&
        ends_with 1 "parallel_block.lua:22:" ./longhand build "$work/own_network.lua" --levels best \
            --out "$work/none" &&
        grep -qF -e "$2" "$work/.out" && [ ! -e "$work/none" ]
}

writes_nothing_after_mistakes() {
    is_refused 'local gated = block:gate("gated", s, "silu")' 'a product of two parts: gate and up' &&
        is_refused 'local gated = block:norm("norm1", s)' 'different names' &&
        is_refused 'local function f() return f() + 1 end f()' 'calls itself without end' &&
        is_refused 'while true do end' 'still runs'
}

# Two layers are applied twice and have two attentions each: checks gradients, two steps, and attention of four passes.
train_loops() {
    for seed in 0 1; do
        "$work/loops/trainer" gradcheck --seed $seed >"$work/.check" || { cat "$work/.check" && return 1; }
    done
    "$work/loops/trainer" train --steps 2 --out "$work/loops/runs" --no-eval --threads 2 || return
    run=$(echo "$work"/loops/runs/own_loops/*/lr*-seed0)
    "$work/loops/trainer" trace --checkpoint "$run/checkpoint.safetensors" --what attention --length 5 \
        --out "$work/loops/trace.safetensors" || return
    for site in towers.0 towers.0.far towers.3 towers.3.far; do
        grep -aq "\"n5.$site.attention\"" "$work/loops/trace.safetensors" || { echo "no $site" && return 1; }
    done
}

expect own_network_is_checked ./longhand check $SPEC
expect_each own_network_ is_planned writes_nothing_after_mistakes
expect own_network_builds ./longhand build $SPEC --levels best --out "$work/trainer"
if [ "$failures" -eq 0 ]; then
    expect own_network_trains trains
    run=$(find_run runs)
    expect own_network_evaluates_longer_sequences evaluates
    expect own_network_with_loops_builds ./longhand build tests/specs/networks/own_loops.lua --set precision=float64 \
        --levels best --out "$work/loops"
    expect own_network_with_loops_trains train_loops
    expect_each own_network_ is_another_model_with_another_operation exports
    expect_torch own_network_agrees_in_torch "$PYTHON" tests/python/use_model.py "$work/torch"
fi
finish
