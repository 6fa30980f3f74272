-- The cells of a study with their runs read, and what the scores of a cell come to.
--
-- Input: a study, as grid.expand returns it, or nothing but a folder of runs. Output: study with `cells`, each { key,
-- id, number, runs, summary, spec, lost, anew }; a run is as runs.lua has it, with `score`; a run that is not there has
-- the state "missing", or "waiting" in a cell without a spec. anew: in words, where its runs are of an earlier version
-- (as_swept.lua), what differs from the spec as it is now. problems: folders that could not be read. left_out: in
-- words, earlier versions that are not shown. summary is described at summarise.
-- whole: the study itself, also of what over and within cut out of it.
-- Invariants: scores are in the unit of their metric (metrics.lua), times in hours; only evaluated runs have a score.

local as_swept = require("lab.study.read.as_swept")
local canonical = require("base.canonical")
local choice = require("lab.study.read.chosen_rate")
local grids = require("lab.study.read.grids")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local run_files = require("lab.study.read.run_files")
local runs = require("lab.study.read.runs")
local snapshots = require("lab.study.read.snapshots")
local statistics = require("lab.study.read.statistics")
local wording = require("base.wording")

local M = {}

local BEYOND_TRAINING = { split = "test" }

-- What should not differ among the runs of one cell, and how it is called.
local SAME = {
  { "source_digest", "generated sources" }, { "compiler", "compiler" }, { "level", "instruction-set level" },
  { "variant", "device" }, { "precision", "precision" },
}

-- Files of a run's task, by their SHA-256 in run.json.
local SAME_DATA = { { "train_sha256", "training data" }, { "eval_sha256", "test data" },
  { "validation_sha256", "validation data" } }

