-- What the generator knows of tasks: the first comment of each runtime/data/tasks/<kind>.c, or of a user's own file.
--
-- Input: that folder. Output: a map kind -> facts = { kind, title, summary, input_symbols, output_symbols,
-- input_length, output_length, chance, baseline, baseline_name, options, path }, lengths as formulas in n; and in
-- `list` the facts, sorted by kind. The form of the comment is in runtime/include/longhand/task.h. options is nil or a
-- list of { name, choices, doc }, choices all strings or all integers, or { name, first, last, default, doc }. A task
-- whose input is a grid has `grid`, cells of a row; one of finite data has `sets`, a list of names, and `axes`, a list
-- of { name, first, last, doc }. blank is nil or a list of symbols, the first ones of the input's, and probe nil or one
-- of the others. The facts of a user's own file have its text, too; those of a spec's task have `computation`, its
-- computation tokens per input token, `apart` where its input and its target are streams of their own, and `readout`
-- where answers have no tokens of their own: what model.readout says.
-- Invariants: formulas hold digits, n, + - * / ( ) and blanks only; they give integers >= 1 for the lengths of
-- LENGTHS_TRIED. `path` is as runtime/data/tasks/<kind>.c whatever the folder's name.

local axes = require("spec.axes")
local diagnostics = require("base.diagnostics")
local lfs = require("lfs")

local M = {}

local SHOWN = "runtime/data/tasks/"
local LENGTHS_TRIED = { 1, 2, 3, 4, 5, 10, 41, 100, 500, 100000 }

local WIDEST_GRID = 4096
local LONGEST_LINE = 500 -- characters of a header's line; patterns go over one more than once

local REQUIRED = { "input symbols", "output symbols", "input length", "output length", "chance" }
local KEYS = { "input symbols", "output symbols", "input length", "output length", "chance", "baseline", "sets",
  "grid", "blank", "probe" }

local SETS = { "train", "test", "validation" } -- lh_set of longhand/task.h

-- What else than samplers longhand/task.h calls lh_task_<kind>.
local TAKEN = { sample = true, collect = true }

local compiled = {}

-- A formula as a function of n, or nil and what is wrong with it.
local function compile(formula)
  if compiled[formula] then
    return compiled[formula]
  end
  local stray = formula:match("[^%dn%+%-%*/%(%)%s]") or formula:match("//") or formula:match("%-%-")
    or formula:match("n%s*[%dn]") or formula:match("%d%s*n") or formula:match("%d%s+%d")
  if stray then
    return nil, ("%s does not belong in a formula"):format(diagnostics.show(stray))
  end
  local chunk = load("local n = ... return " .. formula:gsub("/", "//"), "=formula", "t", {})
  if formula:match("^%s*$") or not chunk then
    return nil, diagnostics.show(formula) .. " is no formula"
  end
  compiled[formula] = chunk
  return chunk
end

-- The value of a formula at task length n; / rounds down. nil and a message where it has none.
function M.length(formula, n)
  local chunk, message = compile(formula)
  if not chunk then
    return nil, message
  end
  local ok, value = pcall(chunk, n)
  if not ok or math.type(value) ~= "integer" then
    return nil, ("%s has no value at n = %d"):format(formula, n)
  end
  return value
end

