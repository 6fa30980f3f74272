-- Accuracy by place of a label in its target, and places of first errors: a figure, tables and a CSV file of a report.
-- All numbers are of runs at chosen learning rates.
--
-- Input: a study whose cells have been read; an item { lines, at }; the name of the item's files. item.at: lengths, or
-- numbers on the first axis.
-- Output: a figure for curves.lua, or nil if no run has counts by place; and tables (score_tables.lua). The last table
-- has the CSV file as its field `file`.

local captions = require("lab.study.report.tables.captions")
local csv = require("lab.study.report.tables.csv")
local entries = require("lab.study.report.tables.table_entries")
local figures = require("lab.study.report.figures.figures")
local lists = require("base.lists")
local places_module = require("lab.study.read.places")
local report_csv = require("lab.study.report.tables.report_csv")
local runs = require("lab.study.read.runs")
local score_tables = require("lab.study.report.tables.score_tables")
local seed_curves = require("lab.study.report.figures.seed_curves")

local M = {}

local SHOWN_PLACES = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000 } -- rows of a table, from each side
local ANSWERS = { [places_module.OWN_ANSWERS] = "own answers", [places_module.TEACHER_FORCED] = "teacher-forced" }
local SIDES = { start = "from the start", ["end"] = "from the end" }
local COLUMNS = { "step", "axis", "number", "from", "place", "counted", places_module.OWN_ANSWERS,
  places_module.TEACHER_FORCED, "first_errors" }
local ERROR_TITLES = { "with an error", "median place", "quartiles", "sequences" }

-- Returns an entry for each line of the figure:
--   line     from score_tables.list_along
--   by_run   an entry { run, [number] = counts by place (places.lua) } for each run at the chosen learning rate
local function read_lines(study, item)
  return lists.map(score_tables.list_along(study, item, item.lines), function(line)
    return { line = line, by_run = lists.map(runs.get_chosen_runs(line.cell), function(run)
      return lists.merge(places_module.read(run, study.scored.split, item.at), { run = run })
    end) }
  end)
end

-- Returns the counts by place (places.lua) for a number of item.at: one table for each run that has them.
local function list_places(entry, number)
  return lists.map(entry.by_run, function(by_number) return by_number[number] end)
end

local function list_points(places, side, kind)
  return lists.map(places[side][kind] or {}, function(correct, place)
    local counted_labels = places[side].counted[place]
    return counted_labels > 0 and { place, 100 * correct / counted_labels } or nil
  end)
end

