-- Inheritance of facets: the shared facets, which a spec states for all families of attentions, and the families that
-- inherit them.
--
-- Among shared facets, a causal mask and a window apply to the decoder's self-attention alone. Lines, vectors of
-- distances and a score that reads positions, distances or indices do not apply to cross-attention. The facets of a
-- preset with made_for, except positions, apply only to the family that made_for names. A family whose own table names
-- a facet inherits the facet in any case: the fields in its table are merged over the shared fields. Lines and
-- projections have no kinds; a spec leaves them out with { kind = "none" }, like a score (score/entries.lua).
--
-- Input: a spec's tree with its presets (load.lua), or a resolved encoding. Output:
--   M.inherit          the spec's tree, in which the families' tables contain the shared facets that they inherit
--   M.mark_facets      an encoding's table with its presets, in which made_for is moved into each facet
--   M.write_out        a resolved encoding whose family tables contain all that a spec must state there
-- Invariant: changes no node that it receives.

local canonical = require("base.canonical")
local entries = require("spec.score.entries")
local families = require("spec.families")
local lists = require("base.lists")
local facet_modules = require("facets.modules")
local predicates = require("facets.predicates")
local tree = require("spec.reading.tree")

local M = {}

local POSITION_INPUTS = { distance = true, query = true, key = true, query_index = true, key_index = true }

local function get_value(node, name)
  local field = tree.is_table(node) and node.fields[name]
  return field and field.value
end

-- An encoding's table in which made_for is moved into each facet.
function M.mark_facets(encoding)
  local made_for = get_value(encoding, "made_for")
  if made_for ~= "encoder" and made_for ~= "decoder" then
    return encoding
  end
  return tree.map(encoding, function(name, node)
    if families.is_facet[name] then
      return lists.merge(node, { made_for = made_for })
    end
    return name ~= "made_for" and node or nil
  end)
end

-- Whether a family inherits a facet that is stated for all families. node: the facet's node.
local function inherits(facet, node, family)
  if families.is_layer[family] then
    return true
  elseif node.made_for and node.made_for ~= family and facet ~= "positions" then
    return false
  end
  local module = facet_modules.by_name[facet] or {} -- parameters have no module
  if module.decoder_kinds and module.decoder_kinds[get_value(node, "kind")] then
    return family == "decoder"
  end
  return family ~= "cross" or not module.excludes_cross -- for a score, settle_encoding.lua decides later
end

-- Whether a family's own table states a facet; a score and its parameters count as one facet.
local function states(table_node, facet)
  local fields = tree.is_table(table_node) and table_node.fields or {}
  return fields[facet] ~= nil or facet == "score" and fields.parameters ~= nil
    or facet == "parameters" and fields.score ~= nil
end

-- Whether a spec leaves out a facet that has no kinds, with { kind = "none" }. This table may have other fields only if
-- they are from a parent: tree.merge has marked them `droppable`.
local function is_left_out(facet, node)
  if not (facet_modules.by_name[facet] or {}).without_kinds or get_value(node, "kind") ~= "none" then
    return false
  end
  for name, field_node in next, node.fields do
    if name ~= "kind" and not field_node.droppable then
      return false
    end
  end
  return true
end

-- An encoding's table, or a family's table, without the facets that it leaves out by { kind = "none" }.
local function drop_left_out(table_node)
  return tree.is_table(table_node) and tree.map(table_node, function(name, node)
    return not is_left_out(name, node) and node or nil
  end) or table_node
end

-- Returns a table of the shared facets (fields of shared_table) that a family inherits, and whether the family lacks
-- one of them. family_node: the family's table, or nil.
local function inherit_facets(shared_table, family, family_node)
  local facets, lacks_facet = tree.make_table(shared_table.origin), false
  for facet, node in next, shared_table.fields do
    local facet_node = facet == "parameters" and shared_table.fields.score or node -- parameters follow their score
    local is_inherited = not is_left_out(facet, tree.is_table(family_node) and family_node.fields[facet] or nil)
      and (states(family_node, facet) or inherits(facet, facet_node, family))
    facets.fields[facet] = is_inherited and node or nil
    lacks_facet = lacks_facet or not is_inherited
  end
  return facets, lacks_facet
end

