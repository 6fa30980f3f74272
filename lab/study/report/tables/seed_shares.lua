-- A table of a report: how much of the variance of scores comes from each seed, for runs that have separate seeds for
-- parts of their random numbers (lab/study/read/seeds.lua).
--
-- Input: a study with the results of its cells (cells.lua). Output: a table as in score_tables.lua, with a row for each
-- cell whose seeds are crossed: every combination of the seeds of two or three parts has a run. nil without such a
-- cell. Parts whose seeds change together are one factor. The factors are random effects. The variance component of a
-- set T of factors is estimated by the method of moments from the mean squares MS_S of an analysis of variance without
-- replication:
--   component_T = (sum of (-1)^(|S| - |T|) MS_S) / (product of n_i over the factors i outside T)
-- The sum is over all sets S that contain T, and n_i is the number of seeds of factor i.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local score_tables = require("lab.study.report.tables.score_tables")
local seeds = require("lab.study.read.seeds")
local statistics = require("lab.study.read.statistics")

local M = {}

-- Gives each different seed of a part an index, in the order of the runs. Returns
--   the indices of all runs' seeds as a text, such as "1 1 2 2"
--   the count of different seeds
local function index_seeds(cell_runs, part_name)
  local indices, count = {}, 0
  return table.concat(lists.map(cell_runs, function(run)
    local seed = seeds.get(run, part_name)
    count = indices[seed] and count or count + 1
    indices[seed] = indices[seed] or count
    return indices[seed]
  end), " "), count
end

-- Returns a list of factors { parts, levels (the count of seeds) }. A part with a single seed is no factor.
local function list_factors(cell_runs)
  local by_pattern = lists.group(seeds.PARTS, function(part_name) return (index_seeds(cell_runs, part_name)) end)
  return lists.filter(lists.map(by_pattern, function(parts)
    return { parts = parts, levels = select(2, index_seeds(cell_runs, parts[1])) }
  end), function(factor) return factor.levels > 1 end)
end

-- Returns a run's seeds for a set of factors as a text. set: a list of indices of factors.
local function make_key(run, factors, set)
  return table.concat(lists.map(set, function(i) return seeds.get(run, factors[i].parts[1]) end), " ")
end

-- Leaves out damaged runs, since their seeds are unknown. Returns
--   the factors of the runs; nil if the seeds are not crossed
--   one run for each combination of seeds, since equal seeds give equal runs
function M.find_factors(cell_runs)
  local with_seed = lists.filter(cell_runs, function(run) return run.seed end)
  local distinct_runs = lists.map(lists.group(with_seed, function(run)
    return table.concat(lists.map(seeds.PARTS, function(part_name) return seeds.get(run, part_name) end), " ")
  end), function(equal_runs) return equal_runs[1] end)
  local factors, combinations = list_factors(distinct_runs), 1
  for _, factor in ipairs(factors) do
    combinations = combinations * factor.levels
  end
  return #factors > 1 and combinations == #distinct_runs and factors or nil, distinct_runs
end

-- Returns all sets of the numbers 1 to count, as ascending lists, smaller sets before larger ones.
local function list_sets(count)
  local sets = { {} }
  for i = 1, count do
    lists.append(sets, lists.map(sets, function(set) return lists.join(set, { i }) end))
  end
  table.sort(sets, function(a, b)
    return #a < #b or #a == #b and table.concat(a) < table.concat(b)
  end)
  return sets
end

local function contains(set, subset)
  return not lists.any(subset, function(i) return not lists.has(set, i) end)
end

