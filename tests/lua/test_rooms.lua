-- Dependencies of the rooms of generator/ and lab/. A room is a folder or module with a list of allowed dependencies,
-- see ARCHITECTURE.md. Each room requires only the rooms that the table below allows, so dependencies have one
-- direction. The folders of templates/ share only parts/. test_arrows.lua has the rooms of C.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local write = require("base.write")

-- { room, the rooms that it may require in addition to itself }; a room is listed below all rooms that it requires. A
-- folder without a row belongs to the surrounding room. Of the generator's rooms, only main requires the lab.
local ROOMS = {
  { "base" },
  { "expression", "base" },
  { "facets", "base expression" },
  { "spec", "base expression facets" },
  { "network", "base" },
  { "attention", "base facets" },
  { "plan.deriving", "base facets spec network attention" },
  { "plan.pages", "base facets plan.deriving" },
  { "plan", "base attention plan.deriving plan.pages" },
  { "render.templates", "base plan.pages" },
  { "render.builds", "base plan.deriving render.templates" },
  { "project", "base spec plan.deriving plan render.templates" },
  { "cli", "base spec" },
  { "lab.stop" },
  { "lab.cli", "base spec cli" },
  { "lab.pages", "base spec facets plan.deriving plan.pages" },
  { "lab.study.read", "base lab.stop spec render.builds" },
  { "lab.study.grid", "base lab.stop spec project lab.study.read" },
  { "lab.study.run", "base spec plan.deriving render.builds lab.study.read lab.study.grid" },
  { "lab.runs", "base spec lab.study.read lab.study.run" },
  { "lab.study.slurm", "base lab.stop spec render.builds lab.study.read lab.study.grid lab.study.run" },
  { "lab.study.bundle", "base lab.stop spec render.builds lab.study.grid lab.study.run lab.study.slurm" },
  { "lab.study.report.tables", "base lab.pages lab.study.read" },
  { "lab.study.report.figures", "base lab.study.read lab.study.report.tables" },
  { "lab.study.report.page", "base lab.study.read lab.study.report.tables lab.study.report.figures" },
  { "lab.study.report", "base lab.stop lab.pages lab.study.read lab.study.grid lab.study.report.tables "
    .. "lab.study.report.figures lab.study.report.page" },
  { "lab.study.analyze.mathematics", "base lab.study.read" },
  { "lab.study.analyze.pictures", "base lab.study.report.figures" },
  { "lab.study.analyze", "base lab.stop lab.pages lab.study.read lab.study.report.tables lab.study.report.figures "
    .. "lab.study.report.page lab.study.report lab.study.analyze.mathematics lab.study.analyze.pictures" },
  { "lab.study.calibrate", "base lab.stop spec lab.study.read lab.study.report.figures lab.study.analyze.mathematics "
    .. "lab.study.analyze" },
  { "lab.study.demo", "base lab.stop lab.study.read lab.study.run lab.study.report.figures" },
  { "lab.tune", "base lab.stop spec plan.deriving render.builds lab.study.read" },
  { "lab.export",
    "base lab.stop expression facets spec render.templates lab.study.read lab.study.report.tables lab.study.report" },
  { "lab.verbs", "lab.stop lab.pages lab.runs lab.study.grid lab.study.run lab.study.slurm lab.study.bundle "
    .. "lab.study.report lab.study.analyze lab.study.calibrate lab.study.demo lab.tune lab.export" },
  { "main", "base spec plan.deriving render.templates render.builds project cli lab.cli lab.study.grid lab.verbs" },
}

local LIBRARIES = { argparse = true, dkjson = true, lfs = true }

