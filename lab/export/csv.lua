-- Exports runs and their evaluations as two flat CSV files: runs.csv with a line per run, as a report writes it; and
-- evaluations.csv with a line per run, step, set and condition, and a column for each axis of any evaluation.
--
-- Input: { project, runs (a folder), study, scale, out, say }. Output: an exit code, and a message if it is not 0.

local canonical = require("base.canonical")
local csv = require("lab.study.report.tables.csv")
local lists = require("base.lists")
local must = require("lab.stop").must
local open_study = require("lab.study.report.open_study")
local report_csv = require("lab.study.report.tables.report_csv")
local run_files = require("lab.study.read.run_files")
local write = require("base.write")

local M = {}

local INPUT, ENVIRONMENT = 1, 4

-- Columns before and after the columns of axes. A column has the name of its field in the row of an evaluation, except
-- that the column of the field seed is evaluation_seed. The field `of` is the number of all examples of a condition.
local FIRST_COLUMNS = { "id", "digest", "step", "split", "set" }
local VALUE_COLUMNS = { "examples", "of", "order", "draws", "decoding", "counted", "accuracy",
  "accuracy_teacher_forced", "exact_match", "exact_match_low", "exact_match_high", "ended_early", "not_ended", "loss",
  "sd_over_draws", "sd_over_sequences", "beyond", "trained", "novel", "data", "seed" }

-- Calls visit(row) for every evaluation of an undamaged run, except for evaluations with another decoding than the
-- run's.
local function visit_evaluations(run, visit)
  if run.id and not run.damaged then
    run_files.read_evaluations(run.dir, {}, function(row)
      if row.decoding == run.decoding then
        visit(row)
      end
    end)
  end
end

-- Returns the names of the axes of all evaluations: length first, the others sorted.
local function list_axes(study)
  local axes = {}
  for _, run in lists.iterate_nested(study.cells, "runs") do
    visit_evaluations(run, function(row)
      for name in pairs(row.by or { length = true }) do
        axes[name] = true
      end
    end)
  end
  local names = canonical.sort_keys(axes)
  table.sort(names, function(a, b)
    return a == "length" and b ~= "length" or b ~= "length" and a < b
  end)
  return names
end

-- Returns the lines of a run as one text. If a condition was evaluated twice at the same step, the text contains only
-- the later evaluation.
local function format_run(study, axes, cell, run)
  local lines, line_numbers = {}, {}
  visit_evaluations(run, function(row)
    local axis_values = row.by or { length = row.length }
    local key = canonical.format({ row.step, row.split, row.set or "", axis_values, row.novel or false,
      row.seed or "" })
    local number = line_numbers[key] or #lines + 1
    line_numbers[key], lines[number] = number, report_csv.make_line(study, cell, run, table.concat({
      csv.format_line(lists.merge(row, { id = run.id, digest = run.digest }), FIRST_COLUMNS),
      csv.format_line(axis_values, axes), csv.format_line(row, VALUE_COLUMNS), csv.format_field(run.dir) }, ","))
  end)
  return table.concat(lines)
end

-- Writes both files. Damaged runs are left out and reported.
function M.run(options)
  local study = must(INPUT, open_study.open(options, ""))
  local out = must(INPUT, write.choose_folder(options.runs, "csv", options.out))
  local axes = list_axes(study)
  local columns = lists.append(lists.join(FIRST_COLUMNS, lists.map(axes, csv.format_field)), VALUE_COLUMNS)
  columns[#columns], columns[#columns + 1] = "evaluation_seed", "folder"
  local evaluations = report_csv.make_file("evaluations.csv", report_csv.make_head(study, columns), study,
    function(cell, run)
      return format_run(study, axes, cell, run)
    end)
  must(ENVIRONMENT, write.files(out, { report_csv.make_runs_file(study), evaluations }))
  options.say(("%s: runs.csv, evaluations.csv"):format(out))
  local _, damaged = open_study.list_problems(study)
  local message = #damaged > 0 and "damaged and left out:" .. open_study.format(damaged) or nil
  return message and INPUT or 0, message
end

return M
