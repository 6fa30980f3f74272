-- A plan is pure data, and building it does not change its input.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local lu = require("luaunit")
local plans = require("plans")

local build, resolve_everything, make_task = plans.build, plans.resolve_everything, plans.make_task

TestPlan = {}

function TestPlan.test_a_plan_is_pure_data()
  local plan = build(resolve_everything())
  local legal = { ["nil"] = true, boolean = true, number = true, string = true }
  local function walk(value, path, ancestors)
    if type(value) == "table" then
      lu.assertNil(ancestors[value], path .. " contains itself")
      lu.assertNil(getmetatable(value), path)
      ancestors[value] = true
      for key, inner in pairs(value) do
        lu.assertTrue(type(key) == "string" or math.type(key) == "integer", path)
        walk(inner, path .. "." .. tostring(key), ancestors)
      end
      ancestors[value] = nil
    else
      lu.assertTrue(legal[type(value)], path .. " is a " .. type(value))
    end
  end
  walk(plan, "plan", {})
end

function TestPlan.test_building_does_not_change_its_input()
  local resolved, facts = resolve_everything(), make_task(5, 5, "n")
  local old_text = canonical.format({ resolved, facts })
  build(resolved, facts)
  lu.assertEquals(canonical.format({ resolved, facts }), old_text)
end

support.run()
