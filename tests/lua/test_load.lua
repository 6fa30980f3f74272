-- generator/spec/reading/load.lua, sandbox.lua and tree.lua: what a spec may do, merging of tables, effects of --set.

local support = dofile("tests/lua/support.lua")
local diagnostics = require("base.diagnostics")
local load_module = require("spec.reading.load")
local lu = require("luaunit")
local sandbox = require("spec.reading.sandbox")

local function load_spec(path, sets)
  local d = diagnostics.new()
  return load_module.load(path, { root = ".", diagnostics = d, sets = sets }), d
end

local function load_text(text, sets)
  return load_spec(support.write("probe.lua", text), sets)
end

-- Returns the value at a path of a loaded tree, and the value's origin.
local function get_value(loaded, path)
  local node = loaded.tree
  for name in path:gmatch("[^%.]+") do
    node = node and (tonumber(name) and node.items[tonumber(name)] or node.fields[name])
  end
  return node and node.value, node and node.origin
end

local function refuse(text, message)
  local _, d = load_text(text)
  lu.assertStrContains(d:text(), message)
  return d
end

TestSandbox = {}

-- The limit is smaller than the real one, since these tests reach it.
function TestSandbox:setUp()
  self.instructions = sandbox.INSTRUCTIONS
  sandbox.INSTRUCTIONS = 100000
end

function TestSandbox:tearDown()
  sandbox.INSTRUCTIONS = self.instructions
end

function TestSandbox.test_endless_loop_is_stopped()
  refuse("local n = 0\nwhile true do n = n + 1 end",
    "probe.lua:2:1: error: the code still runs after 100000 instructions")
end

function TestSandbox:test_recursion_is_stopped()
  sandbox.INSTRUCTIONS = self.instructions
  refuse("local function f() return 1 + f() end\nreturn f()", "a function calls itself without end")
end

function TestSandbox.test_endless_tail_calls_are_stopped()
  refuse("local function f() return f() end\nreturn f()", "still runs")
end

-- One concatenation can double the memory, and a table grows by one value at a time: both end early, with a message.
function TestSandbox:test_memory_is_bounded()
  sandbox.INSTRUCTIONS = self.instructions
  refuse("local s = 'x'\nwhile true do s = s .. s end", "probe.lua:2:1: error: the code uses more than 128 MB")
  refuse("local s = 'x'\nfor i = 1, 9 do s = s .. s .. s .. s .. s .. s .. s .. s .. s end\nreturn { s }",
    "probe.lua:2:1: error: the code uses more than 64 MB of memory, and 8 joins of texts could multiply the memory")
  refuse("local s = '0123456789'\nfor i = 1, 9 do s = s" .. (" .. s"):rep(49) .. " end\nreturn { s }",
    "probe.lua:2:1: error: the code uses more than 10 MB")
  refuse("local t = {}\nfor i = 1, 1e9 do t[i] = { { i }, { i } } end", "probe.lua:2:1: error:")
end

-- An operation that makes a long string costs many instructions of the limit.
function TestSandbox:test_long_strings_count_as_work()
  sandbox.INSTRUCTIONS = self.instructions
  refuse("local s = 'x'\nfor i = 1, 23 do s = s .. s end\nwhile true do local t = s .. 'y' end",
    "probe.lua:3:1: error: the code still runs")
end

-- Files and functions of one spec share their limits.
function TestSandbox.test_a_budget_is_shared()
  local budget = sandbox.make_budget()
  local text = "local n = 0\nfor i = 1, 10000 do n = n + i end\nreturn n"
  local runs = 0
  while sandbox.run(text, budget) and runs < 20 do
    runs = runs + 1
  end
  lu.assertTrue(runs >= 2 and runs <= 10, runs)
  lu.assertEquals(sandbox.run(text), 50005000)
end

-- 40,000 unknown fields are counted, and only the reported ones get hints.
function TestSandbox.test_many_errors_take_little_time()
  local parts = {}
  for i = 1, 40000 do
    parts[i] = ("a%x=1"):format(i)
  end
  local began = os.clock()
  local resolved, _, d = support.check_text("return { task = { kind = 'bucket_sort' }, model = {\n"
    .. table.concat(parts, ",") .. "} }")
  lu.assertNil(resolved)
  lu.assertStrContains(d:text(), "40000 errors, 39980 more not shown")
  lu.assertTrue(os.clock() - began < 10, "hints of errors that are not shown")
  refuse(("-"):rep(600000), "found 600000 bytes; expected at most 524288")