-- Makes the panel of a number in item.at, a side of the target and a kind of answers; nil if it has no points.
-- kind: nil if there is only one kind.
local function make_panel(line_entries, axis, number, side, kind, styles)
  local words = { ("%s %g"):format(axis, number), SIDES[side], kind and ANSWERS[kind] }
  local panel = { title = table.concat(words, ", "), xlabel = "place " .. SIDES[side], ylabel = "token accuracy",
    x = { 1, 2 }, y = { 0, 100 }, percent = true, curves = {}, levels = {}, marks = {} }
  for _, entry in ipairs(line_entries) do
    local points_by_run = lists.map(list_places(entry, number), function(places)
      local points = list_points(places, side, kind or places_module.OWN_ANSWERS)
      return #points > 0 and points or nil
    end)
    for _, points in ipairs(points_by_run) do
      panel.x[2] = math.max(panel.x[2], points[#points][1])
      panel.levels = figures.make_levels(entry.line.cell.task, "accuracy")
    end
    seed_curves.add_curves(panel, points_by_run, styles[entry.line.name], entry.line.label,
      { mean = seed_curves.average(points_by_run), band = seed_curves.find_quartiles(points_by_run),
        cell = entry.line.cell and entry.line.cell.number })
  end
  return #panel.curves > 0 and panel or nil
end

local function make_figure(study, item, line_entries, axis, kinds)
  local names, styles = score_tables.list_values(study, item.lines), figures.choose_styles(study, item.lines)
  local panels = lists.collect(item.at, function(number)
    return lists.collect(places_module.SIDES, function(side)
      return lists.map(kinds, function(kind)
        return make_panel(line_entries, axis, number, side, #kinds > 1 and kind or nil, styles) or false
      end)
    end)
  end)
  panels = lists.filter(panels, function(panel) return panel end)
  return #panels > 0 and { panels = panels, legend = figures.make_legend(study, item.lines, names, styles),
    title = score_tables.make_title(item, "token accuracy by place in the target"),
    caption = captions.join(figures.BOLD .. figures.SEEDS, #kinds > 1
      and "Own answers: the model reads its own earlier answers; teacher-forced: the model reads the target",
      captions.name_rates(study)) } or nil
end

-- Returns { side, place } for each row of a table: SHOWN_PLACES from the start, then in reverse order from the end.
local function list_shown(sums)
  local max_place = lists.max(sums, function(places) return #places.start.counted end)
  local shown_places = lists.filter(SHOWN_PLACES, function(place) return place <= max_place end)
  local row_places = lists.map(shown_places, function(place) return { "start", place } end)
  for i = #shown_places, 1, -1 do
    row_places[#row_places + 1] = { "end", shown_places[i] }
  end
  return row_places
end

-- Returns the text of an accuracy, and the number of labels at this place.
local function format_share(places, side, kind, place)
  local sums = places and places[side] or { counted = {}, counted_by_kind = {} }
  local counted_labels = sums.counted_by_kind[kind] and sums.counted_by_kind[kind][place] or 0
  return counted_labels > 0 and ("%.1f"):format(100 * sums[kind][place] / counted_labels) or entries.MISSING,
    sums.counted[place] or 0
end

local function tabulate_places(study, item, line_entries, axis, kinds, number)
  local sums = lists.map(line_entries, function(entry)
    return places_module.add(list_places(entry, number)) or false
  end)
  local rows = lists.map(list_shown(lists.filter(sums, function(places) return places end)), function(row_place)
    local side, place = row_place[1], row_place[2]
    return { title = ("%d %s"):format(place, SIDES[side]), cells = lists.map(line_entries, function(entry, i)
      local counted_labels
      local texts = lists.map(kinds, function(kind)
        local text
        text, counted_labels = format_share(sums[i], side, kind, place)
        return text
      end)
      texts[#texts + 1] = ("%d"):format(counted_labels)
      return { texts = texts, number = entry.line.cell and entry.line.cell.number, is_missing = counted_labels == 0 }
    end) }
  end)
  local heading = ("Token accuracy in percent by place in the target, %s %g"):format(axis, number)
  local caption = captions.join(item.title and heading,
    "labels: the number of labels of all seeds at the chosen learning rate", captions.name_rates(study))
  local sub_titles = lists.map(kinds, function(kind)
    return #kinds > 1 and (kind == places_module.OWN_ANSWERS and "own" or "forced") or "right"
  end)
  return { name = ("%s%g"):format(axis, number), title = score_tables.make_title(item, heading), caption = caption,
    corner = "place", subs = lists.append(sub_titles, { "labels" }),
    columns = lists.map(line_entries, function(entry) return { title = entry.line.label } end),
    rows = rows, notes = {} }
end

local function make_error_entry(entry, number)
  local places = places_module.add(list_places(entry, number))
  local cell_number = entry.line.cell and entry.line.cell.number
  if not places then
    return { texts = { entries.MISSING, "", "", "" }, number = cell_number, is_missing = true }
  end
  local errors = lists.sum(places.first_error, function(count) return count end)
  local median = places_module.find_error_quantile(places, 0.5)
  return { number = cell_number, texts = {
    places.sequences > 0 and ("%.1f%%"):format(100 * errors / places.sequences) or "",
    median and ("%g"):format(median) or "", median and ("%g to %g"):format(
    places_module.find_error_quantile(places, 0.25), places_module.find_error_quantile(places, 0.75)) or "",
    ("%d"):format(places.sequences) } }
end

local function tabulate_errors(study, item, line_entries, axis)
  local heading = "Place of the first error in the target, from the start"
  local caption = captions.join(item.title and heading, "shares are of all sequences of the seeds at the chosen "
    .. "learning rate; median and quartiles are of the sequences with an error", "runs without counts by place need "
    .. "eval.places = true, or trainer eval --places", captions.name_rates(study))
  return { name = "first_error", title = score_tables.make_title(item, heading), caption = caption,
    corner = item.lines, subs = ERROR_TITLES,
    columns = lists.map(item.at, function(number) return { title = ("%s %g"):format(axis, number) } end),
    rows = lists.map(line_entries, function(entry)
      return { title = entry.line.label,
        cells = lists.map(item.at, function(number) return make_error_entry(entry, number) end) }
    end), notes = {} }
end

-- Returns the lines of the CSV file for one run at one number.
local function format_places(study, cell, run, number, places)
  return table.concat(lists.collect(places_module.SIDES, function(side)
    return lists.map(places[side].counted, function(label_count, place)
      local row = { step = run.test and run.test.step, axis = run.axis, number = number, from = side, place = place,
        counted = label_count, first_errors = side == "start" and places.first_error[place] or nil }
      for _, kind in ipairs(places_module.list_kinds(places)) do
        row[kind] = places[side][kind][place]
      end
      return report_csv.make_line(study, cell, run, csv.format_line(row, COLUMNS))
    end)
  end))
end

local function make_csv(study, item, line_entries, name)
  local lines = lists.collect(line_entries, function(entry)
    return lists.collect(entry.by_run, function(by_number)
      return lists.map(item.at, function(number)
        return by_number[number] and format_places(study, entry.line.cell, by_number.run, number, by_number[number])
      end)
    end)
  end)
  return { path = name .. ".csv", text = report_csv.make_head(study, COLUMNS) .. table.concat(lines) }
end

-- Makes the figure, the tables and the file of an item of the kind "places".
function M.make(study, item, name)
  local line_entries = read_lines(study, item)
  local all_places = lists.collect(line_entries, function(entry)
    return lists.collect(item.at, function(number) return list_places(entry, number) end)
  end)
  local first = lists.collect(line_entries, function(entry) return entry.by_run end)[1]
  local axis = first and runs.format_axis(first.run) or "length"
  local kinds = lists.filter({ places_module.OWN_ANSWERS, places_module.TEACHER_FORCED }, function(kind)
    return lists.find(all_places, function(places) return places.start[kind] ~= nil end)
  end)
  local tables = lists.map(#kinds > 0 and item.at or {}, function(number)
    return tabulate_places(study, item, line_entries, axis, kinds, number)
  end)
  tables[#tables + 1] = lists.update(tabulate_errors(study, item, line_entries, axis), {
    file = #all_places > 0 and make_csv(study, item, line_entries, name) or nil })
  return make_figure(study, item, line_entries, axis, kinds), tables
end

return M
