-- Translates a module that parse.lua has read to a program for machine.cpp, as lines of text, which program.cpp reads.
-- A register is a row with an element for each of the 32 lanes of a warp; PLACE is the offset of a row in bytes.
--
--     registers BYTES                all rows of a warp
--     locals BYTES                   of a lane: the local memory of all functions, one after the other
--     data NAME ALIGN BYTES BYTE...  an array in global memory; bytes that are not listed are 0
--     constant PLACE BYTES HEX       a row whose elements have BYTES bytes each and the same value
--     special PLACE NAME             a row of %tid.x and the like
--     address PLACE NAME             a row of the address of an array
--     kernel NAME FIRST BYTES...     the number of its first instruction, and the size of each parameter
--     do LINE KIND GUARD OPERATION NUMBER...   an instruction; GUARD: 0 or a predicate's place + 1, negative if negated
--
-- A function calls only earlier functions and never itself, so the registers of a function have fixed places. The
-- parameters of a function that is not a kernel are rows, too.

local instructions = require("instructions")
local parse = require("parse")

local assemble = {}

-- Types whose loads and stores are those of an integer type of the same size.
local STORED_AS = { b32 = "u32", f32 = "u32", b64 = "u64", f64 = "u64" }
-- The type of the register for an element of one byte, since PTX has no registers of one byte.
local REGISTER_OF = { s8 = "b16", u8 = "b16" }
-- The enum of spaces in machine.h.
local SPACES = { generic = 0, global = 0, shared = 1, ["local"] = 2, param = 3 }
local SPECIALS = { ["%tid.x"] = true, ["%ctaid.x"] = true, ["%ntid.x"] = true, ["%nctaid.x"] = true }
local LANES = 32

local Program = {}
Program.__index = Program

-- Adds a row of elements with `bytes` bytes each, and returns its place.
function Program:add_row(bytes)
  local size = math.max(bytes * LANES, LANES)
  local place = self.registers
  self.registers = place + size
  return place
end

