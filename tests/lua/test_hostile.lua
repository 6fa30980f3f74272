-- Run folders, studies and specs have hostile texts (hostile.TEXTS) in every place: all output must be valid.

local support = dofile("tests/lua/support.lua")

local compare = require("lab.study.report.compare")
local curves = require("lab.study.report.figures.curves")
local diagnostics = require("base.diagnostics")
local draw = require("lab.study.report.figures.draw")
local gen = require("render.templates.gen")
local hostile = require("hostile")
local json = require("dkjson")
local lfs = require("lfs")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local lu = require("luaunit")
local panels = require("lab.study.report.figures.panels")
local plan_module = require("plan.plan")
local pytorch = require("lab.export.pytorch")
local report = require("lab.study.report.report")
local reports = require("reports")
local tasks = require("spec.task.tasks")
local escape = require("base.escape")
local validate = require("spec.validate")

-- Scripts are only checked here; test_escape.lua runs gnuplot.
function draw.run()
  return nil, "no pictures"
end

TestHostile = { tearDown = support.clean }

local function make_facts(id)
  local spec = reports.make_spec("bucket_sort")
  spec.id, spec.source, spec.later = id, "spec/x.lua", { text = "x", list = { "x" } }
  spec.encoding.score, spec.encoding.parameters = "x.score", { slope = { per = "head", learned = true, init = 1 } }
  spec.encoding.positions = { kind = "randomized", max_position = 2048, draw = "pass", reading = "drawn" }
  spec.task.options = { order = "even" }
  return { id = id, spec = spec, machine = "m", started = "s", ended = "e", later = "x", threads = 2, step = 100,
    train_seconds = 10, digest = reports.DIGEST, model_digest = "aa", source_digest = "aa", seed = 1,
    learning_rate = 0.1, exit = 0, level = "x86-64", compiler = "gcc 12", variant = "cpu", precision = "float32",
    parameters = 5, flags = { "--seed", "1" }, data = { train = "a.jsonl", train_sha256 = "aa", train_examples = 3 } }
end

