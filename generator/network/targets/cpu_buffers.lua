-- Describes the buffers of the network on the CPU in three ways: as members of structs, as requests for memory, and as
-- pure data. The generated function lay_out gives memory to the requests.
--
-- Input: a network (builder.lua), a list of buffers (buffers.lua). Output:
--   M.write_members   lines of C that declare the members
--   M.list_requests   records for templates/cpu/buffer.tpl
--   M.describe        a list of { name, form, channels, max_cells, stream, is_read_backward, training, family }.
--                     channels: the number of channels (width.count); stream: the index of the stream; the other
--                     fields are those of buffers.lua

local calls = require("network.targets.calls")
local lists = require("base.lists")

local M = {}

-- The prefix of a stream's lengths, tokens and rows; empty in a network with one stream.
function M.get_prefix(net, stream)
  return net.streams[2] and stream.name .. "." or ""
end

-- The C types of buffers, by their form.
local TYPES = { rows = "real *", row = "real *", mask = "int8_t *", vocabulary = "real *",
  step = "real *", steps = "real *" }

local function write_shape(net, buffer)
  local tokens = buffer.form == "vocabulary" and "[VOCABULARY]" or buffer.form == "step" and "[sequences]"
    or ("[%stokens]"):format(M.get_prefix(net, buffer.stream))
  return buffer.form == "row" and tokens or ("%s[%s]"):format(tokens, (buffer.width.text:gsub(" %* ", " ")))
end

function M.write_members(net, list)
  return calls.write_members(lists.map(list, function(buffer)
    if buffer.form == "family" then
      return { type = buffer.family.name .. "_saved", name = buffer.family.name }
    end
    return { type = TYPES[buffer.form], name = buffer.name, key = buffer.form .. tostring(buffer.training),
      comment = write_shape(net, buffer) .. (buffer.comment and " " .. buffer.comment or "") }
  end))
end

-- Returns the requests for memory:
--   always           the records of buffers that exist in training and in evaluation
--   training         the records of buffers that exist only in training
--   depends_on_mode  whether training needs more memory than evaluation
-- Arguments:
--   prefix           the text before a member's name
--   byte_count       C text of a pointer to the count of used bytes
-- The field `channel_bytes` of a record is C text: the bytes of one channel for all tokens. With one stream, it is the
-- C variable `row`.
function M.list_requests(net, list, prefix, byte_count)
  local requests = { always = {}, training = {}, depends_on_mode = false }
  for _, buffer in ipairs(list) do
    requests.depends_on_mode = requests.depends_on_mode or buffer.training or buffer.form == "family"
      or buffer.form == "steps"
    local family, length_format = buffer.family, "w->%slength"
    -- the lengths of a family's queries and keys, or one length for both
    local lengths_format = family and (family.cross and length_format .. ", " .. length_format or length_format)
    local rows = buffer.stream and ("w->%srows"):format(M.get_prefix(net, buffer.stream)) or false
    table.insert(buffer.training and requests.training or requests.always, { form = buffer.form, prefix = prefix,
      used = byte_count,
      name = buffer.name or family.name, width = buffer.width and buffer.width.text or false, rows = rows,
      channel_bytes = net.streams[2] and rows and ("(size_t)%s * sizeof(real)"):format(rows) or "row",
      lengths = lengths_format and lengths_format:format(family.queries.stream_prefix, family.keys.stream_prefix) })
  end
  return requests
end

-- The buffers as data, for counts of memory (memory.lua).
function M.describe(list)
  return lists.map(list, function(buffer)
    return { name = buffer.name or buffer.family.name, form = buffer.form,
      channels = buffer.width and buffer.width.count, max_cells = buffer.max_cells,
      stream = buffer.stream and buffer.stream.index, is_read_backward = buffer.is_read_backward,
      training = buffer.training, family = buffer.family }
  end)
end

-- The names of the families of attentions in a list of buffers.
function M.list_families(list)
  return lists.map(list, function(buffer) return buffer.family and buffer.family.name end)
end

return M
