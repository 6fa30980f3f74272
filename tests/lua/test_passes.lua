-- Numbers of passes that follow from an axis of the task: an example has as many passes as its value on this axis.

dofile("tests/lua/support.lua")

local lu = require("luaunit")
local project_module = require("project")

local project = project_module.new(".")

TestPasses = {}

-- The axis of the passes is in the plan digest, and not in the model digest: parameters fit passes by every axis.
function TestPasses.test_axes_of_passes()
  local function compute_digests(times, max_times)
    local plan = assert(project:plan("latin_square_learned", { "model.loops.times=" .. times,
      "model.loops.max_times=" .. max_times })).plan
    return plan.digest, plan.model_digest, { plan.cpu.passes, plan.task.pass_axis }
  end
  local digest, model_digest, passes = compute_digests("vectors", 3)
  lu.assertEquals(passes, { 3, 1 })
  for _, changed in ipairs({ { "puzzle", 3 }, { "vectors", 4 } }) do
    local changed_digest, changed_model_digest = compute_digests(table.unpack(changed))
    lu.assertNotEquals(changed_digest, digest)
    lu.assertEquals(changed_model_digest, model_digest)
  end
end

-- An evaluation by the axes of a dataset may also have several numbers of passes. The first of them, 0, stands for the
-- number that each example has on the axis of passes.
function TestPasses.test_datasets_are_evaluated_at_several_numbers_of_passes()
  local sets = { "model.loops.times=vectors", "model.loops.max_times=3",
    "eval.by={ vectors = true, passes = { 2, 4 } }" }
  local text = assert(project:plan("latin_square_learned", sets)).plan.defaults.text
  lu.assertStrContains(text, "\neval.passes 0,2,3,4\n")
end

os.exit(lu.LuaUnit.run())
