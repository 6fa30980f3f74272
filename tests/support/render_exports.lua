-- Writes the output of `export pytorch` for random specs, each with its graph as data, for
-- tests/python/check_networks.py: render_exports.lua FOLDER HOW_MANY

package.path = "generator/?.lua;?.lua;tests/lua/?.lua;tests/support/?.lua;" .. package.path

local random_specs = require("random_specs") -- loaded before modules that plan
local json = require("dkjson")
local pytorch = require("lab.export.pytorch")
local render = require("render.templates.render")

local folder, count = arg[1], tonumber(arg[2])
local project = require("project").new(".")

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "wb"))
  file:write(text)
  file:close()
end

-- Returns a function that numbers a scope's values, from 1, in the order of their first use.
local function make_numbering()
  local list, next_number = {}, 0
  return function(value)
    if not list[value] then
      next_number = next_number + 1
      list[value] = next_number
    end
    return list[value]
  end
end

local function list_numbers(values, number)
  local list = setmetatable({}, { __jsontype = "array" })
  for i, value in ipairs(values) do
    list[i] = number(value)
  end
  return list
end

local function describe_operation(net, op, number, block_numbers)
  local entry = { kind = op.kind, out = number(op.out), activation = op.activation, norm = op.norm,
    scale = op.scale or 1, path = op.path, tensors = op.p and op.p.tensors, bias = op.p and op.p.bias or false,
    name = op.p and op.p.name, table = op.p and op.p.tensor, linear = op.p and op.p.path,
    blanks = op.kind == "embed" and net.tokens.count - op.p.rows.count or 0,
    tied = op.class_table and op.class_table.tensor,
    stream = op.stream and op.stream.index, additive = op.encoding and op.encoding.kind or "none" }
  for _, role in ipairs({ "x", "residual", "branch" }) do
    entry[role] = op[role] and number(op[role])
  end
  if op.kind == "attention" then
    entry.x, entry.memory = number(op.q.op.x), number((op.kv or op.q).op.x)
  elseif op.kind == "block" then
    entry.block, entry.count, entry.loops = block_numbers[op.block], op.block.count, op.block.loops
    entry.path, entry.externals = op.block.path, list_numbers(op.externals, number)
  end
  return entry
end

local function describe_graph(net)
  local scopes, block_numbers = {}, {}
  for i, block in ipairs(net.scopes) do
    block_numbers[block] = i
  end
  for i, scope in ipairs({ net, table.unpack(net.scopes) }) do
    local number, operations = make_numbering(), {}
    for k, op in ipairs(scope.ops) do
      operations[k] = describe_operation(net, op, number, block_numbers)
    end
    scopes[i] = { operations = operations, input = scope.input_value and number(scope.input_value),
      output = number(scope.output_value or net.classified), externals = list_numbers(scope.externals, number) }
  end
  return scopes
end

local function add(name)
  local text, description = random_specs.make_text(name)
  write("spec.lua", (text:gsub("dropout = true", "dropout = false")))
  random_specs.call_with_description(assert(load(description))(), function()
    local spec = assert(project:plan(folder .. "/spec.lua"))
    local net = project:build_network(spec)
    local facts = assert(pytorch.derive_facts(spec, { info = { seed = 0, learning_rate = 1 }, metadata = {} }, net))
    write(name .. ".py", assert(render.render("python/model.py.tpl", facts, function(...)
      return project:read_template(...)
    end)))
    local shapes = {}
    for _, tensor in ipairs(spec.plan.tensors) do
      shapes[tensor.name] = tensor.shape
    end
    write(name .. ".json", json.encode({ shapes = shapes, scopes = describe_graph(net) }))
  end)
end

for number = 1, count do
  add("random_" .. number)
end
