-- Checks every instruction of instructions.lua against formulas.lua:
--
--     lua5.4 tests/ptx/check_instructions.lua RUN FOLDER
--
-- Each instruction becomes a kernel of FOLDER/instructions.ptx: every lane loads its operands, executes the
-- instruction, and stores the result. Unless the whole warp executes the instruction together, odd lanes then execute
-- it once more, guarded by a predicate, and store this result, too. RUN is the program of run.c. Prints "ok NAME", "not
-- ok NAME: why".

local root = arg[0]:match("^(.*)/check_instructions%.lua$") or "."
package.path = ("%s/?.lua;%s"):format(root, package.path)

local files = require("files")
local formulas = require("formulas")
local instructions = require("instructions")
local add_memory_cases = require("memory_cases")

local run, folder = arg[1], arg[2]
local LANES, SLOT = 32, 8

-- Formats of string.pack by type, and the type that loads and stores a register of so many bytes.
local PACK = { pred = "<I4", b16 = "<I2", u16 = "<I2", s16 = "<i2", b32 = "<I4", u32 = "<I4", s32 = "<i4", f32 = "<f",
  b64 = "<i8", u64 = "<i8", s64 = "<i8", f64 = "<d" }
local MOVED_AS = { "u16", "u16", [4] = "u32", [8] = "u64" }

-- Values to test, by type.
local INTEGERS = { 0, 1, -1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 255, 256, -2, -3, -7, -100, 32767,
  -32768, 65535, 12345678, -12345678, 0x7fffffff, -0x80000000, 0x55555555, 0x123456789abcdef, math.maxinteger,
  math.mininteger, 0x0f0f0f0f0f0f0f0f }
local FLOATS = { 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 1 / 3, -1 / 3, 1e-3, 1e3, 65504.0, 2.0 ^ 31, -2.0 ^ 31,
  2.0 ^ 31 - 1, 2.0 ^ 63, -2.0 ^ 63, 1e30, -1e30, 1e-30, 1 / 0, -1 / 0, 0 / 0, 1 + 2.0 ^ -7, 1 + 2.0 ^ -8,
  1 + 3 * 2.0 ^ -8, 1 + 2.0 ^ -11, 1 + 2.0 ^ -10, -1 - 2.0 ^ -11, 1 + 2.0 ^ -23, 1 - 2.0 ^ -24, 3.14159265, 0.1, -0.7 }

