-- Position tables: the vectors that a model adds to its tokens for their positions.
--
-- Learned and frozen tables are read from a checkpoint; sinusoids are computed from the spec in run.json. A table:
--   block     where the model adds the table: "input", a block's name, such as "layers.0", or "block" for all blocks
--   values    row-major
--   rows      the number of rows; row i has the vector of position i
--   columns   the number of columns (channels)

local lists = require("base.lists")
local safetensors = require("base.safetensors")
local stop = require("lab.stop")

local M = {}

local INPUT = 1 -- exit code

-- Stores the sinusoid of a position in `width` channels; values[first] is channel 0. Sines and cosines alternate. If
-- in_halves, all sines come before all cosines.
local function put_sinusoid(values, first, width, position, in_halves)
  for k = 0, width // 2 - 1 do
    local angle = position * 10000.0 ^ (-2.0 * k / width)
    values[first + (in_halves and k or 2 * k)] = math.sin(angle)
    values[first + (in_halves and width // 2 + k or 2 * k + 1)] = math.cos(angle)
  end
end

-- Returns the sinusoids of positions 0 to rows - 1.
function M.compute_line(rows, width, in_halves)
  local values = {}
  for position = 0, rows - 1 do
    put_sinusoid(values, position * width + 1, width, position, in_halves)
  end
  return values
end

-- Returns the vectors of the first `count` cells of a grid, row by row. The first half of the channels has the sinusoid
-- of the cell's column, the second half the sinusoid of the cell's row.
function M.compute_grid(count, grid_columns, width, in_halves)
  local values, half = {}, width // 2
  for cell = 0, count - 1 do
    put_sinusoid(values, cell * width + 1, half, cell % grid_columns, in_halves)
    put_sinusoid(values, cell * width + half + 1, half, cell // grid_columns, in_halves)
  end
  return values
end

-- Returns the stored tables, ordered by block: { name, block, number (of the block; -1: the input) }.
local function list_tables(file)
  local list = lists.map(file.names, function(name)
    local block = not name:find("^optimizer%.") and name:match("^(.+)%.position%.weight$")
    local number = block and tonumber(block:match("%.(%d+)$"))
    return block and { name = name, block = number and block or "input", number = number or -1 } or nil
  end)
  table.sort(list, function(a, b) return a.number < b.number end)
  return list
end

-- Reads the first rows of a stored table. item: from list_tables. Ends the command for an invalid table.
local function read_stored(file, item, rows)
  local row_count, columns = table.unpack(file.entries[item.name].shape)
  if not columns or row_count < rows then
    stop.exit(INPUT, ("%s: %s: has %s; expected at least %d rows"):format(file.path, item.name, columns and ("%d rows")
      :format(row_count) or "one dimension", rows))
  end
  local values = stop.must(INPUT, safetensors.read(file, item.name, 0, rows * columns))
  if lists.find(values, function(value) return value - value ~= 0 end) then
    stop.exit(INPUT, ("%s: %s: has numbers that are not finite"):format(file.path, item.name))
  end
  return { block = item.block, values = values, rows = rows, columns = columns }
end

-- Returns a list with the table of sinusoids of a spec; an empty list for other encodings.
local function compute_table(spec, rows, grid_columns)
  local encoding, width = spec.encoding or {}, spec.model.width
  local positions, additive = encoding.positions or {}, encoding.additive or {}
  local in_halves = additive.channels ~= "interleaved"
  local values = positions.kind == "grid" and M.compute_grid(rows, grid_columns, width, in_halves)
    or positions.kind == "index" and M.compute_line(rows, width, in_halves)
  if additive.kind ~= "sinusoid" or not values then
    return {}
  end
  return { { block = additive.at or "input", values = values, rows = rows, columns = width } }
end

-- Returns a run's position tables. path: the checkpoint; rows: the number of positions; grid_columns: the number of
-- columns of the task's grid.
function M.read(path, spec, rows, grid_columns)
  local file = stop.must(INPUT, safetensors.open(path))
  local list = lists.map(list_tables(file), function(item) return read_stored(file, item, rows) end)
  return #list > 0 and list or compute_table(spec, rows, grid_columns)
end

-- Whether training changes the position tables of a spec.
function M.are_learned(spec)
  local additive = spec.encoding and spec.encoding.additive or {}
  return additive.kind == "learned" and additive.learned ~= false
end

return M