-- Returns the names of the modules of the generator and the lab, as `require` takes them, sorted.
local function list_modules()
  local list = {}
  local function collect(folder, prefix)
    for _, name in ipairs(write.list_names(folder)) do
      local module = name:match("^([^.]+)%.lua$")
      if module then
        list[#list + 1] = prefix .. module
      elseif not name:find(".", 1, true) then
        collect(folder .. "/" .. name, prefix .. name .. ".")
      end
    end
  end
  collect("generator", "")
  collect("lab", "lab.")
  table.sort(list)
  return list
end

local function get_path(module)
  return (module:find("^lab%.") and "" or "generator/") .. module:gsub("%.", "/") .. ".lua"
end

local rows = {} -- room -> { index in ROOMS, allowed_rooms (list of the rooms that it may require) }
for i, row in ipairs(ROOMS) do
  rows[row[1]] = { index = i, allowed_rooms = lists.find_all(row[2] or "", "%S+") }
end

-- Returns the room of a module: the module itself or the innermost folder around it that has a row; nil if there is
-- none.
local function get_room(module)
  local room = module
  while room and not rows[room] do
    room = room:match("^(.*)%.[^.]*$")
  end
  return room
end

-- Returns the names of the modules that a module requires.
local function list_required(module)
  return lists.find_all(support.read(get_path(module)), 'require%(?%s*"([%w_.]+)"')
end

-- Returns by room: the rooms that its modules require, as { [required room] = a text that names an example }.
local function list_dependencies()
  local dependencies = {}
  for _, module in ipairs(list_modules()) do
    local room = get_room(module) or "no room"
    dependencies[room] = dependencies[room] or {}
    for _, name in ipairs(list_required(module)) do
      local required_room = not LIBRARIES[name] and get_room(name)
      if required_room and required_room ~= room then
        dependencies[room][required_room] = ("%s requires %s"):format(module, name)
      end
    end
  end
  return dependencies
end

TestRooms = {}

function TestRooms.test_every_module_is_in_a_room()
  for _, module in ipairs(list_modules()) do
    lu.assertNotNil(get_room(module), get_path(module) .. ": its folder has no row in the table above")
  end
end

function TestRooms.test_required_modules_exist()
  local modules = lists.to_set(list_modules())
  for module in pairs(modules) do
    for _, name in ipairs(list_required(module)) do
      lu.assertTrue(LIBRARIES[name] or modules[name] or false, ("%s requires %s"):format(get_path(module), name))
    end
  end
end

function TestRooms.test_rooms_require_only_listed_rooms()
  local dependencies = list_dependencies()
  for room, row in pairs(rows) do
    lu.assertNotNil(dependencies[room], room .. " has a row and no module")
    for _, allowed_room in ipairs(row.allowed_rooms) do
      lu.assertNotNil(dependencies[room][allowed_room], ("%s may require %s, and does not"):format(room, allowed_room))
    end
    for target, example in pairs(dependencies[room]) do
      local is_allowed = lists.has(row.allowed_rooms, target) or false
      lu.assertTrue(is_allowed, ("%s may not require %s: %s"):format(room, target, example))
    end
  end
end

function TestRooms.test_dependencies_have_one_direction()
  for room, row in pairs(rows) do
    for _, target in ipairs(row.allowed_rooms) do
      lu.assertTrue(rows[target] and rows[target].index < row.index or false, ("%s requires %s"):format(room, target))
    end
  end
end

-- At their start, main and lab.verbs load only lab.cli and lab.stop of the lab; verbs load the rest.
function TestRooms.test_the_lab_is_loaded_by_the_verbs_that_need_it()
  for _, module in ipairs({ "main", "lab.verbs" }) do
    for line in support.read(get_path(module)):gmatch("[^\n]+") do
      local name = line:match("^%S.*require%(\"(lab%.[%w_.]+)\"")
      local is_allowed = not name or get_room(name) == "lab.cli" or get_room(name) == "lab.stop"
      lu.assertTrue(is_allowed, ("%s loads the lab for every verb: %s"):format(module, line))
    end
  end
end

function TestRooms.test_no_module_requires_itself_indirectly()
  local state = {}
  local function visit(module, chain)
    lu.assertNotEquals(state[module], "open", chain)
    if state[module] or LIBRARIES[module] then
      return
    end
    state[module] = "open"
    for _, name in ipairs(list_required(module)) do
      visit(name, chain .. " > " .. name)
    end
    state[module] = "done"
  end
  for _, module in ipairs(list_modules()) do
    visit(module, module)
  end
end

-- The folder to which a template belongs: for a template below attention/ cpu, cuda or python, for any other template
-- the first folder of its path.
local function get_folder(path)
  return path:match("^attention/([^/]+)") or path:match("^[^/]+")
end

-- Returns two tables by the path of a template below templates/: the list of templates that it includes, and the set of
-- folders whose templates include it, directly or not.
local function list_templates()
  local includes, folders_by_path = {}, {}
  for file in io.popen("find templates -name '*.tpl'"):lines() do
    local path = file:match("^templates/(.*)$")
    includes[path], folders_by_path[path] = {}, {}
    for included_path in support.read(file):gmatch('"([%w_]+/[%w_./]+%.tpl)"') do
      table.insert(includes[path], included_path)
    end
  end
  local function reach(path, folder)
    if not folders_by_path[path][folder] then -- a template names itself in its banner
      folders_by_path[path][folder] = true
      for _, included_path in ipairs(includes[path]) do
        reach(included_path, folder)
      end
    end
  end
  for path in pairs(includes) do
    local folder = get_folder(path)
    if folder ~= "parts" then
      reach(path, folder)
    end
  end
  return includes, folders_by_path
end

TestTemplates = {}

-- No template includes this file: the lists of calls of both targets name it (network/targets/calls.lua).
local TEMPLATE_OF_CALLS = "parts/call.tpl"

function TestTemplates.test_parts_has_only_templates_of_several_folders()
  local _, folders_by_path = list_templates()
  for path, folders in pairs(folders_by_path) do
    if path:find("^parts/") and path ~= TEMPLATE_OF_CALLS then
      local first = next(folders)
      lu.assertNotNil(first, path .. " is used by no template")
      lu.assertNotNil(next(folders, first), ("%s is used in %s alone"):format(path, first))
    end
  end
end

-- Templates of attentions for GPUs and Python, except the templates of terms, name no facet in control lines and holes;
-- they use properties of terms.
function TestTemplates.test_skeletons_of_attentions_name_no_facet()
  local facets = lists.split_set([[relative shaw rope alibi transformer_xl geometric antidiagonal window causal yarn
    lines mask rotation normaliser score]])
  local function check_names(path, number, code)
    for name in code:gsub('"[^"]*"', ""):gsub("list%.lines", ""):gmatch("[%a_][%w_]*") do
      lu.assertNil(facets[name], ("%s:%d names %s"):format(path, number, name))
    end
  end
  for path in io.popen("find templates/attention/cuda templates/attention/python -maxdepth 1 -name '*.tpl'"):lines() do
    local number = 0
    for line in support.read(path):gmatch("([^\n]*)\n") do
      number = number + 1
      check_names(path, number, line:match("^ *%%(.*)") or "")
      for hole in line:gmatch("%${(.-)}") do
        check_names(path, number, hole)
      end
    end
  end
end

function TestTemplates.test_folders_share_only_parts()
  for path, included_paths in pairs((list_templates())) do
    for _, included_path in ipairs(included_paths) do
      local folder = get_folder(included_path)
      lu.assertTrue(folder == "parts" or folder == get_folder(path), ("%s includes %s"):format(path, included_path))
    end
  end
end

support.run()
