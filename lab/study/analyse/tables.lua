-- The position tables of a study's runs: how far they are from a reference, how alike they are, and what that has to do
-- with accuracy.
--
-- Input: groups (groups.lua) and { project, folder, rows, across, reference, split }. Output of M.of: { groups,
-- reference, width, notes }; group.records = { run, accuracy, start, trained } with lists of tables
-- (position_tables.lua), each with `measures` (procrustes.lua) and both with `mean`, the measures' means over the
-- blocks; start is nil where there is no checkpoint of step 0. group.learned: training changes its tables. Or nil, an
-- exit code and a message.

local correlation = require("lab.study.analyse.mathematics.correlation")
local groups_module = require("lab.study.analyse.groups")
local lfs = require("lfs")
local lists = require("base.lists")
local position_tables = require("lab.study.analyse.position_tables")
local procrustes = require("lab.study.analyse.procrustes")
local statistics = require("lab.study.read.statistics")

local M = {}

M.STEPS = { "start", "trained" }
M.MEASURES = { "norm", "distance", "unit" }

local FILES = { start = "checkpoint-0.safetensors", trained = "checkpoint.safetensors" }

-- The tables of a run at both steps; or nil and a message. Those that training leaves alone are read where it ended.
local function record_of(run, accuracy, options)
  local record, spec = { run = run, accuracy = accuracy }, run.facts.spec
  for _, step in ipairs(M.STEPS) do
    local path = ("%s/%s"):format(run.dir, FILES[position_tables.are_learned(spec) and step or "trained"])
    if step == "trained" or lfs.attributes(path, "mode") == "file" then
      local list, message = position_tables.of(path, spec, options.rows, options.across)
      if not list then
        return nil, message
      end
      record[step] = #list > 0 and list or nil
    end
  end
  return record
end

