-- The layout of a model's parameters: counts, initial values, names, shapes, offsets.

local support = dofile("tests/lua/support.lua")

local diagnostics = require("base.diagnostics")
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local plans = require("plans")
local project_module = require("project")
local tasks = require("spec.task.tasks")
local safetensors = require("base.safetensors")

local make_plan, make_small_sets, make_task = plans.make_plan, plans.make_small_sets, plans.make_task

local CHUNK = 4096 -- the storage has a multiple of this number of elements

TestParameters = {}

local UNIFORM, NORMAL = "LH_INIT_UNIFORM", "LH_INIT_NORMAL"

local function index_tensors(plan)
  return lists.index_by(plan.tensors, function(tensor) return tensor.name end)
end

-- Checks initial values by the names of tensors: { kind, value, tolerance (nil: 0) }.
local function check_initial(plan, expected_values)
  local tensors = index_tensors(plan)
  for name, expected in pairs(expected_values) do
    local tensor = assert(tensors[name], name)
    lu.assertEquals(tensor.init, expected[1], name)
    lu.assertAlmostEquals(tensor.value, expected[2], expected[3] or 0, name)
  end
end

-- Ruoss et al. 2023: { parameters, input symbols, output symbols (three counts), tasks with these counts }.
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

-- Settings of encodings that add no parameters.
local WITHOUT_PARAMETERS = {
  {},
  { ["encoding.additive.kind"] = "sinusoid" },
  { ["encoding.rotation.kind"] = "rope" },
  { ["encoding.additive.kind"] = "sinusoid", ["encoding.positions.kind"] = "randomized" },
  { ["encoding.rotation.kind"] = "rope", ["encoding.positions.kind"] = "randomized" },
}

function TestParameters.test_counts_are_those_of_the_paper()
  for _, row in ipairs(COUNTS) do
    for _, sets in ipairs(WITHOUT_PARAMETERS) do
      lu.assertEquals(make_plan(sets, make_task(row[2], row[3])).parameters, row[1], row[4])
    end
  end
end

