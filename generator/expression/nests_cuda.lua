-- Writes the device code of loop nests of scores for a GPU. Values are scalars, and a thread owns an entry of a table.
-- This module has the functions that nests_cpu.lua lists for a target.
--
-- One thread computes each sum, in a fixed order: there are no atomic additions.
-- The gradient of a table can have two parts. The gathered part comes from scores that read the table: the loop over
-- pairs adds up the terms of this part in variables. The propagated part comes from other tables that read the table:
-- loop nests compute it. This module fills further fields of build:
--
--   gathered      the set of tables whose gradients have a gathered part
--   parts         table -> the propagated part of its gradient: an item of uniform_work if the table has the class
--                 uniform, else a table { array, index_text, effects, table }; some of these tables are also items
--                 of part_sums (below)
--   work          the arrays that the function end_score needs: { type, name, count }
--   uniform_work  the propagated parts of tables of class uniform: { array, extent }; extent: the number of elements
--   names         name of an array -> the number of arrays that have this name, with or without a suffix such as _2
--
-- Nests have two more lists:
--
--   part_sums  propagated parts that are sums of several terms: { name, per_head, array, index_text }. Each pair
--              computes the sum `name`, and stores it in `array` at the index index_text
--   scatters   gradients of parameters that entries read at different indices. Each entry stores an index and a value.
--              Then each element of the gradient adds up the values with its index. Fields, C texts except `size`:
--     member         the gradient of the parameter
--     heads          the number of heads with their own elements, or "1"
--     size           the number of elements of one head
--     index, value   the arrays of stored indices and values
--     index_stride   the number of indices of one head; "0" if the heads share indices
--     count          the number of values of one head
--
-- Texts are C and use these variables of generated code:
--   s, d, w      the tables, their gradients, the workspace of end_score
--   r, dr        the running sums of a sequence, their gradients
--   sums, dsums  the pair's sums over keys (lower.lua, row_sums); the gradients of their terms
--   p, g         the parameters, their gradients
--   T, S         the number of tokens, the number of keys in cross-attention
--   h, l, i, j   head, layer, query, key
--   o, t, e      query - key, query + key, the index of a pair

local emit = require("expression.emit")
local leaves = require("expression.leaves")
local lists = require("base.lists")
local lower = require("expression.lower")
local nests = require("expression.nests")
local syntax = require("expression.syntax")

local M = {}

-- Loop nest -> the set of the quantities that vary from entry to entry, as letters (lower.lua).
local VARYING = { uniform = {}, query = { q = true }, key = { k = true }, distance = { d = true }, sum = { t = true },
  pair = { q = true, k = true, d = true, t = true }, score = { q = true, k = true, d = true, t = true, s = true },
  token = { k = true } } -- values of a token, for running sums

-- Symbol that is an integer in C -> its text in every loop nest.
local COMMON_INTEGERS = { head = "h", layer = "l", length = "T", key_length = "S" }
-- Class -> the texts of further integers in its loop nests.
local INTEGERS = {
  uniform = {},
  query = { query_index = "i", query = "position[i]" },
  key = { key_index = "j", key = "position[j]" },
  distance = { offset = "-o", distance = "drawn_distance(drawn, -o)" },
  sum = { total = "t" },
  pair = { query_index = "i", key_index = "j", offset = "j - i", total = "i + j", query = "position[i]",
    key = "position[j]", distance = "drawn_distance(drawn, j - i)" },
  score = {},
  token = {},
}
-- Text above -> its precedence in C, if it is not a name, an element or a call.
local PRECEDENCES = { ["-o"] = syntax.UNARY, ["j - i"] = syntax.SUM, ["i + j"] = syntax.SUM }
-- Symbol that is a real in C -> its text.
local NUMBERS = { score = "logit", dscore = "dscore" }

-- Class of a table -> C text: the number of entries of one head, as a member of a set of tables.
local STRIDE = { uniform = "1", query = "%s->tokens", key = "%s->tokens", distance = "%s->distances",
  sum = "%s->distances", pair = "%s->pairs" }
