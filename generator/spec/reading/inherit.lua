-- Inheritance of facets: the facets that a spec states for all attentions of an encoder-decoder, and the attentions
-- that take them over.
--
-- A causal mask and a window apply to the decoder's self-attention alone. Lines, vectors of distances and a score that
-- reads positions, distances or indices do not apply to cross-attention. Facets of a preset with made_for, except
-- positions, apply to that family alone. A family whose own table names a facet takes it: the fields in its table are
-- merged over the shared fields. Lines and projections have no kinds: { kind = "none" } leaves them out, as it does a
-- score (score/entries.lua). A facet that a family takes over is called inherited.
--
-- Input: a spec's tree with its presets (load.lua), or a resolved encoding. Output:
--   M.inherit          the spec's tree, in which the families' tables contain the shared facets that they take over
--   M.mark             an encoding's table with its presets, in which made_for is moved into each facet
--   M.spell            a resolved encoding whose family tables contain all that a spec must state there
-- Invariant: changes no node that it receives.

local canonical = require("base.canonical")
local entries = require("spec.score.entries")
local families = require("spec.families")
local lists = require("base.lists")
local pages = require("facets.pages")
local placement = require("facets.placement")
local tree = require("spec.reading.tree")

local M = {}

local PLACES = { distance = true, query = true, key = true, query_index = true, key_index = true }

local function get_value(node, name)
  local field = tree.is_table(node) and node.fields[name]
  return field and field.value
end

-- An encoding's table in which made_for is moved into each facet.
function M.mark(encoding)
  local made_for = get_value(encoding, "made_for")
  return (made_for == "encoder" or made_for == "decoder") and tree.map(encoding, function(name, node)
    return families.is_facet[name] and lists.merge(node, { made_for = made_for }) or name ~= "made_for" and node or nil
  end) or encoding
end

-- Whether a family inherits a facet that is stated for all families. node: the facet's node.
local function takes_over(facet, node, family)
  if families.is_layer[family] then
    return true
  elseif node.made_for and node.made_for ~= family and facet ~= "positions" then
    return false
  end
  local page = pages.by_name[facet] or {} -- parameters have no page
  if page.decoder_kinds and page.decoder_kinds[get_value(node, "kind")] then
    return family == "decoder"
  end
  return family ~= "cross" or not page.excludes_cross -- for a score, settle_encoding.lua decides later
end

-- Whether a family's own table states a facet; a score and its parameters count as one.
local function states(table_node, facet)
  local fields = tree.is_table(table_node) and table_node.fields or {}
  return fields[facet] ~= nil or facet == "score" and fields.parameters ~= nil
    or facet == "parameters" and fields.score ~= nil
end

-- Whether a spec leaves a facet without kinds out, by { kind = "none" }. Fields from a parent are then marked
-- `unstated` (tree.merge).
local function is_left_out(facet, node)
  if not (pages.by_name[facet] or {}).without_kinds or get_value(node, "kind") ~= "none" then
    return false
  end
  for name, inner in next, node.fields do
    if name ~= "kind" and not inner.unstated then
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

-- Returns a table of the shared facets (fields of `shared`) that a family inherits, and whether the family lacks some
-- of them. family_node: the family's table, or nil.
local function inherit_facets(shared, family, family_node)
  local new, lacks_some = tree.make_table(shared.origin), false
  for facet, node in next, shared.fields do
    local deciding_node = facet == "parameters" and shared.fields.score or node
    local is_inherited = not is_left_out(facet, tree.is_table(family_node) and family_node.fields[facet] or nil)
      and (states(family_node, facet) or takes_over(facet, deciding_node, family))
    new.fields[facet] = is_inherited and node or nil
    lacks_some = lacks_some or not is_inherited
  end
  return new, lacks_some
end

