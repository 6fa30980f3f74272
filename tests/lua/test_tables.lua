-- `analyze tables` for tables of positions. Sinusoids and Procrustes distances, which LAPACK computes, are compared
-- with published and known values. The files that the verb writes are checked.

local support = dofile("tests/lua/support.lua")

local analyze = require("lab.study.analyze.analyze")
local cli = require("cli.cli").make(require("lab.cli.command_lines"))
local correlation = require("lab.study.analyze.mathematics.correlation")
local hostile = require("hostile")
local json = require("dkjson")
local lists = require("base.lists")
local lu = require("luaunit")
local position_tables = require("lab.study.analyze.position_tables")
local procrustes = require("lab.study.analyze.procrustes")
local project_module = require("project")
local published = require("lab.study.read.published")
local reports = require("reports")
local shell = require("base.shell")
local stop = require("lab.stop")
local safetensors = require("base.safetensors")
local write = require("base.write")

-- Calls use(folder) with a temporary folder; returns its result.
local function with_folder(use)
  local folder = assert(shell.make_temporary_folder())
  local results = table.pack(use(folder))
  write.remove_tree(folder)
  return table.unpack(results, 1, results.n)
end

local has_lapack = with_folder(function(folder)
  return stop.catch(procrustes.build_helper, reports.project, folder) ~= 4
end)
if not has_lapack then
  print("skip: Procrustes distances: no LAPACK to link (liblapack-dev)")
end

TestCorrelation = {}

function TestCorrelation.test_ranks_of_equal_numbers_are_shared()
  lu.assertEquals(correlation.compute_ranks({ 3, 1, 3, 2, 3 }), { 4, 1, 4, 2, 4 })
  -- Computed by hand: the formula by d^2 is wrong with ties; Pearson of the ranks 1 2.5 2.5 4 and 1 3 2 4.
  lu.assertAlmostEquals(correlation.spearman({ 10, 20, 20, 30 }, { 1, 8, 5, 9 }), 4.5 / math.sqrt(4.5 * 5), 1e-12)
end

function TestCorrelation.test_constant_numbers_have_no_correlation()
  lu.assertNil(correlation.pearson({ 0.1, 0.1, 0.1 }, { 1, 2, 3 }))
  lu.assertNil(correlation.spearman({ 1, 2, 3 }, { 5, 5, 5 }))
  lu.assertNil(correlation.pearson({ 1 }, { 2 }))
  lu.assertNil(correlation.cosine({ 0, 0 }, { 1, 2 }))
  lu.assertAlmostEquals(correlation.pearson({ 1, 2, 3 }, { -2, -4, -6 }), -1, 1e-12)
  lu.assertAlmostEquals(correlation.cosine({ 3, 4 }, { 4, 3 }), 0.96, 1e-12)
end

TestSinusoids = {}

-- Numbers that the code of Ito et al. 2024 prints: values of row 6, and the cosine of the two tables.
function TestSinusoids.test_rows_of_the_papers_code()
  local line, grid = position_tables.compute_line(16, 160), position_tables.compute_grid(16, 4, 160)
  local function assert_from(values, first, expected)
    for i, value in ipairs(expected) do
      lu.assertAlmostEquals(values[6 * 160 + first + i], value, 5e-7)
    end
  end
  assert_from(line, 0, { -0.279415, 0.960170, -0.805002, 0.593271 })
  assert_from(grid, 0, { 0.909297, -0.416147, 0.999841, -0.017859 })
  assert_from(grid, 80, { 0.841471, 0.540302, 0.713393, 0.700764 })
  lu.assertAlmostEquals(correlation.norm(grid), 35.77709, 5e-6)
  lu.assertAlmostEquals(correlation.cosine(line, grid), 0.7246, 5e-5)
end

-- A checkpoint stores no table of sinusoids. The table is computed from the spec: from the place and the channels of
-- the table, and from the kind of positions.
function TestSinusoids.test_runs_without_a_stored_table()
  local path = support.write("sinusoid/checkpoint.safetensors", (safetensors.make_file({}, {})))
  local function read_table(positions, additive)
    additive.kind = additive.kind or "sinusoid"
    return assert(position_tables.read(path, { model = { width = 16 }, encoding = { positions = { kind = positions },
      additive = additive } }, 16, 4))[1]
  end
  lu.assertEquals(read_table("grid", { at = "block", channels = "interleaved" }),
    { block = "block", rows = 16, columns = 16,
    values = position_tables.compute_grid(16, 4, 16) })
  lu.assertEquals(read_table("index", { channels = "interleaved" }).values, position_tables.compute_line(16, 16))
  local halves = read_table("index", {})
  lu.assertEquals(halves.block, "input")
  lu.assertAlmostEquals(halves.values[3 * 16 + 1], math.sin(3), 1e-12)
  lu.assertAlmostEquals(halves.values[3 * 16 + 9], math.cos(3), 1e-12)
  lu.assertNil(read_table("randomized", {}))
  lu.assertNil(read_table("index", { kind = "none" }))
  support.clean()
