-- Removes functions of device code that are never called, since inserted files have more functions than an experiment
-- uses.
--
-- Input: the lines of a text and the origin of each line (render.lua's map). Output: both, without these functions and
-- the comments above them, and without inserted files that would have only comments left. A function begins with
-- INLINE or NOINLINE at the start of a line. Other text, such as __global__ functions, is kept.

local lists = require("base.lists")

local M = {}

-- Returns, for each line of a comment that begins at the start of a line, the number of the comment's first line.
local function find_comments(lines)
  local comments, first = {}, nil
  for number, line in ipairs(lines) do
    first = first or line:sub(1, 2) == "/*" and number or nil
    comments[number] = first
    if line:sub(-2) == "*/" then
      first = nil
    end
  end
  return comments
end

-- Adds the names that the lines from `first` to `last` call to the set `calls`, and returns the set. All names before a
-- parenthesis count, also names of struct members.
local function add_calls(calls, lines, first, last)
  local names = lists.find_all(table.concat(lines, "\n", first, last), "([%a_][%w_]*)%s*%(")
  return lists.update(calls, lists.to_set(names))
end

-- Returns the functions of a text in order, and the set of the names that are called outside of functions. A function:
--   name
--   from, to   the numbers of its first and its last line
--   calls      the set of the names that it calls
--   is_used    set by mark_used
local function find_functions(lines, comments)
  local functions, outside_calls, number = {}, {}, 1
  while lines[number] do
    local name, last = lines[number]:match("^N?O?INLINE [^(]-([%w_]+)%("), number
    if name then
      -- A function on one line ends with }; a longer function ends at a line that begins with }.
      while not lines[last]:find(last == number and "}$" or "^}") do
        last = last + 1
      end
      functions[#functions + 1] = { name = name, from = number, to = last, calls = add_calls({}, lines, number, last) }
    elseif not comments[number] then
      add_calls(outside_calls, lines, number, number)
    end
    number = last + 1
  end
  return functions, outside_calls
end

-- Sets is_used of the functions that are in the set `calls`, and of the functions that these call.
local function mark_used(functions, calls)
  for _, f in ipairs(functions) do
    if calls[f.name] and not f.is_used then
      f.is_used = true
      mark_used(functions, f.calls)
    end
  end
end

-- Returns the set of the numbers of the lines to remove, which are for each unused function:
--   its own lines
--   the comment above it, unless the next function is used and has no comment of its own, so that both share this one
--   the empty line below it, if the line above is also empty or removed
local function mark_lines(lines, functions, comments)
  local is_removed = {}
  for i, f in ipairs(functions) do
    if not f.is_used then
      local next_function = functions[i + 1]
      local is_comment_shared = next_function and next_function.is_used and next_function.from == f.to + 1
      local first = not is_comment_shared and comments[f.from - 1] or f.from
      for number = first, f.to do
        is_removed[number] = true
      end
      if lines[f.to + 1] == "" and (first == 1 or is_removed[first - 1] or lines[first - 1] == "") then
        is_removed[f.to + 1] = true
      end
    end
  end
  return is_removed
end

-- Finds the inserted files of which only comments would remain, and adds all lines of these files to the set
-- is_removed. map[i][1][1] is the name of the file that line i comes from.
local function mark_files(lines, map, comments, is_removed)
  local first = 1
  while lines[first] do
    local last, has_removed, has_only_comments = first - 1, false, true
    repeat
      last = last + 1
      has_removed = has_removed or is_removed[last]
      has_only_comments = has_only_comments and (is_removed[last] or lines[last] == "" or comments[last])
    until not map[last + 1] or map[last + 1][1][1] ~= map[first][1][1]
    if has_removed and has_only_comments then
      for number = first, lines[last + 1] == "" and last + 1 or last do
        is_removed[number] = true
      end
    end
    first = last + 1
  end
end

function M.prune(lines, map)
  local comments = find_comments(lines)
  local functions, outside_calls = find_functions(lines, comments)
  mark_used(functions, outside_calls)
  local is_removed = mark_lines(lines, functions, comments)
  mark_files(lines, map, comments, is_removed)
  local function keep(item, number)
    return not is_removed[number] and item or nil
  end
  return lists.map(lines, keep), lists.map(map, keep)
end

return M
