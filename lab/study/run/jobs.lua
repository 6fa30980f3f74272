-- Runs several commands at a time, and reports the end of each as it happens.
--
-- Input: a project, lines of shell, the number of concurrent commands, callbacks. Output: "done"; "stopped" after
-- Ctrl-C or a signal to runner.sh; "drained" if some commands were not started because a callback called jobs:drain();
-- "lost" if runner.sh died or did not start. runner.sh starts the commands; on a Ctrl-C it stops them and waits.

local lists = require("base.lists")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local Jobs = {}
Jobs.__index = Jobs

local NO_CALLBACK = { __index = function() return function() end end } -- replaces missing callbacks

-- Writes the commands to a temporary file for runner.sh. Returns its path, or nil and a message.
local function write_lines(commands)
  local path = os.tmpname()
  -- runner.sh reverses this escape: a name in a command may contain a newline.
  local lines = lists.map(commands, function(command) return (command:gsub("\\", "\\\\"):gsub("\n", "\\n") .. "\n") end)
  local is_written, message = write.file(path, table.concat(lines))
  if not is_written then
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

-- Starts no further command; running ones continue.
function Jobs:drain()
  self.is_drained = true
  send_signal(self.runner, "USR1")
end

-- Handles an event, a line that runner.sh printed: "runner PID", "start INDEX PID", "end INDEX STATUS" or "tick".
-- INDEX: the index of the command.
function Jobs:handle(line)
  local event, first, second = line:match("^(%l+) ?(%d*) ?(%d*)$")
  first, second = math.tointeger(tonumber(first)), math.tointeger(tonumber(second))
  if event == "runner" then
    self.runner = first
  elseif event == "start" then
    self.pids[first] = second
    self.callbacks.start(first)
  elseif event == "end" then
    self.ended_count = self.ended_count + 1
    self.pids[first] = nil
    self.callbacks.finish(first, second, self)
  elseif event == "tick" then
    self.callbacks.tick(self)
  end
end

function Jobs:handle_all()
  local line = self.pipe:read("l")
  while line do
    self:handle(line)
    line = self.pipe:read("l")
  end
end

-- Runs lines, a list of commands, at most `max_concurrent` at a time. callbacks = { start(i), finish(i, status, jobs),
-- tick(jobs) }, each optional: i is the index of a command, status its exit code; tick is called every second.
-- jobs.is_stopped is true after a Ctrl-C.
function M.run(project, lines, max_concurrent, callbacks)
  local path, problem = write_lines(lines)
  if not path then
    io.stderr:write("longhand: ", problem, "\n")
    return "lost"
  end
  local jobs = setmetatable({ callbacks = setmetatable(callbacks, NO_CALLBACK), ended_count = 0, pids = {} }, Jobs)
  jobs.pipe = shell.open({ "sh", project.root .. "/lab/study/run/runner.sh", path, max_concurrent })
  local is_ok, message
  repeat
    is_ok, message = pcall(jobs.handle_all, jobs)
    local is_interrupted = not is_ok and tostring(message):find("interrupted!", 1, true) -- by the first Ctrl-C
    if is_interrupted then
      jobs.is_stopped = true
      send_signal(jobs.runner, "TERM")
    elseif not is_ok then
      error(message, 0)
    end
  until is_ok
  local is_closed = jobs.pipe:close()
  os.remove(path)
  for _, pid in pairs(jobs.pids) do -- stops the commands, since no other process will
    send_signal(pid, "TERM")
  end
  if not is_closed then
    return "lost"
  end
  if jobs.is_stopped then
    return "stopped"
  end
  return jobs.ended_count == #lines and "done" or jobs.is_drained and "drained" or "stopped"
end

return M
