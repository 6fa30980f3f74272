-- Text as C string literals, in lines of at most 100 characters, escapes counted.
--
-- Input: names or a text. Output: lists of lines for templates.

local tongues = require("tongues")

local M = {}

local COLUMNS = 100

-- Names, each in quotes, between commas.
function M.names(names)
  local lines, line = {}, ""
  for i, name in ipairs(names) do
    local piece = '"' .. tongues.c_string(name) .. '"' .. (i < #names and "," or "")
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
  local escaped, at = tongues.c_string(text), 1
  while at <= #escaped do
    local piece = escaped:match("^\\%d%d%d", at) or escaped:match("^\\.", at) or escaped:sub(at, at)
    if #line + #piece > COLUMNS then
      lines[#lines + 1] = line
      line = ""
    end
    line, at = line .. piece, at + #piece
  end
  lines[#lines + 1] = line
  return lines
end

return M
