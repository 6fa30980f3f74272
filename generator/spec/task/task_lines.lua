-- The lines in the header of a task: reads each line, and checks the lines against each other. Input: the key and the
-- value of a line; the facts from earlier lines. Output: the facts of tasks.lua; for an invalid line: nil, the problem
-- and the expected form. include/longhand/task.h describes all lines.

local alphabets = require("spec.task.alphabets")
local axes = require("spec.task.axes")
local common = require("spec.fields.common")
local diagnostics = require("base.diagnostics")
local formulas = require("spec.task.formulas")
local lists = require("base.lists")

local M = {}

local TRIAL_LENGTHS = { 1, 2, 3, 4, 5, 10, 41, 100, 500, 100000 } -- values of n with which formulas are checked
local WITHOUT_N = { false } -- in place of values of n, for a formula without n
local MAX_GRID_WIDTH = 4096
local FORMULA = "digits, n, options, + - * / ( ) and blanks"

local SETS = { "train", "test", "validation" } -- lh_set of longhand/task.h

local show = diagnostics.show

-- Reads a number of symbols, such as "base + 5, at least 15", as { formula, min }; min is 1 if the text has none.
local function read_count(value)
  local formula, min = value:match("^(.-)%s*,%s*at least (%d+)$")
  return { formula = formula or value, min = math.tointeger(tonumber(min or "1")) }
end

-- Reads an accuracy at the start of the text, which may continue with a name.
local function read_accuracy(value)
  local number = tonumber(value:match("^%S+"))
  return number and number >= 0 and number <= 1 and number + 0.0 or nil,
    show(value:match("^%S*")) .. " is not an accuracy", "a number from 0 to 1"
end

-- Reads an accuracy, or a formula "1 / base" as { choices = "base" }: a guess among `base` symbols.
local function read_chance(value)
  local formula = value:match("^1%s*/%s*(.+)$")
  if not formula then
    return read_accuracy(value)
  end
  return { choices = formula }
end

