-- Texts of the file model.py that `export pytorch` writes, for tests.

local support = require("support")

local lu = require("luaunit")
local project = require("project").new(".")
local pytorch = require("lab.export.pytorch")
local render = require("render.templates.render")

local M = {}

M.project = project

M.RUN = { info = { seed = 0, learning_rate = 1 }, metadata = { step = "0" } } -- the exported run

-- Returns the text of model.py from the results of pytorch.derive_facts; nil and a problem raise an error.
function M.render(facts, problem)
  assert(facts, problem)
  local text, err = render.render("python/model.py.tpl", facts, function(...)
    return project:read_template(...)
  end)
  return text or error(project:format_template_error(err))
end

-- Plans a spec. spec: the text of a table constructor.
function M.plan_text(spec)
  return assert(project:plan(support.write("model.lua", "return " .. spec)))
end

-- Returns the text of model.py for a spec. spec: the text of a table constructor.
function M.render_spec(spec)
  local result = M.plan_text(spec)
  return M.render(pytorch.derive_facts(result, M.RUN, project:build_network(result)))
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

-- Random positions of an encoding; the format takes further fields.
M.RANDOM = 'positions = { kind = "randomized", max_position = 2000, %s }, '

return M