function Program:add_line(...)
  self.lines[#self.lines + 1] = table.concat({ ... }, " ")
end

-- Returns the bits of an immediate value of this type, or nil if the text is no such value.
local function parse_bits(text, type_name)
  local bytes = instructions.TYPES[type_name][2]
  local float, digits = text:match("^0([fd])(%x+)$")
  if float then
    local is_literal = float == "f" and bytes == 4 and #digits == 8 or float == "d" and bytes == 8 and #digits == 16
    return is_literal and tonumber(digits, 16) or nil
  end
  if not text:match("^%-?%d+$") and not text:match("^0x%x+$") or type_name:sub(1, 1) == "f" then
    return nil
  end
  local value = math.tointeger(tonumber(text))
  if type_name == "pred" then
    return (value == 0 or value == 1 or value == -1) and value & 1 or nil -- true is written as 1 and as -1
  end
  if not value or bytes < 8 and (value < -(1 << (8 * bytes - 1)) or value >= 1 << 8 * bytes) then
    return nil
  end
  return bytes < 8 and value & ((1 << 8 * bytes) - 1) or value
end

-- Returns the place of the row that all uses of `key` share. The first use adds it, and `declare` writes its line.
function Program:find_shared_row(key, bytes, declare)
  if not self.rows[key] then
    self.rows[key] = self:add_row(bytes)
    declare(self.rows[key])
  end
  return self.rows[key]
end

function Program:find_constant(bits, bytes)
  return self:find_shared_row(("%x/%d"):format(bits, bytes), bytes, function(place)
    self:add_line("constant", place, bytes, ("%x"):format(bits))
  end)
end

-- Returns place and element size of an operand that is read or written as a type. `may_be_wider`: its register may be
-- wider than the type.
function Program:find_operand(item, text, type_name, may_be_wider)
  local bytes = instructions.TYPES[type_name][2]
  local register = self.current.places[text]
  if register then
    if register.bytes ~= bytes and not (may_be_wider and register.bytes > bytes) then
      parse.fail(item, ("%s has another size than %s"):format(text, type_name))
    end
    return register.place, register.bytes
  end
  if SPECIALS[text] and bytes == 4 then
    return self:find_shared_row(text, 4, function(place) self:add_line("special", place, text:sub(2)) end), 4
  end
  if self.data[text] and bytes == 8 then
    return self:find_shared_row(text, 8, function(place) self:add_line("address", place, text) end), 8
  end
  if text == self.module.shared and bytes >= 4 then -- the only array in shared memory: its address is 0
    return self:find_constant(0, bytes), bytes
  end
  if self.current.local_array and text == self.current.local_array.name and bytes == 8 then
    return self:find_constant(self.current.local_array.offset, 8), 8
  end
  local bits = parse_bits(text, type_name)
  if not bits then
    parse.fail(item, ("unknown operand %s of type %s"):format(text, type_name))
  end
  return self:find_constant(bits, bytes), bytes
end

function Program:emit(item, kind, operation, numbers)
  local guard = 0
  if item.guard then
    guard = (self:find_operand(item, item.guard, "pred") + 1) * (item.is_negated and -1 or 1)
  end
  self.code[#self.code + 1] = { line = item.line, kind = kind, guard = guard, operation = operation, numbers = numbers,
    item = item }
end

-- Returns for "[base+offset]" the place of the base's row, the bytes of its elements, and the offset.
function Program:find_address(item, text, space)
  local base, offset = text:match("^%[([%w_%%$]+)%+?(%-?%d*)%]$")
  if not base then
    parse.fail(item, "unknown address")
  end
  offset = offset == "" and 0 or math.tointeger(tonumber(offset))
  if space == "shared" and base == self.module.shared then
    return self:find_constant(0, 4), 4, offset
  end
  if space == "local" and self.current.local_array and base == self.current.local_array.name then
    return self:find_constant(self.current.local_array.offset, 8), 8, offset
  end
  if self.data[base] or self.current.places[base] and self.current.places[base].bytes == 8 then
    return self:find_operand(item, base, "u64"), 8, offset
  end
  if space ~= "shared" then
    parse.fail(item, "an address that is not of 64 bits")
  end
  return self:find_operand(item, base, "u32"), 4, offset
end

-- Returns the same three numbers for "[name+offset]", a parameter of a kernel: a base of 0, and the offset in the
-- memory of all parameters.
function Program:find_kernel_parameter(item, text)
  local name, offset = text:match("^%[([%w_$]+)%+?(%d*)%]$")
  local place = name and self.current.kernel_places[name]
  if not place then
    parse.fail(item, "unknown parameter")
  end
  return self:find_constant(0, 8), 8, place + (tonumber(offset) or 0)
end

-- The enum of orderings in machine.h.
local ORDERINGS = { weak = 0, volatile = 1, relaxed = 1, acquire = 2, release = 2 }

-- Emits a load or a store, `form` from instructions.parse_memory_form. Element and width of the register select the
-- operation; its numbers are in the order of the enum of machine.h.
function Program:emit_memory(item, form)
  local operands, count, element = item.operands, form.count, form.element
  local list = ("x"):rep(count)
  local group = count > 1 and "{" .. list .. "}" or list
  if item.shape ~= (form.is_load and group .. "x" or "x" .. group) then
    parse.fail(item, "unknown operands")
  end
  local first = form.is_load and 1 or 2
  local address = operands[form.is_load and count + 1 or 1]
  local base, base_bytes, offset
  if form.space == "param" then
    base, base_bytes, offset = self:find_kernel_parameter(item, address)
  else
    base, base_bytes, offset = self:find_address(item, address, form.space)
  end
  local numbers = { SPACES[form.space], base, base_bytes, offset, ORDERINGS[form.ordering or "weak"], count }
  local width
  for i = first, first + count - 1 do
    local place, bytes = self:find_operand(item, operands[i], REGISTER_OF[element] or element, true)
    if width and width ~= bytes then
      parse.fail(item, "registers of different sizes")
    end
    width = bytes
    numbers[#numbers + 1] = place
  end
  local operation = ("%s_%s_%d"):format(form.is_load and "load" or "store", STORED_AS[element] or element, width)
  self:emit(item, form.kind, operation, numbers)
end

-- Emits the store of an argument of a call, or the load of a parameter in a function. Parameters of functions are rows
-- of 8 bytes: a call moves its arguments there, and the function loads them from there.
function Program:emit_parameter(item)
  local name, offset = item.operands[item.form:match("^ld") and 2 or 1]:match("^%[([%w_$]+)%+?(%d*)%]$")
  local element = item.form:match("%.(%w+)$")
  if not name or (offset ~= "" and offset ~= "0") or item.shape ~= "xx" then
    parse.fail(item, "unknown parameter")
  end
  if item.form:match("^ld") then
    local from = self.current.parameter_places[name] or parse.fail(item, "unknown parameter")
    local place, bytes = self:find_operand(item, item.operands[1], REGISTER_OF[element] or element, true)
    self:emit(item, "parameter", ("read_%s_%d"):format(STORED_AS[element] or element, bytes), { from, place })
  else
    local argument = self.current.arguments[name]
    if not argument or not instructions.TYPES[element] or argument.type ~= element then
      parse.fail(item, "unknown parameter")
    end
    local place, bytes = self:find_operand(item, item.operands[2], element)
    self:emit(item, "parameter", "pass_" .. bytes, { argument, place })
  end
end

-- Emits a call. Its arguments get the places of the function's parameters.
function Program:emit_call(item)
  local callee = self.by_name[item.callee]
  if not callee or not callee.first or callee == self.current or #callee.parameters ~= #item.operands then
    parse.fail(item, "unknown call") -- also a call of a function that comes later in the text
  end
  for i, name in ipairs(item.operands) do
    local argument = self.current.arguments[name]
    if not argument or argument.place or argument.type ~= callee.parameters[i].type then
      parse.fail(item, "unknown argument")
    end
    argument.place = callee.parameter_places[callee.parameters[i].name]
  end
  self:emit(item, "branch", "call", { callee })
end

-- Functions that emit the instructions that change the flow, wait, order memory or add in memory.
local CONTROL = {}
CONTROL["bra"] = function(program, item) program:emit(item, "branch", "bra", { item.operands[1] }) end
CONTROL["bra.uni"] = CONTROL["bra"]
CONTROL["ret"] = function(program, item) program:emit(item, "branch", "ret", {}) end
CONTROL["call.uni"] = function(program, item) program:emit_call(item) end
CONTROL["nanosleep.u32"] = function(program, item) program:emit(item, "sleep", "sleep", {}) end
CONTROL["membar.gl"] = function(program, item) program:emit(item, "fence", "fence", {}) end
CONTROL["bar.sync"] = function(program, item)
  if item.operands[1] ~= "0" or #item.operands > 1 or item.guard then
    parse.fail(item, "unknown barrier")
  end
  program:emit(item, "barrier", "barrier", {})
end
CONTROL["atom.add.u32"] = function(program, item)
  local base, bytes, offset = program:find_address(item, item.operands[2], "generic")
  local old_value = program:find_operand(item, item.operands[1], "u32")
  local added = program:find_operand(item, item.operands[3], "u32")
  program:emit(item, "atomic", "atomic_add_u32", { SPACES.global, base, bytes, offset, ORDERINGS.relaxed, 1, old_value,
    added })
end
for _, ordering in ipairs({ "relaxed", "release" }) do
  CONTROL[("red.%s.gpu.global.add.u32"):format(ordering)] = function(program, item)
    local base, bytes, offset = program:find_address(item, item.operands[1], "global")
    local added = program:find_operand(item, item.operands[2], "u32")
    program:emit(item, "atomic", "reduce_add_u32", { SPACES.global, base, bytes, offset, ORDERINGS[ordering], 1,
      added })
  end
end

-- Returns the place of an operand of an instruction. The source of a conversion may be a register that is wider than
-- its type; then its low bits are copied first.
function Program:find_or_narrow(item, text, type_name)
  local register = self.current.places[text]
  if register and register.bytes == 8 and instructions.TYPES[type_name][2] == 4 and item.form:match("^cvt%.") then
    local place = self:add_row(4)
    self:emit(item, "convert", "cvt_u32_u64", { place, register.place })
    return place
  end
  return (self:find_operand(item, text, type_name))
end

function Program:emit_instruction(item)
  if CONTROL[item.form] then
    return CONTROL[item.form](self, item)
  end
  local memory_form = instructions.parse_memory_form(item.form)
  local loads_parameter_of_function = item.form:match("^ld%.param%.") and not self.current.is_kernel
  if loads_parameter_of_function or item.form:match("^st%.param%.") then
    return self:emit_parameter(item)
  elseif memory_form then
    return self:emit_memory(item, memory_form)
  end
  local variants = instructions.by_form[item.form]
  local entry = variants and variants[item.shape]
  if not entry then
    parse.fail(item, "unknown instruction")
  end
  local numbers = {}
  for i, type_name in ipairs(entry.types) do
    numbers[i] = self:find_or_narrow(item, item.operands[i], type_name)
  end
  self:emit(item, entry.kind, entry.name, numbers)
end

-- Sets the places of a function's registers and parameters, before any code.
function Program:lay_out(current)
  current.places, current.parameter_places, current.kernel_places = {}, {}, {}
  for _, group in ipairs(current.registers) do
    local bytes = assert(instructions.TYPES[group.type], group.type)[2]
    if group.name then
      current.places["%" .. group.name] = { place = self:add_row(bytes), bytes = bytes }
    end
    for i = 1, (group.count or 1) - 1 do
      current.places["%" .. group.prefix .. i] = { place = self:add_row(bytes), bytes = bytes }
    end
  end
  local place = 0
  for _, parameter in ipairs(current.parameters) do
    local bytes = parameter.bytes or instructions.TYPES[parameter.type][2]
    if current.is_kernel then
      current.kernel_places[parameter.name] = place
      place = place + (bytes + 15) // 16 * 16
    else
      current.parameter_places[parameter.name] = self:add_row(8)
    end
  end
  if current.local_array then
    current.local_array.offset = (self.locals + 15) // 16 * 16
    self.locals = current.local_array.offset + current.local_array.bytes
  end
end

function Program:emit_body(current)
  self.current, current.arguments, current.labels = current, {}, {}
  current.first = #self.code
  for _, item in ipairs(current.body) do
    if item.label then
      current.labels[item.label] = #self.code
    elseif item.argument then
      current.arguments[item.argument] = { type = item.type }
    else
      self:emit_instruction(item)
    end
  end
end

-- Sets the targets of a function's branches and calls, and the places of its arguments, which are known now. `last`:
-- the number of the function's last instruction.
function Program:resolve_targets(current, last)
  for index = current.first + 1, last do
    local step = self.code[index]
    local target = step.numbers[1]
    if step.operation == "bra" then
      step.numbers[1] = current.labels[target] or parse.fail(step.item, "a label that is not there")
    elseif step.operation == "call" then
      step.numbers[1] = target.first
    elseif type(target) == "table" then
      step.numbers[1] = target.place or parse.fail(step.item, "an argument of no call")
    end
  end
end

function assemble.program(module)
  local program = setmetatable({ module = module, registers = 0, locals = 0, lines = {}, code = {}, rows = {},
    data = {}, by_name = {} }, Program)
  for _, data in ipairs(module.data) do
    program.data[data.name] = true
    program:add_line("data", data.name, data.align, data.bytes, table.concat(data.values, " "))
  end
  for _, current in ipairs(module.functions) do
    program.by_name[current.name] = current
    program:lay_out(current)
  end
  for _, current in ipairs(module.functions) do
    program:emit_body(current)
    program:resolve_targets(current, #program.code)
  end
  for _, current in ipairs(module.functions) do
    if current.is_kernel then
      local bytes = {}
      for i, parameter in ipairs(current.parameters) do
        bytes[i] = parameter.bytes or instructions.TYPES[parameter.type][2]
      end
      program:add_line("kernel", current.name, current.first, table.concat(bytes, " "))
    end
  end
  program:add_line("registers", program.registers)
  program:add_line("locals", program.locals)
  for _, step in ipairs(program.code) do
    program:add_line("do", step.line, step.kind, step.guard, step.operation, table.concat(step.numbers, " "))
  end
  return table.concat(program.lines, "\n") .. "\n"
end

return assemble
