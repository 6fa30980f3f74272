-- Facet `score`: the scalar change of the logit, as tables that are made once per step and what is left for the pair
-- loop.
--
-- Input: facts.score of validation (root, builder, parameters), the plan so far. Output: { kind = "none" }, or what
-- templates/cpu/score.inc.tpl prints:
--
--   formula      the score as text; rest: the node that is left of it for the pair loop
--   tables       in the order of making: { name, class, per_head, per_layer, learned, value, row, count_text, about }
--   sets         how many sets of tables there are, as text: "LAYERS" or "1"; layer_index: the set of layer l
--   constants    parameters that are not learned, and edges of buckets: { name, lines }
--   learned      learned parameters: { name, member, count, per_layer }; their tensors are made by layout.lua
--   making       loop nests that fill the tables, in order; gradients: those that take gradients back to parameters
--                each { class, outer, key, lane, head: statements; sums: accumulators }
--   pair         statements of the score of a pair, and result; pair_gradient likewise; recomputes: the backward pass
--                needs the logit again; factor: its gradient differs from the score's
--
-- Letters and classes are those of expression/lower.lua.

local derive = require("expression.derive")
local emit = require("expression.emit")
local ir = require("expression.ir")
local lower = require("expression.lower")
local render = require("render")

local M = {}

local STAGES = { "uniform", "query", "key", "distance", "sum", "pair" }

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
local COUNT = { uniform = "1", query = "s->queries", key = "s->queries", distance = "s->distances", sum = "s->sums",
  pair = "s->pairs" }
local ABOUT = { uniform = "", query = "[queries]", key = "[keys]", distance = "[query - key]", sum = "[query + key]",
  pair = "[keys][queries]" }

local function has_head(p)
  return p.per == "head" or p.per == "layer_head"
end

local function has_layer(p)
  return p.per == "layer" or p.per == "layer_head"
end

-- The address of a table's entry in a loop nest: of `set`, s (values) or d (gradients).
local function address(set, t, class)
  local stride, place = STRIDE[t.class]:format(set), PLACE[t.class][class]:format(set)
  return ("%s->%s + %s%s"):format(set, t.name, t.per_head and "h * " .. stride .. " + " or "", place)
end

local function element(set, t, class)
  if t.class == "uniform" then
    return ("%s->%s[%s]"):format(set, t.name, t.per_head and "h" or "0")
  end
  local text = address(set, t, class):gsub(" %+ ", "[", 1)
  return text .. "]"
end

local function environment(build, class)
  local out = { lanes = LANES[class], flat = class == "score" }
  function out.literal(value)
    return (assert(build.real(value)))
  end
  function out.symbol(name)
    return (assert(SYMBOLS[class][name] or SYMBOLS.any[name], name))
  end
  function out.parameter(p)
    return p.learned and ("p->%sscore_%s"):format(has_layer(p) and "layer[l]." or "", p.name)
      or p.name .. "_values"
  end
  function out.edges(edges)
    return build.edges_name(edges)
  end
  -- A table of gradients is one whose `of` is the table that it belongs to.
  function out.load(t)
    local set, whole = t.of and "d" or "s", t.of or t
    local in_lanes = t.class ~= "uniform" and not (t.class == "key" and (class == "pair" or class == "score"))
    return in_lanes and ("load(%s)"):format(address(set, whole, class)) or element(set, whole, class)
  end
  return out
end


