-- Writes the generated files of random specs, those of device code for random_1+cuda:
-- write_random.lua FOLDER random_1 random_2 ...

package.path = "generator/?.lua;tests/lua/?.lua;tests/support/?.lua;" .. package.path

local random_specs = require("random_specs") -- before whatever plans
local project = require("project").new(".")
local write = require("base.write")

for _, name in ipairs({ table.unpack(arg, 2) }) do
  local id = name:gsub("%+cuda$", "")
  random_specs.with(project, id, arg[1], function(plan)
    local files = assert(project:files(plan, name ~= id))
    assert(write.make_directory(("%s/%s"):format(arg[1], id)))
    assert(write.files(("%s/%s"):format(arg[1], id), files))
  end)
end
