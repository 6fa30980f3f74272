-- The two digests of a plan: what can change the bits of a run, and what decides whether a checkpoint fits.
--
-- Input: a plan with its tensors. Output: 16 hexadecimal digits. Learning rate, steps, seeds, evaluation and cadences
-- are in neither: a flag or another spec may change them freely. But where the learning rate falls until the last step,
-- all steps before it hang on how many there are.
-- Invariant: a field that is left out of the resolved spec changes no digest, so that older specs keep theirs.

local canonical = require("base.canonical")
local families = require("spec.families")
local features = require("spec.rules.features")
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

-- Where gradients of vectors of distances are summed by blocks of queries: from so many pairs on, blocks of so many.
local function rows_by_block(plan)
  local list = {}
  for _, family in ipairs(plan.attentions) do
    local remade = family.relative.toeplitz and family.remade
    list[#list + 1] = remade and { remade.always and 0 or remade.pairs, remade.queries } or nil
  end
  return list[1] and list or nil
end

-- Attention that has a corner and no line: once, that was as if there was none.
local function corner_alone(plan)
  for _, family in ipairs(plan.attentions) do
    if family.mask.list and not family.mask.list[1] then
      return true
    end
  end
end

-- What enters the plan digest: the resolved spec without what a run may change freely, and the choices that fix the
-- order of sums.
function M.plan(plan)
  local resolved = plan.resolved
  local train = resolved.train
  return sha256.digest(canonical.text({
    abi = DIGEST_ABI,
    precision = resolved.precision,
    task = task_identity(plan),
    encoding = resolved.encoding,
    model = model_identity(plan),
    train = { batch = train.batch, shards = train.shards, lengths = train.lengths, optimizer = train.optimizer,
      clip = train.clip, schedule = train.schedule, falls_over = features.falls_over(resolved) },
    eval = evaluation_identity(resolved),
    block_tokens = plan.block_tokens,
    rows_by_block = rows_by_block(plan),
    corner_alone = corner_alone(plan),
    by_symbol = plan.cpu.vocabulary and true or nil, -- gradients of the first layer
    init = plan.init and plan.init.checksum,
  }))
end

-- What of the vectors of distances decides whether a checkpoint fits; nil where there are none.
local function relative_words(encoding)
  local relative = encoding.relative
  if relative.kind == "none" then
    return nil
  end
  return { relative.kind, relative.clip or false, encoding.positions.reading or false, relative.sides }
end

-- Parameters of a score as a checkpoint knows them; nil without.
local function parameter_shapes(parameters)
  local list = parameters and {}
  for i, name in ipairs(canonical.sorted_keys(parameters or {})) do
    local p = parameters[name]
    list[i] = { name = name, per = p.per, size = p.size, first = p.first, learned = p.learned }
  end
  return list
end

-- What of the vectors that are added decides it, too: the kind, and what another form of it adds.
local function additive_words(encoding)
  local additive, own = encoding.additive, { encoding.additive.kind }
  own[#own + 1] = additive.at
  own[#own + 1] = additive.channels
  own[#own + 1] = encoding.positions.kind == "grid" and "grid" or nil
  own[#own + 1] = additive.learned == false and "frozen" or nil
  return own[2] and own or own[1]
end

-- What of an encoding decides whether a checkpoint fits. Lines are constants of attention, which a model is given that
-- was trained without.
local function encoding_identity(encoding)
  return {
    additive = additive_words(encoding),
    rotation = encoding.rotation.kind == "rope" and { "rope", encoding.rotation.base } or "none",
    positions = encoding.positions.period and { "cyclic", encoding.positions.period } or encoding.positions.kind,
    relative = relative_words(encoding),
    mask = encoding.mask,
    normaliser = encoding.normaliser,
    score = encoding.score,
    parameters = parameter_shapes(encoding.parameters),
  }
end

-- Whether a family has facets of its own that count.
local function has_own(encoding)
  for name in pairs(encoding or {}) do
    if name ~= "lines" then
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
