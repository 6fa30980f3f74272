-- Distances of tables from a reference, also after the best rotation and reflection (orthogonal Procrustes).
--
-- Input: tables as flat lists, row-major, all with the same numbers of rows and columns. Output of M.measure, for each
-- table A and the reference B:
--   norm      the norm of A
--   nuclear   the nuclear norm of A^T B, computed by runtime/tools/procrustes.c with LAPACK
--   plain     |A - B|
--   distance  the least |A Q - B| over orthogonal Q
--   rotated   A Q with this Q, on request
--   unit      the distance after A and B are scaled to norm 1; nil if A is zero
--   cosine    the cosine of A and B, without rotation; nil if A is zero

local correlation = require("lab.study.analyze.mathematics.correlation")
local lists = require("base.lists")
local shell = require("base.shell")
local must = require("lab.stop").must
local source = require("lab.study.analyze.source")
local write = require("base.write")

local M = {}

local ENVIRONMENT = 4 -- exit code: a fault of the machine

local function pack(values)
  return table.concat(lists.map(values, function(value) return ("=d"):pack(value) end))
end

local function unpack_numbers(bytes, from, count)
  local out = {}
  for i = 1, count do
    out[i] = ("=d"):unpack(bytes, from + 8 * (i - 1))
  end
  return out
end

-- Builds runtime/tools/procrustes.c and returns the path of the program. folder: for temporary files.
function M.build_helper(project, folder)
  return source.build_tool(project, folder, "procrustes", { what = "A program with LAPACK",
    expected = "liblapack-dev on Debian, lapack-devel on Fedora, lapack elsewhere; or make build/tools/procrustes "
    .. "LAPACK=-l..." })
end

local function measure(table_, reference, nuclear)
  local norm, reference_norm, squares = correlation.norm(table_), correlation.norm(reference), 0.0
  for i = 1, #table_ do
    squares = squares + (table_[i] - reference[i]) ^ 2
  end
  return { norm = norm, nuclear = nuclear, plain = math.sqrt(squares),
    distance = math.sqrt(math.max(0.0, norm ^ 2 + reference_norm ^ 2 - 2 * nuclear)),
    unit = norm > 0 and math.sqrt(math.max(0.0, 2 - 2 * nuclear / (norm * reference_norm))) or nil,
    cosine = correlation.cosine(table_, reference) }
end

-- Returns the measures of each table, as the head of this file describes. shape: { rows, columns }; reference, tables:
-- values; with_rotated: whether to return A Q; folder: for temporary files.
function M.measure(project, folder, shape, reference, tables, with_rotated)
  local helper, path = M.build_helper(project, folder), folder .. "/tables"
  must(ENVIRONMENT, write.file(path, ("=i4i4i4"):pack(#tables, shape.rows, shape.columns) .. pack(reference)
    .. table.concat(lists.map(tables, pack))))
  local text, code = shell.capture({ helper, path, with_rotated and folder .. "/rotated" or nil })
  must(ENVIRONMENT, code == 0, ("%s ended with exit code %d"):format(helper, code))
  local results, size = {}, shape.rows * shape.columns
  for line in text:gmatch("[^\n]+") do
    local i = #results + 1
    results[i] = measure(tables[i], reference, tonumber(line))
  end
  local bytes = with_rotated and write.read(folder .. "/rotated")
  for i, result in ipairs(with_rotated and results or {}) do
    result.rotated = unpack_numbers(bytes, 1 + 8 * (i - 1) * size, size)
  end
  return results
end

return M
