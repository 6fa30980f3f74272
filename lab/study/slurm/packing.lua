-- Packs the missing runs of a study into tasks of a job array.
--
-- Input: cells with their missing runs, limits. Output: groups and tasks. The runs of a group train side by side in one
-- process. A task is a list of groups, each with a lane: groups of one lane train one after the other, and the lanes
-- train side by side.
-- Invariants: no function changes its arguments, except that group.lane is set; every run is in one group and every
-- group in one task; equal input gives equal tasks. A group:
--   cell, runs       the cell, and the runs of the cell in this group
--   learning_rates, seeds, part_seeds   values of flags of the process (grid.make_flags)
--   is_replacement   whether all runs of the group replace earlier folders
--   seconds          an estimate (submit.lua), or nil
--   lane             the index of the lane in its task

local canonical = require("base.canonical")
local lists = require("base.lists")
local seeds = require("lab.study.read.seeds")

local M = {}

-- Divides a cell's missing runs into sets:
--   runs         the runs of the set
--   part_seeds   { [part] = { first, last } }, the seeds of each part that has seeds of its own (seeds.lua)
--   per_seed     the number of runs with the same seed and learning rate, one for each combination of part seeds
-- There is a single set if two conditions are met:
--   one process can train all runs with the same seed and learning rate: per_seed is at most `replicas`
--   for each seed and learning rate, all runs are missing or none
-- If not, each combination of part seeds has its own set.
local function divide(cell, missing_runs, replicas)
  local seeds_by_part, per_seed = lists.get(cell, "seeds.part_seeds") or {}, 1
  for _, values in pairs(seeds_by_part) do
    per_seed = per_seed * #values
  end
  local by_rate_and_seed = lists.group(missing_runs, function(run)
    return ("%s %d"):format(run.learning_rate, run.seed)
  end)
  if per_seed <= replicas and not lists.any(by_rate_and_seed, function(runs) return #runs < per_seed end) then
    local part_seeds = {}
    for name, values in pairs(seeds_by_part) do
      part_seeds[name] = { values[1], values[#values] }
    end
    return { { runs = missing_runs, part_seeds = part_seeds, per_seed = per_seed } }
  end
  local function get_part_seeds(run)
    local part_seeds = {}
    for name in pairs(seeds_by_part) do
      part_seeds[name] = { seeds.get(run, name), seeds.get(run, name) }
    end
    return part_seeds
  end
  local run_lists = lists.group(missing_runs, function(run) return canonical.format(get_part_seeds(run)) end)
  return lists.map(run_lists, function(runs)
    return { runs = runs, part_seeds = get_part_seeds(runs[1]), per_seed = 1 }
  end)
end

-- Groups a set's runs into rectangles of seeds and learning rates, each as a table:
--   seeds   in ascending order
--   rates   the learning rates whose runs have exactly these seeds
--   runs    { [rate] = runs in the order of seeds }
local function make_rectangles(set)
  local by_rate = lists.group(set.runs, function(run) return run.learning_rate end)
  for _, runs in ipairs(by_rate) do
    table.sort(runs, seeds.is_before)
    runs.seeds = lists.drop_repeats(lists.map(runs, function(run) return run.seed end))
  end
  local by_seeds = lists.group(by_rate, function(runs) return table.concat(runs.seeds, " ") end)
  return lists.map(by_seeds, function(run_lists) -- a list for each learning rate
    local rectangle = { seeds = run_lists[1].seeds, rates = {}, runs = {} }
    for i, runs in ipairs(run_lists) do
      rectangle.rates[i], rectangle.runs[runs.key] = runs.key, runs
    end
    return rectangle
  end)
end

-- Cuts the range 1..count into ranges { first, last } of at most `max_size` numbers. A range also ends after each
-- number i with is_break(i).
local function cut_range(count, max_size, is_break)
  local list, first = {}, 1
  for i = 1, count do
    if i == count or i - first + 1 == max_size or is_break(i) then
      list[#list + 1] = { first, i }
      first = i + 1
    end
  end
  return list
end

-- Cuts a rectangle of a set into groups of at most `replicas` runs with consecutive seeds, and appends these groups to
-- `groups`. common_fields: fields of each group.
local function add_groups(groups, common_fields, rectangle, set, replicas)
  local values, rates, per_seed = rectangle.seeds, rectangle.rates, set.per_seed
  local rate_count = math.min(#rates, math.max(1, replicas // per_seed))
  local seed_ranges = cut_range(#values, math.max(1, replicas // (rate_count * per_seed)), function(i)
    return values[i + 1] ~= values[i] + 1
  end)
  for _, rate_range in ipairs(cut_range(#rates, rate_count, function() return false end)) do
    for _, range in ipairs(seed_ranges) do
      local group = lists.merge(common_fields, {
        learning_rates = table.move(rates, rate_range[1], rate_range[2], 1, {}),
        seeds = { values[range[1]], values[range[2]] }, part_seeds = set.part_seeds, runs = {} })
      for _, rate in ipairs(group.learning_rates) do
        table.move(rectangle.runs[rate], (range[1] - 1) * per_seed + 1, range[2] * per_seed, #group.runs + 1,
          group.runs)
      end
      groups[#groups + 1] = group
    end
  end
end

-- Returns groups of all missing runs of the cells. replicas: the maximum number of runs of a group.
function M.make_groups(cells, replicas)
  local groups = {}
  for _, cell in ipairs(cells) do
    for _, is_replacement in ipairs({ false, true }) do
      local missing_runs = lists.filter(cell.missing, function(run)
        return (run.is_replacement or false) == is_replacement
      end)
      for _, set in ipairs(divide(cell, missing_runs, replicas)) do
        for _, rectangle in ipairs(make_rectangles(set)) do
          add_groups(groups, { cell = cell, is_replacement = is_replacement }, rectangle, set, replicas)
        end
      end
    end
  end
  return groups
end

-- Chooses groups that leave few of `cpus` processors idle. At most `max_runs` runs train at a time. Small groups train
-- side by side, in lanes with a processor for each run. Groups are as large as possible, unless smaller groups save an
-- eighth of the time. Returns the groups and the number of lanes.
function M.choose_groups(cells, max_runs, cpus)
  local best
  for max_size = math.min(max_runs, lists.max(cells, function(cell) return #cell.missing end)), 1, -1 do
    local groups, lanes = M.make_groups(cells, max_size), math.max(1, math.min(max_runs, cpus) // max_size)
    -- rounds: the time of all groups; the unit is the time of a run with its own processor
    local rounds = math.ceil(lists.sum(groups, function(group) return math.max(1, #group.runs / cpus) end) / lanes)
    if not best or 8 * rounds < 7 * best.rounds then
      best = { rounds = rounds, groups = groups, lanes = lanes }
    end
  end
  return best.groups, best.lanes
end

-- Distributes the groups in order over `count` tasks with `lanes` lanes each: a group goes to the lane with the least
-- load. Lane i of all lanes belongs to task (i - 1) % count + 1. Returns the tasks and the largest load of a lane.
local function distribute(groups, count, lanes, get_weight)
  local tasks, loads, max_load = {}, {}, 0
  for i = 1, count do
    tasks[i] = {}
  end
  for i = 1, count * lanes do
    loads[i] = 0
  end
  for _, group in ipairs(groups) do
    local lane = 1
    for i = 2, #loads do
      lane = loads[i] < loads[lane] and i or lane
    end
    table.insert(tasks[(lane - 1) % count + 1], group)
    group.lane = (lane - 1) // count + 1
    loads[lane] = loads[lane] + get_weight(group)
    max_load = math.max(max_load, loads[lane])
  end
  return tasks, max_load
end

-- Makes as few tasks as the limits allow; as many as possible if the seconds of a group are unknown. limits:
--   seconds     the maximum seconds of a task
--   min_tasks   the minimum number of tasks, if there are as many groups
--   max_tasks   the maximum number of tasks
--   lanes       the maximum number of lanes of a task
-- Returns the tasks, the longest task's seconds (nil if unknown) and the number of lanes.
function M.make_tasks(groups, limits)
  local sorted_groups, total, max_weight, order = {}, 0, 0, {}
  local has_seconds = not lists.find(groups, function(group) return not group.seconds end)
  local function get_weight(group)
    return has_seconds and group.seconds or #group.runs
  end
  for i, group in ipairs(groups) do
    sorted_groups[i], order[group] = group, i
    total, max_weight = total + get_weight(group), math.max(max_weight, get_weight(group))
  end
  table.sort(sorted_groups, function(a, b)
    return get_weight(a) > get_weight(b) or get_weight(a) == get_weight(b) and order[a] < order[b]
  end)
  local max_count = math.min(limits.max_tasks, #groups)
  -- No group is divided: a group that takes longer than limits.seconds continues after a requeue.
  local max_lane_seconds = math.max(limits.seconds, max_weight)
  local count = max_count
  if has_seconds then
    count = math.min(max_count, math.max(limits.min_tasks, math.ceil(total / max_lane_seconds / limits.lanes)))
  end
  local tasks, max_load, lanes
  local function distribute_all()
    lanes = math.min(limits.lanes, (#groups + count - 1) // count)
    tasks, max_load = distribute(sorted_groups, count, lanes, get_weight)
  end
  distribute_all()
  while has_seconds and max_load > max_lane_seconds and count < max_count do
    count = math.min(max_count, count + 1 + count // 16)
    distribute_all()
  end
  return tasks, has_seconds and max_load or nil, lanes
end

return M
