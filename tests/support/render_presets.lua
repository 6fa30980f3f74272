-- Writes the output of `export pytorch` for every encoding of the library, for random positions, and for other kinds of
-- networks, for tests/python/travel.py: render_presets.lua FOLDER

package.path = "generator/?.lua;?.lua;tests/lua/?.lua;tests/support/?.lua;" .. package.path

local lfs = require("lfs")
local pytorch = require("lab.export.pytorch")
local render = require("render.templates.render")

local folder = arg[1]
local project = require("project").new(".")

local SIZES = "heads = 2, width = 16, feedforward = 32"
local LENGTHS = "train = { lengths = { 1, 32 } }, eval = { lengths = { list = { 4 } } }"

local function write(name, text)
  local path = ("%s/%s"):format(folder, name)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

local function add(name, encoding, model, task)
  local path = write(name .. ".lua", ("return { encoding = { %s }, model = { %s, %s }, task = { %s }, %s }"):format(
    encoding, model or "layers = 2", SIZES, task or 'kind = "reverse_string"', LENGTHS))
  local spec = assert(project:plan(path))
  local facts = assert(pytorch.derive_facts(spec, { info = { seed = 0, learning_rate = 1 }, metadata = {} },
    project:build_network(spec)))
  write(name .. ".py", assert(render.render("python/model.py.tpl", facts, function(...)
    return project:read_template(...)
  end)))
end

local PAIR = 'kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2'
local DECODER = 'kind = "decoder", layers = 2'
local GRID = 'source = "mirrored.c"'
local SHORT = { lst_learned = true, lst_random = true } -- tables with fewer rows than the sequences have tokens
local SAMPLED = 'positions = { kind = "randomized", max_position = 64'

local sampler = assert(io.open("runtime/data/tasks/reverse_string.c", "rb")):read("a")
write("mirrored.c", (sampler:gsub("_reverse_string", "_mirrored"):gsub("(\n %* chance:[^\n]*)",
  "%1\n * grid: 3", 1)))

for file in lfs.dir("spec/encodings") do
  local name = file:match("^(.*)%.lua$")
  if name then
    add(name, ("kind = %q%s"):format(name, SHORT[name] and ", additive = { rows = 64 }" or ""),
      name:find("^abc_") and PAIR or name:find("_cycle$") and "layers = 4" or name == "coupling" and DECODER or nil,
      name:find("^lst_2d") and GRID or nil)
  end
end
add("drawn_rope", SAMPLED .. ' }, kind = "rope"')
add("drawn_pass", SAMPLED .. ', draw = "pass" }, kind = "relative"')
add("drawn_sides", SAMPLED .. ', sides = "independent" }, kind = "alibi"')
add("drawn_difference", SAMPLED .. ', reading = "difference" }, kind = "shaw"')
add("drawn_sequence", SAMPLED .. ', draw = "sequence" }, kind = "learned"')
add("in_blocks", 'additive = { kind = "sinusoid", at = "block" }')
add("decoder_rope", 'kind = "rope"', 'kind = "decoder", layers = 2, tied = true')
add("decoder_row_sums", 'score = function(x) return x.score - x.slope * log(1 + sum_to_query(sigmoid(x.score))) end, '
  .. 'parameters = { slope = { per = "layer_head", init = 1 } }', DECODER)
add("decoder_window", 'kind = "alibi", mask = { kind = "window", left = 3 }', DECODER)
add("gated", 'kind = "none"', 'layers = 2, activation = "swiglu", norm = { kind = "rms", place = "pre" }')
add("linear", 'kind = "rope"', 'layers = 2, embedding = "linear", readout = "last"', 'kind = "even_pairs"')
