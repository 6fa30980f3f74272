# examples/own_bias is checked, planned, built, trained and evaluated as in its README, and from examples/notebook.

. tests/system/common.sh

SPEC=examples/own_bias/own_bias.lua
digest=$(./longhand check $SPEC --json | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/')
trainer=build/trainers/own_bias-$digest/trainer

is_planned() {
    ./longhand plan $SPEC >"$work/plan" && grep -q 'score table by_distance .* goes to x\.left, x\.slope$' "$work/plan"
}

# Twenty steps write one line of metrics and a checkpoint.
trains() {
    "$trainer" train --steps 20 --out "$work/runs" --no-eval --threads 2 &&
        [ "$(grep -c '"step":20,' "$work"/runs/own_bias/*/lr0.001-seed0/metrics.jsonl)" -eq 1 ] &&
        cp "$work"/runs/own_bias/*/lr0.001-seed0/checkpoint.safetensors "$work/checkpoint.safetensors"
}

# The evaluated lengths exceed those of training.
evaluates() {
    "$trainer" eval --checkpoint "$work/checkpoint.safetensors" --lengths 40:80:40 --examples 4 --out "$work/eval" &&
        [ "$(grep -c '"accuracy":' "$work/eval/eval.jsonl")" -eq 2 ]
}

# The formula of another spec cannot read this checkpoint.
refuses_a_checkpoint_of_another_formula() {
    sed 's/log1p(abs(x.distance))/abs(x.distance)/' $SPEC >"$work/linear.lua" || return
    ./longhand build "$work/linear.lua" --levels best --out "$work/linear" >/dev/null || return
    ends_with 1 "model digest" "$work/linear/trainer" eval --checkpoint "$work/checkpoint.safetensors" --lengths 40:40
}

# The notebook writes the same spec in Python, which trains with the existing trainer.
runs_in_a_notebook() {
    mkdir "$work/notebook" && (cd "$work/notebook" && PYTHONPATH=$root/python MPLBACKEND=Agg "$PYTHON" \
        "$root/tests/python/run_notebook.py" "$root/examples/notebook/own_bias.ipynb" steps=2 examples=1) &&
        grep -q 'exit":0}' "$work"/notebook/runs/own_bias/$digest/lr0.001-seed1/run.json
}

expect own_bias_is_checked ./longhand check $SPEC
expect_each own_bias_ is_planned
expect own_bias_builds ./longhand build $SPEC --levels best
if [ "$failures" -eq 0 ]; then
    expect_each own_bias_ trains evaluates refuses_a_checkpoint_of_another_formula
    expect_python own_bias_runs_in_a_notebook runs_in_a_notebook
fi
finish
