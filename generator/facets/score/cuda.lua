-- The score on a GPU: the plan for scalar_layout.tpl and scalar.tpl of templates/attention/cuda, and for their callers.
--
-- Input: the context of loop nests and the plan of the facet (facets/score.lua), and the formula after its split into
-- tables and the pair formula (expression/lower.lua). Output:
--
--   tables              members of the struct score_tables: { name, class, declared, type, count, comment };
--                       tables.has_distance_tables: whether some are tables by query - key, which start before their
--                       pointers
--   numbers             members of score_tables that are numbers of elements, which depend on the number of tokens
--   gradients, gradient_numbers   the same for the struct score_gradients
--   gradient_set        names of the struct of gradients and of its functions; those of score_tables if both structs
--                       have equal members
--   pair                statements of the score of a pair
--   logit_grad          statements of the logit's gradient; false if it equals the score's
--   gathers             by class: the tables whose gradients the loop over pairs gathers, { name, target, index (from
--                       0) }, with class, count, statements, needs_logit
--   lists               the values of `gathers` in a fixed order; uniform_count: the count of class uniform
--   stages, stage_count lists of loop nests that fill tables, with barriers between the lists; their number
--   gradient_nests      loop nests that propagate gradients to parameters
--   work                arrays that gradient_nests need, members of the struct score_work; uniform_work: those that
--                       start at 0
--   filling, ending     for the function that fills tables, and for the one that ends a step: uses, the set of the
--                       names that the function declares; ending.scratch_words: words for the memory that it needs

local classes = require("facets.score.table_classes")
local cuda = require("expression.nests_cuda")
local lists = require("base.lists")
local nests = require("expression.nests")

local M = {}

local RANKS = { { "uniform" }, { "query", "key", "distance", "sum" }, { "pair" } }

local function make_member(build, t, per_head)
  local count = classes.write_count(t, cuda.write_stride(build, t.class, "s"), per_head and build.heads)
  return { name = t.name, class = t.class, declared = "reals ", type = "real",
    comment = classes.describe_shape(t, per_head), count = count }
end

-- The members for gradients. Each has elements for each head, even if the heads share the table.
local function list_gradients(build, gathers)
  return lists.collect(classes, function(class)
    return lists.map(gathers[class] or {}, function(entry) return make_member(build, entry.table, true) end)
  end)
end

