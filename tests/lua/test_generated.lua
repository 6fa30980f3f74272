-- Generated files of every combination of facets: what is off is absent, form, the compiler, the same bytes anywhere.
--
-- tests/golden/sections/<part>.<case>.txt are pieces of them to read; LH_UPDATE_GOLDEN=1 writes them again.

local support = dofile("tests/lua/support.lua")

local canonical = require("canonical")
local gen = require("gen")
local lfs = require("lfs")
local lu = require("luaunit")
local plan_module = require("plan")
local project_module = require("project")
local schema = require("schema")
local tasks = require("tasks")
local write = require("write")

local SPEC = "tests/golden/specs/plain.lua"
local GOLDEN = "tests/golden/sections"
local COLUMNS = 120

local PATHS = {
  "spec.c", "config.h", "step.c", "attention_self.inc", "layers.inc", "loss.inc", "trace.inc", "plan.lua",
}

local templates = {}

local function template(name, folder)
  local path = (folder or "templates") .. "/" .. name
  templates[path] = templates[path] or support.read(path)
  return templates[path]
end

local facts = tasks.read(support.tasks_folder, require("diagnostics").new())

-- Resolves, plans and renders: { name, resolved, plan, files, text by path }. sets: { "a.b=v", ..., spec = path }.
local function rendered(name, sets)
  local list = {}
  for i, set in ipairs(sets) do
    local path, text = set:match("^(.-)=(.*)$")
    list[i] = { path = path, text = text }
  end
  local resolved, info, d = support.check(sets.spec or SPEC, list)
  assert(resolved, d:text())
  local plan = plan_module.build(resolved, { task = facts[resolved.task.kind], score = info.score })
  local made, err = gen.files(plan, template, {})
  assert(made, type(err) == "table" and ("%s:%d: %s"):format(err.path, err.line, err.what) or err)
  local case = { name = name, resolved = resolved, plan = plan, files = made, text = {} }
  for _, file in ipairs(made) do
    case.text[file.path] = file.text
  end
  return case
end

local POSITIONS = {
  { "index" },
  { "randomized", "encoding.positions.draw=pass" },
  { "randomized", "encoding.positions.draw=layer", "encoding.positions.sorted=false" },
}

