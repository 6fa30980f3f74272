-- The notice of a bundle: origins and licences of the foreign code that its trainers contain.
--
-- Input: a project, the linked archives, a folder. Output: the text of NOTICE, and the licences in the folder's
-- `licences`, from the machine's packages; the text names missing licences, and their archives are returned.

local shell = require("base.shell")

local M = {}

local GLIBC = "glibc: GNU Lesser General Public License 2.1 or later, https://www.gnu.org/software/libc"
local MUSL = "musl: MIT License, https://musl.libc.org"
local PARTS = {
  ["libgcc.a"] = "libgcc: GNU General Public License 3 with the GCC Runtime Library Exception, https://gcc.gnu.org",
  ["libgomp.a"] = "libgomp: GNU General Public License 3 with the GCC Runtime Library Exception, https://gcc.gnu.org",
  ["libomp.a"] = "libomp: Apache License 2.0 with LLVM Exceptions, https://openmp.llvm.org",
  ["libjansson.a"] = "jansson: MIT License, https://github.com/akheron/jansson",
}

local TEXT = [[
The trainers here hold code of
%s
%s
Their sources are those of the distribution that the trainers were built on: %s.
Longhand's own licence is LICENSE. `longhand gen` generates the sources of each trainer again from the cells of the
study, whose digests are in README.txt.
]]

local COMPLETE = [[
The texts of these licences, as the distribution has them, are in licences.
]]

local MISSING = [[
NOT COMPLETE: the machine that packed this had no text of the licence of
%s
Licences that ask for their text to go with the code are not kept before it is added to the folder licences.
]]

-- Returns the software that an archive is part of, as NOTICE names it. package: name of the archive's package, or "-".
local function part_of(name, package)
  if name == "libc.a" then
    return package:find("^musl") and MUSL or GLIBC
  end
  return PARTS[name] or name
end

-- Fills folder/licences. Returns the text of NOTICE, and the paths of archives without a known licence; or nil and a
-- message.
function M.make(project, archives, folder)
  local script = project:path("lab/study/bundle/licences.sh")
  local said, code = shell.answer({ "sh", script, folder .. "/licences", table.unpack(archives) })
  if code ~= 0 then
    return nil, said
  end
  local parts, missing = {}, {}
  for path, package, count in said:gmatch("(%S+) (%S+) (%d+)") do
    local none = count == "0"
    parts[#parts + 1] = ("  %s (%s)"):format(part_of(path:match("[^/]*$"), package), none and "no text of it here"
      or "licences/" .. package)
    missing[#missing + 1] = none and path or nil
  end
  local distribution = shell.answer({ "sh", "-c", '. /etc/os-release 2>/dev/null && echo "$PRETTY_NAME" || uname -sr' })
  return TEXT:format(table.concat(parts, "\n"), missing[1] and MISSING:format("  " .. table.concat(missing, "\n  "))
    or COMPLETE, distribution), missing
end

return M
