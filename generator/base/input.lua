-- Files that somebody else may have written: opened only where they are regular files and no larger than they may be.
--
-- Input: a path, or JSON. Output: text, or a decoded value; nil and what is wrong, { found, expected }; nil alone where
-- there is no such file. A pipe, a device or a folder is never opened, so nothing here waits.

local json = require("dkjson")
local lfs = require("lfs")

local M = {}

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
