-- Creation, moves and deletion inside a folder, never through a link.

local support = dofile("tests/lua/support.lua")

local inside = require("lab.study.run.inside")
local lfs = require("lfs")
local lu = require("luaunit")

-- Makes a folder with a run and a link to another user's runs, which have a file; returns both folders.
local function make_folders(name)
  local out = support.write(name .. "/out/a/run/mine", "m"):match("^(.*)/a/run/mine$")
  local linked_folder = support.write(name .. "/theirs/run/file", "precious"):match("^(.*)/run/file$")
  assert(lfs.link(linked_folder, out .. "/link", true))
  return out, linked_folder
end

TestInside = {}

function TestInside.test_the_first_link_of_a_path_is_found()
  local out = make_folders("way")
  lu.assertNil(inside.find_link(out, out .. "/a/run"))
  lu.assertNil(inside.find_link(out, out .. "/a/none/deeper"))
  lu.assertEquals(inside.find_link(out, out .. "/link"), out .. "/link")
  lu.assertEquals(inside.find_link(out, out .. "/link/run/file"), out .. "/link")
  assert(lfs.link(out, out .. "-link", true)) -- the folder itself may be a link
  lu.assertNil(inside.find_link(out .. "-link", out .. "-link/a/run"))
end

function TestInside.test_no_file_is_changed_through_a_link()
  local out, linked_folder = make_folders("through")
  for _, call in ipairs({
    function() return inside.remove(out, out .. "/link/run") end,
    function() return inside.remove_empty(out, out .. "/link/run") end,
    function() return inside.move(out, out .. "/link/run", out .. "/a/other") end,
    function() return inside.move(out, out .. "/a/run", out .. "/link/other") end,
    function() return inside.make_directory(out, out .. "/link/new") end,
    function() return inside.make_parent(out, out .. "/link/run/file") end,
  }) do
    local succeeded, message = call()
    lu.assertNil(succeeded)
    lu.assertStrContains(message, out .. "/link: found a link")
  end
  lu.assertEquals(support.read(linked_folder .. "/run/file"), "precious")
  lu.assertEquals(support.read(out .. "/a/run/mine"), "m")
  lu.assertNil((lfs.attributes(linked_folder .. "/new")))
end

function TestInside.test_a_link_at_the_end_is_removed_itself()
  local out, linked_folder = make_folders("ends")
  lu.assertTrue(inside.move(out, out .. "/link", out .. "/a/link"))
  lu.assertTrue(inside.remove(out, out .. "/a/link"))
  lu.assertTrue(inside.remove(out, out .. "/a/run"))
  lu.assertTrue(inside.remove_empty(out, out .. "/a"))
  lu.assertEquals(support.read(linked_folder .. "/run/file"), "precious")
end

function TestInside.test_other_entries_are_removed_before_a_file_is_written()
  local out, linked_folder = make_folders("clear")
  assert(lfs.link(linked_folder .. "/run/file", out .. "/a/log.txt", true))
  lu.assertNotNil(inside.make_parent(out, out .. "/a/log.txt"))
  lu.assertNil(lfs.symlinkattributes(out .. "/a/log.txt", "mode"))
  lu.assertNotNil(inside.make_parent(out, out .. "/new/deep/log.txt"))
  lu.assertNotNil(inside.make_parent(out, out .. "/a/run/mine"))
  lu.assertEquals(support.read(out .. "/a/run/mine"), "m")
end

support.run()
