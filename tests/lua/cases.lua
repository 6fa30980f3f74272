-- Cases of generated files: every combination of facets, and features that only one facet has. A case is rendered at
-- its first use.
--
-- tests/lua/cases/<facet>.lua, one for each facet and for the model and training, has
--   cases        { name, "field=value", ..., spec = path, compile = "complete" or "checked" }: cases in addition to
--                all combinations; spec: another spec than SPEC; compile: for test_generated_compiler.lua
--   identifiers  { word, function of a case }: the word is in the case's files if and only if the function returns
--                true. `fingerprints` in spec/schema.lua are such words for single fields
--   sections     { name, case, file, functions and types }: excerpts for reviewers, tests/golden/sections/<name>.txt
-- A case is { name, resolved, plan, family (of the self-attention), files, text (the texts of the files by path) }.

local families = require("spec.families")
local gen = require("render.templates.gen")
local lists = require("base.lists")
local plan_module = require("plan.plan")
local schema = require("spec.schema")
local support = require("support")
local write = require("base.write")

local M = {}

M.SPEC = "tests/golden/specs/plain.lua"
M.COLUMNS = 120 -- the largest width of a generated line, in columns

M.PATHS = {
  "spec.c", "defaults.inc", "config.h", "tuned.h", "attention_self.inc", "layers.inc", "loss.inc", "trace.inc",
  "step.c", "plan.lua",
}

local templates = {}

function M.read_template(name, folder)
  local path = (folder or "templates") .. "/" .. name
  templates[path] = templates[path] or support.read(path)
  return templates[path]
end

-- Resolves, plans and renders a row of cases.
local function render_case(row)
  local resolved, info, d = support.check(row.spec or M.SPEC, support.sets({ table.unpack(row, 2) }))
  assert(resolved, d:text())
  local plan = plan_module.build(resolved, { task = info.task, score = info.score })
  local rendered_files, err = gen.render_files(plan, M.read_template, {})
  assert(rendered_files, type(err) == "table" and ("%s:%d: %s"):format(err.path, err.line, err.what) or err)
  return { name = row[1], resolved = resolved, plan = plan, family = plan.attentions[1], files = rendered_files,
    text = support.index_texts(rendered_files) }
end

local POSITIONS = {
  { "index" },
  { "randomized", "encoding.positions.draw=pass" },
  { "randomized", "encoding.positions.draw=layer", "encoding.positions.sorted=false" },
}

local function visit_combinations(visit)
  for _, additive in ipairs({ "none", "sinusoid", "learned" }) do
    for _, rotation in ipairs({ "none", "rope" }) do
      for _, positions in ipairs(POSITIONS) do
        for _, dropout in ipairs({ "0", "0.1" }) do
          for _, precision in ipairs({ "float32", "float64" }) do
            local position = positions[2] and positions[2]:match("=(.*)") or positions[1]
            visit(table.concat({ additive, rotation, position, dropout, precision },
              " "), { "encoding.additive.kind=" .. additive, "encoding.rotation.kind=" .. rotation,
              "encoding.positions.kind=" .. positions[1], "model.dropout=" .. dropout, "precision=" .. precision,
              table.unpack(positions, 2) })
          end
        end
      end
    end
  end
end

M.rows, M.identifiers, M.sections = {}, {}, {}

local row_by_name, case_by_name = {}, {}

local function add_row(row)
  assert(not row_by_name[row[1]], row[1] .. " is there twice")
  M.rows[#M.rows + 1], row_by_name[row[1]] = row, row
end

local function add_facets()
  for _, name in ipairs(write.list_names("tests/lua/cases")) do
    local facet = require("cases." .. name:match("^([%w_]+)%.lua$"))
    for _, row in ipairs(facet.cases or {}) do
      add_row(row)
    end
    lists.append(M.identifiers, facet.identifiers or {})
    lists.append(M.sections, facet.sections or {})
  end
end

visit_combinations(function(name, sets)
  add_row({ name, table.unpack(sets) })
end)
add_facets()

function M.get_case(name)
  case_by_name[name] = case_by_name[name] or render_case(assert(row_by_name[name], name .. " is not a case"))
  return case_by_name[name]
end

function M.list_all()
  return lists.map(M.rows, function(row) return M.get_case(row[1]) end)
end

-- Calls visit(line, number) for every line.
function M.each_line(text, visit)
  local number = 0
  for line in text:gmatch("([^\n]*)\n") do
    number = number + 1
    visit(line, number)
  end
end

local distinct_files, distinct_lines

-- Collects the distinct files and lines of all cases: most cases share most of their lines. An entry names the first
-- case and place where the file or line occurs.
local function collect_distinct()
  if distinct_files then
    return
  end
  distinct_files, distinct_lines = {}, {}
  local known_texts = {}
  for _, case in ipairs(M.list_all()) do
    for _, file in ipairs(case.files) do
      if not known_texts[file.path .. file.text] then
        known_texts[file.path .. file.text] = true
        distinct_files[#distinct_files + 1] = { case = case, path = file.path, text = file.text, map = file.map,
          place = ("%s (%s)"):format(file.path, case.name) }
        M.each_line(file.text, function(line, number)
          if not known_texts[file.path .. "\n" .. line] then
            known_texts[file.path .. "\n" .. line] = true
            distinct_lines[#distinct_lines + 1] = { path = file.path, text = line,
              quotes_spec = file.path == "defaults.inc" and line:find('^%s+"') ~= nil,
              place = ("%s:%d (%s): %s"):format(file.path, number, case.name, line) }
          end
        end)
      end
    end
  end
end

-- Iterates over distinct files { case, path, text, map, place }.
function M.iterate_files()
  collect_distinct()
  return ipairs(distinct_files)
end

-- Iterates over distinct lines { path, text, quotes_spec, place }.
function M.iterate_lines()
  collect_distinct()
  return ipairs(distinct_lines)
end

-- Returns the text without its strings that quote the spec. These strings name all fields, whether a feature is on or
-- off.
function M.remove_spec(path, text)
  return path == "defaults.inc" and text:gsub('\n%s+"resolved .*', "") or text
end

local function is_feature_on(field, resolved)
  local value = lists.get(resolved, field.path)
  return value ~= nil and value ~= false and (not field.used or field.used(resolved))
end

-- Returns the identifiers that code rendered for a resolved spec must not contain, because their features are off.
function M.list_absent_features(resolved)
  local names = {}
  local views = lists.map(families.list(resolved.model, resolved.encoding) or {}, function(name)
    return families.make_view(resolved, name)
  end)
  for _, field in ipairs(schema.fields) do
    if field.fingerprints and not lists.any(views, function(view) return is_feature_on(field, view) end) then
      lists.append(names, field.fingerprints)
    end
    for _, kind in ipairs(field.kinds or {}) do
      local function is_used(view)
        return lists.get(view, field.path) == kind.name and (not kind.used or kind.used(view))
          or kind.shared and kind.shared(view)
      end
      if kind.fingerprints and not lists.any(views, is_used) then
        lists.append(names, kind.fingerprints)
      end
    end
  end
  return names
end

return M
