-- The search: tries each value of each choice against the best values so far, until nothing improves or time runs out.
--
-- Input: { start = { name = value }, choices = { { name, values, modes } }, floor, compare, accepted, tell, is_over }.
-- compare(best, candidate, modes, left) measures two sets of values and returns { gain, noise }, or nil if time has run
-- out; `left` is the number of candidates that share the remaining time. accepted(values) is called for every new best
-- set, tell(choice, best, value, result) for every candidate. floor: gains up to it are ignored. Output: the best
-- values. This module measures nothing itself.

local lists = require("base.lists")

local M = {}

-- Whether a gain exceeds the noise: the scatter of the rounds' ratios, and the gain of a program over itself.
function M.counts(result, floor)
  return result.gain - 1 > math.max(floor, 2 * result.noise)
end

function M.median(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local n = #sorted
  return n % 2 == 1 and sorted[n // 2 + 1] or (sorted[n // 2] + sorted[n // 2 + 1]) / 2
end

-- The result from the ratios of rounds: { gain, noise, rounds }. noise: the standard error of the median, estimated
-- from the ratios' distances to the median.
function M.result(ratios)
  local gain = M.median(ratios)
  local far = lists.map(ratios, function(ratio) return math.abs(ratio - gain) end)
  -- 1.4826 converts a median distance to a standard deviation, 1.2533 a mean's standard error to a median's.
  return { gain = gain, noise = 1.4826 * 1.2533 * M.median(far) / math.sqrt(#ratios), rounds = #ratios }
end

local function try_choice(request, best, choice, left)
  local found, most = nil, nil
  for _, value in ipairs(choice.values) do
    if value ~= best[choice.name] then
      local candidate = lists.copy(best)
      candidate[choice.name] = value
      local result = request.compare(best, candidate, choice.modes, left)
      if not result then
        break
      end
      left = left - 1
      request.tell(choice, best, value, result)
      if M.counts(result, request.floor) and (not most or result.gain > most.gain) then
        found, most = candidate, result
      end
    end
  end
  if found then
    request.accepted(found)
  end
  return found or best, found ~= nil, left
end

function M.run(request)
  local best, changed = request.start, true
  while changed and not request.is_over() do
    changed = false
    local left = lists.sum(request.choices, function(choice) return #choice.values - 1 end)
    for _, choice in ipairs(request.choices) do
      local better
      best, better, left = try_choice(request, best, choice, left)
      changed = changed or better
    end
  end
  return best
end

return M
