-- Comparisons over seeds: tests between the cells of a study, or of any runs (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of comparisons.lua with `say`. Output: the files compare.csv (a
-- pair per line), groups.csv, seeds.csv, compare.tex, compare.gnuplot; or nil and a message; and third, what is damaged
-- and was left out, or nil.

local comparisons = require("study.analyse.comparisons")
local open = require("study.report.open")
local strips = require("study.analyse.strips")
local table_latex = require("study.report.table_latex")
local table_text = require("study.report.table_text")
local tongues = require("base.tongues")
local wording = require("base.wording")

local M = {}

local WIDTH = 100
local MOST_ROWS, MOST_NOTES = 40, 12 -- on the screen; the files have all
local MOST_DAMAGED = 5
local MISSING = "-"

local function texts(...)
  local cells = {}
  for i, text in ipairs({ ... }) do
    cells[i] = { texts = { text } }
  end
  return cells
end

local function columns(...)
  local list = {}
  for i, title in ipairs({ ... }) do
    list[i] = { title = title }
  end
  return list
end

local function number(form, ...)
  return ... and form:format(...) or MISSING
end

local function p_text(p)
  return not p and MISSING or p < 0.0001 and "< 0.0001" or ("%.4f"):format(p)
end

local function titled(set, text)
  return set.name ~= "" and ("%s: %s"):format(set.name, text) or text
end

local function groups_table(result, options)
  local rows = {}
  for _, set in ipairs(result.sets) do
    for _, group in ipairs(set.groups) do
      rows[#rows + 1] = { title = titled(set, group.name), cells = texts(("%d of %d"):format(#group.scores,
        group.asked), number("%.2f", group.mean), number("%.2f", group.sd), number("%.2f", group.error),
        number("%.2f to %.2f", group.low, group.high), ("%g"):format(group.rate)) }
    end
  end
  return { name = "groups", title = ("Accuracy in percent, split %s, at the last step"):format(options.split),
    about = "over seeds; sd has n - 1 in its denominator; intervals hold 95% of the bootstrap's means", corner =
    result.axis, subs = { "" }, columns = columns("seeds", "mean", "sd", "std. error", "interval", "learning rate"),
    rows = rows, notes = result.notes }
end

local function pairs_table(result, options)
  local rows = {}
  for i, pair in ipairs(result.pairs) do
    local test = pair.test
    rows[i] = { title = titled(pair.set, ("%s - %s"):format(pair.a.name, pair.b.name)), cells = texts(
      ("%+.2f"):format(test.difference), pair.verdict, p_text(pair.p), p_text(pair.equivalence),
      number("%.2f to %.2f", test.low, test.high), ("%.2f to %.2f"):format(pair.low, pair.high),
      number("%.3f", test.t), number("%.1f", test.freedom)) }
  end
  local margin = options.margin and ("the margin of equivalence is %g points"):format(options.margin)
    or "no margin is given, so that nothing can be called equivalent"
  return { name = "comparisons", title = ("Differences between the means of seeds, in points: %s"):format(
    wording.count(#rows, "pair")), about = "Welch's t test, two-sided, and two one-sided tests of equivalence, each "
    .. "p corrected by Holm's method over all pairs; " .. margin, corner = result.axis, subs = { "" }, columns =
    columns("difference", "verdict", "p", "p equivalence", "95% (Welch)", "95% (bootstrap)", "t", "df"), rows = rows,
    notes = {} }
end

-- A table as text for the screen: its first rows.
local function shown(model)
  local short = setmetatable({ rows = table.move(model.rows, 1, math.min(MOST_ROWS, #model.rows), 1, {}) },
    { __index = model })
  local more = #model.rows - #short.rows
  return table_text.render(short, WIDTH, MOST_NOTES) .. (more > 0 and ("  and %d more\n"):format(more) or "")
end

local function csv_number(value)
  return value and ("%.9g"):format(value) or ""
end

local function line(...)
  local fields = table.pack(...)
  for i = 1, fields.n do
    local field = fields[i]
    fields[i] = type(field) == "string" and tongues.csv(field) or math.type(field) == "integer" and tostring(field)
      or csv_number(field)
  end
  return table.concat(fields, ",")
end

local function seeds_csv(result, options)
  local lines = { "set,group,learning_rate,seed,step,accuracy,folder" }
  for _, set in ipairs(result.sets) do
    for _, group in ipairs(set.groups) do
      for i, run in ipairs(group.runs) do
        lines[#lines + 1] = line(set.name, group.name, group.rate, run.seed, run[options.split].step, group.scores[i],
          run.dir)
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function groups_csv(result)
  local lines = { "set,group,learning_rate,asked,seeds,mean,sd,error,low,high" }
  for _, set in ipairs(result.sets) do
    for _, group in ipairs(set.groups) do
      lines[#lines + 1] = line(set.name, group.name, group.rate, group.asked, #group.scores, group.mean, group.sd,
        group.error, group.low, group.high)
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function pairs_csv(result, options)
  local lines = { "set,a,b,seeds_a,seeds_b,difference,error,t,df,p,p_holm,low,high,bootstrap_low,bootstrap_high,margin,"
    .. "p_equivalence,p_equivalence_holm,verdict" }
  for _, pair in ipairs(result.pairs) do
    local test = pair.test
    lines[#lines + 1] = line(pair.set.name, pair.a.name, pair.b.name, #pair.a.scores, #pair.b.scores, test.difference,
      test.error, test.t, test.freedom, test.p, pair.p, test.low, test.high, pair.low, pair.high, options.margin,
      pair.p_equivalence, pair.equivalence, pair.verdict)
  end
  return table.concat(lines, "\n") .. "\n"
end

-- What was left out since its files are damaged, or nil.
local function damage_of(study)
  local _, damaged = open.problems(study)
  local lines = {}
  for i = 1, math.min(#damaged, MOST_DAMAGED) do
    lines[i] = "\n  " .. tongues.plain(damaged[i])
  end
  return #damaged > 0 and ("damaged and left out:%s%s"):format(table.concat(lines),
    #damaged > MOST_DAMAGED and ("\n  and %d more"):format(#damaged - MOST_DAMAGED) or "") or nil
end

function M.run(study, options)
  local result, message = comparisons.of(study, options)
  if not result then
    local damage = damage_of(study)
    return nil, damage and message .. "\n" .. damage or message
  end
  local groups, differences = groups_table(result, options), pairs_table(result, options)
  options.say(shown(groups))
  options.say(shown(differences))
  return {
    { path = "compare.csv", text = pairs_csv(result, options) },
    { path = "groups.csv", text = groups_csv(result) },
    { path = "seeds.csv", text = seeds_csv(result, options) },
    { path = "compare.tex", text = table_latex.render(groups) .. "\n" .. table_latex.render(differences) },
    { path = "compare.gnuplot", text = strips.script({ name = "compare", title = ("Every seed, by %s"):format(
      result.axis), xlabel = ("accuracy in percent, split %s; points: seeds; bars: means and 95%% of the bootstrap's")
      :format(options.split), sets = result.sets }) },
  }, nil, damage_of(study)
end

return M
