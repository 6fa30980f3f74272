-- Principal components: fitted on one set of points, applied to others.
--
-- Input: points as a flat list, row-major, and the number of channels. Output: M.fit returns { mean, components,
-- variance, total }: components[k] is a unit vector, variance[k] the variance of the points along it (the denominator
-- is the number of points), total the variance summed over all channels; not whitened. A component's arbitrary sign is
-- chosen so that its entry of the largest size (the first if several are equal) is positive.

local correlation = require("lab.study.analyze.mathematics.correlation")
local lists = require("base.lists")

local M = {}

local SWEEPS = 60
local SMALL = 1e-22 -- a remainder below this share of the sum of squares counts as 0

local function mean_of(points, width)
  local mean, count = {}, #points // width
  for c = 1, width do
    local sum = 0.0
    for at = c, #points, width do
      sum = sum + points[at]
    end
    mean[c] = sum / count
  end
  return mean
end

-- Returns a matrix, a list of rows, with the same number on its whole diagonal and zeros elsewhere.
local function square(size, diagonal)
  local matrix = {}
  for i = 1, size do
    matrix[i] = {}
    for j = 1, size do
      matrix[i][j] = i == j and diagonal or 0.0
    end
  end
  return matrix
end

-- Returns the covariance of points, with their number as denominator: a list of rows.
local function covariance(points, width, mean)
  local matrix, count, row = square(width, 0.0), #points // width, {}
  for at = 0, #points - width, width do
    for c = 1, width do
      row[c] = points[at + c] - mean[c]
    end
    for i = 1, width do
      local own, value = matrix[i], row[i]
      for j = i, width do
        own[j] = own[j] + value * row[j]
      end
    end
  end
  for i = 1, width do
    for j = i, width do
      matrix[i][j] = matrix[i][j] / count
      matrix[j][i] = matrix[i][j]
    end
  end
  return matrix
end

-- Returns the sums of squares of the elements off the diagonal and of all elements.
local function sizes(matrix)
  local rest, all = 0.0, 0.0
  for i, row in ipairs(matrix) do
    for j, value in ipairs(row) do
      all = all + value * value
      rest = rest + (i ~= j and value * value or 0)
    end
  end
  return rest, all
end

-- One Jacobi rotation: makes matrix[p][q] zero and rotates the vectors. Press et al., Numerical Recipes, 11.1.
local function rotate(matrix, vectors, p, q)
  local theta = (matrix[q][q] - matrix[p][p]) / (2 * matrix[p][q])
  local t = (theta < 0 and -1 or 1) / (math.abs(theta) + math.sqrt(theta * theta + 1))
  local c = 1 / math.sqrt(t * t + 1)
  local s = t * c
  for _, row in ipairs(matrix) do
    local a, b = row[p], row[q]
    row[p], row[q] = c * a - s * b, s * a + c * b
  end
  local first, second = matrix[p], matrix[q]
  local left, right = vectors[p], vectors[q]
  for j = 1, #matrix do
    local a, b = first[j], second[j]
    first[j], second[j] = c * a - s * b, s * a + c * b
    a, b = left[j], right[j]
    left[j], right[j] = c * a - s * b, s * a + c * b
  end
end

local function orient(vector)
  local largest = 0.0
  for _, value in ipairs(vector) do
    largest = math.abs(value) > math.abs(largest) and value or largest
  end
  return largest < 0 and lists.map(vector, function(value) return -value end) or vector
end

-- Returns the eigenvalues, descending, and the unit eigenvectors of a symmetric matrix, which is overwritten.
function M.eigen(matrix)
  local n, vectors = #matrix, square(#matrix, 1.0)
  for _ = 1, SWEEPS do
    local rest, all = sizes(matrix)
    if rest <= SMALL * all then
      break
    end
    for p = 1, n - 1 do
      for q = p + 1, n do
        if matrix[p][q] ~= 0 then
          rotate(matrix, vectors, p, q)
        end
      end
    end
  end
  local order = correlation.order(lists.map(matrix, function(row, i) return -row[i] end))
  return lists.map(order, function(i) return matrix[i][i] end), lists.map(order, function(i)
    return orient(vectors[i])
  end)
end

-- Fits `count` components.
function M.fit(points, width, count)
  local mean = mean_of(points, width)
  local values, vectors = M.eigen(covariance(points, width, mean))
  return { mean = mean, components = { table.unpack(vectors, 1, count) },
    variance = { table.unpack(values, 1, count) }, total = lists.sum(values, function(value) return value end) }
end

-- Returns the coordinates of points along the components, relative to the fitted mean: one list per component.
function M.project(fitted, points)
  local width, out = #fitted.mean, {}
  for k, component in ipairs(fitted.components) do
    local offset, coordinates = 0.0, {}
    for c = 1, width do
      offset = offset + component[c] * fitted.mean[c]
    end
    for at = 0, #points - width, width do
      local sum = -offset
      for c = 1, width do
        sum = sum + component[c] * points[at + c]
      end
      coordinates[#coordinates + 1] = sum
    end
    out[k] = coordinates
  end
  return out
end

-- Returns the mean squared distance of points from the fitted mean, over all channels.
function M.spread(fitted, points)
  local width, sum = #fitted.mean, 0.0
  for at = 0, #points - width, width do
    for c = 1, width do
      local value = points[at + c] - fitted.mean[c]
      sum = sum + value * value
    end
  end
  return sum / (#points // width)
end

return M
