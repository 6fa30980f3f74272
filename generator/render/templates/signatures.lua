-- Removes parameters and constants of generated functions that the functions do not use, and the arguments for these
-- parameters from calls.
--
-- Input of M.remove_unused: a record of the functions of files that were rendered before (M.new), the lines of a C
-- text, and the origin of each line (render.lua's map). M.remove_unused changes all three in place. A function begins
-- with static, INLINE or NOINLINE at the start of a line and ends with a "}" at the start of a line. It must be defined
-- before it is called, in the same file or in a file that was rendered before; a second definition counts for the text
-- below it. Functions of inserted files are not changed, nor are functions that are called above their definition or
-- whose addresses are taken. Constants are declarations `const type name = ...;` of one line within a function. Names
-- in comments and names of members do not count as uses. Heads of functions become one line, which wrap.lua breaks
-- again.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")

local M = {}

-- Returns a record of functions. kept_parameters: for each function that has lost parameters, by name, a list that
-- states for each parameter whether it is kept; called: the set of the names of all called functions.
function M.new()
  return { kept_parameters = {}, called = {} }
end

-- In replace, is_value, remove_arguments, remove_unused_constants, remove_parameters and reduce_function, `text` is a
-- record { lines, map, defined, values }. defined: the set of the functions defined so far; values: name -> whether the
-- name occurs outside of calls.

-- Returns underscores in place of the characters of a text, so that it contains no separators.
local function mask(text)
  return ("_"):rep(#text)
end

-- Splits a list of parameters or arguments at its commas, except commas in brackets and strings.
function M.split(text)
  local list = {}
  local mask_text = text:gsub("\\.", "__"):gsub('"[^"]*"', mask):gsub("%b()", mask):gsub("%b[]", mask)
    :gsub("%b{}", mask)
  for first, stop in mask_text:gmatch("%s*()[^,]+()") do
    list[#list + 1] = text:sub(first, stop - 1)
  end
  return list
end

-- Returns the text without comments and names of members, which do not count as uses.
local function remove_comments(text)
  if text:find("/", 1, true) then
    text = text:gsub("/%*.-%*/", " "):gsub("//[^\n]*", "")
  end
  return (text:gsub("%->%s*[%a_][%w_]*", ""):gsub("%.[%a_][%w_]*", ""))
end

-- Adds `step`, 1 or -1, to the count of each name for each time that a text mentions the name.
local function count(counts, text, step)
  for name in remove_comments(text):gmatch("[%a_][%w_]*") do
    counts[name] = (counts[name] or 0) + step
  end
end

-- Returns the lines from number `first` to the line that closes the bracket at column `open` of the first line, joined
-- into one line; and the number of the last line.
local function join(lines, first, open)
  local line, last = lines[first], first
  while not line:find("^%b()", open) and lines[last + 1] do
    last = last + 1
    line = line .. (line:sub(-1) == "(" and "" or " ") .. lines[last]:match("^%s*(.*)$")
  end
  return line, last
end

-- Replaces the lines from `first` to `last` by one line.
local function replace(text, first, last, line)
  text.lines[first] = line
  for _ = first + 1, last do
    table.remove(text.lines, first + 1)
    table.remove(text.map, first + 1)
  end
end

-- The items of a list for which is_kept[index] is true, separated by commas.
local function join_kept(list, is_kept)
  return table.concat(lists.map(list, function(word, i) return is_kept[i] and word or nil end), ", ")
end

-- Removes arguments that functions no longer take from the calls in a line, from column `start` on; a call may continue
-- on the next lines.
local function remove_arguments(functions, text, number, start)
  local column = text.lines[number]:find("^%s*/?%* ") and #text.lines[number] or start or 1 -- skips calls in comments
  while true do
    local name, open = text.lines[number]:match("%f[%w_]([%a_][%w_]*)()%(", column)
    if not name then
      return
    end
    local is_kept = functions.kept_parameters[name]
    functions.called[name] = true
    if is_kept then
      local line, last = join(text.lines, number, open)
      local close = select(2, line:find("^%b()", open))
      local words = M.split(line:sub(open + 1, close - 1))
      local is_void_call = #words == 0 and #is_kept == 1 -- f() calls f(void)
      if #words ~= #is_kept and not is_void_call then
        local message = ("%s takes %d arguments, not %d"):format(name, #is_kept, #words)
        error({ problem = true, what = message, line = number }, 0)
      end
      local call = ("%s(%s)%s"):format(line:sub(1, open - 1), join_kept(words, is_kept), line:sub(close + 1))
      replace(text, number, last, call)
    end
    column = open + 1
  end
end

-- Returns a line of a function without the constants that only this declaration mentions; nil if the line declares no
-- other constant. counts: how often the function mentions each name.
local function remove_constants(counts, line)
  local head, list = line:match("^(%s+const [%w_]+ )([^{]*);$")
  if not head then
    return line
  end
  local words, used_words = M.split(list), {}
  for i = #words, 1, -1 do
    local name = words[i]:match("^[* ]*([%a_][%w_]*) = ")
    if name and counts[name] == 1 then
      count(counts, words[i], -1)
    else
      table.insert(used_words, 1, words[i])
    end
  end
  return used_words[1] and ("%s%s;"):format(head, table.concat(used_words, ", "))
end

-- Removes unused constants from the lines of a function's body, from `first` on. Returns how often the remaining lines
-- mention each name, and the number of the last line.
local function remove_unused_constants(text, first)
  local last, counts = first, {}
  while text.lines[last] ~= "}" do
    last = last + 1
  end
  count(counts, table.concat(text.lines, "\n", first, last), 1)
  for number = last - 1, first, -1 do
    local line = remove_constants(counts, text.lines[number])
    if line then
      text.lines[number] = line
    else
      table.remove(text.lines, number)
      table.remove(text.map, number)
    end
  end
  while text.lines[first] ~= "}" do
    first = first + 1
  end
  return counts, first
end

-- Whether a text mentions a name outside of calls.
local function is_value(text, name)
  if not text.values then
    text.values = {}
    for word, call in remove_comments(table.concat(text.lines, "\n")):gmatch("([%a_][%w_]*)(%(?)") do
      text.values[word] = text.values[word] or call == ""
    end
  end
  return text.values[name]
end

-- Removes from the head at a line the parameters that the function's body does not mention.
local function remove_parameters(functions, text, number, name, counts)
  local line = text.lines[number]
  local open = line:find("(", 1, true)
  local close = select(2, line:find("^%b()", open))
  local words, is_kept, keeps_all = M.split(line:sub(open + 1, close - 1)), {}, true
  for i, word in ipairs(words) do
    local parameter = word:match("%(%*([%a_][%w_]*)%)") or word:gsub("%s*%[.*$", ""):match("([%a_][%w_]*)$")
    is_kept[i] = #words == 1 and word == "void" or (counts[parameter] or 0) > 0
    keeps_all = keeps_all and is_kept[i]
  end
  -- If the name is in kept_parameters, an earlier text defines another function of this name. The calls so far call
  -- that function.
  local is_called_above = functions.called[name] and not functions.kept_parameters[name]
  functions.kept_parameters[name] = nil
  if not keeps_all and (text.defined[name] or not is_called_above) and not is_value(text, name) then
    functions.kept_parameters[name] = is_kept
    local parameters = join_kept(words, is_kept)
    text.lines[number] = ("%s(%s)%s"):format(line:sub(1, open - 1), parameters == "" and "void" or parameters,
      line:sub(close + 1))
  end
  text.defined[name] = true
end

-- Removes the unused parameters and constants of the function whose head begins at a line, and arguments from the calls
-- in its body; returns the number of its last line.
local function reduce_function(functions, text, number, name)
  local line, last = join(text.lines, number, text.lines[number]:find("(", 1, true))
  local text_after_head = line:match("%b()(.*)$")
  local counts, stop = {}, number
  if not text_after_head:find("^ {") then -- a declaration without a body
    return last
  end
  replace(text, number, last, line)
  if text_after_head == " {" then
    local body_line = number + 1
    while text.lines[body_line] ~= "}" do
      remove_arguments(functions, text, body_line)
      body_line = body_line + 1
    end
    counts, stop = remove_unused_constants(text, number + 1)
  else
    remove_arguments(functions, text, number, line:find("{", 1, true))
    count(counts, text.lines[number]:match("%b()(.*)$"), 1)
  end
  remove_parameters(functions, text, number, name, counts)
  return stop
end

-- Removes the unused parameters and constants of the functions of a text, and adds the functions that have lost
-- parameters to `functions`. Returns true; or nil, a problem and its line if the number of arguments in a call differs
-- from the number of the function's parameters.
function M.remove_unused(functions, lines, map)
  local text, number = { lines = lines, map = map, defined = {} }, 1
  local fits, problem = diagnostics.attempt(function()
    while lines[number] do
      local line, is_generated = lines[number], map[number][1][3] == nil
      local is_head = is_generated and (line:find("^static ") or line:find("^N?O?INLINE "))
      local name = is_head and line:match("^[%w_ *]-([%a_][%w_]*)%(")
      if name then
        number = reduce_function(functions, text, number, name)
      elseif is_generated then
        remove_arguments(functions, text, number)
      end
      number = number + 1
    end
    return true
  end)
  return fits, problem and problem.what, problem and problem.line
end

return M
