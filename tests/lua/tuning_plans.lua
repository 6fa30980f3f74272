-- Plans and stored choices for tests of tuning.

local lists = require("base.lists")
local support = require("support")

local project = require("project").new(".")
local tune = require("lab.tune.tune")
local tuned = require("render.builds.tuned")

local M = { project = project, SPEC = "parity_check_sinusoid" }

-- Returns the plan of SPEC with these settings, texts "field=value".
function M.make_plan(...)
  return assert(project:plan(M.SPEC, { ... })).plan
end

-- Returns the value of a choice for an instruction-set level, and the value's source. level_index: the index of the
-- level in plan.deriving.levels.
function M.get_choice(plan, level_index, name)
  local choice = lists.find(plan.tuned[level_index].choices, function(candidate) return candidate.name == name end)
  return choice.value, choice.from
end

-- Calls a function with an empty folder of its own as the cache of choices.
function M.with_empty_cache(run)
  local folder, getenv = support.write("tuned/empty", ""):match("^(.*)/"), os.getenv
  require("base.write").remove_tree(folder .. "/tuned") -- files of earlier tests
  support.replace_fields({ { os, "getenv", function(name)
    return name == "LONGHAND_CACHE" and folder or getenv(name)
  end } }, run)
end

-- Stores choices for SPEC's plan; returns the path of the file. level: the level's name, by default "x86-64".
function M.store_choices(date, choices, level)
  local key = tuned.make_key(project, M.make_plan(), level or "x86-64")
  return assert(tune.write(key, { date = date, choices = choices, gain = { train = 1.02 } }))
end

return M
