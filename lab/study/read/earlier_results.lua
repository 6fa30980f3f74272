-- Results of a study from before a change of its specs, for reports.
--
-- Input: a study from grid.lua, or from M.restore of a sweep's snapshot (snapshots.lua); the folder of all runs.
-- Output: for a cell without evaluated runs of its current spec, the newest earlier version with evaluated runs; cells
-- that the study no longer has; texts on omitted versions. A cell never contains runs of two versions.

local canonical = require("base.canonical")
local evaluations = require("lab.study.read.evaluations")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local run_files = require("lab.study.read.run_files")
local runs = require("lab.study.read.runs")
local versions = require("lab.study.read.versions")
local wording = require("base.wording")

local M = {}

local function is_any_evaluated(list)
  return lists.find(list, function(run) return run.state == "evaluated" end) ~= nil
end

-- Returns the number of a cell's existing runs by state, such as "2 failed"; "" without runs.
local function describe_own_runs(list)
  local counts = {}
  for _, of in ipairs(lists.group(list, function(run) return run.state end)) do
    counts[of.key] = of.key ~= "missing" and of.key ~= "waiting" and #of or nil
  end
  return runs.format_states(counts)
end

-- Returns the runs of a cell to show; whether they are of an earlier version; and the differences of that version from
-- the current spec, in words. list: the cell's current runs. left: texts on versions that are not shown, which grows.
function M.choose(root, study, cell, list, left)
  local shown, anew = list, nil
  local is_settled = is_any_evaluated(list)
  for _, version in ipairs(versions.find(root, study, cell)) do
    local words = table.concat(versions.describe(study, cell, version), "; ")
    local earlier = not is_settled and lists.map(version.dirs, function(dir)
      return runs.read(root .. "/" .. dir, run_files.split_path(dir))
    end)
    if earlier and is_any_evaluated(earlier) then
      local own = describe_own_runs(list)
      shown, is_settled = earlier, true
      anew = words .. (own ~= "" and "; of its current spec: " .. own or "")
    else
      left[#left + 1] = ("%s of an earlier version of %s (%s): %s"):format(wording.count(#version.dirs, "run"),
        cell.id, version.dirs[1]:match("^(.*)/"), words)
    end
  end
  return shown, shown ~= list, not study.is_noted and anew or nil
end

-- Whether the key of a recorded cell has a value on each of these axes, and on no other axis.
local function has_axes(entry, axes)
  local names = canonical.sort_keys(entry.key)
  return #names == #axes and not lists.find(names, function(name) return not lists.has(axes, name) end)
end

-- Returns the cells in the snapshot that the study no longer has: { id, key, runs }, each once; and the number of such
-- cells with other axes.
function M.find_lost_cells(study)
  local known, names = lists.to_set(study.ids or {}), lists.get_names(study.axes)
  local lost = lists.filter(study.snapshot and study.snapshot.cells or {}, function(entry)
    local is_new = not known[entry.id]
    known[entry.id] = true
    return is_new
  end)
  local list = lists.map(lost, function(entry)
    return has_axes(entry, names) and { id = entry.id, key = entry.key, runs = {} } or nil
  end)
  return list, #lost - #list
end

function M.extend_axes(study, cells)
  return lists.map(study.axes, function(axis)
    local more = lists.map(cells, function(cell) return cell.key[axis.name] end)
    return { name = axis.name, values = lists.drop_repeats(lists.join(axis.values, more)) }
  end)
end

local function read_scored(noted)
  local function known(names, name)
    return lists.has(names, noted[name]) and noted[name] or nil
  end
  return noted and known(evaluations.SPLITS, "split") and { split = noted.split, select = known(evaluations.SPLITS,
    "select"), metric = known(metrics.NAMES, "metric") }
end

function M.restore(snapshot, name)
  return { name = name, title = snapshot.title, path = snapshot.path, scale = snapshot.scale,
    axes = lists.copy(snapshot.axes), cells = {}, ids = {}, set = {}, warnings = {}, is_noted = true,
    scored = read_scored(snapshot.scored), snapshot = snapshot }
end

return M
