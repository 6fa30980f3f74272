-- Adds the facets of this folder to the generator, after its own. The text of their terms is in this folder, as that of
-- others is in templates/. Two uses, from the repository's root:
--
--   require("tests.facets.enter")   before modules that read all facets: a project then has the templates
--   lua5.4 -l tests.facets.enter generator/main.lua WORDS   the command ./longhand WORDS with these facets

package.path = "generator/?.lua;?.lua;" .. package.path

for _, name in ipairs({ "spacing", "gate" }) do
  require("facets.modules").add(require("tests.facets." .. name))
end

local project = require("project")
local write = require("base.write")

local M, new = {}, project.new

function M.read_template(name, folder)
  return write.read("tests/facets/" .. name) or write.read((folder or "templates") .. "/" .. name)
end

function project.new(root)
  local copy = new(root)
  function copy.read_template(_, name, folder)
    return M.read_template(name, folder)
  end
  return copy
end

return M
