-- Positions that depend on tokens, a part of the facet `positions` (positions.lua): every token of a sequence has an
-- integer; tokens with the integer 0 have no position, and share a learned vector.
--
-- Input of M.check: the arguments of `check` in the module of a facet (modules.lua). Input of M.plan: the spec's table
-- encoding.positions. Output of M.plan:
--   kind, first, bound   fields of sampled positions (positions.lua); kind is "sequence"
--   prefix, PREFIX   the prefixes of names in C, which are empty
--   is_separate      false; only random positions can be separate (encoding_facets.lua)
--   by_token         for digits:
--     offset           the largest number that training adds to the positions of a batch
--     limit            { tokens, because }, the largest number of tokens of a sequence and its reason in words
--   by_token         for positions of the task:
--     greatest_position   the largest position
--     limit            false

local lists = require("base.lists")
local predicates = require("facets.predicates")

local M = {}

local KIND = "encoding.positions.kind"

-- Refuses facets that compute with positions, such as a rotation, unless these facets read positions by index instead.
local function check_readers(view, report)
  local encoding, name = view.resolved.encoding, ('"%s"'):format(view.resolved.encoding.positions.kind)
  local hint = 'positions.elsewhere = "index" gives positions by index to rotation, relative and scores'
  local function refuse(path, is_set, message)
    if is_set then
      report.refuse(path, KIND, name, { what = message, expected = '"none", or positions by index', hint = hint })
    end
  end
  if encoding.positions.elsewhere ~= "index" then
    refuse("encoding.rotation.kind", encoding.rotation.kind == "rope",
      "a rotation needs tokens at different positions, and many tokens have the same position")
    refuse("encoding.relative.kind", predicates.has_distance_vectors(encoding),
      "a vector belongs to a distance, and many tokens have the same position")
    refuse("encoding.score", predicates.score_reads_positions(encoding),
      "the score reads x.distance, x.query or x.key, and many tokens have the same position")
  end
end

-- Whether the task reads files of examples in which every line gives the positions of its tokens. facts: the facts of
-- the task (spec/task/tasks.lua).
function M.reads_positions_from_files(facts)
  return facts.data and not facts.data.is_generated or false
end

function M.is_digit(symbol)
  return symbol:find("^%d$") ~= nil
end

local function check_digits(view, report)
  local facts, positions = view.task, view.resolved.encoding.positions
  if facts and facts.input_symbols -- a dataset whose file cannot be read has none
    and not lists.any(facts.input_symbols, M.is_digit) then
    report.refuse(KIND, "task.kind", facts.kind, { what = ('"%s" needs digits, and no input symbol is a digit'):format(
      positions.kind), expected = "a task with some of the symbols 0 to 9" })
  end
end

local function check_task(view, report)
  local facts, kind = view.task, view.resolved.model.kind
  if facts and not facts.positions and not M.reads_positions_from_files(facts) then
    report.refuse(KIND, "task.kind", facts.kind, { what = '"by_task" needs a task that gives positions to tokens',
      expected = "task.data, files with positions; or a task with a line `positions:` in its header, such as "
        .. "free_addition or reverse_string" })
  elseif kind == "encoder" then
    report.refuse(KIND, "model.kind", '"encoder"', { expected = 'model.kind = "decoder" or "encoder_decoder"',
      what = '"by_task" gives positions to tokens of the target, which an encoder does not read' })
  end
end

function M.check(view, report)
  local encoding = view.resolved.encoding
  local positions, additive = encoding.positions, encoding.additive
  if view.family and not report.is_inherited(KIND) then
    report.add({ KIND }, { expected = "this kind only in encoding.positions, not in the encoding of a family",
      what = ('"%s" is for vectors that are added to tokens, not for one kind of attention'):format(positions.kind) })
    return
  end
  check_readers(view, report)
  if view.family then
    return
  elseif additive and additive.kind ~= "learned" then
    report.refuse("encoding.additive.kind", KIND, ('"%s"'):format(positions.kind), {
      what = "tokens without a position need a learned vector", expected = '"learned", or positions by index' })
  elseif additive and additive.at == "block" then
    report.refuse("encoding.additive.at", KIND, ('"%s"'):format(positions.kind), {
      what = "positions that depend on tokens are only for vectors that are added to the vectors of tokens",
      expected = '"input", or positions by index' })
  end
  if positions.kind == "by_task" then
    return check_task(view, report)
  end
  check_digits(view, report)
  if positions.offset and positions.max_position and positions.offset >= positions.max_position then
    report.refuse("encoding.positions.offset", "encoding.positions.max_position", positions.max_position, {
      what = ("%d leaves no position for digits"):format(positions.offset),
      expected = "a number below encoding.positions.max_position, the limit for the sum of a position and the offset" })
  elseif positions.offset then
    report.check_limit("encoding.positions.max_position", positions.max_position, "the range of positions",
      "the digits of one number may fill the sequence, and training adds an offset of at most "
        .. "encoding.positions.offset to their positions",
      "lower encoding.positions.offset", -positions.offset)
  end
end

function M.plan(positions)
  if positions.kind == "by_task" then
    return { kind = "sequence", first = 0, prefix = "", PREFIX = "", bound = positions.max_position + 1,
      is_separate = false, by_token = { greatest_position = positions.max_position, limit = false } }
  end
  local token_limit = positions.max_position - positions.offset
  return { kind = "sequence", first = 0, prefix = "", PREFIX = "", bound = positions.max_position + 1,
    is_separate = false, by_token = { offset = positions.offset, limit = { tokens = token_limit,
      because = ("encoding.positions.max_position - encoding.positions.offset = %d"):format(token_limit) } } }
end

function M.describe(positions)
  if positions.by_token.greatest_position then
    return ("positions of the task, up to %d, with a random offset for each sequence in training"):format(
      positions.by_token.greatest_position)
  end
  return ("positions of digits in their numbers, with an offset of 0 .. %d in training"):format(
    positions.by_token.offset)
end

return M
