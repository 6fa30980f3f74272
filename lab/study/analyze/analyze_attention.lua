-- Attention maps of a layer, as the maximum over its heads (figure 6 of Ruoss et al. 2023; docs/analyses.md).
--
-- Input: runs as analyze.lua opens them, and lengths, sequence, crop. Output: the files attention.csv (a weight per
-- line), attention.safetensors (the matrices of the picture), attention.gnuplot. A matrix is the element-wise maximum
-- of the heads of one attention, query by key, of one sequence; attentions are in the order of the trace.

local heat = require("lab.study.analyze.pictures.heat")
local lists = require("base.lists")
local panels = require("lab.study.analyze.pictures.panels")
local safetensors = require("base.safetensors")
local sheets = require("lab.study.analyze.sheets")
local wording = require("base.wording")

local M = {}

-- Returns the first `crop` rows and columns of the element-wise maximum of `heads` matrices with `queries` rows and
-- `keys` columns, row-major; and the numbers of these rows and columns.
function M.maximum(values, heads, queries, keys, crop)
  local out, rows, columns = {}, math.min(crop or queries, queries), math.min(crop or keys, keys)
  for query = 0, rows - 1 do
    for key = 1, columns do
      local at, largest = query * keys + key, 0.0
      for head = 0, heads - 1 do
        largest = math.max(largest, values[head * queries * keys + at])
      end
      out[#out + 1] = largest
    end
  end
  return out, rows, columns
end

-- The matrices of one run at one length: { label, length, { site, values, rows, columns, peak } ... }.
local function analyze(source, length, options)
  local file = source:trace("attention", { length }, options.sequence)
  local row = { label = source.label, length = length }
  for l, site in ipairs(source:sites(file, length, "attention")) do
    local ending = site .. ".attention"
    local _, heads, queries, keys = table.unpack(source:shape(file, length, ending, options.sequence))
    local one = heads * queries * keys
    local all = source:read(file, ("n%d.%s"):format(length, ending), (options.sequence - 1) * one, one)
    local values, rows, columns = M.maximum(all, heads, queries, keys, options.crop)
    local peak = 0.0
    for _, value in ipairs(values) do
      peak = math.max(peak, value)
    end
    row[l] = { site = site, values = values, rows = rows, columns = columns, peak = peak }
  end
  return row
end

local function csv(rows)
  return sheets.csv("attention.csv", "run,length,layer,query,key,weight", function(add)
    for _, row in ipairs(rows) do
      for l, layer in ipairs(row) do
        for i, value in ipairs(layer.values) do
          add(row.label, row.length, l - 1, (i - 1) // layer.columns, (i - 1) % layer.columns, ("%.5g"):format(value))
        end
      end
    end
  end)
end

local function matrices(rows)
  return lists.flat(rows, function(row)
    return lists.map(row, function(layer)
      return { name = ("run%d.n%d.%s"):format(row.run, row.length, layer.site),
        shape = { layer.rows, layer.columns }, values = layer.values }
    end)
  end)
end

-- Draws one matrix of attention.safetensors, whose floats start at byte `at`.
local function panel(layer, l, at)
  return { title = ("layer %d, to %.2g"):format(l, layer.peak), lines = {
    ("set xrange [-0.5:%g]\nset yrange [%g:-0.5]\nset cbrange [0:%.9g]"):format(layer.columns - 0.5, layer.rows - 0.5,
      math.max(layer.peak, 1e-9)),
    ("plot 'attention.safetensors' binary skip=%d array=(%d,%d) format='%%float32' endian=little using 1 with image")
      :format(at, layer.columns, layer.rows),
  } }
end

local function picture(rows, begin)
  local at = begin
  local list = lists.map(rows, function(row)
    local drawn = { label = ("%s, length %d"):format(row.label, row.length) }
    for l, layer in ipairs(row) do
      drawn[l] = panel(layer, l, at)
      at = at + 4 * layer.rows * layer.columns
    end
    return drawn
  end)
  return panels.script({ name = "attention", title = "Attention: the largest weight of any head", note =
    "queries down, keys right; colours from 0 to the panel's largest", panel = 200, settings = heat.SETTINGS,
    rows = list })
end

function M.run(sources, options)
  local rows = {}
  for i, source in ipairs(sources) do
    for _, length in ipairs(options.lengths) do
      local row = analyze(source, length, options)
      row.run = i
      rows[#rows + 1] = row
      options.say(("%s, length %d: %s of %d x %d"):format(row.label, length, wording.count(#row, "layer"), row[1].rows,
        row[1].columns))
    end
  end
  local metadata = {}
  for i, source in ipairs(sources) do
    metadata["run" .. i] = source.run.checkpoint
  end
  local bytes, begin = safetensors.file(matrices(rows), metadata)
  return {
    csv(rows),
    { path = "attention.safetensors", text = bytes },
    { path = "attention.gnuplot", text = picture(rows, begin) },
  }
end

return M
