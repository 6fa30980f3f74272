-- GPUs that are often asked for, and the number of shards that suits each when it trains one model.
--
-- A block takes a shard and a multiprocessor a block: shards beyond the multiprocessors wait for a second round, in
-- which most of the chip has nothing to do.

local M = {}

-- Compute capability, name, multiprocessors.
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

-- The most shards that do not leave a block more sequences than it must have: one round, no longer than it need be.
function M.shards(batch, multiprocessors)
  local sequences = (batch + multiprocessors - 1) // multiprocessors
  return (batch + sequences - 1) // sequences
end

-- For the chips on which so many shards need several rounds, by the number that needs one, largest first:
-- { shards, names }, each name with its multiprocessors.
function M.advice(batch, shards, least_architecture)
  local list, at = {}, {}
  for _, chip in ipairs(M.list) do
    local architecture, name, multiprocessors = table.unpack(chip)
    if architecture >= least_architecture and multiprocessors < shards then
      local count = M.shards(batch, multiprocessors)
      if not at[count] then
        at[count] = { shards = count, names = {} }
        list[#list + 1] = at[count]
      end
      table.insert(at[count].names, ("%s (%d)"):format(name, multiprocessors))
    end
  end
  table.sort(list, function(a, b)
    return a.shards > b.shards
  end)
  return list
end

return M
