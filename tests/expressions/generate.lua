-- Writes the C of the expression test: lua5.4 tests/expressions/generate.lua FOLDER [FIRST LAST]
--
-- Random formulas (random.lua), as many as the numbers from FIRST (1) to LAST (200), in four files of C, part_0.c and
-- so on, and in four of device code for the host, device_0.cpp and so on. Formulas that the generator refuses for a
-- reason in REFUSED are replaced by formulas with later numbers. With FIRST = 1 the files also have the written
-- formulas. Each formula passes through sandbox, tracing, checks and templates like any spec; plain Lua computes the
-- expected results: values, and gradients by central differences.

local root = arg[0]:match("^(.*)/tests/expressions/generate%.lua$") or "."
package.path = ("%s/generator/?.lua;%s/tests/expressions/?.lua;%s"):format(root, root, package.path)

local parts = require("parts")
local project_module = require("project")
local random = require("random")
local score_facet = require("facets.score")
local write = require("base.write")

local HEADS, LAYERS, TOKENS, MAX_POSITION, PARTS = 2, 2, 9, 40, 4
local STEP = 1e-5

local folder, first, last = arg[1], tonumber(arg[2] or 1), tonumber(arg[3] or 200)

local function make_fraction(...) -- between -1 and 1, from integers
  local mixed = 17
  for _, number in ipairs({ ... }) do
    mixed = (mixed * 69069 + number * 2654435761 + 12345) % 4294967296
    mixed = (mixed ~ (mixed >> 15)) * 2246822519 % 4294967296
  end
  return (mixed ~ (mixed >> 13)) / 2147483648 - 1
end

local function list_used_names(case)
  local names = {}
  for name in pairs(random.PARAMETERS) do
    if case.body:find("x%." .. name .. "%f[^%w_]") then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