end

function TestSandbox.test_names_of_libraries_are_reported()
  for _, name in ipairs({ "os", "io", "require", "math", "string", "debug", "coroutine", "pcall", "setmetatable",
    "load", "print", "_G", "error", "collectgarbage", "rawget", "next", "getmetatable" }) do
    local d = refuse("return {\n  x = " .. name .. ".y,\n}", '"' .. name .. '" is not defined; a spec has no I/O')
    lu.assertStrContains(d:text(), "probe.lua:2:7: error:")
  end
end

function TestSandbox.test_globals_cannot_be_set()
  refuse("width = 64\nreturn {}", '1:1: error: "width" is set as a global')
end

function TestSandbox.test_strings_have_no_methods()
  refuse("return { x = ('x'):rep(3) }", "attempt to index a string value")
  refuse("local s = 'x'\nreturn { x = s.rep }", "attempt to index a string value")
  refuse("return { x = '1' + 1 }", "attempt to perform arithmetic on a string value")
  lu.assertEquals(("x"):rep(2), "xx")
end

function TestSandbox.test_string_metatable_is_restored_after_a_failure()
  sandbox.run("local function f() return 1 + f() end return f()")
  sandbox.run("while true do end")
  lu.assertEquals(("ab"):upper(), "AB")
  lu.assertNil(debug.gethook())
end

function TestSandbox.test_bytecode_is_refused()
  refuse(string.dump(function() return {} end), "this is precompiled Lua")
end

function TestSandbox.test_syntax_errors_have_positions()
  refuse("return {\n  a = 1\n  b = 2,\n}", "probe.lua:3:3: error: not valid Lua: '}' expected")
  refuse("return {\n  a = 1,", "probe.lua:2:3: error: not valid Lua")
  refuse("return " .. ("{"):rep(300), "not valid Lua")
end

function TestSandbox.test_a_result_other_than_a_table_is_refused()
  refuse("local x = 1", "the file returns nothing")
  refuse("return 5", "the file returns 5")
  refuse("return function() end", "the file returns a function")
  refuse("", "the file is empty")
  refuse("local t = {}\nt.t = { t }\nreturn t", "the table contains itself")
  refuse("local t = {}\nt[{}] = 1\nreturn t", "a key is a table")
  refuse("return { [true] = 1 }", "a key is true")
  refuse("return { [0.5] = 1 }", "a key is 0.5")
  refuse("return { a = { 1, nil, 3 } }", "a: the list has item 3 but no item 2")
  refuse("return { a = { [0] = 1 } }", "the list has item 0")
  refuse("return { a = 0 / 0 }", "a: NaN is not a finite number")
  refuse("return { a = { 1, -1 / 0 } }", "a[2]: -inf is not a finite number")
  refuse("local t = {}\nfor i = 1, 40 do t = { t } end\nreturn t", "nested deeper")
  refuse("local t = {}\nfor i = 1, 9 do t = { t, t, t, t } end\nreturn t", "more than 150000 values")
end

function TestSandbox.test_functions_may_not_compare()
  local d = refuse("return {\n  score = function(x) return x.a < 0 end,\n}",
    "2:34: error: `<` inside a function body")
  lu.assertEquals(d:count(), 1)
end

function TestSandbox.test_local_arithmetic_is_fine()
  local loaded, d = load_text("local n = 3\nlocal function twice(x) return 2 * x end\n"
    .. "return { a = twice(n), b = n // 2 }")
  lu.assertEquals(d:text(), "")
  lu.assertEquals(get_value(loaded, "a"), 6)
end

function TestSandbox.test_windows_line_ends_keep_lines()
  local _, origin = get_value(load_text("\xEF\xBB\xBFreturn {\r\n  a = 1,\r\n}\r\n"), "a")
  lu.assertEquals({ origin.line, origin.col }, { 2, 3 })
end

TestLoad = {}

