# As many passes as an example's value on an axis of the task (model.loops.times), as a user would run it: training,
# evaluation at other numbers of passes, gradients, predictions, traces and the export to PyTorch.

. tests/system/common.sh

cat >"$work/axis.lua" <<END
return {
  task = { kind = "free_addition", options = { order = "reversed", longest = 4, pairs = 4096, tests = 8 } },
  encoding = { kind = "none", mask = { kind = "causal" } },
  model = { layers = 1, heads = 2, width = 16, feedforward = 32, dropout = 0.1, norm = { place = "pre" },
    loops = { times = "digits", max_times = 4, inject = true, start = "zeros", norm = "inside" } },
  train = { batch = 16, steps = 40, log_every = 40 },
  eval = { by = { digits = { 1, 6 }, passes = { 1, 6 } }, examples = 8 },
}
END
axis=$work/trainer/trainer

trains() {
    ./longhand build "$work/axis.lua" --levels best --out "$work/trainer" &&
        "$axis" train --out "$work/runs" --threads 2
}

# The oracle has the losses of as many passes as digits, and no others.
evaluates() {
    run=$(echo "$work"/runs/axis/*/*)
    "${LUA:-lua5.4}" - "$run/eval.jsonl" <<'END'
local json, losses, oracle, count = require("dkjson"), {}, {}, 0
for line in io.lines(arg[1]) do
  local row = json.decode(line)
  local key = row.split .. row.by.digits
  if row.stop == "oracle" then
    oracle[key] = row.loss
  else
    losses[#losses + 1] = { key = key, is_own = row.by.passes == row.by.digits, loss = row.loss }
  end
end
for _, entry in ipairs(losses) do
  local is_equal = math.abs(entry.loss - oracle[entry.key]) < 1e-12
  assert(is_equal == entry.is_own, entry.key)
  count = count + (is_equal and 1 or 0)
end
assert(count >= 8, count)
END
}

predicts() {
    checkpoint=$(echo "$work"/runs/axis/*/*/checkpoint.safetensors)
    echo '{"input":[1,2,10,3],"digits":5,"outputs":3}' | ends_with 0 '"passes":5' "$axis" predict --checkpoint "$checkpoint" &&
        echo '{"input":[1,2,10,3]}' | ends_with 1 '"digits", the number of passes, is missing' \
            "$axis" predict --checkpoint "$checkpoint" &&
        ends_with 1 'is missing' "$axis" predict --checkpoint "$checkpoint" --text '1 2 + 3' &&
        ends_with 0 n5o4p3.layers.2.attention "$axis" trace --checkpoint "$checkpoint" --length 5 --examples 30 \
            --out "$work/traces"
}

has_right_gradients() {
    ./longhand build "$work/axis.lua" --set precision=float64 --levels best --out "$work/double" &&
        ends_with 0 'checks of' "$work/double/trainer" gradcheck
}

exports() {
    run=$(echo "$work"/runs/axis/*/*)
    ./longhand export pytorch "$run" --spec "$work/axis.lua" --trainer "$axis" --out "$work/torch" &&
        grep -F 'value on the axis digits' "$work/torch/model.py" && "$PYTHON" "$work/torch/model.py"
}

# Files of examples give the number of passes, here that of pairs of digits, on each line.
reads_passes_of_files() {
    file=$work/products
    cat >"$file.lua" <<END
return {
  task = { data = "products.jsonl", input_symbols = { "0", "1", "x" }, output_symbols = { "0", "1" },
    longest = 12, axes = { "digit_pairs" } },
  encoding = { kind = "none", mask = { kind = "causal" } },
  model = { layers = 1, heads = 2, width = 16, feedforward = 32, dropout = 0,
    loops = { times = "digit_pairs", max_times = 4 } },
  train = { batch = 2, steps = 4 }, eval = { examples = 4 },
}
END
    {
        echo '{"input":[1,2,1],"target":[1,0],"digit_pairs":1}'
        echo '{"input":[1,0,2,1],"target":[0,1,0],"digit_pairs":2}'
        echo '{"input":[1,1,2,1,0],"target":[0,1,1,0],"digit_pairs":4}'
    } >"$file.jsonl"
    ./longhand build "$file.lua" --levels best --out "$file" &&
        ends_with 0 'steps in' "$file/trainer" train --out "$work/runs" --data "$file.jsonl" --threads 1 || return
    sed 's/:4}/:5}/' "$file.jsonl" >"$file.5.jsonl" && sed 's/,"digit_pairs":4//' "$file.jsonl" >"$file.none.jsonl"
    ends_with 1 'digit_pairs, the number of passes (model.loops.times), is 5' \
        "$file/trainer" train --out "$work/runs" --data "$file.5.jsonl" &&
        ends_with 1 'digit_pairs, the number of passes (model.loops.times), is missing' \
            "$file/trainer" train --out "$work/runs" --data "$file.none.jsonl"
}

expect passes_by_an_axis_train trains
expect_each passes_by_an_axis_ evaluates predicts has_right_gradients
expect_torch passes_by_an_axis_exports exports
expect passes_of_files_are_read reads_passes_of_files
finish
