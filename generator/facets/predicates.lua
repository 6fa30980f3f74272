-- Predicates of a resolved encoding that concern several facets, such as whether any facet reads positions.
--
-- Input: the resolved spec, or a view of it with the values that hold for one family. Defaults of fields call these
-- predicates during resolution, when a later facet may be missing. Output: a value that counts as true or false.
-- M.modules is the list of the modules of facets, which modules.lua sets.

local lists = require("base.lists")

local M = { modules = {} }

-- Whether any facet that is on reads the given input, "positions" or "distances".
local function reads_any(resolved, input)
  local encoding = resolved.encoding
  return lists.any(M.modules, function(module)
    local is_on = module.reads == input and encoding[module.name] and encoding[module.name].kind ~= "none"
    return is_on or module.find_read_input and module.find_read_input(encoding) == input
  end)
end

-- Whether a score reads any of the given fields of its formula's argument x. field_names: the set of the names of these
-- fields, such as `distance` for x.distance.
function M.mentions(formula_text, field_names)
  return lists.any(lists.find_all(formula_text, "%f[%w_]x%.([%w_]+)"), function(word) return field_names[word] end)
end

local POSITION_INPUTS = { distance = true, query = true, key = true }

function M.score_reads_positions(encoding)
  return M.mentions(encoding.score or "", POSITION_INPUTS)
end

function M.is_randomized(resolved)
  return resolved.encoding.positions.kind == "randomized"
end

local BY_TOKEN = { digits = true, by_task = true }

-- Whether the position of a token depends on the token itself, not only on its index.
function M.is_by_token(resolved)
  return BY_TOKEN[resolved.encoding.positions.kind] or false
end

function M.adds_vectors(resolved)
  return resolved.encoding.additive.kind ~= "none"
end

-- Whether the facet `relative` gives pairs vectors that depend on distance. Vectors of the kind "cope" depend on
-- counts.
function M.has_distance_vectors(encoding)
  local kind = (encoding.relative or {}).kind or "none"
  return kind ~= "none" and kind ~= "cope"
end

-- Whether all families that a check concerns belong to decoders, so that no query sees a later key. view: the argument
-- of the function `check`, which modules.lua describes.
function M.are_decoders(view)
  return view.resolved.model.kind == "decoder"
    or not lists.any(view.family_names, function(name) return name ~= "decoder" end)
end

function M.reads_positions(resolved)
  return reads_any(resolved, "positions")
end

function M.reads_distances(resolved)
  return reads_any(resolved, "distances")
end

function M.reads_positions_or_distances(resolved)
  return M.reads_positions(resolved) or M.reads_distances(resolved)
end

-- Whether positions are sampled. Distances that are sampled themselves need no sampled positions.
function M.samples_positions(resolved)
  return M.is_randomized(resolved) and (M.reads_positions(resolved)
    or resolved.encoding.positions.reading == "difference" and M.reads_distances(resolved))
end

function M.samples_by_sequence(resolved)
  return M.is_randomized(resolved) and resolved.encoding.positions.draw == "sequence"
end

return M
