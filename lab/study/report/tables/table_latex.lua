-- Writes a table (score_tables.lua) as LaTeX with rules of the booktabs package, in consecutive parts of a few columns.
--
-- Input: a table. Output: the text of one `table` environment, which needs only \usepackage{booktabs}.

local lists = require("base.lists")
local escape = require("base.escape")

local M = {}

local MOST_VALUES = 12 -- the most columns of numbers that fit on a page
local MOST_NOTES = 10 -- with more notes, a table has only their number

local function format_cell(model, cell)
  return table.concat(lists.map(model.subs, function(_, i)
    local text = escape.latex(cell.texts[i] or ""):gsub("^([+-]%d[%d.]*)$", "$%1$")
    return i == 1 and cell.best and not cell.missing and ("\\textbf{%s}"):format(text) or text
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

local function format_part(model, from, to)
  local lines = { ("\\begin{tabular}{l%s}\n\\toprule"):format(("r"):rep((to - from + 1) * #model.subs)),
    format_heads(model, from, to) .. "\\midrule" }
  local summary = lists.find(model.rows, function(row) return row.last end)
  for _, row in ipairs(model.rows) do
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

function M.render(model)
  local step = math.max(1, MOST_VALUES // #model.subs)
  local parts = {}
  for from = 1, #model.columns, step do
    parts[#parts + 1] = format_part(model, from, math.min(from + step - 1, #model.columns))
  end
  local caption = escape.latex(model.title)
  if model.about and model.about ~= model.title then
    caption = caption .. (model.about:find("^%u") and ". " or ": ") .. escape.latex(model.about)
  end
  local notes = ""
  if #model.notes > 0 then
    local text = #model.notes <= MOST_NOTES and table.concat(model.notes, ". ")
      or ("%d cells have fewer runs than requested, or runs that differ; report.txt lists them"):format(#model.notes)
    notes = "\n\n\\smallskip\n\\raggedright\\footnotesize * " .. escape.latex(text)
  end
  return ("\\begin{table}\n\\centering\\small\n\\caption{%s}\n\\label{tab:%s}\n%s%s\n\\end{table}\n"):format(caption,
    model.name, table.concat(parts, "\n\n\\medskip\n"), notes)
end

return M
