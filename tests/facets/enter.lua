-- The generator with the pages of this folder behind its own. The text of their terms lies here as that of others does
-- in templates/. Two uses, from the repository's root:
--
--   require("tests.facets.enter")   ahead of what reads all pages: a project then has the templates
--   lua5.4 -l tests.facets.enter generator/main.lua WORDS   what ./longhand does with these words

package.path = "generator/?.lua;?.lua;" .. package.path

for _, name in ipairs({ "spacing", "gate" }) do
  require("facets.pages").enter(require("tests.facets." .. name))
end

local project = require("project")
local write = require("base.write")

local M, new = {}, project.new

function M.template(name, folder)
  return write.read("tests/facets/" .. name) or write.read((folder or "templates") .. "/" .. name)
end

function project.new(root)
  local made = new(root)
  function made.template(_, name, folder)
    return M.template(name, folder)
  end
  return made
end

return M
