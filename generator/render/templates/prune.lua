-- Leaves out the functions of a device text that nothing in it calls: what files of kernels/ have beside what an
-- experiment uses.
--
-- Input: the lines of a text and what is known of each (render.lua's map). Output: both without those functions and the
-- comments above them. A function begins with INLINE or NOINLINE at the start of a line; what is outside of functions,
-- kernels among it, is always there.

local M = {}

-- A member of a struct may be called as a function is: calls are what has a parenthesis behind it.
local function words_of(text, words)
  for word in text:gmatch("([%a_][%w_]*)%s*%(") do
    words[word] = true
  end
end

-- The last line of the function that begins at a line: where the braces that it opens are closed again.
local function last_line(lines, first)
  local depth, opened = 0, false
  for at = first, #lines do
    for brace in lines[at]:gmatch("[{}]") do
      depth, opened = depth + (brace == "{" and 1 or -1), true
    end
    if opened and depth == 0 then
      return at
    end
  end
  return #lines
end

-- The first line of the comment that ends right above a line; the line itself where there is none.
local function comment_above(lines, at)
  if at == 1 or lines[at - 1]:sub(-2) ~= "*/" then
    return at
  end
  for first = at - 1, 1, -1 do
    if lines[first]:sub(1, 2) == "/*" then
      return first
    end
  end
  return at
end

-- The text's functions in their order: { name, from, to, words }, and the words outside of them.
local function functions_of(lines)
  local functions, outside, commented = {}, {}, false
  local at = 1
  while at <= #lines do
    local name = lines[at]:match("^N?O?INLINE [^(]-([%w_]+)%(")
    if name then
      local found = { name = name, from = at, to = last_line(lines, at), words = {} }
      for line = at, found.to do
        words_of(lines[line], found.words)
      end
      functions[#functions + 1] = found
      at = found.to
    else
      local text = lines[at]
      commented = commented or text:sub(1, 2) == "/*"
      if not commented then
        words_of(text, outside)
      end
      commented = commented and text:sub(-2) ~= "*/"
    end
    at = at + 1
  end
  return functions, outside
end

local function mark_used(functions, outside)
  local by_name, reached = {}, {}
  for _, f in ipairs(functions) do
    by_name[f.name] = by_name[f.name] or {}
    table.insert(by_name[f.name], f)
  end
  local function reach(words)
    for word in pairs(words) do
      if by_name[word] and not reached[word] then
        reached[word] = true
        for _, f in ipairs(by_name[word]) do
          f.used = true
          reach(f.words)
        end
      end
    end
  end
  reach(outside)
end

-- Marks the lines to leave out: a function, the comment above it unless the next function is under it too, and the
-- empty line behind it where there is one above as well.
local function mark_lines(lines, functions)
  local out = {}
  for i, f in ipairs(functions) do
    if not f.used then
      local follower = functions[i + 1]
      local shared = follower and follower.used and follower.from == f.to + 1
      local first = shared and f.from or comment_above(lines, f.from)
      for at = first, f.to do
        out[at] = true
      end
      if lines[f.to + 1] == "" and (first == 1 or out[first - 1] or lines[first - 1] == "") then
        out[f.to + 1] = true
      end
    end
  end
  return out
end

-- Marks the whole of a file that has lost functions, where nothing is left of it but comments.
local function mark_files(lines, map, out)
  local first = 1
  while first <= #lines do
    local name, last, lost, bare, commented = map[first][1][1], first, false, true, false
    while map[last + 1] and map[last + 1][1][1] == name do
      last = last + 1
    end
    for at = first, last do
      commented = commented or lines[at]:sub(1, 2) == "/*"
      lost = lost or out[at]
      bare = bare and (out[at] or lines[at] == "" or commented)
      commented = commented and lines[at]:sub(-2) ~= "*/"
    end
    bare = bare and lost
    for at = first, bare and last or 0 do
      out[at] = true
    end
    if bare and lines[last + 1] == "" then
      out[last + 1] = true
    end
    first = last + 1
  end
end

function M.prune(lines, map)
  local functions, outside = functions_of(lines)
  mark_used(functions, outside)
  local out = mark_lines(lines, functions)
  mark_files(lines, map, out)
  local kept_lines, kept_map = {}, {}
  for at, line in ipairs(lines) do
    if not out[at] then
      kept_lines[#kept_lines + 1], kept_map[#kept_map + 1] = line, map[at]
    end
  end
  return kept_lines, kept_map
end

return M
