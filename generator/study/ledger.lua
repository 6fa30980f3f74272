-- What of a study is done, as the folders of its runs say; a sweep keeps no other record.
--
-- Input: the folder of all runs, cells of a study (grid.lua). Output: for a cell what its runs must come to, for a run
-- how far it is. Reads files, writes none; what a trainer just writes is read as far as it is whole.

local costs = require("costs")
local lfs = require("lfs")
local tasks = require("tasks")
local write = require("write")

local M = {}

local TAIL = 4096 -- bytes that hold the last line of metrics.jsonl

local function condition(split, n, examples, draws)
  return ("%s %d %d %d"):format(split, n, examples, draws)
end

-- What makes a run of this cell complete: { steps (nil for epochs), conditions = { [text] = true }, lengths, log_every,
-- train_work, eval_work }; work is in operations, that of evaluation a list of sums up to each length.
function M.wanted(cell)
  local plan, resolved, task = cell.spec.plan, cell.spec.resolved, cell.spec.task
  local eval, trained, sum = resolved.eval, {}, 0
  local wanted = { steps = resolved.train.steps, log_every = resolved.train.log_every, conditions = {}, eval_work = {},
    lengths = tasks.lengths(eval.lengths), train_work = (resolved.train.steps or 0) * plan.flops_per_step }
  for _, n in ipairs(tasks.lengths(resolved.train.lengths)) do
    trained[n] = true
  end
  local draws = plan.position_range + plan.distance_range > 0 and eval.draws or 1
  for i, n in ipairs(wanted.lengths) do
    wanted.conditions[condition(trained[n] and "train" or "test", n, eval.examples, draws)] = true
    sum = sum + costs.forward(plan, tasks.tokens(task, n)) * eval.examples * draws
    wanted.eval_work[i] = sum
  end
  wanted.work = wanted.train_work + sum
  return wanted
end

-- Inodes of the files that some process has locked, where the system tells.
function M.locks()
  local held = {}
  for inode in (write.read("/proc/locks") or ""):gmatch("FLOCK%s+ADVISORY%s+WRITE%s+%-?%d+%s+%x+:%x+:(%d+)") do
    held[math.tointeger(tonumber(inode))] = true
  end
  return held
end

-- Whether eval.jsonl has every condition that is wanted, evaluated after the last step.
local function is_evaluated(dir, wanted)
  local missing, left = {}, 0
  for text in pairs(wanted.conditions) do
    missing[text], left = true, left + 1
  end
  for line in (left > 0 and write.read(dir .. "/eval.jsonl") or ""):gmatch("([^\n]+)\n") do
    local step, split, n, examples, draws =
      line:match('^{"step":(%d+),"split":"(%l+)","by":{"[^"]+":(%d+)},"examples":(%d+),"draws":(%d+),')
    local text = tonumber(step) == wanted.steps and not line:find('"seed":', 1, true)
      and condition(split, tonumber(n), tonumber(examples), tonumber(draws))
    if text and missing[text] then
      missing[text], left = nil, left - 1
    end
  end
  return left == 0
end

-- How run.json says that a run ended: exit code and step; nil while it is under way or after it was killed.
local function ending(dir)
  local text = write.read(dir .. "/run.json") or ""
  local step, code = text:match('"step":(%d+),"train_seconds":[^,]*,"ended":"[^"]*","exit":(%d+)}%s*$')
  return tonumber(code), tonumber(step)
end

-- The state of a run: "done", "running" (a process has its lock), "failed", "stopped" (by a signal or a kill) or
-- "absent".
function M.state(dir, wanted, locks)
  local code, step = ending(dir)
  if code == 0 and (not wanted.steps or step == wanted.steps) and is_evaluated(dir, wanted) then
    return "done"
  elseif locks[lfs.attributes(dir .. "/lock", "ino") or false] then
    return "running"
  elseif not lfs.attributes(dir .. "/run.json", "mode") then
    return "absent"
  end
  return code and code ~= 0 and code ~= 75 and "failed" or "stopped"
end

-- The last whole line of metrics.jsonl.
local function last_line(path)
  local file = io.open(path, "rb")
  if not file then
    return ""
  end
  local size = file:seek("end")
  file:seek("set", math.max(0, size - TAIL))
  local text = file:read("a") or ""
  file:close()
  return text:match("([^\n]*)\n[^\n]*$") or ""
end

local function count_evaluated(dir)
  local count = 0
  for line in (write.read(dir .. "/eval.jsonl") or ""):gmatch("[^\n]+\n") do
    count = count + (line:find('"split":"during"', 1, true) and 0 or 1)
  end
  return count
end

-- How far a run is: { step, accuracy (nil before the first line), evaluated (lengths; nil before the first), work }.
function M.progress(dir, wanted)
  local line = last_line(dir .. "/metrics.jsonl")
  local step = tonumber(line:match('^{"step":(%d+),')) or 0
  local far = { step = step, accuracy = tonumber(line:match('"accuracy":([%d.e+-]+)')), work = 0 }
  if wanted.steps then
    far.work = math.min(1, step / math.max(1, wanted.steps)) * wanted.train_work
  end
  if wanted.steps and step + wanted.log_every > wanted.steps then
    local count = math.min(count_evaluated(dir), #wanted.lengths)
    far.evaluated = count > 0 and count or nil
    far.work = count > 0 and wanted.train_work + wanted.eval_work[count] or far.work
  end
  return far
end

-- Looks at every run of a study below `out`: run.state, and cell.wanted, cell.missing (the runs that are not done).
function M.survey(study, out)
  local locks = M.locks()
  for _, cell in ipairs(study.cells) do
    cell.wanted, cell.missing = M.wanted(cell), {}
    for _, run in ipairs(cell.runs) do
      run.path = out .. "/" .. run.dir
      run.state = M.state(run.path, cell.wanted, locks)
      if run.state ~= "done" then
        table.insert(cell.missing, run)
      end
    end
  end
end

return M
