-- Principal components: fitted on one set of points, applied to others.
--
-- Input: points as a flat list, row-major, and the number of their channels. Output: M.fit gives { mean, components,
-- variance, total }: components[k] is a unit vector, variance[k] the variance of the points along it (divided by their
-- number), total the sum over all channels; not whitened. The sign of a component is free, so that it is chosen: its
-- entry of the largest size, the first of equals, is positive.

local M = {}

local SWEEPS = 60
local SMALL = 1e-22 -- of the sum of squares: where the rest of a matrix counts as nothing

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

-- Covariance of points, divided by their number: a list of rows.
local function covariance(points, width, mean)
  local matrix, count, row = {}, #points // width, {}
  for i = 1, width do
    matrix[i] = {}
    for j = 1, width do
      matrix[i][j] = 0.0
    end
  end
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

-- Sums of squares off the diagonal and of everything.
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

-- One Jacobi rotation: makes matrix[p][q] zero and turns the vectors along. Press et al., Numerical Recipes, 11.1.
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
  local largest = 1
  for i, value in ipairs(vector) do
    largest = math.abs(value) > math.abs(vector[largest]) and i or largest
  end
  if vector[largest] < 0 then
    for i, value in ipairs(vector) do
      vector[i] = -value
    end
  end
  return vector
end

-- Eigenvalues, descending, and their unit vectors, of a symmetric matrix, which is overwritten.
function M.eigen(matrix)
  local n, vectors = #matrix, {}
  for i = 1, n do
    vectors[i] = {}
    for j = 1, n do
      vectors[i][j] = i == j and 1.0 or 0.0
    end
  end
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
  local order, values, sorted = {}, {}, {}
  for i = 1, n do
    order[i] = i
  end
  table.sort(order, function(a, b)
    return matrix[a][a] > matrix[b][b] or matrix[a][a] == matrix[b][b] and a < b
  end)
  for k, i in ipairs(order) do
    values[k], sorted[k] = matrix[i][i], orient(vectors[i])
  end
  return values, sorted
end

-- Fits `count` components.
function M.fit(points, width, count)
  local mean = mean_of(points, width)
  local values, vectors = M.eigen(covariance(points, width, mean))
  local total = 0.0
  for _, value in ipairs(values) do
    total = total + value
  end
  return { mean = mean, components = table.move(vectors, 1, count, 1, {}),
    variance = table.move(values, 1, count, 1, {}), total = total }
end

-- Coordinates of points along the components, less the fitted mean: one list per component.
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

-- Mean over points of the squared distance from the fitted mean, over all channels.
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