-- Class of a table -> C text: the number of entries of one head, computed from T.
local COUNT = { query = "T", key = "T", distance = "(2 * T - 1)", sum = "(2 * T - 1)", pair = "T * T" }
-- Class of a table -> the call (kernels/cuda/score.cu) that sums the terms of all pairs that read an entry.
local SUM_CALL = { query = "sum_keys(%s, i, T)", key = "sum_queries(%s, j, T)", distance = "sum_diagonal(%s, o, T)",
  sum = "sum_antidiagonal(%s, t, T)" }
-- COUNT and SUM_CALL in cross-attention.
local CROSS_COUNT = { query = "T", key = "S", distance = "(T + S - 1)", sum = "(T + S - 1)", pair = "T * S" }
local CROSS_SUM_CALL = { query = "sum_cross_keys(%s, i, T, S)", key = "sum_queries(%s, j, T)",
  distance = "sum_cross_diagonal(%s, o, T, S)", sum = "sum_cross_antidiagonal(%s, t, T, S)" }

-- C text of the stride from one head to the next in a table of a class. set: C name of a set of tables.
function M.write_stride(build, class, set)
  return (build.cross and class == "key" and "%s->keys" or STRIDE[class]):format(set)
end

local function write_count(build, class)
  return (build.cross and CROSS_COUNT or COUNT)[class]
end

local function write_entry_index(t, class, set)
  return leaves.write_entry_index(t.class, class) or class == "pair" and "e"
    or ("(size_t)j * %s->tokens + i"):format(set)
end

-- The text of a table's entry. class: the class of the loop nest. set: "s" (values) or "d" (gradients).
local function write_element(build, set, t, class)
  if t.is_of_tokens then
    return ("%s[%s * T + %s]"):format(leaves.RUNNING_SUM_NAMES[set], t.head_row or "h",
      leaves.write_entry_index(t.class, class))
  elseif t.class == "uniform" then
    return ("%s->%s[%s]"):format(set, t.name, t.per_head and "h" or "0")
  end
  local head = t.per_head and "h * " .. M.write_stride(build, t.class, set) .. " + " or ""
  return ("%s->%s[%s%s]"):format(set, t.name, head, write_entry_index(t, class, set))
end

-- The text of the gradient of a running sum up to a query or a key. class: "query" or "key".
function M.write_token_gradient(build, t, class)
  return write_element(build, "d", lists.merge(t, { class = class }), class)
end

-- C text of the gradient of a table's entry: the gathered part plus the propagated part.
local function write_gradient(build, t, class)
  if t.is_of_tokens then -- no other table reads a running sum
    return write_element(build, "d", t, class)
  end
  local gathered_text, propagated_text
  if build.gathered[t] then
    local offset = t.class == "uniform" and "" or " + " .. write_entry_index(t, class, "d")
    gathered_text = t.per_head and write_element(build, "d", t, class)
      or ("sum_heads(d->%s%s, %s)"):format(t.name, offset, M.write_stride(build, t.class, "d"))
  end
  if build.parts[t] and t.class == "uniform" then
    propagated_text = ("w.%s[%s]"):format(t.name, t.per_head and "h" or "0")
  elseif build.parts[t] then
    local terms = ("w.%s%s"):format(t.name, t.per_head and " + h * s->pairs" or "")
    propagated_text = (build.cross and CROSS_SUM_CALL or SUM_CALL)[t.class]:format(terms)
  end
  if gathered_text and propagated_text then
    return ("(%s + %s)"):format(gathered_text, propagated_text)
  end
  return gathered_text or propagated_text
end

function M.make_environment(build, class)
  local out = leaves.make_environment(build, VARYING[class])
  out.is_scalar = true
  out.has_only_lane_level = class == "score" or class == "token" -- nests for one head and one pair or token
  function out.integer(name)
    local text = name == "key" and build.cross and "key_position[j]" or INTEGERS[class][name] or COMMON_INTEGERS[name]
    return text and (name == "distance" and build.prefix or "") .. text, PRECEDENCES[text] or syntax.PRIMARY
  end
  function out.symbol(name)
    local integer, precedence = out.integer(name)
    if not integer then
      return (assert(NUMBERS[name], name))
    end
    return "(real)" .. (precedence < syntax.UNARY and "(" .. integer .. ")" or integer)
  end
  function out.row_sum(node)
    return ("%s[%d]"):format(node.is_gradient and "dsums" or "sums", node.list_index)
  end
  function out.load(t)
    return t.gradient_of and write_gradient(build, t.gradient_of, class) or write_element(build, "s", t, class)
  end
  return out
