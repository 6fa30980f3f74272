-- Collects errors and formats them; nothing else prints them.
--
-- Input: records given to d:add and the text of the files they point into, given to d:source.
-- Output: d:list(), which is data; d:text(), one string in the form
--     path:line:col: error: field: what
--         4 | the source line
--           |     ^
--       path:line:col: note: where another value comes from
--       expected: ...
--       hint: ...
-- sorted by position (files in the order they were given to d:source), at most LIMIT errors, then one closing line.
-- Invariants: no I/O; the same records give the same text, whatever the order they were added in at one position.

local tongues = require("base.tongues")

local M = {}

local LIMIT = 20
local WIDEST = 160 -- longer source lines are cut around the caret

local Diagnostics = {}
Diagnostics.__index = Diagnostics

function M.new()
  return setmetatable({ records = {}, known = {}, lines = {}, rank = {}, files = 0 }, Diagnostics)
end

local function split_lines(text)
  local lines = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

-- Hands in the text of a file, so that errors in it can show their line. The first file given sorts first.
function Diagnostics:source(path, text)
  self.lines[path] = split_lines(text)
  if not self.rank[path] then
    self.files = self.files + 1
    self.rank[path] = self.files
  end
end

local function identity(record)
  local at = record.at or record
  local fault = record.fault or record.field or ""
  return table.concat({ at.set or at.path or "", at.line or 0, at.col or 0, fault, record.what }, "\0")
end

