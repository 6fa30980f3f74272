-- Sequences of training and evaluation: how long they are, and what is not made for the longest.
--
-- Input: the context of validate.lua, of which fields may be missing; say (say.lua). Output: M.limit's errors;
-- M.longest_tokens and M.longest_streams of a context without errors.

local locate = require("spec.reading.locate")
local tasks = require("spec.task.tasks")

local M = {}

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
function M.limit(context, say, path, value, what, why, way_out, beyond)
  local facts = context.task
  if not facts or not value then
    return
  end
  beyond = beyond or 0
  local field = say.named(path)
  local limit, limit_text = value + beyond, field .. (beyond > 0 and " + " .. beyond or "")
  if facts.data then
    local most = facts.data.longest and tasks.most_tokens(facts) or 0
    if most > limit then
      local lower = facts.data.made and "" or ", lower task.longest"
      say.add({ facts.data.made and "task.kind" or "task.longest", "task.data", path }, {
        what = ("%d tokens are past %s"):format(most, what), notes = { say.note(path, value) },
        expected = ("at most %s tokens; %s"):format(limit_text, why),
        hint = ("raise %s to %d%s, or %s"):format(field, most - beyond, lower, way_out) })
    end
    return
  end
  local hits, longest = {}, 0
  for _, entry in ipairs(all_lengths(context.resolved)) do
    local hit, most = too_long(entry.lengths, entry.path, facts, limit)
    longest = math.max(longest, most)
    local repeats = entry.path == "eval.during.lengths" and not say.place(entry.path)
    if hit and not repeats then
      hits[#hits + 1] = { hit = hit, path = entry.path }
    end
  end
  for _, entry in ipairs(hits) do
    say.add({ entry.hit.path, entry.path, path }, {
      what = ("%s is past %s"):format(tokens_text(entry.hit), what), notes = { say.note(path, value) },
      expected = ("at most %s tokens; %s"):format(limit_text, why),
      hint = ("raise %s to %d, or %s"):format(field, longest - beyond, way_out) })
  end
end

-- Tokens of the longest sequence that a spec names.
function M.longest_tokens(context)
  local longest = 0
  for _, entry in ipairs(all_lengths(context.resolved)) do
    for _, n in ipairs(tasks.lengths(entry.lengths)) do
      longest = math.max(longest, tasks.tokens(context.task, n))
    end
  end
  return longest
end

-- The most tokens of every stream, in training or evaluation.
function M.longest_streams(context)
  local facts, longest = context.task, {}
  if facts.data then
    return tasks.most_streams(facts)
  end
  for _, entry in ipairs(all_lengths(context.resolved)) do
    for _, n in ipairs(tasks.lengths(entry.lengths)) do
      for s, tokens in ipairs(tasks.streams(facts, n)) do
        longest[s] = math.max(longest[s] or 0, tokens)
      end
    end
  end
  return longest
end

return M
