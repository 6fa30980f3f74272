-- Prints the predictions of docs/performance.md for a GPU, from the counts of a step (tests/cuda/counts.txt) and the
-- assumptions below:
--
--     lua5.4 tests/ptx/predict.lua     prints the rows of its table; tests/lua/test_docs.lua compares them

local MULTIPROCESSORS, CLOCK = 132, 1.8e9 -- of an H100 or H200; under load
local L2 = 5.5e12 -- bytes per second
local LENGTHS = { "21", "41", "80" }
local BLOCKS, SHARDS = 128, 16 -- of one model, with one sequence each; of a replica, with eight

local predict = {}

-- counts["tf32 shard_of_1 all"] = { at T = 21, 41, 80 }; a count that does not depend on T is one number.
local function read(path)
  local counts = {}
  for line in io.lines(path) do
    local key, numbers = line:match("^(%l%w+ +[%w_]+ +[%w_]+) +([%d ]+)$")
    if key then
      local list = {}
      for number in numbers:gmatch("%d+") do
        list[#list + 1] = tonumber(number)
      end
      counts[key:gsub(" +", " ")] = list
    end
  end
  return counts
end

local function grouped(number)
  local text = ("%d"):format(math.floor(number / 100 + 0.5) * 100)
  return (text:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

-- Steps per second at two and at four instructions per cycle of a multiprocessor, and the bound by the L2 cache.
local function rates(instructions, sectors, multiprocessors)
  local function at(per_cycle)
    return grouped(multiprocessors * per_cycle * CLOCK / instructions)
  end
  return ("%s, %s | %s"):format(at(2), at(4), grouped(L2 / (32 * sectors)))
end

-- The rows of the table, for float32 and tf32.
function predict.rows(path)
  local counts, rows = read(path), {}
  for _, precision in ipairs({ "float32", "tf32" }) do
    local function of(part, kind, at) -- the end of a step is the same in all precisions
      local name = part:match("^end") and "float32" or precision
      local list = counts[("%s %s %s"):format(name, part, kind)] or {}
      return list[at] or list[1] or 0
    end
    local function sectors(part, at)
      return of(part, "sectors_loaded", at) + of(part, "sectors_stored", at)
    end
    for i, T in ipairs(LENGTHS) do
      local block = of("shard_of_1", "all", i) + of("end_of_128", "all", i) / BLOCKS
      local replica = SHARDS * of("shard_of_8", "all", i) + of("end_of_16", "all", i)
      local crossing = BLOCKS * sectors("shard_of_1", i) + sectors("end_of_128", i)
      rows[#rows + 1] = ("| %s | %s | %.2f | %.1f%% | %s | %.0f | %.1f%% | %s |"):format(precision, T, block / 1e6,
        100 * of("shard_of_1", "matrix", i) / block, rates(block, crossing, 1), replica / 1e6,
        100 * SHARDS * of("shard_of_8", "matrix", i) / replica,
        rates(replica, SHARDS * sectors("shard_of_8", i) + sectors("end_of_16", i), MULTIPROCESSORS))
    end
  end
  return rows
end

if arg and arg[0] and arg[0]:match("predict%.lua$") then
  print(table.concat(predict.rows("tests/cuda/counts.txt"), "\n"))
end

return predict
