-- The loop nests of a score: what fills its tables, what the pair loop computes, and what takes gradients back.
--
-- Input: build = { builder, state (of lower.lua), real(number) -> literal, edges_name(list) -> name of a constant }, a
-- class of tables, its tables. Output: statements by level (emit.lua) with class, sums { name, member, extent }
-- (vectors that gather a parameter's gradient over the lanes) and block (they need a scope of their own); nil where
-- there is nothing to do.
-- Texts name what templates/cpu/score.inc.tpl declares: s and d, the tables and their gradients; p and g, the
-- parameters and theirs; T; h, l, i, j, o, t: head, layer, query, key, query - key, query + key.

local derive = require("expression.derive")
local emit = require("expression.emit")
local ir = require("expression.ir")
local lower = require("expression.lower")

local M = {}

-- The lanes of each loop nest, by letter.
local LANES = {
  uniform = {}, query = { q = true }, key = { k = true }, distance = { o = true }, sum = { t = true },
  pair = { q = true, o = true, t = true }, score = { q = true, o = true, t = true, s = true },
}

-- Symbols by loop nest; `any` in all of them.
local SYMBOLS = {
  any = { head = "(real)h", layer = "(real)l", length = "(real)T", score = "logit" },
  uniform = {},
  query = { query_index = "ascending(i, T - 1)", query = "positions_from(position, i, T)" },
  key = { key_index = "ascending(j, T - 1)", key = "positions_from(position, j, T)" },
  distance = { offset = "descending(-o, 1 - T)", distance = "distances_from(drawn, o, T)" },
  sum = { total = "ascending(t, 2 * T - 2)" },
  pair = { query_index = "ascending(i, T - 1)", key_index = "(real)j", offset = "descending(j - i, j - T + 1)",
    total = "ascending(i + j, j + T - 1)", query = "positions_from(position, i, T)", key = "(real)position[j]",
    distance = "distances_from(drawn, i - j, T)" },
  score = { dscore = "dscore", weighted = "weighted" },
}

-- Elements from one head to the next, and the place of an entry, by class.
local STRIDE = { query = "%s->queries", key = "%s->queries", distance = "%s->distances", sum = "%s->sums",
  pair = "%s->pairs" }
local PLACE = {
  query = { query = "i", pair = "i", score = "i" },
  key = { key = "j", pair = "j", score = "j" },
  distance = { distance = "o", pair = "i - j", score = "i - j" },
  sum = { sum = "t", pair = "i + j", score = "i + j" },
  pair = { pair = "j * %s->queries + i", score = "j * %s->queries + i" },
}

function M.has_head(p)
  return p.per == "head" or p.per == "layer_head"
end

function M.has_layer(p)
  return p.per == "layer" or p.per == "layer_head"
end

-- The address of a table's entry in a loop nest: of `set`, s (values) or d (gradients).
function M.address(set, t, class)
  local stride, place = STRIDE[t.class]:format(set), PLACE[t.class][class]:format(set)
  return ("%s->%s + %s%s"):format(set, t.name, t.per_head and "h * " .. stride .. " + " or "", place)
end

function M.element(set, t, class)
  if t.class == "uniform" then
    return ("%s->%s[%s]"):format(set, t.name, t.per_head and "h" or "0")
  end
  local text = M.address(set, t, class):gsub(" %+ ", "[", 1)
  return text .. "]"
end

local function environment(build, class)
  local out = { lanes = LANES[class], flat = class == "score", under_keys = class == "pair" }
  function out.literal(value)
    return (assert(build.real(value)))
  end
  function out.symbol(name)
    return (assert(SYMBOLS[class][name] or SYMBOLS.any[name], name))
  end
  function out.parameter(p)
    return p.learned and ("p->%sscore_%s"):format(M.has_layer(p) and "layer[l]." or "", p.name)
      or p.name .. "_values"
  end
  function out.edges(edges)
    return build.edges_name(edges)
  end
  -- A table of gradients is one whose `of` is the table that it belongs to.
  function out.load(t)
    local set, whole = t.of and "d" or "s", t.of or t
    local in_lanes = t.class ~= "uniform" and not (t.class == "key" and (class == "pair" or class == "score"))
    return in_lanes and ("load(%s)"):format(M.address(set, whole, class)) or M.element(set, whole, class)
  end
  return out
end

-- The loop nest that fills all tables of a class.
function M.making(build, class, tables)
  local effects = {}
  for i, t in ipairs(tables) do
    effects[i] = { kind = class == "uniform" and "assign" or "store", node = t.value, per_head = t.per_head,
      target = class == "uniform" and M.element("s", t, class) or M.address("s", t, class) }
  end
  local nest = emit.statements(build.state, environment(build, class), effects)
  nest.class, nest.sums, nest.gathered, nest.block = class, {}, {}, #nest.outer > 0
  return nest
end

local function gradient_leaf(build, t)
  local of = { name = "d_" .. t.name, class = t.class, per_head = t.per_head, per_layer = t.per_layer, of = t }
  return build.builder:leaf("table", of.name, { table = of })
end

-- The effect that adds a gradient to a learned parameter; vector loops gather it in `sums` first.
local function to_parameter(class, entry, sums)
  local leaf, p = entry.leaf, entry.leaf.parameter
  local member = ("g->%sscore_%s"):format(M.has_layer(p) and "layer[l]." or "", p.name)
  local effect = { node = entry.gradient, per_head = M.has_head(p), loops = entry.loops }
  local count = (p.size or 1)
  local base = M.has_head(p) and (p.size and ("h * %d"):format(count) or "h") or nil
  if leaf.op == "lookup" then
    effect.index_node = leaf[1]
  end
  effect.base = base
  if class == "uniform" then
    effect.kind, effect.target = "add_element", member
    return effect
  end
  effect.kind, effect.target = "add_element", p.name .. "_sums"
  effect.scatter = base and ("%s + %s"):format(member, base) or member
  sums[p.name] = { name = p.name .. "_sums", member = member, count = count, heads = M.has_head(p) }
  return effect
end

local function to_table(class, entry, sums)
  local t = entry.leaf.table
  local effect = { node = entry.gradient, per_head = t.per_head, loops = entry.loops }
  if t.class == "uniform" and class ~= "uniform" then
    local name = t.name .. "_sums"
    effect.kind, effect.target, effect.base = "add_element", name, t.per_head and "h" or nil
    sums[t.name] = { name = name, member = "d->" .. t.name, count = 1, heads = t.per_head }
  elseif t.class == "uniform" then
    effect.kind, effect.target = "add", M.element("d", t, class)
  elseif t.class == "key" and class == "pair" then
    effect.kind, effect.target = "add_lanes", M.element("d", t, class)
  else
    effect.kind, effect.target = "add_at", M.address("d", t, class)
  end
  return effect
end

local function learned_leaf(leaf)
  return leaf.parameter and leaf.parameter.learned or leaf.op == "table" and leaf.table.learned
end

local function sorted(map)
  local names, list = {}, {}
  for name in next, map do
    names[#names + 1] = name
  end
  table.sort(names)
  for i, name in ipairs(names) do
    list[i] = map[name]
    list[i].extent = (list[i].heads and "HEADS" or "") .. (list[i].heads and list[i].count > 1 and " * " or "")
      .. ((list[i].count > 1 or not list[i].heads) and list[i].count or "")
  end
  return list
end

-- Whether a gradient's lookup differs from lane to lane: then it is scattered, else summed.
local function settle(build, class, effect)
  if effect.index_node then
    local vector = false
    for letter in next, lower.needs(build.state, effect.index_node) do
      vector = vector or LANES[class][letter] or false
    end
    if vector then
      effect.kind, effect.target = "scatter", effect.scatter
    end
  end
  return effect
end

-- The index that a node needs where it needs one, nil where none, false where more.
local function index_of(needs)
  local found
  for key in next, needs do
    if type(key) == "table" then
      if found then
        return false
      end
      found = key
    end
  end
  return found
end

-- Parts of a value that are the same for all heads and stand in parts that are not: their gradients are added up over
-- the heads first, and taken further once. In the order of their ids.
local function shared_parts(build, class, root)
  local seen, list, set = {}, {}, {}
  local function is_lane(needs)
    for letter in next, LANES[class] do
      if needs[letter] then
        return true
      end
    end
    return false
  end
  local function visit(node)
    if seen[node] or not lower.needs(build.state, node).h then
      return
    end
    seen[node] = true
    for _, argument in ipairs(node) do
      local needs = lower.needs(build.state, argument)
      local shared = not needs.h and needs.p and is_lane(needs) and argument.type ~= "truth"
        and index_of(needs) ~= false and #argument > 0 and argument.op ~= "lookup"
      if shared and not set[argument] then
        set[argument] = true
        list[#list + 1] = argument
      elseif not shared then
        visit(argument)
      end
    end
  end
  visit(root)
  table.sort(list, function(x, y) return x.id < y.id end)
  return list, set
end

-- What the heads add up of a part's gradient: { part, index, name, count, leaf }.
local function gathering(build, class, part, number)
  local index = index_of(lower.needs(build.state, part))
  local letters = "a"
  for letter in next, LANES[class] do
    letters = letters .. letter
  end
  local name = number == 1 and "from_heads" or "from_heads_" .. number
  local leaf = build.builder:make("gathered", { index }, name .. " " .. part.id,
    { name = name, type = "real", low = -math.huge, high = math.huge, letters = letters })
  return { part = part, index = index, name = name, count = index and index.count or 1, leaf = leaf }
end

local function effect_of(build, class, entry, sums)
  local effect = entry.leaf.op == "table" and to_table(class, entry, sums) or to_parameter(class, entry, sums)
  return settle(build, class, effect)
end

-- The effects that take one table's gradient back; what its heads add up goes into `gathered`.
local function table_effects(build, class, t, sums, gathered, effects)
  local parts, stops = {}, {}
  if t.per_head and class ~= "uniform" then
    parts, stops = shared_parts(build, class, t.value)
  end
  local of = {}
  for _, part in ipairs(parts) do
    of[part] = gathering(build, class, part, #gathered + 1)
    gathered[#gathered + 1] = of[part]
  end
  for _, entry in ipairs(derive.gradients(build.builder, t.value, gradient_leaf(build, t), learned_leaf, stops)) do
    local to = of[entry.leaf]
    effects[#effects + 1] = not to and effect_of(build, class, entry, sums)
      or { kind = to.index and "add_element" or "add", target = to.name, index_node = to.index, per_head = true,
        node = entry.gradient, loops = entry.loops }
  end
  for _, part in ipairs(parts) do
    local to = of[part]
    local whole = to.index and build.builder:sum_over(to.index, part) or part
    for _, entry in ipairs(derive.gradients(build.builder, whole, to.leaf, learned_leaf)) do
      effects[#effects + 1] = effect_of(build, class, entry, sums)
    end
  end
end

function M.gradients(build, class, tables)
  local effects, sums, gathered = {}, {}, {}
  for _, t in ipairs(tables) do
    if t.learned then
      table_effects(build, class, t, sums, gathered, effects)
    end
  end
  if #effects == 0 then
    return nil
  end
  local nest = emit.statements(build.state, environment(build, class), effects)
  nest.class, nest.sums, nest.gathered = class, {}, gathered
  for _, entry in ipairs(sorted(sums)) do
    for _, effect in ipairs(effects) do
      if effect.target == entry.name then
        nest.sums[#nest.sums + 1] = entry
        break
      end
    end
  end
  nest.block = #nest.outer + #nest.sums > 0
  return nest
end

local function given(build, name)
  return build.builder:leaf("symbol", name, { name = name })
end

function M.pair(build, score)
  local scope = environment(build, "score")
  local nest = emit.statements(build.state, scope, { { kind = "result", node = score } })
  return nest.lane
end

local GATHERED = { uniform = "gather_uniform", query = "gather_query", key = "gather_key",
  distance = "gather_distance", sum = "gather_sum", pair = "gather_pair" }

-- The gradient of the logit, and what the learned tables gather. dscore lacks the factor inverse_sum, weighted has it.
function M.pair_gradient(build, score)
  local b, effects = build.builder, {}
  local function is_logit(leaf)
    return leaf.op == "symbol" and leaf.name == "score"
  end
  local weighted, dscore = given(build, "weighted"), given(build, "dscore")
  for _, entry in ipairs(derive.gradients(b, score, weighted, function(leaf)
    return leaf.op == "table" and leaf.table.learned
  end)) do
    local t = entry.leaf.table
    effects[#effects + 1] = { kind = GATHERED[t.class], node = entry.gradient, table = t, loops = entry.loops,
      target = t.class == "pair" and M.address("d", t, "score") or t.class == "key" and M.element("d", t, "score"),
      name = t.name }
  end
  local logit = b:number(0)
  for _, entry in ipairs(derive.gradients(b, score, dscore, is_logit)) do
    logit = b:apply("add", logit, entry.gradient)
  end
  effects[#effects + 1] = { kind = "result", node = logit }
  local recomputes = false
  for _, effect in ipairs(effects) do
    recomputes = recomputes or ir.depends(effect.node, b:symbol("score"))
  end
  return emit.statements(build.state, environment(build, "score"), effects).lane, recomputes, logit ~= dscore
end

return M
