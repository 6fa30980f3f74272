-- Loop nests of scores on a GPU: scalars, a thread owns an entry of a table. What a target is: nests_cpu.lua.
--
-- Every number has one owner, who adds up its terms in a fixed order: no atomic additions. Beside nests.lua's input,
-- build has what fills up as nests are made: `gathered`, tables whose gradients the pair loop gathers; `parts`, tables
-- that receive gradients from other tables; `work`, arrays of end_score { type, name, count }; `uniform_work`, those of
-- tables without entries { array, extent }; `names`, what arrays are called.
-- Texts name what templates/attention/cuda/scalar.tpl declares: s, d and w: tables, their gradients, end_score's room;
-- p and g; T; h, l, i, j, o, t as in nests_cpu.lua; e: number of a pair. Nests have, besides nests_cpu.lua's,
--
--   parts      { name, per_head, array, place }: what a pair adds up, in `name`, for its place in an array of parts
--   scatters   { member, heads, size, index, index_stride, value, count }: lists of indices and values, one for every
--              entry, that owners of a parameter's elements go through

local emit = require("expression.emit")
local leaves = require("expression.leaves")
local lower = require("expression.lower")
local nests = require("expression.nests")
local syntax = require("expression.syntax")

local M = {}

local LANES = { uniform = {}, query = { q = true }, key = { k = true }, distance = { o = true }, sum = { t = true },
  pair = { q = true, k = true, o = true, t = true }, score = { q = true, k = true, o = true, t = true, s = true } }

-- Symbols that are whole numbers by loop nest: text, how tightly it binds, names; `any` in all of them.
local INTEGERS = {
  any = { head = { "h", 14, "h" }, layer = { "l", 14, "l" }, length = { "T", 14, "T" },
    key_length = { "S", 14, "S" } },
  uniform = {},
  query = { query_index = { "i", 14, "i" }, query = { "position[i]", 14, "position", "i" } },
  key = { key_index = { "j", 14, "j" }, key = { "position[j]", 14, "position", "j" } },
  distance = { offset = { "-o", 13 }, distance = { "drawn_distance(drawn, -o)", 14, "drawn" } },
  sum = { total = { "t", 14 } },
  pair = { query_index = { "i", 14, "i" }, key_index = { "j", 14, "j" }, offset = { "j - i", 11, "i", "j" },
    total = { "i + j", 11, "i", "j" }, query = { "position[i]", 14, "position", "i" },
    key = { "position[j]", 14, "position", "j" },
    distance = { "drawn_distance(drawn, j - i)", 14, "drawn", "i", "j" } },
  score = {},
}
-- Those of cross-attention where they differ: a draw of each stream.
local CROSS_INTEGERS = { key = {}, pair = {} }
for class, symbols in next, CROSS_INTEGERS do
  symbols.key = { "key_position[j]", 14, "key_position", "j" }
  setmetatable(symbols, { __index = INTEGERS[class] })
end
for class, symbols in next, INTEGERS do
  setmetatable(symbols, class ~= "any" and { __index = INTEGERS.any } or nil)
end
local NUMBERS = { score = { "logit", "logit" }, dscore = { "dscore", "dscore" } }

local STRIDE = { uniform = "1", query = "%s->tokens", key = "%s->tokens", distance = "%s->distances",
  sum = "%s->distances", pair = "%s->pairs" }
local PLACE = {
  query = { query = "i", pair = "i", score = "i" },
  key = { key = "j", pair = "j", score = "j" },
  distance = { distance = "o", pair = "i - j", score = "i - j" },
  sum = { sum = "t", pair = "i + j", score = "i + j" },
  pair = { pair = "e", score = "(size_t)j * %s->tokens + i" },
}
-- Those of cross-attention, T queries and S keys, where they differ.
local CROSS_STRIDE = setmetatable({ key = "%s->keys" }, { __index = STRIDE })
local I, J, IJ, NONE = { "i" }, { "j" }, { "i", "j" }, {}
local PLACE_NAMES = { -- what these mention, but for the indices of loops over a distance, a sum or all pairs
  query = { query = I, pair = I, score = I }, key = { key = J, pair = J, score = J },
  distance = { distance = NONE, pair = IJ, score = IJ }, sum = { sum = NONE, pair = IJ, score = IJ },
  pair = { pair = NONE, score = IJ },
}

