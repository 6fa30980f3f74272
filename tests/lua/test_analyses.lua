-- Analyses of traces: principal components, the maximum over heads, the decoding of a given text, and gnuplot scripts.
-- Also the module spec_writer, which writes a resolved spec as a spec.

local support = dofile("tests/lua/support.lua")

local analyze_pca = require("lab.study.analyze.analyze_pca")
local decoding = require("lab.study.analyze.analyze_decoding")
local lu = require("luaunit")
local panels = require("lab.study.report.figures.panels")
local pca = require("lab.study.analyze.mathematics.pca")
local spec_writer = require("lab.study.read.spec_writer")
local source = require("lab.study.analyze.source")

TestPca = {}

-- If the number of passes depends on the length, shorter sequences have fewer layers. The analysis covers only the
-- layers that exist at every length.
function TestPca.test_layers_that_a_length_lacks_are_left_out()
  local entries = {}
  for length, sites in pairs({ [1] = { "layers.0.output" }, [2] = { "layers.0.output", "layers.1.output" } }) do
    for _, site in ipairs(sites) do
      entries[("n%d.%s"):format(length, site)] = { shape = { 1, length, 2 } }
    end
  end
  local run = { label = "looped" } -- with one sequence of each length, and two values for each token
  function run.trace() return { entries = entries } end
  function run.list_sites(_, _, length)
    return length == 2 and { "layers.0.output", "layers.1.output" } or { "layers.0.output" }
  end
  function run.get_shape(_, _, length) return { 1, length } end
  function run.count_parts(_, length) return length, 0 end
  function run.read(_, _, _, _, count) return ({ [2] = { 1, 0 }, [4] = { 1, 0, 0, 1 } })[count] end
  function run.measure_accuracy() return { 1, 1 } end
  for _, lengths in ipairs({ { 1, 2 }, { 2, 1 } }) do
    local files = support.index_texts(analyze_pca.run({ run }, { lengths = lengths, sequences = 1, part = "input" }))
    lu.assertStrContains(files["summary.csv"], "looped,layers.0.output,1,")
    lu.assertNotStrContains(files["summary.csv"], "layers.1")
  end
end

-- Returns points with a known covariance, as the values of each channel. The points are mean + sizes[k] * axes[k] and
-- mean - sizes[k] * axes[k] for each k; the axes are orthogonal.
local function make_points(mean, axes, sizes)
  local channels = {}
  for c, centre in ipairs(mean) do
    channels[c] = {}
    for k, axis in ipairs(axes) do
      table.insert(channels[c], centre + sizes[k] * axis[c])
      table.insert(channels[c], centre - sizes[k] * axis[c])
    end
  end
  return channels
end

local MEAN = { 1.5, -2, 7 }
local AXES = { { 0.6, 0.8, 0 }, { -0.8, 0.6, 0 }, { 0, 0, -1 } }

function TestPca.test_known_components_are_found()
  local points = make_points(MEAN, AXES, { 1, 3, 2 })
  local model = pca.fit(points, 2)
  for c = 1, 3 do
    lu.assertAlmostEquals(model.mean[c], MEAN[c], 1e-12)
    -- The largest entry of a component is made positive, so both components have the other sign.
    lu.assertAlmostEquals(model.components[1][c], -AXES[2][c], 1e-12)
    lu.assertAlmostEquals(model.components[2][c], -AXES[3][c], 1e-12)
  end
  lu.assertAlmostEquals(model.variance[1], 2 * 9 / 6, 1e-12)
  lu.assertAlmostEquals(model.variance[2], 2 * 4 / 6, 1e-12)
  lu.assertAlmostEquals(model.total, 2 * (1 + 9 + 4) / 6, 1e-12)
  lu.assertAlmostEquals(select(2, pca.project(model, points)), model.total, 1e-12)
end

function TestPca.test_projection_subtracts_the_fitted_mean_without_whitening()
  local model = pca.fit(make_points(MEAN, AXES, { 1, 3, 2 }), 2)
  local x, y = table.unpack((pca.project(model, { { 1.5 - 2 * 0.8, 1.5 }, { -2 + 2 * 0.6, -2 }, { 7 + 5, 7 } })))
  lu.assertAlmostEquals(x[1], -2, 1e-12)
  lu.assertAlmostEquals(y[1], 5, 1e-12)
  lu.assertAlmostEquals(x[2], 0, 1e-12)
  lu.assertAlmostEquals(y[2], 0, 1e-12)
end

