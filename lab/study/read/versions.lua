-- Runs of a cell that do not match the cell's current spec: they have another plan, or were trained on other data.
--
-- Input: the folder of all runs; a study { name, scale, snapshot (snapshots.lua, or nil) }; a cell from grid.lua, or
-- { id } of a former cell. A run of another plan belongs to the cell if the snapshot lists the plan, or if run.json
-- names the study and the cell. M.describe returns a list of texts, the differences from the current spec. M.find
-- returns versions, the newest first. A version:
--   digest    the plan digest
--   data      the SHA-256 of the training file, or nil
--   dirs      the folders of its runs, below the folder of all runs
--   facts     the run.json of one of its runs
--   started   the start of its latest run

local canonical = require("base.canonical")
local features = require("spec.rules.features")
local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local snapshots = require("lab.study.read.snapshots")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

-- Limits of texts: a text has at most MAX_FIELDS differences, MAX_VALUE bytes of a value and DIGITS digits of a digest.
local MAX_FIELDS, MAX_VALUE, DIGITS = 4, 40, 8

-- Fields that the plan digest does not cover, with all fields below them; list_exceptions returns the exceptions. Some
-- of these fields name files; compare_files and compare_data compare the bytes of these files.
local NOT_IN_PLAN = { id = true, source = true, eval = true, init = true, ["train.learning_rate"] = true,
  ["train.steps"] = true, ["train.epochs"] = true, ["train.log_every"] = true, ["train.checkpoint"] = true,
  ["train.cadence"] = true, ["train.keep_probabilities"] = true, ["task.source"] = true, ["task.data"] = true,
  ["task.eval"] = true, ["task.validation"] = true, ["task.longest"] = true, ["task.axes"] = true,
  ["task.name"] = true, ["model.source"] = true }

-- Returns the values, by path, that are part of a plan although NOT_IN_PLAN names their fields: values of evaluation,
-- and the steps or epochs over which the learning rate falls.
local function list_exceptions(resolved)
  local fall_end = features.get_fall(resolved) or {}
  return { ["eval.dropout"] = resolved.eval.dropout, ["eval.noise"] = features.get_noise_unit(resolved),
    ["train.steps"] = fall_end.steps, ["train.epochs"] = fall_end.epochs }
end

local function format_value(value)
  local text = value == nil and "absent" or canonical.format(value)
  return #text > MAX_VALUE and text:sub(1, MAX_VALUE) .. "..." or text
end

local function add_field(texts, path, old_value, new_value, reason)
  texts[#texts + 1] = ("%s was %s and is %s now%s"):format(path, format_value(old_value), format_value(new_value),
    reason or "")
end

-- Appends a text for each field below path that differs and is part of the plan.
local function compare(texts, path, old_value, new_value)
  local are_tables = type(old_value) == "table" and type(new_value) == "table"
  if not are_tables or #old_value > 0 or #new_value > 0 then
    if canonical.format(old_value) ~= canonical.format(new_value) then
      add_field(texts, path, old_value, new_value)
    end
    return
  end
  for _, name in ipairs(canonical.merge_keys(old_value, new_value)) do
    local field = path == "" and name or path .. "." .. name
    if not NOT_IN_PLAN[field] then
      compare(texts, field, old_value[name], new_value[name])
    end
  end
end

local function compare_specs(texts, old_spec, new_spec)
  compare(texts, "", old_spec, new_spec)
  local old_exceptions, new_exceptions = list_exceptions(old_spec), list_exceptions(new_spec)
  for _, path in ipairs({ "eval.dropout", "eval.noise", "train.epochs", "train.steps" }) do
    if old_exceptions[path] ~= new_exceptions[path] then
      add_field(texts, path, old_exceptions[path], new_exceptions[path], path:find("^train")
        and " (the learning rate falls until the last step)" or nil)
    end
  end
end

-- Returns the first digits of a digest, for messages; "nothing" for nil.
function M.shorten(digest)
  return digest and digest:sub(1, DIGITS) .. "..." or "nothing"
end

-- Returns the cell with this id and plan digest in the study's snapshot; nil if there is none.
local function find_entry(study, id, digest)
  return lists.find(study.snapshot and study.snapshot.cells or {}, function(entry)
    return entry.id == id and entry.digest == digest
  end)
end

