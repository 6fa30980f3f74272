-- Writes a C++ function for every entry of instructions.lua with a statement, and the list of all operations that a
-- program may name, except those that change the flow:
--
--     lua5.4 tests/ptx/operations.lua > operations.inc     (which operations.cpp includes)

local root = arg[0]:match("^(.*)/operations%.lua$") or "."
package.path = ("%s/?.lua;%s"):format(root, package.path)

local instructions = require("instructions")

local function list_entries()
  local found = {}
  for _, variants in pairs(instructions.by_form) do
    for _, entry in pairs(variants) do
      found[#found + 1] = entry
    end
  end
  table.sort(found, function(a, b) return a.name < b.name end)
  return found
end

local NAMES = { "d", "a", "b", "c", "e" }

-- Whether the statement of an entry sets this operand.
local function is_set(entry, name)
  return entry.does:find("%f[%w]" .. name .. " = ") ~= nil
end

local function write_function(entry)
  local rows, lanes = {}, {}
  for i, type_name in ipairs(entry.types) do
    local name, c_type = NAMES[i], instructions.TYPES[type_name][1]
    local constant = is_set(entry, name) and "" or "const "
    rows[i] = ("    %s%s *const r%d = row<%s>(w, s, %d);"):format(constant, c_type, i - 1, c_type, i - 1)
    lanes[i] = ("        %s%s %s%s = r%d[n];"):format(constant, c_type, constant == "" and "&" or "", name, i - 1)
  end
  print(("static void %s(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {"):format(entry.name))
  print(table.concat(rows, "\n"))
  print("    for_lanes(mask, [=](int n) {")
  print(table.concat(lanes, "\n"))
  print(("        %s;\n    });\n}\n"):format(entry.does))
end

-- By type of the element: bytes of registers.
local LOADS = { u8 = { 2, 4, 8 }, s8 = { 2, 4 }, u16 = { 2, 4, 8 }, u32 = { 4, 8 }, s32 = { 4, 8 }, u64 = { 8 } }
local STORES = { u8 = { 2, 4, 8 }, u16 = { 2, 4, 8 }, u32 = { 4, 8 }, u64 = { 8 } }

-- Writes entries for the instances of a template, by element and by the width of the register.
local function write_instances(prefix, template, elements)
  local names = {}
  for name in pairs(elements) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    for _, bytes in ipairs(elements[name]) do
      print(("    {\"%s_%s_%d\", %s<%s, %sint%d_t>, PLAIN},"):format(prefix, name, bytes, template,
        instructions.ELEMENTS[name][1], name:sub(1, 1) == "s" and "" or "u", 8 * bytes))
    end
  end
end

print("/* Made by tests/ptx/operations.lua from tests/ptx/instructions.lua. */")
for _, entry in ipairs(list_entries()) do
  if entry.does then
    write_function(entry)
  end
end
print("const lh_ptx_operation lh_ptx_operations[] = {")
for _, entry in ipairs(list_entries()) do
  local flow = entry.warp and "WARP" or entry.members and "MEMBERS" or "PLAIN"
  print(("    {\"%s\", %s, %s},"):format(entry.name, entry.warp or entry.members or entry.name, flow))
end
write_instances("load", "load", LOADS)
write_instances("store", "store", STORES)
write_instances("read", "read_parameter", LOADS)
print("    {\"pass_4\", pass_argument<uint32_t>, PLAIN},\n    {\"pass_8\", pass_argument<uint64_t>, PLAIN},")
print("    {\"fence\", fence, PLAIN},\n    {\"atomic_add_u32\", atomic_add, PLAIN},")
print("    {\"reduce_add_u32\", reduce_add, PLAIN},")
print("    {NULL, NULL, PLAIN},\n};")
