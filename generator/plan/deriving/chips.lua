-- The list of common GPUs, and the number of shards that suits each GPU when it trains one model.
--
-- Output: M.list, the GPUs; M.count_shards and M.advise, numbers of shards for a batch.
-- A thread block computes one shard, and a multiprocessor runs one thread block. If there are more shards than
-- multiprocessors, the remaining shards wait for a second round, in which most of the chip is idle.

local lists = require("base.lists")

local M = {}

-- The GPUs as { compute capability, name, number of multiprocessors }.
M.list = {
  { 75, "T4", 40 },
  { 80, "A100", 108 },
  { 86, "A10", 72 },
  { 86, "RTX 3090", 82 },
  { 89, "L4", 58 },
  { 89, "RTX 4090", 128 },
  { 89, "L40S", 142 },
  { 90, "H100 PCIe", 114 },
  { 90, "H100 SXM", 132 },
  { 100, "B200", 148 },
  { 120, "RTX 5090", 170 },
}

-- The number of shards for one round of thread blocks.
function M.count_shards(batch, multiprocessors)
  local shard_sequences = (batch + multiprocessors - 1) // multiprocessors
  return (batch + shard_sequences - 1) // shard_sequences
end

-- The chips of compute capability min_capability or more that need several rounds for `shards` shards. Chips with equal
-- advice are a group { key, rows of M.list ... }: `key` is the number of shards for one round. Keys descend.
function M.advise(batch, shards, min_capability)
  local small_chips = lists.filter(M.list, function(chip) return chip[1] >= min_capability and chip[3] < shards end)
  local advice = lists.group(small_chips, function(chip) return M.count_shards(batch, chip[3]) end)
  table.sort(advice, function(a, b) return a.key > b.key end)
  return advice
end

return M
