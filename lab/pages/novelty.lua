-- The novelty of a test sequence: the shares of it that are new compared with training (M.compute_shares).
--
-- Input: a plan. Output: a line of the plan's page, and the shares; nil in these cases:
--   several streams
--   recurrent models, since these have no queries and keys
--   dataset files, since only the trainer knows their lengths
--   encoding.lines, and masks other than full masks, causal masks and windows
-- Randomized positions of test sequences occur in training, too, so then only the shares of keys are returned.

local lists = require("base.lists")
local tasks = require("spec.task.tasks")

local M = {}

local MAX_LENGTHS = 4 -- in the line of the page

-- Returns two numbers, left and right: query i sees keys i - left to i + right. Returns nil for a mask that the head of
-- this file excludes.
local function find_window(plan)
  local mask = plan.resolved.encoding.mask or { kind = "full" }
  local is_causal = plan.resolved.model.kind == "decoder" or mask.kind == "causal"
  if plan.resolved.encoding.lines then
    return nil
  elseif mask.kind == "window" then
    return mask.left or math.huge, is_causal and 0 or mask.right or math.huge
  elseif mask.kind == "full" or mask.kind == "causal" then
    return math.huge, is_causal and 0 or math.huge
  end
end

-- Returns the first and last visible key of query i among `tokens` tokens.
local function find_keys(i, tokens, left, right)
  return math.max(1, i - left), math.min(tokens, i + right)
end

-- Returns the shares of a sequence of `tokens` tokens that are new, if training has up to `max_trained` tokens:
--   positions   the share of its tokens whose position is new
--   distances   the share of its pairs of a query and a visible key whose distance is new
--   keys        the share of its queries that see more keys than any query of training
function M.compute_shares(tokens, max_trained, left, right)
  local max_keys, pair_count, far_pairs, crowded_queries = 0, 0, 0, 0
  for i = 1, max_trained do
    local first, last = find_keys(i, max_trained, left, right)
    max_keys = math.max(max_keys, last - first + 1)
  end
  for i = 1, tokens do
    local first, last = find_keys(i, tokens, left, right)
    pair_count = pair_count + last - first + 1
    -- The pair of query i and key j is far if j <= i - max_trained or j >= i + max_trained.
    far_pairs = far_pairs + math.max(0, math.min(last, i - max_trained) - first + 1)
      + math.max(0, last - math.max(first, i + max_trained) + 1)
    crowded_queries = crowded_queries + (last - first + 1 > max_keys and 1 or 0)
  end
  return { positions = math.max(0, tokens - max_trained) / tokens, distances = far_pairs / pair_count,
    keys = crowded_queries / tokens }
end

-- Results of compute_shares, by its arguments.
local cached_shares = {}

local function find_shares(...)
  local key = table.concat({ ... }, " ")
  cached_shares[key] = cached_shares[key] or M.compute_shares(...)
  return cached_shares[key]
end

-- Returns a list of { length, shares } for these task lengths, or nil.
function M.list(plan, lengths)
  local left, right = find_window(plan)
  if plan.task.data or plan.streams[2] or plan.is_step_major or not left then
    return nil
  end
  local facts = { input_length = plan.task.lengths[1].formula, output_length = plan.task.lengths[2].formula,
    computation = plan.resolved.task.computation, readout = plan.resolved.model.readout }
  local function count_tokens(n)
    return tasks.count_tokens(facts, n)[1]
  end
  local has_indices = plan.resolved.encoding.positions.kind == "index"
  local max_trained = lists.max(tasks.list_lengths(plan.resolved.train.lengths), count_tokens)
  return lists.map(lengths, function(n)
    local shares = find_shares(count_tokens(n), max_trained, left, right)
    return { length = n, shares = has_indices and shares or { keys = shares.keys } }
  end)
end

-- Returns at most MAX_LENGTHS of the lengths, evenly spread, including the first and the last.
function M.choose_lengths(list)
  local chosen_lengths = {}
  for i = 0, math.min(MAX_LENGTHS, #list) - 1 do
    chosen_lengths[i + 1] = list[#list <= MAX_LENGTHS and i + 1
      or 1 + math.floor(i * (#list - 1) / (MAX_LENGTHS - 1) + 0.5)]
  end
  return chosen_lengths
end

-- Returns the line of the page, or nil.
function M.describe(plan)
  local lengths = tasks.list_lengths(plan.resolved.eval.lengths)
  local entries = M.list(plan, M.choose_lengths(lengths))
  if not entries or not entries[1] then
    return nil
  end
  local function join(name)
    return table.concat(lists.map(entries, function(entry) return ("%.0f%%"):format(100 * entry.shares[name]) end),
      ", ")
  end
  local texts = { ("queries with more keys %s"):format(join("keys")) }
  if entries[1].shares.positions then
    table.insert(texts, 1, ("pairs at farther distances %s"):format(join("distances")))
    table.insert(texts, 1, ("tokens at later positions %s"):format(join("positions")))
  end
  local length_texts = lists.map(entries, function(entry) return tostring(entry.length) end)
  return ("novelty     shares of a test sequence that are new (not in training), at length %s: %s"):format(
    table.concat(length_texts, ", "), table.concat(texts, "; "))
end

return M
