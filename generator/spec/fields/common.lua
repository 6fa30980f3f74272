-- Defaults and limits that fields of several sections share.

local lists = require("base.lists")

local M = {}

M.MAX_INTEGER = 2147483647 -- 2^31 - 1
-- The number of tokens that pass through all layers together. At width 64, the activations of about 84 tokens fit into
-- a cache of 1 MiB together with a layer's weights, and 84 rows are a whole number of tiles with 6 rows. Measurements:
-- docs/performance-details.md.
M.BLOCK_TOKENS = 84
M.CADENCE = "steps or epochs (train.cadence)"

-- Makes a function for `default` (schema.lua) that returns the value of an earlier field.
function M.copy_default(path)
  return function(resolved) return lists.get(resolved, path) end
end

return M
