-- Slots: places of a template at which the terms of an attention insert their text.
--
-- A term is a table of names for its own template: the file terms/<template>.tpl in the folder of the template with the
-- slot, where <template> is the term's field `template`. The template of a term consists of sections (template.lua),
-- each with the name of its slot; a term whose template lacks the section adds no text to the slot. The terms are a
-- list, in the order in which their text is inserted. `run` is the state of one rendering, with functions of
-- render.lua, which calls this module.

local template = require("render.templates.template")

local M = {}

-- Returns the name of a term's template if the template has the section, else false.
local function find_template(run, folder, term, section)
  local name = ("%sterms/%s.tpl"):format(folder, term.template)
  local key = name .. "#" .. section
  if run.sections[key] == nil then
    local text = run.read(name)
    if not text then
      run.fail(run, ("no such template of a term: templates/%s"):format(name))
    end
    run.sections[key] = template.has_section(text, section)
  end
  return run.sections[key] and name
end

-- Adds the lines of a term's section, if its template has the section. values_by_name: further names for the section,
-- or nil.
local function add_term(run, folder, term, section, values_by_name)
  local template_name = find_template(run, folder, term, section)
  if template_name then
    run.extras[#run.extras + 1] = term
    run.include(run, template_name, values_by_name, section)
    run.extras[#run.extras] = nil
  end
end

-- Returns the list of terms for a slot, and the folder in which terms/ has their templates: the list's field `folder`,
-- or else the folder of the template with the slot. call: the name of the calling function, for messages.
local function find_terms(run, call, section, values_by_name)
  if type(section) ~= "string" then
    run.fail(run, call .. " takes the name of a section of the terms' templates")
  end
  local terms = values_by_name and values_by_name.terms or run.lookup(run, "terms")
  return terms, terms.folder or run.stack[#run.stack].name:match("^(.-)[^/]*$"):gsub("terms/$", "")
end

-- Adds the lines of each term. values_by_name: further names for this slot, or nil.
function M.fill(run, section, values_by_name)
  local terms, folder = find_terms(run, "slot", section, values_by_name)
  for _, term in ipairs(terms) do
    add_term(run, folder, term, section, values_by_name)
  end
end

-- Returns an expression that the terms extend one after another, each by one line of text in which the name `inner` is
-- the expression so far. inner: the expression to extend; values_by_name: further names for this slot, or nil.
function M.inline(run, section, inner, values_by_name)
  local terms, folder = find_terms(run, "inline", section, values_by_name)
  local frame = run.stack[#run.stack]
  local lines, map, pieces, indent, col = run.lines, run.map, run.pieces, run.indent, frame.col
  frame.col = 1
  for _, term in ipairs(terms) do
    run.lines, run.map, run.pieces, run.indent = {}, {}, {}, ""
    run.extras[#run.extras + 1] = { inner = inner }
    add_term(run, folder, term, section, values_by_name)
    run.extras[#run.extras] = nil
    if #run.lines > 1 then
      run.fail(run, ("section %s of the template %s has more than one line"):format(section, term.template))
    end
    inner = run.lines[1] or inner
  end
  run.lines, run.map, run.pieces, run.indent, frame.col = lines, map, pieces, indent, col
  return inner
end

return M
