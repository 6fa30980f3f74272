-- lab/study/grid/stages.lua: cells of a study that begin with the runs of other cells.

local support = dofile("tests/lua/support.lua")

local grid = require("lab.study.grid.grid")
local ledger = require("lab.study.run.ledger")
local lists = require("base.lists")
local lu = require("luaunit")
local probes = require("probe_study")
local project = require("project").new(".")
local stages = require("lab.study.grid.stages")

local expand = probes.expand

-- A study with two teachers. Values of the axis `bias`:
--   plain   the teacher
--   loose   a cell without a stage
--   taken   a student whose spec is made from the teacher's run
--   again   a student whose spec is made from the run of `taken`
local STAGED = [[
return {
  title = "staged",
  base = { task = { kind = "parity_check" }, model = { use = "small_encoder" }, train = { steps = 7, batch = 12 },
    eval = { lengths = { 3, 4 }, examples = 8 } },
  axes = {
    { name = "teacher", values = {
      { name = 0, spec = {}, seeds = { 0, 0 } }, { name = 1, spec = {}, seeds = { 1, 1 } },
    } },
    { name = "bias", values = {
      { name = "plain", spec = {} }, { name = "loose", spec = {} },
      { name = "taken", spec = { train = { steps = 9 } } },
      { name = "again", spec = {}, learning_rates = { 1e-3, 2e-3 } },
    } },
  },
  stages = {
    { name = "teach", cells = { bias = { "plain" } } },
    { name = "student", cells = { bias = { "taken" } }, from = "teach", verb = "probe", options = { few_lines = 3 },
      seeds = { 4, 4 } },
    { name = "next", cells = { bias = { "again" } }, from = "student", verb = "probe", seeds = { 2, 3 } },
  },
}]]

-- Writes the file of a study, by default STAGED; returns its path and the path of a folder for runs.
local function write_staged(text)
  local path = support.write("staged.lua", text or STAGED)
  local out = path:match("^(.*)/") .. "/staged_runs"
  return path, out
end

TestStages = {}

function TestStages.setUp()
  stages.VERBS.probe = { options = { "few_lines" }, flags = { "briefly" } }
  os.execute("rm -rf " .. select(2, write_staged()))
end

function TestStages.tearDown()
  stages.VERBS.probe = nil
end

local function index_by_id(study)
  return lists.index_by(study.cells, function(cell) return cell.id end)
end

