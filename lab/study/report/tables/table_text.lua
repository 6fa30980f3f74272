-- Writes a table (score_tables.lua) as lines of text, in consecutive blocks that fit the width of the page.
--
-- Input: a table and the page's width. Output: text that ends in a newline.

local lists = require("base.lists")
local escape = require("base.escape")

local M = {}

local GAP = "  "

local function measure_width(text)
  return utf8.len(escape.plain(text))
end

-- Fills a text up to a width with blanks before it, or after it if is_left is true.
local function pad(text, width, is_left)
  local gap = (" "):rep(width - measure_width(text))
  return is_left and escape.plain(text) .. gap or gap .. escape.plain(text)
end

-- Breaks a text at blanks into lines of at most `width` columns. All lines but the first begin with `indent`, which
-- does not count as part of the width.
function M.wrap(text, width, indent)
  local lines, line = {}, nil
  for raw in text:gmatch("%S+") do
    local word = escape.plain(raw)
    if line and measure_width(line) + 1 + measure_width(word) > width then
      lines[#lines + 1] = line
      line = nil
    end
    line = line and line .. " " .. word or word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (indent or ""))
end

local function measure_widest(texts)
  return lists.max(texts, measure_width)
end

-- Returns the lines of the left column, and its width. The lines are the corner and the titles of rows. If cells have
-- several values, an empty line follows the corner; other columns have the titles of values in this line.
local function format_left(contents)
  local titles = lists.map(contents.rows, function(row) return row.title end)
  local lines = lists.join({ contents.corner, #contents.subs > 1 and "" or nil }, titles)
  local width = measure_widest(lines)
  return lists.map(lines, function(text) return pad(text, width, true) end), width
end

-- Returns the lines of a column, and its width. The lines are its title and the values of each row; if cells have
-- several values, the titles of values come between.
local function format_column(contents, column)
  local title, values = contents.columns[column].title, lists.map(contents.rows, function(row)
    return row.cells[column].texts
  end)
  local texts_by_line = lists.join({ contents.subs }, values)
  local widths = lists.map(contents.subs, function(_, i)
    return measure_widest(lists.map(texts_by_line, function(texts) return texts[i] or "" end))
  end)
  local width = lists.sum(widths, function(column_width) return column_width end) + #widths - 1
  widths[1] = widths[1] + math.max(0, measure_width(title) - width)
  width = math.max(width, measure_width(title))
  return lists.join({ pad(title, width) }, lists.map(#contents.subs > 1 and texts_by_line or values, function(texts)
    return table.concat(lists.map(widths, function(column_width, i) return pad(texts[i] or "", column_width) end), " ")
  end)), width
end

-- Returns the table's blocks. A block is a list of columns, the left column first, which together fit the page's width;
-- each column is a list of its lines. The field `width` of a block is the width of all its columns together.
local function split_blocks(contents, page)
  local left, left_width = format_left(contents)
  local blocks, used_width = { { left } }, left_width
  for column in ipairs(contents.columns) do
    local lines, width = format_column(contents, column)
    if used_width + #GAP + width > page and #blocks[#blocks] > 1 then
      blocks[#blocks + 1], used_width = { left }, left_width
    end
    used_width = used_width + #GAP + width
    table.insert(blocks[#blocks], lines)
    blocks[#blocks].width = used_width
  end
  return blocks
end

local function format_block(contents, block)
  local heads, rule, lines = #contents.subs > 1 and 2 or 1, ("-"):rep(block.width), {}
  local summary = lists.find(contents.rows, function(row) return row.is_summary end)
  for i in ipairs(block[1]) do
    lines[#lines + 1] = summary and contents.rows[i - heads] == summary and rule or nil
    local texts = lists.map(block, function(column) return column[i] end)
    lines[#lines + 1] = table.concat(texts, GAP):gsub(" +$", "")
    lines[#lines + 1] = i == heads and rule or nil
  end
  return table.concat(lines, "\n")
end

local function format_notes(contents, page, max_notes)
  local notes = lists.map(contents.notes, function(note, i)
    return (not max_notes or i <= max_notes) and M.wrap("* " .. note, page, "  ") or nil
  end)
  if #notes < #contents.notes then
    notes[#notes + 1] = ("* and %d more"):format(#contents.notes - #notes)
  end
  return #notes > 0 and table.concat(notes, "\n") or nil
end

-- Returns the table as text. page: the page's width; max_notes: nil for all.
function M.render(contents, page, max_notes)
  local parts = { M.wrap(contents.title, page) .. (contents.caption and contents.caption ~= contents.title
    and "\n" .. M.wrap(contents.caption, page) or "") }
  lists.append(parts, lists.map(split_blocks(contents, page), function(block) return format_block(contents, block) end))
  parts[#parts + 1] = format_notes(contents, page, max_notes)
  return table.concat(parts, "\n\n") .. "\n"
end

return M