-- For every eigenvalue and its vector v, matrix * v = value * v. The values descend, and the vectors have length 1.
function TestPca.test_eigenvectors_of_a_full_matrix()
  local n, matrix, copy = 24, {}, {}
  for i = 1, n do
    matrix[i], copy[i] = {}, {}
    for j = 1, n do
      matrix[i][j] = math.sin(i * j) + (i == j and 4 + i / 4 or 0)
      copy[i][j] = matrix[i][j]
    end
  end
  local values, vectors = pca.decompose(copy) -- overwrites the copy
  for k = 1, n do
    local squared_length = 0
    for i = 1, n do
      local sum = 0
      for j = 1, n do
        sum = sum + matrix[i][j] * vectors[k][j]
      end
      lu.assertAlmostEquals(sum, values[k] * vectors[k][i], 1e-9)
      squared_length = squared_length + vectors[k][i] ^ 2
    end
    lu.assertAlmostEquals(squared_length, 1, 1e-12)
    lu.assertTrue(k == 1 or values[k] <= values[k - 1])
  end
end

function TestPca.test_points_without_variance()
  local model = pca.fit({ { 2, 2, 2 }, { 3, 3, 3 } }, 2)
  lu.assertEquals(model.variance, { 0, 0 })
  lu.assertEquals((pca.project(model, { { 2 }, { 3 } })), { { 0 }, { 0 } })
end

TestAttention = {}

function TestAttention.test_maximum_over_heads()
  local heads = { 1, 2, 3, 4, 5, 6, 7, 8, 9, --[[ second head ]] 9, 1, 8, 2, 7, 3, 6, 4, 5 }
  local function compute_maximum(shape, ...)
    return source.take_maximum(heads, { 1, table.unpack(shape) }, ...)
  end
  lu.assertEquals(compute_maximum({ 2, 3, 3 }, 1, 2, 3, 3), { 9, 2, 8, 4, 7, 6, 7, 8, 9 })
  lu.assertEquals(compute_maximum({ 2, 3, 3 }, 1, 2, 2, 2), { 9, 2, 4, 7 })
  lu.assertEquals(compute_maximum({ 2, 3, 3 }, 2, 2, 2, 3), { 9, 1, 8, 2, 7, 3 })
  lu.assertEquals(compute_maximum({ 3, 2, 3 }, 1, 2, 2, 3), { 7, 8, 9, 9, 5, 8 })
  lu.assertEquals(compute_maximum({ 1, 3, 2 }, 1, 1, 2, 2), { 1, 2, 3, 4 })
end

TestDecoding = {}

-- A trace of the text 3+4 by a model with two layers of two heads; the second layer has no cross-attention in this
-- trace. The target is "7" and the end symbol; decode() below sets the model's answers.
local TRACE = {
  path = "/dev/null", metadata = { input_symbols = '["0","1","3","4","+"]', output_symbols = '["0","7","&"]' },
  names = { "n3.answers", "n3.targets" },
  entries = { ["n3.answers"] = {}, ["n3.targets"] = {}, ["n3.tokens.source"] = {}, ["n3.tokens.target"] = {},
    ["n3.decoder.layers.0.attention"] = { shape = { 1, 2, 3, 3 } },
    ["n3.decoder.layers.0.cross.attention"] = { shape = { 1, 2, 3, 3 } },
    ["n3.decoder.layers.1.attention"] = { shape = { 1, 2, 3, 3 } } },
}

-- The values of the trace's tensors, by name. Weights of 9 belong to a query after the end of the target, which the
-- analysis leaves out.
local VALUES = { ["n3.tokens.source"] = { 2, 4, 3 }, ["n3.tokens.target"] = { 9, 0, 1 },
  ["n3.targets"] = { 1, 2, -1 }, ["n3.decoder.layers.0.attention"] = { 1, 0, 0, 0.25, 0.75, 0, 9, 9, 9,
    --[[ second head ]] 1, 0, 0, 0, 1, 0, 9, 9, 9 },
  ["n3.decoder.layers.0.cross.attention"] = { 0.5, 0.5, 0, 0, 0, 1, 9, 9, 9,
    --[[ second head ]] 0, 1, 0, 1, 0, 0, 9, 9, 9 },
  ["n3.decoder.layers.1.attention"] = { 1, 0, 0, 0, 1, 0, 9, 9, 9, 1, 0, 0, 0, 1, 0, 9, 9, 9 } }

-- A project without the spec of the run.
local project = {
  path = function() return "/nowhere" end,
  find = function() return nil, "not here" end,
}

