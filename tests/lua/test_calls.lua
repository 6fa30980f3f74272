-- The calls of operations: the order of arguments, and required fields of a record.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local calls = require("network.targets.calls")
local render = require("render.templates.render")

TestCalls = {} -- luacheck: ignore 111

local OVER_ROWS = "routine(rows, x, out)"

function TestCalls.test_arguments_stand_in_the_order_of_the_call()
  local list = {}
  calls.append("cpu", list, "gate", { rows = "w->rows" }, false, { call = OVER_ROWS, routine = "relu_h", x = "w->a",
    out = "w->h" }, { call = "classify(self, x, 'sums')", self = "&w", x = "x" }, { kind = "copy", to = "a" })
  lu.assertEquals(list[1].arguments, { "w->rows", "w->a", "w->h" })
  lu.assertEquals({ list[2].routine, list[2].arguments }, { "classify", { "&w", "x", "sums" } })
  lu.assertEquals({ list[1].template, list[2].template, list[3].template },
    { "parts/call.tpl", "parts/call.tpl", "cpu/op/copy.tpl" })
end

function TestCalls.test_a_record_without_an_argument_is_refused()
  lu.assertErrorMsgContains("a record of operation gate has no field x, which its call needs", calls.fill, "cuda",
    { kind = "gate", call = OVER_ROWS, routine = "swiglu_rows", rows = "rows", out = "y" })
end

local function render_record(record)
  local texts = { ["t.tpl"] = '% include("parts/call.tpl", record)\n', ["parts/call.tpl"] = assert(io.open(
    "templates/parts/call.tpl")):read("a") }
  return render.render("t.tpl", { record = record }, function(name)
    return texts[name]
  end)
end

function TestCalls.test_a_call_leaves_out_arguments_that_are_false()
  lu.assertEquals(render_record(calls.fill("cuda", { call = "routine(gradients)", routine = "embed_backward",
    gradients = false })), "embed_backward();\n")
  lu.assertEquals(render_record(calls.fill("cuda", { call = "drop_rows(elements, x, mask, rate)",
    condition = "training",
    elements = "n", x = "x", mask = "m", rate = "R" })), "if (training) drop_rows(n, x, m, R);\n")
end

support.run()
