-- Facets that a spec gives for all attentions of an encoder-decoder, and the attentions that take each of them over.
--
-- A causal mask and a window apply to the decoder's self-attention alone. Lines, vectors of distances and a score that
-- reads positions or indices do not apply to cross-attention, and facets of a preset with made_for apply to that family
-- alone. A family whose own table names a facet takes it: the fields in its table are merged over the shared fields.
-- Lines and projections have no kinds: { kind = "none" } leaves them out, as it does a score (score/entries.lua).
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

function M.mark(own)
  local made_for = get_value(own, "made_for")
  return (made_for == "encoder" or made_for == "decoder") and tree.map(own, function(name, node)
    return families.is_facet[name] and lists.merge(node, { made_for = made_for }) or name ~= "made_for" and node or nil
  end) or own
end

-- Whether a family takes over a facet that is given for all families.
local function takes_over(facet, node, name)
  if node.made_for and node.made_for ~= name and facet ~= "positions" then
    return false
  end
  local page = pages.by_name[facet] or {} -- parameters have none
  if page.decoders and page.decoders[get_value(node, "kind")] then
    return name == "decoder"
  end
  return name ~= "cross" or not page.by_place -- for a score, M.reads_places decides later
end

-- Whether a family's own table states a facet; a score and its parameters count as one.
local function states(own, facet)
  local fields = tree.is_table(own) and own.fields or {}
  return fields[facet] ~= nil or facet == "score" and fields.parameters ~= nil
    or facet == "parameters" and fields.score ~= nil
end

-- Whether a facet without kinds is stated as left out; fields from before that are `unstated` (tree.merge).
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

-- An encoding's table, or a family's table, without the facets that it states as left out.
local function drop_left_out(own)
  return tree.is_table(own) and tree.map(own, function(name, node)
    return not is_left_out(name, node) and node or nil
  end) or own
end

-- Returns the shared facets that a family takes over in addition to its own table, or nil; and whether it leaves some
-- out.
local function inherit_facets(direct, name, own)
  local new, less = tree.make_table(direct.origin), false
  for facet, node in next, direct.fields do
    local decides = facet == "parameters" and direct.fields.score or node
    local taken = not is_left_out(facet, tree.is_table(own) and own.fields[facet] or nil)
      and (states(own, facet) or takes_over(facet, decides, name))
    new.fields[facet] = taken and node or nil
    less = less or not taken
  end
  return new, less
end

function M.inherit(root)
  local encoding = M.mark(root.fields.encoding)
  if not tree.is_table(encoding) then
    return root
  end
  local direct, laid, model = tree.make_table(encoding.origin), drop_left_out(encoding), root.fields.model
  local names = families.list({ kind = get_value(model, "kind"), encoder_layers = get_value(model, "encoder_layers") })
  for name, node in next, laid.fields do
    direct.fields[name] = families.is_facet[name] and node or nil
  end
  for _, name in ipairs(families.NAMES) do
    local own = encoding.fields[name]
    laid.fields[name] = own and entries.merge(inherit_facets(direct, name, own), drop_left_out(own))
  end
  local relative = direct.fields.relative
  for _, name in ipairs(names and names[2] and names or {}) do
    local new, less = inherit_facets(direct, name)
    less = less or name == "decoder" and get_value(relative, "kind") == "shaw"
      and relative.fields.sides == nil -- its queries see keys on one side only (settle_encoding.lua)
    laid.fields[name] = laid.fields[name] or less and new or nil
  end
  local new = tree.copy(root)
  new.fields.encoding = laid
  return new
end

-- Whether a score, given as text, depends on the positions of query and key.
function M.reads_places(formula)
  return placement.mentions(formula, PLACES)
end

-- Whether cross-attention asks for a score in an encoding's table of the spec, or nil.
function M.asks_for_score(encoding)
  return encoding ~= nil and states(encoding.fields.cross, "score")
end

-- A value if it is a table, otherwise an empty table. A run's file may hold a value of any type; types are checked when
-- the file's text is read as a spec.
local function get_table(value)
  return type(value) == "table" and value or {}
end

-- Returns the value that a spec must state for a family's own facet to obtain the facet of the resolved spec.
local function spell_facet(encoding, name, page)
  local facet = page.name
  local own, all = get_table(encoding[name])[facet], encoding[facet]
  local held = takes_over(facet, { fields = { kind = { value = get_table(all).kind } } }, name)
  if held or all == nil then
    return own
  end
  own = own or all
  return get_table(own).kind ~= (get_table(page.off).kind or "none") and own or nil
end

-- Adds the field `sides` to learned vectors of distances to both sides, unless the decoder has the same vectors to the
-- left: then a spec without the field in both tables resolves to this encoding.
local function spell_sides(new)
  local own, all = get_table(get_table(new.decoder).relative), get_table(new.relative)
  if all.kind ~= "shaw" or all.sides then
    return
  elseif own.sides ~= "left" or own.clip ~= all.clip or own.init_sigma ~= all.init_sigma then
    new.relative = { kind = all.kind, clip = all.clip, init_sigma = all.init_sigma, sides = "both" }
    return
  end
  new.decoder = lists.merge(new.decoder)
  new.decoder.relative = nil
end

function M.spell(encoding, model)
  local new, names = lists.merge(encoding), families.list(model) or {}
  spell_sides(new)
  for _, name in ipairs(names[2] and names or {}) do
    local own = lists.merge(get_table(new[name]))
    for _, page in ipairs(pages) do
      local facet = page.name
      if page.decoders or page.by_place then
        own[facet] = spell_facet(new, name, page)
      end
      if page.without_kinds and own[facet] and canonical.format(own[facet]) == canonical.format(page.off) then
        own[facet] = { kind = "none" }
      end
    end
    if name == "cross" and not own.score and M.reads_places(tostring(encoding.score)) then
      own.score, own.parameters = encoding.score, own.parameters or encoding.parameters
    end
    new[name] = next(own) and own or nil
  end
  return new
end

return M
