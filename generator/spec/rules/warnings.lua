-- What stops nothing, but will hardly be meant.
--
-- Input: the context of validate.lua, without errors. Output: M.of: a list of warnings as text.

local decoding = require("spec.rules.decoding_rules")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local features = require("spec.rules.features")
local holders = require("spec.rules.holders")
local tasks = require("spec.task.tasks")
local unreached = require("spec.rules.unreached")
local wording = require("base.wording")

local M = {}

-- Whether a family has what it has at this path from what stands directly in encoding, of which enough is said.
local function is_inherited(context, path)
  return context.family and context.origins[holders.named(context, path)] == context.origins[path]
end

local FAR = 32 -- about twice the farthest of Ruoss et al.'s figure 3, which still learns: 8192 positions for 501 tokens

-- A range far above the lengths that it is for: most of its positions are hardly met in training.
local function warn_range(context, warn)
  local resolved, facts, longest = context.resolved, context.task, 0
  local positions = resolved.encoding.positions
  if positions.kind ~= "randomized" or facts.data or is_inherited(context, "encoding.positions.max_position") then
    return
  end
  local during = resolved.eval.during or {}
  for _, lengths in ipairs({ resolved.train.lengths, resolved.eval.lengths, during.lengths }) do
    for _, n in ipairs(tasks.lengths(lengths)) do
      longest = math.max(longest, tasks.tokens(facts, n))
    end
  end
  if longest > 0 and positions.max_position > FAR * longest then
    warn(("%s: %d is more than %d times the tokens of the longest sequence, %d: training meets few of these positions "
      .. "together; about 2 to 16 times is usual"):format(holders.named(context, "encoding.positions.max_position"),
      positions.max_position, FAR, longest))
  end
end

-- Whether both sides are drawn makes a difference for drawn distances alone.
local function warn_sides(context, warn)
  local resolved, path = context.resolved, "encoding.positions.sides"
  local positions = resolved.encoding.positions
  local function warn_of(why)
    warn(("%s: \"independent\" has no effect: %s"):format(holders.named(context, path), why))
  end
  if positions.sides ~= "independent" or is_inherited(context, path) then
    return
  elseif not features.distances_are_read(resolved) then
    warn_of("nothing reads distances")
  elseif positions.reading == "difference" then
    warn_of("distances are differences of positions")
  elseif positions.reading == "clamped" then
    warn_of("clamped reads the draw of the left side alone")
  end
end

local function warn_positions(context, warn)
  local resolved, path = context.resolved, holders.named(context, "encoding.positions")
  local encoding = resolved.encoding
  local positions, turns = encoding.positions, encoding.rotation.kind ~= "none"
  if positions.kind ~= "randomized" or is_inherited(context, "encoding.positions.kind") then
    return
  elseif not features.positions_are_read(resolved) then
    warn(path .. ": random positions are not used by anything: additive, rotation and relative are none, and no score "
      .. "reads x.distance, x.query or x.key")
  elseif positions.draw == "layer" and not turns and not features.distances_are_read(resolved) then
    warn(path .. ".draw: \"layer\" is the same as \"pass\" here: only rotation, relative and score draw in a layer")
  end
  local distances = features.distances_are_read(resolved)
  if positions.sorted == false and distances and positions.reading ~= "difference"
    and encoding.additive.kind == "none" and not turns then
    warn(path .. ".sorted: false has no effect: drawn distances always ascend, and nothing reads positions")
  end
  if positions.reading ~= "drawn" and not distances then
    warn(("%s.reading: %q has no effect: nothing reads distances"):format(path, positions.reading))
  end
end