end

TestProcrustes = {}

-- The distances of tables from a reference. with_rotated: whether the results have the rotated tables, too.
local function measure(shape, reference, tables, with_rotated)
  return assert(with_folder(function(folder)
    return procrustes.measure(reports.project, folder, shape, reference, tables, with_rotated)
  end))
end

function TestProcrustes.test_fixed_schemes()
  if not has_lapack then return lu.skip("no LAPACK") end
  local line, grid = position_tables.compute_line(16, 160), position_tables.compute_grid(16, 4, 160)
  local result = measure({ rows = 16, columns = 160 }, grid, { line, grid })
  lu.assertAlmostEquals(result[1].distance, 13.17327, 5e-6)
  lu.assertAlmostEquals(result[1].nuclear, 1193.2325, 5e-5)
  lu.assertAlmostEquals(result[1].plain, 26.55440, 5e-6)
  lu.assertAlmostEquals(result[1].norm, 35.77709, 5e-6)
  lu.assertAlmostEquals(result[2].distance, 0, 1e-5)
  lu.assertAlmostEquals(result[2].nuclear, 1280, 1e-9)
end

-- Normal numbers times sigma, by the method of Box and Muller. The normal numbers are the same in every call.
local function compute_normal(count, sigma)
  local values, state = {}, 12345
  local function sample_uniform()
    state = (state * 1103515245 + 12345) % 2147483648
    return (state + 0.5) / 2147483648
  end
  for i = 1, count do
    values[i] = sigma * math.sqrt(-2 * math.log(sample_uniform())) * math.cos(2 * math.pi * sample_uniform())
  end
  return values
end

function TestProcrustes.test_tables_of_normal_numbers_are_as_far_as_published()
  if not has_lapack then return lu.skip("no LAPACK") end
  local grid, tables, expected = position_tables.compute_grid(16, 4, 160), {}, { 34.2, 33.4, 51, 92 }
  for i, sigma in ipairs({ 0.1, 0.2, 1, 2 }) do
    tables[i] = compute_normal(16 * 160, sigma)
  end
  for i, measures in ipairs(measure({ rows = 16, columns = 160 }, grid, tables)) do
    lu.assertAlmostEquals(measures.distance, expected[i], 0.02 * expected[i])
  end
end

