-- The rooms of C, that is, its folders and modules by ARCHITECTURE.md: each includes only the rooms listed here, so
-- dependencies have one direction. No files, of C or of the Python package, depend on each other in a cycle, and no
-- folder of any language has too many files.

local support = dofile("tests/lua/support.lua")

local lfs = require("lfs")
local lu = require("luaunit")

-- { room, the rooms that its C files may include in addition to itself and PUBLIC }; rooms of the runtime are named by
-- their paths in runtime. A room is a folder, or one file without its ending; a folder without a row belongs to the
-- surrounding room. A room is listed below all rooms that it includes. ARCHITECTURE.md describes the rooms. Kernels and
-- the runtime do not include each other, only the headers of PUBLIC.
local PUBLIC = "include/longhand"
local ROOMS = {
  { PUBLIC, "" },
  { "kernels/cpu", "" },
  { "kernels/cuda", "" },
  { "kernels/ref", "" },
  { "templates", "kernels/cpu" },
  { "runtime/base", "" },
  { "runtime/data/symbols", "" },
  { "runtime/data/lengths", "" },
  { "runtime/data/datasets", "base data/symbols data/lengths" },
  { "runtime/data", "base data/lengths data/datasets" },
  { "runtime/data/tasks", "data" },
  { "runtime/engine", "base data/datasets data" },
  { "runtime/cuda", "base engine" },
  { "runtime/cuda/fleet", "base data/datasets data engine cuda" },
  { "runtime/engine/target", "base engine cuda cuda/fleet" },
  { "runtime/eval", "base data/symbols data/datasets engine" },
  { "runtime/diagnosis", "base data engine" },
  { "runtime/training", "base data/datasets engine eval diagnosis" },
  { "runtime/bench", "base engine engine/target eval training" },
  { "runtime/cli", "base data/datasets engine/target eval" },
  { "runtime/cli/verbs", "base data/symbols data/datasets data engine cuda eval training bench cli" },
  { "runtime/cli/train", "base data/datasets engine cuda/fleet eval diagnosis training cli" },
  { "runtime/cli/lh_main", "training cli cli/verbs cli/train" },
  { "runtime", "cuda" },
}

