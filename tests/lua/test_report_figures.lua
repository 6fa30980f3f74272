-- Figures of a report: curves, times, scores along an axis.

local support = dofile("tests/lua/support.lua")

local cells = require("lab.study.read.cells")
local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local draw = require("lab.study.report.figures.draw")
local figures = require("lab.study.report.figures.figures")
local figure_page = require("lab.study.report.page.figure")
local hostile = require("hostile")
local lists = require("base.lists")
local lu = require("luaunit")
local report_csv = require("lab.study.report.tables.report_csv")
local time_to_threshold = require("lab.study.report.tables.time_to_threshold")
local plans = require("plans")
local reports = require("reports")
local scales = require("lab.study.report.figures.scales")
local write = require("base.write")

local make_eval_line, write_run, make_scored_lines = reports.make_eval_line, reports.write_run,
  reports.make_scored_lines
local get_root, make_study, SCORES = reports.get_root, reports.make_study, reports.SCORES

TestFigures = {}

local CURVES = { kind = "curves", panels = "task", lines = "encoding" }

local function list_titles(figure)
  return lists.map(figure.panels, function(panel) return panel.title end)
end

function TestFigures.test_curves_by_length()
  local figure = figures.make_by_length(make_study("figure", SCORES), CURVES)
  lu.assertEquals(#figure.panels, 2)
  local panel = figure.panels[1]
  lu.assertEquals(panel.marks, { { 10 } })
  lu.assertEquals(#panel.curves, 8)
  local means = lists.filter(panel.curves, function(curve) return not curve.faint end)
  lu.assertEquals({ means[1].line, means[2].line, #means }, { "rope", "rand-rope", 2 })
  local mean = panel.curves[4].points
  lu.assertEquals({ mean[1][1], mean[2][1], mean[3][1] }, { 5, 20, 30 })
  lu.assertAlmostEquals(mean[2][2], 53, 1e-9)
end

-- Scores and curves of exact matches, which are 25% everywhere.
function TestFigures.test_exact_matches_instead_of_accuracy()
  local study = make_study("exact", SCORES, { split = "test", select = "test", metric = "exact_match" })
  lu.assertEquals(study.cells[1].summary.best_score, 25.0)
  local panel = figures.make_by_length(study, CURVES).panels[1]
  lu.assertEquals(panel.ylabel, "exact match")
  lu.assertEquals(panel.curves[1].points[1][2], 25.0)
end

-- A folder of two runs of each of two encodings. The runs' metrics have lines in and at the end of an epoch, and the
-- runs were evaluated on two sets during training. data: a field of run.json. Returns the folder as a study.
local function make_trained_study(name, data, encodings)
  local dir
  for i, encoding in ipairs(encodings or { "rope", "rand_rope" }) do
    for seed = 0, 1 do
      local metrics, during = {}, {}
      for n, line in ipairs({ { 5, 0, 0 }, { 15, 1, 0.25 }, { 20, 2, 0.5 }, { 25, 2, 0.5 } }) do
        local epoch = line[2] > 0 and (',"epoch":%d,"epoch_accuracy":%g'):format(line[2], line[3] + seed / 10) or ""
        metrics[n] = ('{"step":%d,"accuracy":0.125%s}\n'):format(line[1], epoch)
      end
      for n, set in ipairs({ "train", "test" }) do
        during[n] = ('{"step":20,"split":"during","set":"%s","by":{"vectors":1},"examples":5,"draws":1,'
          .. '"accuracy":%g}\n'):format(set, i / 10 + n / 100)
      end
      dir = write_run(name, "bucket_sort_" .. encoding, seed, 0.1, { exit = 0, metrics = table.concat(metrics),
        eval = table.concat(during) .. make_scored_lines(50), facts = { data = data } })
    end
  end
  return cells.read_folder(get_root(dir))
end

-- Epochs have 10 steps. Each whole epoch is one point of a curve, however many lines it has.
function TestFigures.test_accuracy_while_training()
  local item = { kind = "progress", lines = "encoding" }
  local figure = figures.make_by_epoch(make_trained_study("epochs", { epoch_batches = 10 }), item)
  lu.assertEquals(list_titles(figure), { "batches of training", "the training set, evaluated", "held out" })
  lu.assertEquals(figure.panels[1].xlabel, "epochs")
  local faint, second, mean = table.unpack(figure.panels[1].curves)
  lu.assertEquals({ faint.points, faint.faint }, { { { 1, 25 }, { 2, 50 } }, true })
  lu.assertEquals(second.points, { { 1, 35 }, { 2, 60 } })
  lu.assertEquals({ mean.points, mean.line }, { { { 1, 30 }, { 2, 55 } }, "rand_rope" })
  lu.assertEquals(figure.panels[3].curves[3].points, { { 2, 22 } })
  lu.assertStrContains(curves.make_script({ name = "progress1", title = figure.title, panels = figure.panels,
    legend = figure.legend }), "set xlabel 'epochs'")
  -- If runs do not record epochs, the axis has steps, and the accuracy is of windows of steps.
  figure = figures.make_by_epoch(make_trained_study("steps"), { kind = "progress", lines = "encoding",
    splits = { "epoch" } })
  lu.assertEquals({ #figure.panels, figure.panels[1].xlabel }, { 1, "steps" })
  lu.assertEquals(figure.panels[1].curves[1].points, { { 5, 12.5 }, { 15, 12.5 }, { 20, 12.5 }, { 25, 12.5 } })
  lu.assertNil(figures.make_by_epoch(make_study("nothing", SCORES), item))
end

-- Each value of an axis and each set has a panel; a loss that falls far has a logarithmic axis.
function TestFigures.test_loss_while_training()
  local study = make_study("losses", SCORES)
  for _, cell in ipairs(study.cells) do
    for _, run in ipairs(cell.summary.best_rate and cell.summary.best_rate.runs or {}) do
      assert(write.file(run.dir .. "/metrics.jsonl",
        '{"step":10,"loss":2,"accuracy":0.5}\n{"step":20,"loss":0.01,"accuracy":0.75}\n'))
    end
  end
  local item = { kind = "progress", panels = "task", lines = "encoding", splits = { "loss", "epoch" } }
  local figure = figures.make_by_epoch(study, item)
  lu.assertEquals(list_titles(figure), { "even_pairs: loss of training", "bucket_sort: loss of training",
    "even_pairs: batches of training", "bucket_sort: batches of training" })
  lu.assertEquals({ figure.title, figure.panels[1].y.log, figure.panels[3].y.log }, {
    "Loss and accuracy while training", 10, nil })
  lu.assertEquals(figure.panels[1].curves[4].points, { { 10, 2 }, { 20, 0.01 } })
  lu.assertStrContains(curves.make_script({ name = "x", title = "", panels = { figure.panels[1] } }),
    "set logscale y 10")
  item.splits = { "loss" }
  figure = figures.make_by_epoch(study, item)
  lu.assertEquals({ figure.title, figure.panels[2].title }, { "Loss while training", "bucket_sort" })
end

-- The numbers of an axis have shades in their order; names have their fixed colours.
function TestFigures.test_colours_along_an_axis()
  local styles = colours.choose_styles_along({ "2", "0.1", "0.5" })
  lu.assertEquals({ styles["0.1"].colour, styles["0.5"].colour, styles["2"].colour }, { "#440154", "#3b528b",
    "#21918c" })
  lu.assertEquals({ styles["0.1"].dark, styles["2"].dark }, { "#fde725", "#21918c" })
  for _, names in ipairs({ { "rope", "2" }, { "2d-fixed", "0.2", "1", "2" }, { "1", "none", "2", "3" } }) do
    lu.assertEquals(colours.choose_styles_along(names), colours.choose_styles(names))
  end
  lu.assertEquals(colours.choose_styles_along({ "2" }), colours.choose_styles({ "2" }))
  local study = make_trained_study("widths", nil, { "32", "64" })
  local lengths = figures.make_by_length(study, CURVES).legend
  lu.assertEquals({ lengths[1].style.colour, lengths[2].style.colour }, { "#440154", "#21918c" })
  lu.assertEquals(figures.make_by_epoch(study, { kind = "progress", lines = "encoding" }).legend, lengths)
end

function TestFigures.test_runs_that_were_evaluated_only_beyond_training()
  local text = make_eval_line(100, "beyond", 20, 0.5) .. make_eval_line(100, "beyond", 30, 0.25)
  local dir = write_run("beyond", "bucket_sort_rope", 1, 0.1, { exit = 0, eval = text })
  local figure = figures.make_by_length(cells.read_folder(get_root(dir)), CURVES)
  lu.assertEquals(figure.panels[1].curves[1].points, { { 20, 50.0 }, { 30, 25.0 } })
end

-- Along the digits of addition, the axis names the digits and the training frame instead of a length.
function TestFigures.test_digits_have_their_frame()
  local spec = reports.make_spec("addition")
  spec.task.options = { width = 61 }
  local dir = write_run("digits", "bucket_sort_rope", 1, 0.1, { exit = 0,
    eval = make_eval_line(100, "test", '"digits":6', 0.5),
    facts = { data = { train = "addition", by = { "digits" } }, spec = spec } })
  local figure = figures.make_by_length(cells.read_folder(get_root(dir)), CURVES)
  lu.assertEquals({ figure.panels[1].xlabel, figure.title }, { "significant digits, in a frame of 61",
    "Accuracy by significant digits, in a frame of 61" })
end

-- If the axis is not the length, the sets train and test have the same numbers on it. The curve shows the set test.
function TestFigures.test_curves_along_another_axis()
  local text = make_eval_line(100, "train", '"vectors":1', 1) .. make_eval_line(100, "train", '"vectors":2', 1)
    .. make_eval_line(100, "test", '"vectors":1', 0.75) .. make_eval_line(100, "test", '"vectors":2', 0.5)
  local dir = write_run("vectors", "bucket_sort_rope", 1, 0.1, { exit = 0, eval = text,
    facts = { data = { train = "latin_square", by = { "vectors" } } } })
  local study = cells.read_folder(get_root(dir))
  local figure = figures.make_by_length(study, CURVES)
  lu.assertEquals(figure.panels[1].curves[1].points, { { 1, 75.0 }, { 2, 50.0 } })
  lu.assertEquals({ figure.panels[1].xlabel, #figure.panels[1].marks, figure.title }, { "vectors", 0,
    "Accuracy by vectors" })
  local path = support.write("vectors.csv", "")
  local file = assert(io.open(path, "wb"))
  assert(report_csv.make_files(study)[2].write(file))
  file:close()
  lu.assertStrContains(support.read(path), ",100,test,2,50,1,,0.5,,0.25,,,,,0.5,,vectors,,,,,,\n")
end

function TestFigures.test_script_is_whole()
  local figure = figures.make_by_length(make_study("script", SCORES), CURVES)
  figure.name = "curves1"
  local text = curves.make_script(figure)
  lu.assertStrContains(text, "set output 'curves1.svg'")
  lu.assertStrContains(text, "set output 'curves1.pdf'")
  lu.assertStrContains(text, "set output 'curves1.png'")
  local blocks = select(2, text:gsub("%$curve%d+ << EOD", ""))
  lu.assertEquals(blocks, 8 + #figure.panels[2].curves)
end

function TestFigures.test_long_curves_are_thinned()
  local points = {}
  for i = 1, 250 do
    points[i] = { i, 2 * i }
  end
  local thin = curves.thin(points)
  lu.assertEquals({ #thin, thin[1], thin[84] }, { 84, { 2, 4 }, { 250, 500 } })
  lu.assertEquals(curves.thin({ { 1, 1 } }), { { 1, 1 } })
end

-- A study of two encodings and three seeds; two seeds reach an accuracy of 90% at step 50, after 500 s or 50 s.
local function make_timed_study()
  local study = { name = "t", title = "T", path = "t.lua", cells = {},
    axes = { { name = "encoding", values = { "relative", "rand-relative" } } } }
  local seconds_per_step = { relative = 10, ["rand-relative"] = 1 }
  local dir
  for _, encoding in ipairs(study.axes[1].values) do
    local id = encoding:gsub("-", "_")
    local cell = { key = { encoding = encoding }, id = id, runs = {}, spec = { plan = {} } }
    for seed = 0, 2 do
      local during, metrics = {}, {}
      for i = 1, 4 do
        during[i] = make_eval_line(25 * i, "during", 20, (seed == 2 and 0.5 or 0.8) + 0.05 * i)
        metrics[i] = ('{"step":%d,"seconds":%g}\n'):format(25 * i, 25 * i * seconds_per_step[encoding])
      end
      dir = write_run("timed", id, seed, 0.1, { exit = 0, eval = table.concat(during) .. make_scored_lines(90),
        metrics = table.concat(metrics) })
      cell.runs[seed + 1] = { seed = seed, learning_rate = 0.1, dir = dir:match("([^/]+/[^/]+/[^/]+)$") }
    end
    study.cells[#study.cells + 1] = cell
  end
  return cells.read_study(study, get_root(dir))
end

-- The first text of each of the three cells of each row.
local function list_texts(contents)
  return lists.map(contents.rows, function(row)
    return { row.cells[1].texts[1], row.cells[2].texts[1], row.cells[3].texts[1] }
  end)
end

function TestFigures.test_time_to_a_threshold()
  local figure, tables = figures.make_by_time(make_timed_study(), { kind = "time", lines = "encoding",
    slow = "relative", fast = "rand-relative", published = 35.4, threshold = 90 })
  lu.assertEquals(#figure.panels[1].curves, 8)
  lu.assertEquals(list_texts(tables[1]), { { "2 of 3", "8 min 20 s", "8 min 20 s" }, { "2 of 3", "50 s", "50 s" },
    { "", "10.0 times", "10.0 times" } })
end

-- A run reaches a threshold at its first evaluation during training at or above it; a row without such a run is blank.
function TestFigures.test_steps_and_time_to_a_threshold()
  local function get_texts(threshold)
    local contents = time_to_threshold.make_table(make_timed_study(),
      { kind = "reached", rows = "encoding", threshold = threshold })
    return list_texts(contents), contents
  end
  local texts, contents = get_texts(90)
  lu.assertEquals(texts, { { "50 ± 0", "8.33 ± 0.00", "2 of 3" }, { "50 ± 0", "0.83 ± 0.00", "2 of 3" } })
  lu.assertEquals({ contents.columns[1].title, contents.columns[2].title }, { "steps", "minutes" })
  lu.assertStrContains(contents.title, "Steps and minutes of training to 90% accuracy on the set test")
  lu.assertEquals(get_texts(70), { { "50 ± 43", "8.33 ± 7.22", "3 of 3" }, { "50 ± 43", "0.83 ± 0.72", "3 of 3" } })
  lu.assertEquals(get_texts(100.5), { { "", "", "0 of 3" }, { "", "", "0 of 3" } })
end

function TestFigures.test_scores_along_an_axis()
  local study = make_study("axis", SCORES)
  study.axes[2] = { name = "range", values = { "1024", "2048" } }
  for i, cell in ipairs(study.cells) do
    cell.key = { task = cell.key.task, range = ({ "1024", "2048" })[(i - 1) % 2 + 1] }
  end
  local figure = figures.make_along_axis(study, { kind = "axis", x = "range", lines = "task" })
  local curve = figure.panels[1].curves[1]
  lu.assertEquals({ curve.line, #curve.points, curve.points[1][1], curve.points[2][1] },
    { "even_pairs", 2, 1024, 2048 })
  lu.assertAlmostEquals(curve.points[2][2], 97, 1e-9)
  lu.assertAlmostEquals(curve.band[2][2], 95, 1e-9)
  lu.assertAlmostEquals(curve.band[2][3], 99, 1e-9)
  lu.assertStrContains(figure.caption, "bands: from lowest to highest seed")
  figure = figures.make_along_axis(study, { kind = "axis", x = "range", lines = "task", show = "max" })
  curve = figure.panels[1].curves[1]
  lu.assertEquals({ curve.line, figure.panels[1].curves[2].line }, { "even_pairs, best", "even_pairs, mean" })
  lu.assertAlmostEquals(curve.points[2][2], 99, 1e-9)
end

-- The points of a curve ascend for any order of the study's values. The axis is linear if a value is zero.
function TestFigures.test_scores_along_an_axis_in_any_order()
  local study = make_study("order", SCORES)
  study.axes = { { name = "dropout", values = { "0.5", "0" } } }
  for i, cell in ipairs(study.cells) do
    cell.key = { dropout = ({ "0.5", "0", "?", "?" })[i] }
  end
  local panel = figures.make_along_axis(study, { kind = "axis", x = "dropout" }).panels[1]
  lu.assertEquals({ panel.curves[1].points[1][1], panel.curves[1].points[2][1] }, { 0, 0.5 })
  lu.assertEquals({ panel.curves[1].line, panel.x.log, panel.x[1] < 0 }, { "median", nil, true })
end

-- The line of a value has the same style on a page of some values and on one of all.
function TestFigures.test_styles_do_not_depend_on_the_selected_values()
  local study = make_study("agree", SCORES)
  study.axes[2].values = { "my-4", "my-8" }
  for i, cell in ipairs(study.cells) do
    cell.key.encoding = i % 2 == 1 and "my-4" or "my-8"
  end
  local item = { kind = "curves", panels = "task", lines = "encoding" }
  local entry = figures.make_by_length(study, item).legend[2]
  local page_entry = figures.make_by_length(cells.select(study, nil, { encoding = { "my-8" } }), item).legend[1]
  lu.assertEquals({ page_entry, entry.title }, { entry, "my-8" })
end

TestPicture = {}

-- A curve of three seeds has a band: at each length, the quartiles of all runs of the best learning rate.
function TestPicture.test_bands_are_quartiles()
  local panel = figures.make_by_length(make_study("bands", SCORES), CURVES).panels[1]
  local bold = panel.curves[4]
  lu.assertEquals({ #bold.band, bold.band[2][1], bold.cell, bold.line }, { 3, 20, 1, "rope" })
  lu.assertAlmostEquals(bold.band[2][2], 52, 1e-9)
  lu.assertAlmostEquals(bold.band[2][3], 54, 1e-9)
  lu.assertEquals({ panel.shade, panel.marks }, { { 1, 10 }, { { 10 } } })
  local script = curves.make_script({ name = "x", title = "", panels = { panel } })
  lu.assertStrContains(script, "$band4 << EOD\n5 99 99\n20 52 54\n30 50 52\nEOD")
  lu.assertStrContains(script, "$band4 using 1:2:3 notitle with filledcurves")
end

-- If most values are near 100, the axis shows the distance from 100 and is labelled so; a loss has a logarithmic axis.
function TestPicture.test_scales_fit_the_curves()
  local function make_panel(percent, ...)
    local panel = { percent = percent, curves = { { points = {} } } }
    for x, y in ipairs({ ... }) do
      panel.curves[1].points[x] = { x, y }
    end
    scales.fit_panel(panel)
    return panel
  end
  lu.assertEquals(make_panel(true, 99, 99.5, 60).y, { 0, 100, zoom = true })
  lu.assertEquals(make_panel(true, 99, 60, 50).y, { 0, 100 })
  lu.assertEquals(make_panel(true, 100, 100, 100).y, { 0, 100 })
  lu.assertEquals(make_panel(false, 2, 1, 0.01).y.log, 10)
  lu.assertEquals(make_panel(false, 2, 1, 0).y, { 0, 2.1 })
  local zoomed_axis = make_panel(true, 99, 99.5, 60).y
  lu.assertStrContains(scales.make_label("accuracy", zoomed_axis), "zoomed")
  lu.assertEquals({ scales.choose_step(100), scales.choose_step(11) }, { 50.0, 5.0 })
end

-- The pictures of a figure on a page, drawn by gnuplot; nil if it is not installed.
local function list_pictures(figure)
  local files = { { path = figure.name .. ".gnuplot", text = curves.make_script(figure) } }
  local problem, pictures = draw.add(files, { figure.name }, { curves.make_page(figure) })
  if problem then
    lu.assertStrContains(problem, "to install it: apt-get install gnuplot-nox")
    lu.skip(problem)
  end
  lu.assertEquals({ #files, files[3].path, files[3].text:sub(1, 5) }, { 4, figure.name .. ".pdf", "%PDF-" })
  return pictures
end

-- The page's figure has every number in a table, whose columns link to runs, and a description of the picture.
function TestPicture.test_figure_of_the_page()
  local study, plan = make_study("page", SCORES), plans.make_plan({ ["train.lengths"] = "{ 1, 10 }" })
  study.get_plan = function(cell) return cell.key.task == "even_pairs" and plan end
  local figure = figures.make_by_length(study, CURVES)
  figure.name = "curves"
  local body = figure_page.make_body(figure, {})
  lu.assertNil(hostile.find_xml_problem(body))
  lu.assertStrContains(body, '<th scope="col" data-line="1"><a href="#cell-1">rope</a></th>')
  lu.assertStrContains(body, '<th scope="row">20</th><td data-line="1">53.00 <small>(52.00 to 54.00)</small></td>')
  lu.assertStrContains(body, '<details class="numbers" open="open">')
  lu.assertNil(body:find("<svg", 1, true))
  body = figure_page.make_body(figure, list_pictures(figure))
  lu.assertNil(hostile.find_xml_problem(body))
  lu.assertStrContains(body, 'aria-label="even_pairs: token accuracy in percent by length. rope: 99.00 at 5, 51.00 at '
    .. '30; rand-rope: 99.00 at 5, 96.00 at 30."')
  lu.assertStrContains(body, 'aria-label="novelty in percent by length. new positions: 0.0 at 5, 66.7 at 30; new '
    .. 'distances: 0.0 at 5, 45.6 at 30; more keys: 0.0 at 5, 100.0 at 30."')
  lu.assertEquals(select(2, body:gsub("novelty in percent", "")), 1)
  lu.assertEquals(select(2, body:gsub('<li data%-toggle="%d">', "")), 5)
  -- In a panel, gnuplot draws a band, faint curves of three seeds, and the mean of each line.
  local first = body:match('<div class="plot".-</svg>')
  lu.assertEquals(select(2, first:gsub('<g class="line" data%-line="1"', "")), 5)
  lu.assertEquals(select(2, first:gsub('<g class="line" data%-line="2"', "")), 5)
  lu.assertNil(first:find("rgb(", 1, true))
  lu.assertNil(body:find("gnuplot_", 1, true))
end

-- Names of untrusted runs are escaped on the page and in gnuplot's pictures.
function TestPicture.test_names_of_lines_are_text()
  for i, text in ipairs(hostile.TEXTS) do
    local style = colours.choose_style(text)
    local panel = { title = text, xlabel = text, ylabel = text, x = { 0, 1 }, y = { 0, 1 }, levels = { { 1, text } },
      curves = { { points = { { 0, 1 }, { 1, 0 } }, style = style, title = text, line = text } } }
    local figure = { name = "hostile", panels = { panel }, caption = text,
      legend = { { title = text, style = style } } }
    lu.assertNil(hostile.find_xml_problem(figure_page.make_body(figure, {})), text)
    if i % 6 == 0 then
      lu.assertNil(hostile.find_xml_problem(figure_page.make_body(figure, list_pictures(figure))), text)
    end
  end
end

support.run()
