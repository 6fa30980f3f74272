-- Makes the arguments `net` and `model` of a description, with the builder's public methods.
--
-- A description is the user's function that builds a network: function(net, model).
-- A handle is an empty table with methods that a description has in place of an object of the builder (builder.lua), so
-- the description cannot read the object's content.
-- Input: a network that is being built; its model's section of the spec; and guard, a function that wraps every method
-- (own_network.lua). Output: see M.open.
-- Invariant: every argument is checked here before the builder receives it, so that a description ends in a network or
-- in a reported mistake.

local base_names = require("base.names")
local canonical = require("base.canonical")
local checks = require("network.graph.checks")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- Name of a method -> the list of its arguments { name, kind }. ops.lua has the methods of operations. A list has
-- further fields:
--   owner      the object that has the method, "network" or "block"; nil if both have it
--   required   the count of required arguments, which come first; by default all arguments are required
--   options    the last argument is a table with optional fields; name of a field -> its kind
M.METHODS = {
  stream = { owner = "network", { "name", "title" } },
  table = { owner = "network", { "name", "title" } },
  block = { owner = "network", { "name", "block_name" }, { "count", "times" }, { "comment", "text" }, required = 2,
    options = { loops = "times" } },
  readout = { owner = "network", { "value", "value" }, { "tokens", "word" } },
  input = { owner = "block", { "value", "value" } },
  external = { owner = "block", { "value", "value" } },
  output = { owner = "block", { "value", "value" } },
  feedforward = { { "value", "value" },
    options = { hidden = "count", activation = "word", bias = "flag", name = "name", hidden_dropout = "rate",
      branch_activation = "word" } },
}

for kind, definition in next, ops do
  M.METHODS[kind] = type(definition) == "table" and definition.method or M.METHODS[kind]
end

-- Kind of a handle -> the words for it in messages.
local NOUNS = { network = "the network", block = "block", value = "the value", stream = "the stream",
  table = "the table", readout = "a readout", positions = "net.additive" }

-- Names that values may not have: a value's name also names variables and struct members of generated code, which has
-- these names already.
local RESERVED_NAMES = lists.split_set([[input output gradient step block shared parameters panels rows tokens
  position positions layer sums sequences length labels trains draws family families all read part]])

-- Names that blocks may not have: in device code a block's name is the name of a struct member, and the struct has
-- members with these names already.
local STATE_MEMBERS = lists.split_set("draws first gradient l labels mask members memory place replica view work")

-- Whether x can be a block's name. In generated code the name also names the block's state and parameters.
local function is_block_name(x)
  return base_names.is_identifier(x) and (x == "layer" or not RESERVED_NAMES[x] and not STATE_MEMBERS[x])
end

local function is_name(x)
  return base_names.is_identifier(x) and not RESERVED_NAMES[x]
end

local MAX_NAMES = 16 -- names in a list

local function is_list_of_names(x)
  return type(x) == "table" and rawlen(x) > 0 and rawlen(x) <= MAX_NAMES
    and not lists.any(table.move(x, 1, rawlen(x), 1, {}), function(name) return not is_name(name) end)
end

-- Whether x can be the text of a comment in C.
local function is_text(x)
  return type(x) == "string" and #x <= 100 and not x:find("[^ -~]") and not x:find("[*/][*/]")
end

local function make_range_check(max)
  return function(x) return math.type(x) == "integer" and x >= 1 and x <= max end
end