-- The numbers of elements that a struct with these members needs, { type, name, value, comment }; at least one, since C
-- has no empty struct. Sets members.has_distance_tables. is_first: whether the struct is score_tables, whose numbers
-- have full comments.
local function list_numbers(build, members, is_first)
  local has, list, cross = lists.to_set(lists.map(members, function(m) return m.class end)), {}, build.cross
  local function add(is_needed, type, name, value, comment)
    list[#list + 1] = is_needed and classes.make_number(type, name, value, comment) or nil
  end
  add(has.query or has.key and not cross or has.pair or not next(has), "int", "tokens", "T",
    not is_first and "as in score_tables" or "T: elements of one head by query" .. (cross and "" or " or key"))
  add(has.key and cross, "int", "keys", "S", is_first and "S: elements of one head by key")
  add(has.distance or has.sum, "int", "distances", cross and "T + S - 1" or "2 * T - 1", is_first
    and ("%s - 1: elements of one head by query - key or query + key"):format(cross and "T + S" or "2 T"))
  add(has.pair, "size_t", "pairs", ("(size_t)T * (size_t)%s"):format(cross and "S" or "T"),
    is_first and (cross and "T S" or "T^2"))
  members.has_distance_tables = has.distance or false
  return list
end

local TABLES_SET = { shared = true, type = "score_tables", lay_out = "lay_out_score", bytes = "score_bytes" }
local SEPARATE_SET = { shared = false, type = "score_gradients", lay_out = "lay_out_score_gradients",
  bytes = "score_gradient_bytes" }

local function describe_gradients(members, tables)
  local function list_counts(list)
    return table.concat(lists.map(list, function(m) return m.name .. " " .. m.count end), "; ")
  end
  return list_counts(members) == list_counts(tables) and TABLES_SET or SEPARATE_SET
end

local BY_KEYS = { key = true, distance = true, sum = true } -- classes whose loops in cross-attention depend on S

local function find_uses(build, nest)
  local set = lists.merge(nest.words, { staging = nest.sums[1] ~= nil })
  set.T = set.T or nest.class ~= "uniform" and not (build.cross and nest.class == "key")
  set.S = set.S or build.cross and BY_KEYS[nest.class] or false
  set.s = set.s or nest.class == "pair"
  set.stride = not nest.on_one_thread
  return set
end

local function depends_on(arrays, word)
  return lists.any(arrays, function(array) return array.count:find("%f[%w]" .. word .. "%f[%W]") ~= nil end)
end

local function merge_uses(build, list)
  local set = { drawn = false, key_position = false, position = false, p = false, staging = false,
    s = false, w = false }
  for _, nest in ipairs(list) do
    for word, used in next, nest.uses do
      set[word] = set[word] or used
    end
  end
  set.T = set.T or set.w and depends_on(build.work, "T") or false
  set.S = build.cross and (set.S or set.w and depends_on(build.work, "S")) or false
  return set
end

local RESULTS = { assign = true, add = true, add_element = true }

local function has_kind(statements, kinds)
  return lists.any(statements, function(statement) return kinds[statement.kind] end)
end

-- Sets fields of a nest: uses, the set of the names that it reads; on_one_thread, whether one thread runs the whole
-- nest (otherwise threads share the entries, or the heads if there are no entries); long_heads, whether the loop over
-- heads contains other loops, in which case unrolling it would need too many registers. may_share_heads: whether
-- threads may share the heads.
local function describe(build, nest, may_share_heads)
  nest.on_one_thread = nest.class == "uniform"
    and (not may_share_heads or not nest.head[1] or has_kind(nest.outer, RESULTS))
  nest.long_heads = has_kind(nest.head, { loop = true })
  nest.uses = find_uses(build, nest)
  return nest
end

-- The loop nests that fill tables, by stage, and the record of the function that contains them.
local function make_filling(build, tables)
  local stages, all_nests = {}, {}
  for _, rank in ipairs(RANKS) do
    local stage = { number = #stages }
    for _, class in ipairs(rank) do
      local members = classes.list_members(tables, class)
      if #members > 0 then
        stage[#stage + 1] = describe(build, nests.make_filling(build, class, members), true)
        all_nests[#all_nests + 1] = stage[#stage]
      end
    end
    if #stage > 0 then
      stages[#stages + 1] = stage
    end
  end
  return stages, { uses = merge_uses(build, all_nests) }
end

-- The loop nests that propagate gradients from tables to parameters, and the record of the function that contains them.
-- Nests of pairs come first, since they add to gradients of other tables. Barriers separate threads that read from
-- threads that write, and nests that add to the same sums.
local function make_gradients(build, tables)
  local list = {}
  for i = #classes, 1, -1 do
    local nest = nests.make_gradients(build, classes[i], classes.list_members(tables, classes[i]))
    if nest then
      list[#list + 1] = describe(build, nest, false)
    end
  end
  for i, nest in ipairs(list) do
    local scatters, last = nest.scatters[1] ~= nil, i == #list
    nest.barrier_within = scatters and not nest.sums[1] -- add_block_sums ends with a barrier
    nest.barrier_after = not last and (scatters or not nest.sums[1])
  end
  local uses = merge_uses(build, list)
  local memory = {}
  memory[1] = uses.w and build.prefix .. "score_work_bytes(T) bytes of scratch" or nil
  memory[#memory + 1] = uses.staging and "THREADS elements of staging, which is shared memory" or nil
  return list, { uses = uses, scratch_words = memory[1] and ", with " .. table.concat(memory, ", ") or "" }
end

local function describe_pair(out, build, score)
  out.pair = nests.make_pair(build, score)
  local gathers, logit_grad, differs = cuda.derive_pair(build, score)
  out.logit_grad = differs and logit_grad
  out.gathers = gathers
  for class, list in next, gathers do
    list.class, list.count, list.names = class, #list, table.concat(lists.get_names(list), ", ")
    for i, entry in ipairs(list) do
      entry.index = i - 1
    end
  end
  out.lists = lists.map(classes, function(class) return gathers[class] end)
  out.uniform_count = gathers.uniform and #gathers.uniform or 0
end

function M.plan(build, lowered, score)
  build = setmetatable({ target = cuda, gathered = {}, parts = {}, work = {}, names = {}, uniform_work = {} },
    { __index = build })
  local out = { layer_words = score.per_layer and " of layer l" or "" }
  describe_pair(out, build, lowered.score)
  out.stages, out.filling = make_filling(build, score.tables)
  out.stage_count = #out.stages
  out.gradient_nests, out.ending = make_gradients(build, score.tables)
  out.tables = lists.map(score.tables, function(t) return make_member(build, t, t.per_head) end)
  out.gradients = list_gradients(build, out.gathers)
  out.numbers = list_numbers(build, out.tables, true)
  out.gradient_set = describe_gradients(out.gradients, out.tables)
  out.gradient_numbers = list_numbers(build, out.gradients, false)
  out.work, out.uniform_work = lists.map(build.work, function(w)
    return { name = w.name, declared = w.type .. " *", type = w.type, comment = "", count = w.count }
  end), build.uniform_work
  return out
end

return M
