-- A fuzzer of load, validate, plan and render: mutated specs must give files or informative errors.
--
-- As a program, from the root (default: 10000 cases of seed 1; --case N prints and runs only case N):
--
--     lua5.4 tests/lua/fuzz_specs.lua [--cases N] [--seed S] [--first N] [--case N]
--
-- Case N of seed S is the same text on every machine. Valid specs of the repository are changed byte by byte, token by
-- token, value by value, and in their structure; some also have --set overrides. Other cases combine presets and valid
-- values of fields. A failure is a Lua error of the generator, a case that takes longer than SECONDS, a refusal without
-- a message, or a plan that does not render. test_fuzz.lua runs ten thousand cases.

local support = dofile("tests/lua/support.lua")

local diagnostics = require("base.diagnostics")
local fuzzing = require("fuzzing")
local gen = require("render.templates.gen")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local plan_module = require("plan.plan")
local plan_page = require("lab.pages.plan_page")
local random = require("random")
local resolved_spec = require("spec.resolved")
local sandbox = require("spec.reading.sandbox")
local schema = require("spec.schema")
local tasks = require("spec.task.tasks")
local validate = require("spec.validate")
local write = require("base.write")

local M = {}

local SECONDS = 2 -- the largest processor time of one case
local MAX_INSTRUCTIONS = 100000000 -- the largest number of Lua instructions of one case
local RENDER_EVERY = 25 -- every 25th case is also rendered, which takes as long as planning fifty cases
local COMBINE_EVERY = 20 -- every 20th case combines presets, and is rendered too

-- These limits are smaller than the real ones: doubling a string up to 128 MB would take seconds on a busy machine.
sandbox.INSTRUCTIONS, sandbox.MEMORY = 20000, 16 * 1024

-- ---- material of mutations ----

-- Returns the paths of the specs in a folder.
local function list_specs(folder)
  return lists.map(write.list_names(folder), function(name)
    return name:find("%.lua$") and folder .. "/" .. name or nil
  end)
end

