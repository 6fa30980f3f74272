-- Plans and texts of device code, for tests: of the built-in encoder and of users' own networks, narrow and wide.

local support = require("support")

local gen = require("render.templates.gen")
local lists = require("base.lists")
local plan_module = require("plan.plan")
local plan_page = require("lab.pages.plan_page")
local project = require("project").new(".")
local tasks = require("spec.task.tasks")

local code = {}

code.NARROW, code.WIDE = 240, 256 -- from width 256 on, a library computes products
code.ENCODINGS = { "none", "sinusoid", "learned", "rope", "relative", "shaw", "alibi", "alibi_learned", "geometric" }

local facts = tasks.read(support.tasks_folder, require("base.diagnostics").new())
code.project = project

-- Returns the text of a file in templates or in another folder; an argument of gen.render_files.
function code.read_template(name, folder)
  return support.read((folder or "templates") .. "/" .. name)
end

-- Plans the encoder with a preset of spec/encodings. train: Lua text of fields of the spec's section `train`.
function code.plan_encoding(encoding, width, precision, train, heads)
  local path = support.write("cuda.lua", ([[
return { task = { kind = "bucket_sort" }, encoding = { use = %q },
  model = { layers = 2, heads = %d, width = %d, feedforward = 512, dropout = 0.1 }, precision = %q, train = { %s } }
]]):format(encoding, heads or 4, width, precision or "float32", train or ""))
  local resolved, message = project:resolve(path, {})
  assert(resolved, message)
  return plan_module.build(resolved.resolved, { task = facts.bucket_sort, score = resolved.score })
end

-- Returns the plan of such an encoder and the texts of device.cu, cuda.c and spec.c.
function code.render_device(encoding, width, precision, heads)
  local plan = code.plan_encoding(encoding, width, precision, nil, heads)
  local text = support.index_texts(assert(gen.render_files(plan, code.read_template, {}, true)))
  return plan, text["device.cu"], text["cuda.c"], text["spec.c"]
end

-- Returns the choice { what, value, why } with this label on the page of a plan, or nil.
function code.find_choice(plan, label)
  return lists.find(plan_page.make_json(plan).choices, function(choice) return choice.what == label end)
end

-- Returns the text of a description whose block contains block_code. block_arguments: text of the arguments of
-- net:block after the name; by default "model.layers", the number of repetitions.
function code.describe_own(block_code, block_arguments)
  return ([[
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = 1 })
  local block = net:block("layer", %s)
  local h = block:input(x)
  %s
  net:classify(net:readout(block.result, "last"))
end
]]):format(block_arguments or "model.layers", block_code)
end

-- Plans a network with such a description; returns the plan, or nil and a message.
function code.plan_own(block_code, width, encoding, block_arguments)
  support.write("own.lua", code.describe_own(block_code, block_arguments))
  local path = support.write("own_spec.lua", ([[
return { task = { kind = "bucket_sort" }, encoding = { kind = %q },
  model = { source = "own.lua", layers = 2, heads = 4, width = %d, feedforward = 64, dropout = 0.1 } }
]]):format(encoding or "none", width or 64))
  local spec, message = project:plan(path, {})
  return spec and spec.plan, message
end

-- Code of a block: an attention of the block's input.
code.ATTENTION_CODE = 'block:attention("self", h, h)'

return code
