-- Translates PTX to a program for the machine of tests/ptx:
--
--     lua5.4 tests/ptx/translate.lua FILE.ptx FILE.program
--
-- If the text has an unknown statement, prints its line and exits with status 1.

package.path = ("%s/?.lua;%s"):format(arg[0]:match("^(.*)/translate%.lua$") or ".", package.path)
local files = require("files")

local succeeded, problem = pcall(files.write_program, arg[2], arg[1], files.read(arg[1]))
if not succeeded then
  io.stderr:write(tostring(problem), "\n")
  os.exit(1)
end