local function by_class(tables, class)
  local list = {}
  for _, t in ipairs(tables) do
    if t.class == class then
      list[#list + 1] = t
    end
  end
  return list
end

-- The loop nest that fills all tables of a class.
local function making(build, class, tables)
  local effects = {}
  for i, t in ipairs(tables) do
    effects[i] = { kind = class == "uniform" and "assign" or "store", node = t.value, per_head = t.per_head,
      target = class == "uniform" and element("s", t, class) or address("s", t, class) }
  end
  local nest = emit.statements(build.state, environment(build, class), effects)
  nest.class, nest.sums, nest.block = class, {}, #nest.outer > 0
  return nest
end

local function gradient_leaf(build, t)
  local of = { name = "d_" .. t.name, class = t.class, per_head = t.per_head, per_layer = t.per_layer, of = t }
  return build.builder:leaf("table", of.name, { table = of })
end

-- The effect that adds a gradient to a learned parameter; vector loops gather it in `sums` first.
local function to_parameter(class, entry, sums)
  local leaf, p = entry.leaf, entry.leaf.parameter
  local member = ("g->%sscore_%s"):format(has_layer(p) and "layer[l]." or "", p.name)
  local effect = { node = entry.gradient, per_head = has_head(p), loops = entry.loops }
  local count = (p.size or 1)
  local base = has_head(p) and (p.size and ("h * %d"):format(count) or "h") or nil
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
  sums[p.name] = { name = p.name .. "_sums", member = member, count = count, heads = has_head(p) }
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
    effect.kind, effect.target = "add", element("d", t, class)
  elseif t.class == "key" and class == "pair" then
    effect.kind, effect.target = "add_lanes", element("d", t, class)
  else
    effect.kind, effect.target = "add_at", address("d", t, class)
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

local function gradients(build, class, tables)
  local effects, sums = {}, {}
  for _, t in ipairs(tables) do
    if t.learned then
      local list = derive.gradients(build.builder, t.value, gradient_leaf(build, t), learned_leaf)
      for _, entry in ipairs(list) do
        local effect = entry.leaf.op == "table" and to_table(class, entry, sums) or to_parameter(class, entry, sums)
        effects[#effects + 1] = settle(build, class, effect)
      end
    end
  end
  if #effects == 0 then
    return nil
  end
  local nest = emit.statements(build.state, environment(build, class), effects)
  nest.class, nest.sums = class, {}
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

local function pair(build, score)
  local scope = environment(build, "score")
  local nest = emit.statements(build.state, scope, { { kind = "result", node = score } })
  return nest.lane
end

local GATHERED = { uniform = "gather_uniform", query = "gather_query", key = "gather_key",
  distance = "gather_distance", sum = "gather_sum", pair = "gather_pair" }

-- The gradient of the logit, and what the learned tables gather. dscore lacks the factor inverse_sum, weighted has it.
local function pair_gradient(build, score)
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
      target = t.class == "pair" and address("d", t, "score") or t.class == "key" and element("d", t, "score"),
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

-- Literals of a list as lines of text.
local function literal_lines(build, values)
  local lines, line = {}, ""
  for i, value in ipairs(values) do
    local word = assert(build.real(value))
    if #line + #word > 80 then
      lines[#lines + 1] = line
      line = word
    else
      line = i == 1 and word or line .. ", " .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

local function constants(build, parameters)
  for _, p in ipairs(parameters) do
    if not p.learned then
      table.insert(build.constants, { name = p.name .. "_values", lines = literal_lines(build, p.values) })
    end
  end
end

local function values_text(values, count)
  if not values then
    return nil
  end
  local words = {}
  for i = 1, count do
    words[i] = assert(render.f64(values[#values == 1 and 1 or i]))
  end
  return table.concat(words, ", ")
end

local function learned_parameters(plan, parameters)
  local list = {}
  for _, p in ipairs(parameters) do
    if p.learned then
      local count = (p.size or 1) * (has_head(p) and plan.heads or 1)
      local shape = has_head(p) and (p.size and { plan.heads, p.size } or { plan.heads }) or { p.size or 1 }
      list[#list + 1] = { name = p.name, member = "score_" .. p.name, count = count, room = (count + 15) // 16 * 16,
        shape = shape, per_layer = has_layer(p), init = p.init, values = p.values,
        values_text = values_text(p.values, count),
        shape_text = table.concat(shape, "][") }
    end
  end
  return list
end

local function describe_tables(tables)
  for _, t in ipairs(tables) do
    local count = t.class == "uniform" and "1" or COUNT[t.class]
    t.count_text = not t.per_head and count or t.class == "uniform" and "HEADS" or "HEADS * " .. count
    local shape = (t.per_head and "[HEADS]" or "") .. ABOUT[t.class]
    t.about = shape ~= "" and (" /* %s */"):format(shape) or ""
    if t.learned and (t.class == "distance" or t.class == "sum") then
      t.row, t.row_count_text = t.name .. "_row", COUNT[t.class]
    end
  end
end

-- Adds the words of statements to a set, to tell which arguments and locals their function needs.
local function words_of(statements, set)
  for _, statement in ipairs(statements) do
    for _, field in ipairs({ "value", "target", "index", "place", "element", "address" }) do
      for word in (statement[field] or ""):gmatch("[%a_][%w_]*") do
        set[word] = true
      end
    end
    if statement.kind == "gather_distance" or statement.kind == "gather_sum" then
      set.d, set.i, set.j = true, true, true
    end
  end
  return set
end

local function unused(set, names)
  local list = {}
  for _, name in ipairs(names) do
    if not set[name] then
      list[#list + 1] = name
    end
  end
  return list
end

local WIDE = { distance = true, sum = true, pair = true } -- loop nests whose bounds name T

-- What a function of loop nests needs to declare.
local function uses_of(nests, positions)
  local set = {}
  for _, nest in ipairs(nests) do
    for _, level in ipairs({ "outer", "key", "lane", "head" }) do
      words_of(nest[level], set)
    end
    set.s = set.s or nest.class ~= "uniform"
    set.T = set.T or WIDE[nest.class] or false
  end
  set.distance = set.distances_from or false
  set.l = set.l or set.distance and positions.distance.layer_index ~= "0"
    or set.position and positions.layer_index ~= "0"
  set.step = set.p or set.position or set.distance or set.T or false
  return set
end

local function describe_functions(out, positions)
  out.uses = uses_of(out.making, positions)
  out.end_uses = uses_of(out.gradients, positions)
  out.end_unused = unused(out.end_uses, { "l", "s" })
  out.pair_uses = words_of(out.pair, {})
  out.pair_uses.score = out.pair_uses.s or out.pair_uses.h
  out.pair_unused = unused(out.pair_uses, { "score", "i", "j", "logit" })
  out.grad_uses = words_of(out.pair_gradient, {})
  local arguments = {}
  local values = {}
  local function add(wanted, argument, value)
    if wanted then
      arguments[#arguments + 1] = argument
      values[#values + 1] = value
    end
  end
  add(out.gathers, "score_group *group, ", "&gathered, ")
  add(true, "int i, int j, ", "first, j, ")
  add(out.recomputes, "vector logit, ", "pair_logit(&queries, key, j), ")
  add(out.trains, "vector weighted, ", "dscore * live_inverse, ")
  out.grad_arguments, out.grad_pass = table.concat(arguments), table.concat(values)
  out.grad_uses.score = out.grad_uses.s or out.grad_uses.d or out.grad_uses.h
  out.grad_unused = unused(out.grad_uses, { "score", "i", "j", "dscore" })
  if out.recomputes and not out.grad_uses.logit then
    table.insert(out.grad_unused, "logit")
  end
  out.gathered_uses = words_of(out.gathered, {})
  local gathered = {}
  for _, t in ipairs(out.gathered) do
    local wide = t.class == "distance" or t.class == "sum"
    gathered.T = gathered.T or wide
    gathered.i = gathered.i or t.class ~= "uniform"
    gathered.group = gathered.group or not wide
  end
  out.gathered_unused = unused(gathered, { "group", "T", "i" })
  out.weighted_words = out.trains and "; weighted has it, and is 0 in\n * lanes beyond the last query" or ""
end

local GATHERS = { uniform = true, query = true, distance = true, sum = true }

-- Whether the pair loop gathers gradients of a table in registers.
local function used_in_pair(statements, t)
  for _, statement in ipairs(statements) do
    if statement.table == t then
      return GATHERS[t.class] or false
    end
  end
  return false
end

-- On which draws the tables hang, and how begin_step makes those of position draw d.
local function timing(out, positions)
  local uses = out.uses
  out.after = uses.distance and "distances" or uses.position and "positions" or "nothing"
  out.make_text = ({
    ["0"] = "for (int l = 0; l < SCORE_SETS; l++) make_score_set(step, l);",
    ["l"] = "make_score_set(step, d);",
    ["l + 1"] = "if (d > 0) make_score_set(step, d - 1);",
  })[positions.layer_index or "l"]
end

-- Whether the positions or distances that a layer's pairs read are drawn for that layer.
local function drawn_per_layer(positions)
  local index = positions.distance.kind == "difference" and positions.layer_index or positions.distance.layer_index
  return index ~= nil and index ~= "0"
end

function M.plan(source, plan)
  if not source then
    return { kind = "none", learned = {}, trains = false, grads = false, gathers = false, recomputes = false }
  end
  local build = { builder = source.builder, real = plan.precision == "float64" and render.f64 or render.f32,
    constants = {}, edges = 0 }
  local names = {}
  function build.edges_name(list)
    local lines = literal_lines(build, list)
    local text = table.concat(lines)
    if not names[text] then
      build.edges = build.edges + 1
      names[text] = build.edges == 1 and "edges" or "edges_" .. build.edges
      table.insert(build.constants, { name = names[text], lines = lines })
    end
    return names[text]
  end
  constants(build, source.parameters)
  local lowered = lower.lower(source.builder, source.root, { draws_per_layer = drawn_per_layer(plan.positions) })
  build.state = lowered.state
  local tables = lowered.tables
  describe_tables(tables)
  local out = { kind = "expression", formula = ir.text(source.root), rest = lowered.score, tables = tables, making = {},
    gradients = {}, constants = build.constants,
    learned = learned_parameters(plan, source.parameters), per_layer = false, trains = false }
  for _, t in ipairs(tables) do
    out.per_layer, out.trains = out.per_layer or t.per_layer, out.trains or t.learned
  end
  for _, class in ipairs(STAGES) do
    local members = by_class(tables, class)
    if #members > 0 then
      out.making[#out.making + 1] = making(build, class, members)
      local nest = gradients(build, class, members)
      if nest then
        table.insert(out.gradients, 1, nest)
      end
    end
  end
  out.pair = pair(build, lowered.score)
  out.pair_gradient, out.recomputes, out.factor = pair_gradient(build, lowered.score)
  out.sets = out.per_layer and plan.layers or 1
  out.sets_words = out.per_layer and ", one for each layer" or ", for all layers"
  out.set_of_layer = out.per_layer and "l" or "0"
  out.set_words = out.per_layer and ", that of layer l" or " for all layers"
  out.grads = out.trains or out.factor
  out.gathered, out.has = {}, { distance = false, sum = false, pair = false }
  for _, t in ipairs(tables) do
    out.has[t.class] = true
    if t.learned and used_in_pair(out.pair_gradient, t) then
      out.gathered[#out.gathered + 1] = { name = t.name, class = t.class, row = t.row,
        element = t.class == "uniform" and element("d", t, "score"), address = t.class ~= "uniform"
          and address("d", t, t.class == "pair" and "score" or t.class) }
    end
  end
  out.gathers = #out.gathered > 0
  describe_functions(out, plan.positions)
  timing(out, plan.positions)
  return out
end

return M
