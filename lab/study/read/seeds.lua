-- Seeds of a run: the run's seed, and separate seeds of parts of its random numbers (runtime/data/seeds.h).
--
-- Input: a run with the fields seed and part_seeds. part_seeds is { <part> = seed }, or nil if no part has a separate
-- seed. Output: texts, numbers, lists. Pure.

local lists = require("base.lists")

local M = {}

M.PARTS = { "init", "data", "draws" } -- initial values; training examples; random positions and dropout

-- Returns the text of the seeds in names of folders and in messages of trainers: "0", or "0.init1.data2".
function M.format(run)
  return table.concat(lists.append({ ("%d"):format(run.seed) }, lists.map(M.PARTS, function(part_name)
    return run.part_seeds and run.part_seeds[part_name] and (".%s%d"):format(part_name, run.part_seeds[part_name])
      or nil
  end)))
end

-- Returns the seed of a part (one of M.PARTS); nil for a run without a seed.
function M.get(run, part_name)
  return run.part_seeds and run.part_seeds[part_name] or run.seed
end

-- Returns { seed_<part> = seed } for all parts.
function M.list_columns(run)
  local columns = {}
  for _, part_name in ipairs(M.PARTS) do
    columns["seed_" .. part_name] = M.get(run, part_name)
  end
  return columns
end

M.COLUMNS = lists.map(M.PARTS, function(part_name) return "seed_" .. part_name end)

-- Returns a text on the parts for which several of the runs have the same seed; nil if there are none. Statistical
-- tests treat such runs as independent, and so overstate their result.
function M.describe_shared(runs)
  local shared_parts = lists.filter(M.PARTS, function(part_name)
    return #lists.drop_repeats(lists.map(runs, function(run) return M.get(run, part_name) end)) < #runs
  end)
  return shared_parts[1] and ("runs share seeds of %s, so they are not independent, although the tests assume that "
    .. "they are"):format(table.concat(shared_parts, ", ")) or nil
end

-- Whether run a precedes run b in the order of seeds.
function M.is_before(a, b)
  if a.seed ~= b.seed then
    return a.seed < b.seed
  end
  for _, part_name in ipairs(M.PARTS) do
    if M.get(a, part_name) ~= M.get(b, part_name) then
      return M.get(a, part_name) < M.get(b, part_name)
    end
  end
  return false
end

-- Returns the runs { seed, part_seeds } of all combinations of seeds; seeds of the last part vary fastest. seeds: a
-- list that may have the field part_seeds, { <part> = a list }. A part whose seed equals the run's seed is not in a
-- run's `part_seeds`.
function M.list_runs(seeds)
  local runs = lists.map(seeds, function(seed) return { seed = seed } end)
  for _, part_name in ipairs(M.PARTS) do
    local values = (seeds.part_seeds or {})[part_name]
    runs = values and lists.collect(runs, function(run)
      return lists.map(values, function(value)
        local part_seeds = value ~= run.seed and lists.merge(run.part_seeds or {}, { [part_name] = value })
          or run.part_seeds
        return { seed = run.seed, part_seeds = part_seeds }
      end)
    end) or runs
  end
  return runs
end

return M
