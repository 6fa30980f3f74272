-- Messages about invalid specs: each tests/golden/errors/<case>.lua has the errors of <case>.err, byte for byte.
--
-- A line `-- set: a.b=v` of a case means --set a.b=v. Cases use the files of tests/golden/errors/bases.
-- LH_UPDATE_GOLDEN=1 updates the .err files.

local support = dofile("tests/lua/support.lua")
local lists = require("base.lists")
local lu = require("luaunit")
local write = require("base.write")

TestMessages = {}

local function read_errors(path)
  local sets = lists.find_all(support.read(path), "%-%- set: ([^\n]*)")
  local resolved, _, d = support.check(path, support.sets(sets))
  lu.assertNil(resolved, path)
  return d:text()
end

for _, name in ipairs(write.list_names("tests/golden/errors")) do
  local case = name:match("^(.*)%.lua$")
  if case then
    TestMessages["test_" .. case] = function()
      support.assert_golden(("tests/golden/errors/%s.err"):format(case), read_errors("tests/golden/errors/" .. name))
    end
  end
end

function TestMessages.test_messages_are_the_same_every_time()
  for _, case in ipairs({ "many", "unknown_fields" }) do
    local path = "tests/golden/errors/" .. case .. ".lua"
    lu.assertEquals(read_errors(path), read_errors(path))
  end
end

support.run()
