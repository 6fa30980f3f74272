-- Breaks lines of C that are too long, since names in generated code vary in length. Breaks are at the places where a
-- person would break the line.
--
-- Input: lines and their origins (render.lua's map). Output: both, with lines of at most COLUMNS, except lines that
-- cannot be broken. A comment after code moves above the code. The statement after the head of a loop or condition
-- moves to the next line, and so does the body of a function on one line. Other code is broken in the outermost
-- brackets, after a comma or an operator, with CONTINUED blanks before the rest. The excess of a line of a comment
-- moves to the next line. Directives are not changed, nor the lines of a file's banner with its command and its spec.

local append = require("base.lists").append

local M = {}

M.COLUMNS, M.CONTINUED = 120, 8
local INDENT = 4
local MIN_REST_COLUMNS = 12 -- a rest is the part of a line after a break; a shorter rest costs SHORT_REST_COST

-- Costs of a break, which are summed: the cost of its token (0 for the cheapest token), the cost of a short rest, and
-- DEPTH_COST for each level of brackets. A break after "=" costs 2 * DEPTH_COST more if its rest does not fit into one
-- line. The break is after the token, or in front of a token with `before`.
local ASSIGNMENT_COST, SHORT_REST_COST, DEPTH_COST = 5, 6, 10
local BREAKS = {
  { ",", 0 }, { ";", 0 }, { " &&", 1 }, { " ||", 1 }, { " ?", 2, before = true }, { " :", 2, before = true },
  { " +", 3 }, { " -", 3 }, { " <", 3 }, { " >", 3 }, { " ==", 3 }, { " >=", 3 }, { " <=", 3 }, { " *", 4 },
  { " /", 4 }, { " %", 4 }, { " =", ASSIGNMENT_COST },
}
local OPENS = { ["("] = true, ["["] = true, ["{"] = true }

local break_line -- breaks a line of code into lines of at most COLUMNS; a comment at its end becomes the first line

-- Returns the cost of a break after the first `last` characters; nil if a break there is impossible.
local function find_cost(text, last)
  for _, entry in ipairs(BREAKS) do
    local token = entry[1]
    local from = entry.before and last + 1 or last - #token + 1
    if from > 0 and text:sub(from, from + #token) == token .. " " then
      return entry[2]
    end
  end
  return nil
end

-- Returns the last of the cheapest places to break a line of code, after the line's indent; nil if there is none.
-- max_rest: the largest number of columns of a rest that fits into one line.
local function find_break(text, indent, max_rest)
  local depth, is_quoted, best_place, min_cost = 0, false, nil, math.huge
  for place, c in text:sub(1, M.COLUMNS + 1):gmatch('()([][(){}" ])') do
    local last = place - 1
    local previous = text:sub(last, last)
    if c == '"' then
      is_quoted = is_quoted ~= (previous ~= "\\") -- a quote without a backslash begins or ends a string
    elseif not is_quoted and c ~= " " then
      depth = depth + (OPENS[c] and 1 or -1)
    elseif not is_quoted and last > #indent and previous ~= '"' then
      local cost = find_cost(text, last)
      if cost then
        cost = cost + DEPTH_COST * depth + (#text - last < MIN_REST_COLUMNS and SHORT_REST_COST or 0)
          + (cost == ASSIGNMENT_COST and #text - last > max_rest and 2 * DEPTH_COST or 0)
        if cost <= min_cost then
          best_place, min_cost = last, cost
        end
      end
    end
  end
  return best_place
end

-- Returns the lines of code without comments, broken into continued lines.
local function break_code(line, indent)
  local last = #line > M.COLUMNS and find_break(line, line:match("^%s*"), M.COLUMNS - M.CONTINUED - #indent)
  if not last then
    return { line }
  end
  local excess = indent .. (" "):rep(M.CONTINUED) .. line:sub(last + 1):match("^%s*(.*)$")
  return append({ line:sub(1, last) }, #excess < #line and break_code(excess, indent) or { excess })
end

-- Returns the lines of a loop or a condition with its statement, which moves below the head; nil for other code.
local function break_head(indent, code)
  local head, body = code:match("^(for %b()) (.*)$")
  if not head then
    head, body = code:match("^(if %b()) (.*)$")
  end
  return head and body ~= "{" and body ~= ";"
    and append(break_line(indent .. head), break_line(indent .. (" "):rep(INDENT) .. body)) or nil
end

-- Returns the lines of a function whose head, body and end are on one line; nil for other code.
local function unfold(indent, code)
  local head, body = code:match("^([%w_].-%)) { (.*) }$")
  if head and not code:find("=.*{") then
    local lines = append(break_line(indent .. head .. " {"), break_line(indent .. (" "):rep(INDENT) .. body))
    return append(lines, { indent .. "}" })
  end
end

break_line = function(line)
  local indent, code = line:match("^(%s*)(.*)$")
  local statement, comment = code:match("^(.-) (/%*.*%*/)$")
  if #line <= M.COLUMNS then
    return { line }
  elseif comment then
    return append({ indent .. comment }, break_line(indent .. statement))
  elseif code:find("^#") then
    return { line }
  end
  return break_head(indent, code) or unfold(indent, code) or break_code(line, indent)
end

local function ends_comment(line)
  return line:find("*/", 1, true) ~= nil
end

-- Returns the last line of the comment that begins at a line without code; nil if there is none.
local function find_comment_end(lines, first)
  if not lines[first]:find("^%s*/%*") or ends_comment(lines[first]) and not lines[first]:find("%*/$") then
    return nil
  end
  local last = first
  while not ends_comment(lines[last]) and lines[last + 1] do
    last = last + 1
  end
  return last
end

-- Returns a line of a comment up to the limit, and its excess; or the whole line if it cannot be split. In the banner
-- of a file, the command and the spec have a line each, since other code searches for these lines.
local function split_comment(line)
  local last = M.COLUMNS + 1
  while last > 0 and (line:sub(last, last) ~= " " or line:sub(last + 1) == "*/") do
    last = last - 1
  end
  local head, excess = line:sub(1, math.max(last - 1, 0)), line:sub(last + 1)
  if head:find("^%s*/?%**%s*$") or line:find("^ %* %./longhand gen ") or line:find("^ %* spec  ") then
    return line
  end
  return head, excess
end

-- Returns the beginning of the next line of a comment.
local function write_star(line)
  return line:match("^%s*") .. (line:find("^%s*/") and " * " or "* ")
end

-- Fits the lines of a comment, { line, from (its number in the input) }: each line takes the excess of the line before.
local function fit_comment(list)
  for i, entry in ipairs(list) do
    local line, excess, next_text = entry.line, nil, list[i + 1] and list[i + 1].line:match("^%s*%* (%w.*)$")
    if #line > M.COLUMNS then
      entry.line, excess = split_comment(line)
    end
    if excess and next_text then
      list[i + 1].line = write_star(line) .. excess .. " " .. next_text
    elseif excess then
      table.insert(list, i + 1, { line = write_star(line) .. excess, from = entry.from })
    end
  end
  return list
end

-- Whether the next line continues a line of code. A line that ends with ":" may be a label, and a line that ends with
-- "=" may begin a list, so these lines are continued only if they are too long.
local function is_continued(line, next_line)
  return line:find("[,(&|+*?:=-]$") and #next_line:match("^%s*") > #line:match("^%s*")
    and (#line > M.COLUMNS or not line:find("[:=]$"))
end

-- Returns a line joined with the lines that continue it, and the number of the last line. In inserted files only lines
-- that are too long are joined.
local function join(lines, map, first)
  local line, last = lines[first], first
  while lines[last + 1] and (#line > M.COLUMNS or not map[first][1][3]) and is_continued(line, lines[last + 1]) do
    last = last + 1
    line = line .. (line:sub(-1) == "(" and "" or " ") .. lines[last]:match("^%s*(.*)$")
  end
  return line, last
end

function M.wrap(lines, map)
  local out_lines, out_map, first = {}, {}, 1
  local function add(line, number)
    out_lines[#out_lines + 1], out_map[#out_map + 1] = line, map[number]
  end
  while lines[first] do
    local last = find_comment_end(lines, first)
    if last then
      local list = {}
      for number = first, last do
        list[#list + 1] = { line = lines[number], from = number }
      end
      for _, entry in ipairs(fit_comment(list)) do
        add(entry.line, entry.from)
      end
    else
      local line
      line, last = join(lines, map, first)
      for _, code_line in ipairs(break_line(line)) do
        add(code_line, first)
      end
    end
    first = last + 1
  end
  return out_lines, out_map
end

return M
