-- Arguments of `sweep` and `bundle`: a study at a scale, some of its cells, or a grid from flags.
--
-- Input: the options of the verb, with project. Output: nil, or the errors as text. Sets options.study, scale, choice
-- and, for a grid from flags, given and set in the form that grid.expand takes. Reads files, writes none.

local choice = require("lab.study.grid.chosen_cells")
local from_flags = require("lab.study.grid.from_flags")
local lfs = require("lfs")
local write = require("base.write")

local M = {}

local function settle_words(options)
  local words, message = choice.words(options.studies, function(path) return lfs.attributes(path, "mode") end)
  if not words then
    return message
  elseif words.scale and options.scale and words.scale ~= options.scale then
    return ("%s: found two scales, %s and --scale %s\n  expected: one"):format(options.study, words.scale,
      options.scale)
  end
  options.study, options.scale, options.choice.cells = words.study, words.scale or options.scale, words.cells
end

local function settle_flags(options)
  local study, message = from_flags.study(options.project, { spec = options.study, axes = options.axes,
    seeds = options.seeds, rates = options.rates, set = options.set, out = options.out })
  local there = study and write.read(study.path)
  if not study then
    return message
  elseif there and there ~= study.text then
    return ("%s: found a changed study; expected the study of these flags\n  hint: rename the file to sweep the "
      .. "changed study; remove it to continue with the flags"):format(study.path)
  end
  options.study, options.given, options.set = study.path, { text = study.text, origin = study.origin }, study.set
end

function M.settle(options)
  local only, message = choice.only(options.only)
  if not only then
    return message
  end
  options.choice = { only = only[1] and only }
  if #options.axes > 0 then
    return settle_flags(options)
  end
  return settle_words(options)
end

return M