-- Adds one error: { path, line, col, field, what, expected, hint, notes = { { path, line, col, what }, ... } }.
-- Only `what` is needed; a hint may be a function that makes it, called only where it is shown. The position may be
-- given as a table instead: at = { path, line, col }, or at = { set = text }
-- for a value that comes from the command line. An error that is known already is not added again; fault: by what it is
-- known in the place of its field, where one value is read for several.
function Diagnostics:add(record)
  assert(type(record.what) == "string", "an error needs `what`")
  local text = identity(record)
  if self.known[text] then
    return
  end
  self.known[text] = true
  if self.remark then
    record.notes = table.move(record.notes or {}, 1, #(record.notes or {}), 1, {})
    table.insert(record.notes, { what = self.remark })
  end
  record.order = #self.records + 1
  self.records[record.order] = record
end

-- A note for every error that is added from now on; nil: none.
function Diagnostics:within(remark)
  self.remark = remark
end

function Diagnostics:count()
  return #self.records
end

local function place(record)
  local at = record.at or record
  if at.set then
    return at.set
  end
  if not at.path then
    return nil
  end
  local text = at.path
  if at.line then
    text = text .. ":" .. at.line
    if at.col then
      text = text .. ":" .. at.col
    end
  end
  return text
end

-- Cuts a long line to the part around column col; returns the text to show and the column in it.
local function window(line, col)
  if #line <= WIDEST then
    return line, col
  end
  local first = math.max(1, (col or 1) - WIDEST // 2)
  local part = line:sub(first, first + WIDEST - 1)
  local before = first > 1 and "..." or ""
  local after = first + WIDEST - 1 < #line and "..." or ""
  return before .. part .. after, col and col - first + 1 + #before
end

local function source_lines(self, at, out)
  local lines = at.path and self.lines[at.path]
  local line = lines and at.line and lines[at.line]
  if not line then
    return
  end
  local text, col = window(line, at.col)
  out[#out + 1] = ("%5d | %s"):format(at.line, text):gsub("%s+$", "")
  if col then
    local pad = text:sub(1, col - 1):gsub("[\128-\191]", ""):gsub("[^\t]", " ")
    out[#out + 1] = ("      | %s^"):format(pad)
  end
end

local function hint_of(record)
  if type(record.hint) == "function" then
    return record.hint()
  end
  return record.hint
end

local function format(self, record, out)
  local where = place(record)
  local what = record.field and record.field .. ": " .. record.what or record.what
  out[#out + 1] = (where and where .. ": " or "") .. "error: " .. what
  source_lines(self, record.at or record, out)
  for _, note in ipairs(record.notes or {}) do
    local note_place = place(note)
    out[#out + 1] = "  " .. (note_place and note_place .. ": " or "") .. "note: " .. note.what
    local at, error_at = note.at or note, record.at or record
    if at.path ~= error_at.path or at.line ~= error_at.line then
      source_lines(self, at, out)
    end
  end
  if record.expected then
    out[#out + 1] = "  expected: " .. record.expected
  end
  local hint = hint_of(record)
  if hint then
    out[#out + 1] = "  hint: " .. hint
  end
end

local function sort_key(self, record)
  local at = record.at or record
  local rank = at.path and (self.rank[at.path] or self.files + 1) or 0
  return rank, at.path or "", at.line or 0, at.col or 0, record.order
end

local function sorted(self)
  local list = {}
  for i, record in ipairs(self.records) do
    list[i] = { record = record, key = { sort_key(self, record) } }
  end
  table.sort(list, function(a, b)
    for i = 1, #a.key do
      if a.key[i] ~= b.key[i] then
        return a.key[i] < b.key[i]
      end
    end
    return false
  end)
  return list
end

-- All errors as text, one final newline; the empty string when there are none.
function Diagnostics:text()
  local count = #self.records
  if count == 0 then
    return ""
  end
  local out = {}
  for i, entry in ipairs(sorted(self)) do
    if i > LIMIT then
      break
    end
    format(self, entry.record, out)
  end
  local total = count == 1 and "1 error" or count .. " errors"
  local more = count > LIMIT and (", %d more not shown"):format(count - LIMIT) or ""
  out[#out + 1] = total .. more .. "; nothing was written"
  return (table.concat(out, "\n"):gsub("[^\n\t]+", tongues.plain)) .. "\n"
end

-- The same as data: a list of { path, line, col, set, field, what, expected, hint, notes = { { path, line, what } } }.
function Diagnostics:list()
  local list = {}
  for i, entry in ipairs(sorted(self)) do
    local record, notes = entry.record, {}
    local at = record.at or record
    for j, note in ipairs(record.notes or {}) do
      local note_at = note.at or note
      notes[j] = { path = note_at.path, line = note_at.line, what = note.what }
    end
    list[i] = { path = at.path, line = at.line, col = at.col, set = at.set, field = record.field, what = record.what,
      expected = record.expected, hint = hint_of(record), notes = #notes > 0 and notes or nil }
  end
  return list
end

-- That a path names no file of a kind; mode: what is there, as lfs.attributes says, or nil.
function M.no_such(kind, path, mode)
  return ("no such %s: %s%s"):format(kind, path, mode and (", which is a %s"):format(mode) or "")
end

-- A value as a message shows it: strings quoted, numbers in their shortest form, tables by what they are.
function M.show(value)
  if type(value) == "string" then
    local text = #value > 60 and value:sub(1, 57) .. "..." or value
    return '"' .. text:gsub('[%c"\\]', function(c)
      return c == '"' and '\\"' or c == "\\" and "\\\\" or ("\\%d"):format(c:byte())
    end) .. '"'
  elseif math.type(value) == "float" then
    return M.number(value)
  elseif type(value) == "table" then
    return "a table"
  elseif type(value) == "function" then
    return "a function"
  end
  return tostring(value)
end

-- A number in its shortest form that reads back as the same number; 10.0 is "10".
function M.number(value)
  local whole = math.tointeger(value)
  if whole then
    return ("%d"):format(whole)
  end
  for digits = 1, 17 do
    local text = ("%." .. digits .. "g"):format(value)
    if tonumber(text) == value then
      return (text:gsub("e([+-])0*", "e%1"):gsub("e%+", "e"))
    end
  end
  return tostring(value)
end

return M