-- Kind of an argument -> { expected, is_valid }:
--   expected      the words for the expected argument in messages
--   is_valid(x)   whether the argument x is valid; nil if x must be a handle
-- A title names a stream or a table, and may be a reserved name. Numbers have the limits of the fields of `model`
-- (spec/fields/model.lua).
M.KINDS = {
  name = { "a name of " .. base_names.IDENTIFIER_TEXT .. ", and no name that generated code already uses", is_name },
  title = { "a name of " .. base_names.IDENTIFIER_TEXT, base_names.is_identifier },
  block_name = { "a name of " .. base_names.IDENTIFIER_TEXT .. ", and no name that generated code already uses",
    is_block_name },
  names = { "a list of names, such as { \"gate\", \"up\" }", is_list_of_names },
  word = { "a word", function(x) return type(x) == "string" and #x <= 60 end },
  text = { "a sentence of up to 100 printable characters", is_text },
  number = { "a number", function(x) return type(x) == "number" and math.abs(x) < math.huge end },
  rate = { "a share from 0 to below 1, or nil", function(x) return type(x) == "number" and x >= 0 and x < 1 end },
  count = { "a whole number from 1 to 8192", make_range_check(8192) },
  times = { "a whole number from 1 to 64", make_range_check(64) },
  flag = { "true or false", function(x) return type(x) == "boolean" end },
  value = { "a value that an operation has made" },
  stream = { "the result of net:stream(name)" },
  table = { "the result of net:table(name)" },
  readout = { "the result of net:readout(value, \"last\")" },
  positions = { "net.additive" },
}

-- The handles of one description:
--   entries        handle -> { kind, real }: its kind, and the builder's object
--   handles        the builder's object -> its handle
--   methods        name -> the method, for the methods that the description has used so far
--   metatables     kind of a handle -> its metatable, for the kinds that exist so far
--   seen_options   the set of the options that the description has read
--   seen_fields    the set of the fields that the description has read
--   used_titles    the names of blocks and attentions so far (checks.check_prefix)
local Handles = {}
Handles.__index = Handles

-- The text for an argument in messages.
local function describe(self, x)
  local entry = self.entries[x]
  if entry then
    local name = entry.kind ~= "network" and rawget(entry.real, "name")
    return NOUNS[entry.kind] .. (type(name) == "string" and " " .. name or "")
  end
  return type(x) == "string" and ("%q"):format(x:sub(1, 60)) or type(x) == "table" and "a table"
    or type(x) == "function" and "a function" or tostring(x)
end

function Handles:fail(message, ...)
  checks.fail(self.net, message, ...)
end

-- Checks that the argument x is of a kind. Returns the builder's object if x is a handle, a copy if x is a list of
-- names, and x itself for other kinds. call, name: the call's form and the argument's name, for messages.
function Handles:unwrap(call, name, kind, x)
  local expected, is_valid = table.unpack(M.KINDS[kind])
  local entry = x ~= nil and self.entries[x] or nil
  local has_kind
  if entry then
    has_kind = entry.kind == kind
  else
    has_kind = is_valid and is_valid(x)
  end
  if not has_kind then
    self:fail(("%s: %s is %s"):format(call, name, describe(self, x)), "%s", expected)
  end
  return entry and entry.real or kind == "names" and table.move(x, 1, #x, 1, {}) or x
end

local function join_names(set)
  return table.concat(canonical.sort_keys(set), ", ")
end

-- Checks the options of a call and returns them by name. Metatables of the options' table have no effect.
function Handles:read_options(call, method, options_table)
  if options_table == nil then
    return {}
  elseif type(options_table) ~= "table" or self.entries[options_table] then
    self:fail(("%s: the options are %s"):format(call, describe(self, options_table)), "a table { name = value, ... }")
  end
  local options = {}
  for name, x in next, options_table do
    local kind = type(name) == "string" and method.options[name]
    if not kind then
      self:fail(("%s has no option %s"):format(call, describe(self, name)), "%s", join_names(method.options))
    end
    options[name == "parts" and "tensors" or name] = self:unwrap(call, name, kind, x) -- the builder says "tensors"
  end
  return options
end

local function describe_call(name, method)
  local names = lists.map(method, function(argument) return argument[1] end)
  names[#names + 1] = method.options and "{ ... }"
  return ("%s:%s(%s)"):format(method.owner == "network" and "net" or "block", name, table.concat(names, ", "))
end

-- Name of a method -> the kind of the handle that it returns. Methods without an entry return a value.
local RESULTS = { stream = "stream", table = "table", block = "block", readout = "readout" }

-- Makes the method of a name. The method checks the handle and the arguments, and calls the builder's method.
function Handles:make_method(name)
  local method = M.METHODS[name]
  local call = describe_call(name, method)
  local max_arguments = #method + (method.options and 1 or 0)
  return self.guard(function(handle, ...)
    local entry = handle ~= nil and self.entries[handle] or nil
    if not entry or entry.kind ~= "network" and entry.kind ~= "block" then
      self:fail(("%s is called on %s"):format(call, describe(self, handle)), "a colon before the name of a method")
    elseif select("#", ...) > max_arguments then
      self:fail(("%s is called with %d arguments"):format(call, select("#", ...)), "at most %d",
        max_arguments)
    end
    local argument_values, arguments = { ... }, {}
    for i, argument in ipairs(method) do
      if argument_values[i] ~= nil or i <= (method.required or #method) then
        arguments[i] = self:unwrap(call, argument[1], argument[2], argument_values[i])
      end
    end
    if method.options then
      arguments[#method + 1] = self:read_options(call, method, argument_values[#method + 1])
    end
    if name == "block" then
      checks.check_prefix(self.net, self.used_titles, arguments[1], "block")
    elseif name == "attention" then
      checks.check_prefix(self.net, self.used_titles, arguments[4].name or arguments[1], "attention")
    end
    local result = entry.real[name](entry.real, table.unpack(arguments, 1, max_arguments))
    return result and self:wrap(RESULTS[name] or "value", result)
  end)
end

-- Kind of a handle -> a function(self, real, name) that returns the field `name` of the handle of `real`; nil if there
-- is no such field.
local fields = {
  value = function(_, value, name)
    return name == "width" and value.width.count or name == "name" and value.name or nil
  end,
}

function fields.network(self, net, name)
  if name == "additive" then
    return self:wrap("positions", net.additive)
  elseif name == "additive_dropout" then
    return net.additive_dropout or 0
  end
  return self:get_method("network", name)
end

function fields.block(self, block, name)
  if name == "result" then
    return block.result and self:wrap("value", block.result)
      or self:fail(("block %s has no result yet"):format(block.name), "block:output(value) before it")
  end
  return self:get_method("block", name)
end

function Handles:get_method(kind, name)
  local method = type(name) == "string" and M.METHODS[name]
  if not method or method.owner and method.owner ~= kind then
    return nil
  end
  self.methods[name] = self.methods[name] or self:make_method(name)
  return self.methods[name]
end

-- Fields other than methods, by the handle's kind.
local PLAIN_FIELDS = { value = "name width", network = "additive additive_dropout", block = "result" }

local function list_fields(kind)
  local names = lists.split_set(PLAIN_FIELDS[kind] or "")
  local has_methods = kind == "network" or kind == "block"
  for name, method in next, has_methods and M.METHODS or {} do
    names[name] = not method.owner or method.owner == kind or nil
  end
  return next(names) and join_names(names) or "no field: it is only an argument of methods"
end

function Handles:make_metatable(kind)
  local function refuse_arithmetic()
    self:fail("values have no arithmetic", "a method, such as block:add(residual, branch) or block:gate(...)")
  end
  return {
    __metatable = false,
    __index = self.guard(function(handle, name)
      local result = fields[kind] and fields[kind](self, self.entries[handle].real, name)
      if result == nil then
        self:fail(("%s has no %s"):format(describe(self, handle), describe(self, name)), "%s", list_fields(kind))
      end
      return result
    end),
    __newindex = self.guard(function(handle, name)
      self:fail(("%s.%s is set"):format(describe(self, handle), tostring(name)), "a network is made by its methods")
    end),
    __add = self.guard(refuse_arithmetic), __sub = self.guard(refuse_arithmetic),
    __mul = self.guard(refuse_arithmetic), __div = self.guard(refuse_arithmetic),
    __concat = self.guard(refuse_arithmetic), __len = self.guard(refuse_arithmetic),
    __call = self.guard(function(handle)
      self:fail(("%s is called"):format(describe(self, handle)), "a method of net or of a block")
    end),
  }
end

-- Returns the handle of one of the builder's objects. The first call makes it; later calls return the same handle.
function Handles:wrap(kind, real)
  if not self.handles[real] then
    self.metatables[kind] = self.metatables[kind] or self:make_metatable(kind)
    local handle = setmetatable({}, self.metatables[kind])
    self.entries[handle] = { kind = kind, real = real }
    self.handles[real] = handle
  end
  return self.handles[real]
end

-- Makes a read-only copy of a section of the spec that records which fields are read. A missing field is a mistake; a
-- missing option of the user is nil.
--   title          the section's name, such as "model.norm"
--   seen_options   for the table of the user's options: the set to which options that are read are added; else nil
function Handles:make_section(title, section, seen_options)
  local fields_by_name = {}
  for name, value in next, section do
    fields_by_name[name] = type(value) == "table" and self:make_section(title .. "." .. name, value,
      name == "options" and self.seen_options or nil) or value
  end
  return setmetatable({}, {
    __metatable = false,
    __index = self.guard(function(_, name)
      if type(name) ~= "string" then
        self:fail(("%s is indexed with %s"):format(title, describe(self, name)), "a name")
      end
      self.seen_fields[title .. "." .. name] = true
      if seen_options then
        seen_options[name] = true
      elseif fields_by_name[name] == nil then
        self:fail(("%s has no %s"):format(title, describe(self, name)), "%s", join_names(fields_by_name))
      end
      return fields_by_name[name]
    end),
    __newindex = self.guard(function(_, name)
      self:fail(("%s.%s is set"):format(title, tostring(name)),
        "a local name of your own; fields of the spec cannot be set")
    end),
  })
end

-- Returns four results: the arguments of a description, net and model; and two sets that the description fills while it
-- runs: the options of model.options that it reads, and the fields of the section that it reads, such as
-- "model.norm.kind".
function M.open(net, model, guard)
  local self = setmetatable({ net = net, guard = guard, entries = {}, handles = {}, methods = {}, metatables = {},
    seen_options = {}, seen_fields = {}, used_titles = {} }, Handles)
  return self:wrap("network", net), self:make_section("model", model), self.seen_options, self.seen_fields
end

return M
