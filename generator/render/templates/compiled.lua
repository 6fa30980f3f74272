-- Reduces C text to the parts that change compiled code, for digests of sources: comments, line breaks and names of
-- static functions change no bit of a run.
--
-- Input: C or device code. Output of M.reduce: the text without comments, blank lines, and blanks that do not separate
-- two words; each directive of the preprocessor is a line, and so is the text between two directives. Output of
-- M.number_names: such a text with the names of its static functions and tables replaced by numbers, in the order of
-- their definitions; `names` has the numbers of names in earlier texts, and the call adds the names of this text.

local lists = require("base.lists")

local M = {}

local HIDDEN = { [" "] = "\1", ["\t"] = "\2" } -- blanks in literals, protected while other blanks are removed

local function find_literal_end(text, from)
  local quote, last = text:sub(from, from), from
  repeat
    last = text:find("[\\\n" .. quote .. "]", last + 1) or #text
    local escaped = text:sub(last, last) == "\\"
    last = escaped and last + 1 or last
  until not escaped
  return last
end

-- Returns the text without comments, with a blank in place of each /* */, and with characters of HIDDEN in place of
-- blanks in literals.
local function remove_comments(text)
  local parts, first = {}, 1
  while true do
    local from = text:find("[\"'/]", first)
    local pair = from and text:sub(from, from + 1)
    local stop
    if not from then
      parts[#parts + 1] = text:sub(first)
      return table.concat(parts)
    elseif pair == "/*" then
      stop = select(2, text:find("*/", from + 2, true)) or #text
      parts[#parts + 1] = text:sub(first, from - 1) .. " "
    elseif pair == "//" then
      stop = (text:find("\n", from, true) or #text + 1) - 1
      parts[#parts + 1] = text:sub(first, from - 1)
    elseif pair:sub(1, 1) == "/" then
      stop = from
      parts[#parts + 1] = text:sub(first, from)
    else
      stop = find_literal_end(text, from)
      parts[#parts + 1] = text:sub(first, from - 1) .. text:sub(from, stop):gsub("[ \t]", HIDDEN)
    end
    first = stop + 1
  end
end

-- Returns the text without blanks that do not separate two words. In a directive, several blanks become one, since
-- #define A (1) needs its blanks.
local function pack(text)
  return text:find("^#") and text:gsub("[ \t]+", " ") or text:gsub("%f[^%w_]%s+%f[%w_]", "\4"):gsub("%s+", "")
end

function M.reduce(text)
  text = remove_comments(text:gsub("\\\n", " "))
  text = ("\n" .. text .. "\n"):gsub("%s*\n%s*", "\n"):gsub("\n(#[^\n]*)%f[\n]", "\3%1\3")
  local lines = lists.filter(lists.map(lists.find_all(text, "[^\3]+"), pack), function(line) return line ~= "" end)
  return (table.concat(lines, "\n"):gsub("[\1\2\4]", { ["\1"] = " ", ["\2"] = "\t", ["\4"] = " " }))
end

-- Adds the names whose definitions begin with `word`, which makes them static, each with its place in the text.
local function add_static(definitions, text, word)
  local from, to = text:find(word, 1, true)
  while from do
    local name = text:match("^[%w_ *]-([%a_][%w_]*)[%(%[=;]", to + 1)
    definitions[#definitions + 1] = name and { at = to, name = name }
    from, to = text:find(word, to, true)
  end
end

function M.number_names(text, names)
  local definitions = {}
  add_static(definitions, text, "static ")
  add_static(definitions, text, "INLINE ")
  table.sort(definitions, function(a, b) return a.at < b.at end)
  for _, entry in ipairs(definitions) do
    if not names[entry.name] then
      names[#names + 1] = entry.name
      names[entry.name] = ("@%d"):format(#names)
    end
  end
  return (text:gsub("[%a_][%w_]*", names))
end

return M