local rows = {}
for i, row in ipairs(ROOMS) do
  local place, may = row[1]:match("^runtime/?") and "runtime/" or "", {}
  for name in row[2]:gmatch("%S+") do
    may[#may + 1] = place .. name
  end
  rows[row[1]] = { at = i, may = may }
end

-- The innermost room with a row that contains a path; nil: none.
local function find_room(path)
  local room = path:gsub("%.%w+$", "")
  while room and not rows[room] do
    room = room:match("^(.*)/[^/]*$")
  end
  return room
end

-- C files in a folder and below it, sorted.
local function list_files(folder, list)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if lfs.attributes(path, "mode") == "directory" then
      if not name:find("^%.") then
        list_files(path, list)
      end
    elseif name:find("%.[ch]$") or name:find("%.cu$") or name:find("%.inc$") or name:find("%.tpl$") then
      list[#list + 1] = path
    end
  end
  table.sort(list)
  return list
end

local function files()
  local list = {}
  for _, folder in ipairs({ "include", "kernels", "runtime", "templates" }) do
    list_files(folder, list)
  end
  return list
end

-- The file that an include names, by the -I flags of the Makefile; nil: a generated file.
local function find_included(path, name)
  for _, folder in ipairs({ path:match("^(.*/)"), "include/", "runtime/", "" }) do
    if lfs.attributes(folder .. name, "mode") == "file" then
      return folder .. name
    end
  end
  lu.assertNil(name:find("/", 1, true), ("%s includes %s, which is nowhere"):format(path, name))
end

-- The files that each file includes: { path = { path... } }.
local function collect_includes()
  local from = {}
  for _, path in ipairs(files()) do
    from[path] = {}
    for name in ("\n" .. support.read(path)):gmatch('\n#%s*include "([^"$]+)"') do
      from[path][#from[path] + 1] = find_included(path, name)
    end
  end
  return from
end

TestArrows = {}

function TestArrows.test_rooms_include_only_listed_rooms()
  local found = {}
  for path, others in pairs(collect_includes()) do
    local room = find_room(path)
    lu.assertNotNil(room, path .. ": its folder has no row in the table above")
    for _, other in ipairs(others) do
      found[room .. " " .. find_room(other)] = ("%s includes %s"):format(path, other)
    end
  end
  for room, row in pairs(rows) do
    for _, other in ipairs(row.may) do
      lu.assertNotNil(found[room .. " " .. other], ("%s may include %s, and does not"):format(room, other))
      found[room .. " " .. other] = nil
    end
    found[room .. " " .. room] = nil
    if room ~= "kernels/cuda" then -- parts of device.cu, which includes no file
      found[room .. " " .. PUBLIC] = nil
    end
  end
  lu.assertEquals(found, {})
end

function TestArrows.test_dependencies_have_one_direction()
  for room, row in pairs(rows) do
    for _, other in ipairs(row.may) do
      lu.assertTrue(rows[other] and rows[other].at < row.at or false, ("%s includes %s"):format(room, other))
    end
  end
end

-- Fails if a file depends on itself through others; from: { file = { file... } }.
local function check_circles(from)
  local state = {}
  local function visit(file, chain)
    lu.assertNotEquals(state[file], "open", chain)
    if state[file] then
      return
    end
    state[file] = "open"
    for _, other in ipairs(from[file] or {}) do
      visit(other, chain .. " > " .. other)
    end
    state[file] = "done"
  end
  for file in pairs(from) do
    visit(file, file)
  end
end

-- The texts of C files without comments, and the file that defines each function used by others.
local function list_defined()
  local texts, home = {}, {}
  for _, path in ipairs(files()) do
    if path:find("^runtime/.*%.c$") then
      texts[path] = "\n" .. support.read(path):gsub("/%*.-%*/", "")
      for before, name in texts[path]:gmatch("\n([%a_][%w_ *]*)%f[%w](lh_[%w_]+)%b()%s*{") do
        home[name] = not before:find("^static") and path or home[name]
      end
    end
  end
  return texts, home
end

-- Rooms with one file for each task or kernel.
local UNIFORM = { ["runtime/data/tasks"] = true, ["kernels/cuda"] = true }
local MOST_FILES = 24

function TestArrows.test_no_room_has_more_than_two_dozen_files()
  local function check(folder)
    local count = 0
    for name in lfs.dir(folder) do
      local path = folder .. "/" .. name
      if lfs.attributes(path, "mode") == "file" then
        count = count + 1
      elseif not name:find("^[._]") then
        check(path)
      end
    end
    lu.assertTrue(count <= MOST_FILES or UNIFORM[folder] or false, ("%s has %d files"):format(folder, count))
  end
  for _, folder in ipairs({ "generator", "include", "kernels", "lab", "python", "runtime" }) do
    check(folder)
  end
end

TestCircles = {}

-- Functions that are called through a table, as an engine's are, depend on no caller.
function TestCircles.test_no_c_file_depends_on_itself()
  local from = collect_includes()
  local texts, home = list_defined()
  for path, text in pairs(texts) do
    for name in text:gmatch("%f[%w_](lh_[%w_]+)%(") do
      if home[name] and home[name] ~= path then
        table.insert(from[path], home[name])
      end
    end
  end
  check_circles(from)
end

function TestCircles.test_no_python_module_imports_itself_indirectly()
  local from = {}
  for name in lfs.dir("python/longhand") do
    local module = name:match("^(.*)%.py$")
    from[module or 0] = {}
    for place, names in (module and support.read("python/longhand/" .. name) or ""):gmatch(
      "from %.([%w_]*) import ([^\n]+)") do
      for other in (place == "" and names:gsub("#.*", "") or place):gmatch("[%w_]+") do
        table.insert(from[module], other)
      end
    end
  end
  from[0] = nil
  lu.assertNotNil(from.tracing)
  check_circles(from)
end

support.run()