function M.inherit(root)
  local encoding = M.mark_facets(root.fields.encoding)
  if not tree.is_table(encoding) then
    return root
  end
  local shared_table, new_encoding = tree.make_table(encoding.origin), drop_left_out(encoding)
  local model = root.fields.model
  local names = families.list({ kind = get_value(model, "kind"), encoder_layers = get_value(model, "encoder_layers") },
    encoding.fields)
  for name, node in next, new_encoding.fields do
    shared_table.fields[name] = families.is_facet[name] and node or nil
  end
  for _, name in ipairs(families.NAMES) do
    local family_node = encoding.fields[name]
    new_encoding.fields[name] = family_node
      and entries.merge(inherit_facets(shared_table, name, family_node), drop_left_out(family_node))
  end
  local relative = shared_table.fields.relative
  local has_several_families = names and names[2]
  for _, name in ipairs(has_several_families and names or {}) do
    local facets, lacks_facet = inherit_facets(shared_table, name)
    -- settle_encoding.lua will set relative.sides for the decoder alone, so the decoder needs its own table.
    local will_set_sides = name == "decoder" and get_value(relative, "kind") == "shaw" and relative.fields.sides == nil
    new_encoding.fields[name] = new_encoding.fields[name] or (lacks_facet or will_set_sides) and facets or nil
  end
  local new_root = tree.copy(root)
  new_root.fields.encoding = new_encoding
  return new_root
end

-- Whether a score, as a text, depends on the positions, the indices or the distance of query and key.
function M.reads_positions(formula)
  return predicates.mentions(formula, POSITION_INPUTS)
end

-- Whether a spec states a score for cross-attention. encoding: the node of the encoding's table in the spec, or nil.
function M.states_cross_score(encoding)
  return encoding ~= nil and states(encoding.fields.cross, "score")
end

-- The value if it is a table; an empty table for other values. A run's file may hold values of any type; types are
-- checked when the file's text is read as a spec.
local function get_table(value)
  return type(value) == "table" and value or {}
end

-- Returns the value that a spec must state for a facet in encoding.<family>, so that the resolved spec has `encoding`;
-- nil if the spec need not state the facet there.
local function write_out_facet(encoding, family, module)
  local facet = module.name
  local own_facet, shared_facet = get_table(encoding[family])[facet], encoding[facet]
  local kind_node = { value = get_table(shared_facet).kind }
  local is_inherited = inherits(facet, { fields = { kind = kind_node } }, family)
  if is_inherited or shared_facet == nil then
    return own_facet
  end
  own_facet = own_facet or shared_facet
  return get_table(own_facet).kind ~= (get_table(module.off_value).kind or "none") and own_facet or nil
end

-- Changes the shared facet `relative` of kind shaw, if it has vectors of distances to both sides: the facet gets the
-- field `sides`, since without it a decoder would have vectors to the left alone. If the decoder's facet differs only
-- by sides = "left", the decoder's facet is removed instead: a spec with the shared facet alone, without `sides`, has
-- both sides in the encoder and the left side in the decoder.
local function write_out_sides(encoding)
  local decoder_facet, shared_facet = get_table(get_table(encoding.decoder).relative), get_table(encoding.relative)
  if shared_facet.kind ~= "shaw" or shared_facet.sides then
    return
  elseif decoder_facet.sides ~= "left" or decoder_facet.clip ~= shared_facet.clip
    or decoder_facet.init_sigma ~= shared_facet.init_sigma then
    encoding.relative = { kind = shared_facet.kind, clip = shared_facet.clip, init_sigma = shared_facet.init_sigma,
      sides = "both" }
    return
  end
  encoding.decoder = lists.merge(encoding.decoder)
  encoding.decoder.relative = nil
end

-- A copy of a resolved encoding in which the families' tables contain all that a spec must state there.
function M.write_out(encoding, model)
  local new_encoding, names = lists.merge(encoding), families.list(model, encoding) or {}
  write_out_sides(new_encoding)
  local has_several_families = names[2] ~= nil
  for _, name in ipairs(has_several_families and names or {}) do
    local family = lists.merge(get_table(new_encoding[name]))
    for _, module in ipairs(facet_modules) do
      local facet = module.name
      if module.decoder_kinds or module.excludes_cross then
        family[facet] = write_out_facet(new_encoding, name, module)
      end
      if module.without_kinds and family[facet]
        and canonical.format(family[facet]) == canonical.format(module.off_value) then
        family[facet] = { kind = "none" }
      end
    end
    if name == "cross" and not family.score and M.reads_positions(tostring(encoding.score)) then
      family.score, family.parameters = encoding.score, family.parameters or encoding.parameters
    end
    new_encoding[name] = (next(family) or families.is_layer[name]) and family or nil
  end
  return new_encoding
end

return M
