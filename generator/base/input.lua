-- Files that somebody else may have written: opened only where they are regular files and no larger than they may be.
--
-- Input: a path, or JSON. Output: text, or a decoded value; nil and what is wrong, { found, expected }; nil alone where
-- there is no such file. A pipe, a device or a folder is never opened, so nothing here waits.

local json = require("dkjson")
local lfs = require("lfs")

local M = {}

local BLOCK = 1 << 16 -- bytes that are read at once

M.NULL = json.null
M.OBJECT, M.LIST = {}, {} -- metatables of what is decoded: {} and [] differ

-- Opens a regular file of at most `largest` bytes; its size too.
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

-- Calls take(line, number, whole) for the lines of a file that are not empty, while it returns nothing; whole: its end
-- is there. A line of more than `longest` bytes is cut behind as many and one. Returns what take returned, or nil and
-- what is wrong with the file. No more of it is held at once than a block and a line.
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

-- The last `bytes` of a file, or all where it has fewer.
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

-- Decodes a whole text. Its tables have the metatables above; null is NULL.
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
