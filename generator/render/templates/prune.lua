-- Removes functions that are never called in a device text: files of kernels/ have more functions than an experiment
-- uses.
-- Input: the lines of a text and the map of each line to its source (render.lua). Output: both, without those functions
-- and the comments above them, nor comments of a file that has nothing else left. A function begins with INLINE or
-- NOINLINE at the start of a line. Other text, such as __global__ functions, is kept.

local lists = require("base.lists")

local M = {}

-- Lines of comments at the start of a line, each mapped to the first line of its comment.
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

-- Adds the functions that lines call: all names before a parenthesis, since a struct's member may be called as well.
local function add_calls(calls, lines, first, last)
  local names = lists.find_all(table.concat(lines, "\n", first, last), "([%a_][%w_]*)%s*%(")
  return lists.update(calls, lists.to_set(names))
end

-- The functions of a text in order, { name, from, to, calls }, and the calls outside of functions.
local function find_functions(lines, comments)
  local functions, outside, number = {}, {}, 1
  while lines[number] do
    local name, last = lines[number]:match("^N?O?INLINE [^(]-([%w_]+)%("), number
    if name then
      while not lines[last]:find(last == number and "}$" or "^}") do
        last = last + 1
      end
      functions[#functions + 1] = { name = name, from = number, to = last, calls = add_calls({}, lines, number, last) }
    elseif not comments[number] then
      add_calls(outside, lines, number, number)
    end
    number = last + 1
  end
  return functions, outside
end

-- Marks the functions that are called, directly or by marked functions.
local function mark_used(functions, calls)
  for _, f in ipairs(functions) do
    if calls[f.name] and not f.used then
      f.used = true
      mark_used(functions, f.calls)
    end
  end
end

-- Marks the lines to remove: a function, the comment above it (unless a used function directly below shares the
-- comment), and the empty line after it if there is also an empty line above.
local function mark_lines(lines, functions, comments)
  local out = {}
  for i, f in ipairs(functions) do
    if not f.used then
      local follower = functions[i + 1]
      local shared = follower and follower.used and follower.from == f.to + 1
      local first = not shared and comments[f.from - 1] or f.from
      for number = first, f.to do
        out[number] = true
      end
      if lines[f.to + 1] == "" and (first == 1 or out[first - 1] or lines[first - 1] == "") then
        out[f.to + 1] = true
      end
    end
  end
  return out
end

-- Marks whole files of which only comments remain after the removal of functions.
local function mark_files(lines, map, comments, out)
  local first = 1
  while lines[first] do
    local last, lost, bare = first - 1, false, true
    repeat
      last = last + 1
      lost, bare = lost or out[last], bare and (out[last] or lines[last] == "" or comments[last])
    until not map[last + 1] or map[last + 1][1][1] ~= map[first][1][1]
    if lost and bare then
      for number = first, lines[last + 1] == "" and last + 1 or last do
        out[number] = true
      end
    end
    first = last + 1
  end
end

function M.prune(lines, map)
  local comments = find_comments(lines)
  local functions, outside = find_functions(lines, comments)
  mark_used(functions, outside)
  local out = mark_lines(lines, functions, comments)
  mark_files(lines, map, comments, out)
  local function keep(item, number)
    return not out[number] and item or nil
  end
  return lists.map(lines, keep), lists.map(map, keep)
end

return M
