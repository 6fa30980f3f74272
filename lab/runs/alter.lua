-- Removes runs, and gives the runs of a spec another name.
--
-- Input: root, the folder of all runs; rows, the runs as rows (rows.lua). Output: true, or nil and a message. Files are
-- changed only if no trainer uses any of the runs' folders. Invariant: nothing is moved, written or deleted through a
-- link.

local input = require("base.input")
local inside = require("lab.study.run.inside")
local lfs = require("lfs")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local swept_cells = require("lab.runs.swept_cells")
local write = require("base.write")

local M = {}

-- Returns a message if a trainer uses the folder of one of the runs; nil if none is used.
local function find_running(rows)
  local running_row = lists.find(rows, function(row) return row.state == "running" end)
  return running_row and ("%s: a trainer is running in this folder\n  expected: a run that no process trains"):format(
    running_row.path)
end

-- Removes the folders of runs, ROOT/<id>/<digest>/<run>, and then the folders <digest> and <id> that are empty.
function M.remove(root, rows)
  local refusal = find_running(rows)
  if refusal then
    return nil, refusal
  end
  for _, row in ipairs(rows) do
    local is_removed, message = inside.remove(root, row.path)
    if not is_removed then
      return nil, ("%s: %s"):format(row.path, message or "cannot be removed")
    end
    local digest_folder = row.path:match("^(.*)/")
    inside.remove_empty(root, digest_folder)
    inside.remove_empty(root, (digest_folder:match("^(.*)/")))
  end
  return true
end

-- Returns the name of a study that was swept into the folder `root` with a cell of this id; nil if there is none.
local function find_study(root, id)
  return swept_cells.find(root, function(study, cell) return cell.id == id and study end) or nil
end

-- Returns the text of a run.json with `name` in place of `id` at its beginning and in its spec; nil if the result has
-- another id.
local function rename_text(text, id, name)
  local old_id, new_id = ('"id":"%s"'):format(id), ('"id":"%s"'):format(name)
  local new_text = text:gsub("^{" .. old_id, "{" .. new_id):gsub('("spec":)(%b{})', function(key, spec)
    return key .. spec:gsub(old_id, new_id, 1)
  end, 1)
  local facts = input.decode(new_text)
  return type(facts) == "table" and facts.id == name and new_text or nil
end

-- Renames each run in its run.json. Returns true, or nil and a message.
local function rename_facts(root, rows, id, name)
  for _, row in ipairs(rows) do
    local path = row.path .. "/run.json"
    local link = inside.find_link(root, path)
    local text = not link and write.read(path)
    local new_text = text and rename_text(text, id, name) or nil
    local is_written, message = new_text ~= nil, link and inside.describe_link(link)
      or path .. ": expected a file as trainers write it, which begins with the run's id"
    if new_text and new_text ~= text then
      is_written, message = write.file(path, new_text)
    end
    if not is_written then
      return nil, message
    end
  end
  return true
end

-- Returns a message if the runs of a spec cannot be renamed; nil if they can.
local function find_refusal(root, rows, id, name)
  local target = root .. "/" .. name
  if not load_module.is_id(name) then
    return ("%s: found the name %q; expected %s"):format(root .. "/" .. id, name, load_module.ID_TEXT)
  elseif lfs.symlinkattributes(target, "mode") then
    return ("%s: there is an entry of this name already; expected another name"):format(target)
  end
  local study = find_study(root, id)
  return study and ("%s: is a cell of the study %s, which would train the cell again under its old name\n  expected: "
    .. "runs of no study; `labels` in an item of the study's report changes the names that it shows"):format(root .. "/"
    .. id, study) or find_running(rows)
end

-- Renames the runs of the spec `id` to `name`. If this is interrupted, a second call completes it.
function M.rename(root, rows, id, name)
  local message = find_refusal(root, rows, id, name)
  local is_done = not message
  if is_done then
    is_done, message = rename_facts(root, rows, id, name)
  end
  if is_done then
    is_done, message = inside.move(root, root .. "/" .. id, root .. "/" .. name)
  end
  return is_done, message
end

return M
