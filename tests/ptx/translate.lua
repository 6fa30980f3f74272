-- Translates PTX to a program for the machine of tests/ptx:
--
--     lua5.4 tests/ptx/translate.lua FILE.ptx FILE.program
--
-- If the text has an unknown statement, prints its line and exits with status 1.

local root = arg[0]:match("^(.*)/translate%.lua$") or "."
package.path = ("%s/?.lua;%s"):format(root, package.path)

local assemble = require("assemble")
local parse = require("parse")

local function main(from, to)
  local input = assert(io.open(from, "rb"))
  local text = input:read("a")
  input:close()
  local program = assemble.program(parse.module(from, text))
  local output = assert(io.open(to, "wb"))
  output:write(program)
  assert(output:close())
end

local done, problem = pcall(main, arg[1], arg[2])
if not done then
  io.stderr:write(type(problem) == "table" and problem.message or tostring(problem), "\n")
  os.exit(1)
end
