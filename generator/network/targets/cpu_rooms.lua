-- Memory of the network on the CPU: buffers as members of structs, what lay_out takes for them, and as data.
--
-- Input: a network (builder.lua), a list of buffers (buffers.lua). Output: lines of text; records for
-- templates/cpu/room.tpl; { name, form, channels, stream, kept, family }.

local M = {}

-- Of which stream a length, tokens or rows are, where a network has several.
function M.of_stream(net, stream)
  return net.streams[2] and stream.name .. "." or ""
end

local GROUPED = 60 -- columns of a line of members that takes one more
local MEMBERS = { rows = "real", row = "real", keep = "int8_t", vocabulary = "real" }

local function shape_text(net, buffer)
  local tokens = ("[%stokens]"):format(M.of_stream(net, buffer.stream))
  if buffer.form == "vocabulary" then
    tokens = "[VOCABULARY]"
  end
  return buffer.form == "row" and tokens or ("%s[%s]"):format(tokens, (buffer.width.text:gsub(" %* ", " ")))
end

-- Buffers as members of a struct: neighbours of one shape stand in one line.
function M.members(net, list)
  local lines = {}
  for _, b in ipairs(list) do
    local last, shape = lines[#lines], b.form ~= "family" and shape_text(net, b)
    if b.form == "family" then
      lines[#lines + 1] = { text = ("%s_kept %s;"):format(b.family.name, b.family.name) }
    elseif last and last.form == b.form and last.shape == shape and last.said == b.about
      and last.training == b.training and #last.text < GROUPED then
      last.text = ("%s, *%s;"):format(last.text:sub(1, -2), b.name)
    else
      lines[#lines + 1] = { form = b.form, shape = shape, said = b.about, training = b.training,
        text = ("%s *%s;"):format(MEMBERS[b.form], b.name) }
    end
  end
  local texts = {}
  for i, line in ipairs(lines) do
    local about = line.shape and line.shape .. (line.said and " " .. line.said or "")
    texts[i] = line.text .. (about and (" /* %s */"):format(about) or "")
  end
  return texts
end

-- The lengths of a family's sides in a workspace.
local function sides(family)
  local queries, keys = ("w->%slength"):format(family.queries.at), ("w->%slength"):format(family.keys.at)
  return family.cross and queries .. ", " .. keys or queries
end

-- What lay_out takes: always, and in training alone. by_mode: training takes more. Rows of one of several streams have
-- no word of their own.
function M.of(net, list, at, used)
  local rooms = { always = {}, training = {}, by_mode = false }
  for _, b in ipairs(list) do
    rooms.by_mode = rooms.by_mode or b.training or b.form == "family"
    local rows = b.stream and ("w->%srows"):format(M.of_stream(net, b.stream)) or false
    table.insert(b.training and rooms.training or rooms.always, { form = b.form, at = at, used = used,
      name = b.form == "family" and b.family.name or b.name, width = b.width and b.width.text or false, rows = rows,
      row = net.streams[2] and rows and ("(size_t)%s * sizeof(real)"):format(rows) or "row",
      lengths = b.family and sides(b.family) })
  end
  return rooms
end

-- The rooms as data, for counts of memory (memory.lua).
function M.data(list)
  local out = {}
  for i, b in ipairs(list) do
    out[i] = { name = b.name or b.family.name, form = b.form, channels = b.width and b.width.count,
      stream = b.stream and b.stream.index, kept = b.kept, training = b.training, family = b.family }
  end
  return out
end

-- The families of attentions that a list of buffers keeps.
function M.families(list)
  local names = {}
  for _, b in ipairs(list) do
    names[#names + 1] = b.family and b.family.name or nil
  end
  return names
end

return M
