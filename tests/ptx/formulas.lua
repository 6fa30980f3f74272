-- Results of PTX instructions in plain Lua, computed differently than in tests/ptx/operations.cpp: bit by bit, or in
-- exact arithmetic. A formula takes the values of the source operands and returns those of the destination operands.
-- Integers are values of their type, floats are floats; a predicate that is true is 1.

local formulas = {}

local BITS = { pred = 1, b16 = 16, u16 = 16, s16 = 16, b32 = 32, u32 = 32, s32 = 32, f32 = 32, b64 = 64, u64 = 64,
  s64 = 64, f64 = 64 }

-- Wraps an integer to the range of a type.
local function wrap(value, type_name)
  local bits = BITS[type_name]
  if bits == 64 then
    return value
  end
  value = value & (1 << bits) - 1
  if type_name:sub(1, 1) == "s" and value >= 1 << bits - 1 then
    value = value - (1 << bits)
  end
  return value
end
formulas.wrap = wrap

local function divide_towards_zero(a, b)
  local quotient = math.abs(a) // math.abs(b)
  return (a < 0) ~= (b < 0) and -quotient or quotient
end

-- Formulas by the form of their instruction, such as "add.s32"; where forms are ambiguous, by form and shape of the
-- operands, such as "mov.b64 {xx}x".
local by_form = {}
formulas.by_form = by_form

-- Adds a formula for each of these types; `make` returns its form and the formula.
local function add(types, make)
  for type_name in types:gmatch("%S+") do
    local form, formula = make(type_name)
    assert(by_form[form] == nil, form)
    by_form[form] = formula
  end
end

-- Returns the rounded sum of a and b, and its error.
local function add_exactly(a, b)
  local sum = a + b
  local b_part = sum - a
  return sum, (a - (sum - b_part)) + (b - b_part)
end

-- Returns the rounded product of a and b, and its error (Veltkamp, Dekker).
local function multiply_exactly(a, b)
  local function split(x)
    local high = 134217729.0 * x
    high = high - (high - x)
    return high, x - high
  end
  local product = a * b
  local a_high, a_low = split(a)
  local b_high, b_low = split(b)
  return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
end

local function is_finite(x)
  return x - x == 0
end

-- The product of two numbers of 24 bits is exact; the sum is rounded to odd, so that rounding it again is right.
local function fma32(a, b, c)
  local sum, remainder = add_exactly(a * b, c)
  if not is_finite(sum) or remainder == 0 then
    return a * b + c
  end
  local bits = string.unpack("<i8", string.pack("<d", sum))
  if bits & 1 == 0 then
    bits = bits + (((remainder > 0) == (sum > 0)) and 1 or -1)
  end
  return (string.unpack("<d", string.pack("<i8", bits)))
end

local function fma64(a, b, c)
  local product, low = multiply_exactly(a, b)
  if not is_finite(a * b + c) or not is_finite(low) then
    return a * b + c
  end
  local sum, remainder = add_exactly(product, c)
  return sum + (remainder + low)
end

-- Returns the integer whose bit i is choose(i).
local function compose_bits(bits, choose)
  local result = 0
  for i = 0, bits - 1 do
    result = result | choose(i) << i
  end
  return result
end

local function get_bit(value, i)
  return i > 63 and 0 or value >> i & 1
end

-- Adds the operation `name`, which computes each bit by `choose` from the bits of its operands.
local function add_bit_operation(types, name, choose)
  add(types, function(t)
    return name .. "." .. t, function(a, b)
      return wrap(compose_bits(BITS[t], function(i) return choose(get_bit(a, i), get_bit(b or 0, i)) end), t)
    end
  end)
end

local ARITHMETIC = {
  add = function(a, b) return a + b end,
  sub = function(a, b) return a - b end,
  mul = function(a, b) return a * b end,
  neg = function(a) return -a end,
}

for name, types in pairs({ add = "s32 s64 u64", sub = "s16 s32 s64", neg = "s32 s64" }) do
  add(types, function(t)
    return name .. "." .. t, function(a, b) return wrap(ARITHMETIC[name](a, b), t) end
  end)
end
for name in pairs(ARITHMETIC) do
  add("f32 f64", function(t) return name .. "." .. t, ARITHMETIC[name] end)
end
add("s16 s32 s64", function(t) return "mul.lo." .. t, function(a, b) return wrap(a * b, t) end end)
by_form["fma.rn.f32"], by_form["fma.rn.f64"] = fma32, fma64
by_form["mad.lo.s32"] = function(a, b, c) return wrap(a * b + c, "s32") end
by_form["mad.wide.s32"] = function(a, b, c) return a * b + c end
add("s32 u32 u16", function(t) return "mul.wide." .. t, function(a, b) return a * b end end)
by_form["mul.hi.s32"] = function(a, b) return a * b // (1 << 32) end
by_form["mul.hi.u32"] = function(a, b) -- by halves
  local low = (a & 0xffff) * (b & 0xffff)
  local middle = (a >> 16) * (b & 0xffff) + (low >> 16)
  local cross_product = (a & 0xffff) * (b >> 16) + (middle & 0xffff)
  return (a >> 16) * (b >> 16) + (middle >> 16) + (cross_product >> 16)
