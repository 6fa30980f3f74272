-- Cells of the studies that were swept into a folder of runs, as their snapshots record them.
--
-- Input: root, the folder of all runs. Reads files, writes none.

local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local snapshots = require("lab.study.read.snapshots")

local M = {}

-- Returns the first true result of compute(study, cell), where study is the study's name; false if there is none.
function M.find(root, compute)
  return lists.any(run_files.read_records(root), function(record)
    local snapshot = snapshots.read(root, record.study, record.scale)
    return snapshot and lists.any(snapshot.cells, function(cell) return compute(record.study, cell) end)
  end)
end

return M
