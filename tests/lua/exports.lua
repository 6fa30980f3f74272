-- Exported models of specs as text, for tests of `export pytorch`.

local support = require("support")

local lu = require("luaunit")
local project = require("project").new(".")
local pytorch = require("lab.export.pytorch")
local render = require("render.templates.render")

local M = {}

M.project = project

M.RUN = { info = { seed = 0, learning_rate = 1 }, metadata = { step = "0" } }

function M.rendered(facts, problem)
  assert(facts, problem)
  local text, err = render.render("python/model.py.tpl", facts, function(...)
    return project:read_template(...)
  end)
  return text or error(project:format_template_error(err))
end

function M.planned(spec)
  return assert(project:plan(support.write("model.lua", "return " .. spec)))
end

function M.model_text(spec)
  local result = M.planned(spec)
  return M.rendered(pytorch.derive_facts(result, M.RUN, project:build_network(result)))
end

function M.assert_has(text, ...)
  for _, words in ipairs({ ... }) do
    lu.assertStrContains(text, words)
  end
end

function M.assert_lacks(text, ...)
  for _, words in ipairs({ ... }) do
    lu.assertNotStrContains(text, words)
  end
end

-- Random positions, with a hole for further fields.
M.RANDOM = 'positions = { kind = "randomized", max_position = 2000, %s }, '

return M
