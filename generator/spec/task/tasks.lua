-- Reads the facts of tasks: the first comment of each runtime/data/tasks/<kind>.c, or of a user's own file.
--
-- Input: the folder. Output: a map kind -> facts, and in `list` the facts, sorted by kind. The form of the comment is
-- in include/longhand/task.h. Facts are a table with these fields, nil if the comment lacks them:
--   kind                 the name of the task
--   path                 the display path of its file
--   text                 the text of a user's own file
--   title                the start of the first paragraph of the comment, up to a colon
--   summary              the first paragraph of the comment
--   symbols              the alphabet that inputs and outputs share, a list of texts
--   input_symbols        the alphabet of inputs
--   output_symbols       the alphabet of outputs
--   symbol_count         how many of `symbols` are in use: the larger value of { formula, min }
--   input_symbol_count   how many of `input_symbols` are in use, { formula, min }
--   output_symbol_count  how many of `output_symbols` are in use, { formula, min }
--   start_symbol         the symbol that a decoder reads first
--   end_symbol           the output symbol that ends targets
--   blank                the input symbols whose linear embedding is zero, the first ones of the alphabet
--   probe                the input symbol at which answers are read with model.readout = "probe"
--   input_length         the number of input tokens, a formula in n and options
--   output_length        the number of output tokens, a formula in n and options
--   chance               the accuracy of a guess, or { choices = formula } for the accuracy 1 / formula
--   baseline             the accuracy of a simple predictor
--   baseline_name        the name of this predictor
--   mask                 "all" or "counted", the labels in the loss: mask.encoder for encoders, mask.other for other
--                        models
--   grid                 the number of cells in a row of the input, if the input is a grid
--   literal              an example of an input, as text
--   positions            words about the positions that the task gives to tokens
--   result               words about the final result in a target with intermediate results
--   options              a list: an option with choices is { name, choices, doc }, and its choices are all strings or
--                        all integers; an option with a range is { name, first, last, default, doc }
--   sets                 the names of the sets of a task that generates a dataset
--   axes                 the axes of such a dataset, a list of { name, first, last, doc }
-- In the facts of a spec's task (M.settle), no formula contains an option. Chance and the ends of axes are numbers. An
-- axis has `hint`, words about the option that limits the axis. These facts have further fields:
--   computation          the number of computation tokens for each input token
--   has_two_streams      true if input and target are separate streams
--   readout              the value of model.readout; nil for "outputs"
--   loss                 the labels in the loss (settle.lua)
--   data                 the dataset (datasets.lua), if examples are in files or the task has sets; nil for a sampler
-- Invariants: formulas hold digits, n, names of options, + - * / ( ) and blanks only; lengths are integers >= 1.

local diagnostics = require("base.diagnostics")
local formulas = require("spec.task.formulas")
local lfs = require("lfs")
local lists = require("base.lists")
local similar_names = require("base.similar_names")
local paths = require("base.paths")
local task_lines = require("spec.task.task_lines")
local write = require("base.write")

local M = {}

local SHOWN_FOLDER = "runtime/data/tasks/"
local MAX_LINE_BYTES = 500 -- longest line of a header, since several patterns are matched with each line

local REQUIRED = { "input symbols", "output symbols", "input length", "output length", "chance" }
local KEYS = task_lines.KEYS

-- Words that cannot be kinds: longhand/task.h has types of functions with the names lh_task_<word>.
local RESERVED = { sample = true, collect = true, expand = true, solve = true, place = true,
  find_result = true }

-- Functions of task_lines.lua and formulas.lua, for callers that have the facts of one task.
M.compute_length, M.settle = formulas.compute, task_lines.settle
M.has_one_output, M.has_outputs_in_place = task_lines.has_one_output, task_lines.has_outputs_in_place

