-- Sets all parameters of a checkpoint to one value: lua5.4 tests/support/set_weights.lua FILE VALUE [NAME]; with NAME
-- only the tensors whose names contain NAME. Removes the checksum, which would be wrong, and the format.

package.path = "generator/?.lua;" .. package.path

local json = require("dkjson")

local path, value, name = arg[1], tonumber(arg[2]) or (arg[2] == "nan" and 0 / 0), arg[3] or ""
local file = assert(io.open(path, "rb"))
local bytes = file:read("a")
file:close()
local length = ("<I8"):unpack(bytes)
local header, data = assert(json.decode(bytes:sub(9, 8 + length))), bytes:sub(9 + length)
header.__metadata__.checksum, header.__metadata__.format = nil, nil
for key, entry in pairs(header) do
  if entry.dtype == "F32" and not key:find("^optimizer") and key:find(name, 1, true) then
    local from, to = entry.data_offsets[1], entry.data_offsets[2]
    data = data:sub(1, from) .. ("<f"):pack(value):rep((to - from) // 4) .. data:sub(to + 1)
  end
end
local text = json.encode(header)
text = text .. (" "):rep(-#text % 8)
file = assert(io.open(path, "wb"))
assert(file:write(("<I8"):pack(#text), text, data))
assert(file:close())
