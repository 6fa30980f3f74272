-- A cache of reports in the user's own folder: the files that a report read and wrote, and its messages.
--
-- Input: the key, a text with all options. Output: M.recall returns { said, code, message } of a cached report that is
-- still valid, else nil; M.keep stores a report. docs/reports.md explains the cache to users. Invariants: a record is
-- valid if its last line is the digest of the lines before, it is of this version and key, and every path that it
-- names, read or written, is unchanged. A record is written under a temporary name first. Failures to write are ignored
-- silently.

local canonical = require("base.canonical")
local dependencies = require("lab.study.report.dependencies")
local fingerprint = require("base.fingerprint")
local input = require("base.input")
local json = require("dkjson")
local lfs = require("lfs")
local lists = require("base.lists")
local paths = require("base.paths")
local sha256 = require("base.sha256")
local write = require("base.write")

local M = {}

local VERSION = "longhand report 4"
local MAX_BYTES = 256 << 20 -- size of a record
local MAX_RECORDS = 64

local function find_record(key)
  local folder = paths.find_cache("reports")
  return folder and ("%s/%s"):format(folder, sha256.digest(key))
end

-- Returns the text of a record: the version, a line of JSON, a line for the state of each path, and the digest of these
-- lines; nil if a path cannot be written in a line.
local function format_record(key, report, states)
  local lines = { VERSION, json.encode({ key = key, code = report.code, message = report.message,
    said = report.said, written_paths = canonical.sort_keys(report.written_paths) }) }
  for path, state in pairs(states) do
    if path:find("[\t\n]") or state:find("[\t\n]") then
      return nil
    end
    lines[#lines + 1] = state .. "\t" .. path
  end
  local text = table.concat(lines, "\n") .. "\n"
  return text .. fingerprint.digest(text) .. "\n"
end

local function decode(text, key)
  local lines, digest = text:match("^(.*\n)(%x+)\n$")
  local version, head, first_state = (lines or ""):match("^([^\n]*)\n([^\n]*)\n()")
  local value = version == VERSION and fingerprint.digest(lines) == digest and input.decode(head)
  if type(value) ~= "table" or value.key ~= key then
    return nil
  end
  value.states = {}
  for state, path in lines:gmatch("([^\t\n]*)\t([^\n]*)\n", first_state) do
    value.states[path] = state
  end
  return value
end

function M.recall(key)
  local path = find_record(key)
  local text = path and input.read(path, MAX_BYTES)
  local record = text and decode(text, key)
  return record and dependencies.are_unchanged(record.states, lists.to_set(record.written_paths)) and record or nil
end

local function remove_old_records(folder)
  local records = lists.map(write.list_names(folder), function(name)
    local path = folder .. "/" .. name
    return lfs.attributes(path, "mode") == "file" and { path = path, time = lfs.attributes(path, "modification") or 0 }
      or nil
  end)
  table.sort(records, function(a, b) return a.time > b.time end)
  for i = MAX_RECORDS + 1, #records do
    os.remove(records[i].path)
  end
end

-- Returns the number of seconds by which the clock of a file's file system is behind this machine's clock, at least 0.
local function measure_clock_lag(path)
  lfs.touch(path)
  return math.max(0, os.time() - (lfs.attributes(path, "modification") or 0))
end

-- Sets the times of the written files to just before the start of reading, so that every later change alters these
-- times. Returns the files' states by path.
local function stamp_files(report)
  local states = {}
  for _, file in ipairs(report.files) do
    local path = report.out .. "/" .. file.path
    lfs.touch(path, report.start_time, report.start_time - 1)
    states[path] = dependencies.read_state(path)
  end
  return states
end

-- Stores a report { said (texts), code, message, start_time (of reading), out, files (for write.files) }. read_states:
-- the dependencies. If a dependency was changed shortly before start_time or later, or another report has changed a
-- written file, nothing is stored, and an earlier record of the key is removed.
function M.keep(key, report, read_states)
  local record_path = find_record(key)
  if not record_path then
    return
  end
  local start_time = report.start_time - measure_clock_lag(report.out .. "/" .. report.files[1].path)
  local states = stamp_files(report)
  report.written_paths = lists.to_set(lists.map(report.files, function(file)
    return paths.resolve(report.out .. "/" .. file.path)
  end))
  report.written_paths[paths.resolve(report.out)] = true
  dependencies.add_modules(read_states)
  dependencies.remove(read_states, report.written_paths)
  local is_replaced = lists.find(report.files, function(file) -- by another report
    return file.text and write.read(report.out .. "/" .. file.path) ~= file.text
  end)
  if is_replaced or not dependencies.are_settled(read_states, start_time)
    or not dependencies.are_unchanged(read_states, report.written_paths) then
    os.remove(record_path)
    return
  end
  for path, state in pairs(read_states) do
    states[path] = states[path] or state
  end
  local text = format_record(key, report, states)
  if text and write.file(record_path, text) then
    remove_old_records(record_path:match("^(.*)/"))
  end
end

return M
