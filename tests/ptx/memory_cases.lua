-- Cases of check_instructions.lua for loads and stores: every space, type and number of elements, in registers as wide
-- as the element and in wider ones. The 16 bytes of a lane's input are stored byte by byte and loaded by the tested
-- form, or stored by the tested form and loaded byte by byte. In shared memory a lane loads the bytes of another lane.
-- The module is a function that adds, for each case, a kernel to text, a line of input for run.c to requests, and a
-- check of the answer to expected.

local files = require("files")
local instructions = require("instructions")

local LANES = 32
local WIDTHS = { -- by type of the element: bytes of registers
  s8 = { 2, 4 }, u8 = { 2, 4 }, u16 = { 2, 4 }, s32 = { 4, 8 }, u32 = { 4, 8 }, f32 = { 4 }, u64 = { 8 },
  f64 = { 8 }, b32 = { 4 }, b64 = { 8 } }
local REGISTER = { [2] = "%h", [4] = "%w", [8] = "%x" }
local STORED = { [2] = "u16", [4] = "u32", [8] = "u64" }

-- %rd1 and %rd2: addresses of the lane's input and output; %r2: offset of the lane's bytes in shared memory.
local HEAD = [[
.visible .entry NAME(
	.param .u64 NAME_param_0,
	.param .u64 NAME_param_1
)
{
	.local .align 16 .b8 	__local_depot0[16];
	.reg .b16 %h<8>;
	.reg .b32 %w<8>;
	.reg .b64 %x<8>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [NAME_param_0];
	ld.param.u64 %rd2, [NAME_param_1];
	mov.u32 %r1, %tid.x;
	mul.wide.s32 %rd3, %r1, 16;
	add.s64 %rd1, %rd1, %rd3;
	mul.wide.s32 %rd3, %r1, 32;
	add.s64 %rd2, %rd2, %rd3;
	shl.b32 %r2, %r1, 4;
]]

-- Addresses of a lane's 16 bytes in a space: the address of stores, that of loads (in shared memory the next lane's,
-- after a barrier), and the code that computes both.
local ADDRESSES = {
  shared = { "[%r2+32]", "[%r4+32]", "\tadd.s32 %r3, %r1, 1;\n\tand.b32 %r3, %r3, 31;\n\tshl.b32 %r4, %r3, 4;\n" },
  global = { "[%rd1+0]", "[%rd1+0]", "" },
  generic = { "[%rd1]", "[%rd1]", "" },
  ["local"] = { "[%rd5+0]", "[%rd5+0]", "\tmov.u64 %rd5, __local_depot0;\n" },
}

local function add_offset(address, offset)
  return (address:gsub("%+?(%d*)%]$", function(first) return ("+%d]"):format((tonumber(first) or 0) + offset) end))
end

local function is_global(space)
  return space == "global" or space == "generic"
end

-- Returns the registers of `count` elements, and their text as an operand.
local function list_registers(count, width)
  local registers = {}
  for i = 1, count do
    registers[i] = REGISTER[width] .. i
  end
  local list = table.concat(registers, ", ")
  return registers, count > 1 and "{" .. list .. "}" or list
end

-- The kernel that tests a load: stores bytes to the space one by one, loads them by the form, and stores its registers
-- to the output.
local function write_load_kernel(form, space, _, count, width)
  local addresses, lines = ADDRESSES[space], {}
  for i = 0, is_global(space) and -1 or 15 do
    lines[#lines + 1] = ("\tld.global.u8 %%h1, [%%rd1+%d];\n\tst.%s.u8 %s, %%h1;\n"):format(i, space,
      add_offset(addresses[1], i))
  end
  local registers, operand = list_registers(count, width)
  lines[#lines + 1] = space == "shared" and "\tbar.sync 0;\n" or nil
  lines[#lines + 1] = ("\t%s %s, %s;\n"):format(form, operand, addresses[2])
  for i = 1, count do
    lines[#lines + 1] = ("\tst.global.%s [%%rd2+%d], %s;\n"):format(STORED[width], (i - 1) * 8, registers[i])
  end
  return table.concat(lines)
end

-- The kernel that tests a store: stores registers of the input by the form, and copies the bytes one by one to the
-- output.
local function write_store_kernel(form, space, element, count, width)
  local addresses, lines = ADDRESSES[space], {}
  local registers, operand = list_registers(count, width)
  for i = 1, count do
    lines[i] = ("\tld.global.%s %s, [%%rd1+%d];\n"):format(STORED[width], registers[i], (i - 1) * width % 16)
  end
  lines[#lines + 1] = ("\t%s %s, %s;\n"):format(form, is_global(space) and "[%rd2]" or addresses[1], operand)
  lines[#lines + 1] = space == "shared" and "\tbar.sync 0;\n" or nil
  local bytes = count * instructions.ELEMENTS[element][2]
  for i = 0, is_global(space) and -1 or bytes - 1 do
    lines[#lines + 1] = ("\tld.%s.u8 %%h1, %s;\n\tst.global.u8 [%%rd2+%d], %%h1;\n"):format(space,
      add_offset(addresses[2], i), i)
  end
  return table.concat(lines)
end

local function make_input(lane)
  local bytes = {}
  for i = 0, 15 do
    bytes[i + 1] = string.char((lane * 37 + i * 101 + 128 + lane * i) % 256)
  end
  return table.concat(bytes)
end

-- The 32 bytes of a lane's output: after a load 8 bytes for each register, after a store the stored elements.
local function make_output(is_load, lane, space, element, count, width)
  local bytes, parts = make_input(space == "shared" and (lane + 1) % LANES or lane), {}
  local size = instructions.ELEMENTS[element][2]
  for i = 1, count do
    local from = (i - 1) * (is_load and size or width) % 16
    local piece = bytes:sub(from + 1, from + size)
    local fill = element:sub(1, 1) == "s" and piece:byte(-1) >= 128 and "\255" or "\0"
    parts[i] = is_load and piece .. fill:rep(width - size) .. ("\0"):rep(8 - width) or piece
  end
  local text = table.concat(parts)
  return text .. ("\0"):rep(32 - #text)
end

local function add_case(text, requests, expected, form, space, element, count, width)
  local is_load = form:match("^ld") ~= nil
  local name = ("%s_%d"):format(form:gsub("%.", "_"), width)
  local body = (is_load and write_load_kernel or write_store_kernel)(form, space, element, count, width)
  text[#text + 1] = HEAD:gsub("NAME", name) .. ADDRESSES[space][3] .. body .. "\tret;\n}\n"
  local inputs, outputs = {}, {}
  for lane = 0, LANES - 1 do
    inputs[lane + 1] = make_input(lane)
    outputs[lane + 1] = make_output(is_load, lane, space, element, count, width)
  end
  requests[#requests + 1] = ("%s 0 1 32 %d %d %s"):format(name, 1024, 32 * LANES,
    files.to_hexadecimal(table.concat(inputs)))
  local hexadecimal = files.to_hexadecimal(table.concat(outputs))
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
    local space_suffix = space == "generic" and "" or "." .. space
    for _, element in ipairs(elements) do
      for count = 1, 4 do
        for _, width in ipairs(WIDTHS[element]) do
          local suffix = space_suffix .. (count > 1 and ".v" .. count or "") .. "." .. element
          for _, form in ipairs({ "ld" .. suffix, "st" .. suffix }) do
            if instructions.parse_memory_form(form) and not (form:match("^st") and element:match("^s")) then
              add_case(text, requests, expected, form, space, element, count, width)
            end
          end
        end
      end
    end
  end
end