-- Appends the paths of the leaves of a table, as lists of keys, to `list`; returns `list`. path: the path of the table.
local function list_leaves(value, path, list)
  for key, inner in pairs(value) do
    local path_here = lists.join(path, { key })
    if type(inner) == "table" then
      list_leaves(inner, path_here, list)
    else
      list[#list + 1] = path_here
    end
  end
  return list
end

local function set_leaf(value, path, leaf)
  for i = 1, #path - 1 do
    value = value[path[i]]
  end
  value[path[#path]] = leaf
end

-- Checks all files of a folder by their language.
local function assert_clean(folder, label)
  local count = 0
  for name in lfs.dir(folder) do
    if lfs.attributes(folder .. "/" .. name, "mode") == "file" then
      lu.assertNil(hostile.find_problem(name, support.read(folder .. "/" .. name)), label .. ", " .. name)
      count = count + 1
    end
  end
  lu.assertTrue(count >= 3, label)
end

-- Makes a report of the runs of a folder; returns the exit code, the message or "", and the output.
local function print_report(root, out, options)
  local code, message, output = reports.run_verb(report.run,
    lists.merge({ project = reports.project, runs = root, out = out }, options or {}))
  return code, message or "", output
end

-- Each leaf of run.json gets an eighth of the texts, and the next leaf gets another eighth. A page shows the text, or a
-- message that the field is invalid. The exit code is 1 for an invalid field and 4 for a valid one, since there is no
-- picture.
function TestHostile.test_every_field_of_run_json()
  local leaves = list_leaves(make_facts("aa"), {}, {})
  lu.assertTrue(#leaves > 40)
  for index, path in ipairs(leaves) do
    local label, root = table.concat(path, "."), nil
    for i = 1 + index % 8, #hostile.TEXTS, 8 do
      local id, text = ("run_%d"):format(i), hostile.TEXTS[i]
      local facts = make_facts(id)
      set_leaf(facts, path, text)
      root = reports.get_root(reports.write_run(("f%d"):format(index), id, 1, 0.1, { exit = 0,
        eval = reports.make_scored_lines(50), metrics = '{"step":10,"seconds":1}\n', facts = facts }))
    end
    local code, message, output = print_report(root, root .. "/out")
    lu.assertTrue(code == 1 or code == 4, label .. message)
    lu.assertNil(hostile.find_text_problem(message) or hostile.find_text_problem(output), label)
    assert_clean(root .. "/out", label)
  end
end

-- Comparisons of two runs, and messages about an invalid run. spec.later.text is a field of a later version.
function TestHostile.test_two_runs()
  local base_run = reports.write_run("two", "plain_run", 1, 0.1, { exit = 0, facts = make_facts("plain_run") })
  for _, path in ipairs({ { "machine" }, { "spec", "source" }, { "spec", "later", "text" }, { "id" },
    { "flags", 2 } }) do
    for i = 1, #hostile.TEXTS, 2 do
      local text, facts = hostile.TEXTS[i], make_facts("other_run")
      facts.flags = { "--out", "x" }
      set_leaf(facts, path, text)
      local dir = reports.write_run(("two%d"):format(i), "other_run", 1, 0.1, { exit = 0, facts = facts,
        eval = reports.make_scored_lines(40), metrics = '{"step":10,"loss":1}\n' })
      local code, message, output = reports.run_verb(compare.run, { runs = base_run, other = dir, out = dir .. "/out" })
      lu.assertNil(hostile.find_text_problem((message or "") .. output))
      if path[1] ~= "id" then
        lu.assertEquals(code, 4)
        assert_clean(dir .. "/out", text)
      else
        lu.assertEquals(code, 1)
      end
    end
  end
end

-- Folders may have any names; messages name the folders of invalid runs.
function TestHostile.test_names_of_folders()
  local root
  for i, text in ipairs(hostile.TEXTS) do
    local name = text:gsub("[%z/]", "_"):gsub("^%.+", "")
    if name ~= "" and #name < 200 then
      root = support.write(("a\n!b/%s/%s/lr0.1-seed%d/run.json"):format(name, name, i), json.encode(make_facts("aa")))
        :match("^(.*)/[^/]*/[^/]*/[^/]*/[^/]*$")
    end
  end
  local code, message, output = print_report(root, root .. "/out")
  lu.assertEquals(code, 1)
  lu.assertNil(hostile.find_text_problem(message) or hostile.find_text_problem((output:gsub("\n!b", ""))))
  assert_clean(root .. "/out", "names")
end

-- Titles and labels are the only free texts of a study.
function TestHostile.test_titles_of_a_study()
  for i, text in ipairs(hostile.TEXTS) do
    local dir = reports.write_run("study", "bucket_sort_rope", 1, 0.1,
      { exit = 0, eval = reports.make_scored_lines(50) })
    local root = reports.get_root(dir)
    local title = ("%q"):format("t" .. text:gsub("\n", " "))
    local path = support.write(("study%d.lua"):format(i), ([[return { title = %s, seeds = { 1, 1 },
      axes = { { name = "task", values = { { name = "bucket_sort", spec = { task = { kind = "bucket_sort" } } } } },
        { name = "plain", values = { { name = "no", spec = {} } } } },
      report = { { kind = "curves", lines = "task", title = %s, labels = { no = %s } },
        { kind = "table", value = "max", rows = "task", columns = "plain", title = %s, labels = { bucket_sort = %s } } }
      }]]):format(title, title, title, title, title))
    local code, message = print_report(root, root .. "/out" .. i, { study = path })
    lu.assertEquals(code, 4, message)
    assert_clean(root .. "/out" .. i, text)
  end
end

function TestHostile.test_scripts_of_gnuplot()
  local style = { colour = "#000000", dash = "solid", point = 1 }
  for _, text in ipairs(hostile.TEXTS) do
    local panel = { title = text, xlabel = text, ylabel = text, x = { 0, 1 }, y = { 0, 1 },
      curves = { { points = { { 0, 1 } }, style = style, line = text } }, levels = { { 1, text } },
      labels = { { 0, 0, text, "left" } } }
    for _, figure in ipairs({ { panels = { panel } }, { panels = { panel, panel }, legend = { { title = text,
      style = style } } } }) do
      figure.name, figure.title = "x", text
      lu.assertNil(hostile.find_gnuplot_problem(curves.make_script(figure)))
    end
    lu.assertNil(hostile.find_gnuplot_problem(panels.make_script({ name = "x", title = text, note = text,
      panel_height = 100,
      rows = { { label = text, { title = text, lines = {}, layers = {} } } } })))
  end
end

-- Renders a spec in a folder with this name; returns the files and the shown path of the spec's data, or nil.
local function render_spec(name, text)
  local path = support.write(("root/%s/probe.lua"):format(name), text)
  local d = diagnostics.new()
  local loaded = load_module.load(path, { root = path:match("^(.*/root)/"), diagnostics = d })
  local resolved, info = validate.resolve(loaded, d, { tasks = tasks.read(support.tasks_folder, d) })
  local plan = plan_module.build(resolved, { task = info.task, score = info.score })
  return assert(gen.render_files(plan, function(template)
    return support.read("templates/" .. template)
  end, {})), info.files.data and info.files.data.shown
end

local FOLDERS = { "*", "a*", "a\nint x;", "??", "a\\", 'a"b', "\xff\1", "]] os.exit() --[[" }

-- The path of the data is a C string, byte for byte; test_escape.lua checks such strings with the compiler.
function TestHostile.test_paths_of_data()
  for _, name in ipairs(FOLDERS) do
    local files, shown = render_spec(name,
      [[return { task = { data = "d.jsonl", input_symbols = 2, output_symbols = 2 },
      train = { epochs = 1 } }]])
    lu.assertStrContains(shown, name)
    for _, file in ipairs(files) do
      if file.path == "spec.c" then
        lu.assertStrContains(file.text, ('\n        .train = "%s",\n'):format(escape.c_string(shown)))
      end
    end
  end
end

-- The path of the spec is in the banner of each file, which is a comment that only its own end closes.
function TestHostile.test_sources_of_generated_code()
  for _, name in ipairs(FOLDERS) do
    for _, file in ipairs((render_spec(name, 'return { task = { kind = "even_pairs" } }'))) do
      lu.assertNil(hostile.find_text_problem(file.text), file.path)
      if file.path == "plan.lua" then
        lu.assertNotNil(load(file.text, "=plan", "t", {}))
      else
        local first, own_end = file.text:find("*/", 1, true), file.text:find("\n */\n", 1, true)
        lu.assertEquals(first, own_end + 2, file.path)
      end
    end
  end
end

-- The step of a checkpoint is part of a docstring.
function TestHostile.test_a_checkpoint_that_is_exported()
  local spec = assert(reports.project:plan("bucket_sort_sinusoid", {}))
  for _, text in ipairs(hostile.TEXTS) do
    local run = { info = { seed = 1, learning_rate = 0.1 }, metadata = { step = text } }
    local facts = assert(pytorch.derive_facts(spec, run, reports.project:build_network(spec)))
    lu.assertNil(facts.comments[1]:find('["\\\n]'))
  end
end

support.run()
