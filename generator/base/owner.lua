-- Who has a folder for itself: a process of a machine, as the text "HOST PID" in a file of it.
--
-- Output: this process's text; of another one's whether that process is on this machine and gone. Of other machines'
-- processes nothing is known.

local lfs = require("lfs")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local host

local function this_host()
  host = host or shell.capture({ "uname", "-n" }):gsub("%s+$", "")
  return host
end

function M.text()
  return ("%s %s\n"):format(this_host(), (write.read("/proc/self/stat") or ""):match("^%d+") or "0")
end

-- Host and process of a text; nil where it is none.
function M.parse(text)
  return (text or ""):match("^(%S+) (%d+)")
end

function M.is_gone(text)
  local there, pid = M.parse(text)
  return there == this_host() and lfs.attributes("/proc/" .. pid, "mode") == nil
end

return M
