-- The cost of a training step: floating-point operations, tokens, memory.

local support = dofile("tests/lua/support.lua")

local costs = require("plan.deriving.costs")
local lists = require("base.lists")
local lu = require("luaunit")
local memory = require("lab.pages.memory")
local plans = require("plans")

local make_plan, plan_encoding, make_task = plans.make_plan, plans.plan_encoding, plans.make_task
local project = require("project").new(".")

TestCosts = {}

-- The operations of a step with 128 sequences of T tokens. Each token needs six operations for each weight of the
-- layers (245,760 weights in five layers of width 64). In each layer, attention needs 12 * 64 operations for each of
-- T^2 pairs of tokens.
local function compute_nominal_flops(T)
  return 6 * 245760 * T * 128 + 12 * T * T * 64 * 128 * 5
end

-- Cases: { training lengths, length of the output, tokens of a sequence, 10^9 operations of a step }. All tasks have
-- two input symbols and two output symbols.
function TestCosts.test_flops_are_the_nominal_ones()
  local cases = { { "{20, 20}", "1", 21, 4.18 }, { "{40, 40}", "1", 41, 8.56 }, { "{40, 40}", "n", 80, 18.3 },
    { "{40, 40}", "2*n", 120, 29.7 } }
  for _, case in ipairs(cases) do
    local plan = make_plan({ ["train.lengths"] = case[1] }, make_task(2, 2, case[2]))
    lu.assertEquals(plan.flops_per_step, compute_nominal_flops(case[3]))
    lu.assertAlmostEquals(plan.flops_per_step / 1e9, case[4], 0.004 * case[4])
    lu.assertEquals(math.type(plan.flops_per_step), "integer")
    lu.assertEquals({ plan.longest_training, plan.mean_tokens }, { case[3], case[3] })
  end
end

