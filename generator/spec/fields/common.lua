-- Defaults and limits that fields of several sections share.

local lists = require("base.lists")

local M = {}

M.MOST = 2147483647 -- 2^31 - 1
-- Tokens that go through all layers together: at width 64 about 84 tokens keep a layer's activations in a 1 MiB cache
-- together with its weights, and 84 rows are whole tiles of 6. Measured: docs/performance-details.md.
M.BLOCK_TOKENS = 84
M.CADENCE = "steps or epochs (train.cadence)"

-- A default that is the value of an earlier field.
function M.copy_default(path)
  return function(resolved) return lists.get(resolved, path) end
end

return M
