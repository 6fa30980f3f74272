-- The terms of an attention in device code: the terms of terms.lua with their device pages, and the passes that sum.
--
-- Input: an attention family with its terms and the fields of `attends` that cuda_half.lua has set. Output of
-- M.list_terms: a list like that of terms.lua, with its properties (by_offset and by_pair as they are on the device)
-- and `placed`: positions are sampled. A term may have several pages on a device, or none; each counts as a term.
-- Output of M.list_owners, which needs these terms as family.on_device.terms: the passes that sum the gradients of
-- pairs for each entry of a table. Fields of a pass:
--
--   class         the class of an entry: expression/lower.lua; "row": a vector that several pairs share
--   title         the name of the class in comments
--   kept          the pass reads gradients that the keys' pass has stored, and runs over query - key
--   rows          the pass sums gradients of rows of pair vectors
--   gathered      the list of tables of a pair scalar whose gradients the pass sums (facets/score/cuda.lua), or false
--   template      its template in templates/attention/cuda
--   terms         the family's terms, and terms for the sums
--   first_task, tasks, unroll   for loops: a thread's first task, the step between tasks; the number of unrolled pairs
--   leads         the pass also sums numbers of a head, which one thread stores for all threads that share the head

local lists = require("base.lists")

local M = {}

local TITLES = { query = "query", key = "key", distance = "query - key", row = "vector of a distance",
  sum = "query + key", pair = "pair" }
local CLASSES = { "query", "key", "distance", "row", "sum", "pair" }

-- The device page of the positions of tokens, by the kind of positions; positions by index have none.
local POSITION_PAGES = { randomized = "placed_by_draw", sequence = "placed_by_sequence" }

-- Functions that give the device pages of a kind of term, where they differ from the term's page or device_pages.
local PAGES = {
  position_source = function(_, _, family) return { POSITION_PAGES[family.positions.kind] } end,
  pair_vector = function(term)
    return { "rows", term.rows.toeplitz and "rows_by_offset" or "rows_by_pair",
      term.properties.biases and "rows_of_waves" or "rows_of_table" }
  end,
  pair_scalar = function(term)
    return { term.page, term.page == "scalar_trains" and term.scalar.cuda.gathers.uniform and "sums_of_heads" or nil }
  end,
  row_source = function() return {} end, -- the page of the pair vector finds rows itself
  row_function = function(term, terms)
    return terms.outwards and { term.page, term.properties.normalised and "normalised" or "as_they_are",
      not terms.directional and "one_offset" or nil } or {}
  end,
}

function M.list_terms(family)
  local terms = lists.collect(family.terms, function(term)
    local list_pages = PAGES[term.kind]
    local names = list_pages and list_pages(term, family.terms, family) or term.device_pages or { term.page }
    return lists.map(names, function(page)
      return lists.merge(term, { page = page })
    end)
  end)
  table.insert(terms, 1, { page = "everywhere" }) -- the first domain contains all keys; further domains narrow it
  for name, value in next, family.terms do
    if type(name) == "string" then -- a property
      terms[name] = value
    end
  end
  terms.folder = "attention/cuda/"
  terms.by_offset = family.relative.toeplitz
  terms.by_pair = terms.pair_vectors and not terms.by_offset -- also if the CPU rotates queries instead
  terms.placed = family.positions.kind ~= "index"
  return terms
end

local function list_gathers(family)
  return family.score.kind ~= "none" and family.score.cuda.gathers or {}
end

-- The class of the rows of pair vectors; false if there are none.
local function get_row_class(family)
  return family.relative.kind ~= "none" and (family.relative.toeplitz and "distance" or "row")
end

-- Whether gradients of pairs are stored for the pass over distances; they are not if this pass also needs the logits.
function M.keeps_pairs(family)
  local gathered = list_gathers(family).distance
  return (get_row_class(family) == "distance" or gathered ~= nil) and not (gathered and gathered.needs_logit)
end

-- Whether a warp can compute a family's pairs in fragments (on matrix units): pairs have no vectors, no keys are
-- visited outwards, scores learn no numbers, and a query sees consecutive keys. max_head_width: the most channels of a
-- head.
function M.fits_fragments(family, max_head_width)
  local terms = family.terms
  return not (terms.outwards or terms.pair_vectors or terms.trains or terms.scattered)
    and family.head_width <= max_head_width
end

local function find_owner(family, class, gathered, rows)
  local attends, terms = family.attends, lists.merge(family.on_device.terms)
  local is_kept = class == "distance" and attends.pairs
  local is_spread = is_kept and rows and attends.head_lanes > 1
  local function add(page, names)
    terms[#terms + 1] = page and lists.merge(names or {}, { page = page }) or nil
  end
  add(not is_kept and "by_" .. class)
  add(rows and "sum_of_rows")
  add(rows and (family.relative.biases and "sum_of_biased_rows" or "sum_of_shared_rows"))
  add(gathered and "sum_of_tables", { scalar = family.score })
  add(is_spread and "spread")
  return { class = class, title = TITLES[class], kept = is_kept, rows = rows, gathered = gathered or false,
    terms = terms,
    template = is_kept and "attention/cuda/attend_kept.tpl" or "attention/cuda/attend_owned.tpl",
    first_task = is_spread and attends.first_task or "threadIdx.x", tasks = is_spread and attends.tasks or "THREADS",
    unroll = family.head_width <= 8 and 8 or 4, leads = family.relative.biases or gathered ~= nil }
end

function M.list_owners(family)
  local gathers = list_gathers(family)
  return lists.map(CLASSES, function(class)
    local rows = class == get_row_class(family)
    return (gathers[class] or rows) and find_owner(family, class, gathers[class], rows) or nil
  end)
end

return M
