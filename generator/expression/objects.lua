-- Tracing objects, which stand for numbers while the score function of a spec is traced, and calls between the
-- generator's code and a spec's code.
--
-- Output: tables that map each object to its node, parameter or session (the state of one tracing, see traced.lua);
-- functions that check the arguments of traced functions. Invariants:
--   A spec cannot read the content of an object.
--   A mistake is raised as { problem = true, word, what, expected, hint }. The sandbox finds its line and column.
--   Strings have methods only while the generator's code runs.

local diagnostics = require("base.diagnostics")

local M = {}

M.nodes = setmetatable({}, { __mode = "k" })  -- traced number -> its node
M.tables = setmetatable({}, { __mode = "k" }) -- object of a parameter with several values -> the parameter
M.roots = setmetatable({}, { __mode = "k" })  -- x, the argument of a score -> its session

M.TRACED, M.TABLE, M.ROOT = {}, {}, {} -- metatables of tracing objects, which traced.lua fills

local nodes, tables, roots = M.nodes, M.tables, M.roots

-- Raises a mistake of the spec; word: the text of the spec at the mistake.
function M.refuse(word, message, expected, hint)
  error({ problem = true, word = word, what = message, expected = expected, hint = hint })
end

function M.wrap(node)
  local object = setmetatable({}, M.TRACED)
  nodes[object] = node
  return object
end

local STRINGS = debug.getmetatable("") -- the methods of strings

M.is_in_generator = false -- whether a function of the generator, called by a spec, is running

-- Calls f, a function of the generator or of the spec. Strings have methods only in functions of the generator.
-- An error of f ends the whole run of the spec, so nothing is restored after it.
local function call_as(is_of_generator, f, ...)
  local was_in_generator, strings = M.is_in_generator, debug.getmetatable("")
  M.is_in_generator = is_of_generator
  debug.setmetatable("", is_of_generator and STRINGS or nil)
  local result = f(...)
  M.is_in_generator = was_in_generator
  debug.setmetatable("", strings)
  return result
end

-- Wraps a function of the generator so that a spec may call it.
function M.export(f)
  return function(...) return (call_as(true, f, ...)) end -- no tail call, so that the stack has the line of a failure
end

-- Wraps a function of the spec so that the generator may call it.
function M.import(f)
  return function(...) return (call_as(false, f, ...)) end
end

-- Refuses a parameter with several values where one number is needed.
function M.refuse_table(object)
  local p = tables[object]
  M.refuse(p.local_name, ("x.%s has %d values: read one with lookup(x.%s, index)"):format(p.local_name, p.size,
    p.local_name), "a single number")
end

function M.is_finite(value)
  return value == value and value ~= math.huge and value ~= -math.huge
end

-- Returns the number or the node of an argument, or refuses the argument. word: the name of the called function.
function M.read_number(word, value)
  if nodes[value] then
    return nodes[value]
  elseif type(value) == "number" then
    if not M.is_finite(value) then
      M.refuse(word, ("%s was given %s, which is not a finite number"):format(word,
        value ~= value and "NaN" or tostring(value)), "finite numbers", "a division by zero gives no finite number")
    end
    return value
  elseif tables[value] then
    M.refuse_table(value)
  elseif roots[value] then
    M.refuse(word, ("%s was given x itself, which holds all symbols"):format(word), "one symbol, such as x.score")
  elseif type(value) == "boolean" then
    M.refuse(word, ("%s was given a truth value"):format(word), "numbers",
      "select(condition, a, b) turns a truth value into a number")
  end
  M.refuse(word, value == nil and ("%s was given nothing (nil) instead of a number"):format(word)
    or ("%s was given %s instead of a number"):format(word, diagnostics.show(value)), "numbers, or fields of x")
end

-- Returns the boolean or the node of an argument, or refuses the argument.
function M.read_truth(word, value)
  if type(value) == "boolean" then
    return value
  elseif nodes[value] and nodes[value].type == "truth" then
    return nodes[value]
  end
  if not nodes[value] then
    M.read_number(word, value)
  end
  M.refuse(word, ("%s was given a number instead of a truth value"):format(word),
    "the result of less, less_equal, equal, all, any or negate")
end

-- Returns the kind of a value ("node", "number", "truth", "table", "x", "nothing" or "other"), and its node or nil.
function M.classify(value)
  local node = nodes[value]
  if node then
    return node.type == "truth" and "truth" or "node", node
  end
  if tables[value] then
    return "table"
  elseif roots[value] then
    return "x"
  elseif value == nil then
    return "nothing"
  end
  return ({ number = "number", boolean = "truth" })[type(value)] or "other"
end

return M
