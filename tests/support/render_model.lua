-- Writes the model.py of `export pytorch` for a spec: render_model.lua SPEC FILE [SET...]

package.path = "generator/?.lua;?.lua;" .. package.path

local pytorch = require("lab.export.pytorch")
local render = require("render.templates.render")

local project = require("project").new(".")
local sets = { table.unpack(arg, 3) }
local spec = assert(project:plan(arg[1], sets))
local run = { info = { seed = 0, learning_rate = 0.001 }, metadata = { step = "0" } }
local facts = assert(pytorch.derive_facts(spec, run, project:build_network(spec)))
local text, err = render.render("python/model.py.tpl", facts, function(...)
  return project:read_template(...)
end)
assert(text, text or project:format_template_error(err))
local file = assert(io.open(arg[2], "wb"))
file:write(text)
file:close()
