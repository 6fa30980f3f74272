-- The rules between fields: what no single field can know.
--
-- Input: the context of validate.lua: resolved (fields that were wrong are nil), origins by path, task, diagnostics.
-- Output: errors in diagnostics; a list of warnings as text. Invariants: changes nothing; a rule whose fields are
-- missing or wrong is silent, since that has been said.

local axes = require("spec.task.axes")
local decoding = require("spec.rules.decoding_rules")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local features = require("spec.rules.features")
local holders = require("spec.rules.holders")
local locate = require("spec.reading.locate")
local pair_rules = require("spec.rules.pair_rules")
local tasks = require("spec.task.tasks")
local validation = require("spec.rules.validation")
local warnings = require("spec.rules.warnings")

local M = {}

-- Adds an error at the first of the paths that was written somewhere; the first path names the field.
local function add(context, paths, record)
  record.field, record.fault = holders.named(context, paths[1]), paths[1]
  record.at = context.root.origin
  for i = #paths, 1, -1 do
    record.at = holders.place(context, paths[i]) or record.at
  end
  if record.notes[1].at == record.at then
    record.notes = nil -- the error stands at the value that the note would point to
  end
  context.diagnostics:add(record)
end

local function note(context, path, value)
  local origin = holders.place(context, path)
  path = holders.named(context, path)
  return { at = origin, what = origin and ("%s = %s is set here"):format(path, value)
    or ("%s = %s by default"):format(path, value) }
end

local WIDEST_HEAD = 256 -- kernels/cpu/columns.h

local function legal_heads(width, heads)
  local head = width // heads
  return width % heads == 0 and head % 4 == 0 and head <= WIDEST_HEAD
end

local function nearest_heads(width, heads)
  local best
  for candidate = 1, 64 do
    if legal_heads(width, candidate)
      and (not best or math.abs(candidate - heads) < math.abs(best - heads)) then
      best = candidate
    end
  end
  return best
end

