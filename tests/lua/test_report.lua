-- Whole reports: the page for a browser, and settings and readings (interpretations) next to a paper's.

local support = dofile("tests/lua/support.lua")

local cells = require("lab.study.read.cells")
local study_analyses = require("lab.study.report.page.study_analyses")
local grid = require("lab.study.grid.grid")
local lu = require("luaunit")
local published = require("lab.study.read.published")
local readings = require("lab.study.read.readings")
local report_items = require("lab.study.report.items")
local lists = require("base.lists")
local open_study = require("lab.study.report.open_study")
local report = require("lab.study.report.report")
local reports = require("reports")
local runs = require("lab.study.read.runs")
local settings = require("lab.study.report.settings")

local make_eval_line, make_spec, make_study = reports.make_eval_line, reports.make_spec, reports.make_study
local get_root, run_verb, SCORES, project = reports.get_root, reports.run_verb, reports.SCORES, reports.project

-- The first anchor of a page that is defined twice, or linked and not defined; nil if there is none.
local function find_bad_anchor(page)
  local anchors = {}
  for id in page:gmatch(' id=["\']([^"\']+)') do
    if anchors[id] then
      return "twice: " .. id
    end
    anchors[id] = true
  end
  for target in page:gmatch('href=["\']([^"\']+)') do
    if not anchors[target:match("^#(.*)$") or 0] then
      return "leads nowhere: " .. target
    end
  end
end

