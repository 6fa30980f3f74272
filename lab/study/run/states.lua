-- What becomes of runs that a sweep meets, in plain words: those that it trains on, evaluates or leaves alone, and why.
--
-- Input: a study as ledger.survey leaves it. Output: lines of text, runs of several cells that are alike in one. Pure.

local wording = require("base.wording")

local M = {}

local MOST_NAMES = 3 -- of cells, in one line
local DIGITS = 8 -- of a SHA-256

-- Words for runs that stay as they are: those of a state, and those of other data.
local STAYS = { ["trained further"] = "%s; they stay as they are" }

-- Sums over runs with the same words, in the order in which they were met.
local function new_sums()
  return { at = {} }
end

local function add(sums, state, words, cell, count)
  local key = state .. "\0" .. words
  local sum = sums.at[key]
  if not sum then
    sum = { state = state, words = words, runs = 0, cells = {} }
    sums.at[key] = sum
    sums[#sums + 1] = sum
  end
  sum.runs = sum.runs + count
  if sum.cells[#sum.cells] ~= cell.id then
    sum.cells[#sum.cells + 1] = cell.id
  end
end

local function short(digest)
  return digest and digest:sub(1, DIGITS) .. "..." or "nothing"
end

local function others_words(cell, other)
  local name = cell.data.shown:match("[^/]*$")
  if other.masked then
    return ("a version before trained them on labels of %s with mask 0, too; they stay as they are"):format(name)
  end
  return cell.data.digest and ("%s had the SHA-256 %s, and has %s now; they stay as they are"):format(name,
    short(other.digest), short(cell.data.digest)) or ("%s had the SHA-256 %s"):format(name, short(other.digest))
end

local function add_cell(sums, cell)
  for _, file in ipairs(cell.lost_files or {}) do
    add(sums, ("%s: there is no file %s"):format(file.field, file.shown), "nothing is trained or evaluated without it; "
      .. "what is there stays as it is", cell, #cell.runs)
  end
  if cell.earlier then
    add(sums, "of an earlier spec", ("%s; they stay as they are, and the cell is trained anew"):format(table.concat(
      cell.earlier.words, "; ")), cell, cell.earlier.runs)
  end
  for _, run in ipairs(cell.runs) do
    if run.link then
      add(sums, "behind a link", run.words, cell, 1)
    elseif run.words and run.state ~= "damaged" and run.state ~= "running" then
      add(sums, run.state, (STAYS[run.state] or "%s"):format(run.words), cell, 1)
    end
    for _, other in ipairs(run.others or {}) do
      add(sums, "trained on other data", others_words(cell, other), cell, 1)
    end
  end
end

local function line_of(sum)
  local names = #sum.cells <= MOST_NAMES and table.concat(sum.cells, ", ") or wording.count(#sum.cells, "cell")
  return ("%s: %s of %s: %s"):format(sum.state, wording.count(sum.runs, "run"), names, sum.words)
end

function M.lines(study)
  local sums, lines = new_sums(), {}
  for _, cell in ipairs(study.cells) do
    if cell.spec then
      add_cell(sums, cell)
    end
  end
  for i, sum in ipairs(sums) do
    lines[i] = line_of(sum)
  end
  return lines
end

return M
