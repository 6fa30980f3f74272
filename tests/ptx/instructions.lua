-- The known instructions of PTX; any other one is an error. An entry defines an instruction for one lane as a C++
-- statement, from "Parallel Thread Execution ISA" 9.0, chapter 9: operations.lua makes a function of it, and
-- machine.cpp runs the function for the lanes of a warp.
--
--     form      the instruction with its modifiers and types
--     operands  the types of its operands, in order, with { } and | as in PTX
--     does      the statement; d is the first operand, a, b, c, e the next ones
--     kind      the kind under which tests/ptx/count.c counts it
--     warp      instead of `does`: a function of operations.cpp that is called once all lanes of the warp are there
--     members   instead of `does`: a function that is called once all lanes in the mask of the last operand are there
--
-- Registers are typed by their size: an operand's register has the size of its type. Integers wrap. Loads and stores
-- are described by their parts at the end of this file; assemble.lua has the instructions that branch, call, wait or
-- order memory.

local instructions = {}

-- Name in C++ and bytes of each type.
instructions.TYPES = {
  pred = { "uint8_t", 1 },
  b16 = { "uint16_t", 2 }, u16 = { "uint16_t", 2 }, s16 = { "int16_t", 2 },
  b32 = { "uint32_t", 4 }, u32 = { "uint32_t", 4 }, s32 = { "int32_t", 4 }, f32 = { "float", 4 },
  b64 = { "uint64_t", 8 }, u64 = { "uint64_t", 8 }, s64 = { "int64_t", 8 }, f64 = { "double", 8 },
}

local by_form = {}
instructions.by_form = by_form

-- "{ f32 f32 } b64" -> "{xx}x": the shape that operands in a text must have, too.
local function get_shape(operands)
  return (operands:gsub("[%l%d]+", "x"):gsub("%s+", ""))
end

