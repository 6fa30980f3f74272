-- Predicts the steps per second of a GPU, from the counts of a step (tests/cuda/counts.txt) and the assumptions below:
--
--     lua5.4 tests/ptx/predict.lua     prints the rows of two tables of docs/performance.md, for one model and
--                                      for many replicas; tests/lua/test_docs.lua compares them

local MULTIPROCESSORS = 132 -- of an H100 or H200
local CLOCK = 1.8e9 -- their clock under load, Hz
local L2 = 5.5e12 -- transfers of the L2 cache, bytes per second
local LENGTHS = { "21", "41", "80" }
local BLOCKS = 128 -- of one model; each has a shard of one sequence
local SHARDS = 16 -- of a replica; each has eight sequences

local predict = {}

-- Returns counts["tf32 shard_of_1 all"] = { count at T = 21, at 41, at 80 }; one count if it does not depend on T.
local function read_counts(path)
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

-- 123456 -> "123,500"
local function format_rounded(number)
  local text = ("%d"):format(math.floor(number / 100 + 0.5) * 100)
  return (text:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

-- Formats the steps per second at two and at four instructions per cycle of a multiprocessor, and the bound by the L2
-- cache. `instructions` and `sectors`: of a step.
local function format_rates(instructions, sectors, multiprocessors)
  local function format_times(per_cycle)
    return format_rounded(multiprocessors * per_cycle * CLOCK / instructions)
  end
  return ("%s | %s | %s"):format(format_times(2), format_times(4), format_rounded(L2 / (32 * sectors)))
end

-- The rows of both tables, for float32 and tf32: first the rows for one model, then the rows for many replicas.
function predict.rows(path)
  local counts, rows, replica_rows = read_counts(path), {}, {}
  for _, precision in ipairs({ "float32", "tf32" }) do
    local function get_count(code_part, kind, index) -- the end of a step is the same in all precisions
      local name = code_part:match("^end") and "float32" or precision
      local list = counts[("%s %s %s"):format(name, code_part, kind)] or {}
      return list[index] or list[1] or 0
    end
    local function count_sectors(code_part, index)
      return get_count(code_part, "sectors_loaded", index) + get_count(code_part, "sectors_stored", index)
    end
    for i, T in ipairs(LENGTHS) do
      local block = get_count("shard_of_1", "all", i) + get_count("end_of_128", "all", i) / BLOCKS
      local replica = SHARDS * get_count("shard_of_8", "all", i) + get_count("end_of_16", "all", i)
      local sectors = BLOCKS * count_sectors("shard_of_1", i) + count_sectors("end_of_128", i)
      local replica_sectors = SHARDS * count_sectors("shard_of_8", i) + count_sectors("end_of_16", i)
      rows[#rows + 1] = ("| %s | %s | %.2f | %.1f%% | %s |"):format(precision, T, block / 1e6,
        100 * get_count("shard_of_1", "matrix", i) / block, format_rates(block, sectors, 1))
      replica_rows[#replica_rows + 1] = ("| %s | %s | %.0f | %.1f%% | %s |"):format(precision, T, replica / 1e6,
        100 * SHARDS * get_count("shard_of_8", "matrix", i) / replica,
        format_rates(replica, replica_sectors, MULTIPROCESSORS))
    end
  end
  return table.move(replica_rows, 1, #replica_rows, #rows + 1, rows)
end

if arg and arg[0] and arg[0]:match("predict%.lua$") then
  print(table.concat(predict.rows("tests/cuda/counts.txt"), "\n"))
end

return predict
