-- The module of the facet `additive`: vectors of positions that are added to the vectors of tokens, and the dropout of
-- the sum. modules.lua describes modules of facets.
--
-- Input of M.plan_added: the resolved encoding and model, and the facts of the task (spec/task/tasks.lua). Output:
--   kind            "none", "sinusoid" or "learned"
--   embedding_rate  the dropout rate of the embedding; nil: no dropout
--   in_blocks       whether the vectors are added to the input of every block
--   dropout_rate    with in_blocks: the dropout rate of the sums in blocks
--   interleaved     of a sinusoid: whether sines are in even channels and cosines in odd channels
--   grid            of a sinusoid: if positions are cells of the task's grid, the number of tokens in a row, else false
--   period          of a sinusoid: the period of cyclic positions, or false
--   member          of a sinusoid: the name of its table in C: "place" if interleaved, grid or period is set, otherwise
--                   "sinusoid"
--   place_words     of a sinusoid: the channels of a row in words, such as "sines, then cosines"
--   rows            of a learned table: the number of its rows
--   init            of a learned table: its initial values, { kind, value }
--   frozen          of a learned table: whether training leaves the values unchanged

local diagnostics = require("base.diagnostics")
local positions = require("facets.positions")
local predicates = require("facets.predicates")

local M = { name = "additive", needs_no_export = true, is_for_tokens = true, reads = "positions" }

-- Fields of specs (spec/schema.lua). `fingerprints`: texts that generated code has only if the feature is on.
-- `shared`: whether another feature of the spec also produces these texts.
M.fields = {
  { path = "encoding.additive", type = "table", doc = "vectors of positions that are added to the vectors of tokens" },
  { path = "encoding.additive.kind", type = "kind", default = "none", doc = "the kind of vectors",
    kinds = {
      { name = "none", doc = "no vectors" },
      { name = "sinusoid", fingerprints = { "sinusoid" },
        doc = "fixed sines and cosines of the position; in a grid, the first half of the channels has those of the "
          .. "column, the second half those of the row",
        shared = function(resolved) return resolved.encoding.relative.kind == "transformer_xl" end },
      { name = "learned", fingerprints = { "position_table" }, doc = "a learned vector per position" },
    } },
  { path = "encoding.additive.at", is_rare = true, type = "choice", default = "input", omitted_value = "input",
    only = { "sinusoid", "learned" }, fingerprints = { "placed" }, doc = "the place at which the vectors are added",
    choices = {
      { "input", "the vectors of tokens" },
      { "block", "the input of every block, with a learned table for each block" } } },
  { path = "encoding.additive.channels", is_rare = true, type = "choice", default = "halves", omitted_value = "halves",
    only = { "sinusoid" }, doc = "the order of the channels",
    choices = {
      { "halves", "all sines, then all cosines" },
      { "interleaved", "sines in even channels, cosines in odd channels" } } },
  { path = "encoding.additive.rows", is_rare = true, type = "integer", min = 1, max = 1048576, unit = "positions",
    only = { "learned" }, default = function(resolved)
      local max_position = resolved.encoding.positions.max_position
      return predicates.is_by_token(resolved) and max_position and max_position + 1
        or predicates.is_randomized(resolved) and max_position or 2048
    end,
    default_text = "2048; max_position for randomized positions; max_position + 1 for digits and by_task",
    doc = "number of positions that have a vector; no sequence can be longer" },
  { path = "encoding.additive.learned", is_rare = true, type = "boolean", default = true, omitted_value = true,
    only = { "learned" },
    doc = "whether training changes the table; false: it keeps its initial values, which do not count as parameters" },
  { path = "encoding.additive.init", is_rare = true, type = "choice", default = "truncated_normal",
    omitted_value = "truncated_normal", only = { "learned" }, doc = "the distribution of the table's initial values",
    choices = {
      { "truncated_normal", "a normal distribution, truncated at two init_sigma" },
      { "normal", "a normal distribution" } } },
  { path = "encoding.additive.init_sigma", is_rare = true, type = "number", above = 0, default = 1.0,
    only = { "learned" }, doc = "standard deviation of the table's initial values, before truncation" },
  { path = "encoding.additive.dropout", is_rare = true, type = "number", min = 0, max = 0.99,
    unit = "share of elements",
    only = { "sinusoid", "learned" }, default = function(resolved)
      local model = resolved.model or {}
      return resolved.encoding.additive.at ~= "block" and model.embedding_dropout or model.dropout
    end, default_text = "model.embedding_dropout if this field is given and the vectors are added at the input; "
      .. "otherwise model.dropout",
    doc = "share of the elements of the sum that are set to 0 in training; if the vectors are added in blocks, every "
      .. "block has such a sum, and the residual stream continues with the sum after dropout" },
}

