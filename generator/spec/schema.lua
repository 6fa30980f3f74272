-- The table of all fields of a spec: the fields of all sections (fields/*.lua) in one list. Error messages, `fields`
-- and the tests derive from it.
--
-- Output:
--   M.fields       all fields, in the order in which they are resolved and printed
--   M.copies       by family: copies of the facets' fields for encoding.<family>
--   M.by_path      the field or copy at a path
--   M.children     the list of the fields and copies directly below a path
-- Keys of a field or copy:
--   path           the field's path
--   name           the last part of the path, which this module sets
--   doc            one line that describes the field
--   type           table, kind, choice, integer, number, boolean, symbol, symbols (an alphabet), or:
--     lengths      task lengths
--     curriculum   stages of task lengths
--     keep         the checkpoints to keep
--     score        the formula of a score
--     parameters   the numbers that a score reads
--     lines        lines of pairs of tokens (attention_lines.lua)
--     source       a user's C file with a sampler
--     network      a user's Lua file with a network
--     checkpoint   a checkpoint of a trainer
--     file         any other file
--     options      options of a task
--     settings     settings of a network
--     by           axes of an evaluation
--     name         a word of a-z, 0-9 and _
--     names        a list of such words
--     layers       a list of encodings; load.lua replaces the field by a table for each encoding
--   default        a value, or a function of the spec resolved so far
--   default_text   the default in words; without `default`, settle.lua or the plan determines the value
--   required       true: the spec must state the field
--   optional       true: the field has no value unless the spec states one
--   min, max       inclusive limits of a number
--   above, below   exclusive limits of a number
--   multiple       a number that divides the value
--   word           a string that is valid in place of a number
--   takes_names    true: the name of an axis is valid in place of a number
--   unit           the unit of a number, or the things that it counts
--   omitted_value  a value that the resolved spec omits, because the field's absence has the same meaning. For a table:
--     "empty"      a table without fields is omitted
--     a kind       a table with this kind and no other field is omitted
--   choices        valid strings; or pairs of a string and its meaning, which become lines of `details`
--   kinds          (type kind) the kinds. Fields of a kind: name, doc, fingerprints, and these if they apply:
--     used         a function of the resolved spec: false if the kind adds no code
--     shared       a function of the resolved spec: true if another feature uses the same code
--     families     (kinds of a model) the names of the attentions
--     has_layers   (kinds of a model) whether layers may have different encodings (encoding.layers)
--   kinds_from     (type kind) "tasks": the kinds are the tasks of the runtime
--   flag           a flag of the trainer that replaces the value for a run
--   items          (type table) the field that receives the table's positional values
--   requires       another field of the table, without which this field is an error
--   family         a family of attentions: only models with this family have the field
--   only           the kinds of its table that have this field; nil: all kinds
--   numbered       true: the field belongs to one entry of the list encoding.layers, such as encoding.layer1.times.
--                  Resolved specs have the field, --set can set it, and no documentation lists it
--   is_rare        true: `fields` lists the field only with --all, or if its path or a table above it is requested
--   details        lines of documentation for `fields`
--   fingerprints   texts that appear in rendered code only while the feature is on: its field has a value, and
--                  `used`, if present, is true for the resolved spec
-- Invariants: pure data and pure functions; a default reads only fields that come earlier in the list.

local alphabets = require("spec.task.alphabets")
local axes = require("spec.task.axes")
local base_names = require("base.names")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local attention_lines = require("spec.attention_lines")
local curriculum = require("spec.curriculum")
local lists = require("base.lists")
local similar_names = require("base.similar_names")
local parameters = require("spec.score.score_parameters")
local traced = require("expression.traced")

local M = {}

M.MAX_TASK_LENGTH = 100000 -- the largest task length
M.DEFAULT_LONGEST = 512 -- the default of task.longest
M.MAX_SYMBOLS = alphabets.MAX_SYMBOLS
M.LIBRARY_WIDTH = 256 -- models of at least this width use a library for their products on a GPU

local SECTIONS = { require("spec.fields.task"), require("spec.fields.model"), require("spec.fields.encoding"),
  require("spec.fields.train"), require("spec.fields.eval") }

M.fields = {
  { path = "precision", type = "choice", choices = { "float32", "tf32", "bf16", "float64" }, default = "float32",
    doc = "the number format of products",
    details = {
      "tf32, bf16: a GPU rounds the factors of its products; everything else is float32",
      "float64: for gradient checks",
    } },
  { path = "device_products", is_rare = true, type = "choice", choices = { "tiles", "warps" }, default = "tiles",
    omitted_value = "tiles",
    doc = "the kernel for products on a GPU: tiles staged in shared memory, or parts that each warp computes alone",
    details = { "warps: below width 256; it has not been timed on a GPU yet (docs/design-cuda.md); float32 then has a "
      .. "relative error of 2^-22 per product" } },
  { path = "init", type = "checkpoint", optional = true, flag = "--init",
    doc = "a checkpoint whose parameters all runs start from, relative to the spec file (docs/training.md)",
    details = { "false: no checkpoint, although the spec that is extended has one" } },
}
lists.append(M.fields, lists.collect(SECTIONS, function(fields) return fields end))

M.by_path = {}
M.children = { [""] = {} }
M.copies = {}

-- Adds a field to M.by_path and M.children. Pairs in `choices` become words and lines of `details`.
local function add_field(field)
  local parent, name = field.path:match("^(.*)%.([^%.]+)$")
  if field.choices and type(field.choices[1]) == "table" then
    local lines = lists.map(field.choices, function(choice) return ("%s: %s"):format(choice[1], choice[2]) end)
    field.choices = lists.map(field.choices, function(choice) return choice[1] end)
    field.details = lists.append(lines, field.details or {})
  end
  field.name = name or field.path
  M.by_path[field.path] = field
  M.children[parent or ""] = M.children[parent or ""] or {} -- a field of type `lengths` has children, too
  table.insert(M.children[parent or ""], field)
  if field.type == "table" then
    M.children[field.path] = {}
  end
end

-- A copy of a facet's field for encoding.<family>. A default function sees the family's facets in `encoding`.
local function copy_field(family, field)
  local copy = lists.merge(field, { family = family })
  copy.path, copy.fingerprints = field.path:gsub("^encoding%.", "encoding." .. family .. "."), nil
  if type(field.default) == "function" then
    copy.default = function(resolved)
      local encoding = setmetatable({ additive = resolved.encoding.additive }, { __index = resolved.encoding[family] })
      return field.default(setmetatable({ encoding = encoding }, { __index = resolved }))
    end
  end
  return copy
end

for _, field in ipairs(M.fields) do
  add_field(field)
end
for _, family in ipairs(families.NAMES) do
  M.copies[family] = lists.map(M.fields, function(field)
    return families.is_facet[field.path:match("^encoding%.(%l+)")] and copy_field(family, field) or nil
  end)
  for _, copy in ipairs(M.copies[family]) do
    add_field(copy)
  end
end

-- Whether a table of this kind may have the field.
function M.allows(field, kind)
  return not field.only or lists.has(field.only, kind)
end

-- The range of a number in words, such as "an integer from 1 to 64" or "a multiple of 16 from 16 to 1024".
local function format_range(field)
  local noun = field.multiple and "a multiple of " .. field.multiple
    or field.type == "integer" and "an integer" or "a number"
  local low = field.min and "from " .. diagnostics.show(field.min)
    or field.above and "above " .. diagnostics.show(field.above)
  local high = field.max and (field.min and "to " or "at most ") .. diagnostics.show(field.max)
    or field.below and "below " .. diagnostics.show(field.below)
  local separator, word_text = "", ""
  if low and high then
    separator = not field.min and ", " or field.max and " " or " to "
  end
  if field.word then
    word_text = (field.takes_names and ", %q or the name of an axis" or " or %q"):format(field.word)
  end
  return noun .. " " .. (low or "") .. separator .. (high or "") .. word_text
end

-- Descriptions of the values that fields of these types take. noise, passes and axis describe the axes in a field of
-- type `by`.
M.TEXT = {
  boolean = "true or false",
  lengths = "{ first, last }, { first, last, step = 20 } or { list = { 6, 10, 50 } }, lengths from 1 to "
    .. M.MAX_TASK_LENGTH,
  score = "function(x) return x.score + ... end, a list of formulas, or { use = preset }",
  parameters = "{ name = " .. parameters.TEXT .. ", ... }",
  lines = attention_lines.TEXT,
  source = "a C file named <kind>.c; <kind> is a letter a-z, then 1 to 63 characters: a-z, 0-9 and _",
  network = "a Lua file named <name>.lua; <name> is a letter a-z, then 1 to 63 characters: a-z, 0-9 and _",
  file = "the path of a file, relative to the spec file",
  checkpoint = "the path of a checkpoint, relative to the spec file, or false",
  options = "{ name = choice, ... }",
  curriculum = curriculum.TEXT,
  settings = "{ name = value, ... }: names of a-z, 0-9 and _; values are numbers, words, true or false",
  by = "{ axis = true, ... }: for each axis true (all values), { first, last } or { list = { 1, 3 } }",
  noise = "{ list = { 0, 0.5, 1 } }: standard deviations from 0 on, ascending",
  passes = ("{ first, last }, { first, last, step = 2 } or { list = { 1, 3 } }, numbers of passes from 1 to %d")
    :format(axes.MAX_PASSES),
  axis = "true (all values), { first, last }, { first, last, step = 2 } or { list = { 1, 3 } }, from 0 on",
  name = "a name of " .. base_names.TEXT,
  names = "a list of names of " .. base_names.TEXT,
  layers = families.LAYERS_TEXT,
  symbol = "the name of a symbol, in quotes",
  symbols = ("a number of symbols from 1 to %d, or a list of their names"):format(M.MAX_SYMBOLS),
}

function M.describe_values(field)
  if field.type == "integer" or field.type == "number" then
    return format_range(field)
  elseif field.type == "kind" then
    return field.kinds and table.concat(lists.get_names(field.kinds), ", ") or "the kind of a task"
  elseif field.type == "choice" then
    return table.concat(field.choices, ", ")
  elseif field.type == "names" and field.choices then
    return "a list of " .. table.concat(field.choices, ", ")
  elseif field.type == "keep" then
    return table.concat(field.choices, ", ") .. ", or an ascending list of steps"
  end
  return M.TEXT[field.type] or "a table with " .. table.concat(lists.map(M.children[field.path], function(child)
    return not child.numbered and child.name or nil
  end), ", ")
end

local function describe_default(field)
  if field.required then
    return "required"
  elseif field.optional then
    return "default: absent"
  elseif field.type == "table" then
    return ""
  end
  return "default: " .. (field.default_text or (type(field.default) == "number" and diagnostics.show(field.default))
    or tostring(field.default))
end

-- Returns data for `fields --json`: the fields, and the functions of formulas. Keys of a field:
--   more    lines of documentation
--   takes   words for its values
--   only    the kinds that have the field: kinds of its table, or of the model
function M.list_facts()
  local fields = lists.map(M.fields, function(field)
    return not field.numbered and { path = field.path, type = field.type, doc = field.doc, more = field.details,
      takes = M.describe_values(field), unit = field.unit,
      only = field.only or field.family and families.list_kinds(field.family),
      kinds = field.kinds and lists.map(field.kinds, function(kind) return { name = kind.name, doc = kind.doc } end),
      required = field.required, default = describe_default(field):match("^default: (.*)") } or nil
  end)
  return { fields = fields, formulas = traced.list_words() }
end

local function describe_field(field)
  local kinds = field.only or field.family and families.list_kinds(field.family)
  local noun = field.only and "kind" or "model.kind"
  local kind_list = kinds and ("  (%s %s)"):format(noun, table.concat(kinds, ", ")) or ""
  local out = { field.path .. kind_list, "    " .. field.doc }
  if field.type ~= "table" and not field.kinds then
    out[3] = "    takes: " .. M.describe_values(field) .. (field.unit and "; unit: " .. field.unit or "")
  end
  lists.append(out, lists.map(field.details or {}, function(line) return "    " .. line end))
  lists.append(out, lists.map(field.kinds or {}, function(kind) return ("    %s: %s"):format(kind.name, kind.doc) end))
  out[#out + 1] = describe_default(field) ~= "" and "    " .. describe_default(field) or nil
  return out
end

-- The reference of the spec, a paragraph for each field:
--   with path             the fields at and below it; if there are none: nil, and the most similar path or nil
--   with includes_rare    all fields
--   with neither          the fields that most specs need
function M.format_fields(includes_rare, path)
  local out, hidden_count = {}, 0
  for _, field in ipairs(M.fields) do
    local is_selected = path and (field.path .. "."):sub(1, #path + 1) == path .. "."
    if not field.numbered and (is_selected or not path and (includes_rare or not field.is_rare)) then
      lists.append(out, describe_field(field))
    elseif not field.numbered then
      hidden_count = hidden_count + 1
    end
  end
  if not path then
    table.insert(out, 1, "use: at the top level a spec file to extend; in a section also the name of a preset\n")
    out[#out + 1] = hidden_count > 0 and ("\n%d fields that few specs need are not listed: add --all, or a path such "
      .. "as encoding.positions"):format(hidden_count) or nil
  end
  if not out[1] then
    return nil, similar_names.find(path, lists.map(M.fields, function(field) return field.path end))
  end
  return table.concat(out, "\n") .. "\n"
end

return M
