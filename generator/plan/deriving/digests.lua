-- The two digests of a plan. The plan digest covers all settings that can change the bits of a run; the model digest
-- decides whether a checkpoint fits a model.
--
-- Input: a plan with its tensors. Output: 16 hexadecimal digits. Learning rate, steps, seeds, evaluation and the
-- intervals of logs and checkpoints are in neither digest: a flag or another spec may change them freely. The plan
-- digest has three exceptions: eval.dropout, the mode of eval.by.noise, and the number of steps if the learning rate
-- falls until the last step, since all earlier steps then depend on this number.
-- Invariant: a field that the resolved spec does not have adds nothing to a digest. So older specs keep their digests
-- when fields are added.

local canonical = require("base.canonical")
local families = require("spec.families")
local features = require("spec.rules.features")
local lists = require("base.lists")
local facets = require("facets.modules")
local sha256 = require("base.sha256")

local M = {}

-- Digests of earlier runs contain this number, so it stays when LH_ABI changes.
local DIGEST_ABI = 2

-- The part of the plan digest for the task. It leaves out the bytes of files of examples, which the trainer compares.
local function identify_task(plan)
  local task, fields, scaling = plan.task, lists.merge(plan.resolved.task), plan.first_family.rotation.scaling or {}
  fields.options = task.active_options
  return task.text and { kind = task.kind, text = task.text, options = fields.options, computation = fields.computation,
      loss = fields.loss }
    or task.data and not task.data.is_generated and { data = { task.input_count, task.output_count },
      shared = task.has_shared_symbols or nil, end_symbol = fields.end_symbol,
      computation = fields.computation, loss = fields.loss,
      original_length = scaling.original_length } -- by default, it may be the longest training length
    or lists.merge(fields, { validation = task.data and task.data.validation_digest or nil })
end

-- The part of the plan digest for the model. It covers the bytes of the file of a user's own network.
local function identify_model(plan)
  local model = lists.merge(plan.resolved.model)
  if plan.own_network then
    model.source, model.text = nil, plan.own_network.text
  end
  return model
end

-- The plan digest covers the resolved spec, except fields that a run may change freely. It also covers the choices that
-- fix the order of sums. falls_over: the steps or epochs over which the learning rate falls; nil if it is constant.
function M.digest_plan(plan)
  local resolved = plan.resolved
  local train, noise = resolved.train, features.get_noise_unit(resolved)
  local applies_dropout = resolved.eval.dropout and true or nil
  return sha256.digest(canonical.format(lists.merge({
    abi = DIGEST_ABI,
    precision = resolved.precision,
    device_products = resolved.device_products,
    task = identify_task(plan),
    encoding = resolved.encoding,
    model = identify_model(plan),
    train = { batch = train.batch, shards = train.shards, lengths = train.lengths, optimizer = train.optimizer,
      clip = train.clip, schedule = train.schedule, falls_over = features.get_fall(resolved),
      loss_mean = train.loss_mean },
    eval = (applies_dropout or noise) and { dropout = applies_dropout, noise = noise } or nil,
    block_tokens = plan.block_tokens,
    by_symbol = plan.cpu.vocabulary and true or nil, -- the order of sums in gradients of the first layer
    init = plan.init and plan.init.checksum,
  }, table.unpack(facets.collect("identify_sums", plan)))))
end

local function identify_encoding(encoding)
  return lists.merge(table.unpack(facets.collect("identify", encoding)))
end

-- The model digest covers the names and shapes of tensors, heads, vocabulary, the meaning of tokens, the task's active
-- options and encoding kinds. It covers the operations of a network, except those of a kind's default network.
-- Lines and a scaling of the rotation are left out, since users add them to checkpoints that were trained without them.
function M.digest_model(plan)
  local resolved = plan.resolved
  local identity = identify_encoding(resolved.encoding)
  for _, name in ipairs(families.NAMES) do
    local section = resolved.encoding[name] or {}
    local has_facets = lists.any(facets, function(module) return module.identify and section[module.name] ~= nil end)
    identity[name] = has_facets and identify_encoding(families.make_encoding(resolved.encoding, name)) or nil
  end
  for _, entry in ipairs(families.list_layers(resolved.encoding)) do
    identity[entry.name] = lists.merge(identify_encoding(families.make_encoding(resolved.encoding, entry.name)),
      { times = entry.times })
  end
  identity.tensors = lists.map(plan.tensors, function(t) return { t.name, t.shape } end)
  identity.task = { plan.task.input_count, plan.task.output_count }
  identity.shared, identity.start = plan.task.has_shared_symbols or nil, plan.task.start or nil
  identity.options, identity.computation = plan.task.active_options, plan.computation and true or nil
  identity.model = { heads = resolved.model.heads, kind = resolved.model.kind, readout = resolved.model.readout }
  identity.network = plan.network_identity
  return sha256.digest(canonical.format(identity))
end

return M
