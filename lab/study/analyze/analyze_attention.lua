-- Attention maps of a layer, as the maximum over its heads (figure 6 of Ruoss et al. 2023; docs/analyses.md).
--
-- Input: sources (source.lua), and lengths, sequence (index of the sequence, from 1), crop (the number of queries and
-- of keys to show; nil: all), say. Output: the files attention.csv (a weight per line), attention.safetensors (the
-- matrices of the picture); the picture. A matrix has a row for each query and a column for each key of one sequence:
-- the element-wise maximum over the heads of one attention. Attentions are in the order of the trace. Layers are
-- numbered from 0 in files, from 1 in the picture.

local heat = require("lab.study.report.figures.heat")
local lists = require("base.lists")
local safetensors = require("base.safetensors")
local sheets = require("lab.study.analyze.sheets")
local source_module = require("lab.study.analyze.source")
local stop = require("lab.stop").exit
local wording = require("base.wording")

local M = {}

local INPUT = 1 -- exit code

-- Returns the matrices of one run at one length, { site, values, rows, columns }.
local function analyze(source, length, options)
  local file = source:trace("attention", { "--lengths", length, "--examples", options.sequence })
  return lists.map(source:list_sites(file, length, "attention"), function(site)
    local shape = source:get_shape(file, length, site .. ".attention", options.sequence)
    local size, crop = shape[2] * shape[3] * shape[4], options.crop or math.huge
    local weights = source:read(file, ("n%d.%s.attention"):format(length, site), (options.sequence - 1) * size, size)
    local rows, columns = math.min(crop, shape[3]), math.min(crop, shape[4])
    return { site = site, rows = rows, columns = columns,
      values = source_module.take_maximum(weights, shape, 1, shape[2], rows, columns) }
  end)
end

-- Adds the matrix of a layer to the lines of attention.csv and to the matrices. run_index: counted from 1; layer_index:
-- counted from 0.
local function add_matrix(lines, matrices, run_index, source, length, layer, layer_index)
  lists.append(lines, lists.map(layer.values, function(value, i)
    return { run = source.label, length = length, layer = layer_index, query = (i - 1) // layer.columns,
      key = (i - 1) % layer.columns, weight = ("%.5g"):format(value) }
  end))
  matrices[#matrices + 1] = { name = ("run%d.n%d.%s"):format(run_index, length, layer.site),
    shape = { layer.rows, layer.columns }, values = layer.values }
end

function M.run(sources, options)
  local lines, matrices, rows, metadata = {}, {}, {}, {}
  for run_index, source in ipairs(sources) do
    if source.run.info.spec.model.kind == "recurrent" then
      stop(INPUT, ("%s: a recurrent model has no attention; `analyze pca` shows its states"):format(source.run.dir))
    end
    metadata["run" .. run_index] = source.run.checkpoint
    for _, length in ipairs(options.lengths) do
      local layers = analyze(source, length, options)
      local row = { label = ("%s, length %d"):format(source.label, length) }
      for l, layer in ipairs(layers) do
        add_matrix(lines, matrices, run_index, source, length, layer, l - 1)
        row[l] = heat.draw_weights(layer.values, layer.rows, ("layer %d"):format(l))
      end
      rows[#rows + 1] = row
      options.say(("%s: %s of %d x %d"):format(row.label, wording.count(#layers, "layer"), layers[1].rows,
        layers[1].columns))
    end
  end
  return { sheets.to_csv("attention.csv", "run length layer query key weight", lines),
    { path = "attention.safetensors", text = (safetensors.make_file(matrices, metadata)) },
    picture = { title = "Attention: the largest weight of any head", note = "queries down, keys right; colours from 0 "
      .. "to the panel's largest", panel_height = 200, rows = rows } }
end

return M
