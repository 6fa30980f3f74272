-- Lines of attention: diagonals and columns with large values in a matrix of mean attention, and the bias that these
-- lines give (Duan and Shi 2024, attention bias calibration; docs/calibration.md).
--
-- Input: a matrix { rows, columns, values }, values row-major, queries by keys. A cell that is not finite is masked and
-- belongs to no line. Choices of one family: { rows, columns, line, shortest, precision, over, equal, threshold, keep,
-- spread, value, directions, align, corner }, which M.FIELDS of fields.lua describes; rows and columns are nil for all.
--
-- From one row to the next, the column of a line changes by its direction: 1, -1 or 0. All cells of a line have the
-- same index; row and column are counted from 0:
--     direction           index                           the line with index 0
--     1                   column - row                    the main diagonal
--     -1                  columns - 1 - (row + column)    the anti-diagonal through the upper right corner
--     0, aligned left     column                          the first column
--     0, aligned right    columns - 1 - column            the last column

local lists = require("base.lists")
local statistics = require("lab.study.read.statistics")
local sheets = require("lab.study.analyze.sheets")
local wording = require("base.wording")

local M = {}

local DIRECTIONS = { 1, -1, 0 }

local function compute_index(direction, row, column, columns, align)
  if direction == 1 then
    return column - row
  elseif direction == -1 then
    return columns - 1 - (row + column)
  end
  return align == "right" and columns - 1 - column or column
end

