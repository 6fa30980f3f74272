-- Records of what the CPU does for the labelled rows of a network alone (labelled_rows.lua).
--
-- Input: the state of cpu_network.lua, where `part` is what labelled_rows.lua gives, or nil; a scope, names of it
-- (cpu_names.lua). In generated code `part` says which tokens of each sequence a repetition has rows of: all, or in the
-- last one those that are read. Taking rows and spreading them are no work where they are all.

local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")

local M = {}

-- The buffer for the labelled rows of a value that has all: <value>_read, or with a number. Its first reader counts as
-- who writes it.
local function room_of(cpu, value, reader)
  local taken, name, number = {}, value.name .. "_read", 1
  if cpu.part_rooms[value] then
    return cpu.part_rooms[value]
  end
  for _, b in ipairs(cpu.buffers.workspace) do
    taken[b.name or ""] = true
  end
  while taken[name] do
    number = number + 1
    name = ("%s_read%d"):format(value.name, number)
  end
  cpu.part_rooms[value] = name
  table.insert(cpu.buffers.workspace, buffers.rows(value, reader, { name = name, about = "rows that are read" }))
  return name
end

-- Functions that make records of a scope: one from an entry of its list to names of the scope and to where values
-- lie. For one of labelled rows alone those of a value that has all are taken by a record ahead of the first that reads
-- them: in each direction, but in the network's own step once.
function M.naming(cpu, scope, at, place, records, mode)
  local part = cpu.part
  if not part then
    return function()
      return at, place
    end
  end
  local step = scope == cpu.net and mode == "train"
  local taken, part_at = step and cpu.part_taken or {}, setmetatable({ partly = true }, { __index = at })
  return function(entry)
    if not part.partial[entry] or entry.kind == "attention" then
      return at, place
    end
    return part_at, function(value)
      if part.values[value] then
        return place(value)
      elseif not taken[value] then
        taken[value] = room_of(cpu, value, entry)
        calls.append("cpu", records, "part", at, { self = at.self, part = at.part, name = taken[value],
          width = value.width.text, x = place(value), rows = at.w .. taken[value] })
      end
      return taken[value]
    end
  end
end

-- Ahead of an entry, or at the end of a scope, gradients of labelled rows become those of all.
function M.spread(cpu, at, records, key)
  for _, buffer in ipairs(cpu.part and cpu.part.spread[key] or {}) do
    calls.append("cpu", records, "spread", at, { call = "spread(self, part, width, gradient)",
      width = buffer.width.text, gradient = at.w .. buffer.name })
  end
end

return M
