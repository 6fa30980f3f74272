-- Moves damaged runs to OUT/<id>/<digest>/.damaged/<run>-<n>, so that they can be trained anew. All their files are
-- kept, and readers of run folders ignore the folder .damaged.
--
-- Input: the folder of all runs; a cell and some of its runs, from ledger.survey. Output: moved runs are "absent" and
-- have their new path in run.aside; messages on stderr. M.move_damaged returns true, or nil and a message if a run
-- cannot be moved; M.put_back reverses the move. The state of each run is read again before the run is moved: since the
-- survey, while trainers were built, another sweep may have set the run aside and begun to train it anew.

local inside = require("lab.study.run.inside")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lists = require("base.lists")
local overview = require("lab.study.run.overview")
local escape = require("base.escape")

local M = {}

-- Moves one run. Returns true, or nil and a message. run.damage: a text that begins with the name of the damaged file.
local function move(out, run)
  local parent, name = run.path:match("^(.*)/([^/]*)$")
  local aside_path
  local n = 0
  repeat
    n = n + 1
    aside_path = ("%s/.damaged/%s-%d"):format(parent, name, n)
  until not lfs.symlinkattributes(aside_path, "mode")
  local is_moved, message = inside.make_directory(out, parent .. "/.damaged")
  if is_moved then
    is_moved, message = inside.move(out, run.path, aside_path)
  end
  if not is_moved then
    return nil, message
  end
  overview.print(escape.plain(("damaged: %s/%s; the run is set aside as %s, and trained anew"):format(run.path,
    run.damage, aside_path)))
  run.state, run.explanation, run.damage, run.aside = "absent", nil, nil, aside_path
  return true
end

function M.move_damaged(out, cell, runs)
  for _, run in ipairs(runs) do
    if run.state == "damaged" then
      run.state, run.explanation = ledger.read_state(run.path, cell.goal, ledger.read_locks())
      run.damage = run.state == "damaged" and run.explanation or nil
    end
    if run.state == "damaged" then
      local is_moved, message = move(out, run)
      if not is_moved then
        return nil, message
      end
    end
  end
  return true
end

-- Moves runs back to their own paths. reason: the beginning of the messages.
function M.put_back(out, runs, reason)
  for _, run in ipairs(lists.filter(runs, function(run) return run.aside end)) do
    local is_restored, message = inside.move(out, run.aside, run.path)
    overview.print(escape.plain(is_restored and ("%s, and %s is put back"):format(reason, run.path)
      or ("%s, and %s cannot be put back: %s"):format(reason, run.aside, message)))
    if is_restored then
      inside.remove_empty(out, (run.aside:match("^(.*)/")))
      run.state, run.aside = "damaged", nil
    end
  end
end

return M
