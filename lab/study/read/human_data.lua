-- Human accuracies for each puzzle: a table with one row per puzzle, and the trials of participants.
--
-- Input: the path of a CSV file, and the puzzles of the runs:
--   count     the number of puzzles
--   vectors   the number of vectors of each puzzle
--   run       the folder of a run with these puzzles
-- Puzzles are numbered from 1 on. M.read_accuracy returns a list by puzzle, M.read_trials a list of participants. An
-- invalid file ends the command; the message names line and column. Invariants: shares are from 0 to 1. In a table,
-- each puzzle occurs once, and tables with a different number of puzzles are refused.

local diagnostics = require("base.diagnostics")
local input = require("base.input")
local lists = require("base.lists")
local published = require("lab.study.read.published")
local statistics = require("lab.study.read.statistics")
local stop = require("lab.stop")
local wording = require("base.wording")

local M = {}

local must = stop.must
local INPUT = 1 -- the exit code for invalid input

local MAX_BYTES = 64 << 20 -- size of a file
local SUBJECT, ITEM, ACCURACY = "subject", "LST_id", "accuracy" -- names of the columns in published trials

-- Reads a CSV file: the result of published.parse with `column_set`, the set of its columns.
local function read(path)
  local text, problem = input.read(path, MAX_BYTES)
  must(INPUT, text, problem and ("%s: found %s; expected %s"):format(path, problem.found, problem.expected)
    or path .. ": no such file; expected a CSV file")
  local parsed, message = published.parse(text)
  must(INPUT, parsed, ("%s: %s"):format(path, message))
  parsed.column_set = lists.to_set(parsed.columns)
  return parsed
end

-- Ends the command with the problem of a value. row: the index of the row; the line of column names does not count.
local function refuse(path, row, column, found, expected)
  stop.exit(INPUT, ("%s: line %d: %s: found %s; expected %s"):format(path, row + 1, column, diagnostics.show(found),
    expected))
end

-- Returns the number of each row's puzzle, from 1 on. The column id numbers the puzzles from 0 or 1; without this
-- column, row i is puzzle i.
local function number_puzzles(file, path, count)
  local numbers, is_numbered, first = {}, {}, nil
  for i, row in ipairs(file.rows) do
    local id = file.column_set.id and math.tointeger(tonumber(row.id)) or not file.column_set.id and i
    if not id then
      refuse(path, i, "id", row.id, "an integer")
    end
    numbers[i], first = id, math.min(first or id, id)
  end
  first = first == 0 and 0 or 1
  for i, id in ipairs(numbers) do
    numbers[i] = id - first + 1
    if numbers[i] < 1 or numbers[i] > count or is_numbered[numbers[i]] then
      refuse(path, i, "id", id, ("%d to %d, each once"):format(first, first + count - 1))
    end
    is_numbered[numbers[i]] = true
  end
  return numbers
end

-- Returns the share of correct human answers for every puzzle. column: the name of the column of shares; nil: the last
-- column.
function M.read_accuracy(path, column, puzzles)
  local file = read(path)
  column = column or file.columns[#file.columns] or "accuracy"
  must(INPUT, file.column_set[column], ("%s: there is no column %s\n  expected: one of: %s"):format(path, column,
    table.concat(file.columns, ", ")))
  must(INPUT, #file.rows == puzzles.count, ("%s: %s; expected %d, since %s was evaluated on %d"):format(path,
    wording.count(#file.rows, "puzzle"), puzzles.count, puzzles.run, puzzles.count))
  local numbers, accuracy = number_puzzles(file, path, puzzles.count), {}
  for i, row in ipairs(file.rows) do
    local value, number = tonumber(row[column]), numbers[i]
    if not value or not (value >= 0 and value <= 1) then
      refuse(path, i, column, row[column], "a share from 0 to 1")
    elseif file.column_set.vectors and puzzles.vectors[number] and tonumber(row.vectors) ~= puzzles.vectors[number] then
      refuse(path, i, "vectors", row.vectors, ("%d, the number of vectors of puzzle %d in %s"):format(
        puzzles.vectors[number], number, puzzles.run))
    end
    accuracy[number] = value
  end
  return accuracy
end

-- Returns trials as a list of participants { name, share }; share[puzzle] is the participant's share of right answers,
-- nil for a puzzle that the participant has not seen. Numbers of items (puzzles) start at 1; items beyond the number of
-- puzzles belong to other trials and are skipped.
function M.read_trials(path, puzzles)
  local file, trials = read(path), {}
  for _, column in ipairs({ SUBJECT, ITEM, ACCURACY }) do
    must(INPUT, file.column_set[column], ("%s: there is no column %s; expected %s, %s and %s"):format(path, column,
      SUBJECT, ITEM, ACCURACY))
  end
  for i, row in ipairs(file.rows) do
    local number, value = math.tointeger(tonumber(row[ITEM])), tonumber(row[ACCURACY])
    if not number or number < 1 then
      refuse(path, i, ITEM, row[ITEM], "an integer from 1 on")
    elseif number <= puzzles.count and value ~= 0 and value ~= 1 then
      refuse(path, i, ACCURACY, row[ACCURACY], "0 or 1")
    elseif number <= puzzles.count then
      trials[#trials + 1] = { subject = row[SUBJECT], number = number, value = value }
    end
  end
  local people = lists.map(lists.group(trials, function(trial) return trial.subject end), function(subject_trials)
    local share = {}
    for _, puzzle in ipairs(lists.group(subject_trials, function(trial) return trial.number end)) do
      share[puzzle.key] = statistics.mean(lists.map(puzzle, function(trial) return trial.value end))
    end
    return { name = subject_trials.key, share = share }
  end)
  must(INPUT, #people > 1, ("%s: trials of %s; expected at least 2"):format(path,
    wording.count(#people, "participant")))
  return people
end

-- Returns the mean share of correct answers over participants for each puzzle from 1 to count.
function M.compute_means(people, count)
  local means = {}
  for number = 1, count do
    means[number] = statistics.mean(lists.map(people, function(person) return person.share[number] end))
  end
  return means
end

return M
