-- The pages of facets: everything that is peculiar to a facet stands on its page, and who goes through all facets goes
-- through these.
--
-- Output: the pages, in the order in which families are planned and words are said; M.written: in the order in which
-- specs are resolved and documented, since a default may read what stands before. A page has
--   name            the field of an encoding, and of a family of attentions
--   fields          rows of the schema (spec/schema.lua)
-- and of these what it needs, the rest being absent:
--   of_input, serves         true: it is of the tokens' vectors rather than of an attention; others alone read it
--   off, is_off(value)       what a family's facet is that is off, where a spec that has none leaves it out
--   decoders, by_place       of what a spec gives for all attentions: kinds that the decoder alone takes over; true:
--                            what cross-attention does not take over
--   without_kinds            true: kind = "none" leaves it out of a family
--   reads(encoding)          "positions" or "distances", if the facet that is on reads them
--   told_length(resolved, sides)   words, where it depends on how many tokens a sequence has; sides: query, key, those
--                            of the attention whose sequence a model makes itself
--   check(seen, say)         errors between fields; seen: the spec as those see it whom the facet is for
--   (family_facets.lua);
--                            say: how rules speak (say.lua)
--   warn(seen, say)          what will hardly be meant, by say.warn
--   plan(encoding, family, given)   the family's member of the page's name; family: with those of the pages before;
--                            given: apart (several streams draw what is added to tokens apart), width, precision,
--                            longest_training, formula of the score or nil
--   words(family, plan), phrase(family, plan)   of an encoding in a sentence: the first are joined by commas
--   banner(family)           a sentence at the head of the file of an attention
--   choices(plan, families, add)   what the generator chose, by add(what, value, why); device_choice(family): the same
--                            of attention on a device
--   bytes(family, sizes, T, S)   of T queries and S keys on the CPU (plan/deriving/memory.lua): sums, what the blocks
--                            of a shard add up; behind, what begin_step makes for all threads; draws
--   hides(family, h, i, j, S)   whether query i of head h does not see key j of S, whatever the mask; for pictures
--   asks(family)             a value that the network makes for it of the input of the keys by a learned map: name, in
--                            files and in C; columns; bias, whether it has one; comment of the parameter; about, words
--                            for its width. family.asks has it with width, the columns filled up to whole vectors, and
--                            constant, what C calls that; attention is handed the value and has its gradient written
--   terms(family)            what it adds to loops over queries and keys: a list of terms with kinds
--                            (attention/terms.lua), nil where it is off
--   export(family, given), exported   names that templates of Python read, by a table; given: crosses (two streams),
--                            memory (what names of the keys' stream begin with), formula, net, and to add to needs,
--                            pages and calls (lab/export/facets.lua); or true: the network's operations have all of it
--   parts                    what an exported file has of it once for all attentions that are alike, a list: of, the
--                            name of its pages; fields, those of the table of export that decide whether they are
--                            alike; names of its functions and classes; rank, its place in the file
--   identity(encoding)       names and values that decide whether a checkpoint fits; absent: whatever it is, it does
--   order_of_sums(plan)      names and values beside the spec that fix the bits of a run
--   unreached(seen, say)     learned numbers that no gradient reaches; seen: one family, whose names say has, with
--                            causal and formula; seen.say: as the spec has it
-- A rule between two facets stands on the page of the one that cannot have the other.

local lists = require("base.lists")
local placement = require("facets.placement")

local M = {
  require("facets.positions"),
  require("facets.additive"),
  require("facets.relative"),
  require("facets.rotation"),
  require("facets.mask"),
  require("facets.lines"),
  require("facets.normaliser"),
  require("facets.projections"),
  (require("facets.score")), -- the first of its values
}

local WRITTEN = { "rotation", "relative", "projections", "mask", "lines", "normaliser", "positions", "additive",
  "score" }

M.at, placement.pages = {}, M
for _, page in ipairs(M) do
  M.at[page.name] = page
end
M.written = lists.map(WRITTEN, function(name) return M.at[name] end)

-- Adds a page from elsewhere behind all others, ahead of whoever reads them: the schema is made once.
function M.enter(page)
  M[#M + 1], M.written[#M.written + 1], M.at[page.name] = page, page, page
end

-- Calls what pages have under a name, in an order of pages.
function M.call(order, name, ...)
  for _, page in ipairs(order) do
    if page[name] then
      page[name](...)
    end
  end
end

-- A list of their answers under a name, without those of pages that have none.
function M.said(name, ...)
  local list = {}
  for _, page in ipairs(M) do
    list[#list + 1] = page[name] and page[name](...) or nil
  end
  return list
end

-- The parts that pages have in an exported file, in the order of their ranks.
function M.parts()
  local list = lists.flat(M, function(page) return page.parts or {} end)
  table.sort(list, function(a, b) return a.rank < b.rank end)
  return list
end

return M
