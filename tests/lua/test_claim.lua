-- Claims (generator/base/claim.lua). A claim is a folder that one process holds.
-- Here, killed processes leave claims, and several processes request the same claim.

local support = dofile("tests/lua/support.lua")

local claim = require("base.claim")
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local write = require("base.write")

local NOBODY = 999999999 -- above the kernel's largest process number

-- Returns the identity of this process with changes, and the folder of all claims. The fields of `changes`, host, pid,
-- boot and namespace, are parts of an identity (base/claim.lua).
local function change_identity(changes)
  local dir = support.write("claims/here", ""):match("^(.*)/")
  local probe = assert(claim.take(dir .. "/probe"))
  local host, pid, boot, namespace = probe.mark:match("([^/]+)%.(%d+)%-%d+%.(%x+)%.(%d+)$")
  claim.give_back(probe)
  return ("%s.%s-7.%s.%s"):format(changes.host or host, changes.pid or pid, changes.boot or boot,
    changes.namespace or namespace), dir
end

-- Writes a claim whose holder has this process's identity with the given changes; returns the claim's path and the
-- holder's identity.
local function make_held_claim(changes)
  local identity, dir = change_identity(changes)
  local path = dir .. "/held"
  write.remove_tree(path)
  support.write("claims/held/" .. identity, "")
  support.write("claims/held/src/step.c", "half")
  return path, identity
end

TestClaim = {}

