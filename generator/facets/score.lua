-- The module of the facet `score`: the user's formula that changes the logit of a pair. modules.lua describes modules
-- of facets.
--
-- A score is computed in two parts: tables, which a step fills once, and the pair formula, which the loop over pairs of
-- queries and keys computes from the logit and the tables. A table has a class, which names its index: uniform (no
-- index), query, key, distance (the index query - key, which is -x.distance), sum (query + key) or pair. To gather a
-- table's gradients is to add them up in variables of the loop over pairs, for a group of queries (queries that are
-- computed together), and to store the sums after the loop. Generated C code has a struct whose members are the tables
-- and their numbers of elements.
--
-- Input of M.derive: the validated score { root, builder, parameters } or nil, the family with the plans of earlier
-- facets (modules.lua), and the precision. Output, the fields that templates/attention/cpu reads:
--
--   kind         "expression"; "none" without a score, then most other fields are absent
--   formula      the score as text
--   pair_formula   the node of the pair formula
--   tables       the tables, in the order in which they are filled: { name, class, per_head, per_layer, learned, value,
--                row, stride }; row: the name of the table's workspace for gradients, or nil; stride: C text of the
--                number of elements of one head, with %s for the struct, or nil; lower.lua describes the other fields
--   has          { distance, sum, pair }, booleans: whether tables of these classes occur
--   members      the struct's members that hold tables: { name, class, declared, type, count, comment }, such as name =
--                "bias", declared = "real *", type = "real", count = "(size_t)s->distances"
--   numbers      the struct's members that are numbers of elements: { type, name, value, comment }, such as type =
--                "int", name = "queries", value = "round_up(T, LANES)"
--   set_count    the number of sets of tables: one, or one for each layer
--   per_layer    whether each layer has a set
--   has_trained_tables   whether a table has a gradient
--   constants    arrays of constants in C, { name, lines }, where lines is the C text of the numbers: values of
--                parameters that are not learned, and edges of buckets
--   learned      learned parameters, each with these fields:
--     name         the name in the spec
--     member       the name of the struct member in C
--     count        the number of its elements
--     padded_count   this number, rounded up to whole vectors
--     shape        the list of its dimensions
--     shape_text   C text of these dimensions, such as "4][16"
--     per_layer    whether each layer has its own numbers
--     by_token     true for a vector that is multiplied with the query or key of each token (per = "token")
--     init         the distribution of initial values in the spec, or nil
--     values       the list of initial values in the spec, or nil
--     values_text  C text of this list, or nil
--   filling_nests    loop nests (expression/nests.lua) that fill the tables, in order
--   gradient_nests   loop nests that propagate gradients to parameters, in order
--   filling_uses     { position, key_position, distance }, booleans: whether filling_nests read sampled positions of
--                queries, sampled positions of keys, and sampled distances
--   gradient_uses    the same booleans for gradient_nests
--   filled_after   the samples that must exist before tables are filled: "distances", "positions" or "nothing"; false
--                if no tables are filled
--   running      terms of tokens and their running sums (nests.lua, make_token_statements); false if there are none.
--                running.is_read_backward: whether the statements of pair_gradient read these numbers
--   row_sums     sums over the keys of a query that the score reads (facets/score/row_sums.lua), or false
--   pair         C statements that compute the score of a pair, and the text of the result
--   row          C statements that compute the scores of a query with consecutive keys, and the text of the result
--   pair_gradient   C statements that compute the gradients of a pair
--   needs_logit  whether the backward pass must compute the logit again
--   needs_pair_gradient   whether the backward pass needs the statements of pair_gradient
--   gathered     the tables, and the terms and sums of `running`, whose gradients the loop over pairs gathers
--   has_gathered_tables   whether the list `gathered` has items
--   has_group    whether gradients of tables or of sums over keys are added up for a group of queries
--   cuda         the plan for device code (facets/score/cuda.lua)
-- Further fields are parts of comments in generated code.

local canonical = require("base.canonical")
local choices = require("facets.score.choices")
local classes = require("facets.score.table_classes")
local cpu = require("expression.nests_cpu")
local ir = require("expression.ir")
local leaves = require("expression.leaves")
local lists = require("base.lists")
local literals = require("base.literals")
local lower = require("expression.lower")
local nests = require("expression.nests")
local predicates = require("facets.predicates")
local python = require("facets.score.python")
local reach = require("facets.score.reach")
local row_sums = require("facets.score.row_sums")
local score_cuda = require("facets.score.cuda")
local traced = require("expression.traced")
local vector_width = require("base.vector_width")
local wording = require("base.wording")

