-- Loop nests of scores on a CPU: vectors, whose lanes are neighbouring entries of a table.
--
-- A target is what nests.lua asks how leaves look in a loop nest, and where its results go:
--
--   environment(build, class)      of emit.lua
--   fill(t, class)                 the effect that gives a table's entry its value, but for the value
--   to_table(build, nest, t, class, effect)   completes an effect that adds to a table's gradient
--   scatter(build, nest, class, effect, p)   effects in the place of one that adds to elements of parameter p which
--                                  differ from lane to lane
--   finish(build, nest, class)     when all effects of a nest are there
--
-- Texts name what templates/attention/cpu/scalar.inc.tpl declares: s and d, the tables and their gradients; p and g,
-- the parameters and theirs; T, and S keys of cross-attention; h, l, i, j, o, t: head, layer, query, key, query - key,
-- query + key.

local emit = require("expression.emit")
local leaves = require("expression.leaves")
local nests = require("expression.nests")

local M = {}

-- The lanes of each loop nest, by letter.
local LANES = {
  uniform = {}, query = { q = true }, key = { k = true }, distance = { o = true }, sum = { t = true },
  pair = { q = true, o = true, t = true }, score = { q = true, o = true, t = true, s = true },
  row = { q = true, k = true, o = true, t = true, s = true }, -- one query, keys side by side
}

-- Symbols by loop nest; `any` in all of them.
local SYMBOLS = {
  any = { head = { "(real)h", "h" }, layer = { "(real)l", "l" }, length = { "(real)T", "T" },
    key_length = { "(real)S", "S" }, score = { "logit", "logit" } },
  uniform = {},
  query = { query_index = { "ascending(i, T - 1)", "i", "T" },
    query = { "positions_from(position, i, T)", "position", "i", "T" } },
  key = { key_index = { "ascending(j, T - 1)", "j", "T" },
    key = { "positions_from(position, j, T)", "position", "j", "T" } },
  distance = { offset = { "descending(-o, 1 - T)", "T" }, distance = { "distances_from(drawn, o, T)", "drawn", "T" } },
  sum = { total = { "ascending(t, 2 * T - 2)", "T" } },
  pair = { query_index = { "ascending(i, T - 1)", "i", "T" }, key_index = { "(real)j", "j" },
    offset = { "descending(j - i, j - T + 1)", "i", "j", "T" },
    total = { "ascending(i + j, j + T - 1)", "i", "j", "T" },
    query = { "positions_from(position, i, T)", "position", "i", "T" }, key = { "(real)position[j]", "position", "j" },
    distance = { "distances_from(drawn, i - j, T)", "drawn", "i", "j", "T" } },
  score = { dscore = { "dscore", "dscore" }, weighted = { "weighted", "weighted" } },
  row = { query_index = { "broadcast((real)i)", "i" }, key_index = { "counting((real)j, 1)", "j" },
    offset = { "counting((real)(j - i), 1)", "i", "j" }, total = { "counting((real)(i + j), 1)", "i", "j" } },
}

-- Those of cross-attention, T queries and S keys, where they differ: a draw of each stream.
local CROSS = {
  key = { key_index = { "ascending(j, S - 1)", "j", "S" },
    key = { "positions_from(key_position, j, S)", "key_position", "j", "S" } },
  sum = { total = { "ascending(t, T + S - 2)", "T", "S" } },
  pair = setmetatable({ key = { "(real)key_position[j]", "key_position", "j" } }, { __index = SYMBOLS.pair }),
  row = SYMBOLS.row,
}

-- Elements from one head to the next, and the place of an entry, by class.
local STRIDE = { query = "%s->queries", key = "%s->queries", distance = "%s->distances", sum = "%s->sums",
  pair = "%s->pairs" }
local PLACE = {
  query = { query = "i", pair = "i", score = "i", row = "i" },
  key = { key = "j", pair = "j", score = "j", row = "j" },
  distance = { distance = "o", pair = "i - j", score = "i - j", row = "i - j - LANES + 1" },
  sum = { sum = "t", pair = "i + j", score = "i + j", row = "i + j" },
  pair = { pair = "j * %s->queries + i", score = "j * %s->queries + i" },
}
local I, J, IJ, NONE = { "i" }, { "j" }, { "i", "j" }, {}
local PLACE_NAMES = { -- what these mention, but for the indices of loops over a distance or a sum
  query = { query = I, pair = I, score = I, row = I }, key = { key = J, pair = J, score = J, row = J },
  distance = { distance = NONE, pair = IJ, score = IJ, row = IJ },
  sum = { sum = NONE, pair = IJ, score = IJ, row = IJ },
  pair = { pair = IJ, score = IJ },
}