local function warn_cadence(resolved, warn)
  local train = resolved.train
  local warmup = train.schedule and train.schedule.warmup or 0
  if train.steps and warmup > train.steps then
    warn(("train.schedule.warmup: %d is past the last step, %d: the rate never reaches train.learning_rate"):format(
      warmup, train.steps))
  end
  local unit = train.cadence == "epochs" and "epoch" or "step"
  local last = train[unit .. "s"]
  if not last then
    return -- the trainer alone knows how many of them there are
  end
  if train.log_every > last then
    warn(("train.log_every: %d is past the last %s, %d: no metrics will be written"):format(train.log_every, unit,
      last))
  end
  local keep = train.checkpoint.keep
  if type(keep) == "table" and keep[#keep] > last then
    warn(("train.checkpoint.keep: %s %d is past the last %s, %d"):format(unit, keep[#keep], unit, last))
  end
  local during = resolved.eval.during
  if during and during.every > last then
    warn(("eval.during.every: %d is past the last %s, %d"):format(during.every, unit, last))
  end
end

local MASK_OF_DECODER = { decoder = "encoding.mask", encoder_decoder = "encoding.decoder.mask" }

-- A window's right side where nothing to the right is seen.
local function warn_mask(context, warn)
  local path = MASK_OF_DECODER[context.resolved.model.kind]
  local mask = path and features.value_at(context.resolved, path)
  if mask and (mask.right or 0) > 0 and holders.place(context, path .. ".right") then
    warn(("%s.right: %d has no effect: a decoder sees no key behind the query"):format(path, mask.right))
  end
end

-- The most tokens of every stream, in training or evaluation.
local function longest_streams(context)
  local resolved, facts = context.resolved, context.task
  if facts.data then
    return tasks.most_streams(facts)
  end
  local longest, during = {}, resolved.eval.during or {}
  for _, lengths in ipairs({ resolved.train.lengths, resolved.eval.lengths, during.lengths }) do
    for _, n in ipairs(tasks.lengths(lengths)) do
      for s, tokens in ipairs(tasks.streams(facts, n)) do
        longest[s] = math.max(longest[s] or 0, tokens)
      end
    end
  end
  return longest
end

-- Queries and keys: the streams of an attention.
local SIDES = { decoder = { 2, 2 }, cross = { 2, 1 } }

local function meets_a_pair(line, queries, keys, causal)
  local last = causal and line.direction == 1 and 0 or keys - 1
  return line.line <= last and line.line > (line.direction == 0 and -1 or -queries)
end

-- Of one attention: lines that no sequence is long enough for.
local function warn_beyond(context, warn, name, streams)
  local encoding, sides = context.resolved.encoding, SIDES[name] or { 1, 1 }
  local queries, keys, beyond = streams[sides[1]], streams[sides[2]], {}
  local causal = name == "decoder" or context.resolved.model.kind == "decoder"
    or encoding.mask ~= nil and encoding.mask.kind == "causal"
  for _, line in ipairs(encoding.lines.list) do
    beyond[#beyond + 1] = not meets_a_pair(line, queries, keys, causal) and line or nil
  end
  if beyond[1] then
    warn(("%s: line %d of direction %d in head %d%s: the longest sequences have %s and %s"):format(
      holders.named(context, "encoding.lines"), beyond[1].line, beyond[1].direction, beyond[1].head, beyond[2]
        and (", and %d more, open nothing"):format(#beyond - 1) or " opens nothing",
      queries == 1 and "1 query" or queries .. " queries", wording.count(keys, "key")))
  end
end

-- Lines that open nothing, and a corner where there is none.
local function warn_lines(context, warn)
  local crosses, path = false, "encoding.lines.zero_corner"
  if not context.resolved.encoding.lines then
    return
  end
  local streams = longest_streams(context)
  for _, name in ipairs(context.holds_for) do
    crosses = crosses or name == "cross"
    warn_beyond(context, warn, name, streams)
  end
  if not crosses and holders.place(context, path) then
    warn(("%s has no effect: cross-attention alone has that corner"):format(holders.named(context, path)))
  end
end

-- What a spec makes for one of several attentions, in a model that has one.
local function warn_made_for(context, warn)
  local given = context.loaded.tree.fields.encoding
  local field = given and given.fields.made_for
  if field and not families.of(context.resolved.model)[2] then
    warn(("encoding.made_for: %s has no effect: the model has one attention"):format(diagnostics.show(field.value)))
  end
end

local function warn_spare_token(resolved, warn)
  if resolved.model.spare_token == false and resolved.task.computation then
    warn("model.spare_token: false has no effect: computation tokens take the spare embedding")
  end
end

local function warn_evaluation(resolved, warn)
  local eval = resolved.eval
  if eval.noise and not features.noise(resolved) then
    warn(('eval.noise: %q has no effect: eval.by has no noise'):format(eval.noise))
  end
  if eval.dropout and not features.drops(resolved) then
    warn("eval.dropout: true has no effect: nothing is dropped out in training either")
  end
  if eval.batch and eval.examples ~= "all" and eval.batch >= eval.examples then
    warn(("eval.batch: %d holds all %d examples: a condition has one batch"):format(eval.batch, eval.examples))
  end
end

-- Dropout compares 16 random bits: a probability is a multiple of 1/65536.
local function warn_dropout(resolved, warn)
  for _, entry in ipairs(features.dropouts(resolved)) do
    local probability = entry[2]
    if probability > 0 and math.floor(65536 * probability + 0.5) == 0 then
      warn(("%s: %s drops nothing: dropout counts in parts of 65536"):format(entry[1],
        diagnostics.number(probability)))
    end
  end
end

function M.of(context)
  local resolved, list, known = context.resolved, {}, {}
  local function warn(text)
    list[#list + 1] = not known[text] and text or nil -- several attentions may have the same facets
    known[text] = true
  end
  holders.each(context, function(seen)
    warn_positions(seen, warn)
    warn_sides(seen, warn)
    warn_range(seen, warn)
    warn_lines(seen, warn)
    decoding.warn(seen, warn)
    unreached.warn(seen, warn)
  end)
  warn_made_for(context, warn)
  warn_spare_token(resolved, warn)
  warn_mask(context, warn)
  warn_evaluation(resolved, warn)
  warn_cadence(resolved, warn)
  warn_dropout(resolved, warn)
  return list
end

return M
