-- The terms of an attention in device code: the terms of terms.lua with their device templates; and the sum passes,
-- which sum gradients of pairs for each entry of a table. A device template is a file with the term's text for device
-- code, templates/attention/cuda/terms/<template>.tpl, where <template> is the term's field `template`.
--
-- Input: an attention family with its terms. M.stores_pairs and M.list_sum_passes also read family.on_device.terms, the
-- result of M.list_terms. M.list_sum_passes also reads the table family.attends, which describes how device code
-- computes the attention (cuda_half.lua).
--
-- Output of M.list_terms: a list of terms (terms.lua). A term with several device templates appears once for each; a
-- term without device templates is left out. The list also has as fields the properties of the terms, with values for
-- the device; and samples_positions, whether a term samples positions.
--
-- Output of M.list_sum_passes: the list of the sum passes, each with these fields:
--
--   class         the class of an entry (expression/lower.lua), or "row": a vector that several pairs share
--   title         the name of the class in comments
--   reads_stored_pairs   whether the pass reads gradients that the pass over keys has stored; the entries are then the
--                 differences (query - key)
--   sums_rows     whether the pass sums gradients of rows of pair vectors
--   gathered      the list of the score's tables with gradients that the pass sums (facets/score/cuda.lua), or false
--   template      its template in templates/attention/cuda
--   terms         the family's terms, and terms for the sums
--   first_task    C text of a thread's first task in the loop over tasks
--   task_step     C text of the step from one task of a thread to its next task: the number of tasks that the threads
--                 take at a time
--   unroll        the number of pairs by which the loop over pairs is unrolled
--   sums_head_numbers   whether the pass also computes sums that are single numbers for each head. If several threads
--                 share a head, only the first of them stores these sums

local lists = require("base.lists")

local M = {}

local TITLES = { query = "query", key = "key", distance = "query - key", row = "vector of a distance",
  sum = "query + key", pair = "pair" }
local CLASSES = { "query", "key", "distance", "row", "sum", "pair" }

-- Kind of positions -> the device template of the positions of tokens. Positions by index have none.
local POSITION_TEMPLATES = { randomized = "placed_by_draw", sequence = "placed_by_sequence" }

-- Kind of term -> a function that lists the term's device templates, if they differ from its fields `template` and
-- `device_templates`.
local TEMPLATE_LISTERS = {
  position_source = function(_, _, family) return { POSITION_TEMPLATES[family.positions.kind] } end,
  pair_vector = function(term, terms)
    return terms.scans_logits and { term.template } or { "rows",
      term.rows.toeplitz and "rows_by_offset" or "rows_by_pair",
      term.properties.has_biases and "rows_of_waves" or "rows_of_table" }
  end,
  pair_scalar = function(term)
    local sums_heads = term.template == "scalar_trains" and term.scalar.cuda.gathered_by_class.uniform
    return { term.template, sums_heads and "sums_of_heads" or nil }
  end,
  row_source = function() return {} end, -- the template of the pair vector finds rows itself
  row_function = function(term, terms)
    if terms.visits_outwards then
      return { term.template, term.properties.normalised and "normalised" or "unnormalised",
        not terms.has_directions and "one_offset" or nil }
    end
    return term.properties.breaks_stick and { term.template } or {}
  end,
}

function M.list_terms(family)
  local terms = lists.collect(family.terms, function(term)
    local list_templates = TEMPLATE_LISTERS[term.kind]
    local names = list_templates and list_templates(term, family.terms, family) or term.device_templates
      or { term.template }
    return lists.map(names, function(template)
      return lists.merge(term, { template = template })
    end)
  end)
  table.insert(terms, 1, { template = "all_keys" }) -- the first domain contains all keys; further domains narrow it
  for name, value in next, family.terms do
    if type(name) == "string" then -- a property
      terms[name] = value
    end
  end
  terms.folder = "attention/cuda/"
  terms.by_offset = family.relative.toeplitz
  if terms.sums_terms then -- the pass that computes scores also sums over a query's keys, so no pass scans the logits
    terms.scans_logits = false
  elseif terms.scans_logits then -- the pass over a query's keys also adds pair vectors' products; other passes do not
    terms.pair_vectors, terms.maps_logits = false, false
  end
  -- If code for the CPU rotates queries (by_rotation), device code looks up the vectors of pairs in a table.
  terms.by_pair = terms.pair_vectors and not terms.by_offset
  terms.samples_positions = family.positions.kind ~= "index"
  return terms
end

-- Class of an entry -> the list of the score's tables of this class with gradients that the loop over pairs gathers. To
-- gather gradients is to add them up in variables, which are stored after the loop.
local function get_gathered_tables(family)
  return family.score.kind ~= "none" and family.score.cuda.gathered_by_class or {}
end

-- The class of the rows of pair vectors; false if there are none.
local function get_row_class(family)
  return family.on_device.terms.pair_vectors and (family.relative.toeplitz and "distance" or "row")
end

-- Whether gradients of pairs are stored for the sum pass of the class `distance`. They are not stored if this pass also
-- needs the logits, or if the score reads sums over the keys of a query.
function M.stores_pairs(family)
  local tables = get_gathered_tables(family).distance
  return (get_row_class(family) == "distance" or tables ~= nil) and not (tables and tables.needs_logit)
    and not family.terms.sums_terms
end

-- Whether a warp can compute a family's pairs in fragments (on matrix units): pairs have no vectors, no keys are
-- visited by distance, scores learn no numbers and read no values of tokens or sums over keys, and a query sees
-- consecutive keys. max_head_width: the largest number of channels of a head for which fragments are used.
function M.fits_fragments(family, max_head_width)
  local terms = family.terms
  return not (terms.visits_outwards or terms.breaks_stick or terms.pair_vectors or terms.trains_tables
    or terms.has_scattered_keys or terms.reads_tokens or terms.sums_terms)
    and family.head_width <= max_head_width
end

-- The sum pass of a class. tables: the tables of the score with this class, or nil; sums_rows: whether rows of pair
-- vectors have this class.
local function make_sum_pass(family, class, tables, sums_rows)
  local attends, terms = family.attends, lists.merge(family.on_device.terms)
  local reads_stored_pairs = class == "distance" and attends.stores_pairs
  local is_spread = reads_stored_pairs and sums_rows and attends.head_lanes > 1 -- several threads share a head
  local function add(template, names)
    terms[#terms + 1] = template and lists.merge(names or {}, { template = template }) or nil
  end
  add(not reads_stored_pairs and "by_" .. class)
  add(sums_rows and "sum_of_rows")
  add(sums_rows and (family.relative.biases and "sum_of_biased_rows" or "sum_of_shared_rows"))
  add(tables and "sum_of_tables", { scalar = family.score })
  add(is_spread and "shared_head")
  return { class = class, title = TITLES[class], reads_stored_pairs = reads_stored_pairs, sums_rows = sums_rows,
    gathered = tables or false, terms = terms,
    template = ("attention/cuda/%s.tpl"):format(reads_stored_pairs and "sum_stored_pairs" or "sum_pairs"),
    first_task = is_spread and attends.first_task or "threadIdx.x",
    task_step = is_spread and attends.task_step or "THREADS",
    unroll = family.head_width <= 8 and 8 or 4, sums_head_numbers = family.relative.biases or tables ~= nil }
end

function M.list_sum_passes(family)
  local tables_by_class = get_gathered_tables(family)
  return lists.map(CLASSES, function(class)
    local sums_rows, tables = class == get_row_class(family), tables_by_class[class]
    return (tables or sums_rows) and make_sum_pass(family, class, tables, sums_rows) or nil
  end)
end

return M