end

function M.make_filling(build, t, class)
  return { kind = "assign", target = write_element(build, "s", t, class), may_exceed_line = true }
end

-- Adds an array that end_score needs. Returns the array's C text. count: C text of the number of elements.
local function add_work(build, type, name, count)
  build.names[name] = (build.names[name] or 0) + 1
  local unique = build.names[name] > 1 and name .. "_" .. build.names[name] or name
  table.insert(build.work, { type = type, name = unique, count = "(size_t)" .. count })
  return "w." .. unique
end

local function write_heads(build, count, per_head)
  return per_head and build.heads .. " * " .. count or count
end

function M.complete_effect(build, contents, t, class, effect)
  local gradient_part = build.parts[t]
  if t.class == "uniform" then
    if not gradient_part then
      build.parts[t] = { array = add_work(build, "real", t.name, t.per_head and build.heads or "1"),
        extent = t.per_head and build.heads or "1" }
      table.insert(build.uniform_work, build.parts[t])
    end
    effect.kind, effect.target, effect.base = "add_element", t.name .. "_sums", t.per_head and "h" or nil
    contents.sums_by_name[t.name] = { name = effect.target, member = build.parts[t].array, count = 1,
      per_head = t.per_head }
    return
  elseif not gradient_part then
    local count = write_heads(build, write_count(build, "pair"), t.per_head)
    gradient_part = { array = add_work(build, "real", t.name, count), effects = {}, table = t,
      index_text = t.per_head and "h * s->pairs + e" or "e" }
    build.parts[t] = gradient_part
    table.insert(contents.part_sums, gradient_part)
  end
  assert(class == "pair")
  table.insert(gradient_part.effects, effect)
end

