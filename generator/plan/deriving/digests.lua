-- The two digests of a plan: what can change the bits of a run, and what decides whether a checkpoint fits.
--
-- Input: a plan with its tensors. Output: 16 hexadecimal digits. Learning rate, steps, seeds, evaluation and cadences
-- are in neither: a flag or another spec may change them freely. But where the learning rate falls until the last step,
-- all steps before it hang on how many there are.
-- Invariant: a field that is left out of the resolved spec changes no digest, so that older specs keep theirs.

local canonical = require("base.canonical")
local families = require("spec.families")
local features = require("spec.rules.features")
local pages = require("facets.pages")
local sha256 = require("base.sha256")

local M = {}

-- What runs of before have in their digests. The interface of generated code and runtime, LH_ABI, decides no bit.
local DIGEST_ABI = 2

-- A file for validation counts by its bytes.
local function named_identity(given, data)
  local identity = {}
  for name, value in pairs(given) do
    identity[name] = value
  end
  identity.validation = data and data.validation_digest
  return identity
end

-- A user's file counts by its bytes; finite data by its alphabets, since the trainer compares its bytes itself, and by
-- what task.longest settles.
local function task_identity(plan)
  local family = plan.first
  local resolved = plan.resolved
  local task, scaling = plan.task, family.rotation.scaling or {}
  local given = resolved.task
  return task.text and { kind = task.kind, text = task.text, options = given.options, computation = given.computation,
      loss = given.loss }
    or task.data and not task.data.made and { data = { task.input_count, task.output_count },
      original_length = scaling.original_length, computation = given.computation, loss = given.loss }
    or named_identity(given, task.data)
end

-- A network of the user's own counts by its bytes.
local function model_identity(plan)
  local model = {}
  for name, value in pairs(plan.resolved.model) do
    model[name] = value
  end
  if plan.own_network then
    model.source, model.text = nil, plan.own_network.text
  end
  return model
end

-- What of an evaluation is part of the program.
local function evaluation_identity(resolved)
  local noise = features.noise(resolved)
  return (resolved.eval.dropout or noise) and { dropout = resolved.eval.dropout and true or nil, noise = noise } or nil
end

-- What enters the plan digest: the resolved spec without what a run may change freely, and the choices that fix the
-- order of sums.
function M.plan(plan)
  local resolved = plan.resolved
  local train = resolved.train
  local identity = {
    abi = DIGEST_ABI,
    precision = resolved.precision,
    task = task_identity(plan),
    encoding = resolved.encoding,
    model = model_identity(plan),
    train = { batch = train.batch, shards = train.shards, lengths = train.lengths, optimizer = train.optimizer,
      clip = train.clip, schedule = train.schedule, falls_over = features.falls_over(resolved) },
    eval = evaluation_identity(resolved),
    block_tokens = plan.block_tokens,
    by_symbol = plan.cpu.vocabulary and true or nil, -- gradients of the first layer
    init = plan.init and plan.init.checksum,
  }
  for _, part in ipairs(pages.said("order_of_sums", plan)) do
    for name, value in pairs(part) do
      identity[name] = value
    end
  end
  return sha256.digest(canonical.text(identity))
end

-- The part of an encoding that decides whether a checkpoint fits.
local function encoding_identity(encoding)
  local identity = {}
  for _, part in ipairs(pages.said("identity", encoding)) do
    for name, value in pairs(part) do
      identity[name] = value
    end
  end
  return identity
end

-- Whether a family has facets of its own that count.
local function has_own(encoding)
  for _, page in ipairs(pages) do
    if encoding and encoding[page.name] ~= nil and page.identity then
      return true
    end
  end
  return false
end

-- What decides whether a checkpoint fits a model: names, shapes, vocabulary and what tokens mean, encoding kinds, and
-- of another network than the first one its operations. A scaling of the rotation and lines are outside it: they are
-- for checkpoints that were trained without.
function M.model(plan)
  local resolved, tensors = plan.resolved, {}
  for i, t in ipairs(plan.tensors) do
    tensors[i] = { t.name, t.shape }
  end
  local identity = encoding_identity(resolved.encoding)
  for _, name in ipairs(families.NAMES) do
    identity[name] = has_own(resolved.encoding[name]) and encoding_identity(families.encoding(resolved.encoding, name))
      or nil
  end
  identity.tensors, identity.task = tensors, { plan.task.input_count, plan.task.output_count }
  identity.shared, identity.start = plan.task.shared or nil, plan.task.start or nil
  identity.options, identity.computation = resolved.task.options, plan.computation and true or nil
  identity.model = { heads = resolved.model.heads, kind = resolved.model.kind, readout = resolved.model.readout }
  identity.network = plan.network_identity
  return sha256.digest(canonical.text(identity))
end

return M