-- Appends a text for each file of the plan whose bytes differ. If the list is still empty, appends a text on a file
-- whose earlier bytes are unknown, or on another version of Longhand.
local function compare_files(texts, study, cell, version)
  local entry, unknown_text = find_entry(study, cell.id, version.digest), nil
  local files = snapshots.list_files(cell.spec)
  for _, field in ipairs(canonical.sort_keys(files)) do
    local old_file = entry and entry.files[field]
    if not old_file and field == "init" then
      old_file = { digest = version.facts.init_checksum }
    end
    local name = files[field].name:match("[^/]*$")
    if old_file and old_file.digest ~= files[field].digest then
      texts[#texts + 1] = ("%s: %s had other bytes (%s, now %s)"):format(field, name, entry
        and snapshots.get_copy(field, old_file.digest) or "digest " .. M.shorten(old_file.digest),
        M.shorten(files[field].digest))
    end
    unknown_text = unknown_text or not old_file
      and ("%s: %s had other bytes, or Longhand was another version"):format(field, name)
  end
  if #texts == 0 then
    texts[1] = unknown_text or "no field differs: another version of Longhand made its plan"
  end
end

local function compare_data(texts, cell, version)
  local data = cell.data
  if not data or not data.digest then
    return
  elseif version.data ~= data.digest then
    texts[#texts + 1] = ("task.data: %s had the SHA-256 %s, and has %s now"):format(data.shown, M.shorten(version.data),
      M.shorten(data.digest))
  end
end

-- Returns texts on how a version differs from the cell's spec and data: at most MAX_FIELDS texts, and one with the
-- number of further differences.
function M.describe(study, cell, version)
  local texts = {}
  if not cell.spec then -- lost_text: a text on a missing initial checkpoint, or nil
    return { cell.lost_text or cell.source and ("the cell waits for %s now"):format(cell.source.id)
      or "the study has no such cell now" }
  elseif version.digest ~= cell.spec.plan.digest then
    compare_specs(texts, version.facts.spec, cell.spec.resolved)
    compare_files(texts, study, cell, version)
  end
  compare_data(texts, cell, version)
  local remaining_count = #texts - MAX_FIELDS
  if remaining_count > 0 then
    texts = table.move(texts, 1, MAX_FIELDS, 1, {})
    texts[#texts + 1] = "and " .. wording.count(remaining_count, "field") .. " more"
  end
  return texts
end

-- Whether a run's spec was the cell `id` of the study: run.json then has the source PATH/<study>.lua:[<scale>:]<id>.
local function names_study(facts, study, id)
  local source, suffix = facts.spec.source or "", (":%s%s"):format(study.scale and study.scale .. ":" or "", id)
  local path = source:sub(-#suffix) == suffix and source:sub(1, -#suffix - 1) or ""
  return path:match("([^/]*)%.lua$") == study.name
end

-- Whether a run has the cell's current plan and data. The run's seed and rate may differ from the requested ones.
local function is_current(cell, digest, data)
  return cell.spec ~= nil and digest == cell.spec.plan.digest
    and (not cell.data or not cell.data.digest or data == cell.data.digest)
end

local function list_names(path, pattern)
  return lists.filter(write.list_names(path), function(name) return name:find(pattern) end)
end

-- Returns the runs below the folder of the cell's id that belong to the cell, but not to its current plan and data, as
-- { dir, facts, digest, data }. Runs of trainer train --overfit, whose names have "-overfit", are left out.
local function find_other_runs(root, study, cell)
  local other_runs, cell_dirs = {}, lists.to_set(lists.map(cell.runs or {}, function(run) return run.dir end))
  for _, digest in ipairs(list_names(root .. "/" .. cell.id, "^" .. ("%x"):rep(16) .. "$")) do
    local is_noted = cell.spec and digest == cell.spec.plan.digest or find_entry(study, cell.id, digest) ~= nil
    local plan = cell.id .. "/" .. digest
    for _, name in ipairs(list_names(root .. "/" .. plan, "^lr[^/]*%-seed%d+")) do
      local dir = plan .. "/" .. name
      local facts = not cell_dirs[dir] and not name:find("-overfit", 1, true)
        and run_files.read_facts(root .. "/" .. dir, run_files.split_path(dir))
      local data = facts and facts.data and facts.data.train_sha256 or nil
      if facts and (is_noted or names_study(facts, study, cell.id)) and not is_current(cell, digest, data) then
        other_runs[#other_runs + 1] = { dir = dir, facts = facts, digest = digest, data = data }
      end
    end
  end
  return other_runs
end

-- Returns the versions of a cell other than its current one, as the head of this file describes.
function M.find(root, study, cell)
  local groups = lists.group(find_other_runs(root, study, cell), function(run)
    return ("%s %s"):format(run.digest, run.data)
  end)
  local versions = lists.map(groups, function(group)
    local version, start_times = group[1], lists.map(group, function(run) return run.facts.started or "" end)
    table.sort(start_times)
    return { digest = version.digest, data = version.data, facts = version.facts, started = start_times[#start_times],
      dirs = lists.map(group, function(run) return run.dir end) }
  end)
  table.sort(versions, function(a, b)
    return a.started > b.started or a.started == b.started and a.digest < b.digest
  end)
  return versions
end

return M
