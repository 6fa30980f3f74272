-- Pages agree with the code: docs/encodings.md names all encodings, and its first spec is the example's;
-- docs/studies.md names existing cells; docs/own-network.md has every method, and its network is the example's;
-- docs/switches.md names existing fields with their defaults; docs/training.md has a valid spec and axis;
-- docs/performance.md has predictions from the counts of compiled device code; links have targets; the version is equal
-- everywhere.

local support = dofile("tests/lua/support.lua")

local requested_study = require("lab.study.grid.requested_study")
local cli = require("cli.cli").make(require("lab.cli.command_lines"))
local grid = require("lab.study.grid.grid")
local names = require("base.names")
local handles = require("network.graph.handles")
local lfs = require("lfs")
local lu = require("luaunit")
local own_network = require("spec.reading.own_network")
local paths = require("base.paths")
local project_module = require("project")
local sandbox = require("spec.reading.sandbox")
local schema = require("spec.schema")
local traced = require("expression.traced")

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

local guide = read("docs/encodings.md")

TestEncodings = {}

local function list_preset_rows()
  local rows = {}
  for first in guide:match("## The presets\n(.-)\n## "):gmatch("\n| (`[^|]*) |") do
    for name in first:gmatch("`([%w_]+)`") do
      rows[name] = true
    end
  end
  return rows
end

function TestEncodings.test_the_table_has_the_presets()
  local rows = list_preset_rows()
  for file in lfs.dir("spec/encodings") do
    local name = file:match("^(.*)%.lua$")
    if name then
      lu.assertTrue(rows[name], name .. " is not in the table")
      rows[name] = nil
    end
  end
  lu.assertEquals(rows, {})
end

function TestEncodings.test_functions_and_symbols_are_named()
  local code = {}
  for span in guide:gmatch("`([^`\n]+)`") do
    for word in span:gmatch("[%w_]+") do
      code[word] = true
    end
  end
  for _, list in ipairs({ traced.names, traced.SYMBOLS }) do
    for _, name in ipairs(list) do
      lu.assertTrue(code[name], name .. " is not named")
    end
  end
end

