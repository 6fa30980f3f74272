-- The plan of a score for device code. The templates scalar_layout.tpl and scalar.tpl of templates/attention/cuda, and
-- templates that include them, read it.
--
-- Input: the context of loop nests and the plan of the facet (make_build and M.derive of facets/score.lua), and the
-- formula after its split into tables and the pair formula (expression/lower.lua). Output:
--
--   tables              members of the struct score_tables: { name, class, declared, type, count, comment }, such as
--                       declared = "reals ", type = "real", count = "(size_t)s->distances";
--                       tables.has_distance_tables: whether there are tables with the index (query - key), which can be
--                       negative
--   numbers             members of score_tables that are numbers of elements, which depend on the number of tokens
--   gradients           members of the struct score_gradients that are tables
--   gradient_numbers    members of score_gradients that are numbers of elements
--   gradient_set        names of score_gradients and its functions; the names of score_tables if both structs have
--                       equal members
--   pair                statements of the score of a pair
--   logit_grad          statements of the logit's gradient; false if it equals the score's gradient
--   gathered_by_class   class -> list of the tables whose gradients the loop over pairs gathers (adds up in variables).
--                       Running sums have the classes query_token and key_token, with the value false instead of an
--                       empty list. An item of a list is { name, target, index (from 0) }. Fields of a list:
--     class                 the class
--     count                 the number of items
--     names                 the names of the tables in one text
--     statements            the statements that compute the gradients
--     needs_logit           whether these statements read the logit
--   lists               the lists of gathered_by_class in a fixed order
--   running             false, or a description of terms of tokens and their running sums: the fields of the result of
--                       nests.make_token_statements, and
--     words                 the words for terms and running sums in comments
--     rows                  for each running sum, C text of the index of its row for head h
--     products              the products of nests.make_token_statements, in the same order:
--       name, unit, start     fields of nests.make_token_statements
--       vector                the name of the parameter
--       by_norm               C text that divides by the norm of the parameter, such as " / slope_divisor"; or ""
--       index_text            C text of the index of element e's gradient in the array of gradients of products, such
--                             as "count + e"
--       offset_text           C text to append to the array's name, for the address of this product's gradients, such
--                             as " + count"; or ""
--     stores_of_query, stores_of_key   statements { target, operator, value } that store gradients after the loop over
--                           pairs of a query, or of a key. The gradient of a number that no pair reads is 0:
--                           a statement of stores_of_query stores it
--   row_sums            false, or the list of the sums over the keys of a query. Fields of a sum:
--     name                  the name of the sum
--     number                its index, from 0
--     offset                C text that adds this index, such as " + 1"; "" for the index 0
--     term                  the list of the statements that compute the term of a pair
--   Further fields of the list row_sums:
--     count                 the number of sums
--     stride                C text that multiplies by this number, such as " * 2"; "" if there is one sum
--     gradients             the statements that add the gradients of a pair's sums to dsums
--     has_gradients         whether a gradient reaches any sum
--   uniform_count       the number of gathered tables of class uniform
--   stages              lists of loop nests that fill tables, with barriers between the lists
--   stage_count         the number of these lists
--   gradient_nests      loop nests that propagate gradients to parameters
--   work                temporary arrays of gradient_nests: the members of the struct score_work
--   uniform_work        the arrays of score_work that are cleared first: gradients for tables of class uniform
--   filling             record of the function that fills tables: { uses }; uses: the set of the names that the
--                       function reads, and therefore declares
--   ending              record of the function that ends a step: { uses, scratch_words }; scratch_words: words about
--                       the memory that the function needs, for a comment

local classes = require("facets.score.table_classes")
local cuda = require("expression.nests_cuda")
local lists = require("base.lists")
local nests = require("expression.nests")

local M = {}

-- The classes of tables in stages: tables of a stage read only tables of earlier stages.
local CLASSES_BY_STAGE = { { "uniform" }, { "query", "key", "distance", "sum" }, { "pair" } }

local function make_member(build, t, per_head)
  local count = classes.write_count(t, cuda.write_stride(build, t.class, "s"), per_head and build.heads)
  return { name = t.name, class = t.class, declared = "reals ", type = "real",
    comment = classes.describe_shape(t, per_head), count = count }
end

-- The members for gradients. Each has elements for each head, even if the heads share the table.
local function list_gradients(build, gathered_tables)
  return lists.collect(classes, function(class)
    local per_head = true
    return lists.map(gathered_tables[class] or {}, function(entry) return make_member(build, entry.table, per_head) end)
  end)
end

