-- Cases of check_instructions.lua for loads and stores: every space, type and number of elements, in registers as wide
-- as the element and in wider ones. The 16 bytes of a lane's input are stored byte by byte and loaded by the tested
-- form, or stored by the tested form and loaded byte by byte. In shared memory a lane loads the bytes of another lane.

local instructions = require("instructions")

local LANES = 32
local WIDTHS = { s8 = { 2, 4 }, u8 = { 2, 4 }, u16 = { 2, 4 }, s32 = { 4, 8 }, u32 = { 4, 8 }, f32 = { 4 }, u64 = { 8 },
  f64 = { 8 }, b32 = { 4 }, b64 = { 8 } }
local REGISTER = { [2] = "%h", [4] = "%w", [8] = "%x" }
local STORED = { [2] = "u16", [4] = "u32", [8] = "u64" }

local HEAD = [[
.visible .entry %s(
	.param .u64 %s_param_0,
	.param .u64 %s_param_1
)
{
	.local .align 16 .b8 	__local_depot0[16];
	.reg .b16 %%h<8>;
	.reg .b32 %%w<8>;
	.reg .b64 %%x<8>;
	.reg .b32 %%r<8>;
	.reg .b64 %%rd<8>;
	ld.param.u64 %%rd1, [%s_param_0];
	ld.param.u64 %%rd2, [%s_param_1];
	mov.u32 %%r1, %%tid.x;
	mul.wide.s32 %%rd3, %%r1, 16;
	add.s64 %%rd1, %%rd1, %%rd3;
	mul.wide.s32 %%rd3, %%r1, 32;
	add.s64 %%rd2, %%rd2, %%rd3;
	shl.b32 %%r2, %%r1, 4;
]]

-- Addresses of a lane's memory in a space: the address of stores, that of loads (in shared memory the next lane's,
-- after a barrier), and the code that computes both.
local ROOM = {
  shared = { "[%r2+32]", "[%r4+32]", "\tadd.s32 %r3, %r1, 1;\n\tand.b32 %r3, %r3, 31;\n\tshl.b32 %r4, %r3, 4;\n" },
  global = { "[%rd1+0]", "[%rd1+0]", "" },
  generic = { "[%rd1]", "[%rd1]", "" },
  ["local"] = { "[%rd5+0]", "[%rd5+0]", "\tmov.u64 %rd5, __local_depot0;\n" },
}

local function address(room, offset)
  return (room:gsub("%+?(%d*)%]$", function(first) return ("+%d]"):format((tonumber(first) or 0) + offset) end))
end

local function named(space)
  return space == "generic" and "" or "." .. space
end

