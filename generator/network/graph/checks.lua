-- Checks of a network's description (the function that builds the network): names, values and shapes.
--
-- Input: the network that is being built, or a scope of it (builder.lua), and the object to check. A mistake raises an
-- error with these fields:
--   problem    true
--   what       the mistake
--   expected   the expected form
--   line       the line of the description that made the operation, block or table, or else the line that runs now
-- Checks add names to tables of used names, and read() counts reads; nothing else changes.

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

-- Raises an error about a line of the description. ...: the expected form, as a format and its values.
local function fail_at(line, message, ...)
  error({ problem = true, what = message, expected = string.format(...), line = line }, 0)
end

-- Raises an error about the line of the description that runs now.
function M.fail(net, message, ...)
  fail_at(M.find_line(net), message, ...)
end

function M.check_name(net, name, noun)
  if not names.is_valid(name) then
    M.fail(net, ("%q cannot be the name of %s"):format(name, noun), "%s", names.TEXT)
  end
end

function M.check_kind(net, kinds, kind, noun)
  if not kinds[kind] then
    M.fail(net, ("the %s %q"):format(noun, kind), "one of %s", ops.format_names(kinds))
  end
end

-- The endings that a parameter's name has in structs and files (parameters.lua). A weight's transposed copy has the
-- ending _transposed.
local NAME_ENDINGS = { "", "_bias", "_scale", "_offset", "_transposed" }

-- Checks that a parameter's names differ from all other names of its scope, and adds them to scope.used_names.
function M.check_parameter(scope, parameter)
  local used_names = scope.used_names
  for _, ending in ipairs(NAME_ENDINGS) do
    local longer_name, shorter_name = parameter.name .. ending, parameter.name:gsub(ending .. "$", "")
    local namesake = used_names[longer_name] or used_names[shorter_name]
    if namesake and namesake ~= parameter then
      M.fail(scope.net,
        ("%s and %s cannot both be parameters of %s"):format(namesake.name, parameter.name, scope.title),
        "different names, which also differ if _bias, _scale, _offset or _transposed is appended to one of them")
    end
  end
  used_names[parameter.name] = parameter
  for _, tensor in ipairs(parameter.kind == "weight" and parameter.tensors or {}) do
    local weight_name = tensor .. ".weight"
    if used_names[weight_name] then
      M.fail(scope.net, ("two tensors of %s are named %s"):format(scope.title, tensor), "different names")
    end
    used_names[weight_name] = parameter
  end
end

-- Checks that the name of a block or an attention does not collide with an earlier name, and adds it to used_titles.
-- Names of functions, types and constants in C begin with this name and an underscore.
--   noun          "block" or "attention"
--   used_titles   name -> its noun and the name, such as "block layer"
function M.check_prefix(net, used_titles, name, noun)
  local title = ("%s %s"):format(noun, name)
  for _, used_name in ipairs(canonical.sort_keys(used_titles)) do
    local collides = (used_name .. "_"):find(name .. "_", 1, true) == 1
      or (name .. "_"):find(used_name .. "_", 1, true) == 1
    if collides and used_titles[used_name] ~= title then
      M.fail(net, ("%s and %s have names that collide in generated code"):format(used_titles[used_name], title),
        "two names, neither of which begins with the other name followed by _")
    end
  end
  used_titles[name] = title
end

-- Checks that the value belongs to the scope of the operation that reads it. role: the words for the value in the
-- message, such as "the input of a norm".
function M.check_readable(scope, value, role)
  if value.scope ~= scope then
    M.fail(scope.net, ("%s %s belongs to %s"):format(role, value.name, value.scope.title),
      "a value of %s; a block reads values of the network through block:input(value) and block:external(value), and "
        .. "the network reads block.result", scope.title)
  end
end

-- Checks that an operation may read a value, and counts the read.
function M.read(scope, value, role)
  M.check_readable(scope, value, role)
  value.read_count = (value.read_count or 0) + 1
  return value
end

