-- Results of earlier versions of a study, for reports. If the current spec of a cell has no evaluated runs, the report
-- shows the runs of an earlier version of the cell: the newest version that has evaluated runs.
--
-- Input: a study from grid.lua or M.restore; its snapshot, which a sweep has written (snapshots.lua); the folder of all
-- runs. Output: the runs of a cell to show, all of the same version; former cells, which the study no longer has; texts
-- on omitted versions.

local canonical = require("base.canonical")
local evaluations = require("lab.study.read.evaluations")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local run_files = require("lab.study.read.run_files")
local runs = require("lab.study.read.runs")
local versions = require("lab.study.read.versions")
local wording = require("base.wording")

local M = {}

local function is_any_evaluated(cell_runs)
  return lists.find(cell_runs, function(run) return run.state == "evaluated" end) ~= nil
end

-- Returns a text on the runs of a cell that exist without scores, such as "2 failed"; "" without such runs.
local function describe_unscored_runs(cell_runs)
  local counts = {}
  for _, group in ipairs(lists.group(cell_runs, function(run) return run.state end)) do
    counts[group.key] = group.key ~= "missing" and group.key ~= "waiting" and #group or nil
  end
  return runs.format_states(counts)
end

-- Chooses the runs of a cell to show. cell_runs: the runs of the current spec. Appends texts on omitted versions to
-- left_out. Returns
--   the runs
--   whether they are of an earlier version
--   a text on the differences of an earlier version from the current spec, or nil; nil for a restored study
function M.choose(root, study, cell, cell_runs, left_out)
  local shown_runs, changes = cell_runs, nil
  local has_results = is_any_evaluated(cell_runs)
  for _, version in ipairs(versions.find(root, study, cell)) do
    local words = table.concat(versions.describe(study, cell, version), "; ")
    local earlier_runs = not has_results and lists.map(version.dirs, function(dir)
      return runs.read(root .. "/" .. dir, run_files.split_path(dir))
    end)
    if earlier_runs and is_any_evaluated(earlier_runs) then
      local unscored_text = describe_unscored_runs(cell_runs)
      shown_runs, has_results = earlier_runs, true
      changes = words .. (unscored_text ~= "" and "; runs of the current spec: " .. unscored_text or "")
    else
      left_out[#left_out + 1] = ("%s of an earlier version of %s (%s): %s"):format(wording.count(#version.dirs, "run"),
        cell.id, version.dirs[1]:match("^(.*)/"), words)
    end
  end
  return shown_runs, shown_runs ~= cell_runs, not study.is_restored and changes or nil
end

-- Whether a recorded cell has exactly these axes. axes: a list of names.
local function has_axes(entry, axes)
  local names = canonical.sort_keys(entry.key)
  return #names == #axes and not lists.find(names, function(name) return not lists.has(axes, name) end)
end

-- Returns the former cells with the study's axes, as { id, key, runs = {} }, and the number of former cells with other
-- axes.
function M.find_former_cells(study)
  local is_listed, names = lists.to_set(study.ids or {}), lists.get_names(study.axes)
  local former_entries = lists.filter(study.snapshot and study.snapshot.cells or {}, function(entry)
    local is_former = not is_listed[entry.id]
    is_listed[entry.id] = true
    return is_former
  end)
  local list = lists.map(former_entries, function(entry)
    return has_axes(entry, names) and { id = entry.id, key = entry.key, runs = {} } or nil
  end)
  return list, #former_entries - #list
end

-- Returns the axes of a study, extended by the values of these cells.
function M.extend_axes(study, cells)
  return lists.map(study.axes, function(axis)
    local values = lists.map(cells, function(cell) return cell.key[axis.name] end)
    return { name = axis.name, values = lists.drop_repeats(lists.join(axis.values, values)) }
  end)
end

-- Returns a snapshot's `scored` without words that this version of Longhand does not know; nil if the split is unknown.
local function read_scored(recorded)
  local function read_word(words, name)
    return lists.has(words, recorded[name]) and recorded[name] or nil
  end
  return recorded and read_word(evaluations.SPLITS, "split") and { split = recorded.split,
    select = read_word(evaluations.SPLITS, "select"), metric = read_word(metrics.NAMES, "metric"),
    generalises = metrics.is_criterion(recorded.generalises) and recorded.generalises or nil }
end

-- Returns the study that a snapshot records, without cells. It replaces a study whose file cannot be read.
function M.restore(snapshot, name)
  return { name = name, title = snapshot.title, path = snapshot.path, scale = snapshot.scale,
    axes = lists.copy(snapshot.axes), cells = {}, ids = {}, set = {}, warnings = {}, is_restored = true,
    scored = read_scored(snapshot.scored), labels = snapshot.labels, snapshot = snapshot }
end

return M
