-- Writes the C code of loop nests of scores for a CPU. Values are vectors, whose lanes are neighbouring entries of a
-- table.
--
-- A target is a module with the functions below, which nests.lua calls. Arguments: t, a table; build, the context of
-- loop nests (nests.lua); class, the class of tables whose entries the nest visits.
--
--   make_environment(build, class)   returns the environment for emit.lua
--   make_filling(build, t, class)    returns the effect that stores an entry of t; nests.lua sets the value
--   complete_effect(build, contents, t, class, effect)   completes `effect`, which adds to the gradient of t
--   scatter(build, contents, class, effect, p)   returns effects to use instead of `effect`. `effect` adds to the
--                                  gradient of parameter p, at an index that differs from lane to lane
--   finish(build, contents)        is called after all effects of a nest are made
--
-- contents: the contents of the nest so far (nests.lua, make_gradients).
-- The code uses these variables of generated code:
--   s, d         the tables, their gradients
--   r, dr        the running sums, their gradients
--   sums         the sums over keys (lower.lua, row_sums) for a group of queries
--   p, g         the parameters, their gradients
--   T, S         the number of tokens, the number of keys in cross-attention
--   h, l, i, j   head, layer, query, key
--   o, t         query - key, query + key

local emit = require("expression.emit")
local leaves = require("expression.leaves")
local lists = require("base.lists")
local nests = require("expression.nests")
local syntax = require("expression.syntax")

local M = {}

-- Loop nest -> the set of the quantities that vary from lane to lane, as letters (lower.lua):
-- q query, k key, d key - query, t key + query, s logit.
local VARYING = {
  uniform = {}, query = { q = true }, key = { k = true }, distance = { d = true }, sum = { t = true },
  pair = { q = true, d = true, t = true }, score = { q = true, d = true, t = true, s = true },
  row = { q = true, k = true, d = true, t = true, s = true }, -- one query with consecutive keys
  token = { k = true }, -- values of consecutive tokens, for running sums
}

-- Symbol -> its text in every loop nest.
local COMMON_SYMBOLS = { head = "(real)h", layer = "(real)l", length = "(real)T", key_length = "(real)S",
  score = "logit" }
-- Class -> the texts of further symbols in its loop nests.
local SYMBOLS = {
  uniform = {},
  query = { query_index = "ascending(i, T - 1)", query = "positions_from(position, i, T)" },
  key = { key_index = "ascending(j, T - 1)", key = "positions_from(position, j, T)" },
  distance = { offset = "descending(-o, 1 - T)", distance = "distances_from(drawn, o, T)" },
  sum = { total = "ascending(t, 2 * T - 2)" },
  pair = { query_index = "ascending(i, T - 1)", key_index = "(real)j", offset = "descending(j - i, j - T + 1)",
    total = "ascending(i + j, j + T - 1)", query = "positions_from(position, i, T)", key = "(real)position[j]",
    distance = "distances_from(drawn, i - j, T)" },
  score = { dscore = "dscore", weighted = "weighted", inverse = "inverse", is_seen = "seen" },
  row = { query_index = "broadcast((real)i)", key_index = "counting((real)j, 1)",
    offset = "counting((real)(j - i), 1)", total = "counting((real)(i + j), 1)" },
  token = {},
}

-- The texts that differ from SYMBOLS in cross-attention, where keys have their own positions.
local CROSS_SYMBOLS = {
  key = { key_index = "ascending(j, S - 1)", key = "positions_from(key_position, j, S)" },
  sum = { total = "ascending(t, T + S - 2)" },
  pair = { key = "(real)key_position[j]" },
}

local INTEGERS = { head = "h", layer = "l" }

local STRIDE = { uniform = "1", query = "%s->queries", key = "%s->queries", distance = "%s->distances",
  sum = "%s->sums", pair = "%s->pairs" }

-- The stride from one head to the next in a table: the number of elements for each head.
function M.write_stride(set, t)
  return (t.stride or STRIDE[t.class]):format(set)
end

-- The text of the address of a table's entry in a loop nest over `class`. set: "s" (values) or "d" (gradients).
function M.write_address(set, t, class)
  set = t.is_of_tokens and leaves.RUNNING_SUM_NAMES[set] or set
  local place = t.class == "pair" and "j * " .. set .. "->queries + i" or leaves.write_entry_index(t.class, class)
  local head = t.per_head and (t.head_row or "h") .. " * " .. M.write_stride(set, t) .. " + " or ""
  return ("%s->%s + %s%s%s"):format(set, t.is_of_tokens and "sums" or t.name, head, place,
    t.class == "distance" and class == "row" and " - LANES + 1" or "")
end

-- The text of a table's entry. Arguments: see write_address.
function M.write_element(set, t, class)
  if t.class == "uniform" then
    return ("%s->%s[%s]"):format(set, t.name, t.per_head and "h" or "0")
  end
  return M.write_address(set, t, class):gsub(" %+ ", "[", 1) .. "]"
end

-- C text: the index in `sums` of the sum at key j. leaf: the node of the sum.
function M.write_sum_index(build, leaf)
  local count = #build.row_sums
  return count == 1 and "j * LANES" or leaf.list_index == 0 and ("%d * j * LANES"):format(count)
    or ("(%d * j + %d) * LANES"):format(count, leaf.list_index)
end

