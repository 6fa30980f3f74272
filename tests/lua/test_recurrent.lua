-- Recurrent models: parameters, initial values, rows of products, and features that such a model lacks.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local plans = require("plans")
local project_module = require("project")
local pytorch = require("lab.export.pytorch")
local tuning = require("plan.deriving.tuning")

local project = project_module.new(".")

-- Returns the loaded spec of a preset of spec/models on parity_check, with its plan. sets: arguments of --set, or nil.
local function make_spec(preset, sets)
  local path = support.write("recurrent.lua", ([[return { task = { kind = "parity_check" },
    encoding = { kind = "none" }, model = { use = "%s" }, train = { use = "deletang" }, eval = { use = "ruoss" },
  }]]):format(preset))
  return assert(project:plan(path, sets or {}))
end

TestRecurrent = {}

-- Numbers of the released code, with three tokens: two symbols and the empty token.
function TestRecurrent.test_numbers_of_parameters()
  lu.assertEquals(make_spec("deletang_rnn").plan.parameters, 67330)
  lu.assertEquals(make_spec("deletang_lstm").plan.parameters, 266754)
  lu.assertEquals(make_spec("deletang_stack_rnn").plan.parameters, 72205)
  lu.assertEquals(make_spec("deletang_tape_rnn").plan.parameters, 91791)
end

-- The deviation of a weight is the inverse root of the number of inputs of its matrix. An LSTM has one matrix for token
-- and state, a simple RNN has two.
function TestRecurrent.test_deviations_of_weights_follow_from_the_inputs_of_their_matrix()
  local function list_input_counts(preset)
    local input_counts = {}
    for _, tensor in ipairs(make_spec(preset).plan.tensors) do
      local is_sampled = tensor.init == "LH_INIT_TRUNCATED_NORMAL"
      input_counts[tensor.name] = is_sampled and math.floor(1 / tensor.value ^ 2 + 0.5) or 0
    end
    return input_counts
  end
  lu.assertEquals(list_input_counts("deletang_rnn"), { ["input.weight"] = 3, ["input.bias"] = 0,
    ["recurrent.weight"] = 256, ["recurrent.bias"] = 0, ["output.weight"] = 256, ["output.bias"] = 0 })
  lu.assertEquals(list_input_counts("deletang_lstm"), { ["input.weight"] = 259, ["input.bias"] = 0,
    ["recurrent.weight"] = 259, ["output.weight"] = 256, ["output.bias"] = 0 })
  lu.assertEquals(list_input_counts("deletang_stack_rnn"), { ["input.weight"] = 11, ["input.bias"] = 0,
    ["read.weight"] = 11, ["recurrent.weight"] = 256, ["recurrent.bias"] = 0, ["push.weight"] = 256, ["push.bias"] = 0,
    ["actions.weight"] = 256, ["actions.bias"] = 0, ["output.weight"] = 256, ["output.bias"] = 0 })
  lu.assertEquals(list_input_counts("deletang_tape_rnn"), { ["input.weight"] = 11, ["input.bias"] = 0,
    ["read.weight"] = 11, ["recurrent.weight"] = 256, ["recurrent.bias"] = 0, ["write_1.weight"] = 256,
    ["write_1.bias"] = 0, ["write_2.weight"] = 64, ["write_2.bias"] = 0, ["write_3.weight"] = 64, ["write_3.bias"] = 0,
    ["actions.weight"] = 256, ["actions.bias"] = 0, ["output.weight"] = 256, ["output.bias"] = 0 })
end

-- Tensors of the heads lie next to each other behind the columns of the state.
function TestRecurrent.test_heads_are_columns_of_the_recurrent_product()
  local plan = make_spec("deletang_stack_rnn").plan
  local tensors = lists.index_by(plan.tensors, function(tensor) return tensor.name end)
  local start = tensors["recurrent.weight"].offset
  lu.assertEquals(tensors["push.weight"].offset - start, 256)
  lu.assertEquals(tensors["actions.weight"].offset - start, 264)
  lu.assertEquals(tensors["actions.weight"].stride, 288)
end

