-- How gradients become steps: what templates and the runtime's spec have of it.
--
-- Input: the plan with its tensors. Output:
--   optimizer   kind, as the spec names it; title: what people call it; routine: the kernels' name of an update (adam,
--               adamw, sgd, momentum), header: the file of kernels/cpu that has it, kernels: those of kernels/cuda;
--               states: names of the vectors that it keeps beside the parameters, in order; beta1, beta2, epsilon: of
--               Adam; momentum; decay: the share per unit of the learning rate that parameters lose, or false; spared:
--               what does not decay, { first, last } of the elements of the parameter vector, ascending, or false where
--               everything does; spared_text: the same in words
--   schedule    kind: the runtime's constant, warmup, final; false where the learning rate never changes

local M = {}

local STATES = {
  adam = { "first_moment", "second_moment" },
  adamw = { "first_moment", "second_moment" },
  sgd = {},
  momentum = { "momentum" },
}
local HEADERS = { adam = "adam", adamw = "adamw", sgd = "sgd", momentum = "sgd" }
local KERNELS = {
  adam = { "cuda/adam.cu" },
  adamw = { "cuda/adam.cu", "cuda/adamw.cu" },
  sgd = { "cuda/sgd.cu" },
  momentum = { "cuda/sgd.cu" },
}
local TITLES = { adam = "Adam", adamw = "AdamW", sgd = "SGD", momentum = "SGD" }
local SPARED = {
  all = "tensors that are not learned",
  matrices = "tensors of one dimension, and those that are not learned",
}
local SCHEDULES = { constant = "LH_SCHEDULE_CONSTANT", linear = "LH_SCHEDULE_LINEAR", cosine = "LH_SCHEDULE_COSINE" }

local function routine(optimizer)
  if optimizer.kind == "sgd" then
    return optimizer.momentum and "momentum" or "sgd"
  end
  return optimizer.kind == "adamw" and optimizer.weight_decay > 0 and "adamw" or "adam"
end

-- Appends the elements of a tensor, row by row where others lie between its rows; what follows on goes on.
local function append(list, t)
  local rows, columns = t.rank == 2 and t.shape[1] or 1, t.shape[t.rank]
  for row = 0, rows - 1 do
    local first = t.offset + row * t.stride
    local before = list[#list]
    if before and before.last + 1 == first then
      before.last = first + columns - 1
    else
      list[#list + 1] = { first = first, last = first + columns - 1 }
    end
  end
end

-- Elements of tensors that do not decay: those that are not learned, and with "matrices" those of one dimension.
local function spared(plan, decays)
  local tensors, list = {}, {}
  for _, t in ipairs(plan.tensors) do
    if not t.learned or decays == "matrices" and t.rank == 1 then
      tensors[#tensors + 1] = t
    end
  end
  table.sort(tensors, function(a, b)
    return a.offset < b.offset
  end)
  for _, t in ipairs(tensors) do
    append(list, t)
  end
  return list[1] and list or false
end

local function schedule(train)
  local given = train.schedule
  return given and { kind = SCHEDULES[given.kind], warmup = given.warmup or 0, final = given.final or 0 } or false
end

function M.of(plan)
  local train = plan.resolved.train
  local optimizer = train.optimizer
  local name = routine(optimizer)
  local rule = {
    kind = optimizer.kind,
    routine = name,
    title = TITLES[name],
    header = HEADERS[name],
    kernels = KERNELS[name],
    states = STATES[name],
    beta1 = optimizer.beta1 or false,
    beta2 = optimizer.beta2 or false,
    epsilon = optimizer.epsilon or false,
    momentum = optimizer.momentum or false,
    decay = name == "adamw" and optimizer.weight_decay,
    spared = name == "adamw" and spared(plan, optimizer.decays),
    spared_text = SPARED[optimizer.decays],
  }
  return { optimizer = rule, schedule = schedule(train) }
end

return M
