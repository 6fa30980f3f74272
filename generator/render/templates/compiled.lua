-- Reduces C text to the parts that change compiled code, for digests of sources: comments, line breaks and names of
-- static functions change no bit of a run.
--
-- Input of M.reduce: C or device code; output: the text without comments, blank lines, and blanks that do not separate
-- two words. Each directive of the preprocessor is a line, and so is the text between two directives.
-- Input of M.number_names: an output of M.reduce; `names`, a table from names in earlier texts to their numbers, to
-- which the call adds the names of this text. Output: the text with numbers in place of the names of its static
-- functions and tables, counted in the order of their definitions.

local lists = require("base.lists")

local M = {}

local HIDDEN = { [" "] = "\1", ["\t"] = "\2" } -- stand for blanks in literals while other blanks are removed
-- In M.reduce, \3 stands for the line break around a directive, and \4 for a blank that separates two words.

-- Returns the index of the last character of the literal that begins with the quote at index `start`.
local function find_literal_end(text, start)
  local quote, last = text:sub(start, start), start
  repeat
    last = text:find("[\\\n" .. quote .. "]", last + 1) or #text
    local is_escape = text:sub(last, last) == "\\"
    last = is_escape and last + 1 or last
  until not is_escape
  return last
end

-- Returns the text without comments, with a blank in place of each /* */, and with characters of HIDDEN in place of
-- blanks in literals.
local function remove_comments(text)
  local parts, first = {}, 1
  while true do
    local start = text:find("[\"'/]", first)
    local pair = start and text:sub(start, start + 1)
    local last
    if not start then
      parts[#parts + 1] = text:sub(first)
      return table.concat(parts)
    elseif pair == "/*" then
      last = select(2, text:find("*/", start + 2, true)) or #text
      parts[#parts + 1] = text:sub(first, start - 1) .. " "
    elseif pair == "//" then
      last = (text:find("\n", start, true) or #text + 1) - 1
      parts[#parts + 1] = text:sub(first, start - 1)
    elseif pair:sub(1, 1) == "/" then
      last = start
      parts[#parts + 1] = text:sub(first, start)
    else
      last = find_literal_end(text, start)
      parts[#parts + 1] = text:sub(first, start - 1) .. text:sub(start, last):gsub("[ \t]", HIDDEN)
    end
    first = last + 1
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

-- Adds { name, position } for each definition that begins with `word`, which makes the name static.
local function add_static_names(definitions, text, word)
  local _, word_end = text:find(word, 1, true)
  while word_end do
    local name = text:match("^[%w_ *]-([%a_][%w_]*)[%(%[=;]", word_end + 1)
    definitions[#definitions + 1] = name and { position = word_end, name = name }
    _, word_end = text:find(word, word_end, true)
  end
end

function M.number_names(text, names)
  local definitions = {}
  add_static_names(definitions, text, "static ")
  add_static_names(definitions, text, "INLINE ")
  table.sort(definitions, function(a, b) return a.position < b.position end)
  for _, entry in ipairs(definitions) do
    if not names[entry.name] then
      names[#names + 1] = entry.name
      names[entry.name] = ("@%d"):format(#names)
    end
  end
  return (text:gsub("[%a_][%w_]*", names))
end

return M
