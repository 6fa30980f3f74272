-- The content of spec.c: digests, and the parts that depend on how the spec chooses its task.

local support = dofile("tests/lua/support.lua")

local cases = require("cases")
local gen = require("render.templates.gen")
local lists = require("base.lists")
local lu = require("luaunit")
local plan_module = require("plan.plan")
local project_module = require("project")

local SPEC, PATHS, COLUMNS = cases.SPEC, cases.PATHS, cases.COLUMNS

TestSpec = {}

function TestSpec.test_digests_are_in_spec_c_alone()
  local case = cases.get_case("no clipping")
  local _, digest = gen.render_files(case.plan, cases.read_template, {})
  for _, name in ipairs({ case.plan.digest, case.plan.model_digest, digest }) do
    lu.assertStrContains(case.text["spec.c"], '"' .. name .. '"')
    for i = 2, #PATHS - 1 do
      lu.assertNotStrContains(case.text[PATHS[i]], name)
    end
  end
end

function TestSpec.test_the_source_digest_covers_code_and_kernels_only()
  local base, changed = cases.get_case("none none index 0.1 float32"), cases.get_case("evaluation while training")
  local function compute_digest(case, kernels)
    local _, digest = gen.render_files(case.plan, cases.read_template, kernels)
    return digest
  end
  local function make_kernel(name, text)
    return { path = ("kernels/cpu/%s.h"):format(name), text = text }
  end
  local adam, unused = make_kernel("adam", '#include "kernels/cpu/gradient.h"\n'), make_kernel("unused", "int a;\n")
  local kernels = { adam, make_kernel("gradient", "int a;\n") }
  lu.assertEquals(compute_digest(base, kernels), compute_digest(changed, kernels))
  lu.assertEquals(compute_digest(base, kernels), compute_digest(base, { adam, kernels[2], unused }))
  lu.assertNotEquals(compute_digest(base, kernels), compute_digest(base, {}))
  lu.assertNotEquals(compute_digest(base, kernels), compute_digest(base, { adam }))
  lu.assertNotEquals(compute_digest(base, kernels), compute_digest(base, { adam, make_kernel("gradient", "int b;\n") }))
  lu.assertNotEquals(compute_digest(base, {}), compute_digest(cases.get_case("no clipping"), {}))
end

TestTasks = {}

local OWN_TASK = "task.source=../tasks/own/first_repeat.c"
local DATA = { "task.data=x.jsonl", "task.input_symbols=300", "task.output_symbols=2", "train.epochs=3" }

-- Renders a spec, by default plain.lua; returns the files' texts by name, the source digest and the plan. Tests of
-- dataset files give bare.lua, which has no lengths.
local function render_task(sets, spec)
  local resolved, info, d = support.check(spec or SPEC, support.sets(sets))
  assert(resolved, d:text())
  local plan = plan_module.build(resolved, { task = info.task })
  local files, digest = gen.render_files(plan, cases.read_template, {})
  return support.index_texts(files), digest, plan
end

local function check_words(text, present_words, absent_words)
  for _, word in ipairs(present_words) do
    lu.assertStrContains(text, word)
  end
  for _, word in ipairs(absent_words) do
    lu.assertNotStrContains(text, word)
  end
end

function TestTasks.test_a_built_in_task_has_neither_source_nor_data()
  local text = render_task({})
  lu.assertNil(text["task.c"])
  check_words(text["spec.c"], { ".sample = lh_task_bucket_sort", ".labels = output_length" },
    { ".source =", "lh_data", ".data =", "set_shape", "NULL}}" })
  check_words(text["defaults.inc"], { "train.steps " }, { "train.epochs " })
end

function TestTasks.test_options_and_computation_tokens_are_absent_unless_requested()
  for _, sets in ipairs({ {}, { OWN_TASK }, DATA }) do
    local text = render_task(sets, sets == DATA and "tests/golden/specs/bare.lua" or nil)
    for path, content in pairs(text) do
      local low = path ~= "plan.lua" and cases.remove_spec(path, content):lower() or ""
      lu.assertNil(low:find("options", 1, true), path)
      lu.assertNil(low:find("computation", 1, true), path)
    end
  end
end

