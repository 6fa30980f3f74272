-- Cells of the studies that were swept into a folder of runs. A sweep stores a snapshot of its cells in this folder.

local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local snapshots = require("lab.study.read.snapshots")

local M = {}

-- Calls compute(study, cell) for each cell, with the name of its study, until a result is true. Returns this result;
-- false if there is none. root: the folder of all runs.
function M.find(root, compute)
  return lists.any(run_files.read_records(root), function(record)
    local snapshot = snapshots.read(root, record.study, record.scale)
    return snapshot and lists.any(snapshot.cells, function(cell) return compute(record.study, cell) end)
  end)
end

return M
