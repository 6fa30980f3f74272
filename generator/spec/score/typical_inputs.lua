-- Computes a score at typical inputs at the start of training, to find formulas whose value is not finite there.
--
-- Input: a formula { root, parameters } (score.lua) and a table with these fields:
--   heads           the number of heads
--   layers          the number of layers of the family that uses the score
--   width           the width of the model
--   head_width      the width of a head
--   causal          whether no query sees a later key
--   cross           whether queries attend to another sequence
--   mask, lines     sections of the spec, or nil
--   tokens          the number of tokens of the longest sequences of training
--   is_float64      whether the precision is float64
-- Output of M.find_problem: nil if all values are finite, otherwise { what, expected, hint }.
--
-- Typical inputs are pairs of tokens that see each other, logits of -1, 0 and 1, and the initial values of parameters.
-- Some values are random at first: values of tokens, and parameters with a distribution. Random values are tried near
-- 0, and near plus and minus their standard deviation, but never at 0. No two random parameters, and no two random
-- numbers of a table, have the same value. Each row of a block's input, of queries and of keys is assumed to have mean
-- square 1.

local evaluate = require("expression.evaluate").evaluate
local has_head = require("expression.leaves").has_head
local lists = require("base.lists")
local sees = require("facets.score.reach").sees
local text = require("expression.text")
local walk = require("expression.walk")

local M = {}

-- Operations whose result can be infinite or NaN for arguments of usual size.
local IS_RISKY = lists.to_set({ "div", "exp", "log", "log1p", "pow", "sqrt" })
local MAX_STEPS = 200000 -- computed nodes for all pairs, heads, layers and trials; each term of a sum counts
local FEW_DIGITS = "%.3g"
local GOLDEN_RATIO = (math.sqrt(5) - 1) / 2 -- its multiples are spread evenly modulo 1

