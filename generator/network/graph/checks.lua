-- Checks of a description for mistakes: names, values and shapes that do not fit.
--
-- Input: the network that is being built, or a scope of it (builder.lua), and the object to check. A mistake is an
-- error { problem = true, what, expected, line }: the mistake, the expected form, and the line of the description that
-- made an operation, a block or a table, or that runs now. Checks record the names that they have seen (scope.taken,
-- `known`), and read() counts reads; nothing else changes.

local canonical = require("base.canonical")
local names = require("base.names")
local ops = require("network.graph.ops")

local M = {}

-- The line of the description that runs now.
function M.find_line(net)
  for level = 2, 40 do -- levels of the call stack
    local info = debug.getinfo(level, "Sl")
    if not info then
      return nil
    elseif info.source == net.chunk then
      return info.currentline
    end
  end
end

-- Raises a mistake at a line. ...: the expected form, as a format and its values.
local function fail_at(line, what, ...)
  error({ problem = true, what = what, expected = string.format(...), line = line }, 0)
end

-- Raises a mistake at the line that runs now.
function M.fail(net, what, ...)
  fail_at(M.find_line(net), what, ...)
end

function M.check_name(net, name, noun)
  if not names.is_valid(name) then
    M.fail(net, ("%q cannot be the name of %s"):format(name, noun), "%s", names.TEXT)
  end
end

function M.check_kind(net, kinds, kind, what)
  if not kinds[kind] then
    M.fail(net, ("the %s %q"):format(what, kind), "one of %s", ops.format_names(kinds))
  end
end

-- The endings of a parameter's names in structs and files (parameters.lua; transposed: the name of a panel).
local NAME_ENDINGS = { "", "_bias", "_scale", "_offset", "_transposed" }

-- Checks that a parameter's names differ from all other names of its scope.
function M.check_parameter(scope, parameter)
  local taken = scope.taken
  for _, ending in ipairs(NAME_ENDINGS) do
    local other = taken[parameter.name .. ending] or taken[parameter.name:gsub(ending .. "$", "")]
    if other and other ~= parameter then
      M.fail(scope.net, ("%s and %s are parameters of %s"):format(other.name, parameter.name, scope.title),
        "different names, also with _bias, _scale, _offset or _transposed behind them")
    end
  end
  taken[parameter.name] = parameter
  for _, tensor in ipairs(parameter.kind == "weight" and parameter.tensors or {}) do
    local weight_name = tensor .. ".weight"
    if taken[weight_name] then
      M.fail(scope.net, ("two tensors of %s are named %s"):format(scope.title, tensor), "different names")
    end
    taken[weight_name] = parameter
  end
end

-- Checks the name of a block or an attention: functions, types and constants begin with the name and an underscore.
-- known: name -> the kind of object and the name, such as "block layer"; the checked name is added.
function M.check_prefix(net, known, name, what)
  local title = ("%s %s"):format(what, name)
  for _, other in ipairs(canonical.sort_keys(known)) do
    local collides = (other .. "_"):find(name .. "_", 1, true) == 1
      or (name .. "_"):find(other .. "_", 1, true) == 1
    if collides and known[other] ~= title then
      M.fail(net, ("%s and %s"):format(known[other], title), "names of which none begins with the other and _")
    end
  end
  known[name] = title
end

-- Checks that an operation may read a value: the value was made earlier in the same scope, or brought in from outside.
function M.check_readable(scope, value, role)
  if value.scope ~= scope then
    M.fail(scope.net, ("%s %s belongs to %s"):format(role, value.name, value.scope.title),
      "a value of %s: block:input(value) and block:external(value) bring one in, block.result is what it gives",
      scope.title)
  end
end

-- Checks that an operation may read a value, and counts the read.
function M.read(scope, value, role)
  M.check_readable(scope, value, role)
  value.reads = (value.reads or 0) + 1
  return value
end

