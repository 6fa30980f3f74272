-- The HTML page of a report.
--
-- Input: a report (make_report of report.lua); the bytes of pictures, SVG and PNG, by the name of the file. Output: the
-- page, whose numbers link to runs.

local seeds = require("lab.study.read.seeds")
local study_analyses = require("lab.study.report.page.study_analyses")
local figure = require("lab.study.report.page.figure")
local html = require("lab.study.report.page.html")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local readings = require("lab.study.read.readings")
local escape = require("base.escape").html
local score_tables = require("lab.study.report.tables.score_tables")
local wording = require("base.wording")

local M = {}

local MAX_SVG_BYTES = 1 << 20

local function make_paragraph(text, class)
  return ("<p%s>%s</p>"):format(class and (' class="%s"'):format(class) or "", escape(text))
end

local function make_code_block(text)
  return ("<p><code>%s</code></p>"):format(escape(text))
end

-- Makes a table in a box with a name.
--   rows    lists of HTML texts: the title of the row, then cells, with or without <td>
--   class   the CSS class of the table, or nil
local function make_boxed_table(name, caption, heads, rows, class)
  local titles = lists.map(heads, function(head) return ('<th scope="col">%s</th>'):format(head) end)
  local lines = lists.map(rows, function(row)
    return ('<tr><th scope="row">%s</th>%s</tr>'):format(row[1], table.concat(lists.map({ table.unpack(row, 2) },
      function(cell) return cell:find("^<td") and cell or ("<td>%s</td>"):format(cell) end)))
  end)
  return html.wrap(name, ('<table%s><caption>%s</caption><thead><tr>%s</tr></thead><tbody>%s</tbody></table>'):format(
    class and (' class="%s"'):format(class) or "", escape(caption), table.concat(titles), table.concat(lines, "\n")))
end

local function make_settings(report)
  local paper = report.paper
  local rows = lists.map(report.settings, function(item)
    local paper_value = paper and escape(item.paper or "")
    paper_value = item.differs and ('<td class="flag">%s</td>'):format(paper_value) or paper_value
    return { escape(item.name), escape(item.value), paper_value }
  end)
  return make_boxed_table("What was run", "What was run" .. (paper and ", and what the paper ran" or ""),
    { "setting", "here", paper and "paper" }, rows, "facts")
end

-- Makes the table of readings, the interpretations of papers that the runs used.
local function make_readings(report)
  local rows = lists.map(report.readings, function(item) return { escape(item.question), escape(item.text) } end)
  return make_boxed_table("Readings", readings.TITLE, { "question", "answer" }, rows, "facts")
end

local function make_run_row(run, form)
  local notes = #run.notes > 0 and (" <small>%s</small>"):format(escape(table.concat(run.notes, "; "))) or ""
  return { run.seed and seeds.format(run) or "?", run.learning_rate and ("%g"):format(run.learning_rate) or "?",
    escape(run.state) .. notes, run.score and form:format(run.score) or "",
    run.test and ("%d"):format(run.test.step) or "", ('<td class="facts"><code>%s</code></td>'):format(escape(run.dir)),
    ("<code>%s</code>"):format(escape(table.concat(run.facts.flags or {}, " "))) }
end

local function make_cell(report, cell)
  local form, summary = metrics.by_name[report.study.scored.metric].form, cell.summary
  local rows = lists.map(cell.runs, function(run) return make_run_row(run, form) end)
  local facts = lists.map(summary.differences, function(difference)
    return make_paragraph("Runs differ in " .. difference, "flag")
  end)
  facts[#facts + 1] = cell.changes and make_paragraph("Runs of an earlier version, which a sweep would train anew: "
    .. cell.changes, "flag") or nil
  local name = score_tables.format_key(report.study, cell)
  local heads = { "seed", "learning rate", "state", "score", "step", "folder", "flags of the trainer" }
  return ('<details id="cell-%d"><summary>%s: %d of %s%s</summary>%s%s%s</details>'):format(cell.number, escape(name),
    summary.evaluated, wording.count(summary.requested, "run"),
    summary.best_score and (", best %s"):format(form:format(summary.best_score)) or "",
    make_code_block(report.format_command(cell)),
    table.concat(facts), make_boxed_table("Runs of " .. name, "Runs of " .. name, heads, rows))
end

-- Makes an <img>, in which a picture runs no scripts, so it need not be trusted. bytes: a PNG, gnuplot's SVG, or nil.
local function make_image(bytes, alternative, caption)
  if not bytes then
    return make_paragraph("no picture", "flag")
  end
  local width = bytes:match('^<%?xml.-<svg[^<>]* viewBox="0 0 (%d+) ')
  return ('<figure><img src="data:image/%s;base64,%s"%s alt="%s"/>%s</figure>'):format(width and "svg+xml" or "png",
    study_analyses.encode_base64(bytes), width and (' width="%s"'):format(width) or "", escape(alternative), caption
    and ("<figcaption>%s</figcaption>"):format(escape(caption)) or "")
end

-- Makes the picture of a heat map. An SVG has an element for every square, so the PNG replaces a very large SVG.
local function make_heat_map(heat_map, pictures)
  local svg = pictures[heat_map.name .. ".svg"]
  return make_image(svg and #svg > MAX_SVG_BYTES and pictures[heat_map.name .. ".png"] or svg, heat_map.title,
    heat_map.caption)
end

-- Makes the picture and the text of an analysis. The picture is a PNG, since an SVG would have an element for every
-- point of a scatter plot.
local function make_analysis(analysis)
  local picture = make_image(analysis.png, analysis.name)
  local text = analysis.text:gsub("[^\n]+", escape)
  return picture .. html.wrap(analysis.name, ("<pre>%s</pre>"):format(text))
end

function M.render(report, pictures)
  local sections = {}
  local function add(title, body)
    sections[#sections + 1] = { title = title, body = body }
  end
  for _, section in ipairs(report.sections) do
    add(section.title, section.table and html.make_table(section.table, section.title)
      or section.script and make_heat_map(section, pictures)
      or figure.make_body(section, pictures))
  end
  for _, analysis in ipairs(report.analyses or {}) do
    add(("Analysis: %s"):format(analysis.name), make_analysis(analysis))
  end
  local tables = lists.map(report.every_cell, function(contents) return html.make_table(contents) end)
  add("Every cell", table.concat(tables, "\n"))
  if #report.readings > 0 then
    add("Readings", make_readings(report))
  end
  local cells = lists.map(report.study.cells, function(cell) return make_cell(report, cell) end)
  add("Runs", make_paragraph("Each number above links to its runs below, with the command that makes them.")
    .. table.concat(cells, "\n"))
  if #report.problems > 0 then
    local items = lists.map(report.problems, function(text) return "<li>" .. escape(text) .. "</li>" end)
    add("What could not be read", "<ul>" .. table.concat(items, "\n") .. "</ul>")
  end
  local lead = lists.map(report.lead, function(paragraph) return make_paragraph(paragraph.text, paragraph.is_flagged
    and "flag") end)
  return html.make_page({ title = report.title, lead = table.concat(lead, "\n") .. make_settings(report)
    .. make_code_block(report.command), sections = sections })
end

return M