-- Reads the probe, one input symbol.
local function read_probe(value)
  local symbols, problem, expected = alphabets.read(value)
  if symbols and symbols[2] then
    return nil, ("%d symbols"):format(#symbols), "one symbol"
  end
  return symbols and symbols[1], problem, expected
end

-- The value of the line `mask:` -> the labels in the loss of encoders and of other models. "counted": all labels that
-- are not masked. The accuracy never includes masked labels.
local MASKS = {
  ["loss"] = { encoder = "counted", other = "counted" },
  ["accuracy"] = { encoder = "all", other = "all" },
  ["accuracy in encoders, else loss"] = { encoder = "all", other = "counted" },
}

local function read_mask(value)
  return MASKS[value], show(value) .. " is not a valid value",
    'the averages that leave out masked labels: "loss" (loss and accuracy), "accuracy" (only accuracy), '
      .. 'or "accuracy in encoders, else loss"'
end

-- Returns the text unchecked. M.finish checks it, since a later line may declare an option that the text names.
local function keep_text(value)
  return value
end

-- Reads the number of cells in a row of the input, if the input is a grid.
local function read_grid(value)
  local width = math.tointeger(tonumber(value:match("^%d+$")))
  return width and width >= 2 and width <= MAX_GRID_WIDTH and width or nil, show(value) .. " is not a width of a grid",
    ("an integer from 2 to %d"):format(MAX_GRID_WIDTH)
end

-- Reads the choices of an option: words, or integers.
local function read_choices(text)
  local choices, is_listed, are_numbers = {}, {}, nil
  for word in text:gmatch("%S+") do
    local number = word:match("^%-?%d+$") and math.tointeger(tonumber(word))
    if number and math.abs(number) > common.MAX_INTEGER or not number and not word:match("^%l[%l%d_]*$") then
      return nil, show(word) .. " is not a choice", "words of a-z, 0-9 and _, or integers of 32 bits"
    elseif are_numbers ~= nil and are_numbers ~= (number ~= nil) then
      return nil, "words are mixed with integers", "choices of one sort"
    elseif is_listed[number or word] then
      return nil, ("the choice %s is given twice"):format(word)
    end
    are_numbers, is_listed[number or word] = number ~= nil, true
    choices[#choices + 1] = number or word
  end
  if #choices < 2 then
    return nil, ("there %s"):format(#choices == 1 and "is one choice" or "are no choices"), "two choices or more"
  end
  return { choices = choices }
end

-- Reads "30 to 1000" or "30..1000". Returns the range { first, last } and the text after it; nil for other texts.
local function read_range(text)
  local first, last, text_after = text:gsub("^(%d+)%s*%.%.%s*", "%1 to "):match("^(%d+) to (%d+)%s*(.-)%s*$")
  first, last = math.tointeger(tonumber(first)), math.tointeger(tonumber(last))
  if first and last and first < last and last <= axes.MAX_VALUE then
    return { first = first, last = last }, text_after
  end
end

-- Reads the range of an option and its default, such as "2 to 4096 = 61"; nil for other texts.
local function read_option_range(text)
  local range, text_after = read_range(text)
  local default = range and math.tointeger(tonumber(text_after:match("^= *(%d+)$")))
  if default and default >= range.first and default <= range.last then
    range.default = default
    return range
  end
end

-- Reads the range of an axis whose ends are formulas, such as "1 to width - 1"; nil for other texts.
local function read_formula_range(text)
  local first, last = text:match("^(.-%S) to (%S.-)%s*$")
  local has_name = first and (first .. last):find("%l")
  return has_name
    and { first = math.tointeger(tonumber(first)) or first, last = math.tointeger(tonumber(last)) or last }
end

-- Reads `axis NAME: first to last; description` into facts.axes; nil and the problem after an error.
local function read_axis(facts, key, value)
  local name, text, doc = key:match("^axis +(%l[%l%d_]*)$"), value:match("^(.-)%s*;%s*(.+)$")
  local range, text_after = read_range(text or "")
  if not range then
    range, text_after = read_formula_range(text or ""), ""
  end
  if not name or axes.IS_KEY[name] then
    return nil, "the axis has no valid name",
      "axis <name>: 1 to 9; a description (name: a-z, 0-9 and _, but not a key of examples)"
  elseif not range or text_after ~= "" then
    return nil, "the axis has no range", "first to last; a description"
  elseif #(facts.axes or {}) == axes.MAX_AXES then
    return nil, ("there are more than %d axes"):format(axes.MAX_AXES), ("at most %d axes"):format(axes.MAX_AXES)
  end
  range.name, range.doc = name, doc
  facts.axes = lists.join(facts.axes or {}, { range })
  return range
end

-- Reads the names of sets: train, then other sets in the order of SETS.
local function read_sets(value)
  local sets, index = {}, 0 -- index: of the word in SETS
  for word in value:gmatch("%S+") do
    repeat
      index = index + 1
    until not SETS[index] or SETS[index] == word
    sets[#sets + 1] = SETS[index] and word
  end
  if sets[1] ~= "train" or index > #SETS then
    return nil, show(value) .. " are not sets", "train first, then some of " .. table.concat(SETS, ", ", 2)
  end
  return sets
end

-- Reads how many digits a number may have, as a table with these fields:
--   training_digits   in training, a formula in options
--   test_digits       in tests, a list of formulas in axes
--   single_option     the option that puts a symbol before each digit: each digit becomes a number; or nil
--   cut_option        the option that puts symbols into numbers: a number ends at such a symbol; or nil
local function read_number_length(value)
  local trained, tests, text_after = value:match("^(.+) in training; (.+) in tests(.*)$")
  local single_option, cut_option = (text_after or ""):match("^; 1 with ([%l_]+); cut by ([%l_]+)$")
  if not trained or text_after ~= "" and not single_option then
    return nil, show(value) .. " is not a number of digits",
      "FORMULA in training; FORMULA, ... in tests[; 1 with OPTION; cut by OPTION]"
  end
  return { training_digits = trained, test_digits = lists.find_all(tests, "[^,]+"), single_option = single_option,
    cut_option = cut_option }
end

-- Reads `option NAME: choices; description` into facts.options; nil and the problem after an error.
local function read_option(facts, key, value)
  local name, choices_text, doc = key:match("^option +(%l[%l%d_]*)$"), value:match("^(.-)%s*;%s*(.+)$")
  if not name then
    return nil, "the option has no valid name", "option <name>: choices; a description (name: a-z, 0-9 and _)"
  elseif not doc then
    return nil, "the choices have no description", "choices, a semicolon, a description"
  end
  local option, problem, expected = read_option_range(choices_text), nil, nil
  if not option then
    option, problem, expected = read_choices(choices_text)
  end
  if not option then
    return nil, problem, expected
  end
  option.name, option.doc = name, doc
  facts.options = lists.join(facts.options or {}, { option })
  return option
end

-- The keys of lines and the readers of their values, in the order of messages, without `option NAME` and `axis NAME`.
local READERS = { { "input symbols", alphabets.read }, { "output symbols", alphabets.read },
  { "symbols", alphabets.read }, { "input length", keep_text }, { "output length", keep_text },
  { "chance", read_chance }, { "baseline", read_accuracy }, { "sets", read_sets }, { "symbol count", read_count },
  { "input symbol count", read_count }, { "output symbol count", read_count }, { "start symbol", keep_text },
  { "end symbol", keep_text }, { "blank", alphabets.read }, { "probe", read_probe }, { "grid", read_grid },
  { "literal", keep_text }, { "positions", keep_text }, { "result", keep_text }, { "mask", read_mask },
  { "number length", read_number_length } }

M.KEYS = lists.map(READERS, function(row) return row[1] end)

-- Reads one line into facts; returns the value, or nil, the problem and the expected form. declaration: "option" or
-- "axis" if the line begins with that word.
function M.read(facts, declaration, key, value)
  if declaration then
    return (declaration == "axis" and read_axis or read_option)(facts, key, value)
  end
  local reader = lists.find(READERS, function(row) return row[1] == key end)
  local result, problem, expected = reader[2](value)
  if result then
    facts[key:gsub(" ", "_")] = result
  end
  return result, problem, expected
end

-- Tries a formula with each trial of its options (formulas.list_trials) and each n. Returns the first problem, or nil.
--   lengths   the values of n, or WITHOUT_N
--   try       a function (value, n, text) that returns the problem with a value; text: the formula with numbers in
--             place of options
local function try_formula(formula, options, lengths, try)
  for _, trial in ipairs(formulas.list_trials(formula, options)) do
    local text = formulas.insert_numbers(formula, trial)
    for _, n in ipairs(lengths) do
      local value, message = formulas.compute(text, n)
      local problem = not value and message or try(value, n, text)
      if problem then
        return problem
      end
    end
  end
end

-- Returns the problem with a value of a formula; nil if the value is at least 1.
local function check_positive(value, n, text)
  return value < 1 and ("%s is %d"):format(text, value) .. (n and " at n = " .. n or "") or nil
end

local function check_length(facts, key, report)
  local formula = facts[key:gsub(" ", "_")]
  local trial = formula and formulas.list_trials(formula, facts.options or {})[1]
  local chunk, message = formulas.compile(formulas.insert_numbers(formula or "1", trial or {}))
  local problem = chunk and formula and try_formula(formula, facts.options or {}, TRIAL_LENGTHS, check_positive)
  if not chunk or problem then
    report(key, problem or message, problem and "at least 1 for every n >= 1" or FORMULA)
  end
end

-- Checks that the number of symbols in use is at least 1 and at most the number of `symbols`.
local function check_count(facts, key, symbols, report)
  local count = facts[key:gsub(" ", "_")]
  local function check_value(value, _, text)
    value = math.max(value, count.min)
    return (value < 1 or value > #symbols) and ("%s is %d"):format(text, value) or nil
  end
  local problem = count and symbols and try_formula(count.formula, facts.options or {}, WITHOUT_N, check_value)
  if problem then
    report(key, problem, ("FORMULA[, at least K], from 1 to %d, the number of listed symbols"):format(#symbols))
  elseif count and not symbols then
    report(key, "the header does not list these symbols", "a line `" .. key:gsub(" count", "s") .. ":`")
  end
end

-- The index of a symbol in a list if the symbol is in use with all choices of options; infinity for other symbols.
-- count: { formula, min }: the first `min` symbols are always in use; nil: all symbols are in use.
local function find_index(list, name, count)
  for i, symbol in ipairs(list) do
    if symbol == name and i <= (count and count.min or #list) then
      return i
    end
  end
  return math.huge
end

-- Checks that the symbol that begins or ends targets is in use with all choices of options. side: "output_" or "".
local function check_start_or_end(facts, key, side, report, expected)
  local symbol, symbols = facts[key:gsub(" ", "_")], facts[side .. "symbols"]
  if symbol and find_index(symbols or {}, symbol, facts[side .. "symbol_count"]) == math.huge then
    report(key, ("%s is not always among the %ssymbols"):format(show(symbol), (side:gsub("_", " "))), expected)
  end
end

-- Checks that the blank symbols are the first input symbols, but not all of them. Checks that the probe is in use with
-- all choices of options, and is not blank.
local function check_blanks_and_probe(facts, report)
  local symbols, blanks, count = facts.input_symbols or {}, facts.blank or {}, facts.input_symbol_count
  for _, symbol in ipairs(blanks) do
    if find_index(symbols, symbol) > #blanks then
      return report("blank", ("%s is not among the first %d input symbols"):format(show(symbol), #blanks),
        "input symbols that begin with the blank ones")
    end
  end
  local index = facts.probe and find_index(symbols, facts.probe, count)
  if #blanks > 0 and #blanks >= math.min(count and count.min or #symbols, #symbols) then
    report("blank", "all input symbols are blank", "some input symbols that are not blank")
  elseif index and (index == math.huge or index <= #blanks) then
    report("probe", ("%s is %s"):format(show(facts.probe), index <= #blanks and "blank"
      or "not always an input symbol"), "an input symbol that is not blank")
  end
end

-- Checks that the sample input consists of symbols that are in use with all choices of options.
local function check_literal(facts, report)
  local text, count = facts.literal or "", facts.input_symbol_count -- text: the part that is not checked yet
  local symbols = lists.map(facts.input_symbols or {}, function(symbol, i)
    return (not count or i <= count.min) and symbol or nil
  end)
  while text ~= "" do
    local length = 0
    for _, symbol in ipairs(symbols) do
      length = text:sub(1, #symbol) == symbol and math.max(length, #symbol) or length
    end
    if length == 0 then
      return report("literal", show(text:match("^%S+") or text) .. " is not always an input symbol",
        "an input of the task in its symbols, such as 12+345")
    end
    text = text:sub(length + 1):match("^%s*(.*)$")
  end
end

local function check_axis(facts, axis, report)
  local both_ends = axis.first .. " + " .. axis.last -- a formula with the options of both ends
  local problem = lists.any(formulas.list_trials(both_ends, facts.options or {}), function(trial)
    local first = formulas.compute_from_options(axis.first, trial)
    local last = formulas.compute_from_options(axis.last, trial)
    return not first or not last or first < 0 or last < first or last > axes.MAX_VALUE
  end)
  if problem then
    report("axis " .. axis.name, "the axis has no range",
      "first to last; a description. Formulas in options may take the place of first and last")
  end
end

-- Checks the lines against each other, after all lines have been read. A shared alphabet (`symbols:`) becomes the
-- alphabet of inputs and of outputs. Errors go to report(key, problem, expected).
function M.finish(facts, report)
  for _, key in ipairs({ "input length", "output length" }) do
    check_length(facts, key, report)
  end
  for _, side in ipairs(facts.symbols and { "input", "output" } or {}) do
    if facts[side .. "_symbols"] then
      report(side .. " symbols", "the line conflicts with `symbols:`, a shared alphabet", "one of the two lines")
    end
    facts[side .. "_symbols"], facts[side .. "_symbol_count"] = facts.symbols, facts.symbol_count
  end
  check_count(facts, "symbol count", facts.symbols, report)
  if not facts.symbols then
    check_count(facts, "input symbol count", facts.input_symbols, report)
    check_count(facts, "output symbol count", facts.output_symbols, report)
  end
  check_start_or_end(facts, "start symbol", "", report, "a symbol of the shared alphabet, the line `symbols:`")
  if facts.output_symbols then
    check_start_or_end(facts, "end symbol", "output_", report, "one of the symbols of outputs")
  end
  check_blanks_and_probe(facts, report)
  check_literal(facts, report)
  local choices = type(facts.chance) == "table" and facts.chance.choices
  local problem = choices and try_formula(choices, facts.options or {}, WITHOUT_N, check_positive)
  if problem then
    report("chance", problem, "a number from 0 to 1, or 1 / FORMULA")
  end
  for _, axis in ipairs(facts.axes or {}) do
    check_axis(facts, axis, report)
  end
end

-- Whether the number of outputs equals a formula for every n. facts: a result of M.settle.
local function has_output_length(facts, formula)
  return facts.output_length ~= nil and not lists.any(TRIAL_LENGTHS, function(n)
    return formulas.compute(facts.output_length, n) ~= formulas.compute(formula, n)
  end)
end

function M.has_one_output(facts)
  return has_output_length(facts, "1")
end

-- Whether every example has as many outputs as input tokens. Tasks with sets state only their largest lengths.
function M.has_outputs_in_place(facts)
  return not facts.sets and has_output_length(facts, facts.input_length)
end

-- The first `count` symbols; nil if the list is shorter or `count` is invalid.
local function take_first(symbols, count, numbers)
  local value = count and formulas.compute_from_options(count.formula, numbers)
  local length = value and math.max(count.min, value)
  if count and not (length and length >= 1 and length <= #symbols) then
    return nil
  end
  return count and table.move(symbols, 1, length, 1, {}) or symbols
end

-- Returns the problem with settled facts, or nil. M.finish has tried only some choices of options.
local function find_problem(facts)
  for _, name in ipairs({ "input_length", "output_length" }) do
    local problem = try_formula(facts[name], {}, TRIAL_LENGTHS, check_positive)
    if problem then
      return name:gsub("_", " ") .. ": " .. problem
    end
  end
  local axis = lists.find(facts.axes or {}, function(entry)
    return not entry.first or not entry.last or entry.last < entry.first
  end)
  return axis and ("axis %s: the axis has no range"):format(axis.name)
    or not facts.input_symbols and "input symbols: the header lists fewer than these options use"
    or not facts.output_symbols and "output symbols: the header lists fewer than these options use"
    or type(facts.chance) ~= "number" and "chance: the formula has no value" or nil
end

-- The facts of a task for a spec's choices of options: lengths as formulas in n alone, and symbols, chance and axes as
-- values; or nil and the problem.
function M.settle(facts, choices)
  local settled, numbers = lists.merge(facts), {}
  for _, option in ipairs(facts.options or {}) do
    numbers[option.name] = formulas.find_number(option, choices[option.name])
  end
  for _, side in ipairs({ "input_", "output_" }) do
    settled[side .. "length"] = formulas.insert_numbers(facts[side .. "length"], numbers)
    settled[side .. "symbols"] = take_first(facts[side .. "symbols"], facts[side .. "symbol_count"], numbers)
  end
  if type(facts.chance) == "table" then
    local count = formulas.compute_from_options(facts.chance.choices, numbers)
    settled.chance = count and count >= 1 and 1 / count or nil
  end
  local length = facts.number_length
  local is_single = length and length.single_option and numbers[length.single_option] > 0
  local is_cut = length and length.cut_option and numbers[length.cut_option] > 0
  settled.number_length = length and { test_digits = is_single and {} or length.test_digits,
    training_digits = is_single and 1 or formulas.compute_from_options(length.training_digits, numbers),
    single_option = is_single and length.single_option or nil, cut_option = is_cut and length.cut_option or nil }
  settled.axes = facts.axes and lists.map(facts.axes, function(axis)
    local option = tostring(axis.last):match("%l[%l%d_]*")
    return { name = axis.name, doc = axis.doc, first = formulas.compute_from_options(axis.first, numbers),
      last = formulas.compute_from_options(axis.last, numbers),
      hint = option and ("the largest value is %s, and task.options.%s is %s"):format(axis.last, option,
        numbers[option]) }
  end)
  local problem = find_problem(settled)
  return not problem and settled or nil, problem
end

return M
