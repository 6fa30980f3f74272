-- Reads files that other programs may have written, if they are regular files within a size limit.
--
-- Input: a path, or JSON. Output: text, or a decoded value; nil and the problem, { found, expected }; nil alone if no
-- file can be found at the path. A pipe, a device or a folder is never opened, so that no function waits.

local json = require("dkjson")
local lfs = require("lfs")

local M = {}

M.NULL = json.null
M.OBJECT, M.LIST = {}, {} -- metatables of decoded values: {} and [] differ

-- Opens a regular file of at most `largest` bytes: the file and its size.
function M.open(path, largest)
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
  local file, problem = M.open(path, largest)
  if not file then
    return nil, problem
  end
  local text = file:read(largest)
  file:close()
  return text or ""
end

-- The last `bytes` of a file; the whole file if it is shorter.
function M.read_end(path, bytes)
  local file, size = M.open(path, math.maxinteger)
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
