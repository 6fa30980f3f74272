-- Reads run folders: run.json, eval.jsonl and metrics.jsonl, as trainers write them.
--
-- Input: a folder. Output: run = { dir, id, digest, seed, learning_rate, facts, state, exit, test, train, during, notes
-- }: facts is run.json; test and train hold the last evaluation beyond and within the training lengths, { step,
-- examples, draws, lengths, accuracy, exact_match, loss } with four lists in the order of lengths, the last two of them
-- as text; during is a list of { step, accuracy }, means over lengths; notes says what could not be read. state is
-- "evaluated" or one of UNSCORED. within: nothing was to be evaluated beyond training, and test is what was within;
-- seen: on the very examples of training.
-- Invariants: writes nothing; a torn line, as a killed trainer leaves it, is skipped and noted.

local json = require("dkjson")
local lfs = require("lfs")
local write = require("write")

local M = {}

-- The states of a run besides "evaluated", which is: it ended and has accuracies beyond the training lengths. missing:
-- it has no folder; failed: it ended in an error; unfinished: it goes on, or was stopped or killed; not evaluated: it
-- ended without accuracies; unreadable: run.json is no JSON.
M.UNSCORED = { "missing", "failed", "unfinished", "not evaluated", "unreadable" }

local STOPPED = 75 -- the exit code after a signal

-- Lines as the runtime writes them. Others, with keys in another order or more of them, take the slow way.
local EVALUATION = '^{"step":(%d+),"split":"(%a+)","by":{"[%w_]+":(%d+)},"examples":(%d+),"draws":(%d+),'
  .. '"accuracy":([%d.e+-]+),"exact_match":([%d.e+-]+),"loss":([%d.e+-]+),"sd_over_draws":[%d.e+-]+}$'

-- A resolved spec is long, and all runs of a digest have the same: each text is decoded once.
local specs = {}

local function decode_facts(text)
  local spec = text:match('"spec":(%b{})')
  if not spec then
    return json.decode(text)
  end
  local from, to = text:find(spec, 1, true)
  local facts = json.decode(text:sub(1, from - 1) .. "null" .. text:sub(to + 1))
  specs[spec] = specs[spec] or json.decode(spec)
  if not facts or not specs[spec] then
    return json.decode(text) -- a brace inside a string
  end
  facts.spec = specs[spec]
  return facts
end

local TYPES = { id = "string", digest = "string", seed = "integer", learning_rate = "number", exit = "integer",
  train_seconds = "number", spec = "table", flags = "table", source_digest = "string", compiler = "string",
  level = "string", variant = "string", precision = "string", machine = "string", data = "table",
  train_lengths = "table" }

