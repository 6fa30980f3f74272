-- The draws in a plan for GPUs. A draw is a sample of positions or distances; positions that depend on tokens count as
-- draws, too. The host computes all draws and copies them to the device with the data of a step.
--
-- Input: the plan with its families' fields for device code (cuda_half.lua), and the network in device code. Output of
-- M.derive, fields of plan.cuda:
--   step_draws         the draws of a step, in the order of storage. Positions that depend on tokens come first.
--                      Fields of a draw:
--     template         the template of the host's function that samples the numbers; false for positions that depend
--                      on tokens
--     names, prefix    with a template: the names that it reads, and the start of names in C
--     member           the name of the struct member that points to the numbers on the device
--     address          C text of the address of the numbers
--     count            C text of the count of the numbers
--     shape            words for their shape, such as "[sequences][T]"
--     positions_function   the name of the function that returns the positions of the shard's sequences; false if all
--                      sequences have equal positions
--     T                with `positions_function`: the name of the member with the number of tokens of a sequence
--     scratch          with a template: a list of { C text, number }. The largest number is the size, in ints, of the
--                      workspace for sampling
--     family           the attention family that the draw belongs to, or nil
--   host_draws         the items of step_draws with a template
--   draw_scratch       the number of ints of workspace that sampling needs, as C text
--   is_digit           C text of the condition that a token is a digit; false unless positions depend on digits

local lists = require("base.lists")

local M = {}

-- The positions of a stream's tokens, an entry of step_draws; nil unless they depend on the tokens.
local function describe_token_positions(plan, variables)
  local length = ("in->T[%d]"):format(variables.index)
  return plan.token_positions and { member = variables.prefix .. "positions",
    positions_function = variables.token_positions, count = "(size_t)in->sequences * " .. length,
    shape = "[sequences][T]", T = variables.T, template = false } or nil
end

-- The draw of positions for vectors added to a stream's tokens, an entry of step_draws; nil if the positions are not
-- random, or if the draw belongs to a family. variables: the stream's variables in device code (device.streams).
local function describe_input_draw(plan, variables)
  local draw, prefix = plan.input_draw, variables.prefix .. "input_"
  return draw and draw.is_separate and draw.kind == "randomized" and { template = "cuda/draw_input.tpl",
    prefix = prefix, names = { prefix = prefix, stream = plan.streams[variables.index + 1], positions = draw,
      PREFIX = draw.PREFIX },
    member = variables.input_draws, positions_function = false, count = ("in->T[%d]"):format(variables.index),
    shape = "[T]", scratch = { { draw.PREFIX .. "MAX_POSITION", draw.bound } } } or nil
end

-- The draw of positions for every sequence of a stream. Its names have a prefix only if there are several attentions.
local function describe_sequence_draw(plan, variables)
  local stream = plan.streams[variables.index + 1]
  local reader = stream.sequence_reader
  local prefix = plan.attentions[2] and variables.prefix .. "sequence_" or ""
  return reader and { template = "cuda/draw_sequences.tpl", prefix = prefix,
    names = { prefix = prefix, stream = stream, positions = reader.positions, PREFIX = reader.PREFIX },
    member = prefix .. "draws", count = ("(size_t)in->sequences * in->T[%d]"):format(variables.index),
    shape = "[sequences][T]", positions_function = variables.sequence_positions, T = variables.T,
    scratch = { { reader.PREFIX .. "MAX_POSITION", reader.positions.bound } } } or nil
end

local function describe_family_draw(family)
  local prefix, relative = family.prefix, family.relative
  local bound = family.positions.bound or family.positions.distance.bound
  local scratch = { { family.PREFIX .. "MAX_POSITION", bound } }
  if family.on_device.terms.by_pair then
    scratch[2] = { family.PREFIX .. "PAIR_KEYS + 1",
      relative.kind == "shaw" and relative.rows + 1 or 2 * bound }
  end
  return { template = "attention/cuda/family_draws.tpl", prefix = prefix, names = family.on_device, family = family,
    member = prefix .. "draws", positions_function = false, count = prefix .. "draw_count(v)",
    shape = family.cross and "[draws][T] of queries, [draws][S] of keys" or "[draws][T]", scratch = scratch }
end

-- The ints of workspace for sampling, as C text: the largest number that a draw needs (scratch: { C text, number }).
local function count_scratch(draws)
  local max_text, max_count = "0", 0
  for _, scratch in lists.iterate_nested(draws, "scratch") do
    max_text, max_count = scratch[2] > max_count and scratch[1] or max_text, math.max(max_count, scratch[2])
  end
  return max_text
end

local function list_step_draws(plan, device)
  local describers = { describe_token_positions, describe_input_draw, describe_sequence_draw }
  local list = lists.collect(describers, function(describe)
    return lists.map(device.streams, function(variables) return describe(plan, variables) end)
  end)
  lists.append(list, lists.map(plan.attentions, function(family)
    return family.attends.samples_draws and describe_family_draw(family) or nil
  end))
  local address = device.has_passes and "in->draws + 2" or "in->draws" -- in->draws[0] and [1] are counts of passes
  for i, draw in ipairs(list) do
    draw.address, address = address, ("v->%s + %s"):format(draw.member, draw.count)
    if draw.family then
      draw.family.attends.has_later_draws = list[i + 1] ~= nil
    end
  end
  return list
end

-- The condition, as C text, that `token` is an item of the list `tokens`, whose items are in ascending order.
local function write_membership(tokens)
  local conditions, first = {}, 1
  for i, token in ipairs(tokens) do
    if tokens[i + 1] ~= token + 1 then
      conditions[#conditions + 1] = (first == i and "token == %d" or "(token >= %d && token <= %d)"):format(
        tokens[first], token)
      first = i + 1
    end
  end
  return table.concat(conditions, " || ") -- compilers warn of && within || without parentheses
end

function M.derive(plan, device)
  local step_draws = list_step_draws(plan, device)
  local host_draws = lists.filter(step_draws, function(draw) return draw.template end)
  local digits = plan.token_positions and plan.token_positions.digits
  return { step_draws = step_draws, host_draws = host_draws, draw_scratch = count_scratch(host_draws),
    is_digit = digits and write_membership(digits) }
end

return M
