-- Generated files: dropout, sizes, precision and the task of the model. cases.lua describes the entries.

-- Whether a shard, a part of the batch, accumulates sums in the workspace. end_shard adds these sums to the gradient.
local function has_sums(case)
  local family, running = case.family, case.family.score.running
  return family.relative.kind ~= "none" or family.score.has_trained_tables or family.normaliser.kind == "geometric"
    or running and running.products[1] ~= nil
end

local function has_embedding_dropout(case)
  local additive = not case.plan.additive.in_blocks and case.resolved.encoding.additive.dropout
  return (case.resolved.model.embedding_dropout or additive or 0) > 0
end

local function has_position_dropout(case)
  return case.plan.additive.in_blocks and (case.resolved.encoding.additive.dropout or 0) > 0
end

local M = {}

M.cases = {
  { "dropout of the input alone", "encoding.additive.kind=sinusoid", "model.dropout=0",
    "encoding.additive.dropout=0.25", compile = "complete" },
  { "dropout of the branches alone", "encoding.additive.kind=learned", "encoding.additive.dropout=0",
    compile = "checked" },
  { "dropout of the embedding alone, without an encoding", "encoding.additive.kind=none", "model.dropout=0",
    "model.embedding_dropout=0.25" },
  { "dropout of attention's weights alone", "model.dropout=0", "model.attention_dropout=0.25",
    "encoding.mask={ kind = 'causal' }", compile = "checked" },
  { "dropout of hidden numbers alone", "model.dropout=0", "model.hidden_dropout=0.25", "model.activation=gelu",
    compile = "checked" },
  { "all dropouts, in evaluation, too", "eval.dropout=true", "model.attention_dropout=0.125",
    "model.hidden_dropout=0.25", "model.embedding_dropout=0.5", "encoding.relative.kind=transformer_xl",
    compile = "checked" },
  { "heads of 12 channels", "model.width=48", "model.heads=4", "encoding.rotation.kind=rope", compile = "checked" },
  { "heads of 64 channels", "model.width=128", "model.heads=2", "encoding.rotation.kind=rope" },
  { "one answer", "task.kind=even_pairs" },
  { "dropout in evaluation", "eval.dropout=true", "encoding.additive.kind=sinusoid", "eval.batch=64" },
  { "noise in evaluation", "eval.by={ noise = { list = { 0, 0.5 } } }", "encoding.additive.kind=sinusoid" },
  { "relative noise on a linear embedding, in evaluation", "eval.by={ noise = { list = { 0.5 } } }",
    "eval.noise=relative", "model.embedding=linear", "model.dropout=0" },
  { "dropout of the input alone in evaluation", "eval.dropout=true", "encoding.additive.kind=sinusoid",
    "model.dropout=0", "encoding.additive.dropout=0.25" },
  { "passes", "model.loops={ times = 3 }" },
  { "a random number of passes, from noise",
    "model.loops={ times = 4, progressive = true, inject = true, start = 'noise' }" },
  { "passes, each with a loss", "model.loops={ times = 3, loss = 'every' }" },
  { "passes from zeros with a norm inside", "model.layers=1", "model.norm.place=pre",
    "model.loops={ times = 3, inject = true, start = 'zeros', norm = 'inside' }" },
  { "passes of several layers that add the embedding, with a score", "encoding=alibi_learned",
    "model.loops={ times = 3, inject = true }" },
  { "the largest sizes and longest numbers", "model.layers=64", "model.heads=64", "model.width=1024",
    "model.feedforward=8192", "encoding.additive.kind=learned", "encoding.rotation.kind=rope",
    "encoding.rotation.base=123456789012", "encoding.positions.kind=randomized",
    "encoding.positions.max_position=1048576",
    "encoding.positions.draw=layer", "model.dropout=0.123456789", "eval.during={ every = 2147483647 }",
    compile = "checked" },
}

M.identifiers = {
  { "BRANCH_", function(case) return case.resolved.model.dropout > 0 end },
  { "attention_keep", function(case) return case.resolved.model.dropout > 0 end },
  { "EMBEDDING_DROP_BELOW", has_embedding_dropout },
  { "embedding_keep", has_embedding_dropout },
  { "PLACE_DROP_BELOW", has_position_dropout },
  { "hidden_keep", function(case) return (case.resolved.model.hidden_dropout or 0) > 0 end },
  { "drop_self_weights", function(case) return (case.resolved.model.attention_dropout or 0) > 0 end },
  { "keep_source", function(case) return (case.resolved.model.attention_dropout or 0) > 0 end },
  { "draw_masks", function(case)
    local model = case.resolved.model
    return model.dropout > 0 or (model.hidden_dropout or 0) > 0 or has_embedding_dropout(case)
      or has_position_dropout(case)
  end },
  { "LH_DOMAIN_EVAL_DROPOUT", function(case) return case.resolved.eval.dropout ~= nil end },
  { "PASSES", function(case) return case.resolved.model.loops ~= nil end },
  { "free_passes", function(case) return (case.resolved.model.loops or {}).progressive ~= nil end },
  { "pass_sums", function(case) return (case.resolved.model.loops or {}).loss == "every" end },
  { "draw_start", function(case) return (case.resolved.model.loops or {}).start == "noise" end },
  { "begin_shard", has_sums },
  { "end_shard", has_sums },
  { ".baseline", function(case) return case.plan.task.baseline_name ~= false end },
  { ".limit", function(case) return case.plan.limit ~= false end },
  { "double real", function(case) return case.resolved.precision == "float64" end },
  { "float real", function(case) return case.resolved.precision == "float32" end },
}

return M