-- Runs the analysis of the trace; returns the printed lines and the files' texts by name.
--   answers         the model's answer as indices of output symbols; -1 after its end
--   has_targets     whether the right answer is known
--   layers, spec    the options --layers and --spec
local function decode(answers, has_targets, layers, spec)
  local output = {}
  VALUES["n3.answers"], TRACE.entries["n3.targets"] = answers, has_targets and {} or nil
  local run = { label = "sums", run = { info = { id = "sums", digest = "0", spec = { model = {} } } } }
  function run.trace(_, _, words)
    lu.assertEquals(words, { "--text=3+4", "--frame=1" })
    return TRACE
  end
  function run.read(_, _, name)
    return VALUES[name]
  end
  function run.list_sites()
    return { "decoder.layers.0", "decoder.layers.0.cross", "decoder.layers.1" }
  end
  local list = decoding.run({ run }, { text = { "3+4" }, frame = 1, layers = layers, spec = spec, project = project,
    say = function(text)
      output[#output + 1] = text
    end })
  local files = support.index_texts(list)
  list.picture.name = "decoding"
  files["decoding.gnuplot"] = panels.make_script(list.picture)
  return output, files
end

-- The rows of a picture are the written symbols up to the end of the answer; wrong symbols are red and have a cross.
function TestDecoding.test_symbols_and_errors_are_on_the_axes()
  local output, files = decode({ 0, 1, -1 }, true, { 0 })
  lu.assertEquals(output[1], "sums: 3+4 -> 07  2 of 3 wrong")
  lu.assertStrContains(output[2], "sums: the picture omits the bias on scores: ")
  lu.assertEquals(files["decoding.csv"],
    "run,text,place,answer,right,wrong\nsums,3+4,0,0,7,1\nsums,3+4,1,7,&,1\n")
  local script = files["decoding.gnuplot"]
  lu.assertStrContains(script, "$block1 << EOD\n0 0 0.5 1\n1 0 0.5 0\n0 1 0.5 0.25\n1 1 0.5 0.75\nEOD")
  lu.assertStrContains(script, "$block4 << EOD\n0 0 0.5 0\n1 0 0.5 1\n2 0 0.5 0\n0 1 0.5 1\n1.5 1 1 0\nEOD")
  local font, red = " font ',9' textcolor rgb ", "'#c0392b'"
  lu.assertStrContains(script, "set label '0' at graph 0,first 0 right offset -0.7,0" .. font .. red)
  lu.assertStrContains(script, "set label '\u{D7}' at graph 0,first 0 right offset -2.1,0" .. font .. red)
  lu.assertStrContains(script, "set label '0' at first 1,graph 0 center offset 0,-0.5" .. font .. red)
  lu.assertStrContains(script, "set label '+' at first 1,graph 0 center offset 0,-0.5" .. font .. "'#222222'")
  lu.assertNil(script:find("block5", 1, true)) -- a head of the layer that is not requested
  lu.assertEquals({ output[3], output[4] }, {})
end

function TestDecoding.test_missing_layers_are_reported()
  local output, files = decode({ 0, 1, -1 }, true, { 1, 9, 4 })
  lu.assertEquals({ output[3], output[4], output[5] }, { "sums: layer 4 of --layers has no attention",
    "sums: layer 9 of --layers has no attention" })
  lu.assertStrContains(files["decoding.gnuplot"], "$block1 << EOD")
end

-- The bias in the picture is computed from the spec that a user names. A spec with another plan digest than the run is
-- refused.
function TestDecoding.test_a_spec_may_be_given()
  local requested_path
  function project.find(_, path)
    requested_path = path
    return { plan = { digest = "0", attentions = {} } }
  end
  local output = decode({ 0, 1, -1 }, true, { 0 }, "own/sums.lua")
  lu.assertEquals({ requested_path, #output }, { "own/sums.lua", 1 })
  function project.find()
    return { resolved = { model = {} }, plan = { digest = "1", attentions = {} } }
  end
  local is_ok, problem = pcall(decode, { 0, 1, -1 }, true, { 0 }, "own/sums.lua")
  lu.assertEquals({ is_ok, problem.code }, { false, 1 })
  lu.assertStrContains(problem.text, "--spec own/sums.lua: ")
  lu.assertStrContains(problem.text, "its plan digest is 1 now, and the digest of the run is 0")
  function project.find()
    return nil, "not here"
  end
end

-- Symbols of right answers, and of answers whose target is unknown, have no mark.
function TestDecoding.test_right_answers_have_no_marks()
  local output, files = decode({ 1, 2, -1 }, true)
  lu.assertEquals(output[1], "sums: 3+4 -> 7&  right")
  lu.assertNil(files["decoding.gnuplot"]:find("\u{D7}", 1, true))
  lu.assertStrContains(files["decoding.gnuplot"], "$block5 << EOD")
  output, files = decode({ 0, 1, -1 }, false)
  lu.assertEquals(output[1], "sums: 3+4 -> 07  right answer unknown")
  lu.assertNil(files["decoding.gnuplot"]:find("\u{D7}", 1, true))
  lu.assertStrContains(files["decoding.csv"], 'sums,3+4,0,0,,\n')
end

TestPanels = {}

function TestPanels.test_texts_are_quoted()
  local script = panels.make_script({ name = "x", title = "don't", note = "n", panel_height = 100,
    rows = { { label = "one", { title = "t", lines = {}, layers = { { { "1 2" }, "" } } } } } })
  lu.assertStrContains(script, "set label 1 \"don't\"")
  lu.assertStrContains(script, "set output 'x.svg'")
  lu.assertStrContains(script, "set output 'x.png'")
end

TestSpecWriter = { tearDown = support.clean }

-- Checks that a resolved spec, written as a spec, resolves to itself.
local function check_written(text)
  local resolved = support.accept(text)
  lu.assertEquals((support.accept(assert(spec_writer.write_spec(resolved)))), resolved)
end

local SPEC_START = 'return { task = { kind = "even_pairs" }, '

-- The resolved spec omits the tables norm, validation and projections if all their fields have their defaults.
function TestSpecWriter.test_settings_restore_defaults_of_omitted_tables()
  local target = support.accept(SPEC_START .. "}")
  local current = support.accept(SPEC_START .. [[model = { norm = { kind = "rms", place = "pre" } },
    eval = { validation = { examples = 64 } }, encoding = { projections = { output = false } } }]])
  lu.assertEquals(spec_writer.list_settings(target, current), { "encoding.projections.output=true",
    "eval.validation.examples=128", 'model.norm.kind="layer"', 'model.norm.place="post"' })
  lu.assertEquals(spec_writer.list_settings(target, target), {})
end

function TestSpecWriter.test_plain_fields()
  check_written(SPEC_START .. [[train = { learning_rate = 1 / 3, lengths = { 2, 9, step = 3 },
    checkpoint = { keep = { 5, 7 } } }, eval = { lengths = { list = { 3, 8 } }, during = { every = 4 } },
    encoding = { rotation = { kind = "rope", scaling = { kind = "yarn", factor = 2.5 } },
    mask = { kind = "causal" } } }]])
end

function TestSpecWriter.test_a_written_spec_keeps_its_score()
  for _, name in ipairs({ "alibi", "t5", "fire", "sandwich", "window", "log_length", "kerple_power",
    "distance_table" }) do
    check_written(SPEC_START .. ("encoding = { use = %q } }"):format(name))
  end
  check_written(SPEC_START .. [[encoding = { score = function(x)
    local shared = exp(-abs(x.distance) * x.rate) + 1
    return x.score * shared * shared
      - sum(3, function(m) return sum(2, function(k) return sin(m * k + x.query) end) end)
      + lookup(x.fixed, min(x.key, 2)) end, parameters = { rate = { per = "head", init = 0.1 },
      fixed = { shape = 3, values = { 1, 2, 4 }, outside = "clip" } } } }]])