-- Checks that two values have equal widths and belong to one stream. roles: the words for the two values in the
-- message, such as "the summands".
function M.check_widths(scope, a, b, roles)
  if a.width.count ~= b.width.count then
    M.fail(scope.net, ("%s differ in width: %s has %d channels, and %s has %d"):format(roles, a.name, a.width.count,
      b.name, b.width.count), "equal widths")
  elseif a.stream ~= b.stream then
    M.fail(scope.net, ("%s belong to different streams: %s to %s, and %s to %s"):format(roles, a.name, a.stream.name,
      b.name, b.stream.name), "values of one stream")
  end
end

-- Refuses an output that is a product of the block's input, with or without relu: evaluation may store a block's output
-- over its input, but a product cannot overwrite the rows that it reads.
local function check_in_place(block, value)
  local op = value.op
  if op.kind == "activation" and op.activation == "relu" then
    op = op.x.op or op -- op.x.op is nil if op.x is the block's input
  end
  if op.kind == "product" and op.x == block.input_value then
    M.fail(block.net, ("the output of %s is a product of its input"):format(block.title),
      "another operation after the product, such as block:add(input, product)")
  end
end

function M.check_output(block, value)
  if not block.outer_input then
    M.fail(block.net, ("%s has no input"):format(block.title), "block:input(value) as its first line")
  end
  M.check_widths(block, block.input_value, value, ("input and output of %s"):format(block.title))
  if value == block.input_value then
    M.fail(block.net, ("the output of %s is its input"):format(block.title), "an operation between input and output")
  elseif value.read_count > 1 then
    M.fail(block.net, ("the output of %s, %s, is also read by an operation of the block"):format(block.title,
      value.name), "an output that no operation of the block reads")
  end
  check_in_place(block, value)
end

-- Checks that every value is read: an unread value costs time, and is probably a mistake in the description.
local function check_read(scope)
  for _, op in ipairs(scope.ops) do
    local out = op.out
    if not out.read_count and out ~= scope.output_value and op.kind ~= "classify" then
      fail_at(op.line, ("no operation reads the value %s of %s"):format(out.name, scope.title),
        "an operation that reads it; or remove the line")
    end
  end
  for _, value in ipairs({ scope.input_value or nil, table.unpack(scope.externals) }) do
    if not value.read_count then
      local noun = value.external and "external value " .. value.name or "input"
      fail_at(scope.line, ("no operation reads the %s of %s"):format(noun, scope.title), "an operation that reads it")
    end
  end
end

-- Checks that names differ, since values with equal names share a buffer. Exception: the branch of a residual sum may
-- have the name of a later value. Only the sum reads the branch, it does so before the later value is made, and the
-- backward pass does not read the branch.
local function check_names_differ(scope)
  -- last_values: name -> the last value with this name so far; readers: value -> the last operation so far that reads
  -- it; value_names: name of a gradient -> name of its value
  local last_values, readers, value_names = {}, {}, {}
  for _, op in ipairs(scope.ops) do
    for _, value in ipairs(ops.list_read(op)) do
      readers[value] = op
    end
    local namesake = last_values[op.out.name]
    if namesake and not (namesake.read_count == 1 and readers[namesake] and readers[namesake].kind == "add") then
      fail_at(op.line, ("two values of %s are named %s"):format(scope.title, op.out.name),
        "different names; the option { name = ... } of feedforward changes the names of its values")
    end
    last_values[op.out.name] = op.kind ~= "block" and op.out or nil -- scope_lists.lua renames results of blocks
    value_names[names.name_gradient(op.out.name)] = op.out.name
  end
  for _, op in ipairs(scope.ops) do
    local value_name = value_names[op.out.name]
    if value_name then
      fail_at(op.line, ("%s is the name of the gradient of %s"):format(op.out.name, value_name), "another name")
    end
  end
end

function M.check_all(net)
  if not net.classified then
    M.fail(net, "the network has no readout", "net:classify(net:readout(value, \"last\")) as its last line")
  end
  for _, scope in ipairs(net.order) do
    if scope ~= net and not scope.output_value then
      fail_at(scope.line, ("%s has no output"):format(scope.title), "block:output(value)")
    end
    check_read(scope)
    check_names_differ(scope)
  end
  for _, p in ipairs(net.tables) do
    if not p.is_embedded then
      fail_at(p.line, ("no embedding uses the table %s"):format(p.name),
        "net:embed(name, stream, { table = ... }) with it; or remove the line")
    end
  end
end

return M
