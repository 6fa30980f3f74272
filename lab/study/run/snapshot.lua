-- Records a sweep's cells, so that results can be shown even after the spec changes (study/read/snapshots.lua).
--
-- Input: the folder of all runs, a study with its cells planned. Output: the study's file and copies of the users' own
-- sources in RUNS/.studies, each written atomically; nil and a message after an error. Earlier records are kept: former
-- cells, and former plans of cells.

local canonical = require("base.canonical")
local inside = require("lab.study.run.inside")
local lfs = require("lfs")
local lists = require("base.lists")
local snapshots = require("lab.study.read.snapshots")
local write = require("base.write")

local M = {}

local function entry_of(cell, sources)
  local files = {}
  for field, file in pairs(snapshots.files_of(cell.spec)) do
    files[field] = { name = file.name, digest = file.digest }
    if file.text then
      sources[snapshots.source(field, file.digest)] = file.text
    end
  end
  return { id = cell.id, key = cell.key, digest = cell.spec.plan.digest, swept = os.date("!%Y-%m-%dT%H:%M:%SZ"),
    spec = cell.spec.resolved, files = files }
end

local function merge(before, study, sources)
  local list, known = {}, {}
  for _, entry in ipairs(before and before.cells or {}) do
    list[#list + 1], known[entry.id .. " " .. entry.digest] = entry, true
  end
  for _, cell in ipairs(study.cells) do
    if cell.spec and not known[cell.id .. " " .. cell.spec.plan.digest] then
      list[#list + 1] = entry_of(cell, sources)
    end
  end
  return list
end

local function text_of(study, entries)
  local head = canonical.text({ study = study.name, path = study.path, scale = study.scale, title = study.title,
    axes = study.axes, scored = study.scored })
  return ('%s,"cells":[\n%s\n]}\n'):format(head:sub(1, -2), table.concat(lists.map(entries, canonical.text), ",\n"))
end

function M.keep(out, study)
  local link = inside.link(out, ("%s/%s/sources"):format(out, snapshots.FOLDER))
  if link then
    return nil, inside.words(link)
  end
  local sources, written, message = {}, true, nil
  local text = text_of(study, merge(snapshots.read(out, study.name, study.scale), study, sources))
  for _, path in ipairs(canonical.sorted_keys(sources)) do
    if written and lfs.attributes(out .. "/" .. path, "mode") ~= "file" then
      written, message = write.file(out .. "/" .. path, sources[path])
    end
  end
  if not written then
    return nil, message
  end
  return write.file(out .. "/" .. snapshots.name(study.name, study.scale), text)
end

return M
