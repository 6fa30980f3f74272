-- Reads measurements by a trainer's `bench`.

local json = require("dkjson")
local lists = require("base.lists")
local shell = require("base.shell")

local M = {}

-- Runs `bench --json` with further words. Returns its rows, { mode = "train" or "eval", length, tokens,
-- steps_per_second, ... }; or nil and the exit code of a failure.
function M.rows(trainer, words)
  local text, code = shell.capture(lists.append({ trainer, "bench", "--json" }, words))
  if code ~= 0 then
    return nil, code
  end
  return lists.map(lists.matches(text, "[^\n]+"), function(row) return (json.decode(row)) end)
end

return M
