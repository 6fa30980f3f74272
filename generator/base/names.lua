-- Names that a user gives to something and generated code, files and flags then have: of values, blocks and options.

local M = {}

local LONGEST = 40

M.TEXT = ("up to %d of a-z, 0-9 and _, a letter first"):format(LONGEST)

function M.is(name)
  return type(name) == "string" and name:find("^[a-z][a-z0-9_]*$") ~= nil and #name <= LONGEST
end

return M