function TestLoad.test_id_is_the_base_name()
  lu.assertEquals(load_spec("spec/runs/bucket_sort_none.lua").id, "bucket_sort_none")
  for _, name in ipairs({ "a.lua", "Upper.lua", "9lives.lua", "with-dash.lua", ("a"):rep(65) .. ".lua", "noend" }) do
    local _, d = load_spec(support.write(name, "return {}"))
    lu.assertStrContains(d:text(), "is not a name for a spec")
  end
  lu.assertNotNil(load_spec(support.write(("a"):rep(64) .. ".lua", "return {}")))
  lu.assertNotNil(load_spec(support.write("ab.lua", "return {}")))
end

function TestLoad.test_source_shows_no_path_outside_the_root()
  lu.assertEquals(load_spec("./spec/../spec/runs/bucket_sort_none.lua").source, "spec/runs/bucket_sort_none.lua")
  lu.assertEquals(load_text("return {}").source, "probe.lua")
  local loaded, d = load_spec("/nowhere/at_all.lua")
  lu.assertNil(loaded)
  lu.assertStrContains(d:text(), "at_all.lua: error: cannot read the file: No such file or directory")
end

function TestLoad.test_a_directory_is_no_spec()
  support.write("folder.lua/x", "")
  local loaded, d = load_spec(support.write("y.txt", ""):gsub("y.txt$", "folder.lua"))
  lu.assertNil(loaded)
  lu.assertStrContains(d:text(), "cannot read the file")
end

function TestLoad.test_use_merges_fields_into_a_preset()
  local loaded = load_text('return { model = { use = "ruoss_encoder", heads = 4 } }')
  lu.assertEquals(get_value(loaded, "model.heads"), 4)
  local layers, origin = get_value(loaded, "model.layers")
  lu.assertEquals(layers, 5)
  lu.assertEquals(origin.path, "spec/models/ruoss_encoder.lua")
  lu.assertNil(loaded.tree.fields.model.fields.use)
end

function TestLoad.test_encoding_kind_is_short_for_use()
  local loaded = load_text('return { encoding = { kind = "rope", positions = { kind = "randomized" } } }')
  lu.assertEquals(get_value(loaded, "encoding.rotation.kind"), "rope")
  lu.assertEquals(get_value(loaded, "encoding.positions.kind"), "randomized")
  lu.assertNil(get_value(loaded, "encoding.kind"))
  refuse('return { encoding = { kind = "rope", use = "rope" } }', "encoding.kind: conflicts with encoding.use")
end

function TestLoad.test_a_list_replaces_the_whole_list_of_a_preset()
  local loaded = load_text('return { train = { use = "quick", lengths = { 1, 20 } }, '
    .. 'eval = { use = "quick", lengths = { 5, 6 } } }')
  lu.assertEquals(get_value(loaded, "train.lengths.2"), 20)
  lu.assertNil(loaded.tree.fields.eval.fields.lengths.fields.list)
end

function TestLoad.test_another_kind_drops_the_preset()
  local base = 'return { encoding = { additive = { kind = "learned", rows = 9 } }, '
    .. 'train = { clip = { max_norm = 2 } } }'
  support.write("base.lua", base)
  local loaded = load_text('return { use = "./base.lua", encoding = { additive = { kind = "none" } } }')
  lu.assertNil(get_value(loaded, "encoding.additive.rows"))
  loaded = load_text('return { use = "./base.lua", encoding = { additive = { kind = "learned" } } }')
  lu.assertEquals(get_value(loaded, "encoding.additive.rows"), 9)
  loaded = load_text('return { use = "./base.lua", train = { clip = { kind = "none" } } }')
  lu.assertTrue(loaded.tree.fields.train.fields.clip.fields.max_norm.droppable)
end

-- If --set changes a kind, fields that fit are kept and dropped fields are reported, whether the spec or a preset chose
-- the kind.
function TestLoad.test_a_kind_from_the_command_line_keeps_fitting_fields()
  for _, model in ipairs({ 'kind = "encoder", layers = 3, spare_token = false', 'use = "small_encoder", layers = 3, '
    .. "spare_token = false" }) do
    local resolved, info = support.check_text(([[return {
      task = { kind = "reverse_string" }, encoding = { kind = "rope" },
      model = { %s, norm = { kind = "rms", place = "pre" } } }]]):format(model),
      support.sets({ "model.kind=decoder", "model.norm.kind=layer" }))
    lu.assertEquals({ resolved.model.layers, resolved.model.norm.place }, { 3, "pre" })
    lu.assertEquals(info.warnings, { "--set model.kind=decoder drops model.spare_token, which is not a field of kind "
      .. '"decoder"' })
  end
