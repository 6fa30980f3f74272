-- Scores as device code: every preset with every reading of distances (positions.reading), the absence of features that
-- are off, and the form of expressions. tests/expressions tests the results of the code.

local support = dofile("tests/lua/support.lua")

local device_code = require("device_code")
local functions = require("expression.functions")
local lists = require("base.lists")
local lu = require("luaunit")
local positions_facet = require("facets.positions")
local project_module = require("project")
local render = require("render.templates.render")
local signatures = require("render.templates.signatures")
local score_facet = require("facets.score")

local HEADS, LAYERS = 4, 2
local READINGS = { "index", "drawn", "difference", "clamped" }
local project = project_module.new(".")
local read_template = device_code.read_template

-- Renders the score of an encoding, the text of fields of a spec. Returns the score's plan for the device, its layout
-- for host and device, and its device code; nil without a score.
local function render_device(encoding, reading)
  local positions = (reading or "index") == "index" and ""
    or ('positions = { kind = "randomized", max_position = 2048, reading = %q },'):format(reading)
  local path = support.write("device.lua", ([[
return { task = { kind = "bucket_sort" }, encoding = { %s %s },
  model = { layers = %d, heads = %d, width = 16, feedforward = 16 } }
]]):format(positions, encoding, LAYERS, HEADS))
  local resolved, message = project:resolve(path, {})
  assert(resolved, message)
  local plan = { precision = "float32", heads = HEADS, layers = LAYERS, prefix = "", PREFIX = "", cross = false,
    S = "T", stack = { member = "layer" }, attends = { T = "T", S = "T", keys = "T" }, mask = { kind = "none" },
    positions = positions_facet.plan(resolved.resolved.encoding, { layers = LAYERS }, {}) }
  plan.score = score_facet.derive(resolved.score, plan, plan.precision)
  plan.scalar = plan.score
  if plan.score.kind == "none" then
    return nil
  end
  local signature_set = signatures.new()
  local layout = assert(render.render("attention/cuda/scalar_layout.tpl", plan, read_template, nil, nil, signature_set))
  local code = assert(render.render("attention/cuda/scalar.tpl", plan, read_template, nil, nil, signature_set))
  return plan.score.cuda, layout, code
end