-- Facts of another type than trainers write are left out, and noted. Flags are text.
local function check_types(facts, notes)
  for name, wanted in pairs(TYPES) do
    local value = facts[name]
    if value ~= nil and type(value) ~= wanted and math.type(value) ~= wanted then
      notes[#notes + 1] = ("run.json: %s is no %s"):format(name, wanted)
      facts[name] = nil
    end
  end
  for _, n in ipairs(facts.train_lengths or {}) do
    if math.type(n) ~= "integer" then
      notes[#notes + 1] = "run.json: train_lengths is no list of integers"
      facts.train_lengths = nil
      break
    end
  end
  local flags = {}
  for i, flag in ipairs(facts.flags or {}) do
    flags[i] = tostring(flag)
  end
  facts.flags = flags
  table.sort(notes)
end

-- Calls take(line) for each line; a line that take refuses is noted by its number.
local function each_line(path, name, notes, take)
  local text = write.read(path)
  local number = 0
  for line in (text or ""):gmatch("[^\n]+") do
    number = number + 1
    if not take(line) then
      notes[#notes + 1] = ("%s: line %d is %s, skipped"):format(name, number,
        text:sub(-#line) == line and "torn" or "not as a trainer writes it")
    end
  end
  return text ~= nil
end

local function add_during(run, row)
  local last = run.during[#run.during]
  if not last or last.step ~= row.step then
    last = { step = row.step, sum = 0, count = 0 }
    run.during[#run.during + 1] = last
  end
  last.sum, last.count = last.sum + row.accuracy, last.count + 1
end

local function place_of(evaluation, length)
  for place, known in ipairs(evaluation.lengths) do
    if known == length then
      return place
    end
  end
  return #evaluation.lengths + 1
end

-- Adds one line to run.test or run.train: the last step counts, and of a length, the last line.
local function add(run, row)
  local evaluation = run[row.split]
  if not evaluation or row.step > evaluation.step then
    evaluation = { split = row.split, step = row.step, examples = row.examples, draws = row.draws, highest = 0,
      lengths = {}, accuracy = {}, exact_match = {}, loss = {} }
    run[row.split] = evaluation
  elseif row.step < evaluation.step then
    return
  end
  local lengths = evaluation.lengths
  local place = row.length > evaluation.highest and #lengths + 1 or place_of(evaluation, row.length)
  evaluation.highest = math.max(evaluation.highest, row.length)
  evaluation.mixed = evaluation.mixed or row.examples ~= evaluation.examples or row.draws ~= evaluation.draws
  lengths[place], evaluation.accuracy[place] = row.length, row.accuracy
  evaluation.exact_match[place], evaluation.loss[place] = row.exact_match, row.loss
end

-- Lines of a split that is not one of these do not count.
local takers = { during = add_during, test = add, train = add }

local function is_complete(row)
  for _, name in ipairs({ "step", "length", "examples", "draws" }) do
    if math.type(row[name]) ~= "integer" then
      return false
    end
  end
  return type(row.accuracy) == "number" and takers[row.split] ~= nil
end

local row = {} -- one for all lines

-- Takes a line of eval.jsonl; lines of other evaluation seeds than the standard one do not count. false: no such line.
local function take_evaluation(run, line)
  local step, split, length, examples, draws, accuracy, exact, loss = line:match(EVALUATION)
  local share = tonumber(accuracy)
  if share then
    row.step, row.split, row.length, row.examples = tonumber(step), split, tonumber(length), tonumber(examples)
    row.draws, row.accuracy, row.exact_match, row.loss = tonumber(draws), share, exact, loss
    local add_row = takers[split]
    if add_row then
      add_row(run, row)
    end
    return add_row ~= nil
  end
  local decoded = json.decode(line)
  if type(decoded) ~= "table" then
    return false
  end
  local other = { step = decoded.step, split = decoded.split, examples = decoded.examples, draws = decoded.draws,
    accuracy = decoded.accuracy, exact_match = tostring(decoded.exact_match or ""),
    loss = tostring(decoded.loss or "") }
  other.length = type(decoded.by) == "table" and select(2, next(decoded.by)) or nil
  if not is_complete(other) then
    return false
  elseif decoded.seed == nil then
    takers[other.split](run, other)
  end
  return true
end

-- Puts the lists in the order of lengths, where an evaluation was made in pieces.
local function in_order(evaluation)
  local order, sorted = {}, true
  for place in ipairs(evaluation.lengths) do
    order[place] = place
    sorted = sorted and (place == 1 or evaluation.lengths[place - 1] < evaluation.lengths[place])
  end
  if sorted then
    return
  end
  table.sort(order, function(a, b)
    return evaluation.lengths[a] < evaluation.lengths[b]
  end)
  for _, key in ipairs({ "lengths", "accuracy", "exact_match", "loss" }) do
    local list = {}
    for i, place in ipairs(order) do
      list[i] = evaluation[key][place]
    end
    evaluation[key] = list
  end
end

local function read_evaluations(run)
  run.during = {}
  each_line(run.dir .. "/eval.jsonl", "eval.jsonl", run.notes, function(line)
    return take_evaluation(run, line)
  end)
  for _, split in ipairs({ "test", "train" }) do
    if run[split] then
      in_order(run[split])
    end
  end
  for i, point in ipairs(run.during) do
    run.during[i] = { step = point.step, accuracy = point.sum / point.count }
  end
end

-- Whether a run was trained on examples of a file. Its lengths are then in run.json, not in the spec.
local function has_data(run)
  local spec = run.facts.spec
  return spec ~= nil and type(spec.task) == "table" and spec.task.data ~= nil
end

-- The lengths of section.lengths of a run's spec as a list; of examples of a file, those that the trainer met there.
-- Empty where there are none, or none are recorded.
function M.lengths(run, section)
  local spec = run.facts.spec
  if has_data(run) then
    return section == "train" and run.facts.train_lengths or {}
  end
  local field = spec and type(spec[section]) == "table" and spec[section].lengths
  if type(field) ~= "table" then
    return {}
  elseif type(field.list) == "table" then
    return field.list
  end
  local list = {}
  for n = tonumber(field.first) or 1, tonumber(field.last) or 0, tonumber(field.step) or 1 do
    list[#list + 1] = n
  end
  return list
end

-- How many lengths beyond training the spec asks for; 0 where it cannot be told.
local function lengths_asked(run)
  local trained, count = {}, 0
  for _, n in ipairs(M.lengths(run, "train")) do
    trained[n] = true
  end
  for _, n in ipairs(M.lengths(run, "eval")) do
    count = count + (trained[n] and 0 or 1)
  end
  return count
end

-- Of examples of a file the split says which file; what lies beyond training, the lengths alone can tell.
local function split_by_length(run)
  local trained, parts = {}, {}
  for _, n in ipairs(M.lengths(run, "train")) do
    trained[n] = true
  end
  for _, evaluation in ipairs({ run.train or false, run.test }) do
    for i, n in ipairs(evaluation and evaluation.lengths or {}) do
      add(parts, { split = trained[n] and "train" or "test", length = n, step = evaluation.step,
        examples = evaluation.examples, draws = evaluation.draws, accuracy = evaluation.accuracy[i],
        exact_match = evaluation.exact_match[i], loss = evaluation.loss[i] })
      parts[trained[n] and "train" or "test"].mixed = evaluation.mixed
    end
  end
  run.train, run.test = parts.train, parts.test
end

-- A run that is to be evaluated at nothing but training lengths is scored there.
local function score_within(run)
  local data = has_data(run) and #M.lengths(run, "train") > 0
  if data then
    split_by_length(run)
  end
  if not run.test and run.train and (data or #M.lengths(run, "eval") > 0 and lengths_asked(run) == 0) then
    run.test, run.train, run.within = run.train, nil, true
    run.seen = data and run.facts.data ~= nil and run.facts.data.eval == nil
  end
end

local function state_of(run)
  local exit = run.facts.exit
  if exit and exit ~= 0 and exit ~= STOPPED then
    return "failed"
  end
  local asked = run.within and #M.lengths(run, "eval") or lengths_asked(run)
  local whole = run.test and (exit == 0 or asked > 0 and #run.test.lengths >= asked)
  return whole and "evaluated" or exit == 0 and "not evaluated" or "unfinished"
end

-- Reads one folder; nil where it has no run.json.
function M.read(dir)
  local text = write.read(dir .. "/run.json")
  if not text then
    return nil
  end
  local run = { dir = dir, notes = {} }
  run.facts = decode_facts(text)
  if type(run.facts) ~= "table" then
    run.facts, run.state, run.during = {}, "unreadable", {}
    run.notes[1] = "run.json: no JSON"
    return run
  end
  check_types(run.facts, run.notes)
  for _, key in ipairs({ "id", "digest", "seed", "learning_rate", "exit" }) do
    run[key] = run.facts[key]
  end
  read_evaluations(run)
  score_within(run)
  run.state = state_of(run)
  return run
end

-- metrics.jsonl as a list of decoded lines; what cannot be read is noted in run.notes.
function M.metrics(run)
  local lines = {}
  each_line(run.dir .. "/metrics.jsonl", "metrics.jsonl", run.notes, function(line)
    local decoded = json.decode(line)
    lines[#lines + 1] = type(decoded) == "table" and decoded or nil
    return type(decoded) == "table"
  end)
  return lines
end

-- Seconds of training behind steps, { { step, seconds }, ... }; empty where metrics.jsonl does not have them.
function M.clock(run)
  local marks = {}
  for line in (write.read(run.dir .. "/metrics.jsonl") or ""):gmatch("[^\n]+") do
    local step, seconds = line:match('"step":(%d+)'), line:match('"seconds":([%d.e+-]+)')
    if step and seconds and line:sub(-1) == "}" then
      marks[#marks + 1] = { tonumber(step), tonumber(seconds) }
    end
  end
  return marks
end

-- The score of an evaluated run in percent: the plain mean over the lengths beyond training. Others have none.
function M.score(run)
  if run.state ~= "evaluated" then
    return nil
  end
  local sum = 0
  for _, accuracy in ipairs(run.test.accuracy) do
    sum = sum + accuracy
  end
  return 100 * sum / #run.test.accuracy
end

local function folders(path)
  local names = {}
  if lfs.attributes(path, "mode") ~= "directory" then
    return names
  end
  for name in lfs.dir(path) do
    if name:sub(1, 1) ~= "." then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

-- Run folders below a folder, <id>/<digest>/<run>: a sorted list.
function M.find(root)
  local list = {}
  for _, id in ipairs(folders(root)) do
    for _, digest in ipairs(folders(root .. "/" .. id)) do
      local parent = ("%s/%s/%s"):format(root, id, digest)
      for _, name in ipairs(folders(parent)) do
        local dir = parent .. "/" .. name
        if lfs.attributes(dir .. "/run.json", "mode") == "file" then
          list[#list + 1] = dir
        end
      end
    end
  end
  return list
end

return M