-- How many entries a class has, and the number of one.
local COUNT = { query = "T", key = "T", distance = "(2 * T - 1)", sum = "(2 * T - 1)", pair = "T * T" }
local NUMBER = { query = "i", key = "j", distance = "o + T - 1", sum = "t", pair = "e" }
local NUMBER_NAMES = { query = I, key = J, distance = { "T" }, sum = NONE, pair = NONE }

local CROSS_COUNT = { query = "T", key = "S", distance = "(T + S - 1)", sum = "(T + S - 1)", pair = "T * S" }
local CROSS_NUMBER = setmetatable({ distance = "o + S - 1" }, { __index = NUMBER })
local CROSS_NUMBER_NAMES = setmetatable({ distance = { "S" } }, { __index = NUMBER_NAMES })

local function stride(build, class, set)
  return (build.cross and CROSS_STRIDE or STRIDE)[class]:format(set)
end

local function count_of(build, class)
  return (build.cross and CROSS_COUNT or COUNT)[class]
end

-- A table's entry in a loop nest: of `set`, s (values) or d (gradients).
function M.element(build, set, t, class)
  leaves.mention(build, set, t.per_head and "h" or nil)
  if t.class == "uniform" then
    return ("%s->%s[%s]"):format(set, t.name, t.per_head and "h" or "0")
  end
  leaves.mention(build, table.unpack(PLACE_NAMES[t.class][class]))
  local head = t.per_head and "h * " .. stride(build, t.class, set) .. " + " or ""
  return ("%s->%s[%s%s]"):format(set, t.name, head, PLACE[t.class][class]:format(set))
end

-- The functions of kernels/cuda/score.cu that add up what pairs send to a table.
local OVER = { query = "sum_keys(%s, i, T)", key = "sum_queries(%s, j, T)", distance = "sum_diagonal(%s, o, T)",
  sum = "sum_antidiagonal(%s, t, T)" }
local CROSS_OVER = { query = "sum_cross_keys(%s, i, T, S)", key = "sum_queries(%s, j, T)",
  distance = "sum_cross_diagonal(%s, o, T, S)", sum = "sum_cross_antidiagonal(%s, t, T, S)" }
local OVER_NAMES = { uniform = NONE, query = { "i", "T" }, key = { "j", "T" }, distance = { "T" }, sum = { "T" } }
local CROSS_OVER_NAMES = { uniform = NONE, query = { "i", "T", "S" }, key = { "j", "T" }, distance = { "T", "S" },
  sum = { "T", "S" } }

-- The gradient of a table's entry: what the pair loop has gathered, for each head, and what other tables have sent.
local function gradient(build, t, class)
  local gathered, sent
  if build.gathered[t] then
    local place = t.class == "uniform" and "" or " + " .. PLACE[t.class][class]
    leaves.mention(build, "d", table.unpack(t.class ~= "uniform" and PLACE_NAMES[t.class][class] or {}))
    gathered = t.per_head and M.element(build, "d", t, class)
      or ("sum_heads(d->%s%s, %s)"):format(t.name, place, stride(build, t.class, "d"))
  end
  if build.parts[t] then
    leaves.mention(build, "w", t.per_head and "h" or nil)
    leaves.mention(build, table.unpack((build.cross and CROSS_OVER_NAMES or OVER_NAMES)[t.class]))
    leaves.mention(build, t.per_head and t.class ~= "uniform" and "s" or nil)
  end
  if build.parts[t] and t.class == "uniform" then
    sent = ("w.%s[%s]"):format(t.name, t.per_head and "h" or "0")
  elseif build.parts[t] then
    local pairs_of = ("w.%s%s"):format(t.name, t.per_head and " + h * s->pairs" or "")
    sent = (build.cross and CROSS_OVER or OVER)[t.class]:format(pairs_of)
  end
  return gathered and sent and ("(%s + %s)"):format(gathered, sent) or gathered or sent
