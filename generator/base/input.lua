-- Reads files that other programs may have written, if they are regular files within a size limit.
--
-- Input: a path, or JSON. Output: text, or a decoded value; nil and the problem, { found, expected }; nil alone if the
-- file does not exist. A pipe, a device or a folder is never opened, so that no function waits.

local json = require("dkjson")
local lfs = require("lfs")

local M = {}

local BLOCK = 1 << 16 -- bytes of one read

M.NULL = json.null
M.OBJECT, M.LIST = {}, {} -- metatables of decoded values: {} and [] differ

-- Opens a regular file of at most `largest` bytes; returns its size as well.
local function open(path, largest)
  local attributes = lfs.attributes(path)
  if not attributes then
    return nil
  elseif attributes.mode ~= "file" then
    return nil, { found = "a " .. attributes.mode, expected = "a file" }
  elseif attributes.size > largest then
    return nil, { found = ("%d bytes"):format(attributes.size), expected = ("at most %d"):format(largest) }
  end
  local file, message = io.open(path, "rb")
  if not file then
    return nil, { found = message:gsub("^.*: ", ""), expected = "a file that can be read" }
  end
  return file, attributes.size
end

function M.read(path, largest)
  local file, problem = open(path, largest)
  if not file then
    return nil, problem
  end
  local text = file:read(largest)
  file:close()
  return text or ""
end

-- Calls take(line, number, whole) for each line of a file that is not empty, until take returns a result; whole: the
-- line has its end. A line of more than `longest` bytes is cut after longest + 1 bytes. Returns the result of take, or
-- nil and the problem with the file. At most a block and a line are in memory at a time.
function M.lines(path, largest, longest, take)
  local file, problem = open(path, largest)
  if not file then
    return nil, problem
  end
  local rest, number, found = "", 0, nil
  for block in file:lines(BLOCK) do
    local text, at = rest .. block, 1
    local stop = text:find("\n", #rest + 1, true)
    while stop and not found do
      number = number + 1
      found = stop > at and take(text:sub(at, stop - 1), number, true)
      at, stop = stop + 1, text:find("\n", stop + 1, true)
    end
    rest = text:sub(at)
    if not found and #rest > longest then
      found = take(rest:sub(1, longest + 1), number + 1, true)
    end
    if found then
      break
    end
  end
  file:close()
  return found or rest ~= "" and take(rest, number + 1, false) or nil
end

-- The last `bytes` of a file; the whole file if it is shorter.
function M.tail(path, bytes)
  local file, size = open(path, math.maxinteger)
  if not file then
    return nil, size
  end
  file:seek("set", math.max(0, size - bytes))
  local text = file:read(bytes)
  file:close()
  return text or ""
end

-- Decodes a whole text. Decoded tables have the metatables M.OBJECT and M.LIST; null becomes NULL.
function M.decode(text)
  local good, value, after = pcall(json.decode, text, 1, M.NULL, M.OBJECT, M.LIST)
  if not good then
    return nil, { found = "JSON too deep to be read", expected = "JSON" }
  elseif value == nil or text:find("%S", after) then
    return nil, { found = text:find("%S") and "no JSON" or "nothing", expected = "JSON" }
  end
  return value
end

return M
