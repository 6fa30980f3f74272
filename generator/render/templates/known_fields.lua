-- Known fields: a template that reads a field which a table of its plan does not have, such as a field whose name has
-- changed, stops with an error. So a part that an experiment does not use is false in the plan, not absent. Items of
-- lists may be absent, and code outside of templates may read absent fields.
--
-- Input of M.check_reads: a plan. All tables in it, except objects with a metatable of their own, are checked from then
-- on. The error is a table { record, unknown_field }, which render.lua converts to a message.

local M = {}

local CHUNK = "=templates/" -- the start of the names of templates' chunks (render.lua)

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
