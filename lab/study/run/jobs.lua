-- Runs several commands at a time, and reports the end of each as it happens.
--
-- Input: a project, lines of shell, the number of concurrent commands, callbacks. Output: "done"; "stopped" after
-- Ctrl-C; "drained" if some commands were not started for another reason; "lost" if the runner died. runner.sh does the
-- work; it receives a Ctrl-C as well, and waits for running commands.

local lists = require("base.lists")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local Jobs = {}
Jobs.__index = Jobs

local UNHEARD = { __index = function() return function() end end } -- the callbacks that are not given

local function write_lines(commands)
  local path = os.tmpname()
  -- runner.sh reverses this escape: a name in a command may contain a newline.
  local lines = lists.map(commands, function(command) return (command:gsub("\\", "\\\\"):gsub("\n", "\\n") .. "\n") end)
  local written, message = write.file(path, table.concat(lines))
  if not written then
    os.remove(path)
    return nil, message
  end
  return path
end

local function send_signal(pid, name)
  if pid then
    shell.run({ "sh", "-c", 'kill "-$1" "$2"', "sh", name, pid }) -- the shell's own kill, as the program may be missing
  end
end

-- The handler of Ctrl-C, which raises an error here once.
local function is_interrupt(message)
  return tostring(message):find("interrupted!", 1, true) ~= nil
end

function Jobs:drain()
  self.drained = true
  send_signal(self.runner, "USR1")
end

function Jobs:handle(line)
  local what, number, status = line:match("^(%l+) ?(%d*) ?(%d*)$")
  number, status = math.tointeger(tonumber(number)), math.tointeger(tonumber(status))
  if what == "runner" then
    self.runner = number
  elseif what == "start" then
    self.pids[number] = status
    self.on.start(number)
  elseif what == "end" then
    self.ended = self.ended + 1
    self.pids[number] = nil
    self.on.finish(number, status, self)
  elseif what == "tick" then
    self.on.tick(self)
  end
end

function Jobs:pump()
  local line = self.pipe:read("l")
  while line do
    self:handle(line)
    line = self.pipe:read("l")
  end
end

-- Runs lines, a list of commands. on = { start(i), finish(i, status, jobs), tick(jobs) }, each optional. The field
-- jobs.stopped tells callbacks that a Ctrl-C was received.
function M.run(project, lines, most, on)
  local path, problem = write_lines(lines)
  if not path then
    io.stderr:write("longhand: ", problem, "\n")
    return "lost"
  end
  local jobs = setmetatable({ on = setmetatable(on, UNHEARD), ended = 0, pids = {} }, Jobs)
  jobs.pipe = shell.open({ "sh", project.root .. "/lab/study/run/runner.sh", path, most })
  local done, message
  repeat
    done, message = pcall(jobs.pump, jobs)
    if not done and not is_interrupt(message) then
      error(message, 0)
    elseif not done then
      jobs.stopped = true
      send_signal(jobs.runner, "TERM")
    end
  until done
  local ended_well = jobs.pipe:close()
  os.remove(path)
  for _, pid in pairs(jobs.pids) do -- stops the commands, since no other process will
    send_signal(pid, "TERM")
  end
  if not ended_well then
    return "lost"
  end
  return jobs.stopped and "stopped" or jobs.ended < #lines and (jobs.drained and "drained" or "stopped") or "done"
end

return M
