-- Writes the nodes of a formula as C statements of a loop nest, and chooses for each node a level of the nest and a
-- name. syntax.lua writes the expressions; templates/parts/statements.tpl prints the statements.
--
-- Input: a list of effects, and an environment. An effect describes a statement that uses the value of a node, for
-- example stores it. The environment describes the leaves in this loop nest. Output: name of a level -> list of
-- statements. The levels are "outer", "key", "lane" and "head", each nested in the previous one. The level "after" is
-- inside "lane", after the loop over heads. A lane is an element of a vector. Fields of an environment:
--   literal(number), symbol(name), load(table), parameter(p), edges(list)   return the text of a leaf
--   integer(name)   returns the text of a symbol as an index, and its precedence; or nil
--   varying         the set of the quantities that vary from lane to lane, as letters (lower.lua), for example
--                   { q = true, s = true } for query and score
--   is_scalar       whether there are no vectors, so that a lane is one entry
--   has_only_lane_level   whether all statements are at the level "lane", since the nest has no further loops
--   is_in_key_loop  whether the loop over lanes is inside a loop over keys
-- Fields of an effect:
--   kind            the kind of its statement, a name in statements.tpl, such as "assign" or "add"
--   node            the node whose value the statement uses
--   per_head        whether the statement runs for each head
--   loops           indices of the sums around the node, outermost first; nil: none
--   target          text of the variable or array to which the statement writes, for kinds with a target
--   index_node      the node of the index in the target, or nil
--   base            text of a number that is added to the index, such as "h * 16"; or nil
--   may_exceed_line  whether expression and target may have LONGEST_ASSIGNMENT characters together
--   is_index        whether the value is an index: its text is an integer in C
-- Each effect becomes a statement with the fields of the effect and three texts:
--   value           the text of the node
--   index           the text of index_node, or nil
--   full_index      the sum of base and index
-- Other statements:
--   { kind = "set", type, name, value }   defines a variable
--   { kind = "array", type, name, count }   declares an array
--   { kind = "loop", index, count }   begins a loop, which { kind = "close" } ends
-- Each statement also has its indent.
--
-- A part (a node within a formula) gets a name if it is a sum or has is_separate (ir.lua), if it is used more than
-- once, if an outer level can compute it, or if its line becomes too long. A sum that is computed for each head may
-- have a part that does not depend on the head. This part becomes an array, which is filled before the loop over heads.

local formulas = require("expression.text")
local functions = require("expression.functions")
local lists = require("base.lists")
local lower = require("expression.lower")
local syntax = require("expression.syntax")
local walk = require("expression.walk")

local M = {}

local MAX_PART_SIZE = 128    -- operations and leaves; a larger part cannot fit in a line
local MAX_NEGATIVE_SIZE = 32 -- operations and leaves; a larger negated part gets a name if it is used more than once
local LONGEST_LINE = 94 -- characters of an indented expression, without the other text of its statement
local LONGEST_ASSIGNMENT = 116 -- characters of an indented expression and the target of its assignment
-- The largest indent of statements at each level, in columns; it is 4 more inside a loop over keys.
local INDENT = { outer = 8, key = 12, lane = 12, head = 16, after = 12 }
local RANK = { outer = 1, key = 2, lane = 3, head = 4, after = 5 }

-- The first part of a variable's name, by operation. neg is the arithmetic sign, negate is the logical "not".
local NAMES = { add = "total", sub = "difference", mul = "product", div = "ratio", neg = "negative",
  select = "choice", sum = "summed", bucket = "bucket", less = "test", less_equal = "test", equal = "test",
  all = "test", any = "test", negate = "test" }
for name, row in next, functions.rows do
  NAMES[name] = row.word
end

