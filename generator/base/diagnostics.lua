-- Collects the errors of user files and formats them as text or as data.
--
-- Input: records passed to d:add, and the text of the files with the errors, passed to d:add_source.
-- Output: d:list(), which is data; d:text(), one string in the form
--     path:line:col: error: field: what
--         4 | the source line
--           |     ^
--       path:line:col: note: where another value comes from
--       expected: ...
--       hint: ...
-- sorted by position (files in the order of the calls of d:add_source; errors of one position in the order of the calls
-- of d:add), at most LIMIT errors, then one closing line. No function does I/O.

local lists = require("base.lists")
local escape = require("base.escape")

local M = {}

local LIMIT = 20
local MAX_COLUMNS = 160 -- longer source lines are cut around the caret

local Diagnostics = {}
Diagnostics.__index = Diagnostics

-- An empty collection of errors. Its fields:
--   records       the errors in the order of d:add
--   record_keys   the set of the records' keys (make_key)
--   lines         path of a file -> its lines
--   file_ranks    path of a file -> the rank of the file in the order of d:add_source, from 1
--   shown_paths   path of a file -> the path that messages show
--   file_count    the number of files
function M.new()
  return setmetatable({ records = {}, record_keys = {}, lines = {}, file_ranks = {}, shown_paths = {}, file_count = 0 },
    Diagnostics)
end

-- Takes the text of a file, so that errors in the file can show their line. Errors are sorted by file in the order of
-- the calls of this function.
function Diagnostics:add_source(path, text)
  self.lines[path] = lists.find_all(text .. "\n", "(.-)\n")
  if not self.file_ranks[path] then
    self.file_count = self.file_count + 1
    self.file_ranks[path] = self.file_count
  end
end

-- Sets the path that messages show for a file in place of its path in records.
function Diagnostics:show_path(path, shown_path)
  self.shown_paths[path] = shown_path
end

-- A text that is equal for an error and its duplicates.
local function make_key(record)
  local position = record.at or record
  local field = record.shared_field or record.field or ""
  return table.concat({ position.set or position.path or "", position.line or 0, position.col or 0, field,
    record.what }, "\0")
end

-- Adds one error: { path, line, col, field, what, expected, hint, notes = { { path, line, col, what }, ... } }. Only
-- `what` is required; a hint may be a function, called only if the hint is shown. The position of an error or of a note
-- may also be a table: at = { path, line, col }, or at = { set = text } for a value from the command line. An error is
-- a duplicate, and is not added, if an earlier error has the same position, field and `what`. Several
-- families may share one value and report the same error, each for its own field: `shared_field`, a name for all these
-- fields, is then compared in place of `field`.
function Diagnostics:add(record)
  assert(type(record.what) == "string", "an error needs `what`")
  local key = make_key(record)
  if self.record_keys[key] then
    return
  end
  self.record_keys[key] = true
  if self.note then
    record.notes = lists.join(record.notes or {}, { { what = self.note } })
  end
  record.order = #self.records + 1
  self.records[record.order] = record
end

-- Sets a note for every error that is added from now on; nil: no note.
function Diagnostics:set_note(note)
  self.note = note
end

function Diagnostics:count()
  return #self.records
end

local function get_shown_path(self, position)
  return position.path and self.shown_paths[position.path] or position.path
end

-- The prefix "path:line:col: " of an error or a note, or as much of it as is known.
local function format_position(self, record)
  local position = record.at or record
  local path = get_shown_path(self, position)
  local text = position.set or path and table.concat({ path, position.line, position.line and position.col }, ":")
  return text and text .. ": " or ""
end