function TestClaim.test_a_folder_is_claimed_by_one_process_at_a_time()
  local _, dir = change_identity({})
  local path, file_count = dir .. "/one", #write.list_names(dir)
  local first = assert(claim.take(path))
  lu.assertTrue(claim.is_held(first))
  lu.assertEquals(write.list_names(path), { first.mark:match("[^/]*$") })
  local second, holder, message = claim.take(path)
  lu.assertNil(second)
  lu.assertNil(message)
  lu.assertEquals(holder, first.mark:match("[^/]*$"))
  local pid = support.shell("echo $PPID"):gsub("%s", "")
  lu.assertStrContains(claim.describe_holder(holder), ", process " .. pid)
  claim.give_back(first)
  lu.assertNil(lfs.attributes(path))
  lu.assertFalse(claim.is_held(first))
  claim.give_back(assert(claim.take(path)))
  lu.assertEquals(#write.list_names(dir), file_count) -- no other file is left
end

function TestClaim.test_a_claim_of_an_ended_process_is_taken()
  local path = make_held_claim({ pid = NOBODY })
  local our_claim = assert(claim.take(path))
  lu.assertEquals(write.list_names(path), { our_claim.mark:match("[^/]*$") })
  claim.give_back(our_claim)
end

function TestClaim.test_a_claim_of_an_unknown_process_is_held()
  for _, changes in ipairs({ { host = "elsewhere" }, { boot = "0a1b2c3d" }, { namespace = 12345 } }) do
    changes.pid = NOBODY
    local path, identity = make_held_claim(changes)
    local our_claim, holder = claim.take(path)
    lu.assertNil(our_claim)
    lu.assertEquals(holder, identity)
    lu.assertEquals(lfs.attributes(path .. "/src/step.c", "size"), 4)
  end
end

function TestClaim.test_an_empty_folder_is_taken_and_one_with_a_foreign_owner_is_not()
  local _, dir = change_identity({})
  lfs.mkdir(dir .. "/empty") -- a folder without an owner
  claim.give_back(assert(claim.take(dir .. "/empty")))
  support.write("claims/strange/owner", "node 12\n") -- an owner file in a foreign format
  local our_claim, holder, message = claim.take(dir .. "/strange")
  lu.assertNil(our_claim or holder or message)
  lu.assertEquals(claim.describe_holder(holder), "an unknown process")
  lu.assertEquals(write.list_names(dir .. "/strange"), { "owner" })
  our_claim, holder, message = claim.take(dir .. "/nowhere/one")
  lu.assertNil(our_claim or holder)
  lu.assertStrContains(message, "No such file")
end

-- A process makes a folder CLAIM.IDENTITY, and renames it to CLAIM. If the process is killed in between, the folder is
-- left.
function TestClaim.test_leftover_files_of_ended_processes_are_removed()
  local dead_process, dir = change_identity({ pid = NOBODY })
  local alive = change_identity({ pid = 1 })
  support.write("claims/mine." .. dead_process .. "/" .. dead_process, "")
  support.write("claims/mine." .. alive .. "/" .. alive, "")
  support.write("claims/mine.txt", "")
  local our_claim = assert(claim.take(dir .. "/mine"))
  lu.assertNil(lfs.attributes(dir .. "/mine." .. dead_process))
  lu.assertNotNil(lfs.attributes(dir .. "/mine." .. alive))
  lu.assertNotNil(lfs.attributes(dir .. "/mine.txt"))
  lu.assertTrue(os.rename(our_claim.path, dir .. "/moved"))
  local next_one = assert(claim.take(dir .. "/mine"))
  claim.give_back(our_claim) -- the path now belongs to the claim of next_one
  lu.assertTrue(claim.is_held(next_one))
end

-- The functions that make the system calls of claims.
local HOOKED = { { os, "rename" }, { os, "remove" }, { lfs, "mkdir" }, { lfs, "rmdir" }, { lfs, "dir" },
  { lfs, "attributes" }, { lfs, "symlinkattributes" }, { io, "open" } }

-- Runs `outer`, and calls inner() before the system call `step` of `outer`. The first system call is 1.
-- Returns whether `outer` makes at least `step` system calls.
local function run_inside(step, outer, inner)
  local calls = 0
  support.replace_fields(lists.map(HOOKED, function(hook)
    local real = hook[1][hook[2]]
    return { hook[1], hook[2], function(...)
      calls = calls + 1
      if calls == step then
        inner()
      end
      return real(...)
    end }
  end), outer)
  return calls >= step
end

-- Repeats a race of two processes. Each time, the second process takes the claim before another system call of the
-- first process.
--   prepare()                                 returns the path of the claim and the argument for `first`
--   first(path, argument)                     does the work of the first process, and returns its claim or nil
--   check(path, first_claim, second_claim)    checks the claims that the two processes got
local function interrupt_at_every_step(prepare, first, check)
  local step, is_interrupted = 0, true
  while is_interrupted do
    step = step + 1
    local path, argument = prepare()
    local first_claim, second_claim
    is_interrupted = run_inside(step, function()
      first_claim = first(path, argument)
    end, function()
      second_claim = claim.take(path)
    end)
    if is_interrupted then
      check(path, first_claim, second_claim)
    end
    write.remove_tree(path)
  end
  lu.assertTrue(step > 4)
end

local function assert_one_claim(path, first_claim, second_claim)
  lu.assertTrue((first_claim ~= nil) ~= (second_claim ~= nil), "exactly one process takes the claim")
  local our_claim = first_claim or second_claim
  lu.assertTrue(claim.is_held(our_claim))
  lu.assertEquals(write.list_names(path), { our_claim.mark:match("[^/]*$") })
end

function TestClaim.test_one_of_two_processes_takes_a_new_claim()
  local _, dir = change_identity({})
  interrupt_at_every_step(function()
    return dir .. "/new"
  end, claim.take, assert_one_claim)
end

function TestClaim.test_one_of_two_processes_takes_the_claim_of_an_ended_one()
  interrupt_at_every_step(function()
    return (make_held_claim({ pid = NOBODY }))
  end, claim.take, assert_one_claim)
end

function TestClaim.test_a_claim_is_taken_while_another_process_gives_it_back()
  local _, dir = change_identity({})
  interrupt_at_every_step(function()
    return dir .. "/back", assert(claim.take(dir .. "/back"))
  end, function(_, argument)
    claim.give_back(argument)
  end, function(path, _, second_claim)
    if second_claim then
      lu.assertTrue(claim.is_held(second_claim))
    else
      lu.assertNil(lfs.attributes(path))
    end
  end)
end

-- The program of six processes:
--   1. Each process requests 40 claims that killed processes left. One process gets each claim.
--   2. Each process waits for the others, since the claims of a process that ends are free again.
--   3. Each process takes and gives back one shared claim. Two processes never hold this claim together.
local RACE = [[
  package.path = "generator/?.lua;" .. package.path
  local claim, lfs = require("base.claim"), require("lfs")
  local dir, me = arg[1], arg[2]
  for round = 1, 40 do
    if claim.take(("%s/%d"):format(dir, round)) then
      assert(io.open(("%s/won-%d-%s"):format(dir, round, me), "w")):close()
    end
  end
  io.open(dir .. "/ready-" .. me, "w"):close()
  local ready_count
  repeat
    os.execute("sleep 0.01")
    ready_count = 0
    for name in lfs.dir(dir) do
      ready_count = ready_count + (name:find("^ready") and 1 or 0)
    end
  until ready_count == 6
  for _ = 1, 40 do
    local shared_claim = claim.take(dir .. "/shared")
    if shared_claim then
      if not lfs.mkdir(dir .. "/inside") then
        io.open(dir .. "/two", "w"):close()
      end
      lfs.rmdir(dir .. "/inside")
      claim.give_back(shared_claim)
    end
  end
]]

function TestClaim.test_one_of_many_processes_takes_a_claim()
  local dead_process = change_identity({ pid = NOBODY })
  local program = support.write("race/program.lua", RACE)
  local dir = program:match("^(.*)/")
  for round = 1, 40 do
    support.write(("race/%d/%s"):format(round, dead_process), "")
  end
  local command = {}
  for n = 1, 6 do
    command[n] = ("%s %s %s %d &"):format(os.getenv("LUA") or "lua5.4", program, dir, n)
  end
  local output, succeeded = support.shell(table.concat(command, " ") .. " wait")
  lu.assertEquals(output, "")
  lu.assertTrue(succeeded)
  local won_rounds = {}
  for _, name in ipairs(write.list_names(dir)) do
    local round = name:match("^won%-(%d+)%-")
    won_rounds[#won_rounds + 1] = round and tonumber(round)
    lu.assertNil(name:match("^%d+%."), name)
  end
  table.sort(won_rounds)
  for round = 1, 40 do
    lu.assertEquals(won_rounds[round], round)
  end
  lu.assertEquals(#won_rounds, 40)
  lu.assertNil(lfs.attributes(dir .. "/two"))
  lu.assertNil(lfs.attributes(dir .. "/shared"))
end

support.run()
