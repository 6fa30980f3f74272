-- Comparison examples for an exported model: task lengths, inputs, sampled positions and distances of a sequence.
--
-- Input: a resolved spec, its plan. Output: lengths; lines for `trainer predict`; inputs for a task of dataset files.

local M = {}

-- Returns ascending positions over the whole range from `first` on. Distances are spread in the same way, from 0 on.
local function spread_positions(count, first, range)
  local list = {}
  for t = 0, count - 1 do
    list[t + 1] = first + (2 * t + 1) * (range - first) // (2 * count)
  end
  return list
end

local function spread_distances(count, range)
  local list = { 0 }
  for t = 1, count - 1 do
    list[t + 1] = 1 + (t - 1) * (range - 1) // math.max(1, count - 1)
  end
  return list
end

-- Task lengths for the comparison: the shortest and the longest of training, and twice the longest.
function M.lengths(resolved)
  local lengths = resolved.train.lengths
  local first = lengths.list and lengths.list[1] or lengths.first
  local last = lengths.list and lengths.list[#lengths.list] or lengths.last
  local wanted = { first }
  for _, length in ipairs({ last, 2 * last }) do
    wanted[#wanted + 1] = length > wanted[#wanted] and length or nil
  end
  return wanted
end

-- Returns an example as a line for `trainer predict`, with sampled positions and distances; nil if the sequence is too
-- long for the model.
function M.request(plan, input, outputs)
  local count = #input * (plan.computation and plan.computation.all or 1) + (plan.readout == "outputs" and outputs or 0)
  if plan.limit and count > plan.limit.tokens then
    return nil
  end
  local drawn = plan.streams[1]
  return {
    input = input,
    outputs = plan.task.data and outputs or nil,
    positions = drawn.position_range > 0 and spread_positions(count, drawn.first_position, drawn.position_range)
      or nil,
    distances = drawn.distance_range > 0 and spread_distances(count, drawn.distance_range) or nil,
  }
end

-- Inputs for a task of dataset files, { input, outputs }: any tokens are a valid input, in which a probe occurs exactly
-- once.
function M.data_inputs(plan)
  local asked = plan.readout == "probe" and plan.task.probe
  local list = {}
  for _, length in ipairs({ 1, 3, plan.task.data.longest // 4 }) do
    local input, count = {}, math.max(1, length)
    for i = 1, count do
      input[i] = (i * i) % plan.task.input_count
      input[i] = input[i] == asked and 0 or input[i]
    end
    input[(count + 1) // 2] = asked or input[(count + 1) // 2]
    list[#list + 1] = { input = input, outputs = plan.readout == "outputs" and 1 + length // 2 or 1 }
  end
  return list
end

return M
