-- Heat maps of a report: over axes of the grid, over lengths, and over two axes of evaluations.

local support = dofile("tests/lua/support.lua")

local cells = require("lab.study.read.cells")
local heat_maps = require("lab.study.report.figures.heat_maps")
local hostile = require("hostile")
local items = require("lab.study.report.items")
local lists = require("base.lists")
local lu = require("luaunit")
local open_study = require("lab.study.report.open_study")
local report = require("lab.study.report.report")
local reports = require("reports")

TestHeatMaps = {}

-- Returns the lines of the figure's CSV file, without the head of the file.
local function list_lines(figure)
  return lists.find_all(figure.file.text:gsub("^[^\n]*\n", ""), "([^\n]+)\n")
end

-- Returns the figure and the table of an item.
local function make_map(study, item)
  local figure, tables = heat_maps.make(study, lists.merge({ kind = "heat" }, item), "map")
  lu.assertNil(hostile.find_gnuplot_problem(figure.script))
  return figure, tables[1]
end

-- Rows and columns are axes of the study, and a number is the median over seeds.
function TestHeatMaps.test_over_the_grid()
  local study = reports.make_study("heat_grid", reports.SCORES)
  local figure, contents = make_map(study, { rows = "task", columns = "encoding" })
  lu.assertEquals(lists.collect(contents.rows, function(row)
    return lists.map(row.cells, function(entry) return entry.texts[1] end)
  end), { "52.0", "97.0", "30.0", "" })
  lu.assertEquals(figure.title, "Accuracy in percent by task and encoding")
  lu.assertNil(figure.caption:find("Framed", 1, true))
end

-- A number is the mean over seeds at a length; the shortest length is a training length.
function TestHeatMaps.test_over_lengths()
  local study = reports.make_study("heat_lengths", reports.SCORES)
  local figure = make_map(study, { rows = "encoding", columns = "length", panels = "task" })
  local lines = list_lines(figure)
  lu.assertEquals(#lines, 9)
  lu.assertStrContains(lines[1], "even_pairs,rope,5,accuracy,99,3,1")
  lu.assertStrContains(lines[2], "even_pairs,rope,20,accuracy,53,3,0")
  lu.assertStrContains(figure.caption, "Framed: training lengths")
  lu.assertStrContains(figure.script, "with vectors nohead lw 2 lc rgb 'black'")
end

-- A condition has the lengths of two operands. Conditions beyond training are not framed, and the condition (2, 1) is
-- missing.
function TestHeatMaps.test_over_two_axes_of_evaluations()
  local lines, dir = {}, nil
  for _, by in ipairs({ { 1, 1 }, { 1, 2 }, { 2, 2 } }) do
    lines[#lines + 1] = reports.make_eval_line(100, "test", ('"first":%d,"second":%d'):format(by[1], by[2]),
      0.25 * by[1] + 0.125 * by[2], by[2] > 1 and ',"beyond":["second"]' or "")
  end
  lines[#lines + 1] = reports.make_eval_line(100, "test", '"first":1', 0.5)
  for seed = 0, 1 do
    dir = reports.write_run("heat_pairs", "sums", seed, 0.1, { exit = 0, eval = table.concat(lines),
      facts = { data = { by = { "first", "second" } } } })
  end
  local root = reports.get_root(dir)
  local figure, contents = make_map(cells.read_folder(root), { rows = "first", columns = "second" })
  lu.assertEquals(list_lines(figure), { ",1,1,accuracy,37.5,2,1", ",1,2,accuracy,50,2,0", ",2,2,accuracy,75,2,0" })
  lu.assertEquals(lists.map(contents.rows, function(row) return { row.cells[1].texts[1], row.cells[2].texts[1] } end),
    { { "37.5", "50.0" }, { "", "75.0" } })
  local study = cells.read_folder(root)
  study.path, study.report = "s.lua", { { kind = "heat", rows = "frist", columns = "second" } }
  local _, message = items.check(study)
  lu.assertStrContains(message, 'report[1].rows: not an axis of the study or of its evaluations: "frist"')
  lu.assertStrContains(message, 'hint: did you mean first?')
end

function TestHeatMaps.test_without_scores()
  lu.assertNil(heat_maps.make(reports.make_study("heat_none", {}), { kind = "heat", rows = "task",
    columns = "encoding" }, "map"))
end

-- The page of a report contains the picture, and the report's folder the picture's files. The item's labels replace
-- names in the picture, but not in the CSV file.
function TestHeatMaps.test_report_with_a_heat_map()
  local study = reports.make_study("heat_report", reports.SCORES)
  local root = reports.get_root(study.cells[1].runs[1].dir)
  study.problems, study.report = {}, { { kind = "heat", rows = "encoding", columns = "length", panels = "task",
    labels = { rope = "RoPE" } } }
  local code, message = nil, nil
  support.replace_fields({ { open_study, "open", function() return study end } }, function()
    code, message = reports.run_verb(report.run, { project = reports.project, runs = root, out = root .. "/out",
      no_cache = true })
  end)
  lu.assertStrContains(support.read(root .. "/out/heat-length-task-encoding.csv"), "even_pairs,rope,5,accuracy,99,3,1")
  lu.assertStrContains(support.read(root .. "/out/heat-length-task-encoding.gnuplot"), "ytics ('RoPE' 0")
  if not reports.lacks_gnuplot(code, message) then
    lu.assertEquals(code, 0, message)
    lu.assertStrContains(support.read(root .. "/out/index.html"), '<img src="data:image/svg+xml;base64,PD94')
  end
end

os.exit(lu.LuaUnit.run())
