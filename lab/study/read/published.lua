-- Numbers that papers print: CSV files under spec/published, some of them with the settings of the measurements.
--
-- Input: a project and a name such as "ruoss_2023/table1". Output of M.read: { name, path, columns, rows (texts by
-- column) }; or nil and a message.

local lists = require("base.lists")
local write = require("base.write")

local M = {}

local FOLDER = "spec/published/"

-- Returns the fields in a line of CSV; nil if a quote is not closed. Quoted fields may hold commas and doubled quotes.
function M.split_line(line)
  local fields, remaining = {}, line
  local text, comma
  repeat
    if remaining:sub(1, 1) == '"' then -- the byte 1 stands for a doubled quote
      text, comma, remaining = remaining:sub(2):gsub('""', "\1"):match('^([^"]*)"(,?)(.*)$')
    else
      text, comma, remaining = remaining:match("^([^,]*)(,?)(.*)$")
    end
    if not text then
      return nil
    end
    fields[#fields + 1], remaining = text:gsub("\1", '"'), remaining:gsub("\1", '""')
  until comma == ""
  return fields
end

-- Parses a text in CSV, whose first line has the names of the columns. Blank lines are allowed only at the end, so that
-- row i is always line i + 1. Returns { columns, rows }; or nil and a message.
function M.parse(text)
  local columns, rows = nil, {}
  for line in (text:gsub("%s+$", "") .. "\n"):gmatch("([^\n]*)\n") do
    line = line:gsub("\r$", "")
    if line == "" then
      return nil, ("line %d: is blank\n  expected: a row"):format(#rows + 1)
    end
    local fields = M.split_line(line)
    columns = columns or fields
    if not fields or #fields ~= #columns then
      return nil, ("line %d: %d fields\n  expected: %d"):format(#rows + 1, fields and #fields or 0,
        columns and #columns or 1)
    end
    local row = {}
    for i, name in ipairs(columns) do
      row[name] = fields[i]
    end
    rows[#rows + 1] = row
  end
  table.remove(rows, 1)
  return { columns = columns or {}, rows = rows }
end

-- Reads the file with this name; see the head of this file.
function M.read(project, name)
  local path = project:path(FOLDER .. name .. ".csv")
  local text = write.read(path)
  if not text then
    local folder = FOLDER .. (name:match("^(.*)/") or "")
    return nil, ("there is no %s\n  expected: a name such as ruoss_2023/table1; there are: %s"):format(path,
      table.concat(project:list_names(folder, ".csv"), ", "))
  end
  local parsed, message = M.parse(text)
  if not parsed then
    return nil, ("%s: %s"):format(path, message)
  end
  parsed.name, parsed.path = name, path
  return parsed
end

-- Whether a row has the values of `key`, { <column> = <value> }. Values are compared as text, and columns that the file
-- lacks are ignored.
function M.fits(row, key)
  for name, value in pairs(key) do
    if row[name] ~= nil and row[name] ~= tostring(value) then
      return false
    end
  end
  return true
end

-- Returns the number in a column of the first row that fits the key (M.fits), or nil; and the count of such rows.
function M.find_number(published, key, column)
  local rows = lists.filter(published.rows, function(row) return M.fits(row, key) end)
  return rows[1] and tonumber(rows[1][column]), #rows
end

return M
