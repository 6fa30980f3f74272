-- Pages of docs/ agree with the code: names, fields, defaults, limits, commands and examples on them exist, links have
-- targets, and the version is equal everywhere.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local cli = require("cli.cli").make(require("lab.cli.command_lines"))
local grid = require("lab.study.grid.grid")
local names = require("base.names")
local handles = require("network.graph.handles")
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local own_network = require("spec.reading.own_network")
local paths = require("base.paths")
local project_module = require("project")
local requested_study = require("lab.study.grid.requested_study")
local sandbox = require("spec.reading.sandbox")
local schema = require("spec.schema")
local traced = require("expression.traced")
local write = require("base.write")

local read = support.read
local encodings_page = read("docs/encodings.md")

TestEncodings = {}

local function list_preset_rows()
  local columns = lists.find_all(encodings_page:match("## The presets\n(.-)\n## "), "\n| (`[^|]*) |")
  return lists.find_all(table.concat(columns), "`([%w_]+)`")
end

function TestEncodings.test_the_table_has_the_presets()
  local files = lists.map(list_preset_rows(), function(name) return name .. ".lua" end)
  lu.assertItemsEquals(files, write.list_names("spec/encodings"))
end

function TestEncodings.test_functions_and_symbols_are_named()
  local spans = lists.find_all(encodings_page, "`([^`\n]+)`")
  local words = lists.to_set(lists.find_all(table.concat(spans, " "), "[%w_]+"))
  for _, name in ipairs(lists.join(traced.names, traced.SYMBOLS)) do
    lu.assertTrue(words[name], name .. " is not named")
  end
end

-- Returns Lua text without its comments and blank lines.
local function strip(text)
  return (("\n" .. text):gsub("%s*%-%-[^\n]*", ""):gsub("\n%s*\n", "\n"):gsub("^%s+", ""):gsub("%s+$", ""))
end

function TestEncodings.test_the_first_spec_is_the_example()
  lu.assertEquals(strip(encodings_page:match("```lua\n(.-)\n```")), strip(read("examples/own_bias/own_bias.lua")))
end

TestOwnNetwork = {}

local network_page = read("docs/own-network.md")

function TestOwnNetwork.test_the_network_is_the_example()
  lu.assertEquals(strip(network_page:match("```lua\n(.-)\n```")),
    strip(read("examples/own_network/parallel_block.lua")))
end

