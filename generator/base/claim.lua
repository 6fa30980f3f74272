-- Claims a folder for one process; the folder records which process holds it.
--
-- Input: a path. Output: a claim { path, mark }; or nil and the identity of the process that holds the folder (nil if
-- no identity can be read). mark: the path of an empty file in the folder, whose name is the identity of the claiming
-- process.
--
-- An identity is a text HOST.PID-N.BOOT.NAMESPACE:
--   HOST        the name of the machine
--   PID         the id of the process
--   N           counts the claims of the process
--   BOOT        changes when the machine starts again
--   NAMESPACE   the process's namespace of process ids; containers may share the other parts
-- A process has certainly ended if its host, boot and namespace are the current ones and no process with its id exists;
-- nothing is known about processes elsewhere. No step leaves a folder without a mark: a folder that already has its
-- mark gets the claimed name by one rename, which fails if another marked folder has this name. To take over the folder
-- of an ended process, a claim renames the mark in it; if several processes try this, only one succeeds.

local lfs = require("lfs")
local lists = require("base.lists")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local TRIES = 3 -- attempts to claim a folder: between two steps another process may give it back or take it over

local process, claim_count = nil, 0

-- The parts of this process's identity, without N.
local function identify_process()
  if not process then
    local host = shell.capture({ "uname", "-n" }):gsub("%s+$", ""):gsub("[^%w.-]", "_")
    process = { host = host, pid = write.get_process_id(),
      boot = (write.read("/proc/sys/kernel/random/boot_id") or ""):match("^%x+") or "0",
      namespace = (lfs.symlinkattributes("/proc/self/ns/pid", "target") or ""):match("%d+") or "0" }
  end
  return process
end

-- The parts of an identity, without N; nil if the text is not an identity.
local function parse(identity)
  local host, pid, boot, namespace = identity:match("^(.+)%.(%d+)%-%d+%.(%x+)%.(%d+)$")
  return host and { host = host, pid = pid, boot = boot, namespace = namespace }
end

-- Whether the process with an identity has certainly ended.
local function has_ended(identity)
  local holder, current = parse(identity), identify_process()
  return holder.host == current.host and holder.boot == current.boot and holder.namespace == current.namespace
    and holder.boot ~= "0" and lfs.attributes("/proc/" .. holder.pid, "mode") == nil
end

local function make_identity()
  local current = identify_process()
  claim_count = claim_count + 1
  return ("%s.%s-%d.%s.%s"):format(current.host, current.pid, claim_count, current.boot, current.namespace)
end

-- The process with an identity, as words for users.
function M.describe_holder(identity)
  local holder = identity and parse(identity)
  return holder and ("%s, process %s"):format(holder.host, holder.pid) or "an unknown process"
end

-- The identity of the process that holds a folder; nil if the folder has no mark.
local function find_holder(path)
  return lists.find(write.list_names(path), parse)
end

local function remove_files(folder, except)
  for _, name in ipairs(write.list_names(folder)) do
    if name ~= except then
      write.remove_tree(folder .. "/" .. name)
    end
  end
end

-- Removes folders of processes that were killed before they could rename the folder to the claimed path.
local function remove_abandoned_folders(path)
  local parent, folder = path:match("^(.*/)([^/]*)$")
  for _, name in ipairs(write.list_names(parent)) do
    local identity = name:sub(1, #folder + 1) == folder .. "." and name:sub(#folder + 2)
    if identity and parse(identity) and has_ended(identity) then
      write.remove_tree(parent .. name)
    end
  end
end

-- Creates a marked folder at a path, unless a marked folder exists there. Returns whether the folder was created, and a
-- message if no folder can be made. On a network file system, a rename may succeed but report a failure.
local function create_marked_folder(path, identity)
  local temporary_folder = path .. "." .. identity
  local is_marked, message = lfs.mkdir(temporary_folder)
  if is_marked then
    is_marked, message = write.file(temporary_folder .. "/" .. identity, "")
  end
  local is_renamed = is_marked and (os.rename(temporary_folder, path) or find_holder(path) == identity)
  if not is_renamed then
    write.remove_tree(temporary_folder)
  end
  return is_renamed, not is_marked and message or nil
end

-- Claims the folder `path`. The path must contain a slash, and the parent of the folder must exist. Files that an ended
-- process has left in the folder are removed. Returns a claim; or nil and the holder's identity (nil if it is unknown);
-- or nil, nil and a message if no folder can be made.
function M.take(path)
  local identity = make_identity()
  local claim = { path = path, mark = path .. "/" .. identity }
  remove_abandoned_folders(path)
  local holder
  for _ = 1, TRIES do
    local is_claimed, message = create_marked_folder(path, identity)
    if is_claimed then
      return claim
    elseif message then
      return nil, nil, message
    end
    holder = find_holder(path)
    if holder and has_ended(holder) and os.rename(path .. "/" .. holder, claim.mark) then
      remove_files(path, identity)
      return claim
    elseif holder and not has_ended(holder) then
      break
    end
  end
  return nil, holder
end

-- Whether the folder of a claim still exists and has the claim's mark.
function M.is_held(claim)
  return lfs.attributes(claim.mark, "mode") == "file"
end

-- Gives the folder back, together with its contents.
function M.give_back(claim)
  if M.is_held(claim) then
    remove_files(claim.path, claim.mark:match("[^/]*$"))
    os.remove(claim.mark)
    lfs.rmdir(claim.path)
  end
end

return M
