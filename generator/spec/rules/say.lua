-- Reporting functions for rules: errors, notes and warnings about the fields of the families that use a facet.
--
-- Input: a context of family_facets.lua or of validate.lua; warnings, a list to which rules add warnings. Output of
-- M.make, the functions
--   named(path), place(path)   as in family_facets.lua
--   add(paths, record)         an error at the first path that the user wrote; the first path names the field
--   note(path, value)          a note on a field's value, for a record's notes
--   refuse(path, other, value, record)   an error at `path` with a note on the other field, which has the value
--   warn(text)                 a warning, once
--   is_inherited(path)         whether a family inherits a field from the facets directly in encoding, whose errors are
--                              already reported
--   limit, longest_tokens, longest_streams   lengths.lua

local family_facets = require("spec.rules.family_facets")
local lengths = require("spec.rules.lengths")

local M = {}

local function add_reports(say, context)
  function say.add(paths, record)
    record.field, record.fault = say.named(paths[1]), paths[1]
    record.at = context.root.origin
    for i = #paths, 1, -1 do
      record.at = say.place(paths[i]) or record.at
    end
    if record.notes and record.notes[1].at == record.at then
      record.notes = nil -- the error is at the value, so the note would repeat it
    end
    context.diagnostics:add(record)
  end

  function say.note(path, value)
    local origin, name = say.place(path), say.named(path)
    return { at = origin, what = origin and ("%s = %s is set here"):format(name, value)
      or ("%s = %s by default"):format(name, value) }
  end

  function say.refuse(path, other, value, record)
    record.notes = { say.note(other, value) }
    say.add({ path, other }, record)
  end
end

local OF_CONTEXT = { named = family_facets.named, place = family_facets.place, longest_tokens = lengths.longest_tokens,
  longest_streams = lengths.longest_streams }

function M.make(context, warnings)
  local say = {}
  for name, of in next, OF_CONTEXT do
    say[name] = function(...) return of(context, ...) end
  end
  function say.warn(text)
    warnings[#warnings + 1] = not warnings[text] and text or nil -- several attentions may have the same facets
    warnings[text] = true
  end
  function say.is_inherited(path)
    return context.family and context.origins[say.named(path)] == context.origins[path]
  end
  function say.limit(...)
    lengths.limit(context, say, ...)
  end
  add_reports(say, context)
  return say
end

return M
