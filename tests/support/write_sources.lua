-- Writes the generated files of specs for tests, with device code if their networks have it: write_sources.lua FOLDER
-- SPEC... SPEC is the file of a spec or the name of a random spec (random_1); its files are in FOLDER/<name of the
-- spec>. One process writes many specs, because it reads each template only once.

package.path = "generator/?.lua;tests/lua/?.lua;tests/support/?.lua;" .. package.path

local random_specs = require("random_specs") -- loaded before modules that plan
local project = require("project").new(".")
local write = require("base.write")

local function write_sources(folder, plan)
  local files = assert(project:render_files(plan, plan.device and true))
  assert(write.make_directory(folder))
  for _, file in ipairs(plan.device and {} or plan.cuda_files) do -- files of an earlier network with device code
    os.remove(("%s/%s"):format(folder, file.path))
  end
  assert(write.files(folder, files))
end

for _, name in ipairs({ table.unpack(arg, 2) }) do
  local folder = ("%s/%s"):format(arg[1], name:match("([^/]*)%.lua$") or name)
  if name:find("^random_") then
    random_specs.call_with_plan(project, name, arg[1], function(plan) write_sources(folder, plan) end)
  else
    local spec, message = project:plan(name)
    write_sources(folder, assert(spec, message).plan)
  end
end