end

function M.environment(build, class)
  local integers = build.cross and CROSS_INTEGERS[class] or INTEGERS[class]
  local out = leaves.environment(build, LANES[class], NUMBERS, {}, integers)
  out.scalar, out.flat = true, class == "score"
  local number, plain = out.symbol, out.integer
  function out.integer(name)
    local text, binds = plain(name)
    return text and (name == "distance" and build.prefix or "") .. text, binds
  end
  function out.symbol(name)
    local integer, binds = out.integer(name)
    if not integer then
      return number(name)
    end
    return "(real)" .. (binds < 13 and "(" .. integer .. ")" or integer)
  end
  function out.load(t)
    return t.of and gradient(build, t.of, class) or M.element(build, "s", t, class)
  end
  return out
end

function M.fill(build, t, class)
  return { kind = "assign", target = M.element(build, "s", t, class), wide = true }
end

-- An array that end_score needs; count: as lay_out_score_work says it.
local function work(build, type, name, count)
  leaves.mention(build, "w")
  build.names[name] = (build.names[name] or 0) + 1
  local unique = build.names[name] > 1 and name .. "_" .. build.names[name] or name
  table.insert(build.work, { type = type, name = unique, count = "(size_t)" .. count })
  return "w." .. unique
end

local function heads(build, count, per_head)
  return per_head and build.heads .. " * " .. count or count
end

function M.to_table(build, nest, t, class, effect)
  local part = build.parts[t]
  leaves.mention(build, "w", t.per_head and "h" or nil)
  if t.class == "uniform" then
    if not part then
      build.parts[t] = { array = work(build, "real", t.name, t.per_head and build.heads or "1"),
        extent = t.per_head and build.heads or "1" }
      table.insert(build.uniform_work, build.parts[t])
    end
    effect.kind, effect.target, effect.base = "add_element", t.name .. "_sums", t.per_head and "h" or nil
    nest.sums[t.name] = { name = effect.target, member = build.parts[t].array, count = 1, heads = t.per_head }
    return
  elseif not part then
    local count = heads(build, count_of(build, "pair"), t.per_head)
    part = { array = work(build, "real", t.name, count), effects = {}, table = t,
      place = t.per_head and "h * s->pairs + e" or "e" }
    build.parts[t] = part
    table.insert(nest.parts, part)
  end
  assert(class == "pair")
  leaves.mention(build, t.per_head and "s" or nil)
  table.insert(part.effects, effect)
end