function TestStages.test_a_cell_waits_for_the_run_of_its_teacher()
  local path, out = write_staged()
  local study = expand(path, { out = out })
  local cells = index_by_id(study)
  local student, again = cells.teacher_0_taken, cells.teacher_1_again
  lu.assertEquals({ cells.teacher_1_plain.seeds, student.seeds, again.seeds }, { { 1 }, { 4 }, { 2, 3 } })
  lu.assertEquals({ cells.teacher_0_plain.stage, student.stage, cells.teacher_0_loose.stage }, { "teach", "student" })
  lu.assertEquals({ student.spec, #student.runs, student.runs[1].dir }, { nil, 1 })
  lu.assertEquals({ student.source.id, student.source.run }, { "teacher_0_plain", cells.teacher_0_plain.runs[1].dir })
  lu.assertStrMatches(student.source.file, "teacher_0_taken/probe_%x+/teacher_0_taken%.lua")
  lu.assertEquals({ again.source.id, #again.runs }, { "teacher_1_taken", 4 })
  lu.assertNil(again.source.file)
  lu.assertNotEquals(student.source.file:match("probe_(%x+)/"), cells.teacher_1_taken.source.file:match("probe_(%x+)/"))
  ledger.survey(study, out)
  lu.assertEquals({ student.runs[1].state, again.runs[4].state, #student.missing }, { "waiting", "waiting", 0 })
  lu.assertEquals(cells.teacher_0_plain.runs[1].state, "absent")
end

-- The spec of a cell begins with the spec that the verb wrote. The study's fragments are merged into it, so fields of
-- `base` and of the axes' values have priority.
function TestStages.test_the_verb_s_spec_is_merged_with_the_cell_s()
  local path, out = write_staged()
  local source = index_by_id(expand(path, { out = out })).teacher_0_taken.source
  support.write("staged_runs/" .. source.file, [[
    return { encoding = { kind = "alibi" }, train = { steps = 100, log_every = 3 }, precision = "float64" }]])
  local cells = index_by_id(expand(path, { out = out }))
  local resolved = cells.teacher_0_taken.spec.resolved
  lu.assertEquals({ resolved.train.steps, resolved.train.batch, resolved.train.log_every, resolved.precision },
    { 9, 12, 3, "float64" })
  lu.assertStrContains(cells.teacher_0_taken.spec.plan.attentions[1].score_text, "slope")
  lu.assertStrContains(cells.teacher_0_taken.runs[1].dir, "teacher_0_taken/" .. cells.teacher_0_taken.spec.plan.digest)
  lu.assertEquals(cells.teacher_0_again.source.run, cells.teacher_0_taken.runs[1].dir)
  lu.assertNil(cells.teacher_1_taken.spec)
  lu.assertEquals(index_by_id(expand(path)).teacher_0_taken.spec, nil) -- the runs are in another folder
end

function TestStages.test_a_waiting_cell_is_no_spec()
  local path = write_staged()
  local spec, message = grid.plan_cell(project, path .. ":teacher_1_taken", {})
  lu.assertNil(spec)
  lu.assertStrContains(message, "the cell teacher_1_taken waits for teacher_1_plain")
  lu.assertEquals(grid.plan_cell(project, path .. ":teacher_1_plain", {}).resolved.train.steps, 7)
end

function TestStages.test_a_verb_s_output_is_read_like_a_spec()
  local path, out = write_staged()
  local source = index_by_id(expand(path, { out = out })).teacher_0_taken.source
  support.write("staged_runs/" .. source.file, "return { encoding = { kind = 'alibbi' } }")
  local study, message = grid.expand(project, path, { out = out })
  lu.assertNil(study)
  lu.assertStrContains(message, "there is no alibbi.lua in spec/encodings")
end

function TestStages.test_messages_on_wrong_stages()
  for wrong_text, expected in pairs({
    [ [[from = "teach", verb = "probe", options = { few_lines = 3 }]] ] = { [[from = "teech", verb = "probe"]],
      'stages[2].from: "teech" is not an earlier stage', 'did you mean "teach"?' },
    [ [[cells = { bias = { "taken" } }, from]] ] = { [[cells = { bias = { "taken", "plain" } }, from]],
      "teacher 0, bias plain is in this stage and in teach" },
    [ [[cells = { bias = { "plain" } } },]] ] = { [[cells = { bias = { "plain", "loose" } } },]],
      "the source is not a single cell of teach: no value or several values of the axis bias fit" },
    [ [[{ name = "plain", spec = {} }, ]] ] = { [[{ name = "plain", spec = {}, with = { teacher = { 0 } } }, ]],
      "the source is not a single cell of teach", "expected: values that occur together in a cell" },
    [ [[seeds = { 4, 4 } },]] ] = { [[seeds = { 4, 5 } },]], "the cell teacher_0_taken has 2 runs" },
    [ [[verb = "probe", options]] ] = { [[verb = "prone", options]], '"prone" is not a verb of a stage' },
    [ "few_lines = 3" ] = { "few_line = 3", 'stages[2].options.few_line: no such field' },
    [ "{ few_lines = 3 }" ] = { "{ briefly = 3 }", "stages[2].options.briefly: is 3", "expected: true" },
    [ "options = { few_lines = 3 }" ] = { "options = { few_lines = { x = 3 } }",
      "stages[2].options.few_lines: is a table" },
    [ [[name = "next", ]] ] = { [[name = "teach", ]], 'a second stage "teach"' },
    [ [[{ name = "teach", cells = { bias = { "plain" } } },]] ] = { [[{ name = "teach" },]],
      "stages[1].cells: is missing" },
  }) do
    local first, last = STAGED:find(wrong_text, 1, true)
    local study, message = grid.expand(project,
      (write_staged(STAGED:sub(1, first - 1) .. expected[1] .. STAGED:sub(last + 1))))
    lu.assertNil(study, expected[1])
    for i = 2, #expected do
      lu.assertStrContains(message, expected[i])
    end
  end
end

support.run()
