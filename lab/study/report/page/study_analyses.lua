-- Finds outputs of `analyze` next to a study's runs, for the page of a report.
--
-- Input: a folder of runs, and the study's name or nil. Output: M.name_folder names the folder of an analysis; M.find
-- returns a list of { name, text, png } in the order of NAMES: the name of an analysis, its text, and its picture or
-- nil. Invariants: reads only regular files of bounded size; ignores a picture that is not a PNG.

local input = require("base.input")
local lists = require("base.lists")

local M = {}

local NAMES = { "compare", "power", "similarity", "tables", "human", "noise" }
local MAX_TEXT, MAX_PICTURE = 1 << 20, 16 << 20 -- bytes
local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local PNG = "\137PNG\r\n\26\n"

function M.name_folder(analysis, study_name)
  return analysis .. (study_name and "-" .. study_name or "")
end

function M.find(runs, study_name)
  return lists.map(NAMES, function(name)
    local front = ("%s/%s/%s"):format(runs, M.name_folder(name, study_name), name)
    local text = input.read(front .. ".txt", MAX_TEXT)
    local png = text and input.read(front .. ".png", MAX_PICTURE)
    return text and { name = name, text = text, png = png and png:sub(1, #PNG) == PNG and png or nil } or nil
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
