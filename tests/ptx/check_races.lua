-- Checks the kernels of races.ptx, whole and with one line removed:
--
--     lua5.4 tests/ptx/check_races.lua RUN FOLDER
--
-- RUN is the program of run.c. Prints "ok NAME", "not ok NAME: why".

local root = arg[0]:match("^(.*)/check_races%.lua$") or "."
package.path = ("%s/?.lua;%s"):format(root, package.path)
local files = require("files")

local run, folder = arg[1], arg[2]

-- Each case has the name of the kernel, and the number of blocks.
--     gives         the beginning of the output in every order of threads, as hexadecimal digits
--     fails         a text in the message with which the kernel fails in every order
--     remove_line   a line that is removed from the kernel, its number among equal lines, and its replacement, if any
local CASES = {
  { "neighbour", 1, gives = "0100000002000000" },
  { "neighbour", 1, remove_line = { "bar.sync 0;", 1 }, fails = "race: " },
  { "bytes", 1, gives = "00010203000102030001020300010203" },
  { "bytes", 1, remove_line = { "bar.sync 0;", 1 }, fails = "race: " },
  { "meet", 3, gives = "03000000" .. ("00"):rep(124) .. "0a0000000b0000000c000000" .. ("00"):rep(116) ..
    ("21000000"):rep(3) },
  { "meet", 3, remove_line = { "bar.sync 0;", 1 }, fails = "race: " },
  { "meet", 3, remove_line = { "bar.sync 0;", 2 }, fails = "race: " },
  { "meet", 3, remove_line = { "membar.gl;", 1 }, fails = "race: " },
  { "meet", 3, remove_line = { "membar.gl;", 2 }, fails = "race: " },
  { "meet", 3, remove_line = { "atom.add.u32 %r5, [%rd1], 1;", 1 }, fails = "deadlock: " },
  { "meet_acquire", 3, gives = "03000000" .. ("00"):rep(124) .. "0a0000000b0000000c000000" .. ("00"):rep(116) ..
    ("21000000"):rep(3) },
  { "meet_acquire", 3, remove_line = { "bar.sync 0;", 1 }, fails = "race: " },
  { "meet_acquire", 3, remove_line = { "bar.sync 0;", 2 }, fails = "race: " },
  { "meet_acquire", 3, remove_line = { "red.release", 1, "red.relaxed" }, fails = "race: " },
  { "meet_acquire", 3, remove_line = { "ld.acquire", 1, "ld.relaxed" }, fails = "race: " },
  { "meet_acquire", 3, remove_line = { "red.release.gpu.global.add.u32 [%rd1], 1;", 1 }, fails = "deadlock: " },
  -- Lane l has l * (l % 8 + 1), and adds the number of lane l ~ 16.
  { "diverge", 1, gives = "10000000240000003c000000" },
  -- Odd lane l: -1 as a signed byte extended to 16 bits, 16, 256 and l.
  { "calls", 1, gives = "000000001001010000000000120101000000000014010100" },
  { "together", 1, fails = "race: " },
  { "together", 3, fails = "race: " },
  { "partial", 1, fails = "threads wait for one another forever" },
  { "outside", 1, fails = "beyond the 256 bytes of shared memory" },
  { "askew", 1, fails = "an address that is no multiple of 4 bytes" },
}
local ORDERS = { 0, 1, 2, 3 }

-- Returns the text without a line of a kernel, or with a replacement of the line.
local function remove_line(text, kernel, line, number, instead)
  local first = assert(text:find("%.entry " .. kernel .. "%("))
  local position = first
  for _ = 1, number do
    position = assert(text:find(line, position + 1, true), line)
  end
  return text:sub(1, position - 1) .. (instead or "") .. text:sub(position + #line)
end

-- Returns a line of output for each order.
local function run_case(case, text)
  if case.remove_line then
    text = remove_line(text, case[1], table.unpack(case.remove_line))
  end
  files.write_program(folder .. "/races.program", "races.ptx", text)
  local requests = {}
  for i, order in ipairs(ORDERS) do
    requests[i] = ("%s %d %d 64 256 512 00\n"):format(case[1], order, case[2])
  end
  files.write(folder .. "/requests", table.concat(requests))
  local command = "LONGHAND_PTX_RACES=1 LONGHAND_PTX=%s/races.program %s <%s/requests"
  local pipe = assert(io.popen(command:format(folder, run, folder)))
  local answers = {}
  for line in pipe:lines() do
    answers[#answers + 1] = line
  end
  pipe:close()
  return answers
end

local text = files.read(root .. "/races.ptx")
for _, case in ipairs(CASES) do
  local name = ("machine: %s, %d blocks%s"):format(case[1], case[2],
    case.remove_line and (", without %s %d"):format(case.remove_line[1], case.remove_line[2]) or "")
  local problem
  local answers = run_case(case, text)
  for i, order in ipairs(ORDERS) do
    local answer = answers[i] or "no answer"
    local is_right
    if case.gives then
      is_right = answer:sub(1, #case.gives) == case.gives
    else
      is_right = answer:match("^failed: ") and answer:find(case.fails, 1, true)
    end
    if not is_right then
      problem = ("order %d: %s, expected %s"):format(order, answer:sub(1, 200), case.gives or case.fails)
    end
  end
  print(problem and ("not ok %s: %s"):format(name, problem) or "ok " .. name)
end