local function head_width(context)
  local width, heads = context.resolved.model.width, context.resolved.model.heads
  if not width or not heads or legal_heads(width, heads) then
    return
  end
  local what = ("%d does not divide the width, %d"):format(heads, width)
  if width % heads == 0 then
    what = ("the head width %d / %d = %d is %s"):format(width, heads, width // heads,
      width // heads > WIDEST_HEAD and "above " .. WIDEST_HEAD or "not a multiple of 4")
  end
  local rope = context.resolved.encoding.rotation
  local why = rope and rope.kind == "rope" and "; rope turns channels in pairs" or ""
  add(context, { "model.heads", "model.width" }, { what = what,
    expected = ("heads that divide the width into a multiple of 4, at most %d"):format(WIDEST_HEAD) .. why,
    hint = ("%d is the nearest number of heads for this width"):format(nearest_heads(width, heads)),
    notes = { note(context, "model.width", width) } })
end

local function shards(context)
  local train = context.resolved.train
  if train.shards and train.batch and train.shards > train.batch then
    add(context, { "train.shards", "train.batch" }, {
      what = ("%d shards for a batch of %d leave some empty"):format(train.shards, train.batch),
      expected = ("at most train.batch = %d; a shard is one sequence or more"):format(train.batch),
      notes = { note(context, "train.batch", train.batch) } })
  end
end

local function yarn_ramp(context)
  local rotation = context.resolved.encoding.rotation
  local scaling = rotation and rotation.scaling or {}
  local slow, fast = scaling.beta_slow, scaling.beta_fast
  if slow and fast and slow >= fast then
    local fast_path, fast_text = "encoding.rotation.scaling.beta_fast", diagnostics.number(fast)
    add(context, { "encoding.rotation.scaling.beta_slow", fast_path }, {
      what = ("%s is not below beta_fast"):format(diagnostics.number(slow)),
      expected = ("a number below %s = %s; pairs between the two are a mixture"):format(fast_path, fast_text),
      notes = { note(context, fast_path, fast_text) } })
  end
end

-- What says how a pair's score changes or which pairs there are is made for softmax.
local function geometric_alone(context)
  local encoding = context.resolved.encoding
  local normaliser = encoding.normaliser
  if not normaliser or normaliser.kind ~= "geometric" then
    return
  end
  local function refuse(path, there, what)
    if there then
      add(context, { path, "encoding.normaliser.kind" }, { what = what .. " does not go with geometric attention",
        expected = "no mask, lines, vectors of distances or score beside it; additive and rotation may be there",
        notes = { note(context, "encoding.normaliser.kind", '"geometric"') },
        hint = "use one or the other: the order in which keys are tried is what tells it where they stand" })
    end
  end
  refuse("encoding.mask.kind", encoding.mask and encoding.mask.kind ~= "full", "a mask")
  refuse("encoding.lines", encoding.lines, "a table of lines")
  local relative = encoding.relative
  refuse("encoding.relative.kind", relative and relative.kind and relative.kind ~= "none", "a vector of distances")
  refuse("encoding.score", encoding.score, "a score")
end

-- Geometric attention has no dropout of its weights.
local function dropped_weights(context)
  local model, normaliser = context.resolved.model, context.resolved.encoding.normaliser
  local rate = model and model.attention_dropout or 0
  if rate > 0 and normaliser and normaliser.kind == "geometric" then
    add(context, { "model.attention_dropout", "encoding.normaliser.kind" }, {
      what = "the weights of geometric attention are not dropped out", expected = "0, or weights of a softmax",
      notes = { note(context, "encoding.normaliser.kind", '"geometric"') } })
  end
end

-- The embedding has one rate, which two fields may give.
local function embedding_rate(context)
  local model, additive = context.resolved.model, context.resolved.encoding.additive
  local rate, other = model and model.embedding_dropout, additive and additive.dropout
  if rate and other and rate ~= other and additive.at ~= "block" then
    add(context, { "encoding.additive.dropout", "model.embedding_dropout" }, {
      what = ("%s is not model.embedding_dropout, and the embedding has one rate"):format(diagnostics.number(other)),
      expected = ("one of the two fields, or %s in both"):format(diagnostics.number(rate)),
      notes = { note(context, "model.embedding_dropout", diagnostics.number(rate)) } })
  end
end

-- A decoder must not see what is behind a query; keys that are tried outwards cannot leave that side out.
local function causal(context)
  local model, normaliser = context.resolved.model, context.resolved.encoding.normaliser
  if model.kind == "decoder" and normaliser and normaliser.kind == "geometric" then
    add(context, { "encoding.normaliser.kind", "model.kind" }, {
      what = "geometric attention does not go with a decoder", notes = { note(context, "model.kind", '"decoder"') },
      expected = '"softmax"; geometric attention tries keys on both sides, and a decoder may see one of them alone',
      hint = 'model.kind = "encoder" has geometric attention' })
  elseif model.kind == "encoder_decoder" and (context.holds_for[#context.holds_for] or "encoder") ~= "encoder"
    and normaliser and normaliser.kind == "geometric" then
    add(context, { "encoding.normaliser.kind", "model.kind" }, {
      what = "geometric attention goes with the encoder's attention to itself alone",
      expected = '"softmax"; it tries keys on both sides of the query, in one sequence',
      notes = { note(context, "model.kind", '"encoder_decoder"') },
      hint = 'encoding.encoder = { normaliser = { kind = "geometric" } } is for the encoder alone' })
  end
end

-- Distances that are drawn are those of one sequence.
local function cross_reading(context)
  local wanted = context.read_otherwise
  if wanted then
    add(context, { wanted.path, "model.kind" }, {
      what = ('"%s" does not go with cross-attention: its queries and keys are of two sequences'):format(wanted.value),
      expected = '"difference", of the positions of both; or no reading: then it is that for cross-attention alone',
      notes = { note(context, "model.kind", '"encoder_decoder"') },
      hint = wanted.path == "encoding.positions.reading"
        and 'encoding.cross = { positions = { reading = "difference" } } is for cross-attention alone' or nil })
  end
end

-- Of an encoder-decoder.
local STREAMS = { encoder = { "source" }, decoder = { "target" }, cross = { "target", "source" } }

local SHARED_BY_SEQUENCE = { "max_position", "range", "sorted" }

-- A sequence of a stream has one draw of its own, whoever reads it. readers: of each stream, { path, positions }.
local function one_draw(context, readers)
  for _, stream in ipairs({ "source", "target" }) do
    local first
    for _, reader in ipairs(readers[stream]) do
      for _, name in ipairs(first and SHARED_BY_SEQUENCE or {}) do
        local value, other = reader.positions[name] or "zero_based", first.positions[name] or "zero_based"
        if value ~= other then
          local path, there = reader.path .. "." .. name, first.path .. "." .. name
          add(context, { path, there }, {
            what = ("%s, but a sequence of the %s has one draw of positions"):format(diagnostics.show(value), stream),
            expected = ("%s = %s; or another draw than \"sequence\""):format(there, diagnostics.show(other)),
            notes = { note(context, there, diagnostics.show(other)) } })
        end
      end
      first = first or reader
    end
  end
end

-- A cell has two positions, which a sum of vectors alone can tell apart.
local function grid(context)
  local resolved, facts = context.resolved, context.task
  local encoding = resolved.encoding
  if not encoding.positions or encoding.positions.kind ~= "grid" then
    return
  end
  local function refuse(path, there, what, expected, at, value)
    if there then
      add(context, { path, at }, { what = what, expected = expected, notes = { note(context, at, value) } })
    end
  end
  local kind, text = "encoding.positions.kind", '"grid"'
  refuse(kind, facts and not facts.grid, '"grid" is for a task whose input is one, and this one\'s is a line',
    '"index", or a task with a line `grid:` in its header, such as latin_square', "task.kind", facts and facts.kind)
  refuse(kind, resolved.model.kind == "encoder_decoder", '"grid" does not go with a target, which is no grid',
    '"index", or model.kind = "encoder"', "model.kind", '"encoder_decoder"')
  refuse("encoding.additive.kind", encoding.additive.kind == "learned",
    "a table has a vector for every cell as it is, and knows no rows and columns", '"sinusoid", or positions by index',
    kind, text)
  refuse("encoding.additive.kind", encoding.additive.kind == "none", "nothing reads the rows and columns of the grid",
    '"sinusoid", or positions by index', kind, text)
  refuse("encoding.rotation.kind", encoding.rotation.kind == "rope", "queries turn by one number, and a cell has two",
    '"none", or positions by index', kind, text)
  refuse("encoding.relative.kind", (encoding.relative.kind or "none") ~= "none",
    "vectors are those of one signed distance, and two cells have two", '"none", or positions by index', kind, text)
  refuse("encoding.score", features.score_reads_positions(resolved),
    "the score reads x.distance, x.query or x.key, one number each, and a cell has two",
    "x.query_index and x.key_index, or positions by index", kind, text)
end

-- Whether the attentions that facets hold for see no key behind the query, whatever the mask.
local function are_causal(context)
  local kind = context.resolved.model.kind
  for _, name in ipairs(context.holds_for) do
    if name ~= "decoder" and kind ~= "decoder" then
      return false
    end
  end
  return true
end

-- Vectors of distances to the left alone are for queries that see nothing to the right.
local function one_side(context)
  local relative, mask = context.resolved.encoding.relative, context.resolved.encoding.mask
  if not relative or relative.sides ~= "left" or are_causal(context)
    or mask and (mask.kind == "causal" or mask.kind == "window" and mask.right == 0) then
    return
  end
  add(context, { "encoding.relative.sides", "encoding.mask.kind" }, {
    what = '"left" leaves keys behind the query without a vector, and the mask does not hide them',
    expected = '"both"; or encoding.mask = { kind = "causal" }',
    notes = { note(context, "encoding.mask.kind", ("%q"):format(mask and mask.kind or "full")) } })
end

-- Calls visit(n, path of n) for every length.
local function each_length(lengths, path, visit)
  for i, n in ipairs(lengths.list or {}) do
    visit(n, locate.join(path .. ".list", i))
  end
  if lengths.first then
    for n = lengths.first, lengths.last, lengths.step do
      visit(n, locate.join(path, 2))
    end
  end
end

-- The first length whose sequence is longer than limit, or nil: { n, tokens, path }; and the longest sequence of all.
local function too_long(lengths, path, facts, limit)
  local first, longest = nil, 0
  each_length(lengths, path, function(n, at)
    local tokens = tasks.tokens(facts, n)
    longest = math.max(longest, tokens)
    if tokens > limit and (not first or lengths.first) then
      first = { n = n, tokens = tokens, path = at }
    end
  end)
  return first, longest
end

local function tokens_text(hit)
  return hit.n == hit.tokens and ("%d"):format(hit.n)
    or ("length %d, a sequence of %d tokens,"):format(hit.n, hit.tokens)
end

-- All places in a spec that give lengths: { { path, lengths }, ... }; those that were wrong are left out.
local function all_lengths(resolved)
  local list = {}
  local function take(path, section)
    if section and section.lengths then
      list[#list + 1] = { path = path, lengths = section.lengths }
    end
  end
  take("train.lengths", resolved.train)
  take("eval.lengths", resolved.eval)
  take("eval.during.lengths", resolved.eval.during)
  return list
end

-- Every sequence of training and evaluation fits the limit at `path`: its value, and `beyond` tokens more. what: has
-- the limit; why; and the way out.
local function limit_rule(context, path, value, what, why, way_out, beyond)
  local facts = context.task
  if not facts or not value then
    return
  end
  beyond = beyond or 0
  local field = holders.named(context, path)
  local limit, limit_text = value + beyond, field .. (beyond > 0 and " + " .. beyond or "")
  if facts.data then
    local most = facts.data.longest and tasks.most_tokens(facts) or 0
    if most > limit then
      local lower = facts.data.made and "" or ", lower task.longest"
      add(context, { facts.data.made and "task.kind" or "task.longest", "task.data", path }, {
        what = ("%d tokens are past %s"):format(most, what), notes = { note(context, path, value) },
        expected = ("at most %s tokens; %s"):format(limit_text, why),
        hint = ("raise %s to %d%s, or %s"):format(field, most - beyond, lower, way_out) })
    end
    return
  end
  local hits, longest = {}, 0
  for _, entry in ipairs(all_lengths(context.resolved)) do
    local hit, most = too_long(entry.lengths, entry.path, facts, limit)
    longest = math.max(longest, most)
    local repeats = entry.path == "eval.during.lengths" and not holders.place(context, entry.path)
    if hit and not repeats then
      hits[#hits + 1] = { hit = hit, path = entry.path }
    end
  end
  for _, entry in ipairs(hits) do
    add(context, { entry.hit.path, entry.path, path }, {
      what = ("%s is past %s"):format(tokens_text(entry.hit), what), notes = { note(context, path, value) },
      expected = ("at most %s tokens; %s"):format(limit_text, why),
      hint = ("raise %s to %d, or %s"):format(field, longest - beyond, way_out) })
  end
end

local function encoding_limits(context)
  local positions, additive = context.resolved.encoding.positions, context.resolved.encoding.additive
  if not positions or not additive then
    return
  end
  local randomized = positions.kind == "randomized"
  if randomized then
    local distances_alone = positions.range == "one_based" and not features.draws_places(context.resolved)
    limit_rule(context, "encoding.positions.max_position", positions.max_position, "the range of positions",
      "distinct positions are drawn from that range", 'use positions of kind "index"', distances_alone and 1 or 0)
  end
  if additive.kind ~= "learned" or not additive.rows then
    return
  elseif not randomized then
    limit_rule(context, "encoding.additive.rows", additive.rows, "the learned table",
      "a learned table has no row beyond it", "use a scheme without a table: none, rope, sinusoid")
  elseif positions.max_position and additive.rows < positions.max_position then
    local most = positions.max_position
    add(context, { "encoding.additive.rows", "encoding.positions.max_position" }, {
      what = ("%d rows are fewer than the positions that can be drawn"):format(additive.rows),
      expected = ("at least encoding.positions.max_position = %d; every position needs a row"):format(most),
      notes = { note(context, "encoding.positions.max_position", most) },
      hint = "leave rows out: it follows max_position" })
  end
end

-- What reads distances: a note at the vectors, or else at the score.
local function note_reader(context)
  local encoding = context.resolved.encoding
  if encoding.relative.kind ~= "none" then
    return note(context, "encoding.relative.kind", ('"%s"'):format(encoding.relative.kind))
  end
  return note(context, "encoding.score", encoding.score)
end

-- Choices of how to draw that contradict each other.
local function drawing(context)
  local encoding = context.resolved.encoding
  local positions = encoding.positions
  if not positions or positions.kind ~= "randomized" then
    return
  elseif positions.reading == "clamped" and positions.range == "one_based" then
    add(context, { "encoding.positions.range", "encoding.positions.reading" }, {
      what = '"one_based" does not go with clamped distances',
      expected = '"zero_based"; the released code, which clamped stands for, draws distances from 1 to L - 1',
      notes = { note(context, "encoding.positions.reading", '"clamped"') } })
  end
  if positions.draw == "sequence" and encoding.relative.kind and features.distances_are_read(context.resolved) then
    add(context, { "encoding.positions.draw" }, {
      what = '"sequence" does not go with distances between tokens',
      expected = '"pass" or "layer"; what relative and score read is made once for the whole batch',
      hint = "additive and rotation can have positions of their own in every sequence",
      notes = { note_reader(context) } })
  end
end

-- What stands in the way of reading the answer at a token of the input: what, what is expected, the field it is about.
local function no_readout(context, readout)
  local facts, task = context.task, context.resolved.task
  if task.data then
    return "examples of files have any number of outputs", "a task of one output", "task.data"
  elseif not tasks.has_one_output(facts) then
    return ("%s has %s outputs"):format(facts.kind, facts.output_length), "a task of one output", "task.kind"
  elseif readout == "probe" and not facts.probe then
    return facts.kind .. " declares no probe", "a task whose header has the line `probe:`", "task.kind"
  elseif task.computation then
    return "computation tokens stand behind the input, ahead of answers", "no computation tokens", "task.computation"
  end
end

local function readout(context)
  local model = context.resolved.model
  local what, expected, field
  if model.readout and context.task then
    what, expected, field = no_readout(context, model.readout)
  end
  if what then
    add(context, { "model.readout", field }, { what = ("%q does not go with this task: %s"):format(model.readout, what),
      expected = ('"outputs", or %s'):format(expected),
      notes = { note(context, field, tostring(features.value_at(context.resolved, field))) } })
  end
end

-- Rows of a linear embedding are no vectors of tokens.
local function tied(context)
  local model = context.resolved.model
  if model.tied and model.embedding == "linear" then
    add(context, { "model.tied", "model.embedding" }, { what = "logits by the rows of a linear embedding",
      expected = 'false, or model.embedding = "table"', notes = { note(context, "model.embedding", '"linear"') } })
  end
end

-- Whoever takes the draw that a sequence has for itself, by stream: { path, positions }.
local function takers(context)
  local resolved = context.resolved
  local by_stream = { source = {}, target = {} }
  local function add_taker(streams, path, view)
    for _, stream in ipairs(features.draws_by_sequence(view) and streams or {}) do
      table.insert(by_stream[stream], { path = path, positions = view.encoding.positions })
    end
  end
  if resolved.encoding.additive.kind ~= "none" then
    add_taker({ "source", "target" }, "encoding.positions", resolved)
  end
  for _, name in ipairs(families.of(resolved.model)) do
    local view = families.view(resolved, name)
    local path = holders.has_own(context, name) and ("encoding.%s.positions"):format(name) or "encoding.positions"
    if view.encoding.rotation.kind ~= "none" then
      add_taker(STREAMS[name], path, view)
    end
  end
  return by_stream
end

-- A rate that falls does so behind its warm-up. How many steps epochs have, the trainer finds out, and says the same.
local function schedule(context)
  local train = context.resolved.train
  local warmup, steps = train.schedule and train.schedule.warmup, train.steps
  if warmup and steps and train.schedule.kind and train.schedule.kind ~= "constant" and warmup >= steps then
    add(context, { "train.schedule.warmup", "train.steps" }, {
      what = ("%d steps of warm-up are all of the %d"):format(warmup, steps),
      expected = ("below train.steps = %d; the rate falls behind them"):format(steps),
      notes = { note(context, "train.steps", steps) } })
  end
end

-- Applies all rules; returns the warnings.
function M.apply(context)
  local resolved = context.resolved
  head_width(context)
  shards(context)
  schedule(context)
  readout(context)
  tied(context)
  embedding_rate(context)
  holders.each(context, function(seen)
    yarn_ramp(seen)
    geometric_alone(seen)
    dropped_weights(seen)
    causal(seen)
    grid(seen)
    one_side(seen)
    pair_rules.check(seen, add, note)
    drawing(seen)
    encoding_limits(seen)
  end)
  cross_reading(context)
  if context.good and resolved.model.kind == "encoder_decoder" then
    one_draw(context, takers(context))
  end
  axes.check(context)
  decoding.check(context, add, note)
  validation.check(context, add, note)
  return context.good and warnings.of(context) or {}
end

return M
