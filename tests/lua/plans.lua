-- Plans for tests: the Ruoss encoder with changed fields, an encoding, the text of a spec.

local canonical = require("base.canonical")
local plan_module = require("plan.plan")
local support = require("support")

local M = {}

local ENCODER = "return { task = { kind = 'bucket_sort' }, model = { use = 'ruoss_encoder' },"
  .. " eval = { lengths = { 41, 100 } } }"

-- A task, which need not exist: its numbers of symbols, and its lengths as formulas.
function M.task(inputs, outputs, output_length)
  local function symbols(count)
    local list = {}
    for i = 1, count do
      list[i] = "s" .. i
    end
    return list
  end
  return { kind = "fake", input_symbols = symbols(inputs), output_symbols = symbols(outputs), input_length = "n",
    output_length = output_length or "1", chance = 0.5 }
end

-- The encoder, resolved. sets: { ["train.batch"] = "5", ... }, applied in the order of their names.
function M.resolve(sets)
  local list = {}
  for _, path in ipairs(canonical.sort_keys(sets or {})) do
    list[#list + 1] = { path = path, text = sets[path] }
  end
  local resolved, _, d = support.check_text(ENCODER, list)
  assert(resolved, d:text())
  return resolved
end

function M.build(resolved, facts, init, score)
  facts = facts or M.task(5, 5, "n")
  facts.apart, facts.readout = resolved.model.kind == "encoder_decoder" or nil, resolved.model.readout
  return plan_module.build(resolved, { task = facts, init = init, score = score })
end

function M.make_plan(sets, facts)
  return M.build(M.resolve(sets), facts)
end

-- The plan of the small encoder with this encoding, text of a spec; and the formula of its score.
function M.scored(encoding, facts, precision)
  local resolved, info, d = support.check_text("return { task = { kind = 'bucket_sort' }, encoding = " .. encoding
    .. ", model = { use = 'small_encoder' }, train = { lengths = { 1, 40 }, batch = 1, shards = 1 },"
    .. (" eval = { lengths = { 41, 100 } }, precision = %q }"):format(precision or "float32"))
  assert(resolved, d:text())
  return plan_module.build(resolved, { task = facts or M.task(5, 5, "n"), score = info.score }), info.score
end

-- The plan of a task, from the text of its table's fields and of the rest of the spec.
function M.of_task(fields, rest)
  local resolved, info, d = support.check_text("return { task = { " .. fields .. " }" .. (rest or "") .. " }")
  assert(resolved, d:text())
  return M.build(resolved, info.task, info.init, info.score)
end

local SMALL = { ["model.layers"] = "2", ["model.heads"] = "2", ["model.width"] = "16", ["model.feedforward"] = "32" }

-- The fields of a small model, with additional ones.
function M.small(extra)
  local sets = {}
  for _, from in ipairs({ SMALL, extra or {} }) do
    for path, text in pairs(from) do
      sets[path] = text
    end
  end
  return sets
end

-- A spec in which every field applies, except fields that exclude all others.
function M.everything()
  return M.resolve(M.small({
    ["encoding.additive.kind"] = "learned", ["encoding.additive.rows"] = "1100", ["encoding.rotation.kind"] = "rope",
    ["encoding.mask"] = "{ kind = 'window', left = 4, right = 2 }",
    ["encoding.rotation.scaling"] = "{ kind = 'yarn', factor = 4, original_length = 41, attention_factor = 1.25 }",
    ["encoding.relative.kind"] = "shaw", ["encoding.relative.clip"] = "4",
    ["encoding.positions.kind"] = "randomized", ["encoding.positions.max_position"] = "1000",
    ["encoding.positions.range"] = "one_based", ["encoding.positions.sides"] = "independent",
    ["encoding.score"] = "{ use = 'alibi' }", ["eval.during.every"] = "5", ["eval.batch"] = "64",
    ["eval.validation"] = "{ lengths = { 2, 3 }, examples = 3 }",
    ["eval.dropout"] = "true", ["model.spare_token"] = "false",
  }))
end

return M
