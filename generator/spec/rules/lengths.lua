-- Sequences of training and evaluation: their lengths, and limits on the longest.
--
-- Input: the context of validate.lua, in which fields may be missing; report (reports.lua). Output: errors of
-- M.check_limit; for a context without errors, M.find_longest_tokens and M.find_longest_streams.

local lists = require("base.lists")
local locate = require("spec.reading.locate")
local tasks = require("spec.task.tasks")

local M = {}

-- Calls visit(n, path) for every length n; path: that of the length in a list, or that of the last length of a range.
local function visit_lengths(lengths, path, visit)
  for i, n in ipairs(lengths.list or {}) do
    visit(n, locate.join(path .. ".list", i))
  end
  if lengths.first then
    for n = lengths.first, lengths.last, lengths.step do
      visit(n, locate.join(path, 2))
    end
  end
end

-- A length whose sequence is longer than limit, { n, tokens, path }, the first of a list or the last of a range, or
-- nil; and the tokens of the longest of all sequences.
local function find_too_long(lengths, path, facts, limit)
  local found, longest = nil, 0
  visit_lengths(lengths, path, function(n, length_path)
    local tokens = tasks.count_longest(facts, n)
    longest = math.max(longest, tokens)
    if tokens > limit and (not found or lengths.first) then
      found = { n = n, tokens = tokens, path = length_path }
    end
  end)
  return found, longest
end

-- All lengths in a spec: { { path, lengths }, ... }; invalid lengths are left out.
local function list_lengths(resolved)
  return lists.map({ "train.lengths", "eval.lengths", "eval.during.lengths" }, function(path)
    local lengths = lists.get(resolved, path)
    return lengths and { path = path, lengths = lengths }
  end)
end

-- Checks that every sequence of training and evaluation has at most `value` + `beyond` tokens; value: that of the field
-- at `path`; beyond: 0 if nil. what, why, way_out: words of the message for the limit, its reason, and a remedy.
function M.check_limit(context, report, path, value, what, why, way_out, beyond)
  local facts = context.task
  if not facts or not value then
    return
  end
  beyond = beyond or 0
  local field = report.get_path(path)
  local limit = value + beyond
  local limit_text = field .. (beyond ~= 0 and (beyond > 0 and " + " or " - ") .. math.abs(beyond) or "")
  local function refuse(paths, found, most, more)
    report.add(paths, { what = ("%s past %s"):format(found, what), notes = { report.note(path, value) },
      expected = ("at most %s tokens; %s"):format(limit_text, why),
      hint = ("raise %s to %d%s, or %s"):format(field, most - beyond, more, way_out) })
  end
  if facts.data then
    local longest_tokens = facts.data.longest and math.max(table.unpack(tasks.count_most(facts))) or 0
    local is_made = facts.data.made -- the task makes the examples
    if longest_tokens > limit then
      refuse({ is_made and "task.kind" or "task.longest", "task.data", path },
        ("%d tokens are"):format(longest_tokens), longest_tokens, is_made and "" or ", lower task.longest")
    end
    return
  end
  local hits, longest = {}, 0
  for _, entry in ipairs(list_lengths(context.resolved)) do
    local hit, longest_tokens = find_too_long(entry.lengths, entry.path, facts, limit)
    longest = math.max(longest, longest_tokens)
    local repeats = entry.path == "eval.during.lengths" and not report.find_place(entry.path)
    hits[#hits + 1] = hit and not repeats and { hit = hit, path = entry.path } or nil
  end
  for _, entry in ipairs(hits) do
    local n, tokens = entry.hit.n, entry.hit.tokens
    local found = n == tokens and ("%d is"):format(n) or ("length %d, a sequence of %d tokens, is"):format(n, tokens)
    refuse({ entry.hit.path, entry.path, path }, found, longest, "")
  end
end

-- Checks that every stage of the curriculum has a training length.
function M.check_curriculum(context, report)
  local lengths, path = context.resolved.train.lengths or {}, "train.lengths.curriculum"
  local shortest = lengths.first or lengths.list and lengths.list[1]
  for i, stage in ipairs(shortest and lengths.curriculum or {}) do
    if stage.max < shortest then
      report.add({ path, locate.join(path, i) .. ".max" }, {
        what = ("%d is below the shortest length, %d"):format(stage.max, shortest),
        expected = "some of train.lengths in each stage" })
    end
  end
end

-- The most tokens of every stream, in training or in evaluation.
function M.find_longest_streams(context)
  local facts, longest = context.task, {}
  if facts.data then
    return tasks.count_most(facts)
  end
  for _, entry in ipairs(list_lengths(context.resolved)) do
    for _, n in ipairs(tasks.list_lengths(entry.lengths)) do
      for s, tokens in ipairs(tasks.count_tokens(facts, n)) do
        longest[s] = math.max(longest[s] or 0, tokens)
      end
    end
  end
  return longest
end

-- Tokens of the longest sequence that a spec names; 0 if dataset files determine the lengths.
function M.find_longest_tokens(context)
  return not context.task.data and math.max(table.unpack(M.find_longest_streams(context))) or 0
end

return M
