-- Prints a line for every tensor of a safetensors file: name, type, shape, digest of its bytes. Metadata are left out.
--
--     lua5.4 tests/bits/tensors.lua FILE

package.path = "generator/?.lua;?.lua;" .. package.path

local safetensors = require("base.safetensors")

-- FNV-1a over words of 8 bytes.
local function digest(bytes)
  local hash = 0xcbf29ce484222325
  for position = 1, #bytes, 8 do
    hash = (hash ~ string.unpack("<I" .. math.min(8, #bytes - position + 1), bytes, position)) * 0x100000001b3
  end
  return ("%016x"):format(hash)
end

local stored = assert(safetensors.open(arg[1]))
local file = assert(io.open(arg[1], "rb"))
for _, name in ipairs(stored.names) do
  local entry = stored.entries[name]
  file:seek("set", stored.data_start + entry.begin)
  print(name, entry.dtype, table.concat(entry.shape, "x"), digest(file:read(entry.bytes) or ""))
end
