-- Files of the scripts of tests/ptx. A program is the text that assemble.lua makes of PTX.

local assemble = require("assemble")
local parse = require("parse")

local files = {}

function files.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

function files.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  assert(file:close())
end

function files.to_hexadecimal(bytes)
  return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

-- Translates `text`, the content of a file of PTX with this name, and writes the program. An unknown statement raises a
-- message with the name and the line.
function files.write_program(path, name, text)
  files.write(path, assemble.program(parse.module(name, text)))
end

return files
