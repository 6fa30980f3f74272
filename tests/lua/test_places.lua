-- Accuracy by place in the target: reading of eval.jsonl, the figure, the tables and the CSV file of a report.

local support = dofile("tests/lua/support.lua")

local by_place = require("lab.study.report.figures.by_place")
local cells = require("lab.study.read.cells")
local items = require("lab.study.report.items")
local lists = require("base.lists")
local lu = require("luaunit")
local places = require("lab.study.read.places")
local report = require("lab.study.report.report")
local reports = require("reports")
local runs = require("lab.study.read.runs")

local make_eval_line, write_run, get_root = reports.make_eval_line, reports.write_run, reports.get_root

TestPlaces = {}

-- Four sequences: three of three labels, one of two. wrong_count: the number of sequences whose answers are all wrong;
-- has_forced: whether there are counts of teacher-forced answers, too.
local function make_places(wrong_count, has_forced)
  local right = 4 - wrong_count
  local function format_counts(a, b, c)
    return ("[%d,%d,%d]"):format(a, b, c)
  end
  local function format_side(counts, correct, correct_forced)
    return ('{"counted":%s%s%s}'):format(counts, ',"correct":' .. correct,
      has_forced and ',"correct_teacher_forced":' .. correct_forced or "")
  end
  return (',"places":{"sequences":4,"start":%s,"end":%s,"first_error":%s}'):format(
    format_side(format_counts(4, 4, 3), format_counts(right, right, right), format_counts(right, 4, 3)),
    format_side(format_counts(4, 4, 3), format_counts(right, right, right), format_counts(3, 4, 3)),
    format_counts(wrong_count, 0, 0))
end

local LENGTHS = { in_distribution = 5, beyond = 20 } -- split -> length of its only condition

