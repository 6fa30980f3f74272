-- Texts that several verbs print: counts with their noun, articles, the layers of a model, durations; and lines that
-- are filled with words.
--
-- Input: numbers; a model's section of a resolved spec; words. Output: text.

local M = {}

-- The text of a count with its noun, such as "1 run" or "2 runs".
function M.count(count, noun)
  return ("%s %s%s"):format(count, noun, count == 1 and "" or "s")
end

-- The article "a", or "an" if the noun begins with a vowel.
function M.choose_article(noun)
  return noun:find("^[aeiouAEIOU]") and "an" or "a"
end

-- Fills words into lines of at most `columns` columns, separated by a space or by `separator`.
function M.fill_lines(words, columns, separator)
  local lines, line = {}, ""
  separator = separator or " "
  for _, word in ipairs(words) do
    if line ~= "" and #line + #separator + #word > columns then
      lines[#lines + 1], line = line, word
    else
      line = line == "" and word or line .. separator .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

-- The numbers of layers of a model's stacks, in words; nil if they are unknown.
function M.format_layers(model)
  if model.encoder_layers and model.decoder_layers then
    return ("%s and %s"):format(M.count(model.encoder_layers, "encoder layer"),
      M.count(model.decoder_layers, "decoder layer"))
  end
  return model.layers and M.count(model.layers, "layer")
end

-- A duration in words, such as "240 h", "1 h 05 min", "3 min 10 s", "12 s", "2.5 s", "under 0.1 s"; "?" if it is
-- negative, not a number, or 100,000 h (3.6e8 s) or more. From 100 h (360000 s) on, minutes are left out.
function M.format_duration(seconds)
  if not (seconds >= 0 and seconds < 3.6e8) then
    return "?"
  end
  local rounded = math.floor(seconds + 0.5)
  if rounded >= 360000 then
    return ("%d h"):format(rounded // 3600)
  elseif rounded >= 3600 then
    return ("%d h %02d min"):format(rounded // 3600, rounded % 3600 // 60)
  elseif rounded >= 60 then
    return ("%d min %02d s"):format(rounded // 60, rounded % 60)
  elseif seconds >= 10 or seconds == rounded then
    return ("%d s"):format(rounded)
  end
  return seconds < 0.1 and "under 0.1 s" or ("%.1f s"):format(seconds)
end

return M
