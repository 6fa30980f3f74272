-- Writes networks as tables of the interpreter (kernels/ref/network.h): render_networks.lua FILE HOW_MANY SPEC...
-- A SPEC is the file of a spec or the name of a random spec (random_1). Besides the networks of the specs, FILE gets
-- HOW_MANY random networks with features that generated code lacks.

package.path = "generator/?.lua;?.lua;tests/lua/?.lua;tests/support/?.lua;" .. package.path

local random_specs = require("random_specs") -- loaded before modules that plan
local builder = require("network.graph.builder")
local levels = require("plan.deriving.levels")
local memory = require("lab.pages.memory")
local model_network = require("plan.deriving.model_network")
local networks = require("networks")
local reference = require("reference_network")
local render = require("render.templates.render")
local write = require("base.write")

-- Families of attention by name, each with other facets; a head has 8 channels.
local function make_families()
  local list = {
    none = {},
    rope = { rotation = { kind = "rope", base = 100 } },
    causal = { mask = { kind = "causal", right = 0 } },
    window = { mask = { kind = "window", left = 1, right = 2 } },
    relative = { relative = { kind = "transformer_xl" } },
    shaw = { relative = { kind = "shaw", clip = 2, rows = 5, width = 8, padded_elements = 48, init_sigma = 1 } },
    left = {
      relative = { kind = "shaw", clip = 2, rows = 3, width = 8, padded_elements = 32, init_sigma = 1, left = true },
      mask = { kind = "causal", right = 0 }, normaliser = { kind = "softmax", temperature = 0.5 },
      projections = { bias = true, output = false } },
    geometric = { normaliser = { kind = "geometric", normalised = true, directional = true, direction_width = 16,
      padding = 13 } },
    plain = { normaliser = { kind = "geometric", normalised = false, padding = 14 } },
    cross = { cross = true },
  }
  local missing = { rotation = { kind = "none" }, mask = { kind = "none" }, relative = { kind = "none" },
    normaliser = { kind = "softmax" }, score = {}, heads = 2, head_width = 8, logit_scale = 1 / math.sqrt(8) }
  for name, family in pairs(list) do
    family.name, family.prefix = name, name .. "_"
    setmetatable(family, { __index = missing })
  end
  return list
end

local NAMES = { "none", "rope", "causal", "window", "relative", "shaw", "left", "geometric", "plain" }
local ADDITIVES = {
  { kind = "none" }, { kind = "sinusoid" }, { kind = "learned" }, { kind = "learned", in_blocks = true },
  { kind = "sinusoid", in_blocks = true, interleaved = true, grid = 3 },
}
for _, additive in ipairs(ADDITIVES) do
  additive.rows, additive.init = 8, { kind = "normal", value = 1 }
end

local function make_network(number)
  local additive = ADDITIVES[number % #ADDITIVES + 1]
  local description = networks.make_random(number, { streams = number % 3 == 0 and { "source", "target" },
    families = NAMES, no_dropout = { geometric = true, plain = true }, has_block_positions = additive.in_blocks })
  return reference.derive(builder.build(assert(load(description.text))(), {
    model = { width = description.width },
    tokens = { count = 5, text = "TOKENS" },
    classes = { count = 3, padded = { count = 16, text = "CLASS_COLUMNS" } },
    families = make_families(),
    additive = additive,
  }))
end

local NOISE = { [false] = "NO_NOISE", absolute = "ABSOLUTE", relative = "RELATIVE_NOISE" }

local project = require("project").new(".")
local network_list, memory_plans = {}, {}
local function add_memory(plan)
  local block = memory.derive(plan).largest_block
  for _, level in ipairs(levels) do
    memory_plans[#memory_plans + 1] = { id = plan.id, level = level.name, first = block.size[1],
      second = block.size[2] or 0, sequences = block.sequences,
      workspace = memory.count_workspace(plan, block.size, block.sequences, level),
      shared = memory.count_shared(plan, block.size, level), tables = memory.count_tables(plan, block.size) }
  end
end

local function add(plan)
  add_memory(plan)
  local network = reference.derive(model_network.build_network(plan))
  network.id, network.noise = plan.id, NOISE[plan.noise]
  network_list[#network_list + 1] = network
end
for _, name in ipairs({ table.unpack(arg, 3) }) do
  if random_specs.parse_number(name) then
    random_specs.call_with_plan(project, name, arg[1]:match("^(.*)/"), add)
  else
    add(assert(project:plan(name)).plan)
  end
end
for number = 1, tonumber(arg[2]) do
  local network = make_network(number)
  network.id, network.noise = "any_" .. number, NOISE[false]
  network_list[#network_list + 1] = network
end
local template_values = { networks = network_list, memory_plans = memory_plans }
local text, err = render.render("networks.c.tpl", template_values, function(name)
  return write.read("tests/support/" .. name)
end)
assert(text, err and ("%s:%s: %s"):format(err.path, err.line, err.what))
local file = assert(io.open(arg[1], "wb"))
file:write(text)
file:close()