function M.inherit(root)
  local encoding = M.mark(root.fields.encoding)
  if not tree.is_table(encoding) then
    return root
  end
  local shared, inherited, model = tree.make_table(encoding.origin), drop_left_out(encoding), root.fields.model
  local names = families.list({ kind = get_value(model, "kind"), encoder_layers = get_value(model, "encoder_layers") },
    encoding.fields)
  for name, node in next, inherited.fields do
    shared.fields[name] = families.is_facet[name] and node or nil
  end
  for _, name in ipairs(families.NAMES) do
    local family_node = encoding.fields[name]
    inherited.fields[name] = family_node
      and entries.merge(inherit_facets(shared, name, family_node), drop_left_out(family_node))
  end
  local relative = shared.fields.relative
  for _, name in ipairs(names and names[2] and names or {}) do
    local facets, lacks_some = inherit_facets(shared, name)
    local sees_one_side = name == "decoder" and get_value(relative, "kind") == "shaw"
      and relative.fields.sides == nil -- settle_encoding.lua sets the decoder's sides
    inherited.fields[name] = inherited.fields[name] or (lacks_some or sees_one_side) and facets or nil
  end
  local new = tree.copy(root)
  new.fields.encoding = inherited
  return new
end

-- Whether a score, as a text, depends on the positions, the indices or the distance of query and key.
function M.reads_places(formula)
  return placement.mentions(formula, PLACES)
end

-- Whether a spec states a score for cross-attention. encoding: the node of the encoding's table in the spec, or nil.
function M.states_cross_score(encoding)
  return encoding ~= nil and states(encoding.fields.cross, "score")
end

-- A value if it is a table, otherwise an empty table. A run's file may hold a value of any type; types are checked when
-- the file's text is read as a spec.
local function get_table(value)
  return type(value) == "table" and value or {}
end

-- Returns the value of a family's own facet that a spec must state to obtain the facet of the resolved spec; nil if the
-- spec need not state it.
local function spell_facet(encoding, family, page)
  local facet = page.name
  local own_facet, shared_facet = get_table(encoding[family])[facet], encoding[facet]
  local is_inherited = takes_over(facet, { fields = { kind = { value = get_table(shared_facet).kind } } }, family)
  if is_inherited or shared_facet == nil then
    return own_facet
  end
  own_facet = own_facet or shared_facet
  return get_table(own_facet).kind ~= (get_table(page.off_value).kind or "none") and own_facet or nil
end

-- Adds the field `sides` to shared learned vectors of distances to both sides. But if the decoder has the same vectors
-- to the left, removes the decoder's instead: then a spec without the field in both tables resolves to this encoding.
local function spell_sides(new)
  local decoder_facet, shared_facet = get_table(get_table(new.decoder).relative), get_table(new.relative)
  if shared_facet.kind ~= "shaw" or shared_facet.sides then
    return
  elseif decoder_facet.sides ~= "left" or decoder_facet.clip ~= shared_facet.clip
    or decoder_facet.init_sigma ~= shared_facet.init_sigma then
    new.relative = { kind = shared_facet.kind, clip = shared_facet.clip, init_sigma = shared_facet.init_sigma,
      sides = "both" }
    return
  end
  new.decoder = lists.merge(new.decoder)
  new.decoder.relative = nil
end

function M.spell(encoding, model)
  local new, names = lists.merge(encoding), families.list(model, encoding) or {}
  spell_sides(new)
  for _, name in ipairs(names[2] and names or {}) do
    local family = lists.merge(get_table(new[name]))
    for _, page in ipairs(pages) do
      local facet = page.name
      if page.decoder_kinds or page.excludes_cross then
        family[facet] = spell_facet(new, name, page)
      end
      if page.without_kinds and family[facet]
        and canonical.format(family[facet]) == canonical.format(page.off_value) then
        family[facet] = { kind = "none" }
      end
    end
    if name == "cross" and not family.score and M.reads_places(tostring(encoding.score)) then
      family.score, family.parameters = encoding.score, family.parameters or encoding.parameters
    end
    new[name] = (next(family) or families.is_layer[name]) and family or nil
  end
  return new
end

return M
