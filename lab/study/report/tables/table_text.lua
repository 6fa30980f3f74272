-- Writes a table (score_tables.lua) as lines of text, in consecutive parts that fit the width of the page.
--
-- Input: a table and the page's width. Output: text that ends in a newline.

local lists = require("base.lists")
local escape = require("base.escape")

local M = {}

local GAP = "  "

local function width_of(text)
  return utf8.len(escape.plain(text))
end

local function right(text, width)
  return (" "):rep(width - width_of(text)) .. escape.plain(text)
end

local function left(text, width)
  return escape.plain(text) .. (" "):rep(width - width_of(text))
end

-- Breaks a text at blanks into lines of at most `width` columns. All lines but the first are indented by `indent`,
-- which does not count towards `width`.
function M.wrap(text, width, indent)
  local lines, line = {}, nil
  for raw in text:gmatch("%S+") do
    local word = escape.plain(raw)
    if line and width_of(line) + 1 + width_of(word) > width then
      lines[#lines + 1] = line
      line = nil
    end
    line = line and line .. " " .. word or word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (indent or ""))
end

-- The widths of the values in one column, and the width of the column.
local function measure(model, column)
  local widths, sum = {}, 0
  for i, sub in ipairs(model.subs) do
    widths[i] = math.max(width_of(sub), lists.most(model.rows, function(row)
      return width_of(row.cells[column].texts[i] or "")
    end))
    sum = sum + widths[i] + (i > 1 and 1 or 0)
  end
  local title = width_of(model.columns[column].title)
  if title > sum then
    widths[1] = widths[1] + title - sum
    sum = title
  end
  return widths, sum
end

-- Groups of columns that fit in one line: lists of { column, widths, width }.
local function pieces(model, first, page)
  local list, used = { {} }, first
  for column in ipairs(model.columns) do
    local widths, width = measure(model, column)
    if used + #GAP + width > page and #list[#list] > 0 then
      list[#list + 1], used = {}, first
    end
    used = used + #GAP + width
    table.insert(list[#list], { column = column, widths = widths, width = width })
  end
  return list
end

local function values(texts, piece)
  local parts = lists.map(piece.widths, function(width, i) return right(texts[i] or "", width) end)
  return table.concat(parts, " ")
end

local function piece_lines(model, piece, first)
  local lines, rule = {}, first
  local head, subs = left(model.corner, first), left("", first)
  for _, part in ipairs(piece) do
    head = head .. GAP .. right(model.columns[part.column].title, part.width)
    subs = subs .. GAP .. values(model.subs, part)
    rule = rule + #GAP + part.width
  end
  lines[1] = head
  if #model.subs > 1 then
    lines[2] = subs
  end
  lines[#lines + 1] = ("-"):rep(rule)
  local last
  for _, row in ipairs(model.rows) do
    if row.last and not last then
      lines[#lines + 1] = ("-"):rep(rule)
    end
    last = row.last
    local line = left(row.title, first)
    for _, part in ipairs(piece) do
      line = line .. GAP .. values(row.cells[part.column].texts, part)
    end
    lines[#lines + 1] = line
  end
  return table.concat(lines, "\n"):gsub(" +\n", "\n"):gsub(" +$", "")
end

local function notes_text(model, page, most)
  local notes = lists.map(model.notes, function(note, i)
    return (not most or i <= most) and M.wrap("* " .. note, page, "  ") or nil
  end)
  if #notes < #model.notes then
    notes[#notes + 1] = ("* and %d more"):format(#model.notes - #notes)
  end
  return #notes > 0 and table.concat(notes, "\n") or nil
end

-- Writes the table. most: the largest number of notes; without it all notes are written.
function M.render(model, page, most)
  local first = math.max(width_of(model.corner), lists.most(model.rows, function(row) return width_of(row.title) end))
  local parts = { M.wrap(model.title, page) }
  if model.about and model.about ~= model.title then
    parts[1] = parts[1] .. "\n" .. M.wrap(model.about, page)
  end
  lists.append(parts, lists.map(pieces(model, first, page), function(piece)
    return (piece_lines(model, piece, first))
  end))
  parts[#parts + 1] = notes_text(model, page, most)
  return table.concat(parts, "\n\n") .. "\n"
end

return M
