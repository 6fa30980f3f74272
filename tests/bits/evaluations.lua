-- Reduces the evaluations in a list of bits (standard input) to what a commit computed, in one form for lines of all
-- ages: level, step, condition, examples, draws, accuracy (teacher-forced where a model answers by itself), exact
-- match, loss. All other lines pass through.
--
--     lua5.4 tests/bits/evaluations.lua <LIST

local json = require("dkjson")

local function number(value)
  return value and ("%.17g"):format(value) or "-"
end

for line in io.lines() do
  local level, text = line:match("^(%S+) ({.*})$")
  local row = text and json.decode(text)
  if row then
    print(level, row.step, text:match('"by":(%b{})'), row.examples, row.draws,
      number(row.accuracy_teacher_forced or row.accuracy), number(row.exact_match), number(row.loss))
  else
    print(line)
  end
end
