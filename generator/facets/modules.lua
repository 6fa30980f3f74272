-- The list of the modules of facets. A facet is a part of an encoding, such as its mask; the module of a facet has all
-- code and data of the facet. Code for all facets loops over the modules, with a variable `module`.
--
-- Output: the modules, in the order in which families are planned and described; M.in_spec_order: the modules in the
-- order in which specs are resolved and documented, since a default may read earlier fields. A family is a kind of
-- attention, such as the decoder's self-attention. Two fields of a module are required:
--   name                     the facet's field in encodings and in plans of families
--   fields                   the descriptions of its fields in specs, entries of the schema (spec/schema.lua)
-- All other fields of a module are optional:
--   is_for_tokens            true: the facet belongs to the vectors of tokens, not to an attention
--   is_read_by_facets        true: other facets read the facet, and nothing else does
--   off_value                the value with which a spec turns the facet off for one family
--   is_off(value)            whether a value turns the facet off
--   decoder_kinds            the set of the kinds that apply only to the decoder if a spec of an encoder-decoder sets
--                            them for all attentions
--   excludes_cross           true: if a spec sets the facet for all attentions, it does not apply to cross-attention
--   without_kinds            true: the facet has no field `kind`; still, { kind = "none" } leaves it out of a family
--   reads                    the input, "positions" or "distances", that the facet reads with every kind except "none"
--   find_read_input(encoding)   for facets without `reads`: returns the input that the facet reads; false or nil if the
--                            facet reads neither positions nor distances
--   explain_length(resolved, sides)   words that say how the facet depends on the number of tokens in a sequence that
--                            the model generates; nil or false if it does not. sides.query: whether the model generates
--                            the sequence of the queries; sides.key: whether it generates the sequence of the keys
--   check(view, report)      reports errors between fields; view: the spec with the values that hold for the families
--                            with this facet (family_facets.lua); view.family_names: the names of these families;
--                            report: the functions of spec/rules/reports.lua
--   warn(view, report)       warns about unlikely settings, through report.warn
--   plan(encoding, family, context)   returns the plan of the facet for the family. The family already has the plans of
--                            earlier modules. Fields of context: has_several_streams (each stream then samples
--                            positions of added vectors separately), width and precision of the model, longest_training
--                            (the number of tokens of the longest training sequence), formula (the parsed score, or
--                            nil)
--   describe(family, plan)   a part of a sentence about an encoding; commas join these parts
--   describe_details(family)   a further part of the sentence; semicolons join these parts
--   describe_attention(family)   a sentence at the head of the file of an attention
--   add_choices(plan, families, add)   passes choices of the generator to add(what, value, why)
--   describe_device_choice(family)   returns the generator's choice for attention on a GPU, { what, value, why }
--   count_bytes(family, sizes, T, S)   bytes for T queries and S keys on the CPU:
--     sums                   sums to which all blocks of a shard add
--     scratch                workspace of one sequence
--     step_tables            tables that begin_step fills for all threads
--     draws                  samples of positions
--   hides(family, h, i, j, S)   whether the facet hides key j (of S keys) from query i in head h, in addition to the
--                            mask; for pictures
--   request_value(family)    returns a table that describes a value for attention. A learned map computes the value
--                            from the input of the keys. Fields:
--     name                   its name in files and in C
--     columns                the number of columns of the map
--     bias                   whether the map has a bias
--     comment                the comment of the parameter
--     description            words for the width of the value
--     init                   initial values of the map's weights; nil: those of the network's other weights
--     cached                 whether attention caches, in decoding, the numbers that it computes from the value
--     width                  only in family.requested_value, a copy of the table: `columns`, rounded up to whole
--                            vectors
--     constant               only in family.requested_value: the name of this width in C
--   make_terms(family)       the facet's part of the loops over queries and keys: a list of terms with kinds
--                            (attention/terms.lua), nil if the facet is off
--   export(family, context)   returns a table of the names that templates of Python read. Fields of context:
--     crosses                whether keys are of another stream than queries
--     key_prefix             the prefix of names for the stream of the keys: "memory_" if crosses, otherwise ""
--     formula                the parsed score, or nil
--     net                    the network
--     extra_inputs, part_texts, calls, layer   `export` sets them; lab/export/pytorch.lua describes them
--   needs_no_export          true: the facet needs no `export`, since the network's operations or another facet's
--                            `export` contain it
--   parts                    a list of parts of an exported file. A part is a text with functions and classes. Fields
--                            of a part:
--     name                   the name of the part in context.part_texts of `export`
--     fields                 names of fields of the result of `export`; attentions with equal fields share the part
--     names                  the names of the functions and classes that the part defines
--     rank                   a number: the file contains its parts in ascending order of rank
--   identify(encoding)       names and values that decide whether a checkpoint fits; absent: every checkpoint fits
--   identify_sums(plan)      names and values that describe the order of sums, if the spec alone does not determine it;
--                            the bits of a run depend on this order
--   warn_unreached(view, report)   warns about learned numbers that no gradient reaches. Fields of view: resolved (the
--                            spec with the values that hold for one family), causal (whether queries see no later
--                            keys), formula (the parsed score, or nil), spec_report (functions like those of `report`,
--                            for fields that a spec sets for all families)
-- A rule between two facets is in the module of the facet that refuses the other facet.

local lists = require("base.lists")
local predicates = require("facets.predicates")

local M = {
  require("facets.positions"),
  require("facets.additive"),
  require("facets.relative"),
  require("facets.rotation"),
  require("facets.mask"),
  require("facets.lines"),
  require("facets.normaliser"),
  require("facets.projections"),
  (require("facets.score")), -- in parentheses: only the first value of require
}

local SPEC_ORDER = { "rotation", "relative", "projections", "mask", "lines", "normaliser", "positions", "additive",
  "score" }

predicates.modules = M
M.by_name = lists.index_by(M, function(module) return module.name end)
M.in_spec_order = lists.map(SPEC_ORDER, function(name) return M.by_name[name] end)

-- Adds a module after all others. It must be called before spec/schema.lua is loaded, which reads the modules once.
function M.add(module)
  M[#M + 1], M.in_spec_order[#M.in_spec_order + 1], M.by_name[module.name] = module, module, module
end

-- Calls the function `name` of all modules of facets that have it. order: the list M or M.in_spec_order.
function M.call(order, name, ...)
  for _, module in ipairs(order) do
    if module[name] then
      module[name](...)
    end
  end
end

-- The results of the function `name` from all modules of facets that have it.
function M.collect(name, ...)
  local list = {}
  for _, module in ipairs(M) do
    list[#list + 1] = module[name] and module[name](...) or nil
  end
  return list
end

-- The parts of an exported file that the facets contribute, in the order of rank.
function M.list_parts()
  local list = lists.collect(M, function(module) return module.parts or {} end)
  table.sort(list, function(a, b) return a.rank < b.rank end)
  return list
end

return M
