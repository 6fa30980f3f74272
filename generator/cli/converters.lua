-- Converts words of the command line to values.
--
-- Input: a word. Output: its value; or nil and a message, which options.lua completes with the option's name.

local M = {}

function M.read_positive(text)
  local number = math.tointeger(tonumber(text))
  return number and number > 0 and number or nil, ("%s: not a positive integer"):format(text)
end

-- Makes a converter of lists of words with commas between them. expected: a description of the valid lists, for
-- messages. read_word(word, list) returns the value of a word, or nil if the word is not valid; list: the values of the
-- preceding words.
function M.make_list_reader(expected, read_word)
  return function(text)
    local list = {}
    for word in (text .. ","):gmatch("([^,]*),") do
      local value = read_word(word, list)
      if not value then
        return nil, ("%s: expected %s"):format(text, expected)
      end
      list[#list + 1] = value
    end
    return list
  end
end

-- Converts a folder: removes the slash that completion puts after the folder's name.
function M.read_folder(text)
  return (text:gsub("(.)/+$", "%1"))
end

-- Checks a list of GPU architectures, "native" or "all", and returns the text unchanged.
function M.read_architectures(text)
  local read_list = M.make_list_reader("a list such as sm_80,sm_90a, or native, or all", function(name)
    return name:match("^sm_%d+[af]?$")
  end)
  local list, message = read_list(text)
  return (list or text == "native" or text == "all") and text or nil, message
end

return M
