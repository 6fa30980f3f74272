-- Writes the generated files of random specs, with device code if their networks have it: write_random.lua FOLDER
-- random_1 random_2 ...

package.path = "generator/?.lua;tests/lua/?.lua;tests/support/?.lua;" .. package.path

local random_specs = require("random_specs") -- loaded before modules that plan
local project = require("project").new(".")
local write = require("base.write")

for _, id in ipairs({ table.unpack(arg, 2) }) do
  random_specs.call_with_plan(project, id, arg[1], function(plan)
    local files = assert(project:render_files(plan, plan.device and true))
    local folder = ("%s/%s"):format(arg[1], id)
    assert(write.make_directory(folder))
    for _, file in ipairs(plan.device and {} or plan.cuda_files) do -- files of an earlier network with device code
      os.remove(("%s/%s"):format(folder, file.path))
    end
    assert(write.files(folder, files))
  end)
end