function M.make_environment(build, class)
  local out, symbols, cross_symbols = leaves.make_environment(build, VARYING[class]), SYMBOLS[class],
    build.cross and CROSS_SYMBOLS[class] or {}
  -- The nests of these classes have no loop besides the loop over lanes (emit.lua, levels).
  out.has_only_lane_level = class == "score" or class == "row" or class == "token"
  out.is_in_key_loop = class == "pair"
  function out.symbol(name)
    return (name == "distance" and build.prefix or "")
      .. assert(cross_symbols[name] or symbols[name] or COMMON_SYMBOLS[name], name)
  end
  function out.integer(name)
    return INTEGERS[name], syntax.PRIMARY
  end
  function out.row_sum(node)
    return node.is_gradient and "group->" .. node.name or ("load(sums + %s)"):format(M.write_sum_index(build, node))
  end
  -- A table of gradients has `gradient_of`: the table whose gradients it contains.
  function out.load(t)
    local set, source = t.gradient_of and "d" or "s", t.gradient_of or t
    if class == "row" and t.class == "query" then
      return ("broadcast(%s)"):format(M.write_element(set, source, class))
    elseif class == "row" and t.class == "distance" then
      return ("reversed(load(%s))"):format(M.write_address(set, source, class)) -- i - j descends while j ascends
    elseif t.class == "uniform" or t.class == "key" and (class == "pair" or class == "score") then
      return M.write_element(set, source, class) -- all lanes read one entry
    end
    return ("load(%s)"):format(M.write_address(set, source, class))
  end
  return out
end

function M.make_filling(_, t, class)
  return class == "uniform" and { kind = "assign", target = M.write_element("s", t, class) }
    or { kind = "store", target = M.write_address("s", t, class) }
end

function M.complete_effect(_, contents, t, class, effect)
  if t.class == "uniform" then
    effect.kind, effect.target, effect.base = "add_element", t.name .. "_sums", t.per_head and "h" or nil
    contents.sums_by_name[t.name] = { name = effect.target, member = "d->" .. t.name, count = 1,
      per_head = t.per_head }
  elseif t.class == "key" and class == "pair" then
    effect.kind, effect.target = "add_lanes", M.write_element("d", t, class)
  else
    effect.kind, effect.target = "add_at", M.write_address("d", t, class)
  end
end

function M.scatter(build, _, _, effect, p)
  effect.kind, effect.target = "scatter", leaves.write_member(build, "g", p)
    .. (effect.base and " + " .. effect.base or "")
  return { effect }
end

function M.finish() end

-- Class of a table -> the kind of the statement that adds a pair's gradient to the table.
local GATHER_KINDS = { uniform = "gather_uniform", query = "gather_query", key = "gather_key",
  distance = "gather_distance", sum = "gather_sum", pair = "gather_pair" }

-- The address of the gradient of the running sum up to key j. It is a vector: each lane holds the part from its own
-- queries, and generated code adds up the lanes after the last query.
local function write_lanes_address(t)
  return ("dr->lanes + (%s * dr->stride + j) * LANES"):format(t.head_row or "h")
end

-- The sums over keys (nests.derive_sums), with the gradients of their terms. A term belongs to the sum of its own pair
-- and to the sums of farther keys. A key that the query does not see has the gradient 0.
local function derive_terms(build, score, dscore)
  local b = build.builder
  return lists.map(nests.derive_sums(build, score, dscore), function(entry)
    local is_seen = b:leaf("symbol", "is_seen", { name = "is_seen", type = "truth" })
    local gradient = b:apply("select", is_seen, assert(b:apply("add", entry.accumulated, entry.own)), 0)
    gradient.word = "dterm"
    return { sum = entry.sum, accumulated = entry.accumulated, gradient = gradient }
  end)
end

-- score: the node of the pair formula. Its input is the logit, x.score.
-- Returns:
--   1. the statements that compute the gradients of the logit and of learned tables
--   2. whether these statements read the logit
--   3. whether the logit's gradient differs from dscore, the gradient of the formula's result
function M.derive_pair(build, score)
  local effects = {}
  local weighted = nests.make_gradient_leaf(build, "weighted") -- dscore * inverse
  local dscore = nests.make_gradient_leaf(build, "dscore")
  local inverse = nests.make_gradient_leaf(build, "inverse") -- 1 / the divisor of the attention weights
  local terms = derive_terms(build, score, dscore)
  for _, term in ipairs(terms) do
    effects[#effects + 1] = { kind = "assign", node = term.gradient, target = "group->" .. term.accumulated.name }
  end
  for _, entry in ipairs(nests.derive_tables(build, score, weighted, terms, inverse)) do
    local t = entry.leaf.table
    local effect = { kind = GATHER_KINDS[t.class], node = entry.gradient, loops = entry.loops, table = t,
      name = t.name }
    if t.is_of_tokens and t.class == "key" then
      effect.kind, effect.target = "gather_pair", write_lanes_address(t)
    elseif t.class == "pair" then
      effect.target = M.write_address("d", t, "score")
    elseif t.class == "key" then
      effect.target = M.write_element("d", t, "score")
    end
    effects[#effects + 1] = effect
  end
  local logit = nests.derive_logit(build, score, dscore, terms)
  effects[#effects + 1] = { kind = "result", node = logit }
  local list = emit.make_statements(build.state, M.make_environment(build, "score"), effects).lane
  return list, nests.needs_logit(build, effects), logit ~= dscore
end

return M