-- Distances of untrained tables with the sigmas in the sweep of Ito et al. 2024 correlate with the accuracies printed
-- there, as the documentation warns.
function TestProcrustes.test_untrained_tables_correlate_with_published_accuracies()
  if not has_lapack then return lu.skip("no LAPACK") end
  local tables, accuracy, norms, distances = {}, {}, {}, {}
  for _, row in ipairs(assert(published.read(reports.project, "ito_2024/sigmas")).rows) do
    if row.decay == "0" then
      tables[#tables + 1] = compute_normal(16 * 160, tonumber(row.sigma))
      accuracy[#accuracy + 1] = tonumber(row.validation_mean)
    end
  end
  lu.assertEquals(#tables, 20)
  for i, measures in ipairs(measure({ rows = 16, columns = 160 }, position_tables.compute_grid(16, 4, 160), tables)) do
    norms[i], distances[i] = measures.norm, measures.distance
  end
  lu.assertAlmostEquals(correlation.pearson(distances, accuracy), -0.98, 0.01)
  lu.assertTrue(correlation.pearson(norms, distances) > 0.97)
end

-- A rotated and mirrored table is rotated back, with more rows than columns and with fewer.
function TestProcrustes.test_a_rotated_table_is_rotated_back()
  if not has_lapack then return lu.skip("no LAPACK") end
  for _, shape in ipairs({ { rows = 3, columns = 5 }, { rows = 5, columns = 3 }, { rows = 2, columns = 2 } }) do
    local reference, rotated = compute_normal(shape.rows * shape.columns, 1), {}
    local sine, cosine = math.sin(0.7), math.cos(0.7)
    for row = 0, shape.rows - 1 do
      local offset = row * shape.columns
      for column = 1, shape.columns do
        rotated[offset + column] = -reference[offset + column]
      end
      rotated[offset + 1] = cosine * reference[offset + 1] - sine * reference[offset + 2]
      rotated[offset + 2] = sine * reference[offset + 1] + cosine * reference[offset + 2]
    end
    local result = measure(shape, reference, { rotated }, true)[1]
    lu.assertAlmostEquals(result.distance, 0, 1e-6)
    lu.assertAlmostEquals(result.unit, 0, 1e-6)
    lu.assertTrue(result.plain > 0.1)
    for i, value in ipairs(result.rotated) do
      lu.assertAlmostEquals(value, reference[i], 1e-12)
    end
  end
end

function TestProcrustes.test_the_rotation_attains_the_distance()
  if not has_lapack then return lu.skip("no LAPACK") end
  local reference, noise_table = position_tables.compute_grid(16, 4, 160), compute_normal(16 * 160, 0.3)
  local result, difference = measure({ rows = 16, columns = 160 }, reference, { noise_table }, true)[1], 0
  for i, value in ipairs(result.rotated) do
    difference = difference + (value - reference[i]) ^ 2
  end
  lu.assertAlmostEquals(math.sqrt(difference), result.distance, 1e-9)
  lu.assertAlmostEquals(correlation.norm(result.rotated), result.norm, 1e-9)
end

function TestProcrustes.test_without_lapack()
  local root = support.write("nolapack/Makefile", "build/tools/procrustes:\n\t@echo cannot find -llapack; exit 1\n")
    :match("^(.*)/Makefile$")
  local code, message = with_folder(function(folder)
    return stop.catch(procrustes.build_helper, project_module.new(root), folder)
  end)
  lu.assertEquals(code, 4)
  lu.assertStrContains(message, "A program with LAPACK, which this analysis needs, cannot be built:\ncannot find")
  lu.assertStrContains(message, "liblapack-dev")
  support.clean()
end

TestVerb = { tearDown = support.clean }

-- Writes a run with a learned table in each of two blocks: normal numbers at the start, to which training adds a share
-- of the 2-D sinusoid. Returns the folder of all runs.
--   sigma       the standard deviation of the normal numbers; nil: the table is the fixed 1-D sinusoid
--   percent     the accuracy
--   has_start   whether there is a checkpoint of step 0
local function add_run(sigma, seed, percent, has_start)
  local spec = reports.make_spec("latin_square")
  spec.model.width = 16
  spec.encoding.additive = { kind = sigma and "learned" or "sinusoid" }
  local dir = reports.write_run("tables", sigma and ("learn_%d"):format(10 * sigma) or "line", seed, 0.1, { exit = 0,
    facts = { spec = spec }, eval = reports.make_scored_lines(percent)
      .. reports.make_eval_line(100, "validation", 20, percent / 100) })
  local function write_checkpoint(name, share)
    local grid, list = position_tables.compute_grid(16, 4, 16), {}
    for block = 0, sigma and 1 or -1 do
      local values = compute_normal(18 * 16, sigma * (1 + block) * (1 + seed / 100))
      for i, value in ipairs(grid) do
        values[i] = values[i] + share * value
      end
      list[block + 1] = { name = ("layers.%d.position.weight"):format(block), shape = { 18, 16 }, values = values }
    end
    list[#list + 1] = { name = "output.bias", shape = { 4 }, values = { 0, 0, 0, 0 } }
    write.file(("%s/%s.safetensors"):format(dir, name), (safetensors.make_file(list, {})))
  end
  write_checkpoint("checkpoint", 0.5)
  if has_start then
    write_checkpoint("checkpoint-0", 0)
  end
  return reports.get_root(dir)
end

-- Runs the verb on a folder; returns its exit code, its message or "", and its output.
local function run(root, words)
  local options = assert(cli.parse(lists.join({ "analyze", "tables", root }, words or {}), "."))
  options.project = reports.project
  local code, message, output = reports.run_verb(analyze.run, options)
  return code, message or "", output
end

function TestVerb.test_written_distances_of_position_tables()
  if not has_lapack then return lu.skip("no LAPACK") end
  local root
  for i, sigma in ipairs({ 0.1, 0.5, 1 }) do
    for seed = 1, 2 do
      root = add_run(sigma, seed, 100 - 30 * sigma - seed, i < 3 or seed == 2)
    end
  end
  add_run(nil, 1, 60)
  local code, message, output = run(root)
  lu.assertTrue(code == 0 or reports.lacks_gnuplot(code, message), message)
  lu.assertStrContains(output, "Before training, the distance correlates with the final accuracy at -0.9")
  lu.assertStrContains(output, "1 of 2 runs have no checkpoint of step 0")
  lu.assertStrContains(output, "distance at unit norm, step 0")
  local function read(name)
    return support.read(root .. "/tables/" .. name)
  end
  -- The rows: two blocks of six runs after training and of five at the start, and the fixed sinusoid at both.
  local rows = read("tables.csv")
  lu.assertEquals(select(2, rows:gsub("\n", "")), 1 + 12 + 10 + 2)
  lu.assertStrContains(rows, "learn_1,1,0.1,start,layers.1,")
  local line, grid = position_tables.compute_line(16, 16, true), position_tables.compute_grid(16, 4, 16)
  lu.assertStrContains(rows, ("line,1,0.1,trained,input,%.9g,"):format(correlation.norm(line)))
  lu.assertStrContains(rows, (",%.9g,60\n"):format(correlation.cosine(line, grid)))
  local correlations = read("correlations.csv")
  lu.assertStrContains(correlations, "\nall runs,trained,mean,unit,6,")
  lu.assertStrContains(correlations, "\nall runs,start,mean,norm,5,")
  lu.assertStrContains(correlations, "\nlearn_5,trained,2,distance,2,")
  lu.assertNil(correlations:find("\nline,", 1, true))
  lu.assertStrContains(read("similarity.csv"), "learn_1,learn_5,trained,4,")
  lu.assertStrContains(read("similarity.csv"), "line,line,start,0,,\n")
  lu.assertStrContains(read("tables.gnuplot"), "$block5 << EOD")
  -- The last line of the output names the picture if gnuplot has drawn it.
  lu.assertEquals(read("tables.txt"), (code == 0 and output:match("^(.*)\n[^\n]*$") or output) .. "\n")
end

-- Tables of zeros have a norm, but no distance at unit norm.
function TestVerb.test_tables_of_zeros()
  if not has_lapack then return lu.skip("no LAPACK") end
  local root
  for seed = 1, 3 do
    root = add_run(0, seed, 50 + seed, true)
  end
  local code, message, output = run(root)
  lu.assertTrue(code == 0 or reports.lacks_gnuplot(code, message), message)
  lu.assertStrContains(output, "distance at unit norm, step 0")
  lu.assertStrContains(support.read(root .. "/tables/correlations.csv"), "\nlearn_0,start,mean,unit,0,,\n")
end

function TestVerb.test_messages_on_wrong_grids_and_splits()
  local root = add_run(0.5, 1, 60)
  for words, expected in pairs({
    [{ "--grid", "5x4" }] = "position.weight: has 18 rows; expected at least 20 rows",
    [{ "--split", "train", "--study", "no_such" }] = "no_such",
  }) do
    local code, message = run(root, words)
    lu.assertEquals(code, 1)
    lu.assertStrContains(message, expected)
  end
  local dir = reports.write_run("tables", "none", 1, 0.1, { exit = 0, eval = reports.make_scored_lines(50)
    .. reports.make_eval_line(100, "validation", 20, 0.5) })
  write.file(dir .. "/checkpoint.safetensors", (safetensors.make_file({}, {})))
  if has_lapack then
    local _, _, output = run(root)
    lu.assertStrContains(output, "none: has no position table")
  end
  write.file(dir .. "/checkpoint.safetensors", (safetensors.make_file({ { name = "embed.position.weight",
    shape = { 16, 1 }, values = { 1, 0 / 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } } }, {})))
  lu.assertStrContains(select(2, run(root)), "embed.position.weight: has numbers that are not finite")
  write.file(dir .. "/checkpoint.safetensors", "no tensors")
  local code, message = run(root)
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "checkpoint.safetensors: not a safetensors file, or cut short")
  for text, expected in pairs({ ["4"] = "expected rows and columns, such as 4x4", ["0x4"] = "expected rows and columns",
    ["4x"] = "expected rows and columns", ["100x100"] = "found 10000 cells; expected at most 4096" }) do
    local parsed, problem = cli.parse({ "analyze", "tables", root, "--grid", text }, ".")
    lu.assertNil(parsed)
    lu.assertStrContains(problem, ("--grid %s: %s"):format(text, expected))
  end
end

function TestVerb.test_hostile_names_of_folders()
  if not has_lapack then return lu.skip("no LAPACK") end
  local root = add_run(0.5, 1, 60, true)
  for _, text in ipairs(hostile.TEXTS) do
    if not text:find("[/%z]") and #text < 200 then
      local dir = root .. "/" .. text .. "/" .. reports.DIGEST .. "/lr0.1-seed1"
      shell.run({ "mkdir", "-p", dir })
      shell.run({ "cp", "-r", root .. "/learn_5/" .. reports.DIGEST .. "/lr0.1-seed1/.", dir })
      local facts = json.decode(support.read(dir .. "/run.json"))
      facts.id = text
      write.file(dir .. "/run.json", json.encode(facts))
    end
  end
  local code, message, output = run(root)
  lu.assertTrue(code == 1 or reports.lacks_gnuplot(code, message), message)
  lu.assertStrContains(message, "damaged and left out:")
  lu.assertNil(hostile.find_text_problem(message) or hostile.find_text_problem(output))
  for _, name in ipairs({ "tables.csv", "correlations.csv", "similarity.csv", "tables.gnuplot" }) do
    lu.assertNil(hostile.find_problem(name, support.read(root .. "/tables/" .. name)))
  end
end

support.run()
