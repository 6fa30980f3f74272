-- Makes templates fail if they read an absent field of a plan, for example because the field has a new name. Therefore,
-- if an experiment does not use a part, the part is false in the plan, not absent. Items of lists may be absent, and
-- code outside of templates may read absent fields.
--
-- Input of M.check_reads: a plan. From then on, its tables raise an error { record, unknown_field } when a template
-- reads an absent field; render.lua converts this error to a message. Objects, which have metatables, are not changed.

local M = {}

local CHUNK = "=templates/" -- the start of the names of templates' chunks (render.lua)

-- The metatable of tables with checked reads.
local CHECKED = {
  __index = function(record, name)
    if type(name) == "string" and debug.getinfo(2, "S").source:find(CHUNK, 1, true) == 1 then
      error({ record = record, unknown_field = name })
    end
  end,
}

function M.check_reads(tables)
  for _, value in next, tables do
    if type(value) == "table" and not getmetatable(value) then
      M.check_reads(setmetatable(value, CHECKED))
    end
  end
end

return M