-- Calls visit(name, plan for the device, layout, code) for every preset with a score and every reading.
local function visit_presets(visit)
  local count = 0
  for _, name in ipairs(project:list_names("spec/encodings", ".lua")) do
    -- These presets are only for grids, for encoder-decoders, or for tasks with positions.
    local has_plain_task = not name:find("^lst_") and not name:find("^abc_") and name ~= "coupling"
      and not name:find("_cycle$")
    for _, reading in ipairs(has_plain_task and READINGS or {}) do
      local cuda, layout, code = render_device(("use = %q"):format(name), reading)
      if cuda then
        visit(("%s, %s"):format(name, reading), cuda, layout, code)
        count = count + 1
      end
    end
  end
  lu.assertTrue(count >= 12 * #READINGS)
end

local function find_body(code, name)
  return code:match("\nINLINE [^\n]* " .. name .. "%(.-\n}\n")
end

TestText = {}

-- Words before a bracket in the device code of a score: functions of kernels/cuda and of the step's view, and keywords.
local CALLED = lists.split_set([[bucket_real add_block_sums add_listed sum_heads sum_keys sum_queries sum_diagonal
  sum_antidiagonal __syncthreads find_positions find_distances drawn_distance reserve if for sizeof
  lay_out_score_work]])
for _, row in pairs(functions.rows) do
  CALLED[row.scalar] = true
end

function TestText.test_every_function_has_its_kernels()
  local cpu = support.read("kernels/cpu/functions.h") .. support.read("kernels/cpu/vector.h")
  local cuda = support.read("kernels/cuda/functions.cu")
  for name, row in pairs(functions.rows) do
    lu.assertStrContains(cpu, ("INLINE vector %s("):format(row.vector), false, false, name)
    lu.assertStrContains(cpu, ("INLINE real %s("):format(row.scalar), false, false, name)
    for _, precision in ipairs({ "float32", "float64" }) do
      local kernel_text = support.read(("kernels/cuda/functions_%s.cu"):format(precision))
      lu.assertStrContains(cuda .. kernel_text, ("INLINE real %s("):format(row.scalar), false, false, name)
    end
  end
end

function TestText.test_code_of_every_preset_has_no_words_of_cpu_code()
  visit_presets(function(name, _, layout, code)
    local text = layout .. code
    lu.assertNil(text:find("vector"), name)
    lu.assertNil(text:find("LANES"), name)
    lu.assertNil(text:find("[ \t]\n"), name)
    for line in text:gmatch("[^\n]+") do
      lu.assertTrue(#line <= 120, name .. ": " .. line)
    end
    for function_name in code:gsub("/%*.-%*/", ""):gsub("INLINE[^{]*{", ""):gmatch("([%a_][%w_]*)%(") do
      lu.assertTrue(CALLED[function_name] or false, name .. " calls " .. function_name)
    end
  end)
end

function TestText.test_features_that_are_off_are_absent()
  visit_presets(function(name, cuda, layout, code)
    local has_gradients = #cuda.gradients > 0
    local has_type_of_values = cuda.gradient_set.type == "score_tables" -- gradients have the same struct as values
    lu.assertEquals(layout:find("score_gradients", 1, true) ~= nil, has_gradients and not has_type_of_values, name)
    lu.assertEquals(layout:find("score_work_bytes", 1, true) ~= nil, #cuda.work > 0, name)
    lu.assertEquals(code:find("end_score", 1, true) ~= nil, has_gradients, name)
    lu.assertEquals(layout:find("} score_work;", 1, true) ~= nil, #cuda.work > 0, name)
    lu.assertEquals(code:find("score_logit_grad", 1, true) ~= nil, cuda.logit_grad and true, name)
    lu.assertEquals(code:find("make_score(", 1, true) ~= nil, cuda.stages[1] ~= nil, name)
    for _, class in ipairs({ "uniform", "query", "key", "distance", "sum", "pair", "query_token", "key_token" }) do
      local has_function = code:find("score_grad_" .. class .. "(", 1, true) ~= nil
      lu.assertEquals(has_function, cuda.gathered_by_class[class] and true or false, name)
    end
  end)
end

-- Unused parameters of functions have no name.
function TestText.test_parameters_have_names_where_they_are_used()
  visit_presets(function(name, _, _, code)
    for list, body in code:gmatch("\nINLINE [%w_]+ [%w_]+(%b()) (%b{})") do
      for parameter in list:gmatch("([%a_]+)%f[,)]") do
        local is_type = ({ int = true, real = true, score_tables = true })[parameter]
        lu.assertTrue(is_type or body:find("%f[%w_]" .. parameter .. "%f[^%w_]") ~= nil, name .. ": " .. parameter)
      end
    end
  end)
end

function TestText.test_the_same_spec_gives_the_same_text()
  local _, layout, code = render_device('use = "fire"', "drawn")
  local _, again_layout, again_code = render_device('use = "fire"', "drawn")
  lu.assertEquals(again_layout .. again_code, layout .. code)
end

TestExpressions = {}

function TestExpressions.test_a_learned_alibi_has_this_code()
  local _, layout, code = render_device("score = function(x) return x.score - x.slope * abs(x.distance) end, "
    .. 'parameters = { slope = { per = "head", init = "alibi_slopes" } }')
  lu.assertStrContains(layout, "reals by_distance; /* [HEADS][query - key] */")
  lu.assertStrContains(layout, "(real *)reserve(memory, used, (size_t)HEADS * s->distances * sizeof(real));")
  lu.assertEquals(find_body(code, "make_score"), [[

INLINE void make_score(const step_view *v, const score_tables *s, int first, int stride) {
    const parameters *p = v->p;
    const int T = v->T;
    for (int o = first - T + 1; o < T; o += stride) {
        real size = abs_real((real)-o);
        for (int h = 0; h < HEADS; h++) {
            s->by_distance[h * s->distances + o] = -(p->score_slope[h] * size);
        }
    }
}
]])
  lu.assertEquals(find_body(code, "score_pair"), [[

INLINE real score_pair(const score_tables *s, int h, int i, int j, real logit) {
    return logit + s->by_distance[h * s->distances + i - j];
}
]])
  lu.assertStrContains(code, "    out[0] += dscore;\n")
  lu.assertStrContains(code, "add_block_sums(g->score_slope, slope_sums, HEADS, staging);")
end

function TestExpressions.test_comparisons_are_those_of_c()
  local _, _, code = render_device("score = function(x) return x.score + select(any(all(less(x.distance, 0), "
    .. "less_equal(x.query_index, 3)), negate(equal(x.key_index, x.query_index))), 1, x.score) end")
  lu.assertStrContains(code, "<")
  for _, text in ipairs({ " && ", " || ", " ? ", "!(" }) do
    lu.assertStrContains(code, text)
  end
end

-- An index a - (b - c) keeps its parentheses.
function TestExpressions.test_differences_of_integers_stay_integers()
  local _, _, code = render_device("score = function(x) return x.score + lookup(x.t, x.head - (x.layer - 3)) * x.b end"
    .. ", parameters = { b = { init = 1 }, t = { shape = 16, init = 0 } }")
  lu.assertStrContains(code, "p->score_t[h - (l - 3)] * p->score_b[0]")
end

function TestExpressions.test_sampled_positions_are_read_only_if_needed()
  local _, _, device = render_device('use = "kerple_log"', "drawn")
  lu.assertStrContains(device, "const int *drawn = find_distances(v, l);")
  lu.assertStrContains(device, "(real)drawn_distance(drawn, -o)")
  local _, _, difference = render_device('use = "kerple_log"', "difference")
  lu.assertStrContains(difference, "const int *position = find_positions(v, l);")
  lu.assertStrContains(difference, "s->by_query[i] = (real)position[i];")
  lu.assertNil(difference:find("find_distances"))
end

TestGathers = {}

function TestGathers.test_the_logit_has_a_gradient_of_its_own_where_it_differs()
  local cuda = render_device('score = function(x) return x.score * x.a end, parameters = { a = { init = 1 } }')
  lu.assertTrue(cuda.logit_grad ~= false)
  cuda = render_device("score = function(x) return tanh(x.score) end")
  lu.assertTrue(cuda.logit_grad ~= false)
  lu.assertEquals(cuda.lists, {})
  lu.assertEquals(cuda.stage_count, 0)
  cuda = render_device('use = "t5"')
  lu.assertFalse(cuda.logit_grad)
end

-- Every head has gradients of its own, also of numbers that all heads share.
function TestGathers.test_every_head_has_separate_gradients()
  local cuda, layout, code = render_device("score = function(x) return x.score + x.b * sin(x.query_index * x.b) end, "
    .. "parameters = { b = { init = 1 } }")
  lu.assertEquals(cuda.gathered_by_class.query[1].target, "d->by_query[h * d->tokens + i]")
  lu.assertEquals({ cuda.gathered_by_class.query.count, cuda.uniform_count }, { 1, 0 })
  lu.assertStrContains(layout, "    reals by_query; /* [queries] */")
  lu.assertStrContains(layout, "    reals by_query; /* [HEADS][queries] */")
  lu.assertStrContains(code, "sum_heads(d->by_query + i, d->tokens)")
end

-- If lookups at several distances may read one element of a table, a pair of tokens writes its gradient and the index
-- of the element into lists, and the thread of the element adds up its gradients (add_listed). The table of T5 has 32
-- elements for each head.
function TestGathers.test_lookups_that_differ_write_lists()
  local _, layout, code = render_device('use = "t5"')
  lu.assertStrContains(layout, "int *bias_indices;")
  lu.assertStrContains(code, "    __syncthreads();\n    add_listed(g->score_bias, HEADS, 32, w.bias_indices, 0, "
    .. "w.bias_values, s->distances);\n")
end

function TestGathers.test_pairs_send_gradients_to_smaller_tables()
  local _, layout, code = render_device('use = "fire"')
  lu.assertStrContains(code, "w.by_query[e] = ")
  lu.assertStrContains(code, "sum_keys(w.by_query, i, T)")
  lu.assertStrContains(code, "sum_diagonal(w.by_distance, o, T)")
  lu.assertStrContains(layout, "(size_t)T * T * sizeof(real)")
  lu.assertStrContains(code, "SCORE_STAGES = 3")
end

support.run()
