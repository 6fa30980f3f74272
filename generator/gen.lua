-- All generated files of one plan, in memory.
--
-- Input: the plan, read(name) -> template text, and the kernels { { path, text }... } in a fixed order. Output: a list
-- of { path, text, map }, plan.lua last, and the source digest; or nil and the engine's error. Pure.
-- The source digest names the code that computes: every rendered file but spec.c, and the kernels. spec.c carries it,
-- so spec.c is rendered last.

local plan_module = require("plan")
local render = require("render")
local sha256 = require("sha256")

local M = {}

local CARRIER = "spec.c"

local function with_digest(plan, digest)
  local copy = {}
  for name, value in pairs(plan) do
    copy[name] = value
  end
  copy.source_digest = digest
  return copy
end

local function digest_of(files, kernels)
  local parts = {}
  for _, list in ipairs({ files, kernels }) do
    for _, file in ipairs(list) do
      parts[#parts + 1] = ("%s %d\n%s"):format(file.path, #file.text, file.text)
    end
  end
  return sha256.digest(table.concat(parts))
end

function M.files(plan, read, kernels)
  local files, place = {}, nil
  for _, entry in ipairs(plan.files) do
    if entry.path == CARRIER then
      place = { entry = entry, at = #files + 1 }
    else
      local text, map = render.render(entry.template, plan, read)
      if not text then
        return nil, map
      end
      files[#files + 1] = { path = entry.path, text = text, map = map }
    end
  end
  local digest = digest_of(files, kernels)
  if place then
    local text, map = render.render(place.entry.template, with_digest(plan, digest), read)
    if not text then
      return nil, map
    end
    table.insert(files, place.at, { path = CARRIER, text = text, map = map })
  end
  files[#files + 1] = { path = "plan.lua", text = plan_module.serialize(plan), map = {} }
  return files, digest
end

return M
