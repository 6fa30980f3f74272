-- Makes the functions with which rules report errors, notes and warnings about fields. With the context of a family, a
-- path in `encoding` stands for the family's field: encoding.mask for encoding.<family>.mask.
--
-- Input: the context of validate.lua, or of a family (family_facets.lua); warnings, a list to which rules add warnings,
-- or nil. Output of M.make: a table of the functions below. Their argument `record` is an error without a position,
-- { what, expected, hint, notes }, for diagnostics:add.
--   get_path(path), find_origin(path), list_affected_specs(path)   functions of family_facets.lua
--   add(paths, record)         reports an error about the field paths[1], at the first field of `paths` that the
--                              spec states
--   note(path, value)          returns a note on a field's value, for a record's notes
--   refuse(path, other_path, value, record)   reports an error at `path` with a note on another field and its value
--   warn(text)                 adds a warning, unless an earlier warning has the same text
--   is_inherited(path)         returns whether the family of the context inherits a field from the shared facets
--   check_limit, find_longest_tokens, find_longest_streams   functions of lengths.lua

local family_facets = require("spec.rules.family_facets")
local lengths = require("spec.rules.lengths")

local M = {}

local function add_reports(report, context)
  function report.add(paths, record)
    record.field = report.get_path(paths[1])
    record.shared_field = paths[1] -- the path without the name of a family
    record.at = context.root.origin
    for i = #paths, 1, -1 do
      record.at = report.find_origin(paths[i]) or record.at
    end
    if record.notes and record.notes[1].at == record.at then
      record.notes = nil -- the note would show the same line as the error
    end
    context.diagnostics:add(record)
  end

  function report.note(path, value)
    local origin, name = report.find_origin(path), report.get_path(path)
    return { at = origin, what = origin and ("%s = %s is set here"):format(name, value)
      or ("%s = %s by default"):format(name, value) }
  end

  function report.refuse(path, other_path, value, record)
    record.notes = { report.note(other_path, value) }
    report.add({ path, other_path }, record)
  end
end

-- The functions of other modules that take the context first.
local CONTEXT_FUNCTIONS = { get_path = family_facets, find_origin = family_facets,
  list_affected_specs = family_facets, find_longest_tokens = lengths, find_longest_streams = lengths }

function M.make(context, warnings)
  local report = {}
  for name, module in next, CONTEXT_FUNCTIONS do
    report[name] = function(...) return module[name](context, ...) end
  end
  function report.warn(text)
    warnings[#warnings + 1] = not warnings[text] and text or nil -- several attentions may have the same facets
    warnings[text] = true
  end
  function report.is_inherited(path)
    return context.family and context.origins[report.get_path(path)] == context.origins[path]
  end
  function report.check_limit(...)
    lengths.check_limit(context, report, ...)
  end
  add_reports(report, context)
  return report
end

return M
