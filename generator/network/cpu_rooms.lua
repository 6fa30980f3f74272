-- Buffers in code for the CPU: as members of a struct, as what lay_out takes, and as data for counts of memory.
--
-- Input: a list of buffers (buffers.lua). Output: M.lines, lines of a struct; M.taken, { always, training }, a template
-- and what it is handed for each; M.data, { name, form, channels, kept, family } for plan/memory.lua: pure data.

local M = {}

local GROUPED = 60 -- columns of a line of members that takes one more
local MEMBERS = { rows = "real", row = "real", keep = "int8_t" }

local function shape_text(buffer)
  return buffer.form == "row" and "[tokens]" or ("[tokens][%s]"):format((buffer.width.text:gsub(" %* ", " ")))
end

-- Buffers as members of a struct: neighbours of one shape stand in one line.
function M.lines(list)
  local lines = {}
  for _, b in ipairs(list) do
    local last = lines[#lines]
    if b.form == "family" then
      lines[#lines + 1] = { text = ("%s_kept %s;"):format(b.family.name, b.family.name) }
    elseif last and last.form == b.form and last.shape == shape_text(b) and last.said == b.about
      and last.training == b.training and #last.text < GROUPED then
      last.text = ("%s, *%s;"):format(last.text:sub(1, -2), b.name)
    else
      lines[#lines + 1] = { form = b.form, shape = shape_text(b), said = b.about, training = b.training,
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

-- What lay_out takes: always, and in training alone.
function M.taken(list)
  local rooms = { always = {}, training = {} }
  for _, b in ipairs(list) do
    table.insert(b.training and rooms.training or rooms.always, { template = ("cpu/room/%s.tpl"):format(b.form),
      name = b.form == "family" and b.family.name or b.name, width = b.width and b.width.text or false })
  end
  return rooms
end

function M.data(list)
  local out = {}
  for i, b in ipairs(list) do
    out[i] = { name = b.name or b.family.name, form = b.form, channels = b.width and b.width.count, kept = b.kept,
      family = b.family }
  end
  return out
end

return M
