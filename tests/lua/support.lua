-- Shared functions of the Lua tests: paths of modules, checks of a spec from its text, temporary files.
--
-- Use: local support = dofile("tests/lua/support.lua"), from the repository's root.

package.path = "generator/?.lua;?.lua;tests/lua/?.lua;" .. package.path

local support = {}
package.loaded.support = support -- other shared modules use the same temporary folder

support.tasks_folder = "tests/golden/tasks/good"

-- Writes text to a file and returns its path; the folder is removed by support.clean().
local folder

function support.write(name, text)
  if not folder then
    folder = os.tmpname()
    os.remove(folder)
  end
  local path = folder .. "/" .. name
  assert(require("base.write").make_directory(path:match("^(.*)/")))
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

function support.clean()
  if folder then
    require("base.write").remove_tree(folder)
    folder = nil
  end
end

function support.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

-- Output and success of a shell command.
function support.shell(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read("a")
  return text, (pipe:close())
end

-- Converts { "a.b=v", ... } to the form of --set in load.lua.
function support.sets(list)
  local sets = {}
  for i, set in ipairs(list) do
    local path, text = set:match("^(.-)=(.*)$")
    sets[i] = { path = path, text = text }
  end
  return sets
end

-- Loads and validates a spec file; returns resolved, info, diagnostics.
function support.check(path, sets)
  local d = require("base.diagnostics").new()
  local tasks = require("spec.task.tasks").read(support.tasks_folder, d)
  local loaded = require("spec.reading.load").load(path, { root = ".", diagnostics = d, sets = sets })
  if not loaded then
    return nil, nil, d
  end
  local resolved, info = require("spec.validate").resolve(loaded, d, { tasks = tasks })
  return resolved, info, d
end

-- Loads and validates the text of a spec.
function support.check_text(text, sets)
  return support.check(support.write("probe.lua", text), sets)
end

-- Runs the tests of one file and ends the program.
function support.run()
  local code = require("luaunit").LuaUnit.run()
  support.clean()
  os.exit(code == 0)
end

return support