-- Returns all lines of a direction as { index, sum, cell_count }, sorted by index.
local function sum_lines(matrix, direction, choices)
  local entry_by_index, list = {}, {}
  local number_format = choices.precision == "float32" and "f" or "d"
  local function round(value)
    return (number_format:unpack(number_format:pack(value)))
  end
  local first = direction == 0 and choices.columns and math.max(0, matrix.columns - choices.columns - 1) or 0
  for row = 0, (choices.rows or matrix.rows) - 1 do
    for column = first, matrix.columns - 1 do
      local value = matrix.values[row * matrix.columns + column + 1]
      if value > -math.huge and value < math.huge then
        local index = compute_index(direction, row, column, matrix.columns, choices.align)
        local entry = entry_by_index[index]
        if not entry then
          entry = { index = index, sum = 0.0, cell_count = 0 }
          entry_by_index[index], list[#list + 1] = entry, entry
        end
        entry.sum, entry.cell_count = round(entry.sum + round(value)), entry.cell_count + 1
      end
    end
  end
  table.sort(list, function(a, b) return a.index < b.index end)
  return list
end

-- Returns the lines of a direction, { index, value, cell_count }, without lines that are too short.
function M.list_lines(matrix, direction, choices)
  local min_cells = choices.shortest == "half" and (choices.rows or matrix.rows) / 2 or choices.shortest
  return lists.map(sum_lines(matrix, direction, choices), function(entry)
    local value = choices.line == "mean" and entry.sum / entry.cell_count or entry.sum
    return entry.cell_count >= min_cells
      and { index = entry.index, value = value, cell_count = entry.cell_count } or nil
  end)
end

-- Returns the values from which mean and deviation are computed.
local function list_counted(lines, choices)
  local values = lists.map(lines, function(line)
    return (choices.over == "all" or line.value ~= 0) and line.value or nil
  end)
  return choices.equal == "merged" and lists.drop_repeats(values) or values
end

-- Searches one direction of one head. Adds to each line its z: value minus mean, in standard deviations. Returns
--   direction    the direction
--   lines        from M.list_lines
--   count        the number of counted values (list_counted)
--   kept_lines   { index, value (the bias), raw_value (the line's value), z }
-- and, unless count is 0,
--   mean, deviation, threshold   of the counted values
--   max_value    the largest value of a line
--   is_flat      whether all counted lines have the same value, up to choices.spread
function M.search_direction(matrix, direction, choices)
  local lines = M.list_lines(matrix, direction, choices)
  local values = list_counted(lines, choices)
  local result = { direction = direction, lines = lines, count = #values, kept_lines = {} }
  if #values == 0 then
    return result
  end
  local max_value, max_size = -math.huge, 0.0
  for _, line in ipairs(lines) do
    max_value, max_size = math.max(max_value, line.value), math.max(max_size, math.abs(line.value))
  end
  local mean = statistics.mean(values)
  local deviation = math.sqrt(lists.sum(values, function(value) return (value - mean) ^ 2 end) / #values)
  result.mean, result.deviation, result.max_value = mean, deviation, max_value
  result.threshold = mean + choices.threshold * deviation
  result.is_flat = deviation < choices.spread * max_size
  for _, line in ipairs(lines) do
    local value = line.value
    line.z = deviation > 0 and (value - mean) / deviation or nil
    local passes = value > result.threshold or choices.keep == "at_least" and value == result.threshold
    if passes and not result.is_flat then
      table.insert(result.kept_lines, { index = line.index, raw_value = value, z = line.z,
        value = choices.value == "relative" and value - max_value or value })
    end
  end
  return result
end

-- Whether no line of `count` lines can reach the threshold: the largest possible z is sqrt(count - 1).
function M.is_out_of_reach(count, choices)
  local bound = choices.threshold ^ 2 + 1
  return count < bound or count == bound and choices.keep ~= "at_least"
end

-- Searches one head. Returns nil and a message if the matrix has too few rows, or
--   directions   the results of M.search_direction for all directions, each with the field is_chosen: whether the
--                choices name the direction, so that its lines may be kept
--   kept_lines   the kept lines of the chosen directions, { direction, index, value, raw_value, z }
function M.find(matrix, choices)
  if choices.rows and choices.rows > matrix.rows then
    return nil, ("rows = %d: found a matrix of %d rows\n  expected: at most %d, or all"):format(choices.rows,
      matrix.rows, matrix.rows)
  end
  local head = { directions = {}, kept_lines = {} }
  for i, direction in ipairs(DIRECTIONS) do
    local result, is_chosen = M.search_direction(matrix, direction, choices), lists.has(choices.directions, direction)
    head.directions[i], result.is_chosen = result, is_chosen
    for _, line in ipairs(is_chosen and result.kept_lines or {}) do
      line.direction = direction
      table.insert(head.kept_lines, line)
    end
  end
  return head
end

-- Returns the bias as a matrix.
--   A cell has the largest value of the kept lines that contain the cell. Without a line, the cell is closed: -inf.
--   The corner that choices.corner opens is 0.
--   In a row without open cells, all visible cells become 0.
--   If is_causal, keys after the query are not visible: their cells stay closed.
function M.make_bias(kept_lines, rows, columns, choices, is_causal)
  local biases, values = { [1] = {}, [-1] = {}, [0] = {} }, {} -- biases: by direction and index
  local opens_corner = choices.corner == "all" or choices.corner == "lines" and #kept_lines > 0
  for _, line in ipairs(kept_lines) do
    biases[line.direction][line.index] = line.value
  end
  for row = 0, rows - 1 do
    local has_open_cell, visible_count = false, is_causal and math.min(row + 1, columns) or columns
    for column = 0, columns - 1 do
      local max_value = -math.huge
      for _, direction in ipairs(column < visible_count and DIRECTIONS or {}) do
        local value = biases[direction][compute_index(direction, row, column, columns, choices.align)]
        max_value = value and math.max(max_value, value) or max_value
      end
      if opens_corner and row == 0 and column == columns - 1 and column < visible_count then
        max_value = 0.0
      end
      has_open_cell = has_open_cell or max_value > -math.huge
      values[row * columns + column + 1] = max_value
    end
    if not has_open_cell then
      for column = 0, visible_count - 1 do
        values[row * columns + column + 1] = 0.0
      end
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
local function find_greatest_line(result)
  local best
  for _, line in ipairs(result.lines) do
    best = (not best or line.value > best.value) and line or best
  end
  return best
end

-- Returns the reason why no line of a direction was kept.
local function describe_reason(result, choices)
  local best = find_greatest_line(result)
  if result.count == 0 then
    return #result.lines == 0 and "no line has enough cells" or "all lines have the value 0"
  elseif result.is_flat then
    return ("all lines%s have the same value"):format(choices.over == "nonzero" and " that are not 0" or "")
  elseif M.is_out_of_reach(result.count, choices) then
    local limit = choices.keep == "at_least" and "at least" or "more than"
    return ("%s are too few for k = %g: z is at most %.2f; a single strong line passes only if there are %s "
      .. "k^2 + 1 = %.4g lines, and r equally strong lines pass only if there are %s r times as many"):format(
      wording.count(result.count, "line"), choices.threshold, math.sqrt(result.count - 1), limit,
      choices.threshold ^ 2 + 1, limit)
  end
  return ("of %s, line %d has the greatest value (%s, %s)"):format(wording.count(result.count, "line"), best.index,
    format_number(best.value), format_z(best))
end

local function format_kept(result)
  return table.concat(lists.map(result.kept_lines, function(line)
    return ("%d (%s, %s)"):format(line.index, format_number(line.raw_value), format_z(line))
  end), ", ")
end

-- Returns a text on one direction of a head; nil if the direction is not chosen and has no lines.
local function format_direction(result, choices)
  local name = NAMES[result.direction]
  if not result.is_chosen then
    local best = find_greatest_line(result)
    return best and ("%-14s not chosen; line %d has the greatest value (%s, %s)"):format(name, best.index,
      format_number(best.value), format_z(best)) or nil
  elseif #result.kept_lines == 0 then
    return ("%-14s none: %s"):format(name, describe_reason(result, choices))
  end
  return ("%-14s %s, of %s; threshold %s"):format(name, format_kept(result), wording.count(result.count, "line"),
    format_number(result.threshold))
end

local function format_section(section)
  local choices, out = section.choices, {}
  out[1] = ("%s, %d queries and %d keys; kept: lines %s k = %g deviations above the mean, in the first %s; columns "
    .. "counted from the %s"):format(section.title, section.rows, section.columns,
      choices.keep == "above" and "more than" or "at least", choices.threshold,
      wording.count(choices.rows or section.rows, "row"), choices.align)
  for h, head in ipairs(section.heads) do
    local prefix = ("  head %-2d "):format(h - 1)
    for _, result in ipairs(head.directions) do
      local text = format_direction(result, choices)
      if text then
        out[#out + 1] = prefix .. text
        prefix = (" "):rep(#prefix)
      end
    end
  end
  return out
end

-- Formats sections as lines of text. A section:
--   family          the family's name in specs
--   title           the family's name in texts
--   rows, columns   the size of the matrices
--   choices         of the family
--   heads           the results of M.find
function M.format_lines(sections)
  return lists.collect(sections, format_section)
end

-- Returns the file lines.csv, with a row for each line of each head.
function M.make_csv(sections)
  local rows = {}
  for _, section in ipairs(sections) do
    for h, head in ipairs(section.heads) do
      for result, line in lists.iterate_nested(head.directions, "lines") do
        local kept_line = lists.find(head.kept_lines, function(candidate)
          return candidate.direction == result.direction and candidate.index == line.index
        end)
        rows[#rows + 1] = { family = section.family, head = h - 1, result = result, line = line,
          z = line.z and ("%.6g"):format(line.z), bias = kept_line and kept_line.value }
      end
    end
  end
  return sheets.to_csv("lines.csv", "family head direction=result.direction line=line.index cells=line.cell_count "
    .. "value=line.value z threshold=result.threshold bias", rows)
end

function M.count_kept(section)
  return lists.sum(section.heads, function(head) return #head.kept_lines end)
end

return M
