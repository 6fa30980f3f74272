-- Shared functions of the Lua tests: paths of modules, checks of a spec from its text, expected texts, temporary files.
--
-- Use: local support = dofile("tests/lua/support.lua"), from the repository's root.

if package.loaded.support then -- all modules of a test use the same temporary folder
  return package.loaded.support
end

package.path = "generator/?.lua;?.lua;tests/lua/?.lua;" .. package.path

-- A test is short, and its garbage is small. With fewer collections test_models takes a sixth less time, test_load a
-- tenth less.
collectgarbage("incremental", 1000)

local support = {}
package.loaded.support = support

support.tasks_folder = "tests/golden/tasks/good" -- in place of the built-in tasks

local folder -- the folder of temporary files; nil before the first of them

-- Writes text to the file `name` of the temporary folder and returns its path; support.clean() removes the folder.
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

-- Compares text with the file at a path, which LH_UPDATE_GOLDEN=1 first replaces by the text.
function support.assert_golden(path, text)
  if os.getenv("LH_UPDATE_GOLDEN") then
    assert(require("base.write").file(path, text))
  end
  require("luaunit").assertEquals(text, support.read(path), path)
end

-- Runs a shell command; returns its output with its errors, and true if its exit code is 0.
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

-- Loads and validates a spec file. Returns the resolved spec (nil after an error), the info of spec/validate.lua and
-- the diagnostics.
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

-- Validates the text of a spec, which must have no error; returns the resolved spec and the validator's info.
function support.accept(text, sets)
  local resolved, info, d = support.check_text(text, sets)
  require("luaunit").assertEquals(d:text(), "")
  return resolved, info
end

-- Validates the text of a spec, which must have an error with this message; returns the text of all errors.
function support.refuse(text, message, sets)
  local resolved, _, d = support.check_text(text, sets)
  require("luaunit").assertNil(resolved)
  require("luaunit").assertStrContains(d:text(), message)
  return d:text()
end

-- Returns the texts of files { path, text }, by path.
function support.index_texts(files)
  local texts = {}
  for _, file in ipairs(files) do
    texts[file.path] = file.text
  end
  return texts
end

-- Calls a function while fields of tables have other values; changes: a list of { table, name, value }. Returns the
-- results of the function.
function support.replace_fields(changes, run)
  local originals = {}
  for i, change in ipairs(changes) do
    originals[i] = change[1][change[2]]
    change[1][change[2]] = change[3]
  end
  local results = table.pack(pcall(run))
  for i, change in ipairs(changes) do
    change[1][change[2]] = originals[i]
  end
  if not results[1] then
    error(results[2], 0)
  end
  return table.unpack(results, 2, results.n)
end

-- Runs the tests of one file and ends the program.
function support.run()
  local code = require("luaunit").LuaUnit.run()
  support.clean()
  os.exit(code == 0)
end

return support
