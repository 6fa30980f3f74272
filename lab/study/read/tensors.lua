-- Safetensors files: reads those that trainers write, and writes analyses.
--
-- Input: a path. Output: M.open gives what base/safetensors.lua reads of the header; M.read gives elements as a flat
-- list, row-major. M.file gives the bytes of a new file. A file that is damaged or no safetensors file: nil and a
-- message that names it.

local json = require("dkjson")
local safetensors = require("base.safetensors")

local M = { open = safetensors.open }

local TYPES = safetensors.TYPES
local AT_ONCE = 128 -- elements that one call unpacks

-- Unpacks the elements of a string.
local function unpack_all(bytes, kind)
  local out, count, at = {}, 0, 1
  local total = #bytes // kind[2]
  while count < total do
    local n = math.min(AT_ONCE, total - count)
    local values = table.pack(string.unpack("<" .. kind[1]:rep(n), bytes, at))
    table.move(values, 1, n, count + 1, out)
    count, at = count + n, values[n + 1]
  end
  return out
end

-- Elements of a tensor from `first` (from 0) on, `count` of them; without both, all. Returns the list, and the shape.
function M.read(tensors, name, first, count)
  local entry = tensors.entries[name]
  if not entry then
    return nil, ("%s: no tensor %s"):format(tensors.path, name)
  end
  local kind = TYPES[entry.dtype]
  local file, message = io.open(tensors.path, "rb")
  if not file then
    return nil, message
  end
  file:seek("set", tensors.front + entry.begin + (first or 0) * kind[2])
  local wanted = count and count * kind[2] or entry.bytes
  local bytes = file:read(wanted) or ""
  file:close()
  if #bytes < wanted then
    return nil, ("%s: %s: cut short while it was read"):format(tensors.path, name)
  end
  return unpack_all(bytes, kind), entry.shape
end

local TOKENS = { tokens = true, answers = true, targets = true }

-- What a trace's tensor of this length is of: its site and kind (docs/trace.md), or nil.
local function site_of(name, front)
  local rest = name:sub(1, #front) == front and name:sub(#front + 1) or ""
  local site, kind = rest:match("^(.+)%.(%a+)$")
  if kind == "attention" or kind == "scores" or kind == "entropy" then
    return site, kind
  end
  return rest ~= "" and not TOKENS[rest] and site ~= "tokens" and rest or nil, "activations"
end

-- Names of the sites that a trace has of a length and kind ("attention", "scores", "entropy", "activations"), in the
-- order of the file, which is that of the forward pass.
function M.sites(trace, length, kind)
  local front, list, begin = ("n%d."):format(length), {}, {}
  for _, name in ipairs(trace.names) do
    local site, found = site_of(name, front)
    if site and found == kind then
      list[#list + 1], begin[site] = site, trace.entries[name].begin
    end
  end
  table.sort(list, function(a, b)
    return begin[a] < begin[b]
  end)
  return list
end

-- The bytes of a file: list of { name, shape, values }, float32, in this order; and where the data begins.
function M.file(list, metadata)
  local header, parts, order, at = { __metadata__ = metadata }, {}, { "__metadata__" }, 0
  for i, tensor in ipairs(list) do
    local packed = {}
    for first = 1, #tensor.values, AT_ONCE do
      local last = math.min(first + AT_ONCE - 1, #tensor.values)
      packed[#packed + 1] = string.pack("<" .. ("f"):rep(last - first + 1), table.unpack(tensor.values, first, last))
    end
    parts[i] = table.concat(packed)
    header[tensor.name] = { dtype = "F32", shape = tensor.shape, data_offsets = { at, at + #parts[i] } }
    order[#order + 1] = tensor.name
    at = at + #parts[i]
  end
  local text = json.encode(header, { keyorder = order })
  text = text .. (" "):rep(-#text % 8)
  return string.pack("<I8", #text) .. text .. table.concat(parts), 8 + #text
end

return M