local M = { name = "score", off_value = "none", check = row_sums.check, warn_unreached = reach.warn_unreached,
  export = python.export }

-- Parts of exported Python files; modules.lua describes their fields.
M.parts = { { name = "bucket", rank = 40, fields = { "bucket" }, names = { "bucket" } },
  { name = "running", rank = 45, fields = { "sum_between" }, names = { "sum_between" } },
  { name = "row_sums", rank = 46, fields = { "sum_to_query" }, names = { "sum_to_query" } },
  { name = "score", rank = 50, fields = { "score_text" }, names = { "change_score" } } }

M.INIT_TEXT = 'a number, a list, "alibi_slopes", { normal = sigma } or { truncated_normal = sigma }'

-- Fields of specs (spec/schema.lua). `fingerprints`: texts that generated code has only if the feature is on.
M.fields = {
  { path = "encoding.score", type = "score", optional = true, fingerprints = { "score_pair", "score_tables" },
    doc = "the score of a query-key pair, from its scaled logit, before the mask: one formula, or a list of formulas "
      .. "that are applied in order",
    details = {
      "for example function(x) return x.score - x.slope * abs(x.distance) end",
      "fields of x: score query key distance query_index key_index head heads head_width layer layers query_length",
      "key_length causal, and the parameters; x.score is the logit, or in a list the result of the previous",
      "formula; distance is key - query",
      "operators: + - * / // % ^; functions: " .. table.concat(traced.names, " "),
      "sum_between(term): the sum of a term over the tokens after the key, up to the query; it reads values of tokens",
      "sum_to_query(term): the sum of a term over the query's keys, from the pair's key up to the query's own key",
      "lookup(x.table, integer), bucket(value, { edges }), select(condition, a, b), sum(8, function(m) ... end)",
      "an entry of a list: { use = preset, constant = value ... } or { score = function, parameters = { ... } }",
    } },
  { path = "encoding.parameters", type = "parameters", optional = true,
    doc = "numbers that the score reads by name; for a constant, its values are enough: a number, a list or a name "
      .. "such as \"alibi_slopes\"",
    details = {
      "per: model, layer, head (shared by the layers) or layer_head; default: model",
      "per = \"token\": a value that a learned map of the block's input gives each token, for each head; init is the",
      "    distribution of the map's weights, by default { normal = 0.02 }; sum_between reads the value",
      "from = \"query\" or \"key\": with per = \"token\", the value is the product of the token's query or key and a",
      "    learned vector of the head; outside of sum_between, the token is the query or the key of the pair;",
      "    unit = true: the vector is divided by its norm",
      "shape = n: n values, which lookup reads by indices from 0; index = { first, last }: by indices from first",
      "by_distance = true: the indices are distances; distances above 0 are left out if no query sees later tokens",
      "init: " .. M.INIT_TEXT .. "; the values at the start of training",
      "values: a number, a list or a name; training does not change them; a list has one number for all, a number per",
      "    index, a number per head, or all numbers, head after head",
      "learned: default true with init, false with values",
      "outside: the result of lookup beyond the indices: a number, or \"clip\"; absent: lookup must stay within them",
    } },
}

function M.find_read_input(encoding)
  return predicates.score_reads_positions(encoding) and "distances"
end

local function write_literals(build, values)
  local words = lists.map(values, function(value) return (assert(build.real(value))) end)
  return wording.fill_lines(words, 82, ", ")
end

