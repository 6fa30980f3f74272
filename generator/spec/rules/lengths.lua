-- Checks the lengths of the sequences of training and evaluation against limits, and finds the longest sequences.
--
-- Input: the context of validate.lua, in which fields may be missing; report, the functions of reports.lua. Output of
-- the checks: errors, through report. Output of M.find_longest_tokens and M.find_longest_streams, which need a context
-- without errors: numbers of tokens.

local lists = require("base.lists")
local locate = require("spec.reading.locate")
local tasks = require("spec.task.tasks")

local M = {}

-- Calls visit(n, path) for every length n. path: the path of the length in a list, or of the last length of a range.
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

-- Returns a violation, { n, tokens, path }, or nil; and the number of tokens of the longest sequence. A violation is a
-- length n whose sequence has more tokens than the limit. Of several violations, the first of a list or the last of a
-- range is returned.
local function find_violation(lengths, path, facts, limit)
  local violation, max_tokens = nil, 0
  visit_lengths(lengths, path, function(n, length_path)
    local tokens = tasks.count_longest_stream(facts, n)
    max_tokens = math.max(max_tokens, tokens)
    if tokens > limit and (not violation or lengths.first) then
      violation = { n = n, tokens = tokens, path = length_path }
    end
  end)
  return violation, max_tokens
end

-- All fields of a spec that hold lengths: { { path, lengths }, ... }; invalid lengths are left out.
local function list_lengths(resolved)
  return lists.map({ "train.lengths", "eval.lengths", "eval.during.lengths" }, function(path)
    local lengths = lists.get(resolved, path)
    return lengths and { path = path, lengths = lengths }
  end)
end

-- Checks that every sequence of training and evaluation has at most value + margin tokens:
--   path, value   a field and its value
--   limit_words   words for the limit in the message
--   reason        the reason for the limit
--   remedy        words for a remedy
--   margin        by default 0
function M.check_limit(context, report, path, value, limit_words, reason, remedy, margin)
  local facts = context.task
  if not facts or not value then
    return
  end
  margin = margin or 0
  local field = report.get_path(path)
  local limit = value + margin
  local limit_text = field .. (margin ~= 0 and (margin > 0 and " + " or " - ") .. math.abs(margin) or "")
  -- subject_and_verb: the beginning of the message; longest_tokens: the number of tokens of the longest sequence;
  -- other_remedy: words that begin with a comma, or ""
  local function refuse(paths, subject_and_verb, longest_tokens, other_remedy)
    report.add(paths, { what = ("%s past %s"):format(subject_and_verb, limit_words),
      notes = { report.note(path, value) },
      expected = ("at most %s tokens; %s"):format(limit_text, reason),
      hint = ("raise %s to %d%s, or %s"):format(field, longest_tokens - margin, other_remedy, remedy) })
  end
  if facts.data then
    local longest_tokens = facts.data.longest and math.max(table.unpack(tasks.count_max_tokens(facts))) or 0
    local is_generated = facts.data.is_generated
    if longest_tokens > limit then
      refuse({ is_generated and "task.kind" or "task.longest", "task.data", path },
        ("%d tokens are"):format(longest_tokens), longest_tokens, is_generated and "" or ", lower task.longest")
    end
    return
  end
  local violations, max_tokens = {}, 0
  for _, entry in ipairs(list_lengths(context.resolved)) do
    local violation, longest_tokens = find_violation(entry.lengths, entry.path, facts, limit)
    max_tokens = math.max(max_tokens, longest_tokens)
    -- eval.during.lengths is by default a copy of eval.lengths, whose violation is already in the list
    local is_copy = entry.path == "eval.during.lengths" and not report.find_origin(entry.path)
    violations[#violations + 1] = violation and not is_copy and lists.merge(violation, { field = entry.path })
      or nil
  end
  for _, violation in ipairs(violations) do
    local n, tokens = violation.n, violation.tokens
    local subject_and_verb = n == tokens and ("%d is"):format(n)
      or ("length %d, a sequence of %d tokens, is"):format(n, tokens)
    refuse({ violation.path, violation.field, path }, subject_and_verb, max_tokens, "")
  end
end

-- Checks that every stage of the curriculum has a training length.
function M.check_curriculum(context, report)
  local lengths, path = context.resolved.train.lengths or {}, "train.lengths.curriculum"
  local min_length = lengths.first or lengths.list and lengths.list[1]
  for i, stage in ipairs(min_length and lengths.curriculum or {}) do
    if stage.max < min_length then
      report.add({ path, locate.join(path, i) .. ".max" }, {
        what = ("%d is below the shortest length, %d"):format(stage.max, min_length),
        expected = "at least one of train.lengths in each stage" })
    end
  end
end

-- The largest number of tokens in each stream, in training or in evaluation, as a list. An encoder-decoder has two
-- streams, the input and the target; other models have one.
function M.find_longest_streams(context)
  local facts, max_tokens = context.task, {}
  if facts.data then
    return tasks.count_max_tokens(facts)
  end
  for _, entry in ipairs(list_lengths(context.resolved)) do
    for _, n in ipairs(tasks.list_lengths(entry.lengths)) do
      for s, tokens in ipairs(tasks.count_tokens(facts, n)) do
        max_tokens[s] = math.max(max_tokens[s] or 0, tokens)
      end
    end
  end
  return max_tokens
end

-- The number of tokens of the longest sequence that a spec names; 0 if dataset files determine the lengths.
function M.find_longest_tokens(context)
  return not context.task.data and math.max(table.unpack(M.find_longest_streams(context))) or 0
end

return M