-- Writes runs of two encodings with two seeds each; runs of the second seed lack places at length 20. Returns their
-- study and their folder.
local function make_placed_study(name, has_forced)
  local dir
  for i, encoding in ipairs({ "alibi", "rope" }) do
    for seed = 0, 1 do
      local lines = {}
      for _, split in ipairs({ "in_distribution", "beyond" }) do
        local more_keys = (has_forced and ',"decoding":"greedy","accuracy_teacher_forced":0.5' or "")
          .. ((seed == 0 or split ~= "beyond") and make_places(i, has_forced) or "")
        lines[#lines + 1] = make_eval_line(100, split, LENGTHS[split], 0.5, more_keys)
      end
      local earlier_line = lines[1]:gsub('"step":100', '"step":50'):gsub("%[%d,%d,%d%]", "[0,0,0]")
      table.insert(lines, 1, earlier_line) -- an evaluation before the last step does not count
      dir = write_run(name, "bucket_sort_" .. encoding, seed, 0.1, { exit = 0, eval = table.concat(lines) })
    end
  end
  return cells.read_folder(get_root(dir)), get_root(dir)
end

function TestPlaces.test_places_of_a_run()
  local study = make_placed_study("places_read")
  local run = study.cells[1].runs[1]
  local tables = places.read(run, "test", { 5, 20 })
  lu.assertEquals({ run.test.has_places, tables[5].sequences, tables[20].start.counted, tables[5].first_error },
    { true, 4, { 4, 4, 3 }, { 1, 0, 0 } })
  lu.assertNil(places.read(run, "test", { 20 })[5])
  lu.assertEquals(places.list_kinds(tables[5]), { "correct" })
end

-- A quantile of first errors is the quantile of a list in which each place occurs as often as its count.
function TestPlaces.test_quantiles_of_first_errors()
  local function find(counts, share)
    return places.find_error_quantile({ first_error = counts }, share)
  end
  lu.assertEquals({ find({ 1, 0, 0, 1 }, 0.5), find({ 0, 3, 1 }, 0.5), find({ 0, 3, 1 }, 1), find({ 0, 3, 1 }, 0.25) },
    { 2.5, 2, 3, 2 })
  lu.assertNil(find({ 0, 0 }, 0.5))
end

-- Labels are counted for a kind of answers only in runs that have this kind.
function TestPlaces.test_sums_of_runs_with_different_kinds_of_answers()
  local function make(counts, kinds)
    local side = lists.merge({ counted = counts }, kinds)
    return { sequences = 1, start = side, ["end"] = side, first_error = lists.map(counts, function() return 0 end) }
  end
  local sums = places.add({ make({ 2 }, { correct_teacher_forced = { 1 } }), make({ 4, 4 }, { correct = { 4, 2 } }),
    make({ 1, 1, 1 }, { correct_teacher_forced = { 1, 0, 1 } }), make({}, {}) })
  lu.assertEquals(sums.start, { counted = { 7, 5, 1 }, correct = { 4, 2 }, correct_teacher_forced = { 2, 0, 1 },
    counted_by_kind = { correct = { 4, 4 }, correct_teacher_forced = { 3, 1, 1 } } })
  lu.assertEquals({ sums.sequences, sums.first_error }, { 4, { 0, 0, 0 } })
end

-- The runs of a line have different kinds of answers, and the second run has more places.
function TestPlaces.test_table_of_runs_with_different_kinds_of_answers()
  local dir
  for seed = 0, 1 do
    local counts = seed == 0 and '"counted":[4],"correct":[4]' or '"counted":[4,4],"correct_teacher_forced":[2,4]'
    local line = make_eval_line(100, "beyond", 20, 0.5, (',"places":{"sequences":4,"start":{%s},"end":{%s},'
      .. '"first_error":%s}'):format(counts, counts, seed == 0 and "[0]" or "[2,0]"))
    dir = write_run("places_mixed", "bucket_sort_rope", seed, 0.1, { exit = 0, eval = line })
  end
  local _, tables = by_place.make(cells.read_folder(get_root(dir)), { kind = "places", lines = "encoding",
    at = { 20 } }, "places")
  lu.assertEquals(lists.map(tables[1].rows, function(row) return row.cells[1].texts end), { { "100.0", "50.0", "8" },
    { "missing", "100.0", "4" }, { "missing", "100.0", "4" }, { "100.0", "50.0", "8" } })
end

-- An evaluation without counted labels has empty lists. Trainers also write empty lists of answers, but a line may lack
-- these.
function TestPlaces.test_places_without_labels()
  for i, answers in ipairs({ ',"correct":[],"correct_teacher_forced":[]', "" }) do
    local line = make_eval_line(100, "beyond", 20, 0.5, (',"places":{"sequences":0,"start":{"counted":[]%s},'
      .. '"end":{"counted":[]%s},"first_error":[]}'):format(answers, answers))
    local root = get_root(write_run("places_none" .. i, "bucket_sort_rope", 0, 0.1, { exit = 0, eval = line }))
    local study = cells.read_folder(root)
    local run = study.cells[1].runs[1]
    lu.assertEquals({ places.read(run, "test", { 20 })[20].sequences, run.notes }, { 0, {} })
    local _, tables = by_place.make(study, { kind = "places", lines = "encoding", at = { 20 } }, "places")
    lu.assertEquals(tables[#tables].rows[1].cells[1].texts, { "", "", "", "0" })
    local code, message = reports.run_verb(report.run, { project = reports.project, runs = root, no_cache = true })
    lu.assertTrue(code == 0 or reports.lacks_gnuplot(code, message), message)
  end
end

function TestPlaces.test_figure_and_tables()
  local figure, tables = by_place.make(make_placed_study("places_item", true), { kind = "places", lines = "encoding",
    at = { 5, 20 } }, "places")
  lu.assertEquals(lists.map(figure.panels, function(panel) return panel.title end), {
    "length 5, from the start, own answers", "length 5, from the start, teacher-forced",
    "length 5, from the end, own answers", "length 5, from the end, teacher-forced",
    "length 20, from the start, own answers", "length 20, from the start, teacher-forced",
    "length 20, from the end, own answers", "length 20, from the end, teacher-forced" })
  local bold = lists.filter(figure.panels[2].curves, function(curve) return not curve.faint end)
  lu.assertEquals(lists.map(bold, function(curve) return curve.points end), {
    { { 1, 75.0 }, { 2, 100.0 }, { 3, 100.0 } }, { { 1, 50.0 }, { 2, 100.0 }, { 3, 100.0 } } })
  lu.assertEquals(tables[1].subs, { "own", "forced", "labels" })
  lu.assertEquals(lists.map(tables[1].rows, function(row) return { row.title, table.unpack(row.cells[2].texts) } end), {
    { "1 from the start", "50.0", "50.0", "8" }, { "2 from the start", "50.0", "100.0", "8" },
    { "2 from the end", "50.0", "100.0", "8" }, { "1 from the end", "50.0", "75.0", "8" } })
  lu.assertEquals(lists.map(tables[3].rows, function(row) return row.cells[2].texts end), {
    { "25.0%", "1", "1 to 1", "4" }, { "50.0%", "1", "1 to 1", "4" } })
  lu.assertStrContains(tables[3].file.text, ",0.1,100,length,20,end,3,3,2,3,\n")
  lu.assertStrContains(tables[3].file.text, ",0.1,100,length,5,start,1,4,2,2,2\n")
end

-- An encoder has one kind of answers. A default item has two lengths: the longest of training, and the longest of all.
function TestPlaces.test_report_of_encoders()
  local study, root = make_placed_study("places_report")
  local item = lists.find(items.check(study), function(item_candidate) return item_candidate.kind == "places" end)
  lu.assertEquals({ item.at, item.lines }, { { 5, 20 }, "encoding" })
  local code, message, text = reports.run_verb(report.run, { project = reports.project, runs = root, no_cache = true })
  lu.assertTrue(code == 0 or reports.lacks_gnuplot(code, message), message)
  lu.assertStrContains(text, "Place of the first error")
  lu.assertStrContains(text, "right labels")
  lu.assertStrContains(support.read(root .. "/report/places-5-20-encoding.csv"), "place,counted,correct")
end

function TestPlaces.test_runs_without_places()
  local study = reports.make_study("no_places", reports.SCORES)
  lu.assertNil(lists.find(items.check(study), function(item_candidate) return item_candidate.kind == "places" end))
  local figure, tables = by_place.make(study, { kind = "places", lines = "encoding", at = { 5 },
    where = { task = "even_pairs" } }, "places")
  lu.assertNil(figure)
  lu.assertEquals({ #tables, tables[1].rows[1].cells[1].texts[1], tables[1].file }, { 1, "missing", nil })
end

-- Conditions on several axes have no places in figures: neither the run nor the default items show any. Noise is not
-- such an axis, but a setting of the model.
function TestPlaces.test_places_of_conditions_on_several_axes()
  local function read(name, axes)
    local dir = write_run(name, "bucket_sort_rope", 0, 0.1, { exit = 0, eval = make_eval_line(100, "beyond", axes, 0.5,
      make_places(1)), facts = { spec = lists.merge(reports.make_spec("bucket_sort"), { eval = { examples = 50,
      lengths = { list = { 20 } }, by = { length = true, noise = { list = { 0.5 } } } } }) } })
    local study = cells.read_folder(get_root(dir))
    return study.cells[1].runs[1].test.has_places, lists.find(items.check(study), function(item_candidate)
      return item_candidate.kind == "places"
    end) ~= nil
  end
  lu.assertEquals({ read("placed_one", '"length":20') }, { true, true })
  lu.assertEquals({ read("placed_noise", '"length":20,"noise":0.5') }, { true, true })
  lu.assertEquals({ read("placed_two", '"length":20,"digits":3') }, { nil, false })
end

-- Counts that no trainer writes are damage, both in a line in the form that trainers write and in a line in another
-- form, which only the JSON decoder reads.
function TestPlaces.test_damaged_places()
  local valid_line = make_eval_line(100, "beyond", 20, 0.5, make_places(1))
  for wrong, expected in pairs({
    [valid_line:gsub('"correct":%[3', '"correct":[5', 1)] = "places.start.correct[1]: found 5; expected at most 4",
    [valid_line:gsub('"first_error":%[1,0', '"first_error":[1')] = "places.start: found lists of different lengths",
    [valid_line:gsub('"sequences":4', '"sequences":-1')] = "places.sequences: found -1",
    [valid_line:gsub('"sequences":4', '"sequences":0')] = "places.sequences: found 0; expected 1 or more",
    [valid_line:gsub('"first_error":%[1,0,0', '"first_error":[1,2,2')]
      = "places.first_error: found 5 errors; expected at most one for each of 4 sequences",
    [valid_line:gsub(',"correct":%[[%d,]*%]', "")] = "places.start: found no answers; expected correct or",
    [valid_line:gsub(',"correct":%[[%d,]*%]', "", 1)] = "places.start.correct: found nothing; expected a list",
  }) do
    local run = runs.read(write_run("bad_places", "rr", 1, 0.1, { exit = 0, eval = wrong }))
    lu.assertEquals(run.state, "evaluated")
    lu.assertEquals(places.read(run, "test", { 20 }), {})
    lu.assertEquals(run.damaged, run.notes[1])
    lu.assertStrContains(run.notes[1], expected)
    local reordered_line = wrong:gsub('"step":100,', ""):gsub("}\n$", ',"step":100}\n')
    local reordered_run = runs.read(write_run("reordered", "rr", 1, 0.1, { exit = 0, eval = reordered_line }))
    lu.assertStrContains(reordered_run.notes[1], expected)
  end
end

os.exit(lu.LuaUnit.run())