-- Returns the task lengths of a field { first, last, step } or { list } as a list. For dataset files, which determine
-- lengths, the field is nil and the list is empty.
function M.list_lengths(lengths)
  if not lengths then
    return {}
  elseif lengths.list then
    return lengths.list
  end
  local list = {}
  for n = lengths.first, lengths.last, lengths.step or 1 do
    list[#list + 1] = n
  end
  return list
end

-- The task lengths of training and evaluation that a spec names; none for dataset files.
function M.list_named_lengths(resolved)
  return lists.collect({ "train.lengths", "eval.lengths", "eval.during.lengths" }, function(path)
    local lengths = lists.get(resolved, path)
    return lengths and M.list_lengths(lengths) or {}
  end)
end

-- Returns the number of tokens in each stream (one or two) at task length n: input and computation tokens, then one
-- token for each output. A decoder's output tokens are the separator and the target without its last token. If answers
-- are read at tokens of the input (facts.readout), outputs have no tokens.
function M.count_tokens(facts, n)
  return M.count_stream_tokens(facts, M.compute_length(facts.input_length, n),
    facts.readout and 0 or M.compute_length(facts.output_length, n))
end

-- The number of tokens in each stream of an example with these numbers of input and target tokens.
function M.count_stream_tokens(facts, inputs, outputs)
  local input, output = (1 + (facts.computation or 0)) * inputs, facts.readout and 0 or outputs
  return facts.has_two_streams and { input, output } or { input + output }
end

-- The number of tokens in the longest stream at task length n.
function M.count_longest_stream(facts, n)
  return math.max(table.unpack(M.count_tokens(facts, n)))
end

-- Returns the highest number of tokens in each stream of dataset examples. In a file, an input or an output may have
-- task.longest - 1 tokens.
function M.count_max_tokens(facts)
  if facts.data.is_generated then
    return M.count_tokens(facts, 1)
  end
  local max_tokens, tokens_per_input = facts.data.longest, 1 + (facts.computation or 0)
  if facts.readout then
    return { facts.readout == "in_place" and max_tokens // 2 or max_tokens - 1 }
  end
  return facts.has_two_streams and { tokens_per_input * (max_tokens - 1), max_tokens - 1 }
    or { max_tokens + (tokens_per_input - 1) * (max_tokens - 1) }
end

-- The lines of the comment with which a text begins, without stars: { { line, col, text }, ... }; nil if the text does
-- not begin with a comment.
local function read_header(text)
  local comment = text:match("^%s*/%*(.-)%*/")
  if not comment then
    return nil
  end
  local line, lines = 1 + select(2, text:match("^%s*"):gsub("\n", "\n")), {}
  for line_text in (comment .. "\n"):gmatch("(.-)\n") do
    local margin = #lines == 0 and line_text:match("^%s*") or line_text:match("^%s*%*?%s*")
    local opening_width = #lines == 0 and #"/*" or 0
    lines[#lines + 1] = { line = line, col = opening_width + #margin + 1,
      text = line_text:sub(#margin + 1):match("^.*%S") or "" }
    line = line + 1
  end
  return lines
end

-- Whether a line of a header begins with a key and a colon.
local function has_key(entry)
  local key = entry.text:match("^([%w_ ]-):")
  return key ~= nil and (lists.has(KEYS, key) or key:match("^option%f[%W]") ~= nil or key:match("^axis%f[%W]") ~= nil)
end

-- The lines "key: value" of a header from line `first` on. After a key for symbols, a line without a key continues the
-- list of symbols if it is indented more than the key. Empty lines are left out.
local function join_lines(lines, first)
  local entries, parts = {}, {}
  for i = first, #lines do
    local line, entry = lines[i], entries[#entries]
    local has_list = entry and entry.text:find("^[%l ]*symbols:")
    if line.text ~= "" and has_list and line.col > entry.col and not has_key(line) then
      table.insert(parts[entry], line.text)
    elseif line.text ~= "" then
      entries[#entries + 1], parts[line] = line, { line.text }
    end
  end
  for _, entry in ipairs(entries) do
    entry.text = table.concat(parts[entry], " ")
  end
  return entries
end

-- Reads one line "key: value" of a header into facts. lines_by_key: the lines read so far; entry: a line from
-- read_header. Errors go to report(entry, problem, expected, hint).
local function read_line(facts, lines_by_key, entry, report)
  local key, value = entry.text:match("^([%w_ ]-):%s*(.*)$")
  local declaration = key and (key:match("^option%f[%W]") or key:match("^axis%f[%W]"))
  if not key then
    return report(entry, "not of the form key: value", "one of " .. table.concat(KEYS, ", "))
  elseif not declaration and not lists.has(KEYS, key) then
    return report(entry, ("there is no %s"):format(diagnostics.show(key)), table.concat(KEYS, ", "),
      similar_names.make_hint(key, KEYS))
  elseif lines_by_key[key] then
    return report(entry, ("%s is given twice"):format(key), "each key once")
  end
  lines_by_key[key] = entry
  local result, problem, expected = task_lines.read(facts, declaration, key, value)
  if not result then
    report(entry, ("%s: %s"):format(key, problem), expected)
  elseif key == "baseline" then
    facts.baseline_name = value:match("^%S+%s+(.*)$")
    if not facts.baseline_name then
      report(entry, "baseline: the predictor has no name", "the value, then the name of the predictor")
    end
  end
end

-- The facts of one task from its text; nil after errors, which go to the diagnostics.
local function read_task(kind, path, text, d)
  local earlier_errors, has_error = d:count(), false
  d:add_source(path, text)
  local file_start = { line = 1, col = 1 }
  local function report(entry, problem, expected, hint)
    -- d:count() ignores an error that was reported before, for another cell of a study.
    has_error = true
    d:add({ path = path, line = entry.line, col = entry.col, what = problem, expected = expected, hint = hint })
  end
  local lines = read_header(text)
  if not lines then
    return report(file_start, "the file does not start with a comment", "the header that longhand/task.h describes")
  end
  for _, entry in ipairs(lines) do
    if #entry.text > MAX_LINE_BYTES then
      report(entry, ("the line has %d characters"):format(#entry.text), ("at most %d"):format(MAX_LINE_BYTES))
      entry.text = ""
    end
  end
  local facts, lines_by_key, summary = { kind = kind, path = path }, {}, {}
  while lines[#summary + 1] and lines[#summary + 1].text ~= "" do
    summary[#summary + 1] = lines[#summary + 1].text
  end
  facts.summary = table.concat(summary, " ")
  local name = facts.summary:match("^(.-)%s*:") or facts.summary
  facts.title = name:match("^(.-)%s*%b()$") or name
  for _, entry in ipairs(join_lines(lines, #summary + 1)) do
    read_line(facts, lines_by_key, entry, report)
  end
  task_lines.finish(facts, function(key, problem, expected)
    report(lines_by_key[key] or lines[1], ("%s: %s"):format(key, problem), expected)
  end)
  for _, key in ipairs(REQUIRED) do
    if not lines_by_key[key] and not (lines_by_key.symbols and key:find("symbols")) then
      report(lines[1], ("the header has no line `%s:`"):format(key), table.concat(REQUIRED, ", "))
    end
  end
  if facts.axes and not facts.sets then
    report(lines[1], "the header has an axis, but no sets",
      "sets: train test; axes are for tasks with sets of examples")
  elseif facts.sets and ((facts.input_length or "") .. " " .. (facts.output_length or "")):find("%f[%w_]n%f[^%w_]") then
    report(lines[1], "a length depends on n",
      "in a task with sets, the largest lengths of its examples, as numbers")
  end
  if RESERVED[kind] then
    report(file_start, ("no task can be called %q: longhand/task.h has a lh_task_%s"):format(kind, kind),
      "another name for the file")
  elseif not text:find("lh_task_" .. kind .. "%s*%(") then
    report(file_start, ("lh_task_%s is not defined here"):format(kind), "a function with the name of the file")
  end
  for key, role in next, { literal = "solve", positions = "place", result = "find_result" } do
    if facts[key] and not text:find(("lh_%s_%s%%s*%%("):format(role, kind)) then
      report(lines_by_key[key], ("%s: lh_%s_%s is not defined here"):format(key, role, kind),
        "a function as in longhand/task.h")
    end
  end
  return not has_error and d:count() == earlier_errors and facts or nil
end

-- The facts of a user's own task file, shown as `path`; nil after errors, which go to the diagnostics.
function M.read_own(path, text, d)
  local kind = path:match("([^/]*)%.c$")
  local facts = read_task(kind, path, text, d)
  if not facts then
    return nil
  end
  local function refuse(problem, expected)
    d:add({ path = path, line = 1, col = 1, what = problem, expected = expected })
  end
  if facts.sets then
    return refuse("a task of your own cannot have sets", "a sampler; or examples in files: task.data")
  end
  local declarations = { "lh_task_sample lh_task_" .. kind }
  declarations[#declarations + 1] = facts.literal and "lh_task_solve lh_solve_" .. kind or nil
  declarations[#declarations + 1] = facts.positions and "lh_task_place lh_place_" .. kind or nil
  declarations[#declarations + 1] = facts.result and "lh_task_find_result lh_find_result_" .. kind or nil
  for _, line in ipairs(declarations) do
    if not text:find(line:gsub(" ", "%%s+") .. "%s*;") then
      return refuse(("the line `%s;` is missing"):format(line),
        "this line before the function, so that the compiler checks the function's parameters")
    end
  end
  facts.text = text:gsub("([^\n])$", "%1\n")
  return facts
end

-- Reads all tasks of a folder. Errors go to the diagnostics; a task with an error is left out.
function M.read(folder, d)
  local tasks = { list = {} }
  if lfs.attributes(folder, "mode") ~= "directory" then
    d:add({ path = SHOWN_FOLDER, what = "there is no such folder", expected = "the runtime's tasks" })
    return tasks
  end
  local kinds = lists.map(paths.list_base_names(folder, ".c"), function(name) return name:match("^%l[%l%d_]*$") end)
  for _, kind in ipairs(kinds) do
    local text = assert(write.read(folder .. "/" .. kind .. ".c")):gsub("\r\n?", "\n")
    tasks[kind] = read_task(kind, SHOWN_FOLDER .. kind .. ".c", text, d)
    tasks.list[#tasks.list + 1] = tasks[kind]
  end
  return tasks
end

return M
