-- Moves damaged runs to OUT/<id>/<digest>/.damaged/<run>-<n>, so that they can be trained anew. All their files are
-- kept, and readers of run folders ignore the folder .damaged.
--
-- Input: the folder of all runs; a cell and some of its runs, from ledger.survey. Output: moved runs are "absent" and
-- have their new path in run.aside; messages on stderr. true, or nil and a message if a run cannot be moved. put_back
-- reverses the move, for a caller that does not train the runs after all.
-- Each run is examined once more before it is moved: between the survey and this call, while trainers are built,
-- another sweep may have set the run aside and begun to train it anew.

local inside = require("lab.study.run.inside")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local overview = require("lab.study.run.overview")
local escape = require("base.escape")

local M = {}

local function place_of(run)
  local parent, name = run.path:match("^(.*)/([^/]*)$")
  local n = 1
  while lfs.symlinkattributes(("%s/.damaged/%s-%d"):format(parent, name, n), "mode") do
    n = n + 1
  end
  return ("%s/.damaged/%s-%d"):format(parent, name, n)
end

local function move(out, run)
  local place = place_of(run)
  local done, message = inside.make_directory(out, (place:match("^(.*)/")))
  if done then
    done, message = inside.move(out, run.path, place)
  end
  if not done then
    return nil, message
  end
  overview.say(escape.plain(("damaged: %s/%s; the run is set aside as %s, and trained anew"):format(run.path,
    run.damage, place)))
  run.state, run.words, run.damage, run.aside = "absent", nil, nil, place
  return true
end

function M.runs(out, cell, runs)
  for _, run in ipairs(runs) do
    if run.state == "damaged" then
      run.state, run.words = ledger.state(run.path, cell.wanted, ledger.locks())
      run.damage = run.state == "damaged" and run.words or nil
    end
    if run.state == "damaged" then
      local done, message = move(out, run)
      if not done then
        return nil, message
      end
    end
  end
  return true
end

local function put_back(out, run, why)
  local done, message = inside.move(out, run.aside, run.path)
  if not done then
    overview.say(escape.plain(("%s, and %s stays there: %s"):format(why, run.aside, message)))
    return
  end
  inside.remove_empty(out, (run.aside:match("^(.*)/")))
  overview.say(escape.plain(("%s, and %s is put back"):format(why, run.path)))
  run.state, run.aside = "damaged", nil
end

function M.put_back(out, runs, why)
  for _, run in ipairs(runs) do
    if run.aside then
      put_back(out, run, why)
    end
  end
end

return M
