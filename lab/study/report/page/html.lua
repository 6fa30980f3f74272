-- Pieces of HTML that is also valid XML: escaped text, elements, tables (score_tables.lua).
--
-- Input: text and tables. Output: text, which refers to no other file.

local lists = require("base.lists")
local escape = require("base.escape")
local wording = require("base.wording")

local M = {}

-- A name, which a narrow column may break after underscores.
function M.name(text)
  return (escape.html(text):gsub("_", "_<wbr/>"))
end

local function heads(model)
  local span = #model.subs > 1 and ' colspan="2"' or ""
  return ('<tr><th scope="col"%s>%s</th>%s</tr>'):format(span, escape.html(model.corner), table.concat(lists.map(
    model.columns, function(column) return ('<th scope="col">%s</th>'):format(M.name(column.title)) end)))
end

-- A value. Our own values link to their cells. A line break within a cell never splits a deviation.
local function value(cell, i)
  local text = escape.html(cell.texts[i] or ""):gsub("± ", "±\u{A0}")
  if i > 1 then
    return ("<td>%s</td>"):format(text)
  elseif cell.number then
    text = ('<a href="#cell-%d"%s>%s</a>'):format(cell.number,
      cell.about and (' title="%s"'):format(escape.html(cell.about)) or "", text)
  end
  local class = cell.missing and ' class="missing"' or cell.best and ' class="best"' or ""
  local detail = cell.detail and (" <small>%s</small>"):format(escape.html(cell.detail)) or ""
  return ("<td%s>%s%s</td>"):format(class, text, detail)
end

-- A row of the table, with a text line for each value of its cells.
local function lines_of(model, row)
  local count = #model.subs
  return table.concat(lists.map(model.subs, function(sub, i)
    local cells = lists.map(row.cells, function(cell) return value(cell, i) end)
    local head = i == 1 and ('<th scope="%s"%s>%s</th>'):format(count > 1 and "rowgroup" or "row",
      count > 1 and (' rowspan="%d"'):format(count) or "", M.name(row.title)) or ""
    local second = count > 1 and ('<th scope="row">%s</th>'):format(escape.html(sub)) or ""
    local class = i > 1 and ' class="beside"' or count > 1 and ' class="first"' or row.last and ' class="last"' or ""
    return ("<tr%s>%s%s%s</tr>"):format(class, head, second, table.concat(cells))
  end), "\n")
end

local function notes_of(model)
  local items = lists.map(model.notes, function(note) return "<li>" .. escape.html(note) .. "</li>" end)
  return #items > 0 and ('\n<details class="notes"><summary>* %s</summary><ul>%s</ul></details>'):format(
    wording.count(#items, "note"), table.concat(items)) or ""
end

-- A box that scrolls sideways if its table is wider than the page, also by keyboard.
function M.box(name, body)
  return ('<div class="wide" tabindex="0" role="group" aria-label="%s">%s</div>'):format(escape.html(name), body)
end

-- A table. heading: the text above the table, which the caption does not repeat.
function M.table(model, heading)
  local parts = {}
  parts[1] = model.title ~= heading and escape.html(model.title) or nil
  parts[#parts + 1] = model.about and model.about ~= model.title and escape.html(model.about) or nil
  local between = model.about and model.about:find("^%u") and ". " or ": "
  local caption = #parts > 0 and ("<caption>%s</caption>"):format(table.concat(parts, between)) or ""
  local rows = lists.map(model.rows, function(row) return lines_of(model, row) .. "\n" end)
  return M.box(model.title or heading, ("<table>\n%s\n<thead>%s</thead>\n<tbody>\n%s</tbody></table>"):format(caption,
    heads(model), table.concat(rows))) .. notes_of(model)
end

return M