-- What the combinations leave out.
local OTHERS = {
  { "dropout of the input alone", "encoding.additive.kind=sinusoid", "model.dropout=0",
    "encoding.additive.dropout=0.25" },
  { "dropout of the branches alone", "encoding.additive.kind=learned", "encoding.additive.dropout=0" },
  { "no clipping", "train.clip.kind=none" },
  { "evaluation while training", "eval.during={ every = 5, lengths = { list = { 3, 5 } } }" },
  { "lists", "train.lengths={ list = { 3, 5 } }", "eval.lengths={ list = { 7 } }",
    "train.checkpoint.keep={ 10, 20 }" },
  { "all checkpoints", "train.checkpoint.keep=all" },
  { "one answer", "task.kind=even_pairs" },
  { "heads of 12 channels", "model.width=48", "model.heads=4", "encoding.rotation.kind=rope" },
  { "heads of 64 channels", "model.width=128", "model.heads=2", "encoding.rotation.kind=rope" },
  { "linear scaling", "encoding.rotation.kind=rope", "encoding.rotation.scaling={ kind = 'linear', factor = 4 }" },
  { "NTK scaling", "encoding.rotation.kind=rope", "encoding.rotation.scaling={ kind = 'ntk', factor = 4 }" },
  { "YaRN", "encoding.rotation.kind=rope", "encoding.rotation.scaling={ kind = 'yarn', factor = 4 }" },
  { "YaRN at its largest", "encoding.rotation.kind=rope", "encoding.rotation.base=123456789012",
    "encoding.rotation.scaling={ kind = 'yarn', factor = 123456.789, original_length = 1048576, "
    .. "beta_slow = 123456.789, beta_fast = 234567.891, attention_factor = 123.456789 }", "precision=float64" },
  { "relative", "encoding.relative.kind=transformer_xl", "model.dropout=0" },
  { "relative in float64", "encoding.relative.kind=transformer_xl", "precision=float64", "model.width=48",
    "model.heads=4" },
  { "relative, drawn", "encoding.relative.kind=transformer_xl", "encoding.positions.kind=randomized" },
  { "relative, drawn for the pass", "encoding.relative.kind=transformer_xl", "encoding.positions.kind=randomized",
    "encoding.positions.draw=pass", "encoding.additive.kind=sinusoid" },
  { "relative, clamped", "encoding.relative.kind=transformer_xl", "encoding.positions.kind=randomized",
    "encoding.positions.reading=clamped", "encoding.rotation.kind=rope" },
  { "relative, differences", "encoding.relative.kind=transformer_xl", "encoding.positions.kind=randomized",
    "encoding.positions.reading=difference" },
  { "relative, differences of the input's", "encoding.relative.kind=transformer_xl",
    "encoding.positions.kind=randomized", "encoding.positions.reading=difference", "encoding.additive.kind=learned" },
  { "relative, differences for the pass", "encoding.relative.kind=transformer_xl",
    "encoding.positions.kind=randomized", "encoding.positions.reading=difference", "encoding.positions.draw=pass" },
  { "shaw", "encoding.relative.kind=shaw" },
  { "shaw, drawn", "encoding.relative.kind=shaw", "encoding.positions.kind=randomized" },
  { "shaw, differences", "encoding.relative.kind=shaw", "encoding.positions.kind=randomized",
    "encoding.positions.reading=difference" },
  { "alibi", "encoding.score={ use = 'alibi' }" },
  { "alibi, learned", "encoding.score={ use = 'alibi_learned' }" },
  { "alibi, drawn", "encoding.score={ use = 'alibi' }", "encoding.positions.kind=randomized" },
  { "t5 and relative, drawn for the pass", "encoding.score={ use = 't5' }", "encoding.relative.kind=transformer_xl",
    "encoding.positions.kind=randomized", "encoding.positions.draw=pass" },
  { "kerple, differences", "encoding.score={ use = 'kerple_log' }", "encoding.positions.kind=randomized",
    "encoding.positions.reading=difference", "precision=float64" },
  { "kerple, differences beside the input's", "encoding.score={ use = 'kerple_power' }",
    "encoding.positions.kind=randomized", "encoding.positions.reading=difference", "encoding.additive.kind=learned" },
  { "fire", "encoding.score={ use = 'fire' }" },
  { "sandwich, clamped", "encoding.score={ use = 'sandwich' }", "encoding.positions.kind=randomized",
    "encoding.positions.reading=clamped" },
  { "positions from 1", "encoding.positions.kind=randomized", "encoding.positions.range=one_based",
    "encoding.additive.kind=learned", "encoding.rotation.kind=rope", "encoding.positions.sorted=false" },
  { "positions from 1 for each sequence", "encoding.positions.kind=randomized", "encoding.positions.range=one_based",
    "encoding.positions.draw=sequence", "encoding.additive.kind=learned", "eval.dropout=true" },
  { "turns of each sequence", "encoding.positions.kind=randomized", "encoding.positions.draw=sequence",
    "encoding.rotation.kind=rope" },
  { "turns of each sequence and a score", "encoding.positions.kind=randomized", "encoding.positions.draw=sequence",
    "encoding.rotation.kind=rope", "encoding.score={ use = 'log_length' }", "encoding.additive.kind=sinusoid" },
  { "distances from 1, each side drawn", "encoding.relative.kind=transformer_xl",
    "encoding.positions.kind=randomized", "encoding.positions.range=one_based",
    "encoding.positions.sides=independent" },
  { "sides drawn for a score", "encoding.score={ use = 'alibi_learned' }", "encoding.positions.kind=randomized",
    "encoding.positions.sides=independent", "encoding.positions.draw=pass" },
  { "differences from 1 for a score", "encoding.score={ use = 'kerple_log' }", "encoding.positions.kind=randomized",
    "encoding.positions.range=one_based", "encoding.positions.reading=difference" },
  { "dropout in evaluation", "eval.dropout=true", "encoding.additive.kind=sinusoid", "eval.batch=64" },
  { "dropout of the input alone in evaluation", "eval.dropout=true", "encoding.additive.kind=sinusoid",
    "model.dropout=0", "encoding.additive.dropout=0.25" },
  { "a wide model of sequences' own positions", "model.width=256", "encoding.additive.kind=learned",
    "encoding.positions.kind=randomized", "encoding.positions.draw=sequence", "eval.dropout=true" },
  { "causal", "encoding.mask.kind=causal" },
  { "a window of relative vectors", "encoding.relative.kind=transformer_xl",
    "encoding.mask={ kind = 'window', left = 3 }" },
  { "causal alibi, drawn", "encoding.score={ use = 'alibi_learned' }", "encoding.mask.kind=causal",
    "encoding.positions.kind=randomized", "precision=float64" },
  { "geometric", "encoding.normaliser.kind=geometric" },
  { "geometric, not normalised", "encoding.normaliser={ kind = 'geometric', normalised = false }",
    "encoding.rotation.kind=rope", "precision=float64" },
  { "geometric, without directions", "encoding.normaliser={ kind = 'geometric', directional = false }",
    "encoding.additive.kind=sinusoid", "encoding.positions.kind=randomized" },
  { "geometric, neither", "encoding.normaliser={ kind = 'geometric', normalised = false, directional = false }",
    "model.width=48", "model.heads=4", "model.dropout=0" },
  { "t5", "encoding.score={ use = 't5' }" },
  { "softcap", spec = "tests/golden/specs/softcap.lua" },
  { "softcap with a constant", "encoding.parameters.log_cap=3", spec = "tests/golden/specs/softcap.lua" },
  { "a list of scores", "encoding.score={ { use = 'window' }, { use = 'cyclic' }, { use = 'log_length' } }" },
  { "the largest", "model.layers=64", "model.heads=64", "model.width=1024", "model.feedforward=8192",
    "encoding.additive.kind=learned", "encoding.rotation.kind=rope", "encoding.rotation.base=123456789012",
    "encoding.positions.kind=randomized", "encoding.positions.max_position=1048576",
    "encoding.positions.draw=layer", "model.dropout=0.123456789", "eval.during={ every = 2147483647 }" },
}

local function combinations(visit)
  for _, added in ipairs({ "none", "sinusoid", "learned" }) do
    for _, turned in ipairs({ "none", "rope" }) do
      for _, where in ipairs(POSITIONS) do
        for _, dropout in ipairs({ "0", "0.1" }) do
          for _, precision in ipairs({ "float32", "float64" }) do
            visit(table.concat({ added, turned, where[2] and where[2]:match("=(.*)") or where[1], dropout, precision },
              " "), { "encoding.additive.kind=" .. added, "encoding.rotation.kind=" .. turned,
              "encoding.positions.kind=" .. where[1], "model.dropout=" .. dropout, "precision=" .. precision,
              table.unpack(where, 2) })
          end
        end
      end
    end
  end
end

local all, by_name