-- A sequence of parity has n + 1 tokens, and 82 tokens can read 41 cells of a stack.
function TestRecurrent.test_capacity_of_a_stack()
  lu.assertEquals(make_spec("deletang_lstm").plan.capacity, false)
  lu.assertEquals(make_spec("deletang_stack_rnn").plan.capacity, { kind = "stack", cells = false, excess_length = false,
    has_named_lengths = true })
  lu.assertEquals(make_spec("deletang_stack_rnn", { "model.cells=40" }).plan.capacity,
    { kind = "stack", cells = 40, excess_length = 81, has_named_lengths = true })
  lu.assertFalse(make_spec("deletang_stack_rnn", { "model.cells=250" }).plan.capacity.excess_length)
end

-- By default a tape has the cells of the longest input, here of evaluation. Parity has n input tokens.
function TestRecurrent.test_cells_of_a_tape()
  local spec = make_spec("deletang_tape_rnn")
  lu.assertEquals(spec.plan.capacity, { kind = "tape", cells = 500, excess_length = false, has_named_lengths = true })
  lu.assertEquals(spec.resolved.model.cells, 500)
  lu.assertEquals(make_spec("deletang_tape_rnn", { "model.cells=40" }).plan.capacity.excess_length, 41)
  local shorter = make_spec("deletang_tape_rnn", { "eval.lengths={ 1, 10 }" })
  lu.assertEquals(shorter.resolved.model.cells, 40)
end

-- A jump moves by as many cells as the input has tokens, without empty tokens and computation tokens.
function TestRecurrent.test_a_jump_leaves_out_computation_tokens()
  local function render(sets)
    local spec = make_spec("deletang_tape_rnn", sets)
    return support.index_texts(assert(project:render_files(spec.plan)))["layers.inc"]
  end
  lu.assertStrContains(render(), "jump = (w->length - w->step->shape.labels) % CELLS;")
  lu.assertStrContains(render({ "task.computation=2" }), "jump = (w->length - w->step->shape.labels) / 3 % CELLS;")
end

-- Cells change the results of a run, but a checkpoint fits a model with another number of cells.
function TestRecurrent.test_cells_are_in_the_plan_digest_alone()
  local few_cells = make_spec("deletang_stack_rnn", { "model.cells=40" }).plan
  local many_cells = make_spec("deletang_stack_rnn").plan
  lu.assertNotEquals(few_cells.digest, many_cells.digest)
  lu.assertEquals(few_cells.model_digest, many_cells.model_digest)
end

function TestRecurrent.test_the_cell_is_in_both_digests()
  local rnn, lstm = make_spec("deletang_rnn").plan, make_spec("deletang_lstm").plan
  lu.assertNotEquals(rnn.digest, lstm.digest)
  lu.assertNotEquals(rnn.model_digest, lstm.model_digest)
end

function TestRecurrent.test_a_block_has_the_sequences_of_a_shard()
  local spec = make_spec("deletang_lstm")
  lu.assertEquals(spec.plan.shard_sequences, 8)
  lu.assertStrContains(support.index_texts(assert(project:render_files(spec.plan)))["config.h"], "BLOCK_SEQUENCES = 8 ")
  for _, level in ipairs(spec.plan.tuned) do
    lu.assertEquals(lists.map(level.choices, function(choice) return choice.name end),
      { "product_tile", "gradient_tile", "gradient_prefetch" })
  end
end

-- Stored results of tuning are found by a text that names the kind of recurrent cell and the number of sequences of a
-- step.
function TestRecurrent.test_models_with_equal_steps_share_results_of_tuning()
  local function describe(preset)
    return tuning.describe_shape(make_spec(preset).plan)
  end
  lu.assertEquals(describe("deletang_lstm"), "float32 recurrent lstm, width 256, steps of 8 sequences")
  lu.assertNotEquals(describe("deletang_lstm"), describe("deletang_rnn"))
end

-- Rows of an encoder lie sequence by sequence, not step by step.
function TestRecurrent.test_an_encoder_has_no_steps()
  lu.assertFalse(plans.make_plan({}).is_step_major)
end

function TestRecurrent.test_no_device_code_and_no_export()
  local spec = make_spec("deletang_rnn")
  lu.assertStrContains(spec.plan.no_device_code.what, "a network with a recurrence")
  lu.assertEquals(pytorch.find_problem(spec), 'does not know model.kind = "recurrent"')
end

support.run()