-- The address of a table's entry in a loop nest: of `set`, s (values) or d (gradients).
function M.address(build, set, t, class)
  leaves.mention(build, set, table.unpack(PLACE_NAMES[t.class][class]))
  if t.per_head then
    leaves.mention(build, "h")
  end
  local stride, place = (t.stride or STRIDE[t.class]):format(set), PLACE[t.class][class]:format(set)
  return ("%s->%s + %s%s"):format(set, t.name, t.per_head and "h * " .. stride .. " + " or "", place)
end

function M.element(build, set, t, class)
  if t.class == "uniform" then
    leaves.mention(build, set, t.per_head and "h" or nil)
    return ("%s->%s[%s]"):format(set, t.name, t.per_head and "h" or "0")
  end
  local text = M.address(build, set, t, class):gsub(" %+ ", "[", 1)
  return text .. "]"
end

function M.environment(build, class)
  local symbols = build.cross and CROSS[class] or SYMBOLS[class]
  local out = leaves.environment(build, LANES[class], symbols, SYMBOLS.any)
  local symbol = out.symbol
  function out.symbol(name)
    return (name == "distance" and build.prefix or "") .. symbol(name)
  end
  out.flat, out.under_keys = class == "score" or class == "row", class == "pair"
  -- A table of gradients is one whose `of` is the table that it belongs to.
  function out.load(t)
    local set, whole = t.of and "d" or "s", t.of or t
    if class == "row" and t.class == "query" then
      return ("broadcast(%s)"):format(M.element(build, set, whole, class))
    elseif class == "row" and t.class == "distance" then
      return ("reversed(load(%s))"):format(M.address(build, set, whole, class))
    end
    local in_lanes = t.class ~= "uniform" and not (t.class == "key" and (class == "pair" or class == "score"))
    return in_lanes and ("load(%s)"):format(M.address(build, set, whole, class)) or M.element(build, set, whole, class)
  end
  return out
end

function M.fill(build, t, class)
  if class == "uniform" then
    return { kind = "assign", target = M.element(build, "s", t, class) }
  end
  return { kind = "store", target = M.address(build, "s", t, class) }
end

function M.to_table(build, nest, t, class, effect)
  if t.class == "uniform" then
    effect.kind, effect.target, effect.base = "add_element", t.name .. "_sums", t.per_head and "h" or nil
    leaves.mention(build, "d", effect.base)
    nest.sums[t.name] = { name = effect.target, member = "d->" .. t.name, count = 1, heads = t.per_head }
  elseif t.class == "key" and class == "pair" then
    effect.kind, effect.target = "add_lanes", M.element(build, "d", t, class)
  else
    effect.kind, effect.target = "add_at", M.address(build, "d", t, class)
  end
end

function M.scatter(build, _, _, effect, p)
  effect.kind, effect.target = "scatter", leaves.member(build, "g", p) .. (effect.base and " + " .. effect.base or "")
  return { effect }
end

function M.finish() end

local GATHERED = { uniform = "gather_uniform", query = "gather_query", key = "gather_key",
  distance = "gather_distance", sum = "gather_sum", pair = "gather_pair" }

-- The statements for the gradient of the logit, and for what the learned tables gather; whether they need the logit;
-- whether the logit's gradient differs from the score's. dscore lacks the factor inverse_sum, weighted has it.
function M.pair_gradient(build, score)
  local effects, mentioned = {}, leaves.collect(build)
  local weighted, dscore = nests.given(build, "weighted"), nests.given(build, "dscore")
  for _, entry in ipairs(nests.table_gradients(build, score, weighted)) do
    local t = entry.leaf.table
    effects[#effects + 1] = { kind = GATHERED[t.class], node = entry.gradient, table = t, loops = entry.loops,
      target = t.class == "pair" and M.address(build, "d", t, "score")
        or t.class == "key" and M.element(build, "d", t, "score"), name = t.name }
    if t.class == "distance" or t.class == "sum" then -- as statements.tpl writes them
      leaves.mention(build, "d", "i", "j")
    end
  end
  local logit = nests.logit_gradient(build, score, dscore)
  effects[#effects + 1] = { kind = "result", node = logit }
  local list = emit.statements(build.state, M.environment(build, "score"), effects).lane
  list.mentioned = mentioned
  return list, nests.needs_logit(build, effects), logit ~= dscore
end

return M
