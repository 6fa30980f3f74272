-- Reduces the evaluations in a list of bits (standard input) to numbers, so that lists of two commits can be compared
-- even if one writes other fields: level, step, condition, examples, draws, accuracy (teacher-forced where a model
-- answers by itself), exact match, loss. All other lines pass through.
--
--     lua5.4 tests/bits/evaluations.lua <LIST

local json = require("dkjson")

local function format_number(value)
  return value and ("%.17g"):format(value) or "-"
end

for line in io.lines() do
  local level, text = line:match("^(%S+) ({.*})$")
  local row = text and json.decode(text)
  if row then
    print(level, row.step, text:match('"by":(%b{})'), row.examples, row.draws,
      format_number(row.accuracy_teacher_forced or row.accuracy), format_number(row.exact_match),
      format_number(row.loss))
  else
    print(line)
  end
end