local function add(entry)
  entry.types = {}
  for type_name in entry.operands:gmatch("[%l%d]+") do
    assert(instructions.TYPES[type_name], type_name)
    entry.types[#entry.types + 1] = type_name
  end
  local variants = by_form[entry.form] or {}
  local shape = get_shape(entry.operands)
  assert(not variants[shape], entry.form)
  local number = next(variants) and "_" .. #entry.types .. shape:find("{", 1, true) or ""
  entry.name = entry.form:gsub("%.", "_") .. number
  variants[shape], by_form[entry.form] = entry, variants
end

-- Adds an entry for each of these types, which replace T in form and operands. kind nil: by type.
local function add_each(types, form, operands, does, kind)
  for name in types:gmatch("%S+") do
    local function fill(text)
      return (text:gsub("%f[%w]T%f[%W]", name))
    end
    local is_float = name:sub(1, 1) == "f"
    add({ form = fill(form), operands = fill(operands), does = does,
      kind = kind or (is_float and "float" .. name:sub(2) or "integer") })
  end
end

-- Arithmetic.
add_each("s32 s64 u64 f32 f64", "add.T", "T T T", "d = a + b")
add_each("s16 s32 s64 f32 f64", "sub.T", "T T T", "d = a - b")
add_each("f32 f64", "mul.T", "T T T", "d = a * b")
add_each("s16 s32 s64", "mul.lo.T", "T T T", "d = a * b")
add_each("f32", "fma.rn.T", "T T T T", "d = __builtin_fmaf(a, b, c)")
add_each("f64", "fma.rn.T", "T T T T", "d = __builtin_fma(a, b, c)")
add_each("s32", "mad.lo.T", "T T T T", "d = a * b + c")
add_each("s32", "mul.wide.T", "s64 T T", "d = (int64_t)a * b")
add_each("s32", "mad.wide.T", "s64 T T s64", "d = (int64_t)a * b + c")
add_each("u32", "mul.wide.T", "u64 T T", "d = (uint64_t)a * b")
add_each("u16", "mul.wide.T", "u32 T T", "d = (uint32_t)a * b")
add_each("u32", "mul.hi.T", "T T T", "d = (uint32_t)((uint64_t)a * b >> 32)")
add_each("s32", "mul.hi.T", "T T T", "d = (int32_t)((int64_t)a * b >> 32)")
-- Division by 0 gives an arbitrary result, since a lane may compute a quotient that it does not use.
add_each("u32 u64", "div.T", "T T T", "d = b == 0 ? -1 : a / b")
add_each("s32", "div.T", "T T T", "d = b == 0 ? -1 : (int32_t)((int64_t)a / b)")
add_each("s32", "rem.T", "T T T", "d = b == 0 ? a : (int32_t)((int64_t)a % b)")
add_each("f32 f64", "div.rn.T", "T T T", "d = a / b", "division")
add_each("f32 f64", "rcp.rn.T", "T T", "d = 1 / a", "division")
add_each("f32", "sqrt.rn.T", "T T", "d = __builtin_sqrtf(a)", "division")
add_each("f64", "sqrt.rn.T", "T T", "d = __builtin_sqrt(a)", "division")
-- Approximations of a GPU, here computed in double and rounded.
add({ form = "ex2.approx.ftz.f32", operands = "f32 f32", kind = "exponential",
  does = "d = __builtin_exp2((double)a) < 0x1p-126 ? 0 : (float)__builtin_exp2((double)a)" })
add({ form = "lg2.approx.ftz.f32", operands = "f32 f32", kind = "exponential",
  does = "d = (float)__builtin_log2((double)a)" })
add_each("s32 s64 f32 f64", "neg.T", "T T", "d = -a")
add_each("s32", "abs.T", "T T", "d = a < 0 ? -a : a")
add_each("f32", "abs.T", "T T", "d = __builtin_fabsf(a)")
add_each("f64", "abs.T", "T T", "d = __builtin_fabs(a)")
add_each("s32 u32", "min.T", "T T T", "d = a < b ? a : b")
add_each("s32 u32 u64", "max.T", "T T T", "d = a > b ? a : b")
add_each("f32 f64", "max.T", "T T T", "d = larger(a, b)")
add_each("f64", "copysign.T", "T T T", "d = __builtin_copysign(b, a)")

-- Bits.
add_each("b16 b32 b64", "and.T", "T T T", "d = a & b", "integer")
add_each("b32 b64", "or.T", "T T T", "d = a | b", "integer")
add_each("b32 b64", "xor.T", "T T T", "d = a ^ b", "integer")
add_each("b32", "not.T", "T T", "d = ~a", "integer")
add_each("b32", "shl.T", "T T u32", "d = b > 31 ? 0 : a << b", "integer")
add_each("b64", "shl.T", "T T u32", "d = b > 63 ? 0 : a << b", "integer")
add_each("u16", "shr.T", "T T u32", "d = b > 15 ? 0 : a >> b")
add_each("u32", "shr.T", "T T u32", "d = b > 31 ? 0 : a >> b")
add_each("u64", "shr.T", "T T u32", "d = b > 63 ? 0 : a >> b")
add_each("s32", "shr.T", "T T u32", "d = a >> (b > 31 ? 31 : b)")
add_each("s64", "shr.T", "T T u32", "d = a >> (b > 63 ? 63 : b)")
add({ form = "bfi.b32", operands = "b32 b32 b32 u32 u32", does = "d = insert_bits(a, b, c, e)", kind = "integer" })
add({ form = "prmt.b32", operands = "b32 b32 b32 b32", does = "d = permute_bytes(a, b, c)", kind = "integer" })

-- Comparisons. With a NaN, nan and those that end in u are true, and the others false; ne only compares integers here.
local COMPARE = { eq = "a == b", ne = "a != b", lt = "a < b", le = "a <= b", gt = "a > b", ge = "a >= b",
  equ = "!(a < b || a > b)", neu = "a != b", ltu = "!(a >= b)", leu = "!(a > b)", gtu = "!(a <= b)", geu = "!(a < b)",
  nan = "a != a || b != b" }
for form in ([[eq.s16 ne.s16 lt.u16 eq.b32 eq.s32 ne.s32 lt.s32 le.s32 gt.s32 ge.s32 lt.u32 gt.u32 ge.u32 eq.s64 ne.s64
    lt.s64 lt.u64 le.u64 eq.f32 lt.f32 gt.f32 ge.f32 leu.f32 geu.f32 eq.f64 lt.f64 le.f64 gt.f64 ge.f64 neu.f64 ltu.f64
    leu.f64 gtu.f64 geu.f64 nan.f64]]):gmatch("%S+") do
  local compare, type_name = form:match("^(%l+)%.(%w+)$")
  add_each(type_name, "setp." .. compare .. ".T", "pred T T", "d = " .. COMPARE[compare], "predicate")
end
add_each("u16 u32 b32 b64 f32 f64", "selp.T", "T T T pred", "d = c ? a : b", "predicate")
add({ form = "and.pred", operands = "pred pred pred", does = "d = a & b", kind = "predicate" })
add({ form = "or.pred", operands = "pred pred pred", does = "d = a | b", kind = "predicate" })
add({ form = "xor.pred", operands = "pred pred pred", does = "d = a ^ b", kind = "predicate" })
add({ form = "not.pred", operands = "pred pred", does = "d = !a", kind = "predicate" })

-- Moves.
add_each("pred u16 u32 b32 u64 b64 f32 f64", "mov.T", "T T", "d = a", "move")
add({ form = "mov.b64", operands = "{ b32 b32 } b64", does = "d = (uint32_t)b; a = (uint32_t)(b >> 32)",
  kind = "move" })
add({ form = "mov.b64", operands = "b64 { b32 b32 }", does = "d = (uint64_t)b << 32 | a", kind = "move" })
add_each("u64", "cvta.to.global.T", "T T", "d = a", "move")

-- Conversions.
local function convert(form, to, from, does)
  add({ form = "cvt." .. form, operands = to .. " " .. from, does = does or "d = a", kind = "convert" })
end
convert("s64.s32", "s64", "s32")
convert("u64.u32", "u64", "u32")
convert("u32.u64", "u32", "u64", "d = (uint32_t)a")
convert("u32.u16", "u32", "u16")
convert("u16.u32", "u16", "u32", "d = (uint16_t)a")
convert("f64.f32", "f64", "f32")
convert("rn.f32.f64", "f32", "f64", "d = (float)a")
convert("rn.f32.s32", "f32", "s32", "d = (float)a")
convert("rn.f64.s32", "f64", "s32")
convert("rn.f64.s64", "f64", "s64", "d = (double)a")
convert("rzi.s32.f32", "s32", "f32", "d = to_integer<int32_t>(a, 0)")
convert("rzi.s32.f64", "s32", "f64", "d = to_integer<int32_t>(a, INT32_MIN)")
convert("rzi.s64.f64", "s64", "f64", "d = to_integer<int64_t>(a, INT64_MIN)")
convert("rna.tf32.f32", "b32", "f32", "d = to_tf32(a)")
convert("rn.bf16x2.f32", "b32", "f32 f32", "d = pack_bf16(b, a)")

-- Operations of a whole warp.
for mode, members in pairs({ bfly = "shuffle_butterfly", idx = "shuffle_index" }) do
  add({ form = ("shfl.sync.%s.b32"):format(mode), members = members, kind = "shuffle",
    operands = "b32 | pred b32 u32 u32 u32" })
end
add({ form = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", warp = "multiply_tf32", kind = "matrix",
  operands = "{ f32 f32 f32 f32 } { b32 b32 b32 b32 } { b32 b32 } { f32 f32 f32 f32 }" })
add({ form = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", warp = "multiply_bf16", kind = "matrix",
  operands = "{ f32 f32 f32 f32 } { b32 b32 b32 b32 } { b32 b32 } { f32 f32 f32 f32 }" })

-- Elements of loads and stores, by type: name in C++ and bytes. A register may be wider than its element.
instructions.ELEMENTS = {
  s8 = { "int8_t", 1 }, u8 = { "uint8_t", 1 }, u16 = { "uint16_t", 2 }, s32 = { "int32_t", 4 }, u32 = { "uint32_t", 4 },
  f32 = { "uint32_t", 4 }, u64 = { "uint64_t", 8 }, f64 = { "uint64_t", 8 }, b32 = { "uint32_t", 4 },
  b64 = { "uint64_t", 8 },
}
local SPACES = { shared = true, global = true, ["local"] = true, param = true }
local COUNTS = { v2 = 2, v4 = 4 }

-- "ld.shared.v4.f32" -> { is_load = true, space = "shared", count = 4, element = "f32", kind = "shared_load16" }; nil
-- for other instructions. space: "generic" if the form names none. ordering, of a load: "volatile", "relaxed" or
-- "acquire".
function instructions.parse_memory_form(form)
  local parts = {}
  for field in form:gmatch("[^.]+") do
    parts[#parts + 1] = field
  end
  local access = { is_load = parts[1] == "ld", space = "generic", count = 1, element = table.remove(parts) }
  if not (access.is_load or parts[1] == "st") or not instructions.ELEMENTS[access.element] then
    return nil
  end
  table.remove(parts, 1)
  if parts[1] == "volatile" and access.is_load then
    access.ordering = table.remove(parts, 1)
  elseif (parts[1] == "relaxed" or parts[1] == "acquire") and access.is_load and parts[2] == "gpu"
    and parts[3] == "global" then
    access.ordering, access.space = parts[1], parts[3]
    table.move(parts, 4, #parts + 3, 1)
  elseif SPACES[parts[1]] then
    access.space = table.remove(parts, 1)
  end
  if COUNTS[parts[1]] then
    access.count = COUNTS[table.remove(parts, 1)]
  end
  if #parts > 0 or access.space == "param" and not access.is_load then
    return nil
  end
  local bytes = access.count * instructions.ELEMENTS[access.element][2]
  local space = access.space == "generic" and "global" or access.space
  access.kind = bytes <= 16 and ("%s_%s%d"):format(space, access.is_load and "load" or "store", bytes) or nil
  if access.space == "param" then
    access.kind = "parameter"
  end
  return access.kind and access
end

return instructions