local function pick_value(type_name, number)
  local is_float = type_name:sub(1, 1) == "f"
  local pool = is_float and FLOATS or INTEGERS
  local value = pool[number % #pool + 1]
  if type_name == "f32" then
    value = string.unpack("<f", string.pack("<f", value))
  end
  return is_float and value or formulas.wrap(value, type_name)
end

-- Picks the operand `index` of a lane, so that different operands run through the values in different orders.
local function pick_operand(type_name, index, lane, round)
  return pick_value(type_name, (lane + 32 * round) * ({ 1, 5, 11, 17, 23 })[index] + index * 7 + (lane // 7) * index)
end

local function count_bytes(type_name)
  return instructions.TYPES[type_name][2]
end

-- Prefixes of the operands' registers: that of predicates, and the others by bytes. The kernel itself uses %r and %rd.
local REGISTER = { pred = "%p", [2] = "%h", [4] = "%w", [8] = "%x" }

local function get_register(type_name, number)
  return (REGISTER[type_name] or REGISTER[count_bytes(type_name)]) .. number
end

local function write_load(type_name, number, from)
  if type_name == "pred" then
    return ("ld.global.u32 %%r5, [%s];\n\tsetp.ne.s32 %%p%d, %%r5, 0;"):format(from, number)
  end
  return ("ld.global.%s %s, [%s];"):format(MOVED_AS[count_bytes(type_name)], get_register(type_name, number), from)
end

local function write_store(type_name, number, to)
  if type_name == "pred" then
    return ("selp.u32 %%r5, 1, 0, %%p%d;\n\tst.global.u32 [%s], %%r5;"):format(number, to)
  end
  return ("st.global.%s [%s], %s;"):format(MOVED_AS[count_bytes(type_name)], to, get_register(type_name, number))
end

-- The number of results of an entry; the results are its first operands. All other entries have one result.
local RESULTS = { ["shfl.sync.bfly.b32"] = 2, ["shfl.sync.idx.b32"] = 2, ["mov.b64 {xx}x"] = 2 }
local function count_results(entry, shape)
  return RESULTS[entry.form] or RESULTS[entry.form .. " " .. shape] or entry.form:match("^mma") and 4 or 1
end

-- Writes operands: a shape such as "{xx}x" with a name in place of each x.
local function write_operands(shape, names)
  local index = 0
  local text = shape:gsub("[{x|]", function(mark)
    if mark ~= "x" then
      return nil
    end
    index = index + 1
    return names[index] .. ","
  end)
  return (text:gsub(",([}|])", "%1"):gsub(",$", ""):gsub("}([^,])", "},%1"):gsub("}$", "}"))
end

local HEAD = [[
.version 9.0
.target sm_80
.address_size 64

.extern .shared .align 16 .b8 memory[];
]]

-- Writes the kernel of a case. Its input has for each lane all operands, SLOT bytes each; its output has for each lane
-- the results of both executions, the second ones 0 in lanes that executed the instruction once.
local function write_kernel(case)
  local entry, lines = case.entry, {}
  local function line(text, ...)
    lines[#lines + 1] = "\t" .. text:format(...)
  end
  lines[1] = (".visible .entry NAME(\n\t.param .u64 NAME_param_0,\n\t.param .u64 NAME_param_1\n)\n{"):gsub("NAME",
    case.name)
  line(".reg .pred %%p<64>;\n\t.reg .b16 %%h<64>;\n\t.reg .b32 %%w<64>;\n\t.reg .b64 %%x<64>;")
  line(".reg .b32 %%r<8>;\n\t.reg .b64 %%rd<8>;")
  line("ld.param.u64 %%rd1, [%s_param_0];\n\tld.param.u64 %%rd2, [%s_param_1];", case.name, case.name)
  line("mov.u32 %%r1, %%tid.x;")
  line("mul.wide.s32 %%rd3, %%r1, %d;\n\tadd.s64 %%rd3, %%rd1, %%rd3;", #entry.types * SLOT)
  line("mul.wide.s32 %%rd4, %%r1, %d;\n\tadd.s64 %%rd4, %%rd2, %%rd4;", 2 * case.result_count * SLOT)
  line("and.b32 %%r2, %%r1, 1;\n\tsetp.ne.s32 %%p63, %%r2, 0;")
  local names, odd_names = {}, {}
  for i, type_name in ipairs(entry.types) do
    if i > case.result_count then
      line("%s", write_load(type_name, i, ("%%rd3+%d"):format((i - 1) * SLOT)))
    end
    names[i] = get_register(type_name, i)
    odd_names[i] = get_register(type_name, i > case.result_count and i or i + 20)
  end
  line("%s \t%s;", entry.form, write_operands(case.shape, names))
  for i = 1, case.result_count do
    line("%s", write_load(entry.types[i], i + 20, ("%%rd3+%d"):format((i - 1) * SLOT))) -- zeros
  end
  if entry.does then
    line("@%%p63 %s \t%s;", entry.form, write_operands(case.shape, odd_names))
  end
  for i = 1, case.result_count do
    line("%s", write_store(entry.types[i], i, ("%%rd4+%d"):format((i - 1) * SLOT)))
    line("%s", write_store(entry.types[i], i + 20, ("%%rd4+%d"):format((case.result_count + i - 1) * SLOT)))
  end
  line("ret;")
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

local function list_cases()
  local found = {}
  for form, variants in pairs(instructions.by_form) do
    for shape, entry in pairs(variants) do
      found[#found + 1] = { entry = entry, shape = shape, name = "case_" .. entry.name, form = form,
        result_count = count_results(entry, shape) }
    end
  end
  table.sort(found, function(a, b) return a.name < b.name end)
  return found
end

-- ---- inputs and expected results of a case: inputs[lane][i] of operand i, results[lane][i]; nil: any result ----

local function make_plain_inputs(case, round)
  local formula = formulas.by_form[case.form .. " " .. case.shape] or formulas.by_form[case.form]
  if not formula then
    return nil, "formulas.lua has none"
  end
  local inputs, results = {}, {}
  for lane = 0, LANES - 1 do
    inputs[lane] = {}
    for i = case.result_count + 1, #case.entry.types do
      local value = pick_operand(case.entry.types[i], i - case.result_count, lane, round)
      if case.form:match("^sh[lr]") and i == 3 then
        value = value & 127
      end
      inputs[lane][i] = value
    end
    results[lane] = { formula(table.unpack(inputs[lane], case.result_count + 1, #case.entry.types)) }
  end
  return inputs, results
end

local function make_shuffle_inputs(case, round)
  local mode, a, b, c, members = case.form:match("^shfl%.sync%.(%l+)"), {}, {}, {}, {}
  for lane = 0, LANES - 1 do
    a[lane], b[lane], c[lane] = 1000 + 7 * lane, 1 << (round % 5), ({ 31, 0x1c1f, 0x181f, 15 })[round % 4 + 1]
    b[lane] = mode == "idx" and 5 * lane + round or b[lane]
    members[lane] = mode ~= "idx" and round % 5 < 2 and 15 << (lane & 28) or 0xffffffff
  end
  local d, p = formulas.shuffle(mode, a, b, c)
  local inputs, results = {}, {}
  for lane = 0, LANES - 1 do
    inputs[lane] = { [3] = a[lane], [4] = b[lane], [5] = c[lane], [6] = members[lane] }
    results[lane] = { d[lane], p[lane] }
  end
  return inputs, results
end

-- Makes a matrix of small whole numbers, so that every product and sum is exact.
local function make_matrix(rows, columns, seed)
  local m = {}
  for i = 0, rows - 1 do
    m[i] = {}
    for j = 0, columns - 1 do
      m[i][j] = (i * 31 + j * 17 + seed * 13 + (i * j) % 7) % 15 - 7.0
    end
  end
  return m
end

local function get_bits(x)
  return (string.unpack("<I4", string.pack("<f", x)))
end

-- Returns a lane's registers of a fragment of matrix m; is_packed: two elements of bf16 in each register.
local function make_fragment(layout, elements, m, lane, is_packed)
  local registers = {}
  for i = 0, elements - 1 do
    local row, column = layout(lane // 4, lane % 4, i)
    if not is_packed then
      registers[i + 1] = get_bits(m[row][column])
    elseif i % 2 == 0 then
      registers[i // 2 + 1] = get_bits(m[row][column]) >> 16
    else
      registers[i // 2 + 1] = registers[i // 2 + 1] | get_bits(m[row][column]) & 0xffff0000
    end
  end
  return registers
end

local function make_matrix_inputs(case, round)
  local is_packed = case.form:match("bf16") ~= nil
  local layout = formulas.FRAGMENTS[is_packed and "bf16" or "tf32"]
  local a, b = make_matrix(16, layout.k, round), make_matrix(layout.k, 8, round + 3)
  local c = make_matrix(16, 8, round + 5)
  local inputs, results = {}, {}
  for lane = 0, LANES - 1 do
    inputs[lane], results[lane] = {}, {}
    for i, bits in ipairs(make_fragment(layout.a, layout.a_elements, a, lane, is_packed)) do
      inputs[lane][4 + i] = bits | (is_packed and 0 or 0x1fff) -- bits that the instruction ignores
    end
    for i, bits in ipairs(make_fragment(layout.b, layout.b_elements, b, lane, is_packed)) do
      inputs[lane][8 + i] = bits
    end
    for i = 0, 3 do
      local row, column = formulas.FRAGMENTS.c(lane // 4, lane % 4, i)
      local sum = c[row][column]
      for k = 0, layout.k - 1 do
        sum = sum + a[row][k] * b[k][column]
      end
      inputs[lane][11 + i], results[lane][i + 1] = c[row][column], sum
    end
  end
  return inputs, results
end

-- Returns inputs and results, or nil and the reason.
local function make_inputs(case, round)
  if case.form:match("^mma") then
    return make_matrix_inputs(case, round)
  end
  return (case.form:match("^shfl") and make_shuffle_inputs or make_plain_inputs)(case, round)
end

-- ---- running ----

local function pack_slot(type_name, value)
  local bytes = string.pack(PACK[type_name], value)
  return bytes .. ("\0"):rep(SLOT - #bytes)
end

-- Returns a line of input for run.c.
local function make_request(case, inputs)
  local parts = {}
  for lane = 0, LANES - 1 do
    for i, type_name in ipairs(case.entry.types) do
      parts[#parts + 1] = i <= case.result_count and ("\0"):rep(SLOT) or pack_slot(type_name, inputs[lane][i])
    end
  end
  return ("%s 0 1 %d 0 %d %s"):format(case.name, LANES, LANES * 2 * case.result_count * SLOT,
    files.to_hexadecimal(table.concat(parts)))
end

-- Whether a register contains the expected value: any NaN equals a NaN, all else is compared bit for bit.
local function is_expected(type_name, bytes, value)
  if type_name:sub(1, 1) == "f" and value ~= value then
    local actual = string.unpack(PACK[type_name], bytes)
    return actual ~= actual
  end
  return bytes == pack_slot(type_name, value)
end

-- Returns a message if the answer, a line of output of run.c, has other results.
local function compare(case, results, answer)
  if not answer or answer:match("^failed") then
    return answer or "no answer"
  end
  local bytes = answer:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end)
  for lane = 0, LANES - 1 do
    for half = 0, 1 do
      for i = 1, case.result_count do
        local type_name, expected_number = case.entry.types[i], results[lane][i]
        if half == 1 and (lane % 2 == 0 or not case.entry.does) then
          expected_number = type_name:sub(1, 1) == "f" and 0.0 or 0
        end
        local first = ((lane * 2 + half) * case.result_count + i - 1) * SLOT + 1
        local actual = bytes:sub(first, first + SLOT - 1)
        if expected_number and not is_expected(type_name, actual, expected_number) then
          return ("lane %d, result %d%s: %s, expected %s"):format(lane, i, half == 1 and " guarded" or "",
            tostring(string.unpack(PACK[type_name], actual)), tostring(expected_number))
        end
      end
    end
  end
end

local function main()
  local text, requests, expected = { HEAD }, {}, {} -- expected: for each request, its case and a check of its answer
  for _, case in ipairs(list_cases()) do
    text[#text + 1] = write_kernel(case)
    for round = 0, 7 do
      local inputs, results = make_inputs(case, round)
      if not inputs then
        print(("not ok instruction %s: %s"):format(case.form, results))
        break
      end
      requests[#requests + 1] = make_request(case, inputs)
      expected[#expected + 1] = { case = case, check = function(answer) return compare(case, results, answer) end }
    end
  end
  add_memory_cases(text, requests, expected)
  files.write(folder .. "/instructions.ptx", table.concat(text, "\n"))
  files.write(folder .. "/requests", table.concat(requests, "\n") .. "\n")
  files.write_program(folder .. "/instructions.program", "instructions.ptx", table.concat(text, "\n"))
  local answers = assert(io.popen(("LONGHAND_PTX=%s/instructions.program %s <%s/requests"):format(folder, run, folder)))
  local problems, names = {}, {} -- by name: the first problem or false; names in order
  for _, item in ipairs(expected) do
    local name = item.case.form .. (item.case.shape and " " .. item.case.shape or "")
    if problems[name] == nil then
      names[#names + 1] = name
    end
    local problem = item.check(answers:read("l"))
    problems[name] = problems[name] or problem or false
  end
  answers:close()
  for _, name in ipairs(names) do
    print(problems[name] and ("not ok instruction %s: %s"):format(name, problems[name]) or "ok instruction " .. name)
  end
end

main()