-- Completes the effects of propagated parts. A part that is one term, without a sum over an index or over heads, is
-- stored directly. Other parts are summed in variables first.
function M.finish(build, contents)
  local parts_with_sums = {}
  for _, gradient_part in ipairs(contents.part_sums) do
    local effect, t = gradient_part.effects[1], gradient_part.table
    if #gradient_part.effects == 1 and #effect.loops == 0
      and (t.per_head or not lower.find_dependencies(build.state, effect.node).h) then
      effect.kind, effect.target = "assign", ("%s[%s]"):format(gradient_part.array, gradient_part.index_text)
      effect.may_exceed_line = true
    else
      gradient_part.name, gradient_part.per_head = "to_" .. t.name, t.per_head
      parts_with_sums[#parts_with_sums + 1] = gradient_part
      for _, term in ipairs(gradient_part.effects) do
        term.kind, term.target = t.per_head and "add_element" or "add", gradient_part.name
        term.base = t.per_head and "h" or nil
      end
    end
  end
  contents.part_sums = parts_with_sums
end

-- C text of an index in an array [head][iterations of each loop][entry]. per_head: whether the array has [head].
local function write_array_index(build, class, loops, per_head)
  local text = per_head and "h" or nil
  local function add_dimension(count, index_text)
    if not text then
      text = index_text
    else
      text = ("%s * %s + %s"):format(text:find(" ") and "(" .. text .. ")" or text, count, index_text)
    end
  end
  for _, index in ipairs(loops) do
    add_dimension(index.count, syntax.name_index(index))
  end
  add_dimension(M.write_stride(build, class, "s"), class == "distance" and (build.cross and "o + S - 1" or "o + T - 1")
    or leaves.write_entry_index(class, class) or "e")
  return text
end

function M.scatter(build, contents, class, effect, p)
  local loops, parameter_per_head = effect.loops or {}, leaves.has_head(p)
  local values_per_head = parameter_per_head or lower.find_dependencies(build.state, effect.node).h or false
  -- A parameter without heads sums the values of all heads, and each value needs an index.
  local indices_per_head = lower.find_dependencies(build.state, effect.index_node).h
    or values_per_head and not parameter_per_head
  local iterations, count = "", write_count(build, class)
  for _, index in ipairs(loops) do
    iterations = iterations .. index.count .. " * "
  end
  count = iterations .. count
  local values = add_work(build, "real", p.name .. "_values", write_heads(build, count, values_per_head))
  local indices = add_work(build, "int", p.name .. "_indices", write_heads(build, count, indices_per_head))
  local length = iterations .. M.write_stride(build, class, "s")
  table.insert(contents.scatters, { member = leaves.write_member(build, "g", p), size = p.size,
    heads = parameter_per_head and build.heads or "1", index = indices, value = values,
    index_stride = indices_per_head and parameter_per_head and length or "0",
    count = values_per_head and not parameter_per_head and build.heads .. " * " .. length or length })
  return {
    { kind = "assign", node = effect.index_node, is_index = true, per_head = indices_per_head, loops = loops,
      may_exceed_line = true,
      target = ("%s[%s]"):format(indices, write_array_index(build, class, loops, indices_per_head)) },
    { kind = "assign", node = effect.node, per_head = values_per_head, loops = loops, may_exceed_line = true,
      target = ("%s[%s]"):format(values, write_array_index(build, class, loops, values_per_head)) },
  }
end

-- Returns the statements with which a pair adds the gradients of its sums to dsums.
function M.make_sum_gradients(build, score)
  local entries = nests.derive_sums(build, score, nests.make_gradient_leaf(build, "dscore"))
  return emit.make_statements(build.state, M.make_environment(build, "score"), lists.map(entries, function(entry)
    return { kind = "add", node = entry.own, target = ("dsums[%d]"):format(entry.sum.leaf.list_index) }
  end)).lane
end

-- Class of a running sum -> its class in the result of derive_pair.
M.TOKEN_CLASSES = { query = "query_token", key = "key_token" }

local CLASSES = { "uniform", "query", "key", "distance", "sum", "pair", M.TOKEN_CLASSES.query, M.TOKEN_CLASSES.key }

-- score: the node of the pair formula. Its input is the logit, x.score.
-- Returns:
--   1. class -> the list of the tables whose gradients the loop over pairs gathers: { name, table, target }. Running
--      sums have the classes TOKEN_CLASSES. Fields of a list:
--        statements    compute the gradients of a pair
--        needs_logit   whether these statements read the logit
--   2. the statements that compute the logit's gradient
--   3. whether the logit's gradient differs from dscore, the gradient of the formula's result
function M.derive_pair(build, score)
  local dscore = nests.make_gradient_leaf(build, "dscore")
  local terms = lists.map(nests.derive_sums(build, score, dscore), function(entry)
    return { sum = entry.sum, gradient = entry.accumulated } -- dsums already includes entry.own
  end)
  local effects, gathered_tables = {}, {}
  for _, entry in ipairs(nests.derive_tables(build, score, dscore, terms)) do
    local t = entry.leaf.table
    local class = t.is_of_tokens and M.TOKEN_CLASSES[t.class] or t.class
    build.gathered[t] = true
    local class_tables, class_effects = gathered_tables[class] or {}, effects[class] or {}
    gathered_tables[class], effects[class] = class_tables, class_effects
    class_effects[#class_effects + 1] = { kind = "add", node = entry.gradient, loops = entry.loops,
      target = ("out[%d]"):format(#class_tables) }
    local gradient_table = t.is_of_tokens and t or { name = t.name, class = t.class, per_head = true }
    class_tables[#class_tables + 1] = { name = t.name, table = t,
      target = write_element(build, "d", gradient_table, t.class == "pair" and "score" or t.class) }
  end
  local function make_statements(list)
    return emit.make_statements(build.state, M.make_environment(build, "score"), list).lane
  end
  for _, class in ipairs(CLASSES) do
    local class_tables = gathered_tables[class]
    if class_tables then
      class_tables.statements = make_statements(effects[class])
      class_tables.statements.words = nests.collect_words(class_tables.statements)
      class_tables.needs_logit = nests.needs_logit(build, effects[class])
    end
  end
  local logit = nests.derive_logit(build, score, dscore, terms)
  return gathered_tables, make_statements({ { kind = "result", node = logit } }), logit ~= dscore
end

return M