local function write_parameter(name)
  local p = random.PARAMETERS[name]
  local words = { ("per = %q"):format(p.per) }
  if p.values then
    words[#words + 1] = ("values = { %s }"):format(table.concat(p.values, ", "))
  else
    words[#words + 1] = "init = 0.5"
  end
  if p.size then
    words[#words + 1] = ("index = { %d, %d }"):format(p.first, p.first + p.size - 1)
    words[#words + 1] = ("outside = %s"):format(type(p.outside) == "string" and '"clip"' or p.outside)
  end
  return ("%s = { %s }"):format(name, table.concat(words, ", "))
end

local function write_spec(case)
  local parameters = {}
  for i, name in ipairs(case.names) do
    parameters[i] = write_parameter(name)
  end
  local positions = case.positions == "index" and "" or
    ('positions = { kind = "randomized", max_position = %d, reading = %q },'):format(MAX_POSITION, case.positions)
  return ([[
return {
  task = { kind = "bucket_sort" },
  encoding = { %s
    score = function(x) return %s end,
    parameters = { %s } },
  model = { layers = %d, heads = %d, width = 16, feedforward = 16 },
  train = { lengths = { 1, 4 } }, eval = { lengths = { 1, 4 } },
  precision = "float64",
}
]]):format(positions, case.body, table.concat(parameters, ", "), LAYERS, HEADS)
end

-- ---- results in plain Lua ----

-- An element of a parameter, { value, layer, head }, which is created at its first use. Layers or heads that share the
-- parameter have the same element.
local function get_element(case, name, layer, head, index)
  local p = random.PARAMETERS[name]
  local l = p.per:find("layer") and layer or 0
  local h = p.per:find("head") and head or 0
  local key = ("%s %d %d %d"):format(name, l, h, index)
  if not case.elements[key] then
    local value = p.values and p.values[h + 1] or 0.3 + make_fraction(case.number, name:byte(), l, h, index)
    case.elements[key] = { value = value, layer = l, head = h }
  end
  return case.elements[key]
end

local function draw_ascending(case, layer, from)
  local list, position = {}, from
  for t = 0, TOKENS - 1 do
    list[t] = position
    position = position + 1 + math.floor((make_fraction(case.number, layer, t) + 1) * 1.2)
  end
  return list
end

local function make_placer(case, layer)
  local positions = case.sampled[layer]
  return function(x, i, j)
    if case.positions == "index" then
      x.query, x.key, x.distance = i, j, j - i
    elseif case.positions == "difference" then
      x.query, x.key, x.distance = positions[i], positions[j], positions[j] - positions[i]
    elseif case.positions == "drawn" then
      x.distance = j < i and -positions[i - j] or positions[j - i]
    else
      x.distance = j < i and MAX_POSITION - positions[i - j] or MAX_POSITION - 1
    end
  end
end

local function make_reader(case, name, layer, head)
  local p = random.PARAMETERS[name]
  if not p.size then
    return get_element(case, name, layer, head, 0).value
  end
  local cache = {}
  return { first = p.first, size = p.size, outside = p.outside, value = function(index)
    cache[index] = cache[index] or get_element(case, name, layer, head, index)
    return cache[index].value
  end }
end

-- Logits, and weights of scores in the objective, for every pair, equal in all cases.
local LOGITS, WEIGHTS = {}, {}
for layer = 0, LAYERS - 1 do
  for head = 0, HEADS - 1 do
    for j = 0, TOKENS - 1 do
      for i = 0, TOKENS - 1 do
        LOGITS[#LOGITS + 1] = 1.5 * make_fraction(3, layer, head, j, i)
        WEIGHTS[#WEIGHTS + 1] = make_fraction(5, layer, head, j, i)
      end
    end
  end
end

-- Calls visit(score, index of the pair, x) for every pair, or for those of one layer or head.
local function visit_pairs(case, visit, only_layer, only_head)
  for layer = only_layer or 0, only_layer or LAYERS - 1 do
    local place = make_placer(case, layer)
    for head = only_head or 0, only_head or HEADS - 1 do
      local pair = (layer * HEADS + head) * TOKENS * TOKENS
      local x = { head = head, layer = layer, heads = HEADS, layers = LAYERS, query_length = TOKENS,
        key_length = TOKENS }
      for _, name in ipairs(case.names) do
        x[name] = make_reader(case, name, layer, head)
      end
      for j = 0, TOKENS - 1 do
        for i = 0, TOKENS - 1 do
          x.query_index, x.key_index = i, j
          place(x, i, j)
          pair = pair + 1
          x.score = LOGITS[pair]
          visit(case.evaluate(x), pair, x)
        end
      end
    end
  end
end

-- The part of the objective that an element of a parameter can change.
local function compute_objective(case, name, e)
  local total, per = 0, random.PARAMETERS[name].per
  visit_pairs(case, function(score, pair)
    total = total + WEIGHTS[pair] * score
  end, per:find("layer") and e.layer or nil, per:find("head") and e.head or nil)
  return total
end

local function format_hexadecimal(list)
  local words = {}
  for i, value in ipairs(list) do
    assert(value == value and math.abs(value) < 1e6, "a value out of range")
    words[i] = ("%a"):format(value)
  end
  return table.concat(words, ", ")
end

local function compute_expectations(case)
  local scores, slopes = {}, {}
  visit_pairs(case, function(score, pair, x)
    scores[#scores + 1] = score
    local logit = x.score
    x.score = logit + STEP
    local upper_score = case.evaluate(x)
    x.score = logit - STEP
    slopes[#slopes + 1] = (upper_score - case.evaluate(x)) / (2 * STEP) * WEIGHTS[pair]
  end)
  case.scores, case.slopes = format_hexadecimal(scores), format_hexadecimal(slopes)
end

-- The elements of a parameter in the struct's layout: one list, or one for each layer.
local function list_elements(case, name)
  local p, out = random.PARAMETERS[name], {}
  local is_per_layer = p.per:find("layer") ~= nil
  for layer = 0, is_per_layer and LAYERS - 1 or 0 do
    local entry = { member = (is_per_layer and ("layer[%d]."):format(layer) or "") .. "score_" .. name, elements = {} }
    for head = 0, p.per:find("head") and HEADS - 1 or 0 do
      for index = 0, (p.size or 1) - 1 do
        table.insert(entry.elements, get_element(case, name, layer, head, index))
      end
    end
    out[#out + 1] = entry
  end
  return out
end

local function compute_gradients(case)
  case.lists = {}
  for _, name in ipairs(case.names) do
    if not random.PARAMETERS[name].values then
      for _, entry in ipairs(list_elements(case, name)) do
        local values, gradients = {}, {}
        for k, e in ipairs(entry.elements) do
          local value = e.value
          values[k] = value
          e.value = value + STEP
          local upper_objective = compute_objective(case, name, e)
          e.value = value - STEP
          gradients[k] = (upper_objective - compute_objective(case, name, e)) / (2 * STEP)
          e.value = value
        end
        table.insert(case.lists, { member = entry.member, count = #values, values = format_hexadecimal(values),
          gradients = format_hexadecimal(gradients) })
      end
    end
  end
end

-- ---- C ----

local function write_sampled(case)
  if case.positions == "index" then
    return false
  end
  local rows = {}
  for layer = 0, LAYERS - 1 do
    local words = {}
    for t = 0, TOKENS - 1 do
      words[t + 1] = ("%d"):format(case.sampled[layer][t])
    end
    rows[layer + 1] = "{" .. table.concat(words, ", ") .. "}"
  end
  return "{" .. table.concat(rows, ", ") .. "}"
end

-- Prepares a case for the templates; nil and a message if the generator refuses its formula.
local function prepare(project, case)
  local number = case.number
  case.names, case.elements = list_used_names(case), {}
  case.evaluate = random.make_evaluator(case)
  case.sampled = {}
  for layer = 0, LAYERS - 1 do
    case.sampled[layer] = draw_ascending(case, layer, case.positions == "difference" and 2 or 0)
  end
  local path = ("%s/case_%d.lua"):format(folder, number)
  local file = assert(io.open(path, "w"))
  file:write(write_spec(case))
  file:close()
  local spec, message = project:resolve(path, {})
  if not spec then
    return nil, message
  end
  case.positions_plan = parts.make_positions(case.positions, LAYERS)
  case.score = score_facet.derive(spec.score, parts.make_family(case.positions_plan, HEADS, LAYERS), "float64")
  case.terms = parts.settle_family(case.positions_plan, HEADS, LAYERS, case.score).terms
  compute_expectations(case)
  compute_gradients(case)
  case.sampled_text = write_sampled(case)
  case.text = ("%d: %s"):format(number, case.body):gsub('"', "'")
  return case
end

local function render_part(template, file_number, cases)
  return parts.render(root, template, { part = file_number, cases = cases, tokens = TOKENS, heads = HEADS,
    layers = LAYERS, max_position = MAX_POSITION, logits = format_hexadecimal(LOGITS),
    weights = format_hexadecimal(WEIGHTS), family = parts.settle_family(nil, HEADS, LAYERS),
    source = "a random formula", command = "lua5.4 tests/expressions/generate.lua",
    comments = { score = { self = {} } } })
end

-- Parts of the messages with which random formulas may be refused.
local REFUSED = { "is not used", "does not use x.score", "can be 0", "the argument of", "the base of pow" }

local project = project_module.new(root)
local cases, number = {}, first
while #cases <= last - first do
  local case, message = prepare(project, random.make_case(number))
  local is_expected = case ~= nil
  for _, text in ipairs(REFUSED) do
    is_expected = is_expected or message and message:find(text, 1, true) ~= nil
  end
  if not is_expected then
    error(message)
  end
  cases[#cases + 1] = case
  number = number + 1
end
for _, case in ipairs(first == 1 and random.list_special_cases() or {}) do
  cases[#cases + 1] = assert(prepare(project, case))
end
local size = (#cases + PARTS - 1) // PARTS
local files = {}
for file_number = 0, PARTS - 1 do
  local list = table.move(cases, file_number * size + 1, math.min(#cases, (file_number + 1) * size), 1, {})
  files[#files + 1] = { path = ("part_%d.c"):format(file_number), text = render_part("part.c.tpl", file_number, list) }
  files[#files + 1] = { path = ("device_%d.cpp"):format(file_number),
    text = render_part("device.cpp.tpl", file_number, list) }
end
assert(write.files(folder, files)) -- only changed files are written, so that nothing is compiled twice