-- A part that comes at once is stored at once; others are added up first.
function M.finish(build, nest)
  local kept = {}
  for _, part in ipairs(nest.parts) do
    local effect, t = part.effects[1], part.table
    if #part.effects == 1 and #effect.loops == 0 and (t.per_head or not lower.needs(build.state, effect.node).h) then
      effect.kind, effect.target, effect.wide = "assign", ("%s[%s]"):format(part.array, part.place), true
    else
      part.name, part.per_head = "to_" .. t.name, t.per_head
      kept[#kept + 1] = part
      for _, each in ipairs(part.effects) do
        each.kind, each.target, each.base = t.per_head and "add_element" or "add", part.name, t.per_head and "h" or nil
      end
    end
  end
  nest.parts = kept
end

-- The place in a list that has one number for every entry, and for every turn of the loops around it, of every head.
local function list_place(build, class, loops, per_head)
  leaves.mention(build, class ~= "uniform" and (per_head or loops[1]) and "s" or nil)
  leaves.mention(build, per_head and "h" or nil)
  leaves.mention(build, table.unpack((build.cross and CROSS_NUMBER_NAMES or NUMBER_NAMES)[class]))
  local place = per_head and "h"
  for _, index in ipairs(loops) do
    place = (place and (place:find(" ") and "(" .. place .. ")" or place) .. " * " .. index.count .. " + " or "")
      .. syntax.index_name(index)
  end
  return (place and (place:find(" ") and "(" .. place .. ")" or place) .. " * " .. stride(build, class, "s") .. " + "
    or "") .. (build.cross and CROSS_NUMBER or NUMBER)[class]
end

function M.scatter(build, nest, class, effect, p)
  local loops, of_head = effect.loops or {}, leaves.has_head(p)
  local value_heads = of_head or lower.needs(build.state, effect.node).h or false
  local index_heads = lower.needs(build.state, effect.index_node).h or value_heads and not of_head
  local turns, count = "", count_of(build, class)
  for _, index in ipairs(loops) do
    turns = turns .. index.count .. " * "
  end
  local values = work(build, "real", p.name .. "_values", heads(build, turns .. count, value_heads))
  local indices = work(build, "int", p.name .. "_indices", heads(build, turns .. count, index_heads))
  local list = turns .. stride(build, class, "s")
  leaves.mention(build, class ~= "uniform" and "s" or nil)
  table.insert(nest.scatters, { member = leaves.member(build, "g", p), heads = of_head and build.heads or "1",
    size = p.size,
    index = indices, index_stride = index_heads and of_head and list or "0", value = values,
    count = value_heads and not of_head and build.heads .. " * " .. list or list })
  return {
    { kind = "assign", node = effect.index_node, integer = true, per_head = index_heads, loops = loops, wide = true,
      target = ("%s[%s]"):format(indices, list_place(build, class, loops, index_heads)) },
    { kind = "assign", node = effect.node, per_head = value_heads, loops = loops, wide = true,
      target = ("%s[%s]"):format(values, list_place(build, class, loops, value_heads)) },
  }
end

local OWNERS = { "uniform", "query", "key", "distance", "sum", "pair" }
local OWN = { query = "i", key = "j", distance = "o", sum = "t", pair = "(size_t)j * d->tokens + i" }

-- What the pair loop gathers: by class a list of tables { name, target } with statements and needs_logit; the
-- statements of the gradient of the logit, and whether it differs from the score's.
function M.pair_gradient(build, score)
  local dscore = nests.given(build, "dscore")
  local effects, gathers = {}, {}
  for _, entry in ipairs(nests.table_gradients(build, score, dscore)) do
    local t = entry.leaf.table
    build.gathered[t] = true
    local list, own = gathers[t.class] or {}, effects[t.class] or {}
    gathers[t.class], effects[t.class] = list, own
    own[#own + 1] = { kind = "add", node = entry.gradient, loops = entry.loops, target = ("out[%d]"):format(#list) }
    local place = t.class == "uniform" and "h" or ("h * %s + %s"):format(stride(build, t.class, "d"), OWN[t.class])
    list[#list + 1] = { name = t.name, table = t, target = ("d->%s[%s]"):format(t.name, place) }
  end
  local environment = M.environment(build, "score")
  local function statements(of, writes)
    local mentioned = leaves.collect(build)
    leaves.mention(build, writes)
    local list = emit.statements(build.state, environment, of).lane
    list.mentioned = mentioned
    return list
  end
  for _, class in ipairs(OWNERS) do
    if gathers[class] then
      gathers[class].statements = statements(effects[class], "out")
      gathers[class].needs_logit = nests.needs_logit(build, effects[class])
    end
  end
  local logit = { { kind = "result", node = nests.logit_gradient(build, score, dscore) } }
  return gathers, statements(logit), logit[1].node ~= dscore
end

return M