local function add_name(names, seen, name)
  if not seen[name] then
    seen[name] = true
    names[#names + 1] = name
  end
end

-- Differences among the evaluated runs of a cell: a list of texts. joined: they are of several specs.
local function differences(list, joined)
  local found = {}
  local function compare(name, pick)
    local values, seen = {}, {}
    for _, run in ipairs(list) do
      add_name(values, seen, tostring(pick(run) or "not recorded"))
    end
    if #values > 1 then
      table.sort(values)
      found[#found + 1] = ("%s: %s"):format(name, table.concat(values, "; "))
    end
  end
  for _, item in ipairs(SAME) do
    compare(item[2], function(run)
      return run.facts[item[1]]
    end)
  end
  for _, item in ipairs(not joined and SAME_DATA or {}) do
    compare(item[2], function(run)
      local data = run.facts.data
      return data and data[item[1]] and data[item[1]]:sub(1, run_files.DATA_DIGITS) or "none"
    end)
  end
  if not joined then
    compare("spec digest", function(run)
      return run.digest
    end)
  end
  compare("last step", function(run)
    return run.test.step
  end)
  compare("examples per length", function(run)
    return run.test.mixed and "mixed" or run.test.examples
  end)
  compare("evaluated lengths", function(run)
    local lengths = run.test.lengths
    return ("%d, from %d to %d"):format(#lengths, lengths[1], lengths[#lengths])
  end)
  return found
end

local function scores_of(list)
  return lists.map(list, function(run) return run.score end)
end

-- The share of runs that generalises; nil where none says.
local function share_of_good(list)
  local judged = {}
  for _, run in ipairs(list) do
    if run.generalises ~= nil then
      judged[#judged + 1] = run.generalises and 1 or 0
    end
  end
  return statistics.mean(judged)
end

-- { rate, asked, runs, scores, mean, sd, median, lower, upper (quartiles), least, most, good } for each learning rate,
-- in rising order.
local function by_rate(list)
  local rates, at = {}, {}
  for _, run in ipairs(list) do
    local rate = run.learning_rate or 0
    if not at[rate] then
      at[rate] = { rate = rate, asked = 0, runs = {} }
      rates[#rates + 1] = at[rate]
    end
    at[rate].asked = at[rate].asked + 1
    at[rate].runs[#at[rate].runs + 1] = run.score and run or nil
  end
  table.sort(rates, function(a, b)
    return a.rate < b.rate
  end)
  for _, rate in ipairs(rates) do
    rate.scores = scores_of(rate.runs)
    rate.mean, rate.sd = statistics.mean(rate.scores), statistics.sd(rate.scores)
    rate.median = statistics.quantile(rate.scores, 0.5)
    rate.least, rate.most = statistics.quantile(rate.scores, 0), statistics.quantile(rate.scores, 1)
    rate.lower, rate.upper = statistics.quantile(rate.scores, 0.25), statistics.quantile(rate.scores, 0.75)
    rate.good = share_of_good(rate.runs)
  end
  return rates
end

local function hours_of(list)
  local hours, machines, seen = {}, {}, {}
  for _, run in ipairs(list) do
    hours[#hours + 1] = run.facts.train_seconds and run.facts.train_seconds / 3600 or nil
    add_name(machines, seen, run.facts.machine or "not recorded")
  end
  return { mean = statistics.mean(hours), sd = statistics.sd(hours), count = #hours, machines = machines }
end

-- asked: runs the study wants; states: how many of each; rates: see by_rate; best: the one that is chosen, by choice
-- (chosen_rate.lua); max and its run; over all scores median, first and third quartile; good: the share that
-- generalises, nil where no run says; hours = { mean, sd, count, machines }; differences of the runs; grid: what most
-- scores are means of; decoding: how the answers came about that are scored, of generative models. scored: what the
-- study scores; max is the best.
local function summarise(cell, scored)
  local list, evaluated, states, metric = cell.runs, {}, {}, scored.metric
  for _, run in ipairs(list) do
    states[run.state] = (states[run.state] or 0) + 1
    evaluated[#evaluated + 1] = run.score and run or nil
  end
  local scores, rates = scores_of(evaluated), by_rate(list)
  local chosen, top = choice.of(evaluated, scored), nil
  for _, run in ipairs(evaluated) do
    top = metrics.is_better(metric, run.score, top and top.score) and run or top
  end
  return {
    asked = #list, evaluated = #evaluated, states = states, rates = rates, choice = chosen,
    best = choice.best(rates, metric, chosen),
    max = top and top.score, top = top, scores = scores, median = statistics.quantile(scores, 0.5),
    lower = statistics.quantile(scores, 0.25), upper = statistics.quantile(scores, 0.75),
    good = share_of_good(evaluated), hours = hours_of(evaluated),
    differences = differences(evaluated, cell.joined), grid = grids.usual(evaluated, scored.split),
    decoding = top and top.decoding, other_decoding = cell.other_decoding,
  }
end

-- Whether the scores of a cell are means of something else than those of most runs.
local function mark_grid(cell, usual)
  local grid = cell.summary.grid
  cell.summary.other_grid = grid ~= nil and grid.key ~= usual.key
end

-- The study without an axis: cells that differ on it alone are one, with the runs of all of them.
function M.over(study, axis)
  local joined, at, axes = {}, {}, {}
  for _, other in ipairs(study.axes) do
    axes[#axes + 1] = other.name ~= axis and other or nil
  end
  for _, cell in ipairs(study.cells) do
    local key = {}
    for name, value in pairs(cell.key) do
      key[name] = name ~= axis and value or nil
    end
    local text = canonical.text(key)
    if not at[text] then
      at[text] = { key = key, id = cell.id, number = cell.number, task = cell.task, spec = cell.spec, runs = {},
        joined = true, other_decoding = cell.other_decoding }
      joined[#joined + 1] = at[text]
    end
    at[text].anew = at[text].anew or cell.anew
    table.move(cell.runs, 1, #cell.runs, #at[text].runs + 1, at[text].runs)
  end
  for _, cell in ipairs(joined) do
    cell.summary = summarise(cell, study.scored)
    mark_grid(cell, study.whole.grid)
  end
  return setmetatable({ cells = joined, axes = axes }, { __index = study })
end

local function fits(cell, where, only)
  for name, value in pairs(where) do
    if cell.key[name] ~= value then
      return false
    end
  end
  for name, values in pairs(only) do
    if not lists.has(values, cell.key[name]) then
      return false
    end
  end
  return true
end

-- The study with the cells alone that have the values of `where` and some of each list in `only`, and of each axis the
-- values that these cells have.
function M.within(study, where, only)
  local kept, seen, axes = {}, {}, {}
  for _, cell in ipairs(study.cells) do
    if fits(cell, where or {}, only or {}) then
      kept[#kept + 1] = cell
      for name, value in pairs(cell.key) do
        seen[name] = seen[name] or {}
        seen[name][value] = true
      end
    end
  end
  for i, axis in ipairs(study.axes) do
    axes[i] = { name = axis.name, values = {} }
    for _, value in ipairs(axis.values) do
      table.insert(axes[i].values, seen[axis.name] and seen[axis.name][value] and value or nil)
    end
  end
  return setmetatable({ cells = kept, axes = axes }, { __index = study })
end

-- The decoding of a cell's runs that counts, where they were decoded in both ways: what the spec of most asks for is
-- what a run itself goes by, so that it is greedy where any run is. Second comes how many runs have the other alone.
local function decoding_of(cell)
  local count = {}
  for _, run in ipairs(cell.runs) do
    count[run.decoding or false] = (count[run.decoding or false] or 0) + 1
  end
  local eval = cell.spec and cell.spec.resolved and cell.spec.resolved.eval or {}
  local wanted = eval.decoding or "greedy"
  local other = wanted == "greedy" and "teacher_forced" or "greedy"
  return count[wanted] and count[other] and wanted or nil, count[other]
end

-- Takes the evaluations away from runs that were decoded in another way than those that count.
local function drop_other_decodings(cell)
  local wanted, count = decoding_of(cell)
  cell.other_decoding = wanted and count or nil
  for _, run in ipairs(cell.runs) do
    if wanted and run.decoding and run.decoding ~= wanted and run.state == "evaluated" then
      run.state = "not evaluated"
      run.notes[#run.notes + 1] = ("eval.jsonl: its evaluations are %s, other runs of the cell have %s ones; expected "
        .. "the same, as trainer eval or a sweep makes them"):format(metrics.decodings[run.decoding],
        metrics.decodings[wanted])
    end
  end
end

-- A run has a score where it was evaluated on the set that is scored.
local function finish(study, metric)
  study.scored = metrics.scored(study, study.scored, metric)
  local scored, evaluated = study.scored, {}
  local criterion = scored.generalises
  for number, cell in ipairs(study.cells) do
    cell.number = number
    drop_other_decodings(cell)
    for _, run in ipairs(cell.runs) do
      run.score = runs.score(run, scored.split, scored.metric)
      run.generalises = metrics.generalises(runs.score(run, scored.split, criterion.metric), criterion)
      run.state = run.state == "evaluated" and not run.score and "not evaluated" or run.state
      evaluated[#evaluated + 1] = run.score and run or nil
    end
    cell.summary = summarise(cell, scored)
  end
  study.whole, study.grid = study, grids.usual(evaluated, scored.split)
  for _, cell in ipairs(study.cells) do
    mark_grid(cell, study.grid)
  end
  return study
end

-- The spec of a group's runs, which is that of any of them that is not damaged.
local function spec_of(group)
  for _, run in ipairs(group.runs) do
    if run.facts.spec then
      return run.facts.spec
    end
  end
end

-- The runs of a cell that are asked for, there or not.
local function own_runs(cell, root)
  local list = {}
  for i, wanted in ipairs(cell.runs) do
    local dir = wanted.dir and root .. "/" .. wanted.dir
    list[i] = dir and runs.read(dir, run_files.place(dir))
      or { dir = dir or cell.id, facts = {}, notes = {}, during = {}, state = dir and "missing" or "waiting" }
    list[i].seed, list[i].learning_rate = wanted.seed, wanted.learning_rate
  end
  return list
end

-- Reads the runs of an expanded study below `root`. metric: that of scores, in the place of the study's, or nil.
function M.of_study(study, root, metric)
  local cells, left = {}, {}
  local lost, strange = as_swept.lost_cells(study)
  for _, cell in ipairs(lists.join(study.cells, lost)) do
    local list, is_earlier, anew = as_swept.choose(root, study, cell, own_runs(cell, root), left)
    if #list > 0 then -- of a cell that the study has no more there may be nothing
      cells[#cells + 1] = { key = cell.key, id = cell.id, spec = cell.spec, lost = not is_earlier and cell.lost or nil,
        runs = list, anew = anew, task_spec = not cell.spec and spec_of({ runs = list }) or nil }
    end
  end
  if strange > 0 then
    left[#left + 1] = ("%s of an earlier version of the study, which had other axes: %s"):format(wording.count(strange,
      "cell"), root .. "/" .. snapshots.name(study.name, study.scale))
  end
  return finish({ name = study.name, title = study.title, path = study.path, scale = study.scale,
    axes = as_swept.axes_with(study, lost), report = study.report, scored = study.scored or BEYOND_TRAINING,
    cells = cells, left_out = left }, metric)
end

-- The name of a run's task: its kind, or of examples from a file the task's name, by default the spec's, `id`; nil
-- where its spec does not say. The name of the file tells nothing: there are many train.jsonl.
function M.task_of(spec, id)
  local task = spec and spec.task or {}
  return task.kind or task.data and (task.name or id) or nil
end

-- What a run's id says beside its task: bucket_sort_rand_sinusoid -> rand_sinusoid.
local function encoding_of(id, task)
  local rest = id:sub(1, #task + 1) == task .. "_" and id:sub(#task + 2) or ""
  return rest ~= "" and rest or id
end

-- The runs found below a folder, by id, digest and the file that they were trained on.
local function groups_of(root)
  local groups, order = {}, {}
  local list, problems = run_files.find(root)
  for _, dir in ipairs(list) do
    local place = run_files.place(dir)
    local run = runs.read(dir, place)
    local data = run.facts.data and run.facts.data.train_sha256 or run_files.named(place.name).data
    data = data and data:sub(1, run_files.DATA_DIGITS)
    local key = ("%s/%s/%s"):format(place.id, place.digest, data)
    if not groups[key] then
      groups[key] = { id = place.id, digest = place.digest, data = data, runs = {} }
      order[#order + 1] = groups[key]
    end
    table.insert(groups[key].runs, run)
  end
  return order, problems
end

-- Tells groups of the same task and encoding apart, in the key, by a word of each where these differ.
local function tell_apart(order, word_of)
  local first, differ = {}, {}
  local function name_of(group)
    return group.key.task .. "/" .. group.key.encoding
  end
  for _, group in ipairs(order) do
    local name, word = name_of(group), word_of(group)
    first[name] = first[name] or word
    differ[name] = differ[name] or first[name] ~= word
  end
  for _, group in ipairs(order) do
    if differ[name_of(group)] then
      group.key.encoding = ("%s (%s)"):format(group.key.encoding, word_of(group))
    end
  end
end

-- The key of a group of runs, by task and encoding; second whether its task has no name but the spec's.
local function key_of(group, spec)
  local name = M.task_of(spec, group.id) or "?"
  return { task = name, encoding = encoding_of(group.id, name) }, spec and spec.task.data ~= nil and name == group.id
end

-- The axes of groups of runs, by their keys; without encodings where none is told from its task.
local function axes_of(groups, nameless)
  local tasks, encodings, seen_tasks, seen_encodings = {}, {}, {}, {}
  for _, group in ipairs(groups) do
    add_name(tasks, seen_tasks, group.key.task)
    add_name(encodings, seen_encodings, group.key.encoding)
    group.key.encoding = not nameless and group.key.encoding or nil
  end
  return { { name = "task", values = tasks }, not nameless and { name = "encoding", values = encodings } or nil }
end

-- A study of the runs found below a folder: a cell for each id, digest and training file, by task and encoding. Where
-- two have the same of both, the digest is added to the name, and the file's where that is the same, too. Where all are
-- of files of examples without names of their own, the specs' names are those of the tasks, and there is no other axis.
-- metric: that of scores, in the place of the usual one, or nil.
function M.of_folder(root, metric)
  local order, problems = groups_of(root)
  local known, nameless = {}, true
  for _, group in ipairs(order) do
    local spec = spec_of(group)
    local key, is_nameless = key_of(group, spec)
    group.key, group.task_kind, group.task_options = key, spec and spec.task.kind, spec and spec.task.options
    local name = group.key.task .. "/" .. group.key.encoding
    nameless = nameless and is_nameless and not known[name]
    known[name] = true
  end
  tell_apart(order, function(group)
    return group.digest:sub(1, 6)
  end)
  tell_apart(order, function(group)
    return "data " .. (group.data or "unknown")
  end)
  local axes = axes_of(order, nameless)
  local tasks = axes[1].values
  return finish({ title = #tasks == 1 and "Runs of " .. tasks[1] or "Runs", cells = order, found = true,
    scored = BEYOND_TRAINING, problems = problems, axes = axes }, metric)
end

return M
