-- The optimisers: M.list has an entry for each, with all that the generator knows of the optimiser.
--
-- Fields of an entry:
--   name, doc, fingerprints, used, shared   the fields of a kind (schema.lua, `kinds`)
--   fields    lists of the optimiser's fields in the spec; two optimisers may share a list. A field is an entry of
--             schema.lua without `path` and `only`. It also has `name`, its name in train.optimizer, and `words`, the
--             names of the setting in other libraries
--   title     the optimiser's usual name
--   plan(settings)   returns, for the settings of the optimiser in the spec,
--     routine     the name in functions: <routine>_update in kernels/cpu/<header>.h, <routine>_piece in `kernels`, and
--                 lh_ref_<routine>_update in kernels/ref
--     header      the name of the header in kernels/cpu
--     kernels     paths of files with device code, relative to kernels/
--     title       the usual name with these settings, if it differs from the title of the entry
--     states      names of the vectors that the optimiser stores in addition to the parameters, in order
--     constants   arguments of the call on the CPU, in order: { type, name, value, values }; for a struct, value is
--                 false, and `values` lists the values of its members
--     numbers     constants of device code: { name, value, complement }; complement: false, or a number in place of
--                 `value`: the constant is 1 minus this number
--     struct      the name of the struct that holds a step's numbers in device code
--     corrects    { beta1, beta2 } if the host computes rate / (1 - beta1^t) and 1 / (1 - beta2^t), else false
--     decay       the fraction of its value that a parameter loses per unit of the learning rate (spread_decay in
--                 kernels/cpu/adamw.h), or false
--     formula     the lines of the formula
--     source      the paper
-- A new optimiser needs an entry, its kernels, a twin in kernels/ref and the twin's declaration in kernels/ref/ref.h.

local features = require("spec.rules.features")

local M = {}

local function plan_adam(settings)
  local beta1, beta2, epsilon = settings.beta1, settings.beta2, settings.epsilon
  return { routine = "adam", header = "adam", kernels = { "cuda/adam.cu" }, struct = "adam",
    states = { "first_moment", "second_moment" }, corrects = { beta1, beta2 }, decay = false,
    constants = { { type = "adam", name = "constants", value = false, values = { beta1, beta2, epsilon } } },
    numbers = { { name = "BETA1", value = beta1, complement = false },
      { name = "BETA2", value = beta2, complement = false }, { name = "REST1", complement = beta1 },
      { name = "REST2", complement = beta2 }, { name = "EPSILON", value = epsilon, complement = false } },
    formula = { "g' = g clip;  m = b1 m + (1 - b1) g';  v = b2 v + (1 - b2) g'^2;  "
      .. "p -= rate m / (sqrt(correct2 v) + epsilon)" },
    source = "Kingma and Ba 2015, algorithm 1; epsilon outside the root, as in optax." }
end

local function plan_adamw(settings)
  local rule = plan_adam(settings)
  if settings.weight_decay > 0 then
    rule.routine, rule.header, rule.kernels = "adamw", "adamw", { "cuda/adam.cu", "cuda/adamw.cu" }
    rule.title, rule.decay = "AdamW", settings.weight_decay
    rule.formula[2] = "and, with p from before the step,  p -= (learning rate) * decay * p"
    rule.source = "Loshchilov and Hutter 2019, algorithm 2, in PyTorch's form."
  end
  return rule
end

local function plan_sgd(settings)
  local momentum = settings.momentum
  return { routine = momentum and "momentum" or "sgd", header = "sgd", kernels = { "cuda/sgd.cu" }, struct = "sgd",
    states = { momentum and "momentum" }, corrects = false, decay = false,
    constants = { momentum and { type = "double", name = "MOMENTUM", value = momentum, values = {} } },
    numbers = { momentum and { name = "MOMENTUM", value = momentum, complement = false } },
    formula = { "g' = g clip;  " .. (momentum and "s = momentum s + g';  p -= rate s" or "p -= rate g'") },
    source = "Sutskever et al. 2013, in PyTorch's form." }
end

local MOMENTS = {
  { name = "beta1", type = "number", min = 0, below = 1, default = 0.9, doc = "decay of the first moment",
    words = "b1 beta_1 adam_beta1 betas" },
  { name = "beta2", type = "number", min = 0, below = 1, default = 0.999, doc = "decay of the second moment",
    words = "b2 beta_2 adam_beta2" },
  { name = "epsilon", type = "number", above = 0, max = 1, default = 1e-8,
    doc = "number that is added to the root of the second moment", words = "eps adam_epsilon adam_eps" },
}
local DECAY = {
  { name = "weight_decay", type = "number", min = 0, max = 1, default = 0.01,
    doc = "each step also multiplies a parameter by 1 - learning rate * weight_decay; 0: the same code as adam",
    words = "weight_decay wd l2 weightdecay adam_weight_decay" },
  { name = "decays", type = "choice", default = "all", doc = "the parameters that decay",
    words = "no_decay no_weight_decay decay_groups param_groups",
    choices = {
      { "all", "every parameter" },
      { "matrices", "parameters of two dimensions (no biases, norms or single numbers)" } } },
}

M.list = {
  { name = "adam", title = "Adam", plan = plan_adam, fields = { MOMENTS }, doc = "Adam with bias correction",
    fingerprints = { "adam_update" },
    -- adamw without decay uses this code, too (schema.lua, `kinds`)
    shared = function(resolved) return resolved.train.optimizer.weight_decay == 0 end },
  { name = "adamw", title = "Adam", plan = plan_adamw, fields = { MOMENTS, DECAY },
    doc = "Adam with decoupled weight decay", fingerprints = { "adamw_update" }, used = features.has_weight_decay },
  { name = "sgd", title = "SGD", plan = plan_sgd,
    doc = "steps along the gradient; with momentum, along a running sum of gradients",
    fingerprints = { "kernels/cpu/sgd.h" }, fields = { {
      { name = "momentum", type = "number", min = 0, below = 1, default = 0, omitted_value = 0,
        fingerprints = { "momentum" }, doc = "share of the running sum that is kept at each step; 0: no momentum",
        words = "momentum sgd_momentum" },
    } } },
}

M.by_name, M.fields = {}, {}

for _, entry in ipairs(M.list) do
  M.by_name[entry.name] = entry
  for _, list in ipairs(entry.fields) do
    for _, field in ipairs(list) do
      if not field.path then
        field.path, field.only = "train.optimizer." .. field.name, {}
        M.fields[#M.fields + 1] = field
      end
      table.insert(field.only, entry.name)
    end
  end
end

return M
