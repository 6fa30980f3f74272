-- Limits of alphabets, and a reader of header lines that list symbols.
--
-- An alphabet is a list of texts, the names of its symbols. A resolved spec states a long alphabet of the numbers
-- 0, 1, ... by its size. Generated code then reads the names from a table of the runtime.

local diagnostics = require("base.diagnostics")

local M = {}

M.MAX_SYMBOLS = 65000 -- symbols of an alphabet; LH_NUMBER_NAMES of longhand/spec.h
M.MAX_TOKENS = 65536 -- tokens of a model, including tokens that are not symbols: a token has 16 bits
M.MAX_LISTED = 4096 -- symbols of an alphabet of numbers that a spec lists; longer ones are stated by size

-- Whether an alphabet consists of the numbers 0, 1, 2, ... and is too long to be listed.
function M.are_many_numbers(names)
  local i = #names
  while i > 0 and names[i] == tostring(i - 1) do
    i = i - 1
  end
  return #names > M.MAX_LISTED and i == 0
end

-- Returns an alphabet as the resolved spec states it: the names, or the size of a long alphabet of numbers.
function M.shorten(names)
  return names and M.are_many_numbers(names) and #names or names
end

-- Reads a range of numbers, such as 0..99, as { first, last }; nil for another word.
local function read_numbers(word)
  local first, last = word:match("^(%d%d?%d?%d?%d?)%.%.(%d%d?%d?%d?%d?)$")
  first, last = math.tointeger(tonumber(first)), math.tointeger(tonumber(last))
  return first and first <= last and { first = first, last = last } or nil
end

-- Reads the symbols that a header line lists. Returns nil, the problem and the expected form for an invalid line.
function M.read(value)
  local symbols, is_listed = {}, {}
  for word in value:gmatch("%S+") do
    if word:find('[^!-~]') or word:find('["\\]') then
      return nil, ("%s is not a symbol"):format(diagnostics.show(word)), "printable ASCII without quotes or backslashes"
    end
    local numbers = read_numbers(word)
    for number = numbers and numbers.first or 0, numbers and numbers.last or 0 do
      local symbol = numbers and tostring(number) or word
      if is_listed[symbol] then
        return nil, ("the symbol %s is given twice"):format(diagnostics.show(symbol))
      end
      is_listed[symbol] = true
      symbols[#symbols + 1] = symbol
    end
    if #symbols > M.MAX_SYMBOLS then
      return nil, ("more than %d symbols"):format(M.MAX_SYMBOLS), ("at most %d"):format(M.MAX_SYMBOLS)
    end
  end
  if #symbols == 0 then
    return nil, "no symbols", "symbols separated by blanks, or ranges of numbers such as 0..99"
  end
  return symbols
end

return M
