-- Reads files that other programs may have written, if they are regular files within a size limit.
--
-- Input: a path, or JSON. Output: text, or a decoded value; nil and the problem, { found, expected }; nil alone if no
-- file can be found at the path. A pipe, a device or a folder is never opened, so no function waits.

local json = require("dkjson")
local lfs = require("lfs")
local shell = require("base.shell")

local M = {}

M.NULL = json.null
M.OBJECT, M.LIST = {}, {} -- metatables of decoded objects and lists, so that {} and [] can be distinguished

-- Opens a regular file of at most `max_bytes` bytes: the file and its size.
function M.open(path, max_bytes)
  local attributes = lfs.attributes(path)
  if not attributes then
    return nil
  elseif attributes.mode ~= "file" then
    return nil, { found = "a " .. attributes.mode, expected = "a file" }
  elseif attributes.size > max_bytes then
    return nil, { found = ("%d bytes"):format(attributes.size), expected = ("at most %d"):format(max_bytes) }
  end
  local file, message = io.open(path, "rb")
  if not file then
    return nil, { found = message:gsub("^.*: ", ""), expected = "a file that can be read" }
  end
  return file, attributes.size
end

local BLOCK = 1 << 16 -- bytes
local GZIP_MAGIC = "\x1f\x8b" -- the first bytes of every gzip file
local PROBLEMS = { -- by the exit code of gzip; 127: the shell finds no such program
  [127] = { found = "a compressed file, and no program gzip on this machine",
    expected = "the package gzip, or an unpacked file" },
}
local DAMAGE_PROBLEM = { found = "a truncated or damaged gzip file", expected = "a complete file" }

-- The output of gzip in a pipe, as an object with the methods of M.open_lines.
local function read_pipe(pipe, max_bytes)
  -- text: unpacked text, whose characters from `position` on are unread; total: the number of unpacked bytes
  local text, position, total, problem = "", 1, 0, nil
  local function close()
    if pipe then
      local ok, ending, code = pipe:close()
      pipe = nil
      if not ok and not problem then
        problem = ending == "exit" and PROBLEMS[code] or DAMAGE_PROBLEM
      end
    end
    return problem == nil or nil, problem
  end
  -- Adds as many bytes as the unread text has, but at least a block, so that a long line takes linear time. Returns
  -- false at the end of the output or after a problem.
  local function read_more()
    local block = pipe and pipe:read(math.max(BLOCK, #text - position)) or ""
    text, position, total = text:sub(position) .. block, 1, total + #block
    problem = total > max_bytes
      and { found = "more unpacked bytes", expected = ("at most %d"):format(max_bytes) } or nil
    return problem == nil and block ~= ""
  end
  local function read_line()
    local line_end = text:find("\n", position, true)
    while not line_end and read_more() do
      line_end = text:find("\n", position, true)
    end
    local line
    if line_end then
      line = text:sub(position, line_end - 1)
    elseif close() then
      line = text:match("^.+$") -- the last line, if no line break ends it
    end
    position = (line_end or #text) + 1
    return line
  end
  return { lines = function() return read_line end, close = close }
end

-- Opens a file of lines, plain or compressed by gzip. Returns an object with the methods `lines` and `close` of files;
-- or the results of M.open if the file cannot be opened. If a compressed file is damaged, or is larger than `max_bytes`
-- when unpacked, then the lines end early and `close` returns nil and the problem.
function M.open_lines(path, max_bytes)
  local file, problem = M.open(path, max_bytes)
  if not file then
    return nil, problem
  elseif file:read(2) ~= GZIP_MAGIC then
    file:seek("set")
    return file
  end
  file:close()
  return read_pipe(shell.open({ "sh", "-c", 'exec gzip -dc <"$1" 2>/dev/null', "sh", path }), max_bytes)
end

function M.read(path, max_bytes)
  local file, problem = M.open(path, max_bytes)
  if not file then
    return nil, problem
  end
  local text = file:read(max_bytes)
  file:close()
  return text or ""
end

-- The last `bytes` of a file; the whole file if it is shorter.
function M.read_end(path, bytes)
  local file, size_or_problem = M.open(path, math.maxinteger)
  if not file then
    return nil, size_or_problem
  end
  file:seek("set", math.max(0, size_or_problem - bytes))
  local text = file:read(bytes)
  file:close()
  return text or ""
end

-- Decodes a whole text. Decoded tables have the metatables M.OBJECT and M.LIST; null becomes NULL.
function M.decode(text)
  local is_ok, value, end_position = pcall(json.decode, text, 1, M.NULL, M.OBJECT, M.LIST)
  if not is_ok then
    return nil, { found = "JSON too deep to be read", expected = "JSON" }
  elseif value == nil or text:find("%S", end_position) then
    return nil, { found = text:find("%S") and "no JSON" or "nothing", expected = "JSON" }
  end
  return value
end

return M
