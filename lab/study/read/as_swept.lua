-- What a report shows of a study whose spec has changed since it was swept: results stay, whatever it says today.
--
-- Input: a study as grid.lua expands it, or M.whole of what a sweep noted (snapshots.lua); the folder of all runs.
-- Output: for a cell without evaluated runs of its own the newest earlier version that has some; cells that the study
-- has no more; what is left out, as texts. Runs of two versions never stand in one cell.

local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local run_files = require("lab.study.read.run_files")
local runs = require("lab.study.read.runs")
local versions = require("lab.study.read.versions")
local wording = require("base.wording")

local M = {}

local function count_evaluated(list)
  local count = 0
  for _, run in ipairs(list) do
    count = count + (run.state == "evaluated" and 1 or 0)
  end
  return count
end

local function read_version(root, version)
  return lists.map(version.dirs, function(dir) return runs.read(root .. "/" .. dir, run_files.place(dir)) end)
end

-- How many of a cell's own runs there are, by state: "2 failed"; nil of none.
local function own_text(list)
  local counts, parts = {}, {}
  for _, run in ipairs(list) do
    counts[run.state] = (counts[run.state] or 0) + 1
  end
  for _, state in ipairs(runs.UNSCORED) do
    parts[#parts + 1] = counts[state] and state ~= "missing" and state ~= "waiting" and ("%d %s"):format(counts[state],
      state) or nil
  end
  return parts[1] and table.concat(parts, ", ")
end

-- The runs to show of a cell; whether they are of an earlier version; and in words what differs from now, where there
-- is a now. list: its own. left: texts about versions that are not shown, which grow here.
function M.choose(root, study, cell, list, left)
  local shown, anew = list, nil
  local is_settled = count_evaluated(list) > 0
  for _, version in ipairs(versions.find(root, study, cell)) do
    local words = table.concat(versions.words(study, cell, version), "; ")
    local earlier = not is_settled and read_version(root, version)
    if earlier and count_evaluated(earlier) > 0 then
      local own = own_text(list)
      shown, is_settled = earlier, true
      anew = words .. (own and ("; of the cell as it is now: %s"):format(own) or "")
    else
      left[#left + 1] = ("%s of an earlier version of %s (%s): %s"):format(wording.count(#version.dirs, "run"),
        cell.id, version.dirs[1]:match("^(.*)/"), words)
    end
  end
  return shown, shown ~= list, not study.is_noted and anew or nil
end

-- Whether the key of a noted cell has a value on each of these axes, and on no other.
local function fits(entry, axes)
  local count = 0
  for name in pairs(entry.key) do
    count = count + 1
    if not lists.has(axes, name) then
      return false
    end
  end
  return count == #axes
end

-- Adds a value to those of an axis, in a copy of the list.
local function with_value(axis, value)
  if lists.has(axis.values, value) then
    return axis
  end
  local values = table.move(axis.values, 1, #axis.values, 1, {})
  values[#values + 1] = value
  return { name = axis.name, values = values }
end

-- The cells that a sweep noted, and that the study has no more: { id, key, runs }, each once; how many others of these
-- have other axes.
function M.lost_cells(study)
  local known, list, strange, names = {}, {}, 0, lists.names(study.axes)
  for _, id in ipairs(study.ids or {}) do
    known[id] = true
  end
  for _, entry in ipairs(study.snapshot and study.snapshot.cells or {}) do
    if not known[entry.id] then
      known[entry.id] = true
      local is_here = fits(entry, names)
      list[#list + 1] = is_here and { id = entry.id, key = entry.key, runs = {} } or nil
      strange = strange + (is_here and 0 or 1)
    end
  end
  return list, strange
end

-- The axes of a study with the values of these cells.
function M.axes_with(study, cells)
  local axes = table.move(study.axes, 1, #study.axes, 1, {})
  for _, cell in ipairs(cells) do
    for i, axis in ipairs(axes) do
      axes[i] = with_value(axis, cell.key[axis.name])
    end
  end
  return axes
end

local SPLITS = { "train", "test", "validation" }

-- What is scored, as far as it is known here.
local function scored_of(noted)
  local scored = noted and { metric = lists.has(metrics.NAMES, noted.metric) and noted.metric or nil }
  for _, name in ipairs(noted and { "split", "select" } or {}) do
    scored[name] = lists.has(SPLITS, noted[name]) and noted[name] or nil
  end
  return scored and scored.split and scored
end

-- A study of nothing but what a sweep noted.
function M.whole(snapshot, name)
  local axes = {}
  for i, axis in ipairs(snapshot.axes) do
    axes[i] = { name = axis.name, values = table.move(axis.values, 1, #axis.values, 1, {}) }
  end
  return { name = name, title = snapshot.title, path = snapshot.path, scale = snapshot.scale, axes = axes, cells = {},
    ids = {}, set = {}, warnings = {}, is_noted = true, scored = scored_of(snapshot.scored), snapshot = snapshot }
end

return M
