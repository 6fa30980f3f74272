-- Sizes of alphabets, the lines of headers that list symbols, and alphabets of the numbers 0, 1, 2, ...
--
-- Input and output: the names of an alphabet's symbols, a list of texts. A resolved spec states a long alphabet of
-- numbers by its size, and generated code names its symbols by a table of the runtime, so that no file lists them.

local diagnostics = require("base.diagnostics")

local M = {}

M.MOST = 65000 -- symbols of an alphabet; LH_NUMBER_NAMES of longhand/spec.h
M.MOST_TOKENS = 65536 -- tokens of a model, its own tokens included: a token has 16 bits
M.LISTED = 4096 -- a longer alphabet of numbers is not listed

function M.are_unlisted_numbers(names)
  local i = #names
  while i > 0 and names[i] == tostring(i - 1) do
    i = i - 1
  end
  return #names > M.LISTED and i == 0
end

-- An alphabet as the resolved spec states it: the names, or the size of a long alphabet of numbers.
function M.shorten(names)
  return names and M.are_unlisted_numbers(names) and #names or names
end

-- Reads a word of a list of symbols: the range of numbers 0..99 as { first, last }, nil for another word.
local function read_numbers(word)
  local first, last = word:match("^(%d%d?%d?%d?%d?)%.%.(%d%d?%d?%d?%d?)$")
  first, last = math.tointeger(tonumber(first)), math.tointeger(tonumber(last))
  return first and first <= last and { first = first, last = last } or nil
end

-- Reads the symbols of a line in the header of a task, with ranges of numbers such as 0..99; for a wrong line nil, the
-- problem and what was expected.
function M.read(value)
  local symbols, seen = {}, {}
  for word in value:gmatch("%S+") do
    if word:find('[^!-~]') or word:find('["\\]') then
      return nil, ("%s is not a symbol"):format(diagnostics.show(word)), "printable ASCII without quotes or backslashes"
    end
    local numbers = read_numbers(word)
    for number = numbers and numbers.first or 0, numbers and numbers.last or 0 do
      local symbol = numbers and tostring(number) or word
      if seen[symbol] then
        return nil, ("the symbol %s is given twice"):format(diagnostics.show(symbol))
      end
      seen[symbol] = true
      symbols[#symbols + 1] = symbol
    end
    if #symbols > M.MOST then
      return nil, ("more than %d symbols"):format(M.MOST), ("at most %d"):format(M.MOST)
    end
  end
  if #symbols == 0 then
    return nil, "no symbols", "symbols separated by blanks, or ranges of numbers such as 0..99"
  end
  return symbols
end

return M
