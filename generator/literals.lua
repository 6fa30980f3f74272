-- Text as C string literals, in lines of at most 100 characters, escapes counted.
--
-- Input: names or a text. Output: lists of lines for templates.

local M = {}

local COLUMNS = 100

local function escaped(text)
  return (text:gsub('[\\"]', "\\%0"))
end

-- Names, each in quotes, between commas.
function M.names(names)
  local lines, line = {}, ""
  for i, name in ipairs(names) do
    local piece = '"' .. escaped(name) .. '"' .. (i < #names and "," or "")
    if line ~= "" and #line + 1 + #piece > COLUMNS then
      lines[#lines + 1] = line
      line = piece
    else
      line = line == "" and piece or line .. " " .. piece
    end
  end
  lines[#lines + 1] = line
  return lines
end

-- One text in pieces, without the quotes around each.
function M.text(text)
  local lines, line = {}, ""
  for character in text:gmatch(".") do
    local piece = escaped(character)
    if #line + #piece > COLUMNS then
      lines[#lines + 1] = line
      line = ""
    end
    line = line .. piece
  end
  lines[#lines + 1] = line
  return lines
end

return M
