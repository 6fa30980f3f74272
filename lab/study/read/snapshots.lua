-- Snapshots of studies: a sweep stores the cells of its study, with their specs, in the folder of all runs.
--
--     RUNS/.studies/<study>.json           the snapshot
--     RUNS/.studies/<study>@<scale>.json   the snapshot of a sweep with --scale
--     RUNS/.studies/sources/<digest>.c     a copy of a user's sampler; the name has the digest of its bytes
--     RUNS/.studies/sources/<digest>.lua   a copy of a user's network
--
-- Input: the folder of all runs, a study's name, its scale or nil. This module writes no file.
-- Output: M.read returns { study, path, scale, title, axes, scored, labels, cells }; nil if the snapshot is missing;
-- nil and a text if the snapshot is damaged. A cell that was swept with several plans has an entry for each plan:
--   id, key   from grid.lua
--   digest    the plan digest
--   swept     the time of the sweep
--   spec      the resolved spec
--   files     { [field that names the file] = { name, digest } }, from M.list_files

local run_files = require("lab.study.read.run_files")
local run_shapes = require("lab.study.read.run_shapes")
local sha256 = require("base.sha256")
local shapes = require("lab.study.read.shapes")

local M = { FOLDER = ".studies" }

local MAX_BYTES = 64 << 20 -- several times the size of the snapshot of 4096 cells
local MAX_CELLS, MAX_VALUES = 1 << 16, 4096

local TEXT = shapes.text(16384)
local WORD = shapes.text(64)

local CELL = shapes.object({ id = run_shapes.id, digest = run_shapes.digest, swept = WORD, spec = run_shapes.spec,
  key = shapes.object({}, { other_fields = TEXT }),
  files = shapes.object({}, { other_fields = shapes.object({ name = TEXT, digest = run_shapes.digest }, {
    required = { "name", "digest" } }) }),
}, { required = { "id", "digest", "swept", "spec", "key", "files" }, other_fields = shapes.any })

local SHAPE = shapes.object({ study = TEXT, path = TEXT, scale = TEXT, title = TEXT,
  axes = shapes.list(shapes.object({ name = TEXT, values = shapes.list(TEXT, MAX_VALUES) },
    { required = { "name", "values" } }), 64),
  scored = shapes.object({}, { other_fields = shapes.any }), labels = shapes.object({}, { other_fields = TEXT }),
  cells = shapes.list(CELL, MAX_CELLS),
}, { required = { "study", "path", "title", "axes", "cells" }, other_fields = shapes.any })

-- Returns the path of a study's snapshot, below the folder of all runs.
function M.get_path(study, scale)
  return ("%s/%s%s.json"):format(M.FOLDER, study, scale and "@" .. scale or "")
end

local ENDINGS = { ["task.source"] = ".c", ["model.source"] = ".lua" }

-- Returns the path of a file's copy, below the folder of all runs; nil if files of this field are not copied.
-- field: the field of the spec that names the file; digest: the file's digest.
function M.get_copy(field, digest)
  return ENDINGS[field] and ("%s/sources/%s%s"):format(M.FOLDER, digest, ENDINGS[field])
end

function M.read(root, study, scale)
  local path = root .. "/" .. M.get_path(study, scale)
  return run_files.read_json(path, path, MAX_BYTES, SHAPE)
end

-- Returns the files whose bytes are part of a spec's plan: { [field that names the file] = { name, digest, text } }.
-- text: the contents of a file that is copied, else nil.
function M.list_files(spec)
  local resolved, plan, files = spec.resolved, spec.plan, {}
  local function add(field, name, digest, text)
    files[field] = { name = name, digest = digest or sha256.digest(text), text = text }
  end
  if plan.task.text then
    add("task.source", resolved.task.source, nil, plan.task.text)
  end
  if plan.own_network then
    add("model.source", resolved.model.source, nil, plan.own_network.text)
  end
  if plan.task.data and plan.task.data.validation_digest then
    add("task.validation", resolved.task.validation, plan.task.data.validation_digest)
  end
  if plan.init then
    add("init", plan.init.shown, plan.init.checksum)
  end
  return files
end

return M