-- Returns the pairs { query, key } to compute: the first, a middle and the last query, each with near and far keys.
-- With lines or the mask "antidiagonal", visible keys depend on more than the distance. Then the only pair of a query
-- is that with its own token.
local function list_pairs(options)
  local last, mask, pairs_of_tokens = options.tokens - 1, options.mask, {}
  local has_only_own_key = options.lines or mask and mask.kind == "antidiagonal"
  for _, query in ipairs({ 0, last // 2, last }) do
    for _, key in ipairs(has_only_own_key and { query }
      or { query, query - 1, query + 1, query - 4, query + 4, 0, last }) do
      local is_token = key >= 0 and key <= last
      if is_token and sees(mask, options.causal, options.cross, query, key) then
        pairs_of_tokens[#pairs_of_tokens + 1] = { query, key }
      end
    end
  end
  return pairs_of_tokens
end

-- Returns a factor from 0.75 to 1 that differs between parameters and between the numbers of a table.
local function make_factor(p, index)
  local code = index or 0
  for _, byte in ipairs({ p.name:byte(1, -1) }) do
    code = (31 * code + byte) % 65521
  end
  return 1 - code * GOLDEN_RATIO % 1 / 4
end

-- Returns the standard deviation of a token's value. p: the parameter that makes the value, a map or a vector.
local function compute_deviation(p, options)
  local factor = type(p.init) == "table" and p.init.sigma or p.init
  return p.unit and 1 or math.abs(factor) * math.sqrt(p.from and options.head_width or options.width)
end

-- Returns the value of a parameter for a head. index: from 0, for a parameter with several values.
local function read_parameter(p, head, scale, index)
  if p.values then
    local row = #p.values > (p.size or 1) and has_head(p) and head or 0
    return p.values[row * (p.size or 1) + (index or 0) + 1]
  end
  return type(p.init) == "table" and scale * make_factor(p, index) * p.init.sigma or p.init
end

-- Returns the sampled position of a token, or the sampled distance of a pair, scaled to cover the range of the node.
--   node    the symbol that reads the position or distance
--   value   the token's index, or the difference of two indices
local function spread(node, value, options)
  local scale = math.max(1, math.max(-node.low, node.high) // math.max(1, options.tokens - 1))
  return math.max(node.low, math.min(node.high, value * scale))
end

-- Makes the input of evaluate for a point: { query, key, head, layer, logit, scale }; logit, scale: see TRIALS.
local function make_input(point, options)
  local function read_symbol(node, key)
    local indices = { query = point.query, key = key, distance = key - point.query }
    return indices[node.name] and spread(node, indices[node.name], options)
      or ({ score = point.logit, head = point.head, layer = point.layer })[node.name] or options.tokens
  end
  local function read(node, index, key)
    if node.op == "symbol" then
      return read_symbol(node, key)
    elseif node.op == "value" then
      return point.scale * make_factor(node.parameter) * compute_deviation(node.parameter, options)
    end
    return node.parameter and read_parameter(node.parameter, point.head, point.scale, index)
  end
  return { query = point.query, key = point.key, read = read,
    round = not options.is_float64 and function(value) return (("f"):unpack(("f"):pack(value))) end or nil }
end

local function is_finite(value)
  return type(value) ~= "number" or value - value == 0
end

-- Returns the innermost part of a formula that is not finite: all parts inside it are finite.
local function find_culprit(node, values)
  local argument = lists.find(node, function(candidate) return not is_finite(values[candidate]) end)
  return argument and find_culprit(argument, values) or node
end

-- The values of the leaves of a formula, as text. Values that depend on the index of a sum are left out.
local function describe_leaves(root, input)
  local words = {}
  walk(root, function(node)
    local is_leaf = not node[1] or node.op == "lookup" or node.linear_form
    local value = is_leaf and node.op ~= "number" and evaluate(node, input)
    words[#words + 1] = value and ("%s = %s"):format(text.format_briefly(node), FEW_DIGITS:format(value)) or nil
    return is_leaf
  end)
  return table.concat(words, ", ")
end

local HINTS = {
  div = "add a constant to the divisor, or apply max, to keep the divisor away from 0",
  exp = "apply min to the argument",
  pow = "apply min and max to the base and the exponent",
}
-- The hint for log, log1p and sqrt.
local DOMAIN_HINT = "apply max to the argument a, or use -log_sigmoid(-a) = log(1 + exp(a)), which is above 0, in "
  .. "place of a"

local function describe(root, values, input)
  local culprit = find_culprit(root, values)
  local leaves, value = describe_leaves(culprit, input), values[culprit]
  local is_nan = value ~= value
  local example_text = leaves ~= "" and (", such as %s"):format(leaves) or ""
  return { what = ("%s is %s at the start of training"):format(text.format_briefly(culprit),
      is_nan and "NaN" or "infinite"),
    expected = "a finite number for typical inputs" .. example_text,
    hint = HINTS[culprit.op] or IS_RISKY[culprit.op] and DOMAIN_HINT or nil }
end

-- Returns the number of nodes that one evaluation computes: a float, possibly infinite.
--   key_count   the number of terms of a sum over keys
--   results     root -> the result of an earlier call
local function count_steps(root, key_count, results)
  if not results[root] then
    local steps = 0.0
    walk(root, function(node)
      local term_count = node.op == "sum" and node.index.count or node.op == "sum_to_query" and key_count
      steps = steps + 1 + (term_count and term_count * count_steps(node[1], key_count, results) or 0)
      return term_count
    end)
    results[root] = steps
  end
  return results[root]
end

-- Returns properties of a formula. is_random: whether it has values that are random at first.
local function inspect(root)
  local facts = {}
  walk(root, function(node)
    local p = node.parameter
    facts.is_risky = facts.is_risky or IS_RISKY[node.op]
    facts.is_random = facts.is_random or p and type(p.init) == "table" or node.op == "value"
    facts.differs_by_head = facts.differs_by_head or p and has_head(p) or node.name == "head"
    facts.differs_by_layer = facts.differs_by_layer or node.name == "layer"
  end)
  return facts
end

-- Pairs { logit, scale }. A random value is scale * make_factor(...) * standard deviation.
local TRIALS = { { 0, 0.01 }, { -1, -1 }, { 1, 1 }, { -1, 1 }, { 1, -1 } }
local LOGIT_TRIALS = { table.unpack(TRIALS, 1, 3) } -- for formulas without random numbers: each logit once

function M.find_problem(formula, options)
  local facts, steps = inspect(formula.root), 0
  for _, pair in ipairs(facts.is_risky and list_pairs(options) or {}) do
    local pair_steps = count_steps(formula.root, math.max(1, pair[1] - pair[2] + 1), {})
    for head = 0, facts.differs_by_head and options.heads - 1 or 0 do
      for layer = 0, facts.differs_by_layer and options.layers - 1 or 0 do
        for _, trial in ipairs(facts.is_random and TRIALS or LOGIT_TRIALS) do
          steps = steps + pair_steps
          if steps > MAX_STEPS then
            return nil
          end
          local point = { query = pair[1], key = pair[2], head = head, layer = layer, logit = trial[1],
            scale = trial[2] }
          local input = make_input(point, options)
          local value, values = evaluate(formula.root, input)
          if not is_finite(value) then
            return describe(formula.root, values, input)
          end
        end
      end
    end
  end
end

return M
