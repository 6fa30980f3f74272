-- Lines of attention: diagonals of a mean attention matrix with large values, and the bias that they give (Duan and
-- Shi 2024, attention bias calibration; docs/calibration.md).
--
-- Input: a matrix { rows, columns, values }, values row-major, queries by keys; a cell that is not finite is masked and
-- belongs to no line. Choices: { rows, columns, line, shortest, precision, over, equal, threshold, keep, spread, value,
-- directions, align, corner }, which M.FIELDS of fields.lua describes, for one family; rows and columns are nil for
-- all. Output: see M.find and M.extend.
--
-- A line runs in direction (1, D), with rows and columns counted from 0:
--     D =  1   line = column - row                    0: the main diagonal
--     D = -1   line = columns - 1 - (row + column)    0: the anti-diagonal through the upper right corner
--     D =  0   line = columns - 1 - column            0: the last column; aligned left, line = column

local lists = require("base.lists")
local statistics = require("lab.study.read.statistics")
local sheets = require("lab.study.analyze.sheets")
local wording = require("base.wording")

local M = {}

local DIRECTIONS = { 1, -1, 0 }

local function number_line(direction, row, column, columns, align)
  if direction == 1 then
    return column - row
  elseif direction == -1 then
    return columns - 1 - (row + column)
  end
  return align == "right" and columns - 1 - column or column
end

