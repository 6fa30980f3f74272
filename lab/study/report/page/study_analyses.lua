-- Finds outputs of `analyze` next to a study's runs, for the page of a report.
--
-- Input: a folder of runs, and the study's name or nil. Output: M.name_folder names the folder of an analysis; M.find
-- returns a list of { what, text, png }, in a fixed order: the analysis, its text, and its picture, nil if there is
-- none. Invariants: reads only regular files of bounded size; ignores a file that is not a PNG.

local input = require("base.input")
local lists = require("base.lists")

local M = {}

local WHAT = { "compare", "power", "similarity", "tables", "human", "noise" }
local LONGEST, LARGEST = 1 << 20, 16 << 20 -- bytes of a text and of a picture
local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local PNG = "\137PNG\r\n\26\n"

function M.name_folder(what, name)
  return what .. (name and "-" .. name or "")
end

function M.find(runs, name)
  return lists.map(WHAT, function(what)
    local front = ("%s/%s/%s"):format(runs, M.name_folder(what, name), what)
    local text = input.read(front .. ".txt", LONGEST)
    local png = text and input.read(front .. ".png", LARGEST)
    return text and { what = what, text = text, png = png and png:sub(1, #PNG) == PNG and png or nil } or nil
  end)
end

function M.encode_base64(bytes)
  return (bytes:gsub("..?.?", function(three)
    local bits = three:byte() << 16 | (three:byte(2) or 0) << 8 | (three:byte(3) or 0)
    local digits = lists.map({ 18, 12, 6, 0 }, function(shift)
      return DIGITS:sub((bits >> shift & 63) + 1, (bits >> shift & 63) + 1)
    end)
    return table.concat(digits, "", 1, #three + 1) .. ("="):rep(3 - #three)
  end))
end

return M
