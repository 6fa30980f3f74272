-- Explains the decisions of a sweep on existing runs: it trains, evaluates or skips them, and why.
--
-- Input: a study from ledger.survey. Output: lines of text; equal decisions in several cells share a line. Pure.

local lists = require("base.lists")
local versions = require("lab.study.read.versions")
local wording = require("base.wording")

local M = {}

local MOST_NAMES = 3 -- the most names of cells in one line

-- Words on runs that the sweep does not change, by state.
local STAYS = { ["trained further"] = "%s; they stay as they are" }

local function others_words(cell, other)
  local name, before = cell.data.shown:match("[^/]*$"), versions.short(other.digest)
  if other.masked then
    return ("a version before trained them on labels of %s with mask 0, too; they stay as they are"):format(name)
  elseif not cell.data.digest then
    return ("%s had the SHA-256 %s"):format(name, before)
  end
  return ("%s had the SHA-256 %s, and has %s now; they stay as they are"):format(name, before,
    versions.short(cell.data.digest))
end

-- Decisions on the runs of a cell: a list of { state, words, cell, runs }, where runs is a number.
local function of_cell(cell)
  local list = {}
  local function add(state, words, count)
    list[#list + 1] = { state = state, words = words, cell = cell.id, runs = count or 1 }
  end
  for _, file in ipairs(cell.lost_files or {}) do
    add(("%s: there is no file %s"):format(file.field, file.shown), "nothing is trained or evaluated without it; "
      .. "what is there stays as it is", #cell.runs)
  end
  if cell.earlier then
    add("of an earlier spec", ("%s; they stay as they are, and the cell is trained anew"):format(table.concat(
      cell.earlier.words, "; ")), cell.earlier.runs)
  end
  for _, run in ipairs(cell.runs) do
    if run.link then
      add("behind a link", run.words)
    elseif run.words and run.state ~= "damaged" and run.state ~= "running" then
      add(run.state, (STAYS[run.state] or "%s"):format(run.words))
    end
    for _, other in ipairs(run.others or {}) do
      add("trained on other data", others_words(cell, other))
    end
  end
  return list
end

function M.lines(study)
  local all = lists.flat(study.cells, function(cell) return cell.spec and of_cell(cell) or {} end)
  return lists.map(lists.group(all, function(one) return one.state .. "\0" .. one.words end), function(alike)
    local names = lists.distinct(lists.map(alike, function(one) return one.cell end))
    local runs = lists.sum(alike, function(one) return one.runs end)
    return ("%s: %s of %s: %s"):format(alike[1].state, wording.count(runs, "run"), #names <= MOST_NAMES
      and table.concat(names, ", ") or wording.count(#names, "cell"), alike[1].words)
  end)
end

return M
