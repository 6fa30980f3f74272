-- Specs with a score, for tests, and their plans. A score is given as text of the fields of an encoding, or as a
-- formula.

local lu = require("luaunit")
local project = require("project").new(".")
local support = require("support")

local M = {}

-- The beginning of every spec here, up to the fields of its encoding.
M.HEAD = 'return { task = { kind = "bucket_sort" }, model = { heads = 4, layers = 2 }, encoding = { '

-- Validates a spec with the fields of an encoding, which must have no error. head: Lua statements before `return`.
function M.accept(encoding, sets, head)
  return support.accept((head or "") .. M.HEAD .. encoding .. " } }", sets)
end

-- Validates such a spec, which must have an error with this message; returns the text of all errors.
function M.refuse(encoding, message, sets, head)
  return support.refuse((head or "") .. M.HEAD .. encoding .. " } }", message, sets)
end

-- Returns the settings of one --set, as load.lua takes them.
function M.make_sets(path, text)
  return { { path = path, text = text } }
end

-- Returns the resolved score of the function with this body. fields: text of more fields of the encoding; head: see
-- M.accept.
function M.trace_formula(body, fields, head)
  local text = ("score = function(x) %s end%s"):format(body, fields and ", " .. fields or "")
  return M.accept(text, nil, head).encoding.score
end

-- Plans a small model, by default a decoder, with the fields of an encoding. Returns the loaded spec, or nil and a
-- message.
function M.plan(encoding, kind, width)
  return project:plan(support.write("scored.lua", ([[return { task = { kind = "duplicate_string" }, encoding = { %s },
    model = { kind = "%s", heads = 2, width = %d, feedforward = 32 }, train = { use = "quick" } }]]):format(encoding,
    kind or "decoder", width or 16)))
end

-- Plans such a model, which must have no error. Returns the plan and the loaded spec.
function M.make_plan(encoding, kind)
  local spec, message = M.plan(encoding, kind)
  lu.assertTrue(spec ~= nil, message)
  return spec.plan, spec
end

-- Returns the text of the fields of an encoding with this formula as its score. parameters: text of the fields of the
-- score's parameters.
function M.make_score(formula, parameters)
  return ("score = function(x) return %s end, parameters = { %s }"):format(formula, parameters or "")
end

M.TABLE = "parameters = { bias = { index = { -2, 2 }, init = 0, outside = 'clip' } }"
M.SLOPE = "parameters = { slope = { per = 'head', init = 1 } }"
M.RANDOM = "positions = { kind = 'randomized'%s }"

return M
