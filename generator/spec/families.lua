-- Finds the families of attentions of a model, such as "decoder" for the self-attention of the decoder, and the
-- encoding of each family.
--
-- In the resolved spec, facets directly in `encoding`, the shared facets, apply to all families of a model;
-- encoding.<family> has only the facets that differ from them, and such a facet has all its fields there. If a facet is
-- off for one family alone, its value in encoding.<family> is off_value of the facet's module (facets/modules.lua). The
-- encoding added to the embedding belongs to no attention. In a spec file, some shared facets do not apply to all
-- families, for example a causal mask (inherit.lua).

local canonical = require("base.canonical")
local lists = require("base.lists")
local model_fields = require("spec.fields.model")
local facets = require("facets.modules")

local M = {}

-- The families of encodings by layer. Entry i of the list encoding.layers becomes the table encoding.layer<i>; its
-- field `times` is the number of neighbouring layers that have this encoding. A model with more layers than the list
-- repeats the list.
M.LAYERS = {}
local MAX_ENTRIES = 8
for i = 1, MAX_ENTRIES do
  M.LAYERS[i] = "layer" .. i
end
M.LAYERS_TEXT = ("a list of 2 to %d encodings, such as { \"rope\", \"none\" }"):format(#M.LAYERS)

-- The families of an encoder-decoder, and the families of encodings by layer; other models have the family "self".
M.NAMES = lists.join({ "encoder", "decoder", "cross" }, M.LAYERS)
M.FACETS = lists.map(facets.in_spec_order, function(module) return not module.is_for_tokens and module.name or nil end)
M.FACETS[#M.FACETS + 1] = "parameters" -- parameters of the score count as a facet
M.is_name, M.is_facet, M.is_layer = lists.to_set(M.NAMES), lists.to_set(M.FACETS), lists.to_set(M.LAYERS)

local MODELS = lists.find(model_fields, function(field) return field.path == "model.kind" end).kinds

-- The kinds of models that have a family.
function M.list_kinds(family)
  return lists.map(MODELS, function(kind)
    local has_family = lists.has(kind.families, family) or M.is_layer[family] and kind.has_layers
    return has_family and kind.name or nil
  end)
end

-- The names of the families of a model, in order; nil if the model's kind is unknown. model, encoding: sections of a
-- spec.
function M.list(model, encoding)
  local kind = model and lists.find(MODELS, function(entry) return entry.name == model.kind end)
  if kind and kind.has_layers and encoding.layer1 then
    return lists.filter(M.LAYERS, function(name) return encoding[name] ~= nil end)
  end
  return kind and lists.map(kind.families, function(name)
    return (name ~= "encoder" or model.encoder_layers ~= 0) and name or nil
  end)
end

-- For a field in encoding.<family>, the path of the field that all families share; for other fields the path itself.
function M.make_shared_path(path)
  local name, field_path = path:match("^encoding%.(%l+%d?)%.(.*)$")
  return M.is_name[name] and "encoding." .. field_path or path
end

-- Whether queries of the family see no key at a positive distance, the key's position minus the query's position. The
-- result is true in decoders, and with a mask that hides later keys. It is false if distances are differences of
-- unsorted positions: then earlier keys, too, can have positive distances.
function M.is_causal(model, name, encoding)
  local mask, positions = encoding.mask, encoding.positions or {}
  if positions.reading == "difference" and positions.sorted == false then
    return false
  end
  local is_decoder = name == "decoder" or (name == "self" or M.is_layer[name]) and model.kind == "decoder"
  local hides_later_keys = mask ~= nil and (mask.kind == "causal" or mask.kind == "window" and mask.right == 0)
  return is_decoder or hides_later_keys
end

-- The number of neighbouring layers that have the encoding of a family.
local function get_times(encoding, name)
  return (encoding[name] or {}).times or 1
end

-- The encodings by layer, a list of tables with these fields; empty if all layers have one encoding:
--   name     the name of the family
--   times    the number of neighbouring layers that have the encoding
--   first    the index of the first of these layers, from 0
--   period   the number of layers after which the list repeats
function M.list_layers(encoding)
  local layer_count = 0
  local list = lists.map(M.LAYERS, function(name)
    local entry = encoding[name] and { name = name, times = get_times(encoding, name), first = layer_count }
    layer_count = layer_count + (entry and entry.times or 0)
    return entry or nil
  end)
  for _, entry in ipairs(list) do
    entry.period = layer_count
  end
  return list
end

-- The entries of the incomplete last repetition of the list of encodings, in the form of M.list_layers, except that
-- `first` is the index of a layer of the model, from 0. The result is empty if the number of layers is a multiple of
-- the period.
function M.list_last_layers(encoding, layers)
  local list = M.list_layers(encoding)
  local last_layers = list[1] and layers % list[1].period or 0
  return lists.map(list, function(entry)
    local times = math.min(entry.times, last_layers - entry.first)
    return times > 0 and lists.merge(entry, { times = times, first = layers - last_layers + entry.first }) or nil
  end)
end

-- The number of layers of a family; nil if there are fewer layers than the list of encodings has.
function M.count_layers(model, name, encoding)
  local function find(list)
    return lists.find(list, function(candidate) return candidate.name == name end)
  end
  local entry = find(M.list_layers(encoding))
  if entry then
    local is_whole = model.layers and model.layers >= entry.period
    local last_entry = is_whole and find(M.list_last_layers(encoding, model.layers))
    return is_whole and model.layers // entry.period * entry.times + (last_entry and last_entry.times or 0) or nil
  end
  return name == "encoder" and model.encoder_layers or name ~= "self" and model.decoder_layers or model.layers
end

-- Whether a value switches a facet off. The facet's module decides by its function is_off, or else by its off_value.
local function is_off(facet, value)
  local module = facets.by_name[facet] or {}
  if module.is_off then
    return module.is_off(value)
  end
  return module.off_value ~= nil and canonical.format(value) == canonical.format(module.off_value)
end

-- The encoding of one family: its facets, together with the encoding added to the embedding.
function M.make_encoding(encoding, name)
  local family_encoding, own_facets = lists.merge(encoding), M.is_name[name] and encoding[name] or {}
  for _, family in ipairs(M.NAMES) do
    family_encoding[family] = nil
  end
  for facet, value in next, own_facets do
    family_encoding[facet] = facet ~= "times" and not is_off(facet, value) and value or nil
  end
  if own_facets.score then
    family_encoding.parameters = family_encoding.score and own_facets.parameters or nil
  end
  return family_encoding
end

-- A view of the resolved spec in which `encoding` is the encoding of one family.
function M.make_view(resolved, name)
  return setmetatable({ encoding = M.make_encoding(resolved.encoding, name) }, { __index = resolved })
end

local function are_equal(a, b)
  return canonical.format({ a }) == canonical.format({ b })
end

-- The facets of a family's whole encoding that differ from the shared facets; nil if no facet differs.
local function find_differing_facets(encoding, family_encoding)
  local differing_facets = {}
  for _, facet in ipairs(M.FACETS) do
    if facet ~= "parameters" and not are_equal(family_encoding[facet], encoding[facet]) then
      differing_facets[facet] = family_encoding[facet] or facets.by_name[facet].off_value
    end
  end
  if differing_facets.score or not are_equal(family_encoding.parameters, encoding.parameters) then
    differing_facets.score = differing_facets.score or family_encoding.score
    differing_facets.parameters = family_encoding.parameters
  end
  return next(differing_facets) and differing_facets or nil
end

-- Reduces encoding.<family> to the facets that differ from the shared facets. Before that, encoding.score is set to the
-- score of the first family that has a score but no table in the spec, and encoding.parameters to its parameters.
--   names              the families of the model
--   encoding           has the shared facets and, for families not in shared_encodings, the table encoding.<family>
--                      with every facet of the family
--   shared_encodings   family -> a view of `encoding`, for families without a table encoding.<family>. The view
--                      replaces score and parameters by those that are resolved for the family, and `positions` if
--                      the family reads positions differently
--   stated_families    family -> its node in the spec, for families that the spec states
function M.settle(encoding, names, shared_encodings, stated_families)
  local score_owner = lists.any(names, function(name)
    local family_encoding = shared_encodings[name] or not stated_families[name] and encoding[name]
    return family_encoding and family_encoding.score and family_encoding.score ~= "none" and family_encoding
  end)
  if score_owner then
    encoding.score, encoding.parameters = score_owner.score, score_owner.parameters
  end
  for _, name in ipairs(names) do
    local family_encoding = shared_encodings[name]
    if family_encoding then
      local differing_facets = { positions = rawget(family_encoding, "positions") }
      if score_owner and not are_equal(family_encoding.score, score_owner.score) then
        differing_facets.score = family_encoding.score
        differing_facets.parameters = family_encoding.score ~= "none" and family_encoding.parameters or nil
      end
      encoding[name] = next(differing_facets) and differing_facets or nil
    else
      local times = encoding[name].times
      encoding[name] = find_differing_facets(encoding, encoding[name]) or M.is_layer[name] and {} or nil
      if times then
        encoding[name].times = times
      end
    end
  end
end

return M
