-- Writes the generated files of random specs: write_random.lua FOLDER random_1 random_2 ...

package.path = "generator/?.lua;tests/lua/?.lua;tests/support/?.lua;" .. package.path

local random_specs = require("random_specs") -- before whatever plans
local project = require("project").new(".")
local write = require("base.write")

for _, id in ipairs({ table.unpack(arg, 2) }) do
  random_specs.with(project, id, arg[1], function(plan)
    local files = assert(project:files(plan, false))
    assert(write.make_directory(("%s/%s"):format(arg[1], id)))
    assert(write.files(("%s/%s"):format(arg[1], id), files))
  end)
end