end

-- If --set changes the task, fields that fit are kept and dropped fields are reported.
function TestLoad.test_a_task_from_the_command_line_keeps_fitting_fields()
  support.tasks_folder = "runtime/data/tasks"
  local warning_start = "--set task.kind=parity_check drops task."
  local base = [[return { task = { kind = "odds_first", options = { order = "odd" }, computation = 2 },
    model = { use = "small_encoder" } }]]
  support.write("base.lua", base)
  for _, text in ipairs({ base, 'return { use = "./base.lua" }' }) do
    local resolved, info, d = support.check_text(text, support.sets({ "task.kind=parity_check" }))
    lu.assertTrue(resolved ~= nil, d:text())
    lu.assertEquals(resolved.task, { kind = "parity_check", computation = 2 })
    lu.assertEquals(info.warnings, { warning_start .. "options.order, which does not fit the new task" })
  end
  local resolved, info, d = support.check_text([[return { task = { kind = "latin_square", seed = 3 },
    model = { use = "small_encoder" } }]], support.sets({ "task.kind=parity_check" }))
  lu.assertTrue(resolved ~= nil, d:text())
  lu.assertEquals({ resolved.task, info.warnings }, { { kind = "parity_check" },
    { warning_start .. "seed, which does not fit the new task" } })
  local data = [[return { task = { data = "none.jsonl", name = "mine", input_symbols = "01", output_symbols = "01" },
    model = { use = "small_encoder" } }]]
  resolved, info, d = support.check_text(data, support.sets({ "task.kind=parity_check" }))
  lu.assertTrue(resolved ~= nil, d:text())
  lu.assertEquals({ resolved.task.kind, #info.warnings }, { "parity_check", 4 })
  support.tasks_folder = "tests/golden/tasks/good"
end

function TestLoad.test_a_preset_may_be_a_user_s_spec()
  support.write("mine/base.lua",
    'return { precision = "float64", model = { use = "small_encoder", heads = 4 }, train = { steps = 7 } }')
  local loaded = load_text('return { model = { use = "./mine/base.lua", layers = 1 } }')
  lu.assertEquals((get_value(loaded, "model.heads")), 4)
  lu.assertEquals((get_value(loaded, "model.layers")), 1)
  lu.assertEquals((get_value(loaded, "model.width")), 16)
  lu.assertNil(get_value(loaded, "precision"))
  lu.assertNil(get_value(loaded, "train.steps"))
end

function TestLoad.test_a_whole_spec_may_be_the_base()
  support.write("mine/grand.lua", 'return { train = { steps = 7, batch = 8 }, task = { kind = "bucket_sort" } }')
  support.write("mine/base.lua",
    'return { use = "./grand.lua", precision = "float64", train = { batch = 9 }, eval = { use = "quick" } }')
  local loaded = load_text('return { use = "./mine/base.lua", train = { learning_rate = 1 }, '
    .. 'eval = { use = "ruoss" } }')
  lu.assertEquals(get_value(loaded, "train.steps"), 7)
  lu.assertEquals(get_value(loaded, "train.batch"), 9)
  lu.assertEquals(get_value(loaded, "precision"), "float64")
  local kind, origin = get_value(loaded, "task.kind")
  lu.assertEquals(kind, "bucket_sort")
  lu.assertEquals(origin.path, "mine/grand.lua")
  lu.assertEquals(get_value(loaded, "eval.examples"), 500)
  lu.assertNil(loaded.tree.fields.use)
end

-- A task is chosen, for example, by `kind` or by `source`. A spec that builds upon another replaces the other choice;
-- --set marks the replaced field as droppable.
function TestLoad.test_another_choice_of_task_replaces_the_first()
  support.write("base_task.lua", 'return { task = { kind = "bucket_sort" } }')
  support.write("own_task.lua", 'return { task = { source = "x.c" } }')
  local function load_task(text, sets)
    local d = require("base.diagnostics").new()
    local loaded = load_module.load(support.write("probe.lua", text), { root = ".", diagnostics = d, sets = sets })
    local fields = loaded.tree.fields.task.fields
    return fields.kind and (fields.kind.droppable or fields.kind.value), fields.source and fields.source.value
  end
  lu.assertEquals({ load_task('return { use = "./base_task.lua", task = { source = "x.c" } }') }, { nil, "x.c" })
  lu.assertEquals({ load_task('return { use = "./own_task.lua", task = { kind = "even_pairs" } }') }, { "even_pairs" })
  lu.assertEquals({ load_task('return { task = { use = "./base_task.lua", source = "y.c" } }') }, { nil, "y.c" })
  local set = { { path = "task.source", text = "z.c" } }
  lu.assertEquals({ load_task('return { task = { kind = "bucket_sort" } }', set) }, { "--set task.source=z.c", "z.c" })
end

function TestLoad.test_paths_are_relative_to_their_spec()
  support.write("deep/own_task.lua", 'return { task = { source = "x.c" } }')
  support.write("deep/x.c", "deep")
  support.write("x.c", "main")
  local path = support.write("probe.lua", 'return { use = "./deep/own_task.lua" }')
  local function read_source(sets)
    local d = require("base.diagnostics").new()
    local loaded = load_module.load(path, { root = ".", diagnostics = d, sets = sets })
    local node = loaded.tree.fields.task.fields.source
    return { loaded.read_file(node.origin, node.value) }
  end
  lu.assertEquals(read_source(), { "deep/x.c", "deep" })
  lu.assertEquals(read_source({ { path = "task.source", text = "./x.c" } }), { "x.c", "main" })
  lu.assertEquals(read_source({ { path = "task.source", text = "y.c" } }), { "y.c", nil, "No such file or directory" })
end

function TestLoad.test_cycles_are_reported_with_their_chain()
  support.write("one.lua", 'return { use = "./two.lua" }')
  local second_file = support.write("two.lua", 'return { use = "./one.lua" }')
  local loaded, d = load_spec(second_file)
  lu.assertNil(loaded)
  lu.assertStrContains(d:text(), "uses itself: two.lua -> one.lua -> two.lua")
  refuse('return { model = { use = "./probe.lua" } }', "model.use: uses itself: probe.lua -> probe.lua")
  support.write("three.lua", 'return { model = { use = "./probe.lua" } }')
  refuse('return { model = { use = "./three.lua" } }', "probe.lua -> three.lua -> probe.lua")
end

-- After an unknown preset the spec is still read, so that its other errors are reported in the same run.
function TestLoad.test_unknown_presets_list_existing_ones()
  local function assert_message(text, message)
    local loaded, d = load_text(text)
    lu.assertTrue(loaded ~= nil)
    lu.assertStrContains(d:text(), message)
    return d
  end
  local d = assert_message('return { model = { use = "small_encodr" } }',
    "model.use: there is no small_encodr.lua in spec/models")
  lu.assertStrContains(d:text(), "expected: deletang_lstm, deletang_rnn, deletang_stack_rnn, deletang_tape_rnn, ")
  lu.assertStrContains(d:text(), 'small_encoder, small_encoder_decoder\n  hint: did you mean "small_encoder"?')
  assert_message('return { encoding = { kind = "rop" } }', "encoding.kind: there is no rop.lua in spec/encodings")
  refuse("return { model = { use = 5 } }", "model.use: 5 is not a name")
  assert_message('return { model = { use = "../../secret" } }', 'model.use: "../../secret" names nothing')
  d = assert_message('return { encoding = { kind = "RoPE" } }', 'encoding.kind: "RoPE" names nothing')
  lu.assertStrContains(d:text(), 'hint: did you mean "rope"?')
  refuse('return { use = "ruoss" }', 'use: "ruoss" names nothing')
  refuse('return { use = "./gone.lua" }', "cannot read gone.lua: No such file")
end

TestSet = {}

function TestSet.test_sets_accept_all_kinds_of_constants()
  local sets = { { path = "train.steps", text = "2e3" }, { path = "task.kind", text = "even_pairs" },
    { path = "train.lengths", text = "{ 1, 20 }" }, { path = "encoding.positions.sorted", text = "false" },
    { path = "precision", text = '"float64"' } }
  local loaded, d = load_text('return { task = { kind = "bucket_sort" } }', sets)
  lu.assertEquals(d:text(), "")
  local steps, origin = get_value(loaded, "train.steps")
  lu.assertEquals(steps, 2000)
  lu.assertEquals(origin.set, "--set train.steps=2e3")
  lu.assertEquals(get_value(loaded, "task.kind"), "even_pairs")
  lu.assertEquals(get_value(loaded, "train.lengths.2"), 20)
  lu.assertEquals(get_value(loaded, "encoding.positions.sorted"), false)
  lu.assertEquals(get_value(loaded, "precision"), "float64")
end

function TestSet.test_another_encoding_keeps_other_fields()
  local text = 'return { encoding = { kind = "sinusoid", positions = { kind = "randomized" } } }'
  for _, path in ipairs({ "encoding.kind", "encoding.use" }) do
    local loaded = load_text(text, { { path = path, text = "rope" } })
    lu.assertEquals(get_value(loaded, "encoding.rotation.kind"), "rope")
    lu.assertNil(get_value(loaded, "encoding.additive.kind"))
    lu.assertEquals(get_value(loaded, "encoding.positions.kind"), "randomized")
  end
end

function TestSet.test_order_does_not_matter_between_fields()
  local text = 'return { encoding = { kind = "sinusoid" } }'
  for _, order in ipairs({ { 1, 2 }, { 2, 1 } }) do
    local sets = { { path = "encoding.additive.kind", text = "learned" }, { path = "encoding.additive.rows",
      text = "9" } }
    local loaded = load_text(text, { sets[order[1]], sets[order[2]] })
    lu.assertEquals(get_value(loaded, "encoding.additive.kind"), "learned")
    lu.assertEquals(get_value(loaded, "encoding.additive.rows"), 9)
  end
end

function TestSet.test_the_later_of_two_settings_wins()
  local loaded = load_text("return {}", { { path = "train.steps", text = "1" }, { path = "train.steps", text = "2" } })
  lu.assertEquals(get_value(loaded, "train.steps"), 2)
end

function TestSet.test_invalid_settings_are_reported()
  for _, case in ipairs({
    { "train..steps", "1", '"train..steps" is not a field path' }, { "", "1", "is not a field path" },
    { "eval.lengths.list[1]", "1", "is not a field path" }, { "train.steps", " ", "has no value" },
    { "train.lengths", "{ 1, ", "not valid Lua" },
    { "train.lengths", "{ os }", '"os" is not defined' },
    { "train.lengths", "{ [1.5] = 2 }", "error: a key is 1.5" },
    { "train.batch", "1e999", "error: inf is not a finite number" },
  }) do
    local loaded, d = load_text("return {}", { { path = case[1], text = case[2] } })
    lu.assertNil(loaded)
    lu.assertStrContains(d:text(), case[3])
    lu.assertStrContains(d:text(), "--set " .. case[1] .. "=")
  end
end

TestPipes = { tearDown = support.clean }

-- Opening a pipe without a writer would block.
function TestPipes.test_pipes_are_not_opened()
  local folder = support.write("pipes/x", ""):match("^(.*)/")
  assert(os.execute(("mkfifo '%s/pipe.lua' '%s/pipe.c'"):format(folder, folder)))
  for field, fields in pairs({
    use = 'use = "./pipe.lua", task = { kind = "parity_check" }',
    ["encoding.use"] = 'task = { kind = "parity_check" }, encoding = { use = "./pipe.lua" }',
    ["task.source"] = 'task = { source = "pipe.c" }, encoding = { kind = "none" }',
  }) do
    local path = support.write("pipes/probe.lua", "return { " .. fields .. " }")
    local output = support.shell(("timeout 60 lua5.4 generator/main.lua check '%s' 2>&1; echo $?"):format(path))
    lu.assertStrContains(output, "found a named pipe; expected a file", false, field)
    lu.assertStrContains(output, "\n1\n", false, field)
  end
  for verb, kind in pairs({ check = "spec", ["sweep --dry-run"] = "study" }) do
    lu.assertStrContains(support.shell(("timeout 60 lua5.4 generator/main.lua %s '%s/pipe.lua'"):format(verb, folder)),
      ("no such %s: %s/pipe.lua, which is a named pipe"):format(kind, folder))
  end
end

support.run()
