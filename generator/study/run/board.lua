-- What a sweep shows while it works: one table in place on a terminal, plain lines elsewhere; always on stderr. And
-- what it tells of a trainer that failed.
--
-- Input: the cells that run, as sweep.lua keeps them, and totals; logs. A line of the table is cut to the terminal's
-- width.

local shell = require("base.shell")
local wording = require("base.wording")

local M = {}

local Board = {}
Board.__index = Board

local PLAIN_SECONDS = 30 -- between two lines where there is no terminal
local MOST_LINES = 20

-- "[####....]" of 20 characters, as trainers show it.
function M.bar(share)
  local full = math.floor(20 * math.max(0, math.min(1, share)) + 0.5)
  return "[" .. ("#"):rep(full) .. ("."):rep(20 - full) .. "]"
end

-- Lines and columns of the terminal that stderr is; nil where it is none.
local function terminal()
  if shell.run({ "test", "-t", "2" }) ~= 0 then
    return nil
  end
  local lines, columns = shell.capture({ "sh", "-c", "stty size </dev/tty 2>/dev/null" }):match("^(%d+) (%d+)")
  return tonumber(lines) or 24, tonumber(columns) or 80
end

function M.open()
  local lines, columns = terminal()
  return setmetatable({ live = lines ~= nil, lines = math.min(MOST_LINES, (lines or 24) - 2), columns = columns,
    height = 0, shown = os.time() }, Board)
end

function Board:wipe()
  if self.height > 0 then
    io.stderr:write(("\27[%dA\27[J"):format(self.height))
    self.height = 0
  end
end

-- A line that stays.
function Board:say(text)
  self:wipe()
  io.stderr:write(text, "\n")
end

-- Whether it is time to show something.
function Board:due()
  return self.live or os.time() - self.shown >= PLAIN_SECONDS
end

local function total_line(totals)
  local failed = totals.failed > 0 and (", %d failed"):format(totals.failed) or ""
  local elsewhere = totals.elsewhere > 0 and (", %d with other processes"):format(totals.elsewhere) or ""
  return ("%s %d of %s done%s%s, %d running; %.1f steps/s; %s left"):format(M.bar(totals.share), totals.done,
    wording.count(totals.runs, "run"), failed, elsewhere, totals.running, totals.rate,
    wording.duration(totals.seconds_left))
end

local function cell_line(cell)
  local steps = cell.least == cell.most and ("step %d"):format(cell.most) or ("step %d to %d"):format(cell.least,
    cell.most)
  local accuracy = cell.worst and ("  accuracy %.4f"):format(cell.worst) or ""
  if cell.worst and cell.best ~= cell.worst then
    accuracy = accuracy .. (" to %.4f"):format(cell.best)
  end
  local evaluating = cell.evaluating > 0 and ("  %d evaluating"):format(cell.evaluating) or ""
  return ("%s %s  %s  %s of %s  %.1f steps/s%s%s"):format(M.bar(cell.share), cell.id,
    wording.count(cell.runs, "run"), steps, cell.steps or "?", cell.rate, accuracy, evaluating)
end

-- Shows the totals and, on a terminal, a line for each cell that runs.
function Board:show(totals, cells)
  self.shown = os.time()
  local lines = { total_line(totals) }
  for i, cell in ipairs(self.live and cells or {}) do
    if i >= self.lines then
      lines[#lines + 1] = ("and %d more"):format(#cells - i + 1)
      break
    end
    lines[#lines + 1] = cell_line(cell)
  end
  self:wipe()
  for i, line in ipairs(lines) do
    lines[i] = self.live and line:sub(1, self.columns - 1) or line
  end
  io.stderr:write(table.concat(lines, "\n"), "\n")
  self.height = self.live and #lines or 0
end

-- The lines of a log from a byte on, without those of progress. A group writes these for as long as one of its runs
-- goes on, so that an error may lie anywhere before its end.
local function read_log(path, from)
  local file, lines = io.open(path, "rb"), {}
  if not file then
    return lines
  end
  file:seek("set", from)
  for line in file:lines() do
    if line ~= "" and not line:find("^%[[#.]+%] ") then
      lines[#lines + 1] = line
    end
  end
  file:close()
  return lines
end

-- Where a group's runs say why they failed, in the order of rates and seeds: that of the lines is the order in which
-- threads came to write, each its warnings and its error.
local function run_errors(lines)
  local errors = {}
  for i, line in ipairs(lines) do
    local rate, seed = line:match("^learning rate (%S+), seed (%d+): error: ")
    if rate then
      errors[#errors + 1] = { line = i, rate = tonumber(rate) or 0, seed = tonumber(seed) }
    end
  end
  table.sort(errors, function(a, b)
    if a.rate ~= b.rate then
      return a.rate < b.rate
    end
    return a.seed < b.seed or a.seed == b.seed and a.line < b.line
  end)
  return errors
end

-- The last line of the message that starts at a line: its other lines are indented.
local function message_end(lines, first)
  local last = first
  while lines[last + 1] and lines[last + 1]:find("^ ") do
    last = last + 1
  end
  return last
end

local function first_error(lines)
  for i, line in ipairs(lines) do
    if line:find("error: ", 1, true) then
      return i
    end
  end
  return nil
end

-- What a log says from a byte on of why its trainer failed, indented; nil where it says nothing. Of a group a line for
-- each run that failed, the first with the rest of its message; else the lines from the first error on, or the last.
-- At most `most` lines of a message.
function M.failure(path, from, most)
  local lines, list = read_log(path, from), {}
  local function take(first, last)
    for i = first, math.min(last, first + most - 1) do
      list[#list + 1] = "    " .. lines[i]
    end
  end
  local errors = run_errors(lines)
  for i, one in ipairs(errors) do
    take(one.line, i == 1 and message_end(lines, one.line) or one.line)
  end
  if #errors == 0 then
    take(first_error(lines) or math.max(1, #lines - most + 1), #lines)
  end
  return list[1] and table.concat(list, "\n")
end

return M
