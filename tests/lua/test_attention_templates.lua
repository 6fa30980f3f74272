-- The skeletons of attentions (loops with named slots), and the templates of their terms, whose sections fill the
-- slots. In these templates no condition names a facet, every section has a slot, and every slot has a section. No
-- template of the project has many conditionals.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")

local TARGETS = { "cpu", "cuda" }
local FACETS = { "relative", "score", "rotation", "normaliser", "mask", "additive", "projections", "lines", "label" }
local KINDS = { -- kinds of facets
  "rope", "alibi", "shaw", "transformer_xl", "yarn", "geometric", "softmax", "causal", "window", "antidiagonal",
  "lines", "none" }
local MAX_CONDITIONALS, MAX_CONDITIONALS_IN_ATTENTION = 30, 15

-- Returns the templates of folders and their subfolders as a list of { path, text }. folders: a text of paths separated
-- by blanks.
local function list_templates(folders)
  local list = {}
  for path in io.popen("find " .. folders .. " -name '*.tpl'"):lines() do
    list[#list + 1] = { path = path, text = support.read(path) }
  end
  return list
end

-- Returns the lines of control (%), the conditions at the ends of lines, and the contents of holes (${...}).
local function list_decisions(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do
    if line:find("^ *%%") then
      list[#list + 1] = line
    else
      list[#list + 1] = line:match(" %% (e?l?s?e?if .*)$")
      for hole in line:gmatch("%$(%b{})") do
        list[#list + 1] = hole
      end
    end
  end
  return list
end

TestAttentionTemplates = {}

function TestAttentionTemplates.test_no_facet_is_named()
  for _, target in ipairs(TARGETS) do
    for _, template in ipairs(list_templates("templates/attention/" .. target)) do
      for _, text in ipairs(list_decisions(template.text)) do
        for _, facet in ipairs(FACETS) do
          lu.assertNil((" " .. text):find("[^%w_.]" .. facet .. "%.%a"), ("%s: %s"):format(template.path, text))
        end
        for _, kind in ipairs(KINDS) do
          lu.assertNil(text:find(('"%s"'):format(kind), 1, true), ("%s: %s"):format(template.path, text))
        end
      end
    end
  end
end

-- Conditionals on lines of their own, at the ends of lines and in holes are counted.
function TestAttentionTemplates.test_no_template_has_many_conditionals()
  local list = list_templates("templates")
  lu.assertTrue(#list > 100)
  for _, template in ipairs(list) do
    local count = 0
    local max_count = template.path:find("/attention/", 1, true) and MAX_CONDITIONALS_IN_ATTENTION or MAX_CONDITIONALS
    for _, text in ipairs(list_decisions(template.text)) do
      local _, conditionals = text:gsub("%f[%a]e?l?s?e?if%f[%A]", "")
      count = count + conditionals
    end
    lu.assertTrue(count <= max_count, ("%s has %d conditionals"):format(template.path, count))
  end
end

-- Slots may also be in templates that include the skeletons.
function TestAttentionTemplates.test_sections_and_slots_meet()
  for _, target in ipairs(TARGETS) do
    local sections, slots, folder = {}, {}, "templates/attention/" .. target
    for _, template in ipairs(list_templates(folder .. " templates/" .. target)) do
      for name in template.text:gmatch('%% section%("([%w_]+)"%)') do
        sections[name] = template.path
      end
      for call, name in template.text:gmatch('(%l+)%("([%w_]+)"') do
        slots[name] = (call == "slot" or call == "inline") and template.path or slots[name]
      end
    end
    for name, path in pairs(sections) do
      lu.assertNotNil(slots[name], ("%s: no slot uses the section %s"):format(path, name))
    end
    for name, path in pairs(slots) do
      lu.assertNotNil(sections[name], ("%s: no term fills the slot %s"):format(path, name))
    end
  end
end

support.run()
