-- Everything that a report read, as two tidy CSV files: runs.csv has a line per run, report.csv one per run and length,
-- or number on another axis, which the last column names.
--
-- Input: a study with its cells read. Output: files for write.files, which write themselves line by line.

local tongues = require("base.tongues")

local M = {}

local RUN_COLUMNS = { "seed", "learning_rate", "state", "step", "score", "train_seconds", "id", "digest", "folder" }
local LENGTH_COLUMNS = { "seed", "learning_rate", "step", "split", "length", "examples", "draws", "accuracy",
  "exact_match", "loss", "axis" }

local function number(value, form)
  return value and form:format(value) or ""
end

-- The study, the place in its grid, seed and learning rate.
local function front_of(study, cell, run)
  local fields = { tongues.csv(study.name or "") }
  for _, axis in ipairs(study.axes) do
    fields[#fields + 1] = tongues.csv(cell.key[axis.name] or "")
  end
  fields[#fields + 1] = number(run.seed, "%d")
  fields[#fields + 1] = number(run.learning_rate, "%.9g")
  return table.concat(fields, ",")
end

local function head_of(study, columns)
  local names = { "study" }
  for _, axis in ipairs(study.axes) do
    names[#names + 1] = tongues.csv(axis.name)
  end
  return table.concat(names, ",") .. "," .. table.concat(columns, ",") .. "\n"
end

local function run_line(study, cell, run)
  local fields = { front_of(study, cell, run), run.state, number(run.test and run.test.step, "%d"),
    number(run.score, "%.9g"), number(run.facts.train_seconds, "%.3f"), tongues.csv(run.id or cell.id),
    run.digest or "", tongues.csv(run.dir) }
  return table.concat(fields, ",") .. "\n"
end

-- The lines of one evaluation as one text.
local function length_lines(study, cell, run, evaluation)
  if not evaluation then
    return ""
  end
  local front = ("%s,%d,%s,"):format(front_of(study, cell, run), evaluation.step, evaluation.split)
  local lines, counts, accuracy = {}, evaluation.counts, evaluation.accuracy
  for i, length in ipairs(evaluation.lengths) do
    lines[i] = ("%s%d,%d,%d,%.9g,%s,%s,%s\n"):format(front, length, counts[i], evaluation.draws, accuracy[i],
      evaluation.exact_match[i], evaluation.loss[i], run.axis)
  end
  return table.concat(lines)
end

local function file_of(path, head, study, line_of)
  return { path = path, write = function(file)
    local ok, message = file:write(head)
    for _, cell in ipairs(study.cells) do
      for _, run in ipairs(cell.runs) do
        if ok then
          ok, message = file:write(line_of(cell, run))
        end
      end
    end
    return ok, message
  end }
end

function M.files(study)
  return {
    file_of("runs.csv", head_of(study, RUN_COLUMNS), study, function(cell, run)
      return run_line(study, cell, run)
    end),
    file_of("report.csv", head_of(study, LENGTH_COLUMNS), study, function(cell, run)
      local third = run.validation ~= run.test and run.validation
      return length_lines(study, cell, run, run.train) .. length_lines(study, cell, run, run.test)
        .. length_lines(study, cell, run, third)
    end),
  }
end

return M
