-- Safetensors files: reads the files that trainers write, and writes files of analyses.
--
-- M.open(path) gives the header, a table with these fields:
--   path
--   data_start   the number of bytes before the data
--   metadata     the metadata of the header, a table of texts
--   names        the names of the tensors, sorted
--   entries      name of a tensor -> { dtype, shape, begin, bytes }; begin: its first byte, counted from data_start
-- M.read gives elements as a flat list, row-major. M.make_file gives the bytes of a new file. If a file is damaged, cut
-- short, missing or of another kind, the output is nil and a message that names the file.

local input = require("base.input")
local json = require("dkjson")
local lfs = require("lfs")
local canonical = require("base.canonical")
local escape = require("base.escape")
local lists = require("base.lists")

local M = {}

local MAX_HEADER_BYTES = 16 << 20 -- a sixth of the format's limit, a thousand times a trainer's header
local ELEMENTS_PER_CALL = 128 -- elements that one call unpacks
-- By dtype: the format of an element for string.pack, and its number of bytes.
local FORMATS = { F32 = "f", F64 = "d", I32 = "i4", I64 = "i8", U8 = "B" }
local ELEMENT_BYTES = { F32 = 4, F64 = 8, I32 = 4, I64 = 8, U8 = 1 }

local function is_count(value)
  return math.type(value) == "integer" and value >= 0
end

-- The checked entry of one tensor; or nil and the problem with it. data_bytes: the number of bytes of data in the file.
local function check_entry(stored, data_bytes)
  local element_bytes = type(stored) == "table" and ELEMENT_BYTES[stored.dtype]
  local offsets = element_bytes and stored.data_offsets
  if not element_bytes or type(stored.shape) ~= "table" or type(offsets) ~= "table" or not is_count(offsets[1])
    or not is_count(offsets[2]) then
    return nil, "the dtype, shape or data_offsets are missing or not supported"
  end
  -- The product of the sizes, or false if a size is not a count or the product is larger than the data. The factor 1.0
  -- prevents an overflow.
  local elements = 1
  for _, size in ipairs(stored.shape) do
    elements = is_count(size) and elements and 1.0 * elements * size <= data_bytes and elements * size
  end
  if not elements or offsets[2] - offsets[1] ~= elements * element_bytes or offsets[2] > data_bytes then
    return nil, ("bytes %d to %d of %d do not match its shape"):format(offsets[1], offsets[2], data_bytes)
  end
  return { dtype = stored.dtype, shape = stored.shape, begin = offsets[1], bytes = offsets[2] - offsets[1] }
end

-- The header as a table, the number of bytes before the data, and the file's size; or nil and a message.
local function read_header(file, path)
  local size = file:seek("end")
  file:seek("set", 0)
  local length_bytes = file:read(8)
  local length = length_bytes and #length_bytes == 8 and string.unpack("<I8", length_bytes) or -1
  if length < 0 or length > MAX_HEADER_BYTES or length > size - 8 then
    return nil, path .. ": not a safetensors file, or cut short"
  end
  local header = input.decode(file:read(length))
  if getmetatable(header) ~= input.OBJECT then
    return nil, path .. ": the header is not JSON"
  end
  return header, 8 + length, size
end

-- Adds the tensors of a header to `result`, the result of M.open. Returns `result`; or nil and a message.
local function collect_entries(result, header, data_bytes)
  for name, stored in next, header do
    if name ~= "__metadata__" then
      local entry, message = nil, "the name of a tensor is not text"
      if type(name) == "string" then
        entry, message = check_entry(stored, data_bytes)
      end
      if not entry then
        return nil, ("%s: %s: %s"):format(result.path, escape.plain(name), message)
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
  local header, data_start, size = read_header(file, path)
  file:close()
  if not header then
    return nil, data_start -- a message
  end
  local metadata = type(header.__metadata__) == "table" and header.__metadata__ or {}
  local result = { path = path, data_start = data_start, metadata = metadata, names = {}, entries = {} }
  return collect_entries(result, header, size - data_start)
end

-- The elements in a text of bytes, as a list.
local function unpack_all(bytes, dtype)
  local elements, count, next_byte = {}, 0, 1
  local total = #bytes // ELEMENT_BYTES[dtype]
  while count < total do
    local n = math.min(ELEMENTS_PER_CALL, total - count)
    local values = table.pack(string.unpack("<" .. FORMATS[dtype]:rep(n), bytes, next_byte))
    table.move(values, 1, n, count + 1, elements)
    count, next_byte = count + n, values[n + 1]
  end
  return elements
end

-- Reads `count` elements of a tensor from index `first` (from 0) on; by default all. Returns the list, and the shape.
function M.read(tensors, name, first, count)
  local entry = tensors.entries[name]
  if not entry then
    return nil, ("%s: no tensor %s"):format(tensors.path, name)
  end
  local element_bytes = ELEMENT_BYTES[entry.dtype]
  local file, message = io.open(tensors.path, "rb")
  if not file then
    return nil, message
  end
  file:seek("set", tensors.data_start + entry.begin + (first or 0) * element_bytes)
  local byte_count = count and count * element_bytes or entry.bytes
  local bytes = file:read(byte_count) or ""
  file:close()
  if #bytes < byte_count then
    return nil, ("%s: %s: cut short while it was read"):format(tensors.path, name)
  end
  return unpack_all(bytes, entry.dtype), entry.shape
end

-- Returns the bytes of a file with tensors of float32, from a list of { name, shape, values }, in this order; and the
-- number of bytes before the data.
function M.make_file(list, metadata)
  local header, parts, offset = { __metadata__ = metadata }, {}, 0
  local order = lists.join({ "__metadata__" }, canonical.sort_keys(metadata or {}))
  for i, tensor in ipairs(list) do
    local pieces = {}
    for first = 1, #tensor.values, ELEMENTS_PER_CALL do
      local last = math.min(first + ELEMENTS_PER_CALL - 1, #tensor.values)
      pieces[#pieces + 1] = string.pack("<" .. ("f"):rep(last - first + 1), table.unpack(tensor.values, first, last))
    end
    parts[i] = table.concat(pieces)
    header[tensor.name] = { dtype = "F32", shape = tensor.shape, data_offsets = { offset, offset + #parts[i] } }
    order[#order + 1] = tensor.name
    offset = offset + #parts[i]
  end
  local text = json.encode(header, { keyorder = order })
  text = text .. (" "):rep(-#text % 8)
  return string.pack("<I8", #text) .. text .. table.concat(parts), 8 + #text
end

return M
