-- HTML that is also valid XML: escaped text, elements, tables (score_tables.lua), a whole page.
--
-- Input: text and tables. Output: text, which refers to no other file.

local colours = require("lab.study.report.figures.colours")
local escape = require("base.escape")
local lists = require("base.lists")
local sha256 = require("base.sha256")
local study_analyses = require("lab.study.report.page.study_analyses")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

-- Escapes a name, which a narrow column may break after underscores.
function M.escape_name(text)
  return (escape.html(text):gsub("_", "_<wbr/>"))
end

-- Makes the row of column titles. If cells have several texts, the titles of the texts (`subs`) have a second column.
local function make_head_row(contents)
  local span = #contents.subs > 1 and ' colspan="2"' or ""
  return ('<tr><th scope="col"%s>%s</th>%s</tr>'):format(span, escape.html(contents.corner), table.concat(lists.map(
    contents.columns, function(column) return ('<th scope="col">%s</th>'):format(M.escape_name(column.title)) end)))
end

-- Makes the cell of the i-th text of an entry. The first text links to the runs.
local function make_cell(entry, i)
  local text = escape.html(entry.texts[i] or ""):gsub("± ", "±\u{A0}") -- no line break after ±
  if i > 1 then
    return ("<td>%s</td>"):format(text)
  end
  local caution = entry.note and (' title="%s"'):format(escape.html(entry.note)) or ""
  if entry.number then
    text = ('<a href="#cell-%d"%s>%s</a>'):format(entry.number, caution, text)
  elseif entry.note then
    text = ("<span%s>%s</span>"):format(caution, text)
  end
  local class = entry.is_missing and ' class="missing"' or entry.is_best and ' class="best"' or ""
  local detail = entry.detail and (" <small>%s</small>"):format(escape.html(entry.detail)) or ""
  return ("<td%s>%s%s</td>"):format(class, text, detail)
end

local function make_row(contents, row)
  local count = #contents.subs
  return table.concat(lists.map(contents.subs, function(sub, i)
    local cells = lists.map(row.cells, function(entry) return make_cell(entry, i) end)
    local head = i == 1 and ('<th scope="%s"%s>%s</th>'):format(count > 1 and "rowgroup" or "row",
      count > 1 and (' rowspan="%d"'):format(count) or "", M.escape_name(row.title)) or ""
    local second = count > 1 and ('<th scope="row">%s</th>'):format(escape.html(sub)) or ""
    local class = i > 1 and ' class="beside"' or count > 1 and ' class="first"'
      or row.is_summary and ' class="last"' or ""
    return ("<tr%s>%s%s%s</tr>"):format(class, head, second, table.concat(cells))
  end), "\n")
end

local function make_notes(contents)
  local items = lists.map(contents.notes, function(note) return "<li>" .. escape.html(note) .. "</li>" end)
  return #items > 0 and ('\n<details class="notes"><summary>* %s</summary><ul>%s</ul></details>'):format(
    wording.count(#items, "note"), table.concat(items)) or ""
end

-- Makes a box that scrolls sideways if its table is wider than the page, also by keyboard.
function M.wrap(name, body)
  return ('<div class="wide" tabindex="0" role="group" aria-label="%s">%s</div>'):format(escape.html(name), body)
end

-- Makes a table. heading: the text above the table, which the caption does not repeat.
function M.make_table(contents, heading)
  local parts = {}
  parts[1] = contents.title ~= heading and escape.html(contents.title) or nil
  parts[#parts + 1] = contents.caption and contents.caption ~= contents.title and escape.html(contents.caption) or nil
  local separator = contents.caption and contents.caption:find("^%u") and ". " or ": "
  local caption = #parts > 0 and ("<caption>%s</caption>"):format(table.concat(parts, separator)) or ""
  local rows = lists.map(contents.rows, function(row) return make_row(contents, row) .. "\n" end)
  local body = ("<table>\n%s\n<thead>%s</thead>\n<tbody>\n%s</tbody></table>"):format(caption, make_head_row(contents),
    table.concat(rows))
  return M.wrap(contents.title or heading, body) .. make_notes(contents)
end

local FOLDER = select(2, ...):match("^.*/") -- the folder of this module

local function read_file(name)
  return assert(write.read(FOLDER .. name))
end

-- Makes a content security policy that allows only embedded pictures, inline styles and this script.
local function make_policy(script)
  return ("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-%s'; "
    .. "base-uri 'none'; form-action 'none'"):format(study_analyses.encode_base64((sha256.hash(script):gsub("%x%x",
    function(byte) return string.char(tonumber(byte, 16)) end))))
end

-- Removes all definitions of gnuplot's symbols but the first, since they are equal.
local function drop_repeated_symbols(text)
  local is_first = true
  return (text:gsub("<defs>.-</defs>", function(symbols)
    local kept_symbols = is_first and symbols or ""
    is_first = false
    return kept_symbols
  end))
end

-- Makes a page that needs no other files, with light and dark colours, for screen and print. page: { title, lead,
-- sections = { { title, body } } }, where lead and bodies are HTML. page.css and page.js are next to this module.
function M.make_page(page)
  local style = read_file("page.css"):gsub("LIGHT", colours.LIGHT):gsub("DARK", colours.DARK)
  local script = read_file("page.js")
  local links = lists.map(page.sections, function(section, i)
    return ('<li><a href="#part-%d">%s</a></li>'):format(i, escape.html(section.title))
  end)
  local bodies = lists.map(page.sections, function(section, i)
    return ('<section id="part-%d"><h2>%s</h2>\n%s\n</section>'):format(i, escape.html(section.title), section.body)
  end)
  return table.concat({
    '<!DOCTYPE html>',
    '<html lang="en" xmlns="http://www.w3.org/1999/xhtml">',
    '<head>', '<meta charset="utf-8"/>', '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
    ('<meta http-equiv="Content-Security-Policy" content="%s"/>'):format(make_policy(script)),
    ("<title>%s</title>"):format(escape.html(page.title)), "<style>", style .. "</style>", "</head>", "<body>",
    ("<header><h1>%s</h1>\n%s</header>"):format(escape.html(page.title), page.lead),
    '<nav aria-label="Contents"><ul>' .. table.concat(links, "\n") .. "</ul></nav>", "<main>",
    drop_repeated_symbols(table.concat(bodies, "\n")), "</main>",
    '<script type="module">' .. script .. "</script>", "</body>", "</html>", "",
  }, "\n")
end

return M
