-- generator/spec/task/tasks.lua: the headers of task files, and their formulas.

local support = dofile("tests/lua/support.lua")
local diagnostics = require("base.diagnostics")
local lu = require("luaunit")
local tasks = require("spec.task.tasks")

TestTasks = {}

local HEADER = {
  "/* Test Task (Someone 2020, section 1): does it.",
  " *",
  " * input symbols:  a b c",
  " * output symbols: 0 1",
  " * input length:   2 * n + 1",
  " * output length:  (n + 1) / 2",
  " * chance:         0.5 the accuracy of guessing",
  " * baseline:       0.75 majority symbol",
  " */",
  "void lh_task_probe(lh_rng *rng, int n, lh_example *example) {}",
}

-- Reads a folder with the task file `probe`, whose header has other lines. changes: lines by number, false for a line
-- that is left out. Returns the facts of the tasks and the diagnostics.
local function read_changed(changes)
  local lines = {}
  for i, line in ipairs(HEADER) do
    local changed = changes[i] == nil and line or changes[i]
    lines[#lines + 1] = changed or nil
  end
  local d = diagnostics.new()
  local folder = support.write("tasks/probe.c", table.concat(lines, "\n") .. "\n"):match("^(.*)/")
  return tasks.read(folder, d), d
end

-- Reads HEADER with `line` in place of the line with this number; false removes the line.
local function read(line_number, line)
  return read_changed(line_number and { [line_number] = line } or {})
end

function TestTasks.test_header_gives_all_facts()
  local facts, d = read()
  lu.assertEquals(d:text(), "")
  lu.assertEquals(facts.list, { facts.probe })
  lu.assertEquals(facts.probe, { kind = "probe", title = "Test Task", path = "runtime/data/tasks/probe.c",
    summary = "Test Task (Someone 2020, section 1): does it.", input_symbols = { "a", "b", "c" },
    output_symbols = { "0", "1" }, input_length = "2 * n + 1", output_length = "(n + 1) / 2", chance = 0.5,
    baseline = 0.75, baseline_name = "majority symbol" })
end

-- An alphabet may have ranges of numbers, and lines that are indented more than its key.
function TestTasks.test_long_alphabets()
  local facts, d = read(3, " * input symbols: 8..10 + *\n *    = a: 2..2\n *    chance_of")
  lu.assertEquals(d:text(), "")
  lu.assertEquals(facts.probe.input_symbols, { "8", "9", "10", "+", "*", "=", "a:", "2", "chance_of" })
  lu.assertEquals(#read(3, " * symbols: 0..64999").list, 0) -- conflicts with the line of output symbols
  facts, d = read_changed({ [3] = " * symbols: 0..64999", [4] = false })
  lu.assertEquals(d:text(), "")
  lu.assertEquals({ #facts.probe.output_symbols, facts.probe.output_symbols[65000] }, { 65000, "64999" })
  for line, text in pairs({ [" * input symbols: 0..64999 a"] = "input symbols: more than 65000 symbols",
    [" * input symbols: 3 1..5"] = 'the symbol "3" is given twice',
    [" * input symbols: a\n * b c"] = "not of the form key: value",
    [" * input symbols: a\n *  chance: 1"] = "chance is given twice",
    [" * grid: 4\n *   5"] = "not of the form key: value" }) do
    lu.assertStrContains(select(2, read(3, line)):text(), text)
  end
  lu.assertEquals(read(3, " * input symbols: 5..3 0..123456").probe.input_symbols, { "5..3", "0..123456" })
end

function TestTasks.test_list_is_sorted_and_helpers_are_no_tasks()
  support.write("more/b_task.c", (table.concat(HEADER, "\n"):gsub("probe", "b_task")))
  support.write("more/a_task.c", (table.concat(HEADER, "\n"):gsub("probe", "a_task")))
  local folder = support.write("more/bits.h", "/* no task */"):match("^(.*)/")
  local facts = tasks.read(folder, diagnostics.new())
  lu.assertEquals({ #facts.list, facts.list[1].kind, facts.list[2].kind }, { 2, "a_task", "b_task" })
end

function TestTasks.test_baseline_is_optional()
  local facts, d = read(8, false)
  lu.assertEquals(d:count(), 0)
  lu.assertNil(facts.probe.baseline)
end

function TestTasks.test_options_are_words_or_integers()
  local facts, d = read(8, " * option order:  odd even ; what comes first; or last\n"
    .. " * option base_2: 2 -10; of numbers")
  lu.assertEquals(d:text(), "")
  lu.assertEquals(facts.probe.options, {
    { name = "order", choices = { "odd", "even" }, doc = "what comes first; or last" },
    { name = "base_2", choices = { 2, -10 }, doc = "of numbers" },
  })
  facts, d = read(8, " * option order: odd even; first\n * option order: up down; last")
  lu.assertNil(facts.probe)
  lu.assertStrContains(d:text(), "probe.c:9:4: error: option order is given twice")
end

function TestTasks.test_options_may_be_a_range()
  local facts, d = read(8, " * option width: 2 to 4096 = 61; tokens of a frame")
  lu.assertEquals(d:text(), "")
  lu.assertEquals(facts.probe.options, { { name = "width", first = 2, last = 4096, default = 61,
    doc = "tokens of a frame" } })
  for _, text in ipairs({ "2 to 4096 = 4097", "9 to 2 = 3", "2 to 4096" }) do
    facts, d = read(8, " * option width: " .. text .. "; tokens")
    lu.assertNil(facts.probe)
    lu.assertStrContains(d:text(), "probe.c:8:4: error: option width: ")
  end
end

-- Lengths, numbers of symbols and the chance may depend on options, whose values a spec chooses.
function TestTasks.test_formulas_and_alphabets_name_options()
  local facts, d = read(8, table.concat({ " * option width: 2..40 = 6; tokens of a frame",
    " * option order: up down; words are their places", " * option size: 2 3; symbols",
    " * output symbol count: size - 1", " * input symbol count: width - 20, at least 2" }, "\n"))
  lu.assertNil(facts.probe)
  lu.assertStrContains(d:text(), "probe.c:12:4: error: input symbol count: 40 - 20 is 20")
  lu.assertStrContains(d:text(), "expected: FORMULA[, at least K], from 1 to 3, the number of listed symbols")
  facts, d = read_changed({ [5] = " * input length: 2 * width + n", [6] = " * output length: n + order * width",
    [7] = " * chance: 1 / size", [8] = table.concat({ " * option width: 2..40 = 6; tokens of a frame",
      " * option order: up down; the order", " * option size: 2 3; symbols", " * input symbol count: size" }, "\n") })
  local probe = facts.probe
  lu.assertEquals(d:text(), "")
  lu.assertEquals(probe.options[1], { name = "width", first = 2, last = 40, default = 6, doc = "tokens of a frame" })
  local settled = tasks.settle(probe, { width = 7, order = "down", size = 2 })
  lu.assertEquals({ settled.input_length, settled.output_length, settled.chance, settled.input_symbols,
    settled.output_symbols }, { "2 * 7 + n", "n + 1 * 7", 0.5, { "a", "b" }, { "0", "1" } })
  lu.assertEquals(tasks.count_longest_stream(settled, 5), 31)
  lu.assertEquals(#tasks.settle(probe, { width = 7, order = "up", size = 3 }).input_symbols, 3)
end

local WIDTH = " * option width: 2..40 = 6; tokens of a frame"

function TestTasks.test_formulas_that_fail_for_some_choice_are_reported()
  for line, expected_words in pairs({
    [" * input length: n - width + 4"] = "input length: n - 6 + 4 is -1 at n = 1",
    [" * input length: n + widht"] = 'input length: "w" does not belong in a formula',
    [" * chance: 1 / (width - 2)"] = "chance: (2 - 2) is 0",
    [" * chance: 1 / height"] = 'chance: "h" does not belong in a formula',
  }) do
    local facts, d = read_changed({ [line:find("chance") and 7 or 5] = line, [8] = WIDTH })
    lu.assertNil(facts.probe)
    lu.assertStrContains(d:text(), expected_words)
  end
end

-- An error that occurs inside a range, but not at its ends, is found when a spec chooses a value.
function TestTasks.test_choices_that_formulas_do_not_allow_are_refused()
  local changes = { [5] = " * input length: n + 100 / (width - 5)",
    [7] = " * chance: 1 / ((width - 9) * (width - 9))", [8] = WIDTH }
  local facts, d = read_changed(changes)
  lu.assertNil(facts.probe)
  lu.assertStrContains(d:text(), "input length: n + 100 / (2 - 5) is -33 at n = 1")
  changes[5] = " * input length: n + 100 / ((width - 5) * (width - 5))"
  local probe = assert(read_changed(changes).probe)
  lu.assertEquals({ tasks.settle(probe, { width = 5 }) },
    { nil, "input length: n + 100 / ((5 - 5) * (5 - 5)) has no value at n = 1" })
  lu.assertEquals({ tasks.settle(probe, { width = 9 }) }, { nil, "chance: the formula has no value" })
  lu.assertEquals(tasks.settle(probe, { width = 10 }).chance, 1.0)
end

-- Inputs and outputs may have one alphabet, in which symbols may begin and end a decoder's target.
function TestTasks.test_input_and_output_may_share_an_alphabet()
  local function read_shared(line)
    local facts, d = read_changed({ [3] = " * symbols: a b $", [4] = line })
    return facts.probe, d:text()
  end
  local probe, text = read_shared(" * start symbol: $\n * end symbol: b")
  lu.assertEquals(text, "")
  lu.assertEquals({ probe.input_symbols, probe.output_symbols, probe.start_symbol, probe.end_symbol },
    { { "a", "b", "$" }, { "a", "b", "$" }, "$", "b" })
  for line, expected_words in pairs({
    [" * start symbol: c"] = 'start symbol: "c" is not always among the symbols',
    [" * option few: 1..3 = 3; x\n * symbol count: few\n * start symbol: $"] = '"$" is not always among the symbols',
    [" * end symbol: c"] = 'end symbol: "c" is not always among the output symbols',
    [" * option few: 1..3 = 3; x\n * symbol count: few\n * end symbol: $"] = '"$" is not always among the output',
    [" * output symbols: a b"] = "output symbols: the line conflicts with `symbols:`",
    [" * symbol count: 4"] = "symbol count: 4 is 4",
  }) do
    probe, text = read_shared(line)
    lu.assertNil(probe)
    lu.assertStrContains(text, expected_words)
  end
  local facts, d = read(8, " * start symbol: a")
  lu.assertNil(facts.probe)
  lu.assertStrContains(d:text(), "start symbol: \"a\" is not always among the symbols")
end

-- The ends of an axis may be formulas of options, whose values a spec chooses; an error names these values.
function TestTasks.test_axes_may_name_options()
  local real = tasks.read("runtime/data/tasks", diagnostics.new())
  local wide = tasks.settle(real.addition, { base = 16, width = 30, input = "plain", split = "permutation",
    numbers = 64, parts = 8 })
  lu.assertEquals({ wide.axes[1].first, wide.axes[1].last, wide.axes[1].hint, #wide.input_symbols, wide.chance },
    { 1, 29, "the largest value is width - 1, and task.options.width is 30", 21, 1 / 16 })
  lu.assertEquals({ wide.input_length, wide.output_length }, { "2 * 30 + 3", "30 + 1" })
  for extra, max_length in pairs({ [0] = 29, [1] = 30, [2] = 30 }) do -- a product has one place more than its number
    wide = tasks.settle(real.multiplication, { base = 10, width = 30, extra = extra, input = "aligned",
      split = "permutation", numbers = 64, parts = 8 })
    lu.assertEquals(wide.axes[1].last, max_length)
    lu.assertEquals({ tasks.compute_length(wide.input_length, 1), tasks.compute_length(wide.output_length, 1) },
      { 63, 31 + extra })
  end
end

-- Reads the header of a task that makes dataset files, so that its lengths are constants. line: additional lines.
local function read_dataset_task(line)
  local facts, d = read_changed({ [5] = " * input length: 16", [6] = " * output length: 1", [8] = line })
  return facts.probe, d:text()
end

function TestTasks.test_dataset_files_have_sets_and_axes()
  local probe, text = read_dataset_task(" * sets: train validation\n * axis carry: 0 to 50; longest chain")
  lu.assertEquals(text, "")
  lu.assertEquals({ probe.sets, probe.axes }, { { "train", "validation" },
    { { name = "carry", first = 0, last = 50, doc = "longest chain" } } })
  for line, expected_words in pairs({
    [" * sets: test train"] = "sets: \"test train\" are not sets",
    [" * sets: train train"] = "are not sets",
    [" * sets: train others"] = "are not sets",
    [" * sets: train\n * axis length: 1 to 4; tokens"] = "axis length: the axis has no valid name",
    [" * sets: train\n * axis carry: 4; tokens"] = "axis carry: the axis has no range",
    [" * sets: train\n * axis a: 1 to 2; x\n * axis b: 1 to 2; x\n * axis c: 1 to 2; x\n * axis d: 1 to 2; x"
      .. "\n * axis e: 1 to 2; x"] = "there are more than 4",
    [" * axis carry: 1 to 4; tokens"] = "the header has an axis, but no sets",
    [" * sets: train\n * input length: n"] = "input length is given twice",
  }) do
    probe, text = read_dataset_task(line)
    lu.assertNil(probe)
    lu.assertStrContains(text, expected_words)
  end
  local facts, d = read(8, " * sets: train")
  lu.assertNil(facts.probe)
  lu.assertStrContains(d:text(), "a length depends on n")
end

-- The blank symbols are the first input symbols; the probe is one of the other symbols.
function TestTasks.test_a_task_may_have_blanks_and_a_probe()
  local facts, d = read(8, " * blank: a b\n * probe: c")
  lu.assertEquals(d:text(), "")
  lu.assertEquals({ facts.probe.blank, facts.probe.probe }, { { "a", "b" }, "c" })
  for line, expected_words in pairs({
    [" * blank: b"] = 'probe.c:8:4: error: blank: "b" is not among the first 1 input symbols',
    [" * blank: a c"] = 'blank: "c" is not among the first 2 input symbols',
    [" * blank: a b c"] = "blank: all input symbols are blank",
    [" * blank: d"] = 'blank: "d" is not among',
    [" * blank: a\n * probe: a"] = 'probe.c:9:4: error: probe: "a" is blank',
    [" * probe: d"] = 'probe.c:8:4: error: probe: "d" is not always an input symbol',
    [" * probe: a b"] = "probe: 2 symbols",
  }) do
    facts, d = read(8, line)
    lu.assertNil(facts.probe)
    lu.assertStrContains(d:text(), expected_words)
  end
end

function TestTasks.test_a_title_may_have_brackets()
  local facts = read(1, "/* Test (Simple) (Someone 2020): does it (well).")
  lu.assertEquals(facts.probe.title, "Test (Simple)")
  facts = read(1, "/* Test: does it.")
  lu.assertEquals(facts.probe.title, "Test")
end

function TestTasks.test_malformed_headers_are_reported_with_their_line()
  local cases = {
    { 1, "int x;", "probe.c:1:1: error: the file does not start with a comment" },
    { 3, " * input symbol:  a b", 'probe.c:3:4: error: there is no "input symbol"' },
    { 3, " * input symbols:  a b a", 'probe.c:3:4: error: input symbols: the symbol "a" is given twice' },
    { 3, " * input symbols:", "input symbols: no symbols" },
    { 3, ' * input symbols: a "', "is not a symbol" },
    { 4, " * input symbols: a b", "probe.c:4:4: error: input symbols is given twice" },
    { 5, " * input length:   n ^ 2", 'input length: "^" does not belong in a formula' },
    { 5, " * input length:   2 n", '"2 n" does not belong in a formula' },
    { 5, " * input length:   (n", '"(n" is not a formula' },
    { 5, " * input length:", '"" is not a formula' },
    { 5, " * input length:   n - 1", "n - 1 is 0 at n = 1" },
    { 5, " * input length:   n / (n - 1)", "has no value at n = 1" },
    { 5, " * input length:   n // 2", '"//" does not belong' },
    { 5, " * input length:   os", '"o" does not belong' },
    { 6, false, "the header has no line `output length:`" },
    { 7, " * chance:         half", 'chance: "half" is not an accuracy' },
    { 7, " * chance:         20", 'chance: "20" is not an accuracy' },
    { 7, " * some words", "probe.c:7:4: error: not of the form key: value" },
    { 8, " * baseline:       0.75", "baseline: the predictor has no name" },
    { 8, " * option: a b; which", "probe.c:8:4: error: option: the option has no valid name" },
    { 8, " * option Order: a b; which", "option Order: the option has no valid name" },
    { 8, " * option order: a b", "option order: the choices have no description" },
    { 8, " * option order: a; which", "option order: there is one choice" },
    { 8, " * option order: ; which", "option order: there are no choices" },
    { 8, " * option order: a b a; which", "option order: the choice a is given twice" },
    { 8, " * option order: 1 2 01; which", "option order: the choice 01 is given twice" },
    { 8, " * option order: a B; which", 'option order: "B" is not a choice' },
    { 8, " * option order: 1 2147483648; which", 'option order: "2147483648" is not a choice' },
    { 8, " * option order: 2 ten; which", "option order: words are mixed with integers" },
    { 8, " * mask: nothing", 'probe.c:8:4: error: mask: "nothing" is not a valid value' },
    { 8, " * options order: a b; which", 'there is no "options order"' },
    { 10, "void lh_task_other(void);", "lh_task_probe is not defined here" },
  }
  for _, case in ipairs(cases) do
    local facts, d = read(case[1], case[2])
    lu.assertNil(facts.probe, case[3])
    lu.assertEquals(facts.list, {})
    lu.assertStrContains(d:text(), case[3])
  end
end

-- The literal of a task is a sample input, in the task's symbols. A task with a literal must have a function that
-- solves inputs of users.
function TestTasks.test_a_literal_has_its_function()
  for line, expected_words in pairs({
    [" * number length: n"] = 'probe.c:8:4: error: number length: "n" is not a number of digits',
    [" * positions: of a"] = "probe.c:8:4: error: positions: lh_place_probe is not defined here",
    [" * result: of all"] = "probe.c:8:4: error: result: lh_find_result_probe is not defined here",
    [" * literal: a b c"] = "probe.c:8:4: error: literal: lh_solve_probe is not defined here",
    [" * literal: ab?"] = 'probe.c:8:4: error: literal: "?" is not always an input symbol',
    [" * literal:"] = "",
    [" * literal: abc\n * input symbol count: n, at least 99999999999"] = "input symbol count: n has no value",
  }) do
    local facts, d = read(8, line)
    lu.assertNil(facts.probe)
    lu.assertStrContains(d:text(), expected_words)
  end
  local text = table.concat(HEADER, "\n"):gsub("\n %* baseline", "\n * literal: abc%0")
    .. "\nlh_task_sample lh_task_probe;\nlh_status lh_solve_probe(int x);\n"
  local d = diagnostics.new()
  lu.assertNil(tasks.read_own("there/probe.c", text, d))
  lu.assertStrContains(d:text(), "the line `lh_task_solve lh_solve_probe;` is missing")
  d = diagnostics.new()
  lu.assertEquals(tasks.read_own("there/probe.c", text .. "lh_task_solve lh_solve_probe;\n", d).literal, "abc")
  lu.assertEquals(d:text(), "")
end

-- Two cells of a study may name one file: both fail, and the file's error is reported once.
function TestTasks.test_an_error_of_a_file_is_reported_once()
  local d = diagnostics.new()
  for _ = 1, 2 do
    lu.assertNil(tasks.read_own("there/probe.c", "/* nothing */\n", d))
  end
  lu.assertEquals(select(2, d:text():gsub("lh_task_probe is not defined here", "")), 1)
end

function TestTasks.test_a_user_s_file_gives_facts_and_text()
  local lines = table.concat(HEADER, "\n")
  local d = diagnostics.new()
  lu.assertNil(tasks.read_own("there/probe.c", lines, d))
  lu.assertStrContains(d:text(), "there/probe.c:1:1: error: the line `lh_task_sample lh_task_probe;` is missing")
  d = diagnostics.new()
  local text = table.concat(HEADER, "\n") .. "\nlh_task_sample lh_task_probe;"
  local facts = tasks.read_own("there/probe.c", text, d)
  lu.assertEquals(d:text(), "")
  lu.assertEquals({ facts.kind, facts.path, facts.text }, { "probe", "there/probe.c", text .. "\n" })
end

-- A line of thousands of blanks is refused as too long, in no more time than another line.
function TestTasks.test_long_lines_are_refused_at_once()
  local began = os.clock()
  for _, line in ipairs({ " * chance:" .. (" "):rep(64000) .. "0.5", " * " .. ("a "):rep(32000),
    " * option a:" .. (" "):rep(64000) .. "x y" .. (" "):rep(64000) .. "doc" }) do
    local facts, d = read(8, line)
    lu.assertNil(facts.probe)
    lu.assertStrContains(d:text(), "characters\n")
    lu.assertStrContains(d:text(), "expected: at most 500")
  end
  local facts = read(8, " * chance: 0.5" .. (" "):rep(64000))
  lu.assertNil(facts.probe) -- its chance is given twice
  lu.assertTrue(os.clock() - began < 5, "patterns that go over blanks again and again")
end

-- The headers that samplers include define names lh_task_<word>. No task can have one of these words as its kind.
function TestTasks.test_no_task_has_a_name_of_the_headers()
  local samplers, reserved_words = tasks.read("runtime/data/tasks", diagnostics.new()), {}
  for _, header in ipairs({ "task", "rng" }) do
    for kind in support.read(("include/longhand/%s.h"):format(header)):gmatch("lh_task_([%w_]+)") do
      reserved_words[kind] = not samplers[kind] or nil
    end
  end
  lu.assertEquals(reserved_words, { sample = true, collect = true, expand = true, solve = true, place = true,
    find_result = true })
  local d = diagnostics.new()
  lu.assertNil(tasks.read_own("there/sample.c", (table.concat(HEADER, "\n"):gsub("_probe", "_sample")), d))
  lu.assertStrContains(d:text(), 'there/sample.c:1:1: error: no task can be called "sample"')
end

function TestTasks.test_a_missing_folder_is_reported()
  local d = diagnostics.new()
  lu.assertEquals(tasks.read("tests/golden/nowhere", d), { list = {} })
  lu.assertStrContains(d:text(), "there is no such folder")
end

function TestTasks.test_length_rounds_down()
  lu.assertEquals(tasks.compute_length("n / 2", 5), 2)
  lu.assertEquals(tasks.compute_length("(n + 1) / 2 * 3 - 1", 5), 8)
  lu.assertEquals(tasks.compute_length("1", 500), 1)
  lu.assertNil((tasks.compute_length("n / 0", 5)))
  lu.assertNil((tasks.compute_length("n + x", 5)))
end

function TestTasks.test_the_token_count_is_that_of_input_and_output()
  lu.assertEquals(tasks.count_longest_stream({ input_length = "n", output_length = "n" }, 41), 82)
  lu.assertEquals(tasks.count_longest_stream({ input_length = "n", output_length = "1" }, 41), 42)
  lu.assertEquals(tasks.count_longest_stream({ input_length = "n", output_length = "1", computation = 2 }, 41), 124)
end

-- The line `mask` determines whether masked labels are in the loss of an encoder and of any other model.
function TestTasks.test_a_mask_line_selects_the_labels_in_the_loss()
  for line, expected in pairs({ ["loss"] = { encoder = "counted", other = "counted" },
    ["accuracy"] = { encoder = "all", other = "all" },
    ["accuracy in encoders, else loss"] = { encoder = "all", other = "counted" } }) do
    local facts, d = read(8, " * mask:           " .. line)
    lu.assertEquals(d:text(), "")
    lu.assertEquals(facts.probe.mask, expected, line)
  end
  lu.assertNil(read().probe.mask)
end

-- A task has the line `mask` if and only if its sampler masks labels, by `terminate` or by an assignment to mask.
function TestTasks.test_the_tasks_that_mask_are_those_with_the_line()
  local all_tasks, masking = tasks.read("runtime/data/tasks", diagnostics.new()), {}
  for _, facts in ipairs(all_tasks.list) do
    local text = support.read(facts.path)
    local clears = text:find('#include "data/tasks/terminator.h"', 1, true) or text:find("mask%s*%[[^%]]*%]%s*=[^=]")
      or text:find("memset%([^;]*mask")
    lu.assertEquals(facts.mask ~= nil, clears ~= nil, facts.kind)
    masking[#masking + 1] = facts.mask and facts.kind
  end
  lu.assertEquals(masking, { "binary_addition", "binary_multiplication", "full_answer", "stack_manipulation" })
end

function TestTasks.test_the_real_tasks_are_well_formed()
  local d = diagnostics.new()
  local facts = tasks.read("runtime/data/tasks", d)
  lu.assertEquals(d:text(), "")
  for kind, count in pairs({ modular_arithmetic_simple = 42, duplicate_string = 126, binary_addition = 85,
    stack_manipulation = 85, binary_multiplication = 84, compute_sqrt = 63, solve_equation = 43, even_pairs = 43,
    cycle_navigation = 43, odds_first = 84 }) do
    lu.assertEquals(tasks.count_longest_stream(facts[kind], 42), count, kind)
  end
end

support.run()