-- Refuses different values in the two fields that set the embedding's dropout rate.
local function check_rate(model, additive, report)
  local rate, own_rate = model and model.embedding_dropout, additive.dropout
  if rate and own_rate and rate ~= own_rate and additive.at ~= "block" then
    local text = diagnostics.show(rate)
    report.refuse("encoding.additive.dropout", "model.embedding_dropout", text, {
      what = ("%s differs from model.embedding_dropout, and the embedding has one rate"):format(
        diagnostics.show(own_rate)),
      expected = ("one of the two fields, or %s in both"):format(text) })
  end
end

-- Refuses tables with fewer than max_position + extra_rows rows. positions_words: the positions in words.
local function check_rows(rows, max_position, extra_rows, positions_words, report)
  if max_position and rows < max_position + extra_rows then
    report.refuse("encoding.additive.rows", "encoding.positions.max_position", max_position, {
      what = ("%d rows are fewer than %s"):format(rows, positions_words),
      expected = ("at least encoding.positions.max_position%s = %d; every position needs a row"):format(
        extra_rows > 0 and " + " .. extra_rows or "", max_position + extra_rows),
      hint = "omit the field encoding.additive.rows: its default follows max_position" })
  end
end

function M.check(view, report)
  local encoding = view.resolved.encoding
  local additive, scheme = encoding.additive, encoding.positions
  if additive then
    check_rate(view.resolved.model, additive, report)
  end
  if not scheme or not additive or additive.kind ~= "learned" or not additive.rows then
    return
  elseif predicates.is_by_token(view.resolved) then
    check_rows(additive.rows, scheme.max_position, 1, "the positions from 0 to max_position", report)
  elseif scheme.kind ~= "randomized" then
    report.check_limit("encoding.additive.rows", additive.rows, "the learned table",
      "every position needs a row of the table", "use a scheme without a table: none, rope, sinusoid")
  else
    check_rows(additive.rows, scheme.max_position, 0, "the positions that can be sampled", report)
  end
end

function M.plan_added(encoding, model, task)
  local additive, in_blocks = encoding.additive, encoding.additive.at == "block"
  if additive.kind == "none" then
    return { kind = "none", embedding_rate = model.embedding_dropout, frozen = false, in_blocks = false, member = false,
      grid = false, period = false }
  end
  local is_sinusoid, is_learned = additive.kind == "sinusoid", additive.kind == "learned"
  local is_interleaved, in_grid = additive.channels == "interleaved", is_sinusoid and encoding.positions.kind == "grid"
  local period = is_sinusoid and encoding.positions.period or false
  return {
    kind = additive.kind,
    in_blocks = in_blocks,
    interleaved = is_interleaved,
    grid = in_grid and task.grid or false,
    period = period,
    member = is_sinusoid and ((is_interleaved or in_grid or period) and "place" or "sinusoid"),
    place_words = (in_grid and "column and row: " or period and ("of the position modulo %d: "):format(period) or "")
      .. (is_interleaved and "sine, cosine, ..." or "sines, then cosines"),
    rows = additive.rows,
    init = is_learned and { kind = additive.init or "truncated_normal", value = additive.init_sigma } or nil,
    frozen = additive.learned == false,
    dropout_rate = in_blocks and additive.dropout or nil,
    embedding_rate = in_blocks and model.embedding_dropout or not in_blocks and additive.dropout or nil,
  }
end

-- Words for the added vectors, and for their positions if these differ from the positions of attention.
function M.describe(_, plan)
  local additive, draw = plan.additive, plan.input_draw
  if additive.kind == "none" then
    return nil
  end
  local words = additive.kind == "sinusoid" and (additive.grid and "sinusoids of column and row"
      or additive.period and ("sinusoids of the position modulo %d"):format(additive.period) or "sinusoids")
    or additive.frozen and "random vectors" or "learned vectors"
  return ("%s are added to the %s%s"):format(words, additive.in_blocks and "input of every block" or "token embedding",
    draw and (draw.is_separate or draw.by_token) and ", at " .. positions.describe_draws(draw) or "")
end

-- The kind alone, or a list of the kind and the other properties that decide whether a checkpoint fits.
function M.identify(encoding)
  local additive, properties = encoding.additive, { encoding.additive.kind }
  properties[#properties + 1] = additive.at
  properties[#properties + 1] = additive.channels
  properties[#properties + 1] = encoding.positions.kind == "grid" and "grid" or nil
  properties[#properties + 1] = additive.learned == false and "frozen" or nil
  return { additive = properties[2] and properties or properties[1] }
end

return M
