-- Principal components of one set of points, and the coordinates of other points along these components.
--
-- Input: points as a list of channels; a channel is a list with a number for each point. M.fit returns a table:
--   mean         the mean of each channel
--   components   a list of unit vectors; the entry with the largest absolute value is positive
--   variance     the variance of the points along each component; its denominator is the number of points
--   total        the sum of the variances of all channels

local correlation = require("lab.study.analyze.mathematics.correlation")
local lists = require("base.lists")
local statistics = require("lab.study.read.statistics")

local M = {}

local dot, norm = correlation.dot, correlation.norm

local MAX_SWEEPS = 60 -- passes over all pairs of rows
local MIN_VARIANCE_SHARE = 1e-9 -- a smaller share of the total variance is a rounding error
local MAX_COSINE = 1e-15 -- rows with a cosine of at most this size count as orthogonal

local function centre(channels, mean)
  return lists.map(channels, function(channel, c)
    return lists.map(channel, function(value) return value - mean[c] end)
  end)
end

local function compute_covariance(channels)
  local matrix = {}
  for i, a in ipairs(channels) do
    matrix[i] = lists.map(channels, function(b, j) return j < i and matrix[j][i] or dot(a, b) / #a end)
  end
  return matrix
end

-- Rotates two rows in their plane, which makes them orthogonal. Returns false if they were orthogonal before.
local function rotate(a, b)
  local square_difference, product = dot(b, b) - dot(a, a), dot(a, b)
  if math.abs(product) <= MAX_COSINE * norm(a) * norm(b) then
    return false
  end
  local theta = square_difference / (2 * product)
  local t = (theta < 0 and -1 or 1) / (math.abs(theta) + math.sqrt(theta * theta + 1))
  local c = 1 / math.sqrt(t * t + 1)
  local s = t * c
  for i = 1, #a do
    a[i], b[i] = c * a[i] - s * b[i], s * a[i] + c * b[i]
  end
  return true
end

-- Scales a row to length 1, with a positive largest entry.
local function normalise(row)
  local largest_entry = 0.0
  for _, value in ipairs(row) do
    largest_entry = math.abs(value) > math.abs(largest_entry) and value or largest_entry
  end
  local length = largest_entry == 0 and 1 or norm(row) * (largest_entry < 0 and -1 or 1)
  return lists.map(row, function(value) return value / length end)
end

-- Returns the eigenvalues, in descending order, and the unit eigenvectors. matrix: symmetric, without negative
-- eigenvalues. The matrix is overwritten: rotations turn each row into an eigenvector times its eigenvalue.
-- Source: Hestenes, J. SIAM 6 (1958) 51.
function M.decompose(matrix)
  local sweeps, has_rotated = 0, true
  while has_rotated and sweeps < MAX_SWEEPS do
    sweeps, has_rotated = sweeps + 1, false
    for p, row in ipairs(matrix) do
      for q = p + 1, #matrix do
        has_rotated = rotate(row, matrix[q]) or has_rotated
      end
    end
  end
  local order = correlation.sort_indices(lists.map(matrix, function(row) return -norm(row) end))
  return lists.map(order, function(i) return norm(matrix[i]) end), lists.map(order, function(i)
    return normalise(matrix[i])
  end)
end

-- Fits the first `count` components. A component without variance is a vector of zeros.
function M.fit(channels, count)
  local mean = lists.map(channels, function(channel) return statistics.mean(channel) end)
  local values, vectors = M.decompose(compute_covariance(centre(channels, mean)))
  local fitted = { mean = mean, components = {}, variance = {}, total = lists.sum(values, function(value)
    return value
  end) }
  for k = 1, count do
    local varies = values[k] > MIN_VARIANCE_SHARE * fitted.total
    fitted.variance[k] = varies and values[k] or 0.0
    fitted.components[k] = lists.map(vectors[k], function(value) return varies and value or 0.0 end)
  end
  return fitted
end

-- Returns two results:
--   for each component, a list of the points' coordinates, relative to the fitted mean
--   the mean squared distance between the points and the fitted mean
function M.project(fitted, channels)
  local points = centre(channels, fitted.mean)
  local spread = lists.sum(points, function(channel) return dot(channel, channel) end) / #points[1]
  return lists.map(fitted.components, function(component)
    return lists.map(points[1], function(_, i)
      local sum = 0.0
      for c, factor in ipairs(component) do
        sum = sum + factor * points[c][i]
      end
      return sum
    end)
  end), spread
end

return M
