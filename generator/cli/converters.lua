-- What words of the command line mean.
--
-- Input: a word. Output: its value; or nil and what is wrong with it, as argparse has it.

local M = {}

function M.positive(text)
  local number = math.tointeger(tonumber(text))
  return number and number > 0 and number or nil, ("%s: not a positive integer"):format(text)
end

-- A folder, without the slash that completion puts behind it.
function M.folder(text)
  return (text:gsub("(.)/+$", "%1"))
end

-- A list of task lengths, as a trainer's --lengths takes it.
function M.lengths(text)
  return text:find("^%d[%d,:x]*$") and text or nil, ("%s: expected lengths, as in 20,40"):format(text)
end

-- GPU architectures, as --arch takes them.
function M.architectures(text)
  if text ~= "native" and text ~= "all" then
    for name in (text .. ","):gmatch("([^,]*),") do
      if not name:find("^sm_%d+[af]?$") then
        return nil, ("--arch %s: expected a list such as sm_80,sm_90a, or native, or all"):format(text)
      end
    end
  end
  return text
end

-- What computes.
function M.device(text)
  if text == "cpu" or text == "cuda" or text:find("^cuda:%d+$") then
    return text
  end
  return nil, ("--device %s: expected cpu, cuda or cuda:N"):format(text)
end

-- A span of time, in whole or broken numbers of its unit.
function M.span(text)
  local number = tonumber(text)
  return number and number > 0 and number < 1e6 and number or nil, ("%s: not a number above 0"):format(text)
end

return M
