-- Comparisons over seeds: tests between the cells of a study, or of any runs (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of comparisons.lua with `say`. Output: the files compare.csv (a
-- pair per line), groups.csv, seeds.csv, compare.tex, compare.gnuplot; or nil and a message; and third, what is damaged
-- and was left out, or nil.

local comparisons = require("study.analyse.comparisons")
local sheets = require("study.analyse.sheets")
local strips = require("study.analyse.strips")
local table_latex = require("study.report.table_latex")
local wording = require("base.wording")

local M = {}

local columns, line, number, texts = sheets.columns, sheets.line, sheets.number, sheets.texts

local function p_text(p)
  return not p and sheets.MISSING or p < 0.0001 and "< 0.0001" or ("%.4f"):format(p)
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

function M.run(study, options)
  local result, message = comparisons.of(study, options)
  if not result then
    local damage = sheets.damage(study)
    return nil, damage and message .. "\n" .. damage or message
  end
  local groups, differences = groups_table(result, options), pairs_table(result, options)
  options.say(sheets.shown(groups))
  options.say(sheets.shown(differences))
  return {
    { path = "compare.csv", text = pairs_csv(result, options) },
    { path = "groups.csv", text = groups_csv(result) },
    { path = "seeds.csv", text = seeds_csv(result, options) },
    { path = "compare.tex", text = table_latex.render(groups) .. "\n" .. table_latex.render(differences) },
    { path = "compare.gnuplot", text = strips.script({ name = "compare", title = ("Every seed, by %s"):format(
      result.axis), xlabel = ("accuracy in percent, split %s; points: seeds; bars: means and 95%% of the bootstrap's")
      :format(options.split), sets = result.sets }) },
  }, nil, sheets.damage(study)
end

return M
