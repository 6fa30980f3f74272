-- Converts words of the command line to values.
--
-- Input: a word. Output: its value; or nil and a message, as argparse expects.

local M = {}

function M.positive(text)
  local number = math.tointeger(tonumber(text))
  return number and number > 0 and number or nil, ("%s: not a positive integer"):format(text)
end

function M.count(text)
  local number = math.tointeger(tonumber(text))
  return number and number >= 0 and number or nil, ("%s: not an integer from 0 on"):format(text)
end

-- Makes a converter of lists with commas: read(word, list so far) returns a value; nil: the word is not `expected`.
function M.list(option, expected, read)
  return function(text)
    local list = {}
    for word in (text .. ","):gmatch("([^,]*),") do
      local value = read(word, list)
      if not value then
        return nil, ("%s %s: expected %s"):format(option, text, expected)
      end
      list[#list + 1] = value
    end
    return list
  end
end

-- Converts a folder: completion puts a slash after its name, which is removed.
function M.folder(text)
  return (text:gsub("(.)/+$", "%1"))
end

-- Converts a list of task lengths, in the form of a trainer's --lengths.
function M.lengths(text)
  return text:find("^%d[%d,:x]*$") and text or nil, ("%s: expected lengths, as in 20,40"):format(text)
end

function M.architectures(text)
  local read = M.list("--arch", "a list such as sm_80,sm_90a, or native, or all", function(name)
    return name:match("^sm_%d+[af]?$")
  end)
  local list, message = read(text)
  return (list or text == "native" or text == "all") and text or nil, message
end

function M.device(text)
  return (text == "cpu" or text == "cuda" or text:find("^cuda:%d+$")) and text or nil,
    ("--device %s: expected cpu, cuda or cuda:N"):format(text)
end

-- Converts a duration, a whole or decimal number with its unit.
function M.span(text)
  local number = tonumber(text)
  return number and number > 0 and number < 1e6 and number or nil, ("%s: not a number above 0"):format(text)
end

return M