end
by_form["div.s32"] = function(a, b) return b ~= 0 and wrap(divide_towards_zero(a, b), "s32") or nil end
by_form["rem.s32"] = function(a, b) return b ~= 0 and a - divide_towards_zero(a, b) * b or nil end
by_form["div.u32"] = function(a, b) return b ~= 0 and a // b or nil end
by_form["div.u64"] = function(a, b)
  if b == 0 then
    return nil
  end
  local quotient, remainder = 0, 0
  for i = 63, 0, -1 do
    remainder = remainder << 1 | get_bit(a, i)
    if not math.ult(remainder, b) then
      remainder, quotient = remainder - b, quotient | 1 << i
    end
  end
  return quotient
end
add("f32 f64", function(t) return "div.rn." .. t, function(a, b) return a / b end end)
add("f32 f64", function(t) return "rcp.rn." .. t, function(a) return 1 / a end end)
add("f32 f64", function(t) return "sqrt.rn." .. t, function(a) return math.sqrt(a) end end)
by_form["lg2.approx.ftz.f32"] = function(a) return math.log(a, 2) end
by_form["ex2.approx.ftz.f32"] = function(a) return 2.0 ^ a < 2.0 ^ -126 and 0.0 or 2.0 ^ a end
by_form["abs.s32"] = function(a) return wrap(math.max(a, -a), "s32") end
add("f32 f64", function(t) return "abs." .. t, function(a) return a == 0 and 0.0 or a < 0 and -a or a end end)
by_form["min.s32"], by_form["min.u32"], by_form["max.s32"], by_form["max.u32"] = math.min, math.min, math.max, math.max
by_form["max.u64"] = function(a, b) return math.ult(a, b) and b or a end
add("f32 f64", function(t)
  return "max." .. t, function(a, b)
    if a == 0 and b == 0 then
      return (1 / a > 0 or 1 / b > 0) and 0.0 or -0.0
    end
    return a ~= a and b or b ~= b and a or math.max(a, b)
  end
end)
by_form["copysign.f64"] = function(a, b)
  local bits_a, bits_b = string.unpack("<i8", string.pack("<d", a)), string.unpack("<i8", string.pack("<d", b))
  return (string.unpack("<d", string.pack("<i8", (bits_a & math.mininteger) | (bits_b & math.maxinteger))))
end

add_bit_operation("pred b16 b32 b64", "and", function(a, b) return a * b end)
add_bit_operation("pred b32 b64", "or", function(a, b) return math.max(a, b) end)
add_bit_operation("pred b32 b64", "xor", function(a, b) return (a + b) % 2 end)
add_bit_operation("pred b32", "not", function(a) return 1 - a end)
add("b32 b64", function(t)
  return "shl." .. t, function(a, b)
    return compose_bits(BITS[t], function(i) return i >= b and get_bit(a, i - b) or 0 end)
  end
end)
add("u16 u32 u64 s32 s64", function(t)
  return "shr." .. t, function(a, b)
    local fill = t:sub(1, 1) == "s" and a < 0 and 1 or 0
    return wrap(compose_bits(BITS[t], function(i) return i + b < BITS[t] and get_bit(a, i + b) or fill end), t)
  end
end)
by_form["bfi.b32"] = function(a, b, position, count)
  return compose_bits(32, function(i)
    local from = i - (position & 255)
    return from >= 0 and from < (count & 255) and get_bit(a, from) or get_bit(b, i)
  end)
end
by_form["prmt.b32"] = function(a, b, selector)
  local bytes = string.pack("<I4I4", a, b)
  local result = {}
  for i = 1, 4 do
    local choice = selector >> 4 * (i - 1) & 15
    local byte = bytes:byte((choice & 7) + 1)
    result[i] = string.char(choice & 8 == 0 and byte or byte >= 128 and 255 or 0)
  end
  return (string.unpack("<I4", table.concat(result)))
end

-- Comparisons: whether the relation holds if a is less than b, equal or greater.
local RELATION = { eq = { false, true, false }, ne = { true, false, true }, lt = { true, false, false },
  le = { true, true, false }, gt = { false, false, true }, ge = { false, true, true } }
for name, holds in pairs(RELATION) do
  for _, t in ipairs({ "s16", "u16", "b32", "s32", "u32", "s64", "u64", "f32", "f64" }) do
    local is_float = t:sub(1, 1) == "f"
    for _, unordered in ipairs(is_float and { "", "u" } or { "" }) do
      by_form["setp." .. name .. unordered .. "." .. t] = function(a, b)
        local is_nan = a ~= a or b ~= b
        local is_less = t == "u64" and math.ult(a, b) or t ~= "u64" and a < b
        local index = is_less and 1 or a == b and 2 or 3
        if is_nan then
          return unordered == "u" and 1 or 0
        end
        return holds[index] and 1 or 0
      end
    end
  end
end
for _, t in ipairs({ "f32", "f64" }) do
  by_form["setp.nan." .. t] = function(a, b) return (a == a and b == b) and 0 or 1 end
