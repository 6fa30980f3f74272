-- Checks whether a run's evaluation of files of examples is the evaluation that its cell requests.
--
-- Input: a planned cell; the folder of a run, its run.json. Output: M.wanted returns the request, nil for tasks without
-- such a file; M.problem returns a text on missing parts, or nil. Reads files, writes none. Only the trainer knows the
-- conditions in a file; it evaluates all of them before a run ends successfully.

local canonical = require("base.canonical")
local file_digest = require("lab.study.read.file_digest")
local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")

local M = {}

local DIGITS = 16 -- digits of a file's SHA-256 in a line of eval.jsonl

-- Sets by their split: the field of the set's file in a spec, and its name in run.json.
local SETS = { { split = "train", field = "data", key = "train" }, { split = "test", field = "eval", key = "eval" },
  { split = "validation", field = "validation", key = "validation" } }

-- The evaluated sets: the sets that a spec names, or else the held-out sets, or else the training examples.
function M.sets(splits, files)
  local requested = lists.set(splits or {})
  if not next(requested) then
    requested.test, requested.validation = files.eval ~= nil, files.validation ~= nil
    requested.train = not files.eval and not files.validation
  end
  return lists.filter(SETS, function(set) return requested[set.split] end)
end

-- The request { sets = list of { split, key, shown, digest }, most, order, draws, axes = { [name] = true }, decoding }.
-- decoding: the decoding of a generative model's answers, nil for other models.
function M.wanted(cell, decoding)
  local eval, files = cell.spec.resolved.eval, cell.spec.data_files
  if not files.data then
    return nil
  end
  local wanted = { most = eval.examples == "all" and math.huge or eval.examples,
    order = eval.order or "hash", draws = cell.spec.plan.any_draws and eval.draws or 1,
    decoding = decoding }
  wanted.sets = lists.map(M.sets(eval.splits, files), function(set)
    local file = files[set.field]
    return file and lists.merged(set, { shown = file.shown, digest = file_digest.of(file.real) }) or nil
  end)
  wanted.axes = lists.set(canonical.sorted_keys(eval.by or { length = true }))
  return wanted
end

local function fits(line, wanted)
  if line.of then
    return line.examples == wanted.most and line.order == wanted.order
  end
  return line.examples <= wanted.most
end

-- Whether a line belongs to the requested file.
local function is_of(line, set)
  return not set.digest or line.data == set.digest:sub(1, DIGITS)
end

-- Lines of the last step, by split and condition: { [split] = { [condition] = line } }. Of several lines, the last that
-- fits the request counts, or else the last line. Returns nil and a description of damage on failure. Lines of a
-- restored file need not be the last ones, since a trainer keeps existing lines.
local function read_lines(dir, wanted, facts, step)
  local lines, sets = {}, lists.by(wanted.sets, function(set) return set.split end)
  local damage = run_files.evaluations(dir, {}, function(row)
    local by = row.by or { length = row.length }
    local other = lists.find(canonical.sorted_keys(by), function(name) return not wanted.axes[name] end)
    if row.step == step and not row.seed and row.draws == wanted.draws and not other
      and (not wanted.decoding or row.decoding == wanted.decoding) then
      local set, key = sets[row.split], canonical.text(by)
      local recorded = set and (facts.data or {})[set.key .. "_sha256"] or ""
      local line = { examples = row.examples, of = row.of, order = row.order or "hash", is_older = not row.data,
        data = row.data or recorded:sub(1, DIGITS) }
      line.is_wanted = set and is_of(line, set) and fits(line, wanted)
      lines[row.split] = lines[row.split] or {}
      local last = lines[row.split][key]
      lines[row.split][key] = last and last.is_wanted and not line.is_wanted and last or line
    end
  end, facts)
  return not damage and lines or nil, damage
end

-- Whether older lines, without the number of existing examples, cover all examples. most: the run's cap on examples.
local function are_whole(lines, most, count)
  local sum, is_full = 0, false
  for _, line in pairs(lines) do
    sum, is_full = sum + line.examples, is_full or line.examples == most
  end
  return not is_full or sum == count
end

local function problem_of_set(set, lines, wanted, facts)
  local data, older = facts.data or {}, false
  local other = ("%s has other bytes than the file that was evaluated"):format(set.shown)
  local recorded = data[set.key .. "_sha256"]
  if not lines then
    return ("%s is not evaluated as requested"):format(set.shown)
  elseif set.digest and recorded and recorded ~= set.digest then
    return other -- reported even if lines of the file exist: readers of runs trust run.json
  end
  for _, line in pairs(lines) do
    older = older or line.is_older
    if not is_of(line, set) then
      return other
    elseif not fits(line, wanted) then
      return ("other examples of %s are requested"):format(set.shown)
    end
  end
  return older and not are_whole(lines, facts.spec.eval.examples, data[set.key .. "_examples"])
    and ("a version before evaluated the shortest examples of %s"):format(set.shown) or nil
end

-- Finds a problem with an evaluation. step: the last step. If the file of a set is gone, the facts recorded in its
-- lines are used. The second result is damage.
function M.problem(dir, wanted, facts, step)
  local lines, damage = read_lines(dir, wanted, facts, step)
  return lists.map(lines and wanted.sets or {}, function(set)
    return problem_of_set(set, lines[set.split], wanted, facts)
  end)[1], damage
end

return M
