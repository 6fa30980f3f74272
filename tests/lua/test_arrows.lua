-- Dependencies of C code and of the Python package. A room is a folder or file with a list of allowed dependencies, see
-- ARCHITECTURE.md. Each room of C code includes only the rooms that the table below allows, so dependencies have one
-- direction. Files do not depend on each other in a cycle, and no folder has too many files.

local support = dofile("tests/lua/support.lua")

local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local write = require("base.write")

local PUBLIC = "include/longhand" -- the headers that all rooms may include

-- { room, the rooms that its files may include in addition to itself and PUBLIC }. In rows of the runtime, the included
-- rooms are paths relative to `runtime`. A room is a folder, or a file without its ending; a folder without a row
-- belongs to the surrounding room. A room is listed below all rooms that it includes.
local ROOMS = {
  { PUBLIC, "" },
  { "kernels/cpu", "" },
  { "kernels/cuda", "" },
  { "kernels/ref", "" },
  { "templates", "kernels/cpu" },
  { "runtime/base", "" },
  { "runtime/data/symbols", "base" },
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

local rows = {} -- by room: { index in ROOMS, list of the rooms that it may include }
for i, row in ipairs(ROOMS) do
  local folder = row[1]:match("^runtime/?") and "runtime/" or ""
  rows[row[1]] = { index = i,
    list = lists.map(lists.find_all(row[2], "%S+"), function(name) return folder .. name end) }
end

-- The innermost room that contains a path; nil if there is none.
local function find_room(path)
  local room = path:gsub("%.%w+$", "")
  while room and not rows[room] do
    room = room:match("^(.*)/[^/]*$")
  end
  return room
end

local ENDINGS = lists.split_set("c h cu inc tpl")

-- The files of C, CUDA and templates in a folder and below it.
local function list_files(folder)
  return lists.collect(write.list_names(folder), function(name)
    local path = folder .. "/" .. name
    if lfs.attributes(path, "mode") == "directory" then
      return list_files(path)
    end
    local ending = name:match("%.(%w+)$")
    return { ENDINGS[ending or ""] and path or nil }
  end)
end

local function list_all_files()
  return lists.collect({ "include", "kernels", "runtime", "templates" }, list_files)
end

-- Returns the file that the #include of `name` in the file `path` reads, by the -I flags of the Makefile; nil for a
-- generated file.
local function find_included(path, name)
  for _, folder in ipairs({ path:match("^(.*/)"), "include/", "runtime/", "" }) do
    if lfs.attributes(folder .. name, "mode") == "file" then
      return folder .. name
    end
  end
  lu.assertNil(name:find("/", 1, true), ("%s includes %s, which is in no folder of includes"):format(path, name))
end

-- The files that each file includes: { path = { path... } }.
local function collect_includes()
  local includes = {}
  for _, path in ipairs(list_all_files()) do
    local names = lists.find_all("\n" .. support.read(path), '\n#%s*include "([^"$]+)"')
    includes[path] = lists.map(names, function(name) return find_included(path, name) end)
  end
  return includes
end

TestArrows = {}

function TestArrows.test_rooms_include_only_listed_rooms()
  local includes = {} -- by "ROOM INCLUDED_ROOM": a text that names one such include
  for path, included_paths in pairs(collect_includes()) do
    local room = find_room(path)
    lu.assertNotNil(room, path .. ": its folder has no row in the table above")
    for _, included_path in ipairs(included_paths) do
      includes[room .. " " .. find_room(included_path)] = ("%s includes %s"):format(path, included_path)
    end
  end
  for room, row in pairs(rows) do
    for _, room_name in ipairs(row.list) do
      lu.assertNotNil(includes[room .. " " .. room_name], ("%s may include %s, and does not"):format(room, room_name))
      includes[room .. " " .. room_name] = nil
    end
    includes[room .. " " .. room] = nil
    if room ~= "kernels/cuda" then -- its files become parts of device.cu, and include no file
      includes[room .. " " .. PUBLIC] = nil
    end
  end
  lu.assertEquals(includes, {})
end

function TestArrows.test_dependencies_have_one_direction()
  for room, row in pairs(rows) do
    for _, included_room in ipairs(row.list) do
      lu.assertTrue(rows[included_room] and rows[included_room].index < row.index or false,
        ("%s includes %s"):format(room, included_room))
    end
  end
end

-- Fails if a file depends on itself through other files. required: by file, the list of files that it depends on.
local function check_cycles(required)
  local state = {}
  local function visit(file, chain)
    lu.assertNotEquals(state[file], "open", chain)
    if state[file] then
      return
    end
    state[file] = "open"
    for _, required_file in ipairs(required[file] or {}) do
      visit(required_file, chain .. " > " .. required_file)
    end
    state[file] = "done"
  end
  for file in pairs(required) do
    visit(file, file)
  end
end

-- Returns two tables: the texts of the runtime's C files without comments, by path; and the path of the file that
-- defines a function, by the function's name, without static functions.
local function find_definitions()
  local texts, file_by_function = {}, {}
  for _, path in ipairs(list_all_files()) do
    if path:find("^runtime/.*%.c$") then
      texts[path] = "\n" .. support.read(path):gsub("/%*.-%*/", "")
      for declaration, name in texts[path]:gmatch("\n([%a_][%w_ *]*)%f[%w](lh_[%w_]+)%b()%s*{") do
        file_by_function[name] = not declaration:find("^static") and path or file_by_function[name]
      end
    end
  end
  return texts, file_by_function
end

-- Folders with one file for each task or kernel; they may have more files than MAX_FILES.
local UNIFORM = { ["runtime/data/tasks"] = true, ["kernels/cpu"] = true, ["kernels/cuda"] = true }
local MAX_FILES = 24

function TestArrows.test_no_room_has_more_than_two_dozen_files()
  local function check_folder(folder)
    local count = 0
    for _, name in ipairs(write.list_names(folder)) do
      local path = folder .. "/" .. name
      if lfs.attributes(path, "mode") == "file" then
        count = count + 1
      elseif not name:find("^[._]") then
        check_folder(path)
      end
    end
    lu.assertTrue(count <= MAX_FILES or UNIFORM[folder] or false, ("%s has %d files"):format(folder, count))
  end
  for _, folder in ipairs({ "generator", "include", "kernels", "lab", "python", "runtime" }) do
    check_folder(folder)
  end
end

TestCycles = {}

-- A file depends on the files that it includes and on the files that define the functions it names. Calls through a
-- table of functions, such as an engine's, are not dependencies.
function TestCycles.test_no_c_file_depends_on_itself()
  local required = collect_includes()
  local texts, file_by_function = find_definitions()
  for path, text in pairs(texts) do
    for name in text:gmatch("%f[%w_](lh_[%w_]+)%(") do
      if file_by_function[name] and file_by_function[name] ~= path then
        table.insert(required[path], file_by_function[name])
      end
    end
  end
  check_cycles(required)
end

function TestCycles.test_no_python_module_imports_itself_indirectly()
  local required = {}
  for _, name in ipairs(write.list_names("python/longhand")) do
    local module = name:match("^(.*)%.py$")
    local text = module and support.read("python/longhand/" .. name) or ""
    for source, names in text:gmatch("from %.([%w_]*) import ([^\n]+)") do
      -- "from . import a, b" names two modules, "from .a import f, g" one
      for required_module in (source == "" and names:gsub("#.*", "") or source):gmatch("[%w_]+") do
        lists.append_to(required, module, required_module)
      end
    end
  end
  lu.assertNotNil(required.tracing, "no import of the module tracing is found")
  check_cycles(required)
end

support.run()