local function write_values(values, count)
  if not values then
    return nil
  end
  local words = {}
  for i = 1, count do
    words[i] = assert(literals.f64(values[#values == 1 and 1 or i]))
  end
  return table.concat(words, ", ")
end

-- The list `learned` of the output. p.from: "query" or "key" if the parameter is multiplied with the query or key of
-- each token, otherwise nil.
local function list_learned(family, parameters)
  return lists.map(parameters, function(p)
    local heads, size = (p.from or leaves.has_head(p)) and family.heads, p.from and family.head_width or p.size
    local count = (size or 1) * (heads or 1)
    local shape = heads and { heads, size } or { size or 1 }
    return p.learned and (p.per ~= "token" or p.from) and { name = p.name,
      member = family.prefix .. "score_" .. p.name, count = count, padded_count = vector_width.round_up(count),
      shape = shape, per_layer = p.from ~= nil or leaves.has_layer(p), by_token = p.per == "token", init = p.init,
      values = p.values, values_text = write_values(p.values, count), shape_text = table.concat(shape, "][") } or nil
  end)
end

-- The members of the struct of tables. A learned table by distance or sum also has a row, in which the gradients of a
-- group of queries are gathered. Tables by query or pair are LANES elements longer, since a vector may begin at any
-- query.
local function list_members(tables, heads, cross)
  local members = { has_distance_tables = false }
  for _, t in ipairs(tables) do
    t.stride = cross and t.class == "key" and "%s->keys" or nil
    local count = classes.write_count(t, cpu.write_stride("s", t), t.per_head and heads)
    members[#members + 1] = { name = t.name, class = t.class, declared = "real *", type = "real",
      comment = classes.describe_shape(t, t.per_head),
      count = (t.class == "query" or t.class == "pair") and ("(%s + LANES)"):format(count) or count }
    members.has_distance_tables = members.has_distance_tables or t.class == "distance"
    if t.learned and (t.class == "distance" or t.class == "sum") then
      t.row = t.name .. "_row"
      members[#members + 1] = { name = t.row, class = t.class, declared = "real *", type = "real",
        count = classes.write_count(t, cpu.write_stride("s", t)),
        comment = " /* workspace of one group of queries, only for gradients */" }
    end
  end
  return members
end

-- Numbers of elements as members of the struct of tables. Comments in generated code name tables by their index, such
-- as [query].
local function list_numbers(has, cross)
  local S = cross and "S" or "T"
  return lists.map({
    classes.make_number("int", "queries", "round_up(T, LANES)",
      "T, padded to whole vectors: elements of a table [query]" .. (cross and "" or " or [key]") .. " for one head"),
    cross and classes.make_number("int", "keys", "round_up(S, LANES)", "elements of a table [key] for one head"),
    has.distance and classes.make_number("int", "distances", ("round_up(%s - 1, LANES) + s->queries + LANES"):format(S),
      "elements of a table [query - key] for one head"),
    has.sum and classes.make_number("int", "sums", cross and "s->queries + s->keys + LANES" or "2 * s->queries + LANES",
      "elements of a table [query + key] for one head"),
    has.pair and classes.make_number("size_t", "pairs", ("(size_t)%s * (size_t)s->queries"):format(S),
      ("elements of a table [%s][queries] for one head"):format(S)),
  }, function(number) return number or nil end)
end

-- Booleans: whether loop nests read sampled positions of queries, sampled positions of keys, and sampled distances.
local function find_uses(list)
  local words = lists.merge(table.unpack(lists.map(list, function(nest) return nest.words end)))
  return { position = words.position or false, key_position = words.key_position or false,
    distance = words.drawn or false }
end

-- The classes of tables whose gradients the loop over pairs can add up in variables for a group of queries.
local GATHERED_CLASSES = { uniform = true, query = true, distance = true, sum = true }

-- The tables whose gradients the loop over pairs gathers. The loop adds the gradients of other tables to memory, pair
-- by pair.
local function list_gathered(tables, statements)
  return lists.map(tables, function(t)
    local is_uniform = t.class == "uniform"
    local is_gathered = t.learned and GATHERED_CLASSES[t.class]
      and lists.any(statements, function(statement) return statement.table == t end)
    local entry = { name = t.name, class = t.class, row = t.row or false,
      element = is_uniform and cpu.write_element("d", t, "score"),
      address = not is_uniform and cpu.write_address("d", t, t.class) }
    return is_gathered and entry or nil
  end)
end

-- Returns the loop nests that fill the tables, in the order of `classes`, and the loop nests of gradients, in reverse
-- order.
local function make_nests(build, tables)
  local filling_nests, gradient_nests = {}, {}
  for _, class in ipairs(classes) do
    local members = classes.list_members(tables, class)
    if #members > 0 then
      filling_nests[#filling_nests + 1] = nests.make_filling(build, class, members)
      local nest = nests.make_gradients(build, class, members)
      if nest then
        table.insert(gradient_nests, 1, nest)
      end
    end
  end
  return filling_nests, gradient_nests
end

-- The context in which loop nests are made: the builder of nodes, names, the form of numbers, constants, and a function
-- that names the edges of buckets.
local function make_build(source, family, precision)
  local build = { builder = source.builder, target = cpu, edge_list_count = 0, prefix = family.prefix,
    heads = family.PREFIX .. "HEADS", stack = family.stack.member, cross = family.cross,
    real = precision == "float64" and literals.f64 or literals.f32 }
  local names = {}
  function build.name_edges(list)
    local lines = write_literals(build, list)
    local text = table.concat(lines)
    if not names[text] then
      build.edge_list_count = build.edge_list_count + 1
      names[text] = build.prefix .. (build.edge_list_count == 1 and "edges" or "edges_" .. build.edge_list_count)
      table.insert(build.constants, { name = names[text], lines = lines })
    end
    return names[text]
  end
  build.constants = lists.map(source.parameters, function(p)
    local name = build.prefix .. p.name .. "_values"
    return not p.learned and { name = name, lines = write_literals(build, p.values) } or nil
  end)
  return build
end

local function add_sets(out, family)
  out.per_layer = lists.any(out.tables, function(t) return t.per_layer end)
  out.has_trained_tables = lists.any(out.tables, function(t) return t.learned end)
  out.has = lists.merge({ distance = false, sum = false, pair = false },
    lists.to_set(lists.map(out.tables, function(t) return t.class end)))
  out.set_count = out.per_layer and family.layers or 1
  out.times_sets = out.set_count > 1 and family.PREFIX .. "SCORE_SETS * " or ""
  out.set_count_words = out.set_count > 1 and family.PREFIX .. "SCORE_SETS sets of" or "a set of"
  out.filled_set_words = out.per_layer and ", that of layer l" or " for all layers"
end

function M.derive(source, family, precision)
  if not source then
    return { kind = "none", learned = {}, has_trained_tables = false, needs_pair_gradient = false,
      has_gathered_tables = false, needs_logit = false, running = false, row_sums = false, per_layer = false }
  end
  local build = make_build(source, family, precision)
  local positions, distance = family.positions, family.positions.distance
  local lowered = lower.lower(source.builder, source.root, {
    draws_per_layer = (distance.kind == "difference" and positions or distance).per_layer or false })
  build.state, build.row_sums = lowered.state, lowered.row_sums
  local out = { kind = "expression", formula = ir.format(source.root), pair_formula = lowered.score,
    tables = lowered.tables, constants = build.constants, learned = list_learned(family, source.parameters),
    members = list_members(lowered.tables, build.heads, family.cross) }
  add_sets(out, family)
  out.numbers = list_numbers(out.has, family.cross)
  out.filling_nests, out.gradient_nests = make_nests(build, out.tables)
  out.running = nests.make_token_statements(build, lowered.token_numbers) or false
  out.pair = nests.make_pair(build, lowered.score)
  out.row = nests.make_row(build, lowered.score) or false
  local gradients_differ -- whether the logit's gradient differs from the score's
  out.pair_gradient, out.needs_logit, gradients_differ = cpu.derive_pair(build, lowered.score)
  out.row_sums = row_sums.describe(build, out.pair_gradient)
  local sums = lists.map(lowered.token_numbers, function(entry) return entry.query end)
  out.gathered = list_gathered(lists.join(out.tables, sums), out.pair_gradient)
  out.needs_pair_gradient = out.has_trained_tables or out.running ~= false or gradients_differ
  if out.running then
    -- r is the C variable that holds these numbers
    out.running.is_read_backward = nests.collect_words(out.pair_gradient).r or false
  end
  out.has_gathered_tables = #out.gathered > 0
  out.has_group = out.has_gathered_tables or out.row_sums and out.row_sums.has_gradients
  out.filling_uses, out.gradient_uses = find_uses(out.filling_nests), find_uses(out.gradient_nests)
  local reads_positions = out.filling_uses.position or out.filling_uses.key_position
  out.filled_after = #out.filling_nests > 0
    and (out.filling_uses.distance and "distances" or reads_positions and "positions" or "nothing")
  out.cuda = score_cuda.plan(build, lowered, out)
  return out
end

function M.explain_length(resolved, sides)
  local names = { query_length = sides.query, key_length = sides.key }
  return predicates.mentions(resolved.encoding.score or "", names) and "reads how many tokens a sequence has"
end

-- Refuses a rotation if a parameter is multiplied with queries or keys: such a product needs rows before their
-- rotation, and the backward pass has only the rotated rows.
local function check_rotation(formula, family)
  local p = family.rotation.kind ~= "none"
    and lists.find(formula.parameters, function(parameter) return parameter.from end)
  if p then
    error({ problem = true, field = ("encoding.parameters.%s.from"):format(p.name),
      what = ("%q is used with encoding.rotation.kind = %q"):format(p.from, family.rotation.kind),
      expected = 'no rotation, or a value from "input"' })
  end
end

-- Divides the score by the softmax's temperature. Without a score, the scale of the logits contains this division.
function M.plan(_, family, context)
  local formula, temperature = context.formula, family.normaliser.temperature or 1
  if formula then
    check_rotation(formula, family)
  end
  if formula and temperature ~= 1 then
    formula = { builder = formula.builder, root = formula.builder:apply("div", formula.root, temperature),
      parameters = formula.parameters }
  end
  return M.derive(formula, family, context.precision)
end

function M.describe_details(family)
  return family.score_text and "score = " .. family.score_text
end

M.add_choices = choices.add

-- The properties of parameters that decide whether a checkpoint fits; nil if there are no parameters.
local function identify_parameters(parameters)
  return parameters and lists.map(canonical.sort_keys(parameters), function(name)
    local p = parameters[name]
    return { name = name, per = p.per, size = p.size, first = p.first, learned = p.learned, from = p.from,
      unit = p.unit }
  end)
end

function M.identify(encoding)
  return { score = encoding.score, parameters = identify_parameters(encoding.parameters) }
end

-- Requests the values of tokens. One learned map of the block's input computes the values of all parameters; the values
-- of one parameter for all heads lie side by side.
function M.request_value(family)
  local running = family.score.running
  local projected_values = running and running.projected_values or {}
  local first_parameter = projected_values[1] and projected_values[1].parameter
  for _, value in ipairs(projected_values) do
    local p = value.parameter
    if canonical.format(p.init) ~= canonical.format(first_parameter.init) then
      error({ problem = true, field = "encoding.parameters." .. p.name,
        what = ("the initial values differ from the initial values of x.%s"):format(first_parameter.name),
        expected = "equal initial values, since one map computes all values of tokens" })
    end
  end
  return first_parameter and { name = "values", columns = #projected_values * family.heads, bias = true, cached = true,
    init = first_parameter.init, comment = "of every head: " .. table.concat(lists.map(projected_values, function(value)
      return value.parameter.name
    end), ", "), description = "values of every head" } or nil
end

local function make_running_term(family, score)
  local products, value = score.running.products, family.requested_value
  local multiplies = products[1] ~= nil
  return { kind = "contribution", template = "running", scalar = score, products = products, product_count = #products,
    has_units = lists.any(products, function(product) return product.unit end),
    has_unused_columns = value and value.width > value.columns,
    properties = { reads_tokens = true, has_sums = multiplies, multiplies_rows = multiplies } }
end

-- The terms of attention. attention/terms.lua explains all properties, such as excludes_last_keys.
function M.make_terms(family)
  local score = family.score
  if score.kind == "none" then
    return nil
  end
  return lists.map({
    row_sums.make_term(score) or false,
    { kind = "pair_scalar", template = "scalar", scalar = score, properties = { maps_logits = true, reads_tables = true,
      needs_head_number = true, needs_first_query = true, needs_logits = score.needs_logit,
      trains_tables = score.has_trained_tables, has_sums = score.has_trained_tables,
      changes_gradient = score.needs_pair_gradient,
      scores_rows = score.row ~= false, excludes_last_keys = score.has.distance } },
    score.has_trained_tables and { kind = "pair_scalar", template = "scalar_trains", scalar = score, properties = {} },
    score.running and make_running_term(family, score) or nil,
  }, function(term) return term or nil end)
end

-- The bytes of the sets of tables in the layout of templates/attention/cpu/scalar_layout.tpl, and of running sums and
-- their gradients.
function M.count_bytes(family, sizes, T, S)
  local queries, keys = sizes.round_up(T, sizes.lanes), sizes.round_up(S, sizes.lanes)
  local counts_by_class = { uniform = 1, query = queries, key = keys, sum = queries + keys + sizes.lanes,
    pair = S * queries, distance = sizes.round_up(S - 1, sizes.lanes) + queries + sizes.lanes }
  local bytes = (family.score.set_count or 0) * lists.sum(family.score.tables or {}, function(t)
    local padding = (t.class == "query" or t.class == "pair") and sizes.lanes or 0
    return sizes.reals(counts_by_class[t.class] * (t.per_head and family.heads or 1) + padding)
      + (t.row and sizes.reals(counts_by_class[t.class]) or 0)
  end)
  local running = family.score.running
  local sums = running and #running.token_numbers * family.heads * (queries + sizes.lanes) or 0
  local scratch = 2 * sizes.reals(sums) + sizes.reals(sums * sizes.lanes)
    + row_sums.count_bytes(family.score, sizes, T)
  local vectors = running and family.layers * #running.products * sizes.reals(sizes.width) or 0
  return { step_tables = bytes, sums = (family.score.has_trained_tables and bytes or 0) + vectors, scratch = scratch }
end

return M
