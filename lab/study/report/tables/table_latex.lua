-- Writes a table (score_tables.lua) as LaTeX with rules of the booktabs package. A large table is split into blocks,
-- each of which fits on a page of the class `article`.
--
-- Input: a table. Output: the text of `table` environments that share one table number; the document needs only
-- \usepackage{booktabs}.

local lists = require("base.lists")
local escape = require("base.escape")

local M = {}

-- Sizes in points:
local TEXT_WIDTH = 345 -- width of the text
local LETTER_WIDTH, BOLD_WIDTH = 4.65, 5 -- width of a letter of \small, plain and bold
local GAP = 8 -- space between columns
local MAX_ROWS, HEAD = 40, 4 -- rows on a page, and the height of a block's head in rows
local MAX_NOTES = 10 -- a table with more notes shows only their count

local function format_cell(contents, cell)
  return table.concat(lists.map(contents.subs, function(_, i)
    local text = escape.latex(cell.texts[i] or ""):gsub("^([+-]%d[%d.]*)$", "$%1$")
    return i == 1 and cell.is_best and not cell.is_missing and ("\\textbf{%s}"):format(text) or text
  end), " & ")
end

local function format_heads(contents, from, to)
  local subs = #contents.subs
  local titles, rules, sub_titles = { escape.latex(contents.corner) }, {}, { "" }
  for column = from, to do
    local title = escape.latex(contents.columns[column].title)
    titles[#titles + 1] = subs > 1 and ("\\multicolumn{%d}{c}{%s}"):format(subs, title) or title
    local start = 2 + (column - from) * subs
    rules[#rules + 1] = ("\\cmidrule(lr){%d-%d}"):format(start, start + subs - 1)
    lists.append(sub_titles, lists.map(contents.subs, escape.latex))
  end
  local text = table.concat(titles, " & ") .. " \\\\\n"
  return subs > 1 and text .. table.concat(rules, " ") .. "\n" .. table.concat(sub_titles, " & ") .. " \\\\\n" or text
end

-- Returns a block of the table as a tabular environment. block: { from, to (indices of columns), rows }.
local function format_block(contents, block)
  local from, to = block.from, block.to
  local lines = { ("\\begin{tabular}{l%s}\n\\toprule"):format(("r"):rep((to - from + 1) * #contents.subs)),
    format_heads(contents, from, to) .. "\\midrule" }
  local summary = lists.find(contents.rows, function(row) return row.is_summary end)
  for _, row in ipairs(block.rows) do
    lines[#lines + 1] = row == summary and "\\midrule" or nil
    local cells = { escape.latex(row.title) }
    for column = from, to do
      cells[#cells + 1] = format_cell(contents, row.cells[column])
    end
    lines[#lines + 1] = table.concat(cells, " & ") .. " \\\\"
  end
  lines[#lines + 1] = "\\bottomrule\n\\end{tabular}"
  return table.concat(lines, "\n")
end

local function measure(text, is_bold)
  return (is_bold and BOLD_WIDTH or LETTER_WIDTH) * utf8.len(escape.plain(text or "")) + GAP
end

local function measure_column(contents, column)
  local widths = lists.map(contents.subs, function(sub, i)
    local max_width = lists.max(contents.rows, function(row)
      local cell = row.cells[column]
      return measure(cell.texts[i], i == 1 and cell.is_best)
    end)
    return math.max(max_width, #contents.subs > 1 and measure(sub) or 0)
  end)
  return math.max(measure(contents.columns[column].title), lists.sum(widths, function(width) return width end))
end

-- Returns the blocks of a table, each of which fits on a page unless a single column is too wide.
local function list_blocks(contents)
  local space = TEXT_WIDTH - math.max(measure(contents.corner), lists.max(contents.rows, function(row)
    return measure(row.title)
  end))
  local spans, remaining_width = {}, 0
  for column = 1, #contents.columns do
    local width = measure_column(contents, column)
    if width > remaining_width then
      spans[#spans + 1], remaining_width = { from = column }, space
    end
    spans[#spans].to, remaining_width = column, remaining_width - width
  end
  return lists.collect(spans, function(span)
    local blocks = {}
    for first = 1, math.max(1, #contents.rows), MAX_ROWS do
      blocks[#blocks + 1] = { from = span.from, to = span.to,
        rows = table.move(contents.rows, first, math.min(first + MAX_ROWS - 1, #contents.rows), 1, {}) }
    end
    return blocks
  end)
end

-- Returns a list of pages, each a list of the texts of its blocks.
local function fill_pages(contents)
  local pages, remaining_height = {}, 0
  for _, block in ipairs(list_blocks(contents)) do
    local height = HEAD + #block.rows
    if height > remaining_height then
      pages[#pages + 1], remaining_height = {}, HEAD + MAX_ROWS
    end
    table.insert(pages[#pages], format_block(contents, block))
    remaining_height = remaining_height - height
  end
  return pages
end

function M.render(contents)
  local caption = escape.latex(contents.title)
  if contents.caption and contents.caption ~= contents.title then
    caption = caption .. (contents.caption:find("^%u") and ". " or ": ") .. escape.latex(contents.caption)
  end
  local notes = ""
  if #contents.notes > 0 then
    local text = #contents.notes <= MAX_NOTES and table.concat(contents.notes, ". ")
      or ("%d cells have fewer runs than requested, or runs that differ; report.txt lists them"):format(#contents.notes)
    notes = "\n\n\\smallskip\n\\raggedright\\footnotesize * " .. escape.latex(text)
  end
  local pages = fill_pages(contents)
  return table.concat(lists.map(pages, function(blocks, i)
    local head = i == 1 and ("\\caption{%s}\n\\label{tab:%s}"):format(caption, contents.name)
      or "\\addtocounter{table}{-1}\n\\caption{(continued)}"
    return ("\\begin{table}\n\\centering\\small\\setlength{\\tabcolsep}{4pt}\n%s\n%s%s\n\\end{table}\n"):format(head,
      table.concat(blocks, "\n\n\\medskip\n"), i == #pages and notes or "")
  end), "\n")
end

return M
