-- A cache of reports in the user's own folder: the files that a report read and wrote, and its messages.
--
-- Input: the key, a text with all options. Output: M.recall returns { said, code, message } of a cached report that is
-- still valid, else nil; M.keep stores a report. docs/reports.md explains the cache to users. Invariants: a record is
-- valid if it is complete, of this version and of this key, and if every path that it names, read or written, is
-- unchanged. A record is written under a temporary name first. Failures to write are ignored silently.

local canonical = require("base.canonical")
local dependencies = require("lab.study.report.dependencies")
local input = require("base.input")
local json = require("dkjson")
local lfs = require("lfs")
local lists = require("base.lists")
local paths = require("base.paths")
local sha256 = require("base.sha256")
local write = require("base.write")

local M = {}

local VERSION = "longhand report 2"
local LARGEST = 256 << 20 -- bytes of a record
local MOST_RECORDS = 64

local function find_record(key)
  local folder = paths.find_cache("reports")
  return folder and ("%s/%s"):format(folder, sha256.digest(key))
end

-- Returns the text of a record: the version, a line of JSON, a line for the state of each path, and "end"; nil if a
-- path cannot be written in a line.
local function format_record(key, report, states)
  local lines = { VERSION, json.encode({ key = key, code = report.code, message = report.message,
    said = report.said, own = canonical.sort_keys(report.own) }) }
  for path, state in pairs(states) do
    if path:find("[\t\n]") or state:find("[\t\n]") then
      return nil
    end
    lines[#lines + 1] = state .. "\t" .. path
  end
  return table.concat(lines, "\n") .. "\nend\n"
end

local function decode(text, key)
  local version, head, from = text:match("^([^\n]*)\n([^\n]*)\n().*\nend\n$")
  local value = version == VERSION and input.decode(head)
  if type(value) ~= "table" or value.key ~= key then
    return nil
  end
  value.states = {}
  for state, path in text:gmatch("([^\t\n]*)\t([^\n]*)\n", from) do
    value.states[path] = state
  end
  return value
end

function M.recall(key)
  local place = find_record(key)
  local text = place and input.read(place, LARGEST)
  local record = text and decode(text, key)
  return record and dependencies.are_unchanged(record.states, lists.to_set(record.own)) and record or nil
end

local function remove_old_records(folder)
  local records = lists.map(write.list_names(folder), function(name)
    local path = folder .. "/" .. name
    return lfs.attributes(path, "mode") == "file" and { path = path, time = lfs.attributes(path, "modification") or 0 }
      or nil
  end)
  table.sort(records, function(a, b) return a.time > b.time end)
  for i = MOST_RECORDS + 1, #records do
    os.remove(records[i].path)
  end
end

-- Returns the number of seconds by which the clock of a file's file system is behind this machine's clock, at least 0.
local function measure_clock_lag(path)
  lfs.touch(path)
  return math.max(0, os.time() - (lfs.attributes(path, "modification") or 0))
end

-- Dates the written files before the start of reading, so that later changes alter the times. Returns states by path.
local function stamp_files(report)
  local states = {}
  for _, file in ipairs(report.files) do
    local path = report.out .. "/" .. file.path
    lfs.touch(path, report.began, report.began - 1)
    states[path] = dependencies.read_state(path)
  end
  return states
end

-- Stores a report { said (texts), code, message, began, out, files }; began: the time when reading began; files: as for
-- write.files. read: the dependencies. If a dependency was changed shortly before `began` or since, or a written file
-- by another report, nothing is stored, and an earlier record of the key is removed.
function M.keep(key, report, read)
  local place = find_record(key)
  if not place then
    return
  end
  local began = report.began - measure_clock_lag(report.out .. "/" .. report.files[1].path)
  local states = stamp_files(report)
  report.own = lists.to_set(lists.map(report.files, function(file)
    return paths.resolve(report.out .. "/" .. file.path)
  end))
  report.own[paths.resolve(report.out)] = true
  dependencies.add_modules(read)
  dependencies.remove(read, report.own)
  local replaced = lists.find(report.files, function(file) -- by another report
    return file.text and write.read(report.out .. "/" .. file.path) ~= file.text
  end)
  if replaced or not dependencies.are_settled(read, began) or not dependencies.are_unchanged(read, report.own) then
    os.remove(place)
    return
  end
  for path, state in pairs(read) do
    states[path] = states[path] or state
  end
  local text = format_record(key, report, states)
  if text and write.file(place, text) then
    remove_old_records(place:match("^(.*)/"))
  end
end

return M