local function all_cases()
  if not all then
    all, by_name = {}, {}
    combinations(function(name, sets)
      all[#all + 1] = rendered(name, sets)
    end)
    for _, other in ipairs(OTHERS) do
      all[#all + 1] = rendered(other[1], { spec = other.spec, table.unpack(other, 2) })
    end
    for _, case in ipairs(all) do
      by_name[case.name] = case
    end
  end
  return all
end

local function case_of(name)
  all_cases()
  return assert(by_name[name], name .. " is no case")
end

-- Calls visit(line, number) for every line.
local function each_line(text, visit)
  local number = 0
  for line in text:gmatch("([^\n]*)\n") do
    number = number + 1
    visit(line, number)
  end
end

local distinct_files, distinct_lines

-- Files and lines that differ: most cases share most of theirs. Both carry the first place where they stand.
local function collect()
  if distinct_files then
    return
  end
  distinct_files, distinct_lines = {}, {}
  local seen = {}
  for _, case in ipairs(all_cases()) do
    for _, file in ipairs(case.files) do
      if not seen[file.path .. file.text] then
        seen[file.path .. file.text] = true
        distinct_files[#distinct_files + 1] = { case = case, path = file.path, text = file.text, map = file.map,
          place = ("%s (%s)"):format(file.path, case.name) }
        each_line(file.text, function(line, number)
          if not seen[file.path .. "\n" .. line] then
            seen[file.path .. "\n" .. line] = true
            distinct_lines[#distinct_lines + 1] = { path = file.path, text = line,
              quotes_spec = file.path == "spec.c" and line:find('^%s+"') ~= nil,
              place = ("%s:%d (%s): %s"):format(file.path, number, case.name, line) }
          end
        end)
      end
    end
  end
end

local function files()
  collect()
  return ipairs(distinct_files)
end

local function lines()
  collect()
  return ipairs(distinct_lines)
end

-- The text without the strings that quote the spec: they name its fields, on or off.
local function without_spec(path, text)
  return path == "spec.c" and text:gsub('\n%s+"[^\n]*', "") or text
end

TestForm = {}

function TestForm.test_the_files_are_the_documented_ones()
  for _, case in ipairs(all_cases()) do
    local expected = table.move(PATHS, 1, #PATHS, 1, {})
    if case.resolved.encoding.score then
      table.insert(expected, 4, "score.inc")
    end
    for i, path in ipairs(expected) do
      lu.assertEquals(case.files[i].path, path, case.name)
    end
    lu.assertEquals(#case.files, #expected)
  end
end

-- A row of a table stays on one line, and so does the banner's command, whose end is the spec's path.
function TestForm.test_lines_are_no_longer_than_120_columns()
  local found = {}
  for _, line in lines() do
    if #line.text > COLUMNS and not line.text:find("^%s+{.*},$")
      and not line.text:find("^[/-][*-] Generated by Longhand") then
      found[#found + 1] = ("%d columns: %s"):format(#line.text, line.place)
    end
  end
  lu.assertEquals(#found, 0, "\n" .. table.concat(found, "\n", 1, math.min(#found, 20)))
end

function TestForm.test_blanks_and_ends_of_lines()
  for _, line in lines() do
    lu.assertNil(line.text:find("[\0-\31\127-\255]"), line.place)
    lu.assertNil(line.text:find(" $"), line.place)
  end
  for _, file in files() do
    lu.assertNil(file.text:find("\n\n\n", 1, true), file.place .. ": two blank lines")
    lu.assertNil(file.text:find("^\n"), file.place .. ": a blank first line")
    lu.assertEquals(file.text:sub(-1), "\n", file.place)
    lu.assertNotEquals(file.text:sub(-2), "\n\n", file.place)
  end
end

-- Traces of the generator, of the clock and of the place.
local LEAKS = { "%f[%w_]nil%f[^%w_]", "table: 0x", "function: 0x", "%${", "%d%d%d%d%-%d%d%-%d%d", "__DATE__",
  "__TIME__", "__FILE__", "[%s\"'(=]/%w[%w_.]*/", "%f[%w_]inf%f[^%w_]", "%f[%w_]nan%f[^%w_]" }

function TestForm.test_nothing_leaks()
  for _, line in lines() do
    for _, leak in ipairs(line.quotes_spec and {} or LEAKS) do
      lu.assertNil(line.text:find(leak), line.place)
    end
    lu.assertNil(line.text:find(lfs.currentdir(), 1, true), line.place)
  end
end

function TestForm.test_the_banner_names_spec_and_template()
  for _, file in files() do
    lu.assertStrContains(file.text:match("^[^\n]*"),
      "Generated by Longhand; do not edit. Change the spec or the template, then", nil, nil, file.place)
    lu.assertStrContains(file.text:match("^[^\n]*\n[^\n]*\n"), " ./longhand gen " .. file.case.plan.source .. "\n",
      nil, nil, file.place)
    if file.path ~= "plan.lua" then
      local name = file.text:match("\n %* template  (templates/[^\n]*)\n")
      lu.assertEquals(name and lfs.attributes(name, "mode"), "file", file.place)
      lu.assertEquals(file.text:match("\n %* spec      ([^\n]*)\n"), file.case.plan.source, file.place)
    end
  end
end

function TestForm.test_every_line_has_its_template_line()
  for _, file in files() do
    local _, count = file.text:gsub("\n", "\n")
    lu.assertEquals(#file.map, file.path == "plan.lua" and 0 or count, file.place)
  end
end

TestAbsent = {}

function TestAbsent.test_fingerprints_of_what_is_off()
  for _, case in ipairs(all_cases()) do
    for _, file in ipairs(case.files) do
      local text = without_spec(file.path, file.text)
      for _, name in ipairs(file.path ~= "plan.lua" and schema.absent(case.resolved) or {}) do
        local at = text:find(name, 1, true)
        lu.assertNil(at, at and ("%s (%s): %s is there: %s"):format(file.path, case.name, name,
          text:sub(at):match("[^\n]*")))
      end
    end
  end
end

-- A fingerprint that never appears would guard nothing.
function TestAbsent.test_fingerprints_of_what_is_on()
  local off, there = {}, {}
  for _, case in ipairs(all_cases()) do
    local absent = {}
    for _, name in ipairs(schema.absent(case.resolved)) do
      absent[name], off[name] = true, true
    end
    local parts = {}
    for _, file in ipairs(case.files) do
      parts[#parts + 1] = file.path ~= "plan.lua" and without_spec(file.path, file.text) or nil
    end
    local text = table.concat(parts)
    for _, field in ipairs(schema.fields) do
      for _, owner in ipairs({ field, table.unpack(field.kinds or {}) }) do
        for _, name in ipairs(owner.fingerprints or {}) do
          there[name] = there[name] or false
          if not absent[name] then
            there[name] = true
            lu.assertStrContains(text, name, nil, nil, case.name)
          end
        end
      end
    end
  end
  lu.assertTrue(next(there) ~= nil)
  for name, on in pairs(there) do
    lu.assertTrue(on and off[name], name .. " is never on, or never off")
  end
end

-- Positions or distances.
local function draws(case)
  return case.plan.positions.range ~= nil or case.plan.positions.distance.draws ~= nil
end

local function relative(case)
  return case.plan.relative.kind ~= "none"
end

local function tables(case)
  return case.plan.additive.kind == "sinusoid" or case.plan.rotation.kind == "rope"
    or case.plan.relative.kind == "transformer_xl"
end

-- Finer than the fingerprints: an identifier, and when it is there.
local function scaled_by(kind)
  return function(case)
    return case.plan.rotation.kind == "rope" and case.plan.rotation.scaling.kind == kind
  end
end

local function geometric(case)
  return case.plan.normaliser.kind == "geometric"
end

local IDENTIFIERS = {
  { "BRANCH_", function(case) return case.resolved.model.dropout > 0 end },
  { "attention_keep", function(case) return case.resolved.model.dropout > 0 end },
  { "EMBEDDING_DROP_BELOW", function(case) return (case.resolved.encoding.additive.dropout or 0) > 0 end },
  { "embedding_keep", function(case) return (case.resolved.encoding.additive.dropout or 0) > 0 end },
  { "draw_masks", function(case)
    return case.resolved.model.dropout > 0 or (case.resolved.encoding.additive.dropout or 0) > 0
  end },
  { "make_tables", tables },
  { "position_row", tables },
  { "ROTATION_PERIOD", function(case) return case.plan.rotation.kind == "rope" end },
  { "interpolated", scaled_by("linear") },
  { "log_base", scaled_by("ntk") },
  { "slowed", scaled_by("yarn") },
  { "growth", scaled_by("yarn") },
  { "cpu/rotation.h", function(case) return case.plan.rotation.kind == "rope" end },
  { "POSITION_ROWS", function(case) return case.plan.additive.kind == "learned" end },
  { "MAX_POSITION", draws },
  { "DRAWS", function(case) return draws(case) and case.plan.positions.kind ~= "sequence" end },
  { "FIRST_POSITION", function(case) return case.plan.positions.first == 1 end },
  { "lh_draw_sequence", function(case) return case.plan.positions.kind == "sequence" end },
  { "position_scratch", function(case) return case.plan.positions.kind == "sequence" end },
  { "lh_draw_signed_distances", function(case) return case.plan.positions.distance.independent or false end },
  { "LH_DOMAIN_EVAL_DROPOUT", function(case) return case.resolved.eval.dropout ~= nil end },
  { "longhand/positions.h", draws },
  { "relative", relative },
  { "begin_shard", function(case) return relative(case) or case.plan.score.trains or geometric(case) end },
  { "end_shard", function(case) return relative(case) or case.plan.score.trains or geometric(case) end },
  { "walk_outwards", geometric },
  { "kept_attention", geometric },
  { "cpu/functions.h", geometric },
  { "inverse_sum", function(case) return not geometric(case) end },
  { "LOGIT_SCALE", function(case) return not geometric(case) end },
  { "to_direction", function(case) return case.plan.normaliser.directional or false end },
  { "inverse_of", function(case) return case.plan.normaliser.normalised or false end },
  { "visible", function(case) return case.plan.mask.kind ~= "none" end },
  { "masked", function(case) return case.plan.mask.kind ~= "none" end },
  { "score_pair", function(case) return case.plan.score.kind ~= "none" end },
  { "score_pair_grad", function(case) return case.plan.score.grads or false end },
  { "make_score", function(case) return case.plan.score.kind ~= "none" and case.plan.score.making[1] ~= nil end },
  { "end_score", function(case) return case.plan.score.trains or false end },
  { "cpu/score.h", function(case) return case.plan.score.kind ~= "none" or case.plan.mask.kind ~= "none" end },
  { "SCORE_SETS", function(case) return case.plan.score.kind ~= "none" end },
  { "DISTANCE_DRAWS", function(case) return case.plan.positions.distance.draws ~= nil end },
  { "drawn_distance", function(case) return case.plan.positions.distance.draws ~= nil end },
  { "group_dlogits", function(case) return relative(case) and case.plan.relative.toeplitz end },
  { "pair_offset", function(case) return relative(case) and not case.plan.relative.toeplitz end },
  { "position_bias", function(case) return case.plan.relative.kind == "transformer_xl" end },
  { "CLIP", function(case) return case.plan.relative.kind == "shaw" end },
  { "MAX_NORM", function(case) return case.plan.clip.kind == "global_norm" end },
  { ".clip_norm", function(case) return case.plan.clip.kind == "global_norm" end },
  { ".during_", function(case) return case.resolved.eval.during ~= nil end },
  { "keep_steps", function(case) return type(case.resolved.train.checkpoint.keep) == "table" end },
  { ".keep_all", function(case) return case.resolved.train.checkpoint.keep == "all" end },
  { ".baseline", function(case) return case.plan.task.baseline_name ~= nil end },
  { ".limit", function(case) return case.plan.limit ~= false end },
  { "double real", function(case) return case.resolved.precision == "float64" end },
  { "float real", function(case) return case.resolved.precision == "float32" end },
}

function TestAbsent.test_identifiers_are_there_exactly_when_they_are_used()
  local on, off = {}, {}
  for _, case in ipairs(all_cases()) do
    local parts = {}
    for i = 1, #PATHS - 1 do
      parts[i] = without_spec(PATHS[i], case.text[PATHS[i]])
    end
    local text = table.concat(parts)
    for _, entry in ipairs(IDENTIFIERS) do
      local want = entry[2](case)
      lu.assertEquals(text:find(entry[1], 1, true) ~= nil, want, ("%s in %s"):format(entry[1], case.name))
      on[entry[1]], off[entry[1]] = on[entry[1]] or want, off[entry[1]] or not want
    end
  end
  for _, entry in ipairs(IDENTIFIERS) do
    lu.assertTrue(on[entry[1]] and off[entry[1]], entry[1] .. " is never on, or never off")
  end
end

-- Constants of a float32 program are floats, those of a float64 program doubles.
function TestAbsent.test_constants_have_the_precision()
  local count = 0
  for _, case in ipairs(all_cases()) do
    for value in case.text["step.c"]:gmatch("static const real [%w_]+ = ([^;]*);") do
      lu.assertEquals(value:sub(-1) == "f", case.resolved.precision == "float32", case.name .. ": " .. value)
      count = count + 1
    end
  end
  lu.assertTrue(count >= 2 * #all_cases())
end

TestDecided = {}

local DIRECTIVES = { "^#if LH_ABI != %d+$", "^#ifndef LH_CONFIG_H$", "^#if defined%(LH_HAVE_[%u%d_]+%)$", "^#endif$" }

function TestDecided.test_the_preprocessor_decides_no_option()
  for _, line in lines() do
    local known = not line.text:find("^%s*#%s*[ei][fln]") or line.text:find("^#include ") ~= nil
    for _, directive in ipairs(DIRECTIVES) do
      known = known or line.text:find(directive) ~= nil
    end
    lu.assertTrue(known or line.path == "plan.lua", line.place)
  end
end

-- Every condition depends on something that varies: constants alone would be an option that the plan settles.
function TestDecided.test_no_condition_is_constant()
  for _, file in files() do
    if file.path ~= "plan.lua" then
      for condition in file.text:gmatch("%f[%w_]if (%b())") do
        local place = file.place .. ": if " .. condition
        lu.assertNotNil(condition:find("%f[%w_]%l"), place)
        for _, word in ipairs({ "use_%w", "%f[%w_]true%f[^%w_]", "%f[%w_]false%f[^%w_]" }) do
          lu.assertNil(condition:find(word), place)
        end
      end
    end
  end
end

TestSpec = {}

function TestSpec.test_the_resolved_spec_is_quoted_whole()
  for _, case in ipairs(all_cases()) do
    local quoted = case.text["spec.c"]:match("%.resolved =\n(.-)\n%s+\"\",")
    lu.assertNotNil(quoted, case.name)
    local parts = {}
    for part in quoted:gmatch('"([^\n]*)"') do
      parts[#parts + 1] = part
    end
    lu.assertEquals((table.concat(parts):gsub("\\(.)", "%1")), canonical.text(case.resolved), case.name)
  end
end

function TestSpec.test_digests_are_in_spec_c_alone()
  local case = case_of("no clipping")
  local _, digest = gen.files(case.plan, template, {})
  for _, name in ipairs({ case.plan.digest, case.plan.model_digest, digest }) do
    lu.assertStrContains(case.text["spec.c"], '"' .. name .. '"')
    for i = 2, #PATHS - 1 do
      lu.assertNotStrContains(case.text[PATHS[i]], name)
    end
  end
end

function TestSpec.test_the_source_digest_covers_code_and_kernels_only()
  local base, other = case_of("none none index 0.1 float32"), case_of("evaluation while training")
  local function digest(case, kernels)
    local _, text = gen.files(case.plan, template, kernels)
    return text
  end
  local kernels = { { path = "kernels/cpu/a.h", text = "int a;\n" } }
  lu.assertEquals(digest(base, kernels), digest(other, kernels))
  lu.assertNotEquals(digest(base, kernels), digest(base, {}))
  lu.assertNotEquals(digest(base, kernels), digest(base, { { path = "kernels/cpu/b.h", text = "int a;\n" } }))
  lu.assertNotEquals(digest(base, kernels), digest(base, { { path = "kernels/cpu/a.h", text = "int b;\n" } }))
  lu.assertNotEquals(digest(base, {}), digest(case_of("no clipping"), {}))
end

-- Ways to choose a task: what each of them has, and that the others do not.
TestTasks = {}

local OWN = "task.source=../tasks/own/first_repeat.c"
local DATA = { "task.data=x.jsonl", "task.input_symbols=300", "task.output_symbols=2", "train.epochs=3" }

-- Renders plain.lua or, for finite data, the spec without lengths.
local function rendered_task(sets, spec)
  local list = {}
  for i, set in ipairs(sets) do
    local path, text = set:match("^(.-)=(.*)$")
    list[i] = { path = path, text = text }
  end
  local resolved, info, d = support.check(spec or SPEC, list)
  assert(resolved, d:text())
  local plan = plan_module.build(resolved, { task = info.task })
  local made, digest = gen.files(plan, template, {})
  local text = {}
  for _, file in ipairs(made) do
    text[file.path] = file.text
  end
  return text, digest, plan
end

local function check_words(text, present, absent)
  for _, word in ipairs(present) do
    lu.assertStrContains(text, word)
  end
  for _, word in ipairs(absent) do
    lu.assertNotStrContains(text, word)
  end
end

function TestTasks.test_a_task_of_ours_has_no_source_and_no_data()
  local text = rendered_task({})
  lu.assertNil(text["task.c"])
  check_words(text["spec.c"], { ".sample = lh_task_bucket_sort", ".labels = output_length" },
    { ".source =", "lh_data", ".data =", ".epochs", "shape_of", "NULL}}" })
end

function TestTasks.test_options_and_computation_tokens_are_absent_unless_asked_for()
  for _, sets in ipairs({ {}, { OWN }, DATA }) do
    local text = rendered_task(sets, sets == DATA and "tests/golden/specs/bare.lua" or nil)
    for path, content in pairs(text) do
      local low = path ~= "plan.lua" and without_spec(path, content):lower() or ""
      lu.assertNil(low:find("options", 1, true), path)
      lu.assertNil(low:find("computation", 1, true), path)
    end
  end
end

function TestTasks.test_options_reach_the_sampler_as_numbers()
  local own = "task.source=../tasks/own/choices.c"
  check_words(rendered_task({ own })["spec.c"], { ".options = task_options,",
    "/* order = up, base = 2 */\nstatic const int task_options[] = {0, 2};" }, {})
  check_words(rendered_task({ own, "task.options={ base = 16, order = 'down' }" })["spec.c"],
    { "/* order = down, base = 16 */\nstatic const int task_options[] = {1, 16};" }, {})
end

function TestTasks.test_computation_tokens_stand_between_input_and_outputs()
  check_words(rendered_task({ "task.computation=1", "eval.lengths={ 1, 5 }" })["spec.c"], {
    "enum { COMPUTATION_TOKEN = 5, EMPTY_TOKEN = 6 };", "return 2 * input_length(n) + output_length(n);",
    "a computation token for each of its tokens",
    "i < example->input_length; i++) *source++ = COMPUTATION_TOKEN;" }, { "1 * " })
  local data = rendered_task({ "task.computation=3", DATA[1], DATA[2], DATA[3] }, "tests/golden/specs/bare.lua")
  check_words(data["spec.c"], {
    "enum { COMPUTATION_TOKEN = 300, EMPTY_TOKEN = 301 };", "shape->length[0] = 4 * input + output;",
    "3 computation tokens for each", "i < 3 * example->input_length; i++) *source++ = COMPUTATION_TOKEN;" }, {})
end

function TestTasks.test_without_the_spare_token_the_empty_one_follows_the_input_s()
  check_words(rendered_task({})["spec.c"], { "EMPTY_TOKEN = 6 }" }, {})
  check_words(rendered_task({ "model.spare_token=false" })["spec.c"], { "EMPTY_TOKEN = 5 }" }, {})
end

function TestTasks.test_an_own_source_is_copied_and_covered_by_the_source_digest()
  local text, digest, plan = rendered_task({ OWN })
  lu.assertEquals(text["task.c"], support.read("tests/golden/tasks/own/first_repeat.c")
    .. "/* Generated by Longhand; do not edit: a copy of first_repeat.c. */\n")
  check_words(text["spec.c"], { '.source = "first_repeat.c"', ".sample = lh_task_first_repeat", '"none"};' },
    { "lh_data", ".data =", ".epochs", "shape_of" })
  plan.task.text = plan.task.text .. "\n"
  local _, other = gen.files(plan, template, {})
  lu.assertNotEquals(other, digest)
end

function TestTasks.test_finite_data_has_no_sampler_and_no_lengths()
  local text = rendered_task(DATA, "tests/golden/specs/bare.lua")
  lu.assertNil(text["task.c"])
  check_words(text["spec.c"], { '.train = "tests/golden/specs/x.jsonl"', ".longest = 512", ".shape = shape_of",
    ".epochs = 3", ".data = &data" }, { "lh_task_sample", "input_length(int n)", ".sample", ".steps", ".eval = \"",
    ".source =" })
  for line in text["spec.c"]:gmatch("[^\n]*") do
    lu.assertTrue(#line <= COLUMNS, line)
  end
end

TestCompiler = {}

local CC = os.getenv("CC") or "gcc"
local FLAGS = "-std=gnu11 -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla "
  .. "-Wundef -Wwrite-strings -Wunused-macros -Wunused-const-variable -Wno-unused-parameter -Wno-psabi "
  .. "-Wno-unknown-pragmas -Iruntime/include -Ikernels -I."

-- Output and success of a shell command.
local function shell(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read("a")
  return text, (pipe:close())
end

local function level_flag()
  local machine, found = shell(CC .. " -dumpmachine")
  if not found then
    lu.skip("no C compiler " .. CC)
  end
  return machine:find("^x86_64") and "-march=x86-64-v4" or ""
end

-- Writes the case's files and probe.c, which is step.c and more: gcc looks for unused macros in no included file.
local function folder_of(case, name, more)
  local path
  for _, file in ipairs(case.files) do
    path = support.write(name .. "/" .. file.path, file.text)
  end
  support.write(name .. "/probe.c", case.text["step.c"] .. (more or ""))
  return path:match("^(.*)/")
end

-- Only a real compilation finds static functions and tables that nothing uses; it takes twice as long.
local WHOLE, CHECKED = "-S -O0 -o /dev/null", "-fsyntax-only"
local COMPILED = {
  { "none none index 0 float32", WHOLE }, { "none rope index 0.1 float64", CHECKED },
  { "sinusoid none index 0.1 float32", CHECKED }, { "sinusoid rope layer 0 float32", CHECKED },
  { "learned none pass 0.1 float64", CHECKED }, { "learned rope layer 0.1 float32", WHOLE },
  { "relative", WHOLE }, { "relative in float64", CHECKED }, { "relative, drawn", CHECKED },
  { "relative, drawn for the pass", CHECKED }, { "relative, clamped", CHECKED }, { "relative, differences", WHOLE },
  { "relative, differences of the input's", CHECKED }, { "relative, differences for the pass", CHECKED },
  { "shaw", WHOLE }, { "shaw, drawn", CHECKED }, { "shaw, differences", CHECKED },
  { "alibi", WHOLE }, { "alibi, learned", WHOLE }, { "alibi, drawn", CHECKED }, { "fire", WHOLE },
  { "t5 and relative, drawn for the pass", CHECKED }, { "kerple, differences", CHECKED },
  { "kerple, differences beside the input's", CHECKED }, { "sandwich, clamped", CHECKED },
  { "a list of scores", CHECKED }, { "softcap", WHOLE }, { "softcap with a constant", WHOLE },
  { "causal", WHOLE }, { "a window of relative vectors", CHECKED }, { "causal alibi, drawn", CHECKED },
  { "none none layer 0.1 float32", CHECKED }, { "no clipping", WHOLE }, { "dropout of the input alone", WHOLE },
  { "dropout of the branches alone", CHECKED }, { "heads of 12 channels", CHECKED }, { "the largest", CHECKED },
  { "linear scaling", CHECKED }, { "NTK scaling", CHECKED }, { "YaRN", WHOLE }, { "YaRN at its largest", CHECKED },
}

local MEMBERS = {
  { "query_key_value", "attention.query.weight" }, { "attention_output", "attention.output.weight" },
  { "norm1_scale", "norm1.scale" }, { "norm1_offset", "norm1.offset" }, { "up", "feedforward.up.weight" },
  { "up_bias", "feedforward.up.bias" }, { "down", "feedforward.down.weight" },
  { "down_bias", "feedforward.down.bias" }, { "norm2_scale", "norm2.scale" }, { "norm2_offset", "norm2.offset" },
}

-- Static assertions that the members of `parameters` lie where the plan's tensors do.
local function offset_checks(plan)
  local at, text = {}, { "#include <stddef.h>" }
  for _, tensor in ipairs(plan.tensors) do
    at[tensor.name] = tensor.offset
  end
  local function check(member, name)
    text[#text + 1] = ('_Static_assert(offsetof(parameters, %s) == %d * sizeof(real), "%s");'):format(member,
      assert(at[name], name), name)
  end
  check("token", "embed.token.weight")
  if at["embed.position.weight"] then
    check("position_table", "embed.position.weight")
  end
  for l = 0, plan.layers - 1 do
    for _, member in ipairs(MEMBERS) do
      check(("layer[%d].%s"):format(l, member[1]), ("layers.%d.%s"):format(l, member[2]))
    end
  end
  check("output", "output.weight")
  check("output_bias", "output.bias")
  return table.concat(text, "\n") .. "\n"
end

function TestCompiler.test_no_warning_and_the_layout_of_the_plan()
  local level = level_flag()
  for i, entry in ipairs(COMPILED) do
    local case = case_of(entry[1])
    local folder = folder_of(case, "compiled" .. i, offset_checks(case.plan))
    local text, good = shell(table.concat({ CC, entry[2], level, FLAGS, folder .. "/probe.c" }, " "))
    lu.assertTrue(good and text == "", entry[1] .. "\n" .. text)
  end
end

-- The compilation above can fail: a macro, a static function and a table that nothing uses are found.
function TestCompiler.test_what_is_unused_is_found()
  local level = level_flag()
  local folder = folder_of(case_of("none none index 0 float32"), "unused",
    "#define NOBODY_USES 1\nstatic int nobody_calls(void) { return 1; }\nstatic const int nobody_reads[] = { 1 };\n")
  local text, good = shell(table.concat({ CC, WHOLE, level, FLAGS, folder .. "/probe.c" }, " "))
  lu.assertTrue(good)
  for _, name in ipairs({ "NOBODY_USES", "nobody_calls", "nobody_reads" }) do
    lu.assertStrContains(text, name)
  end
end

function TestCompiler.test_what_the_runtime_reads_compiles()
  level_flag()
  for i, name in ipairs({ "lists", "all checkpoints", "evaluation while training", "one answer", "no clipping",
    "learned rope layer 0.1 float32" }) do
    local folder = folder_of(case_of(name), "spec" .. i)
    local text, good = shell(table.concat({ CC, "-S -O0 -o /dev/null -DLH_HAVE_X86_64 -DLH_HAVE_X86_64_V4", FLAGS,
      folder .. "/spec.c" }, " "))
    lu.assertTrue(good and text == "", name .. "\n" .. text)
  end
end

-- A value that disagrees with the struct must not compile: the assertion above can fail.
function TestCompiler.test_a_wrong_layout_is_found()
  level_flag()
  local case = case_of("none none index 0 float32")
  local folder = folder_of(case, "wrong", (offset_checks(case.plan):gsub("token%) == 0", "token) == 1")))
  local text, good = shell(table.concat({ CC, "-fsyntax-only", FLAGS, folder .. "/probe.c" }, " "))
  lu.assertTrue(not good and text:find("embed.token.weight", 1, true) ~= nil)
end

TestSame = {}

local function read_folder(folder)
  local parts = {}
  for i, path in ipairs(PATHS) do
    parts[i] = support.read(folder .. "/" .. path)
  end
  return parts
end

-- Runs `gen` as its own process: from a directory, with these variables.
local function generate(from, variables, main, spec, out)
  local lua = arg[-1] or "lua5.4"
  local text, good = shell(("cd '%s' && env %s %s '%s' gen '%s' --out '%s'"):format(from, variables, lua, main, spec,
    out))
  lu.assertTrue(good, text)
end

function TestSame.test_place_locale_zone_and_user_do_not_matter()
  local here = lfs.currentdir()
  local base = support.write("same/base.txt", ""):match("^(.*)/")
  local spec = "spec/runs/reverse_string_rand_rope.lua"
  generate(here, "LC_ALL=C TZ=UTC", "generator/main.lua", spec, base .. "/a")
  generate("/", "LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 TZ=Asia/Tokyo HOME=/nonexistent USER=other", here
    .. "/generator/main.lua", here .. "/" .. spec, base .. "/b")
  generate(here .. "/tests", "LC_ALL=C TZ=America/Lima", "../generator/main.lua", "../" .. spec, base .. "/c")
  local want = read_folder(base .. "/a")
  lu.assertStrContains(want[1], " * spec      spec/runs/reverse_string_rand_rope.lua\n")
  for _, other in ipairs({ "/b", "/c" }) do
    local got = read_folder(base .. other)
    for i, path in ipairs(PATHS) do
      lu.assertEquals(got[i], want[i], path .. " of " .. other)
    end
  end
end

function TestSame.test_a_spec_of_one_s_own_appears_by_its_base_name()
  local path = support.write("mine/my_own_run.lua", support.read("spec/runs/even_pairs_none.lua"))
  local folder = path:match("^(.*)/")
  generate(lfs.currentdir(), "LC_ALL=C", "generator/main.lua", path, folder .. "/out")
  for i, text in ipairs(read_folder(folder .. "/out")) do
    lu.assertNotStrContains(text, folder, nil, nil, PATHS[i])
    lu.assertStrContains(text, "my_own_run.lua")
  end
end

function TestSame.test_rendering_twice_gives_the_same_bytes()
  local first = case_of("learned rope layer 0.1 float32")
  for i, file in ipairs((gen.files(first.plan, template, {}))) do
    lu.assertEquals(file.text, first.files[i].text)
  end
end

function TestSame.test_the_showcase_is_what_would_be_written()
  local project = project_module.new(".")
  local ids = project:showcase()
  if #ids == 0 then
    lu.skip("generated/ is empty")
  end
  for _, id in ipairs(ids) do
    local spec, message = project:plan("spec/runs/" .. id .. ".lua")
    assert(spec, message)
    local made
    made, message = project:files(spec.plan, true)
    lu.assertEquals(write.compare("generated/" .. id, assert(made, message)), {}, id)
  end
end

TestSections = {}

-- What to read: file name, case, generated file, names of functions and types.
local SECTIONS = {
  { "rotate.index", "none rope index 0.1 float32", "attention_self.inc", { "rotate" } },
  { "rotate.randomized_pass", "none rope pass 0.1 float32", "attention_self.inc", { "rotate" } },
  { "rotate.randomized_layer", "none rope layer 0.1 float32", "attention_self.inc", { "rotate" } },
  { "rotate.randomized_input_and_layer", "learned rope layer 0.1 float32", "attention_self.inc", { "rotate" } },
  { "embed.none", "none none index 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.sinusoid", "sinusoid none index 0 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.sinusoid_randomized", "sinusoid none pass 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.learned", "learned none index 0.1 float32", "layers.inc", { "embed", "embed_backward" } },
  { "embed.learned_randomized", "learned none pass 0 float32", "layers.inc", { "embed", "embed_backward" } },
  { "positions.none", "none none index 0.1 float32", "step.c", { "shared" } },
  { "positions.sinusoid", "sinusoid none index 0.1 float32", "step.c",
    { "position_row", "position_rows", "make_sinusoid", "make_tables" } },
  { "positions.rope", "none rope index 0.1 float32", "step.c",
    { "position_row", "position_rows", "make_rotation", "make_tables" } },
  { "positions.sinusoid_rope_randomized", "sinusoid rope layer 0.1 float32", "step.c",
    { "position_row", "position_rows", "make_tables", "shared", "draw_positions", "begin_step" } },
  { "positions.rope_linear", "linear scaling", "step.c", { "make_rotation" } },
  { "positions.rope_ntk", "NTK scaling", "step.c", { "make_rotation" } },
  { "positions.rope_yarn", "YaRN", "step.c", { "slowed", "make_rotation" } },
  { "relative.index", "relative", "attention_self.inc", { "pair_logit", "relative_queries", "relative_rows_grad" } },
  { "relative.differences", "relative, differences", "attention_self.inc",
    { "pair_offset", "load_rows", "pair_logit", "relative_queries", "relative_rows_grad" } },
  { "relative.shaw", "shaw", "attention_self.inc", { "pair_logit", "relative_queries" } },
  { "relative.drawn", "relative, drawn", "step.c",
    { "shared", "drawn_distance", "draw_distances", "begin_step", "begin_shard", "end_relative" } },
  { "relative.clamped", "relative, clamped", "step.c", { "drawn_distance", "begin_step" } },
  { "geometric.walk", "geometric", "attention_self.inc",
    { "load_queries", "pair_logit", "try_keys", "walk_outwards", "return_keys", "end_return" } },
  { "geometric.neither", "geometric, neither", "attention_self.inc", { "load_queries", "try_keys", "return_keys" } },
  { "geometric.step", "geometric", "step.c", { "geometric_sums", "end_geometric" } },
  { "score.alibi", "alibi, learned", "score.inc", { "make_score", "score_pair", "score_pair_grad", "end_score" } },
  { "score.fire", "fire", "score.inc", { "make_score", "score_pair", "score_pair_grad", "end_score" } },
  { "score.t5", "t5", "score.inc", { "make_score", "score_pair", "score_pair_grad", "end_score" } },
  { "positions.rope_randomized", "none rope layer 0.1 float32", "step.c", { "draw_positions" } },
}

-- A function or a struct, with the comment above it; nil where the file has none of that name.
local function cut(text, name)
  local all_lines, out = {}, {}
  each_line(text, function(line)
    all_lines[#all_lines + 1] = line
  end)
  for i, line in ipairs(all_lines) do
    if line:find("^%a") and (line:find("%f[%w_]" .. name .. "%(") or line:find("struct " .. name .. " {", 1, true)) then
      local first, last = i, i
      while first > 1 and all_lines[first - 1]:find("^[/ ]%*") do
        first = first - 1
      end
      while not all_lines[last]:find("^}") and not all_lines[last]:find("^%a.*}$") do
        last = last + 1
      end
      table.move(all_lines, first, last, 1, out)
      return table.concat(out, "\n") .. "\n"
    end
  end
end

local function section(entry)
  local case, parts = case_of(entry[2]), {}
  for i, name in ipairs(entry[4]) do
    parts[i] = assert(cut(case.text[entry[3]], name), ("%s: no %s in %s"):format(entry[1], name, entry[3]))
  end
  return table.concat(parts, "\n")
end

function TestSections.test_sections_are_the_golden_ones()
  for _, entry in ipairs(SECTIONS) do
    local path, text = ("%s/%s.txt"):format(GOLDEN, entry[1]), section(entry)
    if os.getenv("LH_UPDATE_GOLDEN") == "1" then
      local file = assert(io.open(path, "wb"))
      file:write(text)
      file:close()
    end
    lu.assertEquals(text, support.read(path), path)
  end
end

function TestSections.test_every_golden_section_is_made_here()
  local known = { ["."] = true, [".."] = true }
  for _, entry in ipairs(SECTIONS) do
    known[entry[1] .. ".txt"] = true
  end
  for name in lfs.dir(GOLDEN) do
    lu.assertTrue(known[name], name .. " belongs to no section")
  end
end

support.run()