-- Published counts of parameters, and the tasks with these counts. The first two counts are those of the base model and
-- of the model with relative encoding; both include the spare row of the token embedding (model.spare_token). The third
-- and fourth are the first two without this row.
local TASK_COUNTS = {
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

function TestParameters.test_counts_of_all_tasks_are_the_published_ones()
  local d = diagnostics.new()
  local samplers, count = tasks.read("runtime/data/tasks", d), 0
  lu.assertEquals(d:text(), "")
  for _, row in ipairs(TASK_COUNTS) do
    for i = 5, #row do
      for column, sets in ipairs({ {}, { ["encoding.relative.kind"] = "transformer_xl" },
        { ["model.spare_token"] = "false" },
        { ["model.spare_token"] = "false", ["encoding.relative.kind"] = "transformer_xl" } }) do
        lu.assertEquals(make_plan(sets, samplers[row[i]]).parameters, row[column], row[i])
      end
      count = count + 1
    end
  end
  local published = lists.count(samplers.list, function(facts)
    return facts.summary:find("Ruoss et al. 2023", 1, true)
  end)
  lu.assertEquals({ count, published }, { 15, 15 })
end

function TestParameters.test_a_learned_table_adds_its_rows()
  for _, row in ipairs(COUNTS) do
    local facts = make_task(row[2], row[3])
    lu.assertEquals(make_plan({ ["encoding.additive.kind"] = "learned" }, facts).parameters, row[1] + 64 * 2048)
    local sets = { ["encoding.additive.kind"] = "learned", ["encoding.additive.rows"] = "600" }
    lu.assertEquals(make_plan(sets, facts).parameters, row[1] + 64 * 600)
    sets = { ["encoding.additive.kind"] = "learned", ["encoding.positions.kind"] = "randomized",
      ["encoding.positions.max_position"] = "1001" }
    lu.assertEquals(make_plan(sets, facts).parameters, row[1] + 64 * 1001)
  end
end

-- The relative encoding adds 4,224 parameters per layer, 21,120 in all, as published.
function TestParameters.test_relative_adds_a_map_and_two_biases()
  for _, row in ipairs(COUNTS) do
    for _, kind in ipairs({ "index", "randomized" }) do
      local sets = { ["encoding.relative.kind"] = "transformer_xl", ["encoding.positions.kind"] = kind }
      lu.assertEquals(make_plan(sets, make_task(row[2], row[3])).parameters, row[1] + 21120, row[4])
    end
  end
  lu.assertEquals(make_plan({ ["encoding.relative.kind"] = "transformer_xl" }, make_task(2, 2)).parameters, 270146)
end

function TestParameters.test_shaw_adds_a_row_per_distance()
  local sets = { ["encoding.relative.kind"] = "shaw", ["encoding.relative.clip"] = "7" }
  lu.assertEquals(make_plan(sets, make_task(2, 2)).parameters, 249026 + 5 * 15 * 8)
end

function TestParameters.test_initial_values_are_those_of_the_paper()
  local plan = make_plan({ ["encoding.additive.kind"] = "learned", ["encoding.relative.kind"] = "transformer_xl" })
  check_initial(plan, {
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
  })
end

-- The defaults of PyTorch in the model of Ito et al. 2024, of width 160; published numbers have a tolerance.
function TestParameters.test_initial_values_of_torch_are_its_bounds()
  local plan = make_plan({ ["model.init"] = "torch", ["model.width"] = "160", ["model.feedforward"] = "640",
    ["model.bias"] = "all" })
  check_initial(plan, {
    ["embed.token.weight"] = { NORMAL, 1 },
    ["layers.0.attention.query.weight"] = { UNIFORM, 0.09682, 5e-6 },
    ["layers.3.attention.value.weight"] = { UNIFORM, math.sqrt(6 / 640) },
    ["layers.0.attention.key.bias"] = { "LH_INIT_CONSTANT", 0 },
    ["layers.0.attention.output.weight"] = { UNIFORM, 1 / math.sqrt(160) },
    ["layers.0.attention.output.bias"] = { "LH_INIT_CONSTANT", 0 },
    ["layers.0.norm1.scale"] = { "LH_INIT_CONSTANT", 1 },
    ["layers.0.norm1.offset"] = { "LH_INIT_CONSTANT", 0 },
    ["layers.0.feedforward.up.weight"] = { UNIFORM, 1 / math.sqrt(160) },
    ["layers.0.feedforward.up.bias"] = { UNIFORM, 1 / math.sqrt(160) },
    ["layers.0.feedforward.down.weight"] = { UNIFORM, 1 / math.sqrt(640) },
    ["layers.0.feedforward.down.bias"] = { UNIFORM, 1 / math.sqrt(640) },
    ["output.weight"] = { UNIFORM, 1 / math.sqrt(160) },
    ["output.bias"] = { UNIFORM, 1 / math.sqrt(160) },
  })
end

-- Bounds of Xavier's method in the model of Duan and Shi 2024, of width 128 with 15 tokens; published numbers have a
-- tolerance.
function TestParameters.test_initial_values_of_xavier_are_its_bounds()
  local plan = make_plan({ ["model.init"] = "xavier", ["model.width"] = "128", ["model.feedforward"] = "512",
    ["model.bias"] = "all", ["model.activation"] = "swiglu" }, make_task(13, 15))
  lu.assertEquals(plan.tokens, 15)
  check_initial(plan, {
    ["embed.token.weight"] = { UNIFORM, 0.20484, 5e-6 },
    ["layers.0.attention.query.weight"] = { UNIFORM, 0.10825, 5e-6 },
    ["layers.0.attention.query.bias"] = { "LH_INIT_CONSTANT", 0 },
    ["layers.0.attention.output.weight"] = { UNIFORM, math.sqrt(6 / 256) },
    ["layers.0.feedforward.gate.weight"] = { UNIFORM, math.sqrt(6 / (128 + 512)) },
    ["layers.0.feedforward.up.weight"] = { UNIFORM, math.sqrt(6 / (128 + 512)) },
    ["layers.0.feedforward.up.bias"] = { UNIFORM, 1 / math.sqrt(128) },
    ["layers.0.feedforward.down.bias"] = { UNIFORM, 1 / math.sqrt(512) },
    ["output.weight"] = { UNIFORM, 0.20484, 5e-6 },
    ["output.bias"] = { UNIFORM, 1 / math.sqrt(128) },
  })
end

-- The reference vectors store the bound of every matrix of encoder-decoders. For these bounds, the queries, keys and
-- values of a cross-attention are one matrix.
function TestParameters.test_bounds_of_xavier_are_those_of_the_stored_vectors()
  local project, count = project_module.new("."), 0
  for file in lfs.dir("tests/reference") do
    local name = file:match("^(abc_.*)%.safetensors$")
    if name then
      local plan, bounds = assert(project:plan(("tests/specs/networks/%s.lua"):format(name))).plan, {}
      for tensor, bound in assert(safetensors.open("tests/reference/" .. file)).metadata.xavier:gmatch("(%S+) (%S+)") do
        bounds[tensor], count = { UNIFORM, tonumber(bound), 1e-9 }, count + 1
      end
      check_initial(plan, bounds)
    end
  end
  lu.assertTrue(count >= 120, count)
end

TestLayout = {}

local SETTINGS = {
  { ["encoding.additive.kind"] = "learned" },
  make_small_sets(),
  make_small_sets({ precision = "float64", ["encoding.additive.kind"] = "learned",
    ["encoding.additive.rows"] = "600" }),
  make_small_sets({ ["model.width"] = "48", ["model.heads"] = "4", ["model.layers"] = "1" }),
  make_small_sets({ ["encoding.relative.kind"] = "transformer_xl" }),
  make_small_sets({ ["encoding.relative.kind"] = "shaw", ["encoding.relative.clip"] = "3" }),
}

function TestLayout.test_tensors_have_the_documented_names_and_shapes()
  local expected = { "embed.token.weight 7 16", "embed.position.weight 600 16" }
  for l = 0, 1 do
    for _, tensor in ipairs({ "attention.query.weight 16 16", "attention.key.weight 16 16",
      "attention.value.weight 16 16", "attention.output.weight 16 16", "norm1.scale 16", "norm1.offset 16",
      "feedforward.up.weight 16 32", "feedforward.up.bias 32", "feedforward.down.weight 32 16",
      "feedforward.down.bias 16", "norm2.scale 16", "norm2.offset 16" }) do
      expected[#expected + 1] = ("layers.%d.%s"):format(l, tensor)
    end
  end
  expected[#expected + 1] = "output.weight 16 5"
  expected[#expected + 1] = "output.bias 5"
  local actual = {}
  local plan = make_plan(SETTINGS[3])
  for i, tensor in ipairs(plan.tensors) do
    actual[i] = tensor.name .. " " .. table.concat(tensor.shape, " ")
    lu.assertEquals(tensor.rank, #tensor.shape)
    lu.assertEquals(tensor.shape_text, table.concat(tensor.shape, ", "))
  end
  lu.assertEquals(actual, expected)
  lu.assertEquals(plan.tensor_count, #expected)
end

-- Calls visit(index in the parameters) for every element of a tensor.
local function visit_elements(tensor, visit)
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
  for _, sets in ipairs(SETTINGS) do
    local plan = make_plan(sets)
    local owner, count = {}, 0
    for _, tensor in ipairs(plan.tensors) do
      visit_elements(tensor, function(index)
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
    local padding = plan.parameter_storage - plan.parameter_elements
    lu.assertTrue(padding >= 0 and padding < CHUNK, padding)
  end
end

function TestLayout.test_queries_keys_and_values_share_rows()
  local plan = make_plan(make_small_sets())
  local tensors = index_tensors(plan)
  for l = 0, 1 do
    local prefix = ("layers.%d.attention."):format(l)
    local query, key = tensors[prefix .. "query.weight"], tensors[prefix .. "key.weight"]
    local value, output = tensors[prefix .. "value.weight"], tensors[prefix .. "output.weight"]
    lu.assertEquals({ query.stride, key.stride, value.stride, output.stride }, { 48, 48, 48, 16 })
    lu.assertEquals({ key.offset, value.offset, output.offset },
      { query.offset + 16, query.offset + 32, query.offset + 16 * 48 })
  end
  lu.assertEquals(tensors["output.weight"].stride, 16) -- five classes, padded to a whole vector
  lu.assertEquals(plan.class_columns, 16)
  lu.assertEquals(make_plan({}, make_task(2, 17)).class_columns, 32)
end

-- Geometric attention adds a bias for each channel of queries, and two numbers, padded to a whole vector. With
-- directions it adds a third number, and a linear map, with biases, that gives two values for each head.
function TestLayout.test_geometric_attention_adds_its_parameters()
  local unbiased = make_plan({})
  local plan = make_plan({ ["encoding.normaliser.kind"] = "geometric" })
  local undirected = make_plan({ ["encoding.normaliser"] = "{ kind = 'geometric', directional = false }" })
  lu.assertEquals(plan.parameters - unbiased.parameters, 5 * (64 + 64 * 16 + 16 + 3))
  lu.assertEquals(undirected.parameters - unbiased.parameters, 5 * (64 + 2))
  lu.assertEquals(plan.parameter_elements - unbiased.parameter_elements, 5 * (64 + 64 * 16 + 16 + 16))
  lu.assertEquals(undirected.parameter_elements - unbiased.parameter_elements, 5 * (64 + 16))
  local padded = make_plan({ ["encoding.normaliser.kind"] = "geometric", ["model.heads"] = "4" })
  lu.assertEquals(padded.attentions[1].requested_value.width, 16)
  lu.assertEquals(padded.parameters - unbiased.parameters, 5 * (64 + 64 * 8 + 8 + 3))
  lu.assertEquals(make_plan({ ["encoding.normaliser.kind"] = "softmax" }).digest, unbiased.digest)
end

support.run()