end

function TestSpecWriter.test_examples_that_the_task_makes()
  check_written([[return { task = { kind = "latin_square", seed = 4, options = { puzzles = 60 } },
    train = { epochs = 3 }, eval = { by = { vectors = { list = { 1, 3 } }, puzzle = { 4, 9, step = 3 } },
    splits = { "validation" }, during = { every = 5, by = { vectors = true }, splits = { "train", "test" } } } }]])
end

function TestSpecWriter.test_files_of_the_user()
  lu.assertEquals({ spec_writer.write_spec({ task = { kind = "latin_square", validation = "items.csv" } }) },
    { nil, "its task is a file of the user's own, items.csv" })
  lu.assertEquals({ spec_writer.write_spec({ task = { data = "x.jsonl" } }) },
    { nil, "its task is a file of the user's own, x.jsonl" })
end

-- Control characters of untrusted file names are not in messages.
function TestSpecWriter.test_hostile_file_names()
  local name = "x\27[31m\ny"
  for _, resolved in ipairs({ { task = { data = name } }, { model = { source = name } }, { init = name } }) do
    local text, message = spec_writer.write_spec(resolved)
    lu.assertNil(text)
    lu.assertNil(message:find("[\27\n]"))
  end
end

-- A run.json may have a formula with thousands of nested sums, with or without their closing parentheses. Such a
-- formula is refused quickly.
function TestSpecWriter.test_deeply_nested_sums_are_refused()
  local began = os.clock()
  for _, close in ipairs({ ")", "" }) do
    local score = ("sum(2, i: "):rep(16000) .. "x.score" .. close:rep(16000)
    local text = assert(spec_writer.write_spec({ task = { kind = "even_pairs" }, encoding = { score = score } }))
    local spec, _, d = support.check_text(text)
    lu.assertNil(spec)
    lu.assertStrContains(d:text(), "not valid Lua")
  end
  lu.assertTrue(os.clock() - began < 10)
  for _, score in ipairs({ "sum(2, i: x.score", "x.score)", "sum(2, i: x.score))" }) do
    local text = assert(spec_writer.write_spec({ task = { kind = "even_pairs" }, encoding = { score = score } }))
    lu.assertNil((support.check_text(text)))
  end
end

os.exit(lu.LuaUnit.run())
