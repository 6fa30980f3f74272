-- Memory of the network on the CPU: buffers as members of structs, as requests to lay_out, and as data.
--
-- Input: a network (builder.lua), a list of buffers (buffers.lua). Output: lines of text; records for
-- templates/cpu/buffer.tpl; { name, form, channels, stream, kept, training, family }, stream: its number.

local calls = require("network.targets.calls")
local lists = require("base.lists")

local M = {}

-- The prefix of a stream's lengths, tokens and rows; empty in a network with one stream.
function M.get_prefix(net, stream)
  return net.streams[2] and stream.name .. "." or ""
end

local MEMBERS = { rows = "real *", row = "real *", keep = "int8_t *", vocabulary = "real *" }

local function write_shape(net, buffer)
  local tokens = buffer.form == "vocabulary" and "[VOCABULARY]"
    or ("[%stokens]"):format(M.get_prefix(net, buffer.stream))
  return buffer.form == "row" and tokens or ("%s[%s]"):format(tokens, (buffer.width.text:gsub(" %* ", " ")))
end

function M.write_members(net, list)
  return calls.write_members(lists.map(list, function(b)
    if b.form == "family" then
      return { type = b.family.name .. "_saved", name = b.family.name }
    end
    local about = write_shape(net, b) .. (b.about and " " .. b.about or "")
    return { type = MEMBERS[b.form], name = b.name, key = b.form .. tostring(b.training), about = about }
  end), 59)
end

-- The buffers that lay_out takes: always, and in training alone. by_mode: training takes more. at, used: the texts
-- before a member and for the pointer to the bytes used so far. With several streams, the bytes of a buffer of the
-- form "row" have no variable, so the text contains the multiplication.
function M.list_requests(net, list, at, used)
  local requests = { always = {}, training = {}, by_mode = false }
  for _, b in ipairs(list) do
    requests.by_mode = requests.by_mode or b.training or b.form == "family"
    local family, length = b.family, "w->%slength" -- the lengths of a family's queries and keys
    local form = family and (family.cross and length .. ", " .. length or length)
    local rows = b.stream and ("w->%srows"):format(M.get_prefix(net, b.stream)) or false
    table.insert(b.training and requests.training or requests.always, { form = b.form, at = at, used = used,
      name = b.name or family.name, width = b.width and b.width.text or false, rows = rows,
      row = net.streams[2] and rows and ("(size_t)%s * sizeof(real)"):format(rows) or "row",
      lengths = form and form:format(family.queries.at, family.keys.at) })
  end
  return requests
end

-- The buffers as data, for counts of memory (memory.lua).
function M.describe(list)
  return lists.map(list, function(b)
    return { name = b.name or b.family.name, form = b.form, channels = b.width and b.width.count,
      stream = b.stream and b.stream.index, kept = b.kept, training = b.training, family = b.family }
  end)
end

-- The names of the families of attentions in a list of kept buffers.
function M.list_families(list)
  return lists.map(list, function(b) return b.family and b.family.name end)
end

return M