-- Cuts a long line to the part around column col; returns the text to show and the column in this text.
local function cut_line(line, col)
  if #line <= MAX_COLUMNS then
    return line, col
  end
  local first = math.max(1, (col or 1) - MAX_COLUMNS // 2)
  local excerpt = line:sub(first, first + MAX_COLUMNS - 1)
  local prefix = first > 1 and "..." or ""
  local suffix = first + MAX_COLUMNS - 1 < #line and "..." or ""
  return prefix .. excerpt .. suffix, col and col - first + 1 + #prefix
end

local function add_source_line(self, position, out)
  local lines = position.path and self.lines[position.path]
  local line = lines and position.line and lines[position.line]
  if not line then
    return
  end
  local text, col = cut_line(line, position.col)
  out[#out + 1] = ("%5d | %s"):format(position.line, text):gsub("%s+$", "")
  if col then
    local pad = text:sub(1, col - 1):gsub("[\128-\191]", ""):gsub("[^\t]", " ")
    out[#out + 1] = ("      | %s^"):format(pad)
  end
end

-- The text of an error's hint, or nil.
local function resolve_hint(record)
  return type(record.hint) ~= "function" and record.hint or record.hint and record.hint()
end

-- Adds the lines of one error to the list `out`.
local function add_lines(self, record, out)
  local message = record.field and record.field .. ": " .. record.what or record.what
  out[#out + 1] = format_position(self, record) .. "error: " .. message
  add_source_line(self, record.at or record, out)
  for _, note in ipairs(record.notes or {}) do
    out[#out + 1] = "  " .. format_position(self, note) .. "note: " .. note.what
    local position, error_position = note.at or note, record.at or record
    if position.path ~= error_position.path or position.line ~= error_position.line then
      add_source_line(self, position, out)
    end
  end
  if record.expected then
    out[#out + 1] = "  expected: " .. record.expected
  end
  local hint = resolve_hint(record)
  if hint then
    out[#out + 1] = "  hint: " .. hint
  end
end

-- The errors sorted by position; errors of one position in the order in which they were added.
local function sort_records(self)
  local keys, list = {}, lists.join({}, self.records)
  for _, record in ipairs(list) do
    local position = record.at or record
    local rank = position.path and (self.file_ranks[position.path] or self.file_count + 1) or 0
    keys[record] = ("%09d\0%s\0%09d\0%09d\0%09d"):format(rank, position.path or "", position.line or 0,
      position.col or 0, record.order)
  end
  table.sort(list, function(a, b) return keys[a] < keys[b] end)
  return list
end

-- All errors as text that ends with one newline; the empty string if there are none.
function Diagnostics:text()
  local count = #self.records
  if count == 0 then
    return ""
  end
  local out = {}
  for i, record in ipairs(sort_records(self)) do
    if i <= LIMIT then
      add_lines(self, record, out)
    end
  end
  local total = count == 1 and "1 error" or count .. " errors"
  local hidden_text = count > LIMIT and (", %d more not shown"):format(count - LIMIT) or ""
  out[#out + 1] = total .. hidden_text .. "; nothing was written"
  return (table.concat(out, "\n"):gsub("[^\n\t]+", escape.plain)) .. "\n"
end

-- Returns the errors as data, a list of { path, line, col, set, field, what, expected, hint, notes = { { path, line,
-- what } } }.
function Diagnostics:list()
  return lists.map(sort_records(self), function(record)
    local position, notes = record.at or record, lists.map(record.notes or {}, function(note)
      local note_position = note.at or note
      return { path = get_shown_path(self, note_position), line = note_position.line, what = note.what }
    end)
    return { path = get_shown_path(self, position), line = position.line, col = position.col, set = position.set,
      field = record.field, what = record.what, expected = record.expected, hint = resolve_hint(record),
      notes = #notes > 0 and notes or nil }
  end)
end

-- Returns the first result of work(...). If work throws a table with a field `problem`, returns nil and this table;
-- other errors propagate.
function M.attempt(work, ...)
  local ok, result = xpcall(work, function(err)
    return type(err) == "table" and err or debug.traceback(err)
  end, ...)
  if not ok and (type(result) ~= "table" or not result.problem) then
    error(result, 0)
  end
  return ok and result or nil, not ok and result or nil
end

-- The message that there is no `kind`, such as a spec, at a path. mode: the mode (lfs.attributes) of another entry at
-- the path, or nil.
function M.describe_missing(kind, path, mode)
  return ("no such %s: %s%s"):format(kind, path, mode and (", which is a %s"):format(mode) or "")
end

-- The shortest text that reads back as the same number; for 10.0 the text is "10".
local function format_number(value)
  local integer = math.tointeger(value)
  if integer then
    return ("%d"):format(integer)
  end
  for digits = 1, 17 do
    local text = ("%." .. digits .. "g"):format(value)
    if tonumber(text) == value then
      return (text:gsub("e([+-])0*", "e%1"):gsub("e%+", "e"))
    end
  end
  return tostring(value)
end

-- The text of a value in messages: a string in quotes, cut to 60 bytes; a number in its shortest form; the type of a
-- table or a function.
function M.show(value)
  if type(value) == "string" then
    local text = #value > 60 and value:sub(1, 57) .. "..." or value
    return '"' .. text:gsub('[%c"\\]', function(c)
      return c == '"' and '\\"' or c == "\\" and "\\\\" or ("\\%d"):format(c:byte())
    end) .. '"'
  elseif math.type(value) == "float" then
    return format_number(value)
  elseif type(value) == "table" or type(value) == "function" then
    return "a " .. type(value)
  end
  return tostring(value)
end

return M
