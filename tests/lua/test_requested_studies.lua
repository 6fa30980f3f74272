-- Studies that a sweep's command line requests: grids from --axis, --seeds and --learning-rate, and chosen cells.

local support = dofile("tests/lua/support.lua")

local requested_study = require("lab.study.grid.requested_study")
local chosen_cells = require("lab.study.grid.chosen_cells")
local grid = require("lab.study.grid.grid")
local lists = require("base.lists")
local lu = require("luaunit")
local paths = require("base.paths")
local project = require("project").new(".")
local write = require("base.write")

local SPEC = [[
return { task = { kind = "parity_check" }, model = { use = "small_encoder" }, encoding = { kind = "alibi" },
  train = { batch = 4, steps = 70, lengths = { 1, 4 } }, eval = { lengths = { 3, 6 }, examples = 8 } }]]

-- Returns the options of a sweep of the spec probe.lua, with changes. The option `out` is a folder next to the spec.
local function make_options(changes)
  local spec = support.write("flags/probe.lua", SPEC)
  local options = { project = project, studies = { spec }, study = spec, axes = {}, labels = {}, only = {}, set = {},
    out = spec:gsub("[^/]*$", "runs") }
  lists.update(options, changes)
  options.grid_flag = #options.axes > 0 and "--axis" or options.seeds and "--seeds" or options.rates
    and "--learning-rate"
  return options
end

-- Requests a study with changes of the options. Returns the study, nil and the options; or nil and a message.
local function settle(changes)
  local options = make_options(changes)
  local _, message = require("lab.stop").catch(requested_study.settle, options)
  if message then
    return nil, message
  end
  local study
  study, message = grid.expand(project, options.study, options)
  return study, message, options
end

local function refuse(changes, ...)
  local study, message = settle(changes)
  lu.assertNil(study)
  for _, text in ipairs({ ... }) do
    lu.assertStrContains(message, text)
  end
end

TestFlags = { tearDown = support.clean }

function TestFlags.test_seeds_of_parts()
  local study = assert(settle({ axes = { "encoding=rope" }, seeds_init = "0:1", seeds_data = "0:1" }))
  lu.assertEquals(lists.map(study.cells[1].runs, function(run) return (run.dir:match("seed.*$")) end),
    { "seed0", "seed0.data1", "seed0.init1", "seed0.init1.data1" })
  lu.assertNil(study.warnings[2]) -- the first is about the interval of metrics
  local text = "seeds of draws have no effect without random positions or dropout: this concerns 2 of %d cells, for "
    .. "example %s"
  study = assert(settle({ axes = { "encoding=rope,none" }, seeds_draws = "0:1", set = { "model.dropout=0" } }))
  lu.assertEquals(study.warnings[2], text:format(2, "probe_rope"))
  study = assert(settle({ axes = { "encoding=rope,none", "model.dropout=0,0.1" }, seeds_draws = "0:1" }))
  lu.assertEquals(study.warnings[2], text:format(4, "probe_rope_dropout_0"))
  study = assert(settle({ axes = { "encoding=rope" }, seeds_draws = "0:1", set = { "model.dropout=0",
    "encoding.positions={kind='randomized',max_position=64}" } }))
  lu.assertNil(study.warnings[2])
  refuse({ axes = { "encoding=rope" }, seeds_draws = "2:1" }, "--seeds-draws 2:1: error: ends before it starts")
  refuse({ axes = { "encoding=rope" }, seeds = "0:99", seeds_init = "0:99" }, "are 10000 combinations of seeds")
end

