-- Writes a table (score_tables.lua) as LaTeX with rules of the booktabs package, in consecutive blocks of as many
-- columns and rows as fit into the text of the class article.
--
-- Input: a table. Output: the text of `table` environments of one number, which need only \usepackage{booktabs}.

local lists = require("base.lists")
local escape = require("base.escape")

local M = {}

-- In points: the width of the text, of a letter of \small, and of a bold letter; and the space between columns.
local TEXT_WIDTH, LETTER_WIDTH, BOLD_WIDTH, GAP = 345, 4.65, 5, 8
local MAX_ROWS, HEAD = 40, 4 -- rows on a page, and the height of a block's head in rows
local MAX_NOTES = 10 -- with more notes, a table has only their number

local function format_cell(model, cell)
  return table.concat(lists.map(model.subs, function(_, i)
    local text = escape.latex(cell.texts[i] or ""):gsub("^([+-]%d[%d.]*)$", "$%1$")
    return i == 1 and cell.is_best and not cell.is_missing and ("\\textbf{%s}"):format(text) or text
  end), " & ")
end

local function format_heads(model, from, to)
  local subs = #model.subs
  local titles, rules, seconds = { escape.latex(model.corner) }, {}, { "" }
  for column = from, to do
    local title = escape.latex(model.columns[column].title)
    titles[#titles + 1] = subs > 1 and ("\\multicolumn{%d}{c}{%s}"):format(subs, title) or title
    local start = 2 + (column - from) * subs
    rules[#rules + 1] = ("\\cmidrule(lr){%d-%d}"):format(start, start + subs - 1)
    lists.append(seconds, lists.map(model.subs, escape.latex))
  end
  local text = table.concat(titles, " & ") .. " \\\\\n"
  return subs > 1 and text .. table.concat(rules, " ") .. "\n" .. table.concat(seconds, " & ") .. " \\\\\n" or text
end

-- Returns a block of the table as a tabular environment. block: { from, to (columns), rows }.
local function format_block(model, block)
  local from, to = block.from, block.to
  local lines = { ("\\begin{tabular}{l%s}\n\\toprule"):format(("r"):rep((to - from + 1) * #model.subs)),
    format_heads(model, from, to) .. "\\midrule" }
  local summary = lists.find(model.rows, function(row) return row.is_summary end)
  for _, row in ipairs(block.rows) do
    lines[#lines + 1] = row == summary and "\\midrule" or nil
    local cells = { escape.latex(row.title) }
    for column = from, to do
      cells[#cells + 1] = format_cell(model, row.cells[column])
    end
    lines[#lines + 1] = table.concat(cells, " & ") .. " \\\\"
  end
  lines[#lines + 1] = "\\bottomrule\n\\end{tabular}"
  return table.concat(lines, "\n")
end

local function measure(text, is_bold)
  return (is_bold and BOLD_WIDTH or LETTER_WIDTH) * utf8.len(escape.plain(text or "")) + GAP
end

local function measure_column(model, column)
  local widths = lists.map(model.subs, function(sub, i)
    local max_width = lists.max(model.rows, function(row)
      local cell = row.cells[column]
      return measure(cell.texts[i], i == 1 and cell.is_best)
    end)
    return math.max(max_width, #model.subs > 1 and measure(sub) or 0)
  end)
  return math.max(measure(model.columns[column].title), lists.sum(widths, function(width) return width end))
end

-- Returns the blocks of a table, each of which fits on a page unless a single column is too wide.
local function list_blocks(model)
  local space = TEXT_WIDTH - math.max(measure(model.corner), lists.max(model.rows, function(row)
    return measure(row.title)
  end))
  local spans, remaining_width = {}, 0
  for column = 1, #model.columns do
    local width = measure_column(model, column)
    if width > remaining_width then
      spans[#spans + 1], remaining_width = { from = column }, space
    end
    spans[#spans].to, remaining_width = column, remaining_width - width
  end
  return lists.collect(spans, function(span)
    local blocks = {}
    for first = 1, math.max(1, #model.rows), MAX_ROWS do
      blocks[#blocks + 1] = { from = span.from, to = span.to,
        rows = table.move(model.rows, first, math.min(first + MAX_ROWS - 1, #model.rows), 1, {}) }
    end
    return blocks
  end)
end

-- Returns the texts of blocks, as a list of pages.
local function fill_pages(model)
  local pages, remaining_height = {}, 0
  for _, block in ipairs(list_blocks(model)) do
    local height = HEAD + #block.rows
    if height > remaining_height then
      pages[#pages + 1], remaining_height = {}, HEAD + MAX_ROWS
    end
    table.insert(pages[#pages], format_block(model, block))
    remaining_height = remaining_height - height
  end
  return pages
end

function M.render(model)
  local caption = escape.latex(model.title)
  if model.caption and model.caption ~= model.title then
    caption = caption .. (model.caption:find("^%u") and ". " or ": ") .. escape.latex(model.caption)
  end
  local notes = ""
  if #model.notes > 0 then
    local text = #model.notes <= MAX_NOTES and table.concat(model.notes, ". ")
      or ("%d cells have fewer runs than requested, or runs that differ; report.txt lists them"):format(#model.notes)
    notes = "\n\n\\smallskip\n\\raggedright\\footnotesize * " .. escape.latex(text)
  end
  local pages = fill_pages(model)
  return table.concat(lists.map(pages, function(blocks, i)
    local head = i == 1 and ("\\caption{%s}\n\\label{tab:%s}"):format(caption, model.name)
      or "\\addtocounter{table}{-1}\n\\caption{(continued)}"
    return ("\\begin{table}\n\\centering\\small\\setlength{\\tabcolsep}{4pt}\n%s\n%s%s\n\\end{table}\n"):format(head,
      table.concat(blocks, "\n\n\\medskip\n"), i == #pages and notes or "")
  end), "\n")
end

return M
