-- The choices of the generator for a score, which pages about a plan show: its tables, terms of tokens with their
-- running sums, sums over keys, and pair formula. Arguments: see add_choices in facets/modules.lua.

local expression_text = require("expression.text")
local lists = require("base.lists")
local walk = require("expression.walk")

local M = {}

local INDICES_BY_CLASS = { uniform = "", query = "[query]", key = "[key]", distance = "[query - key]",
  sum = "[query + key]", pair = "[key][query]" }

-- The names of the learned parameters and tables that a value reads, in the order of reading. The value's gradient is
-- propagated to them.
local function list_destinations(value)
  local names = {}
  walk(value, function(node)
    local p, t = node.parameter, node.op == "table" and node.table
    names[#names + 1] = p and p.learned and "x." .. p.name or t and t.learned and t.name or nil
  end)
  return table.concat(lists.drop_repeats(names), ", ")
end

-- Adds the parts of the score's formula as choices: the tables, then the pair formula.
function M.add(plan, families, add)
  local family = families[1]
  local score = family.score
  for _, t in ipairs(score.tables or {}) do
    local by_layer = score.per_layer and plan.layers > 1 and ", for each layer" or ""
    local gradient = t.learned and "; its gradient goes to " .. list_destinations(t.value) or ""
    local shape = (t.per_head and ("[%d]"):format(family.heads) or "") .. INDICES_BY_CLASS[t.class]
    add("score table " .. t.name, shape ~= "" and shape or "one number", ("once per step%s: %s%s"):format(by_layer,
      expression_text.format(t.value), gradient))
  end
  for _, sum in ipairs(score.running and score.running.token_numbers or {}) do
    add("score " .. sum.name, ("[%d][token]"):format(family.heads),
      ("once per sequence and layer, %s each token: %s; its gradient goes to %s"):format(
        sum.is_sum and "running sum at" or "for", expression_text.format(sum.value), list_destinations(sum.value)))
  end
  for _, sum in ipairs(score.row_sums or {}) do
    add("score " .. sum.name, "[query][key]",
      "for each query, running sum from its own key to the first key: " .. sum.text)
  end
  if score.pair_formula then
    add("score in the pair loop", score.needs_logit and "logit computed twice" or "logit computed once",
      expression_text.format(score.pair_formula) .. (score.needs_logit
        and "; its gradient needs the logit, which the backward pass computes again"
        or "; its gradient does not need the logit"))
  end
end

return M
