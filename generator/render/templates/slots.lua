-- Slots: what the terms of an attention have for one place of a skeleton.
--
-- A term is a table of names for its template, and `template`, a file of sections (template.lua). A section has the
-- name of the slot that it is for; a term whose template has no such section has nothing for that slot. Terms come in
-- the order of their list, which is the order of their contributions. Called by render.lua, which hands over a run and
-- its own functions.

local template = require("render.templates.template")

local M = {}

local function has(run, engine, term, section)
  local text = type(term) == "table" and type(term.template) == "string" and run.read(term.template)
  if not text then
    engine.fail(run, "a term has no template", "terms are a list, each with the name of its template")
  end
  return template.has_section(text, section)
end

local function fill_one(run, engine, term, section, extra)
  if has(run, engine, term, section) then
    run.extras[#run.extras + 1] = term
    engine.include(run, term.template, extra, section)
    run.extras[#run.extras] = nil
  end
end

local function check(run, engine, call, terms, section)
  if type(terms) ~= "table" or type(section) ~= "string" then
    engine.fail(run, call .. " takes a list of terms and the name of a section of their templates")
  end
end

-- Adds the lines of each term; extra: names of the slot's own.
function M.fill(run, engine, terms, section, extra)
  check(run, engine, "slot", terms, section)
  for _, term in ipairs(terms) do
    fill_one(run, engine, term, section, extra)
  end
end

-- An expression that terms wrap one after the other, each with one line in which `inner` is what those before have made
-- of it: it stands in a hole.
function M.inline(run, engine, terms, section, inner, extra)
  check(run, engine, "inline", terms, section)
  local lines, map, pieces, indent = run.lines, run.map, run.pieces, run.indent
  for _, term in ipairs(terms) do
    run.lines, run.map, run.pieces, run.indent = {}, {}, {}, ""
    run.extras[#run.extras + 1] = { inner = inner }
    fill_one(run, engine, term, section, extra)
    run.extras[#run.extras] = nil
    if #run.lines > 1 then
      engine.fail(run, ("section %s of %s has more than one line"):format(section, term.template))
    end
    inner = run.lines[1] and run.lines[1]:match("^%s*(.*)$") or inner
  end
  run.lines, run.map, run.pieces, run.indent = lines, map, pieces, indent
  return inner
end

return M