-- Returns all lines of a direction as { line, sum, cells (their number) }, sorted by line. Rows are added from 0 on.
local function sum_lines(matrix, direction, choices)
  local by_line, list = {}, {}
  local form = choices.precision == "float32" and "f" or "d"
  local function round(value)
    return (form:unpack(form:pack(value)))
  end
  local first = direction == 0 and choices.columns and math.max(0, matrix.columns - choices.columns - 1) or 0
  for row = 0, (choices.rows or matrix.rows) - 1 do
    for column = first, matrix.columns - 1 do
      local value = matrix.values[row * matrix.columns + column + 1]
      if value > -math.huge and value < math.huge then
        local line = number_line(direction, row, column, matrix.columns, choices.align)
        local entry = by_line[line]
        if not entry then
          entry = { line = line, sum = 0.0, cells = 0 }
          by_line[line], list[#list + 1] = entry, entry
        end
        entry.sum, entry.cells = round(entry.sum + round(value)), entry.cells + 1
      end
    end
  end
  table.sort(list, function(a, b) return a.line < b.line end)
  return list
end

-- Returns the lines of a direction, { line, value, cells (their number) }, without lines that are too short.
function M.list_lines(matrix, direction, choices)
  local shortest = choices.shortest == "half" and (choices.rows or matrix.rows) / 2 or choices.shortest
  return lists.map(sum_lines(matrix, direction, choices), function(entry)
    local value = choices.line == "mean" and entry.sum / entry.cells or entry.sum
    return entry.cells >= shortest and { line = entry.line, value = value, cells = entry.cells } or nil
  end)
end

-- Returns the values of the lines over which mean and deviation are computed.
local function list_counted(lines, choices)
  local values = lists.map(lines, function(line)
    return (choices.over == "all" or line.value ~= 0) and line.value or nil
  end)
  return choices.equal == "merged" and lists.drop_repeats(values) or values
end

-- Searches one direction of one head: { direction, lines (M.list_lines), count (of counted values), kept } and, unless
-- count is 0, mean, deviation, threshold, largest (value of a line), equal (all lines have one value, so that none can
-- stand out). kept: { line, value (the bias), raw (the line's value), z }. Sets z of lines: deviations above the mean.
function M.search_direction(matrix, direction, choices)
  local lines = M.list_lines(matrix, direction, choices)
  local values = list_counted(lines, choices)
  local found = { direction = direction, lines = lines, count = #values, kept = {} }
  if #values == 0 then
    return found
  end
  local largest, size = -math.huge, 0.0
  for _, line in ipairs(lines) do
    largest, size = math.max(largest, line.value), math.max(size, math.abs(line.value))
  end
  local mean = statistics.mean(values)
  local deviation = math.sqrt(lists.sum(values, function(value) return (value - mean) ^ 2 end) / #values)
  found.mean, found.deviation, found.largest = mean, deviation, largest
  found.threshold = mean + choices.threshold * deviation
  found.equal = deviation < choices.spread * size
  for _, line in ipairs(lines) do
    local value = line.value
    line.z = deviation > 0 and (value - mean) / deviation or nil
    local passes = value > found.threshold or choices.keep == "at_least" and value == found.threshold
    if passes and not found.equal then
      table.insert(found.kept, { line = line.line, raw = value, z = line.z,
        value = choices.value == "relative" and value - largest or value })
    end
  end
  return found
end

-- Whether no line can exceed the threshold (in deviations): the largest z-score among K = count values is sqrt(K - 1).
function M.is_out_of_reach(count, threshold)
  return count <= threshold * threshold + 1
end

-- Searches one head: { directions, kept }: directions, all results of M.search_direction with `searched`, whether the
-- choices name the direction; kept, { direction, line, value, raw, z } of named ones. Or nil, message on too few rows.
function M.find(matrix, choices)
  if choices.rows and choices.rows > matrix.rows then
    return nil, ("rows = %d: found a matrix of %d rows\n  expected: at most %d, or all"):format(choices.rows,
      matrix.rows, matrix.rows)
  end
  local head = { directions = {}, kept = {} }
  for i, direction in ipairs(DIRECTIONS) do
    local found, searched = M.search_direction(matrix, direction, choices), lists.has(choices.directions, direction)
    head.directions[i], found.searched = found, searched
    for _, line in ipairs(searched and found.kept or {}) do
      line.direction = direction
      table.insert(head.kept, line)
    end
  end
  return head
end

-- Returns the bias of a matrix with these numbers of rows and columns: row-major, -inf (closed) where no kept line
-- runs, the largest value where several meet, 0 in the corner that choices.corner opens. In a row without open cells,
-- all cells are 0, except for keys after the query if causal. causal: keys after a query are closed.
function M.extend(kept, rows, columns, choices, causal)
  local biases, values = { [1] = {}, [-1] = {}, [0] = {} }, {} -- biases: by direction and line
  local corner = choices.corner == "all" or choices.corner == "lines" and #kept > 0
  for _, line in ipairs(kept) do
    biases[line.direction][line.line] = line.value
  end
  for row = 0, rows - 1 do
    local open, visible = false, causal and math.min(row + 1, columns) or columns -- visible: the number of keys
    for column = 0, columns - 1 do
      local largest = -math.huge
      for _, direction in ipairs(column < visible and DIRECTIONS or {}) do
        local value = biases[direction][number_line(direction, row, column, columns, choices.align)]
        largest = value and math.max(largest, value) or largest
      end
      if corner and row == 0 and column == columns - 1 and column < visible then
        largest = 0.0
      end
      open = open or largest > -math.huge
      values[row * columns + column + 1] = largest
    end
    for column = 0, open and -1 or visible - 1 do
      values[row * columns + column + 1] = 0.0
    end
  end
  return { rows = rows, columns = columns, values = values }
end

local NAMES = { [1] = "diagonal", [-1] = "anti-diagonal", [0] = "column" }

local function format_number(value)
  return ("%.4g"):format(value)
end

local function format_z(line)
  return line.z and ("z %.2f"):format(line.z) or "z undefined"
end

-- Returns the line with the largest value; nil without lines.
local function find_greatest(found)
  local best
  for _, line in ipairs(found.lines) do
    best = (not best or line.value > best.value) and line or best
  end
  return best
end

-- Returns the reason why no line of a direction was kept.
local function describe_reason(found, choices)
  local best = find_greatest(found)
  if found.count == 0 then
    return #found.lines == 0 and "no line has enough cells" or "all lines have the value 0"
  elseif found.equal then
    return ("all lines%s have one value"):format(choices.over == "nonzero" and " that are not 0" or "")
  elseif M.is_out_of_reach(found.count, choices.threshold) then
    return ("%s are too few: z is at most %.2f; r strong lines need K > r (k^2 + 1) = %.4g r lines"):format(
      wording.count(found.count, "line"), math.sqrt(found.count - 1), choices.threshold ^ 2 + 1)
  end
  return ("of %s the greatest is %d (%s, %s)"):format(wording.count(found.count, "line"), best.line,
    format_number(best.value), format_z(best))
end

local function format_kept(found)
  return table.concat(lists.map(found.kept, function(line)
    return ("%d (%s, %s)"):format(line.line, format_number(line.raw), format_z(line))
  end), ", ")
end

local function format_direction(found, choices)
  local name = NAMES[found.direction]
  if not found.searched then
    local best = find_greatest(found)
    return best and ("%-14s not searched; the greatest is %d (%s, %s)"):format(name, best.line,
      format_number(best.value), format_z(best)) or nil
  elseif #found.kept == 0 then
    return ("%-14s none: %s"):format(name, describe_reason(found, choices))
  end
  return ("%-14s %s, of %s; threshold %s"):format(name, format_kept(found), wording.count(found.count, "line"),
    format_number(found.threshold))
end

local function format_part(part)
  local choices, out = part.choices, {}
  out[1] = ("%s, %d queries and %d keys; in the first %s lines of k = %g deviations above the mean; columns "
    .. "counted from the %s"):format(part.words, part.rows, part.columns, wording.count(choices.rows or part.rows,
    "row"), choices.threshold, choices.align)
  for h, head in ipairs(part.heads) do
    local prefix = ("  head %-2d "):format(h - 1)
    for _, found in ipairs(head.directions) do
      local text = format_direction(found, choices)
      if text then
        out[#out + 1] = prefix .. text
        prefix = (" "):rep(#prefix)
      end
    end
  end
  return out
end

-- Formats parts as lines of text. A part: { family (its name), words (the name in texts), rows, columns (of matrices),
-- choices, heads (M.find) }.
function M.format_lines(parts)
  return lists.collect(parts, format_part)
end

-- Returns the file lines.csv, with a row for each line of each head.
function M.make_csv(parts)
  local rows = {}
  for _, part in ipairs(parts) do
    for h, head in ipairs(part.heads) do
      for found, line in lists.iterate_nested(head.directions, "lines") do
        local kept = lists.find(head.kept, function(one)
          return one.direction == found.direction and one.line == line.line
        end)
        rows[#rows + 1] = { family = part.family, head = h - 1, found = found, line = line,
          z = line.z and ("%.6g"):format(line.z), bias = kept and kept.value }
      end
    end
  end
  return sheets.to_csv("lines.csv", "family head direction=found.direction line=line.line cells=line.cells "
    .. "value=line.value z threshold=found.threshold bias", rows)
end

function M.count_kept(part)
  return lists.sum(part.heads, function(head) return #head.kept end)
end

return M
