-- Everything that a report read, as two tidy CSV files: runs.csv has a line per run, report.csv one per run and length.
--
-- Input: a study with its cells read. Output: files, each written beside its place first and then renamed.

local published = require("published")

local M = {}

local RUN_COLUMNS = { "seed", "learning_rate", "state", "step", "score", "train_seconds", "id", "digest", "folder" }
local LENGTH_COLUMNS = { "seed", "learning_rate", "step", "split", "length", "examples", "draws", "accuracy",
  "exact_match", "loss" }

local function number(value, form)
  return value and form:format(value) or ""
end

-- The study, the place in its grid, seed and learning rate.
local function front_of(study, cell, run)
  local fields = { published.quote(study.name or "") }
  for _, axis in ipairs(study.axes) do
    fields[#fields + 1] = published.quote(cell.key[axis.name] or "")
  end
  fields[#fields + 1] = number(run.seed, "%d")
  fields[#fields + 1] = number(run.learning_rate, "%.9g")
  return table.concat(fields, ",")
end

local function head_of(study, columns)
  local names = { "study" }
  for _, axis in ipairs(study.axes) do
    names[#names + 1] = published.quote(axis.name)
  end
  return table.concat(names, ",") .. "," .. table.concat(columns, ",") .. "\n"
end

local function run_line(study, cell, run)
  local fields = { front_of(study, cell, run), run.state, number(run.test and run.test.step, "%d"),
    number(run.score, "%.9g"), number(run.facts.train_seconds, "%.3f"), published.quote(run.id or cell.id),
    run.digest or "", published.quote(run.dir) }
  return table.concat(fields, ",") .. "\n"
end

-- The lines of one evaluation as one text.
local function length_lines(study, cell, run, evaluation)
  if not evaluation then
    return ""
  end
  local front = ("%s,%d,%s,"):format(front_of(study, cell, run), evaluation.step, evaluation.split)
  local middle = (",%d,%d,"):format(evaluation.examples, evaluation.draws)
  local lines, accuracy, exact, loss = {}, evaluation.accuracy, evaluation.exact_match, evaluation.loss
  for i, length in ipairs(evaluation.lengths) do
    lines[i] = ("%s%d%s%.9g,%s,%s\n"):format(front, length, middle, accuracy[i], exact[i], loss[i])
  end
  return table.concat(lines)
end

local function write_lines(path, head, study, line_of)
  local file, message = io.open(path .. ".partial", "wb")
  if not file then
    return nil, message
  end
  local ok
  ok, message = file:write(head)
  for _, cell in ipairs(study.cells) do
    for _, run in ipairs(cell.runs) do
      if ok then
        ok, message = file:write(line_of(cell, run))
      end
    end
  end
  local closed, late = file:close()
  if not ok or not closed then
    os.remove(path .. ".partial")
    return nil, ("%s: %s"):format(path, message or late)
  end
  return os.rename(path .. ".partial", path)
end

-- true, or nil and a message.
function M.write(dir, study)
  local ok, message = write_lines(dir .. "/runs.csv", head_of(study, RUN_COLUMNS), study, function(cell, run)
    return run_line(study, cell, run)
  end)
  if not ok then
    return nil, message
  end
  return write_lines(dir .. "/report.csv", head_of(study, LENGTH_COLUMNS), study, function(cell, run)
    return length_lines(study, cell, run, run.train) .. length_lines(study, cell, run, run.test)
  end)
end

return M