-- Reads the runs of the groups; those that add no table are left out.
local function read(groups, options, notes)
  local list = {}
  for _, group in ipairs(groups) do
    group.records, group.learned = {}, false
    local without = 0
    for i, run in ipairs(group.runs) do
      local record, message = record_of(run, group.scores[i], options)
      if not record then
        return nil, message
      elseif record.trained then
        group.records[#group.records + 1] = record
        group.learned = position_tables.are_learned(run.facts.spec)
        without = without + (record.start and 0 or 1)
      end
    end
    list[#list + 1] = #group.records > 0 and group or nil
    if #group.records == 0 and #group.runs > 0 then
      notes[#notes + 1] = ("%s: adds no table"):format(group.name)
    elseif without > 0 then
      notes[#notes + 1] = ("%s: %d of %d runs have no checkpoint of step 0; train.checkpoint.keep = { 0 } keeps one")
        :format(group.name, without, #group.records)
    end
  end
  return list
end

-- Goes through the lists of tables: (list, step, record, group).
function M.each(groups)
  return coroutine.wrap(function()
    for _, group in ipairs(groups) do
      for _, record in ipairs(group.records) do
        for _, step in ipairs(M.STEPS) do
          if record[step] then
            coroutine.yield(record[step], step, record, group)
          end
        end
      end
    end
  end)
end

-- All tables in one list; nil and a message where their widths differ.
local function flat(groups)
  local list = {}
  for tables, _, record in M.each(groups) do
    for _, one in ipairs(tables) do
      list[#list + 1] = one
      if one.columns ~= list[1].columns then
        return nil, ("%s: its tables are %d wide; expected %d, as others here are"):format(record.run.dir, one.columns,
          list[1].columns)
      end
    end
  end
  return list, list[1].columns
end

-- Means over the blocks of what was measured.
local function average(groups)
  for tables in M.each(groups) do
    tables.mean = {}
    for _, measure in ipairs(M.MEASURES) do
      tables.mean[measure] = statistics.mean(lists.map(tables, function(one) return one.measures[measure] end))
    end
  end
end

function M.of(groups, options)
  local notes = {}
  local list, message = read(groups, options, notes)
  if not list then
    return nil, 1, message
  elseif #list == 0 then
    return nil, 1, "no run with a score adds a table to its tokens\n  expected: additive encodings, such as learned"
  end
  local tables, width = flat(list)
  if not tables then
    return nil, 1, width
  elseif width % 4 ~= 0 then
    return nil, 1, ("the tables are %d wide; expected a multiple of 4, which a sinusoid of a grid takes"):format(width)
  end
  local reference = options.reference == "line" and position_tables.line(options.rows, width)
    or position_tables.grid(options.rows, options.across, width)
  local results, code
  results, code, message = procrustes.measure(options.project, options.folder, { rows = options.rows, columns = width },
    reference, lists.map(tables, function(one) return one.values end))
  if not results then
    return nil, code, message
  end
  for i, one in ipairs(tables) do
    one.measures = results[i]
  end
  average(list)
  return { groups = list, reference = reference, width = width, notes = notes }
end

-- Values of a measure at a step over the runs of a group, and their accuracies; in a block, or means over all.
function M.values(group, step, measure, block)
  local values, scores = {}, {}
  for _, record in ipairs(group.records) do
    local of = record[step] or {}
    local value = (not block and of.mean or of[block] and of[block].measures or {})[measure]
    if value then
      values[#values + 1], scores[#scores + 1] = value, record.accuracy
    end
  end
  return values, scores
end

local function correlate(over, at, values, scores)
  return { over = over, step = at.step, block = at.block, measure = at.measure, count = #values,
    pearson = correlation.pearson(values, scores), spearman = correlation.spearman(values, scores) }
end

-- Adds the correlations of a measure at a step in a block: { step, measure, block }.
local function add_correlations(list, groups, at)
  local all, all_scores, means, mean_scores, within = {}, {}, {}, {}, {}
  for _, group in ipairs(groups) do
    local values, scores = M.values(group, at.step, at.measure, at.block)
    if group.learned and #values > 0 then
      lists.append(all, values)
      lists.append(all_scores, scores)
      means[#means + 1], mean_scores[#mean_scores + 1] = statistics.mean(values), statistics.mean(scores)
    end
    if group.learned and #M.values(group, at.step, "norm", at.block) > 0 then -- of tables that are 0 some have no value
      within[#within + 1] = correlate(group.name, at, values, scores)
    end
  end
  list[#list + 1] = correlate("all runs", at, all, all_scores)
  list[#list + 1] = correlate("means of cells", at, means, mean_scores)
  lists.append(list, within)
end

-- Correlations of a measure with accuracy over the learned tables of all runs, over the means of groups, and over the
-- seeds within each group: a list of { over, step, block, measure, count, pearson, spearman }; block nil is the mean
-- over all, which comes first.
function M.correlations(result)
  local list, blocks = {}, 0 -- with tables of their own, at most
  for tables in M.each(result.groups) do
    blocks = math.max(blocks, #tables)
  end
  for block = 0, blocks > 1 and blocks or 0 do
    for _, step in ipairs(M.STEPS) do
      for _, measure in ipairs(M.MEASURES) do
        add_correlations(list, result.groups, { step = step, measure = measure, block = block > 0 and block or nil })
      end
    end
  end
  return list
end

-- Mean over blocks of the cosine of two runs' tables; a single one is set against each block of the other.
local function likeness(a, b)
  local values = {}
  for i = 1, math.max(#a, #b) do
    local one, other = a[#a == 1 and 1 or i], b[#b == 1 and 1 or i]
    local both = one and other and one.measures.norm * other.measures.norm or 0
    values[#values + 1] = both > 0 and correlation.dot(one.values, other.values) / both or nil
  end
  return statistics.mean(values)
end

-- Cosines of the tables themselves, for each pair of groups over all pairs of their seeds, a group with itself over
-- different seeds: a list of { a, b, step, count, mean, sd }.
function M.similarities(result)
  local list = {}
  for _, step in ipairs(M.STEPS) do
    groups_module.each_pair(result.groups, function(a, b)
      local values = groups_module.over_pairs(a, b, function(one, other)
        return one[step] and other[step] and likeness(one[step], other[step])
      end)
      list[#list + 1] = { a = a, b = b, step = step, count = #values, mean = statistics.mean(values),
        sd = statistics.sd(values) }
    end)
  end
  return list
end

return M