-- Checks that elements are nested, headers have a scope, links lead to anchors of the page, and nothing is loaded;
-- returns a problem, or nil.
local function find_page_problem(page)
  local open_tags, bad_anchor = {}, find_bad_anchor(page)
  if bad_anchor then
    return bad_anchor
  end
  for slash, name, attributes in page:gsub("<style>.-</style>", ""):gmatch("<(/?)([%a][%w]*)([^>]*)>") do
    if slash == "/" then
      if table.remove(open_tags) ~= name then
        return "closes an element that is not open: " .. name
      end
    elseif name == "th" and not attributes:find("scope=") then
      return "a header without scope"
    elseif attributes:sub(-1) ~= "/" then
      open_tags[#open_tags + 1] = name
    end
  end
  return #open_tags > 0 and "left open: " .. open_tags[#open_tags]
    or select(2, page:gsub("<script", "")) > 1 and "several scripts"
    or page:gsub('src="data:image/png;base64,[%w+/]*=*"', ""):match('src="[^"]*') or nil
end

TestPage = {}

function TestPage.test_the_checker_finds_mistakes()
  lu.assertStrContains(find_page_problem("<p><b>x</p></b>"), "closes")
  lu.assertStrContains(find_page_problem("<p>"), "left open")
  lu.assertStrContains(find_page_problem("<th>x</th>"), "without scope")
  lu.assertStrContains(find_page_problem('<a href="#x">x</a>'), "leads nowhere")
  lu.assertStrContains(find_page_problem('<p id="a"/><p id="a"/>'), "twice")
  lu.assertNil(find_page_problem('<p id="a"><a href="#a">x</a></p>'))
end

-- Runs the whole verb on the runs of a folder; without gnuplot all files but the pictures are written.
function TestPage.test_report_of_a_folder()
  local root = get_root(make_study("whole", SCORES).cells[1].runs[1].dir)
  local code, message, output = run_verb(report.run, { project = project, runs = root })
  lu.assertTrue(code == 0 or reports.lacks_gnuplot(code, message), message)
  local page = support.read(root .. "/report/index.html")
  lu.assertNil(find_page_problem(page))
  lu.assertStrContains(page, "even_pairs_rope/0123456789abcdef/lr0.1-seed0")
  lu.assertStrContains(page, "<code>--seed 0</code>")
  lu.assertStrContains(page, code == 0 and '<g class="line" data-line="1"' or '<p class="flag">no picture</p>')
  local text = support.read(root .. "/report/report.txt")
  lu.assertStrContains(text, "13 of 14 runs have a score (1 failed)")
  lu.assertStrContains(text, "lr0.1-seed1: failed, exit code 1")
  lu.assertStrContains(output, "13 of 14 runs have a score (1 failed)")
  lu.assertStrContains(support.read(root .. "/report/tables.tex"), "\\toprule")
end

-- Labels replace names of values in tables and figures; the names of files do not depend on other items.
function TestPage.test_labels_and_names_of_files()
  local study = make_study("named", SCORES)
  local root = get_root(study.cells[1].runs[1].dir)
  local curves = { kind = "curves", panels = "task", lines = "encoding", labels = { rope = "RoPE" }, width = 85 }
  local function write_report(name, list)
    study.report, study.problems = list, {}
    support.replace_fields({ { open_study, "open", function() return study end } }, function()
      run_verb(report.run, { project = project, runs = root, out = root .. name, no_cache = true })
    end)
    return support.read(root .. name .. "/curves-encoding-task.gnuplot"), support.read(root .. name .. "/index.html"),
      support.read(root .. name .. "/tables.tex")
  end
  local script, page, tex = write_report("/one", { curves })
  lu.assertStrContains(script, "title 'RoPE'")
  lu.assertStrContains(script, "set terminal pdfcairo noenhanced size 8.50cm,")
  lu.assertStrContains(page, '<a href="#cell-1">RoPE</a>')
  local changed, _, longer = write_report("/two", { { kind = "table", value = "max", rows = "encoding",
    columns = "task", labels = { rope = "RoPE" } }, { kind = "curves", panels = "task", lines = "encoding",
    only = { encoding = { "rope" } } }, curves })
  lu.assertEquals(changed, script)
  lu.assertStrContains(longer, "\\label{tab:table-task-encoding-max}")
  lu.assertStrContains(longer, "\nRoPE & ")
  lu.assertNil(tex:find("RoPE", 1, true))
  _, _, tex = write_report("/sets", { { kind = "splits", rows = "encoding", splits = { "beyond", "epoch" },
    where = { task = "even_pairs" } }, curves })
  lu.assertStrContains(tex, "\\label{tab:splits-encoding-beyond-batch_accuracy-task-even_pairs}")
  study.labels = { rope = "Rotary", ["rand-rope"] = "Random" } -- an item's labels replace the study's labels
  script = write_report("/labelled", { curves })
  lu.assertStrContains(script, "title 'RoPE'")
  lu.assertStrContains(script, "title 'Random'")
end

function TestPage.test_labels_and_widths_are_checked()
  local study = make_study("checked", SCORES)
  for fields, expected in pairs({
    [{ labels = { rop = "RoPE" } }] =
      'labels.rop: not a value of an axis: "rop"\n  expected: one of: even_pairs, bucket',
    [{ labels = { rope = 3 } }] = "labels.rope: 3 is not a text",
    [{ width = 8.5 }] = "width: 8.5 is not a width of a figure\n  expected: millimetres from 40 to 400",
  }) do
    study.report = { lists.merge({ kind = "curves", panels = "task", lines = "encoding" }, fields) }
    local list, message = report_items.check(study)
    lu.assertNil(list)
    lu.assertStrContains(message, "report[1]." .. expected)
  end
end

-- The page shows the picture of an analysis, which is in a folder next to the runs. It does not show a file that has
-- the name of a picture, but is no PNG.
function TestPage.test_analyses_next_to_the_runs()
  local root = get_root(make_study("beside", SCORES).cells[1].runs[1].dir)
  support.write("beside/compare/compare.txt", "mean <b> & sd\n")
  support.write("beside/compare/compare.png", "\137PNG\r\n\26\n\0")
  support.write("beside/tables/tables.txt", "distances\n")
  support.write("beside/tables/tables.png", "<svg onload='x'/>")
  run_verb(report.run, { project = project, runs = root })
  local page = support.read(root .. "/report/index.html")
  lu.assertNil(find_page_problem(page))
  lu.assertStrContains(page, "<h2>Analysis: compare</h2>\n<figure><img src=\"data:image/png;base64,iVBORw0KGgoA\"")
  lu.assertStrContains(page, "<pre>mean &lt;b&gt; &amp; sd\n</pre>")
  lu.assertStrContains(page, '<h2>Analysis: tables</h2>\n<p class="flag">no picture</p>')
  lu.assertNotStrContains(page, "onload")
end

local STUDY = [[
return {
  title = "probe", seeds = { 0, 0 }, learning_rates = { 0.1 },
  base = { task = { kind = "reverse_string" }, model = { use = "small_encoder" }, train = { steps = 7 } },
  axes = {
    { name = "m", values = { { name = "a", spec = {} }, { name = "b", spec = { train = { steps = 8 }, %s }, %s } } },
    { name = "w", values = { { name = "s", spec = {} }, { name = "t", spec = { train = { batch = 9 } } } } },
  },
  report = { %s },
}]]

-- Prints the report of STUDY, whose cells of w = "s" are evaluated at 1 and 2 vectors. items: text of its items; value,
-- spec: texts of further fields of m's second value and of its spec. Returns the text and the study's path.
local function report_probe(name, items, value, spec)
  local path = support.write(name .. "/probe.lua", STUDY:format(spec or "", value or "", items))
  local study = assert(grid.expand(project, path, { reading = true }))
  for i, cell in ipairs(study.cells) do
    local accuracy = i / 10 + 0.05
    if cell.key.w == "s" and cell.spec then
      reports.write_run(name, cell.id, 0, 0.1, { exit = 0, digest = cell.spec.plan.digest,
        eval = make_eval_line(7, "test", '"vectors":1', accuracy) .. make_eval_line(7, "test", '"vectors":2', accuracy),
        facts = { data = { by = { "vectors" } } } })
    end
  end
  return select(3, run_verb(report.run, { project = project, runs = path:match("^(.*)/"), study = path })), path
end

-- The table of an axis value without a score still names the axis "vectors", not "length".
function TestPage.test_a_page_without_scores_has_the_axis_of_the_study()
  local text = report_probe("paged", '{ kind = "numbers", rows = "m", at = { 1, 2 }, pages = "w" }')
  lu.assertStrContains(text, "15.0")
  lu.assertStrContains(text, "missing")
  lu.assertNotStrContains(text, "by length")
  lu.assertNotStrContains(text, "length 1")
end

-- The field `only` of an item can select values of the axis that the field `over` joins. The report names an item
-- without a matching cell.
function TestPage.test_only_on_the_joined_axis_and_items_without_cells()
  local text = report_probe("joined", '{ kind = "table", value = "mean", rows = "w", over = "m", '
    .. 'only = { m = { "b" } } }, { kind = "table", value = "max", rows = "m", where = { w = "t" }, '
    .. 'only = { m = { "b" } } }', 'with = { w = { "s" } }')
  lu.assertStrMatches(text:match("\ns +[^\n]*"), "\ns +35.0.*")
  lu.assertStrContains(text:gsub("\n", " "), "report[2] (table) is left out: no cell of the study fits the item's "
    .. "`where`, `only` and `pages`.")
  lu.assertNotStrContains(text, "report[1]")
end

-- If an initial checkpoint is missing, the report lacks only the runs that began with the checkpoint; a sweep stops.
function TestPage.test_a_missing_checkpoint()
  local text, path = report_probe("gone", '{ kind = "table", value = "max", rows = "m", columns = "w" }', "",
    'init = "no.safetensors"')
  lu.assertStrContains(text, "1 of 4 runs has a score (1 missing, 2 waiting)")
  lu.assertStrContains(text, "15.0")
  lu.assertStrMatches(text:match("What could not be read\n(.*)$"), "  b_s: init: [^\n]*no.safetensors is missing; "
    .. "the folder of these runs is unknown without the checkpoint\n  b_t: .*")
  local study, message = grid.expand(project, path)
  lu.assertNil(study)
  lu.assertStrContains(message, "no.safetensors")
end

function TestPage.test_base64_of_all_lengths()
  for bytes, text in pairs({ [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foobar = "Zm9vYmFy",
    ["\255\n\0\251"] = "/woA+w==" }) do
    lu.assertEquals(study_analyses.encode_base64(bytes), text)
  end
end

-- Runs that trained on a file have the spec's name as their task and title, and the training lengths that the trainer
-- recorded.
function TestPage.test_runs_on_examples_of_a_file()
  local spec = make_spec("bucket_sort")
  spec.task, spec.train.lengths, spec.eval.lengths = { data = "sums/train.jsonl" }, nil, nil
  local root = get_root(reports.write_run("data_runs", "sums_rope", 1, 0.1, { exit = 0,
    eval = make_eval_line(100, "test", 4, 0.75) .. make_eval_line(100, "test", 5, 0.25),
    facts = { spec = spec, train_lengths = { 3, 4, 5 }, data = { train = "t" }, machine = "m" } }))
  local _, _, output = run_verb(report.run, { project = project, runs = root })
  lu.assertStrContains(output, "Runs of sums_rope\n")
  lu.assertStrContains(output, "1 of 1 run has a score. A score is the accuracy at the last step, in percent. Share "
    .. "of 100 examples,\n2 lengths 4..5, on the set test.")
  lu.assertStrMatches(output:match("training lengths  [^\n]*"), "training lengths +3 to 5")
  lu.assertNotNil(output:find("\nsums_rope +50%.0 %(1%)%*\n"))
  lu.assertStrContains(output, "scored on the examples of training, since there are no others")
  for _, name in ipairs({ "report.txt", "index.html", "runs.csv", "tables.tex" }) do
    local text = support.read(root .. "/report/" .. name)
    lu.assertNotStrContains(text, "nil")
    lu.assertNotStrContains(text, "not recorded")
    lu.assertNotStrContains(text, "1 runs")
  end
end

function TestPage.test_a_folder_without_runs()
  local empty_folder = support.write("empty/x", ""):match("^(.*)/")
  local code, message = report.run({ project = project, runs = empty_folder })
  lu.assertEquals(code, 1)
  lu.assertStrMatches(message, ".*there are no runs\n  expected: [^\n]*run.json in it")
  local path = support.write("within/a/0123456789abcdef/lr0.001-seed0/run.json", "{}")
  for _, subfolder in ipairs({ "/a", "/a/0123456789abcdef", "/a/0123456789abcdef/lr0.001-seed0" }) do
    code, message = report.run({ project = project, runs = path:match("^(.*/within)/") .. subfolder })
    lu.assertEquals(code, 1)
    lu.assertStrMatches(message, ".*\n  hint: it lies within the folder of runs [^\n]*/within")
  end
  code, message = report.run({ project = project, runs = "no/such" })
  lu.assertEquals({ code, message }, { 1, "longhand report: there is no folder no/such\n  expected: a folder of runs" })
end

-- The list has the first message on damage of each damaged run, even if other notes follow.
function TestPage.test_list_of_damaged_runs()
  local run = { dir = "parity/0", notes = { "metrics.jsonl: the last line is incomplete" } }
  runs.note_damage(run, "metrics.jsonl: line 2")
  runs.note_damage(run, "eval.jsonl: length 20")
  table.insert(run.notes, "a later note")
  local problems, damaged = open_study.list_problems({ problems = {}, cells = { { runs = { run } } } })
  lu.assertEquals(#problems, 4)
  lu.assertEquals(damaged, { "parity/0/metrics.jsonl: line 2" })
end

TestReadings = {}

-- The answers of a run's readings by question. facts: fields of run.json.
local function read_answers(facts)
  local answers = {}
  for _, item in ipairs(readings.list({ facts = facts })) do
    answers[item.question] = item.answer
  end
  return answers
end

function TestReadings.test_absent_fields_count_as_defaults()
  local answers = read_answers({ spec = make_spec("bucket_sort") })
  lu.assertEquals({ answers["dropout in evaluation"], answers["spare token"], answers["arithmetic"] },
    { "off", "one", "float32" })
  lu.assertNil(answers["randomized distances"])
  lu.assertEquals(read_answers({}), {})
end

-- Readings include the spare token if model.spare_token has an effect, and for recurrent models, which have none.
function TestReadings.test_spare_token()
  for fields, expected in pairs({ [{ spare_token = false }] = "none", [{ kind = "encoder" }] = "one",
    [{ kind = "recurrent" }] = "none", [{ readout = "outputs" }] = "one", [{ readout = "in_place" }] = false,
    [{ readout = "last" }] = false, [{ kind = "decoder" }] = false, [{ kind = "encoder_decoder" }] = false,
    [{ embedding = "linear" }] = false, [{ computation = 3 }] = false, [{ computation = 0 }] = "one" }) do
    local spec = make_spec("bucket_sort")
    spec.task.computation, fields.computation = fields.computation, nil
    spec.model = lists.merge(spec.model, fields)
    lu.assertEquals(read_answers({ spec = spec })["spare token"] or false, expected)
  end
end

-- Runs record which labels are in their loss; for runs on files this is a reading only if a label was masked.
function TestReadings.test_labels_in_the_loss()
  local function read_answer(loss, data)
    return read_answers({ spec = make_spec("bucket_sort"), loss = loss, data = data })["labels in the loss"]
  end
  lu.assertEquals(read_answer("all"), "all labels, including masked ones")
  lu.assertEquals(read_answer("counted", { train_masked = 3 }), "labels that count (mask 1)")
  lu.assertNil(read_answer("counted", { train_examples = 9 }))
  lu.assertNil(read_answer(nil, { train_masked = 3 }))
end

function TestReadings.test_readings_other_than_the_defaults_are_named()
  local spec = make_spec("odds_first")
  spec.encoding = { relative = { kind = "transformer_xl" }, positions = { kind = "randomized", max_position = 2048,
    reading = "clamped", sides = "independent", draw = "layer", sorted = false, range = "one_based" } }
  spec.eval.dropout, spec.eval.batch, spec.task.options = true, 64, { order = "even" }
  local actual = read_answers({ spec = spec })
  lu.assertEquals({ actual["randomized distances"], actual["distances to the left"], actual["positions are drawn"],
    actual["range of the draws"], actual["dropout in evaluation"], actual["evaluation batch"],
    actual["order of the outputs"] },
    { "clamped to one side", "sampled separately", "once per layer", "up to 2048, from 1, unsorted", "on",
      "batches of 64, 50 examples per length", "even" })
end

TestSettings = {}

local function index_settings(...)
  return lists.index_by(settings.list(...), function(item) return item.name end)
end

function TestSettings.test_our_settings_next_to_the_paper_s()
  local map = index_settings(make_study("settings", SCORES), published.read(project, "ruoss_2023/setting"))
  lu.assertEquals({ map.steps.value, map.steps.paper, map.steps.differs }, { "100", "2000000", true })
  lu.assertEquals({ map["learning rates"].value, map["learning rates"].paper },
    { "0.1, 0.2", "0.0001, 0.0003, 0.0005" })
  lu.assertEquals(map["test lengths"].value, "2 of 20 to 30")
  lu.assertFalse(map.precision.differs)
  lu.assertEquals(map.seeds.value, "3")
  lu.assertNil(map.task, "the task is an axis")
  lu.assertNil(map.mask)
end

-- A study that does not vary the task names it.
function TestSettings.test_the_task_of_a_study_of_encodings()
  local study = make_study("settings_task", SCORES)
  study.axes = { { name = "encoding", values = { "rope" } } }
  local first = settings.list(study)[1]
  lu.assertEquals({ first.name, first.value }, { "task", "bucket_sort" })
end

-- The size of a recurrent model's memory is shown with the length from which it is too small.
function TestSettings.test_memories()
  local study = make_study("settings_memory", SCORES)
  lu.assertNil(index_settings(study).memory)
  local capacities = { { kind = "stack", cells = 40, excess_length = 80 }, { kind = "stack", cells = false } }
  for i, capacity in ipairs(capacities) do
    study.cells[i].spec = { plan = { capacity = capacity } }
  end
  lu.assertEquals(index_settings(study).memory.value,
    "stack of 40 cells, too few from length 80 on; stack without limit")
end

-- Masks are shown if some run's mask is not full.
function TestSettings.test_masks()
  local function read_masks(...)
    local root
    for i, change in ipairs({ ... }) do
      local spec = make_spec("bucket_sort")
      spec.encoding, spec.model.kind = change.encoding, change.kind or "encoder"
      root = get_root(reports.write_run("masks", "bucket_sort_mask" .. i, 0, 0.1, { exit = 0,
        eval = reports.make_scored_lines(60), facts = { spec = spec } }))
    end
    local setting = index_settings(cells.read_folder(root)).mask
    support.clean()
    return setting and setting.value
  end
  local full, causal = { mask = { kind = "full" } }, { mask = { kind = "causal" } }
  local window = { mask = { kind = "window", left = 3, right = 2 } }
  local old = { rotation = { kind = "rope" } } -- an encoding without a mask
  lu.assertNil(read_masks({ encoding = full }, { encoding = old }, { encoding = causal, kind = "encoder_decoder" }))
  lu.assertEquals(read_masks({ encoding = old }, { encoding = causal }), "causal; full")
  lu.assertEquals(read_masks({ encoding = old, kind = "decoder" }, { encoding = causal, kind = "decoder" }), "causal")
  lu.assertEquals(read_masks({ encoding = window }), "window of 3 before and 2 after")
  lu.assertEquals(read_masks({ encoding = window, kind = "decoder" }), "window of 3 before and 0 after")
  lu.assertEquals(read_masks({ encoding = window, kind = "encoder_decoder" }),
    "decoder: window of 3 before and 0 after")
  lu.assertEquals(read_masks({ encoding = { layer1 = window } }), "layer1: window of 3 before and 2 after")
  lu.assertEquals(read_masks({ kind = "encoder_decoder", encoding = { encoder = window, decoder = causal,
    cross = { mask = { kind = "antidiagonal", width = 1 } } } }),
    "cross: anti-diagonal of width 1, encoder: window of 3 before and 2 after")
end

-- Settings if examples have other axes than lengths, and if the model has an encoder and a decoder.
function TestSettings.test_other_axes_and_models()
  local spec = make_spec("latin_square")
  spec.train.lengths, spec.eval.lengths = nil, nil
  spec.model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 6, heads = 2, width = 16,
    feedforward = 32 }
  local lines = make_eval_line(100, "test", '"vectors":1', 0.5) .. make_eval_line(100, "test", '"vectors":2', 0.5)
  local root = get_root(reports.write_run("puzzles", "latin_square_learned", 0, 0.1, { exit = 0,
    eval = lines:gsub('"accuracy"', '"decoding":"teacher_forced","accuracy_teacher_forced"'),
    facts = { spec = spec, data = { train = "latin_square", by = { "vectors" } } } }))
  local map = index_settings(cells.read_folder(root))
  lu.assertEquals({ map.model.value, map["training lengths"].value, map["test lengths"].value }, {
    "1 encoder layer and 6 decoder layers, 2 heads, width 16, feed-forward 32", "those of the examples",
    "those of the examples, by vectors 1 to 2" })
  local _, _, output = run_verb(report.run, { project = project, runs = root })
  lu.assertStrContains((output:gsub("%s+", " ")),
    "A score is the exact match at the last step, in percent. Mean over 2 "
    .. "values of vectors 1..2, on the set test. Evaluated teacher-forced: the model reads the target's tokens.")
end

-- Conditions on further axes, and the shares of trained examples, have tables of their own.
function TestSettings.test_held_out_examples()
  local spec = make_spec("addition")
  spec.train.lengths, spec.eval.lengths, spec.task.options = nil, nil, { base = 10, width = 20, odd = "x" }
  spec.eval.novel = false
  local function make_line(axis_values, exact, keys)
    local line = make_eval_line(100, "test", axis_values, 0.5, keys)
    return (line:gsub('"exact_match":0.25', ('"exact_match":%g'):format(exact)))
  end
  local dir = reports.write_run("held_out", "addition_x", 0, 0.1, { exit = 0,
    eval = make_line('"digits":1', 1, ',"trained":1')
      .. make_line('"digits":2', 0.5, ',"trained":1') .. make_line('"digits":3', 0.5, ',"trained":0.125')
      .. make_line('"digits":3,"carry":0', 0.5) .. make_line('"digits":2,"carry":0', 0.25)
      .. make_line('"digits":3,"carry":3', 0.75, ',"beyond":["carry"]')
      .. make_line('"digits":3,"frame":0', 0.25) .. make_line('"digits":3,"frame":30', 0.125)
      .. make_line('"digits":3,"carry":0,"frame":30', 0) .. make_line('"digits":25,"carry":25,"frame":30', 1),
    facts = { spec = spec, data = { train = "addition", by = { "digits", "carry", "frame" } } } })
  local _, _, output = run_verb(report.run, { project = project, runs = get_root(dir) })
  lu.assertStrContains(output, "task options                     base = 10, odd = x, width = 20")
  lu.assertStrContains(output, "Exact match in percent by carry\n")
  lu.assertStrContains(output, "\n0                 37.5\n3 (beyond)        75.0\n")
  lu.assertStrContains(output, "Exact match in percent by carry in a frame of 30\n")
  lu.assertStrContains(output, "\n0             0.0\n25          100.0\n")
  lu.assertStrContains(output, "Exact match in percent by frame\n")
  lu.assertStrContains(output, "\n0            25.0\n30           12.5\n")
  lu.assertStrContains(output, "Examples that were trained on, by digits\n")
  lu.assertStrContains(output, "addition_x  100% of 1 to 2, 12.5% of 3\n")
end

support.run()