function TestCosts.test_flops_are_a_mean_over_the_training_lengths()
  local cases = { ["{1, 3}"] = { 2, 3, 4 }, ["{1, 9, step = 4}"] = { 2, 6, 10 }, ["{ list = { 4, 40 } }"] = { 5, 41 } }
  for lengths, tokens in pairs(cases) do
    local sum, max_length = 0, 0
    for _, T in ipairs(tokens) do
      sum, max_length = sum + compute_nominal_flops(T), math.max(max_length, T)
    end
    local plan = make_plan({ ["train.lengths"] = lengths }, make_task(2, 2))
    lu.assertAlmostEquals(plan.flops_per_step, sum / #tokens, 4)
    lu.assertEquals(plan.longest_training, max_length)
  end
end

-- Cases: { stages of a curriculum, steps with each of the lengths 1, 2 and 3 }. In the first case, 4 of 10 steps have
-- length 1, 3 have lengths 1 or 2, and 3 have all three. The second curriculum never ends.
function TestCosts.test_a_curriculum_weighs_lengths_by_their_steps()
  local cases = { { "{ until_step = 4, max = 1 }, { until_step = 7, max = 2 }", { 4 + 1.5 + 1, 1.5 + 1, 1 } },
    { "{ until_step = 99, max = 2 }", { 5, 5, 0 } }, { "{ until_step = 5, max = 9 }", { 10 / 3, 10 / 3, 10 / 3 } } }
  for _, case in ipairs(cases) do
    local plan = make_plan({ ["train.lengths"] = ("{ 1, 3, curriculum = { %s } }"):format(case[1]),
      ["train.steps"] = "10" }, make_task(2, 2))
    local flops, tokens = 0, 0
    for i, steps in ipairs(case[2]) do
      flops, tokens = flops + steps / 10 * compute_nominal_flops(i + 1), tokens + steps / 10 * (i + 1)
    end
    lu.assertAlmostEquals(plan.flops_per_step, flops, 4)
    lu.assertAlmostEquals(plan.mean_tokens, tokens, 1e-12)
    lu.assertEquals(plan.longest_training, 4)
  end
end

-- With times = 4, a progressive step has n passes without gradient, 0 to 3, and m with gradient, 1 to min(4 - n, 2).
-- The mean of n is 1.5. The means of m are 1.5, 1.5, 1.5 and 1 for n from 0 to 3, so the mean of m is 1.375.
function TestCosts.test_flops_are_a_mean_over_drawn_passes()
  local function count_flops(loops)
    return make_plan({ ["model.loops"] = loops }, make_task(2, 2)).flops_per_step
  end
  local mean_passes, mean_with_gradient = 1.5 + 1.375, 1.375
  lu.assertAlmostEquals(count_flops("{ times = 4, progressive = true }") / count_flops("{ times = 4 }"),
    (mean_passes + 2 * mean_with_gradient) / (3 * 4), 1e-9) -- the gradient of a pass costs as much as two passes
end

-- `computation = c` adds c tokens for each input token. The limit `longest` of a file does not count these tokens, so
-- the longest sequence has only one target token.
function TestCosts.test_computation_tokens_lengthen_sequences()
  local plan_task = plans.plan_task
  lu.assertEquals(plan_task("kind = 'reverse_string'").longest_training, 80)
  lu.assertEquals(plan_task("kind = 'reverse_string', computation = 2").longest_training, 160)
  lu.assertEquals(plan_task("kind = 'reverse_string', computation = 2").mean_tokens, 4 * 20.5)
  lu.assertEquals(plan_task("kind = 'parity_check', computation = 3").longest_training, 161)
  local data = "data = 'a.jsonl', input_symbols = 3, output_symbols = 2, longest = 40"
  lu.assertEquals(plan_task(data).longest_training, 40)
  lu.assertEquals(plan_task(data .. ", computation = 2").longest_training, 3 * 39 + 1)
end

function TestCosts.test_operations_sum_to_the_step()
  local plan, sum = make_plan({}), 0
  for _, scope in ipairs(plan.network) do
    for _, operation in ipairs(scope.operations) do
      lu.assertEquals(math.type(operation.flops), "integer")
      sum = sum + operation.flops
    end
  end
  lu.assertEquals(sum, plan.flops_per_step)
end

-- The weights and operations that the plan counts in the graph equal formulas of widths and layers, for the encoder of
-- Ruoss et al. and all facets with products.
function TestCosts.test_flops_are_those_of_the_formulas()
  -- weights: weights of the layers; pair_factor: operations for each pair of tokens, channel and layer; relative:
  -- products for each distance.
  local function check(sets, weights, pair_factor, relative)
    local plan = make_plan(sets, make_task(2, 3))
    local T = plan.mean_tokens
    local attention = plan.flops.attentions[1]
    lu.assertEquals({ plan.flops.streams[1].weights, attention.pair_flops, attention.distance_products,
      plan.flops.output }, { weights, pair_factor * 5 * 64, relative, 64 * 3 })
    lu.assertEquals(costs.count_forward(plan, T), 2 * weights * T + pair_factor * 5 * 64 * T * T)
  end
  check({}, 5 * (4 * 64 * 64 + 2 * 64 * 256), 4, 0)
  check({ ["encoding.relative.kind"] = "transformer_xl" }, 5 * (4 * 64 * 64 + 2 * 64 * 256), 6, 5 * 64 * 64)
  check({ ["encoding.relative.kind"] = "shaw" }, 5 * (4 * 64 * 64 + 2 * 64 * 256), 6, 0)
  check({ ["encoding.normaliser.kind"] = "geometric" }, 5 * (4 * 64 * 64 + 2 * 64 * 256 + 16 * 64), 4, 0)
  check({ ["model.activation"] = "swiglu" }, 5 * (4 * 64 * 64 + 3 * 64 * 256), 4, 0)
  check({ ["model.kind"] = "decoder", ["model.tied"] = "true" }, 5 * (4 * 64 * 64 + 2 * 64 * 256), 4, 0)
end

-- Returns the value of a C expression with names of dimensions of these models.
local function evaluate(text)
  return assert(load("return " .. text, "=(number)", "t", { WIDTH = 64, FEEDFORWARD = 256 }))()
end

-- In the last layer, a row that no label reads needs no output of attention, no feed-forward layer, no pairs.
function TestCosts.test_unused_rows_of_the_last_layer_need_no_flops()
  local function check(sets, per_token, per_pair)
    local unused_rows = make_plan(sets, make_task(2, 3)).cpu.unused_rows
    lu.assertEquals({ evaluate(unused_rows.per_token), evaluate(unused_rows.per_pair), unused_rows.pair_flops.self },
      { per_token, per_pair, per_pair })
  end
  check({}, 2 * (64 * 64 + 2 * 64 * 256), 4 * 64)
  check({ ["encoding.relative.kind"] = "shaw" }, 2 * (64 * 64 + 2 * 64 * 256), 6 * 64)
  check({ ["model.activation"] = "swiglu" }, 2 * (64 * 64 + 3 * 64 * 256), 4 * 64)
  lu.assertFalse(make_plan({ ["model.kind"] = "encoder_decoder" }, make_task(2, 3)).cpu.unused_rows)
end

-- In the first layer, products before attention are computed once per symbol, if nothing is added to the symbols'
-- vectors and symbols are few.
function TestCosts.test_equal_rows_of_the_first_layer_need_flops_once_per_symbol()
  local function check(sets, inputs, per_token)
    local vocabulary = make_plan(sets, make_task(inputs, 3)).cpu.vocabulary
    lu.assertEquals(vocabulary and evaluate(vocabulary.per_token), per_token)
  end
  check({}, 2, 2 * 3 * 64 * 64)
  check({ ["encoding.rotation.kind"] = "rope", ["model.norm.place"] = "pre" }, 2, 2 * 3 * 64 * 64)
  check({}, 19, 2 * 3 * 64 * 64)
  check({}, 20, false)
  check({ ["train.block_tokens"] = "88" }, 20, 2 * 3 * 64 * 64)
  check({ ["encoding.additive.kind"] = "sinusoid" }, 2, false)
  check({ ["model.embedding_dropout"] = "0.1" }, 2, false)
  check({ ["eval.by.noise"] = "{ list = { 0, 0.1 } }" }, 2, false)
  check({ ["model.kind"] = "encoder_decoder" }, 2, false)
end

-- With two streams, the operations of the encoder and of the keys and values depend on the source's length, all others
-- on the target's.
function TestCosts.test_flops_of_two_streams_follow_the_length_of_each()
  local plan = make_plan({ ["model.kind"] = "encoder_decoder", ["model.encoder_layers"] = "2",
    ["model.decoder_layers"] = "3" }, make_task(2, 3, "2 * n"))
  local C, F = 64, 256
  local source, target = 2 * (4 * C * C + 2 * C * F) + 3 * 2 * C * C, 3 * (6 * C * C + 2 * C * F)
  lu.assertEquals({ plan.flops.streams[1].weights, plan.flops.streams[2].weights }, { source, target })
  local S, T = 7, 11
  lu.assertEquals(costs.count_forward(plan, { S, T }), 2 * source * S + 2 * target * T
    + 4 * C * (2 * S * S + 3 * T * T + 3 * S * T))
  lu.assertEquals({ plan.mean_tokens, plan.longest_training }, { 3 * 20.5, 80 })
end

local function sum_parameters(plan)
  return lists.sum(plan.network, function(scope)
    return scope.count * lists.sum(scope.operations, function(operation) return operation.parameters end)
  end)
end

-- Every learned number belongs to one operation, or to the score of all layers.
function TestCosts.test_operations_have_all_parameters()
  for _, sets in ipairs({ {}, { ["encoding.relative.kind"] = "transformer_xl" },
    { ["encoding.normaliser.kind"] = "geometric" }, { ["encoding.additive.kind"] = "learned" },
    { ["model.kind"] = "decoder", ["model.tied"] = "true", ["encoding.additive.kind"] = "learned" },
    { ["model.bias"] = "all", ["model.norm.place"] = "pre", ["model.activation"] = "geglu" } }) do
    local plan = make_plan(sets)
    lu.assertEquals(sum_parameters(plan), plan.parameters, next(sets))
  end
  for _, encoding in ipairs({ "t5", "alibi_learned", "fire" }) do
    local plan = plan_encoding(("{ kind = %q }"):format(encoding))
    lu.assertEquals(sum_parameters(plan), plan.parameters, encoding)
  end
end

-- Bytes rounded up to whole cache lines, as generated code rounds them.
local function pad(bytes)
  return (bytes + 63) // 64 * 64
end

-- Bytes of packed weights: the weights of five layers and their transposes, and of the output, with padded columns.
local PACKED_BYTES = 4 * (2 * 5 * (4 * 64 * 64 + 2 * 64 * 256) + 64 * 16)

-- Threads share packed weights, random positions and tables of positions. The memory of a process is 2.5 MB, the bytes
-- of a checkpoint, and whole large pages for: the four vectors of parameters together, the packed weights, the gradient
-- of each of two threads, and the workspace of each thread. tests/unit/test_parity.c compares the planned memory
-- with the memory that generated code requests.
function TestCosts.test_bytes_of_a_process_are_those_of_its_vectors_and_workspaces()
  local function compute_bytes(sets)
    local plan = make_plan(sets, make_task(2, 2))
    return memory.derive(plan), plan
  end
  local bytes, plan = compute_bytes({})
  lu.assertEquals(bytes.parameter_bytes, 4 * plan.parameter_storage)
  lu.assertEquals({ bytes.shared_bytes, bytes.tables_bytes }, { PACKED_BYTES, 0 })
  local page = 2 << 20
  lu.assertEquals(bytes.memory_bytes, 2.5e6 + (2 + 1 + 2 * (1 + 2)) * page + 3 * 4 * plan.parameters)
  lu.assertEquals(compute_bytes({ precision = "float64" }).parameter_bytes, 2 * bytes.parameter_bytes)
  local rope = compute_bytes({ ["encoding.rotation.kind"] = "rope" })
  lu.assertEquals({ rope.shared_bytes, rope.tables_bytes }, { PACKED_BYTES, 41 * 32 * 4 })
  lu.assertEquals(rope.memory_bytes, bytes.memory_bytes + 41 * 32 * 4)
  local randomized = compute_bytes({ ["encoding.rotation.kind"] = "rope", ["encoding.additive.kind"] = "sinusoid",
    ["encoding.additive.dropout"] = "0", ["encoding.positions.kind"] = "randomized" })
  lu.assertEquals({ randomized.shared_bytes, randomized.tables_bytes },
    { PACKED_BYTES + 6 * 2048 * 8, 2048 * (64 + 32) * 4 })
end

-- Bytes of two buffers of the first layer: the vectors of all symbols, and a scratch row for each symbol. Both are
-- padded to 6 rows.
local SYMBOLS = 4 * 6 * (64 + 192)

-- The bytes of a workspace for a number of sequences. tokens: the tokens of each sequence; queries, keys: the padded
-- numbers of queries and keys; dropouts: 1 with dropout, 0 without. Each layer stores activations, attention weights
-- and masks for the backward pass. All layers share the memory for gradients, and all pairs of heads share the memory
-- for gradients of attention weights.
local function sum_bytes(sequences, tokens, queries, keys, dropouts)
  local rows = (sequences * tokens + 5) // 6 * 6
  local row = 4 * rows -- bytes of a channel of all rows
  -- input, query_key_value, attended, norm1_xhat, norm1, hidden, norm2_xhat; a number for each norm and row; attention
  -- weights and their sums; masks
  local layer = row * (64 + 192 + 3 * 64 + 256 + 64) + 2 * pad(row)
    + pad(4 * sequences * 8 * queries * keys) + pad(4 * sequences * 8 * queries) + 2 * dropouts * pad(rows * 64 + 64)
  local used_rows = row * (64 + 64) -- the used rows of the last layer's input and of its attention's output
  -- output, branch, gradient, dbranch, dhidden, dattended, dquery_key_value
  local scratch = used_rows + row * (64 + 64 + 64 + dropouts * 64 + 256 + 64 + 192)
    + 2 * 4 * queries * keys -- heads of 8 channels are PAIRED in generated code
    + pad(4 * (tokens * 2 * 8 + 16))
  return 5 * layer + scratch + SYMBOLS
end

-- Sequences have 2 to 41 tokens. The largest block has 3 sequences of 33 tokens; the numbers of queries and keys are
-- padded to 48 and 40.
function TestCosts.test_the_largest_block_has_the_most_bytes()
  local plan = make_plan({}, make_task(2, 2))
  lu.assertEquals(memory.derive(plan).largest_block, { bytes = sum_bytes(3, 33, 48, 40, 1), size = { 33 },
    sequences = 3 })
  -- Without dropout there are no masks and no separate gradient of a branch.
  local without_dropout = make_plan({ ["model.dropout"] = "0" }, make_task(2, 2))
  lu.assertEquals(memory.derive(without_dropout).workspace_bytes, sum_bytes(3, 33, 48, 40, 0))
  -- With vectors of positions there are no buffers with a row for each symbol, but a dropout mask of the embedding.
  local additive = make_plan({ ["encoding.additive.kind"] = "sinusoid" }, make_task(2, 2))
  lu.assertEquals(memory.derive(additive).workspace_bytes,
    memory.derive(plan).workspace_bytes - SYMBOLS + 102 * 64 + 64)
end

-- A block has as many sequences as their length allows, but at most those of a shard. With 3 sequences in two shards,
-- the larger shard has 2. Then the largest block has the longest sequences. So it has if all sequences have one length.
function TestCosts.test_workspace_ends_at_the_shard()
  local function check(sets, sequences, tokens, queries, keys)
    local plan = make_plan(sets, make_task(2, 2))
    lu.assertEquals(memory.derive(plan).workspace_bytes, sum_bytes(sequences, tokens, queries, keys, 1))
  end
  check({ ["train.batch"] = "3", ["train.shards"] = "2" }, 2, 41, 48, 48)
  check({ ["train.batch"] = "1", ["train.shards"] = "1" }, 1, 41, 48, 48)
  check({ ["train.lengths"] = "{ 40, 40 }" }, 2, 41, 48, 48)
  check({ ["train.lengths"] = "{ 1, 120 }" }, 1, 121, 128, 128)
end

-- The sum of the bytes that the operations keep and write is the workspace of a thread. The sum of their flops is the
-- flops of a step.
function TestCosts.test_operations_sum_to_memory_and_work()
  local cases = { make_plan({}), make_plan({ ["model.dropout"] = "0" }), make_plan({ ["model.kind"] = "decoder",
    ["model.norm.place"] = "pre", ["model.activation"] = "geglu", ["model.tied"] = "true" }),
    make_plan({ ["encoding.relative.kind"] = "transformer_xl", ["encoding.additive.kind"] = "sinusoid" }),
    make_plan({ ["encoding.normaliser.kind"] = "geometric" }), make_plan({ ["encoding.additive.kind"] = "learned",
    ["encoding.positions.kind"] = "randomized", ["encoding.positions.draw"] = "sequence" }),
    plan_encoding("{ kind = 'alibi_learned' }"), plan_encoding("{ kind = 't5' }"),
    assert(project:plan("tests/specs/emulated_blocks.lua")).plan }
  for i, plan in ipairs(cases) do
    local bytes, flops, parameters = 0, 0, 0
    local workspace_bytes = memory.derive(plan).workspace_bytes
    for _, scope in ipairs(plan.passes) do
      for _, pass in ipairs({ "forward", "backward" }) do
        for _, operation in ipairs(scope[pass]) do
          bytes = bytes + operation.kept_bytes + operation.scratch_bytes
          flops, parameters = flops + operation.flops, parameters + scope.count * operation.parameters
        end
      end
    end
    lu.assertEquals(bytes, workspace_bytes, "case " .. i)
    lu.assertAlmostEquals(flops, plan.flops_per_step, 50, "case " .. i)
    lu.assertEquals(parameters, plan.parameters, "case " .. i)
  end
end

-- The elements that the tables of a score add for 80 tokens. All threads share the tables; their gradients are
-- separate, in each workspace. A table over the differences of query and key has 176 elements; if heads differ, there
-- is such a table for each of two heads.
function TestCosts.test_memory_of_a_score_is_that_of_its_tables()
  local plain_plan = plan_encoding("{ kind = 'none' }")
  local function count_added_elements(encoding)
    local plan = plan_encoding(encoding)
    local separate_bytes = memory.derive(plan).workspace_bytes - memory.derive(plain_plan).workspace_bytes
    return (memory.derive(plan).shared_bytes - memory.derive(plain_plan).shared_bytes) / 4, separate_bytes / 4
  end
  local function check_both(encoding, shared_count, separate_count)
    lu.assertEquals({ count_added_elements(encoding) }, { shared_count, separate_count }, encoding)
  end
  local by_distance = 79 + 1 + 80 + 16
  check_both("{ kind = 'alibi' }", 2 * by_distance, 0.0)
  check_both("{ kind = 'alibi_learned' }", 3 * by_distance, 3.0 * by_distance)
  check_both("{ kind = 'window' }", by_distance, 0.0)
  check_both("{ kind = 'kerple_log' }", 16 + 16 + 3 * by_distance, 16.0 + 16 + 3 * by_distance)
  check_both("{ score = function(x) return x.score + sin(x.key_index + x.query_index) end }", 2 * 80 + 16, 0.0)
  check_both("{ score = function(x) return x.score + sin(x.key_index * x.query_index) "
    .. "+ x.head * cos(x.query_index) end }", 80 * 80 + 16 + 2 * 80 + 16, 0.0)
  check_both("{ kind = 'log_length' }", 16, 0.0)
end

support.run()
