-- Writes the C of the library test: lua5.4 tests/expressions/library.lua FOLDER
--
-- Every preset of spec/encodings with a score, on indices and on random distances, for 6 heads, in one file of C,
-- part_library.c, and one of device code for the host, device_library.cpp. Expected results come from kernels/ref
-- (tests/unit/test_library.c).

local root = arg[0]:match("^(.*)/tests/expressions/library%.lua$") or "."
package.path = ("%s/generator/?.lua;%s/tests/expressions/?.lua;%s"):format(root, root, package.path)

local parts = require("parts")
local project_module = require("project")
local score_facet = require("facets.score")
local write = require("base.write")

local HEADS, LAYERS, TOKENS, MAX_POSITION = 6, 2, 135, 1024

-- Presets that other tests check: for a grid of 16 cells alone (tests/lua/test_latin_encodings.lua), for two streams
-- (tests/lua/test_masks.lua), with values of tokens (tests/unit/test_random.c), or
-- with positions of the task (tests/unit/test_draws.c).
local ELSEWHERE = { lst_2d = true, lst_2d_clean = true, lst_learned = true, lst_random = true, abc_b = true,
  abc_c = true, abc_d = true, fox = true, cable = true, grape_key = true, grape_query = true, grape_both = true,
  coupling = true, rope_nope_cycle = true, local_global_cycle = true }

local folder = arg[1]
local project = project_module.new(root)

local function write_spec(name, reading)
  local positions = reading == "index" and "" or
    ('positions = { kind = "randomized", max_position = %d, reading = %q },'):format(MAX_POSITION, reading)
  return ([[
return {
  task = { kind = "bucket_sort" },
  encoding = { %s use = %q },
  model = { layers = %d, heads = %d, width = %d, feedforward = 16 },
  precision = "float64",
}
]]):format(positions, name, LAYERS, HEADS, 8 * HEADS)
end

-- The initial values of a parameter in C: a list, one number for all, or a spread.
local function read_initial_values(p)
  local spread = type(p.init) == "table" and p.init.sigma or 0
  return { list = p.values_text or false, number = ("%.17g"):format(type(p.init) == "number" and p.init or 0),
    spread = ("%.17g"):format(spread) }
end

-- The struct's members in the order of the test's flat list of values.
local function list_members(learned)
  local list, offset = {}, 0
  for _, p in ipairs(learned) do
    for layer = 0, p.per_layer and LAYERS - 1 or 0 do
      list[#list + 1] = { path = (p.per_layer and ("layer[%d]."):format(layer) or "") .. p.member, at = offset,
        count = p.count }
      offset = offset + p.count
    end
  end
  return list
end

local function make_entry(name, reading, number)
  local path = ("%s/library_%s_%s.lua"):format(folder, name, reading)
  local file = assert(io.open(path, "w"))
  file:write(write_spec(name, reading))
  file:close()
  local spec, message = project:resolve(path, {})
  assert(spec, message)
  if not spec.score then
    return nil
  end
  local positions = parts.make_positions(reading, LAYERS)
  local score = score_facet.derive(spec.score, parts.make_family(positions, HEADS, LAYERS), "float64")
  local out = { name = name, number = number, samples_distances = tostring(reading == "drawn"), score = score,
    positions = positions, terms = parts.settle_family(positions, HEADS, LAYERS, score).terms,
    members = list_members(score.learned), parameters = {} }
  for i, p in ipairs(score.learned) do
    out.parameters[i] = { name = p.name, layers = p.per_layer and LAYERS or 1, count = p.count,
      start = read_initial_values(p) }
  end
  return out
end

local entries = {}
for _, name in ipairs(project:list_names("spec/encodings", ".lua")) do
  for _, reading in ipairs(ELSEWHERE[name] and {} or { "index", "drawn" }) do
    entries[#entries + 1] = make_entry(name, reading, #entries)
  end
end
local plan = { entries = entries, tokens = TOKENS, heads = HEADS, layers = LAYERS, max_position = MAX_POSITION,
  family = parts.settle_family(nil, HEADS, LAYERS), source = "a preset",
  command = "lua5.4 tests/expressions/library.lua", comments = { score = { self = {} } } }
assert(write.files(folder, { { path = "part_library.c", text = parts.render(root, "library.c.tpl", plan) },
  { path = "device_library.cpp", text = parts.render(root, "device_library.cpp.tpl", plan) } }))
