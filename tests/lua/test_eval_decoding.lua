-- The decoding of generative models: the field, its use, and warnings about lengths that are unknown in advance because
-- an end symbol ends the answer.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local plan_module = require("plan.plan")
local plan_page = require("lab.pages.plan_page")

TestDecoding = {}

local GREEDY = "eval = { decoding = 'greedy' }"
local FORCED = "eval = { decoding = 'teacher_forced' }"

-- A sampler of a user's task. Its targets end with a symbol.
local SAMPLER = [[
/* The target is the input and a full stop.
 *
 * input symbols:  a b
 * output symbols: a b .
 * end symbol:     .
 * input length:   n
 * output length:  n + 1
 * chance:         0.5
 */
#include "longhand/task.h"

lh_task_sample lh_task_ends;

void lh_task_ends(lh_rng *rng, int n, lh_example *example) {
    for (int i = 0; i < n; i++) example->target[i] = example->input[i] = (uint16_t)lh_rng_below(rng, 2);
    example->target[n] = 2;
}
]]
support.write("ends.c", SAMPLER)
local WITH_END, WITHOUT_END = 'source = "ends.c"', 'kind = "reverse_string"'

-- kind: kind of the model; task, more_fields: texts of fields.
local function check_spec(kind, task, more_fields)
  local layers = kind == "encoder_decoder" and "" or "layers = 2, "
  return support.check_text(("return { task = { %s }, model = { kind = %q, %swidth = 16, heads = 2 }, %s }"):format(
    task, kind, layers, more_fields))
end

local function accept(...)
  local resolved, info, d = check_spec(...)
  lu.assertEquals(d:text(), "")
  return resolved, info
end

function TestDecoding.test_greedy_decoding_is_the_default_and_is_left_out()
  local greedy = accept("decoder", WITHOUT_END, "")
  lu.assertNil(greedy.eval.decoding)
  lu.assertEquals(accept("decoder", WITHOUT_END, GREEDY), greedy)
  lu.assertEquals(accept("encoder_decoder", WITHOUT_END, FORCED).eval.decoding, "teacher_forced")
end

function TestDecoding.test_an_encoder_has_no_decoding()
  for _, more_fields in ipairs({ GREEDY, FORCED }) do
    local resolved, _, d = check_spec("encoder", WITHOUT_END, more_fields)
    lu.assertNil(resolved)
    lu.assertStrContains(d:text(), "eval.decoding: an encoder answers everything at once")
    lu.assertStrContains(d:text(), 'model.kind = "decoder" or "encoder_decoder"')
  end
end

function TestDecoding.test_decoding_is_a_default_of_the_trainer()
  local function make_plan(more_fields)
    local resolved, info = accept("decoder", WITHOUT_END, more_fields)
    return plan_module.build(resolved, { task = info.task })
  end
  local greedy, forced = make_plan(""), make_plan(FORCED)
  lu.assertStrContains(forced.defaults.text, "\neval.teacher_forced true\n")
  lu.assertNotStrContains(greedy.defaults.text, "eval.teacher_forced")
  lu.assertEquals(forced.digest, greedy.digest)
end

function TestDecoding.test_the_plan_states_the_cost_of_answers()
  local function render_page(kind, task, more_fields)
    local resolved, info = accept(kind, task, more_fields)
    return plan_page.format_page(plan_module.build(resolved, { task = info.task }))
  end
  lu.assertStrContains(render_page("decoder", WITHOUT_END, ""),
    "answers     the model's own (greedy), answer length given; first a pass")
  lu.assertStrContains(render_page("encoder_decoder", WITH_END, ""), "(greedy), ended by the model; first a pass")
  lu.assertStrContains(render_page("decoder", WITHOUT_END, ""), "with cached keys and values")
  lu.assertStrContains(render_page("decoder", WITHOUT_END, "eval = { dropout = true }"), "a pass for each answer")
  lu.assertNotStrContains(render_page("decoder", WITHOUT_END, "eval = { dropout = true }"), "cached")
  lu.assertStrContains(render_page("decoder", WITHOUT_END, FORCED),
    "answers     teacher-forced (eval.decoding): one pass over the target's tokens")
  lu.assertNotStrContains(render_page("encoder", WITHOUT_END, ""), "answers  ")
end

-- Returns the text of all warnings. task: by default WITH_END.
local function list_warnings(kind, encoding, task)
  local _, info = accept(kind, task or WITH_END, "encoding = " .. encoding)
  return table.concat(info.warnings, "\n")
end

local SAMPLED = 'positions = { kind = "randomized", max_position = 2048, reading = "difference" }'

function TestDecoding.test_uses_of_the_target_s_length_are_warned_about()
  local log_length = '{ use = "log_length" }'
  lu.assertStrContains(list_warnings("decoder", log_length), "encoding.score: reads how many tokens a sequence has")
  lu.assertEquals(list_warnings("decoder", log_length, WITHOUT_END), "") -- the task has no end symbol
  lu.assertEquals(list_warnings("encoder", log_length), "")
  lu.assertEquals(list_warnings("decoder", '{ use = "alibi" }'), "")
  lu.assertStrContains(list_warnings("decoder", '{ use = "rope", ' .. SAMPLED .. " }"),
    "encoding.positions: samples as many random positions as a sequence has tokens")
  local unsorted = SAMPLED:gsub("}", ", sorted = false }")
  lu.assertNotStrContains(list_warnings("decoder", '{ use = "rope", ' .. unsorted .. " }"), "end with a symbol")
  lu.assertStrContains(list_warnings("decoder", ('{ use = "relative", %s }'):format(SAMPLED:gsub(", reading.*", " }"))),
    "encoding.positions: samples")
end

function TestDecoding.test_lines_from_the_last_key_depend_on_the_length()
  local function list_line_warnings(direction)
    return list_warnings("decoder", ("{ lines = { list = { { head = 0, direction = %d, line = 0, value = 1 } } } }")
      :format(direction))
  end
  lu.assertStrContains(list_line_warnings(-1), "encoding.lines: has lines that begin at the sequence's last token")
  lu.assertNotStrContains(list_line_warnings(1), "begin at the sequence's last token")
  lu.assertNotStrContains(list_line_warnings(0), "begin at the sequence's last token")
end

-- The length of an encoder-decoder's source is known, so there is no warning.
function TestDecoding.test_the_source_s_length_is_known()
  local score = 'score = function(x) return x.score * log(x.key_length) end'
  lu.assertEquals(list_warnings("encoder_decoder", "{ encoder = { " .. score .. " } }"), "")
  lu.assertEquals(list_warnings("encoder_decoder", "{ cross = { " .. score .. " } }"), "")
  lu.assertStrContains(list_warnings("encoder_decoder", "{ decoder = { " .. score .. " } }"),
    "encoding.decoder.score: reads how many tokens")
  lu.assertStrContains(list_warnings("encoder_decoder", "{ cross = { " .. score:gsub("key", "query") .. " } }"),
    "encoding.cross.score: reads how many tokens")
end

support.run()
