-- Accuracies by place of a label in its target (eval.places), read from eval.jsonl only when a report shows them.
--
-- Input: a run (runs.lua) with its evaluations read. Output: { [n] = places } by length, or by the number on the first
-- axis of the run's evaluations. places has the fields of run_shapes.places. Conditions on further axes are left out;
-- if a condition was evaluated at several levels of noise or of passes, only the run's own level counts.

local evaluation_lines = require("lab.study.read.evaluation_lines")
local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local runs = require("lab.study.read.runs")

local M = {}

-- The kinds of answers: the model's own answers, and teacher-forced ones. Each value is the name of a field of places
-- that has counts of right labels.
M.OWN_ANSWERS, M.TEACHER_FORCED = "correct", "correct_teacher_forced"
-- The sides of a target: places are counted both from its start and from its end.
M.SIDES = { "start", "end" }

-- Returns the number of a row on the run's first axis; nil if the row has other axes, or a level of noise or of passes
-- that is not the run's own.
local function get_number(run, row, own_levels)
  local axis_values = row.by or { length = row.length }
  for name, value in pairs(axis_values) do
    if name ~= run.axis and value ~= own_levels[name] then
      return nil
    end
  end
  return axis_values[run.axis]
end

-- Returns the places for each number in `numbers` on the run's first axis, from the lines of the evaluations that
-- runs.get_curve(run, set) returns. If a line is damaged, the result is empty, run.damaged is set, and run.notes gets a
-- message.
function M.read(run, set, numbers)
  local steps, places_by_number, damage = {}, {}, nil
  for _, evaluation in ipairs(runs.get_curve(run, set)) do
    steps[evaluation.split] = evaluation.step
  end
  local own_levels = runs.get_own_levels(run)
  runs.read_rows(run, {}, function(row)
    local n = steps[row.split] == row.step and row.decoding == run.decoding and get_number(run, row, own_levels)
    if n and lists.has(numbers, n) and not damage then
      local problem
      places_by_number[n] = nil
      if row.places then
        places_by_number[n], problem = evaluation_lines.decode(row, "places")
      end
      damage = problem and run_files.format_problem(("eval.jsonl: %s %g"):format(run.axis, n), problem)
    end
  end)
  if damage then
    runs.note_damage(run, damage)
    return {}
  end
  return places_by_number
end

-- Returns the kinds of answers that places have, in the order of display.
function M.list_kinds(places)
  return lists.filter({ M.OWN_ANSWERS, M.TEACHER_FORCED }, function(kind) return places.start[kind] ~= nil end)
end

-- Returns the sums of several runs' places; nil for an empty list. Each side also has counted_by_kind:
-- counted_by_kind[kind] is like the side's `counted`, but summed only over the runs that have this kind of answers.
function M.add(places_of_runs)
  local function sum_counts(get_counts, summands)
    local sums = {}
    for _, places in ipairs(summands or places_of_runs) do
      for i, count in ipairs(get_counts(places)) do
        sums[i] = (sums[i] or 0) + count
      end
    end
    return sums
  end
  local function add_side(side)
    local function get_counted(places)
      return places[side].counted
    end
    local sums = { counted = sum_counts(get_counted), counted_by_kind = {} }
    for _, kind in ipairs({ M.OWN_ANSWERS, M.TEACHER_FORCED }) do
      local places_with_kind = lists.filter(places_of_runs, function(places) return places[side][kind] ~= nil end)
      if places_with_kind[1] then
        sums[kind] = sum_counts(function(places) return places[side][kind] end, places_with_kind)
        sums.counted_by_kind[kind] = sum_counts(get_counted, places_with_kind)
      end
    end
    return sums
  end
  return places_of_runs[1] and { sequences = lists.sum(places_of_runs, function(places) return places.sequences end),
    start = add_side("start"), ["end"] = add_side("end"),
    first_error = sum_counts(function(places) return places.first_error end) } or nil
end

-- Returns the quantile of the places of first errors, interpolated linearly; nil if there is no error.
function M.find_error_quantile(places, share)
  local total = lists.sum(places.first_error, function(count) return count end)
  local function find_place(index) -- the place of the error with this index in ascending order, from 1
    for place, count in ipairs(places.first_error) do
      index = index - count
      if index <= 0 then
        return place
      end
    end
  end
  if total == 0 then
    return nil
  end
  local position = 1 + share * (total - 1)
  local low, high = find_place(math.floor(position)), find_place(math.ceil(position))
  return low + (position - math.floor(position)) * (high - low)
end

return M
