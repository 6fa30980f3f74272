-- Tables of analyses: on the screen, and as lines of CSV.
--
-- Input: texts and numbers; models of tables as views.lua describes them. Output: text.

local lists = require("base.lists")
local open = require("lab.study.report.open")
local table_text = require("lab.study.report.tables.table_text")
local tongues = require("base.tongues")

local M = {}

M.WIDTH = 100 -- of the screen
local MOST_ROWS, MOST_NOTES = 40, 12 -- on the screen; the files have all
local MOST_DAMAGED = 5

M.MISSING = "-"

-- A row's cells, each with one text.
function M.texts(...)
  return lists.map({ ... }, function(text) return { texts = { text } } end)
end

-- Columns of these titles.
function M.columns(...)
  return lists.map({ ... }, function(title) return { title = title } end)
end

-- Numbers in a form; where there is none, MISSING.
function M.number(form, ...)
  return ... and form:format(...) or M.MISSING
end

-- A table as text for the screen: its first rows.
function M.shown(model)
  local short = setmetatable({ rows = table.move(model.rows, 1, math.min(MOST_ROWS, #model.rows), 1, {}) },
    { __index = model })
  local more = #model.rows - #short.rows
  return table_text.render(short, M.WIDTH, MOST_NOTES) .. (more > 0 and ("  and %d more\n"):format(more) or "")
end

local function csv_number(value)
  return value and ("%.9g"):format(value) or ""
end

-- A line of CSV: texts, integers, and numbers with nine digits; nil is an empty field.
function M.line(...)
  local fields = table.pack(...)
  for i = 1, fields.n do
    local field = fields[i]
    fields[i] = type(field) == "string" and tongues.csv(field) or math.type(field) == "integer" and tostring(field)
      or csv_number(field)
  end
  return table.concat(fields, ",")
end

-- What was left out since its files are damaged, or nil.
function M.damage(study)
  local _, damaged = open.problems(study)
  local lines = {}
  for i = 1, math.min(#damaged, MOST_DAMAGED) do
    lines[i] = "\n  " .. tongues.plain(damaged[i])
  end
  return #damaged > 0 and ("damaged and left out:%s%s"):format(table.concat(lines),
    #damaged > MOST_DAMAGED and ("\n  and %d more"):format(#damaged - MOST_DAMAGED) or "") or nil
end

return M
