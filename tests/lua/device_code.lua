-- Plans and texts of device code, narrow and wide, for the built-in encoder and for networks of a user's own.

local support = require("support")

local gen = require("render.templates.gen")
local plan_module = require("plan.plan")
local plan_page = require("lab.pages.plan_page")
local project = require("project").new(".")
local tasks = require("spec.task.tasks")

local code = {}

code.NARROW, code.WIDE = 240, 256
code.ENCODINGS = { "none", "sinusoid", "learned", "rope", "relative", "shaw", "alibi", "alibi_learned", "geometric" }

local facts = tasks.read(support.tasks_folder, require("base.diagnostics").new())
code.project = project

function code.template(name, folder)
  return support.read((folder or "templates") .. "/" .. name)
end

function code.planned(encoding, width, precision, train, heads)
  local path = support.write("cuda.lua", ([[
return { task = { kind = "bucket_sort" }, encoding = { use = %q },
  model = { layers = 2, heads = %d, width = %d, feedforward = 512, dropout = 0.1 }, precision = %q, train = { %s } }
]]):format(encoding, heads or 4, width, precision or "float32", train or ""))
  local resolved, message = project:resolve(path, {})
  assert(resolved, message)
  return plan_module.build(resolved.resolved, { task = facts.bucket_sort, score = resolved.score })
end

-- The plan and the texts of device.cu, cuda.c and spec.c.
function code.render_device(encoding, width, precision, heads)
  local plan, text = code.planned(encoding, width, precision, nil, heads), {}
  for _, file in ipairs(assert(gen.render_files(plan, code.template, {}, true))) do
    text[file.path] = file.text
  end
  return plan, text["device.cu"], text["cuda.c"], text["spec.c"]
end

function code.choice(plan, what)
  for _, one in ipairs(plan_page.make_json(plan).choices) do
    if one.what == what then
      return one
    end
  end
end

-- The description of a network with this branch in its block, which is applied `repeated` times.
function code.own_text(branch, repeated)
  return ([[
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = 1 })
  local block = net:block("layer", %s)
  local h = block:input(x)
  %s
  net:classify(net:readout(block.result, "last"))
end
]]):format(repeated or "model.layers", branch)
end

function code.own(branch, width, encoding, repeated)
  support.write("own.lua", code.own_text(branch, repeated))
  local path = support.write("own_spec.lua", ([[
return { task = { kind = "bucket_sort" }, encoding = { kind = %q },
  model = { source = "own.lua", layers = 2, heads = 4, width = %d, feedforward = 64, dropout = 0.1 } }
]]):format(encoding or "none", width or 64))
  local spec, message = project:plan(path, {})
  return spec and spec.plan, message
end

code.ATTENDS = 'block:attention("self", h, h)'

return code