-- Checks that two values have equal widths and belong to one stream. action: a verb for the message, such as "adding".
function M.check_widths(scope, a, b, action)
  if a.width.count ~= b.width.count then
    M.fail(scope.net, ("%s %s of %d channels and %s of %d"):format(action, a.name, a.width.count, b.name,
      b.width.count), "equal widths")
  elseif a.stream ~= b.stream then
    M.fail(scope.net, ("%s %s of stream %s and %s of stream %s"):format(action, a.name, a.stream.name, b.name,
      b.stream.name), "values of one stream")
  end
end

-- Refuses an output that is a product of the block's input, rectified or not: evaluation may run a block in place.
local function check_in_place(block, value)
  local op = value.op
  op = op.kind == "activation" and op.activation == "relu" and op.x.op or op
  if op.kind == "product" and op.x == block.entry then
    M.fail(block.net, ("the output of %s is a product of its input"):format(block.title),
      "another operation behind it, such as block:add(input, product)")
  end
end

function M.check_output(block, value)
  if not block.first then
    M.fail(block.net, ("%s has no input"):format(block.title), "block:input(value) as its first line")
  end
  M.check_widths(block, block.entry, value, "handing on")
  if value == block.entry then
    M.fail(block.net, ("%s gives what it takes"):format(block.title), "an operation between input and output")
  elseif value.reads > 1 then
    M.fail(block.net, ("the output of %s, %s, is read inside as well"):format(block.title, value.name),
      "an operation that gives the output alone")
  end
  check_in_place(block, value)
end

-- Checks that every value is read: an unread value costs time, and is probably a mistake in the description.
local function check_read(scope)
  for _, op in ipairs(scope.ops) do
    local out = op.out
    if not out.reads and out ~= scope.last and op.kind ~= "classify" then
      fail_at(op.line, ("%s of %s is read by nothing"):format(out.name, scope.title), "a use of it, or no such line")
    end
  end
  for _, value in ipairs({ scope.entry or nil, table.unpack(scope.externals) }) do
    if not value.reads then
      fail_at(scope.line, ("%s of %s is read by nothing"):format(value.external and value.name or "the input",
        scope.title), "an operation that reads it")
    end
  end
end

-- Checks that names differ. Values of one name share a buffer, so each must be a branch that one sum reads before the
-- next value of the name is made, and that the backward pass does not read.
local function check_names_differ(scope)
  local known_values, reader, gradients = {}, {}, {} -- by name; by value; names of gradients -> names of values
  for _, op in ipairs(scope.ops) do
    for _, value in ipairs(ops.list_read(op)) do
      reader[value] = op
    end
    local earlier = op.kind ~= "block" and known_values[op.out.name] -- results of blocks are numbered: scope_lists.lua
    if earlier and not (earlier.reads == 1 and reader[earlier] and reader[earlier].kind == "add") then
      fail_at(op.line, ("%s is the name of two values of %s"):format(op.out.name, scope.title),
        "different names; of feedforward: { name = ... }")
    end
    known_values[op.out.name] = op.out
    gradients[names.name_gradient(op.out.name)] = op.out.name
  end
  for _, op in ipairs(scope.ops) do
    local value_name = gradients[op.out.name]
    if value_name then
      fail_at(op.line, ("%s is what the gradient of %s is called"):format(op.out.name, value_name), "another name")
    end
  end
end

function M.check_all(net)
  if not net.classified then
    M.fail(net, "the network has no readout", "net:classify(net:readout(value, \"last\")) as its last line")
  end
  for _, scope in ipairs(net.order) do
    if scope ~= net and not scope.last then
      fail_at(scope.line, ("%s has no output"):format(scope.title), "block:output(value)")
    end
    check_read(scope)
    check_names_differ(scope)
  end
  for _, p in ipairs(net.tables) do
    if not p.embedded then
      fail_at(p.line, ("no vectors of table %s are embedded"):format(p.name),
        "net:embed(name, stream, { table = ... }) with it, or no such line")
    end
  end
end

return M
