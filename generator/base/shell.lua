-- Runs other programs: the compiler, make, gnuplot, a trainer.
--
-- Input: a list of words, which escape.lua quotes. Programs run without the limit of memory that the launcher sets for
-- Lua, without the pipe to the launcher, descriptor 3, and without the launcher's variable LONGHAND_LAST_WORD. This
-- module prints nothing.

local lists = require("base.lists")
local escape = require("base.escape")

local M = {}

local PREPARE = 'ulimit -S -v "$(ulimit -H -v)" 2>/dev/null; exec 3>&-; unset LONGHAND_LAST_WORD; exec '

function M.join(words)
  local quoted = lists.map(words, function(word) return escape.shell(tostring(word)) end)
  return table.concat(quoted, " ")
end

local function get_exit_code(ok, ending, code)
  return ok and 0 or ending == "signal" and 128 + code or code
end

-- Runs a command, which writes to our standard streams. options.output: a file for its standard output, and with
-- options.errors_too also for its errors. Returns the exit code, or 128 + n if signal n ended the command.
function M.run(words, options)
  local line = PREPARE .. M.join(words)
  if options and options.output then
    line = ("%s >%s"):format(line, escape.shell(options.output)) .. (options.errors_too and " 2>&1" or "")
  end
  return get_exit_code(os.execute(line))
end

-- Starts a command and returns a pipe with its output.
function M.open(words)
  return assert(io.popen(PREPARE .. M.join(words), "r"))
end

-- Runs a command and returns its output and the exit code.
function M.capture(words)
  local pipe = M.open(words)
  local text = pipe:read("a")
  return text, get_exit_code(pipe:close())
end

-- Runs a command and returns its output and errors, without blanks at the end, and its exit code.
function M.capture_all(words)
  local text, code = M.capture({ "sh", "-c", 'exec "$@" 2>&1', "sh", table.unpack(words) })
  return text:gsub("%s+$", ""), code
end

-- The words that run make in the repository, as if no other make had started it. ...: settings (NAME=VALUE) and goals.
function M.make_command(root, ...)
  return { "env", "-u", "MAKEFLAGS", "-u", "MFLAGS", "-u", "MAKELEVEL", "make", "-s", "--no-print-directory", "-C",
    root, ... }
end

-- Makes a new folder that no other process uses, for the caller to remove; or returns nil and a message.
function M.make_temporary_folder()
  local text, code = M.capture({ "mktemp", "-d" })
  local path = text:match("^(/[^\n]*)\n$")
  if code ~= 0 or not path then
    return nil, "cannot make a temporary folder: mktemp -d failed; is TMPDIR a folder?"
  end
  return path
end

return M
