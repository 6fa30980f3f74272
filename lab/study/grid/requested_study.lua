-- Arguments of `sweep` and `bundle`: a study at a scale, some of its cells, or a grid from flags.
--
-- Input: the options of the verb, with project. Output: none; errors end the command. Sets options.study, scale, choice
-- and, for a grid from flags, given and set in the form that grid.expand takes. Reads files, writes none.

local choice = require("lab.study.grid.chosen_cells")
local from_flags = require("lab.study.grid.from_flags")
local lfs = require("lfs")
local must = require("lab.stop").must
local write = require("base.write")

local M = {}

local INPUT = 1

local function settle_words(options)
  local words = must(INPUT, choice.words(options.studies, function(path) return lfs.attributes(path, "mode") end))
  must(INPUT, not words.scale or not options.scale or words.scale == options.scale,
    ("%s: found two scales, %s and --scale %s\n  expected: one"):format(options.study, words.scale, options.scale))
  options.study, options.scale, options.choice.cells = words.study, words.scale or options.scale, words.cells
end

local function settle_flags(options)
  local study = must(INPUT, from_flags.study(options.project, { spec = options.study, axes = options.axes,
    seeds = options.seeds, rates = options.rates, set = options.set, out = options.out }))
  local there = write.read(study.path)
  must(INPUT, not there or there == study.text, ("%s: found a changed study; expected the study of these flags\n"
    .. "  hint: rename the file to sweep the changed study; remove it to continue with the flags"):format(study.path))
  options.study, options.given, options.set = study.path, { text = study.text, origin = study.origin }, study.set
end

function M.settle(options)
  local only = must(INPUT, choice.only(options.only))
  options.choice = { only = only[1] and only }
  if #options.axes > 0 then
    settle_flags(options)
  else
    settle_words(options)
  end
end

return M