-- Returns the texts of valid specs, and of one spec for each preset.
local function read_corpus()
  local texts = {}
  for _, folder in ipairs({ "spec/runs", "tests/specs", "tests/golden/specs" }) do
    for _, path in ipairs(list_specs(folder)) do
      texts[#texts + 1] = support.read(path)
    end
  end
  for _, section in ipairs({ "encoding", "model", "train", "eval" }) do
    for _, path in ipairs(list_specs("spec/" .. load_module.FOLDERS[section])) do
      local head, preset = ("\n" .. support.read(path)):match("^(.*)\nreturn (.*)$")
      texts[#texts + 1] = ('%s\nreturn {\n  task = { kind = "bucket_sort" },\n  %s = %s}\n'):format(head, section,
        preset)
    end
  end
  return texts
end

collectgarbage("generational")
local corpus = read_corpus()
local facts = tasks.read("runtime/data/tasks", diagnostics.new())

local VALUES = { "0", "-1", "1", "2", "3", "7", "8", "40", "64", "65", "256", "2048", "100000", "2147483647",
  "2147483648", "9223372036854775807", "-9223372036854775808", "1e300", "1e-300", "0.5", "0.1", "1.5", "-0.0", "1/0",
  "-1/0", "0/0", "0x7fffffff", "0x1p-3", "1e", "true", "false", "nil", "{}", "{ 1 }", "{ 1, 40 }", "{ 40, 1 }",
  "{ 1, 40, step = 7 }", "{ list = { 6, 10, 50 } }", "{ list = {} }", "{ 1, nil, 3 }", "{ [0] = 1 }", "{ [1.5] = 2 }",
  "{ [{}] = 1 }", "{ kind = 'none' }", "{ kind = {} }", "{ use = {} }", "{ use = 'quick' }", '""', '"\\0"', '"none"',
  '"transformer_xl"', '"shaw"', '"clamped"',
  '"rope"', '"learned"', '"sinusoid"', '"randomized"', '"index"', '"pass"', '"layer"', '"all"', '"last"', '"quick"',
  '"./base.lua"', '"./probe.lua"', '"../../etc/passwd"', '"/etc/passwd"', '"a.lua"', '"%s%n%d"', '"\\xff\\xfe"',
  '("x")', "[[\n\n]]", "[==[x]==]", "function() end", "function(x) return x end", "function(x) return x.y + 1 end",
  "function(x) if x then return 1 end end",
  "function(x) return x.score end", "function(x) return x.score * x.slope end",
  "function(x) return x.score - x.slope * abs(x.distance) end",
  "function(x) return x.score + lookup(x.bias, mod(x.distance, 3)) end",
  "function(x) return x.score + sum(3, function(m) return pow(x.distance, m) end) end",
  "function(x) return x.score + select(less(x.query, x.key), 0, 1 / x.width) end",
  "function(x) for i = 1, 1e9 do x = x end return x.score end",
  "(function() local function f(x) return f(x) end return f end)()", "abs", "{ use = 'window', width = 3 }",
  "{ { use = 'alibi' }, { use = 't5' } }", "{ slope = { per = 'head', init = 'alibi_slopes' } }", "{ width = 3 }",
  "{ bias = { shape = 3, per = 'layer_head', init = { normal = 1 } } }", "{ bias = { 1, 2, 3 } }",
  "{ bias = { index = { -2, 2 }, values = 1, outside = 'clip' } }", "(function() while true do end end)()",
  "(function() return 5 end)()",
  "(function(...) return ... end)(1, 2)", "(function() local t = {} t.t = t return t end)()",
  "(function() local t = {} for i = 1, 400 do t[i] = i end return t end)()",
  "(function() local t = {} for i = 1, 100 do t = { t } end return t end)()",
  "(function() local s = 'x' for i = 1, 20 do s = s .. s end return s end)()",
  "(function() local function f() return f() + 1 end return f() end)()", "os.exit()", "print", "_G", "_ENV", "...",
  "'x' .. 1", "#'x'", "1 << 70", "7 // 0", "7 % 0", "1 // 0.0", "('x').y", "('x'):rep(9)", "({})[1]", "nil + 1" }

local STATEMENTS = { "local t = 5\n", "x = 1\n", "goto out\n::out::\n",
  "do return { task = { kind = 'even_pairs' } } end\n",
  "for i = 1, 3 do end\n", "repeat until true\n", "local t <const> = 1\n", "error('x')\n", "error()\n", "error({})\n",
  "#!/bin/sh\n", "\27Lua", "--[[", "--[==[ ]==]", "\0", "\r", "\xEF\xBB\xBF", "return nil\n", ";;;", "_ENV = nil\n" }

local TOKENS = { "{", "}", "(", ")", "[", "]", "=", "==", ",", ";", ".", "..", "...", ":", "::", "#", "-", "+", "*",
  "/", "//", "%", "^", "~", "&", "|", "<", ">", "'", '"', "[[", "]]", "--", "--[[", "and", "break", "do", "else", "end",
  "false", "for", "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true",
  "until", "while", "score", "x", "x.score", "x.distance", "abs", "less", "lookup", "bucket", "sum",
  "max", "log", "\\", "\\z", "\n", " ", "use", "kind", "step", "list" }

-- Blanks, comments, words, numbers and strings.
local PATTERNS = { "^%s+", "^%-%-[^\n]*", "^[%a_][%w_]*", "^%.?%d[%w%.]*", '^"[^"\n]*"', "^'[^'\n]*'" }

-- Splits a text into pieces that match PATTERNS, and single bytes.
local function split(text)
  local pieces, position = {}, 1
  while position <= #text do
    local last = position
    for _, pattern in ipairs(PATTERNS) do
      local _, match_end = text:find(pattern, position)
      if match_end then
        last = match_end
        break
      end
    end
    pieces[#pieces + 1] = text:sub(position, last)
    position = last + 1
  end
  return pieces
end

-- ---- mutations: each returns a changed text ----

local splice = fuzzing.splice

local function mutate_byte(rng, text)
  return fuzzing.mutate_byte(rng, text, 30)
end

-- Returns the index of a random piece that matches a pattern, or nil.
local function pick_piece(rng, pieces, pattern)
  local fitting = lists.map(pieces, function(piece, i) return piece:find(pattern) and i or nil end)
  return #fitting > 0 and rng:pick(fitting) or nil
end

local function mutate_token(rng, text)
  local pieces = split(text)
  local position = pick_piece(rng, pieces, "%S")
  if not position then
    return text
  end
  local kind = rng:pick_number(4)
  if kind == 1 then
    pieces[position] = ""
  elseif kind == 2 then
    pieces[position] = pieces[position] .. " " .. pieces[position]
  elseif kind == 3 then
    pieces[position] = rng:pick(TOKENS)
  else
    local partner = pick_piece(rng, pieces, "%S")
    pieces[position], pieces[partner] = pieces[partner], pieces[position]
  end
  return table.concat(pieces)
end

-- Replaces a random number by a close number, or a random number or string by any of VALUES.
local function mutate_value(rng, text)
  local pieces = split(text)
  local index = pick_piece(rng, pieces, rng:is_one_in(3) and "^[\"']" or "^%.?%d")
  if not index then
    return text
  end
  local number = tonumber(pieces[index])
  if number and rng:is_one_in(2) then
    local neighbours = { number - 1, number + 1, number * 2, number // 2, number / 2, -number }
    pieces[index] = diagnostics.show(rng:pick(neighbours))
  else
    pieces[index] = rng:pick(VALUES)
  end
  return table.concat(pieces)
end

-- Returns the positions of the first and the last byte of a random table constructor, or nil.
local function pick_table(rng, text)
  local places = lists.find_all(text, "(){")
  if #places > 0 then
    return text:find("^%b{}", rng:pick(places))
  end
end

-- Returns a random field of the schema with a random value, within the tables of its path: { eval = { draws = 3 } }.
local function pick_field(rng)
  local path = rng:pick(schema.fields).path
  local text = rng:pick(VALUES)
  for name in path:reverse():gmatch("[^%.]+") do
    text = ("{ %s = %s }"):format(name:reverse(), text)
  end
  return text
end

local function mutate_structure(rng, text)
  local start, stop = pick_table(rng, text)
  local kind = rng:pick_number(6)
  if not start or kind == 1 then
    return rng:pick(STATEMENTS) .. text
  elseif kind == 2 then
    return splice(text, start, stop, rng:pick(VALUES))
  elseif kind == 3 then
    return splice(text, start, stop, "{ " .. text:sub(start, stop) .. " }")
  elseif kind == 4 then
    local donor = rng:pick(corpus)
    local from, to = pick_table(rng, donor)
    return splice(text, start, stop, from and donor:sub(from, to) or "")
  elseif kind == 5 then
    return splice(text, start, start, "{ " .. pick_field(rng):match("^{ (.*) }$") .. ", ")
  end
  return splice(text, start, start, "{ " .. rng:pick(VALUES) .. ", ")
end

local MUTATIONS = { mutate_byte, mutate_token, mutate_value, mutate_value, mutate_structure }

-- Returns the text of a random valid value of a field that has choices or kinds, or the type boolean, integer or
-- number; nil for other fields.
local function pick_value(rng, field)
  local choices = field.choices or field.kinds
  if choices then
    local choice = rng:pick(choices)
    return ("%q"):format(type(choice) == "table" and (choice.name or choice[1]) or choice)
  elseif field.type == "boolean" then
    return rng:pick({ "true", "false" })
  elseif field.type == "integer" then
    return tostring((field.min or 1) + (field.multiple or 1) * (rng:pick_number(8) - 1))
  elseif field.type == "number" then
    return tostring((field.min or field.above or 0) + rng:pick({ 0.125, 0.5, 1, 2 }))
  end
end

-- Returns the name of a random preset of a section.
local function pick_preset(rng, section)
  return (rng:pick(list_specs("spec/" .. load_module.FOLDERS[section])):match("([%w_]+)%.lua$"))
end

-- Returns a new spec of presets, and up to three settings with valid values.
local function combine(rng)
  local sets = {}
  for _ = 1, rng:pick_number(4) - 1 do
    local field = rng:pick(schema.fields)
    local text = pick_value(rng, field)
    sets[#sets + 1] = text and { path = field.path, text = text }
  end
  local family = rng:is_one_in(3) and rng:pick({ "encoder", "decoder", "cross" })
  local family_part = family and (", %s = { use = %q }"):format(family, pick_preset(rng, "encoding")) or ""
  return ("return { task = { kind = %q }, model = { use = %q }, encoding = { use = %q%s } }\n"):format(
    rng:pick(facts.list).kind, pick_preset(rng, "model"), pick_preset(rng, "encoding"), family_part), sets
end

-- Makes one case: the text of a spec, and its settings or nil.
function M.make_case(seed, number)
  local rng = random(seed * 0x632be59bd9b4e019 + number)
  if number % COMBINE_EVERY == 0 then
    return combine(rng)
  end
  local text, sets = rng:pick(corpus), nil
  for _ = 1, rng:pick_number(3) - (rng:is_one_in(4) and 1 or 0) do
    text = rng:pick(MUTATIONS)(rng, text)
  end
  if rng:is_one_in(4) then
    sets = {}
    for i = 1, rng:pick_number(2) do
      sets[i] = { path = rng:pick(schema.fields).path, text = rng:pick(VALUES) }
    end
  end
  return text, sets
end

-- ---- running ----

local templates = {}

local function read_template(name)
  templates[name] = templates[name] or support.read("templates/" .. name)
  return templates[name]
end

-- Takes a spec through the generator, and raises errors of the generator. Returns "refused" if load, validate or plan
-- refuses the spec, otherwise "planned" or "rendered".
local function run_case(path, sets, render)
  local d = diagnostics.new()
  local loaded = load_module.load(path, { root = ".", diagnostics = d, sets = sets })
  local resolved, info
  if loaded then
    resolved, info = validate.resolve(loaded, d, { tasks = facts })
  end
  if not resolved or d:count() > 0 then
    local text = d:text()
    assert(text:find("error: [^\n]*%w") and text:find("%d errors?.*; nothing was written\n$"), "no message: " .. text)
    assert(not text:find("stack traceback", 1, true), text)
    return "refused"
  end
  local plan, refusal = plan_module.build(resolved, { task = info.task, score = info.score })
  if not plan then
    assert(#refusal.what > 0 and #resolved_spec.format(resolved, info.origins) > 0)
    return "refused"
  end
  assert(#plan_page.format_page(plan) > 0 and #resolved_spec.format(resolved, info.origins) > 0)
  if not render then
    return "planned"
  end
  local files, problem = gen.render_files(plan, read_template, {})
  assert(files, type(problem) == "table" and ("%s:%d: %s"):format(problem.path, problem.line, problem.what) or problem)
  return "rendered"
end

-- Runs one case: returns its outcome, or nil and an error.
local function try(seed, number)
  local text, sets = M.make_case(seed, number)
  local path = support.write("probe.lua", text)
  local began = os.clock()
  local has_succeeded, outcome = fuzzing.call_limited(MAX_INSTRUCTIONS, run_case, path, sets,
    number % RENDER_EVERY == 0 or number % COMBINE_EVERY == 0)
  local seconds = os.clock() - began
  if has_succeeded and seconds > SECONDS then
    has_succeeded, outcome = false, ("took %.1f s"):format(seconds)
  end
  if has_succeeded then
    return outcome
  end
  return nil, outcome
end

-- Runs cases as fuzzing.run does; returns { refused, planned, rendered, failures = { text... } }.
function M.run(count, seed, first, watch)
  support.write("base.lua", corpus[1])
  return fuzzing.run({ "refused", "planned", "rendered" }, try, count, seed, first, watch)
end

-- ---- as a program ----

local function show_case(seed, number)
  local text, sets = M.make_case(seed, number)
  io.write(text, "\n")
  for _, set in ipairs(sets or {}) do
    io.write(("--set %s=%s\n"):format(set.path, set.text))
  end
end

if arg and arg[0] and arg[0]:find("fuzz_specs%.lua$") then
  fuzzing.main({ name = "fuzz_specs.lua", cases = 10000, run = M.run, show_case = show_case, describe = function(result)
    return ("%d refused, %d planned, %d of them rendered"):format(result.refused, result.planned + result.rendered,
      result.rendered)
  end }, arg)
end

return M
