-- Specs with a score, for tests: a spec around the text of an encoding, and the formula of a function body.

local lu = require("luaunit")
local support = require("support")

local M = {}

M.HEAD = 'return { task = { kind = "bucket_sort" }, model = { heads = 4, layers = 2 }, encoding = { '

function M.accept(encoding, sets, head)
  local resolved, info, d = support.check_text((head or "") .. M.HEAD .. encoding .. " } }", sets)
  lu.assertEquals(d:text(), "")
  return resolved, info
end

function M.refuse(encoding, message, sets, head)
  local resolved, _, d = support.check_text((head or "") .. M.HEAD .. encoding .. " } }", sets)
  lu.assertNil(resolved)
  lu.assertStrContains(d:text(), message)
  return d:text()
end

function M.set(path, text)
  return { { path = path, text = text } }
end

-- The formula of a function body.
function M.formula(body, rest, head)
  return M.accept(("score = function(x) %s end%s"):format(body, rest and ", " .. rest or ""), nil, head).encoding.score
end

M.TABLE = "parameters = { bias = { index = { -2, 2 }, init = 0, outside = 'clip' } }"
M.SLOPE = "parameters = { slope = { per = 'head', init = 1 } }"
M.RANDOM = "positions = { kind = 'randomized'%s }"

return M
