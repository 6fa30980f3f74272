-- Finds the reasons for failures of trainers in their logs.
--
-- Input: a log of trainers. Output: text; nil if the log contains no reason. Reads files, writes none.

local input = require("base.input")
local lists = require("base.lists")
local escape = require("base.escape")
local lfs = require("lfs")
local seeds = require("lab.study.read.seeds")

local M = {}

local TAIL_BYTES = 65536 -- bytes at the end of a log that M.read_last_lines reads

-- Whether a line of a log is a message, not a trainer's line of progress such as "[####....] ...".
local function is_message(line)
  return not line:find("^%[[#.]+%] ")
end

-- Returns the learning rate, the seeds (a text of seeds.format) and the message in a line that reports a run's error;
-- nil for other lines.
local function parse_error(line)
  local rate, seed_text, message = line:match("^learning rate (%S+), seed (%d[.%w]*): error: (.*)$")
  return tonumber(rate), seed_text, message
end

-- Fields of an error by which find_errors sorts, the most important first.
local ERROR_ORDER = { "rate", "seed", "seed_text", "index" }

-- Returns the indices of the lines with errors of these runs (nil: of any run), in the order of rates and seeds.
-- Threads, and other processes of the cell, write to the same log in any order.
local function find_errors(lines, runs)
  local errors = lists.map(lines, function(line, i)
    local rate, seed_text = parse_error(line)
    local is_wanted = rate and (not runs or lists.find(runs, function(run)
      return run.learning_rate == rate and seeds.format(run) == seed_text
    end))
    return is_wanted and { rate = rate, seed = tonumber(seed_text:match("^%d+")), seed_text = seed_text, index = i }
      or nil
  end)
  table.sort(errors, function(a, b)
    local field = lists.find(ERROR_ORDER, function(name) return a[name] ~= b[name] end)
    return field ~= nil and a[field] < b[field]
  end)
  return lists.map(errors, function(found_error) return found_error.index end)
end

-- Returns the index of the last line of a message that starts at line `first`. All lines but the first are indented.
local function find_message_end(lines, first)
  local last = first
  while lines[last + 1] and lines[last + 1]:find("^ ") do
    last = last + 1
  end
  return last
end

-- Returns the reason for a trainer's failure, indented, from its log after the byte offset `from`; nil if there is
-- none. The text has a line for each failed run, and all lines of the first message. If no line names a run, the text
-- has the lines from the first error on, or the last lines. max_lines: the maximum number of lines of a message; runs:
-- the runs whose errors are reported, nil for all.
function M.format_errors(path, from, max_lines, runs)
  local text = input.read_end(path, (lfs.attributes(path, "size") or 0) - from) or ""
  local lines, list = lists.filter(lists.find_all(text, "[^\n]+"), is_message), {}
  local function take(first, last)
    for i = first, math.min(last, first + max_lines - 1) do
      list[#list + 1] = "    " .. lines[i]
    end
  end
  local errors = find_errors(lines, runs)
  for i, first in ipairs(errors) do
    take(first, i == 1 and find_message_end(lines, first) or first)
  end
  if #errors == 0 then
    local first = lists.map(lines, function(line, i) return line:find("error: ", 1, true) and i or nil end)[1]
    take(first or math.max(1, #lines - max_lines + 1), #lines)
  end
  return list[1] and table.concat(list, "\n")
end

-- Returns the last message on an error of a run in the lines of a log; nil if there is none.
function M.find_error(lines, run)
  for i = #lines, 1, -1 do
    local rate, seed_text, message = parse_error(lines[i])
    if rate == run.learning_rate and seed_text == seeds.format(run) then
      return escape.plain(message)
    end
  end
end

-- Returns the last lines of a log, without progress bars.
function M.read_last_lines(path)
  return lists.filter(lists.find_all(input.read_end(path, TAIL_BYTES) or "", "[^\n]+"), is_message)
end

return M
