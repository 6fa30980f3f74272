-- Ends a command from any depth, with an exit code and a message.
--
-- M.exit and M.must raise an error { code, text }, the form in which main.lua expects the end of a command; M.catch
-- returns the code and the text. Other errors are mistakes of the program and pass through M.catch with their trace.

local M = {}

function M.exit(code, text)
  error({ code = code, text = text and text:gsub("\n$", "") }, 0)
end

-- Returns value, message, ...; if value is nil or false, ends the command with this exit code and message instead.
function M.must(code, value, message, ...)
  if not value then
    M.exit(code, message)
  end
  return value, message, ...
end

-- Calls work(...), which returns an exit code (nil: 0) and a message. Returns both, or the code and the text with which
-- M.exit or M.must ended the work.
function M.catch(work, ...)
  local ok, result, message = xpcall(work, function(err)
    return type(err) == "table" and err or { bug = debug.traceback(err) }
  end, ...)
  if ok then
    return result or 0, message
  elseif result.bug then
    error(result.bug, 0)
  end
  return result.code, result.text
end

return M