-- The numbers of elements that a struct with these members needs, { type, name, value, comment }; at least one, since C
-- has no empty struct. Sets members.has_distance_tables. has_full_comments: true for the struct score_tables, to which
-- the comments of other structs refer.
local function list_numbers(build, members, has_full_comments)
  local has, list, cross = lists.to_set(lists.map(members, function(m) return m.class end)), {}, build.cross
  local function add(is_needed, type, name, value, comment)
    list[#list + 1] = is_needed and classes.make_number(type, name, value, comment) or nil
  end
  add(has.query or has.key and not cross or has.pair or not next(has), "int", "tokens", "T",
    not has_full_comments and "as in score_tables"
      or ("T: elements of a table [query]%s for one head"):format(cross and "" or " or [key]"))
  add(has.key and cross, "int", "keys", "S", has_full_comments and "S: elements of a table [key] for one head")
  add(has.distance or has.sum, "int", "distances", cross and "T + S - 1" or "2 * T - 1", has_full_comments
    and ("%s - 1: elements of a table [query - key] or [query + key] for one head"):format(cross and "T + S" or "2 T"))
  add(has.pair, "size_t", "pairs", ("(size_t)T * (size_t)%s"):format(cross and "S" or "T"),
    has_full_comments and (cross and "T S" or "T^2"))
  members.has_distance_tables = has.distance or false
  return list
end

local TABLES_SET = { shared = true, type = "score_tables", lay_out = "lay_out_score", bytes = "score_bytes" }
local SEPARATE_SET = { shared = false, type = "score_gradients", lay_out = "lay_out_score_gradients",
  bytes = "score_gradient_bytes" }

-- The field gradient_set of the output. members, tables: the members of score_gradients and of score_tables.
local function describe_gradients(members, tables)
  local function list_counts(list)
    return table.concat(lists.map(list, function(m) return m.name .. " " .. m.count end), "; ")
  end
  return list_counts(members) == list_counts(tables) and TABLES_SET or SEPARATE_SET
end

local CLASSES_OF_KEYS = { key = true, distance = true, sum = true } -- their loops in cross-attention depend on S

-- The set of the names that a nest reads: words of its statements, and names that only its loops read.
local function find_uses(build, nest)
  local set = lists.merge({ i = false, j = false }, nest.words, { staging = nest.sums[1] ~= nil })
  set.T = set.T or nest.class ~= "uniform" and not (build.cross and nest.class == "key")
  set.S = set.S or build.cross and CLASSES_OF_KEYS[nest.class] or false
  set.s = set.s or nest.class == "pair"
  set.stride = not nest.on_one_thread
  return set
end

local function depends_on(arrays, word)
  return lists.any(arrays, function(array) return array.count:find("%f[%w]" .. word .. "%f[%W]") ~= nil end)
end

-- The set of the names that a function with these nests reads.
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

-- The kinds of statements that store a result of a nest.
local RESULT_KINDS = { assign = true, add = true, add_element = true }

local function has_kind(statements, kinds)
  return lists.any(statements, function(statement) return kinds[statement.kind] end)
end

-- Sets fields of a nest:
--   uses            the set of the names that it reads
--   on_one_thread   whether one thread runs the whole nest; false: threads share the entries of the tables, or for the
--                   class uniform the heads
--   long_heads      whether the loop over heads contains other loops; unrolling it would need too many registers
local function describe_nest(build, nest, may_share_heads)
  nest.on_one_thread = nest.class == "uniform"
    and (not may_share_heads or not nest.head[1] or has_kind(nest.outer, RESULT_KINDS))
  nest.long_heads = has_kind(nest.head, { loop = true })
  nest.uses = find_uses(build, nest)
  return nest
end

-- The loop nests that fill tables, by stage, and the record of the function that contains them.
local function make_filling(build, tables)
  local stages, all_nests, may_share_heads = {}, {}, true
  for _, stage_classes in ipairs(CLASSES_BY_STAGE) do
    local stage = { number = #stages }
    for _, class in ipairs(stage_classes) do
      local members = classes.list_members(tables, class)
      if #members > 0 then
        stage[#stage + 1] = describe_nest(build, nests.make_filling(build, class, members), may_share_heads)
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
-- Nests of pairs come first, since they add to gradients of other tables. A barrier separates writes of some threads
-- from later reads by other threads, and separates nests that add to the same sums.
local function make_gradients(build, tables)
  local described_nests, may_share_heads = {}, false
  for i = #classes, 1, -1 do
    local nest = nests.make_gradients(build, classes[i], classes.list_members(tables, classes[i]))
    if nest then
      described_nests[#described_nests + 1] = describe_nest(build, nest, may_share_heads)
    end
  end
  for i, nest in ipairs(described_nests) do
    local has_scatters, is_last = nest.scatters[1] ~= nil, i == #described_nests
    nest.barrier_within = has_scatters and not nest.sums[1] -- add_block_sums, which adds sums, ends with a barrier
    nest.barrier_after = not is_last and (has_scatters or not nest.sums[1])
  end
  local uses = merge_uses(build, described_nests)
  local memory = {}
  memory[1] = uses.w and build.prefix .. "score_work_bytes(T) bytes of scratch" or nil
  memory[#memory + 1] = uses.staging and "THREADS elements of staging, which is shared memory" or nil
  return described_nests, { uses = uses, scratch_words = memory[1] and ", with " .. table.concat(memory, ", ") or "" }
end

-- The field row_sums of the output.
local function describe_row_sums(build, score, row_sums)
  if not row_sums then
    return false
  end
  local described_sums = lists.map(build.row_sums, function(sum)
    local number = sum.leaf.list_index
    return { name = sum.name, number = number, offset = number > 0 and " + " .. number or "",
      term = nests.make_pair(build, sum.term) }
  end)
  described_sums.count, described_sums.stride = #described_sums, #described_sums > 1 and " * " .. #described_sums or ""
  described_sums.gradients, described_sums.has_gradients = cuda.make_sum_gradients(build, score), row_sums.has_gradients
  return described_sums
end

-- Sets the fields pair, logit_grad, gathered_by_class, lists and uniform_count of the output.
local function describe_pair(out, build, score)
  out.pair = nests.make_pair(build, score)
  local gathered_tables, logit_grad, differs = cuda.derive_pair(build, score)
  out.logit_grad = differs and logit_grad
  out.gathered_by_class = gathered_tables
  for class, class_tables in next, gathered_tables do
    class_tables.class, class_tables.count = class, #class_tables
    class_tables.names = table.concat(lists.get_names(class_tables), ", ")
    for i, entry in ipairs(class_tables) do
      entry.index = i - 1
    end
  end
  out.lists = lists.map(lists.join(classes, { cuda.TOKEN_CLASSES.query, cuda.TOKEN_CLASSES.key }), function(class)
    return gathered_tables[class]
  end)
  out.uniform_count = gathered_tables.uniform and #gathered_tables.uniform or 0
  for _, class in next, cuda.TOKEN_CLASSES do
    gathered_tables[class] = gathered_tables[class] or false
  end
end

-- A product of rows and a learned vector. index: the index of the product in the list of all products, from 1.
local function describe_product(value, index)
  local p, offset = value.parameter, index > 2 and ("%d * count"):format(index - 1) or "count"
  return { name = value.name, vector = p.name, unit = value.unit, start = value.start,
    by_norm = value.unit and (" / %s_divisor"):format(p.name) or "",
    index_text = index > 1 and offset .. " + e" or "e", offset_text = index > 1 and " + " .. offset or "" }
end

-- The field `running` of the output.
local function describe_running(build, token_numbers, gathered_tables)
  local running = nests.make_token_statements(build, token_numbers)
  if not running then
    return false
  end
  running.words = running.sum_row_count == running.row_count and "running sums"
    or running.sum_row_count and "sums and terms" or "terms"
  running.rows = lists.map(token_numbers, function(entry)
    return entry.is_sum and (entry.query.head_row or "h") or nil
  end)
  running.products = lists.map(running.products, describe_product)
  -- C text of the variable that sums the gradient of t in the loop over the pairs of a query or key; nil without
  -- gradient.
  local function find_sum(class, t)
    local entry = lists.find(gathered_tables[cuda.TOKEN_CLASSES[class]] or {}, function(g) return g.table == t end)
    return entry and ("%s_sums[%d]"):format(class, entry.index) or nil
  end
  running.stores_of_query = lists.map(token_numbers, function(entry)
    local value = find_sum("query", entry.query) or not find_sum("key", entry.key) and "0"
    return value and { operator = "=", value = value,
      target = cuda.write_token_gradient(build, entry.query or entry.key, "query") } or nil
  end)
  running.stores_of_key = lists.map(token_numbers, function(entry)
    local value = find_sum("key", entry.key)
    return value and { operator = find_sum("query", entry.query) and "+=" or "=", value = value,
      target = cuda.write_token_gradient(build, entry.key, "key") } or nil
  end)
  return running
end

function M.plan(build, lowered, score)
  build = setmetatable({ target = cuda, gathered = {}, parts = {}, work = {}, names = {}, uniform_work = {} },
    { __index = build })
  local out = { layer_words = score.per_layer and " of layer l" or "" }
  describe_pair(out, build, lowered.score)
  out.row_sums = describe_row_sums(build, lowered.score, score.row_sums)
  out.running = describe_running(build, lowered.token_numbers, out.gathered_by_class)
  out.stages, out.filling = make_filling(build, score.tables)
  out.stage_count = #out.stages
  out.gradient_nests, out.ending = make_gradients(build, score.tables)
  out.tables = lists.map(score.tables, function(t) return make_member(build, t, t.per_head) end)
  out.gradients = list_gradients(build, out.gathered_by_class)
  local has_full_comments = true
  out.numbers = list_numbers(build, out.tables, has_full_comments)
  out.gradient_set = describe_gradients(out.gradients, out.tables)
  out.gradient_numbers = list_numbers(build, out.gradients, not has_full_comments)
  out.work, out.uniform_work = lists.map(build.work, function(w)
    return { name = w.name, class = false, declared = w.type .. " *", type = w.type, comment = "", count = w.count }
  end), build.uniform_work
  out.work.has_distance_tables = false
  return out
end

return M