end
add("u16 u32 b32 b64 f32 f64", function(t)
  return "selp." .. t, function(a, b, c) return ({ [0] = b, [1] = a })[c] end
end)

-- Moves and conversions.
local function identity(a)
  return a
end
add("pred u16 u32 b32 u64 f32 f64", function(t) return "mov." .. t, identity end)
by_form["cvta.to.global.u64"] = identity
by_form["mov.b64 xx"] = identity
by_form["mov.b64 {xx}x"] = function(a) return a & 0xffffffff, a >> 32 end
by_form["mov.b64 x{xx}"] = function(a, b) return a + b * (1 << 32) end
for _, form in ipairs({ "cvt.s64.s32", "cvt.u64.u32", "cvt.u32.u16", "cvt.f64.f32" }) do
  by_form[form] = identity
end
by_form["cvt.u32.u64"] = function(a) return a & 0xffffffff end
by_form["cvt.u16.u32"] = function(a) return a & 0xffff end
by_form["cvt.rn.f32.f64"] = identity
by_form["cvt.rn.f32.s32"] = function(a) return a + 0.0 end
by_form["cvt.rn.f64.s32"], by_form["cvt.rn.f64.s64"] = by_form["cvt.rn.f32.s32"], by_form["cvt.rn.f32.s32"]
local function to_integer(bits, nan_result)
  return function(a)
    if a ~= a then
      return nan_result
    elseif math.abs(a) >= 2.0 ^ (bits - 1) then
      local max = bits == 64 and math.maxinteger or (1 << bits - 1) - 1
      return a > 0 and max or -max - 1
    end
    return math.tointeger(a < 0 and math.ceil(a) or math.floor(a))
  end
end
by_form["cvt.rzi.s32.f32"] = to_integer(32, 0)
by_form["cvt.rzi.s32.f64"] = to_integer(32, -(1 << 31))
by_form["cvt.rzi.s64.f64"] = to_integer(64, math.mininteger)

-- Rounds to the nearest float with `places` bits after the point; ties: away from zero, or to even.
local function round(x, places, away_from_zero)
  if not is_finite(x) or x == 0 then
    return x
  end
  local _, exponent = nil, math.max(math.floor(math.log(math.abs(x), 2)), -126)
  local unit = 2.0 ^ (exponent - places)
  local scaled = math.abs(x) / unit
  local integer = math.floor(scaled)
  local fraction = scaled - integer
  if fraction > 0.5 or fraction == 0.5 and (away_from_zero or integer % 2 == 1) then
    integer = integer + 1
  end
  return x < 0 and -integer * unit or integer * unit
end
local function get_bits(x)
  return (string.unpack("<I4", string.pack("<f", x)))
end
by_form["cvt.rna.tf32.f32"] = function(a)
  return a ~= a and 0x7fffffff or get_bits(round(a, 10, true))
end
by_form["cvt.rn.bf16x2.f32"] = function(a, b)
  local function half(x)
    return x ~= x and 0x7fff or get_bits(round(x, 7, false)) >> 16
  end
  return half(a) << 16 | half(b)
end

-- ---- operations of a whole warp, from the operands of all lanes, numbered from 0 ----

-- The lane that each mode of shfl reads, by the reading lane, its b and the mask of its segment.
local SOURCES = {
  bfly = function(lane, b) return lane ~ (b & 31) end,
  idx = function(lane, b, segment) return (lane & segment) | (b & 31 & ~segment) end,
}

-- The results d and p of shfl by lane, from its operands a, b and c by lane.
function formulas.shuffle(mode, a, b, c)
  local d, p = {}, {}
  for lane = 0, 31 do
    local segment = c[lane] >> 8 & 31
    local last = (lane & segment) | (c[lane] & 31 & ~segment)
    local source = SOURCES[mode](lane, b[lane], segment)
    p[lane] = source <= last and 1 or 0
    d[lane] = a[source <= last and source or lane]
  end
  return d, p
end

-- Row and column of element i in the fragment of lane 4 group + thread, from "Matrix Fragments for mma.m16n8k8" (tf32)
-- and "m16n8k16" (bf16). k: the inner dimension; a_elements, b_elements: the number of elements of a lane.
formulas.FRAGMENTS = {
  tf32 = {
    k = 8, a_elements = 4, b_elements = 2,
    a = function(group, thread, i)
      return i % 2 == 0 and group or group + 8, i < 2 and thread or thread + 4
    end,
    b = function(group, thread, i)
      return thread + 4 * i, group
    end,
  },
  bf16 = {
    k = 16, a_elements = 8, b_elements = 4,
    a = function(group, thread, i)
      return (i < 2 or i >= 4 and i < 6) and group or group + 8, thread * 2 + (i & 1) + (i >= 4 and 8 or 0)
    end,
    b = function(group, thread, i)
      return thread * 2 + (i & 1) + (i >= 2 and 8 or 0), group
    end,
  },
  c = function(group, thread, i)
    return i < 2 and group or group + 8, thread * 2 + (i & 1)
  end,
}

return formulas