-- The task lengths of a field, { first, last, step } or { list }, as a list; empty where files have them.
function M.lengths(field)
  if not field then
    return {}
  elseif field.list then
    return field.list
  end
  local list = {}
  for n = field.first, field.last, field.step or 1 do
    list[#list + 1] = n
  end
  return list
end

-- Tokens of the streams of a sequence at task length n, one or two: the input and computation tokens, then one token
-- per output, unless answers are read at tokens of the input; a decoder's are the separator and all of the target but
-- its last token. facts.apart: they are two.
function M.streams(facts, n)
  local input = (1 + (facts.computation or 0)) * M.length(facts.input_length, n)
  local output = facts.readout and 0 or M.length(facts.output_length, n)
  return facts.apart and { input, output } or { input + output }
end

-- Those of the longest stream.
function M.tokens(facts, n)
  return math.max(table.unpack(M.streams(facts, n)))
end

-- The most tokens that the streams of finite data can have: all but one of task.longest are input, or output.
function M.most_streams(facts)
  local longest, times = facts.data.longest, 1 + (facts.computation or 0)
  if facts.readout then
    longest = longest - 1
    return { longest }
  end
  return facts.apart and { times * (longest - 1), longest - 1 } or { longest + (times - 1) * (longest - 1) }
end

-- Whether every example has one output, whatever its length.
function M.has_one_output(facts)
  for _, n in ipairs(facts.output_length and LENGTHS_TRIED or {}) do
    if M.length(facts.output_length, n) ~= 1 then
      return false
    end
  end
  return facts.output_length ~= nil
end

function M.most_tokens(facts)
  return M.most_streams(facts)[1]
end

-- The lines of the first comment, without its stars: { { line, col, text }, ... }, or nil.
local function header(text)
  local comment = text:match("^%s*/%*(.-)%*/")
  if not comment then
    return nil
  end
  local first = text:match("^(%s*)/%*")
  local line = 1 + select(2, first:gsub("\n", "\n"))
  local lines = {}
  for raw in (comment .. "\n"):gmatch("(.-)\n") do
    local lead = #lines == 0 and raw:match("^%s*") or raw:match("^%s*%*?%s*")
    lines[#lines + 1] = { line = line, col = #lead + 1 + (#lines == 0 and 2 or 0),
      text = raw:sub(#lead + 1):match("^.*%S") or "" }
    line = line + 1
  end
  return lines
end

local readers = {}

local function read_symbols(value)
  local symbols, seen = {}, {}
  for symbol in value:gmatch("%S+") do
    if seen[symbol] then
      return nil, ("the symbol %s stands twice"):format(diagnostics.show(symbol))
    elseif symbol:find('[^!-~]') or symbol:find('["\\]') then
      return nil, ("%s is no symbol"):format(diagnostics.show(symbol)), "printable ASCII without quotes or backslashes"
    end
    seen[symbol] = true
    symbols[#symbols + 1] = symbol
  end
  if #symbols == 0 then
    return nil, "no symbols", "symbols separated by blanks"
  end
  return symbols
end

local function read_length(value)
  local chunk, message = compile(value)
  if not chunk then
    return nil, message, "digits, n, + - * / ( ) and blanks"
  end
  for _, n in ipairs(LENGTHS_TRIED) do
    local length, problem = M.length(value, n)
    if not length or length < 1 then
      return nil, problem or ("%s is %d at n = %d"):format(value, length, n), "at least 1 for every n >= 1"
    end
  end
  return value
end

local function read_share(value)
  local number = tonumber(value:match("^%S+"))
  if not number or number ~= number or number < 0 or number > 1 then
    return nil, diagnostics.show(value:match("^%S*")) .. " is no accuracy", "a number from 0 to 1"
  end
  return number + 0.0
end

-- What stands at the one token that the answer is about.
local function read_probe(value)
  local symbols, what, expected = read_symbols(value)
  if symbols and symbols[2] then
    return nil, ("%d symbols"):format(#symbols), "one symbol"
  end
  return symbols and symbols[1], what, expected
end

readers["input symbols"], readers["output symbols"] = read_symbols, read_symbols
readers["blank"], readers["probe"] = read_symbols, read_probe
readers["input length"], readers["output length"] = read_length, read_length
readers["chance"], readers["baseline"] = read_share, read_share

-- Cells of a row of the input, where that is a grid.
function readers.grid(value)
  local width = math.tointeger(tonumber(value:match("^%d+$")))
  if not width or width < 2 or width > WIDEST_GRID then
    return nil, diagnostics.show(value) .. " is no width of a grid", ("an integer from 2 to %d"):format(WIDEST_GRID)
  end
  return width
end

-- The choices of an option: words, or integers.
local function read_choices(text)
  local choices, seen, numbers = {}, {}, nil
  for word in text:gmatch("%S+") do
    local number = word:match("^%-?%d+$") and math.tointeger(tonumber(word))
    if number and math.abs(number) > 2147483647 or not number and not word:match("^%l[%l%d_]*$") then
      return nil, diagnostics.show(word) .. " is no choice", "words of a-z, 0-9 and _, or integers of 32 bits"
    elseif numbers ~= nil and numbers ~= (number ~= nil) then
      return nil, "words stand beside integers", "choices of one sort"
    elseif seen[number or word] then
      return nil, ("the choice %s stands twice"):format(word)
    end
    numbers, seen[number or word] = number ~= nil, true
    choices[#choices + 1] = number or word
  end
  if #choices < 2 then
    return nil, ("there %s"):format(#choices == 1 and "is one choice" or "are no choices"), "two choices or more"
  end
  return choices
end

-- "30 to 1000" as { first, last }, with what follows; nil where it is something else.
local function read_range(text)
  local first, last, rest = text:match("^(%d+) to (%d+)%s*(.-)%s*$")
  first, last = math.tointeger(tonumber(first)), math.tointeger(tonumber(last))
  if first and last and first < last and last <= axes.LARGEST then
    return { first = first, last = last }, rest
  end
end

-- The range of an option, "2 to 4096 = 61"; nil where it is none.
local function read_ranged(text)
  local range, rest = read_range(text)
  local default = range and math.tointeger(tonumber(rest:match("^= *(%d+)$")))
  if default and default >= range.first and default <= range.last then
    range.default = default
    return range
  end
end

-- Reads `axis NAME: first to last; what it says` into facts.axes; nil and what is wrong otherwise.
local function read_axis(facts, key, value)
  local name, text, doc = key:match("^axis +(%l[%l%d_]*)$"), value:match("^(.-)%s*;%s*(.+)$")
  local range, rest = read_range(text or "")
  if not name or axes.IS_KEY[name] then
    return nil, "an axis has a name of a-z, 0-9 and _, which no key of examples has",
      "axis <name>: 1 to 9; what it says"
  elseif not range or rest ~= "" then
    return nil, "it has no range", "the least value, to, the greatest, a semicolon, what it says"
  elseif #(facts.axes or {}) == axes.MOST then
    return nil, ("there are more than %d"):format(axes.MOST), ("at most %d axes"):format(axes.MOST)
  end
  range.name, range.doc = name, doc
  facts.axes = facts.axes or {}
  table.insert(facts.axes, range)
  return range
end

-- The sets of a task of finite data.
function readers.sets(value)
  local sets, at = {}, 0
  for word in value:gmatch("%S+") do
    repeat
      at = at + 1
    until not SETS[at] or SETS[at] == word
    sets[#sets + 1] = SETS[at] and word
  end
  if sets[1] ~= "train" or at > #SETS then
    return nil, diagnostics.show(value) .. " are no sets", "train, then others of " .. table.concat(SETS, ", ")
  end
  return sets
end

-- Reads `option NAME: choices; what they say` into facts.options; nil and what is wrong otherwise.
local function read_option(facts, key, value)
  local name, choices_text, doc = key:match("^option +(%l[%l%d_]*)$"), value:match("^(.-)%s*;%s*(.+)$")
  if not name then
    return nil, "an option has a name of a-z, 0-9 and _", "option <name>: choices; what they say"
  elseif not doc then
    return nil, "nothing says what the choices are", "choices, a semicolon, what they say"
  end
  local ranged, choices, what, expected = read_ranged(choices_text), nil, nil, nil
  if not ranged then
    choices, what, expected = read_choices(choices_text)
  end
  if not ranged and not choices then
    return nil, what, expected
  end
  local option = ranged or { choices = choices }
  option.name, option.doc = name, doc
  facts.options = facts.options or {}
  table.insert(facts.options, option)
  return option
end

local function is_key(name)
  for _, key in ipairs(KEYS) do
    if key == name then
      return true
    end
  end
  return false
end

-- Reads one line "key: value" of a header into facts; errors go to report(entry, what, expected, hint).
local function read_line(facts, given, entry, report)
  local key, value = entry.text:match("^([%w_ ]-):%s*(.*)$")
  local named = key and (key:match("^option%f[%W]") or key:match("^axis%f[%W]"))
  if not key then
    return report(entry, "not of the form key: value", "one of " .. table.concat(KEYS, ", "))
  elseif not named and not is_key(key) then
    local near = diagnostics.nearest(key, KEYS)
    return report(entry, ("there is no %s"):format(diagnostics.show(key)), table.concat(KEYS, ", "),
      near and ('did you mean "%s"?'):format(near))
  elseif given[key] then
    return report(entry, ("%s stands twice"):format(key), "each key once")
  end
  given[key] = true
  local result, what, expected
  if named then
    result, what, expected = (named == "axis" and read_axis or read_option)(facts, key, value)
  else
    result, what, expected = readers[key](value)
  end
  if not result then
    return report(entry, ("%s: %s"):format(key, what), expected)
  elseif named then
    return
  end
  facts[key:gsub(" ", "_")] = result
  if key == "baseline" then
    facts.baseline_name = value:match("^%S+%s+(.*)$")
    if not facts.baseline_name then
      report(entry, "baseline: it has no name", "the value, then what predicts so")
    end
  end
end

-- Blanks stand ahead of the other input symbols, so that these are numbered without them; the probe is one of these.
local function check_marks(facts, lines, report)
  local function at(key)
    for _, entry in ipairs(lines) do
      if entry.text:find("^" .. key .. ":") then
        return entry
      end
    end
  end
  local numbers = {}
  for i, symbol in ipairs(facts.input_symbols or {}) do
    numbers[symbol] = i
  end
  local blanks = facts.blank or {}
  for _, symbol in ipairs(blanks) do
    if (numbers[symbol] or math.huge) > #blanks then
      report(at("blank"), ("blank: %s is not among the first %d input symbols"):format(diagnostics.show(symbol),
        #blanks), "input symbols that begin with the blank ones")
      return
    end
  end
  if facts.input_symbols and #blanks == #facts.input_symbols then
    report(at("blank"), "blank: all input symbols are blank", "some that are not")
  elseif facts.probe and facts.input_symbols and (numbers[facts.probe] or 0) <= #blanks then
    report(at("probe"), ("probe: %s is %s"):format(diagnostics.show(facts.probe), numbers[facts.probe] and "blank"
      or "no input symbol"), "an input symbol that is not blank")
  end
end

-- Reports the lines of a header that are too long, and cuts them.
local function bound_lines(lines, report)
  for _, entry in ipairs(lines) do
    if #entry.text > LONGEST_LINE then
      report(entry, ("the line has %d characters"):format(#entry.text), ("at most %d"):format(LONGEST_LINE))
      entry.text = ""
    end
  end
end

-- The facts of one task from its text; nil after errors, which go to the diagnostics.
local function read_task(kind, path, text, d)
  local before = d:count()
  d:source(path, text)
  local function report(entry, what, expected, hint)
    d:add({ path = path, line = entry.line, col = entry.col, what = what, expected = expected, hint = hint })
  end
  local lines = header(text)
  if not lines then
    report({ line = 1, col = 1 }, "the file does not start with a comment", "the header that longhand/task.h describes")
    return nil
  end
  bound_lines(lines, report)
  local facts, given, summary = { kind = kind, path = path }, {}, {}
  local i = 1
  while lines[i] and lines[i].text ~= "" do
    summary[#summary + 1] = lines[i].text
    i = i + 1
  end
  facts.summary = table.concat(summary, " ")
  local name = facts.summary:match("^(.-)%s*:") or facts.summary
  facts.title = name:match("^(.-)%s*%b()$") or name
  for j = i, #lines do
    if lines[j].text ~= "" then
      read_line(facts, given, lines[j], report)
    end
  end
  for _, key in ipairs(REQUIRED) do
    if not given[key] then
      report(lines[1], ("the header has no line `%s:`"):format(key), table.concat(REQUIRED, ", "))
    end
  end
  check_marks(facts, lines, report)
  if facts.axes and not facts.sets then
    report(lines[1], "an axis is there, but no sets", "sets: train test; axes are for tasks of finite data")
  elseif facts.sets and ((facts.input_length or "") .. (facts.output_length or "")):find("n") then
    report(lines[1], "a length depends on n", "the greatest lengths that examples have, as numbers, beside sets")
  end
  if TAKEN[kind] then
    report({ line = 1, col = 1 }, ("no task can be called %q: longhand/task.h has a lh_task_%s"):format(kind, kind),
      "another name for the file")
  elseif not text:find("lh_task_" .. kind .. "%s*%(") then
    report({ line = 1, col = 1 }, ("lh_task_%s is not defined here"):format(kind), "a function of the file's name")
  end
  return d:count() == before and facts or nil
end

-- The facts of a user's own task file, shown as `path`; nil after errors, which go to the diagnostics.
function M.own(path, text, d)
  local kind = path:match("([^/]*)%.c$")
  local facts = read_task(kind, path, text, d)
  if facts and facts.sets then
    d:add({ path = path, line = 1, col = 1, what = "a task of one's own has no sets",
      expected = "a sampler; or examples in files: task.data" })
    return nil
  elseif facts and not text:find("lh_task_sample%s+lh_task_" .. kind .. "%s*;") then
    d:add({ path = path, line = 1, col = 1, what = ("the line `lh_task_sample lh_task_%s;` is missing"):format(kind),
      expected = "it before the function, so that the compiler compares their parameters" })
    return nil
  elseif facts then
    facts.text = text:gsub("([^\n])$", "%1\n")
  end
  return facts
end

-- Reads all tasks of a folder. Errors go to the diagnostics; a task with an error is left out.
function M.read(folder, d)
  local tasks, kinds = { list = {} }, {}
  if lfs.attributes(folder, "mode") ~= "directory" then
    d:add({ path = SHOWN, what = "there is no such folder", expected = "the runtime's tasks" })
    return tasks
  end
  for entry in lfs.dir(folder) do
    kinds[#kinds + 1] = entry:match("^([a-z][a-z0-9_]*)%.c$")
  end
  table.sort(kinds)
  for _, kind in ipairs(kinds) do
    local file = assert(io.open(folder .. "/" .. kind .. ".c", "rb"))
    local text = file:read("a"):gsub("\r\n?", "\n")
    file:close()
    tasks[kind] = read_task(kind, SHOWN .. kind .. ".c", text, d)
    tasks.list[#tasks.list + 1] = tasks[kind]
  end
  return tasks
end

return M
