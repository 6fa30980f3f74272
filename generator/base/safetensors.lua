-- The header of a safetensors file: what tensors it has, and where.
--
-- Input: a path. Output: M.open gives { path, front, metadata, names, entries }: front, the bytes before the data;
-- names sorted; entries[name] = { dtype, shape, begin, bytes }. Of a file that is damaged, cut short, no file or none
-- of this kind: nil and a message that names it. M.TYPES: how elements are packed, and their bytes, by dtype.

local input = require("base.input")
local lfs = require("lfs")
local tongues = require("base.tongues")

local M = {}

local LARGEST_HEADER = 16 << 20 -- bytes: a sixth of what the format allows, a thousand times what trainers write
M.TYPES = { F32 = { "f", 4 }, F64 = { "d", 8 }, I32 = { "i4", 4 }, I64 = { "i8", 8 }, U8 = { "B", 1 } }

local function is_count(value)
  return math.type(value) == "integer" and value >= 0
end

-- The entry of one tensor, checked: nil and what is wrong with it.
local function entry_of(stored, room)
  local kind = type(stored) == "table" and M.TYPES[stored.dtype]
  local offsets = kind and stored.data_offsets
  if not kind or type(stored.shape) ~= "table" or type(offsets) ~= "table" or not is_count(offsets[1])
    or not is_count(offsets[2]) then
    return nil, "no dtype, shape and data_offsets that are known here"
  end
  local elements = 1
  for _, size in ipairs(stored.shape) do
    elements = is_count(size) and elements and 1.0 * elements * size <= room and elements * size
  end
  if not elements or offsets[2] - offsets[1] ~= elements * kind[2] or offsets[2] > room then
    return nil, ("bytes %d to %d of %d are not those of its shape"):format(offsets[1], offsets[2], room)
  end
  return { dtype = stored.dtype, shape = stored.shape, begin = offsets[1], bytes = offsets[2] - offsets[1] }
end

-- The header as a table, and the bytes before the data.
local function read_header(file, path)
  local size = file:seek("end")
  file:seek("set", 0)
  local front = file:read(8)
  local length = front and #front == 8 and string.unpack("<I8", front) or -1
  if length < 0 or length > LARGEST_HEADER or length > size - 8 then
    return nil, path .. ": no safetensors file, or cut short"
  end
  local header = input.decode(file:read(length))
  if getmetatable(header) ~= input.OBJECT then
    return nil, path .. ": the header is no JSON"
  end
  return header, 8 + length, size
end

-- Fills result.entries and names from a header.
local function collect(result, header, room)
  for name, stored in next, header do
    if name ~= "__metadata__" then
      local entry, message
      if type(name) == "string" then
        entry, message = entry_of(stored, room)
      else
        message = "no name of a tensor"
      end
      if not entry then
        return nil, ("%s: %s: %s"):format(result.path, tongues.plain(name), message)
      end
      result.entries[name] = entry
      result.names[#result.names + 1] = name
    end
  end
  table.sort(result.names)
  return result
end

function M.open(path)
  local mode = lfs.attributes(path, "mode")
  if mode and mode ~= "file" then
    return nil, ("%s: is a %s, expected a file"):format(path, mode)
  end
  local file, message = io.open(path, "rb")
  if not file then
    return nil, message
  end
  local header, front, size = read_header(file, path)
  file:close()
  if not header then
    return nil, front
  end
  local metadata = type(header.__metadata__) == "table" and header.__metadata__ or {}
  local result = { path = path, front = front, metadata = metadata, names = {}, entries = {} }
  return collect(result, header, size - front)
end

return M