-- The text without comments and blank lines.
local function strip(text)
  local lines = {}
  for line in text:gmatch("[^\n]+") do
    line = line:gsub("%s*%-%-.*$", "")
    if line:find("%S") then
      lines[#lines + 1] = line
    end
  end
  return table.concat(lines, "\n")
end

function TestEncodings.test_the_first_spec_is_the_example()
  lu.assertEquals(strip(guide:match("```lua\n(.-)\n```")), strip(read("examples/own_bias/own_bias.lua")))
end

TestOwnNetwork = {}

local networks = read("docs/own-network.md")

function TestOwnNetwork.test_the_network_is_the_example()
  lu.assertEquals(strip(networks:match("```lua\n(.-)\n```")), strip(read("examples/own_network/parallel_block.lua")))
end

-- Each method has a row with its call and its options; other names exist, too.
function TestOwnNetwork.test_every_method_has_a_row()
  local seen = 0
  for call in networks:gmatch("\n| `(%l+:%l+%([^`]*%))` |") do
    local object, name = call:match("^(%l+):(%l+)")
    local method = lu.assertNotNil(handles.METHODS[name], call) or handles.METHODS[name]
    lu.assertTrue(not method.of or method.of == (object == "net" and "network" or object), call)
    for i, argument in ipairs(method) do
      lu.assertStrContains(call, argument[2] == "word" and name == "readout" and '"last"' or argument[1], call .. i)
    end
    for option in pairs(method.options or {}) do
      lu.assertNotNil(call:match("{[^}]*%f[%w]" .. option .. "%f[%W]"), call .. ": " .. option)
    end
    seen = seen + 1
  end
  local count = 0
  for _ in pairs(handles.METHODS) do
    count = count + 1
  end
  lu.assertEquals(seen, count)
  for _, name in ipairs(own_network.NAMES) do
    lu.assertStrContains(networks, "`" .. name)
  end
end

-- Numbers on the page are those of the code.
function TestOwnNetwork.test_limits_on_pages_are_those_of_the_code()
  lu.assertStrContains(networks, "five million steps")
  lu.assertStrContains(networks, "128 MB")
  lu.assertEquals({ sandbox.INSTRUCTIONS, sandbox.MEMORY }, { 5000000, 128 * 1024 })
  lu.assertStrContains(networks, "up to 40 of a-z, 0-9 and _")
  lu.assertStrContains(names.TEXT, "up to 40 of a-z, 0-9 and _")
end

-- The output of `plan` on the page and in the example's README is the current one, and the wrong example gives the
-- shown message.
function TestOwnNetwork.test_the_example_is_planned_as_the_page_says()
  local project = project_module.new(".")
  local spec = assert(project:plan("examples/own_network/own_network.lua", {}))
  local text = require("lab.pages.plan_page").format_page(spec.plan)
  local shown = networks:match("plan examples/own_network/own_network.lua\n    %.%.%.\n(.-)    %.%.%.\n")
  local lines = 0
  for line in shown:gmatch("    ([^\n]*%S)\n") do
    lu.assertStrContains(text, "\n" .. line .. "\n")
    lines = lines + 1
  end
  lu.assertEquals(lines, 6)
  lu.assertNotNil(project:plan("examples/own_network/own_network.lua", { "model.options.gate=gelu" }))
  local wide = read("examples/own_network/parallel_block.lua"):gsub("block:gate%([^\n]*",
    'block:product("gated", halves, 2 * model.width)')
  support.write("parallel_block.lua", wide)
  local _, message = project:plan(support.write("own.lua", read("examples/own_network/own_network.lua")), {})
  lu.assertStrContains(networks, "    " .. message:gsub("\n1 error.*$", ""):gsub("\n", "\n    "))
end

TestSwitches = {}

local switches = read("docs/switches.md")

function TestSwitches.test_every_switch_has_a_row()
  for i = 1, 13 do
    local _, count = switches:gsub(("\n| S%d |"):format(i), "")
    lu.assertEquals(count, 1, "S" .. i)
  end
end

-- `path = value` in the column of defaults, alone or before others.
function TestSwitches.test_fields_exist_with_their_defaults()
  local seen = 0
  for _, default in switches:gmatch("\n| S%d+ |([^|]*)|([^|]*)|") do
    for path, value in default:gmatch("`([%l_]+%.?[%l_%.]*) = ([^`]*)`") do
      local field = lu.assertNotNil(schema.at[path], path) or schema.at[path]
      local text = field.default_text or tostring(field.default)
      lu.assertEquals((value:gsub('"', "")), text:match("^[^;]*"), path)
      seen = seen + 1
    end
  end
  lu.assertEquals(seen, 9)
end

function TestSwitches.test_every_field_that_is_named_exists()
  for span in switches:gmatch("`([^`\n]+)`") do
    for path in span:gmatch("%f[%l][%l]+%.[%l_%.]*[%l_]") do
      lu.assertNotNil(schema.at[path] or path == "run.json" or nil, path .. " is no field")
    end
  end
end

-- The other readings on the page are valid values of their fields.
function TestSwitches.test_every_choice_is_legal()
  for row in switches:gmatch("\n(| S%d+ |[^\n]*)") do
    local field = schema.at[row:match("`([%l_]+%.?[%l_%.]*)[ `]") or ""]
    for value in row:gmatch('`"(%w+)"`') do
      lu.assertStrContains(" " .. table.concat(field.choices, " ") .. " ", " " .. value .. " ")
    end
  end
end

-- ---- docs/training.md ----

TestTraining = {}

local training = read("docs/training.md")

-- The indented lines, from the one that begins with a word.
local function indented(word)
  return training:match("\n    " .. word .. ".-\n    }\n")
end

function TestTraining.test_the_spec_is_legal()
  local text = ("return { task = { kind = 'even_pairs' }, %s }"):format(indented("train = {"))
  local resolved, _, d = support.check(support.write("training.lua", text))
  lu.assertNotNil(resolved, d:text())
  lu.assertEquals(resolved.train.schedule, { kind = "cosine", warmup = 500, final = 0.1 })
end

-- Every optimiser of the axis gives another plan, on a base that sets all fields of a different optimiser.
function TestTraining.test_the_axis_is_legal()
  local path = support.write("optimizers.lua", ([[return { title = "rules", base = { task = { kind = "even_pairs" },
    model = { use = "small_encoder" }, train = { use = "ruoss" }, eval = { use = "quick" } }, %s }]]):format(
    indented("axes = {")))
  local study, message = grid.expand(project_module.new("."), path)
  lu.assertNil(message)
  local seen, rates = {}, {}
  for i, cell in ipairs(study.cells) do
    lu.assertNil(seen[cell.spec.plan.digest] and cell.id ~= "sgd_1e_1" or nil, cell.id)
    seen[cell.spec.plan.digest], rates[i] = true, cell.runs[1].learning_rate
  end
  lu.assertEquals(rates, { 1e-4, 1e-4, 1e-2, 1e-1 })
  lu.assertEquals(study.cells[3].spec.resolved.train.optimizer, { kind = "sgd" })
end

function TestTraining.test_the_page_has_every_field_of_the_optimiser()
  for _, path in ipairs({ "optimizer.weight_decay", "optimizer.decays", "optimizer.momentum", "schedule.warmup",
    "schedule.final" }) do
    lu.assertNotNil(schema.at["train." .. path], path)
    lu.assertStrContains(training, path:match("[^%.]*$"))
  end
end

-- ---- docs/performance.md ----

TestPredictions = {}

function TestPredictions.test_rows_of_the_page_follow_from_the_counts()
  package.path = "tests/ptx/?.lua;" .. package.path
  local page = read("docs/performance.md")
  for _, row in ipairs(require("predict").rows("tests/cuda/counts.txt")) do
    lu.assertStrContains(page, "\n" .. row .. "\n")
  end
end

TestStudies = {}

-- Names in the page's commands exist: studies, scales, cells, values of axes, except two files that a sweep or the
-- reader makes.
function TestStudies.test_commands_are_valid()
  local count, project = 0, project_module.new(".")
  for line in read("docs/studies.md"):gmatch("\n    %./longhand (sweep [^\n#]+)") do
    if not line:find("1a2b3c4d", 1, true) and not line:find("items.csv", 1, true) then
      local words = {}
      for word in line:gmatch("%S+") do
        words[#words + 1] = word
      end
      local options, message = cli.parse(words, ".")
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
local small = {} -- small scales of studies, by name

local function expand_study(name)
  small[name] = small[name] or assert(grid.expand(project_module.new("."), name, { scale = "small" }))
  return small[name]
end

local function has_axis(study, name)
  for _, axis in ipairs(study.axes) do
    if axis.name == name then
      return true
    end
  end
end

local function has_value(study, value)
  for _, cell in ipairs(study.cells) do
    for _, name in pairs(cell.key) do
      if name == value then
        return true
      end
    end
  end
end

-- Every command of the page is valid, and its studies, axes and cells exist.
function TestIto.test_commands_of_the_page_are_valid_and_their_items_exist()
  local count = 0
  for line in ito_2024:gmatch("\n    %./longhand ([^\n]+)") do
    local words = {}
    for word in line:gmatch("%S+") do
      words[#words + 1] = word
    end
    local actual, message = cli.parse(words, ".")
    lu.assertNotNil(actual, ("%s: %s"):format(line, message))
    local study = (actual.verb == "sweep" or actual.study) and expand_study(actual.study or words[2])
    lu.assertTrue(not actual.axis or has_axis(study, actual.axis), line)
    lu.assertTrue(not actual.reference or actual.what == "tables" or has_value(study, actual.reference), line)
    count = count + 1
  end
  lu.assertTrue(count >= 20, count)
end

-- Rows name existing studies and, in quotes, titles of their items.
function TestIto.test_items_are_those_of_reports()
  local seen = 0
  for name, cell in ito_2024:gmatch("\n|[^|\n]*| `(ito_%l+)`[^|\n]*| ([^|\n]*) |") do
    local titles = {}
    for _, item in ipairs(expand_study(name).report) do
      titles[item.title or ""] = true
    end
    for title in cell:gmatch('"([^"]*)"') do
      lu.assertTrue(titles[title], name .. " has no item " .. title)
      seen = seen + 1
    end
  end
  lu.assertTrue(seen >= 4, seen)
end

TestArithmetic = {}

-- Frames are requested one by one, from 0 to 4096, and a wider frame than that of training holds more digits.
function TestArithmetic.test_frames_of_addition_are_those_of_the_page()
  local function problem(...)
    local spec, message = project_module.new("."):plan("abc_addition_vanilla", { ... })
    return spec and "" or message
  end
  lu.assertEquals(problem("eval.by={ digits = { 1, 110 }, frame = { list = { 0, 80, 120 } } }"), "")
  lu.assertStrContains(problem("eval.by={ digits = { 1, 110 }, frame = { list = { 0, 80 } } }"),
    "eval.by.digits[2]: 110 is out of range")
  lu.assertEquals(problem("eval.by={ digits = { 1, 110 }, carry = { 0, 110 }, frame = { list = { 120 } } }"), "")
  lu.assertStrContains(problem("eval.by={ digits = true, carry = { 0, 90 }, frame = { list = { 80 } } }"),
    "eval.by.carry[2]: 90 is out of range")
  lu.assertStrContains(problem("eval.by={ digits = true, frame = true }"), "true does not say which frames")
  lu.assertStrContains(problem("eval.by={ frame = { list = { 4097 } } }"), "4097 is out of range")
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

-- Links between pages lead to files that exist, and to headings of these files.
function TestLinks.test_targets_exist()
  local pages = { "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "spec/published/README.md" }
  for name in lfs.dir("docs") do
    table.insert(pages, name:find("%.md$") and "docs/" .. name or nil)
  end
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

-- The version in files that other programs read is that of VERSION; Python has another form.
function TestVersion.test_the_version_is_equal_in_all_files()
  local version = read("VERSION"):match("%S+")
  lu.assertEquals(read("CITATION.cff"):match("\nversion: (%S+)\n"), version)
  local python = read("python/longhand/__init__.py"):match('\n__version__ = "(.-)"')
  lu.assertEquals(python, (version:gsub("%-dev$", ".dev0")))
end

support.run()