-- Each method has a row with its call and its options. Each name that a description may use is on the page.
function TestOwnNetwork.test_every_method_has_a_row()
  local count = 0
  for call in network_page:gmatch("\n| `(%l+:%l+%([^`]*%))` |") do
    local object, name = call:match("^(%l+):(%l+)")
    local method = handles.METHODS[name]
    lu.assertNotNil(method, call)
    lu.assertTrue(not method.owner or method.owner == (object == "net" and "network" or object), call)
    for i, argument in ipairs(method) do -- for the argument of readout, the page writes its only value
      lu.assertStrContains(call, argument[2] == "word" and name == "readout" and '"last"' or argument[1], call .. i)
    end
    for option in pairs(method.options or {}) do
      lu.assertNotNil(call:match("{[^}]*%f[%w]" .. option .. "%f[%W]"), call .. ": " .. option)
    end
    count = count + 1
  end
  lu.assertEquals(count, #canonical.sort_keys(handles.METHODS))
  for _, name in ipairs(own_network.NAMES) do
    lu.assertStrContains(network_page, "`" .. name)
  end
end

function TestOwnNetwork.test_limits_on_pages_are_those_of_the_code()
  lu.assertStrContains(network_page, "five million steps")
  lu.assertStrContains(network_page, "128 MB")
  lu.assertEquals({ sandbox.INSTRUCTIONS, sandbox.MEMORY }, { 5000000, 128 * 1024 })
  lu.assertStrContains(network_page, "up to 40 characters: a-z, 0-9 and _")
  lu.assertStrContains(names.TEXT, "up to 40 characters: a-z, 0-9 and _")
end

-- The lines of `plan` on the page are in its output, and the invalid example gives the message on the page.
function TestOwnNetwork.test_the_example_is_planned_as_the_page_describes()
  local project = project_module.new(".")
  local spec = assert(project:plan("examples/own_network/own_network.lua", {}))
  local text = require("lab.pages.plan_page").format_page(spec.plan)
  local shown_lines = network_page:match("plan examples/own_network/own_network.lua\n    %.%.%.\n(.-)    %.%.%.\n")
  local lines = 0
  for line in shown_lines:gmatch("    ([^\n]*%S)\n") do
    lu.assertStrContains(text, "\n" .. line .. "\n")
    lines = lines + 1
  end
  lu.assertEquals(lines, 6)
  lu.assertNotNil(project:plan("examples/own_network/own_network.lua", { "model.options.gate=gelu" }))
  local description = read("examples/own_network/parallel_block.lua"):gsub("block:gate%([^\n]*",
    'block:product("gated", halves, 2 * model.width)')
  support.write("parallel_block.lua", description)
  local _, message = project:plan(support.write("own.lua", read("examples/own_network/own_network.lua")), {})
  lu.assertStrContains(network_page, "    " .. message:gsub("\n1 error.*$", ""):gsub("\n", "\n    "))
end

TestSwitches = {}

local switches_page = read("docs/switches.md")

function TestSwitches.test_every_switch_has_a_row()
  for i = 1, 13 do
    local _, count = switches_page:gsub(("\n| S%d |"):format(i), "")
    lu.assertEquals(count, 1, "S" .. i)
  end
end

-- The column of defaults has spans `path = value`.
function TestSwitches.test_fields_exist_with_their_defaults()
  local count = 0
  for _, default in switches_page:gmatch("\n| S%d+ |([^|]*)|([^|]*)|") do
    for path, value in default:gmatch("`([%l_]+%.?[%l_%.]*) = ([^`]*)`") do
      local field = schema.by_path[path]
      lu.assertNotNil(field, path)
      local text = field.default_text or tostring(field.default)
      lu.assertEquals((value:gsub('"', "")), text:match("^[^;]*"), path)
      count = count + 1
    end
  end
  lu.assertEquals(count, 9)
end

function TestSwitches.test_every_field_that_is_named_exists()
  for span in switches_page:gmatch("`([^`\n]+)`") do
    for path in span:gmatch("%f[%l][%l]+%.[%l_%.]*[%l_]") do
      lu.assertNotNil(schema.by_path[path] or path == "run.json" or nil, path .. " is not a field")
    end
  end
end

-- Quoted values in the row of a switch are choices of the row's field.
function TestSwitches.test_every_choice_is_legal()
  for row in switches_page:gmatch("\n(| S%d+ |[^\n]*)") do
    local field = schema.by_path[row:match("`([%l_]+%.?[%l_%.]*)[ `]") or ""]
    for value in row:gmatch('`"(%w+)"`') do
      lu.assertStrContains(" " .. table.concat(field.choices, " ") .. " ", " " .. value .. " ")
    end
  end
end

TestTraining = {}

local training_page = read("docs/training.md")

-- Returns the indented code from the line with this beginning to the closing brace.
local function find_code(beginning)
  return training_page:match("\n    " .. beginning .. ".-\n    }\n")
end

function TestTraining.test_the_spec_is_legal()
  local resolved = support.accept(("return { task = { kind = 'even_pairs' }, %s }"):format(find_code("train = {")))
  lu.assertEquals(resolved.train.schedule, { kind = "cosine", warmup = 500, final = 0.1 })
end

-- The optimisers of the axis give different plans, although the base sets all fields of one optimiser. The cell
-- sgd_1e_1 differs from another cell only in its learning rate, which is not in the plan digest.
function TestTraining.test_the_axis_is_legal()
  local path = support.write("optimizers.lua", ([[return { title = "rules", base = { task = { kind = "even_pairs" },
    model = { use = "small_encoder" }, train = { use = "ruoss" }, eval = { use = "quick" } }, %s }]]):format(
    find_code("axes = {")))
  local study, message = grid.expand(project_module.new("."), path)
  lu.assertNil(message)
  local digests, rates = {}, {}
  for i, cell in ipairs(study.cells) do
    lu.assertNil(digests[cell.spec.plan.digest] and cell.id ~= "sgd_1e_1" or nil, cell.id)
    digests[cell.spec.plan.digest], rates[i] = true, cell.runs[1].learning_rate
  end
  lu.assertEquals(rates, { 1e-4, 1e-4, 1e-2, 1e-1 })
  lu.assertEquals(study.cells[3].spec.resolved.train.optimizer, { kind = "sgd" })
end

function TestTraining.test_the_page_has_every_field_of_the_optimiser()
  for _, path in ipairs({ "optimizer.weight_decay", "optimizer.decays", "optimizer.momentum", "schedule.warmup",
    "schedule.final" }) do
    lu.assertNotNil(schema.by_path["train." .. path], path)
    lu.assertStrContains(training_page, path:match("[^%.]*$"))
  end
end

TestEncodingPresets = {}

-- The page has three indented pieces of code that are a whole field `encoding`.
function TestEncodingPresets.test_encodings_that_use_presets_are_legal()
  local checked = 0
  for code in read("docs/encodings.md"):gmatch("\n    encoding = (%b{}),%f[\n]") do
    support.accept(("return { task = { kind = 'reverse_string' }, model = { kind = 'decoder' }, encoding = %s }")
      :format(code))
    checked = checked + 1
  end
  lu.assertEquals(checked, 3)
end

TestPredictions = {}

-- The page has the rows that tests/ptx/predict.lua computes from counts.txt.
function TestPredictions.test_rows_of_the_page_follow_from_the_counts()
  package.path = "tests/ptx/?.lua;" .. package.path
  local page = read("docs/performance.md")
  for _, row in ipairs(require("predict").rows("tests/cuda/counts.txt")) do
    lu.assertStrContains(page, "\n" .. row .. "\n")
  end
end

TestStudies = {}

-- Studies, scales, cells and values of axes in the pages' commands exist. Two commands are not checked: one names
-- a file that only a sweep makes, the other a file of the user.
function TestStudies.test_commands_are_valid()
  local count, project = 0, project_module.new(".")
  for line in (read("docs/studies.md") .. read("docs/recipes.md")):gmatch("\n    %./longhand (sweep [^\n#]+)") do
    if not line:find("1a2b3c4d", 1, true) and not line:find("items.csv", 1, true) then
      local options, message = cli.parse(lists.find_all(line, "%S+"), ".")
      lu.assertNotNil(options, ("%s: %s"):format(line, message))
      options.project = project
      requested_study.settle(options)
      local study
      study, message = grid.expand(project, options.study, options)
      lu.assertNotNil(study, ("%s: %s"):format(line, message))
      lu.assertTrue(#study.cells > 0, line)
      count = count + 1
    end
  end
  lu.assertTrue(count >= 9, count)
end

TestIto = {}

local ito_2024 = read("docs/ito-2024.md")
local small_studies = {} -- the small scale of studies, by name

local function expand_study(name)
  small_studies[name] = small_studies[name]
    or assert(grid.expand(project_module.new("."), name, { scale = "small" }))
  return small_studies[name]
end

local function has_axis(study, name)
  return lists.has(lists.get_names(study.axes), name)
end

local function has_value(study, value)
  return lists.any(study.cells, function(cell)
    for _, name in pairs(cell.key) do
      if name == value then
        return true
      end
    end
  end)
end

-- Every command of the page is valid, and its studies, axes and cells exist.
function TestIto.test_commands_of_the_page_are_valid_and_their_items_exist()
  local count = 0
  for line in ito_2024:gmatch("\n    %./longhand ([^\n]+)") do
    local words = lists.find_all(line, "%S+")
    local options, message = cli.parse(words, ".")
    lu.assertNotNil(options, ("%s: %s"):format(line, message))
    local study = (options.verb == "sweep" or options.study) and expand_study(options.study or words[2])
    lu.assertTrue(not options.axis or has_axis(study, options.axis), line)
    lu.assertTrue(not options.reference or options.what == "tables" or has_value(study, options.reference), line)
    count = count + 1
  end
  lu.assertTrue(count >= 20, count)
end

-- The table's rows name existing studies and, in quotes, titles of items of their reports.
function TestIto.test_items_are_those_of_reports()
  local count = 0
  for name, cell in ito_2024:gmatch("\n|[^|\n]*| `(ito_%l+)`[^|\n]*| ([^|\n]*) |") do
    local titles = lists.map(expand_study(name).report, function(item) return item.title end)
    for title in cell:gmatch('"([^"]*)"') do
      lu.assertTrue(lists.has(titles, title), name .. " has no item " .. title)
      count = count + 1
    end
  end
  lu.assertTrue(count >= 4, count)
end

TestArithmetic = {}

-- A spec must name its frames, from 0 to 4096. In a frame wider than that of training, operands may have more digits.
function TestArithmetic.test_frames_of_addition_are_those_of_the_page()
  local function find_problem(...)
    local spec, message = project_module.new("."):plan("abc_addition_vanilla", { ... })
    return spec and "" or message
  end
  lu.assertEquals(find_problem("eval.by={ digits = { 1, 110 }, frame = { list = { 0, 80, 120 } } }"), "")
  lu.assertStrContains(find_problem("eval.by={ digits = { 1, 110 }, frame = { list = { 0, 80 } } }"),
    "eval.by.digits[2]: 110 is out of range")
  lu.assertEquals(find_problem("eval.by={ digits = { 1, 110 }, carry = { 0, 110 }, frame = { list = { 120 } } }"), "")
  lu.assertStrContains(find_problem("eval.by={ digits = true, carry = { 0, 90 }, frame = { list = { 80 } } }"),
    "eval.by.carry[2]: 90 is out of range")
  lu.assertStrContains(find_problem("eval.by={ digits = true, frame = true }"), "does not determine which frames")
  lu.assertStrContains(find_problem("eval.by={ frame = { list = { 4097 } } }"), "4097 is out of range")
end

TestLinks = {}

-- The fragment by which GitHub links to a heading.
local function make_fragment(heading)
  return (heading:lower():gsub("[^%w_ -]", ""):gsub(" ", "-"))
end

local function list_fragments(text)
  local fragments = {}
  for heading in ("\n" .. text:gsub("\n```.-\n```", "")):gmatch("\n#+ ([^\n]*)") do
    fragments[make_fragment(heading)] = true
  end
  return fragments
end

-- Every link to a file leads to a file that exists and, after #, to one of its headings.
function TestLinks.test_targets_exist()
  local pages = lists.map(write.list_names("docs"), function(name)
    return name:find("%.md$") and "docs/" .. name or nil
  end)
  lists.append(pages, { "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "spec/published/README.md" })
  local links = 0
  for _, page in ipairs(pages) do
    for target in read(page):gmatch("%]%(([^)%s]+)%)") do
      local file, heading = target:match("^([^#]*)#?(.*)$")
      local path = file == "" and page or paths.normalise(paths.get_folder(page) .. "/" .. file)
      if not target:find("://", 1, true) then
        links = links + 1
        lu.assertNotNil(lfs.attributes(path), ("%s: there is no file %s"):format(page, path))
        lu.assertTrue(heading == "" or list_fragments(read(path))[heading] == true,
          ("%s: %s has no heading #%s"):format(page, path, heading))
      end
    end
  end
  lu.assertTrue(links > 200, links .. " links")
end

TestVersion = {}

-- The files of other programs have the version in the file VERSION; Python writes "-dev" as ".dev0".
function TestVersion.test_the_version_is_equal_in_all_files()
  local version = read("VERSION"):match("%S+")
  lu.assertEquals(read("CITATION.cff"):match("\nversion: (%S+)\n"), version)
  local python = read("python/longhand/__init__.py"):match('\n__version__ = "(.-)"')
  lu.assertEquals(python, (version:gsub("%-dev$", ".dev0")))
end

support.run()
