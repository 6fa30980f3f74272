-- Fields that templates read from tables of the plan: rendering fails if a template reads a field that the
-- plan does not have.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local project = require("project").new(".")
local render = require("render.templates.render")

local PLAN = { size = 4, layers = { { name = "first", weight = 0.5, rope = true, part = false },
  { name = "second", weight = 1, rope = false, part = { words = "its own" } } } }

-- Renders t.tpl. templates: the text of t.tpl, or texts by name. Returns the text, or "path:line:col: message | hint".
local function render_text(templates)
  local text, err = render.render("t.tpl", PLAN, function(name)
    return type(templates) == "table" and templates[name] or templates
  end)
  return text or ("%s:%d:%d: %s%s"):format(err.path, err.line, err.col, err.what, err.hint and " | " .. err.hint or "")
end

local function check_error(template, expected)
  lu.assertEquals(render_text(template), "templates/t.tpl:" .. expected)
end

TestKnownFields = {}

function TestKnownFields.test_conditions_and_arguments_read_known_fields()
  check_error("% if layers[1].rpoe then\n% end\n", '1:6: \'layers[1].rpoe\' is not in the plan | did you mean "rope"?')
  check_error("x\n${layers[1].nmae}\n", '2:3: \'layers[1].nmae\' is not in the plan | did you mean "name"?')
  check_error("a\n${f64(l.wieght)} % for _, l in ipairs(layers)\n",
    '2:7: \'l.wieght\' is not in the plan | did you mean "weight"?')
  check_error("% for _, layer in ipairs(layers) do\n% local words = layer.part and layer.part.word or \"\"\n% end\n",
    '2:32: \'layer.part.word\' is not in the plan | did you mean "words"?')
end

-- The line alone does not show which of its reads failed, so the message names all of them.
function TestKnownFields.test_equal_fields_of_a_line_are_all_named()
  check_error("% local a, b = layers[1], layers[2]\n\nx % if not a.rope or b.skip or a.skip\n",
    "3:22: 'b.skip' or 'a.skip' is not in the plan")
end

function TestKnownFields.test_a_field_of_an_unnamed_table_is_named_alone()
  check_error("x % if layers[size - 3].length\n", "1:25: 'length' is not in the plan")
  check_error('% for _, name in ipairs({ "name", "length" }) do\n  % local value = layers[1][name]\n% end\n',
    "2:3: 'length' is not in the plan")
end

function TestKnownFields.test_included_templates_read_known_fields()
  lu.assertEquals(render_text({ ["t.tpl"] = '% include("p", layers[2])\n', p = "\n${part.wrods}\n" }),
    'templates/p:2:3: \'part.wrods\' is not in the plan | did you mean "words"?')
end

function TestKnownFields.test_index_past_the_end_of_a_list_is_unchecked()
  lu.assertEquals(render_text("a % if layers[3]\nb % else\n"), "b\n")
end

function TestKnownFields.test_tables_that_templates_make_are_unchecked()
  lu.assertEquals(render_text("% local t = { name = size }\n${t.name}c % if not t.size\n"), "4c\n")
end

function TestKnownFields.test_other_code_may_read_absent_fields()
  render_text("${layers[1].name}\n")
  lu.assertNil(PLAN.layers[1].size)
end

-- A renamed field of a real plan, in a table that only some templates read.
function TestKnownFields.test_a_renamed_field_of_a_plan_is_an_error()
  local plan = assert(project:plan("tests/specs/emulated_masks.lua")).plan
  local mask = plan.attentions[1].mask
  mask.shows_all, mask.sees_all = mask.sees_all, nil
  local files, message = project:render_files(plan, true)
  lu.assertNil(files)
  lu.assertStrContains(message, "'visibility.sees_all' is not in the plan")
end

support.run()
