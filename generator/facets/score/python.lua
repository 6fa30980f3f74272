-- A score for the exported Python file (templates/attention/python): a function, its arguments, constants and
-- parameters.
--
-- Input of M.export: a family, and the table `context` that facets/modules.lua describes at `export`. Output; without a
-- score, these fields are false:
--   score         the function, the result of describe_score
--   score_text    the texts that decide whether the scores of two attentions are equal
--   bucket        whether the score calls bucket
--   sum_between, sum_to_query   whether the score calls these functions
-- M.export also adds to context.extra_inputs and context.part_texts, and sets context.layer: whether the score reads
-- the index of the layer.

local lists = require("base.lists")
local leaves = require("expression.leaves")
local text = require("expression.text")
local torch = require("expression.torch")
local wording = require("base.wording")

local M = {}

local function write_shape(p)
  local heads, size = leaves.has_head(p) and "HEADS", p.size and ("%d"):format(p.size)
  return heads and size and heads .. ", " .. size or heads or size or "1"
end

local function wrap_values(values)
  return wording.fill_lines(lists.map(values, function(value)
    return text.format_number(value) .. (value == math.floor(value) and ".0," or ",")
  end), 101)
end

-- Adds each parameter to one of the lists own, shared, constants, token_parameters and products of `facts` (see
-- describe_score).
local function add_parameters(facts, parameters)
  for _, p in ipairs(parameters) do
    if p.from then
      table.insert(facts.own, { name = p.name, text = "nn.Parameter(torch.empty(HEADS, WIDTH // HEADS))" })
      table.insert(facts.products, { name = p.name, operand = p.from, unit = p.unit or false,
        transposition = p.from == "key" and ".transpose(-1, -2)" or "" })
    elseif p.per == "token" then
      table.insert(facts.token_parameters, p.name)
    elseif not p.learned then
      table.insert(facts.constants, { name = p.name, lines = wrap_values(p.values),
        view = leaves.has_head(p) and p.size and (".view(HEADS, %d)"):format(p.size) or "" })
    else
      table.insert(leaves.has_layer(p) and facts.own or facts.shared, { name = p.name,
        text = ("nn.Parameter(torch.empty(%s))"):format(write_shape(p)) })
    end
  end
end

-- Arguments of the Python function of the formula, and the values that attention passes for them.
local ARGUMENTS = { { "distance", "distance" }, { "positions", "positions" }, { "layer", "self.layer" },
  { "own", "self.score" }, { "shared", "shared" }, { "values", "values" } }

-- A formula as a Python function. key_prefix: the prefix of names that belong to the stream of the keys.
-- Fields of the result:
--   lines       the lines of the function
--   arguments   the text of its arguments after the first
--   passed_arguments   the text of the values that calls pass for these arguments
--   constants   values of parameters that are not learned
--   own, shared   learned parameters: each layer has its own, or all layers share them
--   token_parameters   the names of the parameters that are values of tokens
--   value_width   the number of these values for a token, as text
--   value_names   the names in `token_parameters` as text
--   products    parameters whose products with queries or keys are values of tokens
--   queries     the dimension of queries in tensors with a number for each query, counted from the last: -1, or -2 if a
--               dimension of keys follows
--   text        the texts that decide whether two scores are equal
-- and for each name that the function may read, such as `length`, whether it reads the name.
local function describe_score(formula, crosses, key_prefix)
  local score = torch.format(formula.root, crosses)
  score.arguments, score.passed_arguments, score.constants = "", "", {}
  score.own, score.shared, score.token_parameters, score.products = {}, {}, {}, {}
  for _, argument in ipairs(ARGUMENTS) do
    if score.uses[argument[1]] then
      local name, value = argument[1], argument[2]
      local has_stream_prefix = name == "distance" or name == "shared"
      score.arguments = score.arguments .. ", " .. name
      score.passed_arguments = score.passed_arguments .. ", " .. (has_stream_prefix and key_prefix or "") .. value
    end
  end
  for _, name in ipairs({ "index", "memory_index", "length", "key_length", "head", "distance", "positions", "layer",
    "bucket", "sum_between", "sum_to_query", "values" }) do
    score[name] = score.uses[name] or false
  end
  score.queries = crosses and (score.index or score.length) and -2 or -1
  score.text = { score.lines, score.arguments, score.queries }
  add_parameters(score, formula.parameters or {})
  score.value_width = (score.token_parameters[2] and #score.token_parameters .. " * " or "") .. "HEADS"
  local quoted_names = lists.map(score.token_parameters, function(name) return ("%q"):format(name) end)
  score.value_names = table.concat(quoted_names, ", ")
  return score
end

-- A family's score may have parameters that all layers share. Returns the prefix of the names of these parameters, or
-- nil if there are none.
local function find_shared_prefix(net, family)
  local shared_parameter = lists.find(family.score.learned, function(q) return not q.per_layer end) or {}
  local parameter = lists.find(net.declared_last, function(p) return p.name == shared_parameter.member end)
  return parameter and parameter.tensors[1][1]:match("^(.*)%.")
end

function M.export(family, context)
  if (family.score.kind or "none") == "none" or not context.formula then
    return { score = false, score_text = false, bucket = false, sum_between = false, sum_to_query = false }
  end
  local key_prefix, extra_inputs = context.key_prefix, context.extra_inputs
  local score = describe_score(context.formula, context.crosses, key_prefix)
  extra_inputs.positions = extra_inputs.positions or score.positions or nil
  extra_inputs[key_prefix .. "distance"] = extra_inputs[key_prefix .. "distance"] or score.distance or nil
  extra_inputs[key_prefix .. "shared"] = #score.shared > 0 and find_shared_prefix(context.net, family) or nil
  context.layer = score.layer
  local part_texts = context.part_texts
  part_texts.score, part_texts.bucket = { "scalar" }, score.bucket and { "buckets" }
  part_texts.running = score.sum_between and { "running" }
  part_texts.row_sums = score.sum_to_query and { "row_sums" }
  return { score = score, score_text = score.text, bucket = score.bucket, sum_between = score.sum_between,
    sum_to_query = score.sum_to_query }
end

return M
