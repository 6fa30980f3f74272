-- Plans for tests: of the encoder of Ruoss et al. 2023 with other fields, of an encoding, or of a task.

local canonical = require("base.canonical")
local lists = require("base.lists")
local plan_module = require("plan.plan")
local support = require("support")

local M = {}

local ENCODER = "return { task = { kind = 'bucket_sort' }, model = { use = 'ruoss_encoder' },"
  .. " eval = { lengths = { 41, 100 } } }"

-- Returns the facts of an invented task with these numbers of input and output symbols. output_length: a formula in n,
-- the length of the input; by default "1".
function M.make_task(inputs, outputs, output_length)
  local function make_symbols(count)
    local list = {}
    for i = 1, count do
      list[i] = "s" .. i
    end
    return list
  end
  return { kind = "fake", input_symbols = make_symbols(inputs), output_symbols = make_symbols(outputs),
    input_length = "n", output_length = output_length or "1", chance = 0.5 }
end

-- Resolves the spec ENCODER with other fields: sets = { ["train.batch"] = "5", ... }.
function M.resolve(sets)
  local list = {}
  for _, path in ipairs(canonical.sort_keys(sets or {})) do
    list[#list + 1] = { path = path, text = sets[path] }
  end
  local resolved, _, d = support.check_text(ENCODER, list)
  assert(resolved, d:text())
  return resolved
end

-- Returns the plan of a resolved spec.
--   facts   facts of the task; by default, of a task with 5 symbols whose output is as long as its input
--   init    facts of a checkpoint with initial values, or nil
--   score   the formula of the score, or nil
function M.build(resolved, facts, init, score)
  facts = facts or M.make_task(5, 5, "n")
  facts.has_two_streams, facts.readout = resolved.model.kind == "encoder_decoder" or nil, resolved.model.readout
  return plan_module.build(resolved, { task = facts, init = init, score = score })
end

function M.make_plan(sets, facts)
  return M.build(M.resolve(sets), facts)
end

-- Plans the small encoder with an encoding, the text of a table; returns the plan and the formula of its score.
function M.plan_encoding(encoding, facts, precision)
  local resolved, info, d = support.check_text("return { task = { kind = 'bucket_sort' }, encoding = " .. encoding
    .. ", model = { use = 'small_encoder' }, train = { lengths = { 1, 40 }, batch = 1, shards = 1 },"
    .. (" eval = { lengths = { 41, 100 } }, precision = %q }"):format(precision or "float32"))
  assert(resolved, d:text())
  return plan_module.build(resolved, { task = facts or M.make_task(5, 5, "n"), score = info.score }), info.score
end

-- Plans a spec from the text of the fields of `task` and the text of the other fields, which begins with a comma.
function M.plan_task(fields, more_fields)
  local resolved, info, d = support.check_text("return { task = { " .. fields .. " }" .. (more_fields or "") .. " }")
  assert(resolved, d:text())
  return M.build(resolved, info.task, info.init, info.score)
end

local SMALL = { ["model.layers"] = "2", ["model.heads"] = "2", ["model.width"] = "16", ["model.feedforward"] = "32" }

-- Returns the settings of a small model together with further settings.
function M.make_small_sets(extra)
  return lists.merge(SMALL, extra or {})
end

-- Resolves a spec that uses every field except fields that exclude others.
function M.resolve_everything()
  return M.resolve(M.make_small_sets({
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