-- Tests a load: stores bytes to the space one by one, loads them by the form, and stores its registers to the output.
local function load_kernel(name, form, space, count, width)
  local room, lines = ROOM[space], { (HEAD:format(name, name, name, name, name)), ROOM[space][3] }
  for i = 0, space ~= "global" and space ~= "generic" and 15 or -1 do
    lines[#lines + 1] = ("\tld.global.u8 %%h1, [%%rd1+%d];\n\tst.%s.u8 %s, %%h1;\n"):format(i, space,
      address(room[1], i))
  end
  if space == "shared" then
    lines[#lines + 1] = "\tbar.sync 0;\n"
  end
  local registers = {}
  for i = 1, count do
    registers[i] = REGISTER[width] .. i
  end
  local list = table.concat(registers, ", ")
  lines[#lines + 1] = ("\t%s %s, %s;\n"):format(form, count > 1 and "{" .. list .. "}" or list, room[2])
  for i = 1, count do
    lines[#lines + 1] = ("\tst.global.%s [%%rd2+%d], %s;\n"):format(STORED[width], (i - 1) * 8, registers[i])
  end
  return table.concat(lines) .. "\tret;\n}\n"
end

-- Tests a store: stores registers of the input by the form, and copies the bytes one by one to the output.
local function store_kernel(name, form, space, count, width)
  local room, lines = ROOM[space], { (HEAD:format(name, name, name, name, name)), ROOM[space][3] }
  local registers = {}
  for i = 1, count do
    registers[i] = REGISTER[width] .. i
    lines[#lines + 1] = ("\tld.global.%s %s, [%%rd1+%d];\n"):format(STORED[width], registers[i],
      (i - 1) * width % 16)
  end
  local to_output = space == "global" or space == "generic"
  local list = table.concat(registers, ", ")
  lines[#lines + 1] = ("\t%s %s, %s;\n"):format(form, to_output and "[%rd2]" or room[1],
    count > 1 and "{" .. list .. "}" or list)
  if space == "shared" then
    lines[#lines + 1] = "\tbar.sync 0;\n"
  end
  local bytes = count * instructions.ELEMENTS[form:match("%w+$")][2]
  for i = 0, to_output and -1 or bytes - 1 do
    lines[#lines + 1] = ("\tld.%s.u8 %%h1, %s;\n\tst.global.u8 [%%rd2+%d], %%h1;\n"):format(space, address(room[2], i),
      i)
  end
  return table.concat(lines) .. "\tret;\n}\n"
end

local function make_input(lane)
  local bytes = {}
  for i = 0, 15 do
    bytes[i + 1] = string.char((lane * 37 + i * 101 + 128 + lane * i) % 256)
  end
  return table.concat(bytes)
end

local function expected_load(lane, space, element, count, width)
  local bytes, parts = make_input(space == "shared" and (lane + 1) % LANES or lane), {}
  local size = instructions.ELEMENTS[element][2]
  for i = 1, count do
    local piece = bytes:sub((i - 1) * size + 1, i * size)
    local fill = element:sub(1, 1) == "s" and piece:byte(-1) >= 128 and "\255" or "\0"
    parts[i] = piece .. fill:rep(width - size) .. ("\0"):rep(8 - width)
  end
  local all = table.concat(parts)
  return all .. ("\0"):rep(32 - #all)
end

local function expected_store(lane, space, element, count, width)
  local bytes, parts = make_input(space == "shared" and (lane + 1) % LANES or lane), {}
  for i = 1, count do
    local from = (i - 1) * width % 16
    parts[i] = bytes:sub(from + 1, from + instructions.ELEMENTS[element][2])
  end
  local all = table.concat(parts)
  return all .. ("\0"):rep(32 - #all)
end

local function to_hexadecimal(bytes)
  return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

local function add_case(text, requests, expected, form, space, element, count, width)
  local is_load = form:match("^ld") ~= nil
  local name = ("%s_%d"):format(form:gsub("%.", "_"), width)
  text[#text + 1] = (is_load and load_kernel or store_kernel)(name, form, space, count, width)
  local inputs, expected_bytes = {}, {}
  for lane = 0, LANES - 1 do
    inputs[#inputs + 1] = make_input(lane)
    expected_bytes[#expected_bytes + 1] = (is_load and expected_load or expected_store)(lane, space, element, count,
      width)
  end
  requests[#requests + 1] = ("%s 0 1 32 %d %d %s"):format(name, 1024, 32 * LANES, to_hexadecimal(table.concat(inputs)))
  local hexadecimal = to_hexadecimal(table.concat(expected_bytes))
  expected[#expected + 1] = { case = { form = form .. " " .. 8 * width }, check = function(answer)
    return answer ~= hexadecimal and ("%s, expected %s"):format(answer, hexadecimal) or nil
  end }
end

return function(text, requests, expected)
  local elements = {}
  for element in pairs(WIDTHS) do
    elements[#elements + 1] = element
  end
  table.sort(elements)
  for _, space in ipairs({ "generic", "global", "local", "shared" }) do
    for _, element in ipairs(elements) do
      for count = 1, 4 do
        for _, width in ipairs(WIDTHS[element]) do
          local vector = count > 1 and ".v" .. count or ""
          for _, form in ipairs({ "ld" .. named(space) .. vector .. "." .. element,
            "st" .. named(space) .. vector .. "." .. element }) do
            if instructions.memory(form) and not (form:match("^st") and element:match("^s")) then
              add_case(text, requests, expected, form, space, element, count, width)
            end
          end
        end
      end
    end
  end
end
