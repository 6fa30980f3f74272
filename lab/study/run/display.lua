-- A text display: redrawn on a terminal, printed as plain lines elsewhere.
--
-- Input: a stream, lines. Only a terminal that can move its cursor is redrawn; TERM=dumb has plain lines. No colours.

local shell = require("base.shell")

local M = {}

local Display = {}
Display.__index = Display

local PLAIN_SECONDS = 30 -- between two lines if the display is not redrawn

local function is_terminal(descriptor)
  local kind = os.getenv("TERM") or "dumb"
  return kind ~= "dumb" and kind ~= "" and shell.run({ "test", "-t", descriptor }) == 0
end

-- Opens a display on stdout (1) or stderr (2). Its field live: the display is redrawn.
function M.open(descriptor)
  return setmetatable({ stream = descriptor == 1 and io.stdout or io.stderr, live = is_terminal(descriptor),
    height = 0, shown = os.time() }, Display)
end

-- The terminal's current number of lines and columns; nil if the display is not redrawn.
function Display:size()
  if not self.live then
    return nil
  end
  local lines, columns = shell.capture({ "sh", "-c", "stty size </dev/tty 2>/dev/null" }):match("^(%d+) (%d+)")
  lines, columns = tonumber(lines) or 24, tonumber(columns) or 80
  return lines > 0 and lines or 24, columns > 0 and columns or 80
end

function Display:wipe()
  if self.height > 0 then
    self.stream:write(("\27[%dA\27[J"):format(self.height))
    self.height = 0
  end
end

function Display:say(text)
  self:wipe()
  self.stream:write(text, "\n")
  self.stream:flush()
end

function Display:due()
  return self.live or os.time() - self.shown >= PLAIN_SECONDS
end

function Display:show(lines)
  self.shown = os.time()
  if not self.live then
    self.stream:write(table.concat(lines, "\n"), "\n")
  else
    local back = self.height > 0 and ("\27[%dA"):format(self.height) or ""
    self.stream:write(back, "\27[K", table.concat(lines, "\n\27[K"), "\n\27[J")
    self.height = #lines
  end
  self.stream:flush()
end

return M
