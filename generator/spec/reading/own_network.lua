-- Runs a user's own network: a Lua file that returns the description, a function(net, model) that builds the network.
-- The limits of specs (sandbox.lua) hold for it.
--
-- Input: the text of the file, line ends "\n". Output of M.open: the description. Output of M.run: the result
-- of the caller's function, which calls the description. After an error, both return nil and the problem as { what,
-- line, col, expected, hint }.
-- network/graph/handles.lua makes the arguments `net` and `model`. Invariants: every call compiles the text again, so
-- that no state passes from one network to the next; a description can reach only its arguments and the functions of
-- DIALECT.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local objects = require("expression.objects")
local plain = require("expression.functions").plain
local sandbox = require("spec.reading.sandbox")
local escape = require("base.escape")

local M = {}

local RETURNS = "return function(net, model) ... end"

local MAX_MESSAGE_BYTES = 200

-- The function `assert` for descriptions: if the condition is false, the description ends with the user's message, as
-- in assert(width > 16, "the gate needs more").
local function assert_that(condition, message)
  if condition then
    return condition
  end
  local text = type(message) == "string" and escape.plain(message:sub(1, MAX_MESSAGE_BYTES))
  error({ problem = true, what = text or "an assertion failed" })
end

local functions = { assert = objects.export(assert_that), ipairs = ipairs }
for _, name in ipairs({ "abs", "cos", "exp", "floor", "log", "max", "min", "sin", "sqrt" }) do
  functions[name] = plain[name]
end

local DIALECT = { functions = functions, names = canonical.sort_keys(functions), noun = "a network", returns = RETURNS }

M.NAMES = DIALECT.names -- names of the functions that a description may call

-- The function that the text returns; or nil and the problem.
function M.open(text)
  local describe, problem = sandbox.run(text, nil, DIALECT)
  if problem then
    return nil, problem
  elseif type(describe) ~= "function" then
    local result_text = type(describe) == "table" and "a table" or diagnostics.show(describe)
    return nil, { what = "the file returns " .. result_text, expected = RETURNS, line = 1, col = 1 }
  end
  return describe
end

-- Calls build(describe, source) with the text's function and the name that debug.getinfo reports as the function's
-- source; returns the result of build, or nil and the problem. build runs under the limits of the sandbox.
function M.run(text, build)
  local describe, problem = M.open(text)
  if not describe then
    return nil, problem
  end
  return sandbox.call(text, objects.export(function()
    return build(objects.import(describe), sandbox.SOURCE)
  end), nil, nil, DIALECT)
end

-- Wraps a builder's method that a description calls.
M.method = objects.export

return M