-- Returns the sum of (-1)^(|set| - size) get_value(set) over the sets for which is_summed(set) is true.
local function sum_alternating(sets, size, is_summed, get_value)
  return lists.sum(lists.filter(sets, is_summed), function(set)
    return (#set - size) % 2 == 0 and get_value(set) or -get_value(set)
  end)
end

-- Returns { [set] = mean square } for all nonempty sets of factors.
local function compute_mean_squares(crossed_runs, factors, sets)
  local means, squares = {}, {}
  for _, set in ipairs(sets) do
    means[set] = {}
    for _, group in ipairs(lists.group(crossed_runs, function(run) return make_key(run, factors, set) end)) do
      means[set][group.key] = statistics.mean(lists.map(group, function(run) return run.score end))
    end
  end
  for _, set in ipairs({ table.unpack(sets, 2) }) do
    local degrees_of_freedom = 1
    for _, i in ipairs(set) do
      degrees_of_freedom = degrees_of_freedom * (factors[i].levels - 1)
    end
    local function compute_effect(run)
      return sum_alternating(sets, #set, function(subset) return contains(set, subset) end, function(subset)
        return means[subset][make_key(run, factors, subset)]
      end)
    end
    squares[set] = lists.sum(crossed_runs, function(run) return compute_effect(run) ^ 2 end) / degrees_of_freedom
  end
  return squares
end

-- Returns the variance components of crossed runs with scores:
--   factors            the factors, with two more fields. share: the factor's share of the sum of all components;
--                      is_negative: whether the factor's estimate is negative and counts as 0
--   sd                 the root of the sum of all components
--   rest               the share of all sets of several factors
--   rest_is_negative   whether an estimate for such a set is negative and counts as 0
-- Shares are nil if all scores are equal.
function M.compute(crossed_runs, factors)
  local sets = list_sets(#factors)
  local squares = compute_mean_squares(crossed_runs, factors, sets)
  local total, rest_total, result = 0, 0, { factors = factors }
  for _, set in ipairs({ table.unpack(sets, 2) }) do
    local outside_product = 1 -- the product of n_i over the factors outside the set
    for i, factor in ipairs(factors) do
      outside_product = outside_product * (lists.has(set, i) and 1 or factor.levels)
    end
    local component = sum_alternating(sets, #set, function(superset)
      return contains(superset, set)
    end, function(superset) return squares[superset] end) / outside_product
    total = total + math.max(0, component)
    if #set == 1 then
      factors[set[1]].share, factors[set[1]].is_negative = math.max(0, component), component < 0
    else
      rest_total = rest_total + math.max(0, component)
      result.rest_is_negative = result.rest_is_negative or component < 0
    end
  end
  result.sd = math.sqrt(total)
  for _, factor in ipairs(factors) do
    factor.share = total > 0 and factor.share / total or nil
  end
  result.rest = total > 0 and rest_total / total or nil
  return result
end

local function format_share(share, is_negative)
  return share and ("%.0f%%%s"):format(100 * share, is_negative and "*" or "") or "undefined"
end

-- Returns the text of a part: its share, "one seed", or "with PART" if the column of another part has the share.
local function format_part(result, part_name)
  local factor = lists.find(result.factors, function(candidate) return lists.has(candidate.parts, part_name) end)
  if not factor then
    return "one seed"
  elseif factor.parts[1] ~= part_name then
    return "with " .. factor.parts[1]
  end
  return format_share(factor.share, factor.is_negative)
end

local function make_row(study, cell)
  local rate = cell.summary.best_rate and cell.summary.best_rate.rate
  local requested_runs = lists.filter(cell.runs, function(run) return not rate or run.learning_rate == rate end)
  if not (M.find_factors(requested_runs)) then
    return nil
  end
  local title, scored_runs = score_tables.format_key(study, cell), runs.get_chosen_runs(cell)
  local factors, crossed_runs = M.find_factors(scored_runs)
  if not factors then
    local text = ("%d of %d runs"):format(#scored_runs, #requested_runs)
    return { title, text, entries.MISSING, entries.MISSING, entries.MISSING, entries.MISSING, entries.MISSING,
      cell = cell }
  end
  local result = M.compute(crossed_runs, factors)
  return lists.append(lists.append({ title, table.concat(lists.map(factors, function(factor)
    return ("%d"):format(factor.levels)
  end), " x "), metrics.by_name[study.scored.metric].form:format(result.sd), cell = cell },
    lists.map(seeds.PARTS, function(part_name) return format_part(result, part_name) end)),
    { format_share(result.rest, result.rest_is_negative) })
end

-- Makes the table. The column `rest` has the share of interactions, the effects of combinations of seeds.
function M.make_cells_table(study)
  local metric = metrics.by_name[study.scored.metric]
  local rows = lists.map(study.cells, function(cell) return make_row(study, cell) end)
  local caption = "random effects without replication, estimated by the method of moments; sd: the root of the sum of "
    .. "all variance components; a share is a component over this sum; rest: the share of interactions, the effects of "
    .. "combinations of seeds; *: an estimate is negative and counts as 0"
  return rows[1] and entries.tabulate({ name = "seeds",
    title = ("Seeds: shares of the variance of %s at the chosen learning rate"):format(metric.title),
    caption = captions.join(caption, captions.describe(study, true)),
    heads = { "cell", "seeds", ("sd in %s"):format(metric.unit), "init", "data", "draws", "rest" },
    rows = rows }) or nil
end

return M
