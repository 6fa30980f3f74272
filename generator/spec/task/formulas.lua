-- Formulas in the header of a task: integers, n, names of the task's options, + - * / ( ) and blanks; / rounds down.
--
-- Input: the text of a formula; numbers of options by name. Output: values, or nil and the problem.
-- Invariant: given numbers for all options, M.insert_numbers makes valid C, with no name but n.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")

local M = {}

local chunks = {} -- by formula: the result of M.compile

-- A formula in n as a function, or nil and the problem.
function M.compile(formula)
  if chunks[formula] then
    return chunks[formula]
  end
  local invalid_part = formula:match("[^%dn%+%-%*/%(%)%s]") or formula:match("//") or formula:match("%-%-")
    or formula:match("n%s*[%dn]") or formula:match("%d%s*n") or formula:match("%d%s+%d")
  if invalid_part then
    return nil, ("%s does not belong in a formula"):format(diagnostics.show(invalid_part))
  end
  local chunk = load("local n = ... return " .. formula:gsub("/", "//"), "=formula", "t", {})
  if formula:match("^%s*$") or not chunk then
    return nil, diagnostics.show(formula) .. " is not a formula"
  end
  chunks[formula] = chunk
  return chunk
end

-- The value of a formula at task length n; nil and a message if there is none.
function M.compute(formula, n)
  local chunk, message = M.compile(formula)
  if not chunk then
    return nil, message
  end
  local ok, value = pcall(chunk, n)
  if not ok or math.type(value) ~= "integer" then
    return nil, n and ("%s has no value at n = %d"):format(formula, n) or formula .. " has no value"
  end
  return value
end

-- The formula with numbers in place of options. numbers: by the names of options.
function M.insert_numbers(formula, numbers)
  return (formula:gsub("%l[%l%d_]*", function(name)
    local value = name ~= "n" and numbers[name]
    return value and (value < 0 and "(%d)" or "%d"):format(value) or nil
  end))
end

-- The value of `formula`: a number, or a formula whose only names are options; nil if it has no value.
function M.compute_from_options(formula, numbers)
  return (M.compute(M.insert_numbers(tostring(formula), numbers)))
end

-- Returns the number that stands for a choice: the integer itself, or the index of a word, from 0.
function M.find_number(option, choice)
  for index, name in ipairs(option.choices or {}) do
    if name == choice then
      return math.type(name) and name or index - 1
    end
  end
  return choice
end

-- The options whose names occur in a formula, in the order in which they appear.
local function list_options(formula, options)
  local list = {}
  for name in formula:gmatch("%l[%l%d_]*") do
    list[#list + 1] = name ~= "n" and lists.find(options, function(option) return option.name == name end) or nil
  end
  return lists.drop_repeats(list)
end

local MAX_TRIALS = 1000

-- Returns a list of trials: tables { name = number } with a value for each option in a formula.
-- Tried values are all choices of an option, or the default and the ends of its range.
-- An option that would make more than MAX_TRIALS trials is left out.
function M.list_trials(formula, options)
  local trials = { {} }
  for _, option in ipairs(list_options(formula, options)) do
    local new_trials = {}
    for _, value in ipairs(option.choices or { option.default, option.first, option.last }) do
      for _, trial in ipairs(trials) do
        new_trials[#new_trials + 1] = lists.merge({ [option.name] = M.find_number(option, value) }, trial)
      end
    end
    trials = #new_trials <= MAX_TRIALS and new_trials or trials
  end
  return trials
end

return M