-- The state of one nest. A scope is { list = its statements, names = [node] -> the node's name }. Fields:
--   levels   name of a level -> its scope
--   open_loops   the scopes of the loops that are still being filled, outermost first; a loop runs over the index of a
--                sum
--   uses     node -> the number of its uses
--   arrays   node -> the text of an element of its array
--   needs_name   node -> whether it must get a name
--   sizes    node -> the result of count_written
--   names    name -> the number of nodes that have this name, with or without a suffix such as _2
local Emitter = setmetatable({}, { __index = syntax })
Emitter.__index = Emitter

function Emitter:get_type(node)
  local is_vector = self:is_vector(node)
  if node.type == "truth" then
    return is_vector and "bits" or "bool"
  end
  return is_vector and "vector" or "real"
end

-- The level of the nest at which a node is computed: the outermost level with all quantities on which the node depends.
function Emitter:find_level(node)
  if self.environment.has_only_lane_level then
    return "lane"
  end
  local dependencies = self:find_dependencies(node)
  return dependencies.a and "after" or dependencies.h and "head" or self:varies(node) and "lane"
    or dependencies.k and "key" or "outer"
end

function Emitter:make_name(name)
  self.names[name] = (self.names[name] or 0) + 1
  return self.names[name] > 1 and name .. "_" .. self.names[name] or name
end

-- The scope that a node belongs to: the innermost open loop whose index the node needs; without such a loop, its level.
function Emitter:find_scope(node)
  local dependencies = self:find_dependencies(node)
  for i = #self.open_loops, 1, -1 do
    if dependencies[self.open_loops[i].index] then
      return self.open_loops[i]
    end
  end
  return self.levels[self:find_level(node)]
end

-- The name that a node already has; nil if it has none.
function Emitter:find_name(node)
  return self.arrays[node] or self:find_scope(node).names[node]
end

-- The name of a node's variable, without a suffix such as _2.
local function choose_base_name(node)
  if node.op == "lookup" then
    return node.parameter.name .. "_value"
  elseif node.op == "table" then
    return node.table.name
  end
  return node.word or NAMES[node.op] or node.name or node.op
end

-- Appends the statement that defines a variable with a node's value. Returns the variable's name, which the node has
-- from now on.
function Emitter:add_set(node)
  local text = self:print_line(node, { defines = true })
  local scope, name = self:find_scope(node), self:make_name(choose_base_name(node))
  table.insert(scope.list, { kind = "set", type = self:get_type(node), name = name, value = text })
  scope.names[node] = name
  return name
end

-- Makes a loop over an index; fill() adds the statements of its body. Returns the loop's statement, which the caller
-- adds to a scope, and the result of fill.
function Emitter:make_loop(index, fill)
  local loop = { index = index, list = {}, names = {} }
  self.open_loops[#self.open_loops + 1] = loop
  local result = fill()
  self.open_loops[#self.open_loops] = nil
  return { kind = "loop", index = syntax.name_index(index), count = index.count, body = loop.list }, result
end

-- Appends the statements of a sum: a variable, and a loop that adds the terms to it. Returns the variable's name.
function Emitter:add_sum(node)
  local scope, name = self:find_scope(node), self:make_name(NAMES.sum)
  local type = self:get_type(node)
  local declaration = { kind = "set", type = type, name = name, value = type == "vector" and "{0}" or self.zero }
  local loop, value = self:make_loop(node.index, function() return self:print_line(node[1], {}) end)
  table.insert(loop.body, { kind = "add", target = name, value = value })
  table.insert(scope.list, declaration)
  table.insert(scope.list, loop)
  scope.names[node] = name
  return name
end

-- Whether a part has at least two operations, not counting lookups.
local function has_two_operations(root)
  local count = 0
  walk(root, function(node)
    count = count + ((#node > 0 and node.op ~= "lookup") and 1 or 0)
    return count >= 2
  end)
  return count >= 2
end

local MAX_ARRAY_LENGTH = 64

-- Whether a part becomes an array (add_array). The part is inside a sum that is computed for each head, and has equal
-- values for all heads.
function Emitter:is_shared_by_heads(node, level)
  if level ~= "head" or self.environment.has_only_lane_level or self:find_level(node) == "head"
    or #self.open_loops == 0 then
    return false
  end
  local index = lower.find_index(self:find_dependencies(node))
  return index and index.count <= MAX_ARRAY_LENGTH and has_two_operations(node)
end

-- Makes an array of a part's values, outside the loop over heads. The array has an element for each value of the index
-- of the sum.
function Emitter:add_array(node)
  local index = lower.find_index(self:find_dependencies(node))
  local scope, open_loops = self.levels[self:find_level(node)], self.open_loops
  local base = self:make_name(NAMES[node.op] or node.op)
  self.open_loops = {}
  local declaration = { kind = "array", type = self:get_type(node), name = base, count = index.count }
  local loop, value = self:make_loop(index, function() return self:print_line(node, { defines = true }) end)
  local element = ("%s[%s]"):format(base, syntax.name_index(index))
  table.insert(loop.body, { kind = "assign", target = element, value = value })
  table.insert(scope.list, declaration)
  table.insert(scope.list, loop)
  self.open_loops = open_loops
  self.arrays[node] = element
  return element
end

-- The number of operations and leaves in a part's text. A shared part inside counts 1, since its text is a name.
function Emitter:count_written(node)
  local size = self.sizes[node]
  if not size then
    size = 1
    for _, argument in ipairs(node) do
      size = size + (self:is_shared(argument) and 1 or self:count_written(argument))
    end
    self.sizes[node] = size
  end
  return size
end

-- Whether a part gets a name because it is used more than once. A short part with a minus sign is repeated instead.
function Emitter:is_shared(node)
  return self.uses[node] > 1 and (node.op ~= "neg" or self:count_written(node) > MAX_NEGATIVE_SIZE)
end

-- Whether a part gets a name if a statement of this level uses it.
function Emitter:deserves_name(node, level)
  local op = node.op
  if op == "number" or op == "truth" or op == "index" or op == "parameter" or op == "head_sum"
    or op == "value" then
    return false
  elseif op == "sum" or node.is_separate or self.needs_name[node] then
    return true
  elseif (op == "symbol" or op == "table") and not self:varies(node) then
    return false
  elseif self:is_shared(node) then
    -- Symbols with the dependency s, such as the logit, are variables of generated code, so they have names already.
    return op ~= "symbol" or not self:find_dependencies(node).s
  end
  local loop = self.open_loops[#self.open_loops]
  if loop and self:find_dependencies(node)[loop.index] then
    return false
  end
  local can_move_to_outer_level = loop ~= nil or RANK[self:find_level(node)] < RANK[level]
  return can_move_to_outer_level and (#node > 0 or op == "symbol" and not self:find_dependencies(node).s)
end

-- The largest number of characters in the text of a node, for a line at this level.
function Emitter:get_line_limit(level)
  local indent = INDENT[level]
  if self.environment.has_only_lane_level then
    indent = 4
  elseif self.environment.is_in_key_loop and RANK[level] > RANK.key then
    indent = indent + 4
  end
  return LONGEST_LINE - indent - 4 * #self.open_loops
end

-- The text of a node for one line. Parts that make the line too long get names. Fields of options:
--   defines           whether the line gives the node a name
--   more_characters   a number that is added to the limit of characters; nil: 0
--   min_precedence    text of a lower precedence gets parentheses; nil: 0
function Emitter:print_line(node, options)
  for _, argument in ipairs(node) do -- parts that are too long for any line get names first
    self.needs_name[argument] = self.needs_name[argument] or self:count_written(argument) > MAX_PART_SIZE or nil
  end
  local level = self:find_level(node)
  local function write()
    return options.defines and (self:print_whole(node, level)) or self:print(node, options.min_precedence or 0, level)
  end
  local text = write()
  local limit = self:get_line_limit(level) + (options.more_characters or 0)
  while #text > limit do
    local longest_part, longest_length
    for _, argument in ipairs(node) do
      local length = #self:print(argument, 0, self:find_level(node))
      if #argument > 0 and not self:find_name(argument) and (not longest_length or length > longest_length) then
        longest_part, longest_length = argument, length
      end
    end
    if not longest_part and not options.defines and #node > 0 and not self:find_name(node) then
      longest_part = node
    elseif not longest_part then
      break
    end
    self.needs_name[longest_part] = true
    text = write()
  end
  return text
end

function Emitter:print_index(node, level)
  local text = self:print_integer(node, level)
  if #text > LONGEST_LINE // 2 then
    self:add_set(node)
    text = self:print_integer(node, level)
  end
  return text
end

-- The text of a node in a statement of this level, in parentheses if its precedence is below min_precedence.
function Emitter:print(node, min_precedence, level)
  local name = self:find_name(node)
  if name then
    return name
  elseif self:is_shared_by_heads(node, level) then
    return self:add_array(node)
  elseif self:deserves_name(node, level) then
    return node.op == "sum" and self:add_sum(node) or self:add_set(node)
  end
  local text, precedence = self:print_whole(node, level)
  return precedence < min_precedence and "(" .. text .. ")" or text
end

local IS_CALL_WITH_TARGET = { store = true, add_at = true, scatter = true } -- kinds with the target in the value's line
local HAS_PLUS_SIGN = { gather_distance = true, gather_sum = true } -- kinds with a plus sign before the value

-- The text of an effect's node.
function Emitter:print_value(effect, level)
  if effect.is_index then
    return self:print_index(effect.node, level)
  end
  local more_characters = 0
  if IS_CALL_WITH_TARGET[effect.kind] then
    more_characters = -#effect.target
  elseif effect.may_exceed_line then
    more_characters = LONGEST_ASSIGNMENT - LONGEST_LINE - #effect.target
  end
  return self:print_line(effect.node, { more_characters = more_characters,
    min_precedence = HAS_PLUS_SIGN[effect.kind] and syntax.PRODUCT or 0 })
end

function Emitter:emit_effect(effect, level)
  local statement = lists.merge(effect)
  if effect.index_node then
    statement.index = self:is_vector(effect.index_node) and self:print(effect.index_node, 0, level)
      or (self:print_integer(effect.index_node, level))
  end
  statement.full_index = effect.base and statement.index and effect.base .. " + " .. statement.index
    or effect.base or statement.index or "0"
  statement.value = self:print_value(effect, level)
  if effect.kind == "result" and not self.environment.is_scalar and not self:is_vector(effect.node) then
    statement.value = ("broadcast(%s)"):format(statement.value)
  end
  local scope = self.open_loops[#self.open_loops] or self.levels[level]
  table.insert(scope.list, statement)
end

function Emitter:find_effect_level(effect)
  return effect.per_head and not self.environment.has_only_lane_level and "head" or self:find_level(effect.node)
end

-- Emits effects of one level within the same loops.
function Emitter:emit_group(group)
  local loops = group[1].loops or {}
  local level = self:find_effect_level(group[1])
  local function emit_loops(depth)
    if loops[depth] then
      local outer_scope = self.open_loops[#self.open_loops] or self.levels[level]
      table.insert(outer_scope.list, (self:make_loop(loops[depth], function() emit_loops(depth + 1) end)))
      return
    end
    for _, effect in ipairs(group) do
      self:emit_effect(effect, level)
    end
  end
  emit_loops(1)
end

-- Groups effects that can share their loops. An effect without loops has its own group. The groups are in the order of
-- the first effect of each group.
function Emitter:group_effects(effects)
  return lists.group(effects, function(effect)
    local loops = lists.map(effect.loops or {}, function(index) return index.id end)
    return loops[1] and self:find_effect_level(effect) .. " " .. table.concat(loops, " ") or effect
  end)
end

-- Appends the statements of a list to `out`, with their indents. The body of a loop follows the loop's statement, and
-- ends with a statement "close".
local function flatten(list, indent, out)
  for _, statement in ipairs(list) do
    statement.indent = indent
    out[#out + 1] = statement
    if statement.kind == "loop" then
      flatten(statement.body, indent .. "    ", out)
      statement.body = nil
      out[#out + 1] = { kind = "close", indent = indent }
    end
  end
  return out
end

-- Statements by level for a list of effects. state: the state of lower.lua.
function M.make_statements(state, environment, effects)
  local levels = {}
  for name in next, RANK do
    levels[name] = { list = {}, names = {} }
  end
  local emitter = setmetatable({ state = state, environment = environment, levels = levels, open_loops = {}, names = {},
    arrays = {}, needs_name = {}, sizes = {}, zero = environment.literal(0) }, Emitter)
  emitter.uses = formulas.count_uses(lists.collect(effects, function(effect)
    return { effect.node, effect.index_node }
  end))
  for _, group in ipairs(emitter:group_effects(effects)) do
    emitter:emit_group(group)
  end
  local statements = {}
  for name in next, RANK do
    statements[name] = flatten(levels[name].list, "", {})
  end
  return statements
end

return M