-- A causal encoding in an encoder sees fewer keys than other encodings; in a decoder all encodings are causal.
function TestFlags.test_different_masks_of_encodings_are_reported()
  local function list_warnings(encodings, set, axis)
    local study = assert(settle({ axes = { "encoding=" .. encodings, axis }, seeds = "0:0", set = set }))
    return lists.filter(study.warnings, function(text) return text:find("later keys are hidden") end)
  end
  local warning = "encoding: the masks differ: later keys are hidden in fox, alibi_causal, but not in rope, none; to "
    .. "compare only the encodings, add a mask to all cells: --set encoding.mask.kind=causal"
  lu.assertEquals(list_warnings("fox,rope,alibi_causal,none"), { warning })
  lu.assertEquals(#list_warnings("fox,rope", {}, "model.layers=1,2"), 1)
  lu.assertEquals(list_warnings("fox,rope", { "encoding.mask.kind=causal" }), {})
  lu.assertEquals(list_warnings("fox,alibi_causal"), {})
  support.write("flags/by_layer.lua", [[return { encoding = { layers = { { mask = { kind = "causal" } },
    { mask = { kind = "window", left = 2 } } } } }]])
  lu.assertEquals(list_warnings("fox,./by_layer.lua", { "model.layers=2" }),
    { "encoding: the masks differ: later keys are hidden in fox, but not in by_layer" })
  lu.assertEquals(list_warnings("fox,rope", { "model=ruoss_decoder" }), {})
  lu.assertEquals(list_warnings("fox,rope", { "model=small_encoder_decoder" }), {})
end

-- The flags give the study of a file with the same grid.
function TestFlags.test_flags_make_the_same_study_as_a_file()
  local study, _, options = settle({ axes = { "encoding=rope,none", "train.lengths={1,4}, {1, 8}" }, seeds = "2:3",
    rates = "1e-3,0.01" })
  local file = support.write("flags/runs/same.lua", [[
return { title = "same", prefix = "probe", base = { use = "../probe.lua" }, seeds = { 2, 3 },
  learning_rates = { 0.001, 0.01 }, axes = {
  { name = "encoding", values = { { name = "rope", spec = { encoding = { use = "rope" } } },
    { name = "none", spec = { encoding = { use = "none" } } } } },
  { name = "lengths", values = { { name = "1-4", spec = { train = { lengths = { 1, 4 } } } },
    { name = "1-8", spec = { train = { lengths = { 1, 8 } } } } } } } }]])
  local study_of_file = assert(grid.expand(project, file))
  lu.assertEquals(study.ids, { "probe_rope_1_4", "probe_rope_1_8", "probe_none_1_4", "probe_none_1_8" })
  for i, cell in ipairs(study_of_file.cells) do
    lu.assertEquals({ study.cells[i].key, study.cells[i].runs }, { cell.key, cell.runs })
  end
  lu.assertEquals(#study.cells[1].runs, 4)
  assert(write.file(options.study, options.flag_study.text))
  local again, _, new_options = settle({ axes = { "encoding=rope,none", "train.lengths={1,4}, {1, 8}" }, seeds = "2:3",
    rates = "1e-3,0.01" })
  lu.assertEquals({ new_options.study, again.axes }, { options.study, study.axes })
  lu.assertEquals(assert(grid.expand(project, study.name, { out = options.out })).ids, study.ids)
end

function TestFlags.test_values_of_an_axis_name_cells()
  for axis, expected in pairs({ ["model.layers=1:3"] = "probe_layers_1 probe_layers_2 probe_layers_3",
    ["train.steps=10:30:20,7"] = "probe_steps_10 probe_steps_30 probe_steps_7",
    ["model.bias='none',all"] = "probe_none probe_all", ["task=bucket_sort"] = "probe_bucket_sort" }) do
    local study, message = settle({ axes = { axis } })
    lu.assertEquals(table.concat(assert(study, message).ids, " "), expected)
  end
  refuse({ axes = { "encoding.score=false" } },
    "--axis encoding.score=false: error: encoding.score: false does not fit")
end

-- An axis is named by the last word of its field, or by the whole path if two axes have this word.
function TestFlags.test_names_of_axes()
  local study = settle({ axes = { "model.width=16,32", "train.lengths={1,4}", "eval.lengths={3,6}" },
    only = { "model.width=32" } })
  lu.assertEquals({ study.axes[1].name, study.axes[2].name, study.axes[3].name, study.ids[1], #study.cells },
    { "width", "train.lengths", "eval.lengths", "probe_width_16_1_4_3_6", 1 })
end

-- Without an axis, the only cell has the spec's name, and thus the runs that a trainer of the spec writes.
function TestFlags.test_seeds_and_rates_without_an_axis()
  local study, message, options = settle({ seeds = "0:2", rates = "1e-3,0.01", set = { "train.steps=9" } })
  lu.assertEquals({ assert(study, message).ids, #study.cells[1].runs, study.title }, { { "probe" }, 6, "probe" })
  lu.assertEquals(study.cells[1].spec.plan.digest, assert(project:plan(options.studies[1], options.set)).plan.digest)
  assert(write.file(options.study, options.flag_study.text))
  lu.assertEquals(assert(grid.expand(project, study.name, { out = options.out })).ids, { "probe" })
  lu.assertEquals(#assert(settle({ rates = "1e-3,0.01" })).cells[1].runs, 2)
end

-- Paths of files in flags are relative to the spec, for any folder of runs.
function TestFlags.test_files_are_those_next_to_the_spec()
  local text = SPEC:gsub("kind = \"alibi\"", "kind = \"rope\"")
  support.write("flags/other.lua", text)
  local study, message, options = settle({ axes = { "encoding=./other.lua,none" }, set = { "init=a/b.safetensors" } })
  lu.assertNil(study)
  lu.assertStrContains(message, "--set init=../a/b.safetensors: error: init: cannot read")
  lu.assertStrContains(options.flag_study.text, 'use = "../other.lua"')
  lu.assertEquals(options.set, { "init=../a/b.safetensors" })
  study = assert(settle({ axes = { "encoding=./other.lua,none" } }))
  lu.assertEquals(study.ids, { "probe_other", "probe_none" })
  lu.assertEquals(study.cells[1].spec.resolved.encoding.rotation.kind, "rope")
end

-- If the encoding is an axis, the names of cells lack the encoding in the spec's name.
function TestFlags.test_cells_are_named_after_task_or_spec()
  local path = support.write("flags/parity_check_rope.lua", SPEC)
  local function get_first_id(axis)
    return assert(settle({ studies = { path }, study = path, axes = { axis } })).ids[1]
  end
  lu.assertEquals({ get_first_id("encoding=none"), get_first_id("model.width=32") },
    { "parity_check_none", "parity_check_rope_width_32" })
end

function TestFlags.test_messages_on_wrong_axes()
  refuse({ axes = { "model.widht=3" } }, "--axis model.widht=3: error: model.widht: no such field", 'mean "width"')
  refuse({ axes = { "lr=1e-3" } }, "--axis lr=1e-3: error: lr: no such field", 'mean "train.learning_rate"')
  refuse({ axes = { "model.width=big" } }, "--axis model.width=big: error: model.width")
  refuse({ axes = { "encoding=alibi,rop" } }, "there is no rop.lua in spec/encodings", 'mean "rope"')
  refuse({ axes = { "encoding" } }, "--axis encoding: error: not of the form FIELD=VALUES")
  refuse({ axes = { "encoding=" } }, "has no value")
  refuse({ axes = { "train.lengths={1,4},{1" } }, "not closed")
  refuse({ axes = { "train.lengths={1} --" } }, "--axis train.lengths={1} --: error")
  refuse({ axes = { "model.layers=3:1" } }, "3:1 ends before it starts")
  refuse({ axes = { "model.layers=1:2,2" } }, "2 occurs twice")
  refuse({ axes = { "model.layers=1", "model.layers=2" } }, "a second axis model.layers")
  refuse({ axes = { "model.layers=1", "model=small_encoder" } }, "model contains model.layers, an earlier axis")
  refuse({ axes = { "model.layers=1" }, set = { "model.use=small_encoder" } }, "model.layers is an axis")
  refuse({ axes = { "model.layers=1" }, seeds = "4:0" }, "--seeds 4:0: error: ends before it starts")
  refuse({ axes = { "model.layers=1" }, seeds = "all" }, "--seeds all: error: is not a range of seeds")
  refuse({ axes = { "model.layers=1" }, rates = "1e-3,fast" }, '"fast" is not a number')
  refuse({ axes = { "train.learning_rate=1" }, rates = "1" }, "conflicts with an axis of train.learning_rate")
  refuse({ axes = { "model.layers=1" }, study = "ruoss_table1" }, "ruoss_table1 is a study: ./longhand sweep")
  refuse({ axes = { "model.layers=1" }, study = "spec/studies/ruoss_table1.lua" }, "this is a study, a grid of specs")
  refuse({ seeds = "0:2", study = "spec/studies/ruoss_table1.lua" }, "--seeds is for a spec: a study file lists")
end

function TestFlags.test_a_changed_study_is_refused_and_kept()
  local _, _, options = settle({ axes = { "model.layers=1" } })
  assert(write.file(options.study, options.flag_study.text .. "-- changed\n"))
  refuse({ axes = { "model.layers=1" } }, "found a changed study")
end

-- Labels of values are part of the study, but not of its name: a command without labels keeps the labels of the file.
function TestFlags.test_labels_of_values()
  local study, _, options = settle({ axes = { "encoding=none,rope", "model.layers=1,2" },
    labels = { "none=NoPE, \\\"plain\"", "2 = two = many" } })
  lu.assertEquals(study.labels, { none = 'NoPE, \\"plain"', ["2"] = "two = many" })
  assert(write.file(options.study, options.flag_study.text))
  local function get_labels(labels)
    local again, message, new_options = settle({ axes = { "encoding=none,rope", "model.layers=1,2" }, labels = labels })
    lu.assertEquals({ assert(again, message).name, again.report }, { study.name, nil })
    return again.labels, new_options.flag_study.text
  end
  lu.assertEquals({ get_labels({}) }, { study.labels, options.flag_study.text })
  lu.assertEquals(get_labels({ "rope=RoPE" }), { rope = "RoPE" })
  refuse({ axes = { "encoding=none,rope" }, labels = { "rop=RoPE" } }, "--label rop=RoPE: error: \"rop\" is not a "
    .. "value of an axis\n  expected: none, rope\n  hint: did you mean")
  refuse({ axes = { "encoding=none,rope" }, labels = { "none" } }, "--label none: error: not of the form VALUE=TEXT")
  refuse({ axes = { "encoding=none,rope" }, labels = { "none= " } }, "not of the form VALUE=TEXT")
  refuse({ axes = { "encoding=none,rope" }, labels = { "none=NoPE", "none=no" } }, "--label none=no: error: \"none\" "
    .. "occurs twice\n  expected: one label per value")
end

function TestFlags.test_paths_as_seen_from_a_folder()
  for path, expected in pairs({ ["/a/b"] = "./b", ["/a/c/b"] = "./c/b", ["/b"] = "../b", ["/x/y/b"] = "../x/y/b" }) do
    lu.assertEquals(paths.make_relative(path, "/a"), expected)
  end
end

TestChoice = { tearDown = support.clean }

local STUDY = [[
return { title = "choice", base = { use = "./probe.lua" }, scales = { small = {} }, axes = {
  { name = "encoding", values = { { name = "rope", spec = { encoding = { use = "rope" } } },
    { name = "none", spec = { encoding = { use = "none" } } } } },
  { name = "width", values = { { name = 16, spec = { model = { width = 16 } } },
    { name = 32, spec = { model = { width = 32 } } } } } } }]]

-- The ids of the cells that words (texts after the study's path) and --only choose, the message and the options.
local function list_chosen(words, patterns)
  support.write("flags/probe.lua", SPEC)
  local file, studies = support.write("flags/choice.lua", STUDY), {}
  for i, word in ipairs(words) do
    studies[i] = file .. word
  end
  local study, message, options = settle({ studies = studies, study = studies[1], only = patterns or {} })
  return study and lists.map(study.cells, function(cell) return cell.id end), message, options
end

function TestChoice.test_cells_by_name_and_by_axis()
  lu.assertEquals(list_chosen({ "" }), { "rope_16", "rope_32", "none_16", "none_32" })
  lu.assertEquals(list_chosen({ ":none_16,rope_32" }), { "rope_32", "none_16" })
  lu.assertEquals(list_chosen({ ":none_16", ":rope_32" }), { "rope_32", "none_16" })
  local ids, _, options = list_chosen({ ":small:none_16" })
  lu.assertEquals({ ids, options.scale }, { { "none_16" }, "small" })
  lu.assertEquals(list_chosen({ "" }, { "width=32" }), { "rope_32", "none_32" })
  lu.assertEquals(list_chosen({ "" }, { "width=32,16", "encoding = none" }), { "none_16", "none_32" })
  lu.assertEquals(list_chosen({ "" }, { "width=32", "width=16.0" }), { "rope_16", "rope_32", "none_16", "none_32" })
  lu.assertEquals(list_chosen({ ":rope_16,none_32" }, { "width=32" }), { "none_32" })
end

-- A choice is written as the arguments of a job that continues with the same cells.
function TestChoice.test_a_choice_as_words()
  local _, _, options = list_chosen({ ":rope_16,none_32" }, { "width=32", "encoding=none,rope" })
  local words = chosen_cells.make_words(options.choice, options.study)
  lu.assertEquals(words, { options.study .. ":rope_16,none_32", "--only", "width=32", "--only",
    "encoding=none,rope" })
  _, _, options = list_chosen({ "" })
  lu.assertEquals(chosen_cells.make_words(options.choice, "s"), { "s" })
end

function TestChoice.test_messages_on_wrong_choices()
  for expected, case in pairs({ ["has no cell rope_17"] = { { ":rope_17,none_16" } },
    ["did you mean rope_16?"] = { { ":rope_17" } }, ["small is a scale: --scale small"] = { { ":small" } },
    ["widht is not an axis of this study"] = { { "" }, { "widht=3" } },
    ["did you mean width?"] = { { "" }, { "widht=3" } },
    ["48 is not a value of the axis width"] = { { "" }, { "width=48" } },
    ["expected: 16, 32"] = { { "" }, { "width=48" } }, ["found no axis and value"] = { { "" }, { "width" } },
    ["found a second study"] = { { ":rope_16", ":small:none_16" } },
    ["no cell that fits all selections"] = { { ":rope_16" }, { "width=32" } } }) do
    local ids, message = list_chosen(case[1], case[2])
    lu.assertNil(ids)
    lu.assertStrContains(message, expected)
  end
end

support.run()
