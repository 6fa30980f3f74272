-- Makes the specs of waiting cells. A command of ./longhand, such as calibrate, makes a cell's spec from the run of
-- another cell, the source run (stages.lua). Fields of cell.source, with paths below the folder of all runs:
--   run, cell       the folder of the source run, and its cell
--   verb, options   the verb of the command, and options of the verb
--   file            the spec that the command makes
--
-- Input: a study from grid.expand and ledger.survey, the folder of all runs. Output: the spec of each waiting cell
-- whose source run is done; next to the spec, other files of the command and a log. A sweep does not repeat a failed
-- command.

local build = require("render.builds.build")
local canonical = require("base.canonical")
local inside = require("lab.study.run.inside")
local jobs = require("lab.study.run.jobs")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lists = require("base.lists")
local overview = require("lab.study.run.overview")
local shell = require("base.shell")
local stages = require("lab.study.grid.stages")
local escape = require("base.escape")
local write = require("base.write")

local M = {}

local DONE, INPUT, ENVIRONMENT, AGAIN = 0, 1, 4, 75
local RANK = { [DONE] = 0, [INPUT] = 1, [AGAIN] = 2, [ENVIRONMENT] = 3 } -- exit codes, the worst has the largest number
local LOG_LINES = 8 -- a message shows this many of the last lines of a command's log

function M.choose_worse(a, b)
  return RANK[b] > RANK[a] and b or a
end

local function is_file(path)
  return lfs.attributes(path, "mode") == "file"
end

-- Finds the specs of waiting cells whose source run is done. Returns a cell for each spec that does not exist yet, and
-- the number of specs that exist by now. The source run's cell need not be selected. failed_files: specs to leave out.
local function find_ready_cells(options, study, failed_files)
  local list, locks, listed_files, existing_count = {}, ledger.read_locks(), {}, 0
  for _, cell in ipairs(study.cells) do
    local source = not cell.spec and cell.source or {}
    if source.run and not failed_files[source.file] and not listed_files[source.file]
      and ledger.read_state(options.out .. "/" .. source.run, ledger.derive_goal(source.cell), locks) == "done" then
      listed_files[source.file] = true
      local is_made = is_file(options.out .. "/" .. source.file)
      existing_count = existing_count + (is_made and 1 or 0)
      list[#list + 1] = not is_made and cell or nil
    end
  end
  return list, existing_count
end

local function open_log(options, source)
  local log = (options.out .. "/" .. source.file):match("^(.*)/") .. "/log.txt"
  local is_made, message = inside.make_parent(options.out, log)
  return is_made and log, message
end

-- Returns the words of the command that makes a spec. source: of a cell (grid.lua).
local function make_words(options, source)
  local file = options.out .. "/" .. source.file
  local words = { options.project.root .. "/longhand", source.verb, options.out .. "/" .. source.run, "--out", file }
  local folder_option = stages.VERBS[source.verb].folder_option
  if folder_option then -- the folder is next to the spec and has the option's name
    lists.append(words, { "--" .. folder_option, (file:gsub("[^/]*$", folder_option)) })
  end
  for _, name in ipairs(canonical.sort_keys(source.options)) do
    local value = source.options[name]
    for _, setting in ipairs(type(value) == "table" and value or { value }) do
      lists.append(words, { "--" .. name, setting ~= true and setting or nil })
    end
  end
  return words
end

local function read_tail(path)
  local lines = lists.map(lists.find_all(write.read(path) or "", "[^\n]+"), function(line)
    return "  " .. escape.plain(line)
  end)
  return table.concat(lines, "\n", math.max(1, #lines - LOG_LINES + 1))
end

-- Makes the specs of the ready cells. Adds specs whose command failed to the set failed_files. Returns the result of
-- jobs.run, an exit code, and whether there are new specs.
function M.make_specs(options, study, failed_files)
  local cells, made_count = find_ready_cells(options, study, failed_files)
  local lines, logs, code = {}, {}, DONE
  for i, cell in ipairs(cells) do
    local log, message = open_log(options, cell.source)
    logs[i] = log
    if not log then
      overview.print("longhand: ", message)
      return "done", ENVIRONMENT, false
    end
    lines[i] = ("%s >%s 2>&1"):format(shell.join(make_words(options, cell.source)), escape.shell(logs[i]))
  end
  local outcome = #lines == 0 and "done" or jobs.run(options.project, lines, build.count_processors(), {
    finish = function(i, status, runner)
      local cell = cells[i]
      if is_file(options.out .. "/" .. cell.source.file) then -- a failed command or another sweep may have made it
        made_count = made_count + 1
        overview.print(("%s: %s of %s"):format(cell.id, cell.source.verb, cell.source.run))
      elseif not runner.is_stopped then
        failed_files[cell.source.file] = true
        code = M.choose_worse(code, status == ENVIRONMENT and ENVIRONMENT or INPUT)
        overview.print(("%s: %s of %s failed (exit code %d); from %s:\n%s"):format(cell.id, cell.source.verb,
          cell.source.run, status, logs[i], read_tail(logs[i])))
      end
    end,
  })
  return outcome, code, made_count > 0 and outcome == "done"
end

-- Makes all specs that can be made now. Returns the surveyed study and the worst exit code (AGAIN if the user stopped
-- the jobs), or nil and a message.
function M.expand(options)
  local failed_files, worst_code = {}, DONE
  local study, message, outcome, code, has_new_specs
  repeat
    study, message = overview.expand(options)
    if not study then
      return nil, message
    end
    outcome, code, has_new_specs = M.make_specs(options, study, failed_files)
    worst_code = M.choose_worse(worst_code, outcome == "done" and code or AGAIN)
  until not has_new_specs
  return study, worst_code
end

return M
