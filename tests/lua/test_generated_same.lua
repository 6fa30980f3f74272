-- Generated files have the same bytes from any folder, for any user, in every run.

local support = dofile("tests/lua/support.lua")

local cases = require("cases")
local gen = require("render.templates.gen")
local lfs = require("lfs")
local lu = require("luaunit")
local project_module = require("project")
local write = require("base.write")

local PATHS = cases.PATHS

TestSame = {}

local function read_folder(folder)
  local parts = {}
  for i, path in ipairs(PATHS) do
    parts[i] = support.read(folder .. "/" .. path)
  end
  return parts
end

-- Runs `gen` as a process in the directory `from`, with these environment variables. main: the path of main.lua.
local function generate(from, variables, main, spec, out)
  local lua = arg[-1] or "lua5.4"
  local text, is_ok = support.shell(("cd '%s' && env %s %s '%s' gen '%s' --out '%s'"):format(from, variables, lua, main,
    spec, out))
  lu.assertTrue(is_ok, text)
end

function TestSame.test_folder_locale_time_zone_and_user_do_not_change_a_byte()
  local folder = lfs.currentdir()
  local base = support.write("same/base.txt", ""):match("^(.*)/")
  local spec = "spec/runs/reverse_string_rand_rope.lua"
  generate(folder, "LC_ALL=C TZ=UTC", "generator/main.lua", spec, base .. "/a")
  generate("/", "LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 TZ=Asia/Tokyo HOME=/nonexistent USER=other", folder
    .. "/generator/main.lua", folder .. "/" .. spec, base .. "/b")
  generate(folder .. "/tests", "LC_ALL=C TZ=America/Lima", "../generator/main.lua", "../" .. spec, base .. "/c")
  local expected = read_folder(base .. "/a")
  lu.assertStrContains(expected[1], " * spec      spec/runs/reverse_string_rand_rope.lua\n")
  for _, copy in ipairs({ "/b", "/c" }) do
    local actual = read_folder(base .. copy)
    for i, path in ipairs(PATHS) do
      lu.assertEquals(actual[i], expected[i], path .. " of " .. copy)
    end
  end
end

function TestSame.test_a_user_s_spec_appears_by_its_base_name()
  local path = support.write("mine/my_own_run.lua", support.read("spec/runs/even_pairs_none.lua"))
  local folder = path:match("^(.*)/")
  generate(lfs.currentdir(), "LC_ALL=C", "generator/main.lua", path, folder .. "/out")
  for i, text in ipairs(read_folder(folder .. "/out")) do
    lu.assertNotStrContains(text, folder, nil, nil, PATHS[i])
    lu.assertStrContains(text, "my_own_run.lua")
  end
end

function TestSame.test_rendering_twice_gives_the_same_bytes()
  local first = cases.get_case("learned rope layer 0.1 float32")
  for i, file in ipairs((gen.render_files(first.plan, cases.read_template, {}))) do
    lu.assertEquals(file.text, first.files[i].text)
  end
end

function TestSame.test_the_showcase_is_up_to_date()
  local project = project_module.new(".")
  local ids = project:list_showcase()
  if #ids == 0 then
    lu.skip("generated/ is empty")
  end
  for _, id in ipairs(ids) do
    local spec, message = project:plan("spec/runs/" .. id .. ".lua")
    assert(spec, message)
    local rendered
    rendered, message = project:render_files(spec.plan, true)
    lu.assertEquals(write.compare("generated/" .. id, assert(rendered, message)), {}, id)
  end
end

support.run()
