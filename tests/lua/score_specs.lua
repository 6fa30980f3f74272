-- Specs with a score, for tests: a spec with the text of an encoding, and the formula of a function body.

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

-- The settings of one --set, as load.lua takes them.
function M.make_sets(path, text)
  return { { path = path, text = text } }
end

-- The resolved score of the function with this body; fields: more fields of the encoding.
function M.trace_formula(body, fields, head)
  local text = ("score = function(x) %s end%s"):format(body, fields and ", " .. fields or "")
  return M.accept(text, nil, head).encoding.score
end

M.TABLE = "parameters = { bias = { index = { -2, 2 }, init = 0, outside = 'clip' } }"
M.SLOPE = "parameters = { slope = { per = 'head', init = 1 } }"
M.RANDOM = "positions = { kind = 'randomized'%s }"

return M
