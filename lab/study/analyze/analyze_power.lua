-- The analysis `power`: the number of seeds that a difference of means needs, from the spread of scores of pilot runs
-- or of a paper's numbers.
--
-- Input: a study with the results of its cells (cells.lua), or with options.published the file of a paper's numbers
-- (published.lua); and the options { differences, power (in percent), split, metric }. Output: as in analyze.lua, with
-- power.csv (a line per standard deviation and difference).

local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local escape = require("base.escape")
local inference = require("lab.study.analyze.mathematics.inference")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local power = require("lab.study.analyze.mathematics.power")
local runs = require("lab.study.read.runs")
local score_tables = require("lab.study.report.tables.score_tables")
local seeds = require("lab.study.read.seeds")
local sheets = require("lab.study.analyze.sheets")
local statistics = require("lab.study.read.statistics")
local must = require("lab.stop").must

local M = {}

local INPUT = 1 -- exit code
local MAX_SHOWN_SEEDS = 200 -- seeds of a cell in the picture

-- Returns a row { name, count (of scores), sd, shared (seeds.describe_shared) } for each cell with a score; sd is nil
-- for a single score.
local function list_cells(study, options)
  local rows = lists.map(study.cells, function(cell)
    local scores = lists.map(runs.get_chosen_runs(cell), function(run)
      return runs.get_score(run, options.split, study.scored.metric)
    end)
    return scores[1] and { name = score_tables.format_key(study, cell), count = #scores, sd = statistics.sd(scores),
      shared = seeds.describe_shared(runs.get_chosen_runs(cell)) } or nil
  end)
  local has_spread = lists.any(rows, function(row) return row.sd end)
  must(INPUT, has_spread, ("no cell has two seeds with a score on %s\n  expected: "
    .. "at least two seeds of a cell, trained to the end; or --published, the spread of a paper"):format(
      options.split))
  return rows
end

-- Returns a row { name, sd } for each standard deviation of a paper's file, in its columns whose names end in _sd.
local function list_published(file)
  local columns = lists.filter(file.columns, function(name) return name:find("_sd$") ~= nil end)
  must(INPUT, columns[1], ("--published %s: no column of standard deviations\n  expected: a name that ends in _sd; "
    .. "found: %s"):format(file.name, escape.plain(table.concat(file.columns, ", "))))
  local names = lists.filter(file.columns, function(name) -- of columns without numbers
    return not lists.any(file.rows, function(row) return tonumber(row[name]) end)
  end)
  return lists.collect(file.rows, function(row)
    return lists.map(columns, function(column)
      local parts = lists.map(names, function(name) return row[name] ~= "" and row[name] or nil end)
      local sd = tonumber(row[column])
      return sd and { name = table.concat(lists.join(parts, { #columns > 1 and column or nil }), ", "), sd = sd } or nil
    end)
  end)
end

-- Returns the row of the pooled standard deviation, the root of the mean variance. Variances are weighted by their
-- degrees of freedom if these are known.
local function pool(rows)
  local rows_with_sd = lists.filter(rows, function(row) return row.sd end)
  local function get_weight(row)
    return row.count and row.count - 1 or 1
  end
  local squares = lists.sum(rows_with_sd, function(row) return get_weight(row) * row.sd ^ 2 end)
  return { name = "all, pooled", sd = math.sqrt(squares / lists.sum(rows_with_sd, get_weight)) }
end

local function format_count(row, i)
  if not row.sd then
    return sheets.MISSING
  elseif row.sd == 0 then
    return "no spread"
  end
  return row.counts[i] and ("%d"):format(row.counts[i]) or ("over %d"):format(power.MAX_SEEDS)
end

local function describe(options, unit)
  return ("seeds that each of two cells needs, so that Welch's two-sided t test (level %.0f%%) finds this difference "
    .. "of their means with a probability of %g%%; assumes normal scores with the row's standard deviation (n - 1) in "
    .. "both cells, and no correction for several comparisons; differences and standard deviations in %s"):format(
    100 * inference.SIGNIFICANCE, options.power, unit)
end

local function tabulate(rows, options, unit)
  local notes = lists.map(rows, function(row)
    local few_seeds = row.count and row.count < 5 and (row.count == 1 and "a single seed"
      or ("%d seeds"):format(row.count))
    local cautions = lists.append({ row.shared }, { few_seeds and few_seeds
      .. "; a standard deviation of so few seeds is itself "
      .. "uncertain" or nil })
    return cautions[1] and ("%s: %s"):format(row.name, table.concat(cautions, "; ")) or nil
  end)
  return sheets.tabulate({ name = "power", title = "Seeds that a difference needs", caption = describe(options, unit),
    heads = lists.append({ options.published or "cell", "pilot seeds", "sd" }, lists.map(options.differences,
      function(difference) return ("%g"):format(difference) end)),
    rows = lists.map(rows, function(row)
      return lists.append({ row.name, row.count and ("%d"):format(row.count) or sheets.MISSING,
        sheets.format_number("%.2f", row.sd) }, lists.map(options.differences, function(_, i)
          return format_count(row, i)
        end))
    end), notes = notes })
end

-- Makes the picture of the power by the number of seeds, with the pooled standard deviation.
local function make_picture(row, options)
  local counts, names = {},
    lists.map(options.differences, function(difference) return ("difference %g"):format(difference) end)
  for count = 2, MAX_SHOWN_SEEDS do
    counts[#counts + 1] = (count <= 20 or count % 5 == 0) and count or nil
  end
  local styles = colours.choose_styles_along(names)
  return curves.make_script({ name = "power", panels = { { title = "", xlabel = "seeds of each cell", ylabel = "power",
    x = { 2, MAX_SHOWN_SEEDS }, y = { 0, 100 }, percent = true, curves = lists.map(options.differences,
      function(difference, i)
        return { style = styles[names[i]], line = names[i], points = lists.map(counts, function(count)
          return { count, row.sd > 0 and 100 * power.compute(difference, row.sd, count) or 100.0 }
        end) }
      end) } } })
end

-- input: a study, or a paper's file if options.published is set.
function M.run(input, options)
  local rows = options.published and list_published(input) or list_cells(input, options)
  must(INPUT, rows[1], ("--published %s: no row has a standard deviation"):format(options.published))
  local pooled_row = pool(rows)
  rows = #rows > 1 and lists.join({ pooled_row }, rows) or rows
  for _, row in ipairs(rows) do
    row.counts = lists.map(options.differences, function(difference)
      return row.sd and row.sd > 0 and power.find_count(difference, row.sd, options.power / 100) or false
    end)
  end
  local unit = options.published and "the paper's unit" or metrics.by_name[input.scored.metric].unit
  local lines = lists.collect(rows, function(row)
    return lists.map(options.differences, function(difference, i)
      return { row = row, difference = difference, power = options.power, seeds = row.counts[i] or nil }
    end)
  end)
  return { sheets.to_csv("power.csv", "name=row.name pilot_seeds=row.count sd=row.sd difference power seeds", lines),
    tables = { tabulate(rows, options, unit) }, picture = make_picture(pooled_row, options) }
end

return M
