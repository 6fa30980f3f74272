-- The defaults of flags in a compiled trainer: M.has checks whether a trainer has given defaults, and M.write makes a
-- copy of a trainer with other defaults.
--
-- Input: paths of trainers; settings, the defaults { text, reserved } of plan/deriving/defaults.lua, where reserved is
-- the number of bytes that the trainer reserves for the text. The first line of the text locates the text in the
-- trainer: this line must occur once, with the same number of reserved bytes, and only zeros may follow the text. A
-- copy is read back.

local defaults = require("plan.deriving.defaults")
local lfs = require("lfs")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

-- Finds the text in a program: its first byte, and the last byte that is reserved for it; nil if that is not certain.
local function find_text(program, reserved)
  local pattern = defaults.make_pattern(reserved)
  local first = program:find(pattern)
  local last = first and first + reserved - 1
  if not first or last > #program or program:find(pattern, first + 1)
    or not program:sub(first, last):find("^[^\0]+\0+$") then
    return nil
  end
  return first, last
end

-- The text of defaults, followed by zeros up to the reserved size.
local function fill_space(settings)
  return settings.text .. ("\0"):rep(settings.reserved - #settings.text)
end

-- Whether the program at a path contains these defaults.
function M.has(path, settings)
  return (write.read(path) or ""):find(fill_space(settings), 1, true) ~= nil
end

-- Writes bytes at an offset of an existing file; nil and a message on failure.
local function overwrite(path, offset, bytes)
  local file, message = io.open(path, "r+b")
  if not file then
    return nil, message
  end
  local ok, reason = file:seek("set", offset)
  if ok then
    ok, reason = file:write(bytes)
  end
  local is_closed, close_reason = file:close()
  if not ok or not is_closed then
    return nil, ("%s: %s"):format(path, reason or close_reason)
  end
  return true
end

-- Copies the trainer at old_path to new_path, with other defaults. Returns true on success; nil if the trainer has no
-- space of settings.reserved bytes for defaults, so that a new trainer must be compiled; false and a message after
-- another failure.
function M.write(old_path, new_path, settings)
  if lfs.attributes(old_path, "mode") ~= "file" then
    return nil
  end
  -- cp preserves the permission to execute. Only the copy is read, since another build may replace the old trainer.
  local output, code = shell.capture_all({ "cp", "--", old_path, new_path })
  if code ~= 0 then
    return false, output
  end
  local program = write.read(new_path) or ""
  local first, last = find_text(program, settings.reserved)
  if not first then
    os.remove(new_path)
    return nil
  end
  local block = fill_space(settings)
  local is_written, message = overwrite(new_path, first - 1, block)
  if is_written and write.read(new_path) ~= program:sub(1, first - 1) .. block .. program:sub(last + 1) then
    return false, new_path .. ": found other bytes than were written; expected a disk without errors"
  end
  return is_written or false, message
end

return M
