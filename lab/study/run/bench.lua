-- What a trainer's `bench` measures.

local json = require("dkjson")
local shell = require("base.shell")

local M = {}

-- Runs `bench --json` with more words: its rows, { mode = "train" or "eval", length, tokens, steps_per_second, ... };
-- or nil and the exit code where it fails.
function M.rows(trainer, words)
  local line = { trainer, "bench", "--json" }
  table.move(words, 1, #words, #line + 1, line)
  local text, code = shell.capture(line)
  if code ~= 0 then
    return nil, code
  end
  local rows = {}
  for row in text:gmatch("[^\n]+") do
    rows[#rows + 1] = json.decode(row)
  end
  return rows
end

return M