-- The loss of a task without masks has no code for masks. If masked labels are in the loss, the only code for masks
-- skips the answer of a sequence without a label that counts.
function TestTasks.test_masks_are_in_the_loss_of_tasks_that_mask()
  local function find_words(sets, spec)
    local text, words = render_task(sets, spec), {}
    for word, where in pairs({ [".loss = LH_LOSS_ALL"] = "spec.c", [".loss = LH_LOSS_COUNTED"] = "spec.c",
      [".scale = scale"] = "step.c", ["continue;"] = "loss.inc", ["all labels are masked"] = "loss.inc" }) do
      words[#words + 1] = text[where]:find(word, 1, true) and word or nil
    end
    table.sort(words)
    return words
  end
  local counted = { ".loss = LH_LOSS_COUNTED", ".scale = scale", "all labels are masked", "continue;" }
  local unmasked = { ".loss = LH_LOSS_ALL", "all labels are masked" }
  local masking = "task.source=../tasks/own/masked_sort.c"
  lu.assertEquals(find_words({}), {})
  lu.assertEquals(find_words({ OWN_TASK }), {})
  lu.assertEquals(find_words({ masking }), unmasked)
  lu.assertEquals(find_words({ masking, "model.kind=decoder" }), counted)
  lu.assertEquals(find_words({ masking, "task.loss=counted" }), counted)
  lu.assertEquals(find_words(DATA, "tests/golden/specs/bare.lua"), counted)
  lu.assertEquals(find_words({ "task.loss=all", table.unpack(DATA) }, "tests/golden/specs/bare.lua"), unmasked)
end

function TestTasks.test_options_reach_the_sampler_as_numbers()
  local source_setting = "task.source=../tasks/own/choices.c"
  check_words(render_task({ source_setting })["spec.c"], { ".options = task_options,",
    "/* order = up, base = 2 */\nstatic const int task_options[] = {0, 2};" }, {})
  check_words(render_task({ source_setting, "task.options={ base = 16, order = 'down' }" })["spec.c"],
    { "/* order = down, base = 16 */\nstatic const int task_options[] = {1, 16};" }, {})
end

function TestTasks.test_computation_tokens_are_between_input_and_outputs()
  check_words(render_task({ "task.computation=1", "eval.lengths={ 1, 5 }" })["spec.c"], {
    "enum { COMPUTATION_TOKEN = 5, EMPTY_TOKEN = 6 };", "return 2 * input_length(n) + output_length(n);",
    "a computation token for each of its tokens",
    "i < example->input_length; i++) *source++ = COMPUTATION_TOKEN;" }, { "1 * " })
  local data = render_task({ "task.computation=3", DATA[1], DATA[2], DATA[3] }, "tests/golden/specs/bare.lua")
  check_words(data["spec.c"], {
    "enum { COMPUTATION_TOKEN = 300, EMPTY_TOKEN = 301 };", "shape->length[0] = 4 * input + output;",
    "3 computation tokens for each", "i < 3 * example->input_length; i++) *source++ = COMPUTATION_TOKEN;" }, {})
end

function TestTasks.test_without_a_spare_token_the_empty_token_follows_the_input_tokens()
  check_words(render_task({})["spec.c"], { "EMPTY_TOKEN = 6 }" }, {})
  check_words(render_task({ "model.spare_token=false" })["spec.c"], { "EMPTY_TOKEN = 5 }" }, {})
end

-- A decoder also reads the target except its last token, so it has as many tokens as an encoder with its empty tokens.
function TestTasks.test_a_decoder_reads_the_target()
  local encoder = { "EMPTY_TOKEN" }
  local text = render_task({ "model.kind=decoder" })["spec.c"]
  check_words(text, {
    "enum { FIRST_OUTPUT = 5, SEPARATOR = 10 };", "return input_length(n) + output_length(n);",
    "    *source++ = SEPARATOR;\n    for (int i = 0; i + 1 < example->output_length; i++) "
      .. "*source++ = (uint16_t)(FIRST_OUTPUT + example->target[i]);\n",
    "        .labels = output_length,\n        .teacher_forced = true,\n" }, encoder)
  check_words(render_task({})["spec.c"], { "EMPTY_TOKEN" }, { "SEPARATOR", "teacher_forced", "target" })
  local data = render_task({ "model.kind=decoder", "task.computation=3", table.unpack(DATA) },
    "tests/golden/specs/bare.lua")["spec.c"]
  check_words(data, { "enum { COMPUTATION_TOKEN = 302, FIRST_OUTPUT = 300, SEPARATOR = 303 };",
    "shape->length[0] = 4 * input + output;", "        .shape = set_shape,\n        .teacher_forced = true,\n",
    "3 computation tokens for each of its tokens, a separator and the target without its" }, encoder)
  for line in data:gmatch("[^\n]+") do
    lu.assertTrue(#line <= COLUMNS, line)
  end
end

function TestTasks.test_positions_in_dataset_lines_need_no_function()
  local coupling = { "encoding={ use = 'coupling' }", "model.kind=decoder" }
  check_words(render_task({ coupling[1], coupling[2], table.unpack(DATA) }, "tests/golden/specs/bare.lua")["spec.c"],
    { "token_positions = {.by_line = true, .greatest = 2048};" }, { ".place =", "lh_task_place" })
end

function TestTasks.test_a_task_finds_its_final_result()
  local project = require("project").new(".")
  local function render(kind)
    local spec = assert(project:plan(support.write("sums.lua", ([[return { task = { kind = %q },
      encoding = { kind = "none" }, model = { kind = "decoder" }, train = { steps = 100 } }]]):format(kind))))
    return support.index_texts((gen.render_files(spec.plan, cases.read_template, {})))["spec.c"]
  end
  check_words(render("scratchpad_addition"), { "lh_task_find_result lh_find_result_scratchpad_addition;",
    ".find_result = lh_find_result_scratchpad_addition," }, {})
  check_words(render("free_addition"), {}, { "find_result" })
end

function TestTasks.test_an_own_source_is_copied_and_covered_by_the_source_digest()
  local text, digest, plan = render_task({ OWN_TASK })
  lu.assertEquals(text["task.c"], support.read("tests/golden/tasks/own/first_repeat.c")
    .. "/* Generated by Longhand; do not edit: a copy of first_repeat.c. */\n")
  check_words(text["spec.c"], { '.source = "first_repeat.c"', ".sample = lh_task_first_repeat", '"none"};' },
    { "lh_data", ".data =", "set_shape" })
  local function compute_digest(more_text)
    local task = lists.merge(plan.task, { text = plan.task.text .. more_text })
    return select(2, gen.render_files(lists.merge(plan, { task = task }), cases.read_template, {}))
  end
  lu.assertEquals(compute_digest("\n/* words */\n"), digest)
  lu.assertNotEquals(compute_digest("int more;\n"), digest)
end

-- Formulas of a user's own task may name its options, whose values are numbers in the code.
function TestTasks.test_an_own_source_may_name_its_options()
  local framed_task = "task.source=../tasks/own/framed.c"
  local text, _, plan = render_task({ framed_task, "task.options={ width = 9, order = 'down' }", "model.kind=decoder" })
  check_words(text["spec.c"], { "return 9 + n;", "return 1 + 1;", "task_options[] = {9, 1, 3};",
    "enum { FIRST_OUTPUT = 0, SEPARATOR = 5 };", ".input_symbols = 6,", ".output_symbols = 6," }, { "width + n" })
  lu.assertEquals({ plan.tokens, plan.task.chance }, { 6, 1 / 3 })
  local encoder = render_task({ framed_task })["spec.c"]
  check_words(encoder, { "return 6 + n;", "return 0 + 1;", "EMPTY_TOKEN = 7" }, {})
end

-- A task that solves a user's inputs has a second function, and no other task has one.
function TestTasks.test_a_task_that_solves_has_its_function()
  local project = project_module.new(".")
  local files = project:render_files(assert(project:plan("abc_addition_vanilla", {})).plan)
  check_words(support.index_texts(files)["spec.c"], { ".solve = lh_solve_addition,\n", '.literal = "12+345",\n',
    "lh_task_collect lh_task_addition;\nlh_task_solve lh_solve_addition;\n\n" }, {})
  check_words(render_task({})["spec.c"], {}, { "solve", "literal" })
end

function TestTasks.test_dataset_files_have_no_sampler_and_no_lengths()
  local text = render_task(DATA, "tests/golden/specs/bare.lua")
  lu.assertNil(text["task.c"])
  check_words(text["spec.c"], { '.train = "tests/golden/specs/x.jsonl"', ".longest = 512", ".shape = set_shape",
    ".data = &data" }, { "lh_task_sample", "input_length(int n)", ".sample", ".eval = \"", ".source =" })
  check_words(text["defaults.inc"], { "train.epochs 3\\n", "eval.lengths 1:0:1\\n" }, { "train.steps " })
  for line in text["spec.c"]:gmatch("[^\n]*") do
    lu.assertTrue(#line <= COLUMNS, line)
  end
end

support.run()
