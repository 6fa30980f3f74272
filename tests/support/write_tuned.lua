-- Writes the sources of a spec with other choices than the performance model makes: write_tuned.lua FOLDER N SPEC
-- SET... takes the N-th value of every choice, counted cyclically from 1, at all levels. Prints them for the first
-- level.

package.path = "generator/?.lua;" .. package.path

local levels = require("plan.deriving.levels")
local project = require("project").new(".")
local tuning = require("plan.deriving.tuning")
local write = require("base.write")

local spec = assert(project:plan(arg[3], { table.unpack(arg, 4) }))
local found = {}
for _, level in ipairs(levels) do
  local values_by_name, values = tuning.list_values(spec.plan, level), {}
  for _, name in ipairs(values_by_name) do
    values[name] = values_by_name[name][(arg[2] - 1) % #values_by_name[name] + 1]
  end
  found[level.name] = { date = "2026-11-23", values = values }
end
spec.plan.tuned = tuning.derive(spec.plan, nil, found)
assert(write.files(arg[1], assert(project:render_files(spec.plan, false))))
print(tuning.format(found[levels[1].name].values))
