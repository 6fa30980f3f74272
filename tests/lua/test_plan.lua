-- The plan: counts, layout and digests of the parameters, what a step costs, and the words about it.

local support = dofile("tests/lua/support.lua")

local canonical = require("canonical")
local diagnostics = require("diagnostics")
local json = require("dkjson")
local lu = require("luaunit")
local plan_module = require("plan")
local schema = require("schema")
local tasks = require("tasks")

local CHUNK = 4096
local ENCODER = "return { task = { kind = 'bucket_sort' }, model = { use = 'ruoss_encoder' },"
  .. " eval = { lengths = { 41, 100 } } }"

-- A task that need not exist: so many symbols in and out, lengths as formulas.
local function task(inputs, outputs, output_length)
  local function symbols(count)
    local list = {}
    for i = 1, count do
      list[i] = "s" .. i
    end
    return list
  end
  return { kind = "fake", input_symbols = symbols(inputs), output_symbols = symbols(outputs), input_length = "n",
    output_length = output_length or "1", chance = 0.5 }
end

-- sets: { ["train.batch"] = "5", ... }, applied in the order of their names.
local function resolve(text, sets)
  local list = {}
  for _, path in ipairs(canonical.sorted_keys(sets or {})) do
    list[#list + 1] = { path = path, text = sets[path] }
  end
  local resolved, _, d = support.check_text(text, list)
  assert(resolved, d:text())
  return resolved
end

local function build(resolved, facts)
  return plan_module.build(resolved, { task = facts or task(5, 5, "n") })
end

local function plan_of(sets, facts)
  return build(resolve(ENCODER, sets), facts)
end

-- The plan of the small encoder with this encoding, a piece of a spec's text.
local function scored(encoding, facts)
  local resolved, info, d = support.check_text("return { task = { kind = 'bucket_sort' }, encoding = " .. encoding
    .. ", model = { use = 'small_encoder' }, train = { lengths = { 1, 40 }, batch = 1, shards = 1 },"
    .. " eval = { lengths = { 41, 100 } } }")
  assert(resolved, d:text())
  return plan_module.build(resolved, { task = facts or task(5, 5, "n"), score = info.score })
end

TestParameters = {}

-- Ruoss et al. 2023: parameters, input and output symbols, for which of their tasks.
local COUNTS = {
  { 249026, 2, 2, "even_pairs, parity_check, reverse_string, duplicate_string, odds_first, compute_sqrt" },
  { 249154, 4, 2, "missing_duplicate_string" },
  { 249155, 3, 3, "binary_addition, binary_multiplication" },
  { 249283, 5, 3, "stack_manipulation" },
  { 249285, 3, 5, "cycle_navigation" },
  { 249413, 5, 5, "bucket_sort" },
  { 249669, 9, 5, "modular_arithmetic_simple" },
  { 249797, 11, 5, "modular_arithmetic_brackets, solve_equation" },
}

local WITHOUT_PARAMETERS = {
  {},
  { ["encoding.additive.kind"] = "sinusoid" },
  { ["encoding.rotation.kind"] = "rope" },
  { ["encoding.additive.kind"] = "sinusoid", ["encoding.positions.kind"] = "randomized" },
  { ["encoding.rotation.kind"] = "rope", ["encoding.positions.kind"] = "randomized" },
}

function TestParameters.test_counts_are_the_paper_s()
  for _, row in ipairs(COUNTS) do
    for _, sets in ipairs(WITHOUT_PARAMETERS) do
      lu.assertEquals(plan_of(sets, task(row[2], row[3])).parameters, row[1], row[4])
    end
  end
end

-- The sheet's table: embeddings for all tokens and the spare one, then without it; base and relative.
local SHEET = {
  { 249026, 270146, 248962, 270082, "even_pairs", "parity_check", "reverse_string", "duplicate_string", "odds_first",
    "compute_sqrt" },
  { 249154, 270274, 249090, 270210, "missing_duplicate_string" },
  { 249155, 270275, 249091, 270211, "binary_addition", "binary_multiplication" },
  { 249283, 270403, 249219, 270339, "stack_manipulation" },
  { 249285, 270405, 249221, 270341, "cycle_navigation" },
  { 249413, 270533, 249349, 270469, "bucket_sort" },
  { 249669, 270789, 249605, 270725, "modular_arithmetic_simple" },
  { 249797, 270917, 249733, 270853, "modular_arithmetic_brackets", "solve_equation" },
}

function TestParameters.test_counts_of_all_tasks_are_the_sheet_s()
  local d = diagnostics.new()
  local all, seen = tasks.read("runtime/data/tasks", d), 0
  lu.assertEquals(d:text(), "")
  for _, row in ipairs(SHEET) do
    for i = 5, #row do
      for column, sets in ipairs({ {}, { ["encoding.relative.kind"] = "transformer_xl" },
        { ["model.spare_token"] = "false" },
        { ["model.spare_token"] = "false", ["encoding.relative.kind"] = "transformer_xl" } }) do
        lu.assertEquals(plan_of(sets, all[row[i]]).parameters, row[column], row[i])
      end
      seen = seen + 1
    end
  end
  lu.assertEquals(seen, 15)
  lu.assertEquals(#all.list, 15)
end

function TestParameters.test_tokens_of_the_model_come_behind_the_input_s()
  local function tokens(spare, computation)
    local facts = task(7, 2)
    facts.computation = computation
    local plan = plan_of({ ["model.spare_token"] = spare,
      ["task.computation"] = computation and tostring(computation) }, facts)
    return { plan.tokens, plan.empty_token, plan.computation and plan.computation.token }
  end
  lu.assertEquals(tokens("true"), { 9, 8, false })
  lu.assertEquals(tokens("false"), { 8, 7, false })
  lu.assertEquals(tokens("true", 3), { 9, 8, 7 })
  lu.assertEquals(tokens("false", 3), { 9, 8, 7 })
end

function TestParameters.test_a_learned_table_adds_its_rows()
  for _, row in ipairs(COUNTS) do
    local facts = task(row[2], row[3])
    lu.assertEquals(plan_of({ ["encoding.additive.kind"] = "learned" }, facts).parameters, row[1] + 64 * 2048)
    local sets = { ["encoding.additive.kind"] = "learned", ["encoding.additive.rows"] = "600" }
    lu.assertEquals(plan_of(sets, facts).parameters, row[1] + 64 * 600)
    sets = { ["encoding.additive.kind"] = "learned", ["encoding.positions.kind"] = "randomized",
      ["encoding.positions.max_position"] = "1001" }
    lu.assertEquals(plan_of(sets, facts).parameters, row[1] + 64 * 1001)
  end
end

-- 4,224 a layer: the sheet's 21,120, and 270,146 in all for its smallest tasks.
function TestParameters.test_relative_adds_a_map_and_two_biases()
  for _, row in ipairs(COUNTS) do
    for _, kind in ipairs({ "index", "randomized" }) do
      local sets = { ["encoding.relative.kind"] = "transformer_xl", ["encoding.positions.kind"] = kind }
      lu.assertEquals(plan_of(sets, task(row[2], row[3])).parameters, row[1] + 21120, row[4])
    end
  end
  lu.assertEquals(plan_of({ ["encoding.relative.kind"] = "transformer_xl" }, task(2, 2)).parameters, 270146)
end

function TestParameters.test_shaw_adds_a_row_per_distance()
  local sets = { ["encoding.relative.kind"] = "shaw", ["encoding.relative.clip"] = "7" }
  lu.assertEquals(plan_of(sets, task(2, 2)).parameters, 249026 + 5 * 15 * 8)
end

function TestParameters.test_initial_values_are_the_sheet_s()
  local plan = plan_of({ ["encoding.additive.kind"] = "learned", ["encoding.relative.kind"] = "transformer_xl" })
  local want = {
    ["layers.4.attention.relative.weight"] = { "LH_INIT_TRUNCATED_NORMAL", 1 / 8 },
    ["layers.0.attention.relative.content_bias"] = { "LH_INIT_NORMAL", 0.02 },
    ["layers.0.attention.relative.position_bias"] = { "LH_INIT_NORMAL", 0.02 },
    ["embed.token.weight"] = { "LH_INIT_TRUNCATED_NORMAL", 0.02 },
    ["embed.position.weight"] = { "LH_INIT_TRUNCATED_NORMAL", 1 },
    ["layers.4.attention.query.weight"] = { "LH_INIT_TRUNCATED_NORMAL", 1 / 8 },
    ["layers.4.attention.output.weight"] = { "LH_INIT_TRUNCATED_NORMAL", 1 / 8 },
    ["layers.4.norm1.scale"] = { "LH_INIT_CONSTANT", 1 },
    ["layers.4.norm2.offset"] = { "LH_INIT_CONSTANT", 0 },
    ["layers.4.feedforward.up.weight"] = { "LH_INIT_TRUNCATED_NORMAL", 1 / 8 },
    ["layers.4.feedforward.up.bias"] = { "LH_INIT_CONSTANT", 0 },
    ["layers.4.feedforward.down.weight"] = { "LH_INIT_TRUNCATED_NORMAL", 1 / 16 },
    ["output.weight"] = { "LH_INIT_TRUNCATED_NORMAL", 1 / 8 },
    ["output.bias"] = { "LH_INIT_CONSTANT", 0 },
  }
  for _, tensor in ipairs(plan.tensors) do
    if want[tensor.name] then
      lu.assertEquals({ tensor.init, tensor.value }, want[tensor.name], tensor.name)
      want[tensor.name] = nil
    end
  end
  lu.assertNil((next(want)))
end

TestLayout = {}

local SMALL = { ["model.layers"] = "2", ["model.heads"] = "2", ["model.width"] = "16", ["model.feedforward"] = "32" }

local function small(extra)
  local sets = {}
  for _, from in ipairs({ SMALL, extra or {} }) do
    for path, text in pairs(from) do
      sets[path] = text
    end
  end
  return sets
end

local SHAPES = {
  { ["encoding.additive.kind"] = "learned" },
  small(),
  small({ precision = "float64", ["encoding.additive.kind"] = "learned", ["encoding.additive.rows"] = "600" }),
  small({ ["model.width"] = "48", ["model.heads"] = "4", ["model.layers"] = "1" }),
  small({ ["encoding.relative.kind"] = "transformer_xl" }),
  small({ ["encoding.relative.kind"] = "shaw", ["encoding.relative.clip"] = "3" }),
}

function TestLayout.test_names_and_shapes()
  local want = { "embed.token.weight 7 16", "embed.position.weight 600 16" }
  for l = 0, 1 do
    for _, rest in ipairs({ "attention.query.weight 16 16", "attention.key.weight 16 16",
      "attention.value.weight 16 16", "attention.output.weight 16 16", "norm1.scale 16", "norm1.offset 16",
      "feedforward.up.weight 16 32", "feedforward.up.bias 32", "feedforward.down.weight 32 16",
      "feedforward.down.bias 16", "norm2.scale 16", "norm2.offset 16" }) do
      want[#want + 1] = ("layers.%d.%s"):format(l, rest)
    end
  end
  want[#want + 1] = "output.weight 16 5"
  want[#want + 1] = "output.bias 5"
  local got = {}
  local plan = plan_of(SHAPES[3])
  for i, tensor in ipairs(plan.tensors) do
    got[i] = tensor.name .. " " .. table.concat(tensor.shape, " ")
    lu.assertEquals(tensor.rank, #tensor.shape)
    lu.assertEquals(tensor.shape_text, table.concat(tensor.shape, ", "))
  end
  lu.assertEquals(got, want)
  lu.assertEquals(plan.tensor_count, #want)
end

-- Calls visit(index) for every element of a tensor.
local function each_element(tensor, visit)
  local rows, columns = 1, tensor.shape[1]
  if tensor.rank == 2 then
    rows, columns = tensor.shape[1], tensor.shape[2]
  end
  for row = 0, rows - 1 do
    for column = 0, columns - 1 do
      visit(tensor.offset + row * tensor.stride + column)
    end
  end
end

function TestLayout.test_elements_do_not_overlap_and_are_inside()
  for _, sets in ipairs(SHAPES) do
    local plan = plan_of(sets)
    local owner, count = {}, 0
    for _, tensor in ipairs(plan.tensors) do
      each_element(tensor, function(index)
        if owner[index] or index < 0 or index >= plan.parameter_elements then
          lu.fail(("%s: element %d belongs to %s, of %d elements"):format(tensor.name, index, owner[index],
            plan.parameter_elements))
        end
        owner[index] = tensor.name
        count = count + 1
      end)
    end
    lu.assertEquals(count, plan.parameters)
    lu.assertEquals(plan.parameter_storage % CHUNK, 0)
    local spare = plan.parameter_storage - plan.parameter_elements
    lu.assertTrue(spare >= 0 and spare < CHUNK, spare)
  end
end

function TestLayout.test_queries_keys_and_values_share_rows()
  local plan = plan_of(small())
  local at = {}
  for _, tensor in ipairs(plan.tensors) do
    at[tensor.name] = tensor
  end
  for l = 0, 1 do
    local prefix = ("layers.%d.attention."):format(l)
    local query, key = at[prefix .. "query.weight"], at[prefix .. "key.weight"]
    local value, output = at[prefix .. "value.weight"], at[prefix .. "output.weight"]
    lu.assertEquals({ query.stride, key.stride, value.stride, output.stride }, { 48, 48, 48, 16 })
    lu.assertEquals({ key.offset, value.offset, output.offset },
      { query.offset + 16, query.offset + 32, query.offset + 16 * 48 })
  end
  lu.assertEquals(at["output.weight"].stride, 16) -- five classes in a whole vector
  lu.assertEquals(plan.class_columns, 16)
  lu.assertEquals(plan_of({}, task(2, 17)).class_columns, 32)
end

-- A bias per head, numbers that fill a vector, and a map to two directions of every head.
function TestLayout.test_geometric_attention()
  local none = plan_of({})
  local plan = plan_of({ ["encoding.normaliser.kind"] = "geometric" })
  local plain = plan_of({ ["encoding.normaliser"] = "{ kind = 'geometric', directional = false }" })
  lu.assertEquals(plan.parameters - none.parameters, 5 * (64 + 64 * 16 + 16 + 3))
  lu.assertEquals(plain.parameters - none.parameters, 5 * (64 + 2))
  lu.assertEquals(plan.parameter_elements - none.parameter_elements, 5 * (64 + 64 * 16 + 16 + 16))
  lu.assertEquals(plain.parameter_elements - none.parameter_elements, 5 * (64 + 16))
  local padded = plan_of({ ["encoding.normaliser.kind"] = "geometric", ["model.heads"] = "4" })
  lu.assertEquals(padded.normaliser.direction_width, 16)
  lu.assertEquals(padded.parameters - none.parameters, 5 * (64 + 64 * 8 + 8 + 3))
  lu.assertEquals(plan_of({ ["encoding.normaliser.kind"] = "softmax" }).digest, none.digest)
end

TestDigests = {}

-- Every field of a spec: another value for it, and whether the plan's and the model's digest change.
local FIELDS = {
  { "id", "other", false, false },
  { "source", "spec/runs/other.lua", false, false },
  { "precision", "float64", true, false },
  { "task.kind", "even_pairs", true, false },
  { "model.kind", "another", true, true },
  { "model.layers", 3, true, true },
  { "model.heads", 4, true, true },
  { "model.width", 32, true, true },
  { "model.feedforward", 64, true, true },
  { "model.dropout", 0.25, true, false },
  { "model.spare_token", true, true, true },
  { "encoding.rotation.kind", "none", true, true },
  { "encoding.rotation.base", 500.0, true, true },
  { "encoding.rotation.scaling.kind", "linear", true, false },
  { "encoding.rotation.scaling.factor", 2.0, true, false },
  { "encoding.rotation.scaling.original_length", 42, true, false },
  { "encoding.rotation.scaling.beta_slow", 2.0, true, false },
  { "encoding.rotation.scaling.beta_fast", 16.0, true, false },
  { "encoding.rotation.scaling.attention_factor", 1.5, true, false },
  { "encoding.mask.kind", "causal", true, true },
  { "encoding.mask.left", 5, true, true },
  { "encoding.mask.right", 5, true, true },
  { "encoding.normaliser.kind", "another", true, true, { ["encoding.normaliser.kind"] = "geometric" } },
  { "encoding.normaliser.normalised", false, true, true, { ["encoding.normaliser.kind"] = "geometric" } },
  { "encoding.normaliser.directional", false, true, true, { ["encoding.normaliser.kind"] = "geometric" } },
  { "encoding.relative.kind", "transformer_xl", true, true },
  { "encoding.relative.clip", 5, true, true },
  { "encoding.positions.kind", "index", true, true },
  { "encoding.positions.max_position", 500, true, false },
  { "encoding.positions.range", "zero_based", true, false },
  { "encoding.positions.sorted", false, true, false },
  { "encoding.positions.draw", "pass", true, false },
  { "encoding.positions.reading", "clamped", true, true },
  { "encoding.positions.sides", "mirrored", true, false },
  { "encoding.additive.kind", "sinusoid", true, true },
  { "encoding.additive.rows", 1200, true, true },
  { "encoding.additive.init_sigma", 0.5, true, false },
  { "encoding.additive.dropout", 0.0, true, false },
  { "encoding.score", "x.score - x.slope", true, true },
  { "encoding.parameters", { slope = { per = "head", learned = true, init = 1.0 } }, true, true },
  { "train.batch", 64, true, false },
  { "train.shards", 8, true, false },
  { "train.steps", 5, false, false },
  { "train.learning_rate", 0.5, false, false },
  { "train.lengths", { first = 1, last = 41, step = 1 }, true, false },
  { "train.optimizer.kind", "another", true, false },
  { "train.optimizer.beta1", 0.5, true, false },
  { "train.optimizer.beta2", 0.5, true, false },
  { "train.optimizer.epsilon", 0.5, true, false },
  { "train.clip.kind", "none", true, false },
  { "train.clip.max_norm", 0.5, true, false },
  { "train.log_every", 5, false, false },
  { "train.checkpoint.every", 5, false, false },
  { "train.checkpoint.minutes", 5.0, false, false },
  { "train.checkpoint.keep", { 10, 20 }, false, false },
  { "eval.lengths", { list = { 7, 9 } }, false, false },
  { "eval.examples", 5, false, false },
  { "eval.batch", 5, false, false },
  { "eval.draws", 5, false, false },
  { "eval.dropout", false, true, false },
  { "eval.during.every", 6, false, false },
  { "eval.during.lengths", { first = 3, last = 4, step = 1 }, false, false },
  { "eval.during.examples", 5, false, false },
}

-- A spec in which every field applies, but those that no other stands beside.
local function everything()
  return resolve(ENCODER, small({
    ["encoding.additive.kind"] = "learned", ["encoding.additive.rows"] = "1100", ["encoding.rotation.kind"] = "rope",
    ["encoding.mask"] = "{ kind = 'window', left = 4, right = 2 }",
    ["encoding.rotation.scaling"] = "{ kind = 'yarn', factor = 4, original_length = 41, attention_factor = 1.25 }",
    ["encoding.relative.kind"] = "shaw", ["encoding.relative.clip"] = "4",
    ["encoding.positions.kind"] = "randomized", ["encoding.positions.max_position"] = "1000",
    ["encoding.positions.range"] = "one_based", ["encoding.positions.sides"] = "independent",
    ["encoding.score"] = "{ use = 'alibi' }", ["eval.during.every"] = "5", ["eval.batch"] = "64",
    ["eval.dropout"] = "true", ["model.spare_token"] = "false",
  }))
end

local function parent_of(resolved, path)
  local at = resolved
  for name in path:gmatch("([^%.]+)%.") do
    at = at[name]
  end
  return at, path:match("[^%.]+$")
end

function TestDigests.test_each_field_changes_what_it_should()
  local whole = build(everything())
  for _, entry in ipairs(FIELDS) do
    local path, value, of_plan, of_model, alone = table.unpack(entry)
    local resolved = alone and resolve(ENCODER, small(alone)) or everything()
    local base = alone and build(resolve(ENCODER, small(alone))) or whole
    local parent, name = parent_of(resolved, path)
    lu.assertNotNil(parent[name], path)
    lu.assertNotEquals(parent[name], value, path)
    parent[name] = value
    local plan = build(resolved)
    lu.assertEquals(plan.digest ~= base.digest, of_plan, path .. ": plan digest changes")
    lu.assertEquals(plan.model_digest ~= base.model_digest, of_model, path .. ": model digest changes")
  end
end

-- A user's own task: its bytes are in the plan's digest, the path is not.
function TestDigests.test_own_task_by_its_bytes()
  local text = support.read("tests/golden/tasks/own/first_repeat.c")
  local function digests(folder, bytes)
    support.write(folder .. "/first_repeat.c", bytes)
    local path = support.write("probe.lua", 'return { task = { source = "' .. folder .. '/first_repeat.c" } }')
    local resolved, info, d = support.check(path)
    assert(resolved, d:text())
    lu.assertEquals(resolved.task, { kind = "first_repeat", source = folder .. "/first_repeat.c" })
    local plan = build(resolved, info.task)
    return plan.digest, plan.model_digest
  end
  local plan, model = digests("here", text)
  lu.assertEquals({ digests("there", text) }, { plan, model })
  local other_plan, other_model = digests("here", text .. "/* another */\n")
  lu.assertNotEquals(other_plan, plan)
  lu.assertEquals(other_model, model)
end

-- Finite data: its alphabets are in the plan's digest; the trainer compares the bytes of the files, wherever they lie.
function TestDigests.test_finite_data_by_its_alphabets()
  local function digests(fields, rest)
    local resolved, info, d = support.check_text("return { task = { " .. fields .. " }" .. (rest or "") .. " }")
    assert(resolved, d:text())
    local plan = build(resolved, info.task)
    return plan.digest, plan.model_digest
  end
  local base, model = digests("data = 'a.jsonl', input_symbols = 3, output_symbols = 2")
  local same = { base, model }
  lu.assertEquals({ digests("data = 'b/a.jsonl', eval = 'c.jsonl', input_symbols = 3, output_symbols = 2") }, same)
  lu.assertEquals({ digests("data = 'a.jsonl', input_symbols = { 'x', 'y', 'z' }, output_symbols = 2") }, same)
  lu.assertEquals({ digests("data = 'a.jsonl', input_symbols = 3, output_symbols = 2, longest = 40") }, same)
  lu.assertEquals({ digests("data = 'a.jsonl', input_symbols = 3, output_symbols = 2",
    ", train = { epochs = 4 }, eval = { examples = 3 }") }, same)
  local other, other_model = digests("data = 'a.jsonl', input_symbols = 4, output_symbols = 2")
  lu.assertNotEquals(other, base)
  lu.assertNotEquals(other_model, model)
end

local function task_digests(fields)
  local resolved, info, d = support.check_text("return { task = { " .. fields .. " } }")
  assert(resolved, d:text())
  local plan = build(resolved, info.task)
  return plan.digest, plan.model_digest
end

-- Written or not, the first choice is the choice; another is another task, and so is another number of computation
-- tokens. A model that knows computation tokens takes any number of them.
function TestDigests.test_options_and_computation_tokens_change_the_data()
  support.write("choices.c", support.read("tests/golden/tasks/own/choices.c"))
  local own = "source = 'choices.c'"
  local plan, model = task_digests(own)
  lu.assertEquals({ task_digests(own .. ", options = { base = 2, order = 'up' }, computation = 0") }, { plan, model })
  for _, fields in ipairs({ "options = { base = 10 }", "options = { order = 'down' }" }) do
    local other, other_model = task_digests(own .. ", " .. fields)
    lu.assertNotEquals(other, plan)
    lu.assertNotEquals(other_model, model)
  end
  for _, choice in ipairs({ own, "kind = 'bucket_sort'", "data = 'a.jsonl', input_symbols = 2, output_symbols = 2" }) do
    local none, none_model = task_digests(choice)
    local one, one_model = task_digests(choice .. ", computation = 1")
    local two, two_model = task_digests(choice .. ", computation = 2")
    lu.assertTrue(one ~= none and two ~= one and two ~= none, choice)
    lu.assertNotEquals(one_model, none_model)
    lu.assertEquals(two_model, one_model)
  end
end

-- YaRN's ramp follows the longest training sequence, of which task.longest is all that is known.
function TestDigests.test_finite_data_by_what_longest_settles()
  local function planned(longest)
    local resolved, info, d = support.check_text("return { task = { data = 'a.jsonl', input_symbols = 3, "
      .. "output_symbols = 2, longest = " .. longest .. " }, encoding = { kind = 'rope_yarn' } }")
    assert(resolved, d:text())
    return build(resolved, info.task)
  end
  local short, long = planned(40), planned(80)
  lu.assertEquals(short.rotation.scaling.original_length, 40)
  lu.assertEquals(long.rotation.scaling.original_length, 80)
  lu.assertNotEquals(short.digest, long.digest)
  lu.assertEquals(short.model_digest, long.model_digest)
end

-- With computation tokens a file's longest sequence is all input but for one token.
function TestDigests.test_computation_tokens_lengthen_sequences()
  local function planned(fields)
    local resolved, info, d = support.check_text("return { task = { " .. fields .. " } }")
    assert(resolved, d:text())
    return build(resolved, info.task)
  end
  lu.assertEquals(planned("kind = 'reverse_string'").longest_training, 80)
  lu.assertEquals(planned("kind = 'reverse_string', computation = 2").longest_training, 160)
  lu.assertEquals(planned("kind = 'reverse_string', computation = 2").mean_tokens, 4 * 20.5)
  lu.assertEquals(planned("kind = 'parity_check', computation = 3").longest_training, 161)
  local data = "data = 'a.jsonl', input_symbols = 3, output_symbols = 2, longest = 40"
  lu.assertEquals(planned(data).longest_training, 40)
  lu.assertEquals(planned(data .. ", computation = 2").longest_training, 3 * 39 + 1)
end

function TestDigests.test_every_field_is_in_the_table_above()
  local seen = { id = true, source = true, ["train.epochs"] = true }
  for _, field in ipairs(schema.children.task) do
    seen[field.path] = true -- ways to choose a task: see below
  end
  for _, entry in ipairs(FIELDS) do
    seen[entry[1]] = true
  end
  for _, field in ipairs(schema.fields) do
    lu.assertTrue(seen[field.path] or field.type == "table", field.path .. " is not in FIELDS")
  end
  local function walk(value, path)
    if type(value) == "table" and not seen[path] then
      for name, inner in pairs(value) do
        walk(inner, path == "" and name or path .. "." .. name)
      end
    else
      lu.assertTrue(seen[path], path .. " is resolved and not in FIELDS")
    end
  end
  walk(everything(), "")
end

function TestDigests.test_evaluation_while_training_is_free()
  local with, without = everything(), everything()
  without.eval.during = nil
  lu.assertEquals(build(with).digest, build(without).digest)
end

-- Written or not, a scaling of kind none is the same spec: plans from before there were scalings keep their digests.
function TestDigests.test_no_scaling_leaves_no_trace()
  local plain = resolve(ENCODER, small({ ["encoding.rotation.kind"] = "rope" }))
  local none = resolve(ENCODER, small({ ["encoding.rotation.kind"] = "rope",
    ["encoding.rotation.scaling"] = "{ kind = 'none' }" }))
  lu.assertEquals(plain.encoding.rotation, { kind = "rope", base = 10000.0 })
  lu.assertEquals(none.encoding, plain.encoding)
  lu.assertEquals(build(none).digest, build(plain).digest)
end

-- A checkpoint that was trained without a scaling fits a trainer that has one.
function TestDigests.test_a_scaling_takes_checkpoints_trained_without()
  local with, without = everything(), everything()
  without.encoding.rotation.scaling = nil
  lu.assertEquals(build(with).model_digest, build(without).model_digest)
  lu.assertNotEquals(build(with).digest, build(without).digest)
end

function TestDigests.test_the_vocabulary_is_the_model_s()
  local base = build(everything(), task(5, 5))
  for _, facts in ipairs({ task(4, 5), task(5, 4), task(5, 4, "n") }) do
    local plan = build(everything(), facts)
    lu.assertNotEquals(plan.model_digest, base.model_digest)
  end
  lu.assertEquals(build(everything(), task(5, 5, "2*n")).model_digest, base.model_digest)
end

function TestDigests.test_a_digest_is_short_and_repeats()
  local a, b = build(everything()), build(everything())
  lu.assertStrMatches(a.digest, "%x+")
  lu.assertEquals(#a.digest, 16)
  lu.assertEquals({ a.digest, a.model_digest }, { b.digest, b.model_digest })
  lu.assertNotEquals(a.digest, a.model_digest)
end

TestCosts = {}

-- Six operations per weight of the layers and token, and attention over T^2 pairs.
local function nominal(T)
  return 6 * 245760 * T * 128 + 12 * T * T * 64 * 128 * 5
end

function TestCosts.test_flops_are_the_nominal_ones()
  local cases = { { "{20, 20}", "1", 21, 4.18 }, { "{40, 40}", "1", 41, 8.56 }, { "{40, 40}", "n", 80, 18.3 },
    { "{40, 40}", "2*n", 120, 29.7 } }
  for _, case in ipairs(cases) do
    local plan = plan_of({ ["train.lengths"] = case[1] }, task(2, 2, case[2]))
    lu.assertEquals(plan.flops_per_step, nominal(case[3]))
    lu.assertAlmostEquals(plan.flops_per_step / 1e9, case[4], 0.004 * case[4])
    lu.assertEquals(math.type(plan.flops_per_step), "integer")
    lu.assertEquals({ plan.longest_training, plan.mean_tokens }, { case[3], case[3] })
  end
end

function TestCosts.test_flops_are_a_mean_over_the_training_lengths()
  local cases = { ["{1, 3}"] = { 2, 3, 4 }, ["{1, 9, step = 4}"] = { 2, 6, 10 }, ["{ list = { 4, 40 } }"] = { 5, 41 } }
  for lengths, tokens in pairs(cases) do
    local sum, longest = 0, 0
    for _, T in ipairs(tokens) do
      sum, longest = sum + nominal(T), math.max(longest, T)
    end
    local plan = plan_of({ ["train.lengths"] = lengths }, task(2, 2))
    lu.assertAlmostEquals(plan.flops_per_step, sum / #tokens, 4)
    lu.assertEquals(plan.longest_training, longest)
  end
end

function TestCosts.test_operations_make_up_the_step()
  local plan, sum = plan_of({}), 0
  for _, operation in ipairs(plan.operations) do
    lu.assertEquals(math.type(operation.flops), "integer")
    sum = sum + operation.flops
  end
  lu.assertEquals(sum, plan.flops_per_step)
end

-- Two threads: six vectors of parameters, then a gradient and a workspace each; tables and draws of positions.
function TestCosts.test_memory()
  local plan = plan_of({}, task(2, 2))
  lu.assertEquals(plan.vector_bytes, 4 * plan.parameter_storage)
  lu.assertEquals(plan.memory_bytes, 8 * plan.vector_bytes + 2 * plan.workspace_bytes)
  lu.assertEquals(plan_of({ precision = "float64" }, task(2, 2)).vector_bytes, 2 * plan.vector_bytes)
  local rope = plan_of({ ["encoding.rotation.kind"] = "rope" }, task(2, 2))
  lu.assertEquals(rope.memory_bytes, plan.memory_bytes + 41 * 32 * 4)
  local both = plan_of({ ["encoding.rotation.kind"] = "rope", ["encoding.additive.kind"] = "sinusoid",
    ["encoding.additive.dropout"] = "0", ["encoding.positions.kind"] = "randomized" }, task(2, 2))
  lu.assertEquals(both.memory_bytes, plan.memory_bytes + 2048 * (64 + 32) * 4 + 6 * 2048 * 8)
end

-- Layers keep activations, attention's weights and masks; the backward pass has gradients of one layer and one head.
-- Up to 41 tokens the largest block has 3 sequences of 33, whose queries and keys are padded to 48 and 40.
function TestCosts.test_workspace()
  local plan = plan_of({}, task(2, 2))
  local layer = 102 * (8 * 64 + 256 + 2) + 3 * 8 * 48 * (40 + 1)
  local backward = 102 * (8 * 64 + 256) + 48 * 40 + 2 * 33 * 8
  local want = 5 * (4 * layer + 102 * 64 * 2) + 4 * backward
  lu.assertEquals(plan.workspace_bytes, want)
  lu.assertEquals(plan_of({ ["model.dropout"] = "0" }, task(2, 2)).workspace_bytes, want - 5 * 102 * 64 * 2)
  local dropped = plan_of({ ["encoding.additive.kind"] = "sinusoid" }, task(2, 2))
  lu.assertEquals(dropped.workspace_bytes, want + 102 * 64)
end

-- No block is larger than a shard: of 128 sequences in one shard 84 of one token fit, of 3 in two shards the larger
-- shard has 2, of 1 there is 1; the largest block is then one of the longest sequences.
function TestCosts.test_workspace_ends_at_the_shard()
  local function check(batch, shards, sequences, length, rows, queries, keys)
    local layer = rows * (8 * 64 + 256 + 2) + sequences * 8 * queries * (keys + 1)
    local backward = rows * (8 * 64 + 256) + queries * keys + 2 * length * 8
    local plan = plan_of({ ["train.batch"] = batch, ["train.shards"] = shards }, task(2, 2))
    lu.assertEquals(plan.workspace_bytes, 5 * (4 * layer + rows * 64 * 2) + 4 * backward, batch .. " in " .. shards)
  end
  check("128", "1", 84, 1, 84, 16, 8)
  check("3", "2", 2, 41, 84, 48, 48)
  check("1", "1", 1, 41, 42, 48, 48)
end

-- One sequence of 121 tokens is the largest block of this task: 126 rows with whole tiles.
function TestCosts.test_workspace_of_long_sequences()
  local layer = 126 * (8 * 64 + 256 + 2) + 8 * 128 * (128 + 1)
  local backward = 126 * (8 * 64 + 256) + 128 * 128 + 2 * 121 * 8
  local plan = plan_of({ ["train.lengths"] = "{ 1, 120 }" }, task(2, 2))
  lu.assertEquals(plan.workspace_bytes, 5 * (4 * layer + 126 * 64 * 2) + 4 * backward)
end

-- Tables of 80 tokens: 176 elements by query - key and head, 176 by query + key; the gradients lie in each workspace,
-- and gradients by diagonals have a row of their own. With one sequence in a step the longest is the largest block.
function TestCosts.test_memory_of_scores()
  local plain = scored("{ kind = 'none' }")
  local function more(encoding)
    local plan = scored(encoding)
    local own = plan.workspace_bytes - plain.workspace_bytes
    local vectors = 8 * (plan.vector_bytes - plain.vector_bytes)
    return (plan.memory_bytes - plain.memory_bytes - vectors - 2 * own) / 4, own / 4
  end
  local function both(encoding, shared, own)
    lu.assertEquals({ more(encoding) }, { shared, own }, encoding)
  end
  local by_distance = 79 + 1 + 80 + 16
  both("{ kind = 'alibi' }", 2 * by_distance, 0.0)
  both("{ kind = 'alibi_learned' }", 3 * by_distance, 3.0 * by_distance)
  both("{ kind = 'window' }", by_distance, 0.0)
  both("{ kind = 'kerple_log' }", 2 + 2 + 3 * by_distance, 2.0 + 2 + 3 * by_distance)
  both("{ score = function(x) return x.score + sin(x.key_index + x.query_index) end }", 2 * 80 + 16, 0.0)
  both("{ score = function(x) return x.score + sin(x.key_index * x.query_index) + x.head * cos(x.query_index) end }",
    80 * 80 + 2 * 80, 0.0)
  both("{ kind = 'log_length' }", 1, 0.0)
end

TestConstants = {}

function TestConstants.test_dropout()
  local plan = plan_of({ ["encoding.additive.kind"] = "sinusoid", ["encoding.additive.dropout"] = "0.25" })
  lu.assertEquals({ plan.dropout.threshold, plan.dropout.keep_scale, plan.dropout.rate_text }, { 6554, 1 / 0.9, "0.1" })
  lu.assertEquals(plan.additive.dropout.threshold, 16384)
  lu.assertEquals(plan_of({ ["model.dropout"] = "0.99" }).dropout.threshold, 64881) -- 16 bits hold it
  lu.assertEquals(plan.dropouts, { plan.dropout, plan.additive.dropout })
  lu.assertEquals(plan_of({ ["model.dropout"] = "0" }).dropouts, {})
  lu.assertEquals(plan_of({}).additive.dropout, { kind = "none" })
end

function TestConstants.test_scales()
  local plan = plan_of({ ["model.width"] = "48", ["model.heads"] = "4" })
  lu.assertEquals({ plan.head_width, plan.head_part }, { 12, 4 })
  lu.assertEquals(plan.embedding_scale, math.sqrt(48))
  lu.assertEquals(plan.logit_scale, 1 / math.sqrt(12))
  lu.assertEquals({ plan.tokens, plan.empty_token }, { 7, 6 })
end

function TestConstants.test_limits_on_the_length()
  local function limit(sets)
    return plan_of(sets).limit
  end
  lu.assertFalse(limit({}))
  lu.assertFalse(limit({ ["encoding.additive.kind"] = "sinusoid", ["encoding.rotation.kind"] = "rope" }))
  lu.assertEquals(limit({ ["encoding.additive.kind"] = "learned", ["encoding.additive.rows"] = "1000" }),
    { tokens = 1000, because = "encoding.additive.rows = 1000" })
  lu.assertEquals(limit({ ["encoding.additive.kind"] = "learned", ["encoding.additive.rows"] = "3000",
    ["encoding.positions.kind"] = "randomized" }),
    { tokens = 2048, because = "encoding.positions.max_position = 2048" })
  lu.assertFalse(limit({ ["encoding.relative.kind"] = "transformer_xl" }))
  lu.assertEquals(limit({ ["encoding.relative.kind"] = "shaw", ["encoding.positions.kind"] = "randomized" }),
    { tokens = 2048, because = "encoding.positions.max_position = 2048" })
end

TestWords = {}

local function keys(t)
  return table.concat(canonical.sorted_keys(t), " ")
end

function TestWords.test_json_has_the_documented_keys()
  local plan = build(everything())
  local object = plan_module.json(plan)
  lu.assertEquals(keys(object), "choices digest flops_per_step id memory_bytes operations parameters tensors")
  lu.assertEquals(#object.tensors, plan.tensor_count)
  for _, tensor in ipairs(object.tensors) do
    lu.assertEquals(keys(tensor), "name offset shape")
  end
  for _, choice in ipairs(object.choices) do
    lu.assertEquals(keys(choice), "value what why")
  end
  for _, operation in ipairs(object.operations) do
    lu.assertEquals(keys(operation), "flops what")
  end
end

function TestWords.test_json_comes_in_the_documented_order()
  local plan = build(everything())
  local text = json.encode(plan_module.json(plan), { indent = true, keyorder = plan_module.JSON_ORDER })
  local got = {}
  for name in text:gmatch('\n  "([%w_]+)":') do
    got[#got + 1] = name
  end
  lu.assertEquals(table.concat(got, " "),
    "id digest parameters flops_per_step memory_bytes tensors operations choices")
  lu.assertEquals(text:match('{%s*("name":.-)%s*}'):gsub("%s+", ""),
    '"name":"embed.token.weight","shape":[6,16],"offset":0')
  lu.assertEquals(canonical.text(json.decode(text)), canonical.text(plan_module.json(plan)))
end

function TestWords.test_text()
  local text = plan_module.text(plan_of({}, task(2, 2)))
  lu.assertStrContains(text, "parameters  249,026\n")
  lu.assertStrContains(text, "5 layers, 8 heads x 8, width 64, feed-forward 256, dropout 0.1, float32")
  lu.assertStrContains(text, "encoding    no positional encoding\n")
  lu.assertNotStrContains(text, " \n")
  lu.assertStrMatches(text, ".*[^\n]\n")
  text = plan_module.text(build(everything()))
  lu.assertStrContains(text, "learned vectors are added to the token embedding, keys have a learned vector of the "
    .. "distance, the same beyond 4, queries and keys are rotated (base 10000, YaRN x 4 from 41 positions); sorted "
    .. "positions drawn from 1 .. 1000, ascending distances drawn from 1 .. 1000, each side by itself; queries see "
    .. "themselves, 4 keys before and 2 behind them; score = x.score + ")
  lu.assertStrContains(text, "distance draws per pass  2 ")
  lu.assertStrContains(text, "position draws per pass  3 ")
end

-- Steps times mean tokens, here 21.5, over the range; a step draws for every sequence where each has its own.
function TestWords.test_visits_of_a_position()
  local function words(draw, steps)
    local sets = { ["encoding.additive.kind"] = "learned", ["train.steps"] = steps, ["train.batch"] = "128",
      ["encoding.positions"] = ("{ kind = 'randomized', max_position = 2000, draw = %q }"):format(draw) }
    local text = plan_module.text(plan_of(sets, task(2, 2)))
    return text:match("visits of a position%s+(%S+)"), text:match("position draws per pass%s+(%w+)")
  end
  lu.assertEquals({ words("pass", "100000") }, { "1,075", "1" })
  lu.assertEquals({ words("pass", "100") }, { "1.1", "1" }) -- 1.075
  lu.assertEquals({ words("sequence", "100000") }, { "137,600", "as" })
  lu.assertNil(plan_module.text(plan_of({}, task(2, 2))):match("visits of a position"))
end

-- The choices that tell where the parts of a score went: { what, value, why }.
local function score_choices(encoding)
  local list = {}
  for _, choice in ipairs(plan_module.json(scored(encoding)).choices) do
    if choice.what:find("^score") then
      list[#list + 1] = { choice.what, choice.value, choice.why }
    end
  end
  return list
end

function TestWords.test_choices_of_a_score()
  lu.assertEquals(score_choices("{ kind = 'none' }"), {})
  lu.assertEquals(score_choices("{ kind = 'alibi' }"), {
    { "score table by_distance", "[2][query - key]",
      "once per step: x.slope * (select(less(x.distance, 0), 0.5, 0) - abs(x.distance))" },
    { "score in the pair loop", "logit made once", "x.score + by_distance; its gradient does without the logit" },
  })
  lu.assertEquals(score_choices("{ kind = 'kerple_log' }"), {
    { "score table by_head", "[2]", "once per step: exp(x.log_p); its gradient goes to x.log_p" },
    { "score table by_head_2", "[2]", "once per step: exp(x.log_a); its gradient goes to x.log_a" },
    { "score table by_distance", "[2][query - key]", "once per step: -(by_head * log1p(by_head_2 * "
      .. "abs(x.distance))); its gradient goes to by_head, by_head_2" },
    { "score in the pair loop", "logit made once", "x.score + by_distance; its gradient does without the logit" },
  })
end

function TestWords.test_choices_of_a_score_that_needs_the_logit_again()
  lu.assertEquals(score_choices("{ score = function(x) return tanh(x.score) + x.a * x.b * x.head end, "
    .. "parameters = { a = { init = 1 }, b = { per = 'layer', init = 2 } } }"), {
    { "score table by_head", "[2]",
      "once per step, for each layer: x.a * x.b * x.head; its gradient goes to x.a, x.b" },
    { "score in the pair loop", "logit made twice",
      "tanh(x.score) + by_head; its gradient needs the logit, which the backward pass computes again" },
  })
  lu.assertEquals(score_choices("{ kind = 'log_length' }"), {
    { "score table scalar", "one number", "once per step: 0.22820491141866869 * log(x.query_length)" },
    { "score in the pair loop", "logit made once", "x.score * scalar; its gradient does without the logit" },
  })
end

function TestWords.test_text_of_a_score()
  local text = plan_module.text(scored("{ kind = 'window' }"))
  lu.assertStrContains(text, "  score table by_distance  [query - key]        once per step: -select(less_equal(")
  lu.assertStrContains(text, "\n  score in the pair loop   logit made once      x.score + by_distance; ")
end

function TestWords.test_comments_fit_a_line()
  local widest = plan_of({ ["model.layers"] = "64", ["model.heads"] = "64", ["model.width"] = "1024",
    ["model.feedforward"] = "8192", precision = "float64", ["encoding.additive.kind"] = "learned",
    ["encoding.rotation.kind"] = "rope", ["encoding.rotation.base"] = "123456789012",
    ["encoding.positions.kind"] = "randomized", ["encoding.positions.max_position"] = "1048576",
    ["encoding.positions.sorted"] = "false" })
  for file, lines in pairs(widest.about) do
    for _, line in ipairs(lines) do
      lu.assertTrue(#line <= 97, file .. ": " .. line)
      lu.assertStrMatches(line, "%S.*%S")
    end
  end
  lu.assertEquals(widest.about.attention, {
    "Self-attention over whole sequences, forward and backward: softmax(q k / sqrt(head width)) v.",
    "Learned vectors are added to the token embedding, queries and keys are rotated (base",
    "1.23456789e+11); unsorted positions drawn from 0 .. 1048575.",
  })
end

TestData = {}

function TestData.test_a_plan_is_pure_data()
  local plan = build(everything())
  local legal = { ["nil"] = true, boolean = true, number = true, string = true }
  local function walk(value, path, above)
    if type(value) == "table" then
      lu.assertNil(above[value], path .. " contains itself")
      lu.assertNil(getmetatable(value), path)
      above[value] = true
      for key, inner in pairs(value) do
        lu.assertTrue(type(key) == "string" or math.type(key) == "integer", path)
        walk(inner, path .. "." .. tostring(key), above)
      end
      above[value] = nil
    else
      lu.assertTrue(legal[type(value)], path .. " is a " .. type(value))
    end
  end
  walk(plan, "plan", {})
end

function TestData.test_building_changes_nothing_it_was_given()
  local resolved, facts = everything(), task(5, 5, "n")
  local before = canonical.text({ resolved, facts })
  build(resolved, facts)
  lu.assertEquals(canonical.text({ resolved, facts }), before)
end

function TestData.test_plan_lua_reads_back()
  for _, sets in ipairs({ small(), small({ ["eval.lengths"] = "{ list = { 6, 10 } }",
    ["train.checkpoint.keep"] = "{ 10, 20 }", ["eval.during.every"] = "5", ["encoding.additive.kind"] = "learned",
    ["train.learning_rate"] = "0.1", ["train.optimizer.epsilon"] = "3e-9" }) }) do
    local plan = plan_of(sets)
    local text = plan_module.serialize(plan)
    lu.assertEquals(text:match("^%-%- Generated by Longhand; do not edit%. .-(%./longhand gen [^\n]*)\n"),
      "./longhand gen probe.lua")
    local read = assert(load(text, "=plan.lua", "t", {}))()
    for _, name in ipairs({ "id", "digest", "model_digest", "parameters", "parameter_storage", "flops_per_step" }) do
      lu.assertEquals(read[name], plan[name], name)
    end
    lu.assertEquals(canonical.text(read.resolved), canonical.text(plan.resolved))
    lu.assertEquals(read.resolved.train.learning_rate, plan.resolved.train.learning_rate)
    local choices = plan_module.json(plan).choices
    lu.assertEquals(#read.choices, #choices)
    for i, choice in ipairs(read.choices) do
      lu.assertEquals(choice, { choices[i].what, choices[i].value, choices[i].why })
    end
    lu.assertEquals(#read.tensors, plan.tensor_count)
    for i, tensor in ipairs(read.tensors) do
      local planned = plan.tensors[i]
      lu.assertEquals(tensor, { planned.name, planned.shape, offset = planned.offset, stride = planned.stride })
    end
  end
end

function TestData.test_plan_lua_reads_back_with_a_long_formula()
  local plan = scored("{ kind = 'fire' }")
  local text = plan_module.serialize(plan)
  for line in text:gmatch("[^\n]+") do
    lu.assertTrue(#line <= 120 or line:find('score = "', 1, true) ~= nil, line)
  end
  local read = assert(load(text, "=plan.lua", "t", {}))()
  for i, choice in ipairs(plan_module.json(plan).choices) do
    lu.assertEquals(read.choices[i], { choice.what, choice.value, choice.why })
  end
end

function TestData.test_the_resolved_text_is_json()
  local plan = build(everything())
  for _, line in ipairs(plan.resolved_lines) do
    lu.assertTrue(#line <= 100, line)
  end
  local text = table.concat(plan.resolved_lines):gsub('\\"', '"')
  lu.assertEquals(text, canonical.text(plan.resolved))
  lu.assertEquals(canonical.text(json.decode(text)), text)
end

TestCanonical = {}

function TestCanonical.test_keys_are_sorted()
  lu.assertEquals(canonical.text({ b = 1, a = { d = true, c = "x" }, e = { 3, { f = 4 } } }),
    '{"a":{"c":"x","d":true},"b":1,"e":[3,{"f":4}]}')
  lu.assertEquals(canonical.sorted_keys({ z = 1, _ = 2, Z = 3, a = 4 }), { "Z", "_", "a", "z" })
end

-- Keys inserted in any order, and removed again, give one text.
function TestCanonical.test_the_order_of_insertion_does_not_matter()
  local forward, backward = {}, {}
  for i = 1, 40 do
    forward["k" .. i] = i
    backward["k" .. 41 - i] = 41 - i
    backward["x" .. i] = i
  end
  for i = 1, 40 do
    backward["x" .. i] = nil
  end
  lu.assertEquals(canonical.text(forward), canonical.text(backward))
end

function TestCanonical.test_numbers_and_strings()
  local cases = { [2e6] = "2000000", [0.1] = "0.1", [1 / 3] = "0.33333333333333331", [1e-8] = "1e-08",
    [1e300] = "1e+300", [-7] = "-7", ['a"b\\\n\t\r\1'] = '"a\\"b\\\\\\n\\t\\r\\u0001"', [true] = "true" }
  for value, want in pairs(cases) do
    lu.assertEquals(canonical.text(value), want)
  end
  lu.assertEquals(tonumber(canonical.text(0.1 + 0.2)), 0.1 + 0.2)
end

support.run()
